//! How GPUs should be shared as JSON.

use crate::recommender::configuration::Configuration;
use crate::recommender::together::Together;
use crate::recommender::verdict::Verdict;
use crate::report::recommend::Recommendation;
use crate::report::render::json::SCHEMA_VERSION;
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    cotenant_version: &'a str,
    command: &'a str,
    headline: String,
    verdicts: &'a [Verdict],
    together: Option<&'a Together>,
    configuration: &'a Configuration,
    notes: &'a [String],
}

/// The answer as a document, indented, with a final newline.
///
/// Errors: none in practice; serialisation of plain data cannot fail.
pub fn recommendation(input: &Recommendation<'_>) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(&Document {
        schema_version: SCHEMA_VERSION,
        cotenant_version: input.tool_version,
        command: input.command,
        headline: input.headline(),
        verdicts: input.verdicts,
        together: input.together,
        configuration: input.configuration,
        notes: input.notes,
    })?;
    text.push('\n');
    Ok(text)
}
