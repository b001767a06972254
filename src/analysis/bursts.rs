//! Bursts and gaps of one activity, and how regularly they come.

use crate::analysis::activity::Activity;
use crate::analysis::extents::{BurstExtent, HEIGHT_CLASSES};
use crate::analysis::findings::{Bursts, LengthBin, Lengths, ScaleValue};
use crate::stats::bursts::{Burst, BurstRuns, Thresholds, burst_runs, thresholds};
use crate::stats::dispersion::{
    ScalePoint, allan_factor, allan_slope, burstiness, index_of_dispersion, memory_coefficient,
};
use crate::stats::quantile::quantile;
use std::collections::BTreeMap;
use std::ops::Range;

/// Samples in which onsets are counted for the index of dispersion.
const DISPERSION_SAMPLES: usize = 10;
/// Fewer bursts than this say nothing about regularity.
const FEWEST_FOR_RHYTHM: usize = 5;

/// What the bursts of an activity look like, before it is decided whether the sampling allows it.
#[derive(Debug)]
pub(crate) struct BurstShape {
    pub(crate) bursts: Bursts,
    pub(crate) allan_factor: Vec<ScaleValue>,
    pub(crate) allan_slope: Option<f64>,
}

/// Bursts and gaps inside the segments; `None` when the trace is flat or nothing crosses the thresholds.
pub(crate) fn burst_shape(
    activity: &Activity<'_>,
    segments: &[Range<usize>],
    all: &[f64],
) -> Option<BurstShape> {
    let (limits, runs) = runs(activity, segments, all)?;
    let slices: Vec<&[f64]> = segments.iter().map(|it| &activity.values[it.clone()]).collect();
    if runs.bursts.is_empty() {
        return None;
    }
    let onsets = onset_counts(&runs, segments);
    let onset_counts = onsets.iter().map(|it| it.iter().copied().map(f64::from));
    let window_samples = (activity.window_s / activity.stride_s).max(1.0);
    let factors = allan_factor(onset_counts, window_samples);
    let samples = all.len() as f64;
    let has_rhythm = runs.bursts.len() >= FEWEST_FOR_RHYTHM;
    let slope =
        has_rhythm.then(|| allan_slope(&factors, 4.0 * window_samples, samples / 10.0)).flatten();
    Some(BurstShape {
        bursts: bursts(activity, &runs, &limits, &onsets, &slices)?,
        allan_factor: if has_rhythm { in_seconds(&factors, activity.stride_s) } else { Vec::new() },
        allan_slope: slope,
    })
}

/// The segments cut into bursts and gaps, and the levels that cut them; `None` when the trace is flat.
pub(crate) fn runs(
    activity: &Activity<'_>,
    segments: &[Range<usize>],
    all: &[f64],
) -> Option<(Thresholds, BurstRuns)> {
    let limits = thresholds(all)?;
    let slices: Vec<&[f64]> = segments.iter().map(|it| &activity.values[it.clone()]).collect();
    let runs = burst_runs(&slices, &limits, activity.window_s / activity.stride_s);
    Some((limits, runs))
}

fn bursts(
    activity: &Activity<'_>,
    runs: &BurstRuns,
    limits: &Thresholds,
    onsets: &[Vec<u8>],
    slices: &[&[f64]],
) -> Option<Bursts> {
    let samples = slices.iter().map(|it| it.len()).sum::<usize>() as f64;
    let stride = activity.stride_s;
    let heights: Vec<f64> = runs.bursts.iter().map(|it| it.height).collect();
    let masses: Vec<f64> = runs.bursts.iter().map(|it| it.mass * stride).collect();
    let burst_spans = || runs.bursts.iter().map(|it| (it.end - it.first, it.censored));
    let gap_spans = || runs.gaps.iter().map(|it| (it.end - it.first, it.censored));
    let intervals = onset_intervals(&runs.bursts, stride);
    let has_rhythm = runs.bursts.len() >= FEWEST_FOR_RHYTHM;
    let counts: Vec<f64> = onsets
        .iter()
        .flat_map(|it| it.chunks_exact(DISPERSION_SAMPLES))
        .map(|it| it.iter().copied().map(f64::from).sum())
        .collect();
    let on_samples: usize = burst_spans().map(|it| it.0).sum();
    Some(Bursts {
        on_ratio: limits.on,
        off_ratio: limits.off,
        burst_lengths: lengths(burst_spans(), stride),
        gap_lengths: lengths(gap_spans(), stride),
        height_p50_ratio: quantile(&heights, 0.5)?,
        height_max_ratio: heights.iter().copied().fold(0.0, f64::max),
        mass_p50_s: quantile(&masses, 0.5)?,
        on_ratio_of_time: on_samples as f64 / samples,
        burstiness: if has_rhythm { burstiness(&intervals) } else { None },
        memory: memory_coefficient(&intervals),
        index_of_dispersion: if has_rhythm { index_of_dispersion(&counts) } else { None },
        histogram: histogram(&runs.bursts, stride, samples),
        extents: extents(runs, slices, stride, samples),
    })
}

fn lengths(spans: impl Iterator<Item = (usize, bool)>, stride_s: f64) -> Lengths {
    let all: Vec<(f64, bool)> = spans.map(|it| (it.0 as f64 * stride_s, it.1)).collect();
    let whole: Vec<f64> = all.iter().filter(|it| !it.1).map(|it| it.0).collect();
    Lengths {
        count: all.len() as u64,
        censored: (all.len() - whole.len()) as u64,
        p50_s: quantile(&whole, 0.5),
        p90_s: quantile(&whole, 0.9),
        max_s: all.iter().map(|it| it.0).reduce(f64::max),
    }
}

/// Bins of one, two, four, ... samples.
fn histogram(bursts: &[Burst], stride_s: f64, samples: f64) -> Vec<LengthBin> {
    let mut bins: Vec<LengthBin> = Vec::new();
    let mut weighted_heights: Vec<f64> = Vec::new();
    for burst in bursts {
        let length = (burst.end - burst.first).max(1);
        let bin = length.ilog2() as usize;
        while bins.len() <= bin {
            let from_s = (1u64 << bins.len()) as f64 * stride_s;
            let until_s = 2.0 * from_s;
            bins.push(LengthBin { from_s, until_s, count: 0, time_ratio: 0.0, height_ratio: None });
            weighted_heights.push(0.0);
        }
        let share = length as f64 / samples;
        bins[bin].count += u64::from(!burst.censored);
        bins[bin].time_ratio += share;
        weighted_heights[bin] += share * burst.height;
    }
    for (bin, weighted) in bins.iter_mut().zip(weighted_heights) {
        bin.height_ratio = (bin.time_ratio > 0.0).then(|| weighted / bin.time_ratio);
    }
    bins
}

/// Time at each height by burst length, bursts that were cut off included.
fn extents(runs: &BurstRuns, slices: &[&[f64]], stride_s: f64, samples: f64) -> Vec<BurstExtent> {
    let mut by_length: BTreeMap<usize, [u64; HEIGHT_CLASSES]> = BTreeMap::new();
    for burst in &runs.bursts {
        let Some(inside) = slices.get(burst.segment).and_then(|it| it.get(burst.first..burst.end))
        else {
            continue;
        };
        let classes = by_length.entry(inside.len()).or_insert([0; HEIGHT_CLASSES]);
        for value in inside {
            let class = (value * HEIGHT_CLASSES as f64 + 1e-9).max(0.0) as usize;
            classes[class.min(HEIGHT_CLASSES - 1)] += 1;
        }
    }
    by_length
        .into_iter()
        .map(|(length, classes)| BurstExtent {
            length_s: length as f64 * stride_s,
            time_at_height: classes.map(|it| it as f64 / samples),
        })
        .collect()
}

/// Times from one onset to the next; a hole between two bursts hides how many came between.
fn onset_intervals(bursts: &[Burst], stride_s: f64) -> Vec<f64> {
    bursts
        .windows(2)
        .filter(|pair| pair[0].segment == pair[1].segment)
        .map(|pair| (pair[1].first - pair[0].first) as f64 * stride_s)
        .collect()
}

/// For each segment and sample: 1 where a burst begins, else 0.
fn onset_counts(runs: &BurstRuns, segments: &[Range<usize>]) -> Vec<Vec<u8>> {
    let mut counts: Vec<Vec<u8>> = segments.iter().map(|it| vec![0; it.len()]).collect();
    for burst in &runs.bursts {
        if let Some(cell) = counts.get_mut(burst.segment).and_then(|it| it.get_mut(burst.first)) {
            *cell = 1;
        }
    }
    counts
}

/// Scale points with their scale in seconds.
pub(crate) fn in_seconds(points: &[ScalePoint], stride_s: f64) -> Vec<ScaleValue> {
    points
        .iter()
        .map(|it| ScaleValue { scale_s: it.samples as f64 * stride_s, value: it.value })
        .collect()
}
