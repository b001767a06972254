//! What makes a tenant slow and is no neighbour: found, not to be seen, or ruled out.

use crate::analysis::influence::findings::{LookAlike, LookAlikeKind, LookAlikeState};
use crate::report::block::{Block, Cell, Mark, Table};
use crate::report::cells::{missing, numbers, percent_or, words};
use crate::report::influences::quantities::{change, finite, share, short};
use crate::report::wording::{clean, count, sentence};

/// More rows than this are folded away.
const UNFOLDED: usize = 24;

/// Everything that was looked for, what was found first; empty when nothing was.
pub(crate) fn blocks(look_alikes: &[LookAlike], name: &str) -> Vec<Block> {
    if look_alikes.is_empty() {
        return Vec::new();
    }
    let table = Block::Table(table(look_alikes, name));
    if look_alikes.len() <= UNFOLDED {
        return vec![table];
    }
    let summary =
        count(look_alikes.len(), "look-alike that was checked", "look-alikes that were checked");
    vec![Block::Details { summary, blocks: vec![table] }]
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
        caption: format!("{name}: look-alikes, which make a tenant slow and are no neighbour"),
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
        (Some(victim), Some(metric)) => Cell::Name(format!("{}, {}", clean(victim), short(metric))),
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
