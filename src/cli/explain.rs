//! `cotenant explain`: what a word of a result means.

use crate::cli::args::Cli;
use crate::cli::error::CliError;
use crate::cli::{output, terminal};
use crate::report::explain::{Entry, entries, find, list, nearest, report};
use crate::report::render::json;
use clap::{Args, CommandFactory, ValueEnum};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cotenant explain duty cycle
  cotenant explain sm_active_ratio
  cotenant explain DCGM_FI_DEV_FB_USED           a metric by its name in another tool
  cotenant explain --full                        every word with its meaning")]
pub(crate) struct ExplainArgs {
    /// The word: a term, a verdict, a look-alike, a blind spot, a word of --fail-on, or a metric by
    /// its key, its label or its name in another tool [default: list them all]
    #[arg(value_name = "TERM|METRIC")]
    pub(crate) words: Vec<String>,
    /// Form of the result
    #[arg(short, long, value_name = "FORM", value_enum, default_value_t = ExplainForm::Table)]
    pub(crate) output: ExplainForm,
}

/// Form of an explanation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExplainForm {
    /// Text for people
    #[value(alias = "text")]
    Table,
    /// JSON; docs/CLI.md describes it
    Json,
}

impl ExplainArgs {
    /// The question of `cotenant --explain WORDS`.
    pub(crate) fn of(words: Vec<String>) -> Self {
        Self { words, output: ExplainForm::Table }
    }
}

pub(crate) fn run(arguments: &ExplainArgs, is_full: bool) -> Result<u8, CliError> {
    let all = entries(fail_on_words());
    let asked = arguments.words.join(" ");
    let is_list = asked.trim().is_empty();
    let found = if is_list { all.iter().collect() } else { find(&all, &asked) };
    if found.is_empty() {
        let near = nearest(&all, &asked);
        return Err(CliError::usage(
            format!("no term or metric is called `{asked}`"),
            format!("nearest: {}; `cotenant explain` lists all", near.join(", ")),
        ));
    }
    let text = match arguments.output {
        ExplainForm::Table if is_list => terminal::whole(&list(&all, is_full)),
        ExplainForm::Table => terminal::whole(&report(&found)),
        ExplainForm::Json => json::explanation(&found, env!("CARGO_PKG_VERSION"))
            .map_err(|it| CliError::failed("cannot write the result as JSON", &it))?,
    };
    output::result(text.as_bytes())?;
    Ok(0)
}

/// Words of `--fail-on` of every command, as its help says them.
fn fail_on_words() -> Vec<Entry> {
    let mut words = Vec::new();
    for command in Cli::command().get_subcommands() {
        let options = command.get_arguments().filter(|it| it.get_long() == Some("fail-on"));
        for value in options.flat_map(|it| it.get_possible_values()) {
            let meaning = value.get_help().map(ToString::to_string).unwrap_or_default();
            words.push(Entry::fail_on(value.get_name(), command.get_name(), &meaning));
        }
    }
    words
}
