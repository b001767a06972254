//! What the user may type after `cotenant record`.

use crate::cli::duration::interval;
use crate::cli::record_services_args::RecordServicesArgs;
use crate::domain::time::SampleInterval;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// The driver refreshes nothing faster, and a look costs the more the closer they are.
const SHORTEST_INTERVAL_US: u64 = 20_000;
const LONGEST_INTERVAL_US: u64 = 60_000_000;
/// A segment waits in memory, several times its size before compression.
const LARGEST_SEGMENT: u64 = 256 << 20;
const SMALLEST_SEGMENT: u64 = 64 << 10;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cotenant record -o last-night --duration 8h
  cotenant record -o week --duration 7d --interval 1s
  cotenant record -o run --scrape chat=http://localhost:8000/metrics")]
pub(crate) struct RecordArgs {
    /// Recording to write, a folder
    #[arg(short, long, value_name = "FOLDER", default_value = "recording")]
    pub(crate) output: PathBuf,
    /// Go on with the recording that stands there
    #[arg(long)]
    pub(crate) append: bool,
    /// Time between two looks at each GPU, from 20ms to 1m
    #[arg(long, value_name = "DURATION", default_value = "100ms", value_parser = look_interval)]
    pub(crate) interval: SampleInterval,
    /// How long to record, for example 10m [default: until interrupted]
    #[arg(long, value_name = "DURATION", value_parser = interval)]
    pub(crate) duration: Option<SampleInterval>,
    /// Only this GPU, by index, UUID or how its UUID begins; may be repeated [default: all]
    #[arg(long, value_name = "N|UUID")]
    pub(crate) gpu: Vec<String>,
    /// Share of one core, and of the driver's time, that recording may take
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = share)]
    pub(crate) budget: f64,
    /// The driver's library [default: libnvidia-ml.so.1, where the system finds it]
    #[arg(long, value_name = "FILE")]
    pub(crate) nvml_library: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) rotation: RotationArgs,
    #[command(flatten)]
    pub(crate) services: RecordServicesArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cotenant doctor                                before the first recording
  cotenant doctor -o json                        for scripts; the exit code is that of the worst check")]
pub(crate) struct DoctorArgs {
    /// Form of the result
    #[arg(short, long, value_name = "FORM", value_enum, default_value_t = DoctorForm::Table)]
    pub(crate) output: DoctorForm,
    /// The driver's library [default: libnvidia-ml.so.1, where the system finds it]
    #[arg(long, value_name = "FILE")]
    pub(crate) nvml_library: Option<PathBuf>,
}

/// Form of the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DoctorForm {
    /// Text for people
    #[value(alias = "text")]
    Table,
    /// JSON; docs/CLI.md describes it
    Json,
}

/// How the recording is cut into segments.
#[derive(Debug, Args)]
#[command(next_help_heading = "Segments")]
pub(crate) struct RotationArgs {
    /// Close a segment after so much data, counted before compression, from 64KB to 256MB
    #[arg(long, value_name = "SIZE", default_value = "4MB", value_parser = size)]
    pub(crate) rotate_size: u64,
    /// Close a segment after this time, at least 100ms
    #[arg(long, value_name = "DURATION", default_value = "15m", value_parser = age)]
    pub(crate) rotate_age: SampleInterval,
    /// Keep so many segments, and remove older ones [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) keep: Option<u64>,
}

pub(crate) fn look_interval(text: &str) -> Result<SampleInterval, String> {
    let interval = interval(text)?;
    let range = SHORTEST_INTERVAL_US..=LONGEST_INTERVAL_US;
    range.contains(&interval.as_micros()).then_some(interval).ok_or_else(|| {
        format!(
            "`{text}` is not from 20ms to 1m; the driver refreshes its numbers every 100 ms at best"
        )
    })
}

/// How long a segment stays open.
fn age(text: &str) -> Result<SampleInterval, String> {
    let age = interval(text)?;
    let is_long = age.as_micros() >= 100_000;
    is_long.then_some(age).ok_or_else(|| format!("`{text}` is shorter than 100ms"))
}

/// A share of time, typed as percent.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|it| it.trim().parse::<f64>().ok());
    number
        .filter(|it| *it > 0.0 && *it <= 100.0)
        .map(|it| it / 100.0)
        .ok_or_else(|| format!("`{text}` is no share above 0% and up to 100%, like 1%"))
}

/// A number of bytes; MB is 10^6, MiB is 2^20.
fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no size from 64KB to 256MB, like 8MB");
    let digits = text.trim_end_matches(|it: char| it.is_ascii_alphabetic() || it == ' ');
    let factor = match text[digits.len()..].trim() {
        "KB" | "kB" => 1_000.0,
        "KiB" => 1_024.0,
        "MB" => 1e6,
        "MiB" => 1_048_576.0,
        _ => return Err(wrong()),
    };
    let bytes: f64 = digits.parse().map_err(|_| wrong())?;
    let bytes = (bytes * factor) as u64;
    // 64KB is a little less than the round number of the machine.
    let range = SMALLEST_SEGMENT / 1024 * 1000..=LARGEST_SEGMENT;
    range.contains(&bytes).then_some(bytes).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_shares_are_typed_with_their_unit() {
        assert_eq!(size("8MB"), Ok(8_000_000));
        assert_eq!(size("64 KiB"), Ok(65_536));
        assert!(size("1GB").is_err() && size("10").is_err() && size("-1MB").is_err());
        assert_eq!(share("2%"), Ok(0.02));
        assert!(share("0%").is_err() && share("1").is_err() && share("101%").is_err());
        assert!(look_interval("10ms").is_err() && look_interval("20ms").is_ok());
    }
}
