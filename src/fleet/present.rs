//! The plan for the GPUs that are there.

use crate::fleet::assemble::{PoolPlan, SlotFacts, median};
use crate::fleet::compatibility::compatibilities;
use crate::fleet::findings::DeviceFinding;
use crate::fleet::now::NowVerdict;
use crate::fleet::packing::{Group, Packing, packed};
use crate::fleet::placing::{Slot, placed};
use crate::fleet::plan::{FleetPlan, PlanQuestion, RefusedNow};
use crate::fleet::roster::Roster;
use crate::fleet::whole::{Drawn, drawn};
use crate::fleet::yard::{Member, Pool, Yard, emptied, solo};
use crate::recommender::played::Solo;
use crate::recommender::situation::Situation;
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};
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

/// A device with whoever is on it, and what is decided about that.
struct Seat<'r> {
    device: usize,
    members: Vec<&'r Member>,
    solos: Vec<Solo>,
    now: NowVerdict,
}

fn of_kind<'a>(
    question: &PlanQuestion<'a>,
    roster: &Roster,
    kind: &Kind,
    devices: &[usize],
    refused_now: &mut Vec<RefusedNow>,
) -> PoolPlan<'a> {
    let tenants = roster.members.len();
    let empty =
        template(roster, devices, tenants).unwrap_or_else(|| roster.situations[devices[0]].clone());
    let seat = |device: &usize| {
        let members: Vec<&Member> =
            roster.members.iter().filter(|it| it.home == Some(*device)).collect();
        let solos: Vec<Solo> = members.iter().map(|it| solo(&empty, it)).collect();
        let situation = &roster.situations[*device];
        let now = NowVerdict::of(situation, (&members, &solos), tenants, question.policy);
        Seat { device: *device, members, solos, now }
    };
    let seats: Vec<Seat<'_>> = devices.par_iter().map(seat).collect();
    let (kept, open): (Vec<Seat<'_>>, Vec<Seat<'_>>) =
        seats.into_iter().partition(|it| it.now.keeps(&it.members));
    let members: Vec<Member> =
        open.iter().flat_map(|it| &it.members).map(|it| (*it).clone()).collect();
    let solos: Vec<Solo> = open.iter().flat_map(|it| it.solos.iter().cloned()).collect();
    let pool = Pool { name: name_of(kind), empty };
    let mut yard = Yard::with_solos(pool, members, solos, question.policy);
    let (compatibility, costs) = compatibilities(&yard, &roster.names);
    yard.pairs = costs;
    let packing = packing(roster, &yard, &open, refused_now);
    let slots: Vec<SlotFacts> =
        open.iter().map(|it| slot_of(question, roster, it.device)).collect();
    let homes: Vec<Vec<Option<usize>>> = packing
        .groups
        .iter()
        .map(|it| it.members.iter().map(|it| yard.members[*it].home).collect())
        .collect();
    let places: Vec<Slot<'_>> = open
        .iter()
        .map(|it| Slot { device: it.device, host: question.devices[it.device].host.as_deref() })
        .collect();
    let given = placed(&places, &homes);
    let as_it_is = kept
        .iter()
        .map(|it| {
            let members = it.members.iter().map(|it| (*it).clone()).collect();
            (slot_of(question, roster, it.device), members)
        })
        .collect();
    let now = open.into_iter().chain(kept).map(|it| (it.device, it.now)).collect();
    PoolPlan { yard, packing, slots, given, compatibility, as_it_is, now }
}

/// The groups: new ones where they take fewer GPUs, or where what is there now is refused; else those that are there.
fn packing(
    roster: &Roster,
    yard: &Yard<'_>,
    open: &[Seat<'_>],
    refused_now: &mut Vec<RefusedNow>,
) -> Packing {
    let places: Vec<usize> = (0..yard.members.len()).collect();
    let anew = packed(yard, &places);
    let used: Vec<(&Seat<'_>, Vec<usize>)> = open
        .iter()
        .map(|seat| {
            let is_here = |it: &usize| yard.members[*it].home == Some(seat.device);
            (seat, places.iter().copied().filter(is_here).collect::<Vec<usize>>())
        })
        .filter(|it| !it.1.is_empty())
        .collect();
    let count = used.len();
    let is_refused = |it: &&(&Seat<'_>, Vec<usize>)| it.1.len() > 1 && it.0.now.shared.is_none();
    let refused: Vec<RefusedNow> = used
        .iter()
        .filter(is_refused)
        .map(|(seat, _)| {
            let situation: &Situation = &roster.situations[seat.device];
            RefusedNow {
                label: situation.label.clone(),
                tenants: situation.tenants.iter().map(|it| it.name.clone()).collect(),
                reason: seat.now.reason.clone(),
            }
        })
        .collect();
    let is_better = anew.groups.len() < count || !refused.is_empty();
    refused_now.extend(refused);
    if is_better {
        return anew;
    }
    let as_now = |(seat, members): (&Seat<'_>, Vec<usize>)| Group {
        shared: seat.now.shared.clone().filter(|_| members.len() > 1),
        members,
    };
    Packing { groups: used.into_iter().map(as_now).collect(), ..anew }
}
