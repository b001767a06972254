//! Asks the program as a user would.

use serde_json::Value;
use std::process::Command;

/// What the program answers as JSON, or the last line of what it complains about.
pub(crate) fn ask(arguments: &[String]) -> Result<Value, String> {
    let output = Command::new(env!("CARGO_BIN_EXE_cotenant"))
        .args(arguments)
        .args(["-o", "json"])
        .env("NO_COLOR", "1")
        .output()
        .map_err(|it| it.to_string())?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        said.lines().find(|it| it.starts_with("error")).unwrap_or("no answer").to_owned()
    })
}

/// A number of an answer.
pub(crate) fn number(value: &Value, pointer: &str) -> Option<f64> {
    value.pointer(pointer).and_then(Value::as_f64)
}

/// A word of an answer; a dash where there is none.
pub(crate) fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("—")
}

/// A number with so many digits; a dash where there is none.
pub(crate) fn digits(value: Option<f64>, count: usize) -> String {
    value.map_or("—".to_owned(), |it| format!("{it:.count$}"))
}
