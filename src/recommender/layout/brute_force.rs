//! Another implementation of the rules, from the raw rows and by plain enumeration, to compare with.

use super::*;
use crate::domain::mig_geometry::MigProfile;
use std::collections::{BTreeMap, BTreeSet};

/// Every set of profiles with every layout of it, the empty one left out.
pub(super) type Layouts = BTreeMap<Vec<usize>, BTreeSet<Vec<Instance>>>;

/// Slots of an instance, written out.
fn slots(board: &MigBoard, profile: &MigProfile, start: u32) -> Vec<u32> {
    let width = match (board.slots, board.memory_slices) {
        (Some(_), _) => profile.size.unwrap(),
        (None, 0) => profile.compute_slices,
        (None, _) => profile.memory_slices,
    };
    (start..start + width).collect()
}

fn is_legal(board: &MigBoard, instances: &[Instance]) -> bool {
    let of = |it: &Instance| &board.profiles[it.profile];
    let axis = board.slots.unwrap_or(board.memory_slices.max(board.compute_slices));
    let all: Vec<u32> = instances.iter().flat_map(|it| slots(board, of(it), it.start)).collect();
    let distinct: BTreeSet<u32> = all.iter().copied().collect();
    let sum = |what: fn(&MigProfile) -> u32| instances.iter().map(|it| what(of(it))).sum::<u32>();
    let count =
        |what: &dyn Fn(&MigProfile) -> bool| instances.iter().filter(|it| what(of(it))).count();
    let names: BTreeSet<&str> = instances.iter().map(|it| of(it).name.as_ref()).collect();
    let within = |name: &&str| {
        let most = board.profiles.iter().find(|it| it.name == *name).unwrap().max_instances;
        count(&|it| it.name == *name) <= most as usize
    };
    let engines = [
        |it: &MigProfile| it.engines.decoder.unwrap_or(0),
        |it: &MigProfile| it.engines.encoder.unwrap_or(0),
        |it: &MigProfile| it.engines.jpeg.unwrap_or(0),
        |it: &MigProfile| it.engines.optical_flow.unwrap_or(0),
    ];
    let has_engines =
        engines.iter().all(|what| sum(*what) <= board.profiles.iter().map(*what).max().unwrap());
    let gfx = count(&|it| it.name.ends_with("+gfx"));
    let kinds = gfx <= 1 && instances.len() - gfx <= 1;
    distinct.len() == all.len()
        && distinct.iter().all(|it| *it < axis)
        && sum(|it| it.compute_slices) <= board.compute_slices
        && names.iter().all(within)
        && count(&|it| it.name.contains("+me")) <= 1
        && has_engines
        && (kinds || !board.name.starts_with("Thor"))
}

/// Goes through all places of all profiles in order and takes each or leaves it.
pub(super) fn layouts(board: &MigBoard) -> Layouts {
    let mut places = Vec::new();
    for (profile, it) in board.profiles.iter().enumerate() {
        let any: Vec<u32> = (0..12).collect();
        let starts = if board.slots.is_some() { it.starts.to_vec() } else { any };
        places.extend(starts.into_iter().map(|start| Instance { start, profile }));
    }
    let mut found = Layouts::new();
    let mut open: Vec<(usize, Vec<Instance>)> = vec![(0, Vec::new())];
    while let Some((from, instances)) = open.pop() {
        for (at, place) in places.iter().enumerate().skip(from) {
            let mut more = instances.clone();
            more.push(*place);
            if is_legal(board, &more) {
                let mut profiles: Vec<usize> = more.iter().map(|it| it.profile).collect();
                profiles.sort_unstable();
                let mut sorted = more.clone();
                sorted.sort_unstable();
                found.entry(profiles).or_default().insert(sorted);
                open.push((at + 1, more));
            }
        }
    }
    found
}

/// Sets to which no profile of all can be added.
pub(super) fn maximal(found: &Layouts, profiles: usize) -> Vec<Vec<usize>> {
    let is_maximal = |set: &&Vec<usize>| {
        (0..profiles).all(|it| {
            let mut more = (*set).clone();
            more.push(it);
            more.sort_unstable();
            !found.contains_key(&more)
        })
    };
    found.keys().filter(is_maximal).cloned().collect()
}

/// The least of occupied and of all instances that must go for a set of profiles.
pub(super) fn least_destroyed(
    found: &Layouts,
    current: &[Standing],
    wanted: &[usize],
) -> Option<(usize, usize)> {
    let gone = |layout: &Vec<Instance>| {
        let goes = |it: &&Standing| !layout.contains(&it.instance);
        let gone: Vec<&Standing> = current.iter().filter(goes).collect();
        (gone.iter().filter(|it| it.is_occupied).count(), gone.len())
    };
    found.get(wanted)?.iter().map(gone).min()
}

/// The least worst cost, and the least sum with it.
pub(super) fn least_cost(found: &Layouts, applicants: &[Applicant]) -> Option<(f64, f64)> {
    let mut all: Vec<Vec<(usize, f64)>> = vec![Vec::new()];
    for applicant in applicants {
        all = all
            .iter()
            .flat_map(|it| applicant.options.iter().map(|more| [it.as_slice(), &[*more]].concat()))
            .collect();
    }
    let cost = |it: &Vec<(usize, f64)>| {
        let mut profiles: Vec<usize> = it.iter().map(|it| it.0).collect();
        profiles.sort_unstable();
        let worst = it.iter().map(|it| it.1).fold(0.0, f64::max);
        found.contains_key(&profiles).then(|| (worst, it.iter().map(|it| it.1).sum::<f64>()))
    };
    all.iter().filter_map(cost).min_by(|one, other| one.partial_cmp(other).unwrap())
}
