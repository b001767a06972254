//! The decision: every way to share is weighed, and the first that is possible is chosen.
//!
//! The order in which ways come into question follows from what the tenants are for; see `docs/VERDICTS.md`.

use crate::analysis::evidence::Confidence;
use crate::recommender::apart::apart;
use crate::recommender::confidence::{confidence, lowered};
use crate::recommender::fitting::fitting;
use crate::recommender::mechanism::{
    Assessment, Case, MECHANISMS, MechanismId, Plan, Standing, mechanism,
};
use crate::recommender::open_answers::open_answers;
use crate::recommender::played::Played;
use crate::recommender::policy::Policy;
use crate::recommender::reason::{Measurement, MeasurementKind, Reason, ReasonKind, Times, Weight};
use crate::recommender::settling::{dispelling, naming, settling};
use crate::recommender::situation::{Situation, Tenant, Trust};
use crate::recommender::tenant_policy::Class;
use crate::recommender::verdict::{Chosen, Freed, Lowered, Outcome, Rejected, Verdict};
use std::collections::BTreeMap;

/// What should be done with a device.
pub fn decide(situation: &Situation, policy: &Policy) -> Verdict {
    decide_played(situation, &Played::of(situation), policy)
}

/// The same where every way was played before: another policy costs next to nothing then.
pub fn decide_played(situation: &Situation, played: &Played, policy: &Policy) -> Verdict {
    let choice = Choice::of(situation, played, policy);
    let proposed = choice.proposal(situation, policy);
    let Proposal { outcome, chosen, decisive, confidence: sure, mut lowered_by } = proposed;
    lowered_by.sort_by(|one, other| one.factor.total_cmp(&other.factor));
    let is_doubtful = choice.is_doubtful(sure, policy);
    let doubt = decisive.clone().filter(|_| is_doubtful);
    let plan = choice.picked().filter(|_| !is_doubtful).and_then(|it| it.plan.as_ref());
    let is_shared = outcome == Outcome::Share;
    let solos = if is_shared { Vec::new() } else { played.solos() };
    let apart = if is_shared { None } else { apart(situation, &solos, policy) };
    let fitting = if is_shared { None } else { fitting(situation, &solos, policy) };
    Verdict {
        gpu: situation.gpu.clone(),
        label: situation.label.clone(),
        outcome,
        decisive,
        current: situation.now.clone(),
        disruption: plan.map(|it| mechanism(it.mechanism).disruption(situation, it)),
        freed: plan.map(|it| freed(situation, it, policy)),
        rejected: choice.rejected(chosen.as_ref().map(|it| it.mechanism), doubt.as_ref()),
        fitting: fitting.filter(|_| apart.is_none()),
        apart,
        measurement: match &doubt {
            Some(it) => {
                let way = choice.picked().map(|it| it.mechanism);
                Some(dispelling(it, &lowered_by, way, policy))
            }
            None => settling(choice.before()).or_else(|| naming(situation)),
        },
        answers: open_answers(situation, played, policy, &choice),
        chosen,
        confidence: sure,
        lowered_by,
        unseen: situation.unseen.clone(),
    }
}

/// What a verdict proposes, without what it takes to get there, what was rejected, and what could change it.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// What it comes to.
    pub outcome: Outcome,
    /// What is proposed; `None` where there is not enough evidence.
    pub chosen: Option<Chosen>,
    /// The reason that decided; `None` without tenants.
    pub decisive: Option<Reason>,
    /// How sure it is.
    pub confidence: Confidence,
    /// What lowered the confidence.
    pub lowered_by: Vec<Lowered>,
}

/// What [`decide_played`] would propose, for many devices at once.
pub fn proposal(situation: &Situation, played: &Played, policy: &Policy) -> Proposal {
    Choice::of(situation, played, policy).proposal(situation, policy)
}

/// Every way weighed, in the order in which they come into question.
pub(crate) struct Choice {
    assessments: Vec<Assessment>,
    picked: Option<usize>,
    is_empty: bool,
}

impl Choice {
    pub(crate) fn of(situation: &Situation, played: &Played, policy: &Policy) -> Self {
        let case = Case { situation, played, policy };
        let order = order(situation, policy);
        let mut assessments: Vec<Assessment> =
            MECHANISMS.iter().map(|it| it.assess(&case)).collect();
        let place = |it: &Assessment| order.iter().position(|id| *id == it.mechanism);
        assessments.sort_by_key(place);
        let picked = pick(&assessments);
        Self { assessments, picked, is_empty: situation.tenants.is_empty() }
    }

    /// Whether it would share without being sure enough for the policy.
    fn is_doubtful(&self, sure: Confidence, policy: &Policy) -> bool {
        self.outcome() == Outcome::Share && sure.value() < policy.least_confidence
    }

    /// What comes of it under a policy: a proposal that is not sure enough is none.
    fn proposal(&self, situation: &Situation, policy: &Policy) -> Proposal {
        let decisive = self.decisive();
        let lowered_by = lowered(situation, self.picked(), decisive.as_ref().map(|it| it.kind));
        let sure = confidence(&lowered_by);
        let is_doubtful = self.is_doubtful(sure, policy);
        let most = lowered_by.iter().min_by(|one, other| one.factor.total_cmp(&other.factor));
        let doubt = self
            .picked()
            .filter(|_| is_doubtful)
            .map(|it| doubt(it.mechanism, sure.value(), policy, most));
        Proposal {
            outcome: if is_doubtful { Outcome::NotEnoughEvidence } else { self.outcome() },
            chosen: self.picked().filter(|_| !is_doubtful).and_then(Chosen::of),
            decisive: doubt.or(decisive),
            confidence: sure,
            lowered_by,
        }
    }

    /// What is proposed; `None` where something has to be measured first.
    pub(crate) fn picked(&self) -> Option<&Assessment> {
        self.picked.map(|it| &self.assessments[it]).filter(|_| !self.is_empty)
    }

    pub(crate) fn outcome(&self) -> Outcome {
        match self.picked().map(|it| it.mechanism) {
            _ if self.is_empty => Outcome::Nobody,
            None => Outcome::NotEnoughEvidence,
            Some(MechanismId::Exclusive) => Outcome::Exclusive,
            Some(_) => Outcome::Share,
        }
    }

    /// Ways that are not refused, up to the first that is possible, in the order in which they come into question.
    pub(crate) fn hopeful(&self) -> Vec<MechanismId> {
        let until = self.assessments.iter().position(|it| {
            it.standing == Standing::Possible && it.mechanism != MechanismId::Exclusive
        });
        let all = self.assessments.iter().take(until.map_or(usize::MAX, |it| it + 1));
        all.filter(|it| it.standing != Standing::Refused).map(|it| it.mechanism).collect()
    }

    /// The first reason that holds a way back; `None` where none does.
    pub(crate) fn against(&self, way: MechanismId) -> Option<&Reason> {
        let found = self.assessments.iter().find(|it| it.mechanism == way)?;
        found.reasons.first().filter(|it| it.weight <= Weight::Open)
    }

    /// Devices that are proposed; `None` where nothing is.
    pub(crate) fn devices(&self) -> Option<u32> {
        Some(self.picked()?.plan.as_ref()?.devices)
    }

    /// What decided: what speaks for the way that was chosen; for a device each, what rules out most other ways.
    fn decisive(&self) -> Option<Reason> {
        if self.is_empty {
            return None;
        }
        match self.picked() {
            None => self.cheapest().map(|it| it.1.clone()),
            Some(it) if it.mechanism == MechanismId::Exclusive => {
                it.of_weight(Weight::Favours).next().or_else(|| self.most_refusing()).cloned()
            }
            Some(it) => it.of_weight(Weight::Favours).next().cloned(),
        }
    }

    /// The first reason of the kind that refuses most ways; of equal ones the first kind.
    fn most_refusing(&self) -> Option<&Reason> {
        let mut refused: BTreeMap<ReasonKind, (usize, &Reason)> = BTreeMap::new();
        for assessment in &self.assessments {
            let mut kinds: Vec<(ReasonKind, &Reason)> =
                assessment.of_weight(Weight::Refuses).map(|it| (it.kind, it)).collect();
            kinds.dedup_by_key(|it| it.0);
            for (kind, reason) in kinds {
                refused.entry(kind).or_insert((0, reason)).0 += 1;
            }
        }
        // With nobody to share with, that says nothing where another reason keeps the device whole.
        if refused.len() > 1 {
            refused.remove(&ReasonKind::Alone);
        }
        let most = refused.values().map(|it| it.0).max()?;
        refused.values().find(|it| it.0 == most).map(|it| it.1)
    }

    /// `doubt` is why the way that comes first is not proposed all the same.
    fn rejected(&self, chosen: Option<MechanismId>, doubt: Option<&Reason>) -> Vec<Rejected> {
        let others = self.assessments.iter().filter(|it| Some(it.mechanism) != chosen);
        let picked = self.picked().filter(|_| doubt.is_none());
        let is_open = |it: &&Assessment| match (doubt, self.picked()) {
            (Some(_), Some(own)) => own.mechanism == it.mechanism,
            _ => it.standing == Standing::Open,
        };
        let open = self.assessments.iter().filter(is_open);
        let open: Vec<&str> = open.map(|it| mechanism(it.mechanism).title()).collect();
        others
            .map(|it| {
                let mut reasons = it.reasons.clone();
                let is_first = self.picked().is_some_and(|own| own.mechanism == it.mechanism);
                if let Some(doubt) = doubt.filter(|_| is_first) {
                    reasons.insert(0, doubt.clone());
                } else if it.standing == Standing::Possible {
                    reasons.insert(0, less_fit(it, picked, &open));
                }
                let reason = reasons.first().map(|it| it.sentence.clone()).unwrap_or_default();
                Rejected {
                    mechanism: it.mechanism,
                    standing: it.standing,
                    reason,
                    reasons,
                    predicted: it.tenants.clone(),
                    cost: it.cost,
                    capacity: it.capacity.clone(),
                }
            })
            .collect()
    }

    /// The ways that come into question before what was chosen.
    fn before(&self) -> &[Assessment] {
        &self.assessments[..self.picked.unwrap_or(self.assessments.len())]
    }

    /// The cheapest measurement among the ways that only it keeps open, and that come before what was chosen.
    fn cheapest(&self) -> Option<(&Measurement, &Reason)> {
        let open = self.before().iter().filter(|it| it.standing == Standing::Open);
        let all = open.flat_map(|it| it.of_weight(Weight::Open));
        let measurable = all.filter_map(|it| Some((it.measurement.as_ref()?, it)));
        measurable.reduce(|best, it| if it.0.is_cheaper_than(best.0) { it } else { best })
    }
}

/// What would be proposed, if it were as sure as the policy asks for.
fn doubt(way: MechanismId, sure: f64, policy: &Policy, most: Option<&Lowered>) -> Reason {
    let because =
        most.map_or_else(String::new, |it| format!("; most of it is lost because {}", it.sentence));
    let sentence = format!(
        "{} would be proposed, but its confidence of {sure:.2} is below the {:.2} that the policy asks for{because}",
        mechanism(way).title(),
        policy.least_confidence
    );
    let what = "remove what lowers the confidence, or state a smaller `least_confidence`";
    Reason::open(
        ReasonKind::Evidence,
        sentence,
        Measurement::new(MeasurementKind::Policy, 0.0, what),
    )
}

/// The first way that is possible; a device each only where no way before it is open.
fn pick(assessments: &[Assessment]) -> Option<usize> {
    let sharing = |it: &Assessment| it.mechanism != MechanismId::Exclusive;
    let first = assessments.iter().position(|it| sharing(it) && it.standing == Standing::Possible);
    if first.is_some() {
        return first;
    }
    let is_open = assessments.iter().any(|it| sharing(it) && it.standing == Standing::Open);
    if is_open { None } else { assessments.iter().position(|it| !sharing(it)) }
}

/// The order in which ways come into question.
///
/// Strangers and latency targets want hardware partitions, and so does whoever has a neighbour with long bursts. Notebooks
/// that seldom work are packed in turns; jobs of one team run at once.
fn order(situation: &Situation, policy: &Policy) -> [MechanismId; 4] {
    use MechanismId::{Exclusive, Mig, Mps, TimeSlicing};
    let tenants = &situation.tenants;
    let is_firm =
        |it: &Tenant| it.class() == Class::LatencySensitive || it.policy.latency.is_some();
    let is_bursty =
        |it: &Tenant| it.shape.as_ref().is_some_and(|it| it.is_bursty(policy) != Some(false));
    let all_tolerate = tenants.iter().all(|it| it.class().tolerates_faults());
    let has_notebooks = tenants.iter().any(|it| it.class() == Class::Development);
    match () {
        () if tenants.len() < 2 => [Mig, Exclusive, Mps, TimeSlicing],
        () if situation.trust() != Trust::One || tenants.iter().any(is_firm) => {
            [Mig, Mps, TimeSlicing, Exclusive]
        }
        () if all_tolerate && has_notebooks => [TimeSlicing, Mps, Mig, Exclusive],
        () if !all_tolerate && tenants.iter().any(is_bursty) => [Mig, Mps, TimeSlicing, Exclusive],
        () => [Mps, Mig, TimeSlicing, Exclusive],
    }
}

/// Why a device each waits, although nothing is wrong with it: other ways are not ruled out yet.
fn waiting(it: &Assessment, open: &[&str]) -> String {
    let devices = it.plan.as_ref().map_or(1, |it| it.devices);
    let (takes, less) = match devices {
        1 => ("a whole device".to_owned(), "a part of one might do"),
        some => (format!("{some} devices"), "one might do"),
    };
    format!(
        "nothing is wrong with it, but it takes {takes}, and {less} as long as {} {} open",
        open.join(" and "),
        if open.len() == 1 { "is" } else { "are" }
    )
}

fn less_fit(it: &Assessment, picked: Option<&Assessment>, open: &[&str]) -> Reason {
    let better = picked.map_or("another way", |it| mechanism(it.mechanism).title());
    let cost = |it: &Assessment| it.cost.and_then(|it| it.worst_p99_factor);
    let numbers = picked.and_then(cost).zip(cost(it)).map_or_else(String::new, |(one, other)| {
        format!(" (worst p99 up to {} times that alone, here {})", Times(one), Times(other))
    });
    let sentence = match (it.mechanism, picked) {
        (MechanismId::Exclusive, Some(better)) => {
            let devices = it.plan.as_ref().map_or(1, |it| it.devices);
            format!(
                "nothing is wrong with it, but it takes {devices} {} where {} takes {}",
                if devices == 1 { "whole device" } else { "devices" },
                mechanism(better.mechanism).title(),
                if devices == 1 { "a part of one" } else { "1" }
            )
        }
        (MechanismId::Exclusive, None) => waiting(it, open),
        _ => format!("it would do too, but {better} comes first for these tenants{numbers}"),
    };
    Reason::caution(ReasonKind::Preference, sentence)
}

/// What a plan leaves to others.
fn freed(situation: &Situation, plan: &Plan, policy: &Policy) -> Freed {
    let devices = (situation.tenants.len() as u32).saturating_sub(plan.devices);
    let (compute_ratio, memory_ratio) = match plan.mechanism {
        MechanismId::Exclusive => (Some(0.0), Some(0.0)),
        MechanismId::Mig => left_on_board(situation, plan),
        MechanismId::Mps | MechanismId::TimeSlicing => {
            let busy: Option<f64> =
                situation.tenants.iter().map(|it| Some(it.demand.as_ref()?.busy_share())).sum();
            let need: Option<f64> = situation.tenants.iter().map(|it| it.needed_mib(policy)).sum();
            let memory = need.zip(situation.room_mib(policy)).map(|(need, room)| 1.0 - need / room);
            (busy.map(|it| (1.0 - it).max(0.0)), memory.map(|it| it.max(0.0)))
        }
    };
    Freed { devices, compute_ratio, memory_ratio }
}

fn left_on_board(situation: &Situation, plan: &Plan) -> (Option<f64>, Option<f64>) {
    let Some(board) = situation.device.mig.board() else { return (None, None) };
    let profiles: Vec<usize> = plan
        .assignments
        .iter()
        .filter_map(|it| board.profile_named(it.profile.as_deref()?))
        .collect();
    let sum = |of: &dyn Fn(usize) -> u32| profiles.iter().map(|it| of(*it)).sum::<u32>();
    let compute = sum(&|it| board.profiles[it].compute_slices);
    let memory = sum(&|it| board.profiles[it].memory_slices);
    let left = |taken: u32, all: u32| {
        (all > 0).then(|| f64::from(all.saturating_sub(taken)) / f64::from(all))
    };
    (left(compute, board.compute_slices), left(memory, board.memory_slices))
}
