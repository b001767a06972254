//! The change of each service with its interval, and shapes before and after, as pictures.

use crate::analysis::compare::findings::{ChangeVerdict, Comparison, ServiceChange, ShapeSide};
use crate::report::block::Block;
use crate::report::compare::{tables, verdict};
use crate::report::figure::{
    ChangeGroup, ChangeKind, ChangeRow, ChangesFigure, DutyBar, Figure, Whisker,
};
use crate::report::pieces::heading;
use crate::report::wording::{count, name, percent};

/// Rows that are drawn at most.
const MOST: usize = 24;
/// Loads whose shapes are drawn at most.
const MOST_SHAPES: usize = 8;
/// So many changes are told to those who cannot see the picture.
const MOST_TOLD: usize = 8;

/// The change of each service; nothing without one.
pub(super) fn changes(it: &Comparison) -> Vec<Block> {
    if it.services.iter().all(|it| it.change_ratio.is_none()) {
        return Vec::new();
    }
    let drawn = &it.services[..it.services.len().min(MOST)];
    let mut groups: Vec<ChangeGroup> = Vec::new();
    for change in drawn {
        let name = name(&change.tenant);
        match groups.iter_mut().find(|it| it.name == name) {
            Some(group) => group.rows.push(row(change)),
            None => groups.push(ChangeGroup { name, rows: vec![row(change)] }),
        }
    }
    let is_shown = |it: &&ServiceChange| it.verdict < ChangeVerdict::NotShown;
    let number = it.services.iter().filter(is_shown).count();
    let left = it.services.len() - drawn.len();
    let rest = if left > 0 { format!(" {left} more are in the table.") } else { String::new() };
    let told: Vec<String> = drawn.iter().take(MOST_TOLD).map(in_words).collect();
    vec![Block::Figure {
        id: "changes".to_owned(),
        figure: Figure::Changes(ChangesFigure { groups }),
        caption: format!(
            "{} of {} changed: a filled mark stands over all tests together, a ring does not.{rest}",
            if number == 0 { "None".to_owned() } else { number.to_string() },
            count(it.services.len(), "metric", "metrics"),
        ),
        key: "Mark: change of the typical value. Line: 95 % interval. Thin line below: the change at equal load, where the load moved.".to_owned(),
        alt: format!("Changes from before to after. {}.", told.join(". ")),
    }]
}

fn row(it: &ServiceChange) -> ChangeRow {
    let whisker = |value: Option<f64>, low: Option<f64>, high: Option<f64>| {
        Some(Whisker { value: 1.0 + value?, low: 1.0 + low?, high: 1.0 + high? })
    };
    let load = it.load.as_ref().filter(|it| it.has_moved);
    let why = it.reasons.first().map_or("cannot tell", String::as_str);
    let note = tables::interval(it.change_ratio, it.change_low, it.change_high);
    ChangeRow {
        name: it.metric.first_in_words(),
        change: whisker(it.change_ratio, it.change_low, it.change_high),
        adjusted: load.and_then(|it| whisker(it.adjusted_ratio, it.adjusted_low, it.adjusted_high)),
        kind: match it.verdict {
            ChangeVerdict::Worse => ChangeKind::Worse,
            ChangeVerdict::Better => ChangeKind::Better,
            ChangeVerdict::Different => ChangeKind::Different,
            ChangeVerdict::NotShown | ChangeVerdict::CannotTell => ChangeKind::NotShown,
        },
        note: note.unwrap_or_else(|| why.to_owned()),
    }
}

fn in_words(it: &ServiceChange) -> String {
    let change = tables::interval(it.change_ratio, it.change_low, it.change_high);
    let change = change.unwrap_or_else(|| "unknown".to_owned());
    format!("{} of {}: {change}, {}", it.metric.in_words(), name(&it.tenant), verdict(it))
}

/// Duty of each load before and after; nothing without activity on both sides.
pub(super) fn shapes(it: &Comparison) -> Vec<Block> {
    if it.shapes.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![heading(2, "shapes", "Shape of the load, before and after")];
    let bar = |name_of: &str, when: &str, side: Option<&ShapeSide>| {
        let (duty, mean_ratio) = side.and_then(|it| Some((it.duty?, it.mean_ratio?)))?;
        Some(DutyBar { name: format!("{} {when}", name(name_of)), duty, mean_ratio })
    };
    let bars: Vec<DutyBar> = it
        .shapes
        .iter()
        .filter(|it| it.incomparable.is_none())
        .filter_map(|it| {
            let before = bar(&it.name, "before", it.before.as_ref())?;
            Some([before, bar(&it.name, "after", it.after.as_ref())?])
        })
        .take(MOST_SHAPES)
        .flatten()
        .collect();
    if !bars.is_empty() {
        let told: Vec<String> = bars
            .iter()
            .map(|it| {
                let (mean, full) = (percent(it.mean_ratio), percent(it.duty.at_95_pct));
                format!("{}: {mean} active, {full} of the time full", it.name)
            })
            .collect();
        blocks.push(Block::Figure {
            id: "duty-before-after".to_owned(),
            figure: Figure::DutyBars(bars),
            caption: "How much of the time each load was active, before and after: orange is time at full height.".to_owned(),
            key: String::new(),
            alt: format!("{}.", told.join(". ")),
        });
    }
    blocks
}
