//! Contended time: the weaker evidence, which needs no victim.

use crate::analysis::influence::findings::{ContendedPair, Contention};
use crate::domain::units::Seconds;
use crate::report::block::{Block, Cell, Table};
use crate::report::cells::{missing, numbers, seconds_or, words};
use crate::report::wording::{clean, percent, sentence, stopped};

/// So many pairs are shown, the most contended first.
const MOST: usize = 12;

/// What was seen of contention; empty when it cannot be seen.
pub(crate) fn blocks(contention: Option<&Contention>, name: &str) -> Vec<Block> {
    let Some(it) = contention else { return Vec::new() };
    let mut blocks = vec![Block::Text(summary(it, name))];
    let pairs: Vec<Vec<Cell>> =
        it.pairs.iter().take(MOST).map(|pair| row(pair, it.seen_s)).collect();
    if !pairs.is_empty() {
        blocks.push(Block::Table(Table {
            caption: format!("{name}: contended time by pair, which names nobody as guilty"),
            columns: vec![
                words("One tenant"),
                words("Another"),
                numbers("Contended"),
                numbers("Of the time seen"),
            ],
            rows: pairs,
        }));
    }
    blocks
}

fn summary(it: &Contention, name: &str) -> String {
    let caveat = if it.caveat.trim().is_empty() {
        String::new()
    } else {
        format!(" {}", stopped(&sentence(&it.caveat)))
    };
    let share = it.contended_s / it.seen_s;
    if !share.is_finite() {
        return format!("Contended time of {name} could not be seen.{caveat}");
    }
    format!(
        "Contended time, the weaker evidence: on {name} two or more tenants were active and the \
         device was saturated for {} of {} ({}).{caveat}",
        Seconds(it.contended_s),
        Seconds(it.seen_s),
        percent(share)
    )
}

fn row(pair: &ContendedPair, seen_s: f64) -> Vec<Cell> {
    let share = pair.contended_s / seen_s;
    vec![
        Cell::Name(clean(&pair.first)),
        Cell::Name(clean(&pair.second)),
        seconds_or(Some(pair.contended_s), "not a finite number"),
        match share.is_finite() {
            true => Cell::Measure { text: percent(share), value: share },
            false => missing("no time was seen"),
        },
    ]
}
