//! Findings as rows of one table: beside recordings, from `cotenant findings`, and as `cotenant plan` reads them.

use crate::fleet::findings::{DeviceFinding, FINDINGS_VERSION};
use crate::recommender::policy::Policy;
use crate::storage::arrow::DeviceKey;
use crate::storage::findings::{KeptColumn, KeptTable, key_of};
use serde_json::{Map, Value};

/// Column of the version; only tables of findings have it.
pub(crate) const VERSION: &str = "findings_version";
/// Column of the key of all thresholds.
pub(crate) const THRESHOLDS: &str = "thresholds";
/// Column that names what a finding was made from.
pub(crate) const RECORDING: &str = "recording";
/// Column that says why there is no finding.
pub(crate) const ERROR: &str = "error";
/// Column that holds a finding as a whole, as JSON.
pub(crate) const DETAIL: &str = "finding";

/// One row: a finding, or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FindingRow {
    /// What it was made from, and whose it is.
    pub(crate) key: DeviceKey,
    /// The finding, or a sentence without a subject.
    pub(crate) found: Result<DeviceFinding, String>,
}

impl FindingRow {
    fn finding(&self) -> Option<&DeviceFinding> {
        self.found.as_ref().ok()
    }
}

/// What tables of findings are called in their footers.
pub(crate) fn kind() -> String {
    format!("device findings {FINDINGS_VERSION}")
}

/// A key of all thresholds: findings under others are other findings.
pub(crate) fn thresholds(policy: &Policy) -> String {
    let text = serde_json::to_string(policy).unwrap_or_default();
    key_of(&[&text])
}

/// The rows as a table; docs/FINDINGS.md explains every column.
pub(crate) fn table(rows: &[FindingRow], thresholds: &str) -> KeptTable {
    let text = |of: &dyn Fn(&FindingRow) -> Option<String>| {
        KeptColumn::Text(rows.iter().map(of).collect())
    };
    let found = |it: &FindingRow| it.finding().cloned();
    let number = |of: &dyn Fn(&DeviceFinding) -> Option<f64>| {
        KeptColumn::Number(rows.iter().map(|it| it.finding().and_then(of)).collect())
    };
    let whole = |of: &dyn Fn(&DeviceFinding) -> Option<i64>| {
        KeptColumn::Whole(rows.iter().map(|it| it.finding().and_then(of)).collect())
    };
    let host = |it: &FindingRow| match it.finding() {
        Some(finding) => finding.host.clone(),
        None => it.key.host.clone(),
    };
    let gpu = |it: &FindingRow| match it.finding() {
        Some(finding) => Some(finding.gpu.clone()),
        None => it.key.gpu.clone(),
    };
    let version = KeptColumn::Whole(vec![Some(i64::from(FINDINGS_VERSION)); rows.len()]);
    let detail = |it: &FindingRow| found(it).and_then(|it| serde_json::to_string(&it).ok());
    let columns: [(&str, KeptColumn); 18] = [
        (VERSION, version),
        ("cotenant_version", text(&|_| Some(env!("CARGO_PKG_VERSION").to_owned()))),
        (THRESHOLDS, text(&|_| Some(thresholds.to_owned()))),
        (RECORDING, text(&|it| it.key.recording.clone())),
        ("host", text(&host)),
        ("gpu", text(&gpu)),
        ("window", text(&|it| it.key.window.clone())),
        ("index", whole(&|it| it.index.map(i64::from))),
        ("model", text(&|it| it.finding()?.model.clone())),
        ("total_mib", number(&|it| it.total_mib)),
        ("from_us", whole(&|it| Some(it.from_us))),
        ("until_us", whole(&|it| Some(it.until_us))),
        ("seen_s", number(&|it| Some(it.seen_s))),
        ("interval_s", number(&|it| it.interval_s)),
        ("busy_mean_ratio", number(&|it| it.busy_mean_ratio)),
        ("tenants", whole(&|it| i64::try_from(it.tenants.len()).ok())),
        (ERROR, text(&|it| it.found.as_ref().err().cloned())),
        (DETAIL, text(&detail)),
    ];
    let columns = columns.into_iter().map(|it| (it.0.to_owned(), it.1)).collect();
    KeptTable { kind: kind(), columns }
}

/// The rows as JSON, one object in each line.
pub(crate) fn lines(table: &KeptTable) -> String {
    let height = table.text(THRESHOLDS).len();
    let mut lines = String::new();
    for row in 0..height {
        let cell = |(name, column): &(String, KeptColumn)| {
            let value = match column {
                KeptColumn::Text(it) if name == DETAIL => {
                    let text = it[row].as_deref().unwrap_or("null");
                    serde_json::from_str(text).unwrap_or_default()
                }
                KeptColumn::Text(it) => it[row].clone().into(),
                KeptColumn::Number(it) => it[row].into(),
                KeptColumn::Whole(it) => it[row].into(),
            };
            (name.clone(), value)
        };
        let object: Map<String, Value> = table.columns.iter().map(cell).collect();
        lines.push_str(&Value::Object(object).to_string());
        lines.push('\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_a_finding_has_a_row_that_says_why() {
        let key = DeviceKey {
            recording: Some("a".to_owned()),
            host: None,
            gpu: Some("g".to_owned()),
            window: None,
        };
        let row = FindingRow { key, found: Err("holds no sample".to_owned()) };
        let table = table(&[row], "k");
        assert_eq!(table.text(ERROR), [Some("holds no sample".to_owned())]);
        assert_eq!(table.text(DETAIL), [None]);
        let line: Value = serde_json::from_str(&lines(&table)).unwrap();
        assert_eq!(line["gpu"], "g");
        assert_eq!(line["finding"], Value::Null);
        assert_eq!(line["findings_version"], i64::from(FINDINGS_VERSION));
    }
}
