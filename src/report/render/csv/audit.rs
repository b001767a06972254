//! An audit as CSV: one line for each finding.

use crate::report::audit::AuditView;
use crate::report::render::csv::{guarded, text};
use crate::report::render::json::audit::rows;

const HEADER: [&str; 7] =
    ["check", "severity", "about_kind", "about", "title", "evidence", "remedy"];

/// One line for each finding, the weightiest first.
///
/// Errors: none in practice; the table is built in memory.
pub fn audit(view: &AuditView<'_>) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(HEADER)?;
    for it in rows(view) {
        writer.write_record([
            it.check.to_owned(),
            it.severity.key().to_owned(),
            it.about_kind.to_owned(),
            guarded(it.about),
            guarded(it.title),
            guarded(&it.evidence.join("; ")),
            guarded(it.remedy),
        ])?;
    }
    text(writer)
}
