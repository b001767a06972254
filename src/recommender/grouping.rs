//! Which tenants belong on one device: the fewest devices, then the least cost of company.
//!
//! Every way to share that is no MIG comes down to this. What company costs, and what a group holds in memory, is asked of
//! the caller; nothing here knows what a GPU is. Up to [`Effort::exact_up_to`] tenants that could meet, the answer is the best there
//! is; beyond, it is a good one, and a bound says how far from the best it can be. The same fleet gives the same groups.

mod bound;
mod build;
mod improve;
mod numbers;
mod partition;
mod view;

#[cfg(test)]
mod tests;

use crate::recommender::grouping::partition::{Aim, partition};
use crate::recommender::grouping::view::View;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// A tenant to be put on a device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Tenant {
    /// Highest memory that it holds, bytes.
    pub peak_bytes: f64,
    /// Cost of all its companions that it bears, in the unit of the pair cost; infinite where it bears any finite one.
    pub most_cost: f64,
    /// Tenants of different realms never share; a trust domain, or a model of GPU.
    ///
    /// It says nothing that an infinite pair cost could not say, but it spares asking for most pairs of a large fleet.
    pub realm: u32,
}

/// What company of two costs, at least 0; infinite, or no number, where they must not meet. Asked with the lower index first.
///
/// A fleet that is too large for all pairs asks some thousand times for each tenant: keep what is dear to compute.
pub type PairCost<'a> = &'a dyn Fn(usize, usize) -> f64;
/// Highest memory of a group, bytes; never less for a larger group. Members are rising.
pub type GroupPeak<'a> = &'a dyn Fn(&[usize]) -> f64;
/// Cost of a group, `None` where it must not be; never less, and never allowed again, for a larger group. Members are rising.
pub type GroupCost<'a> = &'a dyn Fn(&[usize]) -> Option<f64>;

/// The tenants, the devices, and what company costs.
#[derive(Clone)]
pub struct Fleet<'a> {
    /// The tenants; groups name them by their index.
    pub tenants: &'a [Tenant],
    /// Tenants on one device at most.
    pub most_in_group: usize,
    /// Memory of one device, bytes.
    pub capacity_bytes: f64,
    /// Cost of two that share.
    pub pair_cost: PairCost<'a>,
    /// Memory of a group; `None` adds up the peaks.
    pub group_peak_bytes: Option<GroupPeak<'a>>,
    /// Cost of a group instead of the default: the sum over its pairs, where no tenant bears more than its limit.
    pub group_cost: Option<GroupCost<'a>>,
}

impl fmt::Debug for Fleet<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Fleet")
            .field("tenants", &self.tenants.len())
            .field("most_in_group", &self.most_in_group)
            .field("capacity_bytes", &self.capacity_bytes)
            .finish_non_exhaustive()
    }
}

/// How hard to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Tenants that could meet, up to which the best groups are found for certain; 16 at most.
    pub exact_up_to: usize,
    /// Tenants, or parts of groups, that are regrouped at a time in larger fleets; 14 at most.
    pub window: usize,
    /// Tenants of a realm up to which every pair is asked for.
    pub all_pairs_up_to: usize,
    /// Whether larger realms are asked for every pair once too, which takes time and makes their bound on devices better.
    pub asks_all_pairs_for_bound: bool,
    /// Regroupings for each group and each of the two aims, devices and cost.
    pub rounds: usize,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            exact_up_to: 14,
            window: 10,
            all_pairs_up_to: 1500,
            asks_all_pairs_for_bound: false,
            rounds: 12,
        }
    }
}

/// Who shares with whom.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Grouping {
    /// Indices of the tenants on each device, rising; in the order of their first.
    pub groups: Vec<Vec<usize>>,
    /// Cost of all groups.
    pub cost: f64,
    /// Tenants that no device holds even alone, rising; they are in no group.
    pub unplaceable: Vec<usize>,
    /// Whether there is no better one for certain.
    pub is_exact: bool,
    /// Fewer devices are impossible.
    pub devices_at_least: usize,
    /// With this number of devices, less cost is impossible; `None` where not every pair was asked for.
    pub cost_at_least: Option<f64>,
}

impl Grouping {
    /// Devices that might be saved at most by better groups, as a share of those used; 0 for none.
    pub fn device_gap(&self) -> f64 {
        match self.groups.len() {
            0 => 0.0,
            used => (used - self.devices_at_least.min(used)) as f64 / used as f64,
        }
    }
}

/// The groups of a fleet with the usual effort.
pub fn group(fleet: &Fleet<'_>) -> Grouping {
    group_with(fleet, &Effort::default())
}

/// The groups of a fleet.
pub fn group_with(fleet: &Fleet<'_>, effort: &Effort) -> Grouping {
    let mut result = Grouping {
        groups: Vec::new(),
        cost: 0.0,
        unplaceable: Vec::new(),
        is_exact: true,
        devices_at_least: 0,
        cost_at_least: Some(0.0),
    };
    let mut realms: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (index, tenant) in fleet.tenants.iter().enumerate() {
        match View::cost_of(fleet, &[index]) {
            Some(_) => realms.entry(tenant.realm).or_default().push(index),
            None => result.unplaceable.push(index),
        }
    }
    for members in realms.into_values() {
        let view = View::new(fleet, members, effort.all_pairs_up_to);
        for part in view.parts() {
            solve(&part, effort, &mut result);
        }
    }
    result.groups.sort_unstable();
    result.cost = result.groups.iter().filter_map(|it| View::cost_of(fleet, it)).sum();
    if result.is_exact {
        result.cost_at_least = Some(result.cost);
    }
    result
}

/// Groups tenants of which each might meet each, and adds them to the result.
fn solve(view: &View<'_>, effort: &Effort, result: &mut Grouping) {
    let exact_up_to = effort.exact_up_to.min(partition::MOST_ITEMS);
    let (groups, bound) = if view.len() <= exact_up_to {
        let items: Vec<Vec<usize>> = (0..view.len()).map(|it| vec![it]).collect();
        let groups = partition(view, &items, Aim::Cost).unwrap_or(items);
        let devices = groups.len();
        let cost = groups.iter().filter_map(|it| view.check(it)).sum();
        (groups, bound::Bound { devices, cost: Some(cost) })
    } else {
        let least = bound::devices(view, effort.asks_all_pairs_for_bound);
        let groups = improve::best(view, effort, least);
        let cost = bound::cost(view, groups.len());
        result.is_exact = false;
        (groups, bound::Bound { devices: least, cost })
    };
    result.devices_at_least += bound.devices;
    result.cost_at_least = result.cost_at_least.zip(bound.cost).map(|it| it.0 + it.1);
    result.groups.extend(groups.iter().map(|it| view.names(it)));
}
