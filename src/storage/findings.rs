//! A small table beside a recording: what was computed from it once, found again as long as nothing changed.
//!
//! The name holds a key over what the table was made from, so that a table of other data is never read. It lies in the folder of the
//! recording, where only `segment-*.parquet` count as the recording. What the rows mean is the caller's business.

use crate::storage::error::StorageError;
use crate::storage::seal::{self, Ending, FINDINGS_KEY};
use polars::prelude::{
    DataFrame, DataType, Float64Chunked, Int64Chunked, IntoColumn, KeyValueMetadata,
    NewChunkedArray, ParquetCompression, ParquetReader, ParquetWriter, PolarsResult, SerReader,
    StringChunked,
};
use std::fs::File;
use std::io::{self, Cursor, Write};
use std::path::{Path, PathBuf};

/// Start of the names of such tables.
const START: &str = "findings-";
/// Their ending.
const ENDING: &str = ".parquet";

/// One column.
#[derive(Debug, Clone, PartialEq)]
pub enum KeptColumn {
    /// Words; `None` where there are none.
    Text(Vec<Option<String>>),
    /// Numbers; `None` where one is not known.
    Number(Vec<Option<f64>>),
    /// Whole numbers; `None` where one is not known.
    Whole(Vec<Option<i64>>),
}

/// A table with the version of its form.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptTable {
    /// What the rows are, with their version; a table of another kind is not read.
    pub kind: String,
    /// Columns of equal length.
    pub columns: Vec<(String, KeptColumn)>,
}

impl KeptTable {
    /// The words of a column; empty where it is not there.
    pub fn text(&self, name: &str) -> &[Option<String>] {
        match self.columns.iter().find(|it| it.0 == name) {
            Some((_, KeptColumn::Text(it))) => it,
            _ => &[],
        }
    }

    /// The whole numbers of a column; empty where it is not there.
    pub fn whole(&self, name: &str) -> &[Option<i64>] {
        match self.columns.iter().find(|it| it.0 == name) {
            Some((_, KeptColumn::Whole(it))) => it,
            _ => &[],
        }
    }
}

/// A key of what a table was made from: 32 digits that any other content has with no chance to speak of.
///
/// FNV-1a of 64 bits, twice, from two starts. It guards against mistakes, not against malice.
///
/// Source: G. Fowler, L. C. Noll, K.-P. Vo, D. Eastlake, The FNV non-cryptographic hash algorithm, IETF draft (*not checked*).
pub fn key_of(parts: &[&str]) -> String {
    let hash = |start: u64| {
        let mut hash = start;
        for part in parts {
            // The length keeps two parts from being taken for two others.
            for byte in part.len().to_le_bytes().iter().chain(part.as_bytes()) {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        hash
    };
    format!("{:016x}{:016x}", hash(0xcbf2_9ce4_8422_2325), hash(0x9e37_79b9_7f4a_7c15))
}

/// Whether a file is such a table, by its name.
pub fn is_kept(path: &Path) -> bool {
    let name = path.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let key = name.strip_prefix(START).and_then(|it| it.strip_suffix(ENDING));
    key.is_some_and(|it| it.len() == 32 && it.bytes().all(|it| it.is_ascii_hexdigit()))
}

/// Reads the table of a key in a folder; `None` where there is none, or none that is whole.
pub fn kept(folder: &Path, key: &str, kind: &str) -> Option<KeptTable> {
    let mut file = File::open(path_of(folder, key)).ok()?;
    let Ending::Whole(seal) = seal::ending(&mut file).ok()? else { return None };
    if !seal.fits(&mut file).ok()? {
        return None;
    }
    let mut reader = ParquetReader::new(file);
    let metadata = reader.get_metadata().ok()?.clone();
    let pairs = metadata.key_value_metadata().clone().unwrap_or_default();
    pairs.iter().find(|it| it.key == FINDINGS_KEY && it.value.as_deref() == Some(kind))?;
    let frame = reader.finish().ok()?;
    Some(KeptTable { kind: kind.to_owned(), columns: columns_of(&frame)? })
}

/// Names of the columns of a Parquet file; `None` where its footer cannot be read, or is not the one that was written.
pub fn column_names(path: &Path) -> Option<Vec<String>> {
    let mut file = File::open(path).ok()?;
    seal::checked(&mut file).ok()?.ok()?;
    let mut reader = ParquetReader::new(file);
    Some(reader.schema().ok()?.iter_names().map(ToString::to_string).collect())
}

/// Whether a Parquet file was cut, or is one of ours with another footer, so that nobody knows what it held; changed data are told
/// when they are read.
pub fn is_damaged(path: &Path) -> bool {
    let Ok(mut file) = File::open(path) else { return false };
    let is_cut = seal::is_cut(&mut file).unwrap_or(false);
    is_cut || seal::checked(&mut file).is_ok_and(|it| it.is_err())
}

/// Reads these columns of a Parquet file that anybody wrote; those that it lacks are left out.
///
/// Errors: it cannot be read, or its bytes are not those that were written.
pub fn table_of(path: &Path, wanted: &[&str]) -> Result<KeptTable, StorageError> {
    let io = |source| StorageError::Io { path: path.to_owned(), doing: "opening", source };
    let damaged = |why: &str| StorageError::Damaged { path: path.to_owned(), why: why.to_owned() };
    let mut file = File::open(path).map_err(io)?;
    let seal = seal::checked(&mut file).map_err(io)?.map_err(damaged)?;
    if let Some(seal) = seal
        && !seal.fits(&mut file).map_err(io)?
    {
        return Err(damaged(seal::DATA_DIFFER));
    }
    let has = column_names(path).ok_or_else(|| damaged("its footer is broken"))?;
    let there = wanted.iter().filter(|it| has.iter().any(|has| has == *it));
    let frame = ParquetReader::new(file)
        .with_columns(Some(there.map(|it| (*it).to_owned()).collect()))
        .finish()
        .map_err(|it| damaged(&it.to_string()))?;
    let columns = columns_of(&frame).ok_or_else(|| damaged("its types are unknown"))?;
    Ok(KeptTable { kind: String::new(), columns })
}

fn columns_of(frame: &DataFrame) -> Option<Vec<(String, KeptColumn)>> {
    let mut columns = Vec::new();
    for column in frame.columns() {
        let name = column.name().to_string();
        if let Ok(it) = column.str() {
            let words = it.iter().map(|it| it.map(str::to_owned)).collect();
            columns.push((name, KeptColumn::Text(words)));
        } else if let Ok(it) = column.f64() {
            columns.push((name, KeptColumn::Number(it.iter().collect())));
        } else if column.dtype().is_integer() {
            let whole = column.cast(&DataType::Int64).ok()?;
            columns.push((name, KeptColumn::Whole(whole.i64().ok()?.iter().collect())));
        }
    }
    Some(columns)
}

/// Writes the table of a key into a folder, under another name first; tables of other keys there are removed.
///
/// Errors: the folder cannot be written.
pub fn keep(folder: &Path, key: &str, table: &KeptTable) -> Result<PathBuf, StorageError> {
    let path = path_of(folder, key);
    let unfinished = path.with_extension("tmp");
    let io = |doing| {
        let path = path.clone();
        move |source| StorageError::Io { path, doing, source }
    };
    let written = packed(table)
        .and_then(|it| std::fs::write(&unfinished, it))
        .map_err(io("writing"))
        .and_then(|()| std::fs::rename(&unfinished, &path).map_err(io("renaming")));
    if let Err(error) = written {
        let _ = std::fs::remove_file(&unfinished);
        return Err(error);
    }
    for it in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let other = it.path();
        if is_kept(&other) && other != path {
            let _ = std::fs::remove_file(other);
        }
    }
    Ok(path)
}

/// A table as the bytes of a Parquet file, sealed.
pub fn packed(table: &KeptTable) -> io::Result<Vec<u8>> {
    let mut bytes = Cursor::new(Vec::new());
    write(&mut bytes, table).map_err(io::Error::other)?;
    seal::seal(&mut bytes)?;
    Ok(bytes.into_inner())
}

fn path_of(folder: &Path, key: &str) -> PathBuf {
    folder.join(format!("{START}{key}{ENDING}"))
}

fn write(file: impl Write, table: &KeptTable) -> PolarsResult<()> {
    let columns = table.columns.iter().map(|(name, column)| match column {
        KeptColumn::Text(it) => StringChunked::from_iter_options(
            name.as_str().into(),
            it.iter().map(|it| it.as_deref()),
        )
        .into_column(),
        KeptColumn::Number(it) => {
            Float64Chunked::from_iter_options(name.as_str().into(), it.iter().copied())
                .into_column()
        }
        KeptColumn::Whole(it) => {
            Int64Chunked::from_iter_options(name.as_str().into(), it.iter().copied()).into_column()
        }
    });
    let height = table.columns.first().map_or(0, |it| match &it.1 {
        KeptColumn::Text(it) => it.len(),
        KeptColumn::Number(it) => it.len(),
        KeptColumn::Whole(it) => it.len(),
    });
    let mut frame = DataFrame::new(height, columns.collect())?;
    let footer = vec![(FINDINGS_KEY.to_owned(), table.kind.clone())];
    ParquetWriter::new(file)
        .with_compression(ParquetCompression::Zstd(None))
        .with_key_value_metadata(Some(KeyValueMetadata::from_static(footer)))
        .finish(&mut frame)
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(words: &[&str]) -> KeptTable {
        let text = words.iter().map(|it| Some((*it).to_owned())).collect();
        let numbers = words.iter().map(|it| (it.len() > 1).then_some(it.len() as f64)).collect();
        let places = (0..words.len() as i64).map(|it| (it > 0).then_some(it)).collect();
        KeptTable {
            kind: "test 1".to_owned(),
            columns: vec![
                ("name".to_owned(), KeptColumn::Text(text)),
                ("length".to_owned(), KeptColumn::Number(numbers)),
                ("place".to_owned(), KeptColumn::Whole(places)),
            ],
        }
    }

    #[test]
    fn a_table_is_found_by_its_key_and_kind_and_takes_the_place_of_the_last_one() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (key_of(&["a", "b"]), key_of(&["a", "c"]));
        keep(folder.path(), &old, &table(&["x", "yy"])).unwrap();
        assert_eq!(kept(folder.path(), &old, "test 1"), Some(table(&["x", "yy"])));
        assert_eq!(kept(folder.path(), &new, "test 1"), None);
        assert_eq!(kept(folder.path(), &old, "test 2"), None);
        keep(folder.path(), &new, &table(&["z"])).unwrap();
        assert_eq!(kept(folder.path(), &old, "test 1"), None, "the last one is gone");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_damaged_table_counts_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let key = key_of(&["a"]);
        let path = keep(folder.path(), &key, &table(&["x", "yy"])).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for cut in [0, 4, bytes.len() / 2, bytes.len() - 1] {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            assert_eq!(kept(folder.path(), &key, "test 1"), None, "{cut}");
        }
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 0xff;
            std::fs::write(&path, &damaged).unwrap();
            assert_eq!(kept(folder.path(), &key, "test 1"), None, "byte {place}");
        }
    }

    #[test]
    fn keys_depend_on_every_part_and_on_their_borders() {
        assert_ne!(key_of(&["ab", "c"]), key_of(&["a", "bc"]));
        assert_ne!(key_of(&["a"]), key_of(&["a", ""]));
        assert_eq!(key_of(&["a"]).len(), 32);
    }
}
