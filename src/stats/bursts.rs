//! Cuts a busy fraction into bursts and gaps by two levels, so that noise near one level makes no
//! confetti.

use crate::stats::quantile::{quantile, quantiles};

/// Range between the 10th and the 95th percentile below which a series counts as flat.
const FLAT: f64 = 0.10;
/// Height over the floor that makes even a rare excursion worth a threshold.
const RARE_BURST: f64 = 0.5;
/// Bursts shorter than a window survive only from this height on.
const SHORT_BUT_HIGH: f64 = 0.5;

/// The two levels of the hysteresis and the range they were scaled to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// A burst begins at or above this level: low + 0.5 (high − low).
    pub on: f64,
    /// A burst ends below this level: low + 0.3 (high − low).
    pub off: f64,
    /// The floor of the series: its 10th percentile.
    pub low: f64,
    /// The ceiling of the series: its 95th percentile, or higher if bursts are rare.
    pub high: f64,
}

/// Levels that separate bursts from gaps in a series of busy fractions between 0 and 1.
///
/// low = p10, high = p95, on = low + 0.5 (high−low), off = low + 0.3 (high−low).
/// The 95th percentile does not see bursts that fill less than 5 % of the time. If p95−p10 < 0.10
/// but the maximum rises at least 0.5 over p10, high is therefore p99.9 when that rises 0.5 too (so
/// that one freak sample of a long record does not set the scale) and the maximum otherwise.
/// `None` if the series is empty or flat: there are no bursts to separate.
///
/// Source: definition; two levels are the hysteresis of O. H. Schmitt, J. Sci. Instrum. 15 (1938),
/// 24–26.
pub fn thresholds(values: &[f64]) -> Option<Thresholds> {
    let range = quantiles(values, &[0.10, 0.95, 0.999, 1.0])?;
    thresholds_of([range[0], range[1], range[2], range[3]])
}

/// [`thresholds`] of the 10th, 95th and 99.9th percentile and the maximum.
///
/// Source: definition.
pub fn thresholds_of(percentiles: [f64; 4]) -> Option<Thresholds> {
    let [low, usual, rare, top] = percentiles;
    let high = if usual - low >= FLAT {
        usual
    } else if rare - low >= RARE_BURST {
        rare
    } else if top - low >= RARE_BURST {
        top
    } else {
        return None;
    };
    let range = high - low;
    Some(Thresholds { on: low + 0.5 * range, off: low + 0.3 * range, low, high })
}

/// A run of samples above the hysteresis.
#[derive(Debug, Clone, PartialEq)]
pub struct Burst {
    /// First sample of the burst, counted inside its segment.
    pub first: usize,
    /// One past the last sample of the burst.
    pub end: usize,
    /// Index of the segment.
    pub segment: usize,
    /// 95th percentile of the samples inside.
    pub height: f64,
    /// Sum of the samples inside; times the sample interval it is busy time.
    pub mass: f64,
    /// The burst touches an end of its segment, so its true length is unknown.
    pub censored: bool,
}

/// A run of samples between two bursts, or between a burst and an end of the segment.
#[derive(Debug, Clone, PartialEq)]
pub struct Gap {
    /// First sample of the gap, counted inside its segment.
    pub first: usize,
    /// One past the last sample of the gap.
    pub end: usize,
    /// Index of the segment.
    pub segment: usize,
    /// The gap touches an end of its segment, so its true length is unknown.
    pub censored: bool,
}

/// Every segment, cut into bursts and gaps in time order; together they cover each sample once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BurstRuns {
    /// Bursts by segment and time.
    pub bursts: Vec<Burst>,
    /// Gaps by segment and time.
    pub gaps: Vec<Gap>,
}

/// Cuts segments into bursts and gaps.
///
/// A burst begins at `x ≥ on` and ends at `x < off`; a segment that begins between the levels
/// begins with a gap. Then gaps shorter than one averaging window are closed, because a window
/// cannot show them, and bursts shorter than one window are dropped unless they are at least 0.5
/// high.
///
/// - Shape: `segments[i][t]`, busy fractions between 0 and 1.
/// - `window_samples`: averaging window over sample interval. 1 if windows follow each other, above
///   1 if they overlap, below 1 if there is unseen time between them; then nothing is closed or
///   dropped.
///
/// Source: definition. Time: O(n).
pub fn burst_runs(segments: &[&[f64]], thresholds: &Thresholds, window_samples: f64) -> BurstRuns {
    let mut runs = BurstRuns::default();
    for (index, &values) in segments.iter().enumerate() {
        let spans = joined(spans_above(values, thresholds), window_samples);
        let mut gap_from = 0;
        for (first, end) in spans {
            let inside = &values[first..end];
            let height = quantile(inside, 0.95).unwrap_or(0.0);
            if is_shorter(first, end, window_samples) && height < SHORT_BUT_HIGH {
                continue;
            }
            runs.push_gap(gap_from, first, index, values.len());
            let censored = first == 0 || end == values.len();
            let mass = inside.iter().sum();
            runs.bursts.push(Burst { first, end, segment: index, height, mass, censored });
            gap_from = end;
        }
        runs.push_gap(gap_from, values.len(), index, values.len());
    }
    runs
}

impl BurstRuns {
    fn push_gap(&mut self, first: usize, end: usize, segment: usize, length: usize) {
        if first < end {
            let censored = first == 0 || end == length;
            self.gaps.push(Gap { first, end, segment, censored });
        }
    }
}

fn spans_above(values: &[f64], thresholds: &Thresholds) -> Vec<(usize, usize)> {
    let mut spans = Vec::new();
    let mut open = None;
    for (index, &value) in values.iter().enumerate() {
        match open {
            None if value >= thresholds.on => open = Some(index),
            Some(first) if value < thresholds.off => {
                spans.push((first, index));
                open = None;
            }
            _ => {}
        }
    }
    spans.extend(open.map(|first| (first, values.len())));
    spans
}

fn joined(mut spans: Vec<(usize, usize)>, window_samples: f64) -> Vec<(usize, usize)> {
    spans.dedup_by(|next, previous| {
        let close = is_shorter(previous.1, next.0, window_samples);
        if close {
            previous.1 = next.1;
        }
        close
    });
    spans
}

fn is_shorter(first: usize, end: usize, window_samples: f64) -> bool {
    ((end - first) as f64) < window_samples
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::expected::{case, close, indices, numbers, rows, value};
    use proptest::prelude::*;

    const HALF: Thresholds = Thresholds { on: 0.5, off: 0.3, low: 0.0, high: 1.0 };

    fn spans(runs: &BurstRuns) -> Vec<(usize, usize)> {
        runs.bursts.iter().map(|burst| (burst.first, burst.end)).collect()
    }

    #[test]
    fn a_plain_loop_finds_the_same_bursts() {
        for case in case("bursts") {
            let segments = rows(case, "segments");
            let slices: Vec<&[f64]> = segments.iter().map(Vec::as_slice).collect();
            let levels = thresholds(&segments.concat()).unwrap();
            close(Some(levels.on), value(case, "on"), 1e-12);
            close(Some(levels.off), value(case, "off"), 1e-12);
            let runs = burst_runs(&slices, &levels, value(case, "window_samples"));
            let column = |pick: fn(&Burst) -> usize| runs.bursts.iter().map(pick).collect();
            let (first, end): (Vec<usize>, Vec<usize>) =
                (column(|it| it.first), column(|it| it.end));
            let segment: Vec<usize> = column(|it| it.segment);
            assert_eq!(first, indices(case, "first"));
            assert_eq!(end, indices(case, "end"));
            assert_eq!(segment, indices(case, "segment"));
            for (burst, height) in runs.bursts.iter().zip(numbers(case, "height")) {
                close(Some(burst.height), height, 1e-12);
            }
            for (burst, mass) in runs.bursts.iter().zip(numbers(case, "mass")) {
                close(Some(burst.mass), mass, 1e-12);
            }
            assert_eq!(runs.gaps.len(), value(case, "gaps") as usize);
        }
    }

    #[test]
    fn a_dip_between_the_levels_does_not_end_a_burst() {
        let runs = burst_runs(&[&[0.0, 0.9, 0.4, 0.9, 0.1]], &HALF, 1.0);
        assert_eq!(spans(&runs), [(1, 4)]);
        assert!(!runs.bursts[0].censored);
    }

    #[test]
    fn bursts_and_gaps_at_the_ends_of_a_segment_are_censored() {
        let runs = burst_runs(&[&[0.9, 0.0, 0.9, 0.0], &[0.0, 0.0]], &HALF, 1.0);
        let censored: Vec<bool> = runs.bursts.iter().map(|burst| burst.censored).collect();
        assert_eq!(censored, [true, false]);
        let censored: Vec<bool> = runs.gaps.iter().map(|gap| gap.censored).collect();
        assert_eq!(censored, [false, true, true]);
    }

    #[test]
    fn a_gap_that_no_window_could_show_is_closed() {
        let values = [0.0, 0.0, 0.0, 0.9, 0.9, 0.1, 0.1, 0.9, 0.9, 0.0, 0.0, 0.0];
        assert_eq!(spans(&burst_runs(&[&values], &HALF, 3.0)), [(3, 9)]);
        assert_eq!(spans(&burst_runs(&[&values], &HALF, 2.0)), [(3, 5), (7, 9)]);
    }

    #[test]
    fn a_short_burst_stays_only_if_it_is_high() {
        let low = Thresholds { on: 0.2, off: 0.1, low: 0.0, high: 0.4 };
        let values = [0.0, 0.0, 0.3, 0.0, 0.0, 0.9, 0.0, 0.0];
        let runs = burst_runs(&[&values], &low, 2.0);
        assert_eq!(spans(&runs), [(5, 6)]);
        assert_eq!(runs.gaps.len(), 2);
        assert_eq!(spans(&burst_runs(&[&values], &low, 0.07)).len(), 2, "sparse windows");
    }

    #[test]
    fn a_flat_series_has_no_thresholds_and_a_rare_burst_still_has() {
        let mut values = vec![0.02; 1000];
        values[3] = 0.11;
        assert_eq!(thresholds(&values), None);
        assert_eq!(thresholds(&[]), None);
        values[500..510].fill(0.97);
        let levels = thresholds(&values).unwrap();
        assert_eq!(spans(&burst_runs(&[&values], &levels, 1.0)), [(500, 510)]);
    }

    #[test]
    fn one_rare_sample_sets_the_scale_only_if_nothing_less_rare_does() {
        let mut values = vec![0.0; 10_000];
        values[7] = 0.6;
        assert_eq!(thresholds(&values).unwrap().high, 0.6);
        values[100..120].fill(0.5);
        assert_eq!(thresholds(&values).unwrap().high, 0.5);
    }

    proptest! {
        #[test]
        fn bursts_and_gaps_cover_every_sample_once(
            segments in prop::collection::vec(prop::collection::vec(0.0..1.0_f64, 0..40), 0..5),
            window in 0.1..6.0_f64,
        ) {
            let slices: Vec<&[f64]> = segments.iter().map(Vec::as_slice).collect();
            let runs = burst_runs(&slices, &HALF, window);
            let mut covered: Vec<Vec<u8>> = segments.iter().map(|it| vec![0; it.len()]).collect();
            for burst in &runs.bursts {
                covered[burst.segment][burst.first..burst.end].iter_mut().for_each(|it| *it += 1);
            }
            for gap in &runs.gaps {
                covered[gap.segment][gap.first..gap.end].iter_mut().for_each(|it| *it += 1);
            }
            prop_assert!(covered.concat().iter().all(|&times| times == 1));
        }
    }
}
