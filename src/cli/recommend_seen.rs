//! Who was seen on which GPU, and what each asked for.

use crate::cli::args::QuestionArgs;
use crate::cli::error::CliError;
use crate::cli::spool::name_of;
use crate::cli::whatif_seen::seen;
use crate::domain::time::TimeSpan;
use crate::recommender::candidates::{Candidate, candidates};
use crate::recommender::seen::SeenTenant;
use crate::storage::StoredRecording;

/// Every tenant of every GPU, and every GPU as a whole where it names nobody; what is left out is said.
pub(crate) fn tenants(
    recording: &StoredRecording,
    question: &QuestionArgs,
    span: Option<TimeSpan>,
) -> Result<(Vec<SeenTenant>, Vec<String>), CliError> {
    let outline = recording.outline();
    let file = question.inputs.first().map(|it| name_of(it)).unwrap_or_default();
    let all = candidates(outline, &file);
    let has_names =
        |it: &Candidate| all.iter().any(|other| other.gpu == it.gpu && !other.is_whole_gpu);
    let mut found = Vec::new();
    let mut notes = Vec::new();
    for candidate in all.iter().filter(|it| !(it.is_whole_gpu && has_names(it))) {
        let seen = seen(recording, candidate, span)?;
        let demand = seen.demand(candidate, None);
        if demand.is_none() {
            notes.push(format!("nothing shows when {} was active", candidate.tenant));
        }
        found.push(SeenTenant {
            gpu: candidate.gpu.clone(),
            tenant: candidate.tenant.clone(),
            is_whole_gpu: candidate.is_whole_gpu,
            demand,
            instance: seen.instance,
        });
    }
    Ok((found, notes))
}
