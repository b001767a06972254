//! Classes of workloads: tenants that a planner would call the same kind of load.
//!
//! A class follows from what a tenant is for, how its work arrives, how much of the time it works, how long its bursts are, and how
//! much memory it needs. Edges are fixed, so that a tenant's class depends on itself only.

use crate::colocation::demand::Pace;
use crate::recommender::policy::Policy;
use crate::recommender::situation::Tenant;
use crate::recommender::tenant_policy::Class;
use serde::Serialize;

/// Upper edges of busy shares, with their words.
const DUTIES: [(f64, &str); 5] = [
    (0.02, "idle most of the time (up to 2 %)"),
    (0.10, "seldom busy (2 to 10 %)"),
    (0.30, "busy 10 to 30 % of the time"),
    (0.60, "busy 30 to 60 % of the time"),
    (f64::INFINITY, "busy more than 60 % of the time"),
];
/// Upper edges of memory, GiB, with their words: about the sizes of MIG instances.
const MEMORIES: [(f64, &str); 6] = [
    (4.75, "up to 5 GB"),
    (9.5, "5 to 10 GB"),
    (19.5, "10 to 20 GB"),
    (39.25, "20 to 40 GB"),
    (79.0, "40 to 80 GB"),
    (f64::INFINITY, "more than 80 GB"),
];

/// What makes two tenants of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClassKey {
    /// What it is for.
    pub purpose: Class,
    /// Whether its owner said so.
    pub is_stated: bool,
    /// Whether it has a latency target.
    pub has_target: bool,
    /// How its work arrives; `None` where nothing shows when it was active.
    requests: Option<bool>,
    duty: Option<usize>,
    /// Whether its bursts are long enough to reach a neighbour's p99; `None` where that was not seen.
    bursts: Option<bool>,
    memory: Option<usize>,
}

/// A class with its members.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkloadClass {
    /// Short name: `A` is the largest.
    pub id: String,
    /// What it is, in words.
    pub name: String,
    /// Tenants of it.
    pub tenants: usize,
    /// Their busy shares added up: GPUs that they would fill if nothing stood in the way.
    pub busy_gpus: f64,
    /// Memory that they need at their peaks, added up, MiB; of those whose memory is known.
    pub needed_mib: f64,
    /// Those of them that can share a device with anybody under the plan's rules.
    pub sharable: usize,
}

impl ClassKey {
    /// The class of a tenant.
    pub fn of(tenant: &Tenant, policy: &Policy) -> Self {
        let demand = tenant.demand.as_ref();
        let place = |edges: &[(f64, &str)], value: f64| {
            edges.iter().position(|it| value <= it.0).unwrap_or(edges.len() - 1)
        };
        let bursts = tenant.shape.as_ref().and_then(|it| it.is_bursty(policy));
        let memory = tenant.needed_mib(policy).map(|it| place(&MEMORIES, it / 1024.0));
        Self {
            purpose: tenant.class(),
            is_stated: tenant.has_class(),
            has_target: tenant.policy.latency.is_some(),
            requests: demand.map(|it| it.pace == Pace::Open),
            duty: demand.map(|it| place(&DUTIES, it.busy_share())),
            bursts,
            memory,
        }
    }

    /// What it is, in words.
    pub fn name(&self) -> String {
        let purpose = match (self.purpose, self.is_stated) {
            (Class::LatencySensitive, _) => "latency-sensitive",
            (Class::Throughput, false) => "of unstated purpose",
            (Class::Throughput, true) => "throughput",
            (Class::Batch, _) => "batch",
            (Class::Development, _) => "development",
            (Class::Training, _) => "training",
        };
        let target = if self.has_target { " with a target" } else { "" };
        let arrives = match self.requests {
            Some(true) => "requests, ",
            Some(false) => "",
            None => "nothing shows when they work, ",
        };
        let duty = self.duty.map_or(String::new(), |it| format!("{}, ", DUTIES[it].1));
        let bursts = match (self.requests, self.bursts) {
            (None, _) => "",
            (_, Some(true)) => "long bursts, ",
            (_, Some(false)) => "short bursts, ",
            (_, None) => "bursts of unseen length, ",
        };
        let memory = self.memory.map_or("memory unknown", |it| MEMORIES[it].1);
        format!("{purpose}{target}: {arrives}{duty}{bursts}{memory}")
    }
}

/// `A` to `Z`, then `AA`.
pub(crate) fn letters(place: usize) -> String {
    let letter = |it: usize| char::from(b'A' + (it % 26) as u8);
    match place {
        it if it < 26 => letter(it).to_string(),
        it => format!("{}{}", letters(it / 26 - 1), letter(it)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_go_on_after_the_last() {
        assert_eq!([0, 25, 26, 51, 52].map(letters), ["A", "Z", "AA", "AZ", "BA"]);
    }
}
