//! `--watch`: the same question to a recording that grows, again and again.

use crate::cli::error::CliError;
use crate::cli::{output, progress, record, terminal};
use crate::domain::time::{SampleInterval, Timestamp};
use crate::domain::units::Seconds;
use crate::sampler::clock::{Clock, HostClock};
use crate::storage::{StoredRecording, has_writer};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is looked at unless the user says how much: ten minutes.
const LAST_US: u64 = 600_000_000;
/// A recorder that looks at every GPU once a minute at least is late after this.
const LATE_S: f64 = 90.0;
/// Escape sequences that empty a terminal and go to its first line.
const CLEAR: &str = "\u{1b}[H\u{1b}[2J";
/// Rows of a terminal that are not for the answer: the head, the hint and the prompt.
const OTHER_ROWS: usize = 4;

/// How the recorder is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recorder {
    Records,
    /// It writes nothing although it did not end.
    IsLate,
    HasStopped,
}

/// How much is looked at unless the user says it.
pub(crate) fn usual() -> Option<SampleInterval> {
    SampleInterval::from_micros(LAST_US)
}

/// Asks until somebody ends it or nobody reads any more; returns the exit code.
///
/// `answer` gets the recording as it is now. What goes wrong with one look, such as a window that
/// holds nothing yet, is told in place of the answer; only what goes wrong with the first one ends it.
pub(crate) fn watch(
    inputs: &[PathBuf],
    every: SampleInterval,
    mut answer: impl FnMut(&StoredRecording) -> Result<String, CliError>,
) -> Result<u8, CliError> {
    let folder = folder(inputs)?;
    record::ends_quietly_on_signals()?;
    let is_screen = terminal::is_screen();
    let pause = Duration::from_micros(every.as_micros());
    let mut seen: Option<(Option<Timestamp>, u64, Recorder)> = None;
    let mut text = String::new();
    loop {
        let recording = StoredRecording::open(folder);
        let recording = match (recording, seen) {
            (Ok(it), _) => it,
            (Err(error), None) => return Err(error.into()),
            (Err(error), Some(_)) => {
                output::warning(&error.to_string());
                progress::pause(pause);
                continue;
            }
        };
        let newest = recording.outline().span.map(|it| it.until());
        let age_s = newest.map(|it| HostClock.now().stamp().seconds_since(it).max(0.0));
        let recorder = state(has_writer(folder), age_s);
        let now = (newest, recording.outline().readings, recorder);
        let is_new = seen != Some(now);
        if is_new {
            text = match answer(&recording) {
                Ok(it) => it,
                Err(error) if seen.is_none() && !waits(&recording, recorder) => return Err(error),
                Err(error) => told(&error),
            };
        }
        seen = Some(now);
        let head = head(age_s, recorder);
        let is_read = match (is_screen, is_new) {
            (true, _) => output::one_of_many(&screen(&head, &text))?,
            // What has not changed is not said twice where nothing is replaced.
            (false, true) => output::one_of_many(&format!("{head}\n\n{text}\n{}\n", rule()))?,
            (false, false) => true,
        };
        if !is_read {
            return Ok(0);
        }
        progress::pause(pause);
    }
}

/// The one recording to watch.
fn folder(inputs: &[PathBuf]) -> Result<&Path, CliError> {
    match inputs {
        [one] if one.is_dir() => Ok(one),
        _ => Err(CliError::usage(
            "--watch looks at one recording under way, and at nothing else",
            "give the folder that `cotenant record` writes to",
        )),
    }
}

fn state(has_writer: bool, age_s: Option<f64>) -> Recorder {
    match (has_writer, age_s) {
        (false, _) => Recorder::HasStopped,
        (true, Some(age_s)) if age_s > LATE_S => Recorder::IsLate,
        (true, _) => Recorder::Records,
    }
}

/// Whether an answer may still come: a recorder has just begun.
fn waits(recording: &StoredRecording, recorder: Recorder) -> bool {
    recorder == Recorder::Records && recording.outline().span.is_none_or(|it| it.seconds() < 60.0)
}

fn told(error: &CliError) -> String {
    let help = error.remedy().map_or_else(String::new, |it| format!("help: {it}\n"));
    format!("no answer yet: {}\n{help}", error.message())
}

fn head(age_s: Option<f64>, recorder: Recorder) -> String {
    let age = age_s.map_or_else(
        || "no sample yet".to_owned(),
        |it| format!("newest sample {} old", Seconds(it)),
    );
    let state = match recorder {
        Recorder::Records => "the recorder records",
        Recorder::IsLate => "the recorder writes nothing, or was killed",
        Recorder::HasStopped => "the recorder has stopped",
    };
    format!("{age}; {state}; Ctrl-C ends this")
}

/// What a terminal shows: the head and as much of the answer as there is room for.
fn screen(head: &str, text: &str) -> String {
    let rows = output::terminal_size().map_or(usize::MAX, |it| it.1);
    let room = rows.saturating_sub(OTHER_ROWS).max(1);
    let lines: Vec<&str> = text.lines().collect();
    let more = lines.len().saturating_sub(room);
    let shown = lines[..lines.len() - more].join("\n");
    let rest = if more > 0 { format!("\n… {more} more lines") } else { String::new() };
    format!("{CLEAR}{head}\n\n{shown}{rest}\n")
}

fn rule() -> String {
    "=".repeat(terminal::look().width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorder_that_went_away_is_told_from_one_that_hangs() {
        assert_eq!(state(true, Some(2.0)), Recorder::Records);
        assert_eq!(state(true, None), Recorder::Records, "it has just begun");
        assert_eq!(state(true, Some(600.0)), Recorder::IsLate);
        assert_eq!(state(false, Some(2.0)), Recorder::HasStopped);
        let head = head(Some(2.0), Recorder::HasStopped);
        assert!(head.contains("2.00 s old") && head.contains("has stopped"), "{head}");
    }
}
