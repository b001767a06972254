//! When processes began, so that two that had one id in turn are told apart.

use crate::domain::ident::ProcessKey;
use crate::domain::time::Timestamp;
use crate::sampler::tenants::{Host, View, view_of};
use std::collections::BTreeMap;
use std::path::Path;

/// A process that was not seen for so long is forgotten: one minute.
const FORGET_US: i64 = 60_000_000;

#[derive(Debug)]
struct Known {
    key: ProcessKey,
    /// The id by which `/proc` has it, which another PID namespace may count differently.
    local: u32,
    /// Start in clock ticks since the host's start; `None` where `/proc` does not show it.
    ticks: Option<u64>,
    is_listed: bool,
    seen_us: i64,
}

/// Which process has an id now.
#[derive(Debug)]
pub(crate) struct Births {
    host: Host,
    view: View,
    known: BTreeMap<u32, Known>,
}

/// A process, and whether it is seen for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) key: ProcessKey,
    pub(crate) is_new: bool,
}

impl Births {
    /// Reads start times of the host whose root is this folder.
    pub(crate) fn below(root: &Path) -> Self {
        let host = Host::new(root);
        Self { view: view_of(&host), host, known: BTreeMap::new() }
    }

    /// The process that has this id now; `at` is when the driver said so.
    pub(crate) fn of(&mut self, pid: u32, at: Timestamp) -> Seen {
        let (local, ticks) = self.ticks(pid);
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
            Some(ticks) => self.host.instant(ticks),
            // It began after its namesake was gone: not long before it was seen.
            None if was_known => Some(at),
            None => None,
        };
        let key = ProcessKey { pid, started };
        self.known.insert(pid, Known { key, local, ticks, is_listed: true, seen_us: now_us });
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

    /// The id in `/proc`, and the start where it stands there.
    fn ticks(&self, pid: u32) -> (u32, Option<u64>) {
        let start = |local: u32| self.host.life(local).ok().map(|it| it.start_ticks);
        // To look an id up takes a walk through `/proc`, so one that still fits is kept.
        if let Some(known) = self.known.get(&pid)
            && let Some(ticks) = start(known.local).filter(|it| known.ticks == Some(*it))
        {
            return (known.local, Some(ticks));
        }
        let local = self.view.local(&self.host, pid);
        (local, start(local))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(1_000_000 * seconds)
    }

    fn begin(root: &Path, pid: u32, ticks: u64) {
        let folder = root.join("proc").join(pid.to_string());
        std::fs::create_dir_all(&folder).unwrap();
        let rest = "0 ".repeat(18);
        std::fs::write(folder.join("stat"), format!("{pid} (a) b) S {rest}{ticks} 0 0")).unwrap();
    }

    #[test]
    fn an_id_that_is_used_again_is_another_process() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("proc")).unwrap();
        std::fs::write(root.path().join("proc/stat"), "cpu 1\nbtime 1000\n").unwrap();
        let mut births = Births::below(root.path());
        begin(root.path(), 7, 500);
        let first = births.of(7, at(1010));
        assert_eq!(
            first,
            Seen { key: ProcessKey { pid: 7, started: Some(at(1005)) }, is_new: true }
        );
        assert!(!births.of(7, at(1011)).is_new);
        begin(root.path(), 7, 2000);
        assert_eq!(births.of(7, at(1021)).key.started, Some(at(1020)));
        std::fs::remove_dir_all(root.path().join("proc/7")).unwrap();
        assert!(!births.of(7, at(1022)).is_new, "a ghost stays who it was");
    }

    #[test]
    fn without_a_start_time_only_an_absence_tells_two_processes_apart() {
        let root = tempfile::tempdir().unwrap();
        let mut births = Births::below(root.path());
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
