//! What the user may type after `cotenant diagnose`.

use crate::cli::args::{ForeignArgs, NeighbourArgs};
use crate::cli::duration::{interval, seconds};
use crate::cli::figure_args::FigureArgs;
use crate::cli::moment::Moment;
use crate::cli::watch_args::WatchArgs;
use crate::domain::time::SampleInterval;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cotenant diagnose run --victim chat                         who slowed chat, over everything
  cotenant diagnose run --victim chat --around 03:10          in the ten minutes around that time
  cotenant diagnose run --victim chat --watch                 over and over, in the last ten minutes
  cotenant diagnose run --victim chat --out incident.html     as a page")]
pub(crate) struct DiagnoseArgs {
    /// Recording, or foreign logs that belong together; - is standard input
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// The tenant that was slow; GPU/NAME where several have the name
    #[arg(long, value_name = "TENANT")]
    pub(crate) victim: String,
    /// Its metric: a key such as latency_p99_s, or p99, p50, mean, ttft, throughput, tokens,
    /// iteration [default: the one that says most]
    #[arg(long, value_name = "METRIC")]
    pub(crate) metric: Option<String>,
    /// Start of the window: a time, a time of day such as 03:10, an offset from the first sample such as
    /// +5m, or from the end such as -2h
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) from: Option<Moment>,
    /// End of the window
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) to: Option<Moment>,
    /// The last so much before the end, or before --to, such as 10m or 7d, instead of --from
    #[arg(long, value_name = "DURATION", conflicts_with = "from", value_parser = interval)]
    pub(crate) last: Option<SampleInterval>,
    /// Middle of the window, instead of its ends
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, conflicts_with_all = ["from", "to", "last"])]
    pub(crate) around: Option<Moment>,
    /// Length of the window around that time
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = seconds)]
    pub(crate) span: f64,
    /// Form of the result [default: what the ending of --out says, or text]
    #[arg(short, long, value_name = "FORM", value_enum)]
    pub(crate) output: Option<DiagnosisForm>,
    /// File to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Seed of everything that is drawn by lot
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// End with exit code 4 when a neighbour did it, as surely as this
    #[arg(long, value_name = "WORD", value_enum)]
    pub(crate) fail_on: Option<Guilt>,
    #[command(flatten)]
    pub(crate) neighbours: NeighbourArgs,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
    #[command(flatten)]
    pub(crate) figures: FigureArgs,
    #[command(flatten)]
    pub(crate) experiment: ExperimentArgs,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
}

/// The experiment that would prove it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Experiment")]
pub(crate) struct ExperimentArgs {
    /// Evaluate an experiment: a CSV of its blocks with from,until,suspect_runs
    #[arg(long, value_name = "FILE")]
    pub(crate) experiment: Option<PathBuf>,
    /// Who paused in it [default: what the file says]
    #[arg(long, value_name = "TENANT", requires = "experiment")]
    pub(crate) suspect: Option<String>,
    /// Time at the start of each block that does not count [default: what the file says, or a
    /// tenth of the shortest block]
    #[arg(long, value_name = "DURATION", requires = "experiment", value_parser = seconds)]
    pub(crate) settle: Option<f64>,
    /// Write the planned blocks as such a CSV
    #[arg(long, value_name = "FILE", requires = "starting", conflicts_with = "experiment")]
    pub(crate) plan_experiment: Option<PathBuf>,
    /// When the first planned block begins
    #[arg(long, value_name = "TIME", requires = "plan_experiment")]
    pub(crate) starting: Option<Moment>,
}

/// Form of a diagnosis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiagnosisForm {
    /// Text for people
    #[value(alias = "table")]
    Text,
    /// JSON; docs/CLI.md describes it
    Json,
    /// One HTML file without network or script
    Html,
    /// The picture, two pixels for each point
    Png,
    /// The picture as vectors
    Svg,
}

/// How sure an accusation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Guilt {
    /// confirmed, or proven by an experiment
    Confirmed,
    /// confirmed or likely
    Likely,
}
