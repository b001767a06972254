//! The answer in a sentence or two: what changed, how sure, and what else may explain it.

use crate::analysis::compare::findings::{
    Certainty, ChangeVerdict, ComparisonAnswer, OneSided, OneSidedKind, ServiceChange, Side,
};
use crate::analysis::compare::services::percent;
use crate::domain::metric::Metric;

/// Changes that the sentence names.
const MOST_NAMED: usize = 3;

/// What became of the services as a whole.
pub(super) fn answer(services: &[ServiceChange]) -> ComparisonAnswer {
    let has = |wanted: ChangeVerdict| services.iter().any(|it| it.verdict == wanted);
    match (has(ChangeVerdict::Worse), has(ChangeVerdict::Better)) {
        (true, true) => ComparisonAnswer::Mixed,
        (true, false) => ComparisonAnswer::Worse,
        (false, true) => ComparisonAnswer::Better,
        _ if services.iter().any(|it| it.p.is_some()) => ComparisonAnswer::NotShown,
        _ => ComparisonAnswer::CannotTell,
    }
}

pub(super) fn headline(
    answer: ComparisonAnswer,
    services: &[ServiceChange],
    only: &[OneSided],
) -> String {
    let told = match answer {
        ComparisonAnswer::NotShown => not_shown(services),
        ComparisonAnswer::CannotTell => cannot_tell(services, only),
        _ => changed(services),
    };
    let parts: Vec<String> =
        std::iter::once(told).chain(load(services)).chain(gone(only)).collect();
    parts.join(" ")
}

/// One metric of each tenant, the weightiest, worse before better.
fn changed(services: &[ServiceChange]) -> String {
    let mut named: Vec<&ServiceChange> = Vec::new();
    let shown =
        |it: &&ServiceChange| matches!(it.verdict, ChangeVerdict::Worse | ChangeVerdict::Better);
    for it in services.iter().filter(shown) {
        let is_new = named.iter().all(|old| old.tenant != it.tenant || old.verdict != it.verdict);
        if is_new && named.len() < MOST_NAMED {
            named.push(it);
        }
    }
    let sentences: Vec<String> = named.iter().map(|it| format!("{}.", told(it))).collect();
    let tests = services.iter().filter(|it| it.p.is_some()).count();
    let rest = services.iter().filter(shown).count() - named.len();
    let more = match rest {
        0 => String::new(),
        1 => " One more change is in the table.".to_owned(),
        more => format!(" {more} more changes are in the table."),
    };
    let over = match tests {
        1 => "Chance of a false alarm: at most 5 %.".to_owned(),
        tests => format!("Chance of any false alarm among the {tests} tests: at most 5 %."),
    };
    format!("{}{more} {over}", sentences.join(" "))
}

/// A change as a part of a sentence: who, what, by how much, and how sure.
pub(super) fn told(it: &ServiceChange) -> String {
    let [change, low, high] =
        [it.change_ratio, it.change_low, it.change_high].map(|it| percent(it.unwrap_or(0.0)));
    let word = match (it.verdict, it.certainty) {
        (ChangeVerdict::Worse, Some(Certainty::Confirmed)) => "confirmed worse",
        (ChangeVerdict::Worse, _) => "likely worse",
        (ChangeVerdict::Better, Some(Certainty::Confirmed)) => "confirmed better",
        (ChangeVerdict::Better, _) => "likely better",
        _ => "changed",
    };
    let small = if it.is_small { ", though small" } else { "" };
    format!(
        "{} of `{}` changed by {change} ({low} to {high}): {word}{small}",
        it.metric.first_in_words(),
        it.tenant
    )
}

/// A load that moved, and may explain what else changed.
fn load(services: &[ServiceChange]) -> Option<String> {
    let moved = services.iter().find(|it| {
        let is_shown = matches!(it.verdict, ChangeVerdict::Worse | ChangeVerdict::Better);
        is_shown && it.load.as_ref().is_some_and(|it| it.has_moved)
    })?;
    let load = moved.load.as_ref()?;
    let change = percent(load.change_ratio);
    let told = match load.adjusted_ratio {
        Some(rest) if moved.certainty == Some(Certainty::Confirmed) => format!(
            "But its {} changed by {change} too: at equal load {} is left.",
            load.name,
            percent(rest)
        ),
        _ => format!("But its {} changed by {change} too, which may explain it.", load.name),
    };
    Some(told)
}

fn not_shown(services: &[ServiceChange]) -> String {
    let tested: Vec<&ServiceChange> = services.iter().filter(|it| it.p.is_some()).collect();
    let worst = tested
        .iter()
        .filter(|it| it.metric != Metric::OfferedLoad)
        .filter_map(|it| Some((it, it.mde_ratio?)))
        .max_by(|a, b| a.1.total_cmp(&b.1));
    let number = match tested.len() {
        1 => "one test".to_owned(),
        more => format!("{more} tests"),
    };
    // What is neither better nor worse may have changed, and then stands below.
    let has_changed = tested.iter().any(|it| it.verdict == ChangeVerdict::Different);
    let nothing = if has_changed { "Neither better nor worse" } else { "No change" };
    match worst {
        None => format!("{nothing} was shown in {number}."),
        Some((it, mde)) => format!(
            "{nothing} was shown in {number}. That is not the same as none: a change of {} of `{}` by less than {} \
             would probably have gone unnoticed.",
            it.metric.in_words(),
            it.tenant,
            percent(mde).trim_start_matches('+')
        ),
    }
}

fn cannot_tell(services: &[ServiceChange], only: &[OneSided]) -> String {
    let reason = services.iter().flat_map(|it| &it.reasons).next();
    let has_tenants = only.iter().any(|it| it.kind == OneSidedKind::Tenant);
    let why = match reason {
        Some(reason) => reason.clone(),
        None if has_tenants => "no tenant that measures itself is in both recordings".to_owned(),
        None => "no tenant measures itself in both recordings".to_owned(),
    };
    format!("Whether any service changed cannot be told: {why}.")
}

/// Who came and who left.
fn gone(only: &[OneSided]) -> Option<String> {
    let names = |side: Side| -> Vec<String> {
        let of_side = only.iter().filter(|it| it.side == side && it.kind == OneSidedKind::Tenant);
        of_side.map(|it| format!("`{}`", it.name)).collect()
    };
    let told = |names: Vec<String>, what: &str| match names.len() {
        0 => None,
        few if few <= MOST_NAMED => Some(format!("{} {what}", names.join(", "))),
        many => Some(format!("{} and {} others {what}", names[..2].join(", "), many - 2)),
    };
    let parts: Vec<String> =
        [told(names(Side::Before), "before"), told(names(Side::After), "after")]
            .into_iter()
            .flatten()
            .collect();
    (!parts.is_empty()).then(|| format!("In one recording only: {}.", parts.join("; ")))
}
