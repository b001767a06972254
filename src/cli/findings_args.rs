//! What the user may type after `cotenant findings`.

use crate::cli::args::ForeignArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cotenant findings lake/ --out findings.parquet
  cotenant findings --arrow --out findings.parquet
  cotenant plan findings.parquet")]
pub(crate) struct FindingsArgs {
    /// Recordings, folders of recordings (host=NAME/date=DAY too), patterns such as 'fleet/*', foreign logs
    #[arg(value_name = "RECORDING", required_unless_present = "arrow", conflicts_with = "arrow")]
    pub(crate) recordings: Vec<PathBuf>,
    /// Read rows as an Arrow IPC stream from standard input, device after device: docs/FINDINGS.md
    #[arg(long)]
    pub(crate) arrow: bool,
    /// Form of the result [default: what the ending of --out says, else arrow with --arrow and json without]
    #[arg(short, long, value_name = "FORM", value_enum)]
    pub(crate) output: Option<FindingsForm>,
    /// File to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Thresholds that differ from the defaults (TOML); a plan needs the same
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// All foreign logs are of one host and one time, instead of a host each
    #[arg(long)]
    pub(crate) one_host: bool,
    /// A GPU that says no host is called after its recording, even if no other recording is given here
    #[arg(long)]
    pub(crate) one_of_many: bool,
    /// Write no findings beside the recordings, and read none
    #[arg(long)]
    pub(crate) no_keep: bool,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
}

/// Form of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindingsForm {
    /// One JSON object in each line
    #[value(alias = "jsonl")]
    Json,
    /// A stream of Arrow, in the IPC form
    Arrow,
    /// A Parquet file, with --out
    Parquet,
}
