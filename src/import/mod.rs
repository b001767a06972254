//! Foreign text becomes a recording: one module per format, streaming, recognised by content.
//!
//! Formats: `smi`, `dcgmi_dmon`, `all_smi`, `gpustat`, `nvitop`, `wandb`, `wandb_chart`, `nsight`, `kernel_log`, `mps_log`,
//! `prometheus_text`, `prometheus_json`, `cotenant_csv`, and `mapping` for any table. What they share: `text` (lines, cells, stamps), `json`, `run` (one
//! import under way, and what it could not read) and `gpu_names`. Before and around them: `identify` and `refusal` say
//! what a file is, `join` makes one recording of several files.
//!
//! Floor 2. Reads the reader that it is given and writes to a [`Sink`]; opens no file.

pub mod all_smi;
pub mod cotenant_csv;
pub mod dcgmi_dmon;
pub mod error;
pub mod gpu_names;
pub mod gpustat;
pub mod identify;
pub mod join;
pub(crate) mod json;
pub mod kernel_log;
pub mod mapping;
pub mod mps_log;
pub mod nsight;
pub mod nvitop;
pub mod prometheus_json;
pub mod prometheus_text;
pub mod refusal;
pub mod run;
pub mod smi;
#[cfg(test)]
pub(crate) mod testing;
pub mod text;
pub mod wandb;
pub mod wandb_chart;

use crate::domain::sink::Sink;
use crate::domain::time::{SampleInterval, Timestamp};
use crate::import::error::ImportError;
use crate::import::run::ImportRun;
use std::io::BufRead;

/// How surely the start of a file is in a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    /// It is not.
    No,
    /// It could be; a surer format wins.
    Maybe,
    /// It is.
    Sure,
}

/// What the user said about a foreign file; everything that the file itself cannot tell.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    /// Zone of stamps that carry none; `None` reads them as UTC and says so.
    pub time_zone: Option<jiff::tz::TimeZone>,
    /// Stamp of the first sample, for files without stamps.
    pub start: Option<Timestamp>,
    /// Time between samples, for files without stamps.
    pub interval: Option<SampleInterval>,
    /// Field list of a file without header, as it was given to the tool.
    pub fields: Option<Vec<String>>,
    /// The GPU that rows without any GPU column are about.
    pub gpu: Option<String>,
}

/// A foreign format that can become a recording.
pub trait Importer: Sync {
    /// Name for `--format`, for messages and for the folder `fixtures/imports/<id>/`.
    fn id(&self) -> &'static str;

    /// One line for `--help`.
    fn about(&self) -> &'static str;

    /// How surely a file that starts with `head` is in this format.
    ///
    /// `head` is up to 64 KiB, already decompressed, and may end inside a line.
    fn recognise(&self, head: &[u8]) -> Likeness;

    /// Reads the whole input into the run's sink; cells that hold no reading become gaps.
    ///
    /// Cells that cannot be read are given to [`ImportRun::reject`] and do not end the import.
    /// Errors: the file as a whole cannot be read, or the sink is full.
    fn import(&self, input: &mut dyn BufRead, run: &mut ImportRun<'_>) -> Result<(), ImportError>;
}

/// Every format that is recognised by content; `--format`, `--help` and the golden tests walk this list.
pub const IMPORTERS: &[&dyn Importer] = &[
    &cotenant_csv::CotenantCsv,
    &smi::query::SmiQuery,
    &smi::apps::SmiComputeApps,
    &smi::dmon::Dmon,
    &smi::pmon::Pmon,
    &smi::log::SmiLog,
    &smi::xml::SmiXml,
    &smi::table::SmiTable,
    &dcgmi_dmon::DcgmiDmon,
    &all_smi::AllSmi,
    &gpustat::Gpustat,
    &nvitop::Nvitop,
    &wandb::Wandb,
    &wandb_chart::WandbChart,
    &nsight::Nsight,
    &kernel_log::KernelLog,
    &mps_log::MpsLog,
    &prometheus_json::PrometheusJson,
    &prometheus_text::PrometheusText,
];

/// Formats that describe GPUs, those by index and UUID first: read in this order before all others when several files
/// belong together.
pub const DESCRIBES_GPUS: &[&str] = &[
    "smi-query",
    "smi-log",
    "smi-xml",
    "nsight-sqlite",
    "gpustat",
    "all-smi",
    "prometheus-text",
    "prometheus-json",
    "smi-table",
];

/// Place of a format in the order in which files that belong together are read.
pub fn reading_order(id: &str) -> usize {
    DESCRIBES_GPUS.iter().position(|it| *it == id).unwrap_or(DESCRIBES_GPUS.len())
}

/// The importer of this id.
pub fn by_id(id: &str) -> Option<&'static dyn Importer> {
    IMPORTERS.iter().copied().find(|it| it.id() == id)
}

/// The importer that fits the start of a file best; `None` when none could read it.
///
/// Of two that are equally sure, the one that stands first in the list wins.
pub fn recognise(head: &[u8]) -> Option<&'static dyn Importer> {
    let mut best: Option<(Likeness, &'static dyn Importer)> = None;
    for importer in IMPORTERS {
        let likeness = importer.recognise(head);
        if likeness > best.map_or(Likeness::No, |it| it.0) {
            best = Some((likeness, *importer));
        }
    }
    best.map(|it| it.1)
}

/// Reads one file into the sink and sums up what happened.
///
/// A file that ends in a read error, such as a torn archive, keeps what was read before.
pub fn import(
    importer: &dyn Importer,
    input: &mut dyn BufRead,
    file: &str,
    options: &ImportOptions,
    source: crate::domain::source::SourceId,
    sink: &mut dyn Sink,
) -> Result<run::ImportSummary, ImportError> {
    let mut run = ImportRun::new(importer.id(), file, options, source, sink);
    match importer.import(input, &mut run) {
        Err(error @ ImportError::Read { .. }) if run.rows() > 0 => run.cut_short(&error)?,
        outcome => outcome?,
    }
    run.finish()
}
