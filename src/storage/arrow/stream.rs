//! Reads a stream batch by batch, and says where one device ends and the next begins.

use crate::storage::arrow::StreamError;
use crate::storage::arrow::columns::{Cell, Column};
use crate::storage::arrow::frames::Frames;
use polars_arrow::io::ipc::read::{StreamReader, StreamState, read_stream_metadata};
use std::collections::BTreeMap;
use std::io::Read;
use std::ops::Range;

/// Types that a column may have that says whose a row is.
const KEY_KINDS: &str = "text or whole numbers";

/// Whose rows these are; rows of one device and one window stand together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceKey {
    /// The recording; `None` where the stream names none.
    pub recording: Option<String>,
    /// The host; `None` where the stream names none.
    pub host: Option<String>,
    /// The GPU; `None` where a tenant does not say on which it is.
    pub gpu: Option<String>,
    /// The stretch of time; `None` where all is one.
    pub window: Option<String>,
}

/// Columns that say whose a row is, by name.
#[derive(Debug, Clone)]
pub(crate) struct KeyNames {
    /// The GPU: the first of these that has a text in a row.
    gpu: Vec<String>,
    host: String,
}

/// The rows of a stream, device after device.
pub struct DeviceStream {
    batches: StreamReader<Frames>,
    names: Vec<String>,
    keys: KeyNames,
    batch: Option<Batch>,
    /// First row of the batch that was not given out.
    next: usize,
    /// Whose rows are given out.
    current: Option<DeviceKey>,
    rows: u64,
}

impl std::fmt::Debug for DeviceStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeviceStream({:?} after {} rows)", self.current, self.rows)
    }
}

/// One batch, column by column.
#[derive(Debug)]
pub(crate) struct Batch {
    columns: BTreeMap<String, Column>,
    height: usize,
}

/// Some rows of one device.
#[derive(Debug)]
pub struct RowSlice<'a> {
    batch: &'a Batch,
    /// Places of the rows in their batch.
    pub rows: Range<usize>,
    /// Number of the first of them in the stream, from 1.
    pub first_row: u64,
}

impl<'a> RowSlice<'a> {
    /// The cell of a column; missing where there is no such column.
    pub fn cell(&self, column: &str, row: usize) -> Cell<'a> {
        self.column(column).map_or(Cell::Missing, |it| it.cell(row))
    }

    pub(crate) fn column(&self, name: &str) -> Option<&'a Column> {
        self.batch.columns.get(name)
    }

    pub(crate) fn columns(&self) -> impl Iterator<Item = (&'a str, &'a Column)> {
        self.batch.columns.iter().map(|it| (it.0.as_str(), it.1))
    }
}

impl DeviceStream {
    /// Reads the schema of a stream.
    ///
    /// `gpu` and `host` name the columns of the device; `is_wanted` tells which others are needed.
    /// Errors: the bytes are no Arrow stream.
    pub fn open(
        input: Box<dyn Read>,
        (gpu, host): (Option<&str>, Option<&str>),
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Self, StreamError> {
        let keys = KeyNames {
            gpu: gpu.map_or_else(
                || vec!["device".to_owned(), "gpu".to_owned()],
                |it| vec!["device".to_owned(), it.to_owned()],
            ),
            host: host.unwrap_or("host").to_owned(),
        };
        let mut input = Frames::new(input);
        let not_arrow = |it: String| StreamError::NotArrow(it);
        let metadata = read_stream_metadata(&mut input).map_err(|it| not_arrow(it.to_string()))?;
        let names: Vec<String> = metadata.schema.iter_names().map(ToString::to_string).collect();
        if names.len() != metadata.ipc_schema.fields.len() {
            return Err(not_arrow("two of its columns have one name".to_owned()));
        }
        let is_needed = |it: &String| keys.has(it) || is_wanted(it);
        let needed: Vec<usize> =
            names.iter().enumerate().filter(|it| is_needed(it.1)).map(|it| it.0).collect();
        if needed.is_empty() {
            return Err(not_arrow(format!("none of its columns is known: {}", names.join(", "))));
        }
        Ok(Self {
            batches: StreamReader::new(input, metadata, Some(needed)),
            names,
            keys,
            batch: None,
            next: 0,
            current: None,
            rows: 0,
        })
    }

    /// Names of all columns of the stream.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whose rows come next, after what is left of the device before; `None` at the end of the stream.
    pub fn next_device(&mut self) -> Result<Option<DeviceKey>, StreamError> {
        while self.more()?.is_some() {}
        self.current = None;
        if !self.fill()? {
            return Ok(None);
        }
        self.current = self.batch.as_ref().map(|it| self.keys.of(it, self.next));
        Ok(self.current.clone())
    }

    /// The next rows of the device; `None` once all were given out.
    pub fn more(&mut self) -> Result<Option<RowSlice<'_>>, StreamError> {
        if self.current.is_none() || !self.fill()? {
            return Ok(None);
        }
        let (Some(batch), Some(key)) = (&self.batch, &self.current) else { return Ok(None) };
        let first = self.next;
        if self.keys.of(batch, first) != *key {
            return Ok(None);
        }
        let is_same = |row: &usize| self.keys.is_same(batch, first, *row);
        let end = (first + 1..batch.height).find(|it| !is_same(it)).unwrap_or(batch.height);
        let first_row = self.rows - (batch.height - first) as u64 + 1;
        self.next = end;
        Ok(Some(RowSlice { batch, rows: first..end, first_row }))
    }

    /// Reads the next batch with rows where the last one is given out; whether there are rows.
    fn fill(&mut self) -> Result<bool, StreamError> {
        while self.batch.as_ref().is_none_or(|it| self.next >= it.height) {
            self.batch = None;
            let rows = self.rows;
            let broken = |why: String| StreamError::Broken { rows, why };
            let batch = match self.batches.next() {
                None => return Ok(false),
                Some(Err(error)) => return Err(broken(error.to_string())),
                Some(Ok(StreamState::Waiting)) => {
                    return Err(broken("it ends without its end mark".to_owned()));
                }
                Some(Ok(StreamState::Some(batch))) => batch,
            };
            let height = batch.len();
            let (schema, arrays) = batch.into_schema_and_arrays();
            let named = schema.iter_names().map(ToString::to_string).zip(arrays);
            let columns = named.map(|(name, it)| (name, Column::of(it.as_ref()))).collect();
            let batch = Batch { columns, height };
            self.keys.check(&batch)?;
            (self.batch, self.next, self.rows) = (Some(batch), 0, rows + height as u64);
        }
        Ok(true)
    }
}

impl KeyNames {
    fn has(&self, name: &str) -> bool {
        self.gpu.iter().any(|it| it == name)
            || self.host == name
            || ["recording", "window"].contains(&name)
    }

    fn all(&self) -> impl Iterator<Item = &str> {
        self.gpu.iter().map(String::as_str).chain([self.host.as_str(), "recording", "window"])
    }

    fn check(&self, batch: &Batch) -> Result<(), StreamError> {
        for name in self.all() {
            let Some(column) = batch.columns.get(name) else { continue };
            if matches!(column, Column::Number(_) | Column::Unusable(_)) {
                let (column, found) = (name.to_owned(), column.kind());
                return Err(StreamError::Key { column, found, needed: KEY_KINDS });
            }
        }
        Ok(())
    }

    fn of(&self, batch: &Batch, row: usize) -> DeviceKey {
        let text = |name: &str| match batch.columns.get(name).map(|it| it.cell(row)) {
            Some(Cell::Text(it)) if !it.is_empty() => Some(it.to_owned()),
            Some(Cell::Whole(it) | Cell::Instant(it)) => Some(it.to_string()),
            _ => None,
        };
        DeviceKey {
            recording: text("recording"),
            host: text(&self.host),
            gpu: self.gpu.iter().find_map(|it| text(it)),
            window: text("window"),
        }
    }

    /// Whether two rows are of one device; most rows are of that of the row before.
    fn is_same(&self, batch: &Batch, one: usize, other: usize) -> bool {
        let is_same =
            |it: &str| batch.columns.get(it).is_none_or(|column| column.is_same(one, other));
        self.all().all(is_same) || self.of(batch, one) == self.of(batch, other)
    }
}
