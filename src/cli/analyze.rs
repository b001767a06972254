//! `cotenant analyze`: burst shapes, suitability and blind spots, as text, JSON or CSV.

use crate::analysis::findings::Scope;
use crate::cli::args::{AnalyzeArgs, FailOn, Form};
use crate::cli::error::{CliError, FINDINGS, NOT_ENOUGH_DATA};
use crate::cli::output;
use crate::cli::results::{Results, answer, title_of};
use crate::recommender::suitability::{SharingWord, Suitability};
use crate::report::render;

pub(crate) fn run(arguments: &AnalyzeArgs, command: &str) -> Result<u8, CliError> {
    let results = answer(&arguments.question)?;
    let title = title_of(&arguments.question.inputs);
    let text = match arguments.output {
        Form::Table => {
            let report = results.report(&title, command);
            render::text::text(&report, output::width(), output::has_colour())
        }
        Form::Json => json(&results, command)?,
        Form::Csv => render::csv::shapes(&results.findings, &results.suitability)
            .map_err(|it| CliError::failed("cannot write the table", &it))?,
    };
    output::result(text.as_bytes())?;
    Ok(exit_code(&results, arguments.fail_on))
}

fn json(results: &Results, command: &str) -> Result<String, CliError> {
    render::json::document(&render::json::JsonInput {
        outline: &results.outline,
        findings: &results.findings,
        suitability: &results.suitability,
        policy: &results.policy,
        tool_version: env!("CARGO_PKG_VERSION"),
        command,
    })
    .map_err(|it| CliError::failed("cannot write the result as JSON", &it))
}

/// 4 when a whole device or tenant is judged at or above the given word; 3 when nothing could be judged.
pub(crate) fn exit_code(results: &Results, fail_on: Option<FailOn>) -> u8 {
    let words = || results.suitability.iter().filter(|it| it.scope == Scope::Whole);
    let is_finding = |it: &Suitability| match fail_on {
        None => false,
        Some(FailOn::CannotTell) => it.word == SharingWord::CannotTell,
        Some(FailOn::DoNotShare) => it.word == SharingWord::DoNotShare,
        Some(FailOn::SharesWithCare) => {
            matches!(it.word, SharingWord::SharesWithCare | SharingWord::DoNotShare)
        }
    };
    if words().any(is_finding) {
        FINDINGS
    } else if results.suitability.iter().all(|it| it.word == SharingWord::CannotTell) {
        NOT_ENOUGH_DATA
    } else {
        0
    }
}
