//! Two recordings compared, as JSON: every field of the comparison, and the words on sharing of both sides.

use crate::analysis::compare::findings::Comparison;
use crate::recommender::suitability::Suitability;
use crate::report::compare::ComparisonInput;
use crate::report::render::json::SCHEMA_VERSION;
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    cotenant_version: &'a str,
    command: &'a str,
    #[serde(flatten)]
    comparison: &'a Comparison,
    suitability_before: &'a [Suitability],
    suitability_after: &'a [Suitability],
}

/// A comparison as a document, indented, with a final newline.
///
/// Errors: none in practice; serialisation of plain data cannot fail.
pub fn comparison(input: &ComparisonInput<'_>) -> Result<String, serde_json::Error> {
    let document = Document {
        schema_version: SCHEMA_VERSION,
        cotenant_version: input.tool_version,
        command: input.command,
        comparison: input.comparison,
        suitability_before: input.suitability_before,
        suitability_after: input.suitability_after,
    };
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    Ok(text)
}
