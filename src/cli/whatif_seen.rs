//! Who stands in a recording as a tenant, and whether anybody worked beside it.

use crate::cli::error::CliError;
use crate::cli::whatif_memory::{Held, held};
use crate::colocation::demand::Demand;
use crate::colocation::observed::Sitting;
use crate::colocation::share::Slice;
use crate::colocation::slices::PROFILES;
use crate::domain::ident::{GpuId, Subject, TenantId};
use crate::domain::metric::Metric;
use crate::domain::outline::{MigInstance, Outline, Process};
use crate::domain::recording::{Recording, Trace};
use crate::domain::time::TimeSpan;
use crate::storage::{Selection, StoredRecording};
use std::collections::BTreeSet;

/// What shows that somebody works.
const WORK: [Metric; 6] = [
    Metric::GpuUtilization,
    Metric::SmActive,
    Metric::GraphicsEngineActive,
    Metric::Throughput,
    Metric::OfferedLoad,
    Metric::IterationRate,
];

/// Somebody on one GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) gpu: GpuId,
    pub(crate) tenant: TenantId,
    /// Whether it stands for whatever runs on the GPU.
    pub(crate) is_whole_gpu: bool,
}

impl Candidate {
    /// All names by which a user may mean it.
    pub(crate) fn names(&self, outline: &Outline) -> Vec<String> {
        let device = outline.label(&Subject::device(&self.gpu));
        if self.is_whole_gpu {
            return vec![device, self.gpu.to_string()];
        }
        let own = self.tenant.as_str();
        let mut names =
            vec![own.to_owned(), format!("{}/{own}", self.gpu), format!("{device}/{own}")];
        let is_own = |it: &&Process| it.gpu == self.gpu && it.tenant.as_ref() == Some(&self.tenant);
        let processes = outline.processes.iter().filter(is_own);
        names.extend(processes.map(|it| {
            outline.label(&Subject::Process { gpu: it.gpu.clone(), process: it.process })
        }));
        names
    }

    /// The name by which it is listed.
    pub(crate) fn shown(&self, outline: &Outline) -> String {
        match self.is_whole_gpu {
            true => outline.label(&Subject::device(&self.gpu)),
            false => self.tenant.as_str().to_owned(),
        }
    }
}

/// The tenant of a process: the recorded one, or itself under its label.
fn tenant_of(outline: &Outline, subject: &Subject) -> Option<TenantId> {
    let Subject::Process { gpu, process } = subject else { return None };
    let described = outline.processes.iter().find(|it| it.gpu == *gpu && it.process == *process);
    let recorded = described.and_then(|it| it.tenant.clone());
    Some(recorded.unwrap_or_else(|| TenantId::new(outline.label(subject))))
}

/// Every tenant on every GPU, then every GPU as a whole; one that stands alone is called after the file.
pub(crate) fn candidates(outline: &Outline, file: &str) -> Vec<Candidate> {
    let gpus: BTreeSet<&GpuId> = outline.subjects.iter().filter_map(Subject::gpu).collect();
    let mut found: BTreeSet<(GpuId, TenantId)> = BTreeSet::new();
    for subject in &outline.subjects {
        match subject {
            Subject::Process { gpu, .. } => {
                found.extend(tenant_of(outline, subject).map(|it| (gpu.clone(), it)));
            }
            Subject::MigInstance { instance } => {
                let is_it = |it: &&MigInstance| it.instance == *instance;
                let tenants = outline.mig_instances.iter().filter(is_it).flat_map(|it| &it.tenants);
                found.extend(tenants.map(|it| (instance.gpu.clone(), it.clone())));
            }
            Subject::Tenant { gpu: Some(gpu), tenant } => {
                found.insert((gpu.clone(), tenant.clone()));
            }
            Subject::Tenant { gpu: None, .. } | Subject::Device { .. } => {}
        }
    }
    for subject in &outline.subjects {
        if let Subject::Tenant { gpu: None, tenant } = subject
            && let [only] = gpus.iter().collect::<Vec<_>>().as_slice()
        {
            found.insert(((**only).clone(), tenant.clone()));
        }
    }
    let tenants =
        found.into_iter().map(|(gpu, tenant)| Candidate { gpu, tenant, is_whole_gpu: false });
    let mut all: Vec<Candidate> = tenants.collect();
    for subject in outline.subjects.iter().filter(|it| it.is_device()) {
        let Some(gpu) = subject.gpu() else { continue };
        let name = match gpus.len() {
            1 => file.to_owned(),
            _ => format!("{file} {}", outline.label(subject)),
        };
        all.push(Candidate { gpu: gpu.clone(), tenant: TenantId::new(name), is_whole_gpu: true });
    }
    all
}

/// One tenant as it was recorded.
pub(crate) struct Seen {
    /// Its GPU, and what it measures itself.
    pub(crate) part: Recording,
    /// Whether nobody else worked on the GPU.
    pub(crate) is_alone: bool,
    /// The MIG instance that it had to itself.
    pub(crate) instance: Option<String>,
    /// How much of the GPU that instance is; `None` without one, or for a profile that is not known.
    slice: Option<Slice>,
    /// Memory of the GPU, bytes.
    pub(crate) capacity_bytes: Option<f64>,
    /// What it held.
    pub(crate) held: Held,
}

/// Loads a GPU and all that runs on it; processes without a tenant become one each.
pub(crate) fn gpu_part(recording: &StoredRecording, gpu: &GpuId) -> Result<Recording, CliError> {
    let is_meant = |it: &&Subject| it.gpu() == Some(gpu);
    let subjects: Vec<Subject> =
        recording.outline().subjects.iter().filter(is_meant).cloned().collect();
    let selection = Selection { subjects: Some(subjects), ..Selection::default() };
    let mut part = recording.load(&selection)?;
    name_processes(&mut part);
    Ok(part)
}

impl Seen {
    /// What the tenant asked of its GPU; `None` where nothing shows when it was active.
    pub(crate) fn demand(&self, it: &Candidate, idle_w: Option<f64>) -> Option<Demand> {
        let (gpu, tenant, is_alone) = (&it.gpu, &it.tenant, self.is_alone);
        let demand = Demand::recorded(&self.part, Sitting { gpu, tenant, is_alone, idle_w })?;
        Some(match self.slice {
            Some(slice) => demand.inside(slice),
            None => demand,
        })
    }
}

/// Loads the GPU of a tenant; processes without a tenant become one each.
pub(crate) fn seen(
    recording: &StoredRecording,
    it: &Candidate,
    span: Option<TimeSpan>,
) -> Result<Seen, CliError> {
    let outline = recording.outline();
    let is_meant = |subject: &&Subject| match subject {
        Subject::Tenant { gpu: None, tenant } => *tenant == it.tenant,
        other => other.gpu() == Some(&it.gpu),
    };
    let subjects: Vec<Subject> = outline.subjects.iter().filter(is_meant).cloned().collect();
    let selection = Selection { subjects: Some(subjects), span, ..Selection::default() };
    let mut part = recording.load(&selection)?;
    name_processes(&mut part);
    let capacity_bytes = part
        .series(&Subject::device(&it.gpu), Metric::FramebufferTotal)
        .and_then(|it| it.values().iter().copied().reduce(f64::max));
    let is_own = |instance: &&MigInstance| {
        instance.instance.gpu == it.gpu && instance.tenants.as_slice() == [it.tenant.clone()]
    };
    let own = part.outline.mig_instances.iter().find(is_own);
    let instance =
        own.map(|it| part.outline.label(&Subject::MigInstance { instance: it.instance.clone() }));
    let slice = own.and_then(|it| {
        let short = it.profile.as_deref()?.split('.').next()?;
        PROFILES.iter().find(|known| known.0 == short).map(|known| known.1)
    });
    let is_alone = it.is_whole_gpu || !has_company(&part, it);
    let held = held(&part, it);
    Ok(Seen { is_alone, instance, slice, capacity_bytes, held, part })
}

/// Gives every process without a tenant one of its own, called by its label.
fn name_processes(part: &mut Recording) {
    for subject in part.traces.keys() {
        let Subject::Process { gpu, process } = subject else { continue };
        let Some(tenant) = tenant_of(&part.outline, subject) else { continue };
        let known =
            part.outline.processes.iter_mut().find(|it| it.gpu == *gpu && it.process == *process);
        match known {
            Some(it) => it.tenant = Some(tenant),
            None => part.outline.processes.push(Process {
                gpu: gpu.clone(),
                process: *process,
                name: None,
                tenant: Some(tenant),
            }),
        }
    }
}

/// Whether somebody else on the GPU worked, or may have: memory is held, and nobody's utilisation was recorded.
fn has_company(part: &Recording, it: &Candidate) -> bool {
    let is_process = |subject: &Subject| matches!(subject, Subject::Process { .. });
    let has_processes = part
        .on_gpu(&it.gpu)
        .any(|(subject, trace)| is_process(subject) && trace.get(Metric::GpuUtilization).is_some());
    part.on_gpu(&it.gpu).any(|(subject, trace)| {
        let other = match subject {
            Subject::Process { .. } => tenant_of(&part.outline, subject),
            Subject::Tenant { tenant, .. } => Some(tenant.clone()),
            Subject::Device { .. } | Subject::MigInstance { .. } => None,
        };
        let is_other = other.is_some_and(|other| other != it.tenant);
        let may_work = is_process(subject) && !has_processes && !shows_work(trace);
        is_other && (worked(trace) || may_work)
    })
}

fn shows_work(trace: &Trace) -> bool {
    WORK.iter().any(|it| trace.get(*it).is_some())
}

fn worked(trace: &Trace) -> bool {
    let series = WORK.iter().filter_map(|it| trace.get(*it));
    series.flat_map(|it| it.values()).any(|it| *it > 0.0)
}
