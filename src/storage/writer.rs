//! A sink that writes a recording, segment by segment, in bounded memory.

use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::outline::Outline;
use crate::domain::sink::{Fact, Sink, SinkError};
use crate::domain::source::SourceId;
use crate::domain::time::Timestamp;
use crate::storage::error::StorageError;
use crate::storage::journal::fold_journals;
use crate::storage::lanes::Lanes;
use crate::storage::lock::Lock;
use crate::storage::reader::StoredRecording;
use crate::storage::replacement::Replacement;
use crate::storage::rows::Rows;
use crate::storage::segment::{self, Effort};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Readings that are held in memory before a segment is written: 64 MiB of values.
const SEGMENT_READINGS: u64 = 8 << 20;

/// What to do when something stands where the recording should go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Refuse.
    Create,
    /// Replace the recording that stands there once the new one is whole; anything else is refused.
    Replace,
    /// Add segments to the recording that stands there.
    Append,
}

/// A sink that writes a recording.
///
/// What was written before a crash stays readable. [`RecordingWriter::finish`] writes the rest.
/// With [`Mode::Replace`] nothing changes before that, and a writer that is dropped leaves no trace.
#[derive(Debug)]
pub struct RecordingWriter {
    folder: PathBuf,
    replacement: Option<Replacement>,
    next_segment: usize,
    written: Outline,
    pending: Outline,
    subjects: BTreeMap<Subject, Rows>,
    lanes: Lanes,
    held: u64,
    segment_readings: u64,
    _lock: Option<Lock>,
}

impl RecordingWriter {
    /// Begins a recording in `folder`, which is made when the first segment is written.
    ///
    /// Errors: the place is taken (see [`Mode`]).
    pub fn open(folder: &Path, mode: Mode) -> Result<Self, StorageError> {
        match mode {
            Mode::Replace => {
                let replacement = Replacement::of(folder)?;
                let begun = Self::begin(replacement.folder());
                Ok(Self { replacement: Some(replacement), ..begun })
            }
            _ if !folder.exists() => Ok(Self::begin(folder)),
            Mode::Create => Err(StorageError::Exists { path: folder.to_owned() }),
            Mode::Append => {
                let lock = Lock::take(folder)?;
                fold_journals(folder)?;
                Ok(Self { _lock: Some(lock), ..Self::open_locked(folder)? })
            }
        }
    }

    /// Begins a recording in a folder that holds none.
    fn begin(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            replacement: None,
            next_segment: 0,
            written: Outline::default(),
            pending: Outline::default(),
            subjects: BTreeMap::new(),
            lanes: Lanes::of(&Outline::default()),
            held: 0,
            segment_readings: SEGMENT_READINGS,
            _lock: None,
        }
    }

    /// Goes on with a recording that the caller has locked.
    fn open_locked(folder: &Path) -> Result<Self, StorageError> {
        let present = StoredRecording::open(folder)?;
        let next_segment = present.next_segment_number();
        let written = present.outline().clone();
        let lanes = Lanes::of(&written);
        Ok(Self { next_segment, written, lanes, ..Self::begin(folder) })
    }

    /// Writes a segment whenever this many readings are held; for tests and small machines.
    pub fn with_segment_readings(mut self, readings: u64) -> Self {
        self.segment_readings = readings.max(1);
        self
    }

    /// Number that the next source may use.
    pub fn next_source(&self) -> SourceId {
        let used = self.written.sources.iter().chain(&self.pending.sources).map(|it| it.id.0 + 1);
        SourceId(used.max().unwrap_or(0))
    }

    /// Writes what is held as a segment; does nothing when nothing is held.
    pub fn flush(&mut self) -> Result<(), StorageError> {
        if self.subjects.is_empty() && self.pending == Outline::default() {
            return Ok(());
        }
        std::fs::create_dir_all(&self.folder).map_err(|source| StorageError::Io {
            path: self.folder.clone(),
            doing: "creating the folder",
            source,
        })?;
        let path = segment::path_of(&self.folder, self.next_segment);
        let subjects = std::mem::take(&mut self.subjects).into_iter().collect();
        let pending = std::mem::take(&mut self.pending);
        self.written.merge(segment::write(&path, pending, subjects, Effort::Thorough)?);
        self.next_segment += 1;
        self.held = 0;
        Ok(())
    }

    /// Writes the rest and returns what the recording holds.
    pub fn finish(mut self) -> Result<Outline, StorageError> {
        self.flush()?;
        self.replacement.take().map_or(Ok(()), Replacement::swap)?;
        Ok(self.written)
    }

    /// Gives up; with [`Mode::Replace`] the recording that stands there stays as it was.
    pub fn abandon(self) {
        drop(self);
    }
}

impl Sink for RecordingWriter {
    fn row(
        &mut self,
        at: Timestamp,
        subject: &Subject,
        source: SourceId,
        readings: &[(Metric, f64)],
    ) -> Result<(), SinkError> {
        let (subject, facts) = self.lanes.place(at, subject)?;
        facts.into_iter().for_each(|it| self.pending.learn(it));
        if !self.subjects.contains_key(&*subject) {
            self.subjects.insert(subject.clone().into_owned(), Rows::default());
        }
        if let Some(rows) = self.subjects.get_mut(&*subject) {
            rows.add(at, source.0, readings);
        }
        self.held += readings.len() as u64;
        if self.held >= self.segment_readings {
            self.flush().map_err(|it| sink_error(&it))?;
        }
        Ok(())
    }

    fn fact(&mut self, fact: Fact) -> Result<(), SinkError> {
        if let Some(fact) = self.lanes.fact(fact) {
            self.pending.learn(fact);
        }
        Ok(())
    }
}

/// The error as a sink tells it.
pub(crate) fn sink_error(error: &StorageError) -> SinkError {
    SinkError { message: chain(error), remedy: error.remedy().to_owned() }
}

/// An error with its causes on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(it) = cause {
        text.push_str(&format!(": {it}"));
        cause = it.source();
    }
    text
}
