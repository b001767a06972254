//! Parses, runs, prints an error with its remedy, and ends with the exit code that `docs/CLI.md` promises.

use std::process::ExitCode;

fn main() -> ExitCode {
    cotenant::cli::main(std::env::args_os())
}
