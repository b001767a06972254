//! A diagnosis, and the result of an experiment, as JSON: every field of their types.

use crate::analysis::diagnosis_findings::{Diagnosis, ExperimentResult};
use crate::report::render::json::SCHEMA_VERSION;
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a, T> {
    schema_version: u32,
    cotenant_version: &'a str,
    command: &'a str,
    #[serde(flatten)]
    result: &'a T,
}

/// A diagnosis as a document, indented, with a final newline.
///
/// Errors: none in practice; serialisation of plain data cannot fail.
pub fn diagnosis(
    result: &Diagnosis,
    tool_version: &str,
    command: &str,
) -> Result<String, serde_json::Error> {
    document(result, tool_version, command)
}

/// The result of an experiment as a document, indented, with a final newline.
///
/// Errors: none in practice; serialisation of plain data cannot fail.
pub fn experiment(
    result: &ExperimentResult,
    tool_version: &str,
    command: &str,
) -> Result<String, serde_json::Error> {
    document(result, tool_version, command)
}

fn document<T: Serialize>(
    result: &T,
    cotenant_version: &str,
    command: &str,
) -> Result<String, serde_json::Error> {
    let document = Document { schema_version: SCHEMA_VERSION, cotenant_version, command, result };
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    Ok(text)
}
