//! Facts of several files about one node, joined; and how to find one in another.

use crate::cluster::facts::{
    GpuFacts, GpuInstance, GpuKey, GpuProcess, MigDevice, NodeWords, Origin, ProfileOffer, Severity,
};
use crate::cluster::kube::facts::Assignment;
use crate::cluster::resource::DeviceId;

impl GpuKey {
    /// A key with the names that are known; a UUID of zeros is masked and says nothing.
    pub fn new(index: Option<u32>, uuid: Option<&str>, bus_id: Option<&str>) -> Self {
        let mut key = Self { index, uuid: None, bus_id: bus_id.and_then(whole_bus_id) };
        if let Some(uuid) = uuid {
            key.set_uuid(uuid);
        }
        key
    }

    /// Sets the UUID, unless it is masked.
    pub(crate) fn set_uuid(&mut self, uuid: &str) {
        let digits = uuid.trim().strip_prefix("GPU-");
        let is_real = digits.is_some_and(|it| it.chars().any(|it| !matches!(it, '0' | '-')));
        self.uuid = is_real.then(|| uuid.trim().to_owned());
    }

    /// Whether both name one GPU of a node: the strongest name that both have decides.
    ///
    /// `false` where they share no kind of name.
    pub fn is_same(&self, other: &Self) -> bool {
        if let (Some(one), Some(two)) = (&self.uuid, &other.uuid) {
            return one == two;
        }
        if let (Some(one), Some(two)) = (&self.bus_id, &other.bus_id) {
            return one == two;
        }
        self.index.is_some() && self.index == other.index
    }

    fn learn(&mut self, other: &Self) {
        self.index = self.index.or(other.index);
        learn(&mut self.uuid, &other.uuid);
        learn(&mut self.bus_id, &other.bus_id);
    }
}

impl std::fmt::Display for GpuKey {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.index, &self.uuid, &self.bus_id) {
            (Some(index), _, _) => write!(out, "GPU {index}"),
            (None, Some(uuid), _) => write!(out, "{uuid}"),
            (None, None, Some(bus_id)) => write!(out, "GPU {bus_id}"),
            (None, None, None) => write!(out, "a GPU without a name"),
        }
    }
}

/// A PCI address with eight digits of domain, in capitals; `None` if it is none.
fn whole_bus_id(text: &str) -> Option<String> {
    let (domain, rest) = text.trim().split_once(':')?;
    let is_address = rest.contains(':') && domain.chars().all(|it| it.is_ascii_hexdigit());
    is_address.then(|| format!("{domain:0>8}:{rest}").to_ascii_uppercase())
}

fn learn<T: Clone>(known: &mut Option<T>, said: &Option<T>) {
    if known.is_none() {
        known.clone_from(said);
    }
}

/// Learns what is new; `true` if both are known and differ.
fn differs<T: Clone + PartialEq>(known: &mut Option<T>, said: &Option<T>) -> bool {
    learn(known, said);
    said.is_some() && known != said
}

impl GpuFacts {
    /// A GPU of which only the names are known.
    pub fn new(gpu: GpuKey, origin: Origin) -> Self {
        Self {
            gpu,
            name: None,
            pci_device_id: None,
            is_mig_on: None,
            is_mig_pending: None,
            compute_mode: None,
            memory_total_mib: None,
            memory_reserved_mib: None,
            memory_used_mib: None,
            origin,
            details: None,
        }
    }

    /// The place that says its modes and memory.
    pub fn detailed_at(&self) -> &Origin {
        self.details.as_ref().unwrap_or(&self.origin)
    }

    fn has_details(&self) -> bool {
        self.is_mig_on.is_some() || self.compute_mode.is_some() || self.memory_total_mib.is_some()
    }
}

impl MigDevice {
    /// A MIG device of which only the GPU is known.
    pub fn new(gpu: GpuKey, origin: Origin) -> Self {
        Self {
            gpu,
            index: None,
            gpu_instance: None,
            compute_instance: None,
            uuid: None,
            profile: None,
            memory_total_mib: None,
            memory_used_mib: None,
            multiprocessors: None,
            origin,
            details: None,
        }
    }

    /// The place that says its memory and multiprocessors.
    pub fn detailed_at(&self) -> &Origin {
        self.details.as_ref().unwrap_or(&self.origin)
    }

    fn has_details(&self) -> bool {
        self.memory_total_mib.is_some() || self.multiprocessors.is_some()
    }

    /// Whether both are one device of one GPU: by UUID, by instances, or by index.
    fn is_same(&self, other: &Self) -> bool {
        if let (Some(one), Some(two)) = (&self.uuid, &other.uuid) {
            return one == two;
        }
        if self.gpu_instance.is_some() && other.gpu_instance.is_some() {
            return self.gpu_instance == other.gpu_instance
                && self.compute_instance == other.compute_instance;
        }
        self.index.is_some() && self.index == other.index
    }
}

impl GpuProcess {
    /// A process of which only GPU and id are known.
    pub fn new(gpu: GpuKey, pid: u32, origin: Origin) -> Self {
        Self {
            gpu,
            gpu_instance: None,
            compute_instance: None,
            pid,
            kind: None,
            name: None,
            memory_mib: None,
            origin,
        }
    }
}

impl NodeWords {
    /// Adds what another file of the same node, or of its cluster, says.
    ///
    /// Facts about one thing become one fact, which keeps the place that said it first. Where two files
    /// differ about it the first is kept, and a remark of [`Severity::Disagreement`] names both places.
    pub fn merge(&mut self, other: Self) {
        other.gpus.into_iter().for_each(|it| self.merge_gpu(it));
        other.gpu_instances.into_iter().for_each(|it| self.merge_gpu_instance(it));
        other.mig_devices.into_iter().for_each(|it| self.merge_mig_device(it));
        other.processes.into_iter().for_each(|it| self.merge_process(it));
        other.offers.into_iter().for_each(|it| self.merge_offer(it));
        self.plugin_configs.extend(other.plugin_configs);
        self.mig_configs.extend(other.mig_configs);
        self.claim_templates.extend(other.claim_templates);
        for pod in other.pods {
            let is_known = self.pods.iter().any(|it| {
                (&it.namespace, &it.name, &it.uid) == (&pod.namespace, &pod.name, &pod.uid)
            });
            if !is_known {
                self.pods.push(pod);
            }
        }
        for assignment in other.assignments {
            let is_known = self.assignments.iter().any(|it| {
                let origin = it.origin.clone();
                *it == (Assignment { origin, ..assignment.clone() })
            });
            if !is_known {
                self.assignments.push(assignment);
            }
        }
        for node in other.nodes {
            if !self.nodes.iter().any(|it| it.name == node.name) {
                self.nodes.push(node);
            }
        }
        self.remarks.extend(other.remarks);
        self.join_mig_devices();
    }

    /// The GPU with these names; `None` if no file describes it.
    pub fn gpu(&self, key: &GpuKey) -> Option<&GpuFacts> {
        self.gpus.iter().find(|it| it.gpu.is_same(key))
    }

    /// Whether both keys name one GPU, with the help of files that know several of its names.
    pub fn is_same_gpu(&self, one: &GpuKey, two: &GpuKey) -> bool {
        one.is_same(two) || self.gpu(one).is_some_and(|it| it.gpu.is_same(two))
    }

    /// The MIG device that a process runs on; `None` without MIG, or if no file describes the device.
    pub fn device_of(&self, process: &GpuProcess) -> Option<&MigDevice> {
        process.gpu_instance?;
        self.mig_devices.iter().find(|it| {
            it.gpu_instance == process.gpu_instance
                && it.compute_instance == process.compute_instance
                && self.is_same_gpu(&it.gpu, &process.gpu)
        })
    }

    /// GPU instances in which no compute instance is known: CUDA does not see them.
    pub fn unseen_instances(&self) -> impl Iterator<Item = &GpuInstance> {
        self.gpu_instances.iter().filter(|instance| {
            !self.mig_devices.iter().any(|it| {
                it.gpu_instance == Some(instance.id) && self.is_same_gpu(&it.gpu, &instance.gpu)
            })
        })
    }

    /// The GPU instance that a MIG device lies in, which knows its placement.
    pub fn instance_of(&self, device: &MigDevice) -> Option<&GpuInstance> {
        self.gpu_instances
            .iter()
            .find(|it| Some(it.id) == device.gpu_instance && self.is_same_gpu(&it.gpu, &device.gpu))
    }

    /// The MIG device that the kubelet gave to a container; `None` if it gave a whole GPU, or if no file
    /// describes the device.
    pub fn assigned_device(&self, given: &Assignment) -> Option<&MigDevice> {
        self.mig_devices.iter().find(|it| match &given.device {
            DeviceId::Mig(uuid) => it.uuid.as_ref() == Some(uuid),
            DeviceId::MigIndex(gpu, index) => {
                let gpu = GpuKey::new(Some(*gpu), None, None);
                it.index == Some(*index) && self.is_same_gpu(&it.gpu, &gpu)
            }
            DeviceId::MigInstances(gpu, gpu_instance, compute_instance) => {
                let gpu = GpuKey::new(None, Some(gpu), None);
                it.gpu_instance == Some(*gpu_instance)
                    && it.compute_instance == Some(*compute_instance)
                    && self.is_same_gpu(&it.gpu, &gpu)
            }
            DeviceId::Gpu(_) | DeviceId::GpuIndex(_) | DeviceId::Other(_) => false,
        })
    }

    /// The GPU that the kubelet gave to a container, or of which it gave a part; `None` if no file
    /// describes it.
    pub fn assigned_gpu(&self, given: &Assignment) -> Option<&GpuFacts> {
        match &given.device {
            DeviceId::Gpu(uuid) => self.gpu(&GpuKey::new(None, Some(uuid), None)),
            DeviceId::GpuIndex(index) => self.gpu(&GpuKey::new(Some(*index), None, None)),
            _ => self.gpu(&self.assigned_device(given)?.gpu),
        }
    }

    fn disagree(&mut self, first: &Origin, second: Origin, about: &str) {
        let text = format!("says something else about {about} than {first}; {first} is believed");
        self.remark(second, Severity::Disagreement, text);
    }

    fn merge_gpu(&mut self, other: GpuFacts) {
        let Some(known) = self.gpus.iter_mut().find(|it| it.gpu.is_same(&other.gpu)) else {
            self.gpus.push(other);
            return;
        };
        if !known.has_details() && other.has_details() {
            known.details = Some(other.detailed_at().clone());
        }
        known.gpu.learn(&other.gpu);
        learn(&mut known.pci_device_id, &other.pci_device_id);
        learn(&mut known.memory_total_mib, &other.memory_total_mib);
        learn(&mut known.memory_reserved_mib, &other.memory_reserved_mib);
        learn(&mut known.memory_used_mib, &other.memory_used_mib);
        let is_short = known.name.as_ref().is_none_or(|it| it.ends_with("..."));
        if is_short && other.name.is_some() {
            known.name = other.name;
        }
        let is_odd = differs(&mut known.is_mig_on, &other.is_mig_on)
            | differs(&mut known.is_mig_pending, &other.is_mig_pending)
            | differs(&mut known.compute_mode, &other.compute_mode);
        if is_odd {
            let (first, about) = (known.origin.clone(), format!("the modes of {}", known.gpu));
            self.disagree(&first, other.origin, &about);
        }
    }

    fn merge_gpu_instance(&mut self, other: GpuInstance) {
        let at = self
            .gpu_instances
            .iter()
            .position(|it| it.id == other.id && self.is_same_gpu(&it.gpu, &other.gpu));
        let Some(at) = at else {
            self.gpu_instances.push(other);
            return;
        };
        let known = &mut self.gpu_instances[at];
        known.gpu.learn(&other.gpu);
        let is_odd = differs(&mut known.profile, &other.profile)
            | differs(&mut known.profile_id, &other.profile_id)
            | differs(&mut known.placement, &other.placement);
        if is_odd {
            let about = format!("GPU instance {} of {}", known.id, known.gpu);
            let first = known.origin.clone();
            self.disagree(&first, other.origin, &about);
        }
    }

    fn merge_mig_device(&mut self, other: MigDevice) {
        let at = self
            .mig_devices
            .iter()
            .position(|it| it.is_same(&other) && self.is_same_gpu(&it.gpu, &other.gpu));
        let Some(at) = at else {
            self.mig_devices.push(other);
            return;
        };
        let known = &mut self.mig_devices[at];
        if !known.has_details() && other.has_details() {
            known.details = Some(other.detailed_at().clone());
        }
        known.gpu.learn(&other.gpu);
        learn(&mut known.memory_total_mib, &other.memory_total_mib);
        learn(&mut known.memory_used_mib, &other.memory_used_mib);
        learn(&mut known.multiprocessors, &other.multiprocessors);
        let is_odd = differs(&mut known.uuid, &other.uuid)
            | differs(&mut known.index, &other.index)
            | differs(&mut known.gpu_instance, &other.gpu_instance)
            | differs(&mut known.compute_instance, &other.compute_instance)
            | differs(&mut known.profile, &other.profile);
        if is_odd {
            let (first, about) = (known.origin.clone(), format!("a MIG device of {}", known.gpu));
            self.disagree(&first, other.origin, &about);
        }
    }

    /// Joins devices that were two as long as no file knew both their index and their instances.
    fn join_mig_devices(&mut self) {
        let devices = std::mem::take(&mut self.mig_devices);
        devices.into_iter().for_each(|it| self.merge_mig_device(it));
    }

    fn merge_process(&mut self, other: GpuProcess) {
        let at = self.processes.iter().position(|it| {
            it.pid == other.pid && self.is_same_gpu(&it.gpu, &other.gpu) && {
                let (one, two) = (it.gpu_instance, other.gpu_instance);
                one == two || one.is_none() || two.is_none()
            }
        });
        let Some(at) = at else {
            self.processes.push(other);
            return;
        };
        let known = &mut self.processes[at];
        known.gpu.learn(&other.gpu);
        known.gpu_instance = known.gpu_instance.or(other.gpu_instance);
        known.compute_instance = known.compute_instance.or(other.compute_instance);
        learn(&mut known.kind, &other.kind);
        learn(&mut known.memory_mib, &other.memory_mib);
        let is_short = known.name.as_ref().is_none_or(|it| it.starts_with("..."));
        if is_short && other.name.is_some() {
            known.name = other.name;
        }
    }

    fn merge_offer(&mut self, other: ProfileOffer) {
        let at = self
            .offers
            .iter()
            .position(|it| it.id == other.id && self.is_same_gpu(&it.gpu, &other.gpu));
        let Some(at) = at else {
            self.offers.push(other);
            return;
        };
        let known = &mut self.offers[at];
        known.gpu.learn(&other.gpu);
        learn(&mut known.profile, &other.profile);
        learn(&mut known.free, &other.free);
        learn(&mut known.total, &other.total);
        learn(&mut known.memory_gib, &other.memory_gib);
        learn(&mut known.multiprocessors, &other.multiprocessors);
        learn(&mut known.size, &other.size);
        if known.starts.is_empty() {
            known.starts = other.starts;
        }
    }
}
