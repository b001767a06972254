//! The facts themselves: plain types, each with the place that says it.

use crate::cluster::config::facts::{ClaimTemplate, MigPartedConfig, PluginConfig};
use crate::cluster::kube::facts::{Assignment, NodeFacts, PodFacts};
use std::fmt;

/// Where something was read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The label that the caller gave the file.
    pub file: String,
    /// The line, from 1; `None` for JSON, whose parser tells no lines, and for facts of a whole file.
    pub line: Option<u64>,
}

impl Origin {
    /// A line of a file.
    pub fn new(file: &str, line: impl Into<Option<u64>>) -> Self {
        Self { file: file.to_owned(), line: line.into() }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(out, "{}:{line}", self.file),
            None => write!(out, "{}", self.file),
        }
    }
}

/// What becomes of a statement that was found wanting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// We could not read it; the fact is missing here.
    Unread,
    /// Two files, or two lines, say different things; the first is kept.
    Disagreement,
    /// The tool that is configured reads past it: it has no effect.
    Ineffective,
    /// The tool that is configured refuses the whole file for it.
    Refused,
}

/// Something about a file that its facts do not show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Where.
    pub origin: Origin,
    /// What becomes of it.
    pub severity: Severity,
    /// One sentence: what is offending, and what to do.
    pub text: String,
}

impl fmt::Display for Remark {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.origin, self.text)
    }
}

/// The names that one GPU goes by; each file knows only some of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GpuKey {
    /// Index on its node, as nvidia-smi counts.
    pub index: Option<u32>,
    /// `GPU-…`; `None` also where it was masked with zeros.
    pub uuid: Option<String>,
    /// PCI address, as `00000000:3B:00.0`.
    pub bus_id: Option<String>,
}

/// The compute mode of a GPU: who may open contexts on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComputeMode {
    /// Any number of processes.
    Default,
    /// One process at a time, which under MPS is the server.
    ExclusiveProcess,
    /// None.
    Prohibited,
}

/// A GPU.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuFacts {
    /// Its names.
    pub gpu: GpuKey,
    /// Name of the board, as `NVIDIA H100 80GB HBM3`.
    pub name: Option<String>,
    /// Device and vendor as nvidia-smi and mig-parted write them: `0x233010DE`.
    pub pci_device_id: Option<String>,
    /// Whether MIG mode is on; `None` where the board has none, or the file does not say.
    pub is_mig_on: Option<bool>,
    /// Whether MIG mode will be on after the next reset.
    pub is_mig_pending: Option<bool>,
    /// Who may open contexts.
    pub compute_mode: Option<ComputeMode>,
    /// Framebuffer, MiB.
    pub memory_total_mib: Option<u64>,
    /// Part of it that the driver keeps, MiB.
    pub memory_reserved_mib: Option<u64>,
    /// Part of it in use, MiB.
    pub memory_used_mib: Option<u64>,
    /// Where it was read first.
    pub origin: Origin,
    /// Where modes and memory were read, if not there.
    pub details: Option<Origin>,
}

/// Where an instance lies: memory slices `start .. start + size`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Placement {
    /// The first slice.
    pub start: u32,
    /// How many.
    pub size: u32,
}

/// A GPU instance of a GPU in MIG mode; CUDA sees it only through a compute instance in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuInstance {
    /// The GPU.
    pub gpu: GpuKey,
    /// Id of the GPU instance.
    pub id: u32,
    /// Profile, as `3g.40gb` or `1g.10gb+me`.
    pub profile: Option<String>,
    /// Id of the profile for `-cgi`.
    pub profile_id: Option<u32>,
    /// Where it lies.
    pub placement: Option<Placement>,
    /// Where it was read first.
    pub origin: Origin,
}

/// A MIG device: a compute instance in a GPU instance, which is what a process is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigDevice {
    /// The GPU.
    pub gpu: GpuKey,
    /// Index among the MIG devices of its GPU.
    pub index: Option<u32>,
    /// Id of the GPU instance.
    pub gpu_instance: Option<u32>,
    /// Id of the compute instance.
    pub compute_instance: Option<u32>,
    /// `MIG-…`.
    pub uuid: Option<String>,
    /// Profile, as `3g.40gb` or `1c.3g.40gb`.
    pub profile: Option<String>,
    /// Memory of its GPU instance, MiB.
    pub memory_total_mib: Option<u64>,
    /// Part of it in use, MiB.
    pub memory_used_mib: Option<u64>,
    /// Streaming multiprocessors.
    pub multiprocessors: Option<u32>,
    /// Where it was read first.
    pub origin: Origin,
    /// Where memory and multiprocessors were read, if not there.
    pub details: Option<Origin>,
}

/// A process on a GPU, and on which instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuProcess {
    /// The GPU.
    pub gpu: GpuKey,
    /// Id of its GPU instance; `None` without MIG.
    pub gpu_instance: Option<u32>,
    /// Id of its compute instance; `None` without MIG.
    pub compute_instance: Option<u32>,
    /// Process id, in the namespace in which nvidia-smi ran.
    pub pid: u32,
    /// `C`, `G`, `C+G` or `M+C`.
    pub kind: Option<String>,
    /// Program, maybe cut by nvidia-smi.
    pub name: Option<String>,
    /// Memory that it holds, MiB.
    pub memory_mib: Option<u64>,
    /// Where it was read first.
    pub origin: Origin,
}

/// A profile that a GPU offers.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileOffer {
    /// The GPU.
    pub gpu: GpuKey,
    /// Id of the profile for `-cgi`.
    pub id: u32,
    /// Its name, as `3g.40gb`.
    pub profile: Option<String>,
    /// How many more could be made now.
    pub free: Option<u32>,
    /// How many an empty GPU holds.
    pub total: Option<u32>,
    /// Memory, GiB.
    pub memory_gib: Option<f64>,
    /// Streaming multiprocessors.
    pub multiprocessors: Option<u32>,
    /// First slices at which one may lie; empty where the file does not say.
    pub starts: Vec<u32>,
    /// Memory slices that one takes.
    pub size: Option<u32>,
    /// Where it was read first.
    pub origin: Origin,
}

/// All that the files of one node, and of the cluster around it, say.
///
/// Facts stand in the order of reading. Facts about GPUs belong to one node: files of two nodes go into
/// two of these. See [`NodeWords::merge`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeWords {
    /// GPUs.
    pub gpus: Vec<GpuFacts>,
    /// GPU instances, with placements.
    pub gpu_instances: Vec<GpuInstance>,
    /// MIG devices.
    pub mig_devices: Vec<MigDevice>,
    /// Processes.
    pub processes: Vec<GpuProcess>,
    /// Profiles on offer.
    pub offers: Vec<ProfileOffer>,
    /// Configurations of the device plugin.
    pub plugin_configs: Vec<PluginConfig>,
    /// Named configurations of mig-parted.
    pub mig_configs: Vec<MigPartedConfig>,
    /// Claims of dynamic resource allocation.
    pub claim_templates: Vec<ClaimTemplate>,
    /// Pods.
    pub pods: Vec<PodFacts>,
    /// Devices that the kubelet gave to containers.
    pub assignments: Vec<Assignment>,
    /// Nodes of the cluster.
    pub nodes: Vec<NodeFacts>,
    /// What the facts do not show.
    pub remarks: Vec<Remark>,
}

impl NodeWords {
    /// Notes something that could not be read.
    pub(crate) fn unread(&mut self, origin: Origin, text: impl Into<String>) {
        self.remark(origin, Severity::Unread, text);
    }

    /// Notes something that the facts do not show.
    pub(crate) fn remark(&mut self, origin: Origin, severity: Severity, text: impl Into<String>) {
        self.remarks.push(Remark { origin, severity, text: text.into() });
    }
}
