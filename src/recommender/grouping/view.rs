//! The tenants of a fleet that are grouped at a time, numbered from 0, and what their groups cost.

use crate::recommender::grouping::Fleet;
use crate::recommender::grouping::Tenant;

/// Share of a limit by which rounding may pass it.
pub(super) const ROUNDING: f64 = 1e-9;

/// Some tenants of a fleet.
pub(super) struct View<'a> {
    fleet: &'a Fleet<'a>,
    /// Index in the fleet of each.
    members: Vec<usize>,
    /// Cost of every pair, row by row; `None` where there are too many.
    pairs: Option<Vec<f64>>,
}

impl<'a> View<'a> {
    pub(super) fn new(fleet: &'a Fleet<'a>, members: Vec<usize>, all_pairs_up_to: usize) -> Self {
        let mut view = Self { fleet, members, pairs: None };
        let len = view.len();
        if len <= all_pairs_up_to {
            let mut pairs = vec![0.0; len * len];
            for one in 0..len {
                for other in one + 1..len {
                    let cost = view.pair(one, other);
                    pairs[one * len + other] = cost;
                    pairs[other * len + one] = cost;
                }
            }
            view.pairs = Some(pairs);
        }
        view
    }

    /// Those that never meet apart from each other, where every pair is known.
    pub(super) fn parts(self) -> Vec<Self> {
        let len = self.len();
        let Some(pairs) = &self.pairs else { return vec![self] };
        let mut part: Vec<Option<usize>> = vec![None; len];
        let mut parts: Vec<Vec<usize>> = Vec::new();
        for first in 0..len {
            if part[first].is_some() {
                continue;
            }
            let (mut open, mut found) = (vec![first], Vec::new());
            part[first] = Some(parts.len());
            while let Some(one) = open.pop() {
                found.push(one);
                for (other, part) in part.iter_mut().enumerate() {
                    if part.is_none() && self.can_meet(one, other) {
                        *part = Some(parts.len());
                        open.push(other);
                    }
                }
            }
            found.sort_unstable();
            parts.push(found);
        }
        let of = |found: Vec<usize>| {
            let row = |one: &usize| -> Vec<f64> {
                found.iter().map(|other| pairs[one * len + other]).collect()
            };
            Self {
                fleet: self.fleet,
                pairs: Some(found.iter().flat_map(row).collect()),
                members: self.names(&found),
            }
        };
        parts.into_iter().map(of).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    pub(super) fn fleet(&self) -> &'a Fleet<'a> {
        self.fleet
    }

    pub(super) fn tenant(&self, one: usize) -> &'a Tenant {
        &self.fleet.tenants[self.members[one]]
    }

    /// Indices in the fleet, rising.
    pub(super) fn names(&self, group: &[usize]) -> Vec<usize> {
        let mut names: Vec<usize> = group.iter().map(|it| self.members[*it]).collect();
        names.sort_unstable();
        names
    }

    pub(super) fn has_all_pairs(&self) -> bool {
        self.pairs.is_some()
    }

    /// Cost of two; infinite where they must not meet.
    pub(super) fn pair(&self, one: usize, other: usize) -> f64 {
        match &self.pairs {
            Some(pairs) => pairs[one * self.len() + other],
            None => pair_of(self.fleet, self.members[one], self.members[other]),
        }
    }

    pub(super) fn can_meet(&self, one: usize, other: usize) -> bool {
        self.pair(one, other).is_finite() && self.check(&[one, other]).is_some()
    }

    /// Whether groups are weighed by the sum over pairs, so that they can be by adding up.
    pub(super) fn is_additive(&self) -> bool {
        self.fleet.group_cost.is_none() && self.fleet.group_peak_bytes.is_none()
    }

    /// Cost of a group; `None` where it must not be.
    pub(super) fn check(&self, group: &[usize]) -> Option<f64> {
        if !self.is_additive() || group.len() < 2 {
            return Self::cost_of(self.fleet, &self.names(group));
        }
        let peak: f64 = group.iter().map(|it| self.tenant(*it).peak_bytes).sum();
        if group.len() > self.fleet.most_in_group || peak > self.fleet.capacity_bytes {
            return None;
        }
        sum_of_pairs(
            group.len(),
            |it| self.tenant(group[it]).most_cost,
            |one, other| self.pair(group[one], group[other]),
        )
    }

    /// Cost of a group of a fleet; `None` where it must not be.
    pub(super) fn cost_of(fleet: &Fleet<'_>, group: &[usize]) -> Option<f64> {
        let peak = match fleet.group_peak_bytes {
            Some(peak) => peak(group),
            None => group.iter().map(|it| fleet.tenants[*it].peak_bytes).sum(),
        };
        // A peak that is no number does not fit.
        let fits = peak <= fleet.capacity_bytes;
        if !fits || group.len() > fleet.most_in_group {
            return None;
        }
        let pair = |one: usize, other: usize| pair_of(fleet, group[one], group[other]);
        let Some(cost) = fleet.group_cost else {
            return sum_of_pairs(group.len(), |it| fleet.tenants[group[it]].most_cost, pair);
        };
        let forbidden = (0..group.len())
            .any(|one| (one + 1..group.len()).any(|other| !pair(one, other).is_finite()));
        if forbidden { None } else { cost(group).filter(|it| it.is_finite()) }
    }
}

fn pair_of(fleet: &Fleet<'_>, one: usize, other: usize) -> f64 {
    let cost = (fleet.pair_cost)(one.min(other), one.max(other));
    if cost.is_nan() { f64::INFINITY } else { cost.max(0.0) }
}

/// Sum over all pairs; `None` where they must not meet or somebody bears more than its limit.
fn sum_of_pairs(
    len: usize,
    limit: impl Fn(usize) -> f64,
    pair: impl Fn(usize, usize) -> f64,
) -> Option<f64> {
    let mut twice = 0.0;
    for one in 0..len {
        let borne: f64 = (0..len).filter(|it| *it != one).map(|it| pair(one, it)).sum();
        if !borne.is_finite() || borne > limit(one) * (1.0 + ROUNDING) {
            return None;
        }
        twice += borne;
    }
    Some(twice / 2.0)
}
