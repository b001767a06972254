//! Values become cells; a value that is not there becomes its reason.

use crate::domain::units::{MemoryBytes, Seconds};
use crate::report::block::{Align, Cell, Column};
use crate::report::wording::sentence;

/// A share from 0 to 1, shown in percent.
pub(crate) fn percent(ratio: f64) -> Cell {
    number(ratio * 100.0, "%", 1)
}

/// A share, or why there is none.
pub(crate) fn percent_or(ratio: Option<f64>, reason: &str) -> Cell {
    ratio.map_or_else(|| missing(reason), percent)
}

/// A plain number; one that is not finite counts as missing.
pub(crate) fn number(value: f64, unit: &'static str, decimals: usize) -> Cell {
    if value.is_finite() {
        Cell::Number { value, unit, decimals }
    } else {
        missing("the value is not a finite number")
    }
}

/// A number, or why there is none.
pub(crate) fn number_or(value: Option<f64>, decimals: usize, reason: &str) -> Cell {
    value.map_or_else(|| missing(reason), |it| number(it, "", decimals))
}

/// A count of things.
pub(crate) fn count(value: u64) -> Cell {
    number(value as f64, "", 0)
}

/// A length of time, or why there is none.
pub(crate) fn seconds_or(value: Option<f64>, reason: &str) -> Cell {
    match value.filter(|it| it.is_finite()) {
        Some(it) => measure(Seconds(it).to_string(), it),
        None => missing(reason),
    }
}

/// An amount of memory, or why there is none.
pub(crate) fn bytes_or(value: Option<f64>, reason: &str) -> Cell {
    match value.and_then(|it| Some((it, MemoryBytes::from_f64(it)?))) {
        Some((bytes, it)) => measure(it.to_string(), bytes),
        None => missing(reason),
    }
}

/// A quantity in words, and its value in the one unit in which its column is compared.
pub(crate) fn measure(text: String, value: f64) -> Cell {
    Cell::Measure { text, value }
}

/// No value, and why.
pub(crate) fn missing(reason: &str) -> Cell {
    Cell::Missing(sentence(reason))
}

/// A column of words.
pub(crate) fn words(title: &str) -> Column {
    Column { title: title.to_owned(), align: Align::Left }
}

/// A column of numbers.
pub(crate) fn numbers(title: &str) -> Column {
    Column { title: title.to_owned(), align: Align::Right }
}

impl Cell {
    /// By what a table is sorted: the value itself, or the rank of a word or mark; `None` for text
    /// and for what is missing.
    pub(crate) fn rank(&self) -> Option<f64> {
        let rank = match self {
            Self::Number { value, .. } | Self::Measure { value, .. } => *value,
            Self::Confidence(value) => *value,
            Self::Word(word) => f64::from(*word as u8),
            Self::Marked(mark, _) => f64::from(*mark as u8),
            Self::Text(_) | Self::Name(_) | Self::Quantity(_) | Self::Missing(_) => return None,
        };
        rank.is_finite().then_some(rank)
    }

    /// The cell as plain text, with its unit.
    pub fn plain(&self) -> String {
        match self {
            Self::Text(text) | Self::Name(text) | Self::Quantity(text) => text.clone(),
            Self::Measure { text, .. } => text.clone(),
            Self::Marked(_, words) => words.clone(),
            Self::Number { value, unit, decimals } => {
                let digits = digits(*value, *decimals);
                if unit.is_empty() { digits } else { format!("{digits} {unit}") }
            }
            Self::Word(word) => word.as_words().to_owned(),
            Self::Confidence(value) => format!("{value:.2}"),
            Self::Missing(_) => "—".to_owned(),
        }
    }
}

/// The number with so many decimals; a small one is not rounded to nothing.
fn digits(value: f64, decimals: usize) -> String {
    let least = 0.5 * 10f64.powi(-(decimals as i32));
    if value != 0.0 && value.abs() < least {
        let sign = if value < 0.0 { "−" } else { "" };
        return format!("<{sign}{:.decimals$}", 2.0 * least);
    }
    format!("{value:.decimals$}").replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_never_shown_as_a_number() {
        for cell in [
            percent_or(None, "not recorded"),
            seconds_or(Some(f64::NAN), "not recorded"),
            bytes_or(Some(-1.0), "not recorded"),
            number(f64::INFINITY, "%", 1),
        ] {
            assert!(matches!(cell, Cell::Missing(_)), "{cell:?}");
            assert_eq!(cell.plain(), "—");
        }
    }

    #[test]
    fn a_small_number_is_told_from_zero() {
        assert_eq!(percent(0.000_1).plain(), "<0.1 %");
        assert_eq!(percent(0.0).plain(), "0.0 %");
        assert_eq!(percent(0.123).plain(), "12.3 %");
        assert_eq!(number(-1.5, "", 1).plain(), "−1.5");
    }
}
