//! Lengths of time as a user writes them; every option that takes one reads it here.

use crate::domain::time::SampleInterval;

/// What an error and the help say of a length of time.
pub(crate) const ACCEPTED: &str =
    "numbers with the units w, d, h, m, s, ms or us, the greatest first: 90s, 1.5h, 1d12h, 7d";

/// Every unit, the greatest first: its length in microseconds, and what it may be called.
const UNITS: [(f64, &[&str]); 7] = [
    (604_800e6, &["w", "week", "weeks"]),
    (86_400e6, &["d", "day", "days"]),
    (3_600e6, &["h", "hr", "hrs", "hour", "hours"]),
    (60e6, &["m", "min", "mins", "minute", "minutes"]),
    (1e6, &["s", "sec", "secs", "second", "seconds"]),
    (1e3, &["ms", "msec", "msecs", "millisecond", "milliseconds"]),
    (1.0, &["us", "µs", "μs", "usec", "usecs", "microsecond", "microseconds"]),
];

/// Longest length that is believed: a hundred years, in microseconds.
const LONGEST_US: f64 = 3_155_760_000e6;

/// A length of time of at least a microsecond.
///
/// Days have 24 hours and weeks seven days; parts may be fractions, and stand with or without spaces.
/// Errors: what is wrong, and what is accepted.
pub(crate) fn interval(text: &str) -> Result<SampleInterval, String> {
    SampleInterval::from_micros(micros(text)?)
        .ok_or_else(|| format!("`{text}` is shorter than a microsecond"))
}

/// The same in seconds, where none at all is a length too.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    Ok(micros(text)? as f64 / 1e6)
}

/// The same in whole microseconds.
pub(crate) fn micros(text: &str) -> Result<u64, String> {
    let wrong = |why: &str| Err(format!("`{text}` is no length of time{why}: write {ACCEPTED}"));
    let mut rest = text.trim();
    let mut sum = 0.0;
    let mut next_unit = 0;
    while !rest.is_empty() || next_unit == 0 {
        let end = rest.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(rest.len());
        let Ok(number) = rest[..end].parse::<f64>() else { return wrong("") };
        rest = rest[end..].trim_start();
        let end = rest.find(|it: char| !it.is_alphabetic()).unwrap_or(rest.len());
        let name = &rest[..end];
        let Some(unit) = UNITS.iter().position(|it| it.1.contains(&name)) else {
            return match name {
                "" => wrong(", for it has no unit"),
                _ => wrong(&format!(", for no unit is called `{name}`")),
            };
        };
        if unit < next_unit {
            return wrong(&format!(", for `{name}` stands too late"));
        }
        next_unit = unit + 1;
        sum += number * UNITS[unit].0;
        rest = rest[end..].trim_start();
    }
    match sum <= LONGEST_US {
        // Bounded above, and no number here has a sign.
        true => Ok(sum.round() as u64),
        false => wrong(" that anybody waits for"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_combination_and_fraction_is_read() {
        const S: u64 = 1_000_000;
        for (text, expected) in [
            ("7d", 604_800 * S),
            ("2w", 1_209_600 * S),
            ("1d12h", 129_600 * S),
            ("1w 1d 1h 1m 1s 1ms 1us", 694_861 * S + 1001),
            ("90m", 5_400 * S),
            ("1.5h", 5_400 * S),
            ("0.5d", 43_200 * S),
            ("1h 30m", 5_400 * S),
            (" 90 s ", 90 * S),
            ("2.5s", 2_500_000),
            ("100ms", 100_000),
            ("150us", 150),
            ("150µs", 150),
            ("1 hour 30 minutes", 5_400 * S),
            ("3days", 259_200 * S),
        ] {
            assert_eq!(micros(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_length_is_refused_with_what_is_accepted() {
        for text in [
            "",
            "often",
            "90",
            "7x",
            "5M",
            "-2h",
            "+2h",
            "1h1h",
            "30m1h",
            "1.2.3s",
            "s",
            "1h30",
            "1e3s",
            "NaNs",
            "infs",
            "99999999w",
            "1h,30m",
            "٣h",
        ] {
            let error = micros(text).expect_err(text);
            assert!(error.contains(&format!("`{text}`")), "{error}");
            assert!(error.ends_with("90s, 1.5h, 1d12h, 7d"), "{error}");
        }
        assert!(micros("90").unwrap_err().contains("has no unit"));
        assert!(micros("5M").unwrap_err().contains("no unit is called `M`"));
        assert!(interval("0s").unwrap_err().contains("shorter than a microsecond"));
        assert_eq!(seconds("0s"), Ok(0.0));
    }
}
