//! How sure a verdict is, and what makes it less sure.

use crate::analysis::evidence::Confidence;
use crate::colocation::demand::Assumption;
use crate::domain::mig_geometry::Provenance;
use crate::recommender::mechanism::{Assessment, MechanismId};
use crate::recommender::reason::Names;
use crate::recommender::situation::{Situation, Trust};
use crate::recommender::verdict::Lowered;
use std::collections::BTreeSet;

/// What each assumption about a demand leaves of the confidence: shares by which answers were seen to be off, rounded.
const ASSUMED: [(Assumption, f64); 12] = [
    (Assumption::WidthUnknown, 0.85),
    (Assumption::BandwidthUnknown, 0.95),
    (Assumption::BandwidthFromUtilisation, 0.97),
    (Assumption::PowerUnknown, 0.98),
    (Assumption::BurstsInferred, 0.9),
    (Assumption::BurstsUnknown, 0.8),
    (Assumption::OtherGpu, 0.8),
    (Assumption::CoProfiled, 0.9),
    (Assumption::ArrivalsInBins, 0.99),
    (Assumption::ServiceSpreadUnknown, 0.95),
    (Assumption::HostUnknown, 0.97),
    (Assumption::PaceUnknown, 0.97),
];
/// Nothing is surer than this.
const SUREST: f64 = 0.95;
/// What a trust, or a class, that nobody stated leaves.
const UNSTATED: f64 = 0.85;
/// What a profile that is only patterned after others leaves.
const PATTERN: f64 = 0.9;
/// What memory that the driver keeps and did not report leaves.
const RESERVE: f64 = 0.98;
/// What an open measurement leaves of a verdict that waits for it.
const OPEN: f64 = 0.5;

/// What makes a verdict less sure; `picked` is what it proposes.
///
/// A rule that needs no prediction, as for a saturated device, does not suffer from what predictions assume.
pub(crate) fn lowered(situation: &Situation, picked: Option<&Assessment>) -> Vec<Lowered> {
    let mut found = Vec::new();
    let mut lower = |factor: f64, sentence: String| found.push(Lowered { factor, sentence });
    let mechanism = picked.map(|it| it.mechanism);
    if picked.is_none() {
        lower(OPEN, "something has to be measured before anything is proposed".to_owned());
    }
    let predicts = mechanism != Some(MechanismId::Exclusive);
    if predicts {
        let demands = situation.tenants.iter().filter_map(|it| it.demand.as_ref());
        let assumed: BTreeSet<Assumption> =
            demands.flat_map(|it| it.assumptions.iter().copied()).collect();
        for assumption in assumed {
            let factor = ASSUMED.iter().find(|it| it.0 == assumption).map_or(1.0, |it| it.1);
            lower(factor, assumption.sentence().to_owned());
        }
    }
    if matches!(situation.trust(), Trust::Unstated(_)) {
        lower(UNSTATED, "whether the tenants trust each other is not stated".to_owned());
    }
    let unclassed: Vec<&str> =
        situation.tenants.iter().filter(|it| !it.has_class()).map(|it| it.name.as_str()).collect();
    if !unclassed.is_empty() {
        let (are, their) = if unclassed.len() == 1 { ("is", "its") } else { ("are", "their") };
        let sentence = format!("what {} {are} for is guessed from {their} load", Names(&unclassed));
        lower(UNSTATED, sentence);
    }
    if predicts && situation.device.total_mib.is_some() && situation.device.reserved_mib.is_none() {
        lower(RESERVE, "what the driver keeps of the memory was not recorded".to_owned());
    }
    if let Some(sentence) = patterned(situation, picked) {
        lower(PATTERN, sentence);
    }
    found
}

/// Product of all factors.
pub(crate) fn confidence(lowered: &[Lowered]) -> Confidence {
    Confidence::new(lowered.iter().map(|it| it.factor).fold(SUREST, |all, it| all * it))
}

fn patterned(situation: &Situation, picked: Option<&Assessment>) -> Option<String> {
    let board = situation.device.mig.board()?;
    let plan = picked?.plan.as_ref()?;
    let is_patterned = plan.assignments.iter().any(|it| {
        let profile = it.profile.as_deref().and_then(|it| board.profile_named(it));
        profile.is_some_and(|it| board.profiles[it].provenance == Provenance::Pattern)
    });
    is_patterned.then(|| {
        format!("sizes of {} are taken from other boards of its family: ask the device with `nvidia-smi mig -lgip`", board.name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_assumption_about_a_demand_has_its_price() {
        let priced: BTreeSet<Assumption> = ASSUMED.iter().map(|it| it.0).collect();
        assert_eq!(priced.len(), ASSUMED.len());
        assert!(ASSUMED.iter().all(|it| 0.5 < it.1 && it.1 < 1.0));
    }

    #[test]
    fn nothing_is_certain() {
        assert_eq!(confidence(&[]).value(), SUREST);
    }
}
