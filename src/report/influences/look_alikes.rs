//! What makes a tenant slow and is no neighbour: found, not to be seen, or ruled out.

use crate::analysis::influence::findings::{LookAlike, LookAlikeKind, LookAlikeState};
use crate::report::block::{Block, Cell, Mark, Table};
use crate::report::cells::{missing, numbers, percent_or, words};
use crate::report::influences::quantities::{change, finite, share};
use crate::report::influences::wording::quoted;
use crate::report::pieces::statement;
use crate::report::wording::{clean, sentence, some};

/// Everything that was looked for, one row for each look-alike; every victim by itself is folded. Empty when nothing was.
pub(crate) fn blocks(look_alikes: &[LookAlike], name: &str) -> Vec<Block> {
    if look_alikes.is_empty() {
        return Vec::new();
    }
    let short = joined(look_alikes, name);
    let is_shorter = short.rows.len() < look_alikes.len();
    let mut blocks = vec![Block::Table(short)];
    if is_shorter {
        let summary = format!("{name}: all {} checks, victim by victim", look_alikes.len());
        blocks
            .push(Block::Details { summary, blocks: vec![Block::Table(table(look_alikes, name))] });
    }
    blocks
}

/// Look-alikes that are there, each in a sentence; that two were never seen together slows nobody.
pub(crate) fn found(look_alikes: &[LookAlike]) -> Vec<Block> {
    let is_there =
        |it: &&LookAlike| it.state == LookAlikeState::Found && it.kind != LookAlikeKind::NoOverlap;
    let there = look_alikes.iter().filter(is_there);
    let mut told: Vec<(&LookAlike, Vec<String>)> = Vec::new();
    for it in there {
        let whom = match (&it.victim, it.metric) {
            (Some(victim), Some(metric)) => format!("{} of {}", metric.in_words(), quoted(victim)),
            (Some(victim), None) => quoted(victim),
            (None, _) => "everybody on it".to_owned(),
        };
        match told
            .iter_mut()
            .find(|known| (known.0.kind, &known.0.sentence) == (it.kind, &it.sentence))
        {
            Some(known) => known.1.push(whom),
            None => told.push((it, vec![whom])),
        }
    }
    told.into_iter()
        .map(|(it, whom)| {
            let text = format!("{}: {}", some(&whom), it.sentence);
            statement(Mark::Firm, &format!("look-alike: {}", kind(it.kind)), &text, Vec::new())
        })
        .collect()
}

/// One row for each look-alike and what came of it.
fn joined(look_alikes: &[LookAlike], name: &str) -> Table {
    let mut groups: Vec<Vec<&LookAlike>> = Vec::new();
    for it in in_order(look_alikes) {
        let is_its = |group: &&mut Vec<&LookAlike>| {
            group.first().is_some_and(|first| (first.kind, first.state) == (it.kind, it.state))
        };
        match groups.iter_mut().find(is_its) {
            Some(group) => group.push(it),
            None => groups.push(vec![it]),
        }
    }
    let victims = |all: &[&LookAlike]| -> Vec<String> {
        let mut names: Vec<String> =
            all.iter().filter_map(|it| it.victim.as_deref().map(clean)).collect();
        names.sort();
        names.dedup();
        names
    };
    let everybody = victims(&look_alikes.iter().collect::<Vec<_>>()).len();
    let rows = groups.iter().filter_map(|group| row(group, &victims(group), everybody));
    Table {
        caption: format!("{name}: look-alikes, which make a tenant slow and are no neighbour"),
        columns: vec![words("Look-alike"), words("Checked"), words("For"), words("What was seen")],
        rows: rows.collect(),
    }
}

/// A look-alike over all victims and metrics for which the same came of it; `None` without any.
fn row(group: &[&LookAlike], victims: &[String], everybody: usize) -> Option<Vec<Cell>> {
    let first = *group.first()?;
    let whom = match victims.len() {
        0 => "everybody on it".to_owned(),
        1 if everybody == 1 => victims.first()?.clone(),
        all if all == everybody => format!("all {all} tenants"),
        _ => some(victims),
    };
    let is_one = group.iter().all(|it| it.sentence == first.sentence);
    let worst = group.iter().copied().reduce(|worst, it| {
        let size = |it: &LookAlike| finite(it.effect_ratio).unwrap_or(f64::MIN);
        if size(it) > size(worst) { it } else { worst }
    })?;
    let seen = match is_one {
        true => sentence(&first.sentence),
        false => format!("{}: {}", victim(worst).plain(), sentence(&worst.sentence)),
    };
    Some(vec![
        Cell::Text(kind(first.kind).to_owned()),
        state(first.state),
        Cell::Text(whom),
        Cell::Text(seen),
    ])
}

/// What was found, then what could not be checked, then what was ruled out.
pub(crate) fn in_order(look_alikes: &[LookAlike]) -> Vec<&LookAlike> {
    let place = |it: &LookAlike| match it.state {
        LookAlikeState::Found => 0,
        LookAlikeState::Unseen => 1,
        LookAlikeState::RuledOut => 2,
    };
    let mut sorted: Vec<&LookAlike> = look_alikes.iter().collect();
    sorted.sort_by_key(|it| place(it));
    sorted
}

fn table(look_alikes: &[LookAlike], name: &str) -> Table {
    let row = |it: &LookAlike| {
        vec![
            Cell::Text(kind(it.kind).to_owned()),
            state(it.state),
            victim(it),
            slower(it),
            percent_or(finite(it.share_of_time), "it cannot be said how long"),
            Cell::Text(sentence(&it.sentence)),
        ]
    };
    Table {
        caption: format!("{name}: look-alikes, victim by victim"),
        columns: vec![
            words("Look-alike"),
            words("Checked"),
            words("Victim"),
            numbers("Change"),
            numbers("Of the time"),
            words("What was seen"),
        ],
        rows: in_order(look_alikes).into_iter().map(row).collect(),
    }
}

/// Whether it is there, as a cell.
pub(crate) fn state(state: LookAlikeState) -> Cell {
    let (mark, words) = match state {
        LookAlikeState::Found => (Mark::Firm, "found"),
        LookAlikeState::Unseen => (Mark::Unknown, "could not be checked"),
        LookAlikeState::RuledOut => (Mark::Fine, "ruled out"),
    };
    Cell::Marked(mark, words.to_owned())
}

fn victim(it: &LookAlike) -> Cell {
    match (&it.victim, it.metric) {
        (Some(victim), Some(metric)) => {
            Cell::Name(format!("{}, {}", clean(victim), metric.in_words()))
        }
        (Some(victim), None) => Cell::Name(clean(victim)),
        (None, _) => Cell::Name("everybody on it".to_owned()),
    }
}

fn slower(it: &LookAlike) -> Cell {
    let nothing = match it.state {
        LookAlikeState::Found => "it cannot be said by how much",
        LookAlikeState::Unseen => "could not be checked",
        LookAlikeState::RuledOut => "ruled out",
    };
    match (finite(it.effect_ratio), it.metric) {
        (Some(ratio), Some(metric)) => Cell::Measure { text: change(metric, ratio), value: ratio },
        (Some(ratio), None) => Cell::Measure { text: share(ratio), value: ratio },
        (None, _) => missing(nothing),
    }
}

/// What it is, in a few words.
pub(crate) fn kind(kind: LookAlikeKind) -> &'static str {
    match kind {
        LookAlikeKind::PowerCap => "power cap",
        LookAlikeKind::ThermalSlowdown => "heat",
        LookAlikeKind::HardwareSlowdown => "hardware slowdown",
        LookAlikeKind::ClockRamp => "low clock",
        LookAlikeKind::PcieSaturation => "full PCIe link",
        LookAlikeKind::Fault => "fault of the board",
        LookAlikeKind::OwnQueue => "its own load or queue",
        LookAlikeKind::SlowThroughout => "slow all the time",
        LookAlikeKind::MirroredSeries => "mirrored series",
        LookAlikeKind::FrozenSeries => "frozen series",
        LookAlikeKind::NoOverlap => "never seen together",
        LookAlikeKind::WarmUp => "warm-up",
        LookAlikeKind::OutOfMemory => "out of memory",
    }
}
