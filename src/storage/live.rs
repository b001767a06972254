//! A sink for what happens now: a crash at any moment loses at most what came since the last checkpoint.

use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::outline::Outline;
use crate::domain::sink::{Fact, Sink, SinkError};
use crate::domain::source::SourceId;
use crate::domain::time::Timestamp;
use crate::storage::error::StorageError;
use crate::storage::journal::{self, Journal, fold_journals};
use crate::storage::lock::Lock;
use crate::storage::reader::StoredRecording;
use crate::storage::segment::{self, Effort};
use crate::storage::writer::{Mode, sink_error};
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
/// Rows go into a journal, which becomes a segment in time: to sort them then costs less than to
/// keep them sorted, and nothing of them stays in memory meanwhile.
#[derive(Debug)]
pub struct LiveWriter {
    folder: PathBuf,
    journal: Journal,
    /// Number of the segment that the journal becomes.
    number: usize,
    written: Outline,
    rotation: Rotation,
    /// What every segment says again, so that each can be read alone.
    standing: Outline,
    first: Option<Timestamp>,
    latest: Timestamp,
    checkpoints: u32,
    _lock: Lock,
}

impl LiveWriter {
    /// Begins a recording in `folder`, or goes on with the one that stands there.
    ///
    /// Journals that a crash left behind become segments first.
    /// Errors: the place is taken, somebody else writes there, or nothing can be written.
    pub fn open(folder: &Path, mode: Mode, rotation: Rotation) -> Result<Self, StorageError> {
        let is_there = folder.exists() && !is_empty(folder);
        match mode {
            Mode::Append => {}
            _ if is_there => return Err(StorageError::Exists { path: folder.to_owned() }),
            _ => {}
        }
        std::fs::create_dir_all(folder).map_err(|source| StorageError::Io {
            path: folder.to_owned(),
            doing: "creating the folder",
            source,
        })?;
        let lock = Lock::take(folder)?;
        let (number, written) = match fold_journals(folder)? {
            true => {
                let present = StoredRecording::open(folder)?;
                (present.next_segment_number(), present.outline().clone())
            }
            false => (0, Outline::default()),
        };
        Ok(Self {
            folder: folder.to_owned(),
            journal: Journal::begin(folder, number)?,
            number,
            written,
            rotation,
            standing: Outline::default(),
            first: None,
            latest: Timestamp::default(),
            checkpoints: 0,
            _lock: lock,
        })
    }

    /// Number that the next source may use.
    pub fn next_source(&self) -> SourceId {
        let used = self.written.sources.iter().chain(&self.standing.sources).map(|it| it.id.0 + 1);
        SourceId(used.max().unwrap_or(0))
    }

    /// Writes the rest and returns what the recording holds.
    pub fn finish(mut self) -> Result<Outline, StorageError> {
        self.journal.checkpoint(false)?;
        self.write_segment()?;
        self.prune_folder()?;
        self.journal.remove()?;
        Ok(self.written)
    }

    /// Makes a segment of the journal; returns who has rows in it.
    fn write_segment(&mut self) -> Result<Vec<Subject>, StorageError> {
        let replayed = journal::read(self.journal.path())?;
        if replayed.rows.is_empty() && replayed.outline == Outline::default() {
            return Ok(Vec::new());
        }
        let path = segment::path_of(&self.folder, self.number);
        let outline = segment::write(&path, replayed.outline, replayed.rows, Effort::Light)?;
        let present = outline.subjects.clone();
        self.written.merge(outline);
        self.number += 1;
        Ok(present)
    }

    fn rotate(&mut self) -> Result<(), StorageError> {
        let present = self.write_segment()?;
        let next = Journal::begin(&self.folder, self.number)?;
        std::mem::replace(&mut self.journal, next).remove()?;
        self.first = None;
        self.standing.processes.retain(|it| {
            let subject = Subject::Process { gpu: it.gpu.clone(), process: it.process };
            present.contains(&subject)
        });
        for fact in facts(&self.standing) {
            self.journal.fact(&fact)?;
        }
        self.prune_folder()
    }

    /// Removes the oldest segments beyond those that are kept.
    fn prune_folder(&mut self) -> Result<(), StorageError> {
        let Some(keep) = self.rotation.keep else { return Ok(()) };
        for number in (0..self.number.saturating_sub(keep)).rev() {
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

    /// Whether the segment is large or old enough; one without rows never is.
    fn is_due(&self) -> bool {
        self.first.is_some_and(|first| {
            self.journal.bytes() >= self.rotation.bytes
                || self.latest.micros_since(first) >= self.rotation.age_us
        })
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
        self.first = self.first.or(Some(at));
        self.latest = self.latest.max(at);
        self.journal.row(at, subject, source, readings).map_err(|it| sink_error(&it))
    }

    fn fact(&mut self, fact: Fact) -> Result<(), SinkError> {
        self.journal.fact(&fact).map_err(|it| sink_error(&it))?;
        if is_standing(&fact) {
            self.standing.learn(fact);
        }
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<(), SinkError> {
        self.checkpoints = self.checkpoints.wrapping_add(1);
        let is_lasting = self.checkpoints.is_multiple_of(LASTING);
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
