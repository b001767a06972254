//! How a table stands in a given width: side by side, with sentences below their rows, in parts,
//! or one record after the other.
//!
//! No column of sentences is made so narrow that a sentence becomes a column of single words.

use crate::report::block::{Align, Cell, Table};
use crate::report::render::text::style::wrapped;
use crate::report::wording::glued;
use std::collections::BTreeSet;
use unicode_width::UnicodeWidthStr;

/// Space between two columns.
pub(super) const BETWEEN: usize = 2;
/// Indent of a table.
pub(super) const INDENT: usize = 2;
/// A column of words is not made narrower than this.
const NARROWEST_WORDS: usize = 16;
/// Lines that a cell of words may take beside others.
const MOST_LINES: usize = 3;
/// Lines of a heading.
const MOST_HEAD_LINES: usize = 2;
/// A column whose longest cell is wider than this holds sentences, which may stand below.
const LONGEST_PHRASE: usize = 24;
/// Parts of a table that a reader can still put together.
const MOST_PARTS: usize = 2;

/// How a table stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Side by side, in one part or several, each of which begins with what tells the rows apart.
    Parts(Vec<Part>),
    /// One record after the other.
    Records,
}

/// Columns that stand side by side.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Position of each column in the table.
    pub(super) columns: Vec<usize>,
    /// Width of each of them.
    pub(super) widths: Vec<usize>,
    /// Columns whose cells stand below their row, on lines of their own.
    pub(super) below: Vec<usize>,
}

/// What a layout has to know of a column.
#[derive(Debug, Clone, Copy)]
struct Measure {
    natural: usize,
    floor: usize,
    is_prose: bool,
}

/// The best layout in this width of a table whose cells read like this.
pub(super) fn layout(table: &Table, cells: &[Vec<String>], width: usize) -> Layout {
    let measures: Vec<Measure> =
        (0..table.columns.len()).map(|it| measure(table, cells, it)).collect();
    let all: Vec<usize> = (0..measures.len()).collect();
    if let Some(part) = with_prose_below(&measures, &all, width) {
        return Layout::Parts(vec![part]);
    }
    let has_prose = measures.iter().skip(1).any(|it| it.is_prose);
    let keys = keys(cells).filter(|_| !has_prose);
    let parts = keys.and_then(|keys| in_parts(&measures, keys, width));
    parts.filter(|it| it.len() <= MOST_PARTS).map_or(Layout::Records, Layout::Parts)
}

fn measure(table: &Table, cells: &[Vec<String>], column: usize) -> Measure {
    let head = table.columns.get(column).map_or(0, |it| least_width(&it.title, MOST_HEAD_LINES));
    let is_words = table.columns.get(column).is_some_and(|it| it.align == Align::Left)
        && table.rows.iter().any(|row| matches!(row.get(column), Some(Cell::Text(_))));
    let texts: BTreeSet<&str> =
        cells.iter().filter_map(|row| row.get(column)).map(String::as_str).collect();
    let widest = texts.iter().map(|it| it.width()).max().unwrap_or(0);
    let natural = widest.max(head);
    let floor = match is_words {
        false => natural,
        true => {
            let needed = texts.iter().map(|it| least_width(it, MOST_LINES)).max().unwrap_or(0);
            needed.max(head).max(NARROWEST_WORDS).min(natural)
        }
    };
    Measure { natural, floor, is_prose: is_words && widest > LONGEST_PHRASE }
}

/// The least width at which the text takes no more than so many lines and no word is cut.
fn least_width(text: &str, most_lines: usize) -> usize {
    let text = glued(text);
    let (mut least, mut most) =
        (text.split(' ').map(|it| it.width()).max().unwrap_or(0), text.width());
    while least < most {
        let middle = (least + most) / 2;
        match wrapped(&text, middle, middle).len() <= most_lines {
            true => most = middle,
            false => least = middle + 1,
        }
    }
    least
}

/// Widths of these columns side by side; `None` when they do not fit.
fn fit(measures: &[Measure], columns: &[usize], width: usize) -> Option<Vec<usize>> {
    let chosen: Vec<Measure> = columns.iter().filter_map(|it| measures.get(*it)).copied().collect();
    let room = width.checked_sub(INDENT + BETWEEN * chosen.len().saturating_sub(1))?;
    let mut widths: Vec<usize> = chosen.iter().map(|it| it.natural).collect();
    while widths.iter().sum::<usize>() > room {
        let flexible = widths.iter_mut().zip(&chosen).filter(|it| *it.0 > it.1.floor);
        let (widest, _) = flexible.max_by_key(|it| *it.0)?;
        *widest -= 1;
    }
    Some(widths)
}

/// All of these columns in one part, with as few of the sentences below as it takes.
fn with_prose_below(measures: &[Measure], columns: &[usize], width: usize) -> Option<Part> {
    let mut beside = columns.to_vec();
    let mut below = Vec::new();
    loop {
        if let Some(widths) = fit(measures, &beside, width) {
            return Some(Part { columns: beside, widths, below });
        }
        let prose = beside.iter().skip(1).copied().filter(|it| measures[*it].is_prose);
        let longest = prose.max_by_key(|it| measures[*it].natural)?;
        beside.retain(|it| *it != longest);
        below.push(longest);
        below.sort_unstable();
    }
}

/// How many of the first columns tell all rows apart, two at most; `None` when they do not.
fn keys(cells: &[Vec<String>]) -> Option<usize> {
    (1..=2).find(|count| {
        let distinct: BTreeSet<Vec<&String>> =
            cells.iter().map(|row| row.iter().take(*count).collect()).collect();
        distinct.len() == cells.len()
    })
}

/// Several parts that each begin with the first `keys` columns; `None` when a column fits in none.
fn in_parts(measures: &[Measure], keys: usize, width: usize) -> Option<Vec<Part>> {
    let head: Vec<usize> = (0..keys.min(measures.len())).collect();
    let mut parts: Vec<Part> = Vec::new();
    for column in keys..measures.len() {
        let mut columns = parts.last().map_or_else(|| head.clone(), |it| it.columns.clone());
        columns.push(column);
        match fit(measures, &columns, width) {
            Some(widths) => {
                parts.pop();
                parts.push(Part { columns, widths, below: Vec::new() });
            }
            None => {
                let columns = [head.clone(), vec![column]].concat();
                let widths = fit(measures, &columns, width)?;
                parts.push(Part { columns, widths, below: Vec::new() });
            }
        }
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::cells::{numbers, words};

    fn table(rows: Vec<Vec<Cell>>, titles: &[&str]) -> (Table, Vec<Vec<String>>) {
        let columns = titles.iter().map(|it| match it.strip_prefix('#') {
            Some(title) => numbers(title),
            None => words(it),
        });
        let table = Table { caption: String::new(), columns: columns.collect(), rows };
        let cells = table.rows.iter().map(|row| row.iter().map(Cell::plain).collect()).collect();
        (table, cells)
    }

    fn name(text: &str) -> Cell {
        Cell::Name(text.to_owned())
    }

    const REASON: &str = "Steady at 26.7 %: windows of 1.00 s hardly differ, so a request that \
                          lasts longer meets the same load at any moment";

    #[test]
    fn a_sentence_that_has_no_room_beside_goes_below_its_row() {
        let row = |load: &str| {
            let text = |it: &str| Cell::Text(it.to_owned());
            vec![name(load), text("GPU 0"), text("shares with care"), text(REASON), name("0.88")]
        };
        let titles = ["Load", "On", "Verdict", "First reason", "#Confidence"];
        let (table, cells) = table(vec![row("embed (pid 41000)"), row("b")], &titles);
        let Layout::Parts(parts) = layout(&table, &cells, 80) else { panic!("it fits") };
        assert_eq!((parts.len(), &parts[0].below), (1, &vec![3]));
        let Layout::Parts(parts) = layout(&table, &cells, 120) else { panic!("it fits") };
        assert!(parts[0].below.is_empty(), "there is room for three lines beside");
        assert!(parts[0].widths[3] >= 40, "{:?}", parts[0].widths);
    }

    #[test]
    fn a_heading_takes_two_lines_at_most() {
        assert_eq!(least_width("Of the time", 2), 6);
        assert_eq!(least_width("Minimum detectable effect", 2), 17);
        assert_eq!(least_width("q", 2), 1);
    }

    #[test]
    fn numbers_that_do_not_fit_stand_in_two_parts_that_name_the_rows_again() {
        let row = |first: &str, second: &str| {
            let numbers = (0..9).map(|it| name(&format!("{it}23.45 %")));
            [name(first), name(second)].into_iter().chain(numbers).collect::<Vec<_>>()
        };
        let titles = ["Phase", "Load", "#a", "#b", "#c", "#d", "#e", "#f", "#g", "#h", "#i"];
        let (table, cells) = table(vec![row("quiet", "a"), row("quiet", "b")], &titles);
        let Layout::Parts(parts) = layout(&table, &cells, 80) else { panic!("two parts") };
        assert_eq!(parts.len(), 2);
        assert!(parts.iter().all(|it| it.columns.starts_with(&[0, 1])), "{parts:?}");
    }

    #[test]
    fn rows_that_nothing_tells_apart_become_records() {
        let row = || (0..12).map(|it| name(&format!("{it}23.45 %"))).collect::<Vec<_>>();
        let titles = ["#a"; 12];
        let (table, cells) = table(vec![row(), row()], &titles);
        assert_eq!(layout(&table, &cells, 60), Layout::Records);
    }
}
