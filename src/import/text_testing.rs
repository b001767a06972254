//! What the tests of importers share: a text goes in, a recording comes out.

use crate::domain::collector::Collector;
use crate::domain::ident::{GpuId, ProcessKey, Subject};
use crate::domain::metric::Metric;
use crate::domain::recording::Recording;
use crate::domain::source::SourceId;
use crate::domain::time::{SampleInterval, Timestamp};
use crate::import::error::ImportError;
use crate::import::run::ImportSummary;
use crate::import::{ImportOptions, Importer, import};

/// What one import gave.
pub(crate) struct Outcome {
    /// What the sink holds; also when the import failed.
    pub(crate) recording: Recording,
    /// How it ended.
    pub(crate) result: Result<ImportSummary, ImportError>,
}

/// Imports a text as the file `log`.
pub(crate) fn read(importer: &dyn Importer, text: &str, options: &ImportOptions) -> Outcome {
    let mut sink = Collector::new();
    let mut input = text.as_bytes();
    let result = import(importer, &mut input, "log", options, SourceId(0), &mut sink);
    Outcome { recording: sink.into_recording(), result }
}

/// Options for files without stamps: one tick a second from the epoch on.
pub(crate) fn every_second() -> ImportOptions {
    ImportOptions {
        start: Some(Timestamp::from_micros(0)),
        interval: SampleInterval::from_micros(1_000_000),
        ..ImportOptions::default()
    }
}

/// The GPU of this name.
pub(crate) fn gpu(name: &str) -> Subject {
    Subject::device(&GpuId::new(name))
}

/// A process on a GPU.
pub(crate) fn process(gpu: &str, pid: u32) -> Subject {
    Subject::Process { gpu: GpuId::new(gpu), process: ProcessKey { pid, started: None } }
}

impl Outcome {
    /// The values of a series; empty when there is none.
    pub(crate) fn values(&self, subject: &Subject, metric: Metric) -> Vec<f64> {
        self.recording.series(subject, metric).map_or(Vec::new(), |it| it.values().to_vec())
    }

    /// The stamps of a series in milliseconds since the epoch.
    pub(crate) fn millis(&self, subject: &Subject, metric: Metric) -> Vec<i64> {
        let times = self.recording.series(subject, metric).map_or(&[][..], |it| it.times());
        times.iter().map(|it| it.as_micros() / 1000).collect()
    }

    /// The sum of a successful import.
    pub(crate) fn summary(&self) -> &ImportSummary {
        self.result.as_ref().expect("the import succeeds")
    }

    /// Every blind spot as `kind subject metric`.
    pub(crate) fn blind_spots(&self) -> Vec<String> {
        let text = |it: &crate::domain::blind_spot::BlindSpot| {
            let subject = it.subject.as_ref().map_or("all".to_owned(), ToString::to_string);
            format!("{:?} {subject} {}", it.kind, it.metric.map_or("all", Metric::key))
        };
        self.recording.outline.blind_spots.iter().map(text).collect()
    }

    /// Error and remedy of a failed import.
    pub(crate) fn error(&self) -> (String, String) {
        let error = self.result.as_ref().expect_err("the import fails");
        (error.to_string(), error.remedy())
    }
}
