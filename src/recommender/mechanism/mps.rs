//! Kernels of several clients at once.

use crate::colocation::demand::Demand;
use crate::colocation::range::Range;
use crate::recommender::mechanism::capacity::{Capacity, mean, times};
use crate::recommender::mechanism::gates::{
    against_any_sharing, against_shared_memory, alone, is_are, of_another_vendor, unseen_demands,
};
use crate::recommender::mechanism::keeping::{extra_of, kept, lacking, predicted};
use crate::recommender::mechanism::lost::{Rescue, in_shared, nearly, rescue};
use crate::recommender::mechanism::memory::shared;
use crate::recommender::mechanism::plan::{
    Assessment, Assigned, Cost, Disruption, DisruptionLevel, Plan, Predicted,
};
use crate::recommender::mechanism::{Case, Mechanism, MechanismId};
use crate::recommender::reason::{
    Measurement, MeasurementKind, Names, Reason, ReasonKind, mib, percent,
};
use crate::recommender::situation::{Situation, Tenant};

/// Replicas that the device plugin offers under MPS at most.
///
/// Source: NVIDIA/k8s-device-plugin, devices of compute capability 7.5 and later (*not checked*).
const MOST_REPLICAS: u32 = 48;

/// Kernels of several clients at once: memory shared without a hard partition, and one fault ends all clients.
pub(super) struct Mps;

impl Mechanism for Mps {
    fn id(&self) -> MechanismId {
        MechanismId::Mps
    }

    fn title(&self) -> &'static str {
        "MPS"
    }

    fn separates(&self) -> &'static str {
        "kernels run at once, within percentages and pinned limits that each client keeps for itself; caches, bandwidth and faults are shared"
    }

    fn assess(&self, case: &Case<'_>) -> Assessment {
        let situation = case.situation;
        let rescue = rescue(case);
        let memory = shared(case, rescue.as_ref());
        let played = case.played.mps.as_ref().filter(|_| situation.tenants.len() > 1);
        let both = situation.tenants.iter().zip(played.iter().flat_map(|it| &it.tenants));
        let tenants: Vec<Predicted> = both
            .clone()
            .map(|(tenant, found)| predicted(tenant, found, extra_of(found), memory.day_ratio))
            .collect();
        let mut reasons = against_any_sharing(case);
        reasons.extend(alone(situation));
        reasons.extend(of_another_vendor(situation, "MPS"));
        reasons.extend(against_shared_memory(situation, "MPS"));
        reasons.extend(not_accepted(situation));
        reasons.extend(unseen_demands(situation));
        reasons.extend(too_many(situation));
        reasons.extend(in_shared(case, rescue.as_ref()));
        reasons.extend(memory.against.clone());
        reasons.extend(nearly(case));
        reasons.extend(kept(situation, &tenants));
        reasons.extend(full_bursts(case));
        reasons.extend(load(case));
        reasons.extend(
            both.filter_map(|(tenant, found)| lacking(tenant, found, extra_of(found), case.policy)),
        );
        reasons.extend(fault_domain(situation));
        reasons.extend(plugin(case));
        let by_load = mean(situation.tenants.iter().map(|it| it.demand.as_ref().map(busy_sms)))
            .and_then(|it| times(case.policy.mps_busy_ratio, it));
        let clients = mean(situation.tenants.iter().map(|it| Some(f64::from(it.clients))));
        let by_places = clients.and_then(|it| times(f64::from(situation.limits.mps_clients), it));
        let capacity = Capacity::of(memory.capacity, by_load, by_places);
        let cost = (!tenants.is_empty()).then(|| Cost::of(&tenants, memory.day_ratio, 1));
        let plan = Some(plan(case, rescue.as_ref()));
        Assessment { plan, cost, tenants, capacity, ..Assessment::of(self.id(), reasons) }
    }

    fn disruption(&self, situation: &Situation, _plan: &Plan) -> Disruption {
        let mut found = super::mig::mode_off(situation);
        found.is_node_wide = situation.limits.has_device_plugin;
        if situation.now.is_mps == Some(true) {
            return found;
        }
        found.level = found.level.max(DisruptionLevel::RestartClients);
        found.sentences.push(
            "an MPS server starts, and every process of the device restarts as its client"
                .to_owned(),
        );
        if situation.limits.has_device_plugin {
            found
                .sentences
                .push("the device plugin sets the same mode for every GPU of the node".to_owned());
        }
        found
    }
}

/// Share of the SMs that a tenant takes on average, at the upper end of what is known.
fn busy_sms(demand: &Demand) -> f64 {
    demand.busy_share() * demand.width.high
}

/// Whoever said that it must not fall with a neighbour.
fn not_accepted(situation: &Situation) -> Option<Reason> {
    let refused = |it: &&Tenant| it.policy.may_crash == Some(false);
    let names: Vec<&str> =
        situation.tenants.iter().filter(refused).map(|it| it.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        let sentence = format!(
            "{} not to fall with a neighbour by policy, and a fault in one client ends all of them",
            is_are(&names)
        );
        Reason::refuses(ReasonKind::CrashNotAccepted, sentence).about(names)
    })
}

fn clients(situation: &Situation) -> u32 {
    situation.tenants.iter().map(|it| it.clients.max(1)).sum()
}

/// More clients than one server takes.
fn too_many(situation: &Situation) -> Option<Reason> {
    let (clients, most) = (clients(situation), situation.limits.mps_clients);
    if clients > most {
        let sentence = format!("they have {clients} CUDA clients, and one MPS server takes {most}");
        return Some(Reason::refuses(ReasonKind::Clients, sentence));
    }
    let tenants = situation.tenants.len() as u32;
    (situation.limits.has_device_plugin && tenants > MOST_REPLICAS).then(|| {
        let sentence = format!(
            "{tenants} tenants, and the device plugin offers {MOST_REPLICAS} replicas under MPS"
        );
        Reason::refuses(ReasonKind::Plugin, sentence)
    })
}

/// Bursts that are long and take all SMs: they decide a neighbour's p99, whatever the mean says.
///
/// Batch jobs and notebooks, of which nobody waits for an answer, are not hurt by that.
fn full_bursts(case: &Case<'_>) -> Option<Reason> {
    let (tenants, policy) = (&case.situation.tenants, case.policy);
    let can_be_hurt = |it: &Tenant| !it.class().tolerates_faults();
    let is_long =
        |it: &Tenant| it.shape.as_ref().is_some_and(|it| it.is_bursty(policy) == Some(true));
    let hurts_somebody =
        |it: &Tenant| tenants.iter().any(|other| other.name != it.name && can_be_hurt(other));
    let bursty = tenants.iter().filter(|it| is_long(it) && hurts_somebody(it));
    let width = |it: &Tenant| it.demand.as_ref().map_or(Range::exact(1.0), |it| it.width);
    let worst = bursty.max_by(|one, other| width(one).high.total_cmp(&width(other).high))?;
    let width = width(worst);
    let sentence = worst.shape.as_ref().map_or("", |it| it.sentence.as_str());
    let told = format!(
        "`{}` takes {} of the SMs in its bursts: {sentence}",
        worst.name,
        percent(width.expected)
    );
    let full = policy.full_burst_height_ratio;
    if width.expected >= full {
        let reason = Reason::refuses(ReasonKind::Bursts, told);
        return Some(reason.about([worst.name.as_str()]));
    }
    (width.high >= full).then(|| {
        let what = format!(
            "record the SM activity of `{}` (GPM on Hopper and later, else DCGM)",
            worst.name
        );
        let measurement = Measurement::new(MeasurementKind::Counters, 900.0, what);
        let told = format!("{told}; perhaps {}", percent(width.high));
        Reason::open(ReasonKind::Bursts, told, measurement).about([worst.name.as_str()])
    })
}

/// SMs and bandwidth that are asked for on average, against what the policy leaves to them.
fn load(case: &Case<'_>) -> Vec<Reason> {
    if case.situation.tenants.len() < 2 {
        return Vec::new();
    }
    let sum = |of: fn(&Demand) -> Range| {
        let demands = case.situation.tenants.iter().filter_map(|it| it.demand.as_ref());
        demands.fold(Range::exact(0.0), |sum, it| {
            let (busy, of) = (it.busy_share(), of(it));
            Range {
                expected: sum.expected + busy * of.expected,
                low: sum.low + busy * of.low,
                high: sum.high + busy * of.high,
            }
        })
    };
    let asked = [
        ("SMs", sum(|it| it.width), case.policy.mps_busy_ratio),
        (
            "memory bandwidth",
            sum(|it| it.bandwidth),
            case.policy.mps_bandwidth_ratio * case.situation.options.attainable_bandwidth,
        ),
    ];
    let reasons: Vec<Reason> =
        asked.iter().filter_map(|(what, sum, most)| too_much(what, *sum, *most)).collect();
    if !reasons.is_empty() {
        return reasons;
    }
    let [(_, sms, _), (_, bandwidth, _)] = asked;
    let told = |it: Range| match it.is_exact() {
        true => percent(it.expected),
        false => format!("{} to {}", percent(it.low), percent(it.high)),
    };
    vec![Reason::favours(
        ReasonKind::Duty,
        format!(
            "on average they ask for {} of the SMs and {} of the memory bandwidth together, so their kernels run beside each other",
            told(sms),
            told(bandwidth)
        ),
    )]
}

/// More than is left to them, for sure or perhaps.
fn too_much(what: &str, sum: Range, most: f64) -> Option<Reason> {
    let told = format!(
        "on average they ask for {} of the {what} together ({} to {}), and {} are left to them",
        percent(sum.expected),
        percent(sum.low),
        percent(sum.high),
        percent(most)
    );
    if sum.expected > most {
        return Some(Reason::refuses(ReasonKind::Duty, told));
    }
    (sum.high > most).then(|| {
        let what = "record SM activity and memory bandwidth (GPM on Hopper and later, else DCGM)";
        Reason::open(
            ReasonKind::Duty,
            told,
            Measurement::new(MeasurementKind::Counters, 900.0, what),
        )
    })
}

/// Printed in every verdict: who falls with whom, and how many clients there may be.
fn fault_domain(situation: &Situation) -> Vec<Reason> {
    if situation.tenants.len() < 2 {
        return Vec::new();
    }
    let names: Vec<&str> = situation.tenants.iter().map(|it| it.name.as_str()).collect();
    let (clients, most) = (clients(situation), situation.limits.mps_clients);
    vec![
        Reason::caution(
            ReasonKind::FaultDomain,
            format!(
                "one fault domain: a fault in any client ends {}; end a client with `terminate_client` and never by a signal",
                Names(&names)
            ),
        ),
        Reason::caution(
            ReasonKind::Clients,
            format!(
                "{clients} CUDA clients of at most {most}; pinned limits and percentages hold for each client, not for each tenant"
            ),
        ),
    ]
}

/// The device plugin gives everybody the same part.
fn plugin(case: &Case<'_>) -> Option<Reason> {
    let situation = case.situation;
    let tenants = situation.tenants.len();
    let room =
        situation.device.total_mib.filter(|_| situation.limits.has_device_plugin && tenants > 1)?;
    let each = (room / tenants as f64).floor();
    let needs = |it: &Tenant| it.needed_mib(case.policy);
    let above: Vec<&str> = situation
        .tenants
        .iter()
        .filter(|it| needs(it).is_some_and(|it| it > each))
        .map(|it| it.name.as_str())
        .collect();
    (!above.is_empty()).then(|| {
        let sentence = format!(
            "the device plugin gives each of {tenants} replicas {}, which is too little for {}: set the pinned limits through the control daemon instead",
            mib(each),
            Names(&above)
        );
        Reason::caution(ReasonKind::Plugin, sentence).about(above)
    })
}

/// A percentage of what it was seen to ask for, so that nobody takes more, and a pinned limit of peak and margin.
fn plan(case: &Case<'_>, rescue: Option<&Rescue>) -> Plan {
    let tenants = &case.situation.tenants;
    let assigned = |it: &Tenant| {
        let needed = match rescue.filter(|rescue| rescue.tenant == it.name) {
            Some(rescue) => Some(rescue.limit_mib),
            None => it.needed_mib(case.policy),
        };
        let width = it.demand.as_ref().map_or(1.0, |it| it.width.high);
        let own = (100.0 * width).ceil().clamp(1.0, 100.0) as u32;
        Assigned {
            thread_percentage: Some(own),
            pinned_limit_mib: needed.map(|need| (need / f64::from(it.clients.max(1))).ceil()),
            ..Assigned::plain(&it.name, needed)
        }
    };
    let replicas = tenants.len() as u32;
    Plan {
        mechanism: MechanismId::Mps,
        devices: 1,
        assignments: tenants.iter().map(assigned).collect(),
        layout: None,
        change: None,
        replicas: (replicas >= 2).then_some(replicas),
    }
}
