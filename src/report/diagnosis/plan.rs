//! The experiment that would prove an influence, step by step.

use crate::analysis::diagnosis_findings::ExperimentPlan;
use crate::report::block::{Block, Cell, Table};
use crate::report::cells::{numbers, words};
use crate::report::diagnosis::said;
use crate::report::influences::quantities::{chance, length};
use crate::report::influences::wording::quoted;
use crate::report::wording::{count, name};

/// The steps, the test, and the blocks in order.
pub(super) fn blocks(it: &ExperimentPlan) -> Vec<Block> {
    let steps = it.steps.iter().map(|it| said(it)).collect();
    let table = Block::Table(table(it));
    vec![
        Block::Text(test(it)),
        Block::Steps(steps),
        Block::Text(
            "`--plan-experiment FILE --starting TIME` writes the blocks with their times; record \
             while they run, and give the same file to `--experiment FILE` with the new recording."
                .to_owned(),
        ),
        Block::Details { summary: "The blocks in order".to_owned(), blocks: vec![table] },
    ]
}

/// What is compared with what, and how sure the answer can become at best.
fn test(it: &ExperimentPlan) -> String {
    let pauses = it.blocks.iter().filter(|it| !**it).count();
    format!(
        "{} pauses in {} of {}, drawn by lot, while {} of {} is watched. The test compares blocks \
         with and without it over all ways to deal out the labels; with so many blocks it can give \
         p = {} at best.",
        quoted(&it.suspect),
        pauses,
        count(it.blocks.len(), "block", "blocks"),
        it.metric.in_words(),
        quoted(&it.victim),
        chance(it.least_p)
    )
}

fn table(it: &ExperimentPlan) -> Table {
    let row = |(position, runs): (usize, &bool)| {
        let start = position as f64 * it.block_s;
        vec![
            Cell::Text(format!("{}", position + 1)),
            Cell::Quantity(format!("+{start:.0} s")),
            Cell::Quantity(format!("+{:.0} s", start + it.settle_s)),
            Cell::Quantity(format!("+{:.0} s", start + it.block_s)),
            Cell::Text(if *runs { "runs" } else { "pauses" }.to_owned()),
        ]
    };
    Table {
        caption: format!(
            "Blocks of {}; the first {} of each do not count",
            length(it.block_s),
            length(it.settle_s)
        ),
        columns: vec![
            words("Block"),
            numbers("From"),
            numbers("Counts from"),
            numbers("Until"),
            words(&name(&it.suspect)),
        ],
        rows: it.blocks.iter().enumerate().map(row).collect(),
    }
}
