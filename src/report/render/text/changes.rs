//! Changes out of characters: an interval around a line of no change.

use crate::report::figure::{ChangeKind, ChangeRow, ChangesFigure};
use crate::report::render::text::figures::{axis, room, row};
use crate::report::render::text::style::{Pen, Style};

/// One line for each metric of each tenant.
pub(super) fn changes(pen: &mut Pen, figure: &ChangesFigure) {
    let columns = room(pen);
    let most = figure.most();
    for group in &figure.groups {
        pen.paragraph("  ", &group.name, Style::Plain);
        for it in &group.rows {
            let number = it.note.split(" (").next().unwrap_or_default();
            let number = if it.change.is_some() { number } else { "—" };
            row(pen, &format!("  {}", it.name), &line(it, columns, most), number);
        }
    }
    axis(pen, &format!("÷{most:.1}"), &format!("×{most:.1}"), "change");
    let key =
        "◆ worse, ● better, ■ changed, ○ not shown; ─ 95 % interval; │ no change; logarithmic";
    pen.paragraph("  ", key, Style::Faint);
}

fn line(it: &ChangeRow, columns: usize, most: f64) -> String {
    let last = columns.saturating_sub(1);
    let place = |factor: f64| {
        let share = 0.5 + 0.5 * (factor.max(f64::MIN_POSITIVE).ln() / most.ln());
        (share.clamp(0.0, 1.0) * last as f64).round() as usize
    };
    let mut letters = vec!['·'; columns.max(1)];
    letters[place(1.0)] = '│';
    if let Some(change) = it.change {
        letters[place(change.low)..=place(change.high).max(place(change.low))].fill('─');
        letters[place(change.value)] = match it.kind {
            ChangeKind::Worse => '◆',
            ChangeKind::Better => '●',
            ChangeKind::Different => '■',
            ChangeKind::NotShown => '○',
        };
    }
    letters.into_iter().collect()
}
