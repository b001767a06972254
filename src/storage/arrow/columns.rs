//! Columns of one batch, whatever whole or broken numbers, texts and stamps they are made of.

use polars_arrow::array::{
    Array, BooleanArray, DictionaryArray, DictionaryKey, PrimitiveArray, Utf8Array, Utf8ViewArray,
};
use polars_arrow::datatypes::{ArrowDataType, IntegerType, TimeUnit};
use polars_arrow::types::NativeType;

/// Stands for no text.
const NO_TEXT: u32 = u32::MAX;

/// One cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// Nothing, which is never zero.
    Missing,
    /// Words.
    Text(&'a str),
    /// A whole number.
    Whole(i64),
    /// A number; neither NaN nor infinite.
    Number(f64),
    /// An instant, microseconds since the Unix epoch.
    Instant(i64),
}

/// The cells of one column of one batch.
#[derive(Debug)]
pub(crate) enum Column {
    /// Texts of which each that follows itself is kept once, and which one each row has.
    Text { pool: Vec<String>, of_row: Vec<u32> },
    /// Whole numbers.
    Whole(Vec<Option<i64>>),
    /// Numbers; what is not finite is missing.
    Number(Vec<Option<f64>>),
    /// Instants in microseconds.
    Instant(Vec<Option<i64>>),
    /// Nothing but missing cells.
    Missing,
    /// Cells that mean nothing here, with the name of their type.
    Unusable(String),
}

impl Column {
    /// The cells of an array.
    pub(crate) fn of(array: &dyn Array) -> Self {
        match array.dtype() {
            ArrowDataType::Null => Self::Missing,
            ArrowDataType::Boolean => booleans(array),
            ArrowDataType::Int8 => whole::<i8>(array, |it| Some(i64::from(it))),
            ArrowDataType::Int16 => whole::<i16>(array, |it| Some(i64::from(it))),
            ArrowDataType::Int32 => whole::<i32>(array, |it| Some(i64::from(it))),
            ArrowDataType::Int64 => whole::<i64>(array, Some),
            ArrowDataType::UInt8 => whole::<u8>(array, |it| Some(i64::from(it))),
            ArrowDataType::UInt16 => whole::<u16>(array, |it| Some(i64::from(it))),
            ArrowDataType::UInt32 => whole::<u32>(array, |it| Some(i64::from(it))),
            ArrowDataType::UInt64 => whole::<u64>(array, |it| i64::try_from(it).ok()),
            ArrowDataType::Float32 => numbers::<f32>(array, f64::from),
            ArrowDataType::Float64 => numbers::<f64>(array, |it| it),
            ArrowDataType::Timestamp(unit, _) => instants(array, *unit),
            ArrowDataType::Utf8 => texts(cells_of::<Utf8Array<i32>>(array).map(|it| it.iter())),
            ArrowDataType::LargeUtf8 => {
                texts(cells_of::<Utf8Array<i64>>(array).map(|it| it.iter()))
            }
            ArrowDataType::Utf8View => texts(cells_of::<Utf8ViewArray>(array).map(|it| it.iter())),
            ArrowDataType::Dictionary(key, _, _) => dictionary(array, *key),
            other => Self::Unusable(format!("{other:?}")),
        }
    }

    /// The cell of a row.
    pub(crate) fn cell(&self, row: usize) -> Cell<'_> {
        match self {
            Self::Text { .. } => self.text(row).map_or(Cell::Missing, Cell::Text),
            Self::Whole(it) => it[row].map_or(Cell::Missing, Cell::Whole),
            Self::Number(it) => it[row].map_or(Cell::Missing, Cell::Number),
            Self::Instant(it) => it[row].map_or(Cell::Missing, Cell::Instant),
            Self::Missing | Self::Unusable(_) => Cell::Missing,
        }
    }

    /// The text of a row; `None` where there is none.
    pub(crate) fn text(&self, row: usize) -> Option<&str> {
        let Self::Text { pool, of_row } = self else { return None };
        pool.get(of_row[row] as usize).map(String::as_str)
    }

    /// The whole number of a row; a number with a fraction is none.
    pub(crate) fn whole(&self, row: usize) -> Option<i64> {
        match self.cell(row) {
            Cell::Whole(it) => Some(it),
            Cell::Number(it) if it.fract() == 0.0 && it.abs() < 9.0e15 => Some(it as i64),
            _ => None,
        }
    }

    /// Whether two rows have the same cell.
    pub(crate) fn is_same(&self, one: usize, other: usize) -> bool {
        match self {
            Self::Text { pool, of_row } => {
                let (one, other) = (of_row[one], of_row[other]);
                let of = |it: u32| pool.get(it as usize);
                one == other || (one != NO_TEXT && other != NO_TEXT && of(one) == of(other))
            }
            _ => self.cell(one) == self.cell(other),
        }
    }

    /// What its cells are, for messages.
    pub(crate) fn kind(&self) -> String {
        match self {
            Self::Text { .. } => "text".to_owned(),
            Self::Whole(_) => "whole numbers".to_owned(),
            Self::Number(_) => "numbers".to_owned(),
            Self::Instant(_) => "stamps".to_owned(),
            Self::Missing => "nothing".to_owned(),
            Self::Unusable(it) => it.clone(),
        }
    }
}

fn cells_of<A: 'static>(array: &dyn Array) -> Option<&A> {
    array.as_any().downcast_ref::<A>()
}

fn whole<T: NativeType>(array: &dyn Array, into: fn(T) -> Option<i64>) -> Column {
    let Some(array) = cells_of::<PrimitiveArray<T>>(array) else { return Column::Missing };
    Column::Whole(array.iter().map(|it| it.copied().and_then(into)).collect())
}

fn numbers<T: NativeType>(array: &dyn Array, into: fn(T) -> f64) -> Column {
    let Some(array) = cells_of::<PrimitiveArray<T>>(array) else { return Column::Missing };
    let finite = |it: Option<&T>| it.map(|it| into(*it)).filter(|it| it.is_finite());
    Column::Number(array.iter().map(finite).collect())
}

fn booleans(array: &dyn Array) -> Column {
    let Some(array) = cells_of::<BooleanArray>(array) else { return Column::Missing };
    Column::Whole(array.iter().map(|it| it.map(i64::from)).collect())
}

fn instants(array: &dyn Array, unit: TimeUnit) -> Column {
    let Some(array) = cells_of::<PrimitiveArray<i64>>(array) else { return Column::Missing };
    let micros = |it: i64| match unit {
        TimeUnit::Second => it.checked_mul(1_000_000),
        TimeUnit::Millisecond => it.checked_mul(1_000),
        TimeUnit::Microsecond => Some(it),
        TimeUnit::Nanosecond => Some(it.div_euclid(1_000)),
    };
    Column::Instant(array.iter().map(|it| it.copied().and_then(micros)).collect())
}

fn texts<'a>(cells: Option<impl Iterator<Item = Option<&'a str>>>) -> Column {
    let (mut pool, mut of_row) = (Vec::<String>::new(), Vec::new());
    for cell in cells.into_iter().flatten() {
        let Some(text) = cell else {
            of_row.push(NO_TEXT);
            continue;
        };
        if pool.last().is_none_or(|it| it != text) {
            pool.push(text.to_owned());
        }
        of_row.push(u32::try_from(pool.len() - 1).unwrap_or(NO_TEXT));
    }
    Column::Text { pool, of_row }
}

fn dictionary(array: &dyn Array, key: IntegerType) -> Column {
    match key {
        IntegerType::Int8 => looked_up::<i8>(array),
        IntegerType::Int16 => looked_up::<i16>(array),
        IntegerType::Int32 => looked_up::<i32>(array),
        IntegerType::Int64 => looked_up::<i64>(array),
        IntegerType::UInt8 => looked_up::<u8>(array),
        IntegerType::UInt16 => looked_up::<u16>(array),
        IntegerType::UInt32 => looked_up::<u32>(array),
        IntegerType::UInt64 => looked_up::<u64>(array),
        other => Column::Unusable(format!("a dictionary by {other:?}")),
    }
}

/// Cells that name a place in a list of texts.
fn looked_up<K: DictionaryKey>(array: &dyn Array) -> Column {
    let Some(array) = cells_of::<DictionaryArray<K>>(array) else { return Column::Missing };
    let values = Column::of(array.values().as_ref());
    if !matches!(values, Column::Text { .. }) {
        return Column::Unusable(format!("a dictionary of {}", values.kind()));
    }
    texts(Some(array.keys_iter().map(|it| it.and_then(|it| values.text(it)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_number_text_and_stamp_is_read_and_missing_stays_missing() {
        let whole = Column::of(&PrimitiveArray::<u16>::from([Some(7), None]));
        assert_eq!((whole.cell(0), whole.cell(1)), (Cell::Whole(7), Cell::Missing));
        let number = Column::of(&PrimitiveArray::<f32>::from([Some(0.5), Some(f32::NAN)]));
        assert_eq!((number.cell(0), number.cell(1)), (Cell::Number(0.5), Cell::Missing));
        let text = Column::of(&Utf8Array::<i32>::from([Some("a"), Some("a"), None, Some("b")]));
        assert_eq!((text.text(1), text.text(2), text.text(3)), (Some("a"), None, Some("b")));
        assert!(text.is_same(0, 1) && !text.is_same(1, 2) && !text.is_same(0, 3));
        let millis = PrimitiveArray::<i64>::from([Some(5)])
            .to(ArrowDataType::Timestamp(TimeUnit::Millisecond, None));
        assert_eq!(Column::of(&millis).cell(0), Cell::Instant(5_000));
    }

    #[test]
    fn texts_by_their_place_in_a_list_are_texts() {
        let keys = PrimitiveArray::<i32>::from([Some(1), None, Some(0)]);
        let values = Utf8Array::<i32>::from([Some("a"), Some("b")]);
        let array = DictionaryArray::try_from_keys(keys, values.boxed(), false).unwrap();
        let column = Column::of(&array);
        assert_eq!((column.text(0), column.text(1), column.text(2)), (Some("b"), None, Some("a")));
    }
}
