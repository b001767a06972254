//! Who belongs together, where tenants can move between devices of one model.
//!
//! Every pair is decided about as if it had a device to itself; pairs that may share are grouped for the fewest
//! devices, then for the least worst p99; every group is then decided about as a whole, and as many as hold share.

use crate::colocation::phases::Budget;
use crate::recommender::decide::Choice;
use crate::recommender::fitting::most;
use crate::recommender::grouping::Tenant as Piece;
use crate::recommender::grouping::{Fleet, group};
use crate::recommender::mechanism::MechanismId;
use crate::recommender::played::{Solo, weigh};
use crate::recommender::policy::Policy;
use crate::recommender::situation::{Current, MIB, Situation, Tenant};
use crate::recommender::verdict::Outcome;
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};
use serde::Serialize;
use std::collections::BTreeMap;

/// Tenants of one model that are compared pair by pair at most: two thousand pairs, which take seconds.
const MOST_TENANTS: usize = 64;
/// Events to replay for each pair: enough to rank pairs; groups that come out of it are small.
const PAIR_EVENTS: u64 = 10_000;
/// Tenants on one device at most: as many as one MPS server takes.
const MOST_IN_GROUP: usize = 48;

/// What a pair counts as that may share but whose p99 was not predicted: worse than most that were.
const UNKNOWN_EXTRA: f64 = 1.0;

/// Who would share with whom.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Together {
    /// One group for each device, those with most tenants first.
    pub groups: Vec<Group>,
    /// Devices on which they are now.
    pub devices_now: usize,
    /// Devices that the groups take.
    pub devices_then: usize,
    /// Fewer devices are impossible, as far as pairs go.
    pub devices_at_least: usize,
    /// All of it in a sentence.
    pub sentence: String,
    /// What the answer leaves out, each in a sentence.
    pub caveats: Vec<String>,
}

/// Tenants for one device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// Their names.
    pub tenants: Vec<String>,
    /// How they share; `None` for one that has a device to itself.
    pub mechanism: Option<MechanismId>,
    /// Upper end of the worst p99 slowdown; `None` where it was not predicted, or nobody shares.
    pub worst_p99_factor: Option<f64>,
}

/// Groups for tenants of several devices; `None` where no two devices of one model have tenants.
pub fn together(situations: &[Situation], policy: &Policy) -> Option<Together> {
    let mut models: BTreeMap<(Option<&str>, u64), Vec<&Situation>> = BTreeMap::new();
    for it in situations.iter().filter(|it| !it.tenants.is_empty()) {
        let total = it.device.total_mib.unwrap_or(0.0) as u64;
        models.entry((it.device.model.as_deref(), total)).or_default().push(it);
    }
    let mut found = Together {
        groups: Vec::new(),
        devices_now: models.values().map(Vec::len).sum(),
        devices_then: 0,
        devices_at_least: 0,
        sentence: String::new(),
        caveats: Vec::new(),
    };
    if !models.values().any(|it| it.len() > 1) {
        return None;
    }
    for devices in models.into_values() {
        of_model(&devices, policy, &mut found);
    }
    found.groups.sort_by(|a, b| {
        (std::cmp::Reverse(a.tenants.len()), &a.tenants)
            .cmp(&(std::cmp::Reverse(b.tenants.len()), &b.tenants))
    });
    found.devices_then = found.groups.len();
    let (now, then) = (found.devices_now, found.devices_then);
    found.sentence = match now.saturating_sub(then) {
        0 => format!(
            "no way to move tenants between the {now} GPUs was found that would take fewer of them"
        ),
        freed => format!(
            "if tenants can move, they take {then} GPUs instead of {now}, which frees {freed}; fewer than {} are impossible, as far as pairs and memory go",
            found.devices_at_least
        ),
    };
    Some(found)
}

/// Tenants of devices of one model.
fn of_model(devices: &[&Situation], policy: &Policy, found: &mut Together) {
    let Some(first) = devices.first() else { return };
    let mut tenants: Vec<Tenant> = devices
        .iter()
        .flat_map(|device| device.tenants.iter().map(|it| renamed(it, device, devices)))
        .collect();
    if tenants.len() > MOST_TENANTS {
        found.caveats.push(format!(
            "only {MOST_TENANTS} of {} tenants were compared with each other, and the others count as alone: name fewer GPUs at a time",
            tenants.len()
        ));
        let left = tenants.split_off(MOST_TENANTS);
        found.groups.extend(left.iter().map(alone));
    }
    let empty = emptied(first);
    let solos: Vec<Solo> = tenants.par_iter().map(|it| Solo::of(&empty, it)).collect();
    let model = Model { situation: with(&empty, &tenants), solos, policy };
    let pairs: Vec<(usize, usize)> =
        (0..tenants.len()).flat_map(|i| (i + 1..tenants.len()).map(move |j| (i, j))).collect();
    let costs: Vec<f64> = pairs
        .par_iter()
        .map(|(i, j)| {
            model.cost(&[*i, *j]).map_or(f64::INFINITY, |it| it.1.unwrap_or(UNKNOWN_EXTRA))
        })
        .collect();
    let table: BTreeMap<(usize, usize), f64> = pairs.into_iter().zip(costs).collect();
    let pair_cost =
        |i: usize, j: usize| table.get(&(i.min(j), i.max(j))).copied().unwrap_or(f64::INFINITY);
    let piece = |it: &Tenant| Piece {
        // Whose memory is not known shares with nobody: its pairs are not possible.
        peak_bytes: it.needed_mib(policy).unwrap_or(0.0) * MIB,
        most_cost: f64::INFINITY,
        realm: 0,
    };
    let pieces: Vec<Piece> = tenants.iter().map(piece).collect();
    let grouping = group(&Fleet {
        tenants: &pieces,
        most_in_group: MOST_IN_GROUP,
        capacity_bytes: empty.room_mib(policy).map_or(f64::INFINITY, |it| it * MIB),
        pair_cost: &pair_cost,
        group_peak_bytes: None,
        group_cost: None,
    });
    found.devices_at_least += grouping.devices_at_least + grouping.unplaceable.len();
    found.groups.extend(grouping.unplaceable.iter().map(|it| alone(&tenants[*it])));
    let more: usize = grouping.groups.into_iter().map(|it| model.settle(it, found)).sum();
    if more > 0 {
        found.caveats.push(format!(
            "groups that share well in pairs, but not all at once, were parted, which takes {more} GPUs more than pairs would have it"
        ));
    }
}

/// Tenants of devices of one model, each played by itself.
struct Model<'a> {
    situation: Situation,
    solos: Vec<Solo>,
    policy: &'a Policy,
}

impl Model<'_> {
    /// Decides about a group as a whole; of one that does not hold, as many as share a device, then the rest in the same way.
    ///
    /// Returns how many devices more than one it takes.
    fn settle(&self, mut members: Vec<usize>, found: &mut Together) -> usize {
        let tenants = &self.situation.tenants;
        let before = found.groups.len();
        while members.len() > 1 {
            let whole = self.cost(&members).map(|it| (members.len(), it));
            let fitting = whole.or_else(|| {
                let (count, choice) = most(&self.situation, &self.solos, &members, self.policy)?;
                Some((count, way(&choice)?))
            });
            // Whoever is first shares with nobody after it.
            let (count, shared) = fitting.map_or((1, None), |it| (it.0, Some(it.1)));
            let rest = members.split_off(count);
            found.groups.push(Group {
                tenants: members.iter().map(|it| tenants[*it].name.clone()).collect(),
                mechanism: shared.map(|it| it.0),
                worst_p99_factor: shared.and_then(|it| it.1).map(|it| 1.0 + it),
            });
            members = rest;
        }
        found.groups.extend(members.iter().map(|it| alone(&tenants[*it])));
        (found.groups.len() - before).saturating_sub(1)
    }

    /// The way that a device would be shared by some, and the upper end of the worst p99 beyond that alone, where that was predicted.
    ///
    /// `None` where it would not be shared.
    fn cost(&self, places: &[usize]) -> Option<(MechanismId, Option<f64>)> {
        let some = self.situation.with_some(places.iter().copied());
        let solos: Vec<&Solo> = places.iter().map(|it| &self.solos[*it]).collect();
        way(&weigh(&some, &solos, self.policy))
    }
}

fn way(choice: &Choice) -> Option<(MechanismId, Option<f64>)> {
    let picked = choice.picked().filter(|_| choice.outcome() == Outcome::Share)?;
    let worst = picked.cost.and_then(|it| it.worst_p99_factor);
    Some((picked.mechanism, worst.map(|it| it - 1.0)))
}

fn alone(it: &Tenant) -> Group {
    Group { tenants: vec![it.name.clone()], mechanism: None, worst_p99_factor: None }
}

/// The device without anybody on it.
fn emptied(device: &Situation) -> Situation {
    let mut empty = device.clone();
    empty.tenants.clear();
    empty.now =
        Current { is_mig: device.now.is_mig, is_mps: device.now.is_mps, ..Current::default() };
    (empty.saturated, empty.met) = (None, None);
    empty.unseen.clear();
    empty.options.budget = Budget { events: PAIR_EVENTS, ..empty.options.budget };
    empty
}

fn with(empty: &Situation, tenants: &[Tenant]) -> Situation {
    let mut situation = empty.clone();
    situation.tenants = tenants.to_vec();
    situation.now.tenants = tenants.len();
    situation
}

/// A tenant under a name that no other has: several devices may have one of the same name.
fn renamed(it: &Tenant, device: &Situation, devices: &[&Situation]) -> Tenant {
    let same = devices.iter().flat_map(|it| &it.tenants).filter(|other| other.name == it.name);
    let mut tenant = it.clone();
    if same.count() > 1 {
        tenant.name = format!("{} ({})", it.name, device.label);
        if let Some(demand) = &mut tenant.demand {
            demand.name.clone_from(&tenant.name);
        }
        if let Some(memory) = &mut tenant.memory {
            memory.label.clone_from(&tenant.name);
        }
    }
    tenant
}
