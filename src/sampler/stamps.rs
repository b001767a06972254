//! Which clock the driver stamps with; it does not say, and it differs between drivers.

use crate::sampler::clock::{Jump, Moment};

/// A fresh stamp is at most this far from now, microseconds: a ring holds ten seconds.
const NEAR_US: i64 = 15_000_000;

/// A clock that a driver may stamp with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StampClock {
    /// Microseconds since the Unix epoch.
    Realtime,
    /// Since the start of the host, sleep left out.
    Monotonic,
    /// Since the start of the host, sleep included.
    Boottime,
    /// The wall clock as it would go had it never jumped: the driver's did not follow.
    Unset,
    /// None of these; the newest stamp was taken for now.
    Unknown,
}

impl StampClock {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Realtime => "the wall clock",
            Self::Monotonic => "CLOCK_MONOTONIC",
            Self::Boottime => "CLOCK_BOOTTIME",
            Self::Unset => "a wall clock that did not jump along",
            Self::Unknown => "an unknown clock",
        }
    }
}

/// Turns the driver's stamps into stamps of the wall clock.
#[derive(Debug, Default)]
pub(crate) struct Stamps {
    clock: Option<StampClock>,
    /// What is added to stamps of an unknown clock.
    shift_us: i64,
    /// How far the wall clock has jumped in all.
    jumped_us: i64,
    /// The last moment before the wall clock was set.
    before: Option<Moment>,
}

impl Stamps {
    /// Finds the clock of a fresh stamp; `Some` when it is another one than before.
    pub(crate) fn settle(&mut self, newest_us: u64, now: Moment) -> Option<StampClock> {
        let newest = i64::try_from(newest_us).unwrap_or(i64::MAX);
        let is_near = |at: i64| now.realtime_us.saturating_sub(at).abs() <= NEAR_US;
        if self.clock.is_some() && is_near(self.real(newest_us, now)) {
            return None;
        }
        let distance = |it: &StampClock| self.shows(*it, now).saturating_sub(newest).abs();
        let known =
            [StampClock::Realtime, StampClock::Monotonic, StampClock::Boottime, StampClock::Unset];
        let nearest = known.into_iter().min_by_key(distance);
        let found = nearest.filter(|it| distance(it) <= NEAR_US).unwrap_or(StampClock::Unknown);
        if found == StampClock::Unknown {
            self.shift_us = now.realtime_us.saturating_sub(newest);
        }
        let is_new = self.clock != Some(found);
        self.clock = Some(found);
        is_new.then_some(found)
    }

    /// After the wall clock jumped. `true`: which clock the driver follows now shows only in
    /// samples that it takes from here on.
    pub(crate) fn jumped(&mut self, jump: Jump, before: Moment, now: Moment) -> bool {
        let passed_us = now.monotonic_us - before.monotonic_us;
        let by_us = now.realtime_us - before.realtime_us - passed_us;
        self.jumped_us += by_us;
        self.before = Some(before);
        match (jump, self.clock) {
            (Jump::Stepped(_), Some(StampClock::Monotonic | StampClock::Boottime)) => false,
            (Jump::Stepped(_), Some(StampClock::Unknown)) => {
                self.shift_us += by_us;
                false
            }
            _ => {
                self.clock = None;
                true
            }
        }
    }

    /// The clock, once it is known.
    pub(crate) fn clock(&self) -> Option<StampClock> {
        self.clock
    }

    /// The stamp on the wall clock.
    pub(crate) fn real(&self, stamp_us: u64, now: Moment) -> i64 {
        let stamp = i64::try_from(stamp_us).unwrap_or(i64::MAX);
        match self.clock {
            None | Some(StampClock::Realtime) => stamp,
            Some(StampClock::Unknown) => stamp.saturating_add(self.shift_us),
            Some(clock) => {
                // A sample from before a jump belongs to the wall clock as it went then.
                let earlier = self.before.filter(|it| stamp <= self.shows(clock, *it));
                let then = earlier.unwrap_or(now);
                stamp.saturating_add(then.realtime_us - self.shows(clock, then))
            }
        }
    }

    fn shows(&self, clock: StampClock, now: Moment) -> i64 {
        match clock {
            StampClock::Realtime | StampClock::Unknown => now.realtime_us,
            StampClock::Monotonic => now.monotonic_us,
            StampClock::Boottime => now.boottime_us,
            StampClock::Unset => now.realtime_us - self.jumped_us,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment {
        monotonic_us: 5_000_000_000,
        boottime_us: 9_000_000_000,
        realtime_us: 1_700_000_000_000_000,
    };

    #[test]
    fn each_clock_is_recognised_by_a_fresh_stamp_and_read_as_wall_time() {
        for (stamp, clock) in [
            (NOW.realtime_us - 100, StampClock::Realtime),
            (NOW.monotonic_us - 100, StampClock::Monotonic),
            (NOW.boottime_us - 100, StampClock::Boottime),
            (123, StampClock::Unknown),
        ] {
            let mut stamps = Stamps::default();
            let stamp = u64::try_from(stamp).unwrap();
            assert_eq!(stamps.settle(stamp, NOW), Some(clock));
            let behind = NOW.realtime_us - stamps.real(stamp, NOW);
            assert_eq!(behind, if clock == StampClock::Unknown { 0 } else { 100 });
            assert_eq!(stamps.settle(stamp, NOW), None, "the same clock is no news");
        }
    }

    #[test]
    fn after_sleep_the_clock_that_slept_along_is_told_from_the_one_that_stood_still() {
        let same = Moment { boottime_us: NOW.monotonic_us, ..NOW };
        let mut stamps = Stamps::default();
        assert_eq!(stamps.settle(5_000_000_000, same), Some(StampClock::Monotonic));
        let hour = 3_600_000_000;
        let later = Moment {
            boottime_us: same.boottime_us + hour,
            realtime_us: same.realtime_us + hour,
            ..same
        };
        assert!(stamps.jumped(Jump::Suspended(hour), same, later));
        assert_eq!(stamps.settle(5_000_000_000 + hour as u64, later), Some(StampClock::Boottime));
    }

    #[test]
    fn a_wall_clock_that_was_set_is_told_from_one_that_the_driver_kept() {
        for by_us in [-3_600_000_000, -3_000_000, 3_000_000, 3_600_000_000] {
            let later = Moment { realtime_us: NOW.realtime_us + by_us, ..NOW };
            for (newest, clock) in [
                (later.realtime_us - 100, StampClock::Realtime),
                (NOW.realtime_us - 100, StampClock::Unset),
            ] {
                let mut stamps = Stamps::default();
                stamps.settle(u64::try_from(NOW.realtime_us - 200).unwrap(), NOW);
                assert!(stamps.jumped(Jump::Stepped(by_us), NOW, later));
                let newest = u64::try_from(newest).unwrap();
                assert_eq!(stamps.settle(newest, later), Some(clock), "{by_us}");
                assert_eq!(later.realtime_us - stamps.real(newest, later), 100);
            }
        }
    }

    #[test]
    fn a_sample_from_before_a_jump_keeps_the_time_of_then() {
        let later = Moment { realtime_us: NOW.realtime_us - 3_600_000_000, ..NOW };
        let mut stamps = Stamps::default();
        stamps.settle(5_000_000_000 - 200, NOW);
        assert!(!stamps.jumped(Jump::Stepped(-3_600_000_000), NOW, later), "the clock is known");
        assert_eq!(NOW.realtime_us - stamps.real(5_000_000_000 - 100, later), 100);
        assert_eq!(stamps.real(5_000_000_000 + 100, later) - later.realtime_us, 100);
    }
}
