//! The first look at a GPU: every question once; what it does not answer is said, never zero.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::{GpuId, Subject};
use crate::domain::metric::Metric;
use crate::sampler::gauge::{State, Task};
use crate::sampler::message::{Message, Notice, Origin, blind};
use crate::sampler::run::STACK_BYTES;
use crate::sampler::source::{Event, EventSource, Refusal};
use crate::sampler::watch::{Shared, Watch};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

/// How long one wait for an event lasts, milliseconds; the end of a recording waits for it.
const EVENT_WAIT_MS: u32 = 400;

impl Watch {
    /// Asks everything once.
    pub(super) fn probe(&mut self) {
        let mut refusals: BTreeMap<Metric, (&'static str, Refusal)> = BTreeMap::new();
        let mut answered: BTreeSet<Metric> = BTreeSet::new();
        // Rings first: where they answer, polls of the same are not kept.
        for place in 0..self.gauges.len() {
            if let (Task::Ring(ring), None) = (self.gauges[place].task, self.ending) {
                self.drain_ring(place, ring);
                self.note(place, &[ring.metric()], &mut answered, &mut refusals);
            }
        }
        for place in 0..self.gauges.len() {
            if self.ending.is_some() {
                return;
            }
            match self.gauges[place].task {
                Task::Ring(_) | Task::List(_) => {}
                Task::Ask(question) => {
                    let mut replies = Vec::new();
                    let (before, after) = self.ask(place, question, &mut replies);
                    for reply in &replies {
                        match reply.count {
                            Ok(_) => answered.insert(reply.metric),
                            Err(refusal) => refusals
                                .insert(reply.metric, (question.spec().function, refusal))
                                .is_some(),
                        };
                    }
                    if replies.is_empty() {
                        self.note(place, question.spec().metrics, &mut answered, &mut refusals);
                    }
                    if self.is_needed(question) {
                        self.tell_replies(&replies, before.middle(after));
                    }
                }
                Task::ProcessRing => self.drain_processes(place),
                Task::Instances => self.look_at_layout(place),
                Task::Counters => {
                    self.read_counters(place);
                    self.note(
                        place,
                        &[Metric::SmActive, Metric::DramActive],
                        &mut answered,
                        &mut refusals,
                    );
                }
            }
        }
        let all: Vec<usize> = (0..self.gauges.len()).collect();
        self.list_processes(&all);
        refusals.retain(|metric, _| !answered.contains(metric));
        self.tell_refusals(refusals);
        self.tell_hidden_processes();
        let now = self.now();
        self.own.skip(now);
        self.tell(Message::Looked { missed: 0 });
        for gauge in &mut self.gauges {
            gauge.advance(now.monotonic_us);
        }
    }

    fn note(
        &self,
        place: usize,
        metrics: &[Metric],
        answered: &mut BTreeSet<Metric>,
        refusals: &mut BTreeMap<Metric, (&'static str, Refusal)>,
    ) {
        let function = self.gauges[place].task.function();
        for metric in metrics {
            match self.gauges[place].state {
                State::Open => {
                    answered.insert(*metric);
                }
                State::Refused(refusal) => {
                    refusals.insert(*metric, (function, refusal));
                }
                State::Untried => {}
            }
        }
    }

    fn kind_of(&self, refusal: Refusal) -> BlindSpotKind {
        match refusal {
            Refusal::NotSupported if self.identity.is_mig == Some(true) => {
                BlindSpotKind::HiddenByMig
            }
            _ => BlindSpotKind::NotReported,
        }
    }

    fn tell_refusals(&self, refusals: BTreeMap<Metric, (&'static str, Refusal)>) {
        for (metric, (function, refusal)) in refusals {
            let detail = format!("{}: {function}: {refusal}", self.label);
            let (kind, subject) = (self.kind_of(refusal), self.subject.clone());
            self.tell(blind(kind, subject, Some(metric), None, detail, refusal.remedy()));
        }
    }

    /// What is not seen of processes concerns every tenant.
    fn tell_hidden_processes(&self) {
        for gauge in &self.gauges {
            let State::Refused(refusal) = gauge.state else { continue };
            let what = match gauge.task {
                Task::ProcessRing => "what each process uses is not seen",
                Task::List(_) => "who is on the device is not seen",
                _ => continue,
            };
            let function = gauge.task.function();
            let detail = format!("{}: {what}: {function}: {refusal}", self.label);
            let (kind, subject) = (self.kind_of(refusal), self.subject.clone());
            self.tell(blind(kind, subject, None, None, detail, refusal.remedy()));
        }
    }

    /// Waits for events on a thread of its own; returns how to end it.
    pub(super) fn begin_events(&mut self) -> Option<Listening> {
        if self.ending.is_some() {
            return None;
        }
        let before = self.now();
        self.pulse.enter_function("nvmlEventSetCreate", before.monotonic_us);
        let events = self.source.events();
        self.pulse.leave();
        match events {
            Ok(events) => {
                let is_ended = Arc::new(AtomicBool::new(false));
                let listener = Listener {
                    shared: Arc::clone(&self.shared),
                    messages: self.messages.clone(),
                    layout_changed: Arc::clone(&self.layout_changed),
                    is_ended: Arc::clone(&is_ended),
                    gpu: self.gpu().clone(),
                    label: self.label.clone(),
                };
                let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
                let thread = builder.spawn(move || listener.listen(events)).ok()?;
                Some(Listening { is_ended, thread })
            }
            Err(refusal) => {
                if refusal.ends_stream() {
                    self.ending = Some(refusal);
                }
                let detail = format!("{}: errors are not announced: {refusal}", self.label);
                let subject = self.subject.clone();
                let kind = BlindSpotKind::NotReported;
                self.tell(blind(kind, subject, Some(Metric::Xid), None, detail, refusal.remedy()));
                None
            }
        }
    }
}

/// A thread that waits for events.
pub(super) struct Listening {
    is_ended: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<()>,
}

impl Listening {
    /// Lets it end by itself.
    pub(super) fn end(&self) {
        self.is_ended.store(true, Ordering::Release);
    }

    /// Ends it and waits, so that the library is shut down before the program ends.
    pub(super) fn wait(self) {
        self.end();
        let _ = self.thread.join();
    }
}

/// Listens to what the driver announces about one GPU.
struct Listener {
    shared: Arc<Shared>,
    messages: SyncSender<Message>,
    layout_changed: Arc<AtomicBool>,
    is_ended: Arc<AtomicBool>,
    gpu: GpuId,
    label: String,
}

impl Listener {
    fn listen(self, mut events: Box<dyn EventSource>) {
        let is_over =
            || self.shared.is_over.load(Ordering::Acquire) || self.is_ended.load(Ordering::Acquire);
        while !is_over() {
            match events.wait(EVENT_WAIT_MS) {
                Ok(None | Some(Event::Other)) => {}
                Ok(Some(Event::MigChanged)) => {
                    self.layout_changed.store(true, Ordering::Release);
                }
                Ok(Some(Event::Xid { code, gpu_instance: _ })) => self.tell_xid(code),
                // A lost GPU is noticed by those who ask it.
                Err(refusal) if refusal.ends_stream() || refusal.is_lasting() => return,
                Err(_) => {
                    let now_us = self.shared.clock.now().monotonic_us;
                    self.shared.clock.sleep_until(now_us + i64::from(EVENT_WAIT_MS) * 1000);
                }
            }
        }
    }

    fn tell_xid(&self, code: u64) {
        let at = self.shared.clock.now().stamp();
        let value = code as f64;
        if Metric::Xid.is_plausible(value) {
            let subject = Subject::device(&self.gpu);
            let readings = vec![(Metric::Xid, value)];
            let _ =
                self.messages.send(Message::Row { at, subject, origin: Origin::Poll, readings });
        }
        let _ = self.messages.send(Notice::warning(format!("{}: Xid {code}", self.label)));
    }
}
