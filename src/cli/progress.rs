//! A progress bar on standard error for work that takes longer than a second.

use crate::cli::output;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::io::Read;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);
/// Lines that wait to be told, at most.
const MOST_LINES: usize = 256;
/// How long the last lines may take.
const FAREWELL: Duration = Duration::from_secs(1);

/// Counts what is read and shows a bar once it takes long.
pub(crate) struct Counted<R> {
    inner: R,
    bar: ProgressBar,
    started: Instant,
    is_shown: bool,
}

impl<R: Read> Counted<R> {
    /// Counts what is read of `total` bytes of the file that is called `name`.
    pub(crate) fn new(inner: R, total: u64, name: &str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let template = "{msg} {wide_bar} {bytes}/{total_bytes} {eta}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(format!("reading {name}"));
        Self { inner, bar, started: Instant::now(), is_shown: false }
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bar.inc(count as u64);
        if !self.is_shown && self.started.elapsed() > PATIENCE {
            self.is_shown = true;
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        if count == 0 {
            self.bar.finish_and_clear();
        }
        Ok(count)
    }
}

/// How long the rest of some work may take.
#[derive(Debug, Default)]
pub(crate) struct Estimate {
    begun: Option<(Instant, usize)>,
}

impl Estimate {
    /// The time that the rest takes if it goes on like this; `None` at the start.
    pub(crate) fn left(&mut self, done: usize, all: usize) -> Option<Duration> {
        let (begun, before) = *self.begun.get_or_insert_with(|| (Instant::now(), done));
        let passed = done.checked_sub(before).filter(|it| *it > 0)?;
        Some(begun.elapsed().mul_f64(all.saturating_sub(done) as f64 / passed as f64))
    }
}

/// Waits.
pub(crate) fn pause(length: Duration) {
    std::thread::sleep(length);
}

/// What is told while something lasts.
#[derive(Debug)]
enum Line {
    Status(String),
    Info(String),
    Warning(String),
}

/// Tells how something goes that lasts, with one line on a terminal that is replaced.
///
/// A standard error that does not drain must not hold the work up, so a thread of its own writes,
/// and what does not fit into its queue is left out.
#[derive(Debug)]
pub(crate) struct Live {
    lines: Option<SyncSender<Line>>,
    has_ended: Receiver<()>,
}

impl Live {
    pub(crate) fn new() -> Self {
        let (lines, waiting) = sync_channel(MOST_LINES);
        let (ended, has_ended) = sync_channel(1);
        let teller = std::thread::Builder::new().name("teller".to_owned());
        let lines = teller.spawn(move || tell(&waiting, &ended)).is_ok().then_some(lines);
        Self { lines, has_ended }
    }

    fn tell(&self, line: Line) {
        // Nobody reads: the work is worth more than the words.
        let _ = self.lines.as_ref().map(|it| it.try_send(line));
    }

    /// Replaces the line on a terminal.
    pub(crate) fn say(&self, text: String) {
        self.tell(Line::Status(text));
    }

    /// Tells something that is no error.
    pub(crate) fn info(&self, text: String) {
        self.tell(Line::Info(text));
    }

    /// Tells that something is wrong.
    pub(crate) fn warning(&self, text: String) {
        self.tell(Line::Warning(text));
    }

    /// Takes the line away, and waits a moment until everything is told.
    pub(crate) fn end(&mut self) {
        self.lines = None;
        let _ = self.has_ended.recv_timeout(FAREWELL);
    }
}

fn tell(waiting: &Receiver<Line>, ended: &SyncSender<()>) {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
        bar.set_style(style);
    }
    for line in waiting {
        match line {
            Line::Status(text) => {
                bar.set_message(text);
                bar.tick();
            }
            Line::Info(text) => bar.suspend(|| output::info(&text)),
            Line::Warning(text) => bar.suspend(|| output::warning(&text)),
        }
    }
    bar.finish_and_clear();
    let _ = ended.send(());
}

/// Counts parts of a work as they are done.
#[derive(Debug)]
pub(crate) struct Done(ProgressBar);

impl Done {
    /// One more part is done.
    pub(crate) fn one(&self) {
        self.0.inc(1);
    }

    /// What was counted as one part turns out to be so many.
    pub(crate) fn consists_of(&self, parts: usize) {
        self.0.inc_length(u64::try_from(parts).unwrap_or(u64::MAX).saturating_sub(1));
        set_style(&self.0, template_of(self.0.length()));
    }
}

/// A spinner for work without a known size, with the time that it took so far, shown once it takes long.
pub(crate) fn during<T>(message: &'static str, work: impl FnOnce() -> T) -> T {
    shown_late(None, "{spinner} {msg} {elapsed}", message, |_| work())
}

/// A bar for work of so many parts, with an estimate of the time that is left, shown once it takes long.
pub(crate) fn in_parts<T>(message: &'static str, parts: usize, work: impl FnOnce(&Done) -> T) -> T {
    let parts = u64::try_from(parts).ok();
    shown_late(parts, template_of(parts), message, work)
}

/// A bar for several parts, and a spinner for one.
fn template_of(parts: Option<u64>) -> &'static str {
    match parts {
        None | Some(0 | 1) => "{spinner} {msg} {elapsed}",
        Some(_) => "{msg} {wide_bar} {pos} of {len}, {left}",
    }
}

/// How long the rest may take; so long as no part is done nobody knows, so the time so far is told.
fn left(done: u64, eta: Duration, elapsed: Duration) -> String {
    match done {
        0 => format!("{}s so far", elapsed.as_secs()),
        _ => format!("about {} left", HumanDuration(eta)),
    }
}

fn set_style(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        let told = |state: &ProgressState, to: &mut dyn std::fmt::Write| {
            // A line that cannot be written is worth less than the work.
            let _ = to.write_str(&left(state.pos(), state.eta(), state.elapsed()));
        };
        bar.set_style(style.with_key("left", told));
    }
}

fn shown_late<T>(
    parts: Option<u64>,
    template: &str,
    message: &'static str,
    work: impl FnOnce(&Done) -> T,
) -> T {
    let bar = ProgressBar::with_draw_target(parts, ProgressDrawTarget::hidden());
    set_style(&bar, template);
    bar.set_message(message);
    let waiting = bar.clone();
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let watcher = std::thread::spawn(move || {
        if is_done.recv_timeout(PATIENCE) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            waiting.set_draw_target(ProgressDrawTarget::stderr());
            waiting.enable_steady_tick(Duration::from_millis(100));
            let _ = is_done.recv();
        }
    });
    let result = work(&Done(bar.clone()));
    drop(done);
    let _ = watcher.join();
    bar.finish_and_clear();
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_a_part_is_done_no_estimate_is_made_up() {
        let left = |done| left(done, Duration::from_secs(90), Duration::from_secs(4));
        assert_eq!(left(0), "4s so far");
        assert_eq!(left(1), "about 2 minutes left");
    }

    #[test]
    fn a_part_of_many_parts_counts_as_many() {
        let (position, length) = in_parts("looking at GPUs", 2, |done| {
            done.consists_of(8);
            (0..3).for_each(|_| done.one());
            (done.0.position(), done.0.length())
        });
        assert_eq!((position, length), (3, Some(9)));
        assert!(template_of(length).contains("{left}"));
        assert!(!template_of(Some(1)).contains("{left}"));
    }
}
