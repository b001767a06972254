//! One import under way: where it is in the file, what it rejected, and the sink that it fills.

pub mod devices;
pub mod origin;
pub mod rejection;
pub mod seen;
pub mod unknown_names;

use crate::domain::blind_spot::{BlindSpot, BlindSpotKind};
use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::sink::{Fact, Sink};
use crate::domain::source::{Source, SourceId};
use crate::domain::time::Timestamp;
use crate::import::ImportOptions;
use crate::import::error::ImportError;
use crate::import::run::origin::Origin;
use crate::import::run::rejection::{Rejection, Rejections, quoted};
use crate::import::run::seen::Silence;

/// What happened during one import.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportSummary {
    /// Id of the importer.
    pub format: &'static str,
    /// File name.
    pub file: String,
    /// Rows given to the sink.
    pub rows: u64,
    /// Readings given to the sink.
    pub readings: u64,
    /// What could not be read.
    pub rejections: Rejections,
    /// What the user should know: assumptions and oddities, with remedies where there are any.
    pub warnings: Vec<String>,
}

/// One import under way.
pub struct ImportRun<'a> {
    /// Number of the line that is being read, from 1; importers keep it up to date.
    pub line: u64,
    /// What the user said about the file.
    pub options: &'a ImportOptions,
    /// Source that the rows of this file name.
    pub source: SourceId,
    format: &'static str,
    file: String,
    sink: &'a mut dyn Sink,
    rows: u64,
    readings: u64,
    rejections: Rejections,
    warnings: Vec<String>,
    is_source_described: bool,
    /// Whether there is something worth keeping even if no row comes.
    has_facts: bool,
}

impl<'a> ImportRun<'a> {
    /// An import of `file` that has not begun.
    pub fn new(
        format: &'static str,
        file: &str,
        options: &'a ImportOptions,
        source: SourceId,
        sink: &'a mut dyn Sink,
    ) -> Self {
        Self {
            line: 0,
            options,
            source,
            format,
            file: file.to_owned(),
            sink,
            rows: 0,
            readings: 0,
            rejections: Rejections::default(),
            warnings: Vec::new(),
            is_source_described: false,
            has_facts: false,
        }
    }

    /// Name of the file that is read.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Rows given to the sink so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Cells and rows rejected so far.
    pub fn rejection_count(&self) -> u64 {
        self.rejections.count()
    }

    /// Describes where the rows come from; precedes them, and only the first call counts.
    pub fn describe_source(
        &mut self,
        origin: impl FnOnce(&ImportOptions) -> Origin,
    ) -> Result<(), ImportError> {
        if std::mem::replace(&mut self.is_source_described, true) {
            return Ok(());
        }
        let origin = origin(self.options);
        let file = self.file.rsplit(['/', '\\']).next().map(str::to_owned);
        self.fact(Fact::Source(Source {
            id: self.source,
            format: origin.preset.unwrap_or(self.format).to_owned(),
            tool: origin.tool,
            tool_version: origin.tool_version,
            file,
            asked_interval: origin.asked_interval,
            clock: origin.clock,
            readings: origin.readings,
        }))
    }

    /// Gives the readings of one subject to the sink; a row without readings is left out.
    ///
    /// Readings that nobody can believe (sentinels, 37100 %) are rejected, not passed on.
    pub fn row(
        &mut self,
        at: Timestamp,
        subject: &Subject,
        readings: &[(Metric, f64)],
    ) -> Result<(), ImportError> {
        let believable = |it: &&(Metric, f64)| it.0.is_plausible(it.1);
        let count = readings.iter().filter(believable).count();
        if count == readings.len() {
            return self.pass(at, subject, readings);
        }
        for (metric, value) in readings.iter().filter(|it| !it.0.is_plausible(it.1)) {
            let (least, greatest) = metric.spec().range;
            let expected = format!("{least} to {greatest} {}", metric.spec().unit.symbol());
            self.reject(metric.key(), &expected, &value.to_string());
        }
        let kept: Vec<(Metric, f64)> = readings.iter().filter(believable).copied().collect();
        self.pass(at, subject, &kept)
    }

    fn pass(
        &mut self,
        at: Timestamp,
        subject: &Subject,
        readings: &[(Metric, f64)],
    ) -> Result<(), ImportError> {
        if readings.is_empty() {
            return Ok(());
        }
        self.rows += 1;
        self.readings += readings.len() as u64;
        Ok(self.sink.row(at, subject, self.source, readings)?)
    }

    /// Gives a fact to the sink.
    pub fn fact(&mut self, fact: Fact) -> Result<(), ImportError> {
        self.has_facts |= matches!(fact, Fact::Process(_));
        Ok(self.sink.fact(fact)?)
    }

    /// Notes that what was told is worth keeping even if no row comes.
    pub fn has_facts_only(&mut self) {
        self.has_facts = true;
    }

    /// Notes that something could not be seen.
    pub fn blind_spot(
        &mut self,
        kind: BlindSpotKind,
        subject: Option<Subject>,
        metric: Option<Metric>,
        detail: String,
        remedy: &str,
    ) -> Result<(), ImportError> {
        let remedy = remedy.to_owned();
        self.fact(Fact::BlindSpot(BlindSpot { kind, subject, metric, span: None, detail, remedy }))
    }

    /// Notes that a field of a subject never had a reading.
    pub fn silence(
        &mut self,
        subject: &Subject,
        metric: Metric,
        it: Silence,
    ) -> Result<(), ImportError> {
        self.blind_spot(it.kind, Some(subject.clone()), Some(metric), it.detail, &it.remedy)
    }

    /// Counts a cell of the present line that could not be read; an empty column means the whole row.
    pub fn reject(&mut self, column: &str, expected: &str, found: &str) {
        self.rejections.add(Rejection {
            file: self.file.clone(),
            line: self.line,
            column: column.to_owned(),
            expected: expected.to_owned(),
            found: quoted(found),
        });
    }

    /// Tells the user something that is no error.
    pub fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// The error that the present line does not have the structure of the format.
    pub fn structure_error(&self, expected: &str, found: &str, remedy: &str) -> ImportError {
        ImportError::Structure {
            file: self.file.clone(),
            line: self.line,
            expected: expected.to_owned(),
            found: quoted(found),
            remedy: remedy.to_owned(),
        }
    }

    /// The error that the present line could not be read from the reader.
    pub fn read_error(&self, source: std::io::Error) -> ImportError {
        ImportError::Read { file: self.file.clone(), line: self.line + 1, source }
    }

    /// Notes that the rest of the file could not be read.
    pub fn cut_short(&mut self, error: &ImportError) -> Result<(), ImportError> {
        let cause = std::error::Error::source(error).map(|it| format!(": {it}"));
        let detail =
            format!("{error}{}; what stands before it was kept", cause.unwrap_or_default());
        self.warn(detail.clone());
        self.blind_spot(BlindSpotKind::Gap, None, None, detail, "get the complete file")
    }

    /// Ends the import: rejections become a blind spot, and everything is summed up.
    ///
    /// Errors: nothing in the file could be read, or it held no samples at all. One that names processes and hides their readings
    /// (MIG, Windows) is no such file: who was there is worth knowing.
    pub fn finish(mut self) -> Result<ImportSummary, ImportError> {
        let count = self.rejections.count();
        if let Some(first) = self.rejections.first().first().cloned() {
            let what = if count == 1 { "cell or row" } else { "cells or rows" };
            let detail = format!("{count} {what} could not be read, the first at {first}");
            let remedy = "correct these places, or leave them out knowingly";
            self.blind_spot(BlindSpotKind::Rejected, None, None, detail, remedy)?;
        }
        if self.rows == 0 && !self.has_facts {
            if let Some(first) = self.rejections.first().first() {
                let first = first.to_string();
                return Err(ImportError::Unreadable { file: self.file, count, first });
            }
            return Err(ImportError::Empty { file: self.file });
        }
        Ok(ImportSummary {
            format: self.format,
            file: self.file,
            rows: self.rows,
            readings: self.readings,
            rejections: self.rejections,
            warnings: self.warnings,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::collector::Collector;

    #[test]
    fn a_source_is_described_once_by_file_name_and_by_importer_or_preset() {
        for (file, preset, format) in
            [("folder/a.csv", None, "test"), (r"D:\folder\a.csv", Some("preset"), "preset")]
        {
            let options = ImportOptions::default();
            let mut sink = Collector::new();
            let mut run = ImportRun::new("test", file, &options, SourceId(3), &mut sink);
            for tool in ["first", "second"] {
                let tool = tool.to_owned();
                run.describe_source(|_| Origin { preset, tool, ..Origin::default() }).unwrap();
            }
            let sources = sink.into_recording().outline.sources;
            let [source] = sources.as_slice() else { panic!("{sources:?}") };
            assert_eq!((source.format.as_str(), source.tool.as_str()), (format, "first"));
            assert_eq!((source.file.as_deref(), source.id), (Some("a.csv"), SourceId(3)));
        }
    }
}
