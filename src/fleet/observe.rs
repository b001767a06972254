//! One GPU's part of a recording becomes a finding.
//!
//! What is looked at as a whole: memory, and how busy each hour is. What needs neighbouring samples and much time (shapes of loads,
//! work of tenants) is taken from stretches of long recordings, spread over all of their time.

use crate::analysis::co_peaks::{memory_findings, memory_held};
use crate::analysis::findings::Findings;
use crate::analysis::loads;
use crate::colocation::demand::Demand;
use crate::colocation::observed::Sitting;
use crate::colocation::stretches::stretches;
use crate::colocation::whatif::Options;
use crate::domain::ident::{GpuId, ProcessKey, Subject};
use crate::domain::metric::Metric;
use crate::domain::recording::{Recording, Trace};
use crate::domain::series::Series;
use crate::domain::time::{TimeSpan, Timestamp};
use crate::fleet::findings::{DeviceFinding, MemoryFinding, MetFinding, TenantFinding};
use crate::recommender::candidates::{
    Candidate, candidates, has_company, name_processes, own_instance, workers,
};
use crate::recommender::memory_risk::demand;
use crate::recommender::policy::Policy;
use crate::recommender::seen::{Scenery, SeenTenant, situations};
use crate::recommender::situation::{Limits, Situation};
use crate::recommender::suitability::judge;
use crate::recommender::tenant_policy::TenantPolicies;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Samples of a series from which on only stretches of it are looked at for shapes: eleven hours at a second.
const MOST_SAMPLES: usize = 40_000;
/// Metrics that show how busy a device is, the plainest first.
const ACTIVITY: [Metric; 3] =
    [Metric::GpuUtilization, Metric::GraphicsEngineActive, Metric::SmActive];
/// An hour, seconds.
const HOUR_S: f64 = 3_600.0;
/// Share of an hour that has to be seen for it to count.
const SEEN_OF_HOUR: f64 = 0.5;

/// What a GPU's part of a recording says, for a plan.
///
/// `part` holds the GPU and whatever lives on it, and tenants without a GPU where it is the only one. `file` names the recording: a
/// GPU on which nobody is named is called after it. `policy` decides what counts as a long burst, and nothing that owners say.
pub fn observe(mut part: Recording, gpu: &GpuId, file: &str, policy: &Policy) -> DeviceFinding {
    name_processes(&mut part);
    let thin = thinned(&part);
    let seen_part = thin.as_ref().unwrap_or(&part);
    let mut device = loads(gpu, seen_part);
    device.memory = memory_findings(gpu, &part, None);
    let findings = Findings { devices: vec![device], ..Findings::default() };
    let words = judge(&findings, policy);
    let here: Vec<Candidate> =
        candidates(&part.outline, file).into_iter().filter(|it| it.gpu == *gpu).collect();
    let has_names = here.iter().any(|it| !it.is_whole_gpu);
    let here: Vec<Candidate> =
        here.into_iter().filter(|it| !(has_names && it.is_whole_gpu)).collect();
    let at_work = workers(seen_part, gpu);
    let seen: Vec<SeenTenant> =
        here.iter().map(|it| seen_tenant(seen_part, it, has_company(&at_work, it))).collect();
    let situation = situations(&Scenery {
        findings: &findings,
        outline: &part.outline,
        words: &words,
        seen: &seen,
        said: &TenantPolicies::default(),
        policy,
        limits: Limits::default(),
        options: Options::default(),
    });
    let activity = part.traces.get(&Subject::device(gpu)).and_then(busy_series);
    let mut found = finding(&part, gpu, situation.into_iter().next(), activity);
    for tenant in &mut found.tenants {
        complete(tenant, &part, &here, found.seen_s);
    }
    found
}

fn seen_tenant(part: &Recording, it: &Candidate, has_company: bool) -> SeenTenant {
    let (instance, slice) = own_instance(part, it);
    let is_alone = it.is_whole_gpu || !has_company;
    let sitting = Sitting { gpu: &it.gpu, tenant: &it.tenant, is_alone, idle_w: None };
    let demand = Demand::recorded(part, sitting);
    SeenTenant {
        gpu: it.gpu.clone(),
        tenant: it.tenant.clone(),
        is_whole_gpu: it.is_whole_gpu,
        demand: match slice {
            Some(slice) => demand.map(|it| it.inside(slice)),
            None => demand,
        },
        instance,
    }
}

fn finding(
    part: &Recording,
    gpu: &GpuId,
    situation: Option<Situation>,
    activity: Option<(&Series, f64)>,
) -> DeviceFinding {
    let known = part.outline.device(gpu);
    let spans = part.on_gpu(gpu).flat_map(|it| it.1.series.values()).filter_map(Series::span);
    let span = spans.reduce(TimeSpan::hull).or(part.outline.span);
    let stride = activity.and_then(|it| it.0.typical_interval()).map(|it| it.as_seconds());
    let any = || {
        let all = part.on_gpu(gpu).flat_map(|it| it.1.series.values());
        all.filter_map(Series::typical_interval).map(|it| it.as_seconds()).reduce(f64::min)
    };
    let interval_s = stride.or_else(any);
    let device = situation.as_ref().map(|it| it.device.clone()).unwrap_or_default();
    let count = activity.map_or(0, |it| it.0.len()) as f64;
    let share = |is_it: &dyn Fn(f64) -> bool| {
        let (series, full) = activity.filter(|_| count > 0.0)?;
        let mut those = 0_u64;
        series.each(0..series.len(), |it| those += u64::from(is_it(it / full)));
        Some(those as f64 / count)
    };
    let sum = |(series, full): (&Series, f64)| {
        let mut sum = 0.0;
        series.each(0..series.len(), |it| sum += it);
        sum / full
    };
    DeviceFinding {
        host: known.and_then(|it| it.host.clone()),
        gpu: gpu.as_str().to_owned(),
        index: known.and_then(|it| it.index),
        model: device.model,
        total_mib: device.total_mib,
        reserved_mib: device.reserved_mib,
        others_mib: device.others_mib,
        from_us: span.map_or(0, |it| it.from().as_micros()),
        until_us: span.map_or(0, |it| it.until().as_micros()),
        seen_s: match stride {
            Some(stride) => count * stride,
            None => span.map_or(0.0, TimeSpan::seconds),
        },
        interval_s,
        busy_mean_ratio: activity.filter(|_| count > 0.0).map(|it| sum(it) / count),
        busy_at_95_pct_ratio: share(&|it| it >= 0.95),
        now: situation.as_ref().map(|it| it.now.clone()).unwrap_or_default(),
        saturated: situation.as_ref().and_then(|it| it.saturated.clone()),
        met: situation.as_ref().and_then(|it| it.met).map(|it| MetFinding {
            seen_s: it.seen_s,
            crossings: it.crossings,
            phases: it.phases,
        }),
        unseen: situation.as_ref().map(|it| it.unseen.clone()).unwrap_or_default(),
        tenants: situation.map_or_else(Vec::new, |it| {
            it.tenants.iter().map(|it| TenantFinding::of(it, false)).collect()
        }),
    }
}

/// The series that shows how busy a device is, with the value that is all of it.
fn busy_series(trace: &Trace) -> Option<(&Series, f64)> {
    let metric = ACTIVITY.into_iter().find(|it| trace.get(*it).is_some_and(|it| it.len() > 1))?;
    let full = if metric == Metric::GpuUtilization { 100.0 } else { 1.0 };
    Some((trace.get(metric)?, full))
}

/// What only the whole recording shows of a tenant: its memory where it has the device to itself, its busiest hour, and how long it was seen.
fn complete(tenant: &mut TenantFinding, part: &Recording, here: &[Candidate], seen_s: f64) {
    let Some(candidate) = here.iter().find(|it| it.tenant.as_str() == tenant.name) else { return };
    tenant.is_whole_gpu = candidate.is_whole_gpu;
    if tenant.demand.is_some() {
        tenant.seen_s = seen_s;
    }
    if candidate.is_whole_gpu && tenant.memory.is_none() {
        let held = memory_held(&candidate.gpu, part);
        let whole = held.iter().find_map(|it| demand(it.whole.as_ref()?, it.step_s));
        tenant.memory = whole.as_ref().map(MemoryFinding::of);
    }
    if let (Some(demand), Some(memory)) = (&mut tenant.demand, &tenant.memory)
        && let Some(peak) = memory.levels_bytes.last()
    {
        let before = demand.memory_bytes.unwrap_or(0.0);
        demand.memory_bytes = Some(before.max(*peak));
    }
    tenant.busiest_hour_factor = busiest_hour(part, candidate);
}

/// Load of the busiest hour over that of all the time: of requests where they were counted, else of activity.
///
/// `None` under two hours of which at least half was seen.
fn busiest_hour(part: &Recording, it: &Candidate) -> Option<f64> {
    let processes: BTreeSet<ProcessKey> =
        part.outline.processes.of_tenant(&it.gpu, &it.tenant).map(|it| it.process).collect();
    let own = |subject: &Subject| match subject {
        Subject::Tenant { tenant, .. } => *tenant == it.tenant,
        Subject::Process { gpu, process } => *gpu == it.gpu && processes.contains(process),
        Subject::Device { .. } => it.is_whole_gpu,
        Subject::MigInstance { .. } => false,
    };
    let traces: Vec<&Trace> = part.traces.iter().filter(|it| own(it.0)).map(|it| it.1).collect();
    let offered = traces.iter().find_map(|it| it.get(Metric::OfferedLoad));
    let all: Vec<&Series> = match offered {
        Some(it) => vec![it],
        None => traces.iter().filter_map(|it| busy_series(it)).map(|it| it.0).collect(),
    };
    let (mut hours, mut total) = (BTreeMap::<i64, (f64, f64)>::new(), (0.0, 0.0));
    for series in all {
        let stride = series.typical_interval()?.as_seconds();
        for (position, at) in series.times().iter().enumerate() {
            let value = series.value(position);
            let hour = at.as_micros().div_euclid(HOUR_S as i64 * 1_000_000);
            let sums = hours.entry(hour).or_default();
            (sums.0, sums.1) = (sums.0 + value * stride, sums.1 + stride);
            (total.0, total.1) = (total.0 + value * stride, total.1 + stride);
        }
    }
    hours.retain(|_, it| it.1 >= SEEN_OF_HOUR * HOUR_S);
    let mean = total.0 / total.1;
    if hours.len() < 2 || mean.is_nan() || mean <= 0.0 {
        return None;
    }
    let busiest = hours.values().map(|it| it.0 / it.1).fold(0.0, f64::max);
    Some((busiest / mean).max(1.0))
}

/// A recording of which only stretches are left; `None` where it is short enough.
fn thinned(part: &Recording) -> Option<Recording> {
    let all = || part.traces.values().flat_map(|it| it.series.values());
    let longest = all().map(Series::len).max()?;
    if longest <= MOST_SAMPLES {
        return None;
    }
    let span = all().filter_map(Series::span).reduce(TimeSpan::hull)?;
    let at = |seconds: f64| span.from().plus_micros((seconds * 1e6) as i64);
    let kept: Vec<TimeSpan> = stretches(span.seconds(), MOST_SAMPLES as f64 / longest as f64)
        .into_iter()
        .filter_map(|(from, until)| TimeSpan::new(at(from), at(until)))
        .collect();
    let mut thin = Recording { outline: part.outline.clone(), traces: BTreeMap::new() };
    for (subject, trace) in &part.traces {
        let mut less = Trace { sources: trace.sources.clone(), ..Trace::default() };
        for (metric, series) in &trace.series {
            less.series.extend(cut(series, &kept).map(|it| (*metric, it)));
        }
        thin.traces.insert(subject.clone(), less);
    }
    Some(thin)
}

fn cut(series: &Series, kept: &[TimeSpan]) -> Option<Series> {
    let mut times: Vec<Timestamp> = Vec::new();
    let mut values: Vec<f64> = Vec::new();
    for span in kept {
        let at = series.positions(*span);
        times.extend_from_slice(&series.times()[at.clone()]);
        series.each(at, |it| values.push(it));
    }
    Series::new(Arc::new(times), values).filter(|it| !it.is_empty())
}
