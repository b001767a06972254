//! Where rows of findings go: a stream or lines as they come, or a file at the end.

use crate::cli::error::CliError;
use crate::cli::findings_args::FindingsForm;
use crate::cli::findings_table::{FindingRow, lines, table};
use crate::cli::output;
use crate::storage::arrow::{StreamError, TableStream};
use crate::storage::findings::packed;
use std::cell::Cell;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Takes rows of findings.
pub(crate) struct RowSink {
    place: Place,
    out: Option<PathBuf>,
    thresholds: String,
    /// Rows with a finding, and rows without.
    pub(crate) count: (u64, u64),
    /// Whether anybody still reads.
    is_read: Rc<Cell<bool>>,
}

enum Place {
    Arrow(TableStream<Box<dyn Write>>),
    Lines(Box<dyn Write>),
    Parquet(PathBuf, Vec<FindingRow>),
}

impl RowSink {
    /// Opens the place.
    ///
    /// Errors: it cannot be written, or the form needs a file and there is none.
    pub(crate) fn open(
        form: FindingsForm,
        out: Option<&Path>,
        thresholds: String,
    ) -> Result<Self, CliError> {
        let is_read = Rc::new(Cell::new(true));
        let place = match (form, out) {
            (FindingsForm::Parquet, Some(path)) => Place::Parquet(path.to_owned(), Vec::new()),
            (FindingsForm::Parquet, None) => {
                return Err(CliError::usage(
                    "a Parquet file cannot be written piece by piece into a pipe",
                    "name the file: --out findings.parquet",
                ));
            }
            (FindingsForm::Arrow, out) => {
                let form = table(&[], &thresholds);
                Place::Arrow(TableStream::open(writer(out, &is_read)?, &form)?)
            }
            (FindingsForm::Json, out) => Place::Lines(writer(out, &is_read)?),
        };
        Ok(Self { place, out: out.map(Path::to_owned), thresholds, count: (0, 0), is_read })
    }

    /// Takes rows, and says whether anybody still reads; they are written at once, but into a Parquet file.
    pub(crate) fn take(&mut self, rows: Vec<FindingRow>) -> Result<bool, CliError> {
        for row in &rows {
            match &row.found {
                Ok(_) => self.count.0 += 1,
                Err(why) => {
                    self.count.1 += 1;
                    output::warning(&format!("{} {why}", name_of(row)));
                }
            }
        }
        match &mut self.place {
            Place::Parquet(_, held) => held.extend(rows),
            Place::Arrow(stream) => stream.write(&table(&rows, &self.thresholds))?,
            Place::Lines(writer) => {
                let text = lines(&table(&rows, &self.thresholds));
                writer
                    .write_all(text.as_bytes())
                    .and_then(|()| writer.flush())
                    .map_err(|it| CliError::failed("cannot write the result", &it))?;
            }
        }
        Ok(self.is_read.get())
    }

    /// Writes what is still held, and the end.
    pub(crate) fn finish(self) -> Result<(), CliError> {
        match self.place {
            Place::Parquet(path, rows) => written(&path, &rows, &self.thresholds)?,
            Place::Arrow(stream) => stream.finish()?,
            Place::Lines(_) => {}
        }
        if let Some(path) = &self.out {
            output::info(&format!("wrote {}", path.display()));
        }
        Ok(())
    }

    /// Writes what is still held, without an end: rows were to follow.
    pub(crate) fn break_off(self) -> Result<(), CliError> {
        match self.place {
            Place::Parquet(path, rows) if !rows.is_empty() => {
                written(&path, &rows, &self.thresholds)
            }
            _ => Ok(()),
        }
    }
}

fn written(path: &Path, rows: &[FindingRow], thresholds: &str) -> Result<(), CliError> {
    let bytes = packed(&table(rows, thresholds));
    output::file(path, &bytes.map_err(|it| CliError::file(path, "writing", &it))?)
}

/// What a row is about, for messages.
fn name_of(row: &FindingRow) -> String {
    let key = &row.key;
    let names: Vec<String> =
        [&key.recording, &key.host, &key.gpu].into_iter().flatten().cloned().collect();
    match names.as_slice() {
        [] => "a device without a name".to_owned(),
        names => format!("`{}`", names.join("` `")),
    }
}

fn writer(out: Option<&Path>, is_read: &Rc<Cell<bool>>) -> Result<Box<dyn Write>, CliError> {
    let Some(path) = out else {
        return Ok(Box::new(Piped { out: output::stream(), is_read: Rc::clone(is_read) }));
    };
    let file = File::create(path).map_err(|it| CliError::file(path, "creating", &it))?;
    Ok(Box::new(file))
}

/// Standard output; a reader that went away is noted, and is no error.
struct Piped {
    out: Box<dyn Write>,
    is_read: Rc<Cell<bool>>,
}

impl Piped {
    fn noted<T>(&self, done: std::io::Result<T>, otherwise: T) -> std::io::Result<T> {
        match done {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.is_read.set(false);
                Ok(otherwise)
            }
            done => done,
        }
    }
}

impl Write for Piped {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let done = self.out.write(bytes);
        self.noted(done, bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let done = self.out.flush();
        self.noted(done, ())
    }
}

impl From<StreamError> for CliError {
    fn from(error: StreamError) -> Self {
        match error.is_usage() {
            true => Self::usage(error.to_string(), error.remedy()),
            false => Self::unreachable(error.to_string(), error.remedy()),
        }
    }
}
