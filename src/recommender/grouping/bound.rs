//! What no grouping can beat: how few devices, and how little cost on a given number of them.

use crate::recommender::grouping::view::{ROUNDING, View};

/// What no grouping can beat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bound {
    pub(super) devices: usize,
    pub(super) cost: Option<f64>,
}

/// Devices that are needed for certain: the most of five bounds.
///
/// By number; by memory, where peaks add up; by how many companions each tenant can have at most; and by tenants of whom no two may meet.
pub(super) fn devices(view: &View<'_>, asks_all_pairs: bool) -> usize {
    let by_number = view.len().div_ceil(view.fleet().most_in_group.max(1));
    let by_memory = match view.fleet().group_peak_bytes {
        None => memory(view),
        Some(_) => 0,
    };
    let apart = if view.has_all_pairs() { pairwise_apart(view) } else { 0 };
    by_number.max(by_memory).max(companions(view, asks_all_pairs)).max(apart)
}

/// Bins for all peaks: for each threshold a, those over C − a have bins of their own, those over C/2 one each, and what
/// lies between a and C/2 has to go into what these leave.
///
/// Source: bound L2 of S. Martello and P. Toth, Knapsack Problems (1990), section 8.3.2 (*not checked*); a = 0 is the sum over C.
fn memory(view: &View<'_>) -> usize {
    let capacity = view.fleet().capacity_bytes;
    let mut peaks: Vec<f64> = (0..view.len()).map(|it| view.tenant(it).peak_bytes).collect();
    peaks.sort_by(f64::total_cmp);
    let mut sums = vec![0.0];
    for peak in &peaks {
        sums.push(sums[sums.len() - 1] + peak);
    }
    let half = peaks.partition_point(|it| *it <= capacity / 2.0);
    let bins = |threshold: f64| {
        let from = peaks.partition_point(|it| *it < threshold).min(half);
        let alone = peaks.partition_point(|it| *it <= capacity - threshold).max(half);
        let room = (alone - half) as f64 * capacity - (sums[alone] - sums[half]);
        let more = ((sums[half] - sums[from] - room) / capacity * (1.0 - ROUNDING)).ceil();
        peaks.len() - half + more.max(0.0) as usize
    };
    let thresholds = std::iter::once(0.0).chain(peaks[..half].iter().copied());
    thresholds.map(bins).max().unwrap_or(0)
}

/// Σ 1/(1 + m) over all tenants, where a tenant has at most m companions: in a group of s each has s − 1 ≤ m, so that the
/// group's members add up to 1 at most.
fn companions(view: &View<'_>, asks_all_pairs: bool) -> usize {
    let fleet = view.fleet();
    let has_sum = fleet.group_peak_bytes.is_none();
    let knows_cost = (view.has_all_pairs() || asks_all_pairs) && fleet.group_cost.is_none();
    let mut peaks: Vec<f64> = (0..view.len()).map(|it| view.tenant(it).peak_bytes).collect();
    peaks.sort_by(f64::total_cmp);
    let share = |one: usize| {
        let tenant = view.tenant(one);
        let mut most = fleet.most_in_group.saturating_sub(1);
        if has_sum {
            // Its own peak may be among the smallest, which only makes the bound weaker.
            most =
                most.min(how_many(peaks.iter().copied(), fleet.capacity_bytes - tenant.peak_bytes));
        }
        if knows_cost {
            let others = (0..view.len()).filter(|it| *it != one).map(|it| view.pair(one, it));
            let mut costs: Vec<f64> = others.filter(|it| it.is_finite()).collect();
            if most < costs.len() {
                costs.select_nth_unstable_by(most, f64::total_cmp);
                costs.truncate(most);
            }
            costs.sort_by(f64::total_cmp);
            most = most.min(how_many(costs.into_iter(), tenant.most_cost * (1.0 + ROUNDING)));
        }
        1.0 / (1.0 + most as f64)
    };
    ((0..view.len()).map(share).sum::<f64>() * (1.0 - ROUNDING)).ceil() as usize
}

/// How many of rising values add up to a limit at most.
fn how_many(values: impl Iterator<Item = f64>, limit: f64) -> usize {
    let mut sum = 0.0;
    let within = |it: &f64| {
        sum += it;
        sum <= limit
    };
    values.take_while(within).count()
}

/// Tenants of whom no two may meet, collected from those that may meet the fewest.
fn pairwise_apart(view: &View<'_>) -> usize {
    let len = view.len();
    let refuses = |one: usize| (0..len).filter(|it| *it != one && !view.can_meet(one, *it)).count();
    let mut order: Vec<(usize, usize)> = (0..len).map(|it| (refuses(it), it)).collect();
    order.sort_by_key(|it| (std::cmp::Reverse(it.0), it.1));
    let mut apart: Vec<usize> = Vec::new();
    for (_, one) in order {
        if apart.iter().all(|it| !view.can_meet(*it, one)) {
            apart.push(one);
        }
    }
    apart.len()
}

/// Cost that so many devices cannot go below: the groups hold at least as many pairs as if they were equally large, and
/// these are at best the cheapest.
///
/// `None` where not every pair was asked for, or the cost is not the sum over pairs.
pub(super) fn cost(view: &View<'_>, devices: usize) -> Option<f64> {
    if !view.has_all_pairs() || view.fleet().group_cost.is_some() || devices == 0 {
        return None;
    }
    let (each, more) = (view.len() / devices, view.len() % devices);
    let pairs = devices * (each * each.saturating_sub(1) / 2) + more * each;
    let all = (0..view.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
    let mut costs: Vec<f64> =
        all.map(|it| view.pair(it.0, it.1)).filter(|it| it.is_finite()).collect();
    costs.sort_by(f64::total_cmp);
    Some(costs.iter().take(pairs).sum())
}
