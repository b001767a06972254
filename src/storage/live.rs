//! A sink for what happens now: a crash at any moment loses at most what came since the last checkpoint.

use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::outline::Outline;
use crate::domain::sink::{Fact, Sink, SinkError};
use crate::domain::source::SourceId;
use crate::domain::time::Timestamp;
use crate::storage::error::StorageError;
use crate::storage::journal::{Journal, fold_journals};
use crate::storage::lock::Lock;
use crate::storage::replacement::segments_only;
use crate::storage::segment::{self, Effort};
use crate::storage::writer::{Mode, RecordingWriter, sink_error};
use std::path::{Path, PathBuf};

/// Checkpoints between two that wait for the disk: a power cut loses about a second.
const LASTING: u32 = 3;

/// When a segment is closed, and how many are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    /// Bytes before compression.
    pub bytes: u64,
    /// From its first to its last row, microseconds.
    pub age_us: i64,
    /// Older segments are removed; `None` keeps all.
    pub keep: Option<usize>,
}

/// A sink that writes what happens now.
///
/// Rows wait in memory for their segment and stand in a journal beside it until then.
#[derive(Debug)]
pub struct LiveWriter {
    folder: PathBuf,
    writer: RecordingWriter,
    journal: Journal,
    rotation: Rotation,
    /// What every segment says again, so that each can be read alone.
    standing: Outline,
    first: Option<Timestamp>,
    latest: Timestamp,
    checkpoints: u32,
    has_rows: bool,
    _lock: Lock,
}

impl LiveWriter {
    /// Begins a recording in `folder`, or goes on with the one that stands there.
    ///
    /// Journals that a crash left behind become segments first.
    /// Errors: the place is taken or holds something else, somebody else writes there, or nothing can be written.
    pub fn open(folder: &Path, mode: Mode, rotation: Rotation) -> Result<Self, StorageError> {
        let is_taken = match mode {
            Mode::Append => folder.exists() && !folder.is_dir(),
            _ => folder.exists() && !is_empty(folder),
        };
        if is_taken {
            return Err(StorageError::Exists { path: folder.to_owned() });
        }
        std::fs::create_dir_all(folder).map_err(|source| StorageError::Io {
            path: folder.to_owned(),
            doing: "creating the folder",
            source,
        })?;
        let lock = Lock::take(folder)?;
        let has_recording = fold_journals(folder)?;
        let writer = match has_recording {
            true => RecordingWriter::open_locked(folder)?,
            false => {
                segments_only(folder)?;
                RecordingWriter::begin(folder)
            }
        };
        let writer = writer.with_segment_readings(u64::MAX).with_effort(Effort::Light);
        let journal = Journal::begin(folder, writer.next_segment())?;
        Ok(Self {
            folder: folder.to_owned(),
            writer,
            journal,
            rotation,
            standing: Outline::default(),
            first: None,
            latest: Timestamp::default(),
            checkpoints: 0,
            has_rows: false,
            _lock: lock,
        })
    }

    /// Number that the next source may use.
    pub fn next_source(&self) -> SourceId {
        self.writer.next_source()
    }

    /// Writes the rest and returns what the recording holds.
    pub fn finish(mut self) -> Result<Outline, StorageError> {
        self.journal.is_in_place()?;
        self.writer.flush()?;
        self.prune_folder()?;
        self.journal.remove()?;
        self.writer.finish()
    }

    fn rotate(&mut self) -> Result<(), StorageError> {
        self.writer.flush()?;
        let next = Journal::begin(&self.folder, self.writer.next_segment())?;
        std::mem::replace(&mut self.journal, next).remove()?;
        self.first = None;
        self.has_rows = false;
        let present = self.writer.last_subjects();
        self.standing.processes.retain(|it| {
            let subject = Subject::Process { gpu: it.gpu.clone(), process: it.process };
            present.contains(&subject)
        });
        for fact in facts(&self.standing) {
            self.journal.fact(&fact)?;
            self.writer.learn(fact);
        }
        self.prune_folder()
    }

    /// Removes the oldest segments beyond those that are kept.
    fn prune_folder(&mut self) -> Result<(), StorageError> {
        let Some(keep) = self.rotation.keep else { return Ok(()) };
        let end = self.writer.next_segment();
        for number in (0..end.saturating_sub(keep)).rev() {
            let path = segment::path_of(&self.folder, number);
            if !path.exists() {
                break;
            }
            std::fs::remove_file(&path).map_err(|source| StorageError::Io {
                path: path.clone(),
                doing: "removing the oldest segment",
                source,
            })?;
        }
        Ok(())
    }

    fn is_due(&self) -> bool {
        let age_us = self.first.map_or(0, |it| self.latest.micros_since(it));
        self.has_rows
            && (self.journal.bytes() >= self.rotation.bytes || age_us >= self.rotation.age_us)
    }
}

impl Sink for LiveWriter {
    fn row(
        &mut self,
        at: Timestamp,
        subject: &Subject,
        source: SourceId,
        readings: &[(Metric, f64)],
    ) -> Result<(), SinkError> {
        self.journal.row(at, subject, source, readings).map_err(|it| sink_error(&it))?;
        self.first = self.first.or(Some(at));
        self.latest = self.latest.max(at);
        self.has_rows = true;
        self.writer.row(at, subject, source, readings)
    }

    fn fact(&mut self, fact: Fact) -> Result<(), SinkError> {
        self.journal.fact(&fact).map_err(|it| sink_error(&it))?;
        if is_standing(&fact) {
            self.standing.learn(fact.clone());
        }
        self.writer.fact(fact)
    }

    fn checkpoint(&mut self) -> Result<(), SinkError> {
        self.checkpoints = self.checkpoints.wrapping_add(1);
        let is_lasting = self.checkpoints.is_multiple_of(LASTING);
        self.journal.is_in_place().map_err(|it| sink_error(&it))?;
        self.journal.checkpoint(is_lasting).map_err(|it| sink_error(&it))?;
        if self.is_due() {
            self.rotate().map_err(|it| sink_error(&it))?;
        }
        Ok(())
    }
}

/// What is true throughout and not only for a while.
fn is_standing(fact: &Fact) -> bool {
    match fact {
        Fact::BlindSpot(it) => it.span.is_none(),
        Fact::Phase(_) => false,
        _ => true,
    }
}

fn facts(outline: &Outline) -> Vec<Fact> {
    let outline = outline.clone();
    let devices = outline.devices.into_iter().map(Fact::Device);
    let instances = outline.mig_instances.into_iter().map(Fact::MigInstance);
    let processes = outline.processes.into_iter().map(Fact::Process);
    let sources = outline.sources.into_iter().map(Fact::Source);
    let blind_spots = outline.blind_spots.into_iter().map(Fact::BlindSpot);
    devices.chain(instances).chain(processes).chain(sources).chain(blind_spots).collect()
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut it| it.next().is_none())
}
