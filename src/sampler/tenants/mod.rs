//! Who a process belongs to: a pod, a container, a Slurm job, a unit, a user, or what a rule says.
//!
//! Everything is read below a root, so that a made-up tree stands in for a host.
//! `docs/TENANTS.md` says the order in which names are looked for.

mod cgroup;
mod command;
mod ghost;
mod host;
mod names;
mod resolver;
mod rules;
#[cfg(test)]
mod tests;
mod view;

pub(crate) use crate::sampler::tenants::ghost::Ghost;
pub use crate::sampler::tenants::ghost::{LEAST_HIDDEN_BYTES, hidden_bytes};
pub(crate) use crate::sampler::tenants::host::{Host, plain};
pub use crate::sampler::tenants::resolver::Resolver;
pub use crate::sampler::tenants::rules::{Rules, RulesError};
pub(crate) use crate::sampler::tenants::view::{View, of as view_of};

use crate::domain::blind_spot::BlindSpot;
use crate::domain::ident::{GpuId, ProcessKey, TenantId};
use crate::domain::outline::Process;

/// Tenant of processes of which nothing says whose they are.
pub const UNATTRIBUTED: &str = TenantId::UNATTRIBUTED;

/// Tenant of memory that no visible process holds.
pub const GHOST: &str = "ghost";

/// Tenant of the server of MPS, which may hold the memory of clients that nobody sees.
pub const MPS_SERVER: &str = "MPS server (clients hidden)";

/// Says who a process is and to whom it belongs.
pub trait Tenants {
    /// Describes a process that the driver names on a GPU; what is not known stays `None`.
    ///
    /// Asked once for each process of each GPU, as soon as it is seen, for it may end at any moment.
    fn describe(&mut self, gpu: &GpuId, process: ProcessKey) -> Process;

    /// What could not be seen of processes, and was not told before.
    fn blind_spots(&mut self) -> Vec<BlindSpot>;
}
