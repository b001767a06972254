//! What the tests of the importers share.

use crate::domain::collector::Collector;
use crate::domain::recording::Recording;
use crate::domain::source::SourceId;
use crate::domain::time::{SampleInterval, Timestamp};
use crate::import::error::ImportError;
use crate::import::run::ImportSummary;
use crate::import::{ImportOptions, Importer, import};
use std::path::{Path, PathBuf};

/// Start that tests give to files without stamps.
pub(crate) const START: Timestamp = Timestamp::from_micros(1_000_000_000_000_000);

/// Options of a user who names start and interval.
pub(crate) fn with_start() -> ImportOptions {
    let interval = SampleInterval::from_micros(1_000_000);
    ImportOptions { start: Some(START), interval, ..ImportOptions::default() }
}

/// Imports a text into memory.
pub(crate) fn read(
    importer: &dyn Importer,
    text: &[u8],
    options: &ImportOptions,
) -> Result<(ImportSummary, Recording), ImportError> {
    let mut sink = Collector::new();
    let mut input = text;
    let summary = import(importer, &mut input, "folder/a.txt", options, SourceId(3), &mut sink)?;
    Ok((summary, sink.into_recording()))
}

/// A real file that may be missing on this machine; its absence is said, not hidden.
pub(crate) fn real_file(name: &str) -> Option<Vec<u8>> {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data").join(name);
    match std::fs::read(&path) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            println!("skipped: {}: {error}", path.display());
            None
        }
    }
}
