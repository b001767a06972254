//! Every tenant under every way to share, in numbers.

use crate::colocation::demand::Pace;
use crate::colocation::objective::Keeping;
use crate::colocation::range::Range;
use crate::colocation::share::Mechanism;
use crate::colocation::slices::name_of;
use crate::domain::units::Seconds;
use crate::report::block::{Block, Cell, Mark, Statement, Table};
use crate::report::cells::{bytes_or, missing, numbers, percent as percent_cell, words};
use crate::report::whatif::lead::objective;
use crate::report::whatif::{Row, WhatIf, factor, way};
use crate::report::wording::{capitalised, list, name, percent, shorten, some, stopped};

/// Longest name in a table, so that text keeps within eighty columns; the second is for wide tables.
const LONGEST_NAME: usize = 20;
const LONGEST_BESIDE_MORE: usize = 16;
/// Tenants of which every way is listed, also one that gives nobody a number.
const FEW: usize = 8;

fn called(row: &Row<'_>, most: usize) -> [Cell; 2] {
    let name = shorten(&name(&row.party.name), most);
    [Cell::Text(way(&row.scene.mechanism).to_owned()), Cell::Name(name)]
}

/// A number with its interval: `1.92 (1.71–2.26)`.
fn interval(it: Range) -> String {
    match it.is_exact() {
        true => factor(it.expected),
        false => format!("{} ({}–{})", factor(it.expected), factor(it.low), factor(it.high)),
    }
}

fn slowdown(row: &Row<'_>, of: impl Fn(&Row<'_>) -> Option<Range>) -> Cell {
    match of(row) {
        Some(it) if row.found.is_at_least => {
            Cell::Measure { text: format!("≥ {}", factor(it.expected)), value: it.expected }
        }
        Some(it) => Cell::Measure { text: interval(it), value: it.expected },
        None => missing(&why(row)),
    }
}

fn why(row: &Row<'_>) -> String {
    row.found.refusal.map_or_else(|| "no number".to_owned(), |it| it.to_string())
}

/// A verdict on the objective with its mark.
fn kept(row: &Row<'_>) -> Cell {
    match row.keeping {
        Some(Keeping::Met) => Cell::Marked(Mark::Fine, "met".to_owned()),
        Some(Keeping::Missed) => Cell::Marked(Mark::Firm, "missed".to_owned()),
        Some(Keeping::CannotTell) => Cell::Marked(Mark::Unknown, "cannot tell".to_owned()),
        None => missing("a tenant without requests has no latency to keep"),
    }
}

/// Slowdown at p50 and p99, and whether the objective is kept.
pub(super) fn slowdowns(input: &WhatIf<'_>) -> Block {
    let mut columns = vec![words("Way"), words("Tenant"), numbers("p50"), numbers("p99")];
    if input.slo.is_some() {
        columns.push(words("SLO"));
    }
    let rows = with_numbers(input);
    if rows.is_empty() {
        return Block::Text(
            "No way to share gives anybody a number; why is said below.".to_owned(),
        );
    }
    let most = if input.slo.is_some() { LONGEST_BESIDE_MORE } else { LONGEST_NAME };
    let line = |row: &Row<'_>| {
        let mut cells = called(row, most).to_vec();
        cells.push(slowdown(row, |it| it.found.slowdown.map(|it| it.p50)));
        cells.push(slowdown(row, |it| it.found.slowdown.map(|it| it.p99)));
        if input.slo.is_some() {
            cells.push(kept(row));
        }
        cells
    };
    let wanted = input.slo.map_or_else(String::new, |it| format!("; the SLO is {}", objective(it)));
    Block::Table(Table {
        caption: format!("Latency, or time of a burst, over that alone (interval){wanted}"),
        columns,
        rows: rows.iter().map(line).collect(),
    })
}

/// Latency in time, and work done.
pub(super) fn work(input: &WhatIf<'_>) -> Block {
    let line = |row: &Row<'_>| {
        let is_server = row.party.demand.pace == Pace::Open;
        let [way, tenant] = called(row, LONGEST_NAME);
        let latency = match row.found.latency_s.filter(|_| is_server) {
            Some(it) => Cell::Measure { text: times(it.p99), value: it.p99.expected },
            None if is_server => missing(&why(row)),
            None => missing("a tenant without requests has no latency"),
        };
        let work = match row.found.throughput_ratio {
            Some(it) => Cell::Measure { text: shares(it), value: it.expected },
            None => missing(&why(row)),
        };
        vec![way, tenant, latency, work, terms(row)]
    };
    Block::Table(Table {
        caption: "p99 latency of tenants with requests, and work done per time against that alone"
            .to_owned(),
        columns: vec![
            words("Way"),
            words("Tenant"),
            numbers("p99 latency"),
            numbers("Work done"),
            words("Gets"),
        ],
        rows: with_numbers(input).iter().map(line).collect(),
    })
}

/// Rows to show: of many tenants, those of ways that give nobody a number are left out, for one sentence says why.
fn with_numbers<'a>(input: &'a WhatIf<'a>) -> Vec<Row<'a>> {
    let has_number = |it: &Row<'_>| it.found.refusal.is_none();
    let is_few = input.parties.len() <= FEW;
    let scenes = input.scenes.iter().map(|it| input.rows_of(it));
    scenes.filter(|it| is_few || it.iter().any(has_number)).flatten().collect()
}

fn terms(row: &Row<'_>) -> Cell {
    match (row.terms.thread_share, row.terms.slice.and_then(name_of)) {
        (Some(share), _) => Cell::Quantity(percent(share)),
        (_, Some(slice)) => Cell::Quantity(slice.to_owned()),
        (_, None) if row.scene.mechanism == Mechanism::Mig => missing(&why(row)),
        _ => Cell::Quantity("all".to_owned()),
    }
}

/// A time with its interval; the unit is said once where all have it: `23.4 (20.1–30.2) ms`.
fn times(it: Range) -> String {
    let all = [it.expected, it.low, it.high].map(|it| Seconds(it).to_string());
    if it.is_exact() {
        return Seconds(it.expected).to_string();
    }
    let parts = all.each_ref().map(|it| it.split_once(' ').unwrap_or((it, "")));
    let [(expected, unit), (low, low_unit), (high, high_unit)] = parts;
    match unit == low_unit && unit == high_unit {
        true => format!("{expected} ({low}–{high}) {unit}"),
        false => format!("{} ({}–{})", all[0], all[1], all[2]),
    }
}

fn shares(it: Range) -> String {
    let of = |value: f64| format!("{:.0}", 100.0 * value);
    let [expected, low, high] = [it.expected, it.low, it.high].map(of);
    match low == high {
        true => format!("{expected} %"),
        false => format!("{expected} % ({low}–{high})"),
    }
}

/// Why some got no number, each reason once, with the cheapest way out.
pub(super) fn refusals(input: &WhatIf<'_>) -> Vec<Block> {
    let mut told: Vec<(String, &'static str, Vec<String>)> = Vec::new();
    for scene in input.scenes {
        let rows = input.rows_of(scene);
        let mut reasons: Vec<(String, &'static str, Vec<String>)> = Vec::new();
        for row in &rows {
            let Some(refusal) = row.found.refusal else { continue };
            let (reason, whom) = (refusal.to_string(), name(&row.party.name));
            match reasons.iter_mut().find(|it| it.0 == reason) {
                Some(it) => it.2.push(whom),
                None => reasons.push((reason, refusal.remedy(), vec![whom])),
            }
        }
        for (reason, remedy, whom) in reasons {
            let is_everybody = whom.len() == rows.len() && whom.len() > 1;
            let whom = if is_everybody { "anybody".to_owned() } else { some(&whom) };
            let whom = format!("{whom} under {}", way(&scene.mechanism));
            match told.iter_mut().find(|it| it.0 == reason) {
                Some(it) => it.2.push(whom),
                None => told.push((reason, remedy, vec![whom])),
            }
        }
    }
    let statement = |(reason, remedy, whom): (String, &str, Vec<String>)| {
        Block::Statement(Statement {
            mark: Mark::Unknown,
            tag: String::new(),
            text: format!("No number for {}: {reason}.", list(&whom)),
            notes: vec![stopped(&capitalised(remedy))],
        })
    };
    told.into_iter().map(statement).collect()
}

/// Who they are, and where their demands come from.
pub(super) fn parties(input: &WhatIf<'_>) -> Block {
    let rows = input.parties.iter().map(|it| {
        let seen = match it.was_alone {
            None => "profile",
            Some(true) => "alone",
            Some(false) => "beside others",
        };
        let load = match it.demand.pace {
            Pace::Open => "requests",
            Pace::Closed => "bursts",
        };
        vec![
            Cell::Name(name(&it.name)),
            Cell::Quantity(shorten(&name(&it.source), LONGEST_BESIDE_MORE)),
            Cell::Quantity(seen.to_owned()),
            Cell::Quantity(load.to_owned()),
            percent_cell(it.demand.busy_share()),
            bytes_or(it.demand.memory_bytes, "memory was not recorded"),
        ]
    });
    Block::Table(Table {
        caption: "The tenants, each by itself".to_owned(),
        columns: vec![
            words("Tenant"),
            words("From"),
            words("Seen"),
            words("Load"),
            numbers("Busy"),
            numbers("Memory peak"),
        ],
        rows: rows.collect(),
    })
}

/// What was learned from co-locations, beside the replay of the same pair.
pub(super) fn learned(input: &WhatIf<'_>) -> Vec<Block> {
    let rows = input.learned.iter().map(|it| {
        let replayed = it.throughput_ratio.map(|it| {
            let over = |value: f64| 1.0 / value.max(1e-6);
            Range { expected: over(it.expected), low: over(it.high), high: over(it.low) }
        });
        vec![
            Cell::Text(way(&it.mechanism).to_owned()),
            Cell::Name(shorten(&name(&it.tenant), LONGEST_BESIDE_MORE)),
            Cell::Name(shorten(&name(&it.other), LONGEST_BESIDE_MORE)),
            Cell::Measure { text: interval(it.slowdown), value: it.slowdown.expected },
            match replayed {
                Some(it) => Cell::Measure { text: interval(it), value: it.expected },
                None => missing("the replay has no number for it"),
            },
        ]
    });
    let table = Table {
        caption: "Time per work over that alone, pair by pair".to_owned(),
        columns: vec![
            words("Way"),
            words("Tenant"),
            words("Beside"),
            numbers("Learned"),
            numbers("Replayed"),
        ],
        rows: rows.collect(),
    };
    let text = "The learned intervals hold nine of ten co-locations like those in the tables; they are about throughput, not about p99.";
    vec![Block::Table(table), Block::Text(text.to_owned())]
}
