//! How sure a verdict is, and what makes it less sure.

use crate::analysis::evidence::Confidence;
use crate::colocation::demand::Assumption;
use crate::domain::mig_geometry::Provenance;
use crate::domain::units::Seconds;
use crate::recommender::mechanism::{Assessment, MechanismId};
use crate::recommender::reason::{Measurement, MeasurementKind, Names, ReasonKind};
use crate::recommender::settling::naming;
use crate::recommender::situation::{NOBODY_KNOWS, Situation, Trust};
use crate::recommender::tenant_policy::Class;
use crate::recommender::verdict::Lowered;
use std::collections::BTreeSet;

/// What each assumption about a demand leaves of the confidence: shares by which answers were seen to be off, rounded.
const ASSUMED: [(Assumption, f64); 14] = [
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
    (Assumption::OrderDrawn, 0.97),
    (Assumption::PartPlayed, 0.97),
];
/// Nothing is surer than this.
const SUREST: f64 = 0.95;
/// What a trust, or a class, that nobody stated leaves.
const UNSTATED: f64 = 0.85;
/// What a profile that is only patterned after others leaves.
const PATTERN: f64 = 0.9;
/// What memory that the driver keeps and did not report leaves.
const RESERVE: f64 = 0.98;
/// What a latency leaves that is waited for and was not recorded.
const UNHEARD: f64 = 0.85;
/// What is left where nobody knows who was on the device: its load may be that of several.
const ANONYMOUS: f64 = 0.7;
/// What an open measurement leaves of a verdict that waits for it.
const OPEN: f64 = 0.5;

/// What a recording of at least so many seconds leaves: a week has seen every daily peak, a day has seen one.
const LENGTHS: [(f64, f64); 4] = [(7.0 * DAY_S, 1.0), (DAY_S, 0.95), (3_600.0, 0.88), (0.0, 0.8)];
/// What so many bursts of whoever was seen least leave: the 99th percentile of fewer than a hundred is the longest of them.
const BURSTS: [(usize, f64); 3] = [(100, 1.0), (30, 0.95), (0, 0.85)];
/// Seconds of a day.
const DAY_S: f64 = 86_400.0;
/// What is true however long nobody looked: what owners say, and what a board is.
const TIMELESS: [ReasonKind; 9] = [
    ReasonKind::TrustBoundary,
    ReasonKind::LatencySensitive,
    ReasonKind::StallNotAccepted,
    ReasonKind::CrashNotAccepted,
    ReasonKind::WholeDevice,
    ReasonKind::NoMig,
    ReasonKind::Vendor,
    ReasonKind::Clients,
    ReasonKind::Alone,
];

/// What makes a verdict less sure; `picked` is what it proposes, and `decisive` the kind of reason that decided.
///
/// A rule that needs no prediction, as for a saturated device, does not suffer from what predictions assume; one that needs
/// no recording, as for strangers, does not suffer from a short one.
pub(crate) fn lowered(
    situation: &Situation,
    picked: Option<&Assessment>,
    decisive: Option<ReasonKind>,
) -> Vec<Lowered> {
    let mut found = Vec::new();
    let mut lower = |factor: f64, sentence: String, remedy: Option<Measurement>| {
        found.push(Lowered { factor, sentence, remedy });
    };
    let mechanism = picked.map(|it| it.mechanism);
    if picked.is_none() {
        lower(OPEN, "something has to be measured before anything is proposed".to_owned(), None);
    }
    if situation.now.is_anonymous {
        let sentence = format!("{NOBODY_KNOWS}, and all of its load counts as one tenant");
        lower(ANONYMOUS, sentence, naming(situation).map(|it| it.measurement));
    }
    let predicts = mechanism != Some(MechanismId::Exclusive);
    if predicts {
        let demands = situation.tenants.iter().filter_map(|it| it.demand.as_ref());
        let assumed: BTreeSet<Assumption> =
            demands.flat_map(|it| it.assumptions.iter().copied()).collect();
        for assumption in assumed {
            let factor = ASSUMED.iter().find(|it| it.0 == assumption).map_or(1.0, |it| it.1);
            lower(factor, assumption.sentence().to_owned(), measuring(assumption));
        }
    }
    if predicts || !decisive.is_some_and(|it| TIMELESS.contains(&it)) {
        found.extend(short(situation));
        found.extend(few(situation).filter(|_| predicts));
    }
    if predicts {
        found.extend(unheard(situation));
    }
    found.extend(unstated(situation));
    if predicts && situation.device.total_mib.is_some() && situation.device.reserved_mib.is_none() {
        let sentence = "what the driver keeps of the memory was not recorded".to_owned();
        let what = "read it from the driver: `nvidia-smi -q -d MEMORY`";
        let remedy = Some(Measurement::new(MeasurementKind::Device, 0.0, what));
        found.push(Lowered { factor: RESERVE, sentence, remedy });
    }
    if let Some(sentence) = patterned(situation, picked) {
        let what = "ask the device for its profiles: `nvidia-smi mig -lgip`";
        let remedy = Some(Measurement::new(MeasurementKind::Device, 0.0, what));
        found.push(Lowered { factor: PATTERN, sentence, remedy });
    }
    found
}

/// What would replace an assumption; `None` where no recording does.
fn measuring(assumption: Assumption) -> Option<Measurement> {
    let (kind, about_s, what) = match assumption {
        Assumption::WidthUnknown
        | Assumption::BandwidthUnknown
        | Assumption::BandwidthFromUtilisation => (
            MeasurementKind::Counters,
            900.0,
            "record SM activity and memory bandwidth (GPM on Hopper and later, else DCGM)",
        ),
        Assumption::PowerUnknown => {
            (MeasurementKind::Finer, 900.0, "record the power of the device")
        }
        Assumption::BurstsInferred | Assumption::BurstsUnknown => {
            (MeasurementKind::Finer, 900.0, "record at an interval of a third of its bursts")
        }
        Assumption::ServiceSpreadUnknown
        | Assumption::HostUnknown
        | Assumption::PaceUnknown
        | Assumption::ArrivalsInBins => (
            MeasurementKind::Service,
            900.0,
            "record the latency of the services beside the device",
        ),
        Assumption::OtherGpu | Assumption::CoProfiled => {
            (MeasurementKind::Alone, 1800.0, "record each alone on this model of GPU")
        }
        Assumption::OrderDrawn | Assumption::PartPlayed => return None,
    };
    Some(Measurement::new(kind, about_s, what))
}

/// Latencies that are waited for and were not recorded.
fn unheard(situation: &Situation) -> Option<Lowered> {
    let unheard = situation.tenants.iter().filter(|it| {
        it.class() == Class::LatencySensitive && it.demand.is_some() && !it.has_requests()
    });
    let unheard: Vec<&str> = unheard.map(|it| it.name.as_str()).collect();
    if unheard.is_empty() {
        return None;
    }
    let names = Names(&unheard);
    let what = format!("record the latency of {names} beside the device");
    Some(Lowered {
        factor: UNHEARD,
        sentence: format!("no latency of {names} was recorded: bursts stand for requests"),
        remedy: Some(Measurement::new(MeasurementKind::Service, 900.0, what)),
    })
}

/// Trust and classes that nobody stated.
fn unstated(situation: &Situation) -> Vec<Lowered> {
    let mut found = Vec::new();
    let mut lower = |sentence: String, what: String| {
        let remedy = Some(Measurement::new(MeasurementKind::Policy, 0.0, what));
        found.push(Lowered { factor: UNSTATED, sentence, remedy });
    };
    if matches!(situation.trust(), Trust::Unstated(_)) {
        let what = "state the `trust_domain` of each tenant in the policy".to_owned();
        lower("whether the tenants trust each other is not stated".to_owned(), what);
    }
    let unclassed: Vec<&str> =
        situation.tenants.iter().filter(|it| !it.has_class()).map(|it| it.name.as_str()).collect();
    if !unclassed.is_empty() {
        let (are, their) = if unclassed.len() == 1 { ("is", "its") } else { ("are", "their") };
        let names = Names(&unclassed);
        let what = format!("state the `class` of {names} in the policy");
        let who = if situation.now.is_anonymous {
            "what the load is for is guessed from its shape".to_owned()
        } else {
            format!("what {names} {are} for is guessed from {their} load")
        };
        lower(who, what);
    }
    found
}

/// A recording that was too short for the daily peak to be in it for sure; the tenant that was seen for the shortest counts.
fn short(situation: &Situation) -> Option<Lowered> {
    let demands = situation.tenants.iter().filter_map(|it| it.demand.as_ref());
    length(demands.map(|it| it.timeline.span_s()).reduce(f64::min)?)
}

fn length(seen_s: f64) -> Option<Lowered> {
    let factor = LENGTHS.iter().find(|it| seen_s >= it.0)?.1;
    let days = (seen_s / DAY_S).floor();
    let sentence = match days {
        it if it < 1.0 => format!(
            "{} were seen and no whole day, so that the daily peak may be missing",
            Seconds(seen_s)
        ),
        1.0 => "one whole day was seen, and others may be busier".to_owned(),
        it => {
            format!("{it:.0} whole days were seen and no whole week, and other days may be busier")
        }
    };
    let what = "record for a week, or for as long as the load repeats itself";
    let remedy = Some(Measurement::new(MeasurementKind::Longer, 7.0 * DAY_S, what));
    (factor < 1.0).then_some(Lowered { factor, sentence, remedy })
}

/// Few bursts of somebody who works.
fn few(situation: &Situation) -> Option<Lowered> {
    let seen = situation.tenants.iter().filter_map(|it| Some((it, it.demand.as_ref()?)));
    let working = seen.filter(|it| !it.1.is_idle());
    let (tenant, demand) = working.min_by_key(|it| it.1.bursts_seen)?;
    let bursts = demand.bursts_seen;
    let factor = BURSTS.iter().find(|it| bursts >= it.0)?.1;
    let sentence = format!(
        "only {bursts} bursts of `{}` were seen, and its p99 is about the longest of them",
        tenant.name
    );
    let what = format!("record until 100 bursts of `{}` were seen", tenant.name);
    let about_s = demand.timeline.span_s() * 100.0 / bursts.max(1) as f64;
    let remedy = Some(Measurement::new(MeasurementKind::Longer, about_s, what));
    (factor < 1.0).then_some(Lowered { factor, sentence, remedy })
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
    fn a_week_is_surer_than_a_day_and_a_day_than_ten_minutes() {
        let left = |seen_s: f64| length(seen_s).map_or(1.0, |it| it.factor);
        let (minutes, hours, day, week) =
            (left(600.0), left(7_200.0), left(DAY_S), left(7.0 * DAY_S));
        assert!(minutes < hours && hours < day && day < week, "{minutes} {hours} {day} {week}");
        assert_eq!(week, 1.0);
        let told = length(600.0).unwrap().sentence;
        assert!(told.starts_with("10.0 min were seen and no whole day"), "{told}");
        let told = length(3.5 * DAY_S).unwrap().sentence;
        assert!(told.starts_with("3 whole days were seen"), "{told}");
    }

    #[test]
    fn nothing_is_certain() {
        assert_eq!(confidence(&[]).value(), SUREST);
    }
}
