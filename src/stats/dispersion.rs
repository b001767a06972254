//! How unevenly demand is spread: over levels, over the gaps between events, and over time scales.

use crate::stats::correlate::pearson;
use crate::stats::moments::Moments;

/// Fewest blocks from which a spread over blocks is still reported.
const FEWEST_BLOCKS: usize = 8;
/// Fewest events from which the memory of their intervals is still reported.
const FEWEST_EVENTS_FOR_MEMORY: usize = 20;

/// Share of samples at or above a level; `None` without samples.
///
/// Source: definition.
pub fn duty(values: &[f64], level: f64) -> Option<f64> {
    let above = values.iter().filter(|value| **value >= level).count();
    (!values.is_empty()).then(|| above as f64 / values.len() as f64)
}

/// How bursty events are, from the intervals between them: −1 regular, 0 random, 1 one tight
/// cluster.
///
/// A_n = (√(n+1) r − √(n−1)) / ((√(n+1) − 2) r + √(n−1)), r = sd/mean of the intervals with the
/// population sd. In the paper the record is closed to a ring, so that n events have n intervals;
/// here n is the number of *intervals* given, one less than the events of an open record. With that
/// n a single cluster, where r = √(n−1), gives exactly 1, and n Poisson intervals, where E r² =
/// (n−1)/(n+1), give about 0; the number of events would give neither. `None` under two intervals
/// or if their mean is zero.
///
/// Source: E.-K. Kim and H.-H. Jo, Phys. Rev. E 94 (2016), 032311.
pub fn burstiness(intervals: &[f64]) -> Option<f64> {
    if intervals.len() < 2 {
        return None;
    }
    let moments = Moments::of(intervals);
    let mean = moments.mean().filter(|mean| *mean > 0.0)?;
    let r = moments.variance()?.sqrt() / mean;
    let n = intervals.len() as f64;
    let (more, less) = ((n + 1.0).sqrt(), (n - 1.0).sqrt());
    Some((more * r - less) / ((more - 2.0) * r + less))
}

/// Whether a long interval follows a long one: Pearson correlation of neighbouring intervals.
///
/// M = corr(τ_i, τ_{i+1}), each half with its own mean and standard deviation.
/// `None` under 20 events (19 intervals) or if either half is constant.
///
/// Source: K.-I. Goh and A.-L. Barabási, EPL 81 (2008), 48002.
pub fn memory_coefficient(intervals: &[f64]) -> Option<f64> {
    if intervals.len() + 1 < FEWEST_EVENTS_FOR_MEMORY {
        return None;
    }
    pearson(&intervals[..intervals.len() - 1], &intervals[1..])
}

/// A measure at one time scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScalePoint {
    /// Length of the scale in samples.
    pub samples: usize,
    /// The measure at this scale.
    pub value: f64,
    /// How many blocks of this length the value rests on.
    pub blocks: usize,
}

/// Coefficient of variation of demand averaged over 1, 2, 4, … samples.
///
/// CV(T) = sd(y_T)/mean(y_T) over the blocks y_T that fit into the segments, with the population
/// sd, so that (CV·mean)² keeps within the Bhatia–Davis bound p(1−p). A flat curve means long
/// bursts, one falling like T^−½ short independent ones. The curve ends before the first scale with
/// fewer than eight blocks; it is empty if all demand is zero. Time: O(n) for all scales together.
///
/// Source: definition.
pub fn demand_cv(segments: &[&[f64]]) -> Vec<ScalePoint> {
    let values = segments.iter().map(|it| it.iter().copied());
    over_scales::<Moments>(values, |moments, count| {
        let mean = moments.mean().filter(|mean| *mean > 0.0)?;
        (count >= FEWEST_BLOCKS).then(|| moments.variance().map(|it| it.sqrt() / mean)).flatten()
    })
}

/// Variance over mean of counts in equal windows: 1 for Poisson, below for regular, above for
/// clustered.
///
/// s²/x̄ with the unbiased sample variance. `None` under two counts or if nothing was counted.
///
/// Source: U. Fano, Phys. Rev. 72 (1947), 26–29.
pub fn index_of_dispersion(counts: &[f64]) -> Option<f64> {
    let moments = Moments::of(counts);
    let mean = moments.mean().filter(|mean| *mean > 0.0)?;
    Some(moments.sample_variance()? / mean)
}

/// Allan factor of event counts at scales of 2^k samples: clustering that slow drift cannot fake.
///
/// AF(T) = E\[(N_{j+1} − N_j)²\] / (2 E\[N\]), N_j events in block j of length T; differences only
/// between neighbouring blocks of one segment. 1 at all scales for Poisson events.
///
/// - Shape: item t of item i of `segments` = number of events (burst onsets) at sample t of segment i.
/// - `window_samples`: averaging window over sample interval. Scales shorter than a window are left
///   out, because two onsets cannot be told apart there and the factor would look regular.
/// - The curve ends before the first scale with fewer than seven differences; it is empty without
///   events.
///
/// Sources: D. W. Allan, Proc. IEEE 54 (1966), 221–230; S. Thurner et al., Fractals 5 (1997),
/// 565–595.
pub fn allan_factor(
    segments: impl Iterator<Item = impl Iterator<Item = f64>>,
    window_samples: f64,
) -> Vec<ScalePoint> {
    let mut points = over_scales::<Neighbours>(segments, |seen, count| {
        if seen.differences + 1 < FEWEST_BLOCKS || seen.events <= 0.0 {
            return None;
        }
        Some(seen.squares / seen.differences as f64 / (2.0 * seen.events / count as f64))
    });
    points.retain(|point| point.samples as f64 >= window_samples);
    points
}

/// Slope of ln AF over ln T between two scales, by least squares: 0 for Poisson, α for fractal
/// events.
///
/// `None` unless at least three points with a positive value lie in `min_samples..=max_samples`.
/// For a self-similar process the Hurst exponent is (1+α)/2; trust it only from four windows to a
/// tenth of the record.
///
/// Source: S. Thurner et al., Fractals 5 (1997), 565–595.
pub fn allan_slope(points: &[ScalePoint], min_samples: f64, max_samples: f64) -> Option<f64> {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for point in points {
        let samples = point.samples as f64;
        if (min_samples..=max_samples).contains(&samples) && point.value > 0.0 {
            x.push(samples.ln());
            y.push(point.value.ln());
        }
    }
    if x.len() < 3 {
        return None;
    }
    let (of_x, of_y) = (Moments::of(&x).variance()?, Moments::of(&y).variance()?);
    if of_y == 0.0 {
        return Some(0.0);
    }
    Some(pearson(&x, &y)? * (of_y / of_x).sqrt())
}

/// What is kept of the block sums at one scale, which come in time order.
trait OfBlocks: Default {
    /// Takes one more sum.
    fn take(&mut self, sum: f64);
    /// The next sum belongs to another segment.
    fn part(&mut self) {}
}

impl OfBlocks for Moments {
    fn take(&mut self, sum: f64) {
        self.insert(sum);
    }
}

/// Events of blocks, and how much neighbouring blocks differ.
#[derive(Default)]
struct Neighbours {
    before: Option<f64>,
    squares: f64,
    differences: usize,
    events: f64,
}

impl OfBlocks for Neighbours {
    fn take(&mut self, sum: f64) {
        if let Some(before) = self.before.replace(sum) {
            self.squares += (sum - before).powi(2);
            self.differences += 1;
        }
        self.events += sum;
    }

    fn part(&mut self) {
        self.before = None;
    }
}

/// One scale: what was kept of it, and the sum that waits for its neighbour.
#[derive(Default)]
struct ScaleState<S> {
    kept: S,
    blocks: usize,
    half: Option<f64>,
}

/// Measures block sums at scales 1, 2, 4, … until the measure gives up.
///
/// One pass: two neighbouring sums become one of the next scale as soon as both are there, and an
/// odd last one of a segment is dropped. Memory: one state for each scale.
fn over_scales<S: OfBlocks>(
    segments: impl Iterator<Item = impl Iterator<Item = f64>>,
    measure: impl Fn(&S, usize) -> Option<f64>,
) -> Vec<ScalePoint> {
    let mut scales: Vec<ScaleState<S>> = Vec::new();
    for segment in segments {
        for value in segment {
            let (mut sum, mut scale) = (value, 0);
            loop {
                if scale == scales.len() {
                    scales.push(ScaleState::default());
                }
                let it = &mut scales[scale];
                it.kept.take(sum);
                it.blocks += 1;
                let Some(first) = it.half.take() else {
                    it.half = Some(sum);
                    break;
                };
                (sum, scale) = (first + sum, scale + 1);
            }
        }
        for it in &mut scales {
            it.half = None;
            it.kept.part();
        }
    }
    let measured = scales.iter().enumerate().map_while(|(scale, it)| {
        let value = measure(&it.kept, it.blocks)?;
        Some(ScalePoint { samples: 1 << scale, value, blocks: it.blocks })
    });
    measured.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::expected::{case, close, indices, numbers, rows, value};
    use crate::stats::specimen::Noise;
    use proptest::prelude::*;

    fn each<'a>(segments: &'a [&'a [f64]]) -> impl Iterator<Item = impl Iterator<Item = f64>> {
        segments.iter().map(|it| it.iter().copied())
    }

    fn assert_same_curve(found: &[ScalePoint], case: &serde_json::Value) {
        let samples: Vec<usize> = found.iter().map(|point| point.samples).collect();
        let blocks: Vec<usize> = found.iter().map(|point| point.blocks).collect();
        assert_eq!(samples, indices(case, "samples"));
        assert_eq!(blocks, indices(case, "blocks"));
        for (point, expected) in found.iter().zip(numbers(case, "expected")) {
            close(Some(point.value), expected, 1e-9);
        }
    }

    #[test]
    fn numpy_finds_the_same_demand_curve() {
        for case in case("demand_cv") {
            let segments = rows(case, "segments");
            let slices: Vec<&[f64]> = segments.iter().map(Vec::as_slice).collect();
            assert_same_curve(&demand_cv(&slices), case);
        }
    }

    #[test]
    fn numpy_finds_the_same_allan_factor_and_slope() {
        for case in case("allan_factor") {
            let segments = rows(case, "segments");
            let slices: Vec<&[f64]> = segments.iter().map(Vec::as_slice).collect();
            let points = allan_factor(each(&slices), value(case, "window_samples"));
            assert_same_curve(&points, case);
            close(allan_slope(&points, 4.0, 64.0), value(case, "slope"), 1e-9);
        }
    }

    #[test]
    fn numpy_finds_the_same_burstiness_memory_and_dispersion() {
        for case in case("intervals") {
            let intervals = numbers(case, "x");
            close(burstiness(&intervals), value(case, "burstiness"), 1e-9);
            close(memory_coefficient(&intervals), value(case, "memory"), 1e-9);
            close(index_of_dispersion(&intervals), value(case, "dispersion"), 1e-9);
        }
    }

    #[test]
    fn regular_events_have_burstiness_minus_one_and_a_single_cluster_one() {
        assert_eq!(burstiness(&[2.0; 10]), Some(-1.0));
        for count in [2, 5, 40] {
            let mut intervals = vec![0.0; count];
            intervals[1] = 7.0;
            assert!((burstiness(&intervals).unwrap() - 1.0).abs() < 1e-12);
        }
        assert_eq!(burstiness(&[1.0]), None);
        assert_eq!(burstiness(&[0.0, 0.0]), None);
    }

    #[test]
    fn few_poisson_events_have_next_to_no_burstiness_on_average() {
        let mut noise = Noise::new(1);
        let runs = 4000;
        let sum: f64 = (0..runs)
            .map(|_| {
                let intervals: Vec<f64> = (0..10).map(|_| noise.exponential(1.0)).collect();
                burstiness(&intervals).unwrap()
            })
            .sum();
        assert!((sum / f64::from(runs)).abs() < 0.06, "{}", sum / f64::from(runs));
    }

    #[test]
    fn memory_needs_twenty_events() {
        let intervals: Vec<f64> = (0..18).map(f64::from).collect();
        assert_eq!(memory_coefficient(&intervals), None);
        assert_eq!(memory_coefficient(&[intervals, vec![18.0]].concat()), Some(1.0));
    }

    #[test]
    fn poisson_events_have_allan_factor_one_and_slope_zero() {
        let mut noise = Noise::new(7);
        let counts: Vec<f64> =
            (0..1 << 17).map(|_| f64::from(u8::from(noise.uniform() < 0.05))).collect();
        let points = allan_factor(each(&[&counts]), 1.0);
        assert!((points[5].value - 1.0).abs() < 0.1);
        assert!(allan_slope(&points, 4.0, 4000.0).unwrap().abs() < 0.05);
    }

    #[test]
    fn scales_shorter_than_a_window_and_ranges_with_two_points_say_nothing() {
        let counts: Vec<f64> = (0..256).map(|t| f64::from(u8::from(t % 7 == 0))).collect();
        let points = allan_factor(each(&[&counts]), 3.0);
        assert_eq!(points[0].samples, 4);
        assert_eq!(allan_slope(&points, 4.0, 8.0), None);
        assert_eq!(allan_factor(each(&[&[0.0; 64]]), 1.0), []);
        assert_eq!(demand_cv(&[&[0.0; 64]]), []);
        assert_eq!(demand_cv(&[&[1.0; 7]]), []);
    }

    #[test]
    fn duty_counts_the_level_itself_and_nothing_has_no_duty() {
        assert_eq!(duty(&[0.0, 0.5, 1.0, 0.2], 0.5), Some(0.5));
        assert_eq!(duty(&[], 0.5), None);
        assert_eq!(index_of_dispersion(&[0.0, 0.0]), None);
    }

    proptest! {
        #[test]
        fn averaging_never_raises_the_variance_beyond_the_bound(
            values in prop::collection::vec(0.0..=1.0_f64, 8..300),
        ) {
            let n = values.len() / 8 * 8;
            let mean = values[..n].iter().sum::<f64>() / n as f64;
            for point in demand_cv(&[&values[..n]]).iter().take(4) {
                if n % point.samples == 0 {
                    let variance = (point.value * mean).powi(2);
                    prop_assert!(variance <= mean * (1.0 - mean) + 1e-12);
                }
            }
        }
    }
}
