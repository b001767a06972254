//! Where rows of findings go: a stream or lines as they come, or a file at the end.

use crate::cli::error::CliError;
use crate::cli::findings_args::FindingsForm;
use crate::cli::findings_table::{FindingRow, lines, table};
use crate::cli::output;
use crate::storage::arrow::{StreamError, TableStream};
use crate::storage::findings::save;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Takes rows of findings.
pub(crate) struct RowSink {
    place: Place,
    out: Option<PathBuf>,
    thresholds: String,
    /// Rows with a finding, and rows without.
    pub(crate) count: (u64, u64),
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
                Place::Arrow(TableStream::open(writer(out)?, &form)?)
            }
            (FindingsForm::Json, out) => Place::Lines(writer(out)?),
        };
        Ok(Self { place, out: out.map(Path::to_owned), thresholds, count: (0, 0) })
    }

    /// Takes rows; they are written at once, but into a Parquet file.
    pub(crate) fn take(&mut self, rows: Vec<FindingRow>) -> Result<(), CliError> {
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
        Ok(())
    }

    /// Writes what is still held, and the end.
    pub(crate) fn finish(self) -> Result<(), CliError> {
        match self.place {
            Place::Parquet(path, rows) => save(&path, &table(&rows, &self.thresholds))?,
            Place::Arrow(stream) => stream.finish()?,
            Place::Lines(_) => {}
        }
        if let Some(path) = &self.out {
            output::info(&format!("wrote {}", path.display()));
        }
        Ok(())
    }
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

fn writer(out: Option<&Path>) -> Result<Box<dyn Write>, CliError> {
    let Some(path) = out else { return Ok(output::stream()) };
    let file = File::create(path).map_err(|it| CliError::file(path, "creating", &it))?;
    Ok(Box::new(file))
}

impl From<StreamError> for CliError {
    fn from(error: StreamError) -> Self {
        match error.is_usage() {
            true => Self::usage(error.to_string(), error.remedy()),
            false => Self::unreachable(error.to_string(), error.remedy()),
        }
    }
}
