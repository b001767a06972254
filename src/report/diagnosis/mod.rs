//! A diagnosis as a report: the answer, how slow, who is suspected, what was ruled out, what was not seen, the proof.

mod experiment;
mod picture;
mod plan;
mod suspects;
#[cfg(test)]
mod tests;

pub use experiment::experiment_report;
pub use picture::picture;

use crate::analysis::diagnosis_findings::{Diagnosis, Outcome, Slowness};
use crate::domain::outline::Outline;
use crate::report::Report;
use crate::report::block::{Block, Cell, Table, without_unused_terms};
use crate::report::cells::{count as number_of, missing, numbers, words};
use crate::report::extent::Extent;
use crate::report::influences::quantities::{change, finite, is_gain, quantity};
use crate::report::influences::{look_alikes, tables};
use crate::report::sections::{blind_spots, glossary};
use crate::report::wording::{name, sentence, span, stopped};

/// Everything that the report of a diagnosis is made from.
#[derive(Debug, Clone, Copy)]
pub struct DiagnosisInput<'a> {
    /// What was found.
    pub diagnosis: &'a Diagnosis,
    /// What the recording holds.
    pub outline: &'a Outline,
    /// Version of cotenant.
    pub tool_version: &'a str,
    /// The command line without secrets; may be empty.
    pub command: &'a str,
}

/// The diagnosis as neutral blocks, in reading order.
pub fn report(input: &DiagnosisInput<'_>) -> Report {
    let it = input.diagnosis;
    let victim = name(&it.victim);
    let mut blocks = vec![heading("answer", outcome(it.outcome)), Block::Lead(said(&it.headline))];
    blocks.push(heading("how-slow", &format!("How slow {victim} was")));
    blocks.extend(slowness(it));
    blocks.push(picture::block(it));
    blocks.push(heading("suspects", "Who may have done it"));
    blocks.extend(suspects::blocks(it));
    let checked = look_alikes::blocks(&it.look_alikes, &victim);
    if !checked.is_empty() {
        blocks.push(heading("look-alikes", "What else was checked, and ruled out"));
        blocks.extend(checked);
    }
    blocks.push(heading("blind-spots", "What this recording could not show"));
    blocks.extend(blind_spots::blocks(input.outline, &it.blind_spots));
    if let Some(experiment) = &it.experiment {
        blocks.push(heading("experiment", "The experiment that would prove it"));
        blocks.extend(plan::blocks(experiment));
    }
    let proof = proof(it, &victim);
    if !proof.is_empty() {
        blocks.push(heading("proof", "Evidence in numbers"));
        blocks.extend(proof);
    }
    blocks.extend(provenance(input.tool_version, input.command));
    blocks.push(heading("glossary", "Terms"));
    blocks.extend(glossary::terms().filter(|it| !is_sampling_window(it)));
    Report {
        title: format!("What happened to {victim}"),
        subtitle: subtitle(input),
        blocks: without_unused_terms(blocks),
    }
}

/// How every suspect was tested, and how clocks were lined up, folded away.
fn proof(it: &Diagnosis, victim: &str) -> Vec<Block> {
    let mut blocks = suspects::proof(it);
    if let Some(offset) = &it.clock_offset {
        blocks.push(Block::Details {
            summary: format!("{victim}: its clock against the GPU's"),
            blocks: tables::clocks(std::slice::from_ref(offset), victim),
        });
    }
    blocks
}

fn heading(anchor: &str, text: &str) -> Block {
    Block::Heading { level: 2, anchor: anchor.to_owned(), text: text.to_owned() }
}

/// The window of a sample, which a diagnosis does not speak of: its window is the one in question.
fn is_sampling_window(block: &Block) -> bool {
    matches!(block, Block::Term { term, .. } if term == "Window")
}

/// A sentence of the analysis as a line of its own; it may begin with a name, which keeps its case.
fn said(text: &str) -> String {
    stopped(&sentence(text))
}

/// Whether the whole recording was looked at, so that there is no other time.
fn is_whole(it: &Diagnosis) -> bool {
    it.slowness.normal_bins == 0
}

/// What was looked at, within a sentence.
fn place(it: &Diagnosis) -> &'static str {
    if is_whole(it) { "over the whole recording" } else { "in the window" }
}

/// The kind of answer in a few words.
pub(crate) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Neighbour => "A neighbour did it",
        Outcome::ProbablyNeighbour => "Probably a neighbour",
        Outcome::SomethingElse => "Something else did it",
        Outcome::NotSlow => "No slower than usual",
        Outcome::NothingShown => "Nothing was shown",
        Outcome::CannotTell => "Cannot tell",
    }
}

/// What was looked at, where and when.
fn subtitle(input: &DiagnosisInput<'_>) -> String {
    let it = input.diagnosis;
    let place = match &it.gpu {
        Some(gpu) => {
            let device = crate::domain::ident::Subject::device(gpu);
            format!("on {}", name(&input.outline.label(&device)))
        }
        None => "on no known GPU".to_owned(),
    };
    let part = Extent::of(Some(it.window).filter(|_| !is_whole(it)), input.outline.span)
        .map_or_else(String::new, |it| format!(", {}", it.part()));
    format!("{} of {} {place} · {}{part}", it.metric.in_words(), name(&it.victim), span(it.window))
}

/// The window against the rest of the recording.
fn slowness(it: &Diagnosis) -> Vec<Block> {
    let value = |value: Option<f64>, reason: &str| match finite(value) {
        Some(value) => Cell::Measure { text: quantity(it.metric, value), value },
        None => missing(reason),
    };
    let row = |label: &str, values: [Option<f64>; 2], bins: u64, reason: &str| {
        let [p50, p95] = values;
        vec![Cell::Text(label.to_owned()), value(p50, reason), value(p95, reason), number_of(bins)]
    };
    let slow = it.slowness;
    let unseen = "the victim was not seen in it";
    let mut rows =
        vec![row(place(it), [slow.window_p50, slow.window_p95], slow.window_bins, unseen)];
    if !is_whole(it) {
        let normal = [slow.normal_p50, slow.normal_p95];
        rows.push(row("otherwise", normal, slow.normal_bins, unseen));
    }
    let table = Table {
        caption: format!("{} of {}, over bins", it.metric.first_in_words(), name(&it.victim)),
        columns: vec![words("When"), numbers("Median"), numbers("95th pct"), numbers("Bins seen")],
        rows,
    };
    vec![Block::Text(how_slow(it, &slow)), Block::Table(table)]
}

fn how_slow(it: &Diagnosis, slow: &Slowness) -> String {
    let metric = it.metric.first_in_words();
    let shown = |value: f64| quantity(it.metric, value);
    match (finite(slow.window_p50), finite(slow.normal_p50)) {
        (Some(window), Some(normal)) => {
            let change = match finite(slow.change_ratio) {
                Some(ratio) => format!(": {}", change(it.metric, ratio)),
                None => String::new(),
            };
            let place = if is_gain(it.metric) { "stood at" } else { "was" };
            format!(
                "{metric} {place} {} in the window, against {} otherwise (medians){change}.",
                shown(window),
                shown(normal)
            )
        }
        (Some(window), None) => format!(
            "{metric} was {} {} (median); there is no other time to compare it with.",
            shown(window),
            place(it)
        ),
        (None, _) => format!("{metric} was not seen {}.", place(it)),
    }
}

/// Which program was asked what.
fn provenance(tool_version: &str, command: &str) -> Vec<Block> {
    let mut blocks = vec![
        heading("provenance", "Provenance"),
        Block::Text(format!("Made by cotenant {}.", sentence(tool_version))),
    ];
    if !command.trim().is_empty() {
        blocks.push(Block::Code(sentence(command)));
    }
    blocks
}
