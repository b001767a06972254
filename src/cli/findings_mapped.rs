//! Rows of any columns, as a mapping file explains them: the text that an importer reads, made batch by batch.

use crate::domain::collector::Collector;
use crate::domain::recording::Recording;
use crate::domain::source::SourceId;
use crate::import::ImportOptions;
use crate::import::mapping::MappingImporter;
use crate::import::text::stamp::EpochUnit;
use crate::storage::arrow::{Cell, DeviceStream, StreamError};
use std::io::{BufRead, Read};

/// The rows of the device under way, as lines of a table.
struct Lines<'a> {
    stream: &'a mut DeviceStream,
    columns: Vec<String>,
    unit: Option<EpochUnit>,
    separator: char,
    text: Vec<u8>,
    at: usize,
    broken: Option<StreamError>,
}

/// Reads the device under way through a mapping.
///
/// Errors: the stream is broken. The inner error says, in a sentence, why the rows are no recording.
pub(crate) fn mapped(
    stream: &mut DeviceStream,
    importer: &MappingImporter,
    (name, options): (&str, &ImportOptions),
) -> Result<Result<Recording, String>, StreamError> {
    let mapping = &importer.mapping;
    let columns = mapping.column_names();
    let separator = mapping.separator();
    let head =
        if mapping.has_header() { line(columns.iter().cloned(), separator) } else { "".into() };
    let mut lines = Lines {
        stream,
        columns,
        unit: mapping.stamp_unit(),
        separator,
        text: head.into_bytes(),
        at: 0,
        broken: None,
    };
    let mut collector = Collector::new();
    let imported =
        crate::import::import(importer, &mut lines, name, options, SourceId(0), &mut collector);
    if let Some(broken) = lines.broken {
        return Err(broken);
    }
    Ok(match imported {
        Err(error) => {
            let told = error.to_string();
            // The row says already whose it is.
            Err(told.strip_prefix(&format!("{name}: ")).map_or(told.clone(), str::to_owned))
        }
        Ok(summary) if summary.readings == 0 => {
            let first: Vec<String> =
                summary.rejections.first().iter().take(1).map(ToString::to_string).collect();
            Err(format!("holds no reading that the mapping names; {}", first.join("")))
        }
        Ok(_) => Ok(collector.into_recording()),
    })
}

impl Lines<'_> {
    /// Makes the next rows of the device text; nothing is left at its end.
    fn fill(&mut self) {
        self.text.clear();
        self.at = 0;
        let slice = match self.stream.more() {
            Ok(Some(slice)) => slice,
            Ok(None) => return,
            Err(error) => {
                self.broken = Some(error);
                return;
            }
        };
        for row in slice.rows.clone() {
            let cells = self.columns.iter().map(|it| text(slice.cell(it, row), self.unit));
            self.text.extend_from_slice(line(cells, self.separator).as_bytes());
        }
    }
}

impl Read for Lines<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut rest = self.fill_buf()?;
        let count = rest.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Lines<'_> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        if self.at >= self.text.len() {
            self.fill();
        }
        Ok(&self.text[self.at..])
    }

    fn consume(&mut self, count: usize) {
        self.at += count;
    }
}

/// A cell as an importer would find it in a file.
fn text(cell: Cell<'_>, unit: Option<EpochUnit>) -> String {
    match (cell, unit) {
        (Cell::Missing, _) => String::new(),
        (Cell::Text(it), _) => it.to_owned(),
        (Cell::Whole(it), _) => it.to_string(),
        (Cell::Number(it), _) => it.to_string(),
        (Cell::Instant(it), Some(EpochUnit::Seconds)) => (it as f64 / 1e6).to_string(),
        (Cell::Instant(it), Some(EpochUnit::Milliseconds)) => (it as f64 / 1e3).to_string(),
        (Cell::Instant(it), Some(EpochUnit::Microseconds)) => it.to_string(),
        (Cell::Instant(it), Some(EpochUnit::Nanoseconds)) => format!("{it}000"),
        (Cell::Instant(it), None) => match jiff::Timestamp::from_microsecond(it) {
            Ok(it) => it.to_string(),
            Err(_) => it.to_string(),
        },
    }
}

/// One line; cells that would be taken for several are quoted.
fn line(cells: impl Iterator<Item = String>, separator: char) -> String {
    let mut line = String::new();
    for (number, cell) in cells.enumerate() {
        if number > 0 {
            line.push(separator);
        }
        match cell.contains([separator, '"', '\n', '\r']) {
            // A line of the importers ends at the first line feed, quoted or not.
            true => line
                .push_str(&format!("\"{}\"", cell.replace(['\n', '\r'], " ").replace('"', "\"\""))),
            false => line.push_str(&cell),
        }
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_become_the_text_that_a_file_would_hold() {
        let cells = ["a", "b,c", "say \"x\"", ""].map(str::to_owned);
        assert_eq!(line(cells.into_iter(), ','), "a,\"b,c\",\"say \"\"x\"\"\",\n");
        assert_eq!(text(Cell::Instant(1_500_000), None), "1970-01-01T00:00:01.5Z");
        assert_eq!(text(Cell::Instant(1_500_000), Some(EpochUnit::Seconds)), "1.5");
        assert_eq!(text(Cell::Missing, None), "");
    }
}
