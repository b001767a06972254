//! The burst profile of one subject in one part of the time.

use crate::analysis::activity::Activity;
use crate::analysis::bursts::{burst_shape, in_seconds};
use crate::analysis::findings::{BurstProfile, Duty, PeriodFinding, PeriodMethod, Regime};
use crate::analysis::resolution::{Observed, SPARSE_WINDOWS, resolution};
use crate::domain::shares::FULL;
use crate::domain::time::TimeSpan;
use crate::stats::changepoint::pelt_mean;
use crate::stats::correlate::lagged_pearson;
use crate::stats::dispersion::{demand_cv, duty};
use crate::stats::moments::Moments;
use crate::stats::period::{Period, lag1, period_by_acf, period_by_lomb_scargle};
use crate::stats::quantile::quantile;
use crate::stats::telegraph::{blur_index_of, invert_unless_periodic};
use std::ops::Range;

/// Part of the samples that one segment must hold to stand for all of them.
const MAIN_SEGMENT: f64 = 0.8;
/// Points that change-point search is given at most; more are averaged into these.
const REGIME_POINTS: usize = 4096;
/// Shortest regime, in windows.
const REGIME_WINDOWS: f64 = 5.0;
/// Regimes whose means differ by less are one: a twentieth of the device changes no decision.
const REGIME_STEP: f64 = 0.05;
/// Points that the periodogram is given at most.
const PERIODOGRAM_POINTS: usize = 20_000;

/// The burst profile inside the spans; `None` with fewer than two samples there.
pub(crate) fn profile(activity: &Activity<'_>, spans: &[TimeSpan]) -> Option<BurstProfile> {
    let segments = activity.segments(spans);
    let all = activity.joined(&segments);
    let (first, last) = (segments.first()?.start, segments.last()?.end - 1);
    let moments = Moments::of(&all);
    let (mean, variance) = (moments.mean()?, moments.variance()?);
    if all.len() < 2 {
        return None;
    }
    let slices: Vec<&[f64]> = segments.iter().map(|it| &activity.values[it.clone()]).collect();
    let shape = burst_shape(activity, &segments, &all);
    let duty = duty_of(&all)?;
    let is_sparse = activity.stride_s > SPARSE_WINDOWS * activity.window_s;
    let period = if is_sparse { None } else { period(activity, &segments) };
    let blur_index = blur_index_of(&all, activity.quantum);
    let telegraph = || invert_unless_periodic(&slices, activity.window_s, activity.quantum);
    let inferred_s = || telegraph().filter(|_| period.is_none()).map(|it| it.on);
    let observed = Observed {
        stride_s: activity.stride_s,
        window_s: activity.window_s,
        samples: all.len() as u64,
        mean,
        duty,
        blur_index,
        bursts: shape.as_ref().map(|it| &it.bursts),
        neighbours: neighbours(activity, &slices),
        inferred_s: &inferred_s,
        observer: None,
    };
    let resolution = resolution(&observed);
    let keeps_bursts = resolution.verdict.shows_bursts();
    let (bursts, allan_factor, allan_slope) = match shape.filter(|_| keeps_bursts) {
        Some(it) => (Some(it.bursts), it.allan_factor, it.allan_slope),
        None => (None, Vec::new(), None),
    };
    let (max, rms) = (moments.max()?, moments.root_mean_square()?);
    Some(BurstProfile {
        metric: activity.metric,
        samples: all.len() as u64,
        span: TimeSpan::covering(activity.at(first), activity.at(last)),
        stride_s: activity.stride_s,
        window_s: activity.window_s,
        window_is_stated: activity.window_is_stated,
        segments: segments.len() as u64,
        mean_ratio: mean,
        standard_deviation_ratio: variance.sqrt(),
        duty,
        peak_to_mean: over(max, mean).filter(|_| resolution.verdict.shows_peak()),
        p95_to_mean: quantile(&all, 0.95).and_then(|it| over(it, mean)),
        crest_factor: over(max, rms).filter(|_| resolution.verdict.shows_peak()),
        bursts,
        demand_cv: in_seconds(&demand_cv(&slices), activity.stride_s),
        allan_factor,
        allan_slope,
        period,
        lag1_correlation: lag1(&slices),
        blur_index,
        resolution,
        regimes: regimes(activity, &segments),
    })
}

/// A window that is longer than the time between samples by less than this share does not reach into the next but one.
///
/// Stamps jitter, so the typical step may be a little shorter than a window that is just as long.
const JITTER: f64 = 0.05;

/// Correlation of samples that share no window: one sample apart, or as many as a window covers.
fn neighbours(activity: &Activity<'_>, segments: &[&[f64]]) -> f64 {
    let lag = (activity.window_s / activity.stride_s - JITTER).ceil().max(1.0) as usize;
    let longest = segments.iter().max_by_key(|it| it.len());
    longest.and_then(|it| lagged_pearson(it, it, lag)).unwrap_or(0.0)
}

pub(crate) fn over(value: f64, base: f64) -> Option<f64> {
    (base > 0.0).then(|| value / base)
}

fn duty_of(values: &[f64]) -> Option<Duty> {
    Some(Duty {
        at_5_pct: duty(values, 0.05)?,
        at_50_pct: duty(values, 0.5)?,
        at_95_pct: duty(values, FULL)?,
    })
}

/// By autocorrelation where one stretch holds nearly everything, else by Lomb-Scargle.
fn period(activity: &Activity<'_>, segments: &[Range<usize>]) -> Option<PeriodFinding> {
    let longest = segments.iter().max_by_key(|it| it.len())?;
    let total: usize = segments.iter().map(Range::len).sum();
    let found = |period: Period, method| {
        let period_s = period.samples * activity.stride_s;
        let is_possible = period_s >= 2.0 * activity.stride_s.max(activity.window_s);
        is_possible.then_some(PeriodFinding { period_s, strength: period.strength, method })
    };
    if longest.len() as f64 >= MAIN_SEGMENT * total as f64 {
        let period = period_by_acf(&activity.values[longest.clone()])?;
        return found(period, PeriodMethod::Autocorrelation);
    }
    if total > PERIODOGRAM_POINTS {
        let period = period_by_acf(&activity.values[longest.clone()])?;
        return found(period, PeriodMethod::Autocorrelation);
    }
    let start = activity.at(longest.start.min(segments.first()?.start));
    let positions = segments.iter().flat_map(|it| it.clone());
    let (times, values): (Vec<f64>, Vec<f64>) = positions
        .map(|it| (activity.at(it).seconds_since(start) / activity.stride_s, activity.values[it]))
        .unzip();
    found(period_by_lomb_scargle(&times, &values)?, PeriodMethod::LombScargle)
}

/// Stretches of steady mean, within each segment.
fn regimes(activity: &Activity<'_>, segments: &[Range<usize>]) -> Vec<Regime> {
    let total: usize = segments.iter().map(Range::len).sum();
    let shortest =
        (REGIME_WINDOWS * activity.window_s / activity.stride_s).ceil().max(2.0) as usize;
    let block = total.div_ceil(REGIME_POINTS).max(1);
    let mut regimes = Vec::new();
    for segment in segments.iter().filter(|it| it.len() >= 2 * shortest) {
        let values = &activity.values[segment.clone()];
        let means: Vec<f64> =
            values.chunks(block).map(|it| it.iter().sum::<f64>() / it.len() as f64).collect();
        let cuts = pelt_mean(&means, None, shortest.div_ceil(block).max(2));
        let starts = std::iter::once(0).chain(cuts.iter().map(|it| it * block));
        let ends = cuts.iter().map(|it| it * block).chain(std::iter::once(values.len()));
        for (first, end) in starts.zip(ends) {
            let Some(mean_ratio) = Moments::of(&values[first..end]).mean() else { continue };
            let from = activity.at(segment.start + first);
            let until = activity.at(segment.start + end - 1);
            let regime = Regime { span: TimeSpan::covering(from, until), mean_ratio };
            regimes.push((regime, (end - first) as f64));
        }
    }
    merged(regimes)
}

/// Stretches of steady mean among means that somebody else took.
pub(crate) fn regimes_of(means: &[(TimeSpan, f64)]) -> Vec<(Regime, f64)> {
    let values: Vec<f64> = means.iter().map(|it| it.1).collect();
    if values.len() < 2 * REGIME_WINDOWS as usize {
        return Vec::new();
    }
    let cuts = pelt_mean(&values, None, REGIME_WINDOWS as usize);
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain(std::iter::once(values.len()));
    let regime = |(first, end): (usize, usize)| {
        let mean_ratio = Moments::of(&values[first..end]).mean()?;
        let span = means[first].0.hull(means[end - 1].0);
        Some((Regime { span, mean_ratio }, (end - first) as f64))
    };
    starts.zip(ends).filter_map(regime).collect()
}

/// Neighbours whose means hardly differ become one: a hole or a ripple begins no new regime.
pub(crate) fn merged(regimes: Vec<(Regime, f64)>) -> Vec<Regime> {
    let mut merged: Vec<(Regime, f64)> = Vec::new();
    for (regime, samples) in regimes {
        match merged.last_mut() {
            Some((last, weight)) if (last.mean_ratio - regime.mean_ratio).abs() < REGIME_STEP => {
                let total = *weight + samples;
                last.mean_ratio += (regime.mean_ratio - last.mean_ratio) * samples / total;
                last.span = last.span.hull(regime.span);
                *weight = total;
            }
            _ => merged.push((regime, samples)),
        }
    }
    merged.into_iter().map(|it| it.0).collect()
}
