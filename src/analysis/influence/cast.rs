//! Who lives on a GPU: processes, tenants and instances, put together into those who may slow or be slowed.

use crate::analysis::activity::Activity;
use crate::analysis::idle::filled;
use crate::analysis::influence::grid::Grid;
use crate::domain::ident::{MigInstanceId, Subject, TenantId};
use crate::domain::metric::{Metric, Scope};
use crate::domain::outline::Outline;
use crate::domain::recording::{Recording, Trace};
use crate::domain::series::Series;
use crate::domain::source::Source;
use crate::domain::time::TimeSpan;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Somebody on a GPU.
#[derive(Debug)]
pub(crate) struct Member<'a> {
    /// Short name.
    pub(crate) label: String,
    /// The tenant, or else the process or instance.
    pub(crate) subject: Subject,
    /// Activity, one series for each process or view.
    pub(crate) activities: Vec<Busy>,
    /// What the tenant itself measures.
    pub(crate) service: Option<&'a Trace>,
    /// Whether its measurements and those of the GPU were stamped by one clock.
    pub(crate) has_gpu_clock: bool,
    /// The instance that it lives in; `None` without MIG or where it is not known.
    pub(crate) instance: Option<MigInstanceId>,
}

/// One series of activity, 0 to 1.
#[derive(Debug, Clone)]
pub(crate) struct Busy {
    pub(crate) series: Series,
    pub(crate) window_s: f64,
    pub(crate) stride_s: f64,
    /// Whether the driver lists it only while it is busy, so that silence is idleness.
    pub(crate) is_process: bool,
}

/// Everybody on one GPU, or everybody without one, in the order of their names.
pub(crate) fn cast<'a>(
    parts: &[&'a Recording],
    is_here: impl Fn(&Subject) -> bool,
) -> Vec<Member<'a>> {
    let mut tenants: BTreeMap<TenantId, Member<'a>> = BTreeMap::new();
    let mut others: Vec<Member<'a>> = Vec::new();
    for part in parts {
        let outline = &part.outline;
        for (subject, trace) in part.traces.iter().filter(|it| is_here(it.0)) {
            let own = busy(subject, trace, part);
            let member = |label: String, subject: Subject| Member {
                label,
                subject,
                activities: Vec::new(),
                service: None,
                has_gpu_clock: false,
                instance: None,
            };
            match subject {
                Subject::Device { .. } => {}
                Subject::Tenant { tenant, .. } => {
                    let it = tenants
                        .entry(tenant.clone())
                        .or_insert_with(|| member(tenant.to_string(), subject.clone()));
                    it.subject = subject.clone();
                    it.activities.extend(own);
                    // The same tenant with and without a GPU: only one of them was measured by itself.
                    if it.service.is_none_or(|old| own_readings(old) <= own_readings(trace)) {
                        it.service = Some(trace);
                        it.has_gpu_clock = is_stamped_by_recorder(trace, &outline.sources);
                    }
                }
                Subject::Process { gpu, .. } => match tenant_of(outline, subject) {
                    Some(tenant) => {
                        let subject =
                            Subject::Tenant { gpu: Some(gpu.clone()), tenant: tenant.clone() };
                        let it = tenants
                            .entry(tenant.clone())
                            .or_insert_with(|| member(tenant.to_string(), subject));
                        it.activities.extend(own);
                    }
                    None => {
                        let mut it = member(outline.label(subject), subject.clone());
                        it.activities.extend(own);
                        others.push(it);
                    }
                },
                Subject::MigInstance { instance } => {
                    let mut it = member(outline.label(subject), subject.clone());
                    it.activities.extend(own);
                    it.instance = Some(instance.clone());
                    others.push(it);
                }
            }
        }
        settle_in(outline.mig_instances.as_slice(), &mut tenants, &mut others);
    }
    let mut all: Vec<Member<'a>> = tenants.into_values().chain(others).collect();
    all.sort_by(|a, b| a.label.cmp(&b.label).then_with(|| a.subject.cmp(&b.subject)));
    one_step_for_all(&mut all);
    all
}

/// How much a tenant measured itself.
fn own_readings(trace: &Trace) -> usize {
    let own = trace.series.iter().filter(|it| it.0.spec().scope == Scope::Service);
    own.map(|it| it.1.len()).sum()
}

/// Who a process belongs to; nobody's processes are no tenant together, but each a suspect of its own.
fn tenant_of(outline: &Outline, subject: &Subject) -> Option<TenantId> {
    let Subject::Process { gpu, process } = subject else { return None };
    let known = outline.processes.of(gpu, *process)?;
    known.tenant.clone().filter(|it| !it.is_unattributed())
}

/// Whether everything in a trace was stamped by the recorder itself.
fn is_stamped_by_recorder(trace: &Trace, sources: &[Source]) -> bool {
    let mut own = sources.iter().filter(|it| trace.sources.contains(&it.id)).peekable();
    own.peek().is_some() && own.all(Source::is_stamped_by_recorder)
}

/// Tenants get the instance that they live in; one alone in an instance gets its activity too.
fn settle_in(
    instances: &[crate::domain::outline::MigInstance],
    tenants: &mut BTreeMap<TenantId, Member<'_>>,
    others: &mut Vec<Member<'_>>,
) {
    for described in instances {
        for tenant in &described.tenants {
            if let Some(it) = tenants.get_mut(tenant) {
                it.instance = Some(described.instance.clone());
            }
        }
        let [tenant] = described.tenants.as_slice() else { continue };
        let place = others.iter().position(|it| {
            matches!(&it.subject, Subject::MigInstance { instance } if *instance == described.instance)
        });
        if let (Some(place), Some(it)) = (place, tenants.get_mut(tenant))
            && it.activities.is_empty()
        {
            it.activities = others.remove(place).activities;
        }
    }
}

fn busy(subject: &Subject, trace: &Trace, part: &Recording) -> Option<Busy> {
    let sources: &[Source] = &part.outline.sources;
    let trace: Cow<'_, Trace> =
        filled(subject, trace, part).map_or(Cow::Borrowed(trace), |it| Cow::Owned(it.trace));
    let mut activity = Activity::of(&trace, sources)?;
    let values = std::mem::take(&mut activity.values);
    let series = Series::new(activity.series.shared_times(), values)?;
    // A process's reading covers the time since the one before; the driver's window is the device's.
    let is_process = matches!(subject, Subject::Process { .. });
    let (stride_s, window_s) = if is_process {
        let step_s = sampling_step(&series)?;
        let is_fixed = activity.window_is_stated && !activity.is_since_before;
        (step_s, if is_fixed { activity.window_s } else { step_s })
    } else {
        (activity.stride_s, activity.window_s)
    };
    Some(Busy { series, window_s, stride_s, is_process })
}

/// Time between two looks at a process, in seconds: silence makes steps longer, never shorter.
fn sampling_step(series: &Series) -> Option<f64> {
    let mut steps: Vec<i64> =
        series.times().windows(2).map(|pair| pair[1].micros_since(pair[0])).collect();
    let rank = steps.len().checked_sub(1)? / 10;
    let (_, step, _) = steps.select_nth_unstable(rank);
    Some((*step).max(1) as f64 / 1e6)
}

/// All processes of a GPU are listed by one call: the finest step of any of them is that of all.
fn one_step_for_all(members: &mut [Member<'_>]) {
    let busy = || members.iter().flat_map(|it| &it.activities).filter(|it| it.is_process);
    let Some(finest) = busy().map(|it| it.stride_s).reduce(f64::min) else { return };
    for it in members.iter_mut().flat_map(|it| &mut it.activities).filter(|it| it.is_process) {
        if it.window_s >= it.stride_s {
            it.window_s = finest;
        }
        it.stride_s = finest;
    }
}

impl Member<'_> {
    /// Median step between samples of its activity, in seconds; `None` when it was never seen.
    pub(crate) fn stride_s(&self) -> Option<f64> {
        self.activities.iter().map(|it| it.stride_s).reduce(f64::max)
    }

    /// Whether its activity is a share of engine time, dealt out among processes.
    pub(crate) fn shows_engine_time(&self) -> bool {
        !self.activities.is_empty() && self.activities.iter().all(|it| it.is_process)
    }

    /// Whether one of its activities is that of a process, so that its processes are known.
    pub(crate) fn has_process(&self) -> bool {
        self.activities.iter().any(|it| it.is_process)
    }

    /// From the first to the last sign of activity.
    pub(crate) fn span(&self) -> Option<TimeSpan> {
        self.activities.iter().filter_map(|it| it.series.span()).reduce(TimeSpan::hull)
    }

    /// Activity bin by bin, all processes together; NaN where it was not seen.
    ///
    /// Before its first and after its last sign a tenant is not there: 0, as long as `is_watched` says that somebody looked.
    pub(crate) fn activity(&self, grid: &Grid, is_watched: &[bool]) -> Vec<f64> {
        let mut total = vec![f64::NAN; grid.bins];
        let mut is_first = true;
        for busy in &self.activities {
            let Some(span) = busy.series.span() else { continue };
            let mut means = grid.means(&busy.series, Some(busy.window_s), 0, |it| it);
            let end = span.until().plus_micros(grid.step_us);
            for (bin, value) in means.iter_mut().enumerate() {
                let at = grid.start_of(bin);
                let is_outside = at.plus_micros(grid.step_us) <= span.from() || at >= end;
                if value.is_nan() && (is_outside || busy.is_process) && is_watched[bin] {
                    *value = 0.0;
                }
            }
            for (sum, value) in total.iter_mut().zip(&means) {
                // One process that was not seen makes the sum unknown, not smaller.
                *sum = if is_first { *value } else { *sum + *value };
            }
            is_first = false;
        }
        // `f64::min` would turn what was not seen into full use.
        total.iter_mut().filter(|it| **it > 1.0).for_each(|it| *it = 1.0);
        total
    }

    /// One of its own measurements; `None` when it has none of this metric.
    pub(crate) fn measured(&self, metric: Metric) -> Option<&Series> {
        self.service?.get(metric).filter(|it| it.len() > 1)
    }
}

/// For each bin, whether anything on the GPU was looked at: the device itself, or anybody's activity.
pub(crate) fn watched(grid: &Grid, device: Option<&Trace>, cast: &[Member<'_>]) -> Vec<bool> {
    let mut is_watched = vec![false; grid.bins];
    let mut mark = |series: &Series| {
        for at in series.times() {
            let bins = [grid.bin_of(*at), grid.bin_of(at.plus_micros(-grid.step_us))];
            bins.into_iter().flatten().for_each(|bin| is_watched[bin] = true);
        }
    };
    if let Some(device) = device {
        [Metric::GpuUtilization, Metric::SmActive, Metric::GraphicsEngineActive]
            .iter()
            .filter_map(|it| device.get(*it))
            .for_each(&mut mark);
    }
    cast.iter().flat_map(|it| &it.activities).for_each(|it| mark(&it.series));
    is_watched
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ident::GpuId;
    use crate::domain::time::Timestamp;

    fn trace(metric: Metric, count: i64) -> Trace {
        let times = (0..count).map(|it| Timestamp::from_micros(it * 1_000_000)).collect::<Vec<_>>();
        let values = (0..count).map(|it| it as f64).collect();
        let series = Series::new(times.into(), values).unwrap();
        Trace { series: [(metric, series)].into(), ..Trace::default() }
    }

    #[test]
    fn of_a_tenant_with_and_without_a_gpu_what_it_measured_itself_counts() {
        let tenant = TenantId::new("chat");
        let on_gpu = Subject::Tenant { gpu: Some(GpuId::new("GPU-a")), tenant: tenant.clone() };
        let anywhere = Subject::Tenant { gpu: None, tenant };
        for [measured, held] in [[&on_gpu, &anywhere], [&anywhere, &on_gpu]] {
            let part = Recording {
                traces: [
                    (measured.clone(), trace(Metric::LatencyP99, 9)),
                    (held.clone(), trace(Metric::FramebufferUsed, 99)),
                ]
                .into(),
                ..Recording::default()
            };
            let all = cast(&[&part], |_| true);
            assert_eq!(all.len(), 1);
            assert_eq!(all[0].measured(Metric::LatencyP99).map(Series::len), Some(9));
        }
    }
}
