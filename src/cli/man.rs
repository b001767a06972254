//! `cotenant man`: a page of the manual for the program and for each of its commands.

use crate::cli::args::Cli;
use crate::cli::error::CliError;
use crate::cli::output;
use clap::{Args, CommandFactory};
use clap_mangen::Man;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cotenant man | man -l -                        the page of the whole program
  cotenant man ~/.local/share/man/man1           all pages, for `man cotenant-analyze`")]
pub(crate) struct ManArgs {
    /// Folder to write all pages into [default: the page of the program to standard output]
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
}

pub(crate) fn run(arguments: &ManArgs) -> Result<u8, CliError> {
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    let Some(folder) = &arguments.folder else {
        output::result(&page(&program)?.1)?;
        return Ok(0);
    };
    let commands: Vec<clap::Command> = program.get_subcommands().cloned().collect();
    for command in std::iter::once(&program).chain(&commands) {
        let (name, text) = page(command)?;
        output::file(&folder.join(name), &text)?;
    }
    output::info(&format!("wrote {} pages into {}", 1 + commands.len(), folder.display()));
    Ok(0)
}

/// Name of the file and text of one page.
fn page(command: &clap::Command) -> Result<(String, Vec<u8>), CliError> {
    let page = Man::new(command.clone()).manual("cotenant");
    let mut text = Vec::new();
    page.render(&mut text).map_err(|it| CliError::failed("cannot write the page", &it))?;
    Ok((page.get_filename(), text))
}
