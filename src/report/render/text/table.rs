//! Tables as aligned columns, with sentences below their rows where they have no room beside.

use crate::report::block::{Align, Cell, Column, Table};
use crate::report::cells::words;
use crate::report::render::reasons;
use crate::report::render::text::layout::{BETWEEN, INDENT, Layout, Part, layout};
use crate::report::render::text::sparks::Sparks;
use crate::report::render::text::style::{Pen, Style, mark_sign, wrapped};
use crate::report::wording::{count, glued, shorten};
use unicode_width::UnicodeWidthStr;

/// Longest name in a cell, in characters.
const LONGEST_NAME: usize = 22;
/// So many reasons for missing values are told.
const MOST_REASONS: usize = 4;
/// Rows of a table that are told where what is of second rank is folded away.
const MOST_ROWS: usize = 16;
/// The same of a table of verdicts.
const MOST_VERDICTS: usize = 40;
/// Before what stands below a row.
const BELOW: &str = "      ";
/// Before the values of a record.
const RECORD: &str = "    ";

/// A table with its heading, and why values are missing.
pub(super) fn table(pen: &mut Pen, table: &Table, sparks: &Sparks) {
    pen.gap();
    if !table.caption.is_empty() {
        pen.paragraph("  ", &table.caption, Style::Strong);
    }
    let has_words = table.rows.iter().flatten().any(|it| matches!(it, Cell::Word(_)));
    let most = match (pen.is_full(), has_words) {
        (true, _) => usize::MAX,
        (false, true) => MOST_VERDICTS,
        (false, false) => MOST_ROWS,
    };
    let more = table.rows.len().saturating_sub(most);
    let shown = if more > 0 { Some(first_rows(table, most)) } else { None };
    let table = shown.as_ref().unwrap_or(table);
    match with_shapes(table, sparks, pen) {
        Some(table) => grid(pen, &table),
        None => grid(pen, table),
    }
    if more > 0 {
        let rest = count(more, "more row", "more rows");
        pen.paragraph("  ", &format!("… {rest} (--full shows all)"), Style::Faint);
    }
    let reasons = reasons(table, MOST_REASONS);
    if !reasons.is_empty() {
        let why = format!("— stands for no value: {}.", reasons.join("; "));
        pen.paragraph("  ", &why, Style::Faint);
    }
}

fn first_rows(table: &Table, most: usize) -> Table {
    Table { rows: table.rows.iter().take(most).cloned().collect(), ..table.clone() }
}

/// The table of verdicts with the shape of each load, where shapes are known and have room.
fn with_shapes(table: &Table, sparks: &Sparks, pen: &Pen) -> Option<Table> {
    if !table.rows.iter().flatten().any(|it| matches!(it, Cell::Word(_))) {
        return None;
    }
    let shape = |row: &Vec<Cell>| match row.first() {
        Some(Cell::Name(name)) => sparks.shape(name).map(str::to_owned),
        _ => None,
    };
    let shapes: Vec<Option<String>> = table.rows.iter().map(shape).collect();
    shapes.iter().flatten().next()?;
    let mut shown = table.clone();
    shown.columns.insert(1, words("Shape"));
    for (row, shape) in shown.rows.iter_mut().zip(shapes) {
        row.insert(1, Cell::Quantity(shape.unwrap_or_default()));
    }
    let fits = |table: &Table| match layout(table, &texts(pen, table), pen.width()) {
        Layout::Parts(parts) => parts.len() == 1,
        Layout::Records => false,
    };
    fits(&shown).then_some(shown)
}

/// The cells under their heads, as the width allows.
pub(super) fn grid(pen: &mut Pen, table: &Table) {
    let cells = texts(pen, table);
    match layout(table, &cells, pen.width()) {
        Layout::Parts(parts) => {
            for (position, part) in parts.iter().enumerate() {
                if position > 0 {
                    pen.gap();
                }
                aligned(pen, table, &cells, part);
            }
        }
        Layout::Records => records(pen, table, &cells),
    }
}

/// What stands in each cell.
fn texts(pen: &Pen, table: &Table) -> Vec<Vec<String>> {
    let text = |it: &Cell| pen.spelled(&shown(it)).into_owned();
    table.rows.iter().map(|row| row.iter().map(text).collect()).collect()
}

fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Name(name) => shorten(name, LONGEST_NAME),
        Cell::Marked(mark, words) => format!("{} {words}", mark_sign(*mark)),
        other => other.plain(),
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

fn aligned(pen: &mut Pen, table: &Table, cells: &[Vec<String>], part: &Part) {
    let columns: Vec<&Column> =
        part.columns.iter().filter_map(|it| table.columns.get(*it)).collect();
    let heads: Vec<(&str, Style)> =
        columns.iter().map(|it| (it.title.as_str(), Style::Faint)).collect();
    if heads.iter().any(|it| !it.0.is_empty()) {
        row(pen, &columns, &part.widths, &heads, true);
    }
    let title = |it: usize| table.columns.get(it).map_or("", |it| it.title.as_str());
    let is_one = part.below.len() == 1;
    if let [one] = part.below.as_slice() {
        pen.paragraph(BELOW, title(*one), Style::Faint);
    }
    for (looks, texts) in table.rows.iter().zip(cells) {
        let beside = part.columns.iter();
        let beside: Vec<(&str, Style)> = beside
            .filter_map(|it| Some((texts.get(*it)?.as_str(), looks.get(*it).map(look)?)))
            .collect();
        row(pen, &columns, &part.widths, &beside, false);
        for column in &part.below {
            let Some((text, cell)) = texts.get(*column).zip(looks.get(*column)) else { continue };
            if text.is_empty() || matches!(cell, Cell::Missing(_)) {
                continue;
            }
            let start =
                if is_one { BELOW.to_owned() } else { format!("{BELOW}{}: ", title(*column)) };
            let indent = if is_one { BELOW.to_owned() } else { format!("{BELOW}  ") };
            pen.hanging(&start, Style::Faint, &indent, text, look(cell));
        }
    }
}

/// One row, in as many lines as its longest cell needs; heads stand on their last line.
fn row(
    pen: &mut Pen,
    columns: &[&Column],
    widths: &[usize],
    cells: &[(&str, Style)],
    is_head: bool,
) {
    let broken: Vec<Vec<String>> =
        cells.iter().zip(widths).map(|(it, width)| wrapped(&glued(it.0), *width, *width)).collect();
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

/// A value with its title that stay in one line where they fit; the value alone always does.
fn titled(title: &str, value: &str, room: usize) -> String {
    let glue = |it: &str| it.replace(' ', "\u{a0}");
    let whole = format!("{title} {value}");
    match (whole.width() <= room, value.width() <= room) {
        (true, _) => glue(&whole),
        (false, true) => format!("{title} {}", glue(value)),
        (false, false) => whole,
    }
}

/// One record after the other: its name, a long verdict, then short values in a row, then each sentence.
fn records(pen: &mut Pen, table: &Table, cells: &[Vec<String>]) {
    let is_sentence = |it: &Cell| match it {
        Cell::Text(text) | Cell::Marked(_, text) => text.width() > LONGEST_NAME,
        _ => false,
    };
    for (looks, texts) in table.rows.iter().zip(cells) {
        let mut named = table.columns.iter().zip(texts).zip(looks);
        if let Some(((_, first), _)) = named.next() {
            pen.paragraph("  ", first, Style::Strong);
        }
        let (sentences, short): (Vec<_>, Vec<_>) =
            named.filter(|it| !it.0.1.is_empty()).partition(|it| is_sentence(it.1));
        let room = pen.width().saturating_sub(RECORD.len());
        let short: Vec<String> =
            short.iter().map(|((column, text), _)| titled(&column.title, text, room)).collect();
        // A verdict comes before what is measured, and its reasons behind.
        let (verdicts, sentences): (Vec<_>, Vec<_>) =
            sentences.into_iter().partition(|it| matches!(it.1, Cell::Marked(..)));
        let say = |pen: &mut Pen, ((column, text), cell): ((&Column, &String), &Cell)| {
            let start = format!("    {}: ", column.title);
            pen.hanging(&start, Style::Faint, "      ", text, look(cell));
        };
        verdicts.into_iter().for_each(|it| say(pen, it));
        if !short.is_empty() {
            pen.paragraph(RECORD, &short.join(" · "), Style::Plain);
        }
        sentences.into_iter().for_each(|it| say(pen, it));
    }
}
