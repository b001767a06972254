//! Two recordings, before and after a change: what differs, by how much, and how sure that is.
//!
//! Tenants are matched by name, devices by UUID, else by index, else by their order.

mod conditions;
pub mod findings;
mod headline;
mod matching;
mod services;
mod shapes;
#[cfg(test)]
mod tests;

use crate::analysis::compare::findings::{
    ChangeVerdict, Comparison, ComparisonAnswer, ConditionChange, InfluencePair, InfluenceSide,
    OneSided, OneSidedKind, ServiceChange, Side, SideSummary, TestCounts,
};
use crate::analysis::compare::matching::{Matched, matched};
use crate::analysis::findings::{Findings, Scope};
use crate::analysis::influence::findings::Influence;
use crate::domain::ident::{Subject, TenantId};
use crate::domain::outline::Outline;
use crate::domain::recording::Recording;
use crate::domain::time::TimeSpan;
use std::collections::{BTreeMap, BTreeSet};

/// Chance of any false change over all services, and over all conditions.
pub const ERROR_RATE: f64 = 0.05;

/// One of the two recordings.
#[derive(Debug, Clone, Copy)]
pub struct ComparedSide<'a> {
    /// Name for people.
    pub name: &'a str,
    /// What it holds.
    pub outline: &'a Outline,
    /// What it means.
    pub findings: &'a Findings,
    /// The part that is compared; `None` for all of it.
    pub window: Option<TimeSpan>,
    /// Series of devices and of tenants.
    pub recording: &'a Recording,
}

/// Everything that differs between two recordings.
pub fn compare(before: &ComparedSide<'_>, after: &ComparedSide<'_>) -> Comparison {
    let devices = matched(before.outline, after.outline);
    let mut remarks = devices.remarks.clone();
    let (services, mut only_in_one) = services::changes(before, after, &devices, &mut remarks);
    let conditions = conditions::changes(before, after, &devices, &mut remarks);
    let shapes = shapes::pairs(before, after, &devices);
    only_in_one.extend(one_sided(before, after, &devices));
    only_in_one.sort_by(|a, b| (a.side, a.kind, &a.name).cmp(&(b.side, b.kind, &b.name)));
    only_in_one.dedup();
    let tests = TestCounts {
        services: services.iter().filter(|it| it.p.is_some()).count() as u64,
        conditions: conditions.iter().filter(|it| it.p.is_some()).count() as u64,
    };
    let answer = headline::answer(&services);
    let told = headline::headline(answer, &services, &only_in_one);
    let other = matching::other_models(before.outline, after.outline, &devices);
    Comparison {
        headline: other.into_iter().chain([told]).collect::<Vec<_>>().join(" "),
        before: summary(before),
        after: summary(after),
        answer,
        services,
        conditions,
        shapes,
        influences: influences(before.findings, after.findings),
        only_in_one,
        is_same: false,
        remarks,
        tests,
    }
}

/// The same for two that are the same recording: whatever a test says, nothing changed.
pub fn of_one_recording(found: Comparison) -> Comparison {
    let service =
        |it: ServiceChange| ServiceChange { verdict: unchanged(it.verdict), certainty: None, ..it };
    let condition = |it: ConditionChange| ConditionChange { verdict: unchanged(it.verdict), ..it };
    Comparison {
        is_same: true,
        answer: ComparisonAnswer::NotShown,
        headline: "Both are the same recording, so nothing can have changed between them."
            .to_owned(),
        services: found.services.into_iter().map(service).collect(),
        conditions: found.conditions.into_iter().map(condition).collect(),
        ..found
    }
}

fn unchanged(verdict: ChangeVerdict) -> ChangeVerdict {
    match verdict {
        ChangeVerdict::CannotTell => verdict,
        _ => ChangeVerdict::NotShown,
    }
}

fn summary(side: &ComparedSide<'_>) -> SideSummary {
    let whole = side.outline.span;
    let span = side.window.or(whole);
    SideSummary {
        name: side.name.to_owned(),
        span,
        length_s: span.map(|it| it.seconds()),
        part_of_s: whole.filter(|it| span != Some(*it)).map(|it| it.seconds()),
    }
}

/// Names of all tenants of a recording; nobody's processes have none.
fn tenants(outline: &Outline) -> BTreeSet<TenantId> {
    let of_subjects = outline.subjects.iter().filter_map(|it| match it {
        Subject::Tenant { tenant, .. } => Some(tenant),
        _ => None,
    });
    let of_processes = outline.processes.iter().filter_map(|it| it.tenant.as_ref());
    let all = of_subjects.chain(of_processes).filter(|it| !it.is_unattributed());
    all.cloned().collect()
}

fn one_sided(
    before: &ComparedSide<'_>,
    after: &ComparedSide<'_>,
    devices: &Matched,
) -> Vec<OneSided> {
    let names = [tenants(before.outline), tenants(after.outline)];
    let tenant = |side: Side, it: &TenantId| OneSided {
        side,
        kind: OneSidedKind::Tenant,
        name: it.to_string(),
    };
    let device = |side: Side, name: &String| OneSided {
        side,
        kind: OneSidedKind::Device,
        name: name.clone(),
    };
    let mut all: Vec<OneSided> = Vec::new();
    all.extend(names[0].difference(&names[1]).map(|it| tenant(Side::Before, it)));
    all.extend(names[1].difference(&names[0]).map(|it| tenant(Side::After, it)));
    all.extend(devices.only_before.iter().map(|it| device(Side::Before, it)));
    all.extend(devices.only_after.iter().map(|it| device(Side::After, it)));
    all
}

/// Who slowed whom on either side, the firmest first.
fn influences(before: &Findings, after: &Findings) -> Vec<InfluencePair> {
    let (mut before, mut after) = (firmest(before), firmest(after));
    let keys: BTreeSet<(String, String)> = before.keys().chain(after.keys()).cloned().collect();
    let mut pairs: Vec<InfluencePair> = keys
        .into_iter()
        .map(|key| InfluencePair {
            before: before.remove(&key),
            after: after.remove(&key),
            suspect: key.0,
            victim: key.1,
        })
        .collect();
    let rank = |it: &InfluencePair| {
        let verdict = |side: &Option<InfluenceSide>| side.as_ref().map(|it| it.verdict);
        [verdict(&it.before), verdict(&it.after)].into_iter().flatten().min()
    };
    pairs.sort_by_key(rank);
    pairs
}

/// For each pair over the whole recording, the metric in which it stands firmest.
fn firmest(findings: &Findings) -> BTreeMap<(String, String), InfluenceSide> {
    let mut found: BTreeMap<(String, String), InfluenceSide> = BTreeMap::new();
    let placed = findings.devices.iter().flat_map(|it| &it.influences.pairs);
    let all = placed.chain(&findings.unplaced_influences.pairs);
    for it in all.filter(|it| it.scope == Scope::Whole) {
        let key = (it.suspect.clone(), it.victim.clone());
        let size = |ratio: Option<f64>| ratio.unwrap_or(0.0);
        let is_firmer = found.get(&key).is_none_or(|old| {
            let order = it.verdict.cmp(&old.verdict);
            order.then(size(old.effect_ratio).total_cmp(&size(it.effect_ratio))).is_lt()
        });
        if is_firmer {
            found.insert(key, influence(it));
        }
    }
    found
}

fn influence(it: &Influence) -> InfluenceSide {
    InfluenceSide {
        verdict: it.verdict,
        metric: it.metric,
        effect_ratio: it.effect_ratio,
        mde_ratio: it.mde_ratio,
    }
}
