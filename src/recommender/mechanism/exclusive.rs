//! A device for each tenant.

use crate::colocation::objective::Keeping;
use crate::colocation::range::Range;
use crate::colocation::whatif::TenantPrediction;
use crate::recommender::mechanism::gates::against_any_sharing;
use crate::recommender::mechanism::keeping::predicted;
use crate::recommender::mechanism::lost::own;
use crate::recommender::mechanism::memory::alone;
use crate::recommender::mechanism::plan::{
    Assessment, Assigned, Cost, Disruption, DisruptionLevel, Plan, Predicted,
};
use crate::recommender::mechanism::{Case, Mechanism, MechanismId};
use crate::recommender::reason::{Reason, ReasonKind, Weight, gib, percent};
use crate::recommender::situation::{Situation, Tenant};

/// A device for each tenant: nothing is shared, and every tenant pays for a whole device.
pub(super) struct Exclusive;

impl Mechanism for Exclusive {
    fn id(&self) -> MechanismId {
        MechanismId::Exclusive
    }

    fn title(&self) -> &'static str {
        "Exclusive"
    }

    fn separates(&self) -> &'static str {
        "everything is separate, and whatever a tenant does not use is lost"
    }

    fn assess(&self, case: &Case<'_>) -> Assessment {
        let situation = case.situation;
        let mut reasons: Vec<Reason> = against_any_sharing(case)
            .into_iter()
            .map(|it| Reason { weight: Weight::Favours, ..it })
            .collect();
        let devices = situation.tenants.len() as u32;
        if devices > 1 {
            let sentence = format!("takes {devices} devices where one was asked about");
            reasons.push(Reason::caution(ReasonKind::Capacity, sentence));
        }
        reasons.extend(own(case));
        let played = situation.tenants.iter().zip(&case.played.alone);
        let tenants: Vec<Predicted> =
            played.map(|(tenant, found)| by_itself(case, tenant, found.as_ref())).collect();
        for (tenant, found) in situation.tenants.iter().zip(&tenants) {
            reasons.extend(not_even_alone(case, tenant, found));
        }
        let assigned = |it: &Tenant| Assigned {
            own_memory_mib: situation.room_mib(case.policy),
            ..Assigned::plain(&it.name, it.needed_mib(case.policy))
        };
        let plan = Plan {
            mechanism: self.id(),
            devices: devices.max(1),
            assignments: situation.tenants.iter().map(assigned).collect(),
            layout: None,
            change: None,
            replicas: None,
        };
        Assessment {
            cost: Some(Cost::of(&tenants, worst_memory(&tenants), devices.max(1))),
            plan: Some(plan),
            tenants,
            ..Assessment::of(self.id(), reasons)
        }
    }

    fn disruption(&self, situation: &Situation, plan: &Plan) -> Disruption {
        let mut found = super::mig::mode_off(situation);
        if plan.devices > 1 && situation.now.tenants > 1 {
            found.level = found.level.max(DisruptionLevel::RestartClients);
            let others = plan.devices - 1;
            let move_there = match others {
                1 => "moves to a device of its own and restarts there",
                _ => "move to devices of their own and restart there",
            };
            found.sentences.push(format!("{others} of {} tenants {move_there}", plan.devices));
        }
        found
    }
}

/// What becomes of a tenant on a device of its own: nothing slows it there.
fn by_itself(case: &Case<'_>, tenant: &Tenant, found: Option<&TenantPrediction>) -> Predicted {
    let memory = alone(case, tenant);
    let told = found.map(|it| predicted(tenant, it, None, memory));
    Predicted {
        tenant: tenant.name.clone(),
        slowdown_p50_factor: Some(Range::exact(1.0)),
        slowdown_p99_factor: Some(Range::exact(1.0)),
        latency_p99_s: told.as_ref().and_then(|it| it.latency_p99_s),
        extra_time_ratio: Some(Range::exact(0.0)),
        target: told.and_then(|it| it.target),
        out_of_memory_day_ratio: memory,
        is_at_least: false,
    }
}

/// What a device of its own does not give a tenant either.
fn not_even_alone(case: &Case<'_>, tenant: &Tenant, found: &Predicted) -> Vec<Reason> {
    let name = tenant.name.as_str();
    let mut reasons = Vec::new();
    let most = case.policy.out_of_memory_day_ratio;
    let memory = found.out_of_memory_day_ratio.filter(|it| *it > most);
    if let Some((risk, room)) = memory.zip(case.situation.room_mib(case.policy)) {
        let peak = tenant.peak_mib().map_or_else(|| "its peak".to_owned(), gib);
        let sentence = format!(
            "`{name}` runs out of memory even alone: it takes up to {peak}, and {} are there ({} within a day)",
            gib(room),
            percent(risk)
        );
        reasons.push(Reason::caution(ReasonKind::Memory, sentence).about([name]));
    }
    if found.target == Some(Keeping::Missed) {
        let sentence = format!("`{name}` misses its latency target even alone");
        reasons.push(Reason::caution(ReasonKind::Target, sentence).about([name]));
    }
    reasons
}

/// Chance that any of them runs out; `None` where that of one is not known.
fn worst_memory(tenants: &[Predicted]) -> Option<f64> {
    let all: Option<Vec<f64>> = tenants.iter().map(|it| it.out_of_memory_day_ratio).collect();
    all.map(|it| 1.0 - it.iter().map(|it| 1.0 - it).product::<f64>())
}
