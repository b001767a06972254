//! Tables as aligned columns; one that is too wide is told in several parts.

use crate::report::block::{Align, Cell, Column, Table};
use crate::report::render::reasons;
use crate::report::render::text::style::{Pen, Style, mark_sign, wrapped};
use crate::report::wording::{glued, shorten};
use unicode_width::UnicodeWidthStr;

/// Space between two columns.
const BETWEEN: usize = 2;
/// Indent of a table.
const INDENT: usize = 2;
/// Longest name in a cell, in characters.
const LONGEST_NAME: usize = 22;
/// A column of words is not made narrower than this.
const NARROWEST_WORDS: usize = 16;
/// So many reasons for missing values are told.
const MOST_REASONS: usize = 4;

/// A table with its heading, and why values are missing.
pub(super) fn table(pen: &mut Pen, table: &Table) {
    pen.gap();
    pen.paragraph("  ", &table.caption, Style::Strong);
    grid(pen, table);
    let reasons = reasons(table, MOST_REASONS);
    if !reasons.is_empty() {
        let why = format!("— stands for no value: {}.", reasons.join("; "));
        pen.paragraph("  ", &why, Style::Faint);
    }
}

/// The cells under their heads, in as many parts as the width asks for.
pub(super) fn grid(pen: &mut Pen, table: &Table) {
    for (position, band) in bands(table, pen.width()).into_iter().enumerate() {
        if position > 0 {
            pen.gap();
        }
        match widths(table, &band, pen.width()) {
            Some(widths) => aligned(pen, table, &band, &widths),
            None => listed(pen, table, &band),
        }
    }
}

fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Name(name) => shorten(name, LONGEST_NAME),
        Cell::Marked(mark, words) => format!("{} {words}", mark_sign(*mark)),
        other => other.plain(),
    }
}

/// Columns that stand side by side: all of them, or several sets that each begin with the first.
fn bands(table: &Table, width: usize) -> Vec<Vec<usize>> {
    let mut bands: Vec<Vec<usize>> = vec![vec![0]];
    for position in 1..table.columns.len() {
        let Some(band) = bands.last_mut() else { break };
        band.push(position);
        if band.len() > 2 && widths(table, band, width).is_none() {
            band.pop();
            bands.push(vec![0, position]);
        }
    }
    bands
}

/// Width of each of these columns; `None` when they do not fit.
fn widths(table: &Table, band: &[usize], width: usize) -> Option<Vec<usize>> {
    let cells = |column: usize| table.rows.iter().filter_map(move |row| row.get(column));
    let mut widths: Vec<usize> = band
        .iter()
        .map(|column| {
            let head = table.columns.get(*column).map_or(0, |it| longest_word(&it.title));
            cells(*column).map(|it| shown(it).width()).fold(head, usize::max)
        })
        .collect();
    let room = width.checked_sub(INDENT + BETWEEN * band.len().saturating_sub(1))?;
    let is_prose = |column: usize| cells(column).any(|it| matches!(it, Cell::Text(_)));
    let prose: Vec<bool> = band.iter().map(|it| is_prose(*it)).collect();
    while widths.iter().sum::<usize>() > room {
        let flexible = widths.iter_mut().zip(&prose).filter(|it| *it.1).map(|it| it.0);
        let widest = flexible.max()?;
        if *widest <= NARROWEST_WORDS {
            return None;
        }
        *widest -= 1;
    }
    Some(widths)
}

fn longest_word(title: &str) -> usize {
    title.split(' ').map(UnicodeWidthStr::width).max().unwrap_or(0)
}

fn aligned(pen: &mut Pen, table: &Table, band: &[usize], widths: &[usize]) {
    let columns: Vec<&Column> = band.iter().filter_map(|it| table.columns.get(*it)).collect();
    let heads: Vec<(String, Style)> =
        columns.iter().map(|it| (it.title.clone(), Style::Faint)).collect();
    row(pen, &columns, widths, &heads, true);
    for cells in &table.rows {
        let cells = band.iter().filter_map(|it| cells.get(*it));
        let cells: Vec<(String, Style)> = cells.map(|it| (shown(it), look(it))).collect();
        row(pen, &columns, widths, &cells, false);
    }
}

fn look(cell: &Cell) -> Style {
    match cell {
        Cell::Word(word) => Style::of_word(Some(*word)),
        Cell::Marked(mark, _) => Style::of_mark(*mark),
        Cell::Missing(_) => Style::Faint,
        _ => Style::Plain,
    }
}

/// One row, in as many lines as its longest cell needs; heads stand on their last line.
fn row(
    pen: &mut Pen,
    columns: &[&Column],
    widths: &[usize],
    cells: &[(String, Style)],
    is_head: bool,
) {
    let broken: Vec<Vec<String>> = cells
        .iter()
        .zip(widths)
        .map(|(it, width)| wrapped(&glued(&it.0), *width, *width))
        .collect();
    let height = broken.iter().map(Vec::len).max().unwrap_or(0);
    for line in 0..height {
        let mut pieces = vec![(" ".repeat(INDENT), Style::Plain)];
        for (position, lines) in broken.iter().enumerate() {
            let above = if is_head { height - lines.len() } else { 0 };
            let words = line.checked_sub(above).and_then(|it| lines.get(it));
            let words = words.map_or("", String::as_str);
            let padding = " ".repeat(widths[position].saturating_sub(words.width()));
            let style = cells.get(position).map_or(Style::Plain, |it| it.1);
            let is_right = columns.get(position).is_some_and(|it| it.align == Align::Right);
            let words = (words.to_owned(), style);
            let padding = (padding, Style::Plain);
            pieces.extend(if is_right { [padding, words] } else { [words, padding] });
            pieces.push((" ".repeat(BETWEEN), Style::Plain));
        }
        let pieces: Vec<(&str, Style)> = pieces.iter().map(|it| (it.0.as_str(), it.1)).collect();
        pen.line(&pieces);
    }
}

/// Row by row as a list, for columns that do not fit side by side.
fn listed(pen: &mut Pen, table: &Table, band: &[usize]) {
    for cells in &table.rows {
        let mut named =
            band.iter().filter_map(|it| Some((table.columns.get(*it)?, cells.get(*it)?)));
        if let Some((_, first)) = named.next() {
            pen.paragraph("  ", &shown(first), Style::Plain);
        }
        for (column, cell) in named {
            let start = format!("    {}: ", column.title);
            pen.hanging(&start, Style::Faint, "      ", &shown(cell), look(cell));
        }
    }
}
