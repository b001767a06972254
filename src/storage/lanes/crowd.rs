//! The processes of one GPU, and the lanes that they are in.

use crate::domain::blind_spot::{BlindSpot, BlindSpotKind};
use crate::domain::ident::{GpuId, ProcessKey, Subject, TenantId};
use crate::domain::outline::Process;
use crate::domain::processes::Followers;
use crate::domain::sink::{Fact, SinkError};
use crate::domain::time::Timestamp;
use crate::storage::lanes::remembered::Remembered;
use std::collections::{BTreeMap, BTreeSet};

/// So many lanes of a GPU are kept at most.
pub(super) const MOST_LANES: usize = 1 << 17;
/// A process that was not seen for so long, nor in the last two looks, has ended.
///
/// The lanes that are taken in turn are as many as processes begin in this time, besides those that are there.
const ENDED_US: i64 = 20_000_000;
/// A process that was there for so long gets a name of its own, while there are fewer than twice as many as are named.
const STAYS_US: i64 = 600_000_000;
/// Descriptions are kept for so many processes of which no reading came yet, and programs for as many that have no lane any more.
pub(super) const MOST_AWAITED: usize = 1 << 16;

/// A program and whose it is.
pub(super) type Program = (Option<String>, Option<TenantId>);

/// The processes of one GPU.
#[derive(Debug)]
pub(super) struct Crowd {
    lanes: BTreeMap<ProcessKey, Lane>,
    /// The lane of each process that has one.
    taken: BTreeMap<ProcessKey, ProcessKey>,
    programs: BTreeMap<Program, usize>,
    /// The program of each number.
    names: Vec<Program>,
    /// Lanes of each program by when each was seen last.
    by_last: Vec<BTreeSet<(Timestamp, ProcessKey)>>,
    /// What is known of processes of which no reading came yet.
    awaited: Remembered<Program>,
    /// The program of processes whose lane went to another.
    gone: Remembered<usize>,
    looks: Looks,
    is_told: bool,
}

impl Default for Crowd {
    fn default() -> Self {
        Self {
            lanes: BTreeMap::new(),
            taken: BTreeMap::new(),
            programs: BTreeMap::new(),
            names: Vec::new(),
            by_last: Vec::new(),
            awaited: Remembered::at_least(MOST_AWAITED),
            gone: Remembered::at_least(MOST_AWAITED),
            looks: Looks::default(),
            is_told: false,
        }
    }
}

#[derive(Debug)]
struct Lane {
    /// Number of its program.
    program: usize,
    /// Who is in it; `None` after its last process became another program.
    process: Option<ProcessKey>,
    /// When it was seen first; `None` where the lane is called by its name.
    since: Option<Timestamp>,
    last: Timestamp,
}

impl Lane {
    fn has_stayed(&self, now: Timestamp) -> bool {
        let since = self.since.map(Timestamp::as_micros);
        since.is_some_and(|it| now.as_micros().saturating_sub(it) >= STAYS_US)
    }
}

/// The last three stamps at which anything was seen of a GPU's processes, the latest first.
#[derive(Debug)]
struct Looks([Timestamp; 3]);

impl Default for Looks {
    fn default() -> Self {
        Self([Timestamp::from_micros(i64::MIN); 3])
    }
}

impl Looks {
    fn note(&mut self, at: Timestamp) {
        if at > self.0[0] {
            self.0 = [at, self.0[0], self.0[1]];
        }
    }

    /// What was seen last before this is gone now.
    fn gone_before(&self, now: Timestamp) -> Timestamp {
        self.0[2].min(Timestamp::from_micros(now.as_micros().saturating_sub(ENDED_US)))
    }
}

impl Crowd {
    /// The lane of a process that is seen now, and what has to be told because of that.
    ///
    /// Errors: too many processes at once.
    pub(super) fn place(
        &mut self,
        at: Timestamp,
        gpu: &GpuId,
        process: ProcessKey,
        most_named: usize,
        facts: &mut Vec<Fact>,
    ) -> Result<ProcessKey, SinkError> {
        self.looks.note(at);
        let lane = match self.lane_of(process) {
            Some(lane) => self.stay(at, gpu, lane, most_named, facts),
            None => self.enter(at, gpu, process, most_named, facts)?,
        };
        self.note(lane, at);
        Ok(lane)
    }

    /// The lane that a process is in; `None` where no reading of it came yet, or another took its lane.
    pub(super) fn lane_of(&self, process: ProcessKey) -> Option<ProcessKey> {
        self.taken.get(&process).copied()
    }

    /// Forgets the lanes that fail a test, and programs that no lane is of where they are many.
    pub(super) fn retain(&mut self, is_kept: impl Fn(ProcessKey) -> bool) {
        self.lanes.retain(|it, _| is_kept(*it));
        let lanes = &self.lanes;
        self.taken.retain(|_, lane| lanes.contains_key(lane));
        self.by_last.iter_mut().for_each(|it| it.retain(|(_, lane)| lanes.contains_key(lane)));
        if self.names.len() > MOST_AWAITED.max(lanes.len().saturating_mul(2)) {
            self.forget_programs();
        }
    }

    /// How many lanes and programs there are; for tests.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.lanes.len(), self.names.len())
    }

    /// Makes a lane for a process, under its own name.
    fn open(&mut self, process: ProcessKey, program: Program, last: Timestamp) {
        let program = self.program(program);
        self.taken.insert(process, process);
        let lane = Lane { program, process: Some(process), since: None, last };
        if let Some(before) = self.lanes.insert(process, lane) {
            self.by_last[before.program].remove(&(before.last, process));
        }
        self.by_last[program].insert((last, process));
    }

    /// Learns of a lane that a recording holds already; its first description stands.
    pub(super) fn recall(&mut self, process: ProcessKey, told: Program, last: Timestamp) {
        let known = self.lanes.get(&process).map(|it| self.names[it.program].clone());
        let (name, tenant) = known.unwrap_or_default();
        self.open(process, (name.or(told.0), tenant.or(told.1)), last);
    }

    /// The number of a program.
    fn program(&mut self, it: Program) -> usize {
        if let Some(number) = self.programs.get(&it) {
            return *number;
        }
        let number = self.names.len();
        self.names.push(it.clone());
        self.by_last.push(BTreeSet::new());
        self.programs.insert(it, number);
        number
    }

    /// Notes that something was seen of a lane.
    fn note(&mut self, key: ProcessKey, at: Timestamp) {
        let Some(lane) = self.lanes.get_mut(&key).filter(|it| it.last < at) else { return };
        let lanes = &mut self.by_last[lane.program];
        lanes.remove(&(lane.last, key));
        lanes.insert((at, key));
        lane.last = at;
    }

    /// Forgets the programs that no lane is of.
    fn forget_programs(&mut self) {
        let names = std::mem::take(&mut self.names);
        self.programs.clear();
        self.by_last.clear();
        self.gone.clear();
        for (key, mut lane) in std::mem::take(&mut self.lanes) {
            lane.program = self.program(names[lane.program].clone());
            self.by_last[lane.program].insert((lane.last, key));
            self.lanes.insert(key, lane);
        }
    }

    /// What is known of a process that is there, or of which no reading came yet.
    fn known(&self, process: ProcessKey) -> Option<&Program> {
        let lane = self.taken.get(&process).and_then(|it| self.lanes.get(it));
        lane.map(|it| &self.names[it.program]).or_else(|| self.awaited.get(process))
    }

    /// Takes in what is known of a process; returns what has to be told of it now.
    pub(super) fn describe(&mut self, it: Process, most_named: usize) -> Option<Process> {
        let told = (it.name.clone(), it.tenant.clone());
        let program = match self.known(it.process) {
            Some(known) => completed(told, known),
            None => told,
        };
        let Some(key) = self.lane_of(it.process) else {
            if self.lanes.len() < most_named && !self.lanes.contains_key(&it.process) {
                self.open(it.process, program, self.looks.0[0]);
                return Some(it);
            }
            self.awaited.insert(it.process, program);
            return None;
        };
        let is_full = self.lanes.len() >= most_named;
        let lane = self.lanes.get_mut(&key)?;
        let known = &self.names[lane.program];
        let is_other = is_another(&program, known);
        if key == it.process && !(is_other && is_full) {
            // The first description of a name stands.
            if !is_other && program != *known {
                let last = lane.last;
                self.open(key, program, last);
            }
            return Some(it);
        }
        if program == *known {
            return None;
        }
        // It became another program, whose lanes are others.
        lane.process = None;
        self.taken.remove(&it.process);
        self.awaited.insert(it.process, program);
        None
    }

    /// Finds or makes a lane for a process that has none.
    fn enter(
        &mut self,
        at: Timestamp,
        gpu: &GpuId,
        process: ProcessKey,
        most_named: usize,
        facts: &mut Vec<Fact>,
    ) -> Result<ProcessKey, SinkError> {
        let gone = self.gone.remove(process).map(|it| self.names[it].clone());
        let program = self.awaited.remove(process).or(gone).unwrap_or_default();
        let left = match self.lanes.len() >= most_named {
            true => self.left_lane(&program, at),
            false => None,
        };
        if let Some((key, lane)) = left.and_then(|it| Some((it, self.lanes.get_mut(&it)?))) {
            lane.since = Some(at);
            if let Some(before) = lane.process.replace(process) {
                self.taken.remove(&before);
                self.gone.insert(before, lane.program);
            }
            self.taken.insert(process, key);
            // A recorder may have removed what described the lane.
            if program != Program::default() {
                let (name, tenant) = program;
                facts.push(Fact::Process(Process { gpu: gpu.clone(), process: key, name, tenant }));
            }
            facts.push(Fact::Follower(Followers { gpu: gpu.clone(), process: key, count: 1 }));
            if !std::mem::replace(&mut self.is_told, true) {
                facts.push(Fact::BlindSpot(crowded(gpu, most_named)));
            }
            return Ok(key);
        }
        if self.lanes.len() >= MOST_LANES {
            return Err(too_many(gpu));
        }
        Ok(self.name(at, gpu, process, program, facts))
    }

    /// Makes a lane for a process that is seen now, called by it as far as that name is free.
    fn name(
        &mut self,
        at: Timestamp,
        gpu: &GpuId,
        process: ProcessKey,
        program: Program,
        facts: &mut Vec<Fact>,
    ) -> ProcessKey {
        // Its name stands for others that came after it while it was not seen.
        let key = match self.lanes.contains_key(&process) {
            true => ProcessKey { started: Some(at), ..process },
            false => process,
        };
        if program != Program::default() {
            let (name, tenant) = program.clone();
            facts.push(Fact::Process(Process { gpu: gpu.clone(), process: key, name, tenant }));
        }
        self.open(key, program, at);
        if key != process {
            self.taken.remove(&key);
            self.taken.insert(process, key);
            if let Some(lane) = self.lanes.get_mut(&key) {
                lane.process = Some(process);
            }
        }
        key
    }

    /// Moves a process to a lane of its own once it stayed for long in that of another, while there is room.
    fn stay(
        &mut self,
        at: Timestamp,
        gpu: &GpuId,
        key: ProcessKey,
        most_named: usize,
        facts: &mut Vec<Fact>,
    ) -> ProcessKey {
        let has_room = self.lanes.len() < most_named.saturating_mul(2);
        let lane = self.lanes.get_mut(&key).filter(|it| has_room && it.has_stayed(at));
        let Some((process, program)) = lane.and_then(|it| Some((it.process.take()?, it.program)))
        else {
            return key;
        };
        self.name(at, gpu, process, self.names[program].clone(), facts)
    }

    /// The lane of a program that was left last, so that few are long; `None` where somebody is in each.
    fn left_lane(&self, program: &Program, at: Timestamp) -> Option<ProcessKey> {
        let lanes = &self.by_last[*self.programs.get(program)?];
        let first = ProcessKey { pid: 0, started: None };
        let (_, key) = lanes.range(..(self.looks.gone_before(at), first)).next_back()?;
        Some(*key)
    }
}

/// Whether both say who it is, and not the same.
fn is_another(told: &Program, known: &Program) -> bool {
    let differ = |a: bool, b: bool, same: bool| a && b && !same;
    differ(told.0.is_some(), known.0.is_some(), told.0 == known.0)
        || differ(told.1.is_some(), known.1.is_some(), told.1 == known.1)
}

/// What is known of a process after it was described once more; under another name it is another program.
fn completed(told: Program, known: &Program) -> Program {
    match (&told.0, &known.0) {
        (Some(told), Some(known)) if told != known => {}
        _ => return (told.0.or_else(|| known.0.clone()), told.1.or_else(|| known.1.clone())),
    }
    told
}

fn crowded(gpu: &GpuId, most_named: usize) -> BlindSpot {
    BlindSpot {
        kind: BlindSpotKind::Ambiguous,
        subject: Some(Subject::device(gpu)),
        metric: None,
        span: None,
        detail: format!(
            "more than {most_named} processes used it: those that began later stand under the name of one of the same \
             program and tenant that had ended before, and without readings under none"
        ),
        remedy:
            "record who they belong to, such as containers or jobs: processes count by tenant then"
                .to_owned(),
    }
}

fn too_many(gpu: &GpuId) -> SinkError {
    SinkError {
        message: format!(
            "{gpu}: more than {MOST_LANES} processes that were there at once, or whose rows are not in the order of time"
        ),
        remedy: "sort the rows by time, or leave out the process ids where each row names a tenant"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_that_is_told_later_leaves_the_name_as_it_was() {
        let tenant = |it: &str| Some(TenantId::new(it));
        let named = |it: &str| Some(it.to_owned());
        let known = (named("python3"), None);
        assert_eq!(completed((None, tenant("a")), &known), (named("python3"), tenant("a")));
        let known = (None, tenant("a"));
        assert_eq!(completed((named("bash"), None), &known), (named("bash"), tenant("a")));
        let known = (named("python3"), tenant("a"));
        assert_eq!(completed((named("bash"), None), &known), (named("bash"), None));
    }
}
