//! Which series of a recording show what a tenant does, on an even grid.

use crate::colocation::counted::{counted, counted_memory};
use crate::colocation::spells::BurstLength;
use crate::domain::ident::{GpuId, MigInstanceId, ProcessKey, Subject, TenantId};
use crate::domain::metric::{Metric, Unit};
use crate::domain::recording::{Recording, Trace};
use crate::domain::series::Series;
use crate::domain::source::{Reading, Source};
use crate::domain::time::{SampleInterval, Timestamp};
use crate::stats::moments::{BlockMoments, Moments};
use std::collections::BTreeSet;

/// Metrics that can stand for activity; a busy fraction of time comes first.
const ACTIVITY: [Metric; 3] =
    [Metric::GpuUtilization, Metric::GraphicsEngineActive, Metric::SmActive];
/// A step longer than this many typical ones is a hole.
const HOLE_STEPS: f64 = 2.5;
/// Looks further apart than this show no activity: of an hour they say as little as a coin.
const RAREST_LOOK_S: f64 = 3_600.0;
/// Bins of one tenant at most: three weeks of ten a second.
const MOST_BINS: i64 = 20_000_000;
/// Window of the driver's counters, seconds, where the source does not state it.
const DRIVER_WINDOW_S: (f64, f64) = (1.0 / 6.0, 1.0);

/// Busy fractions on an even grid; holes are left out, so time runs without them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bins {
    pub(crate) from: Timestamp,
    pub(crate) step_s: f64,
    /// What a fraction averages over, seconds.
    pub(crate) window_s: f64,
    /// Step of the values, 0 when continuous.
    pub(crate) quantum: f64,
    pub(crate) fractions: Vec<f64>,
}

impl Bins {
    pub(crate) fn span_s(&self) -> f64 {
        self.step_s * self.fractions.len() as f64
    }

    pub(crate) fn mean(&self) -> f64 {
        self.fractions.iter().sum::<f64>() / self.fractions.len().max(1) as f64
    }

    /// Busy time, seconds.
    pub(crate) fn seconds(&self) -> f64 {
        self.mean() * self.span_s()
    }

    /// The samples of a series as bins; samples whose windows overlap are thinned out.
    fn of(series: &Series, metric: Metric, sources: &[&Source]) -> Option<Self> {
        let stride_s = series.typical_interval()?.as_seconds();
        let window_s = window_s(metric, stride_s, sources);
        let full = full_use(metric)?;
        if stride_s > RAREST_LOOK_S && window_s < stride_s {
            return None;
        }
        let every = (window_s / stride_s).round().max(1.0) as usize;
        let step_s = stride_s * every as f64;
        let longest = SampleInterval::from_micros((stride_s * HOLE_STEPS * 1e6) as u64)?;
        let mut fractions = Vec::new();
        for segment in series.segments(longest) {
            let places = segment.skip(every - 1).step_by(every);
            fractions.extend(places.map(|it| (series.value(it) / full).clamp(0.0, 1.0)));
        }
        let mut is_whole = full > 1.0;
        series.each(0..series.len(), |it| is_whole &= it.fract() == 0.0);
        let from = series.times().first()?.plus_micros(-((step_s * 1e6) as i64));
        let quantum = if is_whole { 1.0 / full } else { 0.0 };
        (fractions.len() > 1).then_some(Self { from, step_s, window_s, quantum, fractions })
    }
}

/// The series that show what a tenant does.
#[derive(Debug)]
pub(crate) struct Watched<'a> {
    trace: &'a Trace,
    device: Option<&'a Trace>,
    pub(crate) busy: Bins,
    /// Whether they are those of a GPU or instance that it has to itself.
    pub(crate) is_device: bool,
    /// What an exporter's counts tell about the length of bursts; `None` where samples were kept.
    pub(crate) counted: Option<BurstLength>,
    /// Bounds of the highest class in which an exporter counted its memory, bytes.
    memory_bounds: Option<(f64, f64)>,
}

impl<'a> Watched<'a> {
    /// The GPU's own series if the tenant is alone, its instance's if it has one, else its processes'.
    pub(crate) fn of(
        part: &'a Recording,
        gpu: &'a GpuId,
        tenant: &TenantId,
        is_alone: bool,
    ) -> Option<Self> {
        let device = part.traces.get(&Subject::device(gpu));
        let own = instance_of(part, gpu, tenant);
        let instance =
            own.and_then(|it| part.traces.get(&Subject::MigInstance { instance: it.clone() }));
        let whole = instance.or(device.filter(|_| is_alone));
        let subject = match own.filter(|_| instance.is_some()) {
            Some(it) => Subject::MigInstance { instance: it.clone() },
            None => Subject::device(gpu),
        };
        let seen = |(trace, busy), (subject, is_device), counted| Self {
            trace,
            device,
            busy,
            is_device,
            counted,
            memory_bounds: counted_bytes(part, &subject, gpu),
        };
        if let Some(trace) = whole {
            if let Some((busy, length)) = counted(part, &subject) {
                return Some(seen((trace, busy), (subject, true), Some(length)));
            }
            if let Some(busy) = activity(trace, part) {
                return Some(seen((trace, busy), (subject, true), None));
            }
        }
        let subject = Subject::Tenant { gpu: Some(gpu.clone()), tenant: tenant.clone() };
        if let Some(trace) = part.traces.get(&subject)
            && let Some((busy, length)) = counted(part, &subject)
        {
            return Some(seen((trace, busy), (subject, false), Some(length)));
        }
        let processes = processes_of(part, gpu, tenant);
        let found = summed(&processes, device, part)?;
        Some(seen(found, (subject, false), None))
    }

    /// The most memory that it held, bytes: of its samples, or more where an exporter counted more between scrapes.
    pub(crate) fn most_memory_bytes(&self) -> Option<f64> {
        let most = self.series(Metric::FramebufferUsed)?.highest()?;
        Some(match self.memory_bounds {
            Some((lower, upper)) if most < lower => upper,
            _ => most,
        })
    }

    pub(crate) fn series(&self, metric: Metric) -> Option<&'a Series> {
        self.trace.get(metric).filter(|it| !it.is_empty())
    }

    /// Mean of a metric.
    pub(crate) fn mean(&self, metric: Metric) -> Option<f64> {
        moments(self.series(metric)?).mean()
    }

    /// Power over idle while active, W: (mean − idle)/busy share, idle as given or as the line through busy fraction and power has it.
    pub(crate) fn power_over_idle(&self, idle_w: Option<f64>, telling: f64) -> Option<f64> {
        let power = self.device.filter(|_| self.is_device)?.get(Metric::Power)?;
        let busy = self.busy.mean();
        if busy <= 0.0 {
            return None;
        }
        let power = moments(power);
        let mean_w = power.mean()? / 1e3;
        let idle_w = idle_w.or_else(|| {
            let spread = Moments::of(&self.busy.fractions).variance()?.sqrt();
            let least = power.min()? / 1e3;
            (spread > telling).then_some(least)
        })?;
        Some(((mean_w - idle_w) / busy).max(0.0))
    }
}

fn moments(series: &Series) -> Moments {
    if let Some(counts) = series.counts(0..series.len()) {
        return Moments::of_counts(&counts);
    }
    let mut moments = BlockMoments::default();
    series.each(0..series.len(), |it| moments.insert(it));
    moments.finish()
}

fn counted_bytes(part: &Recording, subject: &Subject, gpu: &GpuId) -> Option<(f64, f64)> {
    let (lower, upper) = counted_memory(part, subject)?;
    let total = |subject: &Subject| part.series(subject, Metric::FramebufferTotal)?.highest();
    let total = total(subject).or_else(|| total(&Subject::device(gpu)))?;
    Some((lower * total, upper * total))
}

fn activity(trace: &Trace, part: &Recording) -> Option<Bins> {
    let sources: Vec<&Source> =
        part.outline.sources.iter().filter(|it| trace.sources.contains(&it.id)).collect();
    let metric = ACTIVITY.into_iter().find(|it| trace.get(*it).is_some_and(|it| it.len() > 1))?;
    Bins::of(trace.get(metric)?, metric, &sources)
}

fn full_use(metric: Metric) -> Option<f64> {
    match metric.spec().unit {
        Unit::Percent => Some(100.0),
        Unit::Ratio => Some(1.0),
        _ => None,
    }
}

fn window_s(metric: Metric, stride_s: f64, sources: &[&Source]) -> f64 {
    let stated = sources.iter().find_map(|it| match it.readings.get(&metric) {
        Some(Reading::WindowAverage { window }) => window.map(SampleInterval::as_seconds),
        _ => None,
    });
    stated.unwrap_or(match metric {
        Metric::GpuUtilization => stride_s.clamp(DRIVER_WINDOW_S.0, DRIVER_WINDOW_S.1),
        _ => stride_s,
    })
}

fn instance_of<'a>(
    part: &'a Recording,
    gpu: &GpuId,
    tenant: &TenantId,
) -> Option<&'a MigInstanceId> {
    let is_own = |tenants: &[TenantId]| tenants.len() == 1 && tenants[0] == *tenant;
    let found =
        part.outline.mig_instances.iter().find(|it| it.instance.gpu == *gpu && is_own(&it.tenants));
    found.map(|it| &it.instance)
}

fn processes_of<'a>(part: &'a Recording, gpu: &'a GpuId, tenant: &TenantId) -> Vec<&'a Trace> {
    let own: BTreeSet<ProcessKey> =
        part.outline.processes.of_tenant(gpu, tenant).map(|it| it.process).collect();
    let processes = own.into_iter().map(|it| Subject::Process { gpu: gpu.clone(), process: it });
    let itself = Subject::Tenant { gpu: Some(gpu.clone()), tenant: tenant.clone() };
    let traces = processes.chain([itself]).filter_map(|it| part.traces.get(&it));
    traces.filter(|it| it.get(Metric::GpuUtilization).is_some_and(|it| it.len() > 1)).collect()
}

/// Stretches of time in which nobody was looked at, left out of a record that would be too long with them.
#[derive(Debug, Default)]
struct Gone {
    /// Where each begins, and how many bins are left out up to its end.
    stretches: Vec<(i64, i64)>,
}

impl Gone {
    /// Bins between two that have samples, where more than a thousandth of [`MOST_BINS`] follow each other.
    fn of(all: &[&Series], bin_of: impl Fn(Timestamp) -> i64) -> Self {
        let mut bins: Vec<i64> =
            all.iter().flat_map(|it| it.times()).map(|it| bin_of(*it)).collect();
        bins.sort_unstable();
        let mut left_out = 0;
        let mut stretches = Vec::new();
        for pair in bins.windows(2).filter(|it| it[1] - it[0] > MOST_BINS / 1000) {
            left_out += pair[1] - pair[0] - 1;
            stretches.push((pair[0] + 1, left_out));
        }
        Self { stretches }
    }

    /// Bins that are left out before this one.
    fn before(&self, bin: i64) -> i64 {
        let place = self.stretches.partition_point(|it| it.0 <= bin);
        place.checked_sub(1).map_or(0, |it| self.stretches[it].1)
    }
}

/// Processes together, on the grid of the first; a process that is not listed while the GPU is watched is idle.
fn summed<'a>(
    processes: &[&'a Trace],
    device: Option<&Trace>,
    part: &Recording,
) -> Option<(&'a Trace, Bins)> {
    let series = |trace: &&'a Trace| trace.get(Metric::GpuUtilization);
    let first = *processes.first()?;
    let step = processes
        .iter()
        .filter_map(series)
        .filter_map(Series::typical_interval)
        .min_by_key(|it| it.as_micros())?;
    let step_us = i64::try_from(step.as_micros()).ok()?;
    let all: Vec<&Series> = processes
        .iter()
        .filter_map(series)
        .chain(device.and_then(|it| it.get(Metric::GpuUtilization)))
        .collect();
    let spans = all.iter().filter_map(|it| it.span());
    let span = spans.reduce(|a, b| a.hull(b)).or(part.outline.span)?;
    let from = span.from().plus_micros(-step_us);
    let bin_of = |time: Timestamp| (time.micros_since(from) - 1) / step_us;
    let whole = span.until().micros_since(from) / step_us;
    let gone = if whole > MOST_BINS { Gone::of(&all, bin_of) } else { Gone::default() };
    let count = usize::try_from(whole - gone.before(whole)).ok()?;
    if count as i64 > MOST_BINS {
        return None;
    }
    let mut fractions = vec![0.0_f64; count];
    for series in processes.iter().filter_map(series) {
        for (position, time) in series.times().iter().enumerate() {
            let value = series.value(position);
            let bin = bin_of(*time);
            let bin = usize::try_from(bin - gone.before(bin)).unwrap_or(0);
            if let Some(it) = fractions.get_mut(bin) {
                *it = (*it + value / 100.0).min(1.0);
            }
        }
    }
    let step_s = step.as_seconds();
    let bins = Bins { from, step_s, window_s: step_s, quantum: 0.01, fractions };
    (count > 1).then_some((first, bins))
}
