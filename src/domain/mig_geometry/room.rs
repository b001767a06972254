//! What is taken on a GPU, and whether one more instance may stand at a place.

use crate::domain::mig_geometry::MigBoard;
use crate::domain::mig_geometry::MigProfile;

/// Widest axis of placements; a device that claims a longer one is not believed.
const MOST_SLOTS: u32 = 64;

/// Kinds of media engines.
const MEDIA: usize = 4;

/// A board with the instances that stand on it.
///
/// The rules: no slot twice; compute and memory slices of the board; instances of a profile at most; the media extensions
/// once; no media engine twice, as far as counts are known (copy engines are left out: Thor lists its only one for each instance). Where placements are not published, instances are laid side by side
/// on an axis of memory slices, or of compute slices where the memory is not partitioned, and starts mean nothing outside.
///
/// Source: NVIDIA, MIG User Guide, partitioning; the rule on engines follows from their being dedicated (*not checked*
/// beyond the guide's remark that `+me.all` leaves none to others).
#[derive(Debug, Clone)]
pub struct Room<'a> {
    board: &'a MigBoard,
    starts: Vec<Vec<u32>>,
    slots: u64,
    compute: u32,
    memory: u32,
    of_profile: Vec<u32>,
    media: u32,
    graphics: u32,
    engines: [u32; MEDIA],
    most_engines: [u32; MEDIA],
}

impl<'a> Room<'a> {
    /// A board on which nothing stands yet.
    pub fn empty(board: &'a MigBoard) -> Self {
        let mut most_engines = [0; MEDIA];
        for profile in board.profiles.iter() {
            for (most, count) in most_engines.iter_mut().zip(media_engines(profile)) {
                *most = (*most).max(count);
            }
        }
        let axis = match board.slots.filter(|_| board.are_placements_known()) {
            Some(slots) => slots,
            None if board.memory_slices > 0 => board.memory_slices,
            None => board.compute_slices,
        };
        let axis = axis.min(MOST_SLOTS);
        Self {
            board,
            starts: (0..board.profiles.len()).map(|it| starts_on(board, axis, it)).collect(),
            slots: 0,
            compute: 0,
            memory: 0,
            of_profile: vec![0; board.profiles.len()],
            media: 0,
            graphics: 0,
            engines: [0; MEDIA],
            most_engines,
        }
    }

    /// The board.
    pub fn board(&self) -> &'a MigBoard {
        self.board
    }

    /// Slots that an instance takes; 0 for a profile whose size is not known although others are.
    pub fn width(&self, profile: usize) -> u32 {
        width_on(self.board, profile)
    }

    /// Slots at which an instance of a profile may begin on an empty board, in rising order.
    pub fn starts(&self, profile: usize) -> &[u32] {
        self.starts.get(profile).map_or(&[], Vec::as_slice)
    }

    /// Whether an instance of a profile would be within every limit, wherever it stood.
    pub fn admits_profile(&self, profile: usize) -> bool {
        let Some(it) = self.board.profiles.get(profile) else { return false };
        let kind_is_free = match it.has_graphics() {
            true => self.graphics == 0,
            false => self.of_profile.iter().sum::<u32>() == self.graphics,
        };
        let engines_are_free = media_engines(it)
            .into_iter()
            .zip(self.engines.into_iter().zip(self.most_engines))
            .all(|(count, (taken, most))| taken + count <= most);
        self.compute + it.compute_slices <= self.board.compute_slices
            && self.memory + it.memory_slices <= self.board.memory_slices
            && self.of_profile[profile] < it.max_instances
            && !(it.claims_media() && self.media > 0)
            && (kind_is_free || !self.board.has_one_of_each_kind)
            && engines_are_free
    }

    /// Whether an instance of a profile may be made at a start.
    pub fn admits(&self, profile: usize, start: u32) -> bool {
        self.admits_profile(profile)
            && self.starts(profile).contains(&start)
            && self.slots & self.mask(profile, start) == 0
    }

    /// Whether an instance at a start would take a slot of another instance.
    pub fn overlap(&self, one: (usize, u32), other: (usize, u32)) -> bool {
        self.mask(one.0, one.1) & self.mask(other.0, other.1) != 0
    }

    /// Puts an instance there; `false`, and nothing changes, where it may not stand.
    pub fn put(&mut self, profile: usize, start: u32) -> bool {
        let admits = self.admits(profile, start);
        if admits {
            self.slots |= self.mask(profile, start);
            self.count(profile, |all, one| all + one);
        }
        admits
    }

    /// Whether instances of all these profiles can be added somehow; large ones first are found soonest.
    pub fn has_room_for(&mut self, profiles: &[usize]) -> bool {
        let Some((&profile, rest)) = profiles.split_first() else { return true };
        for at in 0..self.starts(profile).len() {
            let start = self.starts(profile)[at];
            if self.put(profile, start) {
                let is_found = self.has_room_for(rest);
                self.take(profile, start);
                if is_found {
                    return true;
                }
            }
        }
        false
    }

    /// Takes an instance away that was put there.
    pub fn take(&mut self, profile: usize, start: u32) {
        self.slots &= !self.mask(profile, start);
        self.count(profile, u32::saturating_sub);
    }

    /// Compute slices that no instance has.
    pub fn free_compute_slices(&self) -> u32 {
        self.board.compute_slices.saturating_sub(self.compute)
    }

    /// Memory slices that no instance has.
    pub fn free_memory_slices(&self) -> u32 {
        self.board.memory_slices.saturating_sub(self.memory)
    }

    /// Instances of each profile, in the order of the profiles.
    pub fn counts(&self) -> &[u32] {
        &self.of_profile
    }

    fn count(&mut self, profile: usize, change: impl Fn(u32, u32) -> u32) {
        let Some(it) = self.board.profiles.get(profile) else { return };
        self.compute = change(self.compute, it.compute_slices);
        self.memory = change(self.memory, it.memory_slices);
        self.of_profile[profile] = change(self.of_profile[profile], 1);
        self.media = change(self.media, u32::from(it.claims_media()));
        self.graphics = change(self.graphics, u32::from(it.has_graphics()));
        for (all, one) in self.engines.iter_mut().zip(media_engines(it)) {
            *all = change(*all, one);
        }
    }

    fn mask(&self, profile: usize, start: u32) -> u64 {
        let width = self.width(profile);
        if width == 0 || width > MOST_SLOTS || start >= MOST_SLOTS {
            return 0;
        }
        (u64::MAX >> (MOST_SLOTS - width)) << start
    }
}

fn width_on(board: &MigBoard, profile: usize) -> u32 {
    match board.profiles.get(profile) {
        None => 0,
        Some(it) if board.are_placements_known() => it.size.unwrap_or(0),
        Some(it) if board.memory_slices > 0 => it.memory_slices,
        Some(it) => it.compute_slices,
    }
}

fn starts_on(board: &MigBoard, axis: u32, profile: usize) -> Vec<u32> {
    let width = width_on(board, profile);
    let Some(last) = axis.checked_sub(width).filter(|_| width > 0) else {
        return Vec::new();
    };
    if !board.are_placements_known() {
        return (0..=last).collect();
    }
    let starts = board.profiles.get(profile).map(|it| it.starts.as_ref());
    let mut starts: Vec<u32> = starts.unwrap_or_default().to_vec();
    starts.retain(|it| *it <= last);
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// Decoders, encoders, JPEG and optical flow; those that no source counts are 0 and refuse nobody.
fn media_engines(profile: &MigProfile) -> [u32; MEDIA] {
    let [_, decoder, encoder, jpeg, flow] = profile.engines.counts();
    [decoder, encoder, jpeg, flow].map(|it| it.unwrap_or(0))
}
