//! Which MIG instances a GPU takes beside each other, where, and how to get there from what stands now.
//!
//! Everything is searched through, since a board has at most some thousand layouts: results are exact. Where the
//! placements of a board are not published, results count as far as the instances go, and their starts mean nothing.

mod assign;
mod change;
mod fitting;
mod leftover;

#[cfg(test)]
mod brute_force;
#[cfg(test)]
mod tests;

pub use assign::{Applicant, Assignment, assign};
pub use change::{Change, Move, Standing, change, change_to};
pub use fitting::{Fit, Fitting, Need, fitting};
pub use leftover::{Leftover, Misplaced, leftover};

use crate::domain::mig_geometry::MigBoard;
use crate::domain::mig_geometry::Room;
use serde::Serialize;

/// A MIG instance at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Instance {
    /// First slot.
    pub start: u32,
    /// Index in the profiles of the board.
    pub profile: usize,
}

/// Instances that can stand beside each other, in the order of their starts.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Layout {
    /// The instances.
    pub instances: Vec<Instance>,
}

impl Layout {
    /// A layout of these instances; `None` where they cannot stand beside each other.
    pub fn of(board: &MigBoard, mut instances: Vec<Instance>) -> Option<Self> {
        instances.sort_unstable();
        let layout = Self { instances };
        layout.room(board).map(|_| layout)
    }

    /// Profiles of the instances, rising.
    pub fn profiles(&self) -> Vec<usize> {
        let mut profiles: Vec<usize> = self.instances.iter().map(|it| it.profile).collect();
        profiles.sort_unstable();
        profiles
    }

    /// Names with starts for people: `4g.40gb:0 + 3g.40gb:4`; without starts where they are not known.
    pub fn text(&self, board: &MigBoard) -> String {
        let name = |it: &Instance| {
            let name = board.profiles.get(it.profile).map_or("?", |it| it.name.as_ref());
            match board.are_placements_known() {
                true => format!("{name}:{}", it.start),
                false => name.to_string(),
            }
        };
        self.instances.iter().map(name).collect::<Vec<_>>().join(" + ")
    }

    /// The board with these instances on it.
    fn room<'a>(&self, board: &'a MigBoard) -> Option<Room<'a>> {
        let mut room = Room::empty(board);
        self.instances.iter().all(|it| room.put(it.profile, it.start)).then_some(room)
    }
}

/// Whether instances of these profiles can stand beside each other somehow.
pub fn fits(board: &MigBoard, wanted: &[usize]) -> bool {
    Room::empty(board).has_room_for(&by_size(board, wanted))
}

/// Every layout of instances of these profiles, in rising order; empty where there is none.
pub fn placements(board: &MigBoard, wanted: &[usize]) -> Vec<Layout> {
    let mut found = Vec::new();
    let mut room = Room::empty(board);
    walk(&mut room, &by_size(board, wanted), &mut Vec::new(), &mut |instances| {
        let mut instances = instances.to_vec();
        instances.sort_unstable();
        found.push(Layout { instances });
    });
    found.sort_unstable();
    found
}

/// The layout of these profiles that leaves most room for large instances; of equal ones the one with lowest starts.
///
/// `None` where they cannot stand beside each other.
pub fn place(board: &MigBoard, wanted: &[usize]) -> Option<Layout> {
    let all = placements(board, wanted);
    let closed = all.into_iter().map(|it| (std::cmp::Reverse(openness(board, &it)), it));
    closed.min().map(|it| it.1)
}

/// Every set of profiles of a family that a board takes, the empty one left out; each set in rising order.
///
/// - Shape: rising; a profile occurs as often in a set as it has instances.
pub fn feasible_sets(board: &MigBoard, family: &[usize]) -> Vec<Vec<usize>> {
    let mut family = family.to_vec();
    family.sort_unstable();
    family.dedup();
    let mut found = Vec::new();
    extend(board, &family, &mut Vec::new(), &mut found);
    found.sort_unstable();
    found
}

/// The feasible sets to which no further instance of the family can be added, even if all are placed anew.
pub fn maximal_sets(board: &MigBoard, family: &[usize]) -> Vec<Vec<usize>> {
    let feasible = feasible_sets(board, family);
    let is_larger = |set: &Vec<usize>, profile: usize| {
        let mut larger = set.clone();
        larger.push(profile);
        larger.sort_unstable();
        feasible.binary_search(&larger).is_ok()
    };
    let is_maximal = |set: &&Vec<usize>| !family.iter().any(|it| is_larger(set, *it));
    feasible.iter().filter(is_maximal).cloned().collect()
}

fn extend(board: &MigBoard, family: &[usize], set: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
    let from = set.last().copied().unwrap_or(0);
    for profile in family.iter().filter(|it| **it >= from) {
        set.push(*profile);
        if fits(board, set) {
            found.push(set.clone());
            extend(board, family, set, found);
        }
        set.pop();
    }
}

/// The profiles from the largest to the smallest, equal ones beside each other.
fn by_size(board: &MigBoard, wanted: &[usize]) -> Vec<usize> {
    let mut wanted = wanted.to_vec();
    wanted.sort_by_key(|it| (std::cmp::Reverse(size(board, *it)), *it));
    wanted
}

/// What makes a profile large: slots first, since they are what is scarce, then compute.
fn size(board: &MigBoard, profile: usize) -> (u32, u32) {
    let of = board.profiles.get(profile);
    of.map_or((0, 0), |it| (it.size.unwrap_or(it.memory_slices), it.compute_slices))
}

/// Visits every way to place the profiles. Equal profiles take rising starts.
fn walk(
    room: &mut Room<'_>,
    wanted: &[usize],
    placed: &mut Vec<Instance>,
    visit: &mut impl FnMut(&[Instance]),
) {
    let Some((&profile, rest)) = wanted.split_first() else { return visit(placed) };
    let after = placed.last().filter(|it| it.profile == profile).map(|it| it.start);
    for at in 0..room.starts(profile).len() {
        let start = room.starts(profile)[at];
        if after.is_some_and(|it| start <= it) || !room.put(profile, start) {
            continue;
        }
        placed.push(Instance { start, profile });
        walk(room, rest, placed, visit);
        placed.pop();
        room.take(profile, start);
    }
}

/// Starts that are still open to each profile, from the largest profile to the smallest.
fn openness(board: &MigBoard, layout: &Layout) -> Vec<usize> {
    let Some(room) = layout.room(board) else { return Vec::new() };
    let all: Vec<usize> = (0..board.profiles.len()).collect();
    let open = |it: usize| room.starts(it).iter().filter(|start| room.admits(it, **start)).count();
    by_size(board, &all).into_iter().map(open).collect()
}
