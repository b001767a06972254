//! A device for each tenant.

use crate::colocation::range::Range;
use crate::recommender::mechanism::gates::against_any_sharing;
use crate::recommender::mechanism::plan::{
    Assessment, Assigned, Cost, Disruption, DisruptionLevel, Plan, Predicted,
};
use crate::recommender::mechanism::{Case, Mechanism, MechanismId};
use crate::recommender::reason::{Reason, ReasonKind, Weight};
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
        let predicted = |it: &Tenant| Predicted {
            tenant: it.name.clone(),
            slowdown_p99_factor: Some(Range::exact(1.0)),
            latency_p99_s: None,
            extra_time_ratio: Some(Range::exact(0.0)),
            target: None,
            out_of_memory_day_ratio: None,
            is_at_least: false,
        };
        let tenants: Vec<Predicted> = situation.tenants.iter().map(predicted).collect();
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
            cost: Some(Cost::of(&tenants, None, devices.max(1))),
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
            found.sentences.push(format!(
                "{others} of {} tenants move to a device of their own and restart there",
                plan.devices
            ));
        }
        found
    }
}
