//! Where MIG instances can stand on a GPU: profiles of every board that has MIG, their sizes and their places.
//!
//! The table is what is published; a device that answers for itself is right where it differs, and [`MigBoard`] can be
//! built from its answers too. Names of profiles round and vary with the driver: compare memory in MiB, never by name.

mod recognise;
mod room;
mod table;

#[cfg(test)]
mod tests;

pub use recognise::{by_pci_device_id, by_product_name};
pub use room::Room;
pub use table::BOARDS;

use serde::Serialize;
use std::borrow::Cow;

/// Generation of a GPU that has MIG.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Architecture {
    /// A100, A800, A30.
    Ampere,
    /// H100, H20, H200, GH200.
    Hopper,
    /// B200, B300, RTX PRO, Thor.
    Blackwell,
}

/// What switching MIG on or off takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ModeChange {
    /// The GPU is reset, so that every process on it ends first; the mode then survives a reboot.
    NeedsReset,
    /// No reset is said to be needed, which was not checked; users report that the mode does not survive a reboot.
    ProbablyNoReset,
}

/// How well a row is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Provenance {
    /// Read from a device's own listing, or said by the device itself.
    Measured,
    /// From NVIDIA's guide.
    Documented,
    /// Name and count from a document or a configuration, the rest as on other boards of the family.
    Pattern,
}

/// Engines that an instance has to itself; `None` where no source says how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Engines {
    /// Copy engines.
    pub copy: Option<u32>,
    /// Video decoders.
    pub decoder: Option<u32>,
    /// Video encoders.
    pub encoder: Option<u32>,
    /// JPEG decoders.
    pub jpeg: Option<u32>,
    /// Optical flow accelerators.
    pub optical_flow: Option<u32>,
}

impl Engines {
    /// All counts in the order of the fields.
    pub fn counts(&self) -> [Option<u32>; 5] {
        [self.copy, self.decoder, self.encoder, self.jpeg, self.optical_flow]
    }
}

/// One size of instance on one board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MigProfile {
    /// Name as the driver prints it, without `MIG`: `3g.40gb`, `1g.10gb+me`.
    pub name: Cow<'static, str>,
    /// Id for placements and `nvidia-smi mig -cgi`; `None` where it is not published.
    pub gi_profile_id: Option<u32>,
    /// Index for NVML's profile queries.
    pub nvml_profile_enum: u32,
    /// Compute slices.
    pub compute_slices: u32,
    /// Memory slices; 0 where the memory is not partitioned.
    pub memory_slices: u32,
    /// Memory of an instance as the driver reports it, MiB; `None` where no source says it.
    pub memory_mib: Option<u64>,
    /// SMs of an instance; `None` where no source says it.
    pub sm_count: Option<u32>,
    /// Engines of an instance.
    pub engines: Engines,
    /// Instances of this profile at most.
    pub max_instances: u32,
    /// Slots at which an instance may begin; empty where it is not known.
    pub starts: Cow<'static, [u32]>,
    /// Slots that an instance takes from its start; `None` where it is not known.
    pub size: Option<u32>,
    /// How well this row is known.
    pub provenance: Provenance,
}

impl MigProfile {
    /// What stands behind the sizes in the name, `+me` or `-me`; empty for a plain profile.
    pub fn suffix(&self) -> &str {
        self.name.find(['+', '-']).map_or("", |at| &self.name[at..])
    }

    /// Whether it is a plain size, without or with other engines than usual.
    pub fn is_plain(&self) -> bool {
        self.suffix().is_empty()
    }

    /// Whether it claims the media extensions of which there is one set on a GPU: `+me`, `+me.all`.
    pub fn claims_media(&self) -> bool {
        self.suffix().starts_with("+me")
    }

    /// Whether it can draw: `+gfx`.
    pub fn has_graphics(&self) -> bool {
        self.suffix() == "+gfx"
    }

    /// Its compute slices as the short name that people use, `3g`; several profiles of a board may share it.
    pub fn short_name(&self) -> String {
        format!("{}g", self.compute_slices)
    }
}

/// A GPU that can be cut into MIG instances.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MigBoard {
    /// Our own name for it: product and memory.
    pub name: Cow<'static, str>,
    /// Products that share this geometry, for people.
    pub variants: Cow<'static, str>,
    /// PCI device ids, without the vendor; empty where none is published.
    pub pci_device_ids: Cow<'static, [u16]>,
    /// Generation; `None` for a device that did not say.
    pub architecture: Option<Architecture>,
    /// CUDA compute capability, major and minor.
    pub compute_capability: Option<(u8, u8)>,
    /// Memory by which the board is called, GiB; `None` where the memory is not partitioned.
    pub memory_gib: Option<u32>,
    /// SMs of the whole GPU without MIG.
    pub sm_total: Option<u32>,
    /// Compute slices of the GPU.
    pub compute_slices: u32,
    /// Memory slices of the GPU; 0 where the memory is not partitioned.
    pub memory_slices: u32,
    /// Length of the axis on which instances are placed; `None` where placements are not known.
    pub slots: Option<u32>,
    /// Whether the placements were read from a device of this kind; otherwise they are those of its family, or unknown.
    pub are_placements_seen: bool,
    /// Whether at most one compute and one graphics instance can exist, whatever their sizes.
    pub has_one_of_each_kind: bool,
    /// Oldest driver that has MIG on this board; `None` where it is not published.
    pub minimum_driver: Option<&'static str>,
    /// Profiles; an instance names its profile by the index in this list.
    pub profiles: Cow<'static, [MigProfile]>,
}

impl MigBoard {
    /// What switching MIG on or off takes; `None` for a generation that is not known.
    ///
    /// Source: NVIDIA, MIG User Guide, on the A100 and A30; on Hopper and later *not checked*.
    pub fn mode_change(&self) -> Option<ModeChange> {
        self.architecture.map(|it| match it {
            Architecture::Ampere => ModeChange::NeedsReset,
            Architecture::Hopper | Architecture::Blackwell => ModeChange::ProbablyNoReset,
        })
    }

    /// SMs that no instance can have while MIG is on; `None` where one of the counts is not known.
    pub fn sms_lost_to_mig(&self) -> Option<u32> {
        let whole = self.profiles.get(self.whole()?)?;
        Some(self.sm_total?.saturating_sub(whole.sm_count?))
    }

    /// Whether it is known where instances may stand.
    pub fn are_placements_known(&self) -> bool {
        self.slots.is_some() && self.profiles.iter().any(|it| it.size.is_some())
    }

    /// Index of the profile with this name, in any case of letters.
    pub fn profile_named(&self, name: &str) -> Option<usize> {
        self.profiles.iter().position(|it| it.name.eq_ignore_ascii_case(name.trim()))
    }

    /// Index of the profile with this id of GPU instances.
    pub fn profile_with_id(&self, gi_profile_id: u32) -> Option<usize> {
        self.profiles.iter().position(|it| it.gi_profile_id == Some(gi_profile_id))
    }

    /// Index of the profile that is the whole GPU: most compute, then most memory, then the plain one.
    pub fn whole(&self) -> Option<usize> {
        let size = |it: &MigProfile| (it.compute_slices, it.memory_slices, it.is_plain());
        (0..self.profiles.len()).rev().max_by_key(|it| size(&self.profiles[*it]))
    }
}
