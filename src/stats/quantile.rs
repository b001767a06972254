//! Quantiles by counting where values repeat, else by selection: linear time, no sorted input needed.

/// Samples of fewer values are selected from at once.
const FEWEST_TO_COUNT: usize = 1024;
/// Most different values that are counted.
const MOST_DIFFERENT: usize = 256;
/// Places of the table in which values are counted: four for each, so that few collide.
const SLOTS: usize = 4 * MOST_DIFFERENT;

/// The value below which a share `q` of the sample lies, interpolated between order statistics.
///
/// With x₍₀₎ ≤ … ≤ x₍ₙ₋₁₎ and h = (n−1)q: x₍⌊h⌋₎ + (h−⌊h⌋)(x₍⌊h⌋₊₁₎ − x₍⌊h⌋₎), the default of
/// numpy. `None` for an empty sample or a `q` outside 0..=1. Time: O(n). Where a long sample has at
/// most 256 different values they are counted, which gives the same number without a copy.
///
/// Source: R. J. Hyndman and Y. Fan, The American Statistician 50 (1996), 361–365, type 7.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let rank = Rank::of(q, values.len())?;
    if let Some(counts) = counted(values) {
        return Some(rank.among(&counts));
    }
    Some(rank.select(&mut values.to_vec()))
}

/// Several quantiles of one sample, in the order in which they were asked for.
///
/// The same numbers as [`quantile`] gives one by one, for at most a single copy of the sample.
/// `None` for an empty sample or if any `q` lies outside 0..=1.
pub fn quantiles(values: &[f64], qs: &[f64]) -> Option<Vec<f64>> {
    match counted(values) {
        Some(counts) => among(&counts, qs),
        None => select(&mut values.to_vec(), qs),
    }
}

/// [`quantiles`] of a sample that nobody needs any more: without a copy, which a week of samples would feel.
///
/// `None` for an empty sample or if any `q` lies outside 0..=1.
pub fn quantiles_of_owned(mut values: Vec<f64>, qs: &[f64]) -> Option<Vec<f64>> {
    match counted(&values) {
        Some(counts) => among(&counts, qs),
        None => select(&mut values, qs),
    }
}

/// Quantiles by selection, which leaves the sample in another order; `None` for an empty sample or a `q` outside 0..=1.
fn select(values: &mut [f64], qs: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() {
        return None;
    }
    let mut ranks = Vec::with_capacity(qs.len());
    for (index, &q) in qs.iter().enumerate() {
        ranks.push((Rank::of(q, values.len())?, index));
    }
    ranks.sort_by_key(|(rank, _)| rank.below);
    let mut found = vec![0.0; qs.len()];
    let mut start = 0;
    for (rank, index) in ranks {
        let rest = Rank { below: rank.below - start, ..rank };
        found[index] = rest.select(&mut values[start..]);
        // Selection left everything smaller to the left, so the next rank need not look there.
        start = rank.below;
    }
    Some(found)
}

/// [`quantiles`] of a sample of which it is known how often each value is there, in any order.
///
/// `None` for an empty sample or if any `q` lies outside 0..=1.
pub fn quantiles_of_counts(counts: &[(f64, u64)], qs: &[f64]) -> Option<Vec<f64>> {
    let mut sorted: Vec<(f64, u64)> = counts.iter().copied().filter(|it| it.1 > 0).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    among(&sorted, qs)
}

fn among(sorted: &[(f64, u64)], qs: &[f64]) -> Option<Vec<f64>> {
    let samples: u64 = sorted.iter().map(|it| it.1).sum();
    let samples = usize::try_from(samples).ok()?;
    qs.iter().map(|q| Some(Rank::of(*q, samples)?.among(sorted))).collect()
}

/// Each value of a long sample with how often it is there, in ascending order; `None` where they are not few.
fn counted(values: &[f64]) -> Option<Vec<(f64, u64)>> {
    if values.len() < FEWEST_TO_COUNT {
        return None;
    }
    let mut counts: Vec<(f64, u64)> = Vec::with_capacity(MOST_DIFFERENT);
    // For each slot the place of a value plus one; 0 where the slot is free.
    let mut slots = [0_u16; SLOTS];
    for value in values {
        let bits = value.to_bits();
        // Fibonacci hashing: the upper bits of the product depend on all bits of the value.
        let mut slot = (bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize;
        loop {
            match slots[slot] {
                0 if counts.len() == MOST_DIFFERENT => return None,
                0 => {
                    counts.push((*value, 1));
                    slots[slot] = counts.len() as u16;
                    break;
                }
                taken => {
                    let held = &mut counts[usize::from(taken) - 1];
                    if held.0.to_bits() == bits {
                        held.1 += 1;
                        break;
                    }
                    slot = (slot + 1) % SLOTS;
                }
            }
        }
    }
    counts.sort_by(|a, b| a.0.total_cmp(&b.0));
    Some(counts)
}

/// [`quantile`] of a sample that is already in ascending order, in constant time.
///
/// `None` for an empty sample or a `q` outside 0..=1. An unsorted slice gives a meaningless number.
pub fn quantile_of_sorted(sorted: &[f64], q: f64) -> Option<f64> {
    let rank = Rank::of(q, sorted.len())?;
    let above = sorted.get(rank.below + 1).copied();
    Some(rank.between(sorted[rank.below], above))
}

/// A place between two neighbouring order statistics.
#[derive(Debug, Clone, Copy)]
struct Rank {
    below: usize,
    beyond: f64,
}

impl Rank {
    fn of(q: f64, count: usize) -> Option<Self> {
        if count == 0 || !(0.0..=1.0).contains(&q) {
            return None;
        }
        let place = (count - 1) as f64 * q;
        let below = (place.floor() as usize).min(count - 1);
        Some(Self { below, beyond: place - below as f64 })
    }

    fn select(self, values: &mut [f64]) -> f64 {
        let (_, &mut lower, rest) = values.select_nth_unstable_by(self.below, f64::total_cmp);
        self.between(lower, rest.iter().copied().min_by(f64::total_cmp))
    }

    /// The value at this rank among counted ones in ascending order, of which there are enough.
    fn among(self, sorted: &[(f64, u64)]) -> f64 {
        let at = |rank: usize| {
            let mut seen = 0;
            let reaches = |it: &&(f64, u64)| {
                seen += it.1;
                seen > rank as u64
            };
            sorted.iter().find(reaches).map(|it| it.0)
        };
        at(self.below).map_or(f64::NAN, |lower| self.between(lower, at(self.below + 1)))
    }

    fn between(self, lower: f64, upper: Option<f64>) -> f64 {
        upper.map_or(lower, |upper| lower + self.beyond * (upper - lower))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::expected::{case, close, numbers};
    use proptest::prelude::*;

    #[test]
    fn numpy_finds_the_same_quantiles() {
        for case in case("quantiles") {
            let (values, qs) = (numbers(case, "x"), numbers(case, "q"));
            let together = quantiles(&values, &qs).unwrap();
            for ((&q, expected), found) in qs.iter().zip(numbers(case, "expected")).zip(together) {
                close(quantile(&values, q), expected, 1e-12);
                close(Some(found), expected, 1e-12);
            }
        }
    }

    #[test]
    fn the_median_of_an_even_sample_lies_half_way() {
        assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.5), Some(2.5));
    }

    #[test]
    fn nothing_has_no_quantile_and_no_quantile_lies_outside_zero_to_one() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantiles(&[], &[]), None);
        assert_eq!(quantile(&[1.0], 1.01), None);
        assert_eq!(quantile(&[1.0], f64::NAN), None);
        assert_eq!(quantiles(&[1.0], &[0.5, -0.1]), None);
    }

    #[test]
    fn a_long_sample_of_few_values_has_the_same_quantiles_by_counting_as_by_sorting() {
        let values: Vec<f64> = (0..5000_u64).map(|it| (it * it % 101) as f64 / 100.0).collect();
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        let qs = [0.0, 0.1, 0.333, 0.5, 0.95, 0.999, 1.0];
        let expected: Vec<f64> =
            qs.iter().map(|q| quantile_of_sorted(&sorted, *q).unwrap()).collect();
        assert!(counted(&values).is_some());
        assert_eq!(quantiles(&values, &qs), Some(expected.clone()));
        assert_eq!(quantiles_of_owned(values.clone(), &qs), Some(expected.clone()));
        assert_eq!(quantile(&values, 0.333), Some(expected[2]));
        let counts: Vec<(f64, u64)> = values.iter().map(|it| (*it, 1)).collect();
        assert_eq!(quantiles_of_counts(&counts, &qs), Some(expected));
        let many: Vec<f64> = (0..5000).map(|it| f64::from(it % 257)).collect();
        assert!(counted(&many).is_none() && counted(&values[..100]).is_none());
        assert_eq!(quantile(&many, 1.0), Some(256.0));
        assert_eq!(quantiles_of_counts(&[], &[0.5]), None);
    }

    proptest! {
        #[test]
        fn selecting_equals_sorting_and_quantiles_rise_with_q(
            values in prop::collection::vec(-1.0..1.0_f64, 1..100),
            mut qs in prop::collection::vec(0.0..=1.0_f64, 1..8),
        ) {
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let by_sorting: Vec<f64> =
                qs.iter().map(|&q| quantile_of_sorted(&sorted, q).unwrap()).collect();
            prop_assert_eq!(quantiles(&values, &qs).unwrap(), by_sorting.clone());
            prop_assert_eq!(quantiles_of_owned(values.clone(), &qs).unwrap(), by_sorting);
            qs.sort_by(f64::total_cmp);
            let rising = quantiles(&values, &qs).unwrap();
            prop_assert!(rising.windows(2).all(|pair| pair[0] <= pair[1]));
        }
    }
}
