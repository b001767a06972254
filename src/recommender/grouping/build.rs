//! First groups: one after the other is begun with the hardest tenant left and filled from size classes.

use crate::recommender::grouping::numbers::Numbers;
use crate::recommender::grouping::view::View;

/// Classes of tenants, from the hardest to the easiest to place.
const CLASSES: usize = 16;
/// Tenants of a class that are tried each time a group is to be filled.
const TRIED: usize = 16;
/// Others with which a tenant is compared to see how hard it is to place.
const SAMPLED: usize = 16;

/// Which of the tenants that fit is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pick {
    /// The hardest to place.
    Heaviest,
    /// The one that costs least for its weight.
    Cheapest,
    /// The one that uses up least of what anybody of the group can still bear, for the square of its weight.
    Thrifty,
}

/// How hard each tenant is to place: the share of a device that it fills, by memory, by number or by what it bears.
pub(super) fn weights(view: &View<'_>) -> Vec<f64> {
    let mut numbers = Numbers::new(1);
    let least = 1.0 / view.fleet().most_in_group.max(1) as f64;
    let weigh = |one: usize| {
        let tenant = view.tenant(one);
        let others = (0..SAMPLED).map(|_| numbers.below(view.len())).filter(|it| *it != one);
        let costs: Vec<f64> =
            others.map(|it| view.pair(one, it)).filter(|it| it.is_finite()).collect();
        let mean = costs.iter().sum::<f64>() / costs.len().max(1) as f64;
        let by_cost = mean / (mean + tenant.most_cost).max(f64::MIN_POSITIVE);
        (tenant.peak_bytes / view.fleet().capacity_bytes).max(by_cost).max(least)
    };
    (0..view.len()).map(weigh).collect()
}

/// Groups that may be, of all tenants.
pub(super) fn build(view: &View<'_>, weights: &[f64], pick: Pick, seed: u64) -> Vec<Vec<usize>> {
    let mut numbers = Numbers::new(seed);
    let mut order: Vec<usize> = (0..view.len()).collect();
    order.sort_by(|one, other| weights[*other].total_cmp(&weights[*one]).then(one.cmp(other)));
    let length = view.len().div_ceil(CLASSES).max(1);
    // The hardest of a class stands last, where it is taken off easily.
    let mut classes: Vec<Vec<usize>> =
        order.chunks(length).map(|it| it.iter().rev().copied().collect()).collect();
    let mut groups = Vec::new();
    while let Some(hardest) = classes.iter_mut().find(|it| !it.is_empty()).and_then(Vec::pop) {
        let mut group = Growing::new(view, hardest);
        while let Some((class, at)) = next(&group, &classes, weights, pick, &mut numbers) {
            let tenant = classes[class].remove(at);
            group.add(tenant);
        }
        groups.push(group.members);
    }
    groups
}

/// The best of some candidates of every class: which class, and where in it.
fn next(
    group: &Growing<'_>,
    classes: &[Vec<usize>],
    weights: &[f64],
    pick: Pick,
    numbers: &mut Numbers,
) -> Option<(usize, usize)> {
    let mut best: Option<(f64, usize, usize)> = None;
    for (class, tenants) in classes.iter().enumerate().filter(|it| !it.1.is_empty()) {
        for tried in 0..TRIED.min(tenants.len()) {
            let at = if tried == 0 { tenants.len() - 1 } else { numbers.below(tenants.len()) };
            let Some((added, spent)) = group.cost_with(tenants[at]) else { continue };
            let weight = weights[tenants[at]];
            let score = match pick {
                Pick::Heaviest => -weight,
                Pick::Cheapest => added / weight,
                Pick::Thrifty => spent / (weight * weight),
            };
            if best.is_none_or(|it| score < it.0) {
                best = Some((score, class, at));
            }
        }
    }
    best.map(|it| (it.1, it.2))
}

/// A group that is being filled, with what each member bears so far.
struct Growing<'a> {
    view: &'a View<'a>,
    members: Vec<usize>,
    borne: Vec<f64>,
    peak_bytes: f64,
}

impl<'a> Growing<'a> {
    fn new(view: &'a View<'a>, first: usize) -> Self {
        let peak_bytes = view.tenant(first).peak_bytes;
        Self { view, members: vec![first], borne: vec![0.0], peak_bytes }
    }

    /// What a further member adds to the cost, and the largest share of what somebody can still bear that it uses up.
    ///
    /// `None` where it must not come in.
    fn cost_with(&self, other: usize) -> Option<(f64, f64)> {
        let fleet = self.view.fleet();
        if self.members.len() >= fleet.most_in_group {
            return None;
        }
        if !self.view.is_additive() {
            let with = [self.members.as_slice(), &[other]].concat();
            let added = self.view.check(&with)? - self.view.check(&self.members)?;
            return Some((added, added));
        }
        let tenant = self.view.tenant(other);
        if self.peak_bytes + tenant.peak_bytes > fleet.capacity_bytes {
            return None;
        }
        let mut added = 0.0;
        let mut spent = 0.0_f64;
        for (member, borne) in self.members.iter().zip(&self.borne) {
            let cost = self.view.pair(*member, other);
            added += cost;
            if !cost.is_finite()
                || borne + cost > self.view.tenant(*member).most_cost
                || added > tenant.most_cost
            {
                return None;
            }
            let left = self.view.tenant(*member).most_cost - borne;
            spent = spent.max(cost / left.max(f64::MIN_POSITIVE));
        }
        let own = added / tenant.most_cost.max(f64::MIN_POSITIVE);
        Some((added, spent.max(own)))
    }

    fn add(&mut self, other: usize) {
        let mut all = 0.0;
        for (member, borne) in self.members.iter().zip(&mut self.borne) {
            let cost = self.view.pair(*member, other);
            *borne += cost;
            all += cost;
        }
        self.members.push(other);
        self.borne.push(all);
        self.peak_bytes += self.view.tenant(other).peak_bytes;
    }
}
