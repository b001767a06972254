//! What comes from the threads of services to the one writer of a recording.

use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::sink::{Fact, Sink, SinkError};
use crate::domain::source::SourceId;
use crate::domain::time::Timestamp;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

/// Events that wait for the writer, at most.
const MOST_WAITING: usize = 4096;

/// Readings of one tenant at one instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// When: the middle of the scrape, or what the tenant wrote.
    pub at: Timestamp,
    /// About whom.
    pub subject: Subject,
    /// From where.
    pub source: SourceId,
    /// What; never empty.
    pub readings: Vec<(Metric, f64)>,
}

/// Something that a thread of services has to say.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A row for the recording.
    Reading(Reading),
    /// A fact for the recording.
    Fact(Fact),
    /// A sentence for the person who records.
    Notice(String),
}

/// The way from the threads to the writer; bounded, and senders never wait for room.
pub fn channel() -> (SyncSender<Event>, Receiver<Event>) {
    sync_channel(MOST_WAITING)
}

/// What was taken from the channel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Drained {
    /// Sentences for the person who records.
    pub notices: Vec<String>,
    /// Readings that went into the sink.
    pub readings: u64,
}

/// Gives everything that waits to a sink, without waiting for more.
///
/// Errors: the sink cannot take it.
pub fn drain(events: &Receiver<Event>, sink: &mut dyn Sink) -> Result<Drained, SinkError> {
    let mut drained = Drained::default();
    // Threads that send faster than the sink takes must not keep the caller here.
    for event in events.try_iter().take(MOST_WAITING) {
        match event {
            Event::Reading(it) => {
                drained.readings += it.readings.len() as u64;
                sink.row(it.at, &it.subject, it.source, &it.readings)?;
            }
            Event::Fact(it) => sink.fact(it)?,
            Event::Notice(it) => drained.notices.push(it),
        }
    }
    Ok(drained)
}

/// One thread's end of the channel.
#[derive(Debug)]
pub(crate) struct Post {
    sender: SyncSender<Event>,
    /// Facts and notices that found no room; rows that find none are lost and counted.
    held: Vec<Event>,
    /// Rows that were lost.
    pub(crate) lost: u64,
}

impl Post {
    pub(crate) fn new(sender: SyncSender<Event>) -> Self {
        Self { sender, held: Vec::new(), lost: 0 }
    }

    /// Sends a row without values that cannot be believed; nothing where none is left.
    pub(crate) fn reading(&mut self, mut reading: Reading) {
        reading.readings.retain(|it| it.0.is_plausible(it.1));
        if !reading.readings.is_empty() && !self.send(Event::Reading(reading)) {
            self.lost += 1;
        }
    }

    pub(crate) fn fact(&mut self, fact: Fact) {
        self.keep(Event::Fact(fact));
    }

    pub(crate) fn notice(&mut self, text: String) {
        self.keep(Event::Notice(text));
    }

    fn keep(&mut self, event: Event) {
        self.held.push(event);
        self.flush();
    }

    /// Sends what was held back; says whether all of it went.
    fn flush(&mut self) -> bool {
        while let Some(event) = self.held.first() {
            match self.sender.try_send(event.clone()) {
                Ok(()) => drop(self.held.remove(0)),
                Err(TrySendError::Full(_)) => return false,
                // Nobody listens any more.
                Err(TrySendError::Disconnected(_)) => self.held.clear(),
            }
        }
        true
    }

    /// Facts go first: a row may name a source that one of them describes.
    fn send(&mut self, event: Event) -> bool {
        self.flush() && !matches!(self.sender.try_send(event), Err(TrySendError::Full(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::collector::Collector;
    use crate::domain::ident::TenantId;

    fn row(micros: i64, value: f64) -> Reading {
        Reading {
            at: Timestamp::from_micros(micros),
            subject: Subject::Tenant { gpu: None, tenant: TenantId::new("chat") },
            source: SourceId(1),
            readings: vec![(Metric::Throughput, value)],
        }
    }

    #[test]
    fn a_writer_that_does_not_keep_up_loses_rows_and_nothing_waits() {
        let (sender, events) = sync_channel(2);
        let mut post = Post::new(sender);
        (1..=4).for_each(|it| post.reading(row(it, 1.0)));
        post.notice("x".to_owned());
        assert_eq!(post.lost, 2);
        let mut sink = Collector::new();
        assert_eq!(drain(&events, &mut sink).unwrap(), Drained { notices: vec![], readings: 2 });
        post.reading(row(5, 1.0));
        assert_eq!(drain(&events, &mut sink).unwrap().notices, ["x"]);
        assert_eq!(sink.into_recording().outline.readings, 3);
    }

    #[test]
    fn a_value_that_cannot_be_is_no_row() {
        let (sender, events) = channel();
        let mut post = Post::new(sender);
        post.reading(row(1, f64::NAN));
        post.reading(row(2, -1.0));
        assert_eq!(events.try_iter().count(), 0);
    }
}
