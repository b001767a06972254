//! What `cotenant export` may be given.

use crate::cli::args::{ForeignArgs, NeighbourArgs};
use crate::cli::duration::interval;
use crate::cli::moment::Moment;
use crate::domain::time::SampleInterval;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Values of one counter, and bursts of one track, that a timeline keeps unless it is told otherwise.
const USUAL_MOST: usize = 10_000;
/// Fewer would not be a picture.
const LEAST_MOST: usize = 100;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cotenant export run --to trace -o run.json.gz  open it in https://ui.perfetto.dev
  cotenant export run --to csv --last 1h -o run.csv
  cotenant export run --to openmetrics -o run.om")]
pub(crate) struct ExportArgs {
    /// Recording, or foreign logs that belong together; - is standard input
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Form to write
    #[arg(long, value_name = "FORM", value_enum)]
    pub(crate) to: ExportForm,
    /// File to write, packed where its name ends in .gz [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Only from here on: a time, an offset from the first sample such as 90s, or from the end such as -2h
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) from: Option<Moment>,
    /// Only before this: a time, or an offset as for --from
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) until: Option<Moment>,
    /// Only the last so much of the recording, for example 10m or 7d
    #[arg(long, value_name = "DURATION", value_parser = interval, conflicts_with_all = ["from", "until"])]
    pub(crate) last: Option<SampleInterval>,
    /// In a timeline, values of one counter and bursts of one track at most, or all
    #[arg(long, value_name = "N|all", value_parser = most_samples, default_value = "10000")]
    pub(crate) most_samples: Most,
    /// In a timeline, thresholds of its words that differ from the defaults (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) neighbours: NeighbourArgs,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
}

/// A greatest number; `None` for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Most(pub(crate) Option<usize>);

impl Most {
    /// Whether the user asked for another number than usual.
    pub(crate) fn is_usual(self) -> bool {
        self.0 == Some(USUAL_MOST)
    }
}

/// Form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportForm {
    /// A timeline for Perfetto and chrome://tracing, with bursts, counters and findings (JSON)
    #[value(alias = "perfetto")]
    Trace,
    /// Samples with their stamps as OpenMetrics, for a Prometheus to take in
    Openmetrics,
    /// One line for each subject and stamp, one column for each metric
    Csv,
}

impl ExportForm {
    /// What the user typed.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Openmetrics => "openmetrics",
            Self::Csv => "csv",
        }
    }
}

fn most_samples(text: &str) -> Result<Most, String> {
    if text == "all" {
        return Ok(Most(None));
    }
    let number = text.parse().ok().filter(|it| *it >= LEAST_MOST);
    number
        .map(|it| Most(Some(it)))
        .ok_or_else(|| format!("`{text}` is neither a number of at least {LEAST_MOST} nor `all`"))
}
