//! The burst profile of a subject whose samples somebody else counted: from sums, not from samples.
//!
//! `cotenant serve` looks often and is asked rarely. What it counted says how often each height and
//! each length of burst came, and how neighbouring samples hang together, as exactly as the samples
//! would; in which order things came between two scrapes is lost. So there is no period, no Allan
//! factor and no rhythm of gaps here, and scales between sampling and scrape are left out.

use crate::analysis::counted_memory::level_of_counts;
use crate::analysis::extents::{BurstExtent, HEIGHT_CLASSES};
use crate::analysis::findings::{
    BurstProfile, Bursts, Duty, LengthBin, Lengths, Level, ScaleValue,
};
use crate::analysis::profile::{merged, over, regimes_of};
use crate::analysis::resolution::{Observed, resolution};
use crate::domain::metric::Metric;
use crate::domain::shape::{
    HEIGHT_BOUNDS, HEIGHTS, LENGTH_BOUNDS_S, LENGTHS, LEVELS, Shape, ShapeSpan, Slot, class_of,
    quantile_of,
};
use crate::domain::time::TimeSpan;
use crate::domain::units::Seconds;
use crate::stats::bursts::{Thresholds, thresholds_of};
use crate::stats::moments::Moments;
use crate::stats::telegraph::{blur_index, invert_plateau};

/// Share of stretches with a rhythm from which no length of bursts is inferred.
const MOST_REGULAR: f64 = 0.5;
/// Classes from which samples are at or above 5, 50 and 95 %.
const DUTY_CLASSES: [usize; 3] = [1, 10, 19];

/// Shapes of one subject inside some spans, added up.
#[derive(Debug)]
pub(crate) struct Counted<'a> {
    parts: Vec<&'a ShapeSpan>,
    sums: Shape,
    metric: Metric,
    stride_s: f64,
    window_s: f64,
    span: TimeSpan,
}

impl<'a> Counted<'a> {
    /// What was counted about a subject inside the spans; `None` when nothing was.
    ///
    /// A scrape interval belongs to the span that holds its middle. Where the exporter changed its
    /// metric or its window, what it counted last stands for all.
    pub(crate) fn of(
        parts: impl Iterator<Item = &'a ShapeSpan>,
        spans: &[TimeSpan],
    ) -> Option<Self> {
        let is_inside = |it: &&ShapeSpan| {
            let half = it.span.until().micros_since(it.span.from()) / 2;
            spans.iter().any(|span| span.contains(it.span.from().plus_micros(half)))
        };
        let mut parts: Vec<&ShapeSpan> = parts.filter(is_inside).collect();
        let last = *parts.last()?;
        parts.retain(|it| it.metric == last.metric);
        let mut sums = Shape::default();
        parts.iter().for_each(|it| sums.merge(&it.sums));
        // The usual interval and window: those of the part in the middle.
        let middle = |of: fn(&ShapeSpan) -> f64| {
            let mut all: Vec<f64> = parts.iter().map(|it| of(it)).collect();
            let place = all.len() / 2;
            *all.select_nth_unstable_by(place, f64::total_cmp).1
        };
        let (stride_s, window_s) =
            (middle(|it| it.interval.as_seconds()), middle(|it| it.window.as_seconds()));
        let span = parts.iter().map(|it| it.span).reduce(TimeSpan::hull)?;
        (sums.samples() >= 2.0).then_some(Self {
            sums,
            metric: last.metric,
            stride_s,
            window_s,
            span,
            parts,
        })
    }

    /// The metric that stood for activity.
    pub(crate) fn metric(&self) -> Metric {
        self.metric
    }

    fn quantum(&self) -> f64 {
        if self.metric == Metric::GpuUtilization { 0.01 } else { 0.0 }
    }

    fn height(&self, q: f64) -> Option<f64> {
        quantile_of(&self.sums.heights(), &HEIGHT_BOUNDS, 1.0, q)
    }

    /// Mean, range and quantiles of the metric, in its own unit; within half a class.
    pub(crate) fn level(&self) -> Option<Level> {
        let full = if self.metric == Metric::GpuUtilization { 100.0 } else { 1.0 };
        let at = |q: f64| self.height(q).map(|it| it * full);
        Some(Level {
            samples: self.sums.samples() as u64,
            mean: self.sums.mean()? * full,
            standard_deviation: self.sums.variance()?.sqrt() * full,
            min: at(0.0)?,
            p50: at(0.5)?,
            p95: at(0.95)?,
            max: at(1.0)?,
            saturated_ratio: self.sums.share_from(DUTY_CLASSES[2]),
        })
    }

    /// Memory as the counts have it, around what gauges showed of it; `None` when it was not counted.
    pub(crate) fn memory(&self, seen: Level, total_bytes: f64) -> Option<Level> {
        level_of_counts(&self.sums, seen, total_bytes)
    }

    /// The burst profile.
    pub(crate) fn profile(&self) -> Option<BurstProfile> {
        let sums = &self.sums;
        let (mean, variance) = (sums.mean()?, sums.variance()?);
        let duty = Duty {
            at_5_pct: sums.share_from(DUTY_CLASSES[0])?,
            at_50_pct: sums.share_from(DUTY_CLASSES[1])?,
            at_95_pct: sums.share_from(DUTY_CLASSES[2])?,
        };
        let quantum = self.quantum();
        let blur_index = blur_index(variance - quantum * quantum / 12.0, mean);
        let bursts = self.thresholds().and_then(|it| self.bursts(&it));
        let inferred_s = || self.inferred_s();
        let interval = Seconds(self.stride_s);
        let observer = format!("seen by the exporter every {interval}");
        let resolution = resolution(&Observed {
            stride_s: self.stride_s,
            window_s: self.window_s,
            samples: sums.samples() as u64,
            mean,
            duty,
            blur_index,
            bursts: bursts.as_ref(),
            neighbours: sums.correlation().unwrap_or(0.0),
            inferred_s: &inferred_s,
            observer: Some(&observer),
        });
        let (max, rms) = (self.height(1.0)?, (variance + mean * mean).sqrt());
        let shows_peak = resolution.verdict.shows_peak();
        Some(BurstProfile {
            metric: self.metric,
            samples: sums.samples() as u64,
            span: self.span,
            stride_s: self.stride_s,
            window_s: self.window_s,
            window_is_stated: true,
            segments: self.segments(),
            mean_ratio: mean,
            standard_deviation_ratio: variance.sqrt(),
            duty,
            peak_to_mean: over(max, mean).filter(|_| shows_peak),
            p95_to_mean: self.height(0.95).and_then(|it| over(it, mean)),
            crest_factor: over(max, rms).filter(|_| shows_peak),
            bursts: bursts.filter(|_| resolution.verdict.shows_bursts()),
            demand_cv: self.demand_cv(mean, variance),
            allan_factor: Vec::new(),
            allan_slope: None,
            period: None,
            lag1_correlation: sums.correlation(),
            blur_index,
            resolution,
            regimes: merged(regimes_of(&self.means())),
        })
    }

    /// Runs of scrapes without a hole between them.
    fn segments(&self) -> u64 {
        let slack = (2.5e6 * self.stride_s) as i64;
        let is_hole = |pair: &&[&ShapeSpan]| {
            let unseen = pair[1].span.from().micros_since(pair[0].span.until());
            unseen > slack
        };
        1 + self.parts.windows(2).filter(is_hole).count() as u64
    }

    /// The mean of each part, with its span.
    fn means(&self) -> Vec<(TimeSpan, f64)> {
        self.parts.iter().filter_map(|it| Some((it.span, it.sums.mean()?))).collect()
    }

    /// Coefficient of variation at the sampling interval, and over parts and more.
    fn demand_cv(&self, mean: f64, variance: f64) -> Vec<ScaleValue> {
        let mut scales: Vec<ScaleValue> = over(variance.sqrt(), mean)
            .map(|value| ScaleValue { scale_s: self.stride_s, value })
            .into_iter()
            .collect();
        let mut means: Vec<f64> = self.means().iter().map(|it| it.1).collect();
        let length_s: f64 = self.parts.iter().map(|it| it.span.seconds()).sum();
        let mut scale_s = length_s / self.parts.len() as f64;
        while means.len() >= 8 {
            let moments = Moments::of(&means);
            let value =
                moments.variance().zip(moments.mean()).and_then(|it| over(it.0.sqrt(), it.1));
            scales.extend(value.map(|value| ScaleValue { scale_s, value }));
            means = means.chunks_exact(2).map(|it| (it[0] + it[1]) / 2.0).collect();
            scale_s *= 2.0;
        }
        scales
    }

    fn thresholds(&self) -> Option<Thresholds> {
        thresholds_of([
            self.height(0.1)?,
            self.height(0.95)?,
            self.height(0.999)?,
            self.height(1.0)?,
        ])
    }

    /// Mean length of a burst from mean and variance alone, unless the exporter saw a rhythm.
    fn inferred_s(&self) -> Option<f64> {
        let (examined, regular) = (self.sums.get(Slot::Examined), self.sums.get(Slot::Regular));
        if examined < 1.0 || regular > MOST_REGULAR * examined {
            return None;
        }
        let at = |q: f64| self.height(q);
        let percentiles = [at(0.1)?, at(0.9)?, at(0.95)?, at(0.99)?];
        let (mean, variance) = (self.sums.mean()?, self.sums.variance()?);
        let found = invert_plateau(mean, variance, percentiles, (self.window_s, self.quantum()));
        found.map(|it| it.on)
    }

    fn bursts(&self, limits: &Thresholds) -> Option<Bursts> {
        let sums = &self.sums;
        let far = |level: &usize| (LEVELS[*level] - limits.on).abs();
        let level = (0..LEVELS.len()).min_by(|a, b| far(a).total_cmp(&far(b)))?;
        let counts = sums.bursts(level);
        let (ended_s, active_s) =
            (sums.get(Slot::BurstSeconds(level)), sums.get(Slot::ActiveSeconds(level)));
        let all_s = sums.samples() * self.stride_s;
        if active_s <= 0.0 || all_s <= 0.0 {
            return None;
        }
        let open_s = (active_s - ended_s).max(0.0);
        let is_open = open_s > 0.5 * self.stride_s;
        let seen: f64 = counts.iter().sum();
        let height = self.height_inside(level);
        let gaps = sums.gaps();
        let seconds = class_seconds(&counts, ended_s);
        Some(Bursts {
            on_ratio: LEVELS[level],
            off_ratio: 0.6 * LEVELS[level],
            burst_lengths: Lengths {
                count: seen as u64 + u64::from(is_open),
                censored: u64::from(is_open),
                max_s: longest_s(&counts).map(|it| it.max(open_s)).or(is_open.then_some(open_s)),
                ..lengths(&counts)
            },
            gap_lengths: lengths(&gaps),
            height_p50_ratio: height,
            height_max_ratio: self.height(1.0)?,
            mass_p50_s: lengths(&counts).p50_s.unwrap_or(open_s) * height,
            on_ratio_of_time: (active_s / all_s).min(1.0),
            burstiness: None,
            memory: None,
            index_of_dispersion: None,
            histogram: histogram(&counts, &seconds, all_s, height),
            extents: self.extents(level, open_s),
        })
    }

    /// The height that half the samples above a level stay under.
    fn height_inside(&self, level: usize) -> f64 {
        let first = class_of(&HEIGHT_BOUNDS, LEVELS[level]);
        let mut counts = self.sums.heights();
        counts[..first].fill(0.0);
        quantile_of(&counts, &HEIGHT_BOUNDS, 1.0, 0.5).unwrap_or(LEVELS[level])
    }

    /// Time at each height by burst length.
    ///
    /// Time at a height is known, and how long bursts last that rise to the next lower level: so the
    /// time is shared out over those lengths. A burst at a lower level is at least as long.
    fn extents(&self, level: usize, open_s: f64) -> Vec<BurstExtent> {
        let heights = self.sums.heights();
        let samples = self.sums.samples();
        let mut extents: Vec<BurstExtent> = (0..=LENGTHS)
            .map(|class| BurstExtent {
                length_s: if class < LENGTHS { self.length_of(class) } else { open_s },
                time_at_height: [0.0; HEIGHT_CLASSES],
            })
            .collect();
        for (class, height) in heights.iter().enumerate().take(HEIGHTS.min(HEIGHT_CLASSES)) {
            let floor = class as f64 / HEIGHTS as f64;
            let witness = (0..LEVELS.len()).rev().find(|it| LEVELS[*it] <= floor + 1e-9);
            let Some(witness) = witness.filter(|it| *it >= level) else { continue };
            let mut seconds = class_seconds(
                &self.sums.bursts(witness),
                self.sums.get(Slot::BurstSeconds(witness)),
            );
            let ended: f64 = seconds.iter().sum();
            seconds.push((self.sums.get(Slot::ActiveSeconds(witness)) - ended).max(0.0));
            let total: f64 = seconds.iter().sum();
            if total <= 0.0 {
                continue;
            }
            let share = height / samples;
            for (extent, part) in extents.iter_mut().zip(&seconds) {
                extent.time_at_height[class] += share * part / total;
            }
        }
        extents.retain(|it| it.time_at_height.iter().any(|it| *it > 0.0));
        extents
    }

    /// The length that stands for a class: its middle, but no less than one sample.
    fn length_of(&self, class: usize) -> f64 {
        middle_s(class).max(self.stride_s)
    }
}

/// The middle of a class of lengths on a logarithmic scale, in seconds.
fn middle_s(class: usize) -> f64 {
    0.025 * 2.0_f64.powi(class as i32)
}

/// Seconds in each class: as many as its bursts are long in the middle, and together as many as were counted.
fn class_seconds(counts: &[f64], ended_s: f64) -> Vec<f64> {
    let rough: Vec<f64> =
        counts.iter().enumerate().map(|(class, count)| count * middle_s(class)).collect();
    let total: f64 = rough.iter().sum();
    let factor = if total > 0.0 { ended_s / total } else { 0.0 };
    rough.into_iter().map(|it| it * factor).collect()
}

fn longest_s(counts: &[f64]) -> Option<f64> {
    let class = counts.iter().rposition(|it| *it > 0.0)?;
    Some(LENGTH_BOUNDS_S.get(class).copied().unwrap_or_else(|| middle_s(class)))
}

fn lengths(counts: &[f64]) -> Lengths {
    let end = middle_s(LENGTHS);
    let at = |q: f64| quantile_of(counts, &LENGTH_BOUNDS_S, end, q);
    Lengths {
        count: counts.iter().sum::<f64>() as u64,
        censored: 0,
        p50_s: at(0.5),
        p90_s: at(0.9),
        max_s: longest_s(counts),
    }
}

fn histogram(counts: &[f64], seconds: &[f64], all_s: f64, height: f64) -> Vec<LengthBin> {
    let last = counts.iter().rposition(|it| *it > 0.0).map_or(0, |it| it + 1);
    let first = counts.iter().position(|it| *it > 0.0).unwrap_or(0);
    let bin = |class: usize| LengthBin {
        from_s: if class == 0 { 0.0 } else { LENGTH_BOUNDS_S[class - 1] },
        until_s: LENGTH_BOUNDS_S.get(class).copied().unwrap_or_else(|| middle_s(class + 1)),
        count: counts[class] as u64,
        time_ratio: seconds[class] / all_s,
        height_ratio: (seconds[class] > 0.0).then_some(height),
    };
    (first..last).map(bin).collect()
}
