//! What configuration files ask for.

use crate::cluster::facts::Origin;
use std::collections::BTreeMap;

/// How a device plugin offers one GPU to several pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SharingMechanism {
    /// In turns.
    TimeSlicing,
    /// At the same time, through the multi-process service.
    Mps,
}

/// A configuration of the device plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginConfig {
    /// Its key in a config map, which is the value of the label `nvidia.com/device-plugin.config`; `None`
    /// for a plain file.
    pub name: Option<String>,
    /// `flags.migStrategy`: `none`, `single` or `mixed`.
    pub mig_strategy: Option<String>,
    /// How it shares; `None` if it does not.
    pub sharing: Option<SharingConfig>,
    /// Where it was read.
    pub origin: Origin,
}

/// The sharing that a device plugin is told to do; it holds for all GPUs of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharingConfig {
    /// By which means.
    pub mechanism: SharingMechanism,
    /// Whether the resource is offered as `….shared`.
    pub rename_by_default: bool,
    /// Whether a container that asks for more than one replica is refused. Where the file is silent:
    /// `false` for time slicing, `true` for MPS.
    pub fail_requests_greater_than_one: bool,
    /// Which resources are replicated, in the order of the file.
    pub resources: Vec<SharedResource>,
    /// Where it was read.
    pub origin: Origin,
}

/// A resource of which each device is offered several times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedResource {
    /// Its name, with `nvidia.com/` in front.
    pub name: String,
    /// How many times.
    pub replicas: u64,
    /// Where it was read.
    pub origin: Origin,
}

/// A named layout of mig-parted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigPartedConfig {
    /// Its name, which is the value of the label `nvidia.com/mig.config`.
    pub name: String,
    /// What it asks of which GPUs, in the order of the file.
    pub entries: Vec<MigPartedEntry>,
    /// Where it was read.
    pub origin: Origin,
}

/// What a layout asks of some GPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigPartedEntry {
    /// Boards it holds for, as `0x233010DE`; empty for all.
    pub device_filter: Vec<String>,
    /// Indices it holds for; `None` for all.
    pub devices: Option<Vec<u32>>,
    /// Whether MIG mode shall be on.
    pub is_mig_enabled: bool,
    /// How many instances of each profile.
    pub mig_devices: BTreeMap<String, u64>,
    /// Where it was read.
    pub origin: Origin,
}

/// A claim, or a template of claims, of dynamic resource allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimTemplate {
    /// Its namespace, if the file names one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// What it asks for, in the order of the file.
    pub requests: Vec<ClaimRequest>,
    /// Where it was read.
    pub origin: Origin,
}

/// One device that a claim asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    /// Its name in the claim.
    pub name: String,
    /// `gpu.nvidia.com` or `mig.nvidia.com`.
    pub device_class: String,
    /// How many; 1 where the file is silent.
    pub count: u64,
    /// The MIG profile that its selectors ask for, if they do in the usual words.
    pub profile: Option<String>,
    /// How the device is shared; `None` if the claim says nothing about it.
    pub sharing: Option<ClaimSharing>,
}

/// Parameters of `GpuConfig` or `MigDeviceConfig` in `resource.nvidia.com/v1beta1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimSharing {
    /// In turns; `Default`, `Short`, `Medium` or `Long`, `None` where the file is silent.
    TimeSlicing(Option<String>),
    /// Through the multi-process service.
    Mps {
        /// Share of threads that a client may use at most, percent.
        thread_percentage: Option<u64>,
        /// Memory that a client may pin at most on any device, as a quantity.
        memory_limit: Option<String>,
        /// The same for single devices, by index or UUID.
        memory_limit_by_device: BTreeMap<String, String>,
    },
}
