//! What words mean as JSON.

use crate::report::explain::{Entry, ForeignWord, MetricFacts};
use crate::report::render::json::SCHEMA_VERSION;
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    cotenant_version: &'a str,
    words: Vec<Word<'a>>,
}

#[derive(Serialize)]
struct Word<'a> {
    name: &'a str,
    kind: &'static str,
    meaning: &'a str,
    metric: Option<Facts<'a>>,
}

#[derive(Serialize)]
struct Facts<'a> {
    label: &'static str,
    unit: &'static str,
    about: &'static str,
    reading: &'static str,
    least: f64,
    greatest: f64,
    dcgm_field: Option<u16>,
    names: Vec<Name<'a>>,
}

#[derive(Serialize)]
struct Name<'a> {
    tool: &'a str,
    name: &'a str,
    factor: f64,
}

/// The words as a document, indented, with a final newline.
///
/// Errors: none in practice; serialisation of plain data cannot fail.
pub fn explanation(words: &[&Entry], tool_version: &str) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(&Document {
        schema_version: SCHEMA_VERSION,
        cotenant_version: tool_version,
        words: words.iter().map(|it| word(it)).collect(),
    })?;
    text.push('\n');
    Ok(text)
}

fn word(entry: &Entry) -> Word<'_> {
    Word {
        name: &entry.name,
        kind: entry.kind.key(),
        meaning: &entry.meaning,
        metric: entry.metric.as_ref().map(facts),
    }
}

fn facts(it: &MetricFacts) -> Facts<'_> {
    let name = |it: &ForeignWord| Name { tool: it.tool, name: it.name, factor: it.factor };
    Facts {
        label: it.label,
        unit: it.unit,
        about: it.about,
        reading: it.reading,
        least: it.least,
        greatest: it.greatest,
        dcgm_field: it.dcgm_field,
        names: it.names.iter().map(name).collect(),
    }
}
