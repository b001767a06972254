//! Before and after as tables.

use crate::analysis::compare::findings::{
    ChangeVerdict, Comparison, Condition, ConditionChange, InfluenceSide, ServiceChange, ShapeSide,
};
use crate::analysis::findings::Scope;
use crate::analysis::influence::findings::InfluenceVerdict;
use crate::domain::ident::Subject;
use crate::domain::shares::change as signed;
use crate::recommender::suitability::Suitability;
use crate::report::block::{Block, Cell, Mark, Table};
use crate::report::cells::{bytes_or, measure, missing, numbers, percent_or, seconds_or, words};
use crate::report::compare::{mark, noticed, one_sided, verdict};
use crate::report::influences::quantities::{chance, change, quantity};
use crate::report::influences::wording::mark as mark_of;
use crate::report::pieces::{heading, statement};
use crate::report::wording::name;

/// So many rows of a table that is not the answer are shown.
const MOST: usize = 40;

/// A change with its interval: `+40 % (+31 to +49)`; `None` without one.
pub(super) fn interval(ratio: Option<f64>, low: Option<f64>, high: Option<f64>) -> Option<String> {
    let [ratio, low, high] = [ratio?, low?, high?].map(signed);
    let bare = |it: &str| it.trim_end_matches(" %").to_owned();
    Some(format!("{ratio} ({} to {})", bare(&low), bare(&high)))
}

pub(super) fn services(it: &Comparison) -> Table {
    Table {
        caption:
            "Typical value of each service before and after, and its change with a 95 % interval"
                .to_owned(),
        columns: vec![
            words("Tenant"),
            words("Metric"),
            numbers("Before"),
            numbers("After"),
            numbers("Change"),
            words("Shown"),
            numbers("At equal load"),
            numbers("Chance"),
            numbers("Would be noticed"),
        ],
        rows: it.services.iter().map(service).collect(),
    }
}

fn service(it: &ServiceChange) -> Vec<Cell> {
    let level = |value: Option<f64>| match value.filter(|it| it.is_finite()) {
        Some(value) => Cell::Quantity(quantity(it.metric, value)),
        None => missing("not seen"),
    };
    let why = it.reasons.first().map_or("it cannot be told", String::as_str);
    let change = interval(it.change_ratio, it.change_low, it.change_high);
    let equal = it.load.as_ref().filter(|it| it.has_moved);
    let equal = equal.and_then(|it| interval(it.adjusted_ratio, it.adjusted_low, it.adjusted_high));
    vec![
        Cell::Name(name(&it.tenant)),
        Cell::Text(it.metric.first_in_words()),
        level(it.before.as_ref().map(|it| it.typical)),
        level(it.after.as_ref().map(|it| it.typical)),
        change.map_or_else(|| missing(why), Cell::Quantity),
        Cell::Marked(mark(it), verdict(it).to_owned()),
        equal.map_or_else(|| missing("the load did not move, or is not known"), Cell::Quantity),
        it.p_of_all.map_or_else(|| missing(why), |it| Cell::Quantity(chance(it))),
        noticed(it).map_or_else(|| missing(why), Cell::Quantity),
    ]
}

/// What is in one recording only.
pub(super) fn only(it: &Comparison) -> Vec<Block> {
    if it.only_in_one.is_empty() {
        return Vec::new();
    }
    let told: Vec<Block> = it
        .only_in_one
        .iter()
        .map(|it| statement(Mark::Unknown, "not compared", &one_sided(it), Vec::new()))
        .collect();
    let mut blocks = vec![heading(2, "one-sided", "In one recording only")];
    match told.len() > 8 {
        true => blocks.push(Block::Details {
            summary: format!("{} that are in one recording only", told.len()),
            blocks: told,
        }),
        false => blocks.extend(told),
    }
    blocks
}

/// What else changed on the GPUs.
pub(super) fn conditions(it: &Comparison) -> Vec<Block> {
    if it.conditions.is_empty() {
        return Vec::new();
    }
    let shown = it.conditions.iter().filter(|it| it.verdict == ChangeVerdict::Different).count();
    let table = Table {
        caption: format!(
            "Conditions of the GPUs; {shown} of {} changed, by tests that share an error of 5 %",
            it.conditions.len()
        ),
        columns: vec![
            words("GPU"),
            words("Condition"),
            numbers("Before"),
            numbers("After"),
            numbers("Difference"),
            words("Shown"),
        ],
        rows: it.conditions.iter().take(MOST).map(condition).collect(),
    };
    vec![heading(2, "conditions", "What else changed on the GPUs"), Block::Table(table)]
}

fn condition(it: &ConditionChange) -> Vec<Cell> {
    let (label, factor, unit, places) = match it.condition {
        Condition::ActivityRatio => ("activity", 100.0, "%", 1),
        Condition::SaturatedRatio => ("time at 95 % or more", 100.0, "%", 1),
        Condition::PowerMw => ("power", 1e-3, "W", 0),
        Condition::SmClockMhz => ("SM clock", 1.0, "MHz", 0),
        Condition::GpuTemperatureCelsius => ("temperature", 1.0, "°C", 1),
    };
    // Plus nothing, so that what rounds to nothing has no sign.
    let scale = 10_f64.powi(places as i32);
    let rounded = |value: f64| (factor * value * scale).round() / scale + 0.0;
    let digits = |value: f64| format!("{:.places$}", rounded(value)).replace('-', "−");
    let level = |value: Option<f64>| match value.filter(|it| it.is_finite()) {
        Some(value) => measure(format!("{} {unit}", digits(value)), factor * value),
        None => missing("not recorded"),
    };
    let signed = |value: f64| match rounded(value) > 0.0 {
        true => format!("+{}", digits(value)),
        false => digits(value),
    };
    let points = if unit == "%" { "points" } else { unit };
    let difference = match (it.difference, it.difference_low, it.difference_high) {
        (Some(it), Some(low), Some(high)) => {
            Cell::Quantity(format!("{} {points} ({} to {})", signed(it), signed(low), signed(high)))
        }
        _ => missing("the windows differ, or it changes too slowly for the time that was seen"),
    };
    let (mark, shown) = match it.verdict {
        ChangeVerdict::Different => (Mark::Neutral, "changed"),
        ChangeVerdict::NotShown => (Mark::Absent, "not shown"),
        _ => (Mark::Unknown, "cannot tell"),
    };
    vec![
        Cell::Name(name(&it.device)),
        Cell::Text(label.to_owned()),
        level(it.before),
        level(it.after),
        difference,
        Cell::Marked(mark, shown.to_owned()),
    ]
}

/// Shapes of load before and after.
pub(super) fn shapes(it: &Comparison) -> Vec<Block> {
    if it.shapes.is_empty() {
        return Vec::new();
    }
    let absent = "not in this recording";
    let row = |name_of: &str, when: &str, side: Option<&ShapeSide>| {
        let duty = side.and_then(|it| it.duty);
        let of = |value: fn(&ShapeSide) -> Option<f64>| side.and_then(value);
        let why = if side.is_none() { absent } else { "not seen" };
        let lengths = if side.is_none() { absent } else { "no bursts, or too short to be seen" };
        vec![
            Cell::Name(name(name_of)),
            Cell::Text(when.to_owned()),
            percent_or(of(|it| it.mean_ratio), why),
            percent_or(duty.map(|it| it.at_95_pct), why),
            seconds_or(of(|it| it.burst_p50_s), lengths),
            seconds_or(of(|it| it.burst_p90_s), lengths),
            bytes_or(of(|it| it.memory_peak_bytes), why),
        ]
    };
    let rows = it.shapes.iter().take(MOST).flat_map(|it| {
        [row(&it.name, "before", it.before.as_ref()), row(&it.name, "after", it.after.as_ref())]
    });
    let table = Table {
        caption: "Activity, bursts and most memory in use; these are not tested".to_owned(),
        columns: vec![
            words("Load"),
            words("When"),
            numbers("Activity"),
            numbers("Time at 95 %"),
            numbers("Burst p50"),
            numbers("Burst p90"),
            numbers("Memory peak"),
        ],
        rows: rows.collect(),
    };
    let notes = it.shapes.iter().filter_map(|it| {
        let why = it.incomparable.as_ref()?;
        let text = format!("`{}`: {why}", name(&it.name).replace('`', "'"));
        Some(statement(Mark::Unknown, "does not compare", &text, Vec::new()))
    });
    std::iter::once(Block::Table(table)).chain(notes).collect()
}

/// Who slowed whom, before and after.
pub(super) fn influences(it: &Comparison) -> Vec<Block> {
    if it.influences.is_empty() {
        return Vec::new();
    }
    let side = |side: &Option<InfluenceSide>| match side {
        None => missing("not tested: one of the two was not there, or not seen"),
        Some(it) => Cell::Marked(mark_of(it.verdict), influence(it)),
    };
    let table = Table {
        caption: "Who slowed whom; each recording was tested by itself".to_owned(),
        columns: vec![words("Suspect"), words("Victim"), words("Before"), words("After")],
        rows: it
            .influences
            .iter()
            .take(MOST)
            .map(|it| {
                let [suspect, victim] = [&it.suspect, &it.victim].map(|it| Cell::Name(name(it)));
                vec![suspect, victim, side(&it.before), side(&it.after)]
            })
            .collect(),
    };
    vec![heading(2, "influences", "Who slowed whom, before and after"), Block::Table(table)]
}

fn influence(it: &InfluenceSide) -> String {
    let effect = it.effect_ratio.filter(|it| it.is_finite());
    let effect =
        effect.map(|ratio| format!(": {} {}", it.metric.in_words(), change(it.metric, ratio)));
    let effect = effect.unwrap_or_default();
    match it.verdict {
        InfluenceVerdict::Confirmed => format!("confirmed{effect}"),
        InfluenceVerdict::Through => format!("through the board{effect}"),
        InfluenceVerdict::Likely => format!("likely{effect}"),
        InfluenceVerdict::NotShown => "not shown".to_owned(),
        InfluenceVerdict::CannotTell => "cannot tell".to_owned(),
    }
}

/// Whether each GPU suited sharing, before and after.
fn words_of(all: &[Suitability]) -> impl Iterator<Item = (&str, &Suitability)> + '_ {
    let is_device = |it: &&Suitability| {
        it.scope == Scope::Whole && matches!(it.subject, Subject::Device { .. })
    };
    all.iter().filter(is_device).map(|it| (it.label.as_str(), it))
}

/// The words on sharing, device by device in the order of their names before.
fn words_table(before: &[Suitability], after: &[Suitability]) -> Option<Table> {
    let mut names: Vec<&str> = words_of(before).map(|it| it.0).collect();
    for (label, _) in words_of(after) {
        if !names.contains(&label) {
            names.push(label);
        }
    }
    let cell = |all: &[Suitability], label: &str| {
        let found = words_of(all).find(|it| it.0 == label);
        found.map_or_else(|| missing("not in this recording"), |it| Cell::Word(it.1.word))
    };
    let reason = |all: &[Suitability], label: &str| {
        let found = words_of(all).find(|it| it.0 == label);
        let first = found.and_then(|it| it.1.reasons.first());
        first.map_or_else(|| missing("no reason was given"), |it| Cell::Text(it.clone()))
    };
    let row = |label: &&str| {
        vec![Cell::Name(name(label)), cell(before, label), cell(after, label), reason(after, label)]
    };
    (!names.is_empty()).then(|| Table {
        caption: "Whether the load of each GPU suits sharing".to_owned(),
        columns: vec![words("GPU"), words("Before"), words("After"), words("Why, after")],
        rows: names.iter().take(MOST).map(row).collect(),
    })
}

/// The same as blocks.
pub(super) fn words_blocks(before: &[Suitability], after: &[Suitability]) -> Vec<Block> {
    match words_table(before, after) {
        None => Vec::new(),
        Some(table) => {
            vec![heading(2, "words", "Verdict, before and after"), Block::Table(table)]
        }
    }
}
