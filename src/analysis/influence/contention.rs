//! Time in which somebody may have had to wait: the weaker evidence, which needs no victim.

use crate::analysis::influence::cast::Member;
use crate::analysis::influence::conditions::Conditions;
use crate::analysis::influence::findings::{ContendedPair, Contention};
use crate::analysis::influence::grid::Grid;
use crate::domain::shares::FULL;

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
        if device[bin] < FULL {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ident::{Subject, TenantId};
    use crate::domain::time::{TimeSpan, Timestamp};

    fn member(name: &str) -> Member<'static> {
        Member {
            label: name.to_owned(),
            subject: Subject::Tenant { gpu: None, tenant: TenantId::new(name) },
            activities: Vec::new(),
            service: None,
            has_gpu_clock: false,
            instance: None,
        }
    }

    fn found(device: Option<Vec<f64>>, activities: &[Vec<f64>]) -> Option<Contention> {
        let span = TimeSpan::new(Timestamp::from_micros(0), Timestamp::from_micros(5_000_000));
        let grid = Grid::over(span.unwrap(), 1.0);
        let cast: Vec<Member<'_>> =
            ["a", "b"].into_iter().take(activities.len()).map(member).collect();
        let conditions = Conditions { utilisation: device, ..Conditions::default() };
        contention(&cast, activities, &conditions, &grid)
    }

    #[test]
    fn time_counts_where_the_device_is_full_and_two_are_active_and_was_seen() {
        let device = vec![1.0, 1.0, 0.5, f64::NAN, 1.0];
        let both = [vec![0.6, 0.0, 0.5, 0.5, 0.9], vec![0.4, 1.0, 0.5, 0.5, 0.1]];
        let it = found(Some(device), &both).unwrap();
        assert_eq!((it.contended_s, it.seen_s), (2.0, 4.0));
        assert_eq!((it.pairs[0].first.as_str(), it.pairs[0].contended_s), ("a", 2.0));
        assert!(it.caveat.contains("weaker"));
    }

    #[test]
    fn one_tenant_or_an_unseen_device_is_no_contention_and_no_zero() {
        assert_eq!(found(Some(vec![1.0; 5]), &[vec![1.0; 5]]), None);
        assert_eq!(found(None, &[vec![1.0; 5], vec![1.0; 5]]), None);
    }
}
