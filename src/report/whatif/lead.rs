//! The one sentence: which way keeps the objective or costs least, or what would settle it.

use crate::colocation::objective::{Keeping, Limit, Objective};
use crate::colocation::range::Range;
use crate::colocation::share::Mechanism;
use crate::domain::units::Seconds;
use crate::report::whatif::assumed::settling;
use crate::report::whatif::{Row, Scene, Tuning, WhatIf, factor, way};
use crate::report::wording::{capitalised, list, name, times};

pub(super) fn headline(input: &WhatIf<'_>) -> String {
    match input.slo {
        Some(slo) => by_objective(input, slo),
        None => by_cost(input),
    }
}

/// A way to share as a part of a sentence.
fn named(scene: &Scene) -> String {
    match scene.mechanism {
        Mechanism::Exclusive => "exclusive use".to_owned(),
        _ => way(&scene.mechanism).to_owned(),
    }
}

/// An objective in words: `p99 of at most 50.0 ms`.
pub(crate) fn objective(slo: Objective) -> String {
    let level = slo.level.name();
    match slo.limit {
        Limit::Seconds(it) => format!("a {level} of at most {}", Seconds(it)),
        Limit::Factor(it) => format!("a {level} of at most {}x that alone", factor(it)),
    }
}

fn by_objective(input: &WhatIf<'_>, slo: Objective) -> String {
    let kept: Vec<(&Scene, Keeping)> =
        input.scenes.iter().filter_map(|it| Some((it, input.kept_by(it)?))).collect();
    let wanted = objective(slo);
    if kept.is_empty() {
        return format!(
            "Nobody has requests, so {wanted} concerns nobody; {}",
            uncapitalised(&by_cost(input))
        );
    }
    let of = |wanted: Keeping| -> Vec<String> {
        let found = kept.iter().filter(|it| it.1 == wanted);
        found.map(|it| named(it.0)).collect()
    };
    let (met, missed, open) = (of(Keeping::Met), of(Keeping::Missed), of(Keeping::CannotTell));
    let mut parts = Vec::new();
    if !met.is_empty() {
        let verb = if met.len() == 1 { "keeps" } else { "keep" };
        parts.push(format!("{} {verb} {wanted}", capitalised(&list(&met))));
    }
    if !missed.is_empty() {
        let verb = if missed.len() == 1 { "misses" } else { "miss" };
        let text = format!("{} {verb} it for {}", list(&missed), list(&losers(input)));
        parts.push(match met.is_empty() {
            true => format!(
                "{} {verb} {wanted} for {}",
                capitalised(&list(&missed)),
                list(&losers(input))
            ),
            false => text,
        });
    }
    let mut text = parts.join("; ");
    if !open.is_empty() {
        let lead = if text.is_empty() { String::new() } else { format!("{text}. ") };
        let scenes: Vec<&Scene> =
            kept.iter().filter(|it| it.1 == Keeping::CannotTell).map(|it| it.0).collect();
        let what = if parts.is_empty() { wanted.as_str() } else { "it" };
        text = format!(
            "{lead}Whether {} {} {what} cannot be told: {}",
            list(&open),
            if open.len() == 1 { "keeps" } else { "keep" },
            settle(input, &scenes)
        );
    }
    format!("{text}.")
}

/// Who misses the objective under some way.
fn losers(input: &WhatIf<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for row in input.rows().iter().filter(|it| it.keeping == Some(Keeping::Missed)) {
        let name = name(&row.party.name);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The worst p99 of a way, with whom it hits; `None` when somebody got no number.
fn worst<'a>(input: &WhatIf<'a>, scene: &'a Scene) -> Option<(Range, String)> {
    let rows: Vec<Row<'a>> = input.rows_of(scene);
    let all: Option<Vec<(Range, &str)>> =
        rows.iter().map(|it| Some((it.found.slowdown?.p99, it.party.name.as_str()))).collect();
    let found = all?.into_iter().max_by(|a, b| a.0.expected.total_cmp(&b.0.expected))?;
    Some((found.0, name(found.1)))
}

fn by_cost(input: &WhatIf<'_>) -> String {
    let shared = input.scenes.iter().filter(|it| !matches!(it.mechanism, Mechanism::Exclusive));
    let mut ranked: Vec<(&Scene, Range, String)> =
        shared.filter_map(|it| worst(input, it).map(|found| (it, found.0, found.1))).collect();
    ranked.sort_by(|a, b| a.1.expected.total_cmp(&b.1.expected));
    let told = |it: &(&Scene, Range, String)| match it.1.has_useful_end() {
        true => format!("{} ({} to {})", times(it.1.expected), times(it.1.low), times(it.1.high)),
        false => format!("at least {}", times(it.1.low)),
    };
    match ranked.as_slice() {
        [] => {
            let mut refusals: Vec<String> = input
                .rows()
                .iter()
                .filter(|it| !matches!(it.scene.mechanism, Mechanism::Exclusive))
                .filter_map(|it| it.found.refusal.map(|it| it.to_string()))
                .collect();
            refusals.dedup();
            match refusals.as_slice() {
                [only] => format!("No way to share has a number for everybody: {only}."),
                _ => "No way to share has a number for everybody; what is missing stands below."
                    .to_owned(),
            }
        }
        [only] => format!(
            "Under {}, p99 grows to {} times that alone for {}, who has it worst.",
            way(&only.0.mechanism),
            told(only),
            only.2
        ),
        [best, next, ..] => {
            let (first, second) = (way(&best.0.mechanism), way(&next.0.mechanism));
            if best.1.high < next.1.low {
                return format!(
                    "{} costs least at p99: {} times that alone for {}, who has it worst; {second} {}.",
                    capitalised(first),
                    told(best),
                    best.2,
                    told(next)
                );
            }
            format!(
                "{} and {second} cannot be told apart at p99: {} and {} times that alone for whom it hits worst; {}.",
                capitalised(first),
                told(best),
                told(next),
                settle(input, &[best.0, next.0])
            )
        }
    }
}

/// What would make the intervals narrower.
fn settle(input: &WhatIf<'_>, scenes: &[&Scene]) -> String {
    let mut all: Vec<_> =
        input.parties.iter().flat_map(|it| it.demand.assumptions.clone()).collect();
    all.sort_unstable();
    all.dedup();
    let is_spatial =
        scenes.iter().any(|it| matches!(it.mechanism, Mechanism::Mps { .. } | Mechanism::Mig));
    if let Some(it) = all.iter().filter_map(|it| settling(*it, is_spatial)).min() {
        return format!("to settle it, {}", it.1);
    }
    let is_untuned = |it: &&&Scene| {
        matches!(it.mechanism, Mechanism::TimeSlicing { .. }) && it.tuning == Tuning::Usual
    };
    match scenes.iter().find(is_untuned) {
        Some(_) => "to settle it, measure the turns (--quantum, --switch)".to_owned(),
        None => "to settle it, record for longer".to_owned(),
    }
}

fn uncapitalised(text: &str) -> String {
    // Names of ways that are written in capitals stay so.
    let starts_upper = |it: &str| it.chars().take(2).all(char::is_uppercase);
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if !starts_upper(text) => first.to_lowercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}
