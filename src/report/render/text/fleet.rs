//! Tiles and bars of a fleet out of characters.

use crate::report::figure::{GpuBarsFigure, TileKind, TilesFigure};
use crate::report::render::text::figures::{room, row};
use crate::report::render::text::style::{Pen, Style};

/// Tiles in a line at most.
const MOST_IN_LINE: usize = 60;

/// One letter for each GPU.
pub(super) fn tiles(pen: &mut Pen, figure: &TilesFigure) {
    let columns = pen.width().saturating_sub(4).clamp(8, MOST_IN_LINE);
    for panel in &figure.panels {
        pen.paragraph("  ", &panel.name, Style::Plain);
        let letters: Vec<char> = panel.tiles.iter().map(|it| letter(it.kind)).collect();
        for line in letters.chunks(columns) {
            let line: String = line.iter().collect();
            pen.line(&[("  ", Style::Plain), (&line, Style::Plain)]);
        }
    }
    let legend = figure.legend();
    let words: Vec<String> = legend.iter().map(|it| format!("{} {}", letter(it.0), it.1)).collect();
    pen.paragraph("  ", &words.join(", "), Style::Faint);
}

fn letter(kind: TileKind) -> char {
    match kind {
        TileKind::Partitioned => '▥',
        TileKind::Shared => '█',
        TileKind::Alone => '▒',
        TileKind::Unknown => '?',
        TileKind::Free => '·',
        TileKind::Further => '+',
    }
}

/// One line for each bar.
pub(super) fn bars(pen: &mut Pen, figure: &GpuBarsFigure) {
    let columns = room(pen);
    let limit = figure.limit.as_ref().map_or(0.0, |it| it.0);
    let most = figure.rows.iter().map(|it| it.base + it.more).fold(limit.max(1.0), f64::max);
    let place = |value: f64| ((value / most).clamp(0.0, 1.0) * columns as f64).round() as usize;
    for it in &figure.rows {
        let (base, end) = (place(it.base), place(it.base + it.more));
        let mut letters = vec!['·'; columns];
        letters[..end].fill('▒');
        letters[..base.min(end)].fill('█');
        let picture: String = letters.iter().collect();
        row(pen, &it.name, &picture, &format!("{:.0}", it.base + it.more));
    }
}
