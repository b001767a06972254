//! A sink for what happens now: a crash at any moment loses at most what came since the last checkpoint.

use crate::domain::ident::{GpuId, ProcessKey, Subject};
use crate::domain::metric::Metric;
use crate::domain::outline::Outline;
use crate::domain::sink::{Fact, Sink, SinkError};
use crate::domain::source::SourceId;
use crate::domain::time::Timestamp;
use crate::storage::error::StorageError;
use crate::storage::journal::{self, Journal, fold_journals};
use crate::storage::lanes::Lanes;
use crate::storage::lock::Lock;
use crate::storage::reader::StoredRecording;
use crate::storage::replacement::segments_only;
use crate::storage::segment::{self, Effort};
use crate::storage::writer::{Mode, sink_error};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Checkpoints between two that wait for the disk: a power cut loses about a second.
const LASTING: u32 = 3;

/// When a segment is closed, and how many are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    /// Bytes before compression.
    pub bytes: u64,
    /// Time that a segment stays open, microseconds.
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
    lanes: Lanes,
    /// The last segment that holds rows of each process, where old segments are removed.
    last_in: BTreeMap<Subject, usize>,
    has_rows: bool,
    /// Whether something was said that is not true throughout.
    has_news: bool,
    /// When the segment was first seen to have rows, by the recorder's clock.
    began_us: Option<i64>,
    checkpoints: u32,
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
        let (number, written) = match fold_journals(folder)? {
            true => {
                let present = StoredRecording::open(folder)?;
                (present.next_segment_number(), present.outline().clone())
            }
            false => {
                segments_only(folder)?;
                (0, Outline::default())
            }
        };
        Ok(Self {
            folder: folder.to_owned(),
            journal: Journal::begin(folder, number)?,
            number,
            lanes: Lanes::of(&written),
            last_in: match rotation.keep {
                Some(_) => processes_of(&written).map(|it| (it, number)).collect(),
                None => BTreeMap::new(),
            },
            written,
            rotation,
            standing: Outline::default(),
            has_rows: false,
            has_news: false,
            began_us: None,
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
        self.journal.is_in_place()?;
        self.journal.checkpoint(false)?;
        // A last segment that says nothing new is none, and one without rows pushes out no other.
        if self.has_rows || self.has_news || self.number == 0 {
            let has_rows = !self.write_segment()?.is_empty();
            if has_rows {
                self.prune_folder()?;
            }
        }
        self.journal.remove()?;
        Ok(self.written)
    }

    /// Leaves the place as it was found, after nothing could be recorded.
    pub fn abandon(self) -> Result<(), StorageError> {
        self.journal.remove()?;
        let folder = self.folder;
        drop(self._lock);
        // Only an empty folder goes; one that was there before may as well.
        let _ = std::fs::remove_dir(folder);
        Ok(())
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
        self.has_rows = false;
        self.has_news = false;
        self.began_us = None;
        self.standing.processes.retain(|it| {
            let subject = Subject::Process { gpu: it.gpu.clone(), process: it.process };
            present.contains(&subject)
        });
        for fact in facts(&self.standing) {
            self.journal.fact(&fact)?;
        }
        self.forget_processes(present);
        self.prune_folder()
    }

    /// Forgets processes that no segment holds any more; the last one was just closed.
    fn forget_processes(&mut self, present: Vec<Subject>) {
        let Some(keep) = self.rotation.keep else { return };
        let last = self.number.saturating_sub(1);
        let present = present.into_iter().filter(|it| matches!(it, Subject::Process { .. }));
        self.last_in.extend(present.map(|it| (it, last)));
        let first_kept = self.number.saturating_sub(keep);
        let gone: BTreeSet<Subject> =
            self.last_in.iter().filter(|it| *it.1 < first_kept).map(|it| it.0.clone()).collect();
        if gone.is_empty() {
            return;
        }
        self.last_in.retain(|_, segment| *segment >= first_kept);
        let is_gone = |gpu: &GpuId, process: ProcessKey| {
            gone.contains(&Subject::Process { gpu: gpu.clone(), process })
        };
        self.lanes.retain(|gpu, process| !is_gone(gpu, process));
        self.written.subjects.retain(|it| !gone.contains(it));
        self.written.followed.retain(|gpu, process| !is_gone(gpu, process));
        self.written.processes.retain(|it| !is_gone(&it.gpu, it.process));
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

    /// Writes a fact down, and again in later segments where it stays true.
    fn tell(&mut self, fact: Fact) -> Result<(), SinkError> {
        self.journal.fact(&fact).map_err(|it| sink_error(&it))?;
        match is_standing(&fact) {
            true => self.standing.learn(fact),
            false => self.has_news = true,
        }
        Ok(())
    }

    /// Whether the segment is large or old enough; one without rows never is.
    ///
    /// Its age is by the recorder's own clock: what tenants write may be stamped with any time.
    fn is_due(&mut self, now_us: i64) -> bool {
        if !self.has_rows {
            return false;
        }
        let began_us = *self.began_us.get_or_insert(now_us);
        self.journal.bytes() >= self.rotation.bytes || now_us - began_us >= self.rotation.age_us
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
        self.has_rows = true;
        let (subject, facts) = self.lanes.place(at, subject)?;
        facts.into_iter().try_for_each(|it| self.tell(it))?;
        self.journal.row(at, &subject, source, readings).map_err(|it| sink_error(&it))
    }

    fn fact(&mut self, fact: Fact) -> Result<(), SinkError> {
        self.lanes.fact(fact).map_or(Ok(()), |it| self.tell(it))
    }

    fn checkpoint(&mut self, now_us: i64) -> Result<(), SinkError> {
        self.checkpoints = self.checkpoints.wrapping_add(1);
        let is_lasting = self.checkpoints.is_multiple_of(LASTING);
        self.journal.is_in_place().map_err(|it| sink_error(&it))?;
        self.journal.checkpoint(is_lasting).map_err(|it| sink_error(&it))?;
        if self.is_due(now_us) {
            self.rotate().map_err(|it| sink_error(&it))?;
        }
        Ok(())
    }
}

/// What is true throughout and not only for a while.
fn is_standing(fact: &Fact) -> bool {
    match fact {
        Fact::BlindSpot(it) => it.span.is_none(),
        Fact::Phase(_) | Fact::Shape(_) | Fact::Contended(_) | Fact::Follower(_) => false,
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

fn processes_of(outline: &Outline) -> impl Iterator<Item = Subject> {
    let is_process = |it: &&Subject| matches!(it, Subject::Process { .. });
    outline.subjects.iter().filter(is_process).cloned()
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut it| it.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ident::TenantId;
    use crate::domain::outline::Process;
    use crate::storage::reader::Selection;

    #[test]
    fn a_tenant_with_a_clock_of_its_own_does_not_close_segments() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("r");
        let rotation = Rotation { bytes: 1 << 20, age_us: 10_000_000, keep: Some(1) };
        let mut writer = LiveWriter::open(&folder, Mode::Create, rotation).unwrap();
        let subject = Subject::Tenant { gpu: None, tenant: TenantId::new("chat") };
        let row = |writer: &mut LiveWriter, at_s: i64, now_us: i64| {
            let at = Timestamp::from_micros(at_s * 1_000_000);
            writer.row(at, &subject, SourceId(1), &[(Metric::Throughput, 1.0)]).unwrap();
            writer.checkpoint(now_us).unwrap();
        };
        for (second, at_s) in [1_700_000_000, 4_102_444_800, 1_700_000_002].into_iter().enumerate()
        {
            row(&mut writer, at_s, second as i64 * 1_000_000);
        }
        assert_eq!(writer.number, 0, "three seconds are no ten");
        row(&mut writer, 1_700_000_003, 11_000_000);
        assert_eq!(writer.number, 1);
        let outline = writer.finish().unwrap();
        assert_eq!(outline.readings, 4);
        let kept = StoredRecording::open(&folder).unwrap();
        assert_eq!(kept.outline().readings, 4, "a segment without rows pushes nothing out");
    }

    #[test]
    fn a_recorder_that_keeps_few_segments_forgets_the_processes_of_those_that_went() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("r");
        let rotation = Rotation { bytes: 1 << 20, age_us: 10_000_000, keep: Some(2) };
        let mut writer = LiveWriter::open(&folder, Mode::Create, rotation).unwrap();
        writer.lanes = Lanes::of(&Outline::default()).naming(4);
        let gpu = GpuId::from_index(0);
        // One process stays; each of the others lasts for a second, and there are always more than have names.
        for second in 0..1000_u32 {
            for pid in [7, 100 + second] {
                let process = ProcessKey { pid, started: None };
                let name = Some("job".to_owned());
                let described = Process { gpu: gpu.clone(), process, name, tenant: None };
                if pid != 7 || second == 0 {
                    writer.fact(Fact::Process(described)).unwrap();
                }
                let at = Timestamp::from_micros(i64::from(second) * 1_000_000);
                let subject = Subject::Process { gpu: gpu.clone(), process };
                writer.row(at, &subject, SourceId(1), &[(Metric::FramebufferUsed, 1.0)]).unwrap();
            }
            writer.checkpoint(i64::from(second) * 1_000_000).unwrap();
            assert!(writer.last_in.len() < 60, "{second}: {}", writer.last_in.len());
            assert!(writer.written.processes.len() < 60, "{second}");
        }
        let outline = writer.finish().unwrap();
        assert_eq!(outline.readings, 2000, "all that was ever written");
        let kept = StoredRecording::open(&folder).unwrap();
        let stayed = ProcessKey { pid: 7, started: None };
        assert_eq!(kept.outline().processes.of(&gpu, stayed).unwrap().name.as_deref(), Some("job"));
        let rows: usize = kept
            .traces(&Selection::default())
            .unwrap()
            .values()
            .map(|it| it.series[&Metric::FramebufferUsed].len())
            .sum();
        assert_eq!(rows as u64, kept.outline().readings);
        assert_eq!(kept.outline().label(&Subject::Process { gpu, process: stayed }), "job (pid 7)");
    }
}
