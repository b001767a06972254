//! An SQLite database out of a reader: held in memory, never written, and not trusted.
//!
//! Its pages are needed in any order, which a reader does not give, so the whole file lies in memory; [`LARGEST`] bounds it.

use crate::import::error::ImportError;
use crate::import::run::ImportRun;
use crate::import::run::rejection::quoted;
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};

/// How every SQLite database begins.
pub(super) const MAGIC: &[u8] = b"SQLite format 3\0";
/// Largest database that is read, in bytes: so much memory it takes.
const LARGEST: u64 = 1 << 30;
/// So many bytes are read to see whether a file is as long as its header claims.
const PROBE: u64 = 1 << 20;
/// Length of the header, in bytes.
const HEADER: usize = 100;
/// Fewest bytes that a row takes in a file; more rows than that are a loop in damaged pages.
const LEAST_ROW: u64 = 4;
/// Longest name that is taken from a cell, in characters.
const LONGEST_NAME: usize = 400;

/// What to do with a database that is too large.
const SMALLER: &str = "export fewer tables, `nsys export --type sqlite --tables …` (GPU_METRICS, TARGET_INFO_*, CUPTI_ACTIVITY_KIND_KERNEL, PROCESSES are enough), or a shorter stretch of time";

/// A database in memory.
pub(super) struct Database {
    connection: Connection,
    size: u64,
    /// Columns of every table.
    tables: BTreeMap<String, Vec<String>>,
    damage: Option<String>,
}

/// A cell of a row.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cell<'a> {
    /// No value.
    Null,
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Real(f64),
    /// A text, as bytes that may be no UTF-8.
    Text(&'a [u8]),
    /// Bytes.
    Blob,
}

impl Cell<'_> {
    /// The text, at most 400 characters of it; `None` where it is none or empty.
    pub(super) fn text(&self) -> Option<String> {
        let Self::Text(bytes) = self else { return None };
        let text: String =
            String::from_utf8_lossy(bytes).trim().chars().take(LONGEST_NAME).collect();
        (!text.is_empty()).then_some(text)
    }

    /// The whole number; `None` where it is none.
    pub(super) fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(it) => Some(*it),
            _ => None,
        }
    }

    /// The cell as it may be quoted in a message.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Null => "NULL".to_owned(),
            Self::Integer(it) => it.to_string(),
            Self::Real(it) => it.to_string(),
            Self::Text(it) => {
                String::from_utf8_lossy(&it[..it.len().min(LONGEST_NAME)]).into_owned()
            }
            Self::Blob => "a blob".to_owned(),
        }
    }
}

impl<'a> From<ValueRef<'a>> for Cell<'a> {
    fn from(value: ValueRef<'a>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(it) => Self::Integer(it),
            ValueRef::Real(it) => Self::Real(it),
            ValueRef::Text(it) => Self::Text(it),
            ValueRef::Blob(_) => Self::Blob,
        }
    }
}

impl Database {
    /// Reads a database to its end.
    ///
    /// A file that is cut off is filled up with empty pages, so that what stands before is read; [`Database::damage`]
    /// tells it. Errors: there is nothing, it is no SQLite database or too large a one, or its table of tables is damaged.
    pub(super) fn read(
        run: &mut ImportRun<'_>,
        input: &mut dyn BufRead,
    ) -> Result<Self, ImportError> {
        run.line = 1;
        let mut header = Vec::with_capacity(HEADER);
        Read::take(&mut *input, HEADER as u64)
            .read_to_end(&mut header)
            .map_err(|it| run.read_error(it))?;
        if header.is_empty() {
            return Err(ImportError::Empty { file: run.file().to_owned() });
        }
        if !header.starts_with(MAGIC) || header.len() < HEADER {
            let found = String::from_utf8_lossy(&header);
            let remedy = "export it with `nsys export --type sqlite REPORT.nsys-rep`, and copy the whole file";
            return Err(run.structure_error("an SQLite database", &found, remedy));
        }
        // In memory there is no log beside the file, and SQLite refuses a header that asks for one.
        if header[18..20].contains(&2) {
            header[18..20].fill(1);
            run.warn("the database was in WAL mode: what still lies in a file `…-wal` beside it is not read".to_owned());
        }
        let (connection, size, missing) = load(run, header, input)?;
        let damage = (missing > 0).then(|| {
            format!("the file ends {missing} bytes before its end; what stands before is kept")
        });
        let mut database = Self { connection, size, tables: BTreeMap::new(), damage };
        database.tables = database.list().map_err(|it| failed(run, "the list of tables", it))?;
        Ok(database)
    }

    /// What is wrong with the file as a whole; `None` when nothing is.
    pub(super) fn damage(&self) -> Option<String> {
        self.damage.clone()
    }

    /// Names of all tables.
    pub(super) fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }

    /// The columns of a table; `None` where there is no such table.
    pub(super) fn table(&self, name: &str) -> Option<&[String]> {
        self.tables.get(name).map(Vec::as_slice)
    }

    /// Whether there is a table with all of these columns.
    pub(super) fn has_columns(&self, table: &str, columns: &[&str]) -> bool {
        self.table(table)
            .is_some_and(|own| columns.iter().all(|it| own.iter().any(|own| own == it)))
    }

    /// Fails where a table lacks one of these columns; the error names it.
    pub(super) fn require(
        &self,
        run: &ImportRun<'_>,
        table: &str,
        columns: &[&str],
    ) -> Result<(), ImportError> {
        let own = self.table(table).unwrap_or_default();
        let Some(missing) = columns.iter().find(|it| !own.iter().any(|own| own == *it)) else {
            return Ok(());
        };
        let expected = format!("the column `{missing}` in the table {table}");
        let remedy = "export again with a present nsys; --format names another format";
        Err(run.structure_error(&expected, &own.join(", "), remedy))
    }

    /// Gives every row of a table to `take`, with the run's line at the number of the row.
    ///
    /// Columns must exist. Errors: a page is damaged, or what `take` fails with.
    pub(super) fn rows(
        &self,
        run: &mut ImportRun<'_>,
        table: &str,
        columns: &[&str],
        mut take: impl FnMut(&mut ImportRun<'_>, &[Cell<'_>]) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let names: Vec<String> = columns.iter().map(|it| format!("[{it}]")).collect();
        let question = format!("SELECT {} FROM [{table}]", names.join(", "));
        run.line = 0;
        let mut statement =
            self.connection.prepare(&question).map_err(|it| failed(run, table, it))?;
        let mut rows = statement.query([]).map_err(|it| failed(run, table, it))?;
        loop {
            let Some(row) = rows.next().map_err(|it| failed(run, table, it))? else {
                return Ok(());
            };
            if run.line >= self.size / LEAST_ROW {
                let looped = format!("table {table}: more rows than the file can hold");
                return Err(run.read_error(io::Error::other(looped)));
            }
            run.line += 1;
            let mut cells = [Cell::Null; 8];
            for (place, cell) in cells.iter_mut().enumerate().take(columns.len()) {
                *cell = row.get_ref(place).map_err(|it| failed(run, table, it))?.into();
            }
            take(run, &cells[..columns.len().min(8)])?;
        }
    }

    /// Every table that holds rows of its own, with the columns that are stored: views, virtual tables and generated columns
    /// run code, and are left out.
    fn list(&self) -> rusqlite::Result<BTreeMap<String, Vec<String>>> {
        let question = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0";
        let mut statement = self.connection.prepare(question)?;
        let mut rows = statement.query([])?;
        let mut names = Vec::new();
        while let Some(row) = rows.next()? {
            if let ValueRef::Text(name) = row.get_ref(0)?
                && let Ok(name) = std::str::from_utf8(name)
                && !name.contains(['[', ']'])
            {
                names.push(name.to_owned());
            }
        }
        let mut tables = BTreeMap::new();
        for name in names {
            let columns = self.columns(&name).unwrap_or_default();
            tables.insert(name, columns);
        }
        Ok(tables)
    }

    /// The stored columns of a table.
    fn columns(&self, table: &str) -> rusqlite::Result<Vec<String>> {
        let question = "SELECT name FROM pragma_table_xinfo(?1) WHERE hidden = 0";
        let mut statement = self.connection.prepare(question)?;
        statement.query_map([table], |it| it.get(0))?.collect()
    }
}

/// A connection to what the reader holds, its size, and how many bytes of it are missing.
fn load(
    run: &ImportRun<'_>,
    mut header: Vec<u8>,
    input: &mut dyn BufRead,
) -> Result<(Connection, u64, u64), ImportError> {
    let too_large = |bytes: u64| {
        let expected = format!("a database of at most {} MiB", LARGEST >> 20);
        run.structure_error(&expected, &format!("{} MiB", bytes >> 20), SMALLER)
    };
    let claimed = size(&header);
    if let Some(claimed) = claimed.filter(|it| *it > LARGEST) {
        return Err(too_large(claimed));
    }
    let mut rest = Vec::new();
    let room = if claimed.is_some() { PROBE } else { LARGEST + 1 - HEADER as u64 };
    let outcome = Read::take(&mut *input, room).read_to_end(&mut rest);
    if let (Err(error), true) = (outcome, rest.is_empty()) {
        return Err(run.read_error(error));
    }
    let found = (HEADER + rest.len()) as u64;
    let has_ended = (rest.len() as u64) < room;
    // A short file is not filled up to what its header claims, which may be a thousand times as much.
    let size = match claimed {
        Some(claimed) if has_ended && found < claimed => shortened(&mut header, found),
        Some(claimed) => claimed,
        None => found,
    };
    if size > LARGEST {
        return Err(too_large(size));
    }
    let length = usize::try_from(size).map_err(|_| too_large(size))?;
    let mut filled =
        Filled { input: header.as_slice().chain(rest.as_slice()).chain(input), given: 0 };
    let refused = |it: rusqlite::Error| run.read_error(io::Error::other(quoted(&it.to_string())));
    let mut connection = Connection::open_in_memory().map_err(refused)?;
    connection.deserialize_read_exact("main", &mut filled, length, true).map_err(refused)?;
    let missing = claimed.unwrap_or(size).saturating_sub(filled.given);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true).map_err(refused)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false).map_err(refused)?;
    connection
        .execute_batch("PRAGMA cell_size_check = ON; PRAGMA query_only = ON")
        .map_err(refused)?;
    Ok((connection, size, missing))
}

/// The size that a header names, in bytes; `None` where it was written by a version that does not keep it.
///
/// Source: SQLite, Database File Format, 1.3.2, 1.3.7 and 1.3.10.
fn size(header: &[u8]) -> Option<u64> {
    let word = |at: usize| header.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
    let page = page_size(header);
    let pages = u64::from(word(28)?);
    let is_kept = pages > 0 && word(24)? == word(92)?;
    is_kept.then_some(pages * page).filter(|it| *it >= HEADER as u64)
}

/// Bytes of a page, as the header says.
fn page_size(header: &[u8]) -> u64 {
    match u64::from(u16::from_be_bytes([header[16], header[17]])) {
        1 => 65_536,
        other => other,
    }
}

/// Makes a header claim no more pages than there are in so many bytes; returns their size.
fn shortened(header: &mut [u8], found: u64) -> u64 {
    let pages = found.div_ceil(page_size(header).max(1));
    header[28..32].copy_from_slice(&u32::try_from(pages).unwrap_or(u32::MAX).to_be_bytes());
    pages * page_size(header)
}

/// A reader that goes on with zeros where its input ends or fails, and counts what the input gave.
struct Filled<R> {
    input: R,
    given: u64,
}

impl<R: Read> Read for Filled<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.input.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Ok(0) | Err(_) => {
                buffer.fill(0);
                Ok(buffer.len())
            }
            Ok(count) => {
                self.given += count as u64;
                Ok(count)
            }
        }
    }
}

/// The error that a table cannot be read on.
fn failed(run: &ImportRun<'_>, table: &str, error: rusqlite::Error) -> ImportError {
    run.read_error(io::Error::other(format!("table {table}: {}", quoted(&error.to_string()))))
}
