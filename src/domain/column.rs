//! Values in the smallest form that holds each of them exactly.
//!
//! A percentage has 101 values and the size of a memory one: a byte for each sample says which. What
//! varies freely takes four bytes where single precision holds it, eight where it does not.

use std::borrow::Cow;
use std::ops::Range;

/// Most different values of which a byte can name one.
const MOST_DIFFERENT: usize = 256;
/// Places of the table in which a value is looked up: four for each, so that few collide.
const SLOTS: usize = 4 * MOST_DIFFERENT;

/// Values in the smallest form that holds each of them exactly.
#[derive(Debug, Clone)]
pub struct Column(Form);

#[derive(Debug, Clone)]
enum Form {
    /// Few different values, and for each sample the place of its own.
    Few {
        different: Vec<f64>,
        places: Vec<u8>,
    },
    Single(Vec<f32>),
    Double(Vec<f64>),
}

impl From<Vec<f64>> for Column {
    /// The values as they are.
    fn from(values: Vec<f64>) -> Self {
        Self(Form::Double(values))
    }
}

impl PartialEq for Column {
    /// The same values, in whatever form.
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && (0..self.len()).all(|it| self.get(it) == other.get(it))
    }
}

impl Column {
    /// The values in the smallest form that holds each of them.
    pub fn compact(values: impl ExactSizeIterator<Item = f64>) -> Self {
        let mut builder = ColumnBuilder::expecting(values.len());
        builder.extend(values);
        builder.finish()
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Few { places, .. } => places.len(),
            Form::Single(values) => values.len(),
            Form::Double(values) => values.len(),
        }
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values, where they are held in double precision.
    pub fn as_slice(&self) -> Option<&[f64]> {
        match &self.0 {
            Form::Double(values) => Some(values),
            _ => None,
        }
    }

    /// The value at a position, which must be below the length.
    pub fn get(&self, position: usize) -> f64 {
        match &self.0 {
            Form::Few { different, places } => different[usize::from(places[position])],
            Form::Single(values) => f64::from(values[position]),
            Form::Double(values) => values[position],
        }
    }

    /// Hands over the values at these positions, in their order.
    pub fn each(&self, range: Range<usize>, mut take: impl FnMut(f64)) {
        match &self.0 {
            Form::Few { different, places } => {
                places[range].iter().for_each(|it| take(different[usize::from(*it)]));
            }
            Form::Single(values) => values[range].iter().for_each(|it| take(f64::from(*it))),
            Form::Double(values) => values[range].iter().for_each(|it| take(*it)),
        }
    }

    /// The values at these positions; a copy unless they are held in double precision.
    pub fn part(&self, range: Range<usize>) -> Cow<'_, [f64]> {
        if let Form::Double(values) = &self.0 {
            return Cow::Borrowed(&values[range]);
        }
        let mut part = Vec::with_capacity(range.len());
        self.each(range, |it| part.push(it));
        Cow::Owned(part)
    }

    /// Each different value with how often it is there, in no order; `None` where they are not few.
    pub fn counts(&self, range: Range<usize>) -> Option<Vec<(f64, u64)>> {
        let Form::Few { different, places } = &self.0 else { return None };
        // Four tables: what is counted twice in a row would wait for itself in one.
        let mut tables = [[0_u64; MOST_DIFFERENT]; 4];
        let fours = places[range].chunks_exact(4);
        fours.remainder().iter().for_each(|it| tables[0][usize::from(*it)] += 1);
        for four in fours {
            tables.iter_mut().zip(four).for_each(|(table, it)| table[usize::from(*it)] += 1);
        }
        let count = |place: usize| tables.iter().map(|it| it[place]).sum();
        let counts = different.iter().copied().zip((0..MOST_DIFFERENT).map(count));
        Some(counts.filter(|it| it.1 > 0).collect())
    }

    /// Whether every value is a number.
    pub fn is_finite(&self) -> bool {
        match &self.0 {
            Form::Few { different, .. } => different.iter().all(|it| it.is_finite()),
            Form::Single(values) => values.iter().all(|it| it.is_finite()),
            Form::Double(values) => values.iter().all(|it| it.is_finite()),
        }
    }

    /// The greatest value; `None` when empty.
    pub fn highest(&self) -> Option<f64> {
        match &self.0 {
            // Each of them is there at least once.
            Form::Few { different, .. } => different.iter().copied().reduce(f64::max),
            Form::Single(values) => values.iter().copied().reduce(f32::max).map(f64::from),
            Form::Double(values) => values.iter().copied().reduce(f64::max),
        }
    }

    /// All values, to be changed: in double precision.
    pub fn into_values(self) -> Vec<f64> {
        match self.0 {
            Form::Double(values) => values,
            form => {
                let column = Self(form);
                column.part(0..column.len()).into_owned()
            }
        }
    }
}

/// A column that grows.
#[derive(Debug)]
pub struct ColumnBuilder {
    form: Form,
    /// For each slot the place of a value plus one; 0 where the slot is free.
    slots: Vec<u16>,
    expected: usize,
}

impl ColumnBuilder {
    /// No values yet, with room for so many.
    pub fn expecting(values: usize) -> Self {
        Self {
            form: Form::Few { different: Vec::new(), places: Vec::with_capacity(values) },
            slots: vec![0; SLOTS],
            expected: values,
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match &self.form {
            Form::Few { places, .. } => places.len(),
            Form::Single(values) => values.len(),
            Form::Double(values) => values.len(),
        }
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds values at the end.
    pub fn extend(&mut self, values: impl IntoIterator<Item = f64>) {
        let mut values = values.into_iter();
        while let Some(next) = self.take(&mut values) {
            self.widen(next);
        }
    }

    /// Takes values as long as the form holds them; returns the first that it does not.
    fn take(&mut self, values: &mut impl Iterator<Item = f64>) -> Option<f64> {
        match &mut self.form {
            Form::Few { different, places } => {
                let mut last = (different.first().map(|it| it.to_bits()), 0);
                for value in values {
                    if Some(value.to_bits()) != last.0 {
                        let Some(place) = place_of(value, different, &mut self.slots) else {
                            return Some(value);
                        };
                        last = (Some(value.to_bits()), place);
                    }
                    places.push(last.1);
                }
            }
            Form::Single(held) => {
                for value in values {
                    let Some(single) = single(value) else { return Some(value) };
                    held.push(single);
                }
            }
            Form::Double(held) => held.extend(values),
        }
        None
    }

    /// Moves to a wider form, of which `next` is the first value.
    fn widen(&mut self, next: f64) {
        let wider = |length: usize| self.expected.max(length + 1);
        let room = wider(self.len());
        let held = std::mem::replace(&mut self.form, Form::Double(Vec::new()));
        let is_single = |it: f64| single(it).is_some();
        self.form = match held {
            Form::Few { different, places }
                if is_single(next) && different.iter().all(|it| is_single(*it)) =>
            {
                let mut values: Vec<f32> = Vec::with_capacity(room);
                let different: Vec<f32> = different.iter().map(|it| *it as f32).collect();
                values.extend(places.iter().map(|it| different[usize::from(*it)]));
                values.push(next as f32);
                Form::Single(values)
            }
            held => {
                let column = Column(held);
                let mut values: Vec<f64> = Vec::with_capacity(room);
                column.each(0..column.len(), |it| values.push(it));
                values.push(next);
                Form::Double(values)
            }
        };
    }

    /// The column, holding no more memory than its values take.
    pub fn finish(self) -> Column {
        let mut form = self.form;
        match &mut form {
            Form::Few { places, .. } => places.shrink_to_fit(),
            Form::Single(values) => values.shrink_to_fit(),
            Form::Double(values) => values.shrink_to_fit(),
        }
        Column(form)
    }
}

/// The value in single precision; `None` where that is not exactly the same.
fn single(value: f64) -> Option<f32> {
    let single = value as f32;
    (f64::from(single).to_bits() == value.to_bits()).then_some(single)
}

/// The place of a value among the different ones, a new one if need be; `None` when all are taken.
fn place_of(value: f64, different: &mut Vec<f64>, slots: &mut [u16]) -> Option<u8> {
    let bits = value.to_bits();
    // Fibonacci hashing: the upper bits of the product depend on all bits of the value.
    let mut slot = (bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize;
    loop {
        match slots[slot] {
            0 if different.len() == MOST_DIFFERENT => return None,
            0 => {
                different.push(value);
                slots[slot] = different.len() as u16;
                return u8::try_from(different.len() - 1).ok();
            }
            taken => {
                let place = usize::from(taken) - 1;
                if different[place].to_bits() == bits {
                    return u8::try_from(place).ok();
                }
                slot = (slot + 1) % SLOTS;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn built(values: &[f64]) -> Column {
        let mut builder = ColumnBuilder::expecting(values.len());
        values.chunks(7).for_each(|it| builder.extend(it.iter().copied()));
        builder.finish()
    }

    #[test]
    fn percentages_take_a_byte_and_what_varies_freely_as_much_as_it_needs() {
        let whole: Vec<f64> = (0..1000).map(|it| f64::from(it % 101)).collect();
        assert!(matches!(built(&whole).0, Form::Few { .. }));
        let halves: Vec<f64> = (0..1000).map(|it| f64::from(it) * 0.5).collect();
        assert!(matches!(built(&halves).0, Form::Single(_)));
        let bytes: Vec<f64> = (0..1000).map(|it| 1e10 + f64::from(it)).collect();
        assert!(matches!(built(&bytes).0, Form::Double(_)));
    }

    #[test]
    fn a_value_that_no_single_holds_turns_up_late_and_loses_nothing() {
        let mut values: Vec<f64> = (0..300).map(f64::from).collect();
        values.extend([0.1, 5.0, -0.0, 0.0]);
        let column = built(&values);
        assert_eq!(column.part(0..values.len()).as_ref(), values);
        assert!(column.get(302).is_sign_negative() && !column.get(303).is_sign_negative());
    }

    #[test]
    fn counts_and_the_highest_are_those_of_the_values() {
        for values in [
            (0..1003_u32).map(|it| f64::from(it * it % 101)).collect::<Vec<f64>>(),
            (0..1003).map(|it| f64::from(it) * 0.5).collect(),
            (0..1003).map(|it| 1e10 + f64::from(it)).collect(),
            vec![-3.0; 5],
            Vec::new(),
        ] {
            let column = built(&values);
            assert_eq!(column.highest(), values.iter().copied().reduce(f64::max));
            for range in [0..values.len(), values.len() / 3..values.len()] {
                let Some(mut counts) = column.counts(range.clone()) else { continue };
                counts.sort_by(|a, b| a.0.total_cmp(&b.0));
                let mut listed = values[range].to_vec();
                listed.sort_by(f64::total_cmp);
                let expected: Vec<(f64, u64)> =
                    listed.chunk_by(|a, b| a == b).map(|it| (it[0], it.len() as u64)).collect();
                assert_eq!(counts, expected);
            }
        }
    }

    proptest! {
        #[test]
        fn every_value_comes_back_as_it_was(
            values in prop::collection::vec(
                prop_oneof![(0..40_i32).prop_map(f64::from), any::<f32>().prop_map(f64::from), -1e12..1e12_f64],
                0..700,
            ),
            kinds in 0..3_usize,
        ) {
            // The first part of a value's range decides how far the form has to widen.
            let values: Vec<f64> = values.into_iter().filter(|it| it.is_finite()).map(|it| match kinds {
                0 => it.rem_euclid(50.0).floor(),
                1 => f64::from(it as f32),
                _ => it,
            }).collect();
            let column = built(&values);
            let same = |a: &[f64]| a.iter().map(|it| it.to_bits()).eq(values.iter().map(|it| it.to_bits()));
            prop_assert!(same(&column.part(0..values.len())));
            let one_by_one: Vec<f64> = (0..values.len()).map(|it| column.get(it)).collect();
            prop_assert!(same(&one_by_one));
            if let Some(counts) = column.counts(0..values.len()) {
                for (value, count) in counts {
                    let found = values.iter().filter(|it| it.to_bits() == value.to_bits()).count();
                    prop_assert_eq!(found as u64, count);
                }
            }
            prop_assert_eq!(column.into_values().len(), values.len());
        }
    }
}
