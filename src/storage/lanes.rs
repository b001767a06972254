//! More processes than a recording can name: those of one program that follow each other stand under one name.
//!
//! Up to [`MOST_NAMED`] processes of a GPU are kept as they are. A process that begins after that takes the lane of one
//! of the same program and tenant that has ended, so that there are as many lanes as were ever taken at once, however many
//! processes there were. One that stays gets a name of its own. No reading is added to another, moved or left out: only whose
//! pid it was is no longer told.

mod crowd;
mod remembered;

use crate::domain::ident::{GpuId, ProcessKey, Subject};
use crate::domain::outline::Outline;
use crate::domain::sink::{Fact, SinkError};
use crate::domain::time::Timestamp;
use crowd::{Crowd, Program};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// So many processes of a GPU have names of their own, which takes an analysis a few hundred megabytes.
const MOST_NAMED: usize = 4096;

/// Under which process the readings of each process are kept.
#[derive(Debug)]
pub(crate) struct Lanes {
    most_named: usize,
    crowds: BTreeMap<GpuId, Crowd>,
}

impl Lanes {
    /// The lanes of what a recording holds already.
    pub(crate) fn of(outline: &Outline) -> Self {
        let mut lanes = Self { most_named: MOST_NAMED, crowds: BTreeMap::new() };
        let last = outline.span.map_or(Timestamp::from_micros(i64::MIN), |it| it.until());
        for it in &*outline.processes {
            let crowd = lanes.crowds.entry(it.gpu.clone()).or_default();
            crowd.recall(it.process, (it.name.clone(), it.tenant.clone()), last);
        }
        for subject in &outline.subjects {
            if let Subject::Process { gpu, process } = subject {
                let crowd = lanes.crowds.entry(gpu.clone()).or_default();
                crowd.recall(*process, Program::default(), last);
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
        let mut facts = Vec::new();
        let lane = crowd.place(at, gpu, *process, self.most_named, &mut facts)?;
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
                    && let Some(lane) = self.crowds.get(gpu).and_then(|it| it.lane_of(*process))
                {
                    *process = lane;
                }
                Some(Fact::BlindSpot(it))
            }
            other => Some(other),
        }
    }

    /// Forgets the lanes that fail a test: what they held is no longer part of the recording.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&GpuId, ProcessKey) -> bool) {
        for (gpu, crowd) in &mut self.crowds {
            crowd.retain(|it| is_kept(gpu, it));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::crowd::{MOST_AWAITED, MOST_LANES};
    use super::*;
    use crate::domain::outline::Process;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

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
    fn one_that_comes_back_is_still_of_its_program() {
        let mut kept = Kept::naming(1);
        kept.describe(1, "job");
        for at in [0, 100, 150, 160, 200, 201] {
            // Somebody is there all the time.
            kept.see(seconds(at), 9);
            match at {
                0 | 100 => assert_eq!(kept.see(seconds(at), 1), key(1)),
                200 => kept.describe(2, "job"),
                _ => {}
            }
        }
        assert_eq!(kept.see(seconds(201), 2), key(1));
        assert_eq!(kept.after(1), 1);
        let back = kept.see(seconds(202), 1);
        assert_eq!(kept.name(back), Some("job"));
    }

    #[test]
    fn one_that_stays_gets_a_name_of_its_own_while_there_is_room() {
        let mut kept = Kept::naming(3);
        for (pid, name) in [(1, "python3"), (2, "python3"), (3, "watch")] {
            kept.describe(pid, name);
            kept.see(seconds(0), pid);
        }
        for at in [50, 60, 70] {
            kept.see(seconds(at), 3);
        }
        kept.describe(7, "python3");
        kept.describe(8, "python3");
        let mut lanes = BTreeMap::<u32, Vec<ProcessKey>>::new();
        for at in (100..1500).step_by(10) {
            for pid in [7, 8] {
                let lane = kept.see(seconds(at), pid);
                let own = lanes.entry(pid).or_default();
                if own.last() != Some(&lane) {
                    own.push(lane);
                }
            }
        }
        assert_eq!(lanes[&7], [key(2), key(7)]);
        assert_eq!(lanes[&8], [key(1), key(8)]);
        assert_eq!(kept.name(key(7)), Some("python3"));
        assert_eq!(kept.rows[&key(7)].first(), Some(&(seconds(700), 7)));
        for (at, pid) in [(1500, 9), (1500, 10), (2200, 9), (2200, 10)] {
            if at == 1500 {
                kept.describe(pid, "python3");
            }
            let lane = kept.see(seconds(at), pid);
            lanes.entry(pid).or_default().push(lane);
        }
        assert_eq!(lanes[&9][1], key(9));
        assert_eq!(lanes[&10][1], lanes[&10][0], "there are twice as many as are named");
    }

    #[test]
    fn programs_that_nobody_is_of_any_more_are_forgotten() {
        let mut kept = Kept::naming(4);
        let all = u32::try_from(MOST_AWAITED + 10).unwrap();
        for pid in 0..all {
            kept.describe(pid, &format!("program {pid}"));
            kept.see(seconds(i64::from(pid)), pid);
        }
        kept.lanes.retain(|_, it| it.pid >= all - 2);
        assert_eq!(kept.lanes.crowds[&gpu()].sizes(), (2, 2));
        let now = seconds(i64::from(all));
        assert_eq!(kept.see(now, all - 1), key(all - 1));
        kept.describe(all, &format!("program {}", all - 2));
        for at in 50..53 {
            kept.see(now.plus_micros(at * 1_000_000), all - 1);
        }
        assert_eq!(kept.see(now.plus_micros(60_000_000), all), key(all), "there is room");
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
    fn a_name_stands_for_the_program_that_it_was_first_said_to_be() {
        let mut kept = Kept::naming(2);
        kept.describe(1, "bash");
        kept.see(seconds(0), 1);
        // There is room: it stays where it is, and nobody of the other program follows it.
        kept.describe(1, "python3");
        kept.describe(2, "watch");
        for at in [1, 100, 101, 102] {
            kept.see(seconds(at), 2);
        }
        kept.describe(3, "python3");
        assert_eq!(kept.see(seconds(103), 3), key(3));
        // There is none: it is another one from now on.
        kept.describe(2, "python3");
        let other = kept.see(seconds(104), 2);
        assert_eq!(other, ProcessKey { pid: 2, started: Some(seconds(104)) });
        let names = [kept.name(key(2)), kept.name(other), kept.name(key(3))];
        assert_eq!(names, [Some("watch"), Some("python3"), Some("python3")]);
        let again = Lanes::of(&kept.outline).naming(2);
        assert_eq!(again.crowds[&gpu()].sizes(), (4, 3));
    }

    #[test]
    fn whoever_follows_is_told_with_the_program_of_the_lane() {
        let mut kept = Kept::naming(1);
        kept.describe(1, "job");
        for (at, pid) in [(0, 1), (100, 9), (101, 9), (102, 9)] {
            kept.see(seconds(at), pid);
        }
        // As in a recorder that removed the segment in which the first one was described.
        kept.outline = Outline::default();
        kept.describe(2, "job");
        assert_eq!(kept.see(seconds(103), 2), key(1));
        assert_eq!(kept.name(key(1)), Some("job"));
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
            processes in prop::collection::vec((0_i64..2000, 1_i64..900, 0_u32..3), 1..120),
            most_named in 1_usize..20,
            step in 5_i64..40,
        ) {
            let mut kept = Kept::naming(most_named);
            let mut played = BTreeSet::new();
            let mut programs = BTreeMap::new();
            for look in 0..(3000 / step) {
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
            // Each stands in one place, or in two if it stayed.
            let places: BTreeSet<(&ProcessKey, u32)> =
                kept.rows.iter().flat_map(|it| it.1.iter().map(move |row| (it.0, row.1))).collect();
            let after: u64 = kept.outline.followed.iter().map(|it| it.count).sum();
            prop_assert_eq!(kept.rows.len() as u64 + after, places.len() as u64);
        }
    }
}
