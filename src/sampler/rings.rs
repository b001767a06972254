//! Draining a ring: each sample once, in order, and a word when some were overwritten.

use std::collections::BTreeSet;

/// A ring wraps around after ten seconds; who comes later than this has lost samples.
const WRAPS_US: i64 = 9_000_000;

/// What tells two samples apart: the stamp, and the process where there is one.
type Key = (u64, u32);

/// How far a ring has been read.
#[derive(Debug, Default)]
pub(crate) struct Cursor {
    /// Stamp of the newest sample seen, on the driver's clock; 0 before the first.
    last_seen_us: u64,
    drained_us: Option<i64>,
    /// Set while stamps of two clocks stand in the ring.
    mixed: Option<Mixed>,
}

/// A ring after a jump of the clock: no stamp tells old from new, so samples are known one by one.
#[derive(Debug, Default)]
struct Mixed {
    /// What stood there at the jump.
    old: Option<BTreeSet<Key>>,
    /// What stood there when it was last read.
    seen: BTreeSet<Key>,
}

/// What a drain brought.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Drained<T> {
    /// New samples in the order of their stamps.
    pub(crate) fresh: Vec<T>,
    /// Stamps between which samples were overwritten unseen.
    pub(crate) lost: Option<(u64, u64)>,
}

impl Cursor {
    /// What the driver is asked for: samples newer than this.
    pub(crate) fn last_seen_us(&self) -> u64 {
        self.last_seen_us
    }

    /// After a jump of the clock: what stands in the ring is old, whatever its stamps.
    pub(crate) fn begin_anew(&mut self) {
        self.last_seen_us = 0;
        self.mixed = Some(Mixed::default());
    }

    /// Leaves those samples that were not seen before, of all that the driver gave.
    ///
    /// `false`: this was the look after a jump that tells what is old, and nothing is left.
    pub(crate) fn unseen<T>(&mut self, samples: &mut Vec<T>, key: impl Fn(&T) -> Key) -> bool {
        let Some(mixed) = &mut self.mixed else {
            samples.retain(|it| key(it).0 > self.last_seen_us);
            return true;
        };
        let present: BTreeSet<Key> = samples.iter().map(&key).collect();
        samples.retain(|it| mixed.old.is_some() && !mixed.seen.contains(&key(it)));
        let is_known = mixed.old.is_some();
        mixed.old.get_or_insert_with(|| present.clone());
        mixed.seen = present;
        is_known
    }

    /// Sorts unseen samples, and notes that they are seen now.
    ///
    /// - `now_us`: monotonic time of the drain.
    pub(crate) fn drain<T>(
        &mut self,
        mut samples: Vec<T>,
        now_us: i64,
        key: impl Fn(&T) -> Key,
    ) -> Drained<T> {
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
        if let Some(newest) = samples.last()
            && self.mixed.as_ref().is_none_or(Mixed::is_over)
        {
            self.last_seen_us = key(newest).0;
            self.mixed = None;
        }
        Drained { fresh: samples, lost }
    }
}

impl Mixed {
    /// Whether nothing old is left, so that stamps tell new from seen again.
    fn is_over(&self) -> bool {
        self.old.as_ref().is_some_and(|it| it.is_disjoint(&self.seen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop, proptest};

    fn drain(cursor: &mut Cursor, samples: &[u64], now_us: i64) -> Drained<u64> {
        let mut samples = samples.to_vec();
        let is_known = cursor.unseen(&mut samples, |it| (*it, 0));
        assert!(is_known || samples.is_empty());
        cursor.drain(samples, now_us, |it| (*it, 0))
    }

    #[test]
    fn a_late_drain_says_between_which_stamps_samples_are_lost() {
        let mut cursor = Cursor::default();
        assert_eq!(drain(&mut cursor, &[3, 1, 2], 0).fresh, [1, 2, 3]);
        let next = drain(&mut cursor, &[3, 4, 4], 1_000_000);
        assert_eq!(next, Drained { fresh: vec![4], lost: None });
        assert_eq!(drain(&mut cursor, &[9], 12_000_000).lost, Some((4, 9)));
    }

    #[test]
    fn after_a_jump_old_samples_do_not_come_again_and_hide_no_new_ones() {
        let mut cursor = Cursor::default();
        drain(&mut cursor, &[101, 102], 0);
        cursor.begin_anew();
        assert_eq!(cursor.last_seen_us(), 0, "the driver is asked for everything");
        assert!(drain(&mut cursor, &[101, 102, 103], 0).fresh.is_empty());
        assert_eq!(drain(&mut cursor, &[101, 102, 103, 1, 2], 0).fresh, [1, 2]);
        assert_eq!(drain(&mut cursor, &[103, 1, 2, 3], 0).fresh, [3]);
        assert_eq!(cursor.last_seen_us(), 0);
        assert_eq!(drain(&mut cursor, &[2, 3, 4], 0).fresh, [4]);
        assert_eq!(cursor.last_seen_us(), 4, "nothing old is left");
        assert_eq!(drain(&mut cursor, &[3, 4, 5], 0).fresh, [5]);
    }

    #[test]
    fn a_ring_that_is_empty_at_a_jump_is_read_from_its_next_sample_on() {
        let mut cursor = Cursor::default();
        drain(&mut cursor, &[101], 0);
        cursor.begin_anew();
        assert!(drain(&mut cursor, &[], 0).fresh.is_empty());
        assert_eq!(drain(&mut cursor, &[1], 0).fresh, [1]);
        assert_eq!(drain(&mut cursor, &[1, 2], 0).fresh, [2]);
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
