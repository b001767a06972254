//! Where a tenant can sit: a GPU, or the memory of one GPU instance of it.

use crate::cluster::facts::{GpuFacts, GpuKey, GpuProcess, MigDevice, NodeWords};
use crate::cluster::kube::facts::Assignment;
use crate::cluster::resource::DeviceId;
use crate::domain::mig_geometry::{MigBoard, MigProfile, by_pci_device_id, by_product_name};
use crate::recommender::audit::finding::{About, AboutKind};

/// Bytes of a MiB.
const MIB: u64 = 1 << 20;

/// A place in which tenants share memory; two of them are one place if they are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// A whole GPU, by its index in [`Atlas`].
    Gpu(usize),
    /// A GPU instance, by its GPU and by the first MIG device in it that the files list.
    Instance(usize, usize),
    /// A device that no file lists, by the id that somebody was given.
    Unlisted(String),
}

/// The GPUs of a node and what they are cut into.
#[derive(Debug)]
pub(super) struct Atlas<'a> {
    words: &'a NodeWords,
    gpus: Vec<GpuKey>,
}

impl<'a> Atlas<'a> {
    /// Every GPU that any file names, those that are described first.
    pub(super) fn of(words: &'a NodeWords) -> Self {
        let mut gpus: Vec<GpuKey> = Vec::new();
        let described = words.gpus.iter().map(|it| &it.gpu);
        let named = words.gpu_instances.iter().map(|it| &it.gpu);
        let devices = words.mig_devices.iter().map(|it| &it.gpu);
        let processes = words.processes.iter().map(|it| &it.gpu);
        for key in described.chain(named).chain(devices).chain(processes) {
            if !gpus.iter().any(|it| words.is_same_gpu(it, key)) {
                gpus.push(key.clone());
            }
        }
        Self { words, gpus }
    }

    /// How many GPUs there are.
    pub(super) fn len(&self) -> usize {
        self.gpus.len()
    }

    /// The GPU with these names.
    pub(super) fn gpu(&self, key: &GpuKey) -> Option<usize> {
        self.gpus.iter().position(|it| self.words.is_same_gpu(it, key))
    }

    /// Its names.
    pub(super) fn key(&self, gpu: usize) -> &GpuKey {
        &self.gpus[gpu]
    }

    /// What the files say about it.
    pub(super) fn facts(&self, gpu: usize) -> Option<&'a GpuFacts> {
        self.words.gpu(&self.gpus[gpu])
    }

    /// Whether MIG is on; a GPU with instances has it on whatever else is not said.
    pub(super) fn is_mig(&self, gpu: usize) -> Option<bool> {
        let is_cut = self.devices(gpu).next().is_some()
            || self.words.gpu_instances.iter().any(|it| self.gpu(&it.gpu) == Some(gpu));
        self.facts(gpu).and_then(|it| it.is_mig_on).or(is_cut.then_some(true))
    }

    /// The board, by its PCI id, else by its name and memory.
    pub(super) fn board(&self, gpu: usize) -> Option<&'static MigBoard> {
        let facts = self.facts(gpu)?;
        let id = facts.pci_device_id.as_deref().and_then(|it| {
            u32::from_str_radix(it.trim_start_matches("0x").trim_start_matches("0X"), 16).ok()
        });
        id.and_then(by_pci_device_id).or_else(|| {
            by_product_name(facts.name.as_deref()?, facts.memory_total_mib.map(|it| it * MIB))
        })
    }

    /// The MIG devices of a GPU, with their index in the words.
    pub(super) fn devices(&self, gpu: usize) -> impl Iterator<Item = (usize, &'a MigDevice)> + '_ {
        let all = self.words.mig_devices.iter().enumerate();
        all.filter(move |it| self.gpu(&it.1.gpu) == Some(gpu))
    }

    /// The place of a MIG device.
    pub(super) fn place_of(&self, device: &MigDevice) -> Option<Place> {
        let gpu = self.gpu(&device.gpu)?;
        let is_it = |it: &MigDevice| match device.gpu_instance {
            Some(_) => it.gpu_instance == device.gpu_instance,
            None => std::ptr::eq(it, device),
        };
        let first = self.devices(gpu).find(|it| is_it(it.1))?;
        Some(Place::Instance(gpu, first.0))
    }

    /// The place of a GPU instance; `None` if no device in it is listed.
    pub(super) fn instance(&self, gpu: usize, gpu_instance: u32) -> Option<Place> {
        let mut devices = self.devices(gpu);
        let first = devices.find(|it| it.1.gpu_instance == Some(gpu_instance))?;
        Some(Place::Instance(gpu, first.0))
    }

    /// Every place in which somebody can be: each GPU without MIG, each instance of the others.
    pub(super) fn places(&self) -> Vec<Place> {
        let mut places = Vec::new();
        for gpu in 0..self.len() {
            match self.is_mig(gpu) {
                Some(true) => {
                    places.extend(self.devices(gpu).filter_map(|it| self.place_of(it.1)));
                }
                _ => places.push(Place::Gpu(gpu)),
            }
        }
        places.dedup();
        places
    }

    /// Where a process is; `None` if it is on an instance that no file lists.
    pub(super) fn of_process(&self, process: &GpuProcess) -> Option<Place> {
        let gpu = self.gpu(&process.gpu)?;
        match process.gpu_instance {
            None => Some(Place::Gpu(gpu)),
            Some(instance) => self.instance(gpu, instance),
        }
    }

    /// Where the device is that the kubelet gave; of dynamic allocation, whose names say too little, `None`.
    pub(super) fn of_assignment(&self, given: &Assignment) -> Option<Place> {
        if let Some(device) = self.words.assigned_device(given) {
            return self.place_of(device);
        }
        if let Some(gpu) = self.words.assigned_gpu(given) {
            return self.gpu(&gpu.gpu).map(Place::Gpu);
        }
        match &given.device {
            DeviceId::Gpu(id) | DeviceId::Mig(id) => Some(Place::Unlisted(id.clone())),
            DeviceId::GpuIndex(it) => Some(Place::Unlisted(it.to_string())),
            DeviceId::MigIndex(gpu, it) => Some(Place::Unlisted(format!("{gpu}:{it}"))),
            DeviceId::MigInstances(gpu, one, two) => {
                Some(Place::Unlisted(format!("MIG-{gpu}/{one}/{two}")))
            }
            DeviceId::Other(_) => None,
        }
    }

    /// The MIG device that stands for an instance.
    pub(super) fn device(&self, place: &Place) -> Option<&'a MigDevice> {
        match place {
            Place::Instance(_, device) => self.words.mig_devices.get(*device),
            _ => None,
        }
    }

    /// The GPU that a place is on.
    pub(super) fn gpu_of(&self, place: &Place) -> Option<usize> {
        match place {
            Place::Gpu(gpu) | Place::Instance(gpu, _) => Some(*gpu),
            Place::Unlisted(_) => None,
        }
    }

    /// Profile of an instance, as `3g.40gb`: that of the GPU instance, else that of the device in it.
    ///
    /// A device that takes a part of an instance is called `1c.3g.40gb`; its `1c.` is left out.
    pub(super) fn profile_of(&self, device: &'a MigDevice) -> Option<&'a str> {
        let of_instance = self.words.instance_of(device).and_then(|it| it.profile.as_deref());
        let of_device = device.profile.as_deref().map(|it| match it.split_once("c.") {
            Some((count, rest)) if count.parse::<u32>().is_ok() => rest,
            _ => it,
        });
        of_instance.or(of_device)
    }

    /// The same, else the plain profile of the board that has just this memory and these processors.
    ///
    /// Profiles with media extensions look alike, so it is good for people and not for comparisons.
    pub(super) fn likely_profile(&self, gpu: usize, device: &'a MigDevice) -> Option<&'a str> {
        self.profile_of(device).or_else(|| {
            let (memory, sms) = (device.memory_total_mib?, device.multiprocessors?);
            let is_it = |it: &&MigProfile| {
                it.is_plain() && it.memory_mib == Some(memory) && it.sm_count == Some(sms)
            };
            let mut all = self.board(gpu)?.profiles.iter().filter(is_it);
            all.next().filter(|_| all.next().is_none()).map(|it| it.name.as_ref())
        })
    }

    /// Name of a place for people.
    pub(super) fn label(&self, place: &Place) -> String {
        match place {
            Place::Gpu(gpu) => self.key(*gpu).to_string(),
            Place::Unlisted(id) => format!("device {id}"),
            Place::Instance(number, device) => {
                let gpu = self.key(*number);
                let Some(device) = self.words.mig_devices.get(*device) else {
                    return gpu.to_string();
                };
                let instance = match (device.gpu_instance, device.index) {
                    (Some(it), _) => format!("instance {it}"),
                    (None, Some(it)) => format!("MIG device {it}"),
                    (None, None) => "a MIG device".to_owned(),
                };
                let profile = self.likely_profile(*number, device).map(|it| format!(" ({it})"));
                format!("{gpu} {instance}{}", profile.unwrap_or_default())
            }
        }
    }

    /// A place as what a finding is about.
    pub(super) fn about(&self, place: &Place) -> About {
        let kind = match place {
            Place::Gpu(_) => AboutKind::Gpu,
            Place::Instance(..) | Place::Unlisted(_) => AboutKind::Instance,
        };
        About::new(kind, self.label(place))
    }

    /// Memory of a place, MiB, with where it is said: the device's own answer, else that of its board.
    pub(super) fn memory(&self, place: &Place) -> Option<(u64, String)> {
        match place {
            Place::Unlisted(_) => None,
            Place::Gpu(gpu) => {
                let facts = self.facts(*gpu)?;
                let total = facts.memory_total_mib?;
                Some((
                    total,
                    format!("{}: {} has {total} MiB", facts.detailed_at(), self.key(*gpu)),
                ))
            }
            Place::Instance(gpu, _) => {
                let device = self.device(place)?;
                if let Some(total) = device.memory_total_mib {
                    let label = self.label(place);
                    return Some((
                        total,
                        format!("{}: {label} has {total} MiB", device.detailed_at()),
                    ));
                }
                let profile = self.profile_of(device)?;
                let board = self.board(*gpu)?;
                let total = board.profiles[board.profile_named(profile)?].memory_mib?;
                let text =
                    format!("{}: {profile} of {} has {total} MiB", device.origin, board.name);
                Some((total, text))
            }
        }
    }
}
