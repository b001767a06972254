//! Plain decimals, sixteen letters at a time.

use crate::import::text::words::{EACH, zero_bytes};

/// Powers of ten that a float holds exactly, as far as fifteen digits need them.
const TENS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// Most letters of a plain decimal: fifteen digits and a point.
const LONGEST: usize = 16;

/// Reads the plain decimal of up to fifteen digits that stands in `text` from `from` to the end.
///
/// `None` leaves every other cell to a slower way. Exact: digits and the power of ten are both
/// whole numbers below 2^53, so their quotient is rounded once.
///
/// Source: W. D. Clinger, How to read floating point numbers accurately, PLDI 1990, 92–101.
pub(crate) fn plain_decimal(text: &[u8], from: usize) -> Option<f64> {
    let is_negative = text.get(from) == Some(&b'-');
    let length = text.len().checked_sub(from + usize::from(is_negative))?;
    let unused = LONGEST.checked_sub(length).filter(|it| *it < LONGEST)?;
    let letters = last_letters(text, unused);
    let (letters, below) = match first_point(letters) {
        Some(point) if point == unused => return None,
        Some(point) => (without_point(letters, point), LONGEST - 1 - point),
        None if unused == 0 => return None,
        None => (letters, 0),
    };
    let (high, low) = (letters as u64, (letters >> 64) as u64);
    if !is_digits(high) || !is_digits(low) {
        return None;
    }
    let value = (eight_digits(high) * 100_000_000 + eight_digits(low)) as f64 / TENS[below];
    Some(if is_negative { -value } else { value })
}

/// The last letters of a text, with zeros instead of the first `unused` of them.
///
/// They are taken from the text as one word where it is long enough: putting them together letter
/// by letter takes longer than all the rest.
fn last_letters(text: &[u8], unused: usize) -> u128 {
    let zeros = u128::from_le_bytes([b'0'; LONGEST]);
    let foreign = (1 << (8 * unused)) - 1;
    match text.last_chunk::<LONGEST>() {
        Some(last) => (u128::from_le_bytes(*last) & !foreign) | (zeros & foreign),
        None => {
            let mut last = [b'0'; LONGEST];
            last[unused..].copy_from_slice(&text[text.len() + unused - LONGEST..]);
            u128::from_le_bytes(last)
        }
    }
}

/// Position of the first point among the letters.
fn first_point(letters: u128) -> Option<usize> {
    let points = EACH * u64::from(b'.');
    let in_high = zero_bytes(letters as u64 ^ points);
    let in_low = zero_bytes((letters >> 64) as u64 ^ points);
    match (in_high, in_low) {
        (0, 0) => None,
        (0, it) => Some(8 + it.trailing_zeros() as usize / 8),
        (it, _) => Some(it.trailing_zeros() as usize / 8),
    }
}

/// The letters before the point, moved up by one to where it stood, and those behind it.
fn without_point(letters: u128, point: usize) -> u128 {
    let before = letters & ((1 << (8 * point)) - 1);
    let behind = letters & u128::MAX.checked_shl(8 * point as u32 + 8).unwrap_or(0);
    (before << 8) | u128::from(b'0') | behind
}

/// Whether all eight letters are digits.
fn is_digits(letters: u64) -> bool {
    let (high, zeros) = (EACH * 0xf0, EACH * u64::from(b'0'));
    letters & high == zeros && letters.wrapping_add(EACH * 6) & high == zeros
}

/// The number that eight digits mean, the first of them in the lowest byte.
///
/// Neighbours are joined: eight digits to four pairs, and those to two fours, and those to one.
///
/// Source: D. Lemire, Number parsing at a gigabyte per second, Software: Practice and Experience
/// 51 (2021), 1700–1727.
fn eight_digits(letters: u64) -> u64 {
    let digits = letters.wrapping_sub(EACH * u64::from(b'0'));
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let even = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let odd = ((pairs >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    even.wrapping_add(odd) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same at the start of a line and far behind it.
    fn plain(text: &str) -> Option<f64> {
        let line = format!("1775088787.826,9,{text}");
        let found = plain_decimal(text.as_bytes(), 0);
        assert_eq!(plain_decimal(line.as_bytes(), line.len() - text.len()), found, "{text}");
        found
    }

    #[test]
    fn a_plain_decimal_is_what_the_standard_parser_says() {
        for text in [
            "0",
            "70.0",
            "-0.5",
            "7.",
            "1292765194675",
            "0.000005",
            "999999999999999",
            "12345678.1234567",
            "1.23456789012345",
            "98.8181818181818",
        ] {
            assert_eq!(plain(text), text.parse().ok(), "{text}");
        }
    }

    #[test]
    fn everything_else_is_left_to_a_slower_way() {
        for text in ["", "-", ".", ".5", "-.5", "1e3", "1234567890123456", "1.2.3", "+1", "12 MiB"]
        {
            assert_eq!(plain(text), None, "{text}");
        }
        for text in ["N/A", "--1", "1-", "0x1F", ":", "/", "1234567.89012345678", "é"] {
            assert_eq!(plain(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn plain_decimals_are_exact(text in "-?[0-9]{1,14}(\\.[0-9]{0,7})?") {
            if let Some(value) = plain(&text) {
                prop_assert_eq!(value, text.parse::<f64>().unwrap());
            } else {
                prop_assert!(text.len() > 15);
            }
        }

        #[test]
        fn what_is_no_decimal_is_never_read_as_one(text in "[-+0-9./:e ]{0,17}") {
            if let Some(value) = plain(&text) {
                prop_assert_eq!(Some(value), text.parse::<f64>().ok());
            }
        }
    }
}
