//! The ways to share a device, each of which judges a situation for itself.

mod capacity;
mod exclusive;
mod gates;
mod keeping;
mod lost;
mod memory;
mod mig;
mod mps;
mod plan;
mod time_slicing;

pub use capacity::Capacity;
pub use memory::peak_in_doubt;
pub use mig::accepted;
pub use plan::{
    Assessment, Assigned, Cost, Disruption, DisruptionLevel, Plan, Predicted, Standing,
};

use crate::recommender::played::Played;
use crate::recommender::policy::Policy;
use crate::recommender::situation::Situation;
use serde::Serialize;

/// Name of a way to share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MechanismId {
    /// A device for each tenant.
    Exclusive,
    /// One context at a time.
    TimeSlicing,
    /// Kernels of several clients at once.
    Mps,
    /// Hardware partitions.
    Mig,
}

impl MechanismId {
    /// Its word, as in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Exclusive => "exclusive",
            Self::TimeSlicing => "time-slicing",
            Self::Mps => "mps",
            Self::Mig => "mig",
        }
    }

    /// What schedulers of fractional GPUs call it; `None` where tenants get a resource of their own.
    ///
    /// Source: `kai.scheduler/gpu-compute-sharing-mode` of NVIDIA/KAI-Scheduler (*not checked*).
    pub const fn sharing_mode(self) -> Option<&'static str> {
        match self {
            Self::TimeSlicing => Some("time-slicing"),
            Self::Mps => Some("sm-sharing"),
            Self::Exclusive | Self::Mig => None,
        }
    }
}

/// What a way to share is asked about.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The device and who would share it.
    pub situation: &'a Situation,
    /// Every way to share, played.
    pub played: &'a Played,
    /// The thresholds.
    pub policy: &'a Policy,
}

/// A way to share a device.
pub trait Mechanism: Sync {
    /// Its name.
    fn id(&self) -> MechanismId;
    /// Its name for headings.
    fn title(&self) -> &'static str;
    /// What it separates and what it does not, in one sentence.
    fn separates(&self) -> &'static str;
    /// Whether it fits a situation, with every reason for and against.
    fn assess(&self, case: &Case<'_>) -> Assessment;
    /// What it takes to get there from how the device is shared now.
    fn disruption(&self, situation: &Situation, plan: &Plan) -> Disruption;
}

/// Every way to share, in the order in which reports list them.
pub const MECHANISMS: &[&dyn Mechanism] =
    &[&mig::Mig, &mps::Mps, &time_slicing::TimeSlicing, &exclusive::Exclusive];

/// The way to share of a name.
pub fn mechanism(id: MechanismId) -> &'static dyn Mechanism {
    MECHANISMS.iter().copied().find(|it| it.id() == id).unwrap_or(&exclusive::Exclusive)
}
