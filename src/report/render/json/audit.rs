//! An audit as JSON.

use crate::recommender::audit::{AuditFinding, CheckOutcome, Seat, Severity};
use crate::report::audit::AuditView;
use crate::report::render::json::SCHEMA_VERSION;
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    cotenant_version: &'a str,
    command: &'a str,
    headline: String,
    problems: usize,
    warnings: usize,
    notes: usize,
    not_checked: usize,
    checks_not_made: usize,
    findings: Vec<FindingRow<'a>>,
    checks: &'a [CheckOutcome],
    seats: &'a [Seat],
    files: Vec<File<'a>>,
    recording: Option<&'a str>,
    plan: Option<&'a str>,
}

/// One finding, flat.
#[derive(Serialize)]
pub(in crate::report::render) struct FindingRow<'a> {
    pub(in crate::report::render) check: &'a str,
    pub(in crate::report::render) severity: Severity,
    pub(in crate::report::render) about_kind: &'static str,
    pub(in crate::report::render) about: &'a str,
    pub(in crate::report::render) title: &'a str,
    pub(in crate::report::render) evidence: &'a [String],
    pub(in crate::report::render) remedy: &'a str,
}

#[derive(Serialize)]
struct File<'a> {
    file: &'a str,
    file_kind: &'a str,
}

/// Every finding, the weightiest first.
pub(in crate::report::render) fn rows<'a>(view: &AuditView<'a>) -> Vec<FindingRow<'a>> {
    let row = |it: &'a AuditFinding| FindingRow {
        check: it.check,
        severity: it.severity,
        about_kind: it.about.kind.key(),
        about: &it.about.name,
        title: &it.title,
        evidence: &it.evidence,
        remedy: &it.remedy,
    };
    view.audit.findings.iter().map(row).collect()
}

/// The document, indented, with a final newline.
///
/// Errors: none in practice; serialisation of plain data cannot fail.
pub fn audit(view: &AuditView<'_>) -> Result<String, serde_json::Error> {
    let document = Document {
        schema_version: SCHEMA_VERSION,
        cotenant_version: view.tool_version,
        command: view.command,
        headline: view.headline(),
        problems: view.audit.count(Severity::Problem),
        warnings: view.audit.count(Severity::Warning),
        notes: view.audit.count(Severity::Note),
        not_checked: view.audit.count(Severity::NotChecked),
        checks_not_made: view.audit.not_made(),
        findings: rows(view),
        checks: &view.audit.checks,
        seats: &view.audit.seats,
        files: view.files.iter().map(|it| File { file: &it.name, file_kind: it.kind }).collect(),
        recording: view.recording,
        plan: view.plan,
    };
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    Ok(text)
}
