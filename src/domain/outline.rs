//! What a recording holds, without its samples.

use crate::domain::blind_spot::BlindSpot;
use crate::domain::contended::ContendedSpan;
use crate::domain::ident::{GpuId, MigInstanceId, ProcessKey, Subject, TenantId};
use crate::domain::processes::{Followed, Processes};
use crate::domain::shape::ShapeSpan;
use crate::domain::sink::Fact;
use crate::domain::source::Source;
use crate::domain::time::TimeSpan;
use serde::{Deserialize, Serialize};

/// What is known about a GPU besides its samples; unknown is `None`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// The GPU.
    pub gpu: GpuId,
    /// Index on its host.
    pub index: Option<u32>,
    /// PCI bus id, for example `00000000:00:09.0`.
    #[serde(default)]
    pub bus_id: Option<String>,
    /// Product name, for example `NVIDIA H100 80GB HBM3`.
    pub model: Option<String>,
    /// Host name.
    pub host: Option<String>,
    /// Driver version.
    pub driver: Option<String>,
    /// Whether MIG mode is on.
    pub is_mig: Option<bool>,
}

impl Device {
    /// A GPU of which nothing but its name is known.
    pub fn named(gpu: GpuId) -> Self {
        Self { gpu, index: None, bus_id: None, model: None, host: None, driver: None, is_mig: None }
    }

    /// Short name for people: `GPU 0`, or the recorded name where there is no index.
    pub fn label(&self) -> String {
        match (self.index, &self.host) {
            (Some(index), Some(host)) => format!("GPU {index} on {host}"),
            (Some(index), None) => format!("GPU {index}"),
            (None, _) => self.gpu.as_str().to_owned(),
        }
    }

    /// Takes over what the other description knows and this one does not.
    pub fn complete_from(&mut self, other: &Device) {
        fn fill<T: Clone>(mine: &mut Option<T>, theirs: &Option<T>) {
            if mine.is_none() {
                mine.clone_from(theirs);
            }
        }
        fill(&mut self.index, &other.index);
        fill(&mut self.bus_id, &other.bus_id);
        fill(&mut self.model, &other.model);
        fill(&mut self.host, &other.host);
        fill(&mut self.driver, &other.driver);
        fill(&mut self.is_mig, &other.is_mig);
    }
}

/// What is known about a process besides its samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// The GPU that it uses.
    pub gpu: GpuId,
    /// The process.
    pub process: ProcessKey,
    /// Name of the program without arguments; may be cut short by the source.
    pub name: Option<String>,
    /// Tenant that it belongs to; `None` where nothing says so.
    pub tenant: Option<TenantId>,
}

/// What is known about a MIG instance besides its samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MigInstance {
    /// The instance.
    pub instance: MigInstanceId,
    /// Profile, for example `1g.10gb`.
    pub profile: Option<String>,
    /// Tenants that live in it, where the source says so.
    #[serde(default)]
    pub tenants: Vec<TenantId>,
}

/// A stretch of time that the source gave a name to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Phase {
    /// Name as recorded.
    pub label: String,
    /// When; a phase that returns is several stretches with one name.
    pub span: TimeSpan,
    /// The GPU that it is about; `None` means all.
    pub gpu: Option<GpuId>,
}

/// What a recording holds, without its samples.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Outline {
    /// Every GPU seen, by id.
    pub devices: Vec<Device>,
    /// Every MIG instance described.
    pub mig_instances: Vec<MigInstance>,
    /// Every process described.
    pub processes: Processes,
    /// Processes under whose names others stand.
    #[serde(default, skip_serializing_if = "Followed::is_empty")]
    pub followed: Followed,
    /// Every subject that has samples, in order.
    pub subjects: Vec<Subject>,
    /// Where the readings come from.
    pub sources: Vec<Source>,
    /// Labelled phases, by start.
    pub phases: Vec<Phase>,
    /// What could not be seen.
    pub blind_spots: Vec<BlindSpot>,
    /// Shapes that somebody else counted, by subject and start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shapes: Vec<ShapeSpan>,
    /// Time in which pairs of tenants were busy at once, as somebody else counted it, by GPU and start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contended: Vec<ContendedSpan>,
    /// From the first to the last sample; `None` when there is none.
    pub span: Option<TimeSpan>,
    /// Number of readings stored.
    pub readings: u64,
}

impl Outline {
    /// The description of a GPU; `None` when it was never described.
    pub fn device(&self, gpu: &GpuId) -> Option<&Device> {
        self.devices.iter().find(|it| it.gpu == *gpu)
    }

    /// Short name of a subject for people.
    pub fn label(&self, subject: &Subject) -> String {
        let gpu_label = |gpu: &GpuId| match self.device(gpu) {
            Some(device) => device.label(),
            None => gpu.to_string(),
        };
        match subject {
            Subject::Device { gpu } => gpu_label(gpu),
            Subject::MigInstance { instance } => {
                let profile = self
                    .mig_instances
                    .iter()
                    .find(|it| it.instance == *instance)
                    .and_then(|it| it.profile.as_deref());
                let kind = profile.map(|it| format!(" ({it})")).unwrap_or_default();
                format!("{} instance {}{kind}", gpu_label(&instance.gpu), instance.gpu_instance)
            }
            Subject::Process { gpu, process } => {
                let known = self.processes.of(gpu, *process);
                let name = known.and_then(|it| it.name.as_deref());
                let after = match self.followed.after(gpu, *process) {
                    0 => String::new(),
                    count => format!(" +{count}"),
                };
                let label = match name {
                    Some(name) => format!("{name} (pid {}{after})", process.pid),
                    None => format!("pid {}{after}", process.pid),
                };
                // Many processes of many tenants are called python3.
                let tenant = known.and_then(|it| it.tenant.as_ref());
                let says_more = |it: &&TenantId| {
                    Some(it.as_str()) != name && it.as_str() != label && !it.is_unattributed()
                };
                match tenant.filter(says_more) {
                    Some(tenant) => format!("{tenant}: {label}"),
                    None => label,
                }
            }
            Subject::Tenant { tenant, .. } => tenant.to_string(),
        }
    }

    /// Takes in a fact, without repeating anything.
    pub fn learn(&mut self, fact: Fact) {
        match fact {
            Fact::Device(it) => {
                self.merge(Outline { devices: vec![it], ..Outline::default() });
            }
            Fact::MigInstance(it) => complete(&mut self.mig_instances, it),
            Fact::Process(it) => self.processes.push(it),
            Fact::Follower(it) => self.followed.add(it),
            Fact::Source(it) => push_new(&mut self.sources, it),
            Fact::BlindSpot(it) => push_new(&mut self.blind_spots, it),
            Fact::Shape(it) => self.shapes.push(it),
            Fact::Contended(it) => self.contended.push(it),
            Fact::Phase(it) => match self.phases.last_mut().filter(|last| touches(last, &it)) {
                Some(last) => last.span = last.span.hull(it.span),
                None => self.phases.push(it),
            },
        }
    }

    /// Takes in what another outline of the same recording says, without repeating anything.
    pub fn merge(&mut self, other: Outline) {
        for device in other.devices {
            match self.devices.iter_mut().find(|it| it.gpu == device.gpu) {
                Some(mine) => mine.complete_from(&device),
                None => self.devices.push(device),
            }
        }
        other.mig_instances.into_iter().for_each(|it| complete(&mut self.mig_instances, it));
        self.processes.extend(other.processes);
        other.followed.iter().for_each(|it| self.followed.add(it));
        self.subjects.extend(other.subjects);
        self.subjects.sort();
        self.subjects.dedup();
        extend_new(&mut self.sources, other.sources);
        extend_new(&mut self.blind_spots, other.blind_spots);
        self.shapes.extend(other.shapes);
        self.shapes.sort_by(|a, b| (&a.subject, a.span).cmp(&(&b.subject, b.span)));
        self.shapes.dedup_by(|next, last| next.subject == last.subject && next.span == last.span);
        self.contended.extend(other.contended);
        self.contended.sort_by(|a, b| (&a.gpu, a.span).cmp(&(&b.gpu, b.span)));
        self.contended.dedup_by(|next, last| next.gpu == last.gpu && next.span == last.span);
        self.phases = joined(std::mem::take(&mut self.phases), other.phases);
        self.devices.sort_by(|a, b| (a.index, &a.gpu).cmp(&(b.index, &b.gpu)));
        self.span = match (self.span, other.span) {
            (Some(mine), Some(theirs)) => Some(mine.hull(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        self.readings += other.readings;
    }
}

/// Takes in an instance; what is known of it already is completed.
fn complete(mine: &mut Vec<MigInstance>, it: MigInstance) {
    match mine.iter_mut().find(|known| known.instance == it.instance) {
        Some(known) => {
            known.profile = known.profile.take().or(it.profile);
            extend_new(&mut known.tenants, it.tenants);
        }
        None => mine.push(it),
    }
}

fn extend_new<T: PartialEq>(mine: &mut Vec<T>, theirs: Vec<T>) {
    theirs.into_iter().for_each(|it| push_new(mine, it));
}

fn push_new<T: PartialEq>(mine: &mut Vec<T>, it: T) {
    if !mine.contains(&it) {
        mine.push(it);
    }
}

/// Whether a phase goes on where another of its name and GPU ends.
fn touches(last: &Phase, next: &Phase) -> bool {
    last.label == next.label
        && last.gpu == next.gpu
        && last.span.from() <= next.span.from()
        && next.span.from() <= last.span.until()
}

/// Phases of both lists by start; stretches of one name that touch become one.
fn joined(mine: Vec<Phase>, theirs: Vec<Phase>) -> Vec<Phase> {
    let mut all: Vec<Phase> = mine.into_iter().chain(theirs).collect();
    all.sort_by(|a, b| (&a.label, &a.gpu, a.span).cmp(&(&b.label, &b.gpu, b.span)));
    let mut phases: Vec<Phase> = Vec::with_capacity(all.len());
    for phase in all {
        match phases.last_mut().filter(|last| touches(last, &phase)) {
            Some(last) => last.span = last.span.hull(phase.span),
            None => phases.push(phase),
        }
    }
    phases.sort_by(|a, b| (a.span, &a.label, &a.gpu).cmp(&(b.span, &b.label, &b.gpu)));
    phases
}
