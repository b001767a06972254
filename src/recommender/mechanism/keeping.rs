//! Whether a prediction leaves a tenant what it needs: its latency target, or the speed that its class is owed.

use crate::colocation::demand::Assumption;
use crate::colocation::objective::{Keeping, Limit, Objective};
use crate::colocation::range::Range;
use crate::colocation::refusal::Refusal;
use crate::colocation::whatif::TenantPrediction;
use crate::domain::units::Seconds;
use crate::recommender::mechanism::plan::Predicted;
use crate::recommender::policy::Policy;
use crate::recommender::reason::{
    Factor, Measurement, MeasurementKind, Reason, ReasonKind, Times, percent,
};
use crate::recommender::situation::{Situation, Tenant};
use crate::recommender::tenant_policy::Class;

/// A prediction for one tenant as a verdict shows it.
pub(super) fn predicted(
    tenant: &Tenant,
    found: &TenantPrediction,
    extra: Option<Range>,
    out_of_memory: Option<f64>,
) -> Predicted {
    let objective = tenant.policy.latency.zip(tenant.demand.as_ref());
    Predicted {
        tenant: tenant.name.clone(),
        slowdown_p50_factor: found.slowdown.map(|it| it.p50),
        slowdown_p99_factor: found.slowdown.map(|it| it.p99),
        latency_p99_s: found.latency_s.map(|it| it.p99).filter(|_| tenant.has_requests()),
        extra_time_ratio: extra,
        target: objective.and_then(|(objective, demand)| objective.kept(demand, found)),
        out_of_memory_day_ratio: out_of_memory,
        is_at_least: found.is_at_least,
    }
}

/// Extra time for the same work, from the work done per time.
pub(super) fn extra_of(found: &TenantPrediction) -> Option<Range> {
    let extra = |ratio: f64| if ratio > 0.0 { 1.0 / ratio - 1.0 } else { f64::INFINITY };
    let it = found.throughput_ratio?;
    Some(Range::new(extra(it.expected), extra(it.high), extra(it.low)))
}

/// Why a tenant does not get what it needs, for sure or perhaps; `None` when it does.
///
/// With a target its interval decides. A latency-sensitive tenant without one may lose as much of its p99 as the policy says,
/// any other as much of its speed as its class may.
pub(super) fn lacking(
    tenant: &Tenant,
    found: &TenantPrediction,
    extra: Option<Range>,
    policy: &Policy,
) -> Option<Reason> {
    let name = tenant.name.as_str();
    if let Some(refusal) = found.refusal {
        return unanswered(tenant, found, refusal).map(|it| it.about([name]));
    }
    let reason = match (tenant.policy.latency, tenant.class()) {
        (Some(objective), _) => missed_target(tenant, found, objective),
        (None, Class::LatencySensitive) if tenant.has_requests() => slow_tail(name, found, policy),
        (None, Class::LatencySensitive) => slow_bursts(tenant, found, policy),
        (None, _) => too_slow(tenant, found, extra?, policy),
    };
    reason.map(|it| it.about([name]))
}

/// Targets that are kept even at the upper end.
pub(super) fn kept(situation: &Situation, tenants: &[Predicted]) -> Vec<Reason> {
    let pairs = situation.tenants.iter().zip(tenants);
    let met = pairs.filter(|(_, found)| found.target == Some(Keeping::Met));
    met.filter_map(|(tenant, found)| {
        let objective = tenant.policy.latency?;
        let (level, name) = (objective.level.name(), &tenant.name);
        let limit = match objective.limit {
            Limit::Seconds(it) => Seconds(it).to_string(),
            Limit::Factor(it) => format!("{it:.2} times that alone"),
        };
        let p99 = found.slowdown_p99_factor.map_or_else(String::new, |it| {
            format!("; its p99 grows to at most {:.2} times that alone", it.high)
        });
        let sentence = format!("`{name}` keeps its {level} target of {limit}{p99}");
        Some(Reason::favours(ReasonKind::Target, sentence).about([name.as_str()]))
    })
    .collect()
}

/// What a refused prediction means; `None` for a tenant that may as well be idle.
fn unanswered(tenant: &Tenant, found: &TenantPrediction, refusal: Refusal) -> Option<Reason> {
    let name = &tenant.name;
    let sentence = format!("`{name}`: {refusal}");
    let longer = |sentence: String| {
        let what = format!("`{name}`: {}", refusal.remedy());
        let measurement = Measurement::new(MeasurementKind::Longer, 3600.0, what);
        Reason::open(ReasonKind::Evidence, sentence, measurement)
    };
    match refusal {
        // What cannot be replayed says nothing against tenants of whom nobody waits for an answer.
        Refusal::NeverActive | Refusal::TooManyTenants { .. }
            if tenant.class().tolerates_faults() =>
        {
            None
        }
        Refusal::SaturatedAlone { .. } => Some(Reason::refuses(ReasonKind::Saturated, sentence)),
        Refusal::QueueGrows { .. } => {
            let demand = tenant.demand.as_ref();
            let objective = tenant.policy.latency.zip(demand);
            let keeping = objective.and_then(|(objective, demand)| objective.kept(demand, found));
            Some(match keeping {
                Some(Keeping::CannotTell) => {
                    Reason::open(ReasonKind::Target, sentence, separating(found))
                }
                _ => Reason::refuses(ReasonKind::Target, sentence),
            })
        }
        Refusal::NoSlice | Refusal::NoSplit => Some(Reason::refuses(ReasonKind::Profile, sentence)),
        Refusal::TooManyTenants { .. } => Some(Reason::refuses(ReasonKind::Clients, sentence)),
        Refusal::NeverActive | Refusal::TooFewBursts { .. } => Some(longer(sentence)),
    }
}

fn missed_target(
    tenant: &Tenant,
    found: &TenantPrediction,
    objective: Objective,
) -> Option<Reason> {
    let name = &tenant.name;
    let level = objective.level.name();
    let kept = tenant.demand.as_ref().and_then(|it| objective.kept(it, found));
    let Some(kept) = kept else {
        let sentence = format!("`{name}` has a {level} target, but its requests were not recorded");
        let what = format!("scrape the latency of `{name}` while the device is recorded");
        let measurement = Measurement::new(MeasurementKind::Service, 900.0, what);
        return Some(Reason::open(ReasonKind::Target, sentence, measurement));
    };
    let (range, limit) = match objective.limit {
        Limit::Seconds(limit) => {
            let it = objective.level.of(found.latency_s?);
            let show = |it: f64| Seconds(it).to_string();
            (format!("{} ({} to {})", show(it.expected), show(it.low), show(it.high)), show(limit))
        }
        Limit::Factor(limit) => {
            let it = objective.level.of(found.slowdown?);
            (format!("{} that alone", Factor(it)), format!("{limit:.2} times"))
        }
    };
    match kept {
        Keeping::Met => None,
        Keeping::Missed => Some(Reason::refuses(
            ReasonKind::Target,
            format!("`{name}` would have a {level} of {range}, above its target of {limit}"),
        )),
        Keeping::CannotTell => {
            let at_least = if found.is_at_least { "at least " } else { "" };
            let sentence = format!(
                "`{name}` would have a {level} of {at_least}{range}, and its target of {limit} may be missed"
            );
            Some(Reason::open(ReasonKind::Target, sentence, separating(found)))
        }
    }
}

/// A p99 without a target.
fn slow_tail(name: &str, found: &TenantPrediction, policy: &Policy) -> Option<Reason> {
    let it = found.slowdown?.p99;
    let most = 1.0 + policy.latency_extra_ratio;
    let whose = format!("the p99 of `{name}`, which has no target,");
    match () {
        () if it.low > most => Some(Reason::refuses(ReasonKind::Slowdown, above(&whose, it, most))),
        () if it.high <= most && !found.is_at_least => None,
        () => {
            let told = perhaps_above(&whose, it, found.is_at_least, most);
            Some(Reason::open(ReasonKind::Slowdown, told, separating(found)))
        }
    }
}

/// That a growth is beyond what is accepted, whatever its interval leaves open.
fn above(whose: &str, it: Range, most: f64) -> String {
    format!("{whose} would be {} that alone; {most:.2} is accepted without one", Factor(it))
}

/// That a growth may be beyond what is accepted and may not; a lower limit alone is told as what it is.
fn perhaps_above(whose: &str, it: Range, is_at_least: bool, most: f64) -> String {
    match it.has_useful_end() && !is_at_least {
        true => format!(
            "{whose} may grow beyond the {most:.2} times that are accepted without one: to {} that alone",
            Factor(it)
        ),
        false => format!(
            "how far {whose} grows is open: at least {} times that alone, and no upper limit is known; up to {most:.2} times are accepted without one",
            Times(it.low)
        ),
    }
}

/// A latency-sensitive tenant of which neither a latency nor a target is known: its bursts stand for requests.
///
/// Bursts that take s times as long at a busy share of ρ queue as well: s·(1 − ρ)/(1 − s·ρ) bounds what a request sees, which is
/// the growth of every quantile of the response time in a queue of one server with random arrivals and times.
/// Source: L. Kleinrock, Queueing Systems, vol. 1, M/M/1: response times are exponential with rate µ·(1 − ρ).
fn slow_bursts(tenant: &Tenant, found: &TenantPrediction, policy: &Policy) -> Option<Reason> {
    let busy = tenant.demand.as_ref().map_or(0.0, |it| it.busy_share());
    let queued = |factor: f64| match factor * busy {
        it if it < 1.0 => factor * (1.0 - busy) / (1.0 - it),
        _ => f64::INFINITY,
    };
    let it = found.slowdown?.p99;
    let it = Range::new(queued(it.expected), queued(it.low), queued(it.high));
    let most = 1.0 + policy.latency_extra_ratio;
    let whose = format!(
        "the p99 of `{}`, of which neither latency nor target is known and whose bursts stand for requests that queue,",
        tenant.name
    );
    let what = format!(
        "scrape the latency of `{}` while the device is recorded, and state its `latency` target",
        tenant.name
    );
    let measurement = Measurement::new(MeasurementKind::Service, 900.0, what);
    match () {
        () if it.low > most => Some(Reason::refuses(ReasonKind::Slowdown, above(&whose, it, most))),
        () if it.high <= most && !found.is_at_least => None,
        () => {
            let told = perhaps_above(&whose, it, found.is_at_least, most);
            Some(Reason::open(ReasonKind::Slowdown, told, measurement))
        }
    }
}

/// Speed that a class is owed.
fn too_slow(
    tenant: &Tenant,
    found: &TenantPrediction,
    extra: Range,
    policy: &Policy,
) -> Option<Reason> {
    let class = tenant.class();
    let most = allowed_extra(class, policy);
    let at_least = if found.is_at_least { "at least " } else { "" };
    let told = format!(
        "`{}` would take {at_least}{} more time for the same work ({} to {}); {} is accepted of {}",
        tenant.name,
        percent(extra.expected),
        percent(extra.low),
        percent(extra.high),
        percent(most),
        class.word()
    );
    match () {
        () if extra.low > most => Some(Reason::refuses(ReasonKind::Slowdown, told)),
        () if extra.expected > most => {
            Some(Reason::open(ReasonKind::Slowdown, told, separating(found)))
        }
        // A lower limit says nothing to somebody who is owed speed; whoever tolerates faults tolerates that too.
        () if found.is_at_least && !class.tolerates_faults() => {
            let told = format!(
                "how much more time `{}` takes for the same work is open: at least {}, and no upper limit is known; up to {} is accepted of {}",
                tenant.name,
                percent(extra.expected),
                percent(most),
                class.word()
            );
            Some(Reason::open(ReasonKind::Slowdown, told, separating(found)))
        }
        () => None,
    }
}

/// Extra time for the same work that a class may pay, as a share of the time alone.
pub(super) fn allowed_extra(class: Class, policy: &Policy) -> f64 {
    match class {
        Class::Throughput | Class::Training => policy.throughput_extra_ratio,
        Class::Batch => policy.batch_extra_ratio,
        Class::Development => policy.development_extra_ratio,
        Class::LatencySensitive => policy.latency_extra_ratio,
    }
}

/// The cheapest measurement that narrows a prediction: it removes what had to be assumed, else it tries.
pub(super) fn separating(found: &TenantPrediction) -> Measurement {
    let name = &found.name;
    let has = |assumption: Assumption| found.assumptions.contains(&assumption);
    if has(Assumption::WidthUnknown)
        || has(Assumption::BandwidthUnknown)
        || has(Assumption::BandwidthFromUtilisation)
    {
        let what = format!(
            "record SM activity and memory bandwidth (GPM on Hopper and later, else DCGM) while `{name}` works"
        );
        return Measurement::new(MeasurementKind::Counters, 900.0, what);
    }
    if has(Assumption::BurstsUnknown) || has(Assumption::BurstsInferred) {
        let what = format!("record `{name}` at an interval of a third of its bursts");
        return Measurement::new(MeasurementKind::Finer, 900.0, what);
    }
    if has(Assumption::ServiceSpreadUnknown)
        || has(Assumption::HostUnknown)
        || has(Assumption::PaceUnknown)
    {
        let what = format!("scrape the latency of `{name}` while the device is recorded");
        return Measurement::new(MeasurementKind::Service, 900.0, what);
    }
    if has(Assumption::CoProfiled) || has(Assumption::OtherGpu) {
        let what = format!("record `{name}` alone on this model of GPU");
        return Measurement::new(MeasurementKind::Alone, 1800.0, what);
    }
    let what = format!("run `{name}` so for half an hour, with its latency recorded");
    Measurement::new(MeasurementKind::Trial, 1800.0, what)
}
