//! Several series that say the same become one: replicas of Prometheus, exporters scraped twice.

use crate::domain::time::Timestamp;

/// Samples of one source come at least this share of their interval apart.
const APART: f64 = 0.75;

/// Share of a series' samples that another one has too, from which on both were scraped at once.
const LEAST_SHARE: f64 = 0.1;

/// Samples in time order.
pub(crate) type Samples = Vec<(Timestamp, f64)>;

/// One series of several.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Merged {
    /// The fullest series, and what others have where it has nothing.
    pub(crate) samples: Samples,
    /// Whether others said the same at the same time, and were left out there.
    pub(crate) is_doubled: bool,
}

/// Makes one series of several: the fullest one, its holes filled from the others; nothing is added up.
///
/// A sample of another series is taken where the fuller one has none within three quarters of its
/// median interval, so that two replicas that scrape one exporter count once.
pub(crate) fn merge(mut all: Vec<Samples>) -> Merged {
    for samples in &mut all {
        samples.sort_by_key(|it| it.0);
        samples.dedup_by_key(|it| it.0);
    }
    all.sort_by_key(|it| std::cmp::Reverse(it.len()));
    let mut all = all.into_iter();
    let mut merged = Merged { samples: all.next().unwrap_or_default(), is_doubled: false };
    for other in all {
        let apart = median_interval(&merged.samples).map_or(0.0, |it| it * APART);
        let length = other.len();
        let new: Samples =
            other.into_iter().filter(|it| !is_near(&merged.samples, it.0, apart)).collect();
        let doubled = length - new.len();
        merged.is_doubled |= doubled as f64 > LEAST_SHARE * length as f64;
        merged.samples.extend(new);
        merged.samples.sort_by_key(|it| it.0);
    }
    merged
}

/// The median time between samples, in microseconds; `None` for fewer than two.
pub(crate) fn median_interval(samples: &[(Timestamp, f64)]) -> Option<f64> {
    let mut intervals: Vec<i64> =
        samples.windows(2).map(|it| it[1].0.micros_since(it[0].0)).collect();
    if intervals.is_empty() {
        return None;
    }
    let middle = intervals.len() / 2;
    Some(*intervals.select_nth_unstable(middle).1 as f64)
}

fn is_near(samples: &[(Timestamp, f64)], at: Timestamp, apart_us: f64) -> bool {
    let place = samples.partition_point(|it| it.0 < at);
    let before = place.checked_sub(1).and_then(|it| samples.get(it));
    [before, samples.get(place)]
        .into_iter()
        .flatten()
        .any(|it| it.0 == at || (it.0.micros_since(at).unsigned_abs() as f64) < apart_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(from_s: i64, count: i64, offset_ms: i64, value: f64) -> Samples {
        let at = |it| Timestamp::from_micros((from_s + 15 * it) * 1_000_000 + offset_ms * 1000);
        (0..count).map(|it| (at(it), value)).collect()
    }

    #[test]
    fn two_replicas_of_one_series_count_once() {
        let merged = merge(vec![series(0, 10, 0, 1.0), series(0, 9, 4_000, 2.0)]);
        assert!(merged.is_doubled);
        assert_eq!(merged.samples, series(0, 10, 0, 1.0));
    }

    #[test]
    fn a_replica_fills_the_hole_of_the_other() {
        let mut torn = series(0, 20, 0, 1.0);
        torn.drain(8..12);
        let merged = merge(vec![series(0, 13, 4_000, 2.0), torn]);
        assert!(merged.is_doubled);
        // The fourth lies 11 s before a sample that is there.
        assert_eq!(merged.samples.iter().filter(|it| it.1 == 2.0).count(), 3);
        assert_eq!(merged.samples.len(), 19);
    }

    #[test]
    fn an_exporter_that_comes_back_under_another_address_goes_on() {
        let merged = merge(vec![series(150, 10, 0, 2.0), series(0, 10, 0, 1.0)]);
        assert!(!merged.is_doubled);
        assert_eq!((merged.samples.len(), merged.samples[0].1), (20, 1.0));
    }
}
