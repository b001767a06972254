//! One line of a tenant's own log: cells of a table, or the keys of a JSON object.

use crate::domain::metric::Metric;
use crate::sampler::services::tail::columns::{Meaning, meaning};
use crate::sampler::services::tail::stamp::{Stamp, stamp};

/// Words that say that a request went well.
const GOOD: [&str; 6] = ["ok", "true", "success", "succeeded", "done", "stop"];

/// What one line says.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Entry {
    /// When it was written, or when the request was answered.
    pub(crate) time: Option<Stamp>,
    /// When the request arrived.
    pub(crate) arrival: Option<Stamp>,
    /// Time from request to answer, in seconds.
    pub(crate) latency_s: Option<f64>,
    /// Tokens of the answer.
    pub(crate) tokens: Option<f64>,
    /// Whether the request went well; `None` where the line does not say.
    pub(crate) is_good: Option<bool>,
    /// Everything that is a reading by itself.
    pub(crate) readings: Vec<(Metric, f64)>,
}

/// Why a line says nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// A cell that should be a number or a stamp is none.
    Cell { column: String, text: String },
    /// It has another number of cells than the header.
    Width { expected: usize, found: usize },
    /// It is no JSON object.
    Json,
    /// Nothing in it is known.
    Nothing,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cell { column, text } => write!(f, "column `{column}`: `{text}` cannot be read"),
            Self::Width { expected, found } => {
                write!(f, "{found} cells instead of {expected}")
            }
            Self::Json => f.write_str("it is no JSON object"),
            Self::Nothing => f.write_str("nothing in it is known"),
        }
    }
}

/// How lines are read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Layout {
    /// Cells under a header.
    Table { separator: char, columns: Vec<(String, Option<Meaning>)> },
    /// JSON objects.
    Json,
}

impl Layout {
    /// The layout that the first line of a file tells; `Err` says what is missing.
    pub(crate) fn of(first: &str) -> Result<Self, String> {
        if first.trim_start().starts_with('{') {
            return Ok(Self::Json);
        }
        let count = |it: &char| first.matches(*it).count();
        let separator = [',', ';', '\t'].into_iter().max_by_key(count).unwrap_or(',');
        let names = split(first, separator);
        let columns: Vec<(String, Option<Meaning>)> =
            names.into_iter().map(|it| (it.clone(), meaning(&it))).collect();
        let without_unit = columns.iter().find(|it| it.1 == Some(Meaning::WithoutUnit));
        let is_useful = |it: &(String, Option<Meaning>)| {
            matches!(it.1, Some(Meaning::Reading(..) | Meaning::Latency(_)))
        };
        match columns.iter().any(is_useful) {
            true => Ok(Self::Table { separator, columns }),
            false => Err(match without_unit {
                Some((name, _)) => format!("its column `{name}` has no unit; call it `{name}_s` or `{name}_ms`"),
                None => "its first line names no column that is known; the first line is a header, such as `time,latency_ms`".to_owned(),
            }),
        }
    }

    /// Reads a line.
    pub(crate) fn read(&self, line: &str) -> Result<Entry, Refused> {
        let mut entry = Entry::default();
        match self {
            Self::Table { separator, columns } => {
                let cells = split(line, *separator);
                if cells.len() != columns.len() {
                    return Err(Refused::Width { expected: columns.len(), found: cells.len() });
                }
                for ((name, meaning), cell) in columns.iter().zip(&cells) {
                    entry.take(name, *meaning, cell)?;
                }
            }
            Self::Json => {
                let object: serde_json::Map<String, serde_json::Value> =
                    serde_json::from_str(line).map_err(|_| Refused::Json)?;
                for (name, value) in &object {
                    let text = match value {
                        serde_json::Value::String(it) => it.clone(),
                        serde_json::Value::Number(it) => it.to_string(),
                        serde_json::Value::Bool(it) => it.to_string(),
                        _ => continue,
                    };
                    entry.take(name, meaning(name), &text)?;
                }
            }
        }
        match entry.latency_s.is_some()
            || !entry.readings.is_empty()
            || entry.is_good == Some(false)
        {
            true => Ok(entry),
            false => Err(Refused::Nothing),
        }
    }
}

impl Entry {
    /// Takes one cell; an empty one is a gap.
    fn take(&mut self, name: &str, meaning: Option<Meaning>, cell: &str) -> Result<(), Refused> {
        let cell = cell.trim();
        let Some(meaning) = meaning.filter(|_| !is_gap(cell)) else { return Ok(()) };
        let refused =
            || Refused::Cell { column: name.to_owned(), text: cell.chars().take(40).collect() };
        let number = || -> Result<f64, Refused> {
            let number = cell.parse::<f64>().ok().filter(|it| it.is_finite());
            number.ok_or_else(refused)
        };
        match meaning {
            Meaning::Time => self.time = Some(stamp(cell).ok_or_else(refused)?),
            Meaning::Arrival => self.arrival = Some(stamp(cell).ok_or_else(refused)?),
            Meaning::Reading(metric, factor) => {
                let value = number()? * factor;
                let value =
                    Some(value).filter(|it| metric.is_plausible(*it)).ok_or_else(refused)?;
                self.readings.push((metric, value));
            }
            Meaning::Latency(factor) => {
                let value = number()? * factor;
                let is_plausible = Metric::LatencyMean.is_plausible(value);
                self.latency_s = Some(value).filter(|_| is_plausible);
                self.latency_s.ok_or_else(refused)?;
            }
            Meaning::Tokens => self.tokens = Some(number()?).filter(|it| *it >= 0.0),
            Meaning::Status => self.is_good = Some(is_good(cell)),
            Meaning::WithoutUnit => {}
        }
        Ok(())
    }

    /// Whether the line is about one request, and not about a stretch of time.
    ///
    /// Time to the first token and in the queue are known of one request too.
    pub(crate) fn is_request(&self) -> bool {
        let of_one =
            |it: &(Metric, f64)| matches!(it.0, Metric::TimeToFirstToken | Metric::QueueTime);
        (self.latency_s.is_some() || self.is_good.is_some()) && self.readings.iter().all(of_one)
    }
}

fn is_gap(cell: &str) -> bool {
    matches!(cell, "" | "-" | "null" | "None" | "NaN" | "nan" | "N/A")
}

/// Whether a status is a good one: below 400, or a word for it.
fn is_good(cell: &str) -> bool {
    match cell.parse::<f64>() {
        // `1` is a yes, and codes of HTTP have three digits.
        Ok(code) => (1.0..400.0).contains(&code),
        Err(_) => GOOD.contains(&cell.to_ascii_lowercase().as_str()),
    }
}

/// Cells of a line; a quoted one may hold the separator, and `""` for a quote.
fn split(line: &str, separator: char) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut is_quoted = false;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let Some(cell) = cells.last_mut() else { break };
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cell.push('"');
            }
            '"' if is_quoted || cell.trim().is_empty() => is_quoted = !is_quoted,
            it if it == separator && !is_quoted => cells.push(String::new()),
            it => cell.push(it),
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tables_and_objects_say_the_same() {
        let table = Layout::of("time;latency_ms;status;colour").unwrap();
        let from_table = table.read("1767225600;12.5;200;\"a;\"\"b\"").unwrap();
        let json = Layout::of("{\"x\":1}").unwrap();
        let line =
            r#"{"time":"2026-01-01T00:00:00Z","latency_ms":12.5,"status":"ok","more":{"a":1}}"#;
        assert_eq!(from_table, json.read(line).unwrap());
        assert_eq!(from_table.latency_s, Some(0.0125));
        assert!(from_table.is_request());
        assert_eq!(from_table.is_good, Some(true));
    }

    #[test]
    fn a_line_of_readings_is_no_request() {
        let layout = Layout::of("time,latency_ms,rps").unwrap();
        assert!(!layout.read("1767225600,12,100").unwrap().is_request());
        let layout = Layout::of("time,latency_ms,ttft_ms").unwrap();
        assert!(layout.read("1767225600,12,100").unwrap().is_request());
    }

    #[test]
    fn lines_that_cannot_be_read_say_where() {
        let layout = Layout::of("time,latency_ms").unwrap();
        let refused = |line: &str| layout.read(line).unwrap_err().to_string();
        assert_eq!(refused("1767225600,fast"), "column `latency_ms`: `fast` cannot be read");
        assert_eq!(refused("1767225600,-3"), "column `latency_ms`: `-3` cannot be read");
        assert_eq!(refused("noon,3"), "column `time`: `noon` cannot be read");
        assert_eq!(refused("1767225600"), "1 cells instead of 2");
        assert_eq!(refused("1767225600,"), "nothing in it is known");
        assert_eq!(Layout::Json.read("[1]").unwrap_err(), Refused::Json);
    }

    #[test]
    fn a_header_without_a_known_column_or_without_a_unit_is_refused() {
        assert!(Layout::of("1767225600,12").unwrap_err().contains("header"));
        assert!(Layout::of("time,latency").unwrap_err().contains("`latency_ms`"));
    }

    proptest! {
        #[test]
        fn no_line_makes_the_reader_panic(header in ".{0,30}", line in ".{0,40}") {
            if let Ok(layout) = Layout::of(&header) {
                let _ = layout.read(&line);
            }
            let _ = Layout::Json.read(&line);
        }
    }
}
