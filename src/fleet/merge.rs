//! Two windows of one device become one.
//!
//! Exact: time seen, means, shares of time, memory heights and how often they are risen to, up to the thinning of levels.
//! Approximate: the work of a tenant (stretches of both windows, in proportion to the time that each saw), long bursts that the
//! border of the windows cuts in two, the busiest hour (the greater of both).

use crate::colocation::demand::Timeline;
use crate::colocation::memory::Phases;
use crate::colocation::stretches::stretches;
use crate::fleet::findings::{
    DemandFinding, DeviceFinding, MOST_LEVELS, MOST_PIECES, MemoryFinding, MetFinding, Pieces,
    TenantFinding,
};
use crate::fleet::thin::{cut, joined, joined_stairs, thinned, thinned_stairs};
use crate::recommender::shape::LoadShape;
use crate::stats::staircase::Staircase;
use std::collections::BTreeMap;

/// Every device once, in the order of host, index and name; windows of one device are joined in the order of time.
pub fn merged(findings: impl IntoIterator<Item = DeviceFinding>) -> Vec<DeviceFinding> {
    let mut devices: BTreeMap<(String, String), Vec<DeviceFinding>> = BTreeMap::new();
    for it in findings {
        let (host, gpu) = it.key();
        devices.entry((host.to_owned(), gpu.to_owned())).or_default().push(it);
    }
    let join = |mut windows: Vec<DeviceFinding>| {
        windows.sort_by_key(|it| (it.from_us, it.until_us));
        windows.into_iter().reduce(|one, other| merge(&one, &other))
    };
    let mut all: Vec<DeviceFinding> = devices.into_values().filter_map(join).collect();
    all.sort_by(|a, b| (&a.host, a.index, &a.gpu).cmp(&(&b.host, b.index, &b.gpu)));
    all
}

/// Two windows of one device, the earlier one first.
pub fn merge(one: &DeviceFinding, other: &DeviceFinding) -> DeviceFinding {
    let weights = (one.seen_s, other.seen_s);
    let mut tenants: Vec<TenantFinding> = Vec::new();
    for it in &one.tenants {
        let later = other.tenants.iter().find(|other| other.name == it.name);
        tenants.push(later.map_or_else(|| it.clone(), |later| merge_tenant(it, later)));
    }
    let is_new = |it: &&TenantFinding| !one.tenants.iter().any(|known| known.name == it.name);
    tenants.extend(other.tenants.iter().filter(is_new).cloned());
    // Who was named counts, and not the device as a whole.
    if tenants.iter().any(|it| !it.is_whole_gpu) {
        tenants.retain(|it| !it.is_whole_gpu);
    }
    tenants.sort_by(|a, b| a.name.cmp(&b.name));
    let mut unseen = one.unseen.clone();
    unseen.extend(other.unseen.iter().filter(|it| !one.unseen.contains(it)).cloned());
    let mut now = other.now.clone();
    now.tenants = tenants.len();
    now.is_mig = now.is_mig.or(one.now.is_mig);
    now.is_mps = now.is_mps.or(one.now.is_mps);
    let longer = if one.seen_s >= other.seen_s { one } else { other };
    DeviceFinding {
        host: one.host.clone(),
        gpu: one.gpu.clone(),
        index: other.index.or(one.index),
        model: other.model.clone().or_else(|| one.model.clone()),
        total_mib: other.total_mib.or(one.total_mib),
        reserved_mib: other.reserved_mib.or(one.reserved_mib),
        others_mib: greater(one.others_mib, other.others_mib),
        from_us: one.from_us.min(other.from_us),
        until_us: one.until_us.max(other.until_us),
        seen_s: one.seen_s + other.seen_s,
        interval_s: greater(one.interval_s, other.interval_s),
        busy_mean_ratio: mean((one.busy_mean_ratio, other.busy_mean_ratio), weights),
        busy_at_95_pct_ratio: mean((one.busy_at_95_pct_ratio, other.busy_at_95_pct_ratio), weights),
        now,
        saturated: longer.saturated.clone(),
        met: one.met.zip(other.met).map(|(one, other)| merge_met(one, other)),
        tenants,
        unseen,
    }
}

fn greater(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.max(other)),
        (one, other) => one.or(other),
    }
}

/// Mean by weight; of one that is not known the other.
fn mean(values: (Option<f64>, Option<f64>), weights: (f64, f64)) -> Option<f64> {
    match values {
        (Some(one), Some(other)) if weights.0 + weights.1 > 0.0 => {
            Some((one * weights.0 + other * weights.1) / (weights.0 + weights.1))
        }
        (one, other) => one.or(other),
    }
}

fn merge_met(one: MetFinding, other: MetFinding) -> MetFinding {
    let phases = match (one.phases, other.phases) {
        (first, second) if first == second => first,
        (Phases::Together, _) | (_, Phases::Together) => Phases::Together,
        _ => Phases::Unknown,
    };
    MetFinding {
        seen_s: one.seen_s + other.seen_s,
        crossings: one.crossings + other.crossings,
        phases,
    }
}

fn merge_tenant(one: &TenantFinding, other: &TenantFinding) -> TenantFinding {
    let weights = (one.seen_s, other.seen_s);
    let demand = match (&one.demand, &other.demand) {
        (Some(first), Some(second)) => Some(merge_demand(first, second, weights)),
        (first, second) => first.clone().or_else(|| second.clone()),
    };
    let shape = match (&one.shape, &other.shape) {
        (Some(first), Some(second)) => Some(merge_shape(first, second, weights)),
        (first, second) => first.clone().or_else(|| second.clone()),
    };
    let memory = match (&one.memory, &other.memory) {
        (Some(first), Some(second)) => Some(merge_memory(first, second)),
        (first, second) => first.clone().or_else(|| second.clone()),
    };
    TenantFinding {
        name: one.name.clone(),
        is_whole_gpu: one.is_whole_gpu && other.is_whole_gpu,
        demand,
        shape,
        memory,
        clients: one.clients.max(other.clients),
        instance: other.instance.clone().or_else(|| one.instance.clone()),
        seen_s: one.seen_s + other.seen_s,
        busiest_hour_factor: greater(one.busiest_hour_factor, other.busiest_hour_factor),
    }
}

fn merge_demand(one: &DemandFinding, other: &DemandFinding, weights: (f64, f64)) -> DemandFinding {
    let work = merge_pieces(&one.work, &other.work, weights);
    let doubts = match (&one.doubts, &other.doubts) {
        (None, None) => None,
        (first, second) => {
            let of = |it: &Option<[Pieces; 2]>, own: &Pieces, place: usize| {
                it.as_ref().map_or_else(|| own.clone(), |it| it[place].clone())
            };
            let end = |place: usize| {
                merge_pieces(&of(first, &one.work, place), &of(second, &other.work, place), weights)
            };
            Some([end(0), end(1)])
        }
    };
    let longer = if weights.0 >= weights.1 { one } else { other };
    let mut assumptions = [one.assumptions.as_slice(), &other.assumptions].concat();
    assumptions.sort_unstable();
    assumptions.dedup();
    DemandFinding {
        work,
        doubts,
        memory_bytes: greater(one.memory_bytes, other.memory_bytes),
        bursts_seen: one.bursts_seen + other.bursts_seen,
        power_w: longer.power_w.or(one.power_w).or(other.power_w),
        driver: longer.driver.or(one.driver).or(other.driver),
        assumptions,
        ..longer.clone()
    }
}

/// Both in proportion to the time that each stands for.
fn merge_pieces(one: &Pieces, other: &Pieces, weights: (f64, f64)) -> Pieces {
    let (Some(first), Some(second)) = (one.timeline(), other.timeline()) else {
        return if one.timeline().is_some() { one.clone() } else { other.clone() };
    };
    let density = |it: &Timeline, seen_s: f64| it.span_s() / seen_s.max(f64::MIN_POSITIVE);
    let least = density(&first, weights.0).min(density(&second, weights.1));
    let part = |it: &Timeline, seen_s: f64| {
        let share = least / density(it, seen_s);
        // What is thinned to nothing says less than what is too much of.
        let thin = cut(it, &stretches(it.span_s(), if share > 0.999 { 1.0 } else { share }));
        thin.unwrap_or_else(|| it.clone())
    };
    match joined(&part(&first, weights.0), &part(&second, weights.1)) {
        Some(it) => Pieces::of(&thinned(&it, MOST_PIECES)),
        None => one.clone(),
    }
}

/// Ratios by time; the more careful word.
fn merge_shape(one: &LoadShape, other: &LoadShape, weights: (f64, f64)) -> LoadShape {
    let longer = if weights.0 >= weights.1 { one } else { other };
    let careful = if one.word >= other.word { one } else { other };
    let both = one.long_burst_ratio.zip(other.long_burst_ratio);
    LoadShape {
        word: careful.word,
        busy_ratio: mean((Some(one.busy_ratio), Some(other.busy_ratio)), weights)
            .unwrap_or(longer.busy_ratio),
        long_burst_ratio: both.and_then(|(one, other)| mean((Some(one), Some(other)), weights)),
        is_saturating: longer.is_saturating,
        sentence: careful.sentence.clone(),
    }
}

fn merge_memory(one: &MemoryFinding, other: &MemoryFinding) -> MemoryFinding {
    let step_s = one.step_s.max(other.step_s).max(f64::MIN_POSITIVE);
    let stairs = joined_stairs(&in_steps(one, step_s), &in_steps(other, step_s));
    let stairs = thinned_stairs(&stairs, MOST_LEVELS);
    MemoryFinding {
        rises: stairs.rises.iter().map(|it| (it.from, it.to, it.rate)).collect(),
        levels_bytes: stairs.levels,
        shares: stairs.shares,
        steps: stairs.samples,
        step_s,
        interval_s: one.interval_s.max(other.interval_s),
        keeps_what_it_takes: one.keeps_what_it_takes && other.keeps_what_it_takes,
    }
}

/// Stairs in steps of another length: a longer one holds more rises, and fewer go into the time.
fn in_steps(it: &MemoryFinding, step_s: f64) -> Staircase {
    let mut stairs = it.stairs();
    let factor = step_s / it.step_s.max(f64::MIN_POSITIVE);
    stairs.rises.iter_mut().for_each(|it| it.rate *= factor);
    stairs.samples = (stairs.samples as f64 / factor).round() as u64;
    stairs
}
