//! What a way to share comes to: a plan, what it would do to each tenant, and what it costs.

use crate::colocation::objective::Keeping;
use crate::colocation::range::Range;
use crate::recommender::layout::Change;
use crate::recommender::mechanism::MechanismId;
use crate::recommender::mechanism::capacity::Capacity;
use crate::recommender::reason::{Reason, Weight};
use serde::Serialize;

/// How a way to share stands after it was weighed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It can be applied.
    Possible,
    /// It may be possible; something has to be measured or answered first.
    Open,
    /// It is ruled out.
    Refused,
}

/// A way to share, weighed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assessment {
    /// Which.
    pub mechanism: MechanismId,
    /// How it stands.
    pub standing: Standing,
    /// Reasons, those that decide first.
    pub reasons: Vec<Reason>,
    /// What would be done; `None` where nothing could be laid out.
    pub plan: Option<Plan>,
    /// What would happen to each tenant, in the order of the tenants.
    pub tenants: Vec<Predicted>,
    /// What it costs; `None` where nothing was predicted.
    pub cost: Option<Cost>,
    /// How many such tenants fit; `None` where that has no meaning, or is not known.
    pub capacity: Option<Capacity>,
}

impl Assessment {
    /// An assessment whose standing follows from its reasons.
    pub(crate) fn of(mechanism: MechanismId, mut reasons: Vec<Reason>) -> Self {
        reasons.sort_by_key(|it| it.weight);
        let standing = match reasons.first().map(|it| it.weight) {
            Some(Weight::Refuses) => Standing::Refused,
            Some(Weight::Open) => Standing::Open,
            _ => Standing::Possible,
        };
        let (plan, tenants, cost, capacity) = (None, Vec::new(), None, None);
        Self { mechanism, standing, reasons, plan, tenants, cost, capacity }
    }

    /// Reasons of one weight.
    pub fn of_weight(&self, weight: Weight) -> impl Iterator<Item = &Reason> {
        self.reasons.iter().filter(move |it| it.weight == weight)
    }
}

/// What would be done to share a device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// How.
    pub mechanism: MechanismId,
    /// Devices that it takes.
    pub devices: u32,
    /// What each tenant gets, in the order of the tenants.
    pub assignments: Vec<Assigned>,
    /// MIG instances with their starts, for people; `None` without MIG.
    pub layout: Option<String>,
    /// How the layout comes about from what stands; `None` without MIG.
    pub change: Option<Change>,
    /// Replicas that the device plugin offers for the device; `None` unless it is shared in software.
    pub replicas: Option<u32>,
}

/// What one tenant gets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assigned {
    /// Its name.
    pub tenant: String,
    /// Profile of its MIG instance; `None` without one.
    pub profile: Option<String>,
    /// First slot of its MIG instance; `None` without one.
    pub start: Option<u32>,
    /// Active thread percentage under MPS, 1 to 100; `None` without MPS.
    pub thread_percentage: Option<u32>,
    /// Pinned memory limit under MPS, MiB; `None` without MPS, or where its memory is not known.
    pub pinned_limit_mib: Option<f64>,
    /// Memory that it has to itself, MiB; `None` where memory is shared, or not known.
    pub own_memory_mib: Option<f64>,
    /// Memory that it needs: peak and margin, MiB; `None` where its memory is not known.
    pub needed_mib: Option<f64>,
    /// Memory of its own that it does not use, MiB; `None` where memory is shared, or not known.
    pub stranded_mib: Option<f64>,
}

impl Assigned {
    /// A tenant that gets nothing of its own.
    pub(crate) fn plain(tenant: &str, needed_mib: Option<f64>) -> Self {
        Self {
            tenant: tenant.to_owned(),
            profile: None,
            start: None,
            thread_percentage: None,
            pinned_limit_mib: None,
            own_memory_mib: None,
            needed_mib,
            stranded_mib: None,
        }
    }
}

/// What would happen to one tenant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Predicted {
    /// Its name.
    pub tenant: String,
    /// Latency at the median over that alone; `None` where it was not predicted.
    pub slowdown_p50_factor: Option<Range>,
    /// Latency at the 99th percentile over that alone; `None` where it was not predicted.
    pub slowdown_p99_factor: Option<Range>,
    /// Latency at the 99th percentile, seconds; `None` without requests, or where it was not predicted.
    pub latency_p99_s: Option<Range>,
    /// Extra time for the same work, as a share of the time alone; `None` where it was not predicted.
    pub extra_time_ratio: Option<Range>,
    /// Whether its target is kept; `None` without a target that can be held against it.
    pub target: Option<Keeping>,
    /// Chance that it runs out of memory within a day, 0 to 1; `None` where that is not known.
    pub out_of_memory_day_ratio: Option<f64>,
    /// Whether the numbers are lower limits only.
    pub is_at_least: bool,
}

/// What a way to share costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cost {
    /// Upper end of the worst p99 slowdown of all tenants; `None` where one was not predicted.
    pub worst_p99_factor: Option<f64>,
    /// Chance that any of them runs out of memory within a day, 0 to 1; `None` where that is not known.
    pub out_of_memory_day_ratio: Option<f64>,
    /// Greatest extra time for the same work of all tenants, as a share; `None` where one was not predicted.
    pub worst_extra_time_ratio: Option<f64>,
    /// Devices that it takes.
    pub devices: u32,
}

impl Cost {
    /// The cost of what would happen to all tenants.
    pub(crate) fn of(tenants: &[Predicted], out_of_memory: Option<f64>, devices: u32) -> Self {
        let worst = |of: fn(&Predicted) -> Option<f64>| -> Option<f64> {
            let all: Option<Vec<f64>> = tenants.iter().map(of).collect();
            all?.into_iter().reduce(f64::max)
        };
        Self {
            worst_p99_factor: worst(|it| it.slowdown_p99_factor.map(|it| it.high)),
            out_of_memory_day_ratio: out_of_memory,
            worst_extra_time_ratio: worst(|it| it.extra_time_ratio.map(|it| it.expected)),
            devices,
        }
    }
}

/// How much is disturbed, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DisruptionLevel {
    /// Nothing changes.
    None,
    /// Processes of this device restart.
    RestartClients,
    /// MIG instances are drained and destroyed.
    DrainInstances,
    /// Every process on the device ends.
    DrainDevice,
    /// Every process on the device ends, and the device is reset.
    ResetDevice,
}

/// What it takes to get to a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Disruption {
    /// How much is disturbed on this device.
    pub level: DisruptionLevel,
    /// Whether all devices of the node change with it.
    pub is_node_wide: bool,
    /// What happens, each in a sentence.
    pub sentences: Vec<String>,
}
