//! STUB, to be deleted: stands where `analysis::diagnosis` and `analysis::experiment` will be.
//!
//! When they are there, `cli::diagnose` imports the same names from them, and this file goes.

use crate::analysis::diagnosis_findings::{Diagnosis, ExperimentResult};
use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::outline::Outline;
use crate::domain::recording::Recording;
use crate::domain::time::TimeSpan;
use std::collections::BTreeMap;

/// What is asked about a victim.
#[derive(Debug, Clone)]
#[allow(dead_code, reason = "read by what takes the place of the stub")]
pub(crate) struct DiagnosisRequest {
    /// Who was slow.
    pub(crate) victim: Subject,
    /// In which metric; `None`: the one that says most.
    pub(crate) metric: Option<Metric>,
    /// When; `None`: over the whole recording.
    pub(crate) window: Option<TimeSpan>,
    /// Clock offsets by tenant, in seconds.
    pub(crate) clock_offsets: BTreeMap<String, f64>,
    /// Whether tenants of which no GPU is known share one.
    pub(crate) assume_one_gpu: bool,
    /// Seed of what is drawn by lot.
    pub(crate) seed: u64,
}

/// What is asked about an experiment.
#[derive(Debug, Clone)]
#[allow(dead_code, reason = "read by what takes the place of the stub")]
pub(crate) struct ExperimentRequest {
    /// Who was watched.
    pub(crate) victim: Subject,
    /// Who paused.
    pub(crate) suspect: Subject,
    /// In which metric; `None`: the one that says most.
    pub(crate) metric: Option<Metric>,
    /// When, and whether the suspect ran.
    pub(crate) blocks: Vec<(TimeSpan, bool)>,
    /// Clock offsets by tenant, in seconds.
    pub(crate) clock_offsets: BTreeMap<String, f64>,
    /// Seconds at the start of each block that do not count.
    pub(crate) settle_s: f64,
}

/// Why there is no answer.
#[derive(Debug, Clone)]
pub(crate) struct DiagnosisRefusal {
    /// What is missing.
    pub(crate) sentence: String,
    /// What would help.
    pub(crate) remedy: String,
}

pub(crate) fn diagnose(
    _outline: &Outline,
    _part: &Recording,
    _request: &DiagnosisRequest,
) -> Result<Diagnosis, DiagnosisRefusal> {
    Err(not_yet())
}

pub(crate) fn evaluate(
    _outline: &Outline,
    _part: &Recording,
    _request: &ExperimentRequest,
) -> Result<ExperimentResult, DiagnosisRefusal> {
    Err(not_yet())
}

fn not_yet() -> DiagnosisRefusal {
    DiagnosisRefusal {
        sentence: "this build cannot diagnose yet".to_owned(),
        remedy: "use a build that has the analysis of influences".to_owned(),
    }
}
