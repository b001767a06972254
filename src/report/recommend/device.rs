//! One device: what changes, who gets what, why, what it disturbs, what was rejected, how sure it is.

use crate::colocation::objective::Keeping;
use crate::colocation::range::Range;
use crate::domain::units::MemoryBytes;
use crate::recommender::mechanism::{Assigned, MechanismId, Predicted, Standing, mechanism};
use crate::recommender::reason::{Reason, Weight};
use crate::recommender::situation::{Current, NOBODY_KNOWS};
use crate::recommender::verdict::{Chosen, Outcome, Rejected, Verdict};
use crate::report::block::{Block, Cell, Mark, Table};
use crate::report::cells::{measure, missing, numbers, words};
use crate::report::pieces::{heading, statement};
use crate::report::recommend::lead::{about, decision, disturbs, grounds, what};
use crate::report::recommend::predicted;
use crate::report::wording::{
    capitalised, chance, count, name, percent, sentence, shorten, slug, some, stopped, times,
};

/// Longest name in a table, so that text keeps within eighty columns.
const LONGEST_NAME: usize = 18;
/// Reasons of one way that are told at most.
const MOST_REASONS: usize = 4;
/// Answers of the policy that are told at most.
const MOST_ANSWERS: usize = 5;
/// Bytes of a MiB.
const MIB: f64 = 1_048_576.0;

/// Everything about one verdict; `place` keeps anchors apart.
pub(super) fn blocks(verdict: &Verdict, place: usize, is_one_of_many: bool) -> Vec<Block> {
    let label = name(&verdict.label);
    let anchor = format!("gpu-{place}-{}", slug(&verdict.label));
    let mut blocks = vec![heading(2, &anchor, &label)];
    if is_one_of_many {
        blocks.push(Block::Lead(decision(verdict)));
        blocks.extend(grounds(verdict).map(Block::Text));
    }
    blocks.push(change(verdict));
    if let Some(it) = &verdict.apart {
        blocks.push(statement(Mark::Probable, "or", &it.sentence, Vec::new()));
    }
    if let Some(it) = &verdict.fitting {
        let names: Vec<String> = it.names.iter().map(|it| format!("`{it}`")).collect();
        let who = format!("these are {}", some(&names));
        blocks.push(statement(Mark::Probable, "or", &it.sentence, vec![who]));
    }
    if let Some(chosen) = &verdict.chosen {
        blocks.extend(assignments(chosen));
        blocks.push(heading(3, &format!("{anchor}-why"), "Why"));
        blocks.extend(chosen.reasons.iter().map(for_it));
    }
    if let Some(it) = &verdict.disruption {
        blocks.push(heading(3, &format!("{anchor}-disturbs"), "What it disturbs"));
        let scope = if it.is_node_wide { "all GPUs of the node" } else { "" };
        blocks
            .extend(it.sentences.iter().map(|it| statement(Mark::Indirect, scope, it, Vec::new())));
        if it.sentences.is_empty() {
            blocks.push(statement(Mark::Fine, "", "nothing has to change", Vec::new()));
        }
    }
    let ways = predicted::blocks(verdict, &slug(&label));
    if !ways.is_empty() {
        blocks.push(heading(3, &format!("{anchor}-ways"), "What each way would do"));
        blocks.extend(ways);
    }
    if !verdict.rejected.is_empty() && verdict.outcome != Outcome::Nobody {
        blocks.push(heading(3, &format!("{anchor}-rejected"), "What was rejected"));
        blocks.extend(verdict.rejected.iter().map(rejected));
    }
    blocks.push(heading(3, &format!("{anchor}-sure"), "How sure it is"));
    blocks.extend(sureness(verdict));
    blocks
}

/// How it is shared now, and what is proposed.
fn change(verdict: &Verdict) -> Block {
    let now = present(&verdict.current);
    let mut rows = vec![pair("Now", &now), pair("Proposed", &capitalised(&what(verdict)))];
    if let Some(it) = disturbs(verdict) {
        rows.push(pair("Disruption", &capitalised(it)));
    }
    if let Some(chosen) = &verdict.chosen {
        let devices = count(chosen.devices as usize, "GPU", "GPUs");
        rows.push(pair("Takes", &devices));
        if let Some(replicas) = chosen.replicas {
            rows.push(pair("Replicas", &replicas.to_string()));
        }
        if let Some(capacity) = &chosen.capacity {
            let text = format!("{}, bound by {}", capacity.tenants, capacity.binding());
            rows.push(pair("Such tenants that fit", &text));
        }
    }
    if let Some(freed) = &verdict.freed {
        let share = |it: Option<f64>| it.map_or_else(|| "unknown".to_owned(), percent);
        let text = format!(
            "{}, {} of the compute and {} of the memory",
            match freed.devices {
                0 => "no GPU".to_owned(),
                some => count(some as usize, "GPU", "GPUs"),
            },
            share(freed.compute_ratio),
            share(freed.memory_ratio)
        );
        rows.push(pair("Leaves to others", &text));
    }
    Block::Table(Table {
        caption: "Now, and what is proposed".to_owned(),
        columns: vec![words(""), words("")],
        rows,
    })
}

fn pair(key: &str, value: &str) -> Vec<Cell> {
    vec![Cell::Text(key.to_owned()), Cell::Text(sentence(value))]
}

/// How a device is shared now, in words.
fn present(now: &Current) -> String {
    let tenants = match now.is_anonymous {
        true => NOBODY_KNOWS.to_owned(),
        false => count(now.tenants, "tenant", "tenants"),
    };
    let way = match (now.is_mig, now.is_mps) {
        (Some(true), _) => {
            let names: Vec<&str> = now.instances.iter().map(|it| it.profile.as_str()).collect();
            match names.is_empty() {
                true => "MIG mode without instances".to_owned(),
                false => format!("MIG, {}", names.join(" + ")),
            }
        }
        (_, Some(true)) => "MPS".to_owned(),
        _ if now.tenants == 0 => return "nobody".to_owned(),
        _ if now.is_anonymous => return tenants,
        _ if now.tenants == 1 => "one device for one".to_owned(),
        (Some(false), _) => "the whole device, in turns unless MPS is on".to_owned(),
        (None, _) => "how was not recorded".to_owned(),
    };
    format!("{tenants}; {way}")
}

/// What each tenant gets and what would happen to it.
fn assignments(chosen: &Chosen) -> Option<Block> {
    if chosen.assignments.is_empty() {
        return None;
    }
    let row = |it: &Assigned| {
        let predicted = chosen.predicted.iter().find(|own| own.tenant == it.tenant);
        vec![
            Cell::Name(shorten(&name(&it.tenant), LONGEST_NAME)),
            Cell::Quantity(gets(it, chosen.mechanism)),
            size(it.needed_mib, "its memory was not recorded"),
            size(it.stranded_mib, "it has no memory of its own"),
            p99(predicted),
            target(predicted),
            match predicted.and_then(|it| it.out_of_memory_day_ratio) {
                Some(it) => Cell::Quantity(chance(it)),
                None => {
                    missing("its memory, or that of the GPU, was not recorded, or not often enough")
                }
            },
        ]
    };
    Some(Block::Table(Table {
        caption: "Who gets what, and what would happen: p99 over that alone (interval), and chance that memory runs out within a day".to_owned(),
        columns: vec![
            words("Tenant"),
            words("Gets"),
            numbers("Needs"),
            numbers("Unused"),
            numbers("p99"),
            words("Target"),
            numbers("Runs out"),
        ],
        rows: chosen.assignments.iter().map(row).collect(),
    }))
}

fn gets(it: &Assigned, way: MechanismId) -> String {
    if let Some(profile) = &it.profile {
        return match it.start {
            Some(start) => format!("{profile}:{start}"),
            None => profile.clone(),
        };
    }
    match (way, it.thread_percentage) {
        (_, Some(share)) => format!("{share} % of threads"),
        (MechanismId::Exclusive, _) => "a GPU".to_owned(),
        (MechanismId::TimeSlicing, _) => "turns".to_owned(),
        _ => "a part".to_owned(),
    }
}

fn size(mib: Option<f64>, reason: &str) -> Cell {
    match mib.and_then(|it| MemoryBytes::from_f64(it.max(0.0) * MIB)) {
        Some(it) => Cell::Quantity(it.to_string()),
        None => missing(reason),
    }
}

fn p99(predicted: Option<&Predicted>) -> Cell {
    let Some(predicted) = predicted else { return missing("nothing was predicted") };
    match predicted.slowdown_p99_factor {
        Some(it) if predicted.is_at_least => {
            measure(format!("≥ {}", times(it.expected)), it.expected)
        }
        Some(it) if !it.has_useful_end() => measure(format!("≥ {}", times(it.low)), it.low),
        Some(it) => measure(interval(it), it.expected),
        None => missing("nothing was predicted"),
    }
}

/// A factor with its interval: `1.23 (1.00–2.51)`.
pub(crate) fn interval(it: Range) -> String {
    match it.is_exact() {
        true => times(it.expected),
        false => format!("{} ({}–{})", times(it.expected), times(it.low), times(it.high)),
    }
}

fn target(predicted: Option<&Predicted>) -> Cell {
    match predicted.and_then(|it| it.target) {
        Some(Keeping::Met) => Cell::Marked(Mark::Fine, "met".to_owned()),
        Some(Keeping::Missed) => Cell::Marked(Mark::Firm, "missed".to_owned()),
        Some(Keeping::CannotTell) => Cell::Marked(Mark::Unknown, "cannot tell".to_owned()),
        None => missing("it has no target"),
    }
}

/// What speaks for the proposal, or has to be accepted with it.
fn for_it(reason: &Reason) -> Block {
    let (mark, tag) = match reason.weight {
        Weight::Favours => (Mark::Fine, ""),
        Weight::Caution => (Mark::Indirect, "accept"),
        Weight::Open => (Mark::Unknown, "open"),
        Weight::Refuses => (Mark::Firm, ""),
    };
    let notes = reason.measurement.iter().map(|it| it.sentence.clone()).collect();
    statement(mark, tag, &reason.sentence, notes)
}

fn rejected(it: &Rejected) -> Block {
    let mark = match it.standing {
        Standing::Refused => Mark::Firm,
        Standing::Open => Mark::Unknown,
        Standing::Possible => Mark::Probable,
    };
    let rest = it.reasons.iter().skip(1).filter(|it| it.weight != Weight::Favours);
    let notes = rest.take(MOST_REASONS).map(|it| it.sentence.clone()).collect();
    let reason = if it.reason.is_empty() { "another way comes first" } else { &it.reason };
    statement(mark, &capitalised(mechanism(it.mechanism).title()), reason, notes)
}

/// The confidence, what lowered it, and what would change the verdict.
fn sureness(verdict: &Verdict) -> Vec<Block> {
    let mut blocks = Vec::new();
    if matches!(verdict.outcome, Outcome::Share | Outcome::Exclusive) {
        let lowered: Vec<String> =
            verdict.lowered_by.iter().map(|it| sentence(&it.sentence)).collect();
        let text = match lowered.is_empty() {
            true => format!("Confidence {:.2}; nothing lowered it.", verdict.confidence.value()),
            false => format!("Confidence {:.2}, lowered by:", verdict.confidence.value()),
        };
        blocks.push(Block::Text(text));
        blocks.extend(lowered.iter().map(|it| statement(Mark::Unknown, "", it, Vec::new())));
    }
    if let Some(it) = &verdict.measurement {
        let text = format!("{}{}", it.measurement.sentence, about(&it.measurement));
        blocks.push(statement(Mark::Probable, "measure", &text, vec![it.sentence.clone()]));
    }
    for it in verdict.answers.iter().take(MOST_ANSWERS) {
        blocks.push(statement(Mark::Probable, "answer", &it.sentence, Vec::new()));
    }
    for it in &verdict.unseen {
        blocks.push(statement(Mark::Unknown, "not seen", it, Vec::new()));
    }
    if blocks.is_empty() {
        blocks.push(Block::Text(stopped("Nothing is left open")));
    }
    blocks
}
