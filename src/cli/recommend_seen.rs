//! Who was seen on which GPU, and what each asked for.

use crate::cli::error::CliError;
use crate::cli::whatif_seen::{Loaded, seen_in};
use crate::domain::ident::GpuId;
use crate::domain::time::TimeSpan;
use crate::recommender::candidates::{Candidate, candidates};
use crate::recommender::seen::{SeenTenant, never_shown};
use crate::storage::StoredRecording;
use std::collections::{BTreeMap, BTreeSet};

/// Every tenant of every GPU, and every GPU as a whole where it names nobody: looked at GPU by GPU, since what a tenant asked for can
/// take as much memory as the samples.
pub(crate) struct Watched<'a> {
    recording: &'a StoredRecording,
    span: Option<TimeSpan>,
    /// Of each GPU, with their places among all.
    candidates: BTreeMap<GpuId, Vec<(usize, Candidate)>>,
}

/// The tenants of one GPU.
pub(crate) struct OnGpu {
    pub(crate) tenants: Vec<SeenTenant>,
    /// Those that nothing shows at work, with their places among all.
    pub(crate) dark: Vec<(usize, String)>,
}

impl<'a> Watched<'a> {
    /// `file` is the name of the input, after which a GPU that stands alone is called.
    pub(crate) fn new(recording: &'a StoredRecording, file: &str, span: Option<TimeSpan>) -> Self {
        let all = candidates(recording.outline(), file);
        let named: BTreeSet<GpuId> =
            all.iter().filter(|it| !it.is_whole_gpu).map(|it| it.gpu.clone()).collect();
        let mut candidates: BTreeMap<GpuId, Vec<(usize, Candidate)>> = BTreeMap::new();
        let seen = all.into_iter().filter(|it| !(it.is_whole_gpu && named.contains(&it.gpu)));
        for (place, it) in seen.enumerate() {
            candidates.entry(it.gpu.clone()).or_default().push((place, it));
        }
        Self { recording, span, candidates }
    }

    /// The tenants of a GPU, whose samples are let go of then.
    pub(crate) fn on(&self, gpu: &GpuId) -> Result<OnGpu, CliError> {
        let mut found = OnGpu { tenants: Vec::new(), dark: Vec::new() };
        let mut loaded = Loaded::default();
        for (place, candidate) in self.candidates.get(gpu).into_iter().flatten() {
            let seen = seen_in(self.recording, candidate, self.span, &mut loaded)?;
            let demand = seen.demand(candidate, None);
            if demand.is_none() {
                found.dark.push((*place, candidate.tenant.as_str().to_owned()));
            }
            found.tenants.push(SeenTenant {
                gpu: candidate.gpu.clone(),
                tenant: candidate.tenant.clone(),
                is_whole_gpu: candidate.is_whole_gpu,
                demand,
                instance: seen.instance,
            });
        }
        Ok(found)
    }
}

/// What could not be seen of those that nothing shows at work, in sentences.
pub(crate) fn notes(mut dark: Vec<(usize, String)>) -> Vec<String> {
    dark.sort();
    never_shown(&dark.iter().map(|it| it.1.as_str()).collect::<Vec<_>>())
}
