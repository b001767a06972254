//! One Parquet file of a recording, and what its footer says about the rows in it.

use crate::domain::ident::Subject;
use crate::domain::outline::Outline;
use crate::domain::time::TimeSpan;
use crate::storage::error::StorageError;
use crate::storage::frame::{Columns, Part};
use crate::storage::rows::Rows;
use crate::storage::seal::seal;
use polars::polars_utils::compression::ZstdLevel;
use polars::prelude::{KeyValueMetadata, ParquetCompression, ParquetWriter, PolarsError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Version of the on-disk form; raised when older programs could misread it.
pub(crate) const SCHEMA_VERSION: u32 = 1;
/// Key of the footer's JSON.
pub(crate) const FOOTER_KEY: &str = "cotenant";
/// Rows that share a row group at most.
const ROW_GROUP_ROWS: usize = 262_144;
/// How hard the compressor works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Level 3 on one thread: little memory and time, for a recorder beside the work of others.
    Light,
    /// Level 9: three times the time of level 3, a tenth less space.
    Thorough,
}

impl Effort {
    fn level(self) -> i32 {
        match self {
            Self::Light => 3,
            Self::Thorough => 9,
        }
    }
}
/// Ending of a segment that is being written.
const UNFINISHED: &str = "parquet.tmp";

/// What a segment's footer says, as JSON under [`FOOTER_KEY`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Footer {
    pub(crate) schema_version: u32,
    pub(crate) outline: Outline,
    /// Where each subject's rows stand in the file.
    pub(crate) index: Vec<IndexEntry>,
    /// Whether a seal stands before the footer; older segments have none.
    #[serde(default)]
    pub(crate) is_sealed: bool,
}

/// Where the rows of one subject stand in a segment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct IndexEntry {
    pub(crate) subject: Subject,
    pub(crate) first_row: usize,
    pub(crate) rows: usize,
    pub(crate) span: TimeSpan,
}

/// Path of the segment with this number.
pub(crate) fn path_of(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("segment-{number:06}.parquet"))
}

/// Writes rows as one segment: under another name first, so that a crash leaves no half segment.
///
/// A subject may be there several times, and is in the file too then.
pub(crate) fn write(
    path: &Path,
    mut outline: Outline,
    mut held: Vec<(Subject, Rows)>,
    effort: Effort,
) -> Result<Outline, StorageError> {
    let io = |doing| move |source| StorageError::Io { path: path.to_owned(), doing, source };
    held.iter_mut().for_each(|it| it.1.sort());
    // It is one GPU that is read at a time.
    held.sort_by(|a, b| (a.0.gpu(), &a.0).cmp(&(b.0.gpu(), &b.0)));
    let index = index_of(&held);
    let subjects: BTreeSet<&Subject> = held.iter().map(|it| &it.0).collect();
    outline.subjects = subjects.into_iter().cloned().collect();
    outline.readings = held.iter().map(|it| it.1.readings()).sum();
    outline.span = index.iter().map(|it| it.span).reduce(TimeSpan::hull);
    let footer = Footer { schema_version: SCHEMA_VERSION, outline, index, is_sealed: true };
    let json = serde_json::to_string(&footer)
        .map_err(|it| StorageError::Damaged { path: path.to_owned(), why: it.to_string() })?;
    let unfinished = path.with_extension(UNFINISHED);
    let file = File::create(&unfinished).map_err(io("creating"))?;
    let refusal = OnceLock::new();
    let file = BufWriter::new(Attentive { file, refusal: &refusal });
    let written = write_groups(file, json, &held, effort);
    let saved = match (refusal.into_inner(), written) {
        (Some(source), _) => Err(io("writing")(source)),
        (None, Err(it)) => {
            Err(StorageError::Damaged { path: path.to_owned(), why: it.to_string() })
        }
        (None, Ok(())) => seal_and_save(&unfinished)
            .map_err(io("saving"))
            .and_then(|()| std::fs::rename(&unfinished, path).map_err(io("renaming"))),
    };
    if saved.is_err() {
        // Half a segment is of no use, and takes room that a full disk lacks.
        let _ = std::fs::remove_file(&unfinished);
    }
    saved.map(|()| footer.outline)
}

fn seal_and_save(unfinished: &Path) -> std::io::Result<()> {
    let mut file = File::options().read(true).write(true).open(unfinished)?;
    seal(&mut file)?;
    file.sync_all()
}

/// Keeps why the system refused to write: the Parquet writer tells it as a text, or not at all.
struct Attentive<'a> {
    file: File,
    refusal: &'a OnceLock<std::io::Error>,
}

impl Attentive<'_> {
    fn keep(&self, error: std::io::Error) -> std::io::Error {
        let kind = error.kind();
        if kind != std::io::ErrorKind::Interrupted {
            let _ = self.refusal.set(error);
        }
        kind.into()
    }
}

impl Write for Attentive<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes).map_err(|it| self.keep(it))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush().map_err(|it| self.keep(it))
    }
}

fn index_of(held: &[(Subject, Rows)]) -> Vec<IndexEntry> {
    let mut first_row = 0;
    let mut index = Vec::new();
    for (subject, rows) in held {
        if let Some(span) = rows.span() {
            let count = rows.times.len();
            index.push(IndexEntry { subject: subject.clone(), first_row, rows: count, span });
            first_row += count;
        }
    }
    index
}

fn write_groups(
    file: BufWriter<Attentive<'_>>,
    footer: String,
    held: &[(Subject, Rows)],
    effort: Effort,
) -> Result<(), PolarsError> {
    let columns = Columns::needed(held);
    let metadata = KeyValueMetadata::from_static(vec![(FOOTER_KEY.to_owned(), footer)]);
    let writer = ParquetWriter::new(file)
        .set_parallel(effort == Effort::Thorough)
        .with_compression(ParquetCompression::Zstd(Some(ZstdLevel::try_new(effort.level())?)))
        .with_key_value_metadata(Some(metadata));
    let mut batches = writer.batched(&columns.schema())?;
    // A row group for each subject would cost more than what is in it: dozens of columns each.
    let mut group: Vec<Part<'_>> = Vec::new();
    let mut height = 0;
    for (subject, rows) in held {
        for first in (0..rows.times.len()).step_by(ROW_GROUP_ROWS) {
            let range = first..rows.times.len().min(first + ROW_GROUP_ROWS);
            let is_other = group.first().is_some_and(|it| it.subject.gpu() != subject.gpu());
            if is_other || height + range.len() > ROW_GROUP_ROWS {
                batches.write_batch(&columns.frame(&std::mem::take(&mut group))?)?;
                height = 0;
            }
            height += range.len();
            group.push(Part { subject, rows, range });
        }
    }
    if !group.is_empty() {
        batches.write_batch(&columns.frame(&group)?)?;
    }
    batches.finish().map(drop)
}
