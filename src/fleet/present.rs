//! The plan for the GPUs that are there.

use crate::fleet::assemble::{PoolPlan, SlotFacts, median};
use crate::fleet::compatibility::compatibilities;
use crate::fleet::findings::DeviceFinding;
use crate::fleet::packing::{Group, Packing, Shared, packed};
use crate::fleet::placing::{Slot, placed};
use crate::fleet::plan::{FleetPlan, PlanQuestion, RefusedNow};
use crate::fleet::roster::Roster;
use crate::fleet::whole::{Drawn, drawn};
use crate::fleet::yard::{Member, Need, Pool, Yard, emptied};
use crate::recommender::decide::proposal;
use crate::recommender::played::Played;
use crate::recommender::policy::Policy;
use crate::recommender::situation::Situation;
use crate::recommender::verdict::Outcome;
use rayon::prelude::{IntoParallelIterator, ParallelIterator};
use std::collections::BTreeMap;

/// Kind of a GPU: model, and memory in whole GiB.
type Kind = (Option<String>, u64);

pub(crate) fn on_present(question: &PlanQuestion<'_>) -> FleetPlan {
    let roster = Roster::of(question);
    let mut kinds: BTreeMap<Kind, Vec<usize>> = BTreeMap::new();
    for (place, it) in question.devices.iter().enumerate() {
        let gib = it.total_mib.map_or(0, |it| (it / 1024.0).round() as u64);
        kinds.entry((it.model.clone(), gib)).or_default().push(place);
    }
    let mut refused_now = Vec::new();
    let pools: Vec<PoolPlan<'_>> = kinds
        .into_iter()
        .map(|(kind, devices)| of_kind(question, &roster, &kind, &devices, &mut refused_now))
        .collect();
    drawn(
        question,
        &roster,
        Drawn { pools, refused_now, unplaced: Vec::new(), caveats: Vec::new() },
    )
}

/// Name of a kind of GPU for people.
fn name_of(kind: &Kind) -> String {
    match (&kind.0, kind.1) {
        (Some(model), _) => model.clone(),
        (None, 0) => "GPUs of unknown model".to_owned(),
        (None, gib) => format!("GPUs of unknown model with {gib} GiB"),
    }
}

/// One GPU that is like all of a kind: known memory is the least, what is taken off it the usual.
fn template(roster: &Roster, devices: &[usize], tenants: usize) -> Option<Situation> {
    let all: Vec<&Situation> = devices.iter().map(|it| &roster.situations[*it]).collect();
    let mut device = all.first().copied()?.clone();
    let totals = all.iter().filter_map(|it| it.device.total_mib);
    device.device.total_mib = totals.reduce(f64::min);
    device.device.reserved_mib =
        median(all.iter().filter_map(|it| it.device.reserved_mib).collect());
    device.device.others_mib = median(all.iter().filter_map(|it| it.device.others_mib).collect());
    Some(emptied(&device, tenants))
}

fn slot_of(question: &PlanQuestion<'_>, roster: &Roster, device: usize) -> SlotFacts {
    let finding: &DeviceFinding = &question.devices[device];
    SlotFacts {
        device: Some(device),
        host: finding.host.clone(),
        gpu: Some(finding.gpu.clone()),
        label: finding.label(),
        tenants_now: roster.situations[device].tenants.len(),
    }
}

fn of_kind<'a>(
    question: &PlanQuestion<'a>,
    roster: &Roster,
    kind: &Kind,
    devices: &[usize],
    refused_now: &mut Vec<RefusedNow>,
) -> PoolPlan<'a> {
    let of_device = |device: usize| -> Vec<&Member> {
        roster.members.iter().filter(|it| it.home == Some(device)).collect()
    };
    let is_unknown =
        |it: &usize| of_device(*it).iter().any(|it| matches!(it.need, Need::Unknown(_)));
    let (as_it_is, open): (Vec<usize>, Vec<usize>) = devices.iter().partition(|it| is_unknown(it));
    let members: Vec<Member> = open.iter().flat_map(|it| of_device(*it)).cloned().collect();
    let empty = template(roster, devices, roster.members.len())
        .unwrap_or_else(|| roster.situations[devices[0]].clone());
    let pool = Pool { name: name_of(kind), empty };
    let mut yard = Yard::new(pool, members, question.policy);
    let (compatibility, costs) = compatibilities(&yard, &roster.names);
    yard.pairs = costs;
    let packing = packing(question, roster, &yard, &open, refused_now);
    let slots: Vec<SlotFacts> = open.iter().map(|it| slot_of(question, roster, *it)).collect();
    let homes: Vec<Vec<Option<usize>>> = packing
        .groups
        .iter()
        .map(|it| it.members.iter().map(|it| yard.members[*it].home).collect())
        .collect();
    let places: Vec<Slot<'_>> = open
        .iter()
        .map(|it| Slot { device: *it, host: question.devices[*it].host.as_deref() })
        .collect();
    let given = placed(&places, &homes);
    let as_it_is = as_it_is
        .into_iter()
        .map(|it| {
            let members = of_device(it).into_iter().cloned().collect();
            (slot_of(question, roster, it), members)
        })
        .collect();
    PoolPlan { yard, packing, slots, given, compatibility, as_it_is }
}

/// The groups: new ones where they take fewer GPUs, or where what is there now is refused; else those that are there.
fn packing(
    question: &PlanQuestion<'_>,
    roster: &Roster,
    yard: &Yard<'_>,
    open: &[usize],
    refused_now: &mut Vec<RefusedNow>,
) -> Packing {
    let places: Vec<usize> = (0..yard.members.len()).collect();
    let anew = packed(yard, &places);
    let used: Vec<(usize, Vec<usize>)> = open
        .iter()
        .map(|device| {
            let is_here = |it: &usize| yard.members[*it].home == Some(*device);
            (*device, places.iter().copied().filter(is_here).collect::<Vec<usize>>())
        })
        .filter(|it| !it.1.is_empty())
        .collect();
    let count = used.len();
    let now: Vec<Result<Group, RefusedNow>> = used
        .into_par_iter()
        .map(|(device, here)| as_now(question, roster, yard, device, here))
        .collect();
    let refused: Vec<RefusedNow> = now.iter().filter_map(|it| it.as_ref().err().cloned()).collect();
    let is_better = anew.groups.len() < count || !refused.is_empty();
    refused_now.extend(refused);
    if is_better {
        return anew;
    }
    let groups = now.into_iter().filter_map(Result::ok).collect();
    Packing { groups, ..anew }
}

/// A device as it is shared now, where a verdict on it has nothing against that.
fn as_now(
    question: &PlanQuestion<'_>,
    roster: &Roster,
    yard: &Yard<'_>,
    device: usize,
    members: Vec<usize>,
) -> Result<Group, RefusedNow> {
    if members.len() < 2 {
        return Ok(Group { members, shared: None });
    }
    let mut situation = roster.situations[device].clone();
    situation.tenants = members.iter().map(|it| yard.members[*it].tenant.clone()).collect();
    situation.options.budget = yard.pool.empty.options.budget;
    // That a verdict is not sure enough is nothing against what is there.
    let policy = Policy { least_confidence: 0.0, ..question.policy.clone() };
    let found = proposal(&situation, &Played::of(&situation), &policy);
    let reason = found.decisive.map(|it| it.sentence);
    match found.chosen.filter(|_| found.outcome == Outcome::Share) {
        Some(chosen) => Ok(Group {
            members,
            shared: Some(Shared {
                chosen,
                confidence: found.confidence.value(),
                decisive: reason,
                lowered: found.lowered_by.into_iter().map(|it| it.sentence).collect(),
            }),
        }),
        None => Err(RefusedNow {
            label: situation.label.clone(),
            tenants: situation.tenants.iter().map(|it| it.name.clone()).collect(),
            reason: reason.unwrap_or_default(),
        }),
    }
}
