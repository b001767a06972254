//! `cotenant completions`: what a shell needs to complete commands and options.

use crate::cli::args::Cli;
use crate::cli::error::CliError;
use crate::cli::output;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cotenant completions bash > ~/.local/share/bash-completion/completions/cotenant
  cotenant completions zsh > \"${fpath[1]}/_cotenant\"
  cotenant completions fish > ~/.config/fish/completions/cotenant.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub(crate) shell: Shell,
}

pub(crate) fn run(arguments: &CompletionsArgs) -> Result<u8, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "cotenant", &mut script);
    output::result(&script)?;
    Ok(0)
}
