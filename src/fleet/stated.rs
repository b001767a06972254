//! The plan for hardware that a file states.
//!
//! Models are filled one after the other, the cheapest first. Each takes the groups that hold most tenants, as many as it has GPUs; the
//! others go on to the next model. Loads are scaled from the model on which they were recorded.

use crate::colocation::models::{KnownModel, named, recognised};
use crate::domain::ident::GpuId;
use crate::fleet::assemble::{PoolPlan, SlotFacts};
use crate::fleet::class::ClassKey;
use crate::fleet::compatibility::compatibilities;
use crate::fleet::hardware::{Hardware, HardwareModel, known_name};
use crate::fleet::packing::{Group, packed};
use crate::fleet::plan::{FleetPlan, PlanQuestion};
use crate::fleet::roster::Roster;
use crate::fleet::whole::{Drawn, drawn};
use crate::fleet::yard::{Member, Need, Pool, Yard, emptied, need_of};
use crate::recommender::seen::ability;
use crate::recommender::shape::LoadShape;
use crate::recommender::situation::{Current, DeviceFacts, MIB, Situation};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

pub(crate) fn on_stated(question: &PlanQuestion<'_>, hardware: &Hardware) -> FleetPlan {
    let roster = Roster::of(question);
    let mut order: Vec<&HardwareModel> = hardware.models.iter().collect();
    order.sort_by(|one, other| {
        let price = |it: &HardwareModel| it.price_per_hour.unwrap_or(f64::INFINITY);
        price(one).total_cmp(&price(other))
    });
    let mut left: Vec<usize> = (0..roster.members.len()).collect();
    let mut pools = Vec::new();
    let mut scaled = Scaled::default();
    for model in order {
        let (pool, placed) = of_model(question, &roster, model, &left, &mut scaled);
        left.retain(|it| !placed.contains(it));
        pools.push(pool);
    }
    let unplaced = left.iter().map(|it| roster.members[*it].tenant.name.clone()).collect();
    let caveats = scaled.caveats();
    drawn(question, &roster, Drawn { pools, refused_now: Vec::new(), unplaced, caveats })
}

/// How many loads had to be moved to another model, or were taken as they are.
#[derive(Debug, Default)]
struct Scaled {
    moved: BTreeSet<usize>,
    taken: BTreeSet<usize>,
}

impl Scaled {
    fn caveats(&self) -> Vec<String> {
        let mut found = Vec::new();
        if !self.moved.is_empty() {
            found.push(format!(
                "{} tenants were recorded on another model of GPU; their work is scaled by SMs, clock and bandwidth, and intervals are twice as wide",
                self.moved.len()
            ));
        }
        if !self.taken.is_empty() {
            found.push(format!(
                "of {} tenants nobody recorded on which model of GPU they ran: their work is taken as if it had been on the stated one",
                self.taken.len()
            ));
        }
        found
    }
}

fn of_model<'a>(
    question: &PlanQuestion<'a>,
    roster: &Roster,
    model: &HardwareModel,
    left: &[usize],
    scaled: &mut Scaled,
) -> (PoolPlan<'a>, Vec<usize>) {
    let empty = device(question, model, roster.members.len());
    let room = empty.room_mib(question.policy);
    let mut origin = Vec::new();
    let mut members = Vec::new();
    for it in left {
        let Some(member) = on_model(question, roster, &roster.members[*it], model) else {
            continue;
        };
        let needed = member.member.tenant.needed_mib(question.policy);
        if needed.zip(room).is_some_and(|(needed, room)| needed > room) {
            continue;
        }
        match member.how {
            How::Same => {}
            How::Moved => drop(scaled.moved.insert(*it)),
            How::Taken => drop(scaled.taken.insert(*it)),
        }
        origin.push(*it);
        members.push(member.member);
    }
    let pool = Pool { name: model.model.clone(), empty };
    let mut yard = Yard::new(pool, members, question.policy);
    let (compatibility, costs) = compatibilities(&yard, &roster.names);
    yard.pairs = costs;
    let places: Vec<usize> = (0..yard.members.len()).collect();
    let mut packing = packed(&yard, &places);
    let count = model.count.unwrap_or(0) as usize;
    if packing.groups.len() > count {
        packing.groups.sort_by_key(|it: &Group| (Reverse(it.members.len()), it.members.clone()));
        packing.groups.truncate(count);
        packing.groups.sort_by(|one, other| one.members.cmp(&other.members));
        packing.devices_at_least = packing.devices_at_least.min(count);
    }
    let placed = packing.groups.iter().flat_map(|it| &it.members).map(|it| origin[*it]).collect();
    let given = (0..packing.groups.len()).map(Some).collect();
    let slots = slots(model, count);
    let (as_it_is, now) = (Vec::new(), BTreeMap::new());
    (PoolPlan { yard, packing, slots, given, compatibility, as_it_is, now }, placed)
}

fn slots(model: &HardwareModel, count: usize) -> Vec<SlotFacts> {
    let per_host = model.per_host() as usize;
    let slot = |place: usize| {
        let host = format!("{} host {}", model.model, place / per_host + 1);
        SlotFacts {
            label: format!("GPU {} on {host}", place % per_host),
            host: Some(host),
            ..SlotFacts::default()
        }
    };
    (0..count).map(slot).collect()
}

/// A stated GPU without anybody on it.
fn device(question: &PlanQuestion<'_>, model: &HardwareModel, tenants: usize) -> Situation {
    let total_mib = model.memory();
    let situation = Situation {
        gpu: GpuId::new(&model.model),
        label: model.model.clone(),
        device: DeviceFacts {
            model: Some(model.model.clone()),
            total_mib,
            mig: ability(Some(&model.model), total_mib.map(|it| it * MIB)),
            ..DeviceFacts::default()
        },
        now: Current::default(),
        tenants: Vec::new(),
        saturated: None,
        met: None,
        limits: question.limits,
        options: question.options,
        unseen: Vec::new(),
    };
    emptied(&situation, tenants)
}

/// A member on a model, and how it got there.
struct OnModel {
    member: Member,
    how: How,
}

enum How {
    /// Recorded on it.
    Same,
    /// Scaled to it.
    Moved,
    /// Nobody knows on which model it was recorded.
    Taken,
}

/// A member as it would be on a model; `None` where its load cannot be scaled to it.
fn on_model(
    question: &PlanQuestion<'_>,
    roster: &Roster,
    member: &Member,
    model: &HardwareModel,
) -> Option<OnModel> {
    let recorded = member.home.and_then(|it| roster.situations[it].device.model.as_deref());
    let Some(recorded) = recorded else {
        return Some(OnModel { member: member.clone(), how: How::Taken });
    };
    let is_same = recorded.eq_ignore_ascii_case(&model.model)
        || known_name(recorded).is_some_and(|it| Some(it) == known_name(&model.model));
    if is_same {
        return Some(OnModel { member: member.clone(), how: How::Same });
    }
    let known = |it: &str| -> Option<KnownModel> { named(it).or_else(|| recognised(it)) };
    let (from, to) = (known(recorded)?, known(&model.model)?);
    let mut moved = member.clone();
    let attainable = question.options.attainable_bandwidth;
    if let Some(demand) = &member.tenant.demand {
        let demand = demand.on_another(from.model, to.model, attainable)?;
        moved.tenant.shape = Some(LoadShape::of_demand(&demand, question.policy));
        moved.tenant.demand = Some(demand);
    }
    // What it was seen to have, a part of another board, says nothing here.
    moved.tenant.instance = None;
    if member.need == Need::Part {
        moved.need = need_of(&moved.tenant, question.policy);
    }
    // A class is what it was on the GPU on which it was seen.
    moved.class = ClassKey::clone(&member.class);
    Some(OnModel { member: moved, how: How::Moved })
}
