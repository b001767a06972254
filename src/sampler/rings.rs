//! Draining a ring: each sample once, in order, and a word when some were overwritten.

/// A ring wraps around after ten seconds; who comes later than this has lost samples.
const WRAPS_US: i64 = 9_000_000;

/// How far a ring has been read.
#[derive(Debug, Default)]
pub(crate) struct Cursor {
    /// Stamp of the newest sample seen, on the driver's clock; 0 before the first.
    last_seen_us: u64,
    drained_us: Option<i64>,
}

/// What a drain brought.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Drained<T> {
    /// New samples in the order of their stamps.
    pub(crate) fresh: Vec<T>,
    /// Samples that were seen before, or came twice.
    pub(crate) repeated: u64,
    /// Stamps between which samples were overwritten unseen.
    pub(crate) lost: Option<(u64, u64)>,
}

impl Cursor {
    /// What the driver is asked for: samples newer than this.
    pub(crate) fn last_seen_us(&self) -> u64 {
        self.last_seen_us
    }

    /// Takes the clock's new time for seen; for stamps of a clock that was set.
    pub(crate) fn rebase(&mut self, stamp_us: u64) {
        self.last_seen_us = stamp_us;
    }

    /// Sorts what the driver gave, and keeps what is new.
    ///
    /// - `key`: stamp, and what else tells two samples apart.
    /// - `now_us`: monotonic time of the drain.
    pub(crate) fn drain<T, K: Ord>(
        &mut self,
        mut samples: Vec<T>,
        now_us: i64,
        key: impl Fn(&T) -> (u64, K),
    ) -> Drained<T> {
        let given = samples.len();
        samples.retain(|it| key(it).0 > self.last_seen_us);
        samples.sort_by_key(|it| key(it));
        samples.dedup_by(|a, b| key(a) == key(b));
        let oldest = samples.first().map(|it| key(it).0);
        let is_late = self.drained_us.is_some_and(|it| now_us - it > WRAPS_US);
        let before = self.drained_us.replace(now_us);
        let lost = match (oldest, before) {
            (Some(oldest), Some(_)) if is_late && self.last_seen_us > 0 => {
                Some((self.last_seen_us, oldest))
            }
            _ => None,
        };
        if let Some(newest) = samples.last() {
            self.last_seen_us = key(newest).0;
        }
        let repeated = (given - samples.len()) as u64;
        Drained { fresh: samples, repeated, lost }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop, proptest};

    fn drain(cursor: &mut Cursor, samples: &[u64], now_us: i64) -> Drained<u64> {
        cursor.drain(samples.to_vec(), now_us, |it| (*it, ()))
    }

    #[test]
    fn a_late_drain_says_between_which_stamps_samples_are_lost() {
        let mut cursor = Cursor::default();
        assert_eq!(drain(&mut cursor, &[3, 1, 2], 0).fresh, [1, 2, 3]);
        let next = drain(&mut cursor, &[3, 4, 4], 1_000_000);
        assert_eq!(next, Drained { fresh: vec![4], repeated: 2, lost: None });
        assert_eq!(drain(&mut cursor, &[9], 12_000_000).lost, Some((4, 9)));
    }

    proptest! {
        #[test]
        fn each_sample_comes_once_however_the_driver_repeats_and_shuffles_them(
            windows in prop::collection::vec((1..10u64, 0..10u64), 1..20),
        ) {
            let (mut cursor, mut end, mut seen) = (Cursor::default(), 0, Vec::new());
            for (new, again) in windows {
                let from = end - again.min(end);
                end += new;
                let given: Vec<u64> = (from + 1..=end).rev().chain(from + 1..=end).collect();
                seen.extend(drain(&mut cursor, &given, 0).fresh);
            }
            proptest::prop_assert_eq!(seen, (1..=end).collect::<Vec<u64>>());
        }
    }
}
