//! What the user may type after `cotenant audit`.

use crate::cli::args::ForeignArgs;
use crate::recommender::audit::Severity;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cotenant audit --node smi-q.txt pods.json --policy policy.toml
  cotenant audit run --node smi-list.txt config.yaml --expect plan.yaml#half --fail-on problem")]
pub(crate) struct AuditArgs {
    /// Recording of the node, or foreign logs that belong together; may be left out
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// What the node and its cluster say: saved output of nvidia-smi, of the kubelet and of
    /// kubectl, configuration files; several files, may be repeated
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    pub(crate) node: Vec<PathBuf>,
    /// Thresholds, and what owners say about tenants (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Planned layout: a configuration of mig-parted, and the name of the layout in it
    #[arg(long, value_name = "FILE[#NAME]")]
    pub(crate) expect: Option<String>,
    /// Form of the result [default: what the ending of --out says, or table]
    #[arg(short, long, value_name = "FORM", value_enum)]
    pub(crate) output: Option<AuditForm>,
    /// File to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// End with exit code 4 when a finding weighs as much as this, or more
    #[arg(long, value_name = "WORD", value_enum)]
    pub(crate) fail_on: Option<Weight>,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
}

/// Form of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuditForm {
    /// Text for people
    #[value(alias = "text")]
    Table,
    /// JSON; docs/CLI.md describes it
    Json,
    /// One line for each finding
    Csv,
    /// One HTML file without network or script
    Html,
}

/// How much a finding weighs at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Weight {
    /// something is wrong
    Problem,
    /// something is wrong or will go wrong
    Warning,
    /// anything that was found
    Note,
}

impl Weight {
    /// The least weight that counts.
    pub(crate) fn severity(self) -> Severity {
        match self {
            Self::Problem => Severity::Problem,
            Self::Warning => Severity::Warning,
            Self::Note => Severity::Note,
        }
    }
}
