//! One segment of a recording, opened: its footer at once, its rows as far as they are asked for.

use crate::domain::ident::Subject;
use crate::domain::outline::Outline;
use crate::domain::time::Timestamp;
use crate::storage::error::StorageError;
use crate::storage::frame;
use crate::storage::gathered::Gathered;
use crate::storage::reader::Selection;
use crate::storage::seal::{self, DATA_DIFFER, Seal};
use crate::storage::segment::{FOOTER_KEY, Footer, IndexEntry, SCHEMA_VERSION};
use polars::prelude::{FileMetadataRef, ParallelStrategy, ParquetReader, SerReader};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// One segment, opened.
#[derive(Debug)]
pub(crate) struct StoredSegment {
    pub(crate) path: PathBuf,
    pub(crate) metadata: FileMetadataRef,
    pub(crate) index: Vec<IndexEntry>,
    seal: Option<Seal>,
    /// Whether the data are those that were written, once somebody looked.
    is_whole: OnceLock<bool>,
}

impl StoredSegment {
    /// Reads the footer; returns what it says besides the index.
    ///
    /// Errors: it is damaged, of a later version, or of something else.
    pub(crate) fn open(path: &Path) -> Result<(Self, Outline), StorageError> {
        let mut file = opened(path)?;
        let damaged = |why: String| StorageError::Damaged { path: path.to_owned(), why };
        let checked = seal::checked(&mut file).map_err(io(path, "reading"))?;
        let seal = checked.map_err(|it| damaged(it.to_owned()))?;
        let mut reader = ParquetReader::new(file);
        let metadata = reader.get_metadata().map_err(|it| damaged(it.to_string()))?.clone();
        let footer = footer(path, &metadata)?;
        let (path, index) = (path.to_owned(), footer.index);
        Ok((Self { path, metadata, index, seal, is_whole: OnceLock::new() }, footer.outline))
    }

    /// Adds the rows of subjects that follow each other in the file.
    pub(crate) fn append(
        &self,
        run: &[&IndexEntry],
        selection: &Selection,
        subjects: &mut BTreeMap<Subject, Gathered>,
    ) -> Result<(), StorageError> {
        let first_row = run.first().map_or(0, |it| it.first_row);
        let height = run.iter().map(|it| it.rows).sum();
        let damaged = |why: String| StorageError::Damaged { path: self.path.clone(), why };
        let mut file = opened(&self.path)?;
        self.check(&mut file)?;
        let mut reader = ParquetReader::new(file);
        reader.set_metadata(self.metadata.clone());
        let schema = reader.schema().map_err(|it| damaged(it.to_string()))?;
        let columns = frame::wanted_columns(&schema, selection.metrics.as_deref());
        let frame = reader
            .with_slice(Some((first_row, height)))
            .with_columns(Some(columns))
            .read_parallel(ParallelStrategy::None)
            .finish()
            .map_err(|it| damaged(it.to_string()))?;
        let span = selection.span;
        let keep = |times: &[i64]| match span {
            None => 0..times.len(),
            Some(span) => {
                let before = |limit: Timestamp| times.partition_point(|it| *it < limit.as_micros());
                before(span.from())..before(span.until())
            }
        };
        for entry in run {
            let part = frame.slice((entry.first_row - first_row) as i64, entry.rows);
            let rows = subjects.entry(entry.subject.clone()).or_default();
            frame::append(&part, rows, keep).map_err(|it| damaged(it.to_string()))?;
        }
        Ok(())
    }

    /// Looks once whether the data are those that were written: what decodes them trusts them.
    fn check(&self, file: &mut File) -> Result<(), StorageError> {
        let Some(seal) = &self.seal else { return Ok(()) };
        let is_whole = match self.is_whole.get() {
            Some(it) => *it,
            None => {
                let fits = seal.fits(file).map_err(io(&self.path, "reading"))?;
                *self.is_whole.get_or_init(|| fits)
            }
        };
        match is_whole {
            true => Ok(()),
            false => {
                Err(StorageError::Damaged { path: self.path.clone(), why: DATA_DIFFER.to_owned() })
            }
        }
    }
}

fn io(path: &Path, doing: &'static str) -> impl FnOnce(std::io::Error) -> StorageError {
    move |source| StorageError::Io { path: path.to_owned(), doing, source }
}

fn opened(path: &Path) -> Result<File, StorageError> {
    // Opening a pipe would wait for somebody to write into it.
    if !std::fs::metadata(path).map_err(io(path, "opening"))?.is_file() {
        let why = "it is no file".to_owned();
        return Err(StorageError::Damaged { path: path.to_owned(), why });
    }
    File::open(path).map_err(io(path, "opening"))
}

fn footer(path: &Path, metadata: &FileMetadataRef) -> Result<Footer, StorageError> {
    let damaged = |why: String| StorageError::Damaged { path: path.to_owned(), why };
    let pairs = metadata.key_value_metadata().clone().unwrap_or_default();
    let json = pairs.into_iter().find(|it| it.key == FOOTER_KEY).and_then(|it| it.value);
    let Some(json) = json else {
        let why = format!("its footer has no `{FOOTER_KEY}` entry");
        return Err(StorageError::NotARecording { path: path.to_owned(), why });
    };
    let version: serde_json::Value =
        serde_json::from_str(&json).map_err(|it| damaged(it.to_string()))?;
    let found = version.get("schema_version").and_then(serde_json::Value::as_u64).unwrap_or(0);
    if found > u64::from(SCHEMA_VERSION) {
        let found = u32::try_from(found).unwrap_or(u32::MAX);
        return Err(StorageError::TooNew { path: path.to_owned(), found, known: SCHEMA_VERSION });
    }
    serde_json::from_value(version).map_err(|it| damaged(it.to_string()))
}
