//! A progress bar on standard error for work that takes longer than a second.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::Read;
use std::time::{Duration, Instant};

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

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

/// One line that says how something goes that lasts; shown on a terminal only.
#[derive(Debug)]
pub(crate) struct Live {
    bar: ProgressBar,
}

impl Live {
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
            bar.set_style(style);
        }
        Self { bar }
    }

    /// Replaces the line.
    pub(crate) fn say(&self, text: String) {
        self.bar.set_message(text);
        self.bar.tick();
    }

    /// Takes the line away while something else is printed.
    pub(crate) fn aside(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    /// Takes the line away.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// A spinner for work without a known size, shown once it takes long.
pub(crate) fn during<T>(message: &'static str, work: impl FnOnce() -> T) -> T {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.set_message(message);
    let waiting = bar.clone();
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let watcher = std::thread::spawn(move || {
        if is_done.recv_timeout(PATIENCE) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            waiting.enable_steady_tick(Duration::from_millis(100));
            let _ = is_done.recv();
        }
    });
    let result = work();
    drop(done);
    let _ = watcher.join();
    bar.finish_and_clear();
    result
}
