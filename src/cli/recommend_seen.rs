//! Who was seen on which GPU, and what each asked for.

use crate::cli::error::CliError;
use crate::cli::whatif_seen::{Loaded, seen_in};
use crate::domain::time::TimeSpan;
use crate::recommender::candidates::{Candidate, candidates};
use crate::recommender::seen::{SeenTenant, never_shown};
use crate::storage::StoredRecording;

/// Every tenant of every GPU, and every GPU as a whole where it names nobody; what is left out is said.
///
/// `file` is the name of the input, after which a GPU that stands alone is called.
pub(crate) fn tenants(
    recording: &StoredRecording,
    file: &str,
    span: Option<TimeSpan>,
) -> Result<(Vec<SeenTenant>, Vec<String>), CliError> {
    let all = candidates(recording.outline(), file);
    let has_names =
        |it: &Candidate| all.iter().any(|other| other.gpu == it.gpu && !other.is_whole_gpu);
    let mut found = Vec::new();
    let mut dark = Vec::new();
    let mut loaded = Loaded::default();
    for candidate in all.iter().filter(|it| !(it.is_whole_gpu && has_names(it))) {
        let seen = seen_in(recording, candidate, span, &mut loaded)?;
        let demand = seen.demand(candidate, None);
        if demand.is_none() {
            dark.push(candidate.tenant.as_str());
        }
        found.push(SeenTenant {
            gpu: candidate.gpu.clone(),
            tenant: candidate.tenant.clone(),
            is_whole_gpu: candidate.is_whole_gpu,
            demand,
            instance: seen.instance,
        });
    }
    Ok((found, never_shown(&dark)))
}
