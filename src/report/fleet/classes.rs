//! Kinds of workloads, and which of them may share a GPU.

use crate::fleet::class::WorkloadClass;
use crate::fleet::compatibility::{Compatibility, PairVerdict};
use crate::fleet::plan::FleetPlan;
use crate::recommender::mechanism::mechanism;
use crate::recommender::verdict::Outcome;
use crate::report::block::{Block, Cell, Table};
use crate::report::cells::{numbers, words};
use crate::report::wording::{capitalised, chance, name, sentence};

/// Classes that are listed; JSON lists all.
const MOST_CLASSES: usize = 26;
/// Pairs that are listed; JSON lists all.
const MOST_PAIRS: usize = 120;

pub(super) fn blocks(plan: &FleetPlan) -> Vec<Block> {
    let number = |value: f64, decimals: usize| Cell::Number { value, unit: "", decimals };
    let row = |it: &WorkloadClass| {
        vec![
            Cell::Text(it.id.clone()),
            Cell::Text(capitalised(&sentence(&it.name))),
            number(it.tenants as f64, 0),
            number(it.sharable as f64, 0),
            number(it.busy_gpus, 1),
            Cell::Measure {
                text: format!("{:.0} GiB", it.needed_mib / 1024.0),
                value: it.needed_mib,
            },
        ]
    };
    let mut blocks = vec![Block::Table(Table {
        caption: "Classes of workloads; busy is how many GPUs their work would fill".to_owned(),
        columns: vec![
            words("Class"),
            words("What it is"),
            numbers("Tenants"),
            numbers("Can share"),
            numbers("Busy GPUs"),
            numbers("Memory"),
        ],
        rows: plan.classes.iter().take(MOST_CLASSES).map(row).collect(),
    })];
    if plan.compatibility.is_empty() {
        return blocks;
    }
    let several = plan.pools.len() > 1;
    let pairs: Vec<&Compatibility> = plan.compatibility.iter().take(MOST_PAIRS).collect();
    let row = |it: &&Compatibility| {
        let mut cells = vec![Cell::Text(format!("{} + {}", it.one, it.other))];
        if several {
            cells.push(Cell::Name(name(&it.pool)));
        }
        cells.push(verdict(&it.within_a_domain));
        cells.push(verdict(&it.between_strangers));
        cells.push(Cell::Text(capitalised(&sentence(why(it)))));
        cells
    };
    let mut columns = vec![words("Pair")];
    if several {
        columns.push(words("On"));
    }
    columns.extend([words("One trust domain"), words("Strangers"), words("What decides")]);
    let table = Block::Table(Table {
        caption: "Two of these on one GPU: the way, the worst p99 over that alone, the chance of running out of memory in a day".to_owned(),
        columns,
        rows: pairs.iter().map(row).collect(),
    });
    blocks.push(Block::Details {
        summary: format!("Pair by pair ({} pairs of classes)", plan.compatibility.len()),
        blocks: vec![table],
    });
    blocks
}

fn verdict(it: &PairVerdict) -> Cell {
    match (it.outcome, it.mechanism) {
        (Outcome::Share, Some(way)) => {
            let p99 = it.worst_p99_factor.map_or_else(String::new, |it| format!(", p99 x {it:.2}"));
            let memory = it
                .out_of_memory_day_ratio
                .map_or_else(String::new, |it| format!(", {}", chance(it)));
            Cell::Text(format!("{}{p99}{memory}", mechanism(way).title()))
        }
        (Outcome::NotEnoughEvidence, _) => Cell::Text("cannot tell".to_owned()),
        _ => Cell::Text("no".to_owned()),
    }
}

/// The reason of the refusal within a domain, else of that between strangers, else of the choice.
fn why(it: &Compatibility) -> &str {
    let is_refused = |it: &PairVerdict| it.outcome != Outcome::Share;
    match (is_refused(&it.within_a_domain), is_refused(&it.between_strangers)) {
        (false, true) => &it.between_strangers.reason,
        _ => &it.within_a_domain.reason,
    }
}
