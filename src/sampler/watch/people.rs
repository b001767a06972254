//! Who is on the device: processes, and the instances that it is cut into.

use crate::domain::ident::{ProcessKey, Subject};
use crate::domain::metric::Metric;
use crate::domain::outline::MigInstance;
use crate::domain::sink::Fact;
use crate::domain::time::Timestamp;
use crate::sampler::clock::Moment;
use crate::sampler::gauge::{State, Task};
use crate::sampler::message::{Message, Origin};
use crate::sampler::source::{Count, FoundInstance, ListedProcess, Part, Reply};
use crate::sampler::tenants::plain;
use crate::sampler::watch::Watch;
use std::collections::BTreeMap;

impl Watch {
    /// Reads the lists among these tasks; a process in several of them is one process.
    pub(super) fn list_processes(&mut self, due: &[usize]) {
        let mut memory: BTreeMap<(u32, Option<u32>), Count> = BTreeMap::new();
        let mut at: Option<Moment> = None;
        for place in due {
            let Task::List(list) = self.gauges[*place].task else { continue };
            if self.ending.is_some() {
                return;
            }
            let mut found: Vec<ListedProcess> = Vec::new();
            let (answer, before, after) = self.call(*place, |it| it.processes(list, &mut found));
            if self.settle(*place, &answer, after) {
                at = Some(before.middle(after));
                memory.extend(found.iter().map(|it| ((it.pid, it.gpu_instance), it.memory)));
                self.lists.insert(list, found);
            }
        }
        let Some(at) = at else { return };
        let held: Vec<Count> = memory.values().copied().collect();
        self.tell_hidden_memory(&held, at);
        for ((pid, gpu_instance), memory) in memory {
            let key = self.meet(pid, at.stamp(), gpu_instance, true);
            self.tell_memory(key, memory, at);
        }
        let listed: Vec<u32> = self.lists.values().flatten().map(|it| it.pid).collect();
        self.births.keep(&listed, at.stamp());
    }

    fn tell_memory(&mut self, process: ProcessKey, memory: Count, at: Moment) {
        let subject = Subject::Process { gpu: self.gpu().clone(), process };
        let replies = [Reply { metric: Metric::FramebufferUsed, count: Ok(memory) }];
        let mut notes = Vec::new();
        let readings = self.sieve.readings(&replies, &subject, at, &mut notes);
        notes.into_iter().for_each(|it| self.tell(it));
        if !readings.is_empty() {
            self.tell(Message::Row { at: at.stamp(), subject, origin: Origin::Poll, readings });
        }
    }

    /// The process that has this id; one that is new is made known at once, for it may end soon.
    pub(super) fn meet(
        &mut self,
        pid: u32,
        at: Timestamp,
        gpu_instance: Option<u32>,
        is_listed: bool,
    ) -> ProcessKey {
        let seen = match is_listed {
            true => self.births.of(pid, at),
            false => self.births.remembered(pid, at),
        };
        if seen.is_new {
            let gpu = self.gpu().clone();
            let instance = gpu_instance.and_then(|it| self.layout.instance(&gpu, it));
            let name = self.source.process_name(pid).and_then(|it| program(&it));
            self.tell(Message::Sighting { gpu, process: seen.key, instance, name });
        }
        seen.key
    }

    /// Looks which instances there are, and what each holds.
    pub(super) fn look_at_layout(&mut self, place: usize) {
        let mut found = Vec::new();
        let (answer, before, after) = self.call(place, |it| it.instances(&mut found));
        if !self.settle(place, &answer, after) {
            return;
        }
        let gpu = self.gpu().clone();
        let change = self.layout.update(&gpu, &found);
        for number in change.gone {
            self.source.forget_counters(Part::Instance(number));
            self.parts.remove(&Part::Instance(number));
        }
        for instance in change.appeared {
            self.source.forget_counters(Part::Instance(instance.gpu_instance));
            let is_it = |it: &&FoundInstance| it.gpu_instance == instance.gpu_instance;
            let profile = found.iter().find(is_it).and_then(|it| it.profile.clone());
            let described = MigInstance { instance, profile, tenants: Vec::new() };
            self.tell(Message::Fact(Fact::MigInstance(described)));
        }
        let at = before.middle(after);
        for it in found {
            let Some(instance) = self.layout.instance(&gpu, it.gpu_instance) else { continue };
            let subject = Subject::MigInstance { instance };
            let mut notes = Vec::new();
            let readings = self.sieve.readings(&it.replies, &subject, at, &mut notes);
            notes.into_iter().for_each(|it| self.tell(it));
            if !readings.is_empty() {
                self.tell(Message::Row { at: at.stamp(), subject, origin: Origin::Poll, readings });
            }
        }
    }

    /// Looks at the layout with the next step.
    pub(super) fn look_at_layout_soon(&mut self) {
        let now_us = self.now().monotonic_us;
        if let Some(place) = self.place_of(Task::Instances) {
            self.gauges[place].due_us = self.gauges[place].due_us.min(now_us);
        }
    }

    /// After a change of the layout: what was refused may be answered now.
    pub(super) fn look_anew(&mut self) {
        let now_us = self.now().monotonic_us;
        for gauge in &mut self.gauges {
            if let State::Refused(_) = gauge.state {
                gauge.state = State::Untried;
                gauge.due_us = now_us;
            }
        }
        self.look_at_layout_soon();
    }
}

/// Name of a program without its folder and arguments, which may hold secrets.
fn program(command: &str) -> Option<String> {
    let path = command.split_whitespace().next()?;
    let name = path.rsplit('/').next()?;
    (!name.is_empty()).then(|| plain(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_without_folder_and_arguments() {
        assert_eq!(program("/usr/bin/python3 -m serve --key s3cret"), Some("python3".to_owned()));
        assert_eq!(program(""), None);
    }
}
