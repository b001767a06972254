//! What memory that ran out says about the ways to share.

use crate::recommender::mechanism::Case;
use crate::recommender::ran_out::{RanOut, utc};
use crate::recommender::reason::{Measurement, MeasurementKind, Reason, ReasonKind, gib};
use crate::recommender::situation::Tenant;

/// A pinned limit that would have kept memory for the others.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rescue {
    /// Who is limited.
    pub(super) tenant: String,
    /// To how much, MiB.
    pub(super) limit_mib: f64,
    /// Its median, MiB.
    usual_mib: f64,
}

/// The moment that decides: of those at which somebody was lost in shared memory the surest, of equal ones the first.
fn worst<'a>(case: &Case<'a>) -> Option<&'a RanOut> {
    let all = case.situation.now.ran_out.iter();
    let lost = all.filter(|it| it.is_shared() && it.is_loss());
    lost.reduce(|best, it| if it.confidence.value() > best.confidence.value() { it } else { best })
}

/// The limit on whoever took the memory, each time the same tenant, under which everybody else has what it needs.
///
/// `None` where nobody was lost, where nobody alone is named, where it does not accept to fall at its limit, or where
/// nothing beyond its usual memory is left for it.
pub(super) fn rescue(case: &Case<'_>) -> Option<Rescue> {
    worst(case)?;
    let situation = case.situation;
    let events = situation.now.ran_out.iter().filter(|it| it.is_shared() && it.is_loss());
    let takers: Option<Vec<_>> = events.map(|it| it.taker.as_ref()).collect();
    let takers = takers?;
    let first = *takers.first()?;
    if takers.iter().any(|it| it.tenant != first.tenant) {
        return None;
    }
    let usual_mib = takers.iter().map(|it| it.usual_mib).fold(0.0, f64::max);
    let (own, others): (Vec<&Tenant>, Vec<&Tenant>) =
        situation.tenants.iter().partition(|it| it.name == first.tenant);
    let [own] = own.as_slice() else { return None };
    let needs: Option<f64> = others.iter().map(|it| it.needed_mib(case.policy)).sum();
    let limit_mib = (situation.room_mib(case.policy)? - needs?).floor();
    let is_enough = limit_mib >= usual_mib * (1.0 + case.policy.memory_margin_ratio);
    (own.may_crash() && is_enough).then(|| Rescue {
        tenant: own.name.clone(),
        limit_mib,
        usual_mib,
    })
}

/// What speaks against memory that is shared without a limit, or with one that only some have.
pub(super) fn in_shared(case: &Case<'_>, rescue: Option<&Rescue>) -> Option<Reason> {
    let event = worst(case)?;
    let lost = event.lost.as_deref().unwrap_or_default();
    let told = told(case, event);
    let about = event.taker.iter().map(|it| it.tenant.as_str()).chain([lost]);
    if let Some(it) = rescue {
        let sentence = format!(
            "{told}; with a pinned limit of {} for `{}`, which usually holds {}, the others keep theirs, and it fails alone",
            gib(it.limit_mib),
            it.tenant,
            gib(it.usual_mib)
        );
        return Some(Reason::caution(ReasonKind::Memory, sentence).about(about));
    }
    if event.is_sure() {
        return Some(Reason::refuses(ReasonKind::Memory, told).about(about));
    }
    let what = format!(
        "look into the log of `{lost}` around {} for an allocation that failed, and record the memory of each process every 100 ms",
        utc(event.at)
    );
    let sentence =
        format!("memory may have run out (confidence {:.2}): {told}", event.confidence.value());
    let measurement = Measurement::new(MeasurementKind::Memory, 0.0, what);
    Some(Reason::open(ReasonKind::Memory, sentence, measurement).about(about))
}

/// The same for a way in which nobody takes another's memory.
pub(super) fn in_parts(case: &Case<'_>) -> Option<Reason> {
    let event = worst(case).filter(|it| it.is_sure())?;
    let sentence = format!("{}; in a part of its own nobody takes another's", told(case, event));
    Some(Reason::favours(ReasonKind::Memory, sentence))
}

/// Memory that ran out for somebody who shared it with nobody, or only came close to it.
pub(super) fn own(case: &Case<'_>) -> Vec<Reason> {
    let events = case.situation.now.ran_out.iter();
    let own = events.filter(|it| it.is_loss() && !it.is_shared());
    let mut names: Vec<&str> = Vec::new();
    let mut reasons = Vec::new();
    for event in own {
        let name = event.lost.as_deref().unwrap_or_default();
        if names.contains(&name) {
            continue;
        }
        names.push(name);
        let asked = event
            .asked_mib
            .map_or_else(String::new, |it| format!("; it asked for more than {}", gib(it)));
        let sentence = format!("{}{asked}", event.sentence);
        reasons.push(Reason::caution(ReasonKind::Memory, sentence).about([name]));
    }
    reasons
}

/// Memory that was full while everybody lived on: it has to be known, and rules nothing out.
pub(super) fn nearly(case: &Case<'_>) -> Option<Reason> {
    let mut events = case.situation.now.ran_out.iter().filter(|it| it.is_shared() && !it.is_loss());
    let first = events.next()?;
    let more = match events.count() {
        0 => String::new(),
        it => format!(", and {it} more times"),
    };
    Some(Reason::caution(ReasonKind::Memory, format!("{}{more}", first.sentence)))
}

fn told(case: &Case<'_>, event: &RanOut) -> String {
    let all = case.situation.now.ran_out.iter();
    let more = all.filter(|it| it.is_shared() && it.is_loss()).count() - 1;
    let again = match more {
        0 => String::new(),
        1 => ", and once more".to_owned(),
        it => format!(", and {it} more times"),
    };
    format!("memory ran out while they shared it: {}{again}", event.sentence)
}
