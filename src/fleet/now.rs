//! What is decided about a device with whoever is on it now: the decision of `recommend`, so that both say the same of one GPU.

use crate::fleet::packing::Shared;
use crate::fleet::yard::{Member, Need, budget};
use crate::recommender::decide::{Proposal, proposal};
use crate::recommender::played::{Played, Solo};
use crate::recommender::policy::Policy;
use crate::recommender::situation::Situation;
use crate::recommender::verdict::Outcome;

/// The verdict on a device as it is now.
#[derive(Debug, Clone)]
pub(crate) struct NowVerdict {
    pub(crate) outcome: Outcome,
    /// What decided, in a sentence; empty with nobody on it.
    pub(crate) reason: String,
    /// How they share; `None` unless they do.
    pub(crate) shared: Option<Shared>,
}

impl NowVerdict {
    /// Decides about a device of a fleet of so many tenants.
    ///
    /// `solos` are what each of its tenants comes to by itself, in order; they are played anew where they were played under
    /// another name, which draws other phases.
    pub(crate) fn of(
        situation: &Situation,
        (members, solos): (&[&Member], &[Solo]),
        tenants: usize,
        policy: &Policy,
    ) -> Self {
        let mut situation = situation.clone();
        situation.options.budget = budget(situation.options.budget, tenants);
        let pairs = situation.tenants.iter().zip(members);
        let is_same = pairs.into_iter().all(|it| it.0.name == it.1.tenant.name);
        let played = match is_same && solos.len() == situation.tenants.len() {
            true => Played::of_solos(&situation, &solos.iter().collect::<Vec<_>>(), true),
            false => Played::of(&situation),
        };
        let Proposal { outcome, chosen, decisive, confidence, lowered_by } =
            proposal(&situation, &played, policy);
        let reason = decisive.map(|it| it.sentence);
        let shared = chosen.filter(|_| outcome == Outcome::Share).map(|chosen| Shared {
            chosen,
            confidence: confidence.value(),
            decisive: reason.clone(),
            lowered: lowered_by.into_iter().map(|it| it.sentence).collect(),
        });
        Self { outcome, reason: reason.unwrap_or_default(), shared }
    }

    /// Whether the device stays as it is, with everybody on it: nobody can tell whether it may be shared so, or what a part would be.
    pub(crate) fn keeps(&self, members: &[&Member]) -> bool {
        let is_unknown = members.iter().any(|it| matches!(it.need, Need::Unknown(_)));
        match self.outcome {
            Outcome::NotEnoughEvidence => is_unknown || members.len() > 1,
            // A device each, whatever somebody asks for: that needs no look at that one.
            Outcome::Exclusive => false,
            Outcome::Share | Outcome::Nobody => is_unknown,
        }
    }
}
