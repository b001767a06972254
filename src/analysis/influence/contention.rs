//! Time in which somebody may have had to wait: the weaker evidence, which needs no victim.

use crate::analysis::influence::cast::Member;
use crate::analysis::influence::conditions::Conditions;
use crate::analysis::influence::findings::{ContendedPair, Contention};
use crate::analysis::influence::grid::Grid;

/// Utilisation from which the device counts as saturated, 0 to 1.
const SATURATED: f64 = 0.95;
/// Activity from which a tenant counts as active, 0 to 1.
const ACTIVE: f64 = 0.05;
/// Most pairs that are listed.
const MOST_PAIRS: usize = 20;

/// Contended time of everybody on a device; `None` with fewer than two tenants or without the device's utilisation.
pub(crate) fn contention(
    cast: &[Member<'_>],
    activities: &[Vec<f64>],
    conditions: &Conditions,
    grid: &Grid,
) -> Option<Contention> {
    let device = conditions.utilisation.as_ref()?;
    let seen: Vec<usize> =
        (0..cast.len()).filter(|it| activities[*it].iter().any(|it| it.is_finite())).collect();
    if seen.len() < 2 {
        return None;
    }
    let is_active = |member: usize, bin: usize| activities[member][bin] >= ACTIVE;
    let (mut contended, mut looked) = (0_u64, 0_u64);
    let mut pairs = vec![0_u64; cast.len() * cast.len()];
    for bin in 0..grid.bins {
        if !device[bin].is_finite() || seen.iter().all(|it| activities[*it][bin].is_nan()) {
            continue;
        }
        looked += 1;
        if device[bin] < SATURATED {
            continue;
        }
        let active: Vec<usize> = seen.iter().copied().filter(|it| is_active(*it, bin)).collect();
        contended += u64::from(active.len() > 1);
        for (place, first) in active.iter().enumerate() {
            for second in &active[place + 1..] {
                pairs[first * cast.len() + second] += 1;
            }
        }
    }
    let mut listed: Vec<ContendedPair> = pairs
        .iter()
        .enumerate()
        .filter(|it| *it.1 > 0)
        .map(|(place, bins)| ContendedPair {
            first: cast[place / cast.len()].label.clone(),
            second: cast[place % cast.len()].label.clone(),
            contended_s: *bins as f64 * grid.step_s(),
        })
        .collect();
    listed.sort_by(|a, b| b.contended_s.total_cmp(&a.contended_s));
    listed.truncate(MOST_PAIRS);
    (looked > 0).then(|| Contention {
        tenants: seen.iter().map(|it| cast[*it].label.clone()).collect(),
        contended_s: contended as f64 * grid.step_s(),
        seen_s: looked as f64 * grid.step_s(),
        pairs: listed,
        caveat: "weaker evidence: a saturated device with two active tenants makes waiting possible, but only a tenant's own latency or throughput shows whether anybody was slowed, and by whom".to_owned(),
    })
}
