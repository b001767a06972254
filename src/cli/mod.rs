//! The command line: the only place that prints, reads the environment and chooses paths.
//!
//! Floor 6.

mod analyze;
mod args;
mod audit;
mod audit_args;
mod command_line;
mod compare;
mod compare_args;
mod completions;
mod demo;
mod diagnose;
mod diagnose_args;
mod diagnose_forms;
mod doctor;
mod duration;
mod ending;
mod error;
mod experiment_file;
mod explain;
mod export;
mod export_args;
mod figure_args;
mod figures;
mod findings;
mod findings_args;
mod findings_mapped;
mod findings_sink;
mod findings_stream;
mod findings_table;
mod import;
mod import_prometheus;
mod input;
mod man;
mod moment;
mod node_files;
mod one_host;
mod output;
mod overwrite;
#[cfg(test)]
mod pages_tests;
mod parts;
mod plan;
mod plan_args;
mod plan_findings;
mod plan_sources;
mod plan_tables;
mod progress;
mod prometheus_args;
mod recommend;
mod recommend_args;
mod recommend_seen;
mod record;
mod record_args;
mod record_services_args;
mod report;
mod results;
mod same_input;
mod scenario;
mod secret_file;
mod serve;
mod serve_args;
mod serve_http;
mod spool;
mod tenants;
mod terminal;
mod victim;
mod watch;
mod watch_args;
mod weighed;
mod whatif;
mod whatif_args;
mod whatif_forms;
mod whatif_learn;
mod whatif_memory;
mod whatif_seen;
mod whatif_tenants;
mod whatif_ways;
mod whole_file;

use crate::cli::args::{Cli, Command};
use crate::cli::error::CliError;
use crate::cli::explain::ExplainArgs;
use clap::Parser;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the program on these arguments, the first of which is its own name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => {
            let is_help = !error.use_stderr();
            let _ = error.print();
            return ExitCode::from(if is_help { 0 } else { error::WRONG_USAGE });
        }
    };
    match run(cli, &arguments) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            output::error(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(cli: Cli, arguments: &[OsString]) -> Result<u8, CliError> {
    if let Some(threads) = cli.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build_global().map_err(|it| {
            CliError::failed("cannot start the threads", &it).try_this("ask for fewer: --threads 1")
        })?;
    }
    terminal::set(terminal::Wish { is_full: cli.full, width: cli.width.map(usize::from) });
    let command = command_line::redacted(arguments);
    let asked = match (cli.command, cli.explain) {
        (Some(_), Some(_)) => {
            return Err(CliError::usage(
                "--explain is a question of its own and runs no command",
                "leave the command out: cotenant --explain TERM",
            ));
        }
        (None, None) => {
            return Err(CliError::usage(
                "no command was given",
                "`cotenant --help` lists the commands",
            ));
        }
        (None, Some(words)) => return explain::run(&ExplainArgs::of(words), cli.full),
        (Some(command), None) => command,
    };
    match asked {
        Command::Import(it) => import::run(&it),
        Command::Analyze(it) => analyze::run(&it, &command),
        Command::Diagnose(it) => diagnose::run(&it, &command),
        Command::Whatif(it) => whatif::run(&it, &command),
        Command::Recommend(it) => recommend::run(&it, &command),
        Command::Plan(it) => plan::run(&it, &command),
        Command::Findings(it) => findings::run(&it),
        Command::Audit(it) => audit::run(&it, &command),
        Command::Report(it) => report::run(&it, &command),
        Command::Demo(it) => demo::run(&it),
        Command::Export(it) => export::run(&it, &command),
        Command::Record(it) => record::run(&it),
        Command::Serve(it) => serve::run(&it),
        Command::Doctor(it) => doctor::run(&it),
        Command::Explain(it) => explain::run(&it, cli.full),
        Command::Completions(it) => completions::run(&it),
        Command::Man(it) => man::run(&it),
    }
}
