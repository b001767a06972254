//! Who may share with whom: one verdict for each pair of classes, by the same decision as for a device.
//!
//! A class is represented by its member of median busy share. Pairs order groups and keep hopeless ones from being tried; what goes
//! into a plan is decided about with the real tenants.

use crate::fleet::class::ClassKey;
use crate::fleet::yard::{Applicant, Member, Need, Pool, Yard, with};
use crate::recommender::decide::proposal;
use crate::recommender::mechanism::MechanismId;
use crate::recommender::played::Played;
use crate::recommender::policy::Policy;
use crate::recommender::situation::Tenant;
use crate::recommender::verdict::Outcome;
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};
use serde::Serialize;
use std::collections::BTreeMap;

/// What a pair counts as that may share but whose p99 was not predicted: worse than most that were.
const UNKNOWN_EXTRA: f64 = 1.0;
/// Names of trust domains that stand for one, and for two that differ.
const DOMAINS: [&str; 2] = ["one", "another"];

/// Two classes on GPUs of one pool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compatibility {
    /// The GPUs.
    pub pool: String,
    /// One class.
    pub one: String,
    /// The other; the same for two of one class.
    pub other: String,
    /// Where both are of one trust domain.
    pub within_a_domain: PairVerdict,
    /// Where they are strangers.
    pub between_strangers: PairVerdict,
}

/// What comes of two that would share one device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairVerdict {
    /// What it comes to.
    pub outcome: Outcome,
    /// How they would share; `None` where they must not.
    pub mechanism: Option<MechanismId>,
    /// Upper end of the worse p99 slowdown; `None` where it was not predicted, or nobody shares.
    pub worst_p99_factor: Option<f64>,
    /// Chance that they run out of memory within a day, 0 to 1; `None` where that is not known, or nobody shares.
    pub out_of_memory_day_ratio: Option<f64>,
    /// What decides, in a sentence.
    pub reason: String,
}

impl PairVerdict {
    /// Extra p99 that company costs, as a share; `None` where they must not share.
    fn cost(&self) -> Option<f64> {
        let extra = self.worst_p99_factor.map_or(UNKNOWN_EXTRA, |it| (it - 1.0).max(0.0));
        (self.outcome == Outcome::Share).then_some(extra)
    }
}

/// A class with whoever stands for it.
struct Representative<'a> {
    class: ClassKey,
    member: &'a Member,
    applicant: &'a Applicant,
}

/// Extra p99 that company of two classes costs, as a share; `None` where they must not share.
pub(crate) type PairCosts = BTreeMap<(ClassKey, ClassKey), Option<f64>>;

/// Verdicts on all pairs of classes of a yard, and what they cost within a trust domain.
pub(crate) fn compatibilities(
    yard: &Yard<'_>,
    names: &BTreeMap<ClassKey, String>,
) -> (Vec<Compatibility>, PairCosts) {
    let representatives = representatives(yard);
    let pairs: Vec<(usize, usize)> = (0..representatives.len())
        .flat_map(|one| (one..representatives.len()).map(move |other| (one, other)))
        .collect();
    let (pool, policy) = (&yard.pool, yard.policy);
    let decided: Vec<[PairVerdict; 2]> = pairs
        .par_iter()
        .map(|(one, other)| {
            let both = [&representatives[*one], &representatives[*other]];
            [verdict(pool, both, policy, true), verdict(pool, both, policy, false)]
        })
        .collect();
    let mut found = Vec::new();
    let mut costs = BTreeMap::new();
    for ((one, other), [within, between]) in pairs.into_iter().zip(decided) {
        let classes = [representatives[one].class, representatives[other].class];
        costs.insert((classes[0], classes[1]), within.cost());
        let name = |it: &ClassKey| names.get(it).cloned().unwrap_or_default();
        found.push(Compatibility {
            pool: pool.name.clone(),
            within_a_domain: within.about([name(&classes[0]), name(&classes[1])]),
            between_strangers: between.about([name(&classes[0]), name(&classes[1])]),
            one: name(&classes[0]),
            other: name(&classes[1]),
        });
    }
    (found, costs)
}

impl PairVerdict {
    /// The same with its reason about classes, where the decision was about two members of no name.
    fn about(mut self, classes: [String; 2]) -> Self {
        let is_one = classes[0] == classes[1];
        for (place, class) in classes.iter().enumerate() {
            let word = DOMAINS[place];
            let called = if is_one { format!("{word} of {class}") } else { class.clone() };
            self.reason = self.reason.replace(&format!("`{word}`"), &format!("`{called}`"));
        }
        self
    }
}

/// One member of each class that may share: the one of median busy share. Classes rise.
fn representatives<'a>(yard: &'a Yard<'_>) -> Vec<Representative<'a>> {
    let mut classes: BTreeMap<ClassKey, Vec<usize>> = BTreeMap::new();
    for (place, member) in yard.members.iter().enumerate() {
        if member.need == Need::Part {
            classes.entry(member.class).or_default().push(place);
        }
    }
    let of_class = |(class, mut places): (ClassKey, Vec<usize>)| {
        places.sort_by(|one, other| {
            let busy = |it: &usize| yard.applicants[*it].load[0];
            let name = |it: &usize| &yard.members[*it].tenant.name;
            busy(one).total_cmp(&busy(other)).then_with(|| name(one).cmp(name(other)))
        });
        let middle = places[places.len() / 2];
        Representative { class, member: &yard.members[middle], applicant: &yard.applicants[middle] }
    };
    classes.into_iter().map(of_class).collect()
}

fn verdict(
    pool: &Pool,
    both: [&Representative<'_>; 2],
    policy: &Policy,
    is_one_domain: bool,
) -> PairVerdict {
    let named = |it: &Representative<'_>, place: usize| {
        let mut tenant: Tenant = it.member.tenant.clone();
        tenant.name = DOMAINS[place].to_owned();
        let domain = if is_one_domain { DOMAINS[0] } else { DOMAINS[place] };
        tenant.policy.trust_domain = Some(domain.to_owned());
        if let Some(demand) = &mut tenant.demand {
            demand.name.clone_from(&tenant.name);
        }
        tenant
    };
    let tenants = [named(both[0], 0), named(both[1], 1)];
    let situation = with(&pool.empty, &[&tenants[0], &tenants[1]]);
    let solos = both.map(|it| &it.applicant.solo);
    let played = Played::of_solos(&situation, &solos, is_one_domain);
    let found = proposal(&situation, &played, policy);
    let chosen = found.chosen.as_ref().filter(|_| found.outcome == Outcome::Share);
    let reason = found.decisive.map(|it| it.sentence).unwrap_or_default();
    PairVerdict {
        outcome: found.outcome,
        mechanism: chosen.map(|it| it.mechanism),
        worst_p99_factor: chosen.and_then(|it| it.cost?.worst_p99_factor),
        out_of_memory_day_ratio: chosen.and_then(|it| it.cost?.out_of_memory_day_ratio),
        reason,
    }
}
