//! From the instances that stand now to those that are wanted, with the fewest tenants disturbed.

use crate::domain::mig_geometry::MigBoard;
use crate::recommender::layout::Instance;
use crate::recommender::layout::Layout;
use crate::recommender::layout::{openness, placements, size};
use serde::Serialize;
use std::cmp::Reverse;

/// An instance that exists now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// The instance.
    pub instance: Instance,
    /// Whether something runs on it, so that it has to be drained before it can be destroyed.
    pub is_occupied: bool,
}

/// An occupied instance that is destroyed, and the new one of the same profile that takes its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Move {
    /// Where it stood.
    pub from: Instance,
    /// Where it stands then.
    pub to: Instance,
}

/// What has to be done for a layout: first everything is destroyed, then everything is created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// What stands afterwards.
    pub layout: Layout,
    /// Instances that stay untouched, rising.
    pub keep: Vec<Instance>,
    /// Instances to destroy, rising.
    pub destroy: Vec<Instance>,
    /// Those of them that are occupied and have to be drained first, rising.
    pub drain: Vec<Instance>,
    /// Instances to create, largest first; make them with their starts where the board's placements are known.
    pub create: Vec<Instance>,
    /// The drained ones that get a new instance of the same profile.
    pub moves: Vec<Move>,
    /// The drained ones for which there is none.
    pub without_successor: Vec<Instance>,
}

/// The way to exactly the wanted profiles that drains the fewest occupied instances, then destroys the fewest.
///
/// Whoever should stay has to be among the wanted. Of equal ways the one that leaves most room for large instances, then the
/// one with lowest starts. `None` where the wanted cannot stand beside each other.
pub fn change(board: &MigBoard, current: &[Standing], wanted: &[usize]) -> Option<Change> {
    let all = placements(board, wanted).into_iter().map(|it| change_to(board, current, it));
    let ranked = all.map(|it| {
        let open = Reverse(openness(board, &it.layout));
        ((it.drain.len(), it.destroy.len(), open, it.layout.clone()), it)
    });
    ranked.min_by(|one, other| one.0.cmp(&other.0)).map(|it| it.1)
}

/// The way to one layout.
pub fn change_to(board: &MigBoard, current: &[Standing], layout: Layout) -> Change {
    let mut current = current.to_vec();
    current.sort_unstable_by_key(|it| (it.instance, !it.is_occupied));
    let mut create = layout.instances.clone();
    let (mut keep, mut destroy, mut drain) = (Vec::new(), Vec::new(), Vec::new());
    for standing in &current {
        if let Some(at) = create.iter().position(|it| *it == standing.instance) {
            create.remove(at);
            keep.push(standing.instance);
        } else {
            destroy.push(standing.instance);
            drain.extend(standing.is_occupied.then_some(standing.instance));
        }
    }
    create.sort_by_key(|it| (Reverse(size(board, it.profile)), it.start));
    let mut free = create.clone();
    let (mut moves, mut without_successor) = (Vec::new(), Vec::new());
    for from in &drain {
        match free.iter().position(|it| it.profile == from.profile) {
            Some(at) => moves.push(Move { from: *from, to: free.remove(at) }),
            None => without_successor.push(*from),
        }
    }
    Change { layout, keep, destroy, drain, create, moves, without_successor }
}
