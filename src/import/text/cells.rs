//! One grammar for cells: numbers with or without their unit, and the many ways to say "no reading".

use crate::domain::metric::Unit;

/// Whether a cell says that there is no reading.
///
/// Covers every spelling seen in captures: `-`, `N/A`, `[N/A]`, `[Not Supported]`,
/// `[Requested functionality has been deprecated]`, `[Function Not Found]`, `[Unknown Error]`,
/// `ERR!`, an empty cell.
pub fn is_missing(cell: &str) -> bool {
    let text = cell.trim();
    let bracketed = text.starts_with('[') && text.ends_with(']') && text.parse::<f64>().is_err();
    bracketed
        || matches!(
            text.to_ascii_lowercase().as_str(),
            "" | "-" | "--" | "n/a" | "na" | "nan" | "null" | "none" | "err!" | "not supported"
        )
}

/// A whole number of this size or more in a cell is a "no value" sentinel, never a reading.
///
/// DCGM marks an integer without a value by `0x7ffffffffffffff0` and up, NVML by all ones.
const SENTINEL: f64 = 9.2e18;

/// Reads a cell; `Ok(None)` when it says that there is no reading.
///
/// A unit may stand behind the number, with or without a blank (`12 MiB`, `98%`, `22.89 W`); it is
/// not interpreted. Hexadecimal with `0x` is read too. The error is the text that is no number.
pub fn number(cell: &str) -> Result<Option<f64>, String> {
    let text = cell.trim();
    if is_missing(text) {
        return Ok(None);
    }
    let digits = text.split_whitespace().next().unwrap_or_default();
    let digits = digits.strip_suffix('%').unwrap_or(digits);
    let parsed = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok().map(|it| it as f64),
        None => plain_number(digits).or_else(|| plain_number(without_unit(digits))),
    };
    match parsed {
        Some(value) if value.abs() >= SENTINEL => Ok(None),
        Some(value) => Ok(Some(value)),
        None => Err(text.to_owned()),
    }
}

fn plain_number(text: &str) -> Option<f64> {
    let is_decimal = text.bytes().any(|it| it.is_ascii_digit())
        && text.bytes().all(|it| it.is_ascii_digit() || b"+-.eE".contains(&it));
    if !is_decimal {
        return None;
    }
    text.parse().ok().filter(|it: &f64| it.is_finite())
}

/// `12MiB` without its unit; only letters and `/` at the end count as one.
fn without_unit(text: &str) -> &str {
    text.trim_end_matches(|it: char| it.is_alphabetic() || it == '/')
}

/// The unit that a cell prints behind its number; empty when there is none.
pub fn printed_unit(cell: &str) -> &str {
    let text = cell.trim();
    if let Some((_, unit)) = text.split_once(char::is_whitespace) {
        return unit.trim();
    }
    if text.starts_with("0x") || text.starts_with("0X") {
        return "";
    }
    let is_unit = |it: char| it.is_alphabetic() || matches!(it, '%' | '/' | '°');
    &text[text.trim_end_matches(is_unit).len()..]
}

/// Splits a heading like `memory.used [MiB]` into name and unit; the unit is empty when there is none.
pub fn heading(cell: &str) -> (&str, &str) {
    let text = cell.trim().trim_matches('"').trim();
    match text.split_once('[') {
        Some((name, unit)) => (name.trim(), unit.trim_end_matches(']').trim()),
        None => (text, ""),
    }
}

/// The factor from a printed unit to the base of its kind: `MiB` to bytes, `W` to milliwatts, `%` to 1.
///
/// `None` for a unit that is not known here.
pub fn unit_factor(unit: &str) -> Option<f64> {
    Some(match unit {
        "B" | "bytes" | "%" | "C" | "MHz" | "ms_raw" | "mW" | "mJ" => 1.0,
        "KiB" => 1024.0,
        "MiB" | "MB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        "W" | "J" => 1000.0,
        _ => return None,
    })
}

/// The factor from a printed unit to the unit of a metric; `None` when they do not fit together.
///
/// NVIDIA's tools print mebibytes as `MB`, but data rates in powers of ten.
pub fn factor_to(unit: Unit, printed: &str) -> Option<f64> {
    let factor = match (unit, printed) {
        (Unit::Count | Unit::Code | Unit::Bitmask, _) => 1.0,
        (Unit::Percent, "%") | (Unit::Celsius, "C" | "°C") => 1.0,
        (Unit::Ratio, "%") => 0.01,
        (Unit::Bytes, "B" | "bytes") => 1.0,
        (Unit::Bytes, "KiB" | "KB" | "kB") => 1024.0,
        (Unit::Bytes, "MiB" | "MB") => 1_048_576.0,
        (Unit::Bytes, "GiB" | "GB") => 1_073_741_824.0,
        (Unit::BytesPerSecond, "B/s") => 1.0,
        (Unit::BytesPerSecond, "KB/s" | "kB/s") => 1e3,
        (Unit::BytesPerSecond, "MB/s") => 1e6,
        (Unit::BytesPerSecond, "GB/s") => 1e9,
        (Unit::Milliwatts, "mW") | (Unit::Millijoules, "mJ") => 1.0,
        (Unit::Milliwatts, "W") | (Unit::Millijoules, "J") => 1e3,
        (Unit::Milliwatts, "kW") | (Unit::Millijoules, "kJ") => 1e6,
        (Unit::Megahertz, "MHz") => 1.0,
        (Unit::Megahertz, "GHz") => 1e3,
        (Unit::Megahertz, "Hz") => 1e-6,
        (Unit::Nanoseconds, "ns") => 1.0,
        (Unit::Nanoseconds, "us" | "µs") => 1e3,
        (Unit::Nanoseconds, "ms") => 1e6,
        (Unit::Nanoseconds, "s") => 1e9,
        _ => return None,
    };
    Some(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_no_reading_is_a_gap_and_never_zero() {
        for cell in [
            "",
            " ",
            "-",
            "N/A",
            "[N/A]",
            "[n/a]",
            "[Not Supported]",
            "ERR!",
            "[Unknown Error]",
            "[Requested functionality has been deprecated]",
            "[Function Not Found]",
            "9223372036854775794",
            "18446744073709551615",
            "nan",
            "NaN",
        ] {
            assert_eq!(number(cell), Ok(None), "{cell}");
        }
    }

    #[test]
    fn a_number_is_read_with_or_without_its_unit() {
        for (cell, value) in [
            ("12", 12.0),
            ("12 MiB", 12.0),
            ("12MiB", 12.0),
            ("98 %", 98.0),
            ("98%", 98.0),
            ("22.89 W", 22.89),
            ("0x0000000000000004", 4.0),
            ("1e-3", 0.001),
            ("-5", -5.0),
        ] {
            assert_eq!(number(cell), Ok(Some(value)), "{cell}");
        }
    }

    #[test]
    fn what_is_no_number_is_an_error_with_its_text() {
        for cell in ["twelve", "1.2.3", "e", "12,5", "inf", "+", "0xzz"] {
            assert_eq!(number(cell), Err(cell.to_owned()), "{cell}");
        }
    }

    #[test]
    fn a_heading_is_a_name_and_perhaps_a_unit() {
        assert_eq!(heading(" memory.used [MiB]"), ("memory.used", "MiB"));
        assert_eq!(heading("timestamp"), ("timestamp", ""));
    }

    #[test]
    fn a_unit_behind_a_number_is_found_and_turned_into_ours() {
        for (cell, unit) in [
            ("12 MiB", "MiB"),
            ("12MiB", "MiB"),
            ("98%", "%"),
            ("7", ""),
            ("1e5", ""),
            ("0x1FF", ""),
            ("[N/A]", ""),
        ] {
            assert_eq!(printed_unit(cell), unit, "{cell}");
        }
        assert_eq!(factor_to(Unit::Bytes, "GiB"), Some(1_073_741_824.0));
        assert_eq!(factor_to(Unit::Milliwatts, "W"), Some(1000.0));
        assert_eq!(factor_to(Unit::Milliwatts, "MiB"), None);
        assert_eq!(factor_to(Unit::Percent, "C"), None);
    }
}
