//! When memory ran out, and who had taken it: not the one that failed, but those who grew.

mod attribution;
mod reconcile;
mod sentence;

use crate::analysis::co_peaks::{FULL, LEAST_GROWTH_BYTES};
use crate::analysis::memory_findings::{
    MemoryReporting, MemoryResident, OutOfMemory, OutOfMemoryKind,
};
use crate::analysis::memory_ledger::{Ledger, Member};
use crate::analysis::out_of_memory::attribution::{Moment, attributed};
use crate::domain::ident::GpuId;
use crate::domain::metric::Metric;
use crate::domain::recording::Recording;
use crate::domain::time::Timestamp;

/// A tenant that keeps less than this part of what it held has lost its memory.
const LOST: f64 = 0.05;
/// How long before a tenant is gone its request may have failed, in seconds.
const FAILING_S: f64 = 2.0;
/// Less free memory than this share of the room is nothing.
const NOTHING_LEFT: f64 = 0.005;
/// A device that is full for more of the time than this is meant to be full.
const MEANT_TO_BE_FULL: f64 = 0.2;
/// Moments that are listed at most.
const MOST_EVENTS: usize = 100;
/// An Xid this long before is another explanation, in seconds.
const XID_S: f64 = 10.0;
/// Xids that follow from a process that ends: 43 (its channel was reset) and 45 (clean-up).
///
/// No Xid stands for memory that ran out; 31, a page fault, kills a process too, but for its own error.
const XID_OF_AN_END: [u32; 2] = [43, 45];

/// Every moment at which memory ran out, or seems to have, in time order.
pub(crate) fn events(
    ledger: &Ledger,
    residents: &[MemoryResident],
    part: &Recording,
    reporting: MemoryReporting,
) -> Vec<OutOfMemory> {
    if reporting != MemoryReporting::Reported || ledger.capacity_bytes().is_none() {
        return Vec::new();
    }
    let mut moments: Vec<Moment> =
        ledger.members.iter().enumerate().flat_map(|it| losses(ledger, it, residents)).collect();
    moments.sort_by_key(|it| (it.last_bin, it.failed));
    let full = full_moments(ledger, &moments);
    moments.extend(full);
    moments.sort_by_key(|it| (it.last_bin, it.failed));
    moments.truncate(MOST_EVENTS);
    let xids = xids(ledger, part);
    moments
        .iter()
        .map(|it| attributed(ledger, residents, it, xid_before(&xids, ledger.at(it.last_bin))))
        .collect()
}

/// Who had taken the memory at an instant that the user names; `None` where it lies outside what was seen.
pub fn out_of_memory_at(gpu: &GpuId, part: &Recording, at: Timestamp) -> Option<OutOfMemory> {
    let ledgers = Ledger::all(gpu, part, None);
    let ledger = ledgers.first()?;
    let last_bin = ledger.bin_of(at)?;
    let moment = Moment {
        kind: OutOfMemoryKind::Asked,
        failed: None,
        last_bin,
        fullest_bin: last_bin,
        usual_rise: None,
        returns: false,
    };
    Some(attributed(ledger, &[], &moment, xid_before(&xids(ledger, part), at)))
}

/// Every loss of a member's memory while there was less than it needed.
fn losses(
    ledger: &Ledger,
    (place, member): (usize, &Member),
    residents: &[MemoryResident],
) -> Vec<Moment> {
    let capacity = ledger.capacity_bytes().unwrap_or(f64::INFINITY);
    let reach = FAILING_S.max(2.0 * member.interval_s) / ledger.step_s();
    let reach = (reach.ceil() as usize).max(1);
    let mut found = Vec::new();
    let known = residents.iter().find(|it| it.label == member.label);
    let usual_rise = known.map_or(0.0, |it| it.largest_rise_bytes);
    for bin in 1..member.bytes.len() {
        let (before, now) = (member.bytes[bin - 1], member.bytes[bin]);
        let is_lost = before >= LEAST_GROWTH_BYTES && now <= LOST * before;
        if !is_lost {
            continue;
        }
        let window = bin.saturating_sub(reach)..bin;
        let fullest = window
            .filter_map(|it| Some((it, ledger.in_use(it)?)))
            .reduce(|a, b| if b.1 >= a.1 { b } else { a });
        let Some((fullest_bin, in_use)) = fullest else { continue };
        let free = capacity - in_use;
        let kind = if free <= FULL * capacity {
            OutOfMemoryKind::LostWhileFull
        } else if usual_rise >= LEAST_GROWTH_BYTES && free < usual_rise {
            OutOfMemoryKind::LostWhileTight
        } else {
            continue;
        };
        found.push(Moment {
            kind,
            failed: Some(place),
            last_bin: bin - 1,
            fullest_bin,
            usual_rise: (usual_rise > 0.0).then_some(usual_rise),
            returns: member.bytes[bin..].iter().any(|it| *it > LOST * before),
        });
    }
    found
}

/// The first instant of each stretch with nothing left and nobody lost in it.
fn full_moments(ledger: &Ledger, losses: &[Moment]) -> Vec<Moment> {
    let Some(capacity) = ledger.capacity_bytes() else { return Vec::new() };
    let limit = capacity * (1.0 - NOTHING_LEFT);
    let is_full = |bin: usize| ledger.in_use(bin).is_some_and(|it| it >= limit);
    let bins = ledger.bins();
    let full = (0..bins).filter(|it| is_full(*it)).count();
    if full as f64 > MEANT_TO_BE_FULL * bins as f64 {
        return Vec::new();
    }
    let margin = (2.0 * FAILING_S / ledger.step_s()).ceil() as usize;
    let is_near_loss = |bin: usize| losses.iter().any(|it| it.last_bin.abs_diff(bin) <= margin);
    let mut found: Vec<Moment> = Vec::new();
    for bin in (0..bins).filter(|it| is_full(*it)) {
        let is_same = found.last().is_some_and(|it| bin - it.last_bin <= margin);
        if !is_same && !is_near_loss(bin) {
            let kind = OutOfMemoryKind::FullOnly;
            found.push(Moment {
                kind,
                failed: None,
                last_bin: bin,
                fullest_bin: bin,
                usual_rise: None,
                returns: false,
            });
        } else if let Some(last) = found.last_mut().filter(|_| is_same) {
            last.last_bin = bin;
        }
    }
    found.iter_mut().for_each(|it| it.last_bin = it.fullest_bin);
    found
}

/// New Xids of the device with their codes, without those that follow from any end of a process.
fn xids(ledger: &Ledger, part: &Recording) -> Vec<(Timestamp, u32)> {
    let device = ledger.space.gpu().map(crate::domain::ident::Subject::device);
    let Some(series) = device.and_then(|it| part.series(&it, Metric::Xid)) else {
        return Vec::new();
    };
    let code = |position: usize| series.value(position) as u32;
    (1..series.len())
        .filter(|it| code(it - 1) != code(*it) && code(*it) != 0)
        .map(|it| (series.times()[it], code(it)))
        .filter(|it| !XID_OF_AN_END.contains(&it.1))
        .collect()
}

fn xid_before(xids: &[(Timestamp, u32)], at: Timestamp) -> Option<u32> {
    let near = |it: &&(Timestamp, u32)| (-2.0..=XID_S).contains(&at.seconds_since(it.0));
    xids.iter().rev().find(near).map(|it| it.1)
}
