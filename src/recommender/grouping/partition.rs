//! The best groups of a few, by dynamic programming over subsets.
//!
//! best(S) = min over groups G ⊆ S that hold the first of S: (1, cost(G)) + best(S ∖ G); 3ⁿ steps at most, far fewer where few
//! groups may be. A subset of which a part must not be is not even asked for.

use crate::recommender::grouping::view::{ROUNDING, View};

/// Most items that are taken; 3¹⁶ are 43 million steps.
pub(super) const MOST_ITEMS: usize = 16;

/// What is better among partitions into equally many groups.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Aim<'a> {
    /// Less cost.
    Cost,
    /// Groups as unlike in weight as can be, so that light ones can be given up later; weight of each tenant.
    Packed(&'a [f64]),
}

/// The partition of items into the fewest groups that may be, then with the best aim.
///
/// An item is some tenants that stay together. `None` where an item alone must not be, or there are too many of them.
pub(super) fn partition(
    view: &View<'_>,
    items: &[Vec<usize>],
    aim: Aim<'_>,
) -> Option<Vec<Vec<usize>>> {
    if items.len() > MOST_ITEMS {
        return None;
    }
    let costs = costs_of_subsets(view, items);
    let values: Vec<f64> = match aim {
        Aim::Cost => costs,
        Aim::Packed(weights) => packed(&costs, items, weights),
    };
    // Groups that may be, by their first item; only sets that can be left over are ever looked at.
    let mut groups: Vec<Vec<usize>> = vec![Vec::new(); items.len()];
    for set in (1..values.len()).filter(|it| values[*it] < f64::INFINITY) {
        groups[set.trailing_zeros() as usize].push(set);
    }
    let mut table = Table { values, groups, best: Vec::new() };
    table.best.resize(table.values.len(), None);
    let all = table.values.len() - 1;
    let mut left = all;
    table.best_of(all)?;
    let mut found = Vec::new();
    while left != 0 {
        let choice = table.best[left]?.choice;
        found.push(union(items, choice));
        left ^= choice;
    }
    Some(found)
}

/// The best that was found for a set of items.
#[derive(Debug, Clone, Copy)]
struct Best {
    groups: u32,
    value: f64,
    /// The group that holds the first item.
    choice: usize,
}

struct Table {
    values: Vec<f64>,
    groups: Vec<Vec<usize>>,
    best: Vec<Option<Best>>,
}

impl Table {
    /// Groups and value of the best partition of a set; `None` where an item alone must not be.
    fn best_of(&mut self, set: usize) -> Option<(u32, f64)> {
        if set == 0 {
            return Some((0, 0.0));
        }
        if let Some(best) = self.best[set] {
            return Some((best.groups, best.value));
        }
        let first = set.trailing_zeros() as usize;
        let mut best: Option<Best> = None;
        for at in 0..self.groups[first].len() {
            let choice = self.groups[first][at];
            if choice & !set != 0 {
                continue;
            }
            let Some((groups, value)) = self.best_of(set ^ choice) else { continue };
            let (groups, value) = (groups + 1, value + self.values[choice]);
            if best.is_none_or(|it| (groups, value) < (it.groups, it.value)) {
                best = Some(Best { groups, value, choice });
            }
        }
        self.best[set] = best;
        best.map(|it| (it.groups, it.value))
    }
}

fn union(items: &[Vec<usize>], set: usize) -> Vec<usize> {
    let chosen = (0..items.len()).filter(|it| set >> it & 1 == 1);
    let mut union: Vec<usize> = chosen.flat_map(|it| items[it].iter().copied()).collect();
    union.sort_unstable();
    union
}

/// Minus the square of the weight of each subset that may be.
fn packed(costs: &[f64], items: &[Vec<usize>], weights: &[f64]) -> Vec<f64> {
    let of: Vec<f64> = items.iter().map(|it| it.iter().map(|it| weights[*it]).sum()).collect();
    let value = |(set, cost): (usize, &f64)| {
        let weight: f64 = (0..of.len()).filter(|it| set >> it & 1 == 1).map(|it| of[it]).sum();
        if *cost < f64::INFINITY { -weight * weight } else { f64::INFINITY }
    };
    costs.iter().enumerate().map(value).collect()
}

/// Cost of every subset of the items; infinite where it must not be.
fn costs_of_subsets(view: &View<'_>, items: &[Vec<usize>]) -> Vec<f64> {
    let sums = view.is_additive().then(|| Sums::new(view, items));
    let mut costs = vec![0.0; 1 << items.len()];
    for set in 1..costs.len() {
        let without_first = set & (set - 1);
        let without_last = set ^ (1 << set.ilog2());
        let can_be = costs[without_first] < f64::INFINITY && costs[without_last] < f64::INFINITY;
        let cost = match &sums {
            _ if !can_be => None,
            Some(sums) => sums.cost(set),
            None => view.check(&union(items, set)),
        };
        costs[set] = cost.unwrap_or(f64::INFINITY);
    }
    costs
}

/// What each tenant bears from each item, for the default cost.
struct Sums {
    items: usize,
    /// Tenants of each item: from which to which row.
    rows: Vec<(usize, usize)>,
    borne: Vec<f64>,
    limits: Vec<f64>,
    peaks: Vec<f64>,
    capacity: f64,
    most: usize,
}

impl Sums {
    fn new(view: &View<'_>, items: &[Vec<usize>]) -> Self {
        let mut sums = Self {
            items: items.len(),
            rows: Vec::new(),
            borne: Vec::new(),
            limits: Vec::new(),
            peaks: Vec::new(),
            capacity: view.fleet().capacity_bytes,
            most: view.fleet().most_in_group,
        };
        for item in items {
            sums.rows.push((sums.limits.len(), sums.limits.len() + item.len()));
            sums.peaks.push(item.iter().map(|it| view.tenant(*it).peak_bytes).sum());
            for one in item {
                sums.limits.push(view.tenant(*one).most_cost * (1.0 + ROUNDING));
                sums.borne.extend(items.iter().map(|others| {
                    let others = others.iter().filter(|it| *it != one);
                    others.map(|it| view.pair(*one, *it)).sum::<f64>()
                }));
            }
        }
        sums
    }

    fn cost(&self, set: usize) -> Option<f64> {
        let chosen = || (0..self.items).filter(|it| set >> it & 1 == 1);
        let size: usize = chosen().map(|it| self.rows[it].1 - self.rows[it].0).sum();
        let peak: f64 = chosen().map(|it| self.peaks[it]).sum();
        if peak > self.capacity || size > self.most {
            return None;
        }
        let mut twice = 0.0;
        for item in chosen() {
            for row in self.rows[item].0..self.rows[item].1 {
                let borne: f64 = chosen().map(|it| self.borne[row * self.items + it]).sum();
                if !borne.is_finite() || borne > self.limits[row] {
                    return None;
                }
                twice += borne;
            }
        }
        Some(twice / 2.0)
    }
}
