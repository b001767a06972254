//! Who stands in a recording as a tenant, and whether anybody worked beside it.

use crate::colocation::share::Slice;
use crate::colocation::slices::PROFILES;
use crate::domain::ident::{GpuId, Subject, TenantId};
use crate::domain::metric::Metric;
use crate::domain::outline::{MigInstance, Outline};
use crate::domain::recording::{Recording, Trace};
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
pub struct Candidate {
    /// The GPU.
    pub gpu: GpuId,
    /// Its name.
    pub tenant: TenantId,
    /// Whether it stands for whatever runs on the GPU.
    pub is_whole_gpu: bool,
}

impl Candidate {
    /// All names by which a user may mean it.
    pub fn names(&self, outline: &Outline) -> Vec<String> {
        let device = outline.label(&Subject::device(&self.gpu));
        if self.is_whole_gpu {
            return vec![device, self.gpu.to_string()];
        }
        let own = self.tenant.as_str();
        let mut names =
            vec![own.to_owned(), format!("{}/{own}", self.gpu), format!("{device}/{own}")];
        let processes = outline.processes.of_tenant(&self.gpu, &self.tenant);
        names.extend(processes.map(|it| {
            outline.label(&Subject::Process { gpu: it.gpu.clone(), process: it.process })
        }));
        names
    }

    /// The name by which it is listed.
    pub fn shown(&self, outline: &Outline) -> String {
        match self.is_whole_gpu {
            true => outline.label(&Subject::device(&self.gpu)),
            false => self.tenant.as_str().to_owned(),
        }
    }
}

/// The tenant of a process: the recorded one, or itself under its label.
fn tenant_of(outline: &Outline, subject: &Subject) -> Option<TenantId> {
    let Subject::Process { gpu, process } = subject else { return None };
    let described = outline.processes.of(gpu, *process);
    let recorded = described.and_then(|it| it.tenant.clone());
    Some(recorded.unwrap_or_else(|| TenantId::new(outline.label(subject))))
}

/// Every tenant on every GPU, then every GPU as a whole; one that stands alone is called after the file.
pub fn candidates(outline: &Outline, file: &str) -> Vec<Candidate> {
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

/// Gives every process without a tenant one of its own, called by its label.
pub fn name_processes(part: &mut Recording) {
    for subject in part.traces.keys() {
        let Subject::Process { gpu, process } = subject else { continue };
        let Some(tenant) = tenant_of(&part.outline, subject) else { continue };
        part.outline.processes.assign(gpu, *process, tenant);
    }
}

/// The MIG instance that a tenant has to itself: its label, and how much of the GPU it is.
///
/// The label is `None` without one, the size also for a profile that is not known.
pub fn own_instance(part: &Recording, it: &Candidate) -> (Option<String>, Option<Slice>) {
    let is_own = |instance: &&MigInstance| {
        instance.instance.gpu == it.gpu && instance.tenants.as_slice() == [it.tenant.clone()]
    };
    let own = part.outline.mig_instances.iter().find(is_own);
    let label =
        own.map(|it| part.outline.label(&Subject::MigInstance { instance: it.instance.clone() }));
    let slice = own.and_then(|it| {
        let short = it.profile.as_deref()?.split('.').next()?;
        PROFILES.iter().find(|known| known.0 == short).map(|known| known.1)
    });
    (label, slice)
}

/// Who on a GPU worked, or may have: memory is held, and nobody's utilisation was recorded.
pub fn workers(part: &Recording, gpu: &GpuId) -> BTreeSet<TenantId> {
    let is_process = |subject: &Subject| matches!(subject, Subject::Process { .. });
    let has_processes = part
        .on_gpu(gpu)
        .any(|(subject, trace)| is_process(subject) && trace.get(Metric::GpuUtilization).is_some());
    let at_work = part.on_gpu(gpu).filter(|(subject, trace)| {
        let may_work = is_process(subject) && !has_processes && !shows_work(trace);
        worked(trace) || may_work
    });
    let names = at_work.filter_map(|(subject, _)| match subject {
        Subject::Process { .. } => tenant_of(&part.outline, subject),
        Subject::Tenant { tenant, .. } => Some(tenant.clone()),
        Subject::Device { .. } | Subject::MigInstance { .. } => None,
    });
    names.collect()
}

/// Whether somebody of these is not this one.
pub fn has_company(workers: &BTreeSet<TenantId>, it: &Candidate) -> bool {
    workers.iter().any(|other| *other != it.tenant)
}

fn shows_work(trace: &Trace) -> bool {
    WORK.iter().any(|it| trace.get(*it).is_some())
}

fn worked(trace: &Trace) -> bool {
    let mut series = WORK.iter().filter_map(|it| trace.get(*it));
    series.any(|it| it.highest().is_some_and(|it| it > 0.0))
}
