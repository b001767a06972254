//! The one clock of scrapes and followed files.

use crate::domain::time::Timestamp;
use std::time::{Instant, UNIX_EPOCH};

/// What time it is.
#[expect(clippy::disallowed_methods, reason = "stamps of scrapes are made here only")]
pub(crate) fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// A stretch of time by a clock that is never set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch {
    started_at: Timestamp,
    started: Instant,
}

impl Stopwatch {
    /// Begins now.
    pub(crate) fn start() -> Self {
        Self { started_at: now(), started: Instant::now() }
    }

    /// The instant half-way from the start to now, by both clocks.
    pub(crate) fn middle(&self) -> (Timestamp, Instant) {
        let half = self.started.elapsed() / 2;
        let micros = i64::try_from(half.as_micros()).unwrap_or(i64::MAX);
        (self.started_at.plus_micros(micros), self.started + half)
    }

    /// What is left of a length of time that began with this watch.
    pub(crate) fn left_of(&self, length: std::time::Duration) -> std::time::Duration {
        length.saturating_sub(self.started.elapsed())
    }
}
