//! More processes than a recording can name: those of one program that follow each other stand under one name.
//!
//! Up to [`MOST_NAMED`] processes of a GPU are kept as they are. A process that begins after that takes the lane of one
//! of the same program and tenant that has ended, so that there are as many lanes as were ever taken at once, however many
//! processes there were. No reading is added to another, moved or left out: only whose pid it was is no longer told.

use crate::domain::blind_spot::{BlindSpot, BlindSpotKind};
use crate::domain::ident::{GpuId, ProcessKey, Subject, TenantId};
use crate::domain::outline::{Outline, Process};
use crate::domain::processes::Followers;
use crate::domain::sink::{Fact, SinkError};
use crate::domain::time::Timestamp;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// So many processes of a GPU have names of their own, which takes an analysis a few hundred megabytes.
const MOST_NAMED: usize = 4096;
/// So many lanes of a GPU are kept at most.
const MOST_LANES: usize = 1 << 17;
/// A process that was not seen for so long, nor in the last two looks, has ended.
///
/// The lanes that are taken in turn are as many as processes begin in this time, besides those that are there.
const ENDED_US: i64 = 20_000_000;
/// Descriptions are kept for so many processes of which no reading came yet.
const MOST_AWAITED: usize = 1 << 16;

/// A program and whose it is.
type Program = (Option<String>, Option<TenantId>);

/// Under which process the readings of each process are kept.
#[derive(Debug)]
pub(crate) struct Lanes {
    most_named: usize,
    crowds: BTreeMap<GpuId, Crowd>,
}

/// The processes of one GPU.
#[derive(Debug, Default)]
struct Crowd {
    lanes: BTreeMap<ProcessKey, Lane>,
    /// The lane of each process that has one.
    taken: BTreeMap<ProcessKey, ProcessKey>,
    programs: BTreeMap<Program, usize>,
    /// The program of each number.
    names: Vec<Program>,
    /// Lanes of each program by when each was seen last.
    by_last: Vec<BTreeSet<(Timestamp, ProcessKey)>>,
    /// What is known of processes of which no reading came yet.
    awaited: BTreeMap<ProcessKey, Program>,
    looks: Looks,
    is_told: bool,
}

#[derive(Debug)]
struct Lane {
    /// Number of its program.
    program: usize,
    /// Who is in it; `None` after its last process became another program.
    process: Option<ProcessKey>,
    last: Timestamp,
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

impl Lanes {
    /// The lanes of what a recording holds already.
    pub(crate) fn of(outline: &Outline) -> Self {
        let mut lanes = Self { most_named: MOST_NAMED, crowds: BTreeMap::new() };
        let last = outline.span.map_or(Timestamp::from_micros(i64::MIN), |it| it.until());
        for it in &*outline.processes {
            let crowd = lanes.crowds.entry(it.gpu.clone()).or_default();
            crowd.open(it.process, (it.name.clone(), it.tenant.clone()), last);
        }
        for subject in &outline.subjects {
            if let Subject::Process { gpu, process } = subject {
                let crowd = lanes.crowds.entry(gpu.clone()).or_default();
                if !crowd.lanes.contains_key(process) {
                    crowd.open(*process, Program::default(), last);
                }
            }
        }
        lanes
    }

    /// Keeps as many processes of a GPU under names of their own; for tests.
    #[cfg(test)]
    pub(crate) fn naming(mut self, most_named: usize) -> Self {
        self.most_named = most_named;
        self
    }

    /// Under whom readings are kept, and what has to be said because of that.
    ///
    /// Errors: too many processes at once.
    pub(crate) fn place<'a>(
        &mut self,
        at: Timestamp,
        subject: &'a Subject,
    ) -> Result<(Cow<'a, Subject>, Vec<Fact>), SinkError> {
        let Subject::Process { gpu, process } = subject else {
            return Ok((Cow::Borrowed(subject), Vec::new()));
        };
        if !self.crowds.contains_key(gpu) {
            self.crowds.insert(gpu.clone(), Crowd::default());
        }
        let Some(crowd) = self.crowds.get_mut(gpu) else {
            return Ok((Cow::Borrowed(subject), Vec::new()));
        };
        crowd.looks.note(at);
        let mut facts = Vec::new();
        let lane = match crowd.taken.get(process) {
            Some(lane) => *lane,
            None => crowd.enter(at, gpu, *process, self.most_named, &mut facts)?,
        };
        crowd.note(lane, at);
        let placed = match lane == *process {
            true => Cow::Borrowed(subject),
            false => Cow::Owned(Subject::Process { gpu: gpu.clone(), process: lane }),
        };
        Ok((placed, facts))
    }

    /// The fact as it has to be told; `None` where that has to wait for a reading, or was told already.
    pub(crate) fn fact(&mut self, fact: Fact) -> Option<Fact> {
        match fact {
            Fact::Process(it) => {
                if !self.crowds.contains_key(&it.gpu) {
                    self.crowds.insert(it.gpu.clone(), Crowd::default());
                }
                let crowd = self.crowds.get_mut(&it.gpu)?;
                crowd.describe(it, self.most_named).map(Fact::Process)
            }
            Fact::BlindSpot(mut it) => {
                if let Some(Subject::Process { gpu, process }) = &mut it.subject
                    && let Some(lane) = self.crowds.get(gpu).and_then(|it| it.taken.get(process))
                {
                    *process = *lane;
                }
                Some(Fact::BlindSpot(it))
            }
            other => Some(other),
        }
    }

    /// Forgets the lanes that fail a test: what they held is no longer part of the recording.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&GpuId, ProcessKey) -> bool) {
        for (gpu, crowd) in &mut self.crowds {
            crowd.lanes.retain(|it, _| is_kept(gpu, *it));
            let lanes = &crowd.lanes;
            crowd.taken.retain(|_, lane| lanes.contains_key(lane));
            crowd.by_last.iter_mut().for_each(|it| it.retain(|(_, lane)| lanes.contains_key(lane)));
        }
    }
}

impl Crowd {
    /// Makes a lane for a process, under its own name.
    fn open(&mut self, process: ProcessKey, program: Program, last: Timestamp) {
        let program = self.program(program);
        self.taken.insert(process, process);
        let lane = Lane { program, process: Some(process), last };
        if let Some(before) = self.lanes.insert(process, lane) {
            self.by_last[before.program].remove(&(before.last, process));
        }
        self.by_last[program].insert((last, process));
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

    /// Takes in what is known of a process; returns what has to be told of it now.
    fn describe(&mut self, it: Process, most_named: usize) -> Option<Process> {
        let program = (it.name.clone(), it.tenant.clone());
        let Some(key) = self.taken.get(&it.process).copied() else {
            if self.lanes.len() < most_named && !self.lanes.contains_key(&it.process) {
                self.open(it.process, program, self.looks.0[0]);
                return Some(it);
            }
            if self.awaited.len() >= MOST_AWAITED {
                self.awaited.clear();
            }
            self.awaited.insert(it.process, program);
            return None;
        };
        let is_full = self.lanes.len() > most_named;
        let lane = self.lanes.get_mut(&key)?;
        if key == it.process && !is_full {
            let last = lane.last;
            self.open(key, program, last);
            return Some(it);
        }
        if says_nothing_new(&program, &self.names[lane.program]) {
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
        let program = self.awaited.remove(&process).unwrap_or_default();
        let is_full = self.lanes.len() >= most_named;
        if is_full && let Some(key) = self.left_lane(&program, at) {
            let lane = self.lanes.get_mut(&key);
            if let Some(before) = lane.and_then(|it| it.process.replace(process)) {
                self.taken.remove(&before);
            }
            self.taken.insert(process, key);
            facts.push(Fact::Follower(Followers { gpu: gpu.clone(), process: key, count: 1 }));
            if !std::mem::replace(&mut self.is_told, true) {
                facts.push(Fact::BlindSpot(crowded(gpu, most_named)));
            }
            return Ok(key);
        }
        if self.lanes.len() >= MOST_LANES {
            return Err(too_many(gpu));
        }
        // Its name stands for others that came after it while it was not seen.
        let key = match self.lanes.contains_key(&process) {
            true => ProcessKey { started: Some(at), ..process },
            false => process,
        };
        let (name, tenant) = program.clone();
        if is_full && program != Program::default() {
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
        Ok(key)
    }

    /// The lane of a program that was left last, so that few are long; `None` where somebody is in each.
    fn left_lane(&self, program: &Program, at: Timestamp) -> Option<ProcessKey> {
        let lanes = &self.by_last[*self.programs.get(program)?];
        let first = ProcessKey { pid: 0, started: None };
        let (_, key) = lanes.range(..(self.looks.gone_before(at), first)).next_back()?;
        Some(*key)
    }
}

/// Whether a description only repeats what is known, or less of it.
fn says_nothing_new(told: &Program, known: &Program) -> bool {
    (told.0.is_none() || told.0 == known.0) && (told.1.is_none() || told.1 == known.1)
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
    use proptest::prelude::*;

    fn gpu() -> GpuId {
        GpuId::from_index(0)
    }

    fn key(pid: u32) -> ProcessKey {
        ProcessKey { pid, started: None }
    }

    fn seconds(it: i64) -> Timestamp {
        Timestamp::from_micros(it * 1_000_000)
    }

    /// What a recording would hold of a few processes.
    struct Kept {
        lanes: Lanes,
        outline: Outline,
        rows: BTreeMap<ProcessKey, Vec<(Timestamp, u32)>>,
    }

    impl Kept {
        fn naming(most_named: usize) -> Self {
            let lanes = Lanes::of(&Outline::default()).naming(most_named);
            Self { lanes, outline: Outline::default(), rows: BTreeMap::new() }
        }

        fn describe(&mut self, pid: u32, name: &str) {
            let name = Some(name.to_owned());
            let it = Process { gpu: gpu(), process: key(pid), name, tenant: None };
            let fact = self.lanes.fact(Fact::Process(it));
            fact.into_iter().for_each(|it| self.outline.learn(it));
        }

        /// Takes a row; the reading of a process is its pid. Returns where it went.
        fn see(&mut self, at: Timestamp, pid: u32) -> ProcessKey {
            let subject = Subject::Process { gpu: gpu(), process: key(pid) };
            let (placed, facts) = self.lanes.place(at, &subject).unwrap();
            facts.into_iter().for_each(|it| self.outline.learn(it));
            let Subject::Process { process, .. } = *placed else { panic!("{placed}") };
            self.rows.entry(process).or_default().push((at, pid));
            process
        }

        fn name(&self, process: ProcessKey) -> Option<&str> {
            self.outline.processes.of(&gpu(), process)?.name.as_deref()
        }

        fn after(&self, pid: u32) -> u64 {
            self.outline.followed.after(&gpu(), key(pid))
        }
    }

    #[test]
    fn processes_of_one_program_that_follow_each_other_share_a_name_and_others_do_not() {
        let mut kept = Kept::naming(2);
        for (at, pid, name) in [
            (0, 1, "train"),
            (0, 2, "serve"),
            (1, 2, "serve"),
            (100, 2, "serve"),
            (101, 2, "serve"),
            (102, 2, "serve"),
        ] {
            kept.describe(pid, name);
            assert_eq!(kept.see(seconds(at), pid), key(pid));
        }
        kept.describe(3, "train");
        kept.describe(4, "decode");
        assert_eq!(kept.outline.processes.len(), 2, "nothing is told before there are readings");
        assert_eq!(kept.see(seconds(103), 3), key(1), "it ended long ago");
        assert_eq!(kept.see(seconds(103), 4), key(4), "no other is of its program");
        assert_eq!(kept.see(seconds(103), 2), key(2), "who is there stays who it is");
        kept.describe(5, "train");
        assert_eq!(
            kept.see(seconds(103), 5),
            key(5),
            "somebody is in the only lane of its program"
        );
        assert_eq!([1, 2, 4, 5].map(|it| kept.after(it)), [1, 0, 0, 0]);
        assert_eq!(kept.name(key(1)), Some("train"));
        assert_eq!(kept.name(key(4)), Some("decode"));
        let subject = Subject::Process { gpu: gpu(), process: key(1) };
        assert_eq!(kept.outline.label(&subject), "train (pid 1 +1)");
        assert_eq!(kept.outline.blind_spots.len(), 1, "{:?}", kept.outline.blind_spots);
    }

    #[test]
    fn who_is_seen_at_every_look_has_not_ended_however_far_apart_looks_are() {
        let mut kept = Kept::naming(1);
        for look in 0..5 {
            // The one that stays is the last of each look.
            kept.describe(10 + look, "job");
            kept.see(seconds(i64::from(look) * 3600), 10 + look);
            assert_eq!(kept.see(seconds(i64::from(look) * 3600 + 1), 10), key(10));
        }
    }

    #[test]
    fn one_that_comes_back_after_its_name_went_to_another_gets_a_name_that_says_since_when() {
        let mut kept = Kept::naming(1);
        for (at, pid) in [(0, 1), (100, 1), (101, 9), (102, 9), (103, 9), (200, 2), (201, 2)] {
            if at == 101 {
                kept.describe(9, "other");
            }
            kept.see(seconds(at), pid);
        }
        assert_eq!(kept.after(1), 1, "2 follows 1");
        let back = kept.see(seconds(201), 1);
        assert_eq!(back, ProcessKey { pid: 1, started: Some(seconds(201)) });
        assert_eq!(kept.see(seconds(202), 1), back);
        assert_eq!(kept.see(seconds(202), 2), key(1));
    }

    #[test]
    fn one_that_becomes_another_program_leaves_its_lane() {
        let mut kept = Kept::naming(1);
        kept.describe(1, "bash");
        for at in [0, 100, 101, 102] {
            kept.see(seconds(at), 7);
        }
        kept.see(seconds(0), 1);
        kept.describe(2, "bash");
        assert_eq!(kept.see(seconds(103), 2), key(1));
        kept.describe(2, "python3");
        assert_eq!(kept.see(seconds(104), 2), key(2));
        assert_eq!((kept.name(key(1)), kept.name(key(2))), (Some("bash"), Some("python3")));
    }

    #[test]
    fn rows_without_any_order_of_time_end_with_what_to_do() {
        let mut lanes = Lanes::of(&Outline::default());
        let mut place = |pid: u32| {
            let subject = Subject::Process { gpu: gpu(), process: key(pid) };
            lanes.place(seconds(-i64::from(pid)), &subject).map(drop)
        };
        let most = MOST_LANES as u32;
        for pid in 0..most {
            place(pid).unwrap();
        }
        let error = place(most).unwrap_err();
        assert!(error.message.contains("131072 processes"), "{}", error.message);
        assert!(error.remedy.starts_with("sort the rows by time"), "{}", error.remedy);
    }

    #[test]
    fn lanes_that_were_removed_from_a_recording_make_room() {
        let mut kept = Kept::naming(2);
        for pid in 0..3 {
            kept.see(seconds(i64::from(pid) * 1000), pid);
        }
        kept.lanes.retain(|_, it| it.pid == 2);
        assert_eq!(kept.see(seconds(3000), 3), key(3));
        assert_eq!(kept.see(seconds(3000), 2), key(2));
    }

    proptest! {
        /// Whatever ran when, each reading is kept once, under a process of its program, beside no other of its instant.
        #[test]
        fn nothing_is_added_moved_or_left_out(
            processes in prop::collection::vec((0_i64..2000, 1_i64..300, 0_u32..3), 1..120),
            most_named in 1_usize..20,
            step in 5_i64..40,
        ) {
            let mut kept = Kept::naming(most_named);
            let mut played = BTreeSet::new();
            let mut programs = BTreeMap::new();
            for look in 0..(2400 / step) {
                let at = look * step;
                for (pid, (from, length, program)) in (0..).zip(&processes) {
                    if (*from..from + length).contains(&at) {
                        if programs.insert(pid, format!("p{program}")).is_none() {
                            kept.describe(pid, &format!("p{program}"));
                        }
                        kept.see(seconds(at), pid);
                        played.insert((seconds(at), pid));
                    }
                }
            }
            let mut found = BTreeSet::new();
            for (lane, rows) in &kept.rows {
                prop_assert!(rows.windows(2).all(|it| it[0].0 < it[1].0), "{lane:?}: {rows:?}");
                for row in rows {
                    prop_assert_eq!(kept.name(*lane), programs.get(&row.1).map(String::as_str));
                    prop_assert!(found.insert(*row));
                }
            }
            prop_assert_eq!(&found, &played);
            let seen: BTreeSet<u32> = found.iter().map(|it| it.1).collect();
            let after: u64 = kept.outline.followed.iter().map(|it| it.count).sum();
            prop_assert_eq!(kept.rows.len() as u64 + after, seen.len() as u64);
        }
    }
}
