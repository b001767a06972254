//! What the tests of importers share: a text goes in, a recording comes out.

use crate::domain::blind_spot::BlindSpot;
use crate::domain::collector::Collector;
use crate::domain::ident::{GpuId, ProcessKey, Subject};
use crate::domain::metric::Metric;
use crate::domain::recording::Recording;
use crate::domain::source::SourceId;
use crate::domain::time::{SampleInterval, Timestamp};
use crate::import::error::ImportError;
use crate::import::run::{ImportRun, ImportSummary};
use crate::import::{ImportOptions, Importer, import};
use std::path::{Path, PathBuf};

/// Start that tests give to files without stamps: the epoch.
pub(crate) const START: Timestamp = Timestamp::from_micros(0);

/// Options for files without stamps: one tick a second from [`START`] on.
pub(crate) fn every_second() -> ImportOptions {
    let interval = SampleInterval::from_micros(1_000_000);
    ImportOptions { start: Some(START), interval, ..ImportOptions::default() }
}

/// What one import gave.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// What the sink holds; also when the import failed.
    pub(crate) recording: Recording,
    /// How it ended.
    pub(crate) result: Result<ImportSummary, ImportError>,
}

/// Imports a text as the file `log`.
pub(crate) fn read(
    importer: &dyn Importer,
    text: impl AsRef<[u8]>,
    options: &ImportOptions,
) -> Outcome {
    let mut sink = Collector::new();
    let mut input = text.as_ref();
    let result = import(importer, &mut input, "log", options, SourceId(0), &mut sink);
    Outcome { recording: sink.into_recording(), result }
}

/// What a part of an importer does in a run of the file `log` whose rows nobody looks at.
pub(crate) fn in_run<T>(options: &ImportOptions, work: impl FnOnce(&mut ImportRun<'_>) -> T) -> T {
    let mut sink = Collector::new();
    work(&mut ImportRun::new("test", "log", options, SourceId(0), &mut sink))
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
    /// Sum and recording of an import, or why it failed.
    pub(crate) fn done(self) -> Result<(ImportSummary, Recording), ImportError> {
        self.result.map(|it| (it, self.recording))
    }

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
        let text = |it: &BlindSpot| {
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

/// A real file that may be missing on this machine; its absence is said, not hidden.
pub(crate) fn real_file(name: &str) -> Option<Vec<u8>> {
    present(&real(name), std::fs::read(real(name)))
}

/// Names of the real files in a folder, from the folder of all of them; empty where it is missing.
pub(crate) fn real_files(folder: &str) -> Vec<String> {
    let entries = present(&real(folder), std::fs::read_dir(real(folder)));
    let names = entries.into_iter().flatten().flatten().map(|it| it.file_name());
    names.map(|it| format!("{folder}/{}", it.to_string_lossy())).collect()
}

fn real(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data").join(name)
}

fn present<T>(path: &Path, found: std::io::Result<T>) -> Option<T> {
    if let Err(error) = &found {
        println!("skipped: {}: {error}", path.display());
    }
    found.ok()
}
