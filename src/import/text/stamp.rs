//! Time stamps of foreign text become [`Timestamp`]s; a zone is never guessed silently.

use crate::domain::time::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Spellings of a local time, tried in turn.
const LOCAL_FORMATS: &[&str] = &[
    "%Y/%m/%d %H:%M:%S%.f",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y%m%d %H:%M:%S%.f",
    "%a %b %d %H:%M:%S %Y",
    "%m/%d/%Y %H:%M:%S%.f",
];

/// Unit of a number that counts from the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EpochUnit {
    /// Seconds, with or without a fraction.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
}

/// Reads stamps of one file and remembers what it had to assume.
#[derive(Debug)]
pub struct StampReader {
    zone: TimeZone,
    is_assumed: bool,
    format: usize,
    zoneless: u64,
    ambiguous: u64,
    skipped: u64,
    last: Option<Timestamp>,
}

impl StampReader {
    /// A reader for stamps in `zone` where they carry none; `None` means UTC, and is remembered as assumed.
    pub fn new(zone: Option<TimeZone>) -> Self {
        let is_assumed = zone.is_none();
        let zone = zone.unwrap_or(TimeZone::UTC);
        Self { zone, is_assumed, format: 0, zoneless: 0, ambiguous: 0, skipped: 0, last: None }
    }

    /// Reads a stamp as text; the error is the text that is no stamp.
    ///
    /// RFC 3339 with any fraction and offset, or one of the local spellings in the reader's zone.
    pub fn text(&mut self, cell: &str) -> Result<Timestamp, String> {
        let text = cell.trim().trim_matches('"');
        if let Ok(instant) = text.parse::<jiff::Timestamp>() {
            return Ok(Timestamp::from_micros(instant.as_microsecond()));
        }
        let local = self.local(text).ok_or_else(|| text.to_owned())?;
        self.in_zone(local, text)
    }

    /// Reads a stamp in a `strptime` spelling; the error is the text that is not in it.
    ///
    /// A spelling with an offset (`%z`, `%:z`) or zone (`%Q`) needs no zone of the reader.
    pub fn spelt(&mut self, cell: &str, spelling: &str) -> Result<Timestamp, String> {
        let text = cell.trim().trim_matches('"');
        if let Ok(instant) = jiff::Timestamp::strptime(spelling, text) {
            return Ok(Timestamp::from_micros(instant.as_microsecond()));
        }
        let local = DateTime::strptime(spelling, text).map_err(|_| text.to_owned())?;
        self.in_zone(local, text)
    }

    fn in_zone(&mut self, local: DateTime, text: &str) -> Result<Timestamp, String> {
        self.zoneless += 1;
        let in_zone = self.zone.to_ambiguous_timestamp(local);
        let is_fold = matches!(in_zone.offset(), jiff::tz::AmbiguousOffset::Fold { .. });
        match in_zone.offset() {
            jiff::tz::AmbiguousOffset::Unambiguous { .. } => {}
            jiff::tz::AmbiguousOffset::Gap { .. } => self.skipped += 1,
            jiff::tz::AmbiguousOffset::Fold { .. } => self.ambiguous += 1,
        }
        let first = in_zone.compatible().map_err(|_| text.to_owned())?;
        let mut stamp = Timestamp::from_micros(first.as_microsecond());
        if is_fold && self.last.is_some_and(|it| stamp < it) {
            let second = in_zone.later().map_err(|_| text.to_owned())?;
            stamp = Timestamp::from_micros(second.as_microsecond());
        }
        self.last = Some(stamp);
        Ok(stamp)
    }

    /// The local time in the text; starts with the spelling that fitted last.
    fn local(&mut self, text: &str) -> Option<DateTime> {
        let count = LOCAL_FORMATS.len();
        for step in 0..count {
            let format = (self.format + step) % count;
            if let Ok(local) = DateTime::strptime(LOCAL_FORMATS[format], text) {
                self.format = format;
                return Some(local);
            }
        }
        None
    }

    /// Sentences about what was assumed, with remedies; empty when nothing was.
    pub fn assumptions(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        if self.is_assumed && self.zoneless > 0 {
            all.push((
                match self.zoneless {
                    1 => "1 stamp carries no zone and was read as UTC".to_owned(),
                    count => format!("{count} stamps carry no zone and were read as UTC"),
                },
                "name the zone of the host: --timezone Europe/Berlin".to_owned(),
            ));
        }
        if self.ambiguous > 0 {
            all.push((
                format!("{} stamps lie in an hour that the clock change repeats; they were told apart by their order", self.ambiguous),
                "record in UTC".to_owned(),
            ));
        }
        if self.skipped > 0 {
            all.push((
                format!("{} stamps lie in an hour that the clock change skips; the zone is probably wrong", self.skipped),
                "check --timezone".to_owned(),
            ));
        }
        all
    }

    /// How stamps were read, for the provenance.
    pub fn clock(&self) -> String {
        match (self.zoneless > 0, self.is_assumed) {
            (false, _) => "UTC".to_owned(),
            (true, true) => "assumed UTC".to_owned(),
            (true, false) => self.zone.iana_name().unwrap_or("given offset").to_owned(),
        }
    }
}

/// Reads a number that counts from the Unix epoch; exact to the microsecond, unlike a float.
///
/// The error is the text that is no such number.
pub fn epoch(cell: &str, unit: EpochUnit) -> Result<Timestamp, String> {
    let text = cell.trim();
    let (per_unit_micros, digits_below): (i128, usize) = match unit {
        EpochUnit::Seconds => (1_000_000, 6),
        EpochUnit::Milliseconds => (1_000, 3),
        EpochUnit::Microseconds => (1, 0),
        EpochUnit::Nanoseconds => (1, 0),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let valid = |it: &str| it.bytes().all(|it| it.is_ascii_digit());
    let unsigned = whole.strip_prefix('-').unwrap_or(whole);
    if unsigned.is_empty() || !valid(unsigned) || !valid(fraction) {
        return Err(text.to_owned());
    }
    let whole: i128 = whole.parse().map_err(|_| text.to_owned())?;
    let kept: String = fraction.chars().chain("000000".chars()).take(digits_below).collect();
    let below: i128 =
        if kept.is_empty() { 0 } else { kept.parse().map_err(|_| text.to_owned())? };
    let below = if text.starts_with('-') { -below } else { below };
    let micros = match unit {
        EpochUnit::Nanoseconds => Some(whole / 1_000),
        _ => whole.checked_mul(per_unit_micros).and_then(|it| it.checked_add(below)),
    };
    let micros = micros.and_then(|it| i64::try_from(it).ok());
    micros.map(Timestamp::from_micros).ok_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> i64 {
        StampReader::new(None).text(text).unwrap().as_micros()
    }

    #[test]
    fn every_spelling_seen_in_captures_means_the_same_instant() {
        let expected = 1_767_501_539_876_000;
        assert_eq!(read("2026/01/04 04:38:59.876"), expected);
        assert_eq!(read("2026-01-04T04:38:59.876Z"), expected);
        assert_eq!(read("2026-01-04T05:38:59.876000000+01:00"), expected);
        assert_eq!(read("2026-01-04 04:38:59.876"), expected);
        assert_eq!(read("20260104 04:38:59"), expected - 876_000);
        assert_eq!(read("Sun Jan  4 04:38:59 2026"), expected - 876_000);
    }

    #[test]
    fn a_zoneless_stamp_is_read_in_the_zone_that_was_named() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        let mut reader = StampReader::new(Some(berlin));
        let stamp = reader.text("2026/01/04 05:38:59.876").unwrap();
        assert_eq!(stamp.as_micros(), 1_767_501_539_876_000);
        assert!(reader.assumptions().is_empty());
        assert_eq!(reader.clock(), "Europe/Berlin");
    }

    #[test]
    fn an_assumed_zone_and_an_hour_that_comes_twice_are_reported() {
        let mut assumed = StampReader::new(None);
        assumed.text("2026/01/04 04:38:59.876").unwrap();
        assert!(assumed.assumptions()[0].0.contains("read as UTC"));
        let mut berlin = StampReader::new(Some(TimeZone::get("Europe/Berlin").unwrap()));
        berlin.text("2026/10/25 02:30:00.000").unwrap();
        berlin.text("2026/03/29 02:30:00.000").unwrap();
        assert_eq!(berlin.assumptions().len(), 2);
    }

    #[test]
    fn an_epoch_is_exact_to_the_microsecond() {
        let at = |text, unit| epoch(text, unit).unwrap().as_micros();
        assert_eq!(at("1775088787.826", EpochUnit::Seconds), 1_775_088_787_826_000);
        assert_eq!(at("1775088787.8267891", EpochUnit::Seconds), 1_775_088_787_826_789);
        assert_eq!(at("1653167163586231", EpochUnit::Microseconds), 1_653_167_163_586_231);
        assert_eq!(at("1653167163586231999", EpochUnit::Nanoseconds), 1_653_167_163_586_231);
        assert_eq!(at("1662858720.0", EpochUnit::Seconds), 1_662_858_720_000_000);
        assert!(epoch("12:00", EpochUnit::Seconds).is_err());
        assert!(epoch("", EpochUnit::Seconds).is_err());
    }

    #[test]
    fn a_count_beyond_every_calendar_is_refused() {
        for text in [i128::MAX.to_string(), i128::MIN.to_string(), format!("{}.5", i64::MAX)] {
            for unit in [EpochUnit::Seconds, EpochUnit::Milliseconds] {
                assert_eq!(epoch(&text, unit), Err(text.clone()));
            }
        }
    }
}
