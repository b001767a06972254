//! Instants, spans and sampling intervals; all in whole microseconds.

use serde::{Deserialize, Serialize};

/// An instant: microseconds since the Unix epoch, as the *source* stamped it.
///
/// Never the time of reading. A source without a zone is read in the zone that the user named.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The instant that lies `micros` microseconds after the Unix epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the Unix epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Seconds from `earlier` to this instant; negative when `earlier` is later.
    pub fn seconds_since(self, earlier: Timestamp) -> f64 {
        self.micros_since(earlier) as f64 / 1e6
    }

    /// Microseconds from `earlier` to this instant; stops at the ends of the range.
    pub const fn micros_since(self, earlier: Timestamp) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// This instant moved by `micros` microseconds; stops at the ends of the range.
    pub const fn plus_micros(self, micros: i64) -> Self {
        Self(self.0.saturating_add(micros))
    }
}

/// A half-open stretch of time, `from` included and `until` excluded; never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TimeSpan {
    #[serde(rename = "from_us")]
    from: Timestamp,
    #[serde(rename = "until_us")]
    until: Timestamp,
}

impl TimeSpan {
    /// The span between two instants; `None` unless `from` lies before `until`.
    pub fn new(from: Timestamp, until: Timestamp) -> Option<Self> {
        (from < until).then_some(Self { from, until })
    }

    /// The shortest span that holds both instants, the later one included.
    pub fn covering(first: Timestamp, last: Timestamp) -> Self {
        let (from, last) = (first.min(last), first.max(last));
        Self { from, until: last.plus_micros(1) }
    }

    /// First instant of the span.
    pub const fn from(self) -> Timestamp {
        self.from
    }

    /// First instant after the span.
    pub const fn until(self) -> Timestamp {
        self.until
    }

    /// Length in seconds.
    pub fn seconds(self) -> f64 {
        self.until.seconds_since(self.from)
    }

    /// Whether the instant lies in the span.
    pub fn contains(self, at: Timestamp) -> bool {
        self.from <= at && at < self.until
    }

    /// The part that two spans have in common; `None` when they do not meet.
    pub fn overlap(self, other: TimeSpan) -> Option<TimeSpan> {
        TimeSpan::new(self.from.max(other.from), self.until.min(other.until))
    }

    /// The shortest span that holds both.
    pub fn hull(self, other: TimeSpan) -> TimeSpan {
        TimeSpan { from: self.from.min(other.from), until: self.until.max(other.until) }
    }
}

/// Time from one sample to the next, in microseconds; never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SampleInterval(u64);

impl SampleInterval {
    /// An interval of `micros` microseconds; `None` for zero.
    pub fn from_micros(micros: u64) -> Option<Self> {
        (micros > 0).then_some(Self(micros))
    }

    /// Length in microseconds.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Length in seconds.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_micros(micros)
    }

    #[test]
    fn a_span_holds_its_start_but_not_its_end() {
        let span = TimeSpan::new(at(10), at(20)).unwrap();
        assert!(span.contains(at(10)));
        assert!(!span.contains(at(20)));
    }

    #[test]
    fn a_span_that_would_be_empty_cannot_be_made() {
        assert_eq!(TimeSpan::new(at(10), at(10)), None);
        assert_eq!(TimeSpan::new(at(11), at(10)), None);
    }

    #[test]
    fn spans_that_only_touch_have_nothing_in_common() {
        let first = TimeSpan::new(at(0), at(10)).unwrap();
        let second = TimeSpan::new(at(10), at(20)).unwrap();
        assert_eq!(first.overlap(second), None);
        assert_eq!(first.hull(second), TimeSpan::new(at(0), at(20)).unwrap());
    }
}
