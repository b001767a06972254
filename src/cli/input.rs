//! Opens what a command was given: a recording, or foreign logs that become one on the way.

use crate::cli::args::ForeignArgs;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::progress::Counted;
use crate::import::error::ImportError;
use crate::import::join::Joined;
use crate::import::run::ImportSummary;
use crate::import::{ImportOptions, Importer};
use crate::storage::{Mode, RecordingWriter, StoredRecording};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A recording that a command reads, with the temporary folder that it may lie in.
pub(crate) struct Input {
    pub(crate) recording: StoredRecording,
    _temporary: Option<tempfile::TempDir>,
}

/// Opens a recording, or imports foreign logs into a temporary one.
pub(crate) fn open(paths: &[PathBuf], foreign: &ForeignArgs) -> Result<Input, CliError> {
    if let [path] = paths
        && is_recording(path)?
    {
        return Ok(Input { recording: StoredRecording::open(path)?, _temporary: None });
    }
    for path in paths {
        if is_recording(path)? {
            return Err(CliError::usage(
                format!("{}: is a recording and cannot be read together with others", path.display()),
                "give one recording, or several foreign logs",
            ));
        }
    }
    let temporary = tempfile::tempdir()
        .map_err(|it| CliError::failed("cannot make a temporary folder", &it))?;
    let folder = temporary.path().join("recording");
    let mut writer = RecordingWriter::open(&folder, Mode::Create)?;
    let outcome = import_into(paths, foreign, &mut writer);
    writer.finish()?;
    outcome?.iter().for_each(report_summary);
    Ok(Input { recording: StoredRecording::open(&folder)?, _temporary: Some(temporary) })
}

/// Whether a path is a recording: a folder, or a Parquet file.
fn is_recording(path: &Path) -> Result<bool, CliError> {
    let failed = |it: std::io::Error| CliError::file(path, "opening", &it);
    if std::fs::metadata(path).map_err(failed)?.is_dir() {
        return Ok(true);
    }
    let mut magic = Vec::new();
    File::open(path).and_then(|it| it.take(4).read_to_end(&mut magic)).map_err(failed)?;
    Ok(magic == b"PAR1")
}
