//! Whose peaks of memory meet, how full the device gets, and what is left for tenants.

mod evidence;
mod picture;

use crate::analysis::co_peaks::evidence::{blind_spots, evidence};
use crate::analysis::co_peaks::picture::picture;
use crate::analysis::meeting::{Side, meeting, settled};
use crate::analysis::memory_findings::{
    CoActivation, MemoryFindings, MemoryHeld, MemoryReporting, MemoryResident,
};
use crate::analysis::memory_ledger::{Ledger, Member};
use crate::analysis::out_of_memory::events;
use crate::domain::ident::GpuId;
use crate::domain::recording::Recording;
use crate::domain::time::TimeSpan;
use crate::stats::quantile::{quantile, quantiles_of_owned};
use crate::stats::staircase::{Staircase, crossings};
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};

/// Less free memory than this share of the room counts as full.
pub(crate) const FULL: f64 = 0.02;
/// Tenants whose peaks are compared at most: those that swing most.
const SWINGING: usize = 8;
/// A tenant swings whose peak lies this share of the memory above its median.
const LEAST_SWING: f64 = 0.02;
/// Tenants that hold less than this share of what is in use leave too much to nobody.
const UNDER_REPORTED: f64 = 0.75;
/// Differences below this are contexts and bookkeeping: 1 GiB.
const LEAST_GAP_BYTES: f64 = 1_073_741_824.0;
/// Growth below this is no growth: 64 MiB.
pub(crate) const LEAST_GROWTH_BYTES: f64 = 67_108_864.0;
/// A tenant that gives back less than this part of what it took keeps what it takes.
const KEEPS: f64 = 0.02;

/// Whose peaks meet, and who filled the memory: for the device, or for each of its MIG instances.
pub fn memory_findings(
    gpu: &GpuId,
    part: &Recording,
    span: Option<TimeSpan>,
) -> Vec<MemoryFindings> {
    Ledger::all(gpu, part, span).iter().map(|it| findings(it, part)).collect()
}

/// What each tenant of a GPU was seen to hold: of the device, or of each of its MIG instances.
///
/// The cheap part of the findings about memory, for forecasts of other company.
pub fn memory_held(gpu: &GpuId, part: &Recording) -> Vec<MemoryHeld> {
    Ledger::all(gpu, part, None).iter().map(held).collect()
}

fn held(ledger: &Ledger) -> MemoryHeld {
    let whole = ledger.used_interval_s.map(|interval_s| Member {
        label: ledger.label.clone(),
        subject: ledger.space.clone(),
        bytes: ledger.used.clone(),
        interval_s,
    });
    MemoryHeld {
        space: ledger.space.clone(),
        reporting: reporting(ledger),
        step_s: ledger.step_s(),
        total_bytes: ledger.total_bytes,
        reserved_bytes: ledger.reserved_bytes,
        residents: ledger.members.par_iter().filter_map(resident).collect(),
        whole: whole.as_ref().and_then(resident),
    }
}

fn findings(ledger: &Ledger, part: &Recording) -> MemoryFindings {
    let reporting = reporting(ledger);
    let bins = if ledger.members.is_empty() { 0 } else { ledger.bins() };
    let sums: Vec<f64> = (0..bins).map(|it| ledger.sum(it).unwrap_or(f64::NAN)).collect();
    let seen = stretches(&sums);
    let unattributed =
        unattributed(ledger, &sums).filter(|_| reporting == MemoryReporting::Reported);
    let room = ledger.capacity_bytes().map(|it| it - unattributed.unwrap_or(0.0));
    let residents: Vec<MemoryResident> = ledger.members.par_iter().filter_map(resident).collect();
    let peak_of_sum = sums.iter().copied().filter(|it| it.is_finite()).reduce(f64::max);
    let sum_of_peaks =
        (!residents.is_empty()).then(|| residents.iter().map(|it| it.peak_bytes).sum());
    let seen_samples = seen.iter().map(|it| it.len()).sum::<usize>();
    let over = room.filter(|_| seen_samples > 0).map(|it| crossings(&seen, it));
    let mut found = MemoryFindings {
        space: ledger.space.clone(),
        label: ledger.label.clone(),
        reporting,
        step_s: ledger.step_s(),
        seen_s: seen_samples as f64 * ledger.step_s(),
        sample_interval_s: ledger.members.iter().map(|it| it.interval_s).reduce(f64::max),
        total_bytes: ledger.total_bytes,
        reserved_bytes: ledger.reserved_bytes,
        unattributed_bytes: unattributed,
        room_bytes: room,
        room_is_upper_limit: ledger.reserved_bytes.is_none() || unattributed.is_none(),
        peak_of_sum_bytes: peak_of_sum,
        sum_of_peaks_bytes: sum_of_peaks,
        coincidence_ratio: peak_of_sum
            .zip(sum_of_peaks)
            .filter(|it| it.1 > 0.0)
            .map(|it| it.0 / it.1),
        full_s: full_s(ledger),
        over_room_ratio: over.map(|it| it.1 as f64 / seen_samples as f64),
        over_room_crossings: over.map(|it| it.0),
        pairs: if reporting == MemoryReporting::Reported { pairs(ledger) } else { Vec::new() },
        out_of_memory: events(ledger, &residents, part, reporting),
        residents,
        picture: picture(ledger),
        evidence: Vec::new(),
        blind_spots: Vec::new(),
    };
    found.evidence = evidence(&found);
    found.blind_spots = blind_spots(&found);
    found
}

/// Stretches of a series in which it was seen.
pub(crate) fn stretches(values: &[f64]) -> Vec<&[f64]> {
    values.split(|it| !it.is_finite()).filter(|it| !it.is_empty()).collect()
}

fn reporting(ledger: &Ledger) -> MemoryReporting {
    if ledger.members.is_empty() {
        return MemoryReporting::Absent;
    }
    let both = |it: usize| {
        let used = ledger.used.get(it).copied().filter(|it| it.is_finite())?;
        Some((used, ledger.sum(it)?))
    };
    let (used, sums): (Vec<f64>, Vec<f64>) = (0..ledger.bins()).filter_map(both).unzip();
    match (quantile(&used, 0.5), quantile(&sums, 0.5)) {
        (Some(used), Some(sum)) if sum < UNDER_REPORTED * used && used - sum > LEAST_GAP_BYTES => {
            MemoryReporting::UnderReported
        }
        _ => MemoryReporting::Reported,
    }
}

/// In use and nobody's: the median, because tenants are often sampled less often than the device.
fn unattributed(ledger: &Ledger, sums: &[f64]) -> Option<f64> {
    let rest = ledger.used.iter().zip(sums).map(|it| it.0 - it.1).filter(|it| it.is_finite());
    quantile(&rest.collect::<Vec<f64>>(), 0.5).map(|it| it.max(0.0))
}

fn full_s(ledger: &Ledger) -> Option<f64> {
    let limit = ledger.capacity_bytes()? * (1.0 - FULL);
    let full = (0..ledger.bins()).filter(|it| ledger.in_use(*it).is_some_and(|it| it > limit));
    Some(full.count() as f64 * ledger.step_s())
}

fn resident(member: &Member) -> Option<MemoryResident> {
    let seen = || member.bytes.iter().copied().filter(|it| it.is_finite());
    let samples = seen().count();
    let mut there = Vec::with_capacity(samples);
    there.extend(seen().filter(|it| *it > 0.0));
    let present_ratio = there.len() as f64 / samples as f64;
    let levels = quantiles_of_owned(there, &[0.5, 0.99, 1.0])?;
    let parts = stretches(&member.bytes);
    let moves = Moves::of(&parts);
    Some(MemoryResident {
        label: member.label.clone(),
        subject: member.subject.clone(),
        sample_interval_s: member.interval_s,
        present_ratio,
        p50_bytes: levels[0],
        p99_bytes: levels[1],
        peak_bytes: levels[2],
        largest_rise_bytes: moves.largest_rise,
        lives: moves.lives,
        keeps_what_it_takes: moves.keeps(levels[2]),
        staircase: Staircase::of(&parts),
    })
}

/// How the memory of one member moves within its lives.
#[derive(Default)]
struct Moves {
    lives: u64,
    taken: f64,
    given_back: f64,
    largest_rise: f64,
}

impl Moves {
    fn of(parts: &[&[f64]]) -> Self {
        let mut moves = Self::default();
        for part in parts {
            moves.lives += u64::from(part.first().is_some_and(|it| *it > 0.0));
            for pair in part.windows(2) {
                let change = pair[1] - pair[0];
                match (pair[0] > 0.0, pair[1] > 0.0) {
                    (false, true) => moves.lives += 1,
                    (true, true) if change > 0.0 => {
                        moves.taken += change;
                        moves.largest_rise = moves.largest_rise.max(change);
                    }
                    (true, true) => moves.given_back -= change,
                    _ => {}
                }
            }
        }
        moves
    }

    fn keeps(&self, peak: f64) -> Option<bool> {
        let has_grown = self.taken > LEAST_GROWTH_BYTES.max(0.05 * peak);
        has_grown.then_some(self.given_back <= KEEPS * self.taken)
    }
}

/// Pairs of those that swing most.
fn pairs(ledger: &Ledger) -> Vec<CoActivation> {
    let scale = ledger.total_bytes.unwrap_or(0.0);
    let swing = |it: &Member| {
        let there: Vec<f64> =
            it.bytes.iter().copied().filter(|it| it.is_finite() && *it > 0.0).collect();
        let levels = quantiles_of_owned(there, &[0.5, 1.0])?;
        let swing = levels[1] - levels[0];
        (swing > LEAST_GROWTH_BYTES.max(LEAST_SWING * scale)).then_some((swing, levels[0]))
    };
    let mut swinging: Vec<(f64, f64, &Member)> =
        ledger.members.iter().filter_map(|it| swing(it).map(|(s, base)| (s, base, it))).collect();
    swinging.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.2.label.cmp(&b.2.label)));
    swinging.truncate(SWINGING);
    let places: Vec<(usize, usize)> = (0..swinging.len())
        .flat_map(|first| (first + 1..swinging.len()).map(move |second| (first, second)))
        .collect();
    let met = places
        .par_iter()
        .filter_map(|(first, second)| pair(&swinging[*first], &swinging[*second], ledger.step_s()));
    settled(met.collect())
}

/// Two members where both were there: near their peaks from halfway between median and peak on.
fn pair(
    first: &(f64, f64, &Member),
    second: &(f64, f64, &Member),
    step_s: f64,
) -> Option<CoActivation> {
    let side = |it: &(f64, f64, &'_ Member), values: Vec<f64>| {
        let limit = it.1 + 0.5 * it.0;
        values.iter().map(|value| *value >= limit).collect::<Vec<bool>>()
    };
    let both = first.2.bytes.iter().zip(&second.2.bytes);
    let (a, b): (Vec<f64>, Vec<f64>) =
        both.filter(|it| *it.0 > 0.0 && *it.1 > 0.0).map(|it| (*it.0, *it.1)).unzip();
    let first = Side { subject: &first.2.subject, is_on: side(first, a.clone()), values: a };
    let second = Side { subject: &second.2.subject, is_on: side(second, b.clone()), values: b };
    meeting(&first, &second, step_s)
}

#[cfg(test)]
mod tests;
