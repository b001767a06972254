//! Slowdowns of all as a figure.

use crate::colocation::objective::Limit;
use crate::colocation::range::Range;
use crate::report::block::Block;
use crate::report::figure::{Figure, SlowdownGroup, SlowdownRow, SlowdownsFigure, Whisker};
use crate::report::whatif::lead::objective;
use crate::report::whatif::{Row, Scene, WhatIf, way};
use crate::report::wording::{clean, name};

/// Name of the picture, for files too.
const ID: &str = "ways";

/// The picture of the answer, to be drawn on its own.
pub fn picture(input: &WhatIf<'_>) -> Figure {
    let whisker = |it: Range| Whisker { value: it.expected, low: it.low, high: it.high };
    let row = |it: &Row<'_>| SlowdownRow {
        name: clean(&it.party.name),
        p50: it.found.slowdown.map(|it| whisker(it.p50)),
        p99: it.found.slowdown.map(|it| whisker(it.p99)),
        is_at_least: it.found.is_at_least,
        note: it.found.refusal.map_or_else(String::new, |it| it.to_string()),
    };
    let group = |scene: &Scene| SlowdownGroup {
        name: way(&scene.mechanism).to_owned(),
        rows: input.rows_of(scene).iter().map(row).collect(),
    };
    let limit = input.slo.and_then(|it| match it.limit {
        Limit::Factor(factor) => Some((factor, format!("{} at most", it.level.name()))),
        Limit::Seconds(_) => None,
    });
    Figure::Slowdowns(SlowdownsFigure { groups: input.scenes.iter().map(group).collect(), limit })
}

/// The picture with its caption.
pub(super) fn block(input: &WhatIf<'_>) -> Block {
    let rows = input.rows();
    let alt = rows.iter().filter_map(|it| {
        let slowdown = it.found.slowdown?;
        Some(format!(
            "{} under {}: p50 {:.2}, p99 {:.2}",
            name(&it.party.name),
            way(&it.scene.mechanism),
            slowdown.p50.expected,
            slowdown.p99.expected
        ))
    });
    let alt: Vec<String> = alt.collect();
    let wanted = input.slo.map_or_else(String::new, |it| format!(" The SLO is {}.", objective(it)));
    Block::Figure {
        id: ID.to_owned(),
        figure: picture(input),
        caption: format!("Slowdown at the median and at the 99th percentile; 1x is alone.{wanted}"),
        key: "Lines: the interval. A line that ends in an arrow goes on.".to_owned(),
        alt: format!("Slowdowns over those alone, logarithmic. {}.", alt.join("; ")),
    }
}
