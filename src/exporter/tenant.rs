//! A tenant of a GPU: its processes together, and its silence as idleness where that is sure.

use crate::domain::ident::ProcessKey;
use crate::exporter::track::Track;
use std::collections::{BTreeMap, VecDeque};

/// A process that held memory so long ago is gone, microseconds; lists are read every two seconds.
pub(crate) const GONE_US: i64 = 10_000_000;
/// Samples of processes come so late at most, microseconds: rings are drained every half second.
const LATE_US: i64 = 3_000_000;
/// A step longer than this many usual ones is silence.
const SILENT_STEPS: f64 = 1.7;
/// The usual step stands at this place among the steps: silence makes them longer, never shorter.
const STEP_RANK: f64 = 0.25;
/// Steps from which the usual one is taken.
const REMEMBERED_STEPS: usize = 64;
/// Busy stretches that are kept to be compared with those of others.
const REMEMBERED_STRETCHES: usize = 32;
/// From this height on a tenant is busy.
const BUSY: f64 = 0.05;

/// A stretch in which a tenant was busy, microseconds.
pub(crate) type Busy = (i64, i64);

/// A tenant of a GPU.
#[derive(Debug)]
pub(crate) struct Tenant {
    pub(crate) track: Track,
    /// Busy stretches, the last ones.
    pub(crate) busy: VecDeque<Busy>,
    memory: BTreeMap<ProcessKey, (i64, f64)>,
    cell: BTreeMap<ProcessKey, f64>,
    cell_us: i64,
    sampled_us: Option<i64>,
    steps_us: VecDeque<i64>,
    seen_us: i64,
}

impl Tenant {
    pub(crate) fn new(track: Track, seen_us: i64) -> Self {
        Self {
            track,
            busy: VecDeque::new(),
            memory: BTreeMap::new(),
            cell: BTreeMap::new(),
            cell_us: 0,
            sampled_us: None,
            steps_us: VecDeque::new(),
            seen_us,
        }
    }

    /// When there was last a sign of it, microseconds.
    pub(crate) fn seen_us(&self) -> i64 {
        self.seen_us
    }

    /// Memory that its processes hold, bytes; `None` where none was listed lately.
    pub(crate) fn memory_bytes(&self, now_us: i64) -> Option<f64> {
        let held = self.memory.values().filter(|it| now_us - it.0 < GONE_US);
        held.map(|it| it.1).reduce(|sum, it| sum + it)
    }

    /// Takes what one of its processes holds; the tenant's whole share of the device, where that is known.
    pub(crate) fn memory(
        &mut self,
        process: ProcessKey,
        at_us: i64,
        bytes: f64,
        total: Option<f64>,
    ) {
        self.seen_us = self.seen_us.max(at_us);
        self.memory.retain(|_, it| at_us - it.0 < GONE_US);
        let is_round = self.memory.first_key_value().is_none_or(|it| *it.0 >= process);
        self.memory.insert(process, (at_us, bytes));
        // One sample for each reading of the list: with its first process.
        if let (true, Some(total), Some(held)) =
            (is_round, total.filter(|it| *it > 0.0), self.memory_bytes(at_us))
        {
            self.track.feed_memory(held / total);
        }
    }

    /// Takes what one of its processes used; busy stretches that became known are returned.
    ///
    /// Processes of one tenant are sampled together, so their shares add up until one returns.
    pub(crate) fn used(
        &mut self,
        process: ProcessKey,
        at_us: i64,
        value: f64,
        watched_us: Option<i64>,
    ) -> Vec<Busy> {
        self.seen_us = self.seen_us.max(at_us);
        let is_next = self.cell.contains_key(&process)
            || self.usual_us().is_some_and(|it| at_us - self.cell_us > it / 2);
        let busy = if is_next { self.close(watched_us) } else { Vec::new() };
        if self.cell.is_empty() {
            self.cell_us = at_us;
        }
        self.cell_us = self.cell_us.max(at_us);
        self.cell.insert(process, value);
        busy
    }

    /// Time has passed: what is complete is counted, and long silence becomes idleness.
    ///
    /// `watched_us` is since when the device itself is seen without a hole.
    pub(crate) fn passed(&mut self, now_us: i64, watched_us: Option<i64>) -> Vec<Busy> {
        let until_us = now_us - LATE_US;
        if !self.cell.is_empty() && self.cell_us > until_us {
            return Vec::new();
        }
        let busy = self.close(watched_us);
        let is_there = self.memory_bytes(now_us).is_some();
        if let (true, Some(usual), Some(last)) = (is_there, self.usual_us(), self.track.last_us())
            && (until_us - last) as f64 > SILENT_STEPS * usual as f64
        {
            self.idle(until_us, usual, watched_us);
        }
        busy
    }

    /// The usual time between samples; `None` with fewer than two.
    fn usual_us(&self) -> Option<i64> {
        let mut steps: Vec<i64> = self.steps_us.iter().copied().collect();
        let rank = (steps.len().checked_sub(1)? as f64 * STEP_RANK) as usize;
        Some((*steps.select_nth_unstable(rank).1).max(1))
    }

    /// Counts the samples that belong together.
    fn close(&mut self, watched_us: Option<i64>) -> Vec<Busy> {
        if self.cell.is_empty() {
            return Vec::new();
        }
        let value: f64 = std::mem::take(&mut self.cell).values().sum();
        let at_us = self.cell_us;
        if let Some(before) = self.sampled_us.replace(at_us) {
            self.steps_us.push_back(at_us - before);
            if self.steps_us.len() > REMEMBERED_STEPS {
                self.steps_us.pop_front();
            }
        }
        let usual = self.usual_us();
        if let (Some(usual), Some(last)) = (usual, self.track.last_us())
            && (at_us - last) as f64 > SILENT_STEPS * usual as f64
        {
            self.idle(at_us - usual / 2, usual, watched_us);
        }
        self.track.feed(at_us, value);
        let step_us = self.track.interval_s().map_or(0, |it| (it * 1e6) as i64);
        if value < BUSY || step_us == 0 {
            return Vec::new();
        }
        let busy = (at_us - step_us, at_us);
        self.busy.push_back(busy);
        if self.busy.len() > REMEMBERED_STRETCHES {
            self.busy.pop_front();
        }
        vec![busy]
    }

    /// Fills silence up to an instant with idle samples, as far as the device was seen meanwhile.
    fn idle(&mut self, until_us: i64, usual_us: i64, watched_us: Option<i64>) {
        let (Some(last), Some(watched)) = (self.track.last_us(), watched_us) else { return };
        if last + usual_us < watched {
            return;
        }
        let mut at = last + usual_us;
        while at < until_us {
            self.track.feed(at, 0.0);
            at += usual_us;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::shape::Slot;

    const SECOND: i64 = 1_000_000;

    fn process(pid: u32) -> ProcessKey {
        ProcessKey { pid, started: None }
    }

    fn tenant() -> Tenant {
        Tenant::new(Track::new(None, 0.01), 0)
    }

    #[test]
    fn processes_of_one_tenant_add_up() {
        let mut tenant = tenant();
        for second in 1..20 {
            tenant.used(process(1), second * SECOND, 0.3, Some(0));
            tenant.used(process(2), second * SECOND + 1000, 0.4, Some(0));
        }
        let sums = &tenant.track.sums;
        assert_eq!(sums.samples(), 18.0);
        assert!((sums.mean().unwrap() - 0.7).abs() < 1e-9);
    }

    #[test]
    fn silence_is_idle_while_the_device_is_seen_and_unknown_otherwise() {
        let silent_for_a_minute = |watched: Option<i64>| {
            let mut tenant = tenant();
            for second in (1..11).chain(70..80) {
                tenant.used(process(1), second * SECOND, 1.0, watched);
            }
            (tenant.track.sums.samples(), tenant.track.sums.get(Slot::Busy))
        };
        let (samples, busy) = silent_for_a_minute(Some(0));
        assert!((samples - 78.0).abs() < 2.0 && busy == 19.0, "{samples} {busy}");
        assert_eq!(silent_for_a_minute(Some(60 * SECOND)), (19.0, 19.0));
        assert_eq!(silent_for_a_minute(None), (19.0, 19.0));
    }

    #[test]
    fn who_holds_memory_and_is_not_listed_is_idle_now() {
        let mut tenant = tenant();
        for second in 1..11 {
            tenant.used(process(1), second * SECOND, 1.0, Some(0));
        }
        tenant.memory(process(1), 60 * SECOND, 1e9, Some(4e9));
        tenant.passed(60 * SECOND, Some(0));
        assert!((tenant.track.sums.samples() - 57.0).abs() < 2.0);
        assert_eq!(tenant.track.sums.get(Slot::MemorySum), 0.25);
        let before = tenant.track.sums.samples();
        tenant.passed(100 * SECOND, Some(0));
        assert_eq!(tenant.track.sums.samples(), before, "it is gone, and not idle");
    }
}
