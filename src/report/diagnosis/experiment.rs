//! What an experiment showed, as a report.

use crate::analysis::diagnosis_findings::{ExperimentBlock, ExperimentResult};
use crate::domain::units::Seconds;
use crate::report::Report;
use crate::report::block::{Block, Cell, Mark, Statement, Table};
use crate::report::cells::{count as number_of, missing, numbers, percent_or, words};
use crate::report::diagnosis::{heading, provenance, said};
use crate::report::influences::quantities::{chance, effect_of, finite, quantity};
use crate::report::influences::wording::quoted;
use crate::report::wording::{count, name, stamp};

/// The result as neutral blocks, in reading order.
pub fn experiment_report(it: &ExperimentResult, tool_version: &str, command: &str) -> Report {
    let (suspect, victim) = (name(&it.suspect), name(&it.victim));
    let answer = if it.is_proven { "Proven" } else { "Not proven" };
    let mut blocks = vec![
        heading("answer", answer),
        Block::Lead(said(&it.headline)),
        Block::Statement(Statement {
            mark: if it.is_proven { Mark::Firm } else { Mark::Absent },
            tag: String::new(),
            text: test(it),
            notes: Vec::new(),
        }),
    ];
    blocks.push(heading("blocks", "Block by block"));
    blocks.push(Block::Table(table(it)));
    if !it.caveats.is_empty() {
        blocks.push(heading("caveats", "What weakens the answer"));
        blocks.extend(it.caveats.iter().map(|it| {
            Block::Statement(Statement {
                mark: Mark::Unknown,
                tag: String::new(),
                text: said(it),
                notes: Vec::new(),
            })
        }));
    }
    blocks.extend(provenance(tool_version, command));
    Report { title: format!("Does {suspect} slow {victim}?"), subtitle: subtitle(it), blocks }
}

fn subtitle(it: &ExperimentResult) -> String {
    let paused = it.blocks.iter().filter(|it| !it.suspect_runs).count();
    let blocks = count(it.blocks.len(), "block", "blocks");
    format!("{blocks}, {paused} of them with {} paused", name(&it.suspect))
}

fn test(it: &ExperimentResult) -> String {
    let ends = (it.effect_low, it.effect_high);
    let effect = effect_of(it.metric, Some(it.effect_ratio), ends)
        .map_or_else(|| "could not be compared".to_owned(), |effect| format!("is {effect}"));
    let p = match it.p_value.is_finite() {
        true => format!("p\u{a0}= {}", chance(it.p_value)).replace("= <", "<"),
        false => "no p".to_owned(),
    };
    format!(
        "{} of {} {effect} in blocks with {} against blocks without; {p}, from {}.",
        it.metric.first_in_words(),
        quoted(&it.victim),
        quoted(&it.suspect),
        match it.arrangements {
            1 => "the only way to deal out the labels".to_owned(),
            ways => format!("all {ways} ways to deal out the labels"),
        }
    )
}

fn table(it: &ExperimentResult) -> Table {
    let row = |(position, block): (usize, &ExperimentBlock)| {
        vec![
            Cell::Text(format!("{}", position + 1)),
            Cell::Text(stamp(block.span.from())),
            Cell::Measure {
                text: Seconds(block.span.seconds()).to_string(),
                value: block.span.seconds(),
            },
            Cell::Text(if block.suspect_runs { "runs" } else { "paused" }.to_owned()),
            match finite(block.victim_mean) {
                Some(value) => Cell::Measure { text: quantity(it.metric, value), value },
                None => missing("the victim was not seen in the block"),
            },
            percent_or(
                finite(block.suspect_activity_ratio),
                "the suspect was not seen in the block",
            ),
            number_of(block.bins),
        ]
    };
    Table {
        caption: format!(
            "{} of {} in each block, geometric mean",
            it.metric.in_words(),
            name(&it.victim)
        ),
        columns: vec![
            words("Block"),
            words("From"),
            numbers("Length"),
            words(&name(&it.suspect)),
            numbers(&it.metric.in_words()),
            numbers("Its activity"),
            numbers("Bins"),
        ],
        rows: it.blocks.iter().enumerate().map(row).collect(),
    }
}
