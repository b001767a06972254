//! What the user may type; types are parsed here and no clap type travels further.

use crate::cli::audit_args::AuditArgs;
use crate::cli::compare_args::CompareArgs;
use crate::cli::completions::CompletionsArgs;
use crate::cli::diagnose_args::DiagnoseArgs;
use crate::cli::duration::interval;
use crate::cli::explain::ExplainArgs;
use crate::cli::export_args::ExportArgs;
use crate::cli::figure_args::FigureArgs;
use crate::cli::findings_args::FindingsArgs;
use crate::cli::man::ManArgs;
use crate::cli::moment::{Moment, timestamp};
use crate::cli::plan_args::PlanArgs;
use crate::cli::prometheus_args::PrometheusArgs;
use crate::cli::recommend_args::RecommendArgs;
use crate::cli::record_args::{DoctorArgs, RecordArgs};
use crate::cli::serve_args::ServeArgs;
use crate::cli::watch_args::WatchArgs;
use crate::cli::whatif_args::WhatIfArgs;
use crate::domain::time::{SampleInterval, Timestamp};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// More threads than any host of GPUs has cores.
const MOST_THREADS: usize = 1024;

/// What stands below the help of the whole program.
const AFTER_HELP: &str = "\
Examples:
  cotenant demo                                  a recording of a known truth, and its report
  cotenant analyze gpu.csv                       what an nvidia-smi log says about sharing
  cotenant diagnose run --victim chat --around 03:10
  cotenant recommend run                         how each GPU should be shared
  cotenant --explain \"duty cycle\"

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not enough data, 4 findings at or above --fail-on, 5 no GPU or driver";

/// Records a shared GPU, says who slows whom and how sure that is, and how the GPU should be shared.
#[derive(Debug, Parser)]
#[command(name = "cotenant", version, max_term_width = 100, propagate_version = true)]
#[command(arg_required_else_help = true, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Say what a term, a metric or any other word of a result means; without a word, list them all
    #[arg(long, value_name = "TERM|METRIC", num_args = 0..)]
    pub(crate) explain: Option<Vec<String>>,
    /// Tell in text what is folded away, too: evidence, every pair, every device
    #[arg(long, global = true)]
    pub(crate) full: bool,
    /// Columns of text, from 40 to 400 [default: 80, or those of a narrower terminal]
    #[arg(long, global = true, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(40..=400))]
    pub(crate) width: Option<u16>,
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
    /// Show a Prometheus the shape of utilisation between its scrapes, until interrupted
    Serve(ServeArgs),
    /// Turn foreign logs into one recording
    Import(ImportArgs),
    /// Burst shapes, suitability, influences and blind spots of a recording or a foreign log
    #[command(alias = "analyse")]
    Analyze(AnalyzeArgs),
    /// What made one tenant slow in one window: ranked suspects, and what was ruled out
    Diagnose(DiagnoseArgs),
    /// If these workloads shared a GPU, what would their p99 be
    Whatif(WhatIfArgs),
    /// How each GPU should be shared, why, at what cost, and the files that make it so
    Recommend(RecommendArgs),
    /// Who in a fleet could share with whom, GPUs freed, and what that costs in freedom
    Plan(PlanArgs),
    /// What a plan needs of each device, as a table
    Findings(FindingsArgs),
    /// Check a running set-up against policy and plan, by what the node's own files say
    Audit(AuditArgs),
    /// One HTML file, and pictures, of a recording or a foreign log
    Report(ReportArgs),
    /// A recording in another form: a timeline for Perfetto, OpenMetrics, or CSV
    Export(ExportArgs),
    /// What a term, a metric or any other word of a result means
    Explain(ExplainArgs),
    /// Completions of commands and options for a shell
    Completions(CompletionsArgs),
    /// Pages of the manual
    Man(ManArgs),
}

/// How to read foreign logs: what the files themselves cannot tell.
#[derive(Debug, Clone, Args)]
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
#[derive(Debug, Clone, Args)]
pub(crate) struct QuestionArgs {
    /// Recording, or foreign logs that belong together; - is standard input
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Only from here on: a time, an offset from the first sample such as 90s, or from the end such as -2h
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) from: Option<Moment>,
    /// Only before this: a time, or an offset as for --from
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) to: Option<Moment>,
    /// Only the last so much before the end, or before --to, such as 10m or 7d
    #[arg(long, value_name = "DURATION", conflicts_with = "from", value_parser = interval)]
    pub(crate) last: Option<SampleInterval>,
    /// A window to look at on its own, as FROM..TO; may be repeated
    #[arg(long, value_name = "FROM..TO", value_parser = window, allow_hyphen_values = true)]
    pub(crate) window: Vec<(Moment, Moment)>,
    /// Only phases of this label, besides the whole
    #[arg(long, value_name = "LABEL")]
    pub(crate) phase: Option<String>,
    /// Thresholds that differ from the defaults (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) neighbours: NeighbourArgs,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
}

/// What a recording cannot say about neighbours.
#[derive(Debug, Clone, Args)]
pub(crate) struct NeighbourArgs {
    /// A service's clock minus the GPU's, in seconds, as TENANT=SECONDS; may be repeated
    #[arg(long, value_name = "TENANT=SECONDS", value_parser = clock_offset)]
    pub(crate) clock_offset: Vec<(String, f64)>,
    /// Treat tenants of which no GPU is known as sharing one
    #[arg(long)]
    pub(crate) assume_one_gpu: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cotenant import smi.csv pods.json -o monday    logs of one host that belong together
  cotenant import dmon.log --start 2026-01-31T12:00:00Z --interval 1s
  cotenant import --prometheus http://prometheus:9090 --last 7d -o week")]
pub(crate) struct ImportArgs {
    /// Foreign logs that belong together; also .gz and .zst; - is standard input
    #[arg(
        required_unless_present = "prometheus",
        conflicts_with = "prometheus",
        value_name = "FILE"
    )]
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
    pub(crate) server: PrometheusArgs,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cotenant analyze run                           a recording
  cotenant analyze gpu.csv pods.json             foreign logs that belong together
  cotenant analyze run --last 10m --watch        a recording under way, over and over
  cotenant analyze run --fail-on do-not-share    exit code 4 in a script")]
pub(crate) struct AnalyzeArgs {
    /// Form of the result
    #[arg(short, long, value_name = "FORM", value_enum, default_value_t = Form::Table)]
    pub(crate) output: Form,
    /// Which table to write as CSV
    #[arg(long, value_name = "TABLE", value_enum)]
    pub(crate) table: Option<CsvTable>,
    /// End with exit code 4 when a GPU, or a load on one, gets this word or a worse one, or when
    /// an influence is as sure as this
    #[arg(long, value_name = "WORD", value_enum)]
    pub(crate) fail_on: Option<FailOn>,
    #[command(flatten)]
    pub(crate) question: QuestionArgs,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
}

#[derive(Debug, Args)]
#[command(mut_arg("inputs", |it| it.required(false).required_unless_present("compare")))]
#[command(after_help = "Examples:
  cotenant report run -o review.html
  cotenant report gpu.csv --png figures          also every picture as PNG
  cotenant report run --figure list              the names of its pictures
  cotenant report before --compare after         what a change did, and how sure that is")]
pub(crate) struct ReportArgs {
    /// Report to write [default: report.html]; with --compare also FILE.json, FILE.txt, or `table` and `json`, which are printed
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Also write every figure as PNG into this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) png: Option<PathBuf>,
    /// Heading of the report [default: the name of the input]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    #[command(flatten)]
    pub(crate) question: QuestionArgs,
    #[command(flatten)]
    pub(crate) comparison: CompareArgs,
    #[command(flatten)]
    pub(crate) figures: FigureArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cotenant demo                                  then open cotenant-demo/report.html
  cotenant demo --list                           the stories that can be played
  cotenant demo --scenario aggressor -o noisy    one of them")]
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

/// Form of a result on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Text for people
    #[value(alias = "text")]
    Table,
    /// JSON; docs/CLI.md describes it
    Json,
    /// One line for each subject and part of the time, or for each pair of tenants
    Csv,
}

/// A table of the CSV.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CsvTable {
    /// One line for each subject and part of the time
    Shapes,
    /// One line for each pair of tenants, metric and part of the time
    Influences,
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
    /// an influence that is confirmed
    Confirmed,
    /// an influence that is confirmed or likely
    Likely,
}

/// Longest offset of a clock: a day, for a zone that was taken for another.
const MOST_OFFSET_S: f64 = 86_400.0;

fn clock_offset(text: &str) -> Result<(String, f64), String> {
    let wrong = || format!("`{text}` is no TENANT=SECONDS, like chat=0.4");
    let (tenant, seconds) = text.rsplit_once('=').ok_or_else(wrong)?;
    let seconds: f64 = seconds.trim().trim_end_matches('s').parse().map_err(|_| wrong())?;
    let is_believable = seconds.is_finite() && seconds.abs() <= MOST_OFFSET_S;
    if tenant.trim().is_empty() || !is_believable {
        return Err(wrong());
    }
    Ok((tenant.trim().to_owned(), seconds))
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
