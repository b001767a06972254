//! What the user may type after `cotenant plan`.

use crate::cli::args::ForeignArgs;
use crate::cli::figure_args::FigureArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cotenant plan lake/ --policy policy.toml
  cotenant plan lake/ --prices prices.toml --out plan.html")]
pub(crate) struct PlanArgs {
    /// Recordings, folders of recordings (host=NAME/date=DAY too), patterns such as 'fleet/*', foreign logs
    #[arg(required = true, value_name = "RECORDING")]
    pub(crate) recordings: Vec<PathBuf>,
    /// The GPUs to plan for (TOML): model, count, price_per_hour [default: those that were recorded]
    #[arg(long, value_name = "FILE")]
    pub(crate) hardware: Option<PathBuf>,
    /// What an hour of each model costs (TOML): model, price_per_hour
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,
    /// Thresholds that differ from the defaults, and what owners say about tenants (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Form of the result [default: what the ending of --out says, or table]
    #[arg(short, long, value_name = "FORM", value_enum)]
    pub(crate) output: Option<PlanForm>,
    /// File to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Folder for every figure as PNG
    #[arg(long, value_name = "FOLDER")]
    pub(crate) png: Option<PathBuf>,
    /// End with exit code 4 when this comes up
    #[arg(long, value_name = "WORD", value_enum)]
    pub(crate) fail_on: Option<PlanAlarm>,
    /// All foreign logs are of one host and one time, instead of a host each
    #[arg(long)]
    pub(crate) one_host: bool,
    /// Write no findings beside the recordings, and read none
    #[arg(long)]
    pub(crate) no_keep: bool,
    /// Most clients of one MPS server: 48 from Volta on, 60 from CUDA 13.1 on
    #[arg(long, value_name = "N", default_value_t = 48, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) mps_clients: u32,
    /// GPUs are not dealt out by Kubernetes' device plugin, so that its limits do not count
    #[arg(long)]
    pub(crate) no_device_plugin: bool,
    #[command(flatten)]
    pub(crate) figures: FigureArgs,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
}

/// Form of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanForm {
    /// Text for people
    #[value(alias = "text")]
    Table,
    /// JSON; docs/CLI.md describes it
    Json,
    /// One line for each tenant
    Csv,
    /// One HTML file without network or script
    Html,
}

/// What counts as a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanAlarm {
    /// A GPU is shared now in a way that a verdict refuses
    RefusedNow,
    /// The stated hardware has no place for somebody
    Unplaced,
}
