//! One context at a time, round robin.

use crate::recommender::mechanism::capacity::{Capacity, mean, times};
use crate::recommender::mechanism::gates::{
    against_any_sharing, against_shared_memory, alone, is_are, unseen_demands,
};
use crate::recommender::mechanism::keeping::{extra_of, kept, lacking, predicted};
use crate::recommender::mechanism::lost::{in_shared, nearly};
use crate::recommender::mechanism::memory::{SharedMemory, shared};
use crate::recommender::mechanism::plan::{
    Assessment, Assigned, Cost, Disruption, DisruptionLevel, Plan, Predicted,
};
use crate::recommender::mechanism::{Case, Mechanism, MechanismId};
use crate::recommender::reason::{
    Measurement, MeasurementKind, Names, Reason, ReasonKind, percent,
};
use crate::recommender::situation::{Situation, Tenant};
use crate::recommender::vendor::other_vendor;

/// One context at a time: no memory partition, no guarantee of performance, for loads that seldom meet and whose crashes are cheap.
pub(super) struct TimeSlicing;

impl Mechanism for TimeSlicing {
    fn id(&self) -> MechanismId {
        MechanismId::TimeSlicing
    }

    fn title(&self) -> &'static str {
        "Time slicing"
    }

    fn separates(&self) -> &'static str {
        "nothing but the instant: memory is shared without a limit, one that exhausts it ends others, and one that works long stalls all"
    }

    fn assess(&self, case: &Case<'_>) -> Assessment {
        let situation = case.situation;
        let memory = shared(case, None);
        let played = case.played.time_slicing.as_ref().filter(|_| situation.tenants.len() > 1);
        let both = situation.tenants.iter().zip(played.iter().flat_map(|it| &it.tenants));
        let tenants: Vec<Predicted> = both
            .clone()
            .map(|(tenant, found)| predicted(tenant, found, extra_of(found), memory.day_ratio))
            .collect();
        let mut reasons = against_any_sharing(case);
        reasons.extend(alone(situation));
        reasons.extend(against_shared_memory(situation, "time slicing"));
        reasons.extend(beside_bursts(case));
        reasons.extend(not_accepted(situation));
        reasons.extend(unseen_demands(situation));
        reasons.extend(in_shared(case, None));
        reasons.extend(memory.against.clone());
        reasons.extend(nearly(case));
        reasons.extend(duty(case));
        reasons.extend(
            both.filter_map(|(tenant, found)| lacking(tenant, found, extra_of(found), case.policy)),
        );
        reasons.extend(kept(situation, &tenants));
        reasons.extend(foreign_turns(situation));
        let capacity = capacity(case, &memory);
        reasons.extend(capacity.as_ref().map(|it| packed(case, it)));
        reasons.extend(accepted(situation));
        let replicas = situation.tenants.len() as u32;
        let plan = Plan {
            mechanism: self.id(),
            devices: 1,
            assignments: situation
                .tenants
                .iter()
                .map(|it| Assigned::plain(&it.name, it.needed_mib(case.policy)))
                .collect(),
            layout: None,
            change: None,
            replicas: (replicas >= 2).then_some(replicas),
        };
        let cost = (!tenants.is_empty()).then(|| Cost::of(&tenants, memory.day_ratio, 1));
        Assessment {
            plan: Some(plan),
            cost,
            tenants,
            capacity,
            ..Assessment::of(self.id(), reasons)
        }
    }

    fn disruption(&self, situation: &Situation, _plan: &Plan) -> Disruption {
        let mut found = super::mig::mode_off(situation);
        found.is_node_wide = situation.limits.has_device_plugin;
        found.level = found.level.max(DisruptionLevel::RestartClients);
        if situation.limits.has_device_plugin {
            found.sentences.push(
                "the device plugin restarts and offers replicas of every GPU of the node: there is no setting for one GPU".to_owned(),
            );
        }
        found
    }
}

/// A latency target beside a neighbour that takes the device in bursts.
fn beside_bursts(case: &Case<'_>) -> Option<Reason> {
    let tenants = &case.situation.tenants;
    let targeted: Vec<&str> = tenants
        .iter()
        .filter(|it| it.policy.latency.is_some())
        .map(|it| it.name.as_str())
        .collect();
    if targeted.is_empty() || tenants.len() < 2 {
        return None;
    }
    let may_burst = |it: &&Tenant| {
        let is_other = targeted.len() > 1 || targeted[0] != it.name;
        is_other && it.shape.as_ref().is_some_and(|it| it.is_bursty(case.policy) != Some(false))
    };
    let bursty: Vec<&Tenant> = tenants.iter().filter(may_burst).collect();
    let worst = *bursty.iter().max_by(|one, other| long(one).total_cmp(&long(other)))?;
    let shape = worst.shape.as_ref().map_or("", |it| it.sentence.as_str());
    let sentence = format!(
        "{} a latency target beside `{}`: {shape}",
        if targeted.len() == 1 {
            format!("`{}` has", targeted[0])
        } else {
            format!("{} have", Names(&targeted))
        },
        worst.name
    );
    let names = targeted.iter().copied().chain([worst.name.as_str()]);
    let is_sure = worst.shape.as_ref().is_some_and(|it| it.is_bursty(case.policy) == Some(true));
    let reason = match is_sure {
        true => Reason::refuses(ReasonKind::TargetBesideBursts, sentence),
        false => {
            let what = format!("record `{}` at an interval that shows its bursts", worst.name);
            let measurement = Measurement::new(MeasurementKind::Finer, 900.0, what);
            Reason::open(ReasonKind::TargetBesideBursts, sentence, measurement)
        }
    };
    Some(reason.about(names))
}

fn long(tenant: &Tenant) -> f64 {
    tenant.shape.as_ref().and_then(|it| it.long_burst_ratio).unwrap_or(0.0)
}

/// Whoever did not accept to be stalled, or to fall.
fn not_accepted(situation: &Situation) -> Vec<Reason> {
    if situation.tenants.len() < 2 {
        return Vec::new();
    }
    let names = |is_it: fn(&Tenant) -> bool| -> Vec<&str> {
        situation.tenants.iter().filter(|it| is_it(it)).map(|it| it.name.as_str()).collect()
    };
    let mut reasons = Vec::new();
    let unstalled = names(|it| !it.may_stall());
    if !unstalled.is_empty() {
        let sentence = format!(
            "{} not known to accept a stall, and one heavy neighbour stalls all others",
            is_are(&unstalled)
        );
        reasons.push(Reason::refuses(ReasonKind::StallNotAccepted, sentence).about(unstalled));
    }
    let uncrashed = names(|it| !it.may_crash());
    if !uncrashed.is_empty() {
        let sentence = format!(
            "{} not known to accept a crash, and memory is not partitioned",
            is_are(&uncrashed)
        );
        reasons.push(Reason::refuses(ReasonKind::CrashNotAccepted, sentence).about(uncrashed));
    }
    reasons
}

/// What was accepted: it has to be read by whoever applies it.
fn accepted(situation: &Situation) -> Option<Reason> {
    let is_fine = situation.tenants.iter().all(|it| it.may_stall() && it.may_crash());
    (is_fine && situation.tenants.len() > 1).then(|| {
        Reason::caution(
            ReasonKind::FaultDomain,
            "all of them accept that one heavy tenant stalls the others, and that whoever asks for memory last ends",
        )
    })
}

/// Turns of another vendor's driver: what is known of turns was measured on NVIDIA's.
fn foreign_turns(situation: &Situation) -> Option<Reason> {
    let vendor = other_vendor(situation.device.model.as_deref())?;
    (situation.tenants.len() > 1).then(|| {
        let sentence = format!(
            "it is a board of {vendor}, and turns are predicted as NVIDIA's driver takes them; no file is written for it"
        );
        Reason::caution(ReasonKind::Vendor, sentence)
    })
}

/// Turns that overlap more often than the policy has it.
fn duty(case: &Case<'_>) -> Option<Reason> {
    let tenants = &case.situation.tenants;
    let sum: f64 =
        tenants.iter().filter_map(|it| it.demand.as_ref()).map(|it| it.busy_share()).sum();
    let most = case.policy.time_slicing_duty_ratio;
    (tenants.len() > 1 && sum > most + 5e-3).then(|| {
        let sentence = format!(
            "they work {} of the time together, above {}: turns overlap",
            percent(sum),
            percent(most)
        );
        Reason::refuses(ReasonKind::Duty, sentence)
    })
}

fn capacity(case: &Case<'_>, memory: &SharedMemory) -> Option<Capacity> {
    let busy = case.situation.tenants.iter().map(|it| it.demand.as_ref().map(|it| it.busy_share()));
    // Half a percent of the time is what a recording is off by.
    let by_load = mean(busy).and_then(|it| times(case.policy.time_slicing_duty_ratio + 5e-3, it));
    Capacity::of(memory.capacity, by_load, None)
}

fn packed(case: &Case<'_>, it: &Capacity) -> Reason {
    let busy =
        mean(case.situation.tenants.iter().map(|it| it.demand.as_ref().map(|it| it.busy_share())));
    let duty =
        busy.map_or_else(String::new, |it| format!(" that work {} of the time each", percent(it)));
    let sentence = format!(
        "{} such tenants{duty} fit, and {} binds",
        it.tenants,
        if it.binding() == "load" { "the time that they take" } else { it.binding() }
    );
    Reason::favours(ReasonKind::Capacity, sentence)
}
