//! What rules sharing out before anything is predicted.

use crate::recommender::mechanism::Case;
use crate::recommender::reason::{Measurement, MeasurementKind, Names, Reason, ReasonKind};
use crate::recommender::situation::{NOBODY_KNOWS, Situation, Tenant, Trust};
use crate::recommender::tenant_policy::Class;
use crate::recommender::vendor::other_vendor;

/// Why nobody may share this device in any way.
///
/// A saturated device has nothing to share. Whoever wants a whole device, or links between devices, gets them in no part.
pub(super) fn against_any_sharing(case: &Case<'_>) -> Vec<Reason> {
    let situation = case.situation;
    let mut reasons = Vec::new();
    let saturating = |it: &&Tenant| it.shape.as_ref().is_some_and(|it| it.is_saturating);
    for tenant in situation.tenants.iter().filter(saturating) {
        let busy = tenant.shape.as_ref().map_or("saturated", |it| it.sentence.as_str());
        let busy = busy.strip_prefix("saturated: ").unwrap_or(busy);
        let sentence = format!("`{}` saturates the device alone: {busy}", tenant.name);
        reasons
            .push(Reason::refuses(ReasonKind::Saturated, sentence).about([tenant.name.as_str()]));
    }
    if let Some(sentence) = situation.saturated.as_ref().filter(|_| reasons.is_empty()) {
        reasons.push(Reason::refuses(ReasonKind::Saturated, sentence.clone()));
    }
    for tenant in situation.tenants.iter().filter(|it| it.wants_whole_device()) {
        let (name, policy) = (tenant.name.as_str(), &tenant.policy);
        let why = match (policy.whole_device, policy.interconnect) {
            (_, Some(true)) => "needs the interconnect, which no part of a device has",
            (Some(true), _) => "is to have the whole device by policy",
            _ => {
                "is training, which wants the whole device unless its policy says `whole_device = false`"
            }
        };
        let reason = Reason::refuses(ReasonKind::WholeDevice, format!("`{name}` {why}"));
        reasons.push(reason.about([name]));
    }
    reasons
}

/// What a board of another vendor does not have.
pub(super) fn of_another_vendor(situation: &Situation, what: &str) -> Option<Reason> {
    let model = situation.device.model.as_deref();
    let vendor = other_vendor(model)?;
    let sentence =
        format!("{} is a board of {vendor}, and {what} is NVIDIA's", model.unwrap_or("this"));
    Some(Reason::refuses(ReasonKind::Vendor, sentence))
}

/// Why these tenants may not share memory and faults: time slicing and MPS.
pub(super) fn against_shared_memory(situation: &Situation, how: &str) -> Vec<Reason> {
    if situation.tenants.len() < 2 {
        return Vec::new();
    }
    let mut reasons = Vec::new();
    match situation.trust() {
        Trust::One => {}
        Trust::Several([(one, first), (other, second)]) => reasons.push(
            Reason::refuses(
                ReasonKind::TrustBoundary,
                format!(
                    "`{one}` is of trust domain `{first}` and `{other}` of `{second}`: {how} keeps neither memory nor caches apart, whatever the utilisation is"
                ),
            )
            .about([one.as_str(), other.as_str()]),
        ),
        Trust::Unstated(names) => {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let sentence = format!(
                "no trust domain is stated for {}: until it is, each counts as a domain of its own, and {how} keeps neither memory nor caches apart",
                Names(&names)
            );
            reasons.push(Reason::refuses(ReasonKind::TrustBoundary, sentence).about(names));
        }
    }
    let sensitive = |it: &&Tenant| it.class() == Class::LatencySensitive;
    let sensitive: Vec<&Tenant> = situation.tenants.iter().filter(sensitive).collect();
    if !sensitive.is_empty() {
        let names: Vec<&str> = sensitive.iter().map(|it| it.name.as_str()).collect();
        let by = match sensitive.iter().all(|it| it.has_class()) {
            true => "by policy",
            false => "since requests are waited for and no class is stated",
        };
        let sentence = format!(
            "{} latency-sensitive {by}: under {how} a neighbour takes SMs in the middle of a request",
            is_are(&names)
        );
        reasons.push(Reason::refuses(ReasonKind::LatencySensitive, sentence).about(names));
    }
    reasons
}

/// Nobody to share with.
pub(super) fn alone(situation: &Situation) -> Option<Reason> {
    (situation.tenants.len() < 2).then(|| {
        let sentence = match situation.tenants.first() {
            Some(_) if situation.now.is_anonymous => {
                format!("{NOBODY_KNOWS}, so there is nobody whom it could be weighed for")
            }
            Some(it) => format!("`{}` has nobody to share with on this device", it.name),
            None => "there is nobody on this device".to_owned(),
        };
        Reason::refuses(ReasonKind::Alone, sentence)
    })
}

/// Demands that nobody saw.
pub(super) fn unseen_demands(situation: &Situation) -> Option<Reason> {
    let unseen: Vec<&str> = situation
        .tenants
        .iter()
        .filter(|it| it.demand.is_none())
        .map(|it| it.name.as_str())
        .collect();
    if unseen.is_empty() {
        return None;
    }
    // Under MIG the driver counts no process, however often it is asked.
    let what = match (situation.now.is_mig, situation.now.is_anonymous) {
        (Some(true), _) => {
            "record the activity of each MIG instance every 100 ms, by GPM (`cotenant record`, Hopper and later) or DCGM (`dcgmi dmon -e 1001,1002,1005`), with who is in which"
        }
        (_, true) => "record the utilisation of the device every 100 ms, and who is on it",
        _ => "record the utilisation of each process every 100 ms",
    };
    let measurement = Measurement::new(MeasurementKind::Finer, 900.0, what);
    let sentence = format!("too little was seen to tell when {} worked", Names(&unseen));
    Some(Reason::open(ReasonKind::Evidence, sentence, measurement).about(unseen))
}

/// `a` is, `a` and `b` are.
pub(super) fn is_are(names: &[&str]) -> String {
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", Names(names))
}
