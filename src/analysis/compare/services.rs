//! What tenants measure of themselves, before and after, with their own load held fixed.

mod judge;
mod load;

use crate::analysis::compare::findings::{
    ChangeVerdict, OneSided, OneSidedKind, ServiceChange, ServiceLevel, Side,
};
use crate::analysis::compare::matching::Matched;
use crate::analysis::compare::services::judge::judge;
pub(super) use crate::analysis::compare::services::judge::percent;
use crate::analysis::compare::services::load::{Loads, load_change, loads};
use crate::analysis::compare::{ComparedSide, ERROR_RATE};
use crate::analysis::influence::cast::Member;
use crate::analysis::influence::grid::Grid;
use crate::analysis::influence::signal::{bin_s, is_time};
use crate::domain::ident::{GpuId, Subject, TenantId};
use crate::domain::metric::{Metric, Scope};
use crate::domain::recording::Trace;
use crate::domain::series::Series;
use crate::domain::time::TimeSpan;
use crate::stats::before_after::{Change, FEWEST, Level, Unclear};
use crate::stats::multiple::family_wise;
use crate::stats::quantile::quantile;
use std::collections::BTreeMap;

/// Kinds of metrics of which the first that both sides have stands for all.
const CHOICES: [&[Metric]; 8] = [
    &[Metric::LatencyP99, Metric::LatencyP95, Metric::LatencyP90],
    &[Metric::LatencyMean, Metric::LatencyP50],
    &[Metric::TimeToFirstToken],
    &[Metric::IterationTime],
    &[Metric::IterationRate],
    &[Metric::TokenThroughput],
    &[Metric::Throughput],
    &[Metric::OfferedLoad],
];
/// Quantiles over windows of one length do not compare with those of windows that are longer than this many times.
pub(super) const SAME_WINDOW: f64 = 1.25;

/// What a tenant measures of itself in one recording.
type Served<'a> = BTreeMap<String, Member<'a>>;

/// Where a tenant stands, and what was seen of it there.
type Place<'a> = (Option<&'a GpuId>, &'a Subject, &'a Trace);

/// Every service metric that both recordings have, the weightiest change first; and what only one of them has.
pub(super) fn changes(
    before: &ComparedSide<'_>,
    after: &ComparedSide<'_>,
    devices: &Matched,
    remarks: &mut Vec<String>,
) -> (Vec<ServiceChange>, Vec<OneSided>) {
    let (mine, theirs) = (served(before, None), served(after, Some((devices, before))));
    let (mut all, mut only) = (Vec::new(), Vec::new());
    for (name, member) in &mine {
        let Some(other) = theirs.get(name) else { continue };
        only.extend(one_sided(name, member, other));
        for choice in CHOICES {
            let both = |it: &&Metric| measured(member, **it) && measured(other, **it);
            if let Some(metric) = choice.iter().find(both) {
                all.push(change(name, *metric, (member, other)));
            }
        }
        remarks.extend(windows(name, member, other));
    }
    let p: Vec<f64> = all.iter().filter_map(|it| it.p).collect();
    let mut chances = family_wise(&p).into_iter();
    for it in all.iter_mut().filter(|it| it.p.is_some()) {
        it.p_of_all = chances.next();
    }
    for it in &mut all {
        let tests = p.len();
        judge(it, tests, ERROR_RATE);
    }
    all.sort_by(|a, b| rank(a).cmp(&rank(b)).then(size(b).total_cmp(&size(a))));
    (all, only)
}

fn rank(it: &ServiceChange) -> (ChangeVerdict, bool, bool) {
    (it.verdict, it.certainty > Some(super::findings::Certainty::Confirmed), it.is_small)
}

fn size(it: &ServiceChange) -> f64 {
    it.change_ratio.map_or(0.0, f64::abs)
}

/// Tenants with readings of their own; one that stands on several GPUs is told apart by the GPU's name before.
fn served<'a>(side: &ComparedSide<'a>, other: Option<(&Matched, &ComparedSide<'_>)>) -> Served<'a> {
    let mut found: BTreeMap<&TenantId, Vec<Place<'a>>> = BTreeMap::new();
    for (subject, trace) in &side.recording.traces {
        let Subject::Tenant { gpu, tenant } = subject else { continue };
        let is_own = |it: (&Metric, &Series)| it.0.spec().scope == Scope::Service && it.1.len() > 1;
        if trace.series.iter().any(is_own) {
            found.entry(tenant).or_default().push((gpu.as_ref(), subject, trace));
        }
    }
    let place = |gpu: Option<&GpuId>| {
        let Some(gpu) = gpu else { return "no known GPU".to_owned() };
        let pair = other.and_then(|it| it.0.pairs.iter().find(|it| it.1 == *gpu));
        match (other, pair) {
            (Some((_, before)), Some(pair)) => before.outline.label(&Subject::device(&pair.0)),
            _ => side.outline.label(&Subject::device(gpu)),
        }
    };
    let mut all = Served::new();
    for (tenant, places) in found {
        let is_alone = places.len() == 1;
        for (gpu, subject, trace) in places {
            let name = match is_alone {
                true => tenant.to_string(),
                false => format!("{tenant} on {}", place(gpu)),
            };
            all.insert(name.clone(), member(name, subject, trace));
        }
    }
    all
}

fn member<'a>(label: String, subject: &Subject, trace: &'a Trace) -> Member<'a> {
    Member {
        label,
        subject: subject.clone(),
        activities: Vec::new(),
        service: Some(trace),
        has_gpu_clock: false,
        instance: None,
    }
}

fn measured(member: &Member<'_>, metric: Metric) -> bool {
    member.measured(metric).is_some_and(|it| it.len() > 1)
}

/// Metrics that could have been compared if both recordings had them.
fn one_sided(name: &str, before: &Member<'_>, after: &Member<'_>) -> Vec<OneSided> {
    let only = |metric: Metric| {
        let side = match (measured(before, metric), measured(after, metric)) {
            (true, false) => Side::Before,
            (false, true) => Side::After,
            _ => return None,
        };
        let name = format!("{name}: {}", metric.spec().label);
        Some(OneSided { side, kind: OneSidedKind::Metric, name })
    };
    CHOICES.iter().flat_map(|it| it.iter()).filter_map(|it| only(*it)).collect()
}

/// Time between two readings of a metric on both sides, in seconds, the shorter first; `None` where they agree.
fn unequal(metric: Metric, before: &Member<'_>, after: &Member<'_>) -> Option<(f64, f64)> {
    let step = |it: &Member<'_>| Some(it.measured(metric)?.typical_interval()?.as_seconds());
    let (mine, other) = (step(before)?, step(after)?);
    (mine.max(other) > SAME_WINDOW * mine.min(other)).then_some((mine, other))
}

/// What different intervals mean for a tenant; `None` where they agree.
fn windows(name: &str, before: &Member<'_>, after: &Member<'_>) -> Option<String> {
    let all = CHOICES.iter().flat_map(|it| it.iter());
    let (metric, (mine, other)) =
        all.filter_map(|it| Some((*it, unequal(*it, before, after)?))).next()?;
    Some(format!(
        "`{name}` tells {} every {mine:.3} s before and every {other:.3} s after: means are compared over the longer \
         interval, quantiles over windows of different length are not compared",
        metric.spec().label.to_lowercase()
    ))
}

/// One metric of one tenant on one side, bin by bin.
struct Record {
    grid: Grid,
    /// In the metric's own unit; NaN where not seen.
    raw: Vec<f64>,
    /// What is averaged: logarithms of a time, a rate as it is.
    values: Vec<f64>,
}

impl Record {
    fn of(member: &Member<'_>, metric: Metric, step_s: f64) -> Option<Self> {
        let series = member.measured(metric)?;
        let grid = grid(series, step_s)?;
        let is_time = is_time(metric);
        let raw =
            grid.means(series, None, 0, |it| if it > 0.0 || !is_time { it } else { f64::NAN });
        let values = if is_time { raw.iter().map(|it| it.ln()).collect() } else { raw.clone() };
        Some(Self { grid, raw, values })
    }

    fn level(&self, metric: Metric) -> Result<Level, Unclear> {
        let level = Level::of(&self.values)?;
        match is_time(metric) {
            true => Ok(level),
            false => level.in_logarithms().ok_or(Unclear::TooFew),
        }
    }

    fn seen(&self, metric: Metric) -> Option<ServiceLevel> {
        let seen: Vec<f64> = self.raw.iter().copied().filter(|it| it.is_finite()).collect();
        let mean = |values: &[f64]| {
            let seen = values.iter().filter(|it| it.is_finite());
            let (sum, count) = seen.fold((0.0, 0.0), |it, value| (it.0 + value, it.1 + 1.0));
            (count > 0.0).then(|| sum / count)
        };
        let mean = mean(&self.values)?;
        Some(ServiceLevel {
            typical: if is_time(metric) { mean.exp() } else { mean },
            p95: quantile(&seen, 0.95)?,
            bins: seen.len() as u64,
            bin_s: self.grid.step_s(),
            memory: self.level(metric).ok().map(|it| it.memory),
        })
    }
}

/// Bins that begin one step before the first sample, which speaks of the time before its stamp.
fn grid(series: &Series, step_s: f64) -> Option<Grid> {
    let span = series.span()?;
    let from = span.from().plus_micros(-((step_s * 1e6).round() as i64));
    Some(Grid::over(TimeSpan::covering(from, span.until()), step_s))
}

fn change(
    name: &str,
    metric: Metric,
    (before, after): (&Member<'_>, &Member<'_>),
) -> ServiceChange {
    let mut found = ServiceChange {
        tenant: name.to_owned(),
        metric,
        verdict: ChangeVerdict::CannotTell,
        certainty: None,
        is_small: false,
        change_ratio: None,
        change_low: None,
        change_high: None,
        p: None,
        p_of_all: None,
        mde_ratio: None,
        bound_ratio: None,
        before: None,
        after: None,
        load: None,
        reasons: Vec::new(),
    };
    let steps = [bin_s(before, metric), bin_s(after, metric)];
    let Some(step_s) = steps.into_iter().flatten().reduce(f64::max) else { return found };
    let sides = [Record::of(before, metric, step_s), Record::of(after, metric, step_s)];
    let [Some(mine), Some(other)] = &sides else { return found };
    (found.before, found.after) = (mine.seen(metric), other.seen(metric));
    if let Some((mine, other)) = unequal(metric, before, after).filter(|_| is_tail(metric)) {
        found.reasons.push(format!(
            "a quantile of windows of {mine:.3} s does not compare with one of {other:.3} s"
        ));
        return found;
    }
    match (mine.level(metric), other.level(metric)) {
        (Ok(mine), Ok(other)) => fill(&mut found, &Change::between(&mine, &other)),
        (mine, other) => {
            let told = [(mine, "before"), (other, "after")];
            found.reasons.extend(told.iter().filter_map(|it| unclear(it.0.err()?, it.1)));
            return found;
        }
    }
    let loads: Loads = loads(metric, (before, after), (mine, other));
    found.reasons.extend(loads.told());
    found.load = load_change(metric, &loads, (mine, other));
    found
}

/// Quantiles of requests, which depend on the length of the window that they are of.
fn is_tail(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::LatencyP50 | Metric::LatencyP90 | Metric::LatencyP95 | Metric::LatencyP99
    )
}

fn unclear(why: Unclear, when: &str) -> Option<String> {
    Some(match why {
        Unclear::TooFew => format!("fewer than {FEWEST} bins were seen {when}"),
        Unclear::TooMuchMemory => format!(
            "the values {when} drift so slowly that the recording is too short to average over them"
        ),
    })
}

fn fill(found: &mut ServiceChange, change: &Change) {
    let ratio = |it: f64| it.exp_m1();
    let (low, high) = change.interval(0.95);
    let (least, most) = change.interval(0.90);
    found.change_ratio = Some(ratio(change.difference));
    (found.change_low, found.change_high) = (Some(ratio(low)), Some(ratio(high)));
    found.p = Some(change.p_value());
    found.mde_ratio = Some(ratio(change.detectable()));
    found.bound_ratio = Some(ratio(least).abs().max(ratio(most).abs()));
}
