//! `cotenant analyze`: burst shapes, suitability, who slows whom and blind spots, as text, JSON or CSV.

use crate::analysis::findings::Scope;
use crate::analysis::influence::findings::InfluenceVerdict;
use crate::cli::args::{AnalyzeArgs, CsvTable, FailOn, Form};
use crate::cli::error::{CliError, FINDINGS, NOT_ENOUGH_DATA};
use crate::cli::node_files::policy;
use crate::cli::results::{
    Results, answer, answer_about, answer_and_weigh, first_name, question, title_of,
};
use crate::cli::{output, terminal, watch};
use crate::domain::time::SampleInterval;
use crate::recommender::suitability::SharingWord;
use crate::report::render;

pub(crate) fn run(arguments: &AnalyzeArgs, command: &str) -> Result<u8, CliError> {
    if arguments.table.is_some() && arguments.output != Form::Csv {
        return Err(CliError::usage(
            "--table chooses a table of the CSV",
            "add -o csv; the other forms hold everything",
        ));
    }
    if let Some(every) = arguments.watch.watch {
        return watched(arguments, every, command);
    }
    let title = title_of(&arguments.question.inputs);
    let (results, text) = match arguments.output {
        Form::Table => {
            let (results, weighed) = answer_and_weigh(&arguments.question)?;
            let text = terminal::in_brief(&results.report(&weighed, &title, command));
            (results, text)
        }
        Form::Json => told(answer(&arguments.question)?, |it| json(it, command))?,
        Form::Csv => {
            let table = arguments.table.unwrap_or(CsvTable::Shapes);
            told(answer(&arguments.question)?, |it| csv(it, table))?
        }
    };
    output::result(text.as_bytes())?;
    Ok(exit_code(&results, arguments.fail_on))
}

fn told(
    results: Results,
    tell: impl Fn(&Results) -> Result<String, CliError>,
) -> Result<(Results, String), CliError> {
    let text = tell(&results)?;
    Ok((results, text))
}

/// The last of a recording under way, again and again.
fn watched(arguments: &AnalyzeArgs, every: SampleInterval, command: &str) -> Result<u8, CliError> {
    if arguments.output != Form::Table || arguments.fail_on.is_some() {
        return Err(CliError::usage(
            "--watch shows text to people and has no other form and no exit code of findings",
            "leave out -o and --fail-on, or leave out --watch",
        ));
    }
    let mut asked = arguments.question.clone();
    if asked.from.is_none() && asked.last.is_none() {
        asked.last = watch::usual();
    }
    let (policy, said) = policy(asked.policy.as_deref())?;
    let file = first_name(&asked.inputs);
    let title = title_of(&asked.inputs);
    watch::watch(&asked.inputs, every, |recording| {
        let question = question(&asked, recording.outline())?;
        let told = (policy.clone(), &said);
        let (results, weighed) = answer_about(recording, &question, told, &file)?;
        Ok(terminal::in_brief(&results.report(&weighed, &title, command)))
    })
}

fn csv(results: &Results, table: CsvTable) -> Result<String, CliError> {
    let written = match table {
        CsvTable::Shapes => render::csv::shapes(&results.findings, &results.suitability),
        CsvTable::Influences => render::csv::influences(&results.findings),
    };
    written.map_err(|it| CliError::failed("cannot write the table", &it))
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

/// 4 when a whole device or tenant is judged at or above the given word, or an influence is as
/// sure as it; 3 when nothing could be judged.
pub(crate) fn exit_code(results: &Results, fail_on: Option<FailOn>) -> u8 {
    let words = || results.suitability.iter().filter(|it| it.scope == Scope::Whole);
    let has_word = |is_meant: fn(SharingWord) -> bool| words().any(|it| is_meant(it.word));
    let has_influence = |at_least: InfluenceVerdict| influences(results).any(|it| it <= at_least);
    let is_finding = match fail_on {
        None => false,
        Some(FailOn::CannotTell) => has_word(|it| it == SharingWord::CannotTell),
        Some(FailOn::DoNotShare) => has_word(|it| it == SharingWord::DoNotShare),
        Some(FailOn::SharesWithCare) => {
            has_word(|it| matches!(it, SharingWord::SharesWithCare | SharingWord::DoNotShare))
        }
        Some(FailOn::Confirmed) => has_influence(InfluenceVerdict::Through),
        Some(FailOn::Likely) => has_influence(InfluenceVerdict::Likely),
    };
    let is_judged = results.suitability.iter().any(|it| it.word != SharingWord::CannotTell);
    let is_tested = influences(results).any(|it| it != InfluenceVerdict::CannotTell);
    match (is_finding, is_judged || is_tested) {
        (true, _) => FINDINGS,
        (false, true) => 0,
        (false, false) => NOT_ENOUGH_DATA,
    }
}

/// What was shown about every pair of tenants.
fn influences(results: &Results) -> impl Iterator<Item = InfluenceVerdict> {
    let placed = results.findings.devices.iter().flat_map(|it| &it.influences.pairs);
    placed.chain(&results.findings.unplaced_influences.pairs).map(|it| it.verdict)
}
