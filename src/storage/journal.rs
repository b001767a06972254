//! What a recorder took since its last segment, safe on disk: a file that is only ever added to.
//!
//! One frame for each checkpoint: its length, a checksum and entries. A frame that a crash cut off
//! is left out; those before it are whole. The next segment replaces the file.

use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::outline::Outline;
use crate::domain::sink::Fact;
use crate::domain::source::SourceId;
use crate::domain::time::Timestamp;
use crate::storage::error::StorageError;
use crate::storage::rows::Rows;
use crate::storage::segment::{self, Effort};
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{BufReader, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Begins every journal; the number is its version.
const MAGIC: &[u8; 8] = b"cotnjr01";
/// Length and checksum before each frame.
const FRAME_HEAD: usize = 12;
/// A frame that claims to be longer is damaged.
const LONGEST_FRAME: usize = 1 << 28;

/// Kinds of entries.
const FACT: u8 = b'F';
const SUBJECT: u8 = b'S';
const METRIC: u8 = b'M';
const ROW: u8 = b'R';

/// Path of the journal of the segment with this number.
pub(crate) fn path_of(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("journal-{number:06}.bin"))
}

/// Number of the segment that a file is the journal of; `None` for other files.
pub(crate) fn number_of(path: &Path) -> Option<usize> {
    path.file_name()?.to_str()?.strip_prefix("journal-")?.strip_suffix(".bin")?.parse().ok()
}

/// A journal that is being written.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    /// Device and number of the file, which another file at its place does not share.
    identity: (u64, u64),
    /// What waits for the next checkpoint, behind room for its head.
    frame: Vec<u8>,
    subjects: BTreeMap<Subject, u32>,
    /// By the place of the metric in its table.
    metrics: Vec<Option<u16>>,
    named: u16,
    written: u64,
}

impl Journal {
    /// Begins the journal of this segment.
    pub(crate) fn begin(folder: &Path, number: usize) -> Result<Self, StorageError> {
        let path = path_of(folder, number);
        let io = |doing| {
            let path = path.clone();
            move |source| StorageError::Io { path, doing, source }
        };
        let mut file = File::create(&path).map_err(io("creating"))?;
        file.write_all(MAGIC)
            // A recording that could not begin leaves nothing that the next would have to go on with.
            .inspect_err(|_| drop(std::fs::remove_file(&path)))
            .map_err(io("writing"))?;
        let identity = identity(&file.metadata().map_err(io("opening"))?);
        Ok(Self {
            path,
            file,
            identity,
            frame: vec![0; FRAME_HEAD],
            subjects: BTreeMap::new(),
            metrics: Vec::new(),
            named: 0,
            written: MAGIC.len() as u64,
        })
    }

    /// Where it stands.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes so far, those included that wait for the next checkpoint.
    pub(crate) fn bytes(&self) -> u64 {
        self.written + (self.frame.len() - FRAME_HEAD) as u64
    }

    pub(crate) fn fact(&mut self, fact: &Fact) -> Result<(), StorageError> {
        let mut outline = Outline::default();
        outline.learn(fact.clone());
        let json = serde_json::to_vec(&outline)
            .map_err(|it| StorageError::Damaged { path: self.path.clone(), why: it.to_string() })?;
        self.text(FACT, &json);
        Ok(())
    }

    pub(crate) fn row(
        &mut self,
        at: Timestamp,
        subject: &Subject,
        source: SourceId,
        readings: &[(Metric, f64)],
    ) -> Result<(), StorageError> {
        let subject = self.subject(subject)?;
        // Names stand before the row that uses them.
        readings.iter().for_each(|it| self.name(it.0));
        self.frame.push(ROW);
        self.frame.extend_from_slice(&subject.to_le_bytes());
        self.frame.extend_from_slice(&at.as_micros().to_le_bytes());
        self.frame.extend_from_slice(&source.0.to_le_bytes());
        self.frame.extend_from_slice(&(readings.len() as u16).to_le_bytes());
        for (metric, value) in readings {
            let number = self.metrics[*metric as usize].unwrap_or_default();
            self.frame.extend_from_slice(&number.to_le_bytes());
            self.frame.extend_from_slice(&value.to_le_bytes());
        }
        Ok(())
    }

    /// Makes sure that the file stands where readers look for it.
    ///
    /// Errors: it was removed, moved or replaced, and what is written to it is lost.
    pub(crate) fn is_in_place(&self) -> Result<(), StorageError> {
        match std::fs::metadata(&self.path) {
            Ok(it) if identity(&it) == self.identity => Ok(()),
            Err(source) if !is_absence(&source) => {
                Err(StorageError::Io { path: self.path.clone(), doing: "looking for", source })
            }
            _ => Err(StorageError::Removed { path: self.path.clone() }),
        }
    }

    /// Writes what was added; `is_lasting` waits until it is on the disk.
    pub(crate) fn checkpoint(&mut self, is_lasting: bool) -> Result<(), StorageError> {
        let io = |doing| {
            let path = self.path.clone();
            move |source| StorageError::Io { path, doing, source }
        };
        if self.frame.len() > FRAME_HEAD {
            let (head, body) = self.frame.split_at_mut(FRAME_HEAD);
            head[..4].copy_from_slice(&(body.len() as u32).to_le_bytes());
            head[4..].copy_from_slice(&checksum(body).to_le_bytes());
            self.file.write_all(&self.frame).map_err(io("writing"))?;
            self.written += self.frame.len() as u64;
            self.frame.truncate(FRAME_HEAD);
        }
        if is_lasting {
            self.file.sync_data().map_err(io("saving"))?;
        }
        Ok(())
    }

    /// Removes the file, whose rows are in a segment now.
    pub(crate) fn remove(self) -> Result<(), StorageError> {
        remove(&self.path)
    }

    fn subject(&mut self, subject: &Subject) -> Result<u32, StorageError> {
        if let Some(known) = self.subjects.get(subject) {
            return Ok(*known);
        }
        let number = self.subjects.len() as u32;
        let json = serde_json::to_vec(subject)
            .map_err(|it| StorageError::Damaged { path: self.path.clone(), why: it.to_string() })?;
        self.text(SUBJECT, &json);
        self.subjects.insert(subject.clone(), number);
        Ok(number)
    }

    /// Gives a metric its number, where it has none yet.
    fn name(&mut self, metric: Metric) {
        let place = metric as usize;
        if self.metrics.len() <= place {
            self.metrics.resize(place + 1, None);
        }
        if self.metrics[place].is_none() {
            self.metrics[place] = Some(self.named);
            self.named += 1;
            self.text(METRIC, metric.key().as_bytes());
        }
    }

    fn text(&mut self, kind: u8, bytes: &[u8]) {
        self.frame.push(kind);
        self.frame.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.frame.extend_from_slice(bytes);
    }
}

fn identity(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

fn is_absence(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// Removes a journal.
pub(crate) fn remove(path: &Path) -> Result<(), StorageError> {
    std::fs::remove_file(path).map_err(|source| StorageError::Io {
        path: path.to_owned(),
        doing: "removing the journal",
        source,
    })
}

/// FNV-1a, 64 bits: finds what a crash cut off, which is all that it has to.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// What a journal holds.
#[derive(Debug, Default)]
pub(crate) struct Replayed {
    pub(crate) outline: Outline,
    /// By subject and source: those of one source have the same columns, and few holes.
    pub(crate) rows: Vec<(Subject, Rows)>,
}

/// Reads every whole frame of a journal; what a crash cut off at the end is left out.
///
/// Errors: it cannot be read, or is no journal of this version.
pub(crate) fn read(path: &Path) -> Result<Replayed, StorageError> {
    let io = |source| StorageError::Io { path: path.to_owned(), doing: "reading", source };
    let damaged = |why: &str| StorageError::Damaged { path: path.to_owned(), why: why.to_owned() };
    let mut file = BufReader::new(File::open(path).map_err(io)?);
    let mut replayed = Replayed::default();
    let mut bytes = Vec::new();
    fill(&mut file, MAGIC.len(), &mut bytes).map_err(io)?;
    // A crash may come before the first bytes are written.
    if bytes != MAGIC {
        return match MAGIC.starts_with(&bytes) {
            true => Ok(replayed),
            false => Err(damaged("it is no journal of this version")),
        };
    }
    let mut names = Names::default();
    while next_frame(&mut file, &mut bytes).map_err(io)? {
        replay(&bytes, &mut names, &mut replayed.outline)
            .ok_or_else(|| damaged("a frame holds what no recorder writes"))?;
    }
    for (subject, by_source) in names.subjects {
        replayed.outline.subjects.extend((!by_source.is_empty()).then(|| subject.clone()));
        replayed.rows.extend(by_source.into_values().map(|it| (subject.clone(), it)));
    }
    replayed.outline.subjects.sort();
    replayed.rows.iter_mut().for_each(|it| it.1.sort());
    let spans = replayed.rows.iter().filter_map(|it| it.1.span());
    replayed.outline.span = spans.reduce(crate::domain::time::TimeSpan::hull);
    replayed.outline.readings = replayed.rows.iter().map(|it| it.1.readings()).sum();
    Ok(replayed)
}

/// Reads so many bytes, or as many as there are. `false`: there are fewer.
fn fill(file: &mut impl Read, length: usize, bytes: &mut Vec<u8>) -> std::io::Result<bool> {
    bytes.clear();
    Ok(file.take(length as u64).read_to_end(bytes)? == length)
}

/// Reads the next frame. `false`: there is none that is whole.
fn next_frame(file: &mut impl Read, bytes: &mut Vec<u8>) -> std::io::Result<bool> {
    if !fill(file, FRAME_HEAD, bytes)? {
        return Ok(false);
    }
    let mut head = bytes.as_slice();
    let Some((length, sum)) = take(&mut head).zip(take(&mut head)) else { return Ok(false) };
    let (length, sum) = (u32::from_le_bytes(length) as usize, u64::from_le_bytes(sum));
    Ok(length <= LONGEST_FRAME && fill(file, length, bytes)? && checksum(bytes) == sum)
}

/// Makes segments of the journals that a crash left behind; whether any recording is there then.
pub(crate) fn fold_journals(folder: &Path) -> Result<bool, StorageError> {
    let entries = std::fs::read_dir(folder).map_err(|source| StorageError::Io {
        path: folder.to_owned(),
        doing: "listing",
        source,
    })?;
    let mut has_segments = false;
    let mut journals = Vec::new();
    for path in entries.flatten().map(|it| it.path()) {
        has_segments |= path.extension().is_some_and(|it| it == "parquet");
        journals.extend(number_of(&path).map(|it| (it, path)));
    }
    for (number, path) in journals {
        let segment = segment::path_of(folder, number);
        if !segment.exists() {
            let replayed = read(&path)?;
            if !replayed.rows.is_empty() {
                segment::write(&segment, replayed.outline, replayed.rows, Effort::Light)?;
                has_segments = true;
            }
        }
        remove(&path)?;
    }
    Ok(has_segments)
}

/// Names that numbers stand for.
#[derive(Debug, Default)]
struct Names {
    subjects: Vec<(Subject, BTreeMap<u16, Rows>)>,
    /// `None`: a metric that this program does not know.
    metrics: Vec<Option<Metric>>,
    /// Readings of one row; kept for the next.
    readings: Vec<(Metric, f64)>,
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*head)
}

fn take_text<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = u32::from_le_bytes(take(bytes)?) as usize;
    let text = bytes.get(..length)?;
    *bytes = &bytes[length..];
    Some(text)
}

fn replay(mut frame: &[u8], names: &mut Names, known: &mut Outline) -> Option<()> {
    while let Some([kind]) = take::<1>(&mut frame) {
        match kind {
            FACT => {
                let outline = serde_json::from_slice(take_text(&mut frame)?).ok()?;
                known.merge(outline);
            }
            SUBJECT => {
                let subject = serde_json::from_slice(take_text(&mut frame)?).ok()?;
                names.subjects.push((subject, BTreeMap::new()));
            }
            METRIC => {
                let key = std::str::from_utf8(take_text(&mut frame)?).ok()?;
                names.metrics.push(Metric::from_key(key));
            }
            ROW => replay_row(&mut frame, names)?,
            _ => return None,
        }
    }
    Some(())
}

fn replay_row(frame: &mut &[u8], names: &mut Names) -> Option<()> {
    let by_source = &mut names.subjects.get_mut(u32::from_le_bytes(take(frame)?) as usize)?.1;
    let at = Timestamp::from_micros(i64::from_le_bytes(take(frame)?));
    let source = u16::from_le_bytes(take(frame)?);
    let count = u16::from_le_bytes(take(frame)?);
    let readings = &mut names.readings;
    readings.clear();
    for _ in 0..count {
        let metric = *names.metrics.get(usize::from(u16::from_le_bytes(take(frame)?)))?;
        let value = f64::from_le_bytes(take(frame)?);
        readings.extend(metric.map(|it| (it, value)));
    }
    by_source.entry(source).or_default().add(at, source, readings);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ident::GpuId;
    use crate::domain::outline::Device;

    fn fill(journal: &mut Journal, from: i64, until: i64) {
        let subject = Subject::device(&GpuId::new("GPU-1"));
        for at in from..until {
            let readings = [(Metric::SmActive, 0.5), (Metric::Energy, at as f64)];
            journal.row(Timestamp::from_micros(at), &subject, SourceId(3), &readings).unwrap();
        }
        journal.checkpoint(true).unwrap();
    }

    #[test]
    fn a_journal_that_was_cut_anywhere_gives_its_whole_frames_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::begin(folder.path(), 7).unwrap();
        journal.fact(&Fact::Device(Device::named(GpuId::new("GPU-1")))).unwrap();
        fill(&mut journal, 0, 10);
        let first = journal.bytes() as usize;
        fill(&mut journal, 10, 20);
        let path = path_of(folder.path(), 7);
        assert_eq!(number_of(&path), Some(7));
        let bytes = std::fs::read(&path).unwrap();
        for cut in 0..=bytes.len() {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let replayed = read(&path).unwrap();
            let rows = match cut {
                it if it < first => 0,
                it if it < bytes.len() => 10,
                _ => 20,
            };
            let found = replayed.rows.iter().map(|it| it.1.times.len()).sum::<usize>();
            assert_eq!(found, rows, "cut at {cut}");
            assert_eq!(replayed.outline.readings, 2 * rows as u64);
        }
        let mut torn = bytes.clone();
        torn[first + 20] ^= 1;
        std::fs::write(&path, torn).unwrap();
        assert_eq!(read(&path).unwrap().outline.readings, 20, "a damaged frame is left out");
        std::fs::write(&path, b"something else").unwrap();
        assert!(read(&path).is_err());
    }

    #[test]
    fn a_full_disk_names_the_file_and_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::begin(folder.path(), 0).unwrap();
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        journal.file = full.expect("a disk that is always full");
        let subject = Subject::device(&GpuId::new("GPU-1"));
        let readings = [(Metric::SmActive, 0.5)];
        journal.row(Timestamp::from_micros(1), &subject, SourceId(0), &readings).unwrap();
        let error = journal.checkpoint(false).unwrap_err();
        assert!(error.to_string().ends_with("journal-000000.bin: writing failed"), "{error}");
        assert!(error.remedy().contains("free some space"), "{}", error.remedy());
    }
}
