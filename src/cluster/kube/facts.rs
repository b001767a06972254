//! What Kubernetes says: pods, nodes, assignments.

use crate::cluster::facts::Origin;
use crate::cluster::resource::DeviceId;
use std::collections::BTreeMap;

/// A pod.
#[derive(Debug, Clone, PartialEq)]
pub struct PodFacts {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: Option<String>,
    /// The node that it was put on; `None` while it waits.
    pub node: Option<String>,
    /// `Running`, `Pending`, `Succeeded`, `Failed`, `Unknown`.
    pub phase: Option<String>,
    /// `runtimeClassName`.
    pub runtime_class: Option<String>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Annotation `gpu-fraction` of KAI: share of a GPU, 0 to 1.
    pub gpu_fraction: Option<f64>,
    /// Annotation `gpu-memory` of KAI, MiB.
    pub gpu_memory_mib: Option<u64>,
    /// Annotation `kai.scheduler/gpu-compute-sharing-mode`: `time-slicing` or `sm-sharing`.
    pub compute_sharing: Option<String>,
    /// Its containers, those that only prepare it first.
    pub containers: Vec<ContainerFacts>,
    /// Where it was read.
    pub origin: Origin,
}

impl PodFacts {
    /// Devices of a resource that its running containers ask for together; limits go before requests,
    /// since Kubernetes lets them not differ.
    pub fn asks_for(&self, resource: &str) -> u64 {
        let of = |it: &ContainerFacts| {
            it.limits.get(resource).or_else(|| it.requests.get(resource)).copied().unwrap_or(0)
        };
        self.containers.iter().filter(|it| !it.is_init).map(of).sum()
    }

    /// Every resource of NVIDIA that any of its containers asks for, in order of name.
    pub fn resources(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .containers
            .iter()
            .flat_map(|it| it.limits.keys().chain(it.requests.keys()))
            .map(String::as_str)
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// A container of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerFacts {
    /// Its name in the pod.
    pub name: String,
    /// Whether it only prepares the pod.
    pub is_init: bool,
    /// Whether it is privileged, and so sees every device of its node.
    pub is_privileged: bool,
    /// Requests of `nvidia.com/…`.
    pub requests: BTreeMap<String, u64>,
    /// Limits of `nvidia.com/…`.
    pub limits: BTreeMap<String, u64>,
    /// Variables that begin with `NVIDIA_`, `CUDA_MPS_` or are `CUDA_VISIBLE_DEVICES`, with plain values.
    pub environment: BTreeMap<String, String>,
}

impl ContainerFacts {
    /// Whether it sees every GPU although it asks for none: `NVIDIA_VISIBLE_DEVICES=all`.
    pub fn sees_all_devices(&self) -> bool {
        self.environment.get("NVIDIA_VISIBLE_DEVICES").is_some_and(|it| it == "all")
    }
}

/// A device that the kubelet gave to a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub pod: String,
    /// Name of the container.
    pub container: String,
    /// The resource, as `nvidia.com/gpu.shared`; of dynamic allocation, the name of the claim.
    pub resource: String,
    /// The device.
    pub device: DeviceId,
    /// Which replica of a device that is shared, from 0.
    pub replica: Option<u32>,
    /// NUMA nodes that it is near.
    pub numa_nodes: Vec<i64>,
    /// Where it was read.
    pub origin: Origin,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFacts {
    /// Its name.
    pub name: String,
    /// Its labels that begin with `nvidia.com/`.
    pub labels: BTreeMap<String, String>,
    /// Devices that it has, by resource.
    pub capacity: BTreeMap<String, u64>,
    /// Devices that pods may have, by resource.
    pub allocatable: BTreeMap<String, u64>,
    /// Where it was read.
    pub origin: Origin,
}

impl NodeFacts {
    /// A label of NVIDIA without its prefix, as `gpu.product`.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.get(&format!("nvidia.com/{name}")).map(String::as_str)
    }

    /// Label `mig.config`: the layout that the node was told to take.
    pub fn mig_config(&self) -> Option<&str> {
        self.label("mig.config")
    }

    /// Label `mig.config.state`: `pending`, `rebooting`, `success` or `failed`.
    pub fn mig_config_state(&self) -> Option<&str> {
        self.label("mig.config.state")
    }

    /// Label `mig.strategy`: `none`, `single` or `mixed`.
    pub fn mig_strategy(&self) -> Option<&str> {
        self.label("mig.strategy")
    }

    /// Label `gpu.sharing-strategy`: `none`, `mps` or `time-slicing`.
    pub fn sharing_strategy(&self) -> Option<&str> {
        self.label("gpu.sharing-strategy")
    }

    /// Label `gpu.replicas`: how many pods one GPU is offered to; `None` if it is no number.
    pub fn replicas(&self) -> Option<u64> {
        self.label("gpu.replicas")?.parse().ok()
    }

    /// Label `gpu.memory`, MiB.
    pub fn memory_mib(&self) -> Option<u64> {
        self.label("gpu.memory")?.parse().ok()
    }
}
