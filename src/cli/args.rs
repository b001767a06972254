//! What the user may type; types are parsed here and no clap type travels further.

use crate::cli::record_args::{DoctorArgs, RecordArgs};
use crate::domain::time::{SampleInterval, Timestamp};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// More threads than any host of GPUs has cores.
const MOST_THREADS: usize = 1024;

/// Says from a recording of a shared GPU who can share it, and shows the shape that says so.
#[derive(Debug, Parser)]
#[command(name = "cotenant", version, max_term_width = 100, propagate_version = true)]
#[command(
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not enough data, 4 findings at or above --fail-on, 5 no GPU or driver"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Threads for the analysis; results do not depend on it [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a synthetic recording with a known truth, and its full report: a first look
    Demo(DemoArgs),
    /// What can be recorded on this host, what not, and the fix for each
    Doctor(DoctorArgs),
    /// Record the GPUs of this host until interrupted
    Record(RecordArgs),
    /// Turn foreign logs into one recording
    Import(ImportArgs),
    /// Burst shapes, suitability for sharing and blind spots of a recording or a foreign log
    #[command(alias = "analyse")]
    Analyze(AnalyzeArgs),
    /// One HTML file, and pictures, of a recording or a foreign log
    Report(ReportArgs),
    /// A recording in another form
    Export(ExportArgs),
}

/// How to read foreign logs: what the files themselves cannot tell.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reading foreign logs")]
pub(crate) struct ForeignArgs {
    /// Format of the files, instead of recognising it by content
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Mapping file (TOML) or preset for CSV and TSV files of any layout
    #[arg(long, value_name = "FILE|PRESET", conflicts_with = "format")]
    pub(crate) mapping: Option<String>,
    /// Zone of stamps that carry none, for example Europe/Berlin [default: UTC, with a warning]
    #[arg(long, value_name = "ZONE", value_parser = time_zone)]
    pub(crate) timezone: Option<jiff::tz::TimeZone>,
    /// Stamp of the first sample, for files without stamps, for example 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = timestamp)]
    pub(crate) start: Option<Timestamp>,
    /// Time between samples, for files without stamps, for example 1s
    #[arg(long, value_name = "DURATION", value_parser = interval)]
    pub(crate) interval: Option<SampleInterval>,
    /// Fields of a file without header, as they were given to nvidia-smi
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) fields: Option<Vec<String>>,
    /// The GPU that rows without any GPU column are about
    #[arg(long, value_name = "NAME")]
    pub(crate) gpu: Option<String>,
}

/// What to look at, and how.
#[derive(Debug, Args)]
pub(crate) struct QuestionArgs {
    /// Recording, or foreign logs that belong together; - is standard input
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Only from here on: a time, or an offset from the first sample such as 90s
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<Moment>,
    /// Only before this: a time, or an offset from the first sample
    #[arg(long, value_name = "TIME")]
    pub(crate) to: Option<Moment>,
    /// A window to look at on its own, as FROM..TO; may be repeated
    #[arg(long, value_name = "FROM..TO", value_parser = window)]
    pub(crate) window: Vec<(Moment, Moment)>,
    /// Only phases of this label, besides the whole
    #[arg(long, value_name = "LABEL")]
    pub(crate) phase: Option<String>,
    /// Thresholds that differ from the defaults (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Foreign logs that belong together; also .gz and .zst; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Recording to write, a folder
    #[arg(short, long, value_name = "FOLDER", default_value = "recording")]
    pub(crate) output: PathBuf,
    /// Replace the recording that stands there
    #[arg(long, conflicts_with = "append")]
    pub(crate) force: bool,
    /// Add to the recording that stands there
    #[arg(long)]
    pub(crate) append: bool,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AnalyzeArgs {
    #[command(flatten)]
    pub(crate) question: QuestionArgs,
    /// Form of the result
    #[arg(short, long, value_name = "FORM", value_enum, default_value_t = Form::Table)]
    pub(crate) output: Form,
    /// End with exit code 4 when a GPU, or a load on one, gets this word or a worse one
    #[arg(long, value_name = "WORD", value_enum)]
    pub(crate) fail_on: Option<FailOn>,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pub(crate) question: QuestionArgs,
    /// Report to write
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub(crate) output: PathBuf,
    /// Also write every figure as PNG into this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) png: Option<PathBuf>,
    /// Heading of the report [default: the name of the input]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Folder for the recording, its truth, the report and the pictures
    #[arg(short, long, value_name = "FOLDER", default_value = "cotenant-demo")]
    pub(crate) output: PathBuf,
    /// Scenario to play; --list names them
    #[arg(long, value_name = "NAME|FILE", default_value = "demo")]
    pub(crate) scenario: String,
    /// Name the shipped scenarios and end
    #[arg(long)]
    pub(crate) list: bool,
    /// Write only the recording and its truth, no report
    #[arg(long)]
    pub(crate) recording_only: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Recording, or foreign logs that belong together; - is standard input
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Form to write
    #[arg(long, value_name = "FORM", value_enum)]
    pub(crate) to: ExportForm,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
}

/// Form of a result on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Text for people, 80 columns wide at most
    Table,
    /// JSON; docs/CLI.md describes it
    Json,
    /// One line for each subject and part of the time
    Csv,
}

/// Form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportForm {
    /// One line for each subject and stamp, one column for each metric
    Csv,
}

/// A word from which a run counts as failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// "shares with care" or "do not share"
    SharesWithCare,
    /// "do not share"
    DoNotShare,
    /// "cannot tell"
    CannotTell,
}

/// A time that the user named, or an offset from the first sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    At(Timestamp),
    AfterStartMicros(i64),
}

impl std::str::FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(at) = timestamp(text) {
            return Ok(Self::At(at));
        }
        let offset: jiff::SignedDuration = text.trim_start_matches('+').parse().map_err(|_| {
            format!("`{text}` is neither a time like 2026-01-31T12:00:00Z nor an offset like 90s")
        })?;
        let micros = i64::try_from(offset.as_micros()).map_err(|_| "too far away".to_owned())?;
        Ok(Self::AfterStartMicros(micros))
    }
}

fn timestamp(text: &str) -> Result<Timestamp, String> {
    let instant: jiff::Timestamp = text
        .parse()
        .map_err(|_| format!("`{text}` is no time with a zone, like 2026-01-31T12:00:00Z"))?;
    Ok(Timestamp::from_micros(instant.as_microsecond()))
}

pub(crate) fn interval(text: &str) -> Result<SampleInterval, String> {
    let wrong = || format!("`{text}` is no length of time like 100ms or 1s");
    let duration: jiff::SignedDuration = text.parse().map_err(|_| wrong())?;
    u64::try_from(duration.as_micros()).ok().and_then(SampleInterval::from_micros).ok_or_else(wrong)
}

fn time_zone(text: &str) -> Result<jiff::tz::TimeZone, String> {
    jiff::tz::TimeZone::get(text)
        .map_err(|_| format!("`{text}` is no time zone like Europe/Berlin or UTC"))
}

fn threads(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|it| (1..=MOST_THREADS).contains(it))
        .ok_or_else(|| format!("`{text}` is no number of threads from 1 to {MOST_THREADS}"))
}

fn window(text: &str) -> Result<(Moment, Moment), String> {
    let (from, to) = text.split_once("..").ok_or("a window is FROM..TO, for example 60s..120s")?;
    Ok((from.parse()?, to.parse()?))
}
