//! What a plan costs in freedom: the largest job still possible, whole GPUs after draining, and capacity in parts that cannot be pooled.

use crate::domain::mig_geometry::MigBoard;
use crate::recommender::layout::{Layout, leftover};
use serde::Serialize;
use std::collections::BTreeMap;

/// Sizes of jobs, in GPUs of one host, for which draining is priced.
const JOBS: [usize; 4] = [1, 2, 4, 8];

/// A GPU and who is on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seated {
    /// Its host; GPUs without one count as one host.
    pub(crate) host: Option<String>,
    /// Its pool: one job wants GPUs of one kind.
    pub(crate) pool: String,
    /// Short name for people.
    pub(crate) label: String,
    /// Tenants on it.
    pub(crate) tenants: Vec<String>,
}

/// What a fleet can still take.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Freedom {
    /// GPUs that there are.
    pub gpus: usize,
    /// GPUs with nobody on them.
    pub whole_gpus_free: usize,
    /// Hosts with nobody on any of their GPUs.
    pub whole_hosts_free: usize,
    /// Largest job on GPUs of one kind and one host, without moving anybody, in GPUs.
    pub largest_job_on_one_host_gpus: usize,
    /// Largest job on GPUs of one kind over all hosts, without moving anybody, in GPUs.
    pub largest_job_over_hosts_gpus: usize,
    /// What it takes to get whole GPUs on one host; sizes that no host has are left out.
    pub drains: Vec<Drain>,
}

/// What it takes to get whole GPUs of one kind on one host.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drain {
    /// GPUs that are wanted.
    pub gpus: usize,
    /// Tenants that have to move or end: the fewest.
    pub tenants_to_move: usize,
    /// The host; `None` where the recordings name none.
    pub host: Option<String>,
    /// The GPUs to be cleared; those that are free already are left out.
    pub clear: Vec<String>,
}

/// Capacity in MIG instances that no single job can use.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct PartCapacity {
    /// GPUs that the plan cuts into instances.
    pub gpus_cut: usize,
    /// Compute slices that no instance has, over all of them.
    pub free_compute_slices: u32,
    /// The same as whole GPUs: so many would be free if slices could be pooled.
    pub free_as_gpus: f64,
    /// Compute slices that no further instance can use.
    pub stranded_compute_slices: u32,
    /// Memory that no further instance can use, MiB; of boards whose sizes are known.
    pub stranded_mib: f64,
    /// Memory of instances beyond what their tenants need, MiB.
    pub unused_in_instances_mib: f64,
    /// The largest instance that could still be made on each GPU, by profile.
    pub largest_free: Vec<FreePart>,
}

/// A profile, and on how many GPUs it is the largest that could still be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FreePart {
    /// The profile.
    pub profile: String,
    /// GPUs.
    pub gpus: usize,
}

/// What a fleet can still take as these GPUs are used.
pub(crate) fn freedom(seats: &[Seated]) -> Freedom {
    let is_free = |it: &&Seated| it.tenants.is_empty();
    let mut hosts: BTreeMap<&Option<String>, bool> = BTreeMap::new();
    let mut on_host: BTreeMap<(&Option<String>, &str), usize> = BTreeMap::new();
    let mut in_pool: BTreeMap<&str, usize> = BTreeMap::new();
    for it in seats {
        let is_empty = it.tenants.is_empty();
        *hosts.entry(&it.host).or_insert(true) &= is_empty;
        *on_host.entry((&it.host, &it.pool)).or_default() += usize::from(is_empty);
        *in_pool.entry(&it.pool).or_default() += usize::from(is_empty);
    }
    Freedom {
        gpus: seats.len(),
        whole_gpus_free: seats.iter().filter(is_free).count(),
        whole_hosts_free: hosts.iter().filter(|it| it.0.is_some() && *it.1).count(),
        largest_job_on_one_host_gpus: on_host.values().copied().max().unwrap_or(0),
        largest_job_over_hosts_gpus: in_pool.values().copied().max().unwrap_or(0),
        drains: JOBS.iter().filter_map(|it| drain(seats, *it)).collect(),
    }
}

/// The fewest tenants to be moved for so many GPUs of one kind on one host; `None` where no host has so many.
fn drain(seats: &[Seated], gpus: usize) -> Option<Drain> {
    let mut places: BTreeMap<(&Option<String>, &str), Vec<&Seated>> = BTreeMap::new();
    for it in seats {
        places.entry((&it.host, &it.pool)).or_default().push(it);
    }
    let of_place = |((host, _), mut all): ((&Option<String>, &str), Vec<&Seated>)| {
        all.sort_by_key(|it| (it.tenants.len(), &it.label));
        let wanted = all.get(..gpus)?;
        Some(Drain {
            gpus,
            tenants_to_move: wanted.iter().map(|it| it.tenants.len()).sum(),
            host: host.clone(),
            clear: wanted
                .iter()
                .filter(|it| !it.tenants.is_empty())
                .map(|it| it.label.clone())
                .collect(),
        })
    };
    places.into_iter().filter_map(of_place).min_by_key(|it| it.tenants_to_move)
}

/// What the layouts of a plan leave in parts; `unused_mib` is what tenants of each do not use of their instances.
pub(crate) fn part_capacity<'a>(
    layouts: impl Iterator<Item = (&'a MigBoard, &'a Layout, f64)>,
) -> PartCapacity {
    let mut found = PartCapacity::default();
    let mut largest: BTreeMap<String, usize> = BTreeMap::new();
    for (board, layout, unused_mib) in layouts {
        let Some(left) = leftover(board, layout) else { continue };
        found.gpus_cut += 1;
        found.free_compute_slices += left.free_compute_slices;
        found.free_as_gpus +=
            f64::from(left.free_compute_slices) / f64::from(board.compute_slices.max(1));
        found.stranded_compute_slices += left.stranded_compute_slices;
        found.stranded_mib += left.stranded_memory_mib.unwrap_or(0) as f64;
        found.unused_in_instances_mib += unused_mib;
        if let Some(profile) = left.largest_profile.and_then(|it| board.profiles.get(it)) {
            *largest.entry(profile.name.to_string()).or_default() += 1;
        }
    }
    let part = |(profile, gpus)| FreePart { profile, gpus };
    found.largest_free = largest.into_iter().map(part).collect();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seated(host: &str, label: &str, tenants: usize) -> Seated {
        Seated {
            host: Some(host.to_owned()),
            pool: "H100".to_owned(),
            label: label.to_owned(),
            tenants: (0..tenants).map(|it| format!("{label}-{it}")).collect(),
        }
    }

    #[test]
    fn jobs_take_free_gpus_of_one_host_and_draining_takes_the_emptiest() {
        let seats = [
            seated("a", "a0", 0),
            seated("a", "a1", 4),
            seated("b", "b0", 1),
            seated("b", "b1", 2),
            seated("c", "c0", 0),
        ];
        let found = freedom(&seats);
        assert_eq!((found.whole_gpus_free, found.whole_hosts_free), (2, 1));
        assert_eq!(found.largest_job_on_one_host_gpus, 1);
        assert_eq!(found.largest_job_over_hosts_gpus, 2);
        let sizes: Vec<(usize, usize)> =
            found.drains.iter().map(|it| (it.gpus, it.tenants_to_move)).collect();
        assert_eq!(sizes, [(1, 0), (2, 3)]);
        assert_eq!(found.drains[1].clear, ["b0", "b1"]);
    }
}
