//! A recording on disk, opened: its outline at once, its samples one selection at a time.

use crate::domain::blind_spot::{BlindSpot, BlindSpotKind};
use crate::domain::ident::{GpuId, Subject};
use crate::domain::metric::{Metric, Precision};
use crate::domain::outline::Outline;
use crate::domain::recording::{Recording, Trace};
use crate::domain::time::TimeSpan;
use crate::storage::error::StorageError;
use crate::storage::findings::key_of;
use crate::storage::gathered::Gathered;
use crate::storage::journal;
use crate::storage::rows::Rows;
use crate::storage::segment;
use crate::storage::segment::{FOOTER_KEY, IndexEntry};
use crate::storage::stored_segment::StoredSegment;
use crate::storage::succession;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What an analysis holds besides for each row, in bytes: a few series in double precision.
const COMPUTING_BYTES: u64 = 40;
/// How often a recording is opened anew when its recorder changes it meanwhile.
const RETRIES: u32 = 5;

/// Which part of a recording to read; everything by default.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Only this GPU and what lives on it.
    pub gpu: Option<GpuId>,
    /// Only these subjects.
    pub subjects: Option<BTreeSet<Subject>>,
    /// Only this window.
    pub span: Option<TimeSpan>,
    /// Only these metrics.
    pub metrics: Option<Vec<Metric>>,
}

impl Selection {
    /// A GPU and what lives on it.
    pub fn gpu(gpu: &GpuId) -> Self {
        Self { gpu: Some(gpu.clone()), ..Self::default() }
    }

    fn takes(&self, subject: &Subject) -> bool {
        self.gpu.as_ref().is_none_or(|it| subject.gpu() == Some(it))
            && self.subjects.as_ref().is_none_or(|it| it.contains(subject))
    }

    pub(crate) fn meets(&self, entry: &IndexEntry) -> bool {
        let span = self.span;
        self.takes(&entry.subject) && span.is_none_or(|it| it.overlap(entry.span).is_some())
    }
}

/// A recording on disk, opened.
#[derive(Debug)]
pub struct StoredRecording {
    path: PathBuf,
    outline: Outline,
    segments: Vec<StoredSegment>,
    /// What stands in journals: a recording under way, or one that a crash ended.
    journals: Vec<Vec<(Subject, Rows)>>,
}

impl StoredRecording {
    /// Opens a folder of segments, or one segment, and reads the footers only.
    ///
    /// A damaged segment among whole ones becomes a blind spot. What a recorder has not made a
    /// segment of yet is read from its journal.
    /// Errors: no segment can be read, or one was written by a later version.
    pub fn open(path: &Path) -> Result<Self, StorageError> {
        for _ in 0..RETRIES {
            match Self::open_once(path) {
                // A recorder made a segment of its journal, or removed its oldest, while we looked.
                Err(StorageError::Io { path: gone, source, .. })
                    if source.kind() == std::io::ErrorKind::NotFound && gone != path => {}
                answer => return answer,
            }
        }
        Self::open_once(path)
    }

    fn open_once(path: &Path) -> Result<Self, StorageError> {
        let mut opened = Self {
            path: path.to_owned(),
            outline: Outline::default(),
            segments: Vec::new(),
            journals: Vec::new(),
        };
        let mut damaged = None;
        // Journals first: one whose segment appears after the second look is still among them.
        let mut journals = journal_files(path)?;
        let segments = segment_files(path)?;
        journals.retain(|it| !is_replaced(it, &segments));
        for file in segments {
            match StoredSegment::open(&file) {
                Ok((segment, outline)) => {
                    opened.outline.merge(outline);
                    opened.segments.push(segment);
                }
                Err(error @ StorageError::TooNew { .. }) => return Err(error),
                Err(error) if is_gone(&error) => return Err(error),
                Err(error) => {
                    opened.outline.blind_spots.push(damage(&error));
                    damaged = Some(error);
                }
            }
        }
        for file in journals {
            match journal::read(&file) {
                Ok(replayed) if replayed.rows.is_empty() => {}
                Ok(replayed) => {
                    opened.outline.merge(replayed.outline);
                    opened.journals.push(replayed.rows);
                }
                Err(error @ StorageError::Io { .. }) => return Err(error),
                Err(error) => opened.outline.blind_spots.push(damage(&error)),
            }
        }
        match (opened.segments.is_empty() && opened.journals.is_empty(), damaged) {
            (false, _) => Ok(opened),
            (true, Some(error)) => Err(error),
            (true, None) => Err(StorageError::NotARecording {
                path: path.to_owned(),
                why: "the folder holds no segment-*.parquet".to_owned(),
            }),
        }
    }

    /// The same with processes that followed each other as one, on GPUs with very many.
    ///
    /// Of one program and tenant, under the name of the first of each line; see [`Outline::followed`].
    pub fn with_processes_in_line(mut self) -> Self {
        let stored = self.segments.iter().flat_map(|it| &it.index).map(|it| (&it.subject, it.span));
        let held = self.journals.iter().flatten();
        let held = held.filter_map(|it| Some((&it.0, it.1.span()?)));
        let renamed = succession::together(&mut self.outline, stored.chain(held));
        if renamed.is_empty() {
            return self;
        }
        let stored =
            self.segments.iter_mut().flat_map(|it| &mut it.index).map(|it| &mut it.subject);
        let held = self.journals.iter_mut().flatten().map(|it| &mut it.0);
        for subject in stored.chain(held) {
            if let Some(first) = renamed.get(subject) {
                subject.clone_from(first);
            }
        }
        self
    }

    /// Whether a folder holds a recording, finished or under way; nothing in it is read.
    pub fn is_one(path: &Path) -> bool {
        let has_segments = segment_files(path).is_ok_and(|it| !it.is_empty());
        has_segments || journal_files(path).is_ok_and(|it| !it.is_empty())
    }

    /// What the whole recording holds.
    pub fn outline(&self) -> &Outline {
        &self.outline
    }

    /// Where the recording lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What tells this recording from any other, and from itself once it has changed: names, sizes and footers of its segments.
    ///
    /// `None` while it is under way: what stands in a journal changes by the second.
    pub fn fingerprint(&self) -> Option<String> {
        if !self.journals.is_empty() {
            return None;
        }
        let mut parts: Vec<String> = Vec::new();
        for it in &self.segments {
            let name = it.path.file_name().map(|it| it.to_string_lossy().into_owned());
            let bytes = std::fs::metadata(&it.path).map_or(0, |it| it.len());
            let footer = it.metadata.key_value_metadata().clone().unwrap_or_default();
            let footer = footer.into_iter().find(|it| it.key == FOOTER_KEY).and_then(|it| it.value);
            parts.extend([name.unwrap_or_default(), bytes.to_string(), footer.unwrap_or_default()]);
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        Some(key_of(&parts))
    }

    /// Every metric that has a column in some segment.
    pub fn metrics(&self) -> std::collections::BTreeSet<Metric> {
        let names = self.segments.iter().flat_map(|it| it.metadata.schema_descr.columns());
        let in_segments = names.filter_map(|it| Metric::from_key(&it.path_in_schema[0]));
        let in_journals = self.journals.iter().flatten().map(|it| &it.1);
        in_segments.chain(in_journals.flat_map(|it| it.columns.keys().copied())).collect()
    }

    /// Number of the first segment that does not exist yet; damaged ones count.
    pub(crate) fn next_segment_number(&self) -> usize {
        let number = |it: &PathBuf| {
            let stem = it.file_stem()?.to_str()?;
            stem.strip_prefix("segment-")?.parse::<usize>().ok()
        };
        let present = segment_files(&self.path).unwrap_or_default();
        present.iter().filter_map(number).max().map_or(0, |it| it + 1)
    }

    /// Bytes that the samples of a selection take in memory, about, with what is computed from them; journals do not count.
    ///
    /// A stamp takes eight bytes. A reading takes one where a metric has few different values, else
    /// four or eight: the middle is taken of what it takes at least and at most.
    pub fn bytes_in_memory(&self, selection: &Selection) -> u64 {
        let of_metric = |it: &Metric| match it.spec().precision {
            Precision::Single => 2,
            Precision::Whole => 4,
        };
        let of_row = 8 + self.metrics().iter().map(of_metric).sum::<u64>() + COMPUTING_BYTES;
        let rows = self.segments.iter().flat_map(|it| &it.index).filter(|it| selection.meets(it));
        rows.map(|it| it.rows as u64).sum::<u64>() * of_row
    }

    /// Empty rows for each subject of a selection, with room for what its segments hold.
    fn room(&self, selection: &Selection) -> BTreeMap<Subject, Gathered> {
        let mut rows: BTreeMap<&Subject, usize> = BTreeMap::new();
        for it in self.segments.iter().flat_map(|it| &it.index).filter(|it| selection.meets(it)) {
            *rows.entry(&it.subject).or_default() += it.rows;
        }
        // A window of a segment may take few of its rows: there rows grow as they come.
        let expected = |it: usize| if selection.span.is_some() { 0 } else { it };
        rows.into_iter().map(|it| (it.0.clone(), Gathered::expecting(expected(it.1)))).collect()
    }

    /// Reads the samples of a selection; row groups outside it are not touched.
    pub fn load(&self, selection: &Selection) -> Result<Recording, StorageError> {
        Ok(Recording { outline: self.outline.clone(), traces: self.traces(selection)? })
    }

    /// The same without the outline, which takes its time to copy where there are thousands of subjects.
    pub fn traces(&self, selection: &Selection) -> Result<BTreeMap<Subject, Trace>, StorageError> {
        let mut subjects = self.room(selection);
        for segment in &self.segments {
            let entries: Vec<&IndexEntry> =
                segment.index.iter().filter(|it| selection.meets(it)).collect();
            for run in entries.chunk_by(|a, b| a.first_row + a.rows == b.first_row) {
                segment.append(run, selection, &mut subjects)?;
            }
        }
        for (subject, held) in self.journals.iter().flatten() {
            if selection.takes(subject) {
                if !subjects.contains_key(subject) {
                    subjects.insert(subject.clone(), Gathered::default());
                }
                if let Some(rows) = subjects.get_mut(subject) {
                    rows.append(held, selection.span, selection.metrics.as_deref());
                }
            }
        }
        Ok(subjects.into_iter().map(|it| (it.0, it.1.into_trace())).collect())
    }
}

fn segment_files(path: &Path) -> Result<Vec<PathBuf>, StorageError> {
    let io = |doing| move |source| StorageError::Io { path: path.to_owned(), doing, source };
    let metadata = std::fs::metadata(path).map_err(io("opening"))?;
    if metadata.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).map_err(io("listing"))?;
    let mut files = Vec::new();
    for entry in entries {
        let file = entry.map_err(io("listing"))?.path();
        let name = file.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with("segment-") && name.ends_with(".parquet") {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

/// Every journal in a folder.
fn journal_files(path: &Path) -> Result<Vec<PathBuf>, StorageError> {
    if !path.is_dir() {
        return Ok(Vec::new());
    }
    let io = |source| StorageError::Io { path: path.to_owned(), doing: "listing", source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(io)? {
        let file = entry.map_err(io)?.path();
        if journal::number_of(&file).is_some() {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

/// Whether one of these segments holds what the journal held.
fn is_replaced(journal: &Path, segments: &[PathBuf]) -> bool {
    let number = journal::number_of(journal).unwrap_or_default();
    let segment = journal.parent().map(|it| segment::path_of(it, number));
    segment.is_some_and(|it| segments.contains(&it))
}

fn is_gone(error: &StorageError) -> bool {
    let StorageError::Io { source, .. } = error else { return false };
    source.kind() == std::io::ErrorKind::NotFound
}

fn damage(error: &StorageError) -> BlindSpot {
    BlindSpot {
        kind: BlindSpotKind::Gap,
        subject: None,
        metric: None,
        span: None,
        detail: error.to_string(),
        remedy: error.remedy().to_owned(),
    }
}
