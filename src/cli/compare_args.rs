//! What the user may type about a comparison of two recordings.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Two recordings, before and after a change.
#[derive(Debug, Args)]
#[command(next_help_heading = "Comparison")]
pub(crate) struct CompareArgs {
    /// Compare the input with this recording or foreign log, made after a change; or two of them, before and after
    #[arg(long, value_names = ["BEFORE", "AFTER"], num_args = 1..=2)]
    pub(crate) compare: Vec<PathBuf>,
    /// End with exit code 4 when a service became worse by 5 % or more
    #[arg(long, value_name = "WORD", value_enum, requires = "compare")]
    pub(crate) fail_on: Option<Worsening>,
}

/// What counts as a finding of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Worsening {
    /// A confirmed worsening
    Regression,
    /// A confirmed or a likely worsening
    LikelyRegression,
}
