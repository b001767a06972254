//! What a layout leaves over: what can still be used, what nobody can use, and what stands in the way.

use crate::domain::mig_geometry::MigBoard;
use crate::domain::mig_geometry::Room;
use crate::recommender::layout::Instance;
use crate::recommender::layout::Layout;
use crate::recommender::layout::{fits, size};
use serde::Serialize;

/// A profile for which enough is free, but not in one of its places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Misplaced {
    /// Index of the profile.
    pub profile: usize,
    /// The place of it that would be easiest to clear.
    pub start: u32,
    /// The instances that stand there; placed elsewhere, they would leave room for it.
    pub in_the_way: Vec<Instance>,
}

/// What a layout leaves over.
///
/// Stranded is what remains however the rest of the board is filled without touching the instances that stand. Each of the
/// four is the least by itself; one filling need not reach all of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Leftover {
    /// Compute slices that no instance has.
    pub free_compute_slices: u32,
    /// Memory slices that no instance has.
    pub free_memory_slices: u32,
    /// Compute slices that no further instance can use.
    pub stranded_compute_slices: u32,
    /// Memory slices that no further instance can use.
    pub stranded_memory_slices: u32,
    /// SMs of the largest instance that no instance has or can have; `None` where SMs of a profile are not known.
    pub stranded_sms: Option<u32>,
    /// Memory of the largest instance that no instance has or can have, MiB; `None` where memory of a profile is not known.
    pub stranded_memory_mib: Option<u64>,
    /// The largest profile of which another instance can be made; `None` when the board is full.
    pub largest_profile: Option<usize>,
    /// Profiles that would fit if something stood elsewhere.
    pub misplaced: Vec<Misplaced>,
}

/// What a layout leaves over; `None` for instances that cannot stand beside each other.
pub fn leftover(board: &MigBoard, layout: &Layout) -> Option<Leftover> {
    let room = layout.room(board)?;
    let most = Most::of(&room);
    let all_open = 0..board.profiles.len();
    let largest = all_open
        .filter(|it| room.starts(*it).iter().any(|start| room.admits(*it, *start)))
        .rev()
        .max_by_key(|it| size(board, *it));
    Some(Leftover {
        free_compute_slices: room.free_compute_slices(),
        free_memory_slices: room.free_memory_slices(),
        stranded_compute_slices: room.free_compute_slices().saturating_sub(most.compute_slices),
        stranded_memory_slices: room.free_memory_slices().saturating_sub(most.memory_slices),
        stranded_sms: stranded(board, layout, most.sms, |it| it.sm_count.map(u64::from))
            .and_then(|it| u32::try_from(it).ok()),
        stranded_memory_mib: stranded(board, layout, most.memory_mib, |it| it.memory_mib),
        largest_profile: largest,
        misplaced: misplaced(&room, layout),
    })
}

/// What the whole GPU as one instance would have more than the instances and the best of what can be added.
fn stranded(
    board: &MigBoard,
    layout: &Layout,
    most: u64,
    of: impl Fn(&crate::domain::mig_geometry::MigProfile) -> Option<u64>,
) -> Option<u64> {
    let known: Vec<u64> = board.profiles.iter().map(of).collect::<Option<_>>()?;
    let taken: u64 = layout.instances.iter().filter_map(|it| known.get(it.profile)).sum();
    Some(known.get(board.whole()?)?.saturating_sub(taken + most))
}

/// The most of each that further instances can take.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Most {
    pub(super) compute_slices: u32,
    pub(super) memory_slices: u32,
    sms: u64,
    memory_mib: u64,
}

impl Most {
    /// The most over everything that can be added to a room.
    pub(super) fn of(room: &Room<'_>) -> Self {
        let mut places: Vec<Instance> = (0..room.board().profiles.len())
            .flat_map(|profile| room.starts(profile).iter().map(move |it| (profile, *it)))
            .filter(|(profile, start)| room.admits(*profile, *start))
            .map(|(profile, start)| Instance { start, profile })
            .collect();
        places.sort_unstable();
        let mut most = Self::default();
        most.add(&mut room.clone(), &places, Self::default());
        most
    }

    fn add(&mut self, room: &mut Room<'_>, places: &[Instance], so_far: Self) {
        self.compute_slices = self.compute_slices.max(so_far.compute_slices);
        self.memory_slices = self.memory_slices.max(so_far.memory_slices);
        self.sms = self.sms.max(so_far.sms);
        self.memory_mib = self.memory_mib.max(so_far.memory_mib);
        for (at, place) in places.iter().enumerate() {
            let Some(profile) = room.board().profiles.get(place.profile) else { continue };
            if room.put(place.profile, place.start) {
                let more = Self {
                    compute_slices: so_far.compute_slices + profile.compute_slices,
                    memory_slices: so_far.memory_slices + profile.memory_slices,
                    sms: so_far.sms + u64::from(profile.sm_count.unwrap_or(0)),
                    memory_mib: so_far.memory_mib + profile.memory_mib.unwrap_or(0),
                };
                self.add(room, &places[at + 1..], more);
                room.take(place.profile, place.start);
            }
        }
    }
}

fn misplaced(room: &Room<'_>, layout: &Layout) -> Vec<Misplaced> {
    let board = room.board();
    let mut found = Vec::new();
    for profile in 0..board.profiles.len() {
        let is_open = room.starts(profile).iter().any(|it| room.admits(profile, *it));
        let mut wanted = layout.profiles();
        wanted.push(profile);
        if is_open || !room.admits_profile(profile) || !fits(board, &wanted) {
            continue;
        }
        let in_the_way = |start: u32| -> Vec<Instance> {
            let stands = |it: &&Instance| room.overlap((profile, start), (it.profile, it.start));
            layout.instances.iter().filter(stands).copied().collect()
        };
        let places = room.starts(profile).iter().map(|it| (in_the_way(*it), *it));
        if let Some((in_the_way, start)) = places.min_by_key(|it| (it.0.len(), it.1)) {
            found.push(Misplaced { profile, start, in_the_way });
        }
    }
    found
}
