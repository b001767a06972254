//! Stamps in a tenant's own log.

use crate::domain::time::Timestamp;

/// A stamp, and whether its zone had to be assumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) at: Timestamp,
    pub(crate) is_assumed: bool,
}

/// Numbers below these count seconds, milliseconds, microseconds since 1970; others nanoseconds.
const SECONDS_BELOW: f64 = 1e11;
const MILLISECONDS_BELOW: f64 = 1e14;
const MICROSECONDS_BELOW: f64 = 1e17;

/// Stamps before 2001 are numbers of something else, such as seconds since a program's start.
const EARLIEST_S: f64 = 1e9;

/// Reads a stamp: a number since 1970, its unit told by its length, or a date and a time.
///
/// Without a zone it is read as UTC.
pub(crate) fn stamp(text: &str) -> Option<Stamp> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        return of_number(number);
    }
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        let at = Timestamp::from_micros(at.as_microsecond());
        return Some(Stamp { at, is_assumed: false });
    }
    let local: jiff::civil::DateTime = text.replace('/', "-").parse().ok()?;
    let at = jiff::tz::TimeZone::UTC.to_timestamp(local).ok()?;
    Some(Stamp { at: Timestamp::from_micros(at.as_microsecond()), is_assumed: true })
}

fn of_number(number: f64) -> Option<Stamp> {
    let seconds = match number {
        it if it < SECONDS_BELOW => it,
        it if it < MILLISECONDS_BELOW => it / 1e3,
        it if it < MICROSECONDS_BELOW => it / 1e6,
        it => it / 1e9,
    };
    let is_date = (EARLIEST_S..SECONDS_BELOW).contains(&seconds);
    let at = Timestamp::from_micros((seconds * 1e6).round() as i64);
    is_date.then_some(Stamp { at, is_assumed: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_tell_their_unit_and_dates_may_lack_a_zone() {
        let micros = |text: &str| stamp(text).map(|it| (it.at.as_micros(), it.is_assumed));
        for text in [
            "1767225600.5",
            "1767225600500",
            "1767225600500000",
            "1767225600500000000",
            "2026-01-01T00:00:00.5Z",
            "2026-01-01T01:00:00.5+01:00",
        ] {
            assert_eq!(micros(text), Some((1_767_225_600_500_000, false)), "{text}");
        }
        assert_eq!(micros("2026/01/01 00:00:00.5"), Some((1_767_225_600_500_000, true)));
        for text in ["", "12.5", "yesterday", "NaN", "-1"] {
            assert_eq!(micros(text), None, "{text}");
        }
    }
}
