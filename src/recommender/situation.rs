//! Everything that a decision about one device stands on.

use crate::colocation::demand::Demand;
use crate::colocation::demand::Pace;
use crate::colocation::memory::{MeasuredPhase, MemoryDemand};
use crate::colocation::whatif::Options;
use crate::domain::ident::GpuId;
use crate::domain::mig_geometry::MigBoard;
use crate::recommender::policy::Policy;
use crate::recommender::ran_out::RanOut;
use crate::recommender::shape::LoadShape;
use crate::recommender::tenant_policy::{Class, TenantPolicy};
use serde::{Deserialize, Serialize};

/// Bytes of a MiB.
pub(crate) const MIB: f64 = 1_048_576.0;
/// What is said wherever one name stands for whoever works on a device.
pub(crate) const NOBODY_KNOWS: &str = "nobody knows who was on it: no process was recorded";

/// One device, who would share it, and what is known about both.
#[derive(Debug, Clone)]
pub struct Situation {
    /// The GPU.
    pub gpu: GpuId,
    /// Short name for people.
    pub label: String,
    /// The device.
    pub device: DeviceFacts,
    /// How it is shared now.
    pub now: Current,
    /// Who is on it, or would be.
    pub tenants: Vec<Tenant>,
    /// Whether the device as a whole was saturated, in a sentence; `None` where it was not, or was not seen.
    pub saturated: Option<String>,
    /// A recording of the memory of all of them together; `None` where they never ran beside each other.
    pub met: Option<MeasuredPhase>,
    /// Limits of the cluster and the driver.
    pub limits: Limits,
    /// What is known about the device for predictions.
    pub options: Options,
    /// What could not be seen, each in a sentence.
    pub unseen: Vec<String>,
}

/// What is known about a device.
#[derive(Debug, Clone, Default)]
pub struct DeviceFacts {
    /// Product name.
    pub model: Option<String>,
    /// Memory as the driver shows it, MiB.
    pub total_mib: Option<f64>,
    /// What the driver keeps of it, MiB.
    pub reserved_mib: Option<f64>,
    /// What contexts and hidden processes hold, MiB.
    pub others_mib: Option<f64>,
    /// Whether it can be cut into instances.
    pub mig: MigAbility,
}

/// Whether a device can be cut into MIG instances.
#[derive(Debug, Clone, Default)]
pub enum MigAbility {
    /// Nobody knows.
    #[default]
    Unknown,
    /// It cannot.
    No,
    /// It can, in this geometry.
    Board(Box<MigBoard>),
}

impl MigAbility {
    /// The geometry; `None` where it cannot be cut, or nobody knows.
    pub fn board(&self) -> Option<&MigBoard> {
        match self {
            Self::Board(it) => Some(it),
            Self::Unknown | Self::No => None,
        }
    }
}

/// How a device is shared now.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Current {
    /// Whether MIG mode is on; `None` where that was not recorded.
    pub is_mig: Option<bool>,
    /// Whether an MPS server holds it; `None` where that was not recorded.
    pub is_mps: Option<bool>,
    /// The MIG instances that stand on it.
    pub instances: Vec<StandingInstance>,
    /// How many tenants were seen on it.
    pub tenants: usize,
    /// Whether nobody knows who was on it: no process was recorded, and one name stands for all of its load.
    #[serde(default)]
    pub is_anonymous: bool,
    /// Moments at which its memory ran out, or seems to have, in time order.
    pub ran_out: Vec<RanOut>,
}

/// A MIG instance that stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingInstance {
    /// Its profile, as the driver names it.
    pub profile: String,
    /// First slot; `None` where that was not recorded.
    pub start: Option<u32>,
    /// Number of its GPU instance; `None` where that was not recorded.
    pub gpu_instance: Option<u32>,
    /// Who is in it, as far as that is known.
    pub tenants: Vec<String>,
}

/// Limits of the cluster and the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Contexts that one MPS server takes: 16 before Volta, 48 since, 60 from CUDA 13.1.
    pub mps_clients: u32,
    /// Whether Kubernetes' device plugin deals out the device, so that its limits hold too.
    pub has_device_plugin: bool,
}

impl Default for Limits {
    /// 48 clients, and a device plugin.
    ///
    /// Source: NVIDIA, Multi-Process Service, on Volta and later up to CUDA 13.0 (*not checked*).
    fn default() -> Self {
        Self { mps_clients: 48, has_device_plugin: true }
    }
}

/// Somebody who would share.
#[derive(Debug, Clone)]
pub struct Tenant {
    /// Its name.
    pub name: String,
    /// What its owner says about it.
    pub policy: TenantPolicy,
    /// What it asks of a device; `None` where nothing shows when it was active.
    pub demand: Option<Demand>,
    /// Its load's shape; `None` without a demand.
    pub shape: Option<LoadShape>,
    /// How its memory was seen over time; `None` where only its peak is known, or nothing.
    pub memory: Option<MemoryDemand>,
    /// CUDA clients that it has, at least; 1 where nobody counted.
    pub clients: u32,
    /// MIG instance in which it was recorded, by name; `None` without one.
    pub instance: Option<String>,
}

impl Tenant {
    /// A tenant with a demand; its shape and its peak of memory follow from it.
    pub fn of(demand: Demand, tenant_policy: TenantPolicy, policy: &Policy) -> Self {
        Self {
            name: demand.name.clone(),
            policy: tenant_policy,
            shape: Some(LoadShape::of_demand(&demand, policy)),
            demand: Some(demand),
            memory: None,
            clients: 1,
            instance: None,
        }
    }

    /// The same with its memory over time.
    pub fn remembering(self, memory: MemoryDemand) -> Self {
        Self { memory: Some(memory), ..self }
    }

    /// Its class, or what its load looks like: requests are waited for, anything else is throughput.
    pub fn class(&self) -> Class {
        self.policy.class.unwrap_or_else(|| match &self.demand {
            Some(it) if it.pace == Pace::Open => Class::LatencySensitive,
            _ => Class::Throughput,
        })
    }

    /// Whether its owner said what it is for.
    pub fn has_class(&self) -> bool {
        self.policy.class.is_some()
    }

    /// Whether it accepts to be stalled: as it says, or by its class.
    pub fn may_stall(&self) -> bool {
        self.policy.may_stall.unwrap_or_else(|| self.class().tolerates_faults())
    }

    /// Whether it accepts to fall with a neighbour: as it says, or by its class.
    pub fn may_crash(&self) -> bool {
        self.policy.may_crash.unwrap_or_else(|| self.class().tolerates_faults())
    }

    /// Whether it is to have a device to itself.
    pub fn wants_whole_device(&self) -> bool {
        let by_class = self.class() == Class::Training;
        self.policy.whole_device.unwrap_or(by_class) || self.policy.interconnect == Some(true)
    }

    /// Highest memory that counts, in MiB: the configured limit, else the peak that was seen; `None` where neither is known.
    pub fn peak_mib(&self) -> Option<f64> {
        let seen = self.memory.as_ref().map(|it| it.stairs.peak() / MIB);
        let of_demand = self.demand.as_ref().and_then(|it| it.memory_bytes).map(|it| it / MIB);
        let peak = match (seen, of_demand) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
        match (self.policy.memory_limit_mib, peak) {
            (Some(limit), Some(peak)) => Some(limit.max(peak)),
            (limit, peak) => limit.or(peak),
        }
    }

    /// How much an instance or a pinned limit for it must hold, in MiB: its peak and the margin.
    ///
    /// A configured limit needs no margin, since it is kept; `None` where no memory is known.
    pub fn needed_mib(&self, policy: &Policy) -> Option<f64> {
        let peak = self.peak_mib()?;
        let is_kept = self.policy.memory_limit_mib.is_some_and(|it| it >= peak);
        Some(if is_kept { peak } else { peak * (1.0 + policy.memory_margin_ratio) })
    }

    /// Its memory for a forecast: over time, or always at its peak; `None` where no memory is known.
    pub fn memory_demand(&self) -> Option<MemoryDemand> {
        let limit_bytes = self.policy.memory_limit_mib.map(|it| it * MIB);
        let seen = match &self.memory {
            Some(it) => it.clone(),
            // One sample is a level that never changes.
            None => MemoryDemand::of(&self.name, &[&[self.peak_mib()? * MIB]], 1.0)?,
        };
        Some(MemoryDemand { limit_bytes, ..seen })
    }

    /// Whether its requests have a latency that can be held against a target.
    pub fn has_requests(&self) -> bool {
        self.demand.as_ref().is_some_and(|it| it.pace == Pace::Open)
    }
}

/// Whether all tenants trust each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trust {
    /// One domain, or one tenant.
    One,
    /// At least two domains that were stated, with a tenant of each.
    Several([(String, String); 2]),
    /// Not every tenant has a stated domain: names of those.
    Unstated(Vec<String>),
}

impl Situation {
    /// Whether all tenants trust each other; stated domains that differ come before those that are missing.
    pub(crate) fn trust(&self) -> Trust {
        if self.tenants.len() < 2 {
            return Trust::One;
        }
        let domain = |it: &Tenant| Some((it.name.clone(), it.policy.trust_domain.clone()?));
        let stated: Vec<(String, String)> = self.tenants.iter().filter_map(domain).collect();
        if let Some(first) = stated.first()
            && let Some(other) = stated.iter().find(|it| it.1 != first.1)
        {
            return Trust::Several([first.clone(), other.clone()]);
        }
        let is_unstated = |it: &&Tenant| it.policy.trust_domain.is_none();
        let unstated: Vec<String> =
            self.tenants.iter().filter(is_unstated).map(|it| it.name.clone()).collect();
        if unstated.is_empty() { Trust::One } else { Trust::Unstated(unstated) }
    }

    /// The same device with some of its tenants, by their places.
    ///
    /// What was seen of all of them together says nothing of fewer, and is left out.
    pub(crate) fn with_some(&self, places: impl IntoIterator<Item = usize>) -> Self {
        let tenants: Vec<Tenant> =
            places.into_iter().filter_map(|it| self.tenants.get(it).cloned()).collect();
        Self {
            gpu: self.gpu.clone(),
            label: self.label.clone(),
            device: self.device.clone(),
            now: Current {
                is_mig: self.now.is_mig,
                is_mps: self.now.is_mps,
                instances: self.now.instances.clone(),
                tenants: self.now.tenants,
                is_anonymous: self.now.is_anonymous,
                ran_out: Vec::new(),
            },
            tenants,
            saturated: None,
            met: None,
            limits: self.limits,
            options: self.options,
            unseen: Vec::new(),
        }
    }

    /// Memory for tenants on the whole device, in MiB; `None` where the device's memory is not known.
    ///
    /// What the driver keeps is taken off: as it says, else by the policy's share.
    pub fn room_mib(&self, policy: &Policy) -> Option<f64> {
        let total = self.device.total_mib?;
        let reserved = self.device.reserved_mib.unwrap_or(total * policy.memory_reserve_ratio);
        Some(total - reserved - self.device.others_mib.unwrap_or(0.0))
    }
}
