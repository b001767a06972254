//! The table of numbers that numpy and scipy computed (`fixtures/stats/make_expected.py`).

use serde_json::Value;
use std::sync::LazyLock;

static TABLE: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/fixtures/stats/expected.json"
    )))
    .expect("the table is JSON")
});

/// All cases of one kernel; a kernel without a case is a broken test.
pub(crate) fn case(kernel: &str) -> impl Iterator<Item = &'static Value> {
    let cases = TABLE[kernel].as_array().expect("the kernel has cases");
    assert!(!cases.is_empty());
    cases.iter()
}

/// A list of numbers.
pub(crate) fn numbers(case: &Value, key: &str) -> Vec<f64> {
    let list = case[key].as_array().unwrap_or_else(|| panic!("no list {key}"));
    list.iter().map(|it| it.as_f64().expect("a number")).collect()
}

/// A list of whole numbers.
pub(crate) fn indices(case: &Value, key: &str) -> Vec<usize> {
    numbers(case, key).into_iter().map(|it| it as usize).collect()
}

/// A list of lists of numbers.
pub(crate) fn rows(case: &Value, key: &str) -> Vec<Vec<f64>> {
    let list = case[key].as_array().unwrap_or_else(|| panic!("no rows {key}"));
    list.iter()
        .map(|row| {
            let row = row.as_array().expect("a row");
            row.iter().map(|it| it.as_f64().expect("a number")).collect()
        })
        .collect()
}

/// One number.
pub(crate) fn value(case: &Value, key: &str) -> f64 {
    case[key].as_f64().unwrap_or_else(|| panic!("no number {key}"))
}

/// Fails unless the number was found and lies within a relative (below one: absolute) tolerance.
#[track_caller]
pub(crate) fn close(found: Option<f64>, expected: f64, tolerance: f64) {
    let found = found.expect("a number");
    let allowed = tolerance * expected.abs().max(1.0);
    assert!((found - expected).abs() <= allowed, "found {found}, expected {expected}");
}
