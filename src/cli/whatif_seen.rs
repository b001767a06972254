//! What a tenant of a recording asked for and held.

use crate::analysis::co_peaks::memory_held;
use crate::cli::error::CliError;
use crate::cli::whatif_memory::{Held, Holders};
use crate::colocation::demand::Demand;
use crate::colocation::observed::Sitting;
use crate::colocation::share::Slice;
use crate::domain::ident::{GpuId, Subject, TenantId};
use crate::domain::metric::Metric;
use crate::domain::outline::Outline;
use crate::domain::recording::Recording;
use crate::domain::series::Series;
use crate::domain::time::TimeSpan;
use crate::recommender::candidates::{
    Candidate, has_company, name_processes, own_instance, workers,
};
use crate::storage::{Selection, StoredRecording};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// One tenant as it was recorded.
pub(crate) struct Seen {
    /// Its GPU, and what it measures itself.
    pub(crate) part: Rc<Recording>,
    /// Whether nobody else worked on the GPU.
    pub(crate) is_alone: bool,
    /// The MIG instance that it had to itself.
    pub(crate) instance: Option<String>,
    /// How much of the GPU that instance is; `None` without one, or for a profile that is not known.
    slice: Option<Slice>,
    /// Memory of the GPU, bytes.
    pub(crate) capacity_bytes: Option<f64>,
    memory: Rc<OnceCell<Holders>>,
}

/// Loads a GPU and all that runs on it; processes without a tenant become one each.
pub(crate) fn gpu_part(recording: &StoredRecording, gpu: &GpuId) -> Result<Recording, CliError> {
    let is_meant = |it: &&Subject| it.gpu() == Some(gpu);
    let subjects = recording.outline().subjects.iter().filter(is_meant).cloned().collect();
    let selection = Selection { subjects: Some(subjects), ..Selection::default() };
    let mut part = recording.load(&selection)?;
    name_processes(&mut part);
    Ok(part)
}

impl Seen {
    /// What the tenant held.
    pub(crate) fn held(&self, it: &Candidate) -> Held {
        self.memory.get_or_init(|| Holders::of(memory_held(&it.gpu, &self.part))).held(it)
    }

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

/// What was loaded of one recording for many tenants: the part of the GPU that was loaded last, since tenants of one GPU stand
/// beside each other, and who has a series that is on no GPU.
#[derive(Default)]
pub(crate) struct Loaded {
    last: Option<(GpuId, Part)>,
    unplaced: Option<BTreeSet<TenantId>>,
}

/// A GPU's part of a recording, who worked in it, and who held how much memory.
#[derive(Clone)]
struct Part {
    recording: Rc<Recording>,
    workers: Rc<BTreeSet<TenantId>>,
    memory: Rc<OnceCell<Holders>>,
}

/// Loads the GPU of a tenant; processes without a tenant become one each.
pub(crate) fn seen(
    recording: &StoredRecording,
    it: &Candidate,
    span: Option<TimeSpan>,
) -> Result<Seen, CliError> {
    seen_in(recording, it, span, &mut Loaded::default())
}

/// The same for many tenants: a GPU is read once for all of its tenants.
pub(crate) fn seen_in(
    recording: &StoredRecording,
    it: &Candidate,
    span: Option<TimeSpan>,
    loaded: &mut Loaded,
) -> Result<Seen, CliError> {
    let outline = recording.outline();
    let is_own = |subject: &Subject| matches!(subject, Subject::Tenant { gpu: None, tenant } if *tenant == it.tenant);
    let load = |has_own: bool| -> Result<Part, CliError> {
        let is_meant =
            |subject: &&Subject| subject.gpu() == Some(&it.gpu) || has_own && is_own(subject);
        let subjects = outline.subjects.iter().filter(is_meant).cloned().collect();
        let selection = Selection { subjects: Some(subjects), span, ..Selection::default() };
        let mut part = recording.load(&selection)?;
        name_processes(&mut part);
        let workers = Rc::new(workers(&part, &it.gpu));
        Ok(Part { recording: Rc::new(part), workers, memory: Rc::default() })
    };
    let unplaced = loaded.unplaced.get_or_insert_with(|| unplaced(outline));
    let Part { recording: part, workers, memory } = match &loaded.last {
        // What it reports itself, on no GPU, belongs to it alone.
        _ if unplaced.contains(&it.tenant) => load(true)?,
        Some((gpu, part)) if *gpu == it.gpu => part.clone(),
        _ => {
            // Never two GPUs in memory: the one before goes first.
            loaded.last = None;
            let part = load(false)?;
            loaded.last = Some((it.gpu.clone(), part.clone()));
            part
        }
    };
    let capacity_bytes =
        part.series(&Subject::device(&it.gpu), Metric::FramebufferTotal).and_then(Series::highest);
    let (instance, slice) = own_instance(&part, it);
    let is_alone = it.is_whole_gpu || !has_company(&workers, it);
    Ok(Seen { is_alone, instance, slice, capacity_bytes, memory, part })
}

/// Tenants with a series that is on no GPU.
fn unplaced(outline: &Outline) -> BTreeSet<TenantId> {
    let name = |it: &Subject| match it {
        Subject::Tenant { gpu: None, tenant } => Some(tenant.clone()),
        _ => None,
    };
    outline.subjects.iter().filter_map(name).collect()
}
