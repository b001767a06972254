//! A plan for a fleet as JSON.

use crate::fleet::plan::FleetPlan;
use crate::report::fleet::FleetInput;
use crate::report::render::json::SCHEMA_VERSION;
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    cotenant_version: &'a str,
    command: &'a str,
    notes: &'a [String],
    plan: &'a FleetPlan,
}

/// The plan as a document, indented, with a final newline.
///
/// Errors: none in practice; serialisation of plain data cannot fail.
pub fn fleet(input: &FleetInput<'_>) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(&Document {
        schema_version: SCHEMA_VERSION,
        cotenant_version: input.tool_version,
        command: input.command,
        notes: input.notes,
        plan: input.plan,
    })?;
    text.push('\n');
    Ok(text)
}
