//! Who a sample is about: a GPU, a MIG instance, a process or a tenant.

use crate::domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One GPU, by the driver's UUID string or, where the source has none, `gpu<index>`.
///
/// With several hosts in one recording the host stands in front: `host/gpu0`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GpuId(String);

impl GpuId {
    /// The GPU that the source calls by this name; UUIDs are kept as they are.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The GPU that the source knows only by its index.
    pub fn from_index(index: u32) -> Self {
        Self(format!("gpu{index}"))
    }

    /// The name as recorded.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for GpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One MIG instance of one GPU.
///
/// Instance numbers are reused after a layout change; `generation` counts the layouts seen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MigInstanceId {
    /// The GPU that the instance is cut from.
    pub gpu: GpuId,
    /// Number of the GPU instance.
    pub gpu_instance: u32,
    /// Number of the compute instance inside it; `None` where the source names only the GPU instance.
    pub compute_instance: Option<u32>,
    /// How many layouts with this number were seen before.
    pub generation: u32,
}

/// One process on one host.
///
/// PIDs are reused, so the start time belongs to the key; it is `None` where the source has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessKey {
    /// Process id as the source printed it.
    pub pid: u32,
    /// Start of the process.
    #[serde(rename = "started_us")]
    pub started: Option<Timestamp>,
}

/// Who is held responsible for a load: a container, a pod, a user, a service.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TenantId(String);

impl TenantId {
    /// Name under which processes stand of which nothing says whose they are.
    pub const UNATTRIBUTED: &'static str = "unattributed";

    /// Whether it stands for nobody in particular.
    pub fn is_unattributed(&self) -> bool {
        self.0 == Self::UNATTRIBUTED
    }

    /// The tenant of this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name as recorded.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TenantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whom a series is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Subject {
    /// A whole GPU.
    Device {
        /// The GPU.
        gpu: GpuId,
    },
    /// A MIG instance; its readings are never added to those of the whole GPU.
    MigInstance {
        /// The instance.
        instance: MigInstanceId,
    },
    /// A process on a GPU.
    Process {
        /// The GPU that the process uses.
        gpu: GpuId,
        /// The process.
        process: ProcessKey,
    },
    /// A tenant; `gpu` is `None` where the source does not say on which GPU it runs.
    Tenant {
        /// The GPU that the tenant uses.
        gpu: Option<GpuId>,
        /// The tenant.
        tenant: TenantId,
    },
}

impl Subject {
    /// The whole GPU as a subject.
    pub fn device(gpu: &GpuId) -> Self {
        Self::Device { gpu: gpu.clone() }
    }

    /// The GPU that the subject lives on; `None` where it is not known.
    pub fn gpu(&self) -> Option<&GpuId> {
        match self {
            Self::Device { gpu } | Self::Process { gpu, .. } => Some(gpu),
            Self::MigInstance { instance } => Some(&instance.gpu),
            Self::Tenant { gpu, .. } => gpu.as_ref(),
        }
    }

    /// Whether the subject is a whole GPU.
    pub fn is_device(&self) -> bool {
        matches!(self, Self::Device { .. })
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device { gpu } => write!(f, "{gpu}"),
            Self::MigInstance { instance } => {
                write!(f, "{} GI {}", instance.gpu, instance.gpu_instance)?;
                match instance.compute_instance {
                    Some(compute) => write!(f, " CI {compute}"),
                    None => Ok(()),
                }
            }
            Self::Process { gpu, process } => write!(f, "{gpu} pid {}", process.pid),
            Self::Tenant { tenant, .. } => write!(f, "{tenant}"),
        }
    }
}
