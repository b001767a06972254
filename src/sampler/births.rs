//! When processes began, so that two that had one id in turn are told apart.

use crate::domain::ident::ProcessKey;
use crate::domain::time::Timestamp;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A process that was not seen for so long is forgotten: one minute.
const FORGET_US: i64 = 60_000_000;

#[derive(Debug)]
struct Known {
    key: ProcessKey,
    /// Start in clock ticks since the host's start; `None` where `/proc` does not show it.
    ticks: Option<u64>,
    is_listed: bool,
    seen_us: i64,
}

/// Which process has an id now.
#[derive(Debug)]
pub(crate) struct Births {
    proc: PathBuf,
    boot_us: Option<i64>,
    ticks_per_s: u64,
    known: BTreeMap<u32, Known>,
}

/// A process, and whether it is seen for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) key: ProcessKey,
    pub(crate) is_new: bool,
}

impl Births {
    /// Reads start times below `proc`, which is `/proc` but in tests.
    pub(crate) fn below(proc: &Path) -> Self {
        let stat = std::fs::read_to_string(proc.join("stat")).unwrap_or_default();
        let boot_s = stat.lines().find_map(|it| it.strip_prefix("btime ")?.trim().parse().ok());
        Self {
            proc: proc.to_owned(),
            boot_us: boot_s.map(|it: i64| it * 1_000_000),
            ticks_per_s: rustix::param::clock_ticks_per_second().max(1),
            known: BTreeMap::new(),
        }
    }

    /// The process that has this id now; `at` is when the driver said so.
    pub(crate) fn of(&mut self, pid: u32, at: Timestamp) -> Seen {
        let ticks = self.ticks(pid);
        let now_us = at.as_micros();
        if let Some(known) = self.known.get_mut(&pid) {
            let is_same = match (known.ticks, ticks) {
                (Some(before), Some(now)) => before == now,
                // It has ended, and the driver still speaks of it.
                (Some(_), None) => true,
                // Nothing tells them apart but that it was gone in between.
                (None, None) => known.is_listed,
                (None, Some(_)) => false,
            };
            if is_same {
                known.seen_us = known.seen_us.max(now_us);
                return Seen { key: known.key, is_new: false };
            }
        }
        let was_known = self.known.contains_key(&pid);
        let started = match ticks {
            Some(ticks) => self.instant(ticks),
            // It began after its namesake was gone: not long before it was seen.
            None if was_known => Some(at),
            None => None,
        };
        let key = ProcessKey { pid, started };
        self.known.insert(pid, Known { key, ticks, is_listed: true, seen_us: now_us });
        Seen { key, is_new: true }
    }

    /// The process that had this id when a sample was taken, without looking again.
    pub(crate) fn remembered(&mut self, pid: u32, at: Timestamp) -> Seen {
        match self.known.get_mut(&pid) {
            Some(known) if known.is_listed => {
                known.seen_us = known.seen_us.max(at.as_micros());
                Seen { key: known.key, is_new: false }
            }
            _ => self.of(pid, at),
        }
    }

    /// Takes these for all that are there: the others are gone, and in time forgotten.
    pub(crate) fn keep(&mut self, listed: &[u32], at: Timestamp) {
        for (pid, known) in &mut self.known {
            known.is_listed = listed.contains(pid);
        }
        let now_us = at.as_micros();
        self.known.retain(|_, it| it.is_listed || now_us - it.seen_us < FORGET_US);
    }

    fn instant(&self, ticks: u64) -> Option<Timestamp> {
        let since_boot =
            i64::try_from(u128::from(ticks) * 1_000_000 / u128::from(self.ticks_per_s));
        Some(Timestamp::from_micros(self.boot_us?.saturating_add(since_boot.ok()?)))
    }

    /// Field 22 of `stat`; the name before it may hold spaces and brackets.
    fn ticks(&self, pid: u32) -> Option<u64> {
        let stat = std::fs::read_to_string(self.proc.join(pid.to_string()).join("stat")).ok()?;
        let behind_name = &stat[stat.rfind(')')? + 1..];
        behind_name.split_whitespace().nth(19)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(1_000_000 * seconds)
    }

    fn begin(proc: &Path, pid: u32, ticks: u64) {
        let folder = proc.join(pid.to_string());
        std::fs::create_dir_all(&folder).unwrap();
        let rest = "0 ".repeat(18);
        std::fs::write(folder.join("stat"), format!("{pid} (a) b) S {rest}{ticks} 0 0")).unwrap();
    }

    #[test]
    fn an_id_that_is_used_again_is_another_process() {
        let proc = tempfile::tempdir().unwrap();
        std::fs::write(proc.path().join("stat"), "cpu 1\nbtime 1000\n").unwrap();
        let mut births = Births::below(proc.path());
        let per_s = births.ticks_per_s;
        begin(proc.path(), 7, 5 * per_s);
        let first = births.of(7, at(1010));
        assert_eq!(
            first,
            Seen { key: ProcessKey { pid: 7, started: Some(at(1005)) }, is_new: true }
        );
        assert!(!births.of(7, at(1011)).is_new);
        begin(proc.path(), 7, 20 * per_s);
        assert_eq!(births.of(7, at(1021)).key.started, Some(at(1020)));
        std::fs::remove_dir_all(proc.path().join("7")).unwrap();
        assert!(!births.of(7, at(1022)).is_new, "a ghost stays who it was");
    }

    #[test]
    fn without_a_start_time_only_an_absence_tells_two_processes_apart() {
        let proc = tempfile::tempdir().unwrap();
        let mut births = Births::below(proc.path());
        assert_eq!(births.of(7, at(1)).key.started, None);
        births.keep(&[7], at(1));
        assert!(!births.of(7, at(2)).is_new);
        births.keep(&[], at(3));
        assert_eq!(births.of(7, at(4)).key.started, Some(at(4)));
        births.keep(&[], at(5));
        births.keep(&[], at(90));
        assert!(births.known.is_empty(), "memory stays constant");
    }
}
