//! How far the clock of a service is from ours, by the header `Date` of its answers.

use crate::domain::time::Timestamp;

/// Seconds by which our clock is ahead of theirs, at least and at most.
///
/// The header is cut to whole seconds: their clock showed `date` up to `date + 1 s`.
pub(crate) fn ahead_s(date: &str, at: Timestamp) -> Option<(f64, f64)> {
    let theirs = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(date).ok()?;
    let most = at.seconds_since(Timestamp::from_micros(theirs.as_microsecond()));
    Some((most - 1.0, most))
}

/// Seconds by which our clock is surely more than one second ahead, or behind when negative.
pub(crate) fn sure_offset_s(date: &str, at: Timestamp) -> Option<f64> {
    let (least, most) = ahead_s(date, at)?;
    (least > 1.0 || most < -1.0).then_some((least + most) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_told_only_when_it_is_surely_more_than_a_second() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        let theirs = 784_111_777_000_000;
        let offset = |micros: i64| sure_offset_s(date, Timestamp::from_micros(theirs + micros));
        assert_eq!(offset(0), None);
        assert_eq!(offset(1_900_000), None, "they may be late by 0.9 s only");
        assert_eq!(offset(5_500_000), Some(5.0));
        assert_eq!(offset(-2_000_000), Some(-2.5));
        assert_eq!(sure_offset_s("yesterday", Timestamp::from_micros(0)), None);
    }
}
