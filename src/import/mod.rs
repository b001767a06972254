//! Foreign text becomes a recording: one file per format, streaming, recognised by content.
//!
//! Floor 2. Reads the reader that it is given and writes to a [`Sink`]; opens no file.

pub mod cells;
pub mod clock;
pub mod dcgmi_dmon;
pub mod decompress;
pub mod dmon;
pub mod error;
pub mod gpu_names;
pub mod join;
pub mod line_reader;
pub mod lines;
pub mod mapping;
pub mod monitor;
pub mod origin;
pub mod pmon;
pub mod program;
pub mod prometheus_text;
pub mod refusal;
pub mod rejection;
pub mod run;
pub mod seen;
pub mod smi_apps;
pub mod smi_csv;
pub mod smi_fields;
pub mod smi_query;
pub mod stamp;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod text_testing;
pub mod unknown_names;
pub mod unnamed_gpu;

use crate::domain::sink::Sink;
use crate::domain::time::{SampleInterval, Timestamp};
use crate::import::error::ImportError;
use crate::import::mapping::{Mapping, MappingImporter, PRESETS};
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
    &smi_query::SmiQuery,
    &smi_apps::SmiComputeApps,
    &dmon::Dmon,
    &pmon::Pmon,
    &dcgmi_dmon::DcgmiDmon,
    &prometheus_text::PrometheusText,
];

/// Formats that describe GPUs by index and UUID: read first when several files belong together.
pub const DESCRIBES_GPUS: &[&str] = &["smi-query", "prometheus-text"];

/// The importer of this id.
pub fn by_id(id: &str) -> Option<&'static dyn Importer> {
    IMPORTERS.iter().copied().find(|it| it.id() == id)
}

/// What the start of a file turned out to be.
pub enum Recognised {
    /// A format of [`IMPORTERS`].
    Format(&'static dyn Importer),
    /// A table that a preset describes.
    Preset(Box<MappingImporter>),
    /// A table that several presets describe; their ids. The user has to choose.
    Ambiguous(Vec<&'static str>),
    /// Nothing that we read.
    Unknown,
}

/// The importer that fits the start of a file best.
///
/// Of formats that are equally sure, the one that stands first in the list wins. A preset whose
/// columns are all in the header goes before a format that is not sure, and the preset that names
/// more columns before one that names fewer. `file_name` only decides between presets whose files
/// have the same columns.
pub fn recognise(head: &[u8], file_name: &str) -> Recognised {
    let mut best: Option<(Likeness, &'static dyn Importer)> = None;
    for importer in IMPORTERS {
        let likeness = importer.recognise(head);
        if likeness > best.map_or(Likeness::No, |it| it.0) {
            best = Some((likeness, *importer));
        }
    }
    if let Some((Likeness::Sure, importer)) = best {
        return Recognised::Format(importer);
    }
    let mut fitting = fitting_presets(head);
    if fitting.len() > 1 {
        let is_named = |it: &Mapping| it.file_name_hint().is_some_and(|it| file_name.contains(it));
        let named: Vec<_> = fitting.iter().filter(|it| is_named(&it.1)).cloned().collect();
        if named.len() == 1 {
            fitting = named;
        }
    }
    match (fitting.pop(), best) {
        (Some((_, mapping)), _) if fitting.is_empty() => {
            Recognised::Preset(Box::new(MappingImporter { mapping }))
        }
        (Some((last, _)), _) => {
            Recognised::Ambiguous(fitting.iter().map(|it| it.0).chain([last]).collect())
        }
        (None, Some((_, importer))) => Recognised::Format(importer),
        (None, None) => Recognised::Unknown,
    }
}

/// The presets whose columns are all in the header, as far as they name most columns.
fn fitting_presets(head: &[u8]) -> Vec<(&'static str, Mapping)> {
    let mut most = 0;
    let mut fitting = Vec::new();
    for (id, text) in PRESETS {
        let Ok(mapping) = Mapping::from_toml(text) else { continue };
        let Some(columns) = mapping.fit(head) else { continue };
        if columns > most {
            most = columns;
            fitting.clear();
        }
        if columns == most {
            fitting.push((*id, mapping));
        }
    }
    fitting
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
