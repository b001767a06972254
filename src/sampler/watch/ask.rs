//! Questions of one call, and performance counters.

use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::metric::Scope;
use crate::sampler::clock::Moment;
use crate::sampler::gauge::{State, Task};
use crate::sampler::message::{Message, Origin};
use crate::sampler::source::{Part, Question, Refusal, Reply, Ring};
use crate::sampler::watch::Watch;

/// Two samples of performance counters that are closer than this give no values, microseconds.
const LEAST_SPACING_US: i64 = 105_000;

impl Watch {
    /// Asks every question among these tasks that is needed; their answers are one row.
    pub(super) fn ask_all(&mut self, due: &[usize]) {
        let mut replies = Vec::new();
        let mut span: Option<(Moment, Moment)> = None;
        for place in due {
            let Task::Ask(question) = self.gauges[*place].task else { continue };
            self.gauges[*place].is_idle = !self.is_needed(question);
            if self.ending.is_some() || self.gauges[*place].is_idle {
                continue;
            }
            let (before, after) = self.ask(*place, question, &mut replies);
            span = Some((span.map_or(before, |it| it.0), after));
        }
        if let Some((before, after)) = span {
            self.tell_replies(&replies, before.middle(after));
        }
    }

    /// Asks one question, and notes whether any field of it was answered.
    pub(super) fn ask(
        &mut self,
        place: usize,
        question: Question,
        replies: &mut Vec<Reply>,
    ) -> (Moment, Moment) {
        let first = replies.len();
        let (answer, before, after) = self.call(place, |it| it.ask(question, replies));
        let outcome = answer.and_then(|()| outcome(&replies[first..]));
        if question == Question::Fields {
            self.note_fields(outcome.err(), &replies[first..]);
        }
        self.settle(place, &outcome, after);
        (before, after)
    }

    /// Readings of the device as one row.
    pub(super) fn tell_replies(&mut self, replies: &[Reply], at: Moment) {
        let mut notes = Vec::new();
        let readings = self.sieve.readings(replies, &self.subject, at, &mut notes);
        notes.into_iter().for_each(|it| self.tell(it));
        self.hidden.note(&readings);
        self.tell_row(at.stamp(), Origin::Poll, readings);
    }

    /// Whether nothing better answers the same.
    pub(super) fn is_needed(&self, question: Question) -> bool {
        match question {
            Question::Utilization => !self.is_open(Task::Ring(Ring::GpuUtilization)),
            Question::Power => !self.is_open(Task::Ring(Ring::Power)),
            _ => question.replaces().is_none_or(|it| self.field_refusals.contains_key(&it)),
        }
    }

    pub(super) fn is_open(&self, task: Task) -> bool {
        self.gauges.iter().any(|it| it.task == task && it.state == State::Open)
    }

    /// Where a task stands among the gauges.
    pub(super) fn place_of(&self, task: Task) -> Option<usize> {
        self.gauges.iter().position(|it| it.task == task)
    }

    fn note_fields(&mut self, refusal: Option<Refusal>, replies: &[Reply]) {
        if let Some(refusal) = refusal.filter(|it| it.is_lasting()) {
            for metric in Question::Fields.spec().metrics {
                self.field_refusals.insert(*metric, refusal);
            }
        }
        for reply in replies {
            match reply.count {
                Ok(_) => self.field_refusals.remove(&reply.metric),
                Err(refusal) if refusal.is_lasting() => {
                    self.field_refusals.insert(reply.metric, refusal)
                }
                Err(_) => None,
            };
        }
    }

    /// Means of performance counters since the look before, of the device and of each instance.
    pub(super) fn read_counters(&mut self, place: usize) {
        self.read_device(place);
        for number in self.layout.numbers() {
            if self.ending.is_none() {
                self.read_instance(place, number);
            }
        }
    }

    /// Whether a part was last read long enough ago; notes that it is read now.
    fn may_count(&mut self, part: Part) -> bool {
        let now_us = self.now().monotonic_us;
        let is_close = self.counted_us.get(&part).is_some_and(|it| now_us - it < LEAST_SPACING_US);
        if !is_close {
            self.counted_us.insert(part, now_us);
        }
        !is_close
    }

    fn read_device(&mut self, place: usize) {
        if !self.may_count(Part::Whole) {
            return;
        }
        let mut replies = Vec::new();
        let (answer, _, after) = self.call(place, |it| it.counters(Part::Whole, &mut replies));
        self.settle(place, &answer, after);
        if answer.is_ok() {
            let is_known = |it: &Reply| {
                // Byte counters of the link are better where the device has them.
                let has_own = matches!(
                    it.metric,
                    Metric::PcieTransmit
                        | Metric::PcieReceive
                        | Metric::NvlinkTransmit
                        | Metric::NvlinkReceive
                );
                !has_own || self.field_refusals.contains_key(&it.metric)
            };
            replies.retain(is_known);
            let mut notes = Vec::new();
            let readings = self.sieve.readings(&replies, &self.subject, after, &mut notes);
            notes.into_iter().for_each(|it| self.tell(it));
            self.tell_row(after.stamp(), Origin::Counters, readings);
        }
    }

    fn read_instance(&mut self, place: usize, number: u32) {
        let Some(instance) = self.layout.instance(self.gpu(), number) else { return };
        let subject = Subject::MigInstance { instance };
        let part = Part::Instance(number);
        if !self.may_count(part) {
            return;
        }
        let mut replies = Vec::new();
        let (answer, _, after) = self.call(place, |it| it.counters(part, &mut replies));
        match answer {
            Err(refusal) if refusal.ends_stream() => self.ending = Some(refusal),
            // It was destroyed under our hands: see what is there now.
            Err(Refusal::NotFound | Refusal::Invalid) => self.look_at_layout_soon(),
            Err(_) => {}
            Ok(()) => {
                replies.retain(|it| it.metric.spec().scope == Scope::DeviceOrInstance);
                let mut notes = Vec::new();
                let sieve = self.parts.entry(part).or_default();
                let readings = sieve.readings(&replies, &subject, after, &mut notes);
                notes.into_iter().for_each(|it| self.tell(it));
                if !readings.is_empty() {
                    let (at, origin) = (after.stamp(), Origin::Counters);
                    self.tell(Message::Row { at, subject, origin, readings });
                }
            }
        }
    }
}

/// Whether anything was answered; else the first reason why not.
fn outcome(replies: &[Reply]) -> Result<(), Refusal> {
    let refusals = || replies.iter().filter_map(|it| it.count.err());
    if let Some(ended) = refusals().find(|it| it.ends_stream()) {
        return Err(ended);
    }
    if replies.iter().any(|it| it.count.is_ok()) {
        return Ok(());
    }
    // One that passes outweighs those that last: the next look may find more.
    let passing = refusals().find(|it| !it.is_lasting());
    passing.or_else(|| refusals().next()).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::source::Count;

    #[test]
    fn a_question_is_refused_only_when_none_of_its_fields_is_answered() {
        let reply = |count| Reply { metric: Metric::SmClock, count };
        let fine = reply(Ok(Count::Narrow(1)));
        let missing = reply(Err(Refusal::NotSupported));
        let lost = reply(Err(Refusal::Lost));
        let odd = reply(Err(Refusal::Other(999)));
        assert_eq!(outcome(&[missing, fine]), Ok(()));
        assert_eq!(outcome(&[missing, odd]), Err(Refusal::Other(999)));
        assert_eq!(outcome(&[missing, missing]), Err(Refusal::NotSupported));
        assert_eq!(outcome(&[fine, lost]), Err(Refusal::Lost));
    }
}
