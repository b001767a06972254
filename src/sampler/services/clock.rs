//! Stretches of time of scrapes and followed files, by the sampler's one clock.

use crate::domain::time::Timestamp;
use crate::sampler::clock::{Clock, HostClock};
use std::time::Instant;

/// What time it is.
pub(crate) fn now() -> Timestamp {
    HostClock.now().stamp()
}

/// The middle of a stretch of time, and how far its ends are from it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Middle {
    pub(crate) at: Timestamp,
    pub(crate) instant: Instant,
    pub(crate) half: std::time::Duration,
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
    pub(crate) fn middle(&self) -> Middle {
        let half = self.started.elapsed() / 2;
        let micros = i64::try_from(half.as_micros()).unwrap_or(i64::MAX);
        let at = self.started_at.plus_micros(micros);
        Middle { at, instant: self.started + half, half }
    }

    /// What is left of a length of time that began with this watch.
    pub(crate) fn left_of(&self, length: std::time::Duration) -> std::time::Duration {
        length.saturating_sub(self.started.elapsed())
    }
}
