//! What the user may type after `cotenant recommend`.

use crate::cli::args::QuestionArgs;
use crate::cli::figure_args::FigureArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cotenant recommend run --policy tenants.toml
  cotenant recommend run --config to-apply       also the files that make it so")]
pub(crate) struct RecommendArgs {
    /// Form of the result [default: what the ending of --out says, or table]
    #[arg(short, long, value_name = "FORM", value_enum)]
    pub(crate) output: Option<RecommendForm>,
    /// File to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// What the node says of itself: nvidia-smi -q, mig -lgi, mig -lgip, mig -lgipp; several files, may be repeated
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) node: Vec<PathBuf>,
    /// Folder for the files to apply: scripts and YAML
    #[arg(long, value_name = "FOLDER")]
    pub(crate) config: Option<PathBuf>,
    /// End with exit code 4 when a GPU gets this, or worse
    #[arg(long, value_name = "WORD", value_enum)]
    pub(crate) fail_on: Option<Alarm>,
    /// Most clients of one MPS server: 48 from Volta on, 60 from CUDA 13.1 on
    #[arg(long, value_name = "N", default_value_t = 48, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) mps_clients: u32,
    /// GPUs are not dealt out by Kubernetes' device plugin, so that its limits do not count
    #[arg(long)]
    pub(crate) no_device_plugin: bool,
    #[command(flatten)]
    pub(crate) question: QuestionArgs,
    #[command(flatten)]
    pub(crate) figures: FigureArgs,
}

/// Form of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecommendForm {
    /// Text for people
    #[value(alias = "text")]
    Table,
    /// JSON; docs/CLI.md describes it
    Json,
    /// The configuration to apply, as far as it is YAML
    Yaml,
    /// One HTML file without network or script
    Html,
}

/// What counts as a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Alarm {
    /// A GPU should be shared otherwise than it is, or cannot be decided about
    Change,
    /// A GPU cannot be decided about
    NotEnoughEvidence,
}
