//! `cotenant doctor`: what can be recorded on this host, what not, and the fix for each.

use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::record_args::{DoctorArgs, DoctorForm};
use crate::sampler::doctor::{Check, Verdict, examine};
use crate::sampler::nvml::Library;
use std::path::Path;

pub(crate) fn run(arguments: &DoctorArgs) -> Result<u8, CliError> {
    let library = Library::open(arguments.nvml_library.as_deref());
    let checks = examine(library.as_ref(), Path::new("/"));
    let text = match arguments.output {
        DoctorForm::Table => table(&checks),
        DoctorForm::Json => json(&checks)?,
    };
    output::result(text.as_bytes())?;
    let worst = checks.iter().map(|it| it.verdict).max().unwrap_or(Verdict::Ok);
    Ok(match worst {
        Verdict::Ok => 0,
        Verdict::Warn => 1,
        Verdict::Fail => 2,
    })
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Ok => "ok",
        Verdict::Warn => "warn",
        Verdict::Fail => "fail",
    }
}

fn table(checks: &[Check]) -> String {
    let mut text = String::new();
    for it in checks {
        text.push_str(&format!("{:<4}  {:<20}  {}\n", word(it.verdict), it.id, it.finding));
        if !it.fix.is_empty() {
            text.push_str(&format!("{:28}fix: {}\n", "", it.fix));
        }
    }
    text
}

fn json(checks: &[Check]) -> Result<String, CliError> {
    let one = |it: &Check| {
        let fix = (!it.fix.is_empty()).then_some(&it.fix);
        serde_json::json!({
            "id": it.id, "verdict": word(it.verdict), "finding": it.finding, "fix": fix,
        })
    };
    let document = serde_json::json!({
        "schema_version": 1,
        "cotenant_version": env!("CARGO_PKG_VERSION"),
        "checks": checks.iter().map(one).collect::<Vec<_>>(),
    });
    let text = serde_json::to_string_pretty(&document)
        .map_err(|it| CliError::failed("cannot write the result", &it))?;
    Ok(text + "\n")
}
