//! `--watch`: the same question to a recording that grows, again and again.

use crate::cli::error::CliError;
use crate::cli::{output, progress, record, terminal};
use crate::domain::outline::Outline;
use crate::domain::time::{SampleInterval, Timestamp};
use crate::domain::units::Seconds;
use crate::sampler::clock::{Clock, HostClock};
use crate::storage::{StoredRecording, Writer, writer};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is looked at unless the user says how much: ten minutes.
const LAST_US: u64 = 600_000_000;
/// A recorder is late after so many looks that it missed, and not before so many seconds.
const MISSED_LOOKS: f64 = 3.0;
const LATE_S: f64 = 5.0;
/// How often it is asked whether the recorder is still there.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// Escape sequences that empty a terminal and go to its first line.
const CLEAR: &str = "\u{1b}[H\u{1b}[2J";
/// Rows of a terminal that are not for the answer: the head, the hint and the prompt.
const OTHER_ROWS: usize = 4;

/// How the recorder is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recorder {
    Records,
    /// It is there and writes nothing.
    IsLate,
    /// It is not there any more, and did not end as it should.
    IsGone,
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
        let recording = StoredRecording::open(folder).map(StoredRecording::with_processes_in_line);
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
        let recorder = state(writer(folder), age_s, late_s(recording.outline()));
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
        wait(folder, pause, recorder);
    }
}

/// Waits for the next look; less where a recorder that was there is there no more.
fn wait(folder: &Path, pause: Duration, recorder: Recorder) {
    let mut left = pause;
    while !left.is_zero() {
        let step = left.min(ASK_EVERY);
        progress::pause(step);
        left -= step;
        let was_there = matches!(recorder, Recorder::Records | Recorder::IsLate);
        if was_there && writer(folder) != Writer::Alive {
            return;
        }
    }
}

/// From which age of its newest sample on a recorder is late, in seconds.
fn late_s(outline: &Outline) -> f64 {
    let asked = outline.sources.iter().filter_map(|it| it.asked_interval);
    let slowest = asked.map(SampleInterval::as_seconds).fold(0.0, f64::max);
    (MISSED_LOOKS * slowest).max(LATE_S)
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

fn state(writer: Writer, age_s: Option<f64>, late_s: f64) -> Recorder {
    match (writer, age_s) {
        (Writer::Nobody, _) => Recorder::HasStopped,
        (Writer::Died, _) => Recorder::IsGone,
        (Writer::Alive, Some(age_s)) if age_s > late_s => Recorder::IsLate,
        (Writer::Alive, _) => Recorder::Records,
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
    let age = match (age_s, recorder) {
        (None, _) => "no sample yet".to_owned(),
        (Some(it), Recorder::IsLate | Recorder::IsGone) => {
            format!("no new samples for {}", Seconds(it))
        }
        (Some(it), _) => format!("newest sample {} old", Seconds(it)),
    };
    let state = match recorder {
        Recorder::Records => "the recorder records",
        Recorder::IsLate => "the recorder is there and writes nothing",
        Recorder::IsGone => {
            "the recorder is not running: it was killed, or crashed; record --append goes on"
        }
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
    use crate::domain::source::{Source, SourceId};

    #[test]
    fn a_recorder_that_went_away_is_told_from_one_that_hangs() {
        let state = |writer, age_s| state(writer, age_s, 5.0);
        assert_eq!(state(Writer::Alive, Some(2.0)), Recorder::Records);
        assert_eq!(state(Writer::Alive, None), Recorder::Records, "it has just begun");
        assert_eq!(state(Writer::Alive, Some(6.0)), Recorder::IsLate);
        assert_eq!(state(Writer::Died, Some(2.0)), Recorder::IsGone);
        assert_eq!(state(Writer::Nobody, Some(2.0)), Recorder::HasStopped);
        for (recorder, parts) in [
            (Recorder::HasStopped, ["newest sample 7.00 s old", "has stopped"]),
            (Recorder::IsLate, ["no new samples for 7.00 s", "writes nothing"]),
            (Recorder::IsGone, ["no new samples for 7.00 s", "is not running"]),
        ] {
            let head = head(Some(7.0), recorder);
            assert!(parts.iter().all(|it| head.contains(it)), "{head}");
        }
    }

    #[test]
    fn a_recorder_is_late_after_three_looks_and_not_before_five_seconds() {
        let asked = |seconds: u64| {
            let source = Source {
                id: SourceId(0),
                format: "sampler".to_owned(),
                tool: "cotenant".to_owned(),
                tool_version: None,
                file: None,
                asked_interval: SampleInterval::from_micros(seconds * 1_000_000),
                clock: "UTC".to_owned(),
                readings: std::collections::BTreeMap::new(),
            };
            Outline { sources: vec![source], ..Outline::default() }
        };
        assert_eq!(late_s(&Outline::default()), 5.0);
        assert_eq!(late_s(&asked(1)), 5.0);
        assert_eq!(late_s(&asked(60)), 180.0);
    }
}
