//! What tenants say about themselves while a GPU is recorded: scraped servers and followed files.
//!
//! One thread for each target, which never waits for the recorder; the recorder takes what they
//! send with [`drain`] whenever it likes. `docs/TENANTS.md` says what is read from which server.
//!
//! ```text
//! Targets::parse ─► start ─► Handle         one thread each: ask, compare, send
//!                     └ channel ─► drain ─► Sink of the recorder
//! ```

mod clock;
mod date;
mod exposition;
mod fetch;
mod plan;
mod post;
mod scrape;
#[cfg(test)]
mod server;
mod snapshot;
mod stop;
mod tail;
mod target;
#[cfg(test)]
mod tests;

pub use crate::domain::service_table::preset_rows;
pub use crate::sampler::services::post::{Drained, Event, Reading, channel, drain};
pub use crate::sampler::services::target::{Settings, TargetError, Targets};

use crate::domain::source::SourceId;
use crate::sampler::services::post::Post;
use crate::sampler::services::scrape::Scraper;
use crate::sampler::services::stop::Stop;
use crate::sampler::services::tail::Tail;
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;

/// Threads that ask and follow; they end when this is dropped.
#[derive(Debug)]
pub struct Handle {
    stop: Stop,
    threads: Vec<JoinHandle<()>>,
}

impl Handle {
    /// Ends the threads and waits for them, at most as long as one answer may take.
    ///
    /// What they have to say at the end is in the channel then: [`drain`] it once more.
    pub fn stop(mut self) {
        self.stop.give();
        for thread in self.threads.drain(..) {
            // A thread that panicked has printed why; the recording goes on without it.
            let _ = thread.join();
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.stop.give();
    }
}

/// Begins to ask and follow every target, each in a thread of its own.
///
/// Their readings, facts and notices go into the channel; [`channel`] makes one.
pub fn start(targets: Targets, sender: SyncSender<Event>) -> Handle {
    let stop = Stop::default();
    let mut threads = Vec::new();
    let mut source = targets.first_source;
    let settings = targets.settings;
    for target in targets.scrapes {
        let scraper = Scraper::new(target, source, settings, Post::new(sender.clone()));
        let signal = stop.clone();
        threads.extend(spawn("scrape", &sender, move || scraper.run(&signal)));
        source = SourceId(source.0.saturating_add(1));
    }
    for target in targets.tails {
        let tail = Tail::new(target, source, settings, Post::new(sender.clone()));
        let signal = stop.clone();
        threads.extend(spawn("tail", &sender, move || tail.run(&signal)));
        source = SourceId(source.0.saturating_add(1));
    }
    Handle { stop, threads }
}

fn spawn(
    name: &str,
    sender: &SyncSender<Event>,
    work: impl FnOnce() + Send + 'static,
) -> Option<JoinHandle<()>> {
    let builder = std::thread::Builder::new().name(format!("cotenant-{name}"));
    let refused = |error: std::io::Error| {
        Post::new(sender.clone()).notice(format!("a thread cannot be started: {error}"));
    };
    builder.spawn(work).map_err(refused).ok()
}
