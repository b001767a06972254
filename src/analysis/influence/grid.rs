//! Bins of time that all series of one test share.

use crate::domain::series::Series;
use crate::domain::time::{TimeSpan, Timestamp};

/// Share of a bin that samples must cover for the bin to count.
const LEAST_COVER: f64 = 0.5;
/// A sample stands for no more than this many typical steps before it.
const LONGEST_STEPS: f64 = 1.7;
/// Most bins; a longer record gets wider ones.
const MOST_BINS: f64 = 700_000.0;

/// Bins of equal length, the first beginning at `start`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Grid {
    pub(crate) start: Timestamp,
    pub(crate) step_us: i64,
    pub(crate) bins: usize,
}

impl Grid {
    /// Bins of about `step_s` over a span.
    pub(crate) fn over(span: TimeSpan, step_s: f64) -> Self {
        let length_us = span.until().micros_since(span.from()).max(1);
        let least_us = length_us as f64 / MOST_BINS;
        let step_us = ((step_s * 1e6).round().max(least_us.ceil()).max(1.0)) as i64;
        let bins = length_us.unsigned_abs().div_ceil(step_us.unsigned_abs());
        let bins = usize::try_from(bins).unwrap_or(0);
        Self { start: span.from(), step_us, bins }
    }

    /// Length of a bin, in seconds.
    pub(crate) fn step_s(&self) -> f64 {
        self.step_us as f64 / 1e6
    }

    /// The bin in which an instant lies; `None` outside.
    pub(crate) fn bin_of(&self, at: Timestamp) -> Option<usize> {
        let bin = at.micros_since(self.start).div_euclid(self.step_us);
        usize::try_from(bin).ok().filter(|it| *it < self.bins)
    }

    /// Start of a bin.
    pub(crate) fn start_of(&self, bin: usize) -> Timestamp {
        self.start.plus_micros(self.step_us.saturating_mul(bin as i64))
    }

    /// Mean of what samples say about each bin, NaN where they cover less than half of it.
    ///
    /// A sample speaks of the `window_s` before its stamp, or of the time since the sample before where the window is `None`;
    /// stamps are `late_us` too late. Bins weigh samples by the time that they share.
    pub(crate) fn means(
        &self,
        series: &Series,
        window_s: Option<f64>,
        late_us: i64,
        value: impl Fn(f64) -> f64,
    ) -> Vec<f64> {
        let mut sums = vec![0.0; self.bins];
        let mut covers = vec![0.0_f32; self.bins];
        let typical = series.typical_interval().map_or(self.step_us, |it| it.as_micros() as i64);
        let longest = (typical as f64 * LONGEST_STEPS) as i64;
        let window_us = window_s.map(|it| ((it * 1e6) as i64).max(1));
        let mut before: Option<Timestamp> = None;
        for (at, raw) in series.times().iter().zip(series.values()) {
            let since = before.map_or(typical, |it| at.micros_since(it));
            before = Some(*at);
            let length = window_us.unwrap_or(if since > longest { typical } else { since }).max(1);
            let value = value(*raw);
            if !value.is_finite() {
                continue;
            }
            let until = at.micros_since(self.start).saturating_sub(late_us);
            self.spread(until.saturating_sub(length), until, |bin, part| {
                sums[bin] += value * part;
                covers[bin] += part as f32;
            });
        }
        // Windows longer than the step between samples overlap; shorter ones leave time unseen but speak for it.
        let seen = window_us.map_or(1.0, |it| (it as f64 / typical as f64).min(1.0));
        let least = LEAST_COVER * seen * self.step_us as f64;
        let mean = |(sum, cover): (f64, f32)| {
            if f64::from(cover) >= least { sum / f64::from(cover) } else { f64::NAN }
        };
        sums.into_iter().zip(covers).map(mean).collect()
    }

    /// Parts of a stretch, in microseconds from the start, that fall into each bin.
    fn spread(&self, from_us: i64, until_us: i64, mut put: impl FnMut(usize, f64)) {
        let end = self.step_us.saturating_mul(self.bins as i64);
        let (from_us, until_us) = (from_us.max(0), until_us.min(end));
        let mut at = from_us;
        while at < until_us {
            let bin = at / self.step_us;
            let edge = (bin + 1).saturating_mul(self.step_us).min(until_us);
            put(bin as usize, (edge - at) as f64);
            at = edge;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn series(rows: &[(i64, f64)]) -> Series {
        let times = rows.iter().map(|it| Timestamp::from_micros(it.0)).collect();
        Series::new(Arc::new(times), rows.iter().map(|it| it.1).collect()).unwrap()
    }

    fn grid(until: i64, step_s: f64) -> Grid {
        let at = Timestamp::from_micros;
        Grid::over(TimeSpan::new(at(0), at(until)).unwrap(), step_s)
    }

    #[test]
    fn all_of_time_has_a_bounded_number_of_bins() {
        let (first, last) = (Timestamp::from_micros(i64::MIN), Timestamp::from_micros(i64::MAX));
        let grid = Grid::over(TimeSpan::new(first, last).unwrap(), 1.0);
        assert!((699_000..=700_001).contains(&grid.bins), "{}", grid.bins);
        assert_eq!(grid.bin_of(first), Some(0));
    }

    #[test]
    fn a_sample_belongs_to_the_time_before_its_stamp() {
        let it = series(&[(1_000_000, 10.0), (2_000_000, 20.0), (3_000_000, 30.0)]);
        assert_eq!(grid(3_000_000, 1.0).means(&it, None, 0, |it| it), [10.0, 20.0, 30.0]);
    }

    #[test]
    fn a_late_clock_is_set_back_and_a_sample_across_two_bins_counts_in_both() {
        let it = series(&[(1_500_000, 10.0), (2_500_000, 20.0), (3_500_000, 30.0)]);
        assert_eq!(grid(3_000_000, 1.0).means(&it, None, 500_000, |it| it), [10.0, 20.0, 30.0]);
        assert_eq!(grid(3_000_000, 1.0).means(&it, None, 0, |it| it), [10.0, 15.0, 25.0]);
    }

    #[test]
    fn a_hole_is_no_value_and_no_zero() {
        let seconds = [1, 2, 8, 9, 10];
        let it = series(&seconds.map(|it| (it * 1_000_000, 1.0)));
        let found = grid(10_000_000, 1.0).means(&it, None, 0, |it| it);
        assert!(found[2..7].iter().all(|it| it.is_nan()) && found[7] == 1.0, "{found:?}");
    }

    #[test]
    fn fine_samples_are_averaged_and_coarse_windows_fill_their_bins() {
        let it = series(&(1..=20).map(|it| (it * 100_000, it as f64)).collect::<Vec<_>>());
        assert_eq!(grid(2_000_000, 1.0).means(&it, Some(0.1), 0, |it| it), [5.5, 15.5]);
        let sparse = series(&[(15_000_000, 1.0), (30_000_000, 2.0)]);
        assert_eq!(grid(30_000_000, 15.0).means(&sparse, Some(1.0), 0, |it| it), [1.0, 2.0]);
    }
}
