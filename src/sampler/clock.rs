//! The only clock of the sampler.

use crate::domain::time::Timestamp;
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// One instant on the three clocks that drivers stamp with; microseconds each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Since an arbitrary start; stands still while the host sleeps, never jumps.
    pub monotonic_us: i64,
    /// Since the host was started, sleep included.
    pub boottime_us: i64,
    /// Since the Unix epoch; jumps when somebody sets it.
    pub realtime_us: i64,
}

impl Moment {
    /// The instant as recordings stamp it.
    pub fn stamp(self) -> Timestamp {
        Timestamp::from_micros(self.realtime_us)
    }

    /// The instant in the middle between two, on every clock.
    pub fn middle(self, other: Moment) -> Moment {
        let middle = |a: i64, b: i64| a + (b - a) / 2;
        Moment {
            monotonic_us: middle(self.monotonic_us, other.monotonic_us),
            boottime_us: middle(self.boottime_us, other.boottime_us),
            realtime_us: middle(self.realtime_us, other.realtime_us),
        }
    }
}

/// Tells the time and waits.
pub trait Clock: Send + Sync {
    /// What time it is.
    fn now(&self) -> Moment;

    /// Waits until the monotonic clock shows this; returns at once when it has passed.
    fn sleep_until(&self, monotonic_us: i64);
}

/// The clocks of the host.
#[derive(Debug, Clone, Copy)]
pub struct HostClock;

fn micros(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
}

impl Clock for HostClock {
    fn now(&self) -> Moment {
        Moment {
            monotonic_us: micros(ClockId::Monotonic),
            boottime_us: micros(ClockId::Boottime),
            realtime_us: micros(ClockId::Realtime),
        }
    }

    fn sleep_until(&self, monotonic_us: i64) {
        let left = monotonic_us - micros(ClockId::Monotonic);
        if let Ok(left) = u64::try_from(left) {
            std::thread::sleep(Duration::from_micros(left));
        }
    }
}

/// Processor time that this program has used, microseconds.
pub(crate) fn own_cpu_us() -> i64 {
    micros(ClockId::ProcessCPUTime)
}

/// What happened to the clocks between two moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Jump {
    /// The host slept for so many microseconds.
    Suspended(i64),
    /// Somebody set the wall clock by so many microseconds.
    Stepped(i64),
}

/// A difference below this is drift, not a jump: one second.
const JUMP_US: i64 = 1_000_000;

/// Whether the clocks jumped between two moments.
pub(crate) fn jump(before: Moment, after: Moment) -> Option<Jump> {
    let passed = after.monotonic_us - before.monotonic_us;
    let slept = after.boottime_us - before.boottime_us - passed;
    if slept > JUMP_US {
        return Some(Jump::Suspended(slept));
    }
    let stepped = after.realtime_us - before.realtime_us - passed;
    (stepped.abs() > JUMP_US).then_some(Jump::Stepped(stepped))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(monotonic_s: i64, boottime_s: i64, realtime_s: i64) -> Moment {
        let us = |it: i64| it * 1_000_000;
        Moment {
            monotonic_us: us(monotonic_s),
            boottime_us: us(boottime_s),
            realtime_us: us(realtime_s),
        }
    }

    #[test]
    fn sleep_and_a_set_clock_are_told_apart_and_time_that_passes_is_neither() {
        let before = moment(100, 100, 5000);
        assert_eq!(jump(before, moment(110, 110, 5010)), None);
        assert_eq!(jump(before, moment(101, 161, 5061)), Some(Jump::Suspended(60_000_000)));
        assert_eq!(jump(before, moment(101, 101, 4001)), Some(Jump::Stepped(-1_000_000_000)));
    }
}
