//! What becomes of a plan when the mix changes: what stays, what has to be laid out anew, and how many GPUs more it takes.
//!
//! The plan stays as far as it holds: every shared GPU is decided about again under the changed demand; whoever no longer fits leaves,
//! is fitted into what other GPUs have left, and else gets further ones. That is what an operator would have to do.

use crate::colocation::demand::{Demand, Pace, Timeline};
use crate::fleet::class::ClassKey;
use crate::fleet::packing::{Group, Shared, packed, shared};
use crate::fleet::yard::{Member, Need, Yard, need_of};
use crate::recommender::policy::Policy;
use crate::recommender::shape::LoadShape;
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Growths of demand that are tried.
const GROWTHS: [(f64, &str); 2] = [(1.2, "demand up 20 %"), (1.5, "demand up 50 %")];
/// Classes that are doubled at most, the largest first.
const MOST_DOUBLED: usize = 8;

/// What one change of the mix takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sensitivity {
    /// What changes.
    pub change: String,
    /// GPUs that the plan takes.
    pub gpus_before: usize,
    /// GPUs that it would take then.
    pub gpus_after: usize,
    /// Further GPUs that it would take: `gpus_after` less `gpus_before`, for doubled tenants with those that they sit on.
    pub gpus_more: i64,
    /// GPUs of the plan whose layout or way to share changes, or whose tenants do.
    pub gpus_changed: usize,
    /// Tenants of the plan that have to move.
    pub tenants_moved: usize,
    /// Tenants that come.
    pub tenants_added: usize,
}

/// Groups of one yard, as the plan has them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Planned<'a, 'b> {
    pub(crate) yard: &'a Yard<'b>,
    pub(crate) groups: &'a [Group],
}

/// What each change takes; `unchanged` is the number of GPUs that stay as they are whatever comes.
pub(crate) fn sensitivities(
    plan: &[Planned<'_, '_>],
    unchanged: usize,
    names: &BTreeMap<ClassKey, String>,
) -> Vec<Sensitivity> {
    let mut found: Vec<Sensitivity> = GROWTHS
        .iter()
        .map(|(factor, change)| grown(plan, unchanged, change, |_| *factor))
        .collect();
    let has_hours =
        plan.iter().flat_map(|it| &it.yard.members).any(|it| it.busiest_hour_factor.is_some());
    if has_hours {
        let factor = |it: &Member| it.busiest_hour_factor.unwrap_or(1.0);
        found.push(grown(plan, unchanged, "everybody at its busiest hour at once", factor));
    }
    let mut sizes: BTreeMap<ClassKey, usize> = BTreeMap::new();
    for member in plan.iter().flat_map(|it| &it.yard.members) {
        *sizes.entry(member.class).or_default() += 1;
    }
    let mut classes: Vec<(std::cmp::Reverse<usize>, ClassKey)> =
        sizes.into_iter().map(|it| (std::cmp::Reverse(it.1), it.0)).collect();
    classes.sort_unstable();
    for (_, class) in classes.into_iter().take(MOST_DOUBLED) {
        let name = names.get(&class).cloned().unwrap_or_default();
        found.push(doubled(plan, unchanged, class, &format!("class {name} doubled")));
    }
    found
}

/// Every tenant asks for a factor more.
fn grown(
    plan: &[Planned<'_, '_>],
    unchanged: usize,
    change: &str,
    factor: impl Fn(&Member) -> f64 + Sync,
) -> Sensitivity {
    let parts = plan.iter().map(|it| {
        let policy = it.yard.policy;
        let members: Vec<Member> =
            it.yard.members.par_iter().map(|it| scaled(it, factor(it), policy)).collect();
        let mut yard = Yard::new(it.yard.pool.clone(), members, policy);
        yard.pairs.clone_from(&it.yard.pairs);
        adjusted(&yard, it.groups, Vec::new(), true)
    });
    told(plan, unchanged, change, parts.collect(), 0)
}

/// As many tenants of a class come as there are.
fn doubled(
    plan: &[Planned<'_, '_>],
    unchanged: usize,
    class: ClassKey,
    change: &str,
) -> Sensitivity {
    let mut added = 0;
    let parts = plan.iter().map(|it| {
        let members = &it.yard.members;
        let own: Vec<usize> = (0..members.len()).filter(|at| members[*at].class == class).collect();
        added += own.len();
        let yard = it.yard.with_copies(&own);
        let newcomers = (members.len()..yard.members.len()).collect();
        adjusted(&yard, it.groups, newcomers, false)
    });
    let parts: Vec<Adjusted> = parts.collect();
    told(plan, unchanged, change, parts, added)
}

fn told(
    plan: &[Planned<'_, '_>],
    unchanged: usize,
    change: &str,
    parts: Vec<Adjusted>,
    added: usize,
) -> Sensitivity {
    let before = unchanged + plan.iter().map(|it| it.groups.len()).sum::<usize>();
    let after = unchanged + parts.iter().map(|it| it.devices).sum::<usize>();
    Sensitivity {
        change: change.to_owned(),
        gpus_before: before,
        gpus_after: after,
        gpus_more: after as i64 - before as i64,
        gpus_changed: parts.iter().map(|it| it.changed).sum(),
        tenants_moved: parts.iter().map(|it| it.moved).sum(),
        tenants_added: added,
    }
}

/// A tenant that asks for a factor more: requests come closer together, bursts last longer. Memory stays.
fn scaled(member: &Member, factor: f64, policy: &Policy) -> Member {
    let mut scaled = member.clone();
    let Some(demand) = &member.tenant.demand else { return scaled };
    let Some(demand) = more(demand, factor) else { return scaled };
    let own = LoadShape::of_demand(&demand, policy);
    let before = member.tenant.shape.as_ref();
    // What the recording showed of long bursts grows with the load; a demand alone knows less.
    let seen = before.and_then(|it| it.long_burst_ratio).map(|it| (it * factor).min(1.0));
    let shape = LoadShape { long_burst_ratio: seen.or(own.long_burst_ratio), ..own };
    (scaled.tenant.demand, scaled.tenant.shape) = (Some(demand), Some(shape));
    scaled.need = match &member.need {
        Need::Part => need_of(&scaled.tenant, policy),
        other => other.clone(),
    };
    scaled
}

/// A demand that fills a factor more of the time, as far as there is time; `None` for a factor that is not positive.
pub(crate) fn more(demand: &Demand, factor: f64) -> Option<Demand> {
    if !(factor > 0.0 && factor.is_finite()) {
        return None;
    }
    let of = |it: &Timeline| match demand.pace {
        Pace::Open => {
            let at = it.at_s().iter().map(|at| at / factor);
            Timeline::new(at.zip(it.work_s().iter().copied()), it.span_s() / factor)
        }
        Pace::Closed => {
            let ends = it.at_s().iter().skip(1).copied().chain([it.span_s()]);
            let pieces = it.at_s().iter().zip(it.work_s()).zip(ends);
            let longer = |((at, work), end): ((&f64, &f64), f64)| {
                (*at, (work * factor).min((end - at).max(*work)))
            };
            Timeline::new(pieces.map(longer), it.span_s())
        }
    };
    let doubts = match &demand.doubts {
        Some([short, long]) => Some([Arc::new(of(short)?), Arc::new(of(long)?)]),
        None => None,
    };
    Some(Demand { timeline: Arc::new(of(&demand.timeline)?), doubts, ..demand.clone() })
}

/// What became of the groups of one yard.
struct Adjusted {
    devices: usize,
    changed: usize,
    moved: usize,
}

/// Keeps what holds, takes out who no longer fits, and finds room for those and for newcomers.
fn adjusted(
    yard: &Yard<'_>,
    groups: &[Group],
    newcomers: Vec<usize>,
    is_decided_again: bool,
) -> Adjusted {
    let kept: Vec<(Vec<usize>, bool, Vec<usize>)> = groups
        .par_iter()
        .map(|group| match (&group.shared, is_decided_again) {
            (Some(before), true) => keep(yard, &group.members, before),
            _ => (group.members.clone(), false, Vec::new()),
        })
        .collect();
    let mut changed: BTreeSet<usize> = (0..kept.len()).filter(|it| kept[*it].1).collect();
    let mut left: Vec<usize> = kept.iter().flat_map(|it| it.2.iter().copied()).collect();
    let moved = left.len();
    left.extend(newcomers);
    let mut stay: Vec<Vec<usize>> = kept.into_iter().map(|it| it.0).collect();
    let rest = fitted_in(yard, groups, &mut stay, &mut changed, left);
    let further = packed(yard, &rest).groups.len();
    Adjusted { devices: stay.len() + further, changed: changed.len(), moved }
}

/// A group under the changed demand: who stays, whether anything about it changes, and who leaves.
fn keep(yard: &Yard<'_>, members: &[usize], before: &Shared) -> (Vec<usize>, bool, Vec<usize>) {
    let mut stay = members.to_vec();
    let mut left = Vec::new();
    while stay.len() > 1 {
        if let Some(now) = shared(yard, &stay) {
            let is_same = now.chosen.mechanism == before.chosen.mechanism
                && now.chosen.profiles() == before.chosen.profiles();
            return (stay, !(is_same && left.is_empty()), left);
        }
        let load = |it: usize| yard.least_shares(it).into_iter().fold(0.0, f64::max);
        let largest =
            (0..stay.len()).max_by(|one, other| load(stay[*one]).total_cmp(&load(stay[*other])));
        left.extend(largest.map(|it| stay.remove(it)));
    }
    (stay, true, left)
}

/// Puts tenants into groups that share and have room, each into the first; returns whoever found none.
fn fitted_in(
    yard: &Yard<'_>,
    groups: &[Group],
    stay: &mut [Vec<usize>],
    changed: &mut BTreeSet<usize>,
    left: Vec<usize>,
) -> Vec<usize> {
    let mut rest = Vec::new();
    let mut grown: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for it in left {
        let has_room = |place: &usize| {
            let mut with = stay[*place].clone();
            with.extend(grown.get(place).into_iter().flatten());
            with.push(it);
            groups[*place].shared.is_some() && stay[*place].len() > 1 && yard.way(&with).is_some()
        };
        let place = Some(it)
            .filter(|it| yard.members[*it].need == Need::Part)
            .and_then(|_| (0..stay.len()).find(|place| has_room(place)));
        match place {
            Some(place) => grown.entry(place).or_default().push(it),
            None => rest.push(it),
        }
    }
    let tried: Vec<(usize, Vec<usize>)> = grown.into_iter().collect();
    let holds: Vec<bool> = tried
        .par_iter()
        .map(|(place, more)| shared(yard, &[stay[*place].as_slice(), more].concat()).is_some())
        .collect();
    for ((place, more), holds) in tried.into_iter().zip(holds) {
        if holds {
            stay[place].extend(more);
            changed.insert(place);
        } else {
            rest.extend(more);
        }
    }
    rest.sort_unstable();
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colocation::demand::Spread;

    #[test]
    fn more_demand_fills_more_of_the_time() {
        let requests = Demand::requests("a", 10.0, (0.02, Spread::Fixed), 600.0).unwrap();
        let bursts = Demand::bursts("b", 0.3, (1.0, Spread::Fixed), 600.0).unwrap();
        for demand in [requests, bursts] {
            let ratio = more(&demand, 1.5).unwrap().busy_share() / demand.busy_share();
            assert!((ratio - 1.5).abs() < 0.05, "{ratio}");
            assert!(more(&demand, 0.0).is_none());
        }
    }

    #[test]
    fn no_burst_runs_into_the_next() {
        let bursts = Demand::bursts("b", 0.8, (1.0, Spread::Fixed), 600.0).unwrap();
        let most = more(&bursts, 5.0).unwrap();
        assert!(most.busy_share() <= 1.0 + 1e-9);
    }
}
