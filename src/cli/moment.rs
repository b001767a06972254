//! Times as a user writes them: an instant, a time of day, or an offset from the first sample, the end or now.

use crate::cli::duration;
use crate::domain::time::{TimeSpan, Timestamp};

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// A time that the user named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// An instant.
    At(Timestamp),
    /// So many microseconds after the first sample.
    AfterStartMicros(i64),
    /// So many microseconds before the end of the recording, but not before its first sample.
    BeforeEndMicros(i64),
    /// A time of day on the day of the recording, in microseconds after midnight.
    OfDayMicros(i64),
}

impl Moment {
    /// The instant within a recording of this span; times of day are read in the zone.
    ///
    /// A time of day that lies before a recording which runs over midnight is that of the next day.
    pub(crate) fn within(self, span: TimeSpan, zone: Option<&jiff::tz::TimeZone>) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::AfterStartMicros(micros) => span.from().plus_micros(micros),
            Self::BeforeEndMicros(micros) => {
                span.until().plus_micros(micros.saturating_neg()).max(span.from())
            }
            Self::OfDayMicros(micros) => {
                let (today, tomorrow) = on_both_days(micros, span.from(), zone);
                if today < span.from() && tomorrow <= span.until() { tomorrow } else { today }
            }
        }
    }

    /// The instant for what has no end but now; a time of day is the latest one that has been.
    pub(crate) fn as_of(self, now: Timestamp, zone: Option<&jiff::tz::TimeZone>) -> Timestamp {
        match self {
            Self::BeforeEndMicros(micros) => now.plus_micros(micros.saturating_neg()),
            _ => self.within(TimeSpan::covering(now.plus_micros(-DAY), now), zone),
        }
    }
}

/// A time of day on the day of an instant, and on the next one.
fn on_both_days(
    micros: i64,
    at: Timestamp,
    zone: Option<&jiff::tz::TimeZone>,
) -> (Timestamp, Timestamp) {
    let zone = zone.cloned().unwrap_or(jiff::tz::TimeZone::UTC);
    let on = |days: i64| {
        let instant = jiff::Timestamp::from_microsecond(at.as_micros()).ok()?;
        let date = zone.to_datetime(instant).date();
        let date = if days == 0 { date } else { date.tomorrow().ok()? };
        let clock = jiff::SignedDuration::from_micros(micros);
        let time = jiff::civil::Time::midnight().checked_add(clock).ok()?;
        let instant = zone.to_timestamp(date.to_datetime(time)).ok()?;
        Some(Timestamp::from_micros(instant.as_microsecond()))
    };
    // Beyond the calendar every day has 24 hours.
    let plain = |days: i64| {
        let midnight = at.as_micros().div_euclid(DAY).saturating_mul(DAY);
        Timestamp::from_micros(midnight).plus_micros(micros.saturating_add(days * DAY))
    };
    (on(0).unwrap_or_else(|| plain(0)), on(1).unwrap_or_else(|| plain(1)))
}

impl std::str::FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Ok(at) = timestamp(text) {
            return Ok(Self::At(at));
        }
        if let Some(micros) = time_of_day(text) {
            return Ok(Self::OfDayMicros(micros));
        }
        let (length, is_from_end) = match text.strip_prefix('-') {
            Some(rest) => (rest, true),
            None => (text.strip_prefix('+').unwrap_or(text), false),
        };
        let micros = duration::micros(length).map_err(|_| {
            format!(
                "`{text}` is neither a time like 2026-01-31T12:00:00Z or 12:00, nor an offset from \
                 the first sample like 90s or from the end like -2h: write {}",
                duration::ACCEPTED
            )
        })?;
        let micros = i64::try_from(micros).map_err(|_| format!("`{text}` is too far away"))?;
        Ok(if is_from_end { Self::BeforeEndMicros(micros) } else { Self::AfterStartMicros(micros) })
    }
}

/// A time that is told without a recording, so that nothing is counted from a first sample.
pub(crate) fn without_start(text: &str) -> Result<Moment, String> {
    match text.parse()? {
        Moment::AfterStartMicros(_) => {
            let length = text.trim().trim_start_matches('+');
            Err(format!(
                "`{text}` counts from the first sample, and a server has none: write -{length} for that long before now"
            ))
        }
        moment => Ok(moment),
    }
}

/// An instant with its zone.
pub(crate) fn timestamp(text: &str) -> Result<Timestamp, String> {
    let instant: jiff::Timestamp = text
        .parse()
        .map_err(|_| format!("`{text}` is no time with a zone, like 2026-01-31T12:00:00Z"))?;
    Ok(Timestamp::from_micros(instant.as_microsecond()))
}

/// `HH:MM` or `HH:MM:SS`, also with a fraction, in microseconds after midnight.
fn time_of_day(text: &str) -> Option<i64> {
    let time: jiff::civil::Time = match text.matches(':').count() {
        1 => format!("{text}:00").parse().ok()?,
        2 => text.parse().ok()?,
        _ => return None,
    };
    let parts = text.split([':', '.']).all(|it| it.bytes().all(|it| it.is_ascii_digit()));
    let seconds =
        3600 * i64::from(time.hour()) + 60 * i64::from(time.minute()) + i64::from(time.second());
    let micros = i64::from(time.subsec_nanosecond()) / 1000;
    parts.then_some(1_000_000 * seconds + micros)
}

/// An instant in UTC as RFC 3339, for files that are read again.
pub(crate) fn rfc3339(at: Timestamp) -> String {
    match jiff::Timestamp::from_microsecond(at.as_micros()) {
        Ok(it) => it.to_string(),
        Err(_) => format!("{}us", at.as_micros()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        timestamp(text).unwrap()
    }

    fn within(text: &str, from: &str, until: &str) -> Timestamp {
        let span = TimeSpan::new(at(from), at(until)).unwrap();
        text.parse::<Moment>().unwrap().within(span, None)
    }

    #[test]
    fn a_time_may_be_an_instant_a_time_of_day_or_an_offset() {
        let (from, until) = ("2026-01-31T09:00:00Z", "2026-01-31T21:00:00Z");
        for (text, expected) in [
            ("2026-01-31T12:00:00+01:00", "2026-01-31T11:00:00Z"),
            ("12:30", "2026-01-31T12:30:00Z"),
            ("12:30:05.5", "2026-01-31T12:30:05.5Z"),
            ("+120s", "2026-01-31T09:02:00Z"),
            ("5m", "2026-01-31T09:05:00Z"),
            ("1h 30m", "2026-01-31T10:30:00Z"),
            ("-2h", "2026-01-31T19:00:00Z"),
            ("-1h30m", "2026-01-31T19:30:00Z"),
            ("-7d", "2026-01-31T09:00:00Z"),
        ] {
            assert_eq!(within(text, from, until), at(expected), "{text}");
        }
    }

    #[test]
    fn a_time_of_day_after_midnight_is_that_of_the_next_day() {
        let (from, until) = ("2026-01-31T22:00:00Z", "2026-02-01T03:00:00Z");
        assert_eq!(within("01:00", from, until), at("2026-02-01T01:00:00Z"));
        assert_eq!(within("23:00", from, until), at("2026-01-31T23:00:00Z"));
    }

    #[test]
    fn a_time_of_day_is_read_in_the_zone_that_was_named() {
        let span = TimeSpan::new(at("2026-01-31T09:00:00Z"), at("2026-01-31T10:00:00Z")).unwrap();
        let berlin = jiff::tz::TimeZone::get("Europe/Berlin").unwrap();
        let moment: Moment = "10:30".parse().unwrap();
        assert_eq!(moment.within(span, Some(&berlin)), at("2026-01-31T09:30:00Z"));
        // In the night of a clock change the day has 25 hours.
        let span = TimeSpan::new(at("2026-10-24T22:30:00Z"), at("2026-10-25T20:00:00Z")).unwrap();
        assert_eq!(moment.within(span, Some(&berlin)), at("2026-10-25T09:30:00Z"));
    }

    #[test]
    fn without_a_recording_offsets_count_from_now_and_times_of_day_have_been() {
        for (text, expected) in [
            ("2026-01-31T12:00:00+01:00", "2026-01-31T11:00:00Z"),
            ("-2h", "2026-01-31T10:00:00Z"),
            ("-7d", "2026-01-24T12:00:00Z"),
            ("03:10", "2026-01-31T03:10:00Z"),
            ("23:00", "2026-01-30T23:00:00Z"),
        ] {
            let found = without_start(text).unwrap().as_of(at("2026-01-31T12:00:00Z"), None);
            assert_eq!(found, at(expected), "{text}");
        }
        for text in ["+5m", "5m"] {
            let error = without_start(text).unwrap_err();
            assert!(error.contains("write -5m"), "{error}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused_with_examples() {
        for text in ["", "noon", "25:00", "12:60", "12:00:00:00", "2026-01-31", "--2h", "-", "+-2h"]
        {
            let error = text.parse::<Moment>().unwrap_err();
            assert!(error.contains(text) && error.contains("12:00"), "{error}");
        }
    }
}
