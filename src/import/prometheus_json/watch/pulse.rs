//! How a restless value moves: when it changes, how long it stays, whether it falls.

use crate::domain::time::{TimeSpan, Timestamp};

/// No board draws more, in milliwatts; energy counts millijoules.
const MOST_POWER_MW: f64 = 1e7;

/// So many changes are needed to speak of a rhythm.
const LEAST_CHANGES: u32 = 20;

/// A value that stays for longer than this many samples is no slow rhythm.
const SLOWEST: f64 = 8.0;

/// Changes that must lie exactly one sample apart at most, for a value to be held; as a share.
const MOST_QUICK: f64 = 0.3;

/// How one series moves.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    first: Option<Timestamp>,
    last: Option<(Timestamp, f64)>,
    samples: u32,
    changes: u32,
    quick_changes: u32,
    since: Option<Timestamp>,
    stays: u32,
    longest: u32,
    longest_span: Option<TimeSpan>,
    print: u64,
    /// Whether it was ever more than an integer, so that equal values are no rounding.
    is_fine: bool,
    /// Times that a counter fell.
    pub(crate) falls: u32,
    /// Times that it rose faster than a counter of energy can.
    pub(crate) jumps: u32,
}

impl Pulse {
    /// Takes the next value.
    pub(crate) fn feed(&mut self, at: Timestamp, value: f64) {
        self.first.get_or_insert(at);
        self.samples += 1;
        self.print =
            self.print.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ value.to_bits();
        // Powers are in milliwatts, so whole watts end in three zeros.
        self.is_fine |= value % 1000.0 != 0.0;
        if let Some((before, old)) = self.last {
            self.falls += u32::from(value < old);
            let most = MOST_POWER_MW * at.seconds_since(before);
            self.jumps += u32::from(value - old > most);
        }
        match self.last {
            Some((_, old)) if old == value => {
                self.stays += 1;
                let span = self.since.map(|it| TimeSpan::covering(it, at));
                if self.stays > self.longest {
                    (self.longest, self.longest_span) = (self.stays, span);
                }
            }
            _ => {
                if self.last.is_some() {
                    self.changes += 1;
                    self.quick_changes += u32::from(self.stays == 0);
                }
                (self.since, self.stays) = (Some(at), 0);
            }
        }
        self.last = Some((at, value));
    }

    /// Mean time between samples; `None` for fewer than two.
    pub(crate) fn interval_s(&self) -> Option<f64> {
        let seconds = self.last?.0.seconds_since(self.first?);
        (self.samples > 1).then(|| seconds / f64::from(self.samples - 1))
    }

    /// How long a value stays, where most stay for several samples; `None` where each is new.
    pub(crate) fn held_for(&self) -> Option<f64> {
        let per_change = f64::from(self.samples) / f64::from(self.changes.max(1));
        let is_held = self.is_fine
            && self.changes >= LEAST_CHANGES
            && per_change <= SLOWEST
            && f64::from(self.quick_changes) <= MOST_QUICK * f64::from(self.changes);
        is_held.then(|| self.interval_s().map(|it| it * per_change)).flatten()
    }

    /// The longest stretch without change, where it lasts so many samples and seconds and the value moves otherwise.
    pub(crate) fn frozen(&self, least_samples: u32, least_s: f64) -> Option<TimeSpan> {
        let is_frozen = self.is_fine && self.changes > 0 && self.longest >= least_samples;
        self.longest_span.filter(|it| is_frozen && it.seconds() >= least_s)
    }

    /// What tells the whole course of one series from another's, and its samples; `None` where it hardly moves.
    pub(crate) fn print(&self) -> Option<(u64, u32)> {
        (self.is_fine && self.changes >= LEAST_CHANGES).then_some((self.print, self.samples))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pulse(values: impl IntoIterator<Item = f64>) -> Pulse {
        let mut pulse = Pulse::default();
        for (index, value) in (0..).zip(values) {
            pulse.feed(Timestamp::from_micros(15_000_000 * index), value);
        }
        pulse
    }

    fn noise(index: u32) -> f64 {
        f64::from(index.wrapping_mul(2_654_435_761) >> 12)
    }

    #[test]
    fn a_value_that_is_measured_every_other_scrape_is_found() {
        let held = pulse((0..200).map(|it| noise(it / 2))).held_for().unwrap();
        assert!((held - 30.0).abs() < 1.0, "{held}");
        assert_eq!(pulse((0..200).map(noise)).held_for(), None);
    }

    #[test]
    fn whole_watts_that_repeat_are_rounding_and_not_held() {
        let watts = |it: u32| 1000.0 * f64::from(it / 2 % 7);
        assert_eq!(pulse((0..200).map(watts)).held_for(), None);
    }

    #[test]
    fn a_series_that_stops_moving_for_minutes_is_frozen() {
        let frozen = |it: u32| noise(if (50..100).contains(&it) { 50 } else { it });
        let span = pulse((0..200).map(frozen)).frozen(20, 300.0).unwrap();
        assert_eq!(span.seconds().round(), 49.0 * 15.0);
        assert_eq!(pulse((0..200).map(noise)).frozen(20, 300.0), None);
    }

    #[test]
    fn falls_and_impossible_rises_of_a_counter_are_counted() {
        let pulse = pulse([1.0, 5.0, 2.0, 1e12]);
        assert_eq!((pulse.falls, pulse.jumps), (1, 1));
    }
}
