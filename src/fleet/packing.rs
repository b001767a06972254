//! Tenants become groups, one for each device; every group is decided about as a whole.
//!
//! Groups come from `recommender::grouping`, in chunks of a few hundred tenants; what a verdict on the whole group refuses is taken
//! apart, grouped once more, and what is left then gets a device of its own.

use crate::fleet::yard::{MOST_ON_DEVICE, Need, Way, Yard, with};
use crate::recommender::decide::{Proposal, proposal};
use crate::recommender::grouping::Tenant as Piece;
use crate::recommender::grouping::{Effort, Fleet, group_with};
use crate::recommender::played::{Played, Solo};
use crate::recommender::situation::Tenant;
use crate::recommender::verdict::{Chosen, Outcome};
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};
use std::collections::{BTreeMap, BTreeSet};

/// Tenants that are grouped at a time.
const CHUNK: usize = 240;
/// Unit of how much of a device a tenant fills, as grouping wants it.
const DEVICE: f64 = 1.0;

/// Tenants for one device, with the verdict on them.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// Their places in the yard, rising.
    pub(crate) members: Vec<usize>,
    /// What was decided about them; `None` for one that has the device to itself.
    pub(crate) shared: Option<Shared>,
}

/// A group that shares.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    pub(crate) chosen: Chosen,
    pub(crate) confidence: f64,
    pub(crate) decisive: Option<String>,
    pub(crate) lowered: Vec<String>,
}

/// Groups of a yard.
#[derive(Debug, Clone, Default)]
pub(crate) struct Packing {
    /// One for each device, in the order of their first members.
    pub(crate) groups: Vec<Group>,
    /// Fewer devices are impossible.
    pub(crate) devices_at_least: usize,
    /// Groups that did well in pairs and were refused as a whole.
    pub(crate) refused: usize,
}

/// Devices for the tenants of a yard whose places are named.
pub(crate) fn packed(yard: &Yard<'_>, places: &[usize]) -> Packing {
    let (parts, wholes): (Vec<usize>, Vec<usize>) =
        places.iter().partition(|it| yard.members[**it].need == Need::Part);
    let mut found =
        Packing { devices_at_least: wholes.len() + least(yard, &parts), ..Packing::default() };
    found.groups.extend(wholes.into_iter().map(alone));
    let mut forbidden = BTreeSet::new();
    let first = grouped(yard, &parts, &forbidden);
    let left = settled(yard, first, &mut found, &mut forbidden);
    let second = grouped(yard, &left, &forbidden);
    let last = settled(yard, second, &mut found, &mut forbidden);
    found.groups.extend(last.into_iter().map(alone));
    found.groups.sort_by(|one, other| one.members.cmp(&other.members));
    found
}

fn alone(member: usize) -> Group {
    Group { members: vec![member], shared: None }
}

/// Devices that these take at least: sums over what no verdict allows more of.
///
/// Those that can only share within their trust domain meet nobody of another.
fn least(yard: &Yard<'_>, places: &[usize]) -> usize {
    let mut all = [0.0_f64; 2];
    let mut domains: BTreeMap<Option<&str>, [f64; 2]> = BTreeMap::new();
    let mut strangers = 0;
    for it in places {
        let shares = yard.least_shares(*it);
        let applicant = &yard.applicants[*it];
        if applicant.seats.is_empty() && !applicant.is_soft {
            strangers += 1;
            continue;
        }
        let domain = yard.members[*it].tenant.policy.trust_domain.as_deref();
        let own = applicant.seats.is_empty().then(|| domains.entry(domain).or_default());
        for sum in [Some(&mut all), own].into_iter().flatten() {
            sum.iter_mut().zip(shares).for_each(|(sum, it)| *sum += it);
        }
    }
    let up = |it: f64| (it - 1e-6).ceil().max(0.0) as usize;
    let of = |it: &[f64; 2]| up(it[0]).max(up(it[1]));
    strangers + of(&all).max(domains.values().map(of).sum())
}

/// Groups of those that may share, chunk by chunk, and of those that stayed alone once more.
fn grouped(yard: &Yard<'_>, places: &[usize], forbidden: &BTreeSet<Vec<usize>>) -> Vec<Vec<usize>> {
    let groups: Vec<Vec<Vec<usize>>> = chunks(yard, places)
        .par_iter()
        .map(|chunk| grouped_chunk(yard, chunk, forbidden))
        .collect();
    let groups = groups.into_iter().flatten();
    let is_alone = |it: &Vec<usize>| it.len() < 2;
    let (lonely, mut together): (Vec<_>, Vec<_>) = groups.partition(is_alone);
    let lonely: Vec<usize> = lonely.into_iter().flatten().collect();
    if lonely.len() == places.len() {
        together.extend(lonely.into_iter().map(|it| vec![it]));
    } else {
        for chunk in lonely.chunks(CHUNK) {
            together.extend(grouped_chunk(yard, chunk, forbidden));
        }
    }
    together.sort_unstable();
    together
}

/// Chunks that hold whole trust domains, as far as those are no larger than a chunk; a larger one is dealt out evenly.
fn chunks(yard: &Yard<'_>, places: &[usize]) -> Vec<Vec<usize>> {
    let mut domains: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
    for it in places {
        let domain = yard.members[*it].tenant.policy.trust_domain.as_deref();
        domains.entry(domain).or_default().push(*it);
    }
    let mut chunks: Vec<Vec<usize>> = Vec::new();
    let mut filling: Vec<usize> = Vec::new();
    for mut members in domains.into_values() {
        members.sort_by_key(|it| (yard.members[*it].class, *it));
        let hands = members.len().div_ceil(CHUNK);
        if hands > 1 {
            let hand = |hand: usize| members.iter().skip(hand).step_by(hands).copied().collect();
            chunks.extend((0..hands).map(hand));
        } else if filling.len() + members.len() > CHUNK {
            chunks.push(std::mem::replace(&mut filling, members));
        } else {
            filling.extend(members);
        }
    }
    chunks.extend((!filling.is_empty()).then_some(filling));
    chunks
}

fn grouped_chunk(
    yard: &Yard<'_>,
    places: &[usize],
    forbidden: &BTreeSet<Vec<usize>>,
) -> Vec<Vec<usize>> {
    let mut places = places.to_vec();
    places.sort_unstable();
    let is_here = |no: &&Vec<usize>| no.iter().all(|it| places.binary_search(it).is_ok());
    let forbidden: Vec<&Vec<usize>> = forbidden.iter().filter(is_here).collect();
    let of = |group: &[usize]| -> Vec<usize> { group.iter().map(|it| places[*it]).collect() };
    let fill = |it: &usize| yard.least_shares(*it).into_iter().fold(0.0, f64::max);
    let pieces: Vec<Piece> = places
        .iter()
        .map(|it| Piece { peak_bytes: fill(it) * DEVICE, most_cost: f64::INFINITY, realm: 0 })
        .collect();
    let cost = |group: &[usize]| {
        let group = of(group);
        // Whatever holds a group that was refused is refused too.
        let is_refused = forbidden.iter().any(|no| no.iter().all(|it| group.contains(it)));
        if is_refused { None } else { yard.way(&group).map(|it| it.1) }
    };
    let pair = |one: usize, other: usize| cost(&[one, other]).unwrap_or(f64::INFINITY);
    let nothing = |_: &[usize]| 0.0;
    let fleet = Fleet {
        tenants: &pieces,
        most_in_group: MOST_ON_DEVICE,
        capacity_bytes: DEVICE,
        pair_cost: &pair,
        group_peak_bytes: Some(&nothing),
        group_cost: Some(&cost),
    };
    let effort = Effort { rounds: 4, exact_up_to: 10, ..Effort::default() };
    let found = group_with(&fleet, &effort);
    let lonely = found.unplaceable.iter().map(|it| vec![places[*it]]);
    found.groups.iter().map(|it| of(it)).chain(lonely).collect()
}

/// Decides about every group as a whole; returns whoever is left over.
fn settled(
    yard: &Yard<'_>,
    groups: Vec<Vec<usize>>,
    found: &mut Packing,
    forbidden: &mut BTreeSet<Vec<usize>>,
) -> Vec<usize> {
    let decided: Vec<Settled> = groups.par_iter().map(|it| settle(yard, it)).collect();
    let mut left = Vec::new();
    for it in decided {
        found.refused += usize::from(!it.refused.is_empty());
        found.groups.extend(it.holds);
        forbidden.extend(it.refused);
        left.extend(it.left);
    }
    left.sort_unstable();
    left
}

/// What became of a group.
struct Settled {
    holds: Option<Group>,
    left: Vec<usize>,
    refused: Vec<Vec<usize>>,
}

/// Takes out the one that fills most of a device until the rest holds.
fn settle(yard: &Yard<'_>, group: &[usize]) -> Settled {
    let mut found = Settled { holds: None, left: Vec::new(), refused: Vec::new() };
    let mut members = group.to_vec();
    while members.len() > 1 {
        if let Some(shared) = shared(yard, &members) {
            found.holds = Some(Group { members, shared: Some(shared) });
            return found;
        }
        found.refused.push(members.clone());
        let fill = |it: usize| yard.least_shares(it).into_iter().fold(0.0, f64::max);
        let largest = (0..members.len())
            .max_by(|one, other| fill(members[*one]).total_cmp(&fill(members[*other])));
        found.left.extend(largest.map(|it| members.remove(it)));
    }
    found.left.extend(members);
    found
}

/// The verdict on a group, where it is that they share one device.
pub(crate) fn shared(yard: &Yard<'_>, members: &[usize]) -> Option<Shared> {
    let (way, _) = yard.way(members)?;
    let tenants: Vec<&Tenant> = members.iter().map(|it| &yard.members[*it].tenant).collect();
    let situation = with(&yard.pool.empty, &tenants);
    let solos: Vec<&Solo> = members.iter().map(|it| &yard.applicants[*it].solo).collect();
    let played = Played::of_solos(&situation, &solos, way == Way::Soft);
    let found: Proposal = proposal(&situation, &played, yard.policy);
    let chosen = found.chosen.filter(|_| found.outcome == Outcome::Share)?;
    Some(Shared {
        chosen,
        confidence: found.confidence.value(),
        decisive: found.decisive.map(|it| it.sentence),
        lowered: found.lowered_by.into_iter().map(|it| it.sentence).collect(),
    })
}
