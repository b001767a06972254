//! Rings of the driver: samples with its own stamps, each once.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::{ProcessKey, Subject};
use crate::domain::metric::Metric;
use crate::domain::time::{TimeSpan, Timestamp};
use crate::sampler::clock::Moment;
use crate::sampler::gauge::Task;
use crate::sampler::message::{Message, Origin, blind};
use crate::sampler::rings::Drained;
use crate::sampler::source::{ProcessSample, Question, Refusal, Ring, RingSample};
use crate::sampler::stamps::StampClock;
use crate::sampler::watch::Watch;

/// A stamp that lies further ahead than this is none, microseconds.
const AHEAD_US: i64 = 15_000_000;
/// A process that began so much later than a sample is not the one that was sampled.
const BORN_LATER_US: i64 = 1_000_000;

/// An empty ring is an answer: nothing is new.
fn empty_is_fine(answer: Result<(), Refusal>) -> Result<(), Refusal> {
    match answer {
        Err(Refusal::NotFound) => Ok(()),
        answer => answer,
    }
}

impl Watch {
    /// Drains a ring of the device; a dry one is asked for its present value instead.
    pub(super) fn drain_ring(&mut self, place: usize, ring: Ring) {
        let after_us = self.rings.entry(ring).or_default().last_seen_us();
        let mut samples = Vec::new();
        let (answer, _, now) = self.call(place, |it| it.ring(ring, after_us, &mut samples));
        if !self.settle(place, &empty_is_fine(answer), now) {
            return;
        }
        let key = |it: &RingSample| (it.stamp_us, 0);
        let cursor = self.rings.entry(ring).or_default();
        // Where the clock jumped during the call, the ring has to be asked anew.
        if cursor.last_seen_us() != after_us || !cursor.unseen(&mut samples, key) {
            return;
        }
        let newest = samples.iter().filter(|it| it.count.value().is_some()).map(|it| it.stamp_us);
        self.settle_clock(newest.max(), now);
        samples.retain(|it| !self.is_ahead(it.stamp_us, now));
        let cursor = self.rings.entry(ring).or_default();
        let drained = cursor.drain(samples, now.monotonic_us, key);
        self.tell_lost(&drained, ring.metric(), now);
        if drained.fresh.is_empty() && !self.is_over() {
            self.ask_instead(ring);
        }
        drained.fresh.iter().for_each(|it| self.tell_sample(ring.metric(), it, now));
    }

    fn tell_sample(&mut self, metric: Metric, sample: &RingSample, now: Moment) {
        let at = Timestamp::from_micros(self.stamps.real(sample.stamp_us, now));
        let mut notes = Vec::new();
        match sample.count.value().filter(|it| metric.is_plausible(*it)) {
            Some(value) if at >= self.began => {
                self.tell_row(at, Origin::Ring, vec![(metric, value)]);
            }
            // What was before the recording is not part of it.
            Some(_) => {}
            None => {
                let why = "a sample of the driver's ring that cannot be true";
                self.sieve.drop(metric, &self.subject, why, &mut notes);
            }
        }
        notes.into_iter().for_each(|it| self.tell(it));
    }

    /// Tells an idle device from one that is not seen: rings run dry when nothing happens.
    fn ask_instead(&mut self, ring: Ring) {
        let question = match ring {
            Ring::GpuUtilization => Question::Utilization,
            Ring::Power => Question::Power,
            Ring::MemoryUtilization => return,
        };
        let Some(place) = self.place_of(Task::Ask(question)) else { return };
        if self.gauges[place].state != crate::sampler::gauge::State::Open {
            return;
        }
        let mut replies = Vec::new();
        let (before, after) = self.ask(place, question, &mut replies);
        self.tell_replies(&replies, before.middle(after));
    }

    /// Drains what processes used.
    pub(super) fn drain_processes(&mut self, place: usize) {
        let after_us = self.processes.last_seen_us();
        let mut samples = Vec::new();
        let (answer, _, now) = self.call(place, |it| it.process_ring(after_us, &mut samples));
        if !self.settle(place, &empty_is_fine(answer), now) {
            return;
        }
        if self.processes.last_seen_us() != after_us {
            return;
        }
        // Rows of zombies carry tiny stamps and percents by the thousand; empty ones fill the buffer.
        let broken = samples.iter().filter(|it| it.pid != 0 && !is_believable(it)).count();
        samples.retain(is_believable);
        let mut notes = Vec::new();
        for _ in 0..broken {
            let why = "rows about processes with more than 100 %";
            self.sieve.drop(Metric::GpuUtilization, &self.subject, why, &mut notes);
        }
        notes.into_iter().for_each(|it| self.tell(it));
        let key = |it: &ProcessSample| (it.stamp_us, it.pid);
        if !self.processes.unseen(&mut samples, key) {
            return;
        }
        self.settle_clock(samples.iter().map(|it| it.stamp_us).max(), now);
        samples.retain(|it| !self.is_ahead(it.stamp_us, now));
        let drained = self.processes.drain(samples, now.monotonic_us, key);
        self.tell_lost(&drained, Metric::GpuUtilization, now);
        drained.fresh.iter().for_each(|it| self.tell_process(it, now));
    }

    fn tell_process(&mut self, sample: &ProcessSample, now: Moment) {
        let at = Timestamp::from_micros(self.stamps.real(sample.stamp_us, now));
        if at < self.began {
            return;
        }
        let mut key = self.meet(sample.pid, at, None, false);
        // Where the wall clock was set back, a process may seem to begin after its own samples.
        let latest = at.plus_micros(BORN_LATER_US + self.set_back_us);
        if key.started.is_some_and(|it| it > latest) {
            key = ProcessKey { pid: sample.pid, started: None };
        }
        let mut readings = vec![
            (Metric::GpuUtilization, sample.sm),
            (Metric::MemoryUtilization, sample.memory),
            (Metric::EncoderUtilization, sample.encoder),
            (Metric::DecoderUtilization, sample.decoder),
        ];
        readings.extend(sample.jpeg.map(|it| (Metric::JpegUtilization, it)));
        readings.extend(sample.ofa.map(|it| (Metric::OfaUtilization, it)));
        let readings = readings.into_iter().map(|it| (it.0, f64::from(it.1)));
        let readings: Vec<(Metric, f64)> = readings.filter(|it| it.0.is_plausible(it.1)).collect();
        let subject = Subject::Process { gpu: self.gpu().clone(), process: key };
        self.tell(Message::Row { at, subject, origin: Origin::Ring, readings });
    }

    fn is_ahead(&self, stamp_us: u64, now: Moment) -> bool {
        self.stamps.clock().is_some()
            && self.stamps.real(stamp_us, now) > now.realtime_us + AHEAD_US
    }

    /// Says which clock stamps are on, where that is not the wall clock.
    fn settle_clock(&mut self, newest_us: Option<u64>, now: Moment) {
        let Some(clock) = newest_us.and_then(|it| self.stamps.settle(it, now)) else { return };
        if clock == StampClock::Realtime {
            return;
        }
        let detail = format!("{}: the driver stamps its samples with {}", self.label, clock.name());
        let remedy = match clock {
            StampClock::Unknown => "the newest sample was taken for the time of reading",
            _ => "they were moved to the wall clock",
        };
        let subject = self.subject.clone();
        self.tell(blind(BlindSpotKind::ClockAssumed, subject, None, None, detail, remedy));
    }

    fn tell_lost<T>(&mut self, drained: &Drained<T>, metric: Metric, now: Moment) {
        let Some((from, until)) = drained.lost else { return };
        let real = |it| Timestamp::from_micros(self.stamps.real(it, now));
        let span = TimeSpan::covering(real(from), real(until));
        let detail = format!("{}: the driver's ring wrapped around before it was read", self.label);
        self.gap(Some(metric), span, detail, "");
    }

    /// Reads once more what the rings hold: the end of the recording loses nothing.
    pub(super) fn drain_rings(&mut self) {
        for place in 0..self.gauges.len() {
            if self.gauges[place].state != crate::sampler::gauge::State::Open {
                continue;
            }
            match self.gauges[place].task {
                Task::Ring(ring) => self.drain_ring(place, ring),
                Task::ProcessRing => self.drain_processes(place),
                _ => {}
            }
        }
    }
}

/// Whether a row about a process can be true.
fn is_believable(sample: &ProcessSample) -> bool {
    sample.pid != 0 && sample.sm <= 100 && sample.memory <= 100
}
