//! The table of numbers that numpy, scipy and statsmodels computed (`fixtures/stats/make_expected.py`).

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

/// A list of numbers with holes, which become NaN.
pub(crate) fn holed(case: &Value, key: &str) -> Vec<f64> {
    let list = case[key].as_array().unwrap_or_else(|| panic!("no list {key}"));
    list.iter().map(number_or_hole).collect()
}

/// A list of lists with holes, which become NaN.
pub(crate) fn holed_rows(case: &Value, key: &str) -> Vec<Vec<f64>> {
    let list = case[key].as_array().unwrap_or_else(|| panic!("no rows {key}"));
    let row = |it: &Value| it.as_array().expect("a row").iter().map(number_or_hole).collect();
    list.iter().map(row).collect()
}

fn number_or_hole(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// A list of yes (1), no (0) and not seen.
pub(crate) fn answers(case: &Value, key: &str) -> Vec<Option<bool>> {
    holed(case, key).into_iter().map(|it| (!it.is_nan()).then_some(it == 1.0)).collect()
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

/// Fails unless the number was found and lies within a relative tolerance, however small it is.
#[track_caller]
pub(crate) fn relatively_close(found: Option<f64>, expected: f64, tolerance: f64) {
    let found = found.expect("a number");
    let allowed = tolerance * expected.abs();
    assert!((found - expected).abs() <= allowed, "found {found:e}, expected {expected:e}");
}
