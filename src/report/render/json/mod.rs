//! Results as JSON: the schema that `docs/CLI.md` describes.

pub(in crate::report::render) mod audit;
mod comparison;
mod diagnosis;
mod explain;
mod fleet;
pub(in crate::report::render) mod influences;
mod recommend;
pub(in crate::report::render) mod whatif;

pub use audit::audit;
pub use comparison::comparison;
pub use diagnosis::{diagnosis, experiment};
pub use explain::explanation;
pub use fleet::fleet;
pub use recommend::recommendation;
pub use whatif::whatif;

use crate::analysis::counted_together::CountedTogether;
use crate::analysis::findings::{DeviceFindings, Findings, ScopeFindings, SubjectFindings};
use crate::analysis::influence::findings::InfluenceFindings;
use crate::analysis::memory_findings::{CoActivation, MemoryFindings};
use crate::domain::blind_spot::BlindSpot;
use crate::domain::outline::{Device, MigInstance, Outline, Phase, Process};
use crate::domain::processes::Followed;
use crate::domain::source::Source;
use crate::domain::time::TimeSpan;
use crate::recommender::memory_risk::{SharedMemoryRisk, memory_risks};
use crate::recommender::policy::Policy;
use crate::recommender::suitability::Suitability;
use crate::report::render::json::influences::InfluenceRow;
use serde::Serialize;

/// Version of the schema; raised when a key changes its meaning or goes away.
pub const SCHEMA_VERSION: u32 = 1;

/// Everything that the document is made from.
#[derive(Debug, Clone, Copy)]
pub struct JsonInput<'a> {
    /// What the recording holds.
    pub outline: &'a Outline,
    /// What the analyses found.
    pub findings: &'a Findings,
    /// Who suits sharing.
    pub suitability: &'a [Suitability],
    /// Thresholds in force.
    pub policy: &'a Policy,
    /// Version of cotenant.
    pub tool_version: &'a str,
    /// The command line without secrets.
    pub command: &'a str,
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    cotenant_version: &'a str,
    command: &'a str,
    recording: Recording<'a>,
    suitability: &'a [Suitability],
    devices: Vec<DeviceView<'a>>,
    unplaced: Vec<SubjectView<'a>>,
    unplaced_influences: &'a InfluenceFindings,
    influences: Vec<InfluenceRow<'a>>,
    memory_forecasts: Vec<SharedMemoryRisk>,
    blind_spots: Vec<&'a BlindSpot>,
    policy: &'a Policy,
}

#[derive(Serialize)]
struct Recording<'a> {
    span: Option<TimeSpan>,
    readings: u64,
    devices: &'a [Device],
    mig_instances: &'a [MigInstance],
    processes: &'a [Process],
    #[serde(skip_serializing_if = "Followed::is_empty")]
    followed: &'a Followed,
    sources: &'a [Source],
    phases: &'a [Phase],
}

#[derive(Serialize)]
struct DeviceView<'a> {
    gpu: &'a str,
    label: &'a str,
    model: Option<&'a str>,
    subjects: Vec<SubjectView<'a>>,
    co_activations: &'a [CoActivation],
    counted_together: &'a [CountedTogether],
    memory: &'a [MemoryFindings],
    influences: &'a InfluenceFindings,
}

/// A subject without its timelines: they are pictures, and `export` gives the samples.
#[derive(Serialize)]
struct SubjectView<'a> {
    subject: &'a crate::domain::ident::Subject,
    label: &'a str,
    scopes: &'a [ScopeFindings],
}

/// The document, indented, with a final newline.
///
/// Errors: none in practice; serialisation of plain data cannot fail.
pub fn document(input: &JsonInput<'_>) -> Result<String, serde_json::Error> {
    let document = Document {
        schema_version: SCHEMA_VERSION,
        cotenant_version: input.tool_version,
        command: input.command,
        recording: Recording {
            span: input.outline.span,
            readings: input.outline.readings,
            devices: &input.outline.devices,
            mig_instances: &input.outline.mig_instances,
            processes: &input.outline.processes,
            followed: &input.outline.followed,
            sources: &input.outline.sources,
            phases: &input.outline.phases,
        },
        suitability: input.suitability,
        devices: input.findings.devices.iter().map(device).collect(),
        unplaced: input.findings.unplaced.iter().map(subject).collect(),
        unplaced_influences: &input.findings.unplaced_influences,
        influences: influences::rows(input.findings),
        memory_forecasts: memory_risks(input.findings),
        blind_spots: input.outline.blind_spots.iter().chain(&input.findings.blind_spots).collect(),
        policy: input.policy,
    };
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    Ok(text)
}

fn device(it: &DeviceFindings) -> DeviceView<'_> {
    DeviceView {
        gpu: it.gpu.as_str(),
        label: &it.label,
        model: it.model.as_deref(),
        subjects: it.subjects.iter().map(subject).collect(),
        co_activations: &it.co_activations,
        counted_together: &it.counted_together,
        memory: &it.memory,
        influences: &it.influences,
    }
}

fn subject(it: &SubjectFindings) -> SubjectView<'_> {
    SubjectView { subject: &it.subject, label: &it.label, scopes: &it.scopes }
}
