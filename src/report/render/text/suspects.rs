//! Who slows whom, and a victim over its suspects, out of characters.

use crate::report::block::{Cell, Table};
use crate::report::cells::words;
use crate::report::figure::{MatrixCell, MatrixFigure, SuspectsFigure};
use crate::report::influences::quantities::quantity;
use crate::report::render::text::figures::{axis as write_axis, level, room, row};
use crate::report::render::text::style::{Pen, Style};
use crate::report::render::text::table::grid;
use crate::report::wording::{percent, shorten, stamp};

/// Longest name of a victim over its column, in characters.
const LONGEST_VICTIM: usize = 16;

/// The matrix as a table of marks and changes.
pub(super) fn matrix(pen: &mut Pen, figure: &MatrixFigure) {
    let cell = |it: &Option<MatrixCell>| match it {
        None => Cell::Text(String::new()),
        Some(it) if it.value.is_empty() => Cell::Marked(it.mark, it.note.clone()),
        Some(it) => {
            let metric = it.note.rsplit(", ").next().unwrap_or_default();
            Cell::Marked(it.mark, format!("{} {metric}", it.value))
        }
    };
    let mut columns = vec![words("suspect")];
    columns.extend(figure.victims.iter().map(|it| words(&shorten(it, LONGEST_VICTIM))));
    let rows = figure.suspects.iter().zip(&figure.cells).map(|(suspect, cells)| {
        let mut row = vec![Cell::Name(suspect.clone())];
        row.extend(cells.iter().map(cell));
        row
    });
    let table = Table { caption: String::new(), columns, rows: rows.collect() };
    grid(pen, &table);
}

/// The victim, then each suspect with its bursts, one character for each stretch of time.
pub(super) fn suspects(pen: &mut Pen, figure: &SuspectsFigure) {
    let columns = room(pen);
    let place = axis(figure);
    let heights: Vec<Option<f64>> =
        figure.values.iter().map(|it| it.filter(|it| it.is_finite()).map(&place)).collect();
    let most =
        figure.range().map_or_else(|| "not seen".to_owned(), |it| quantity(figure.metric, it.1));
    row(pen, &figure.victim, &line(&heights, columns), &most);
    for lane in &figure.lanes {
        let seen: Vec<f64> = lane.activity.iter().flatten().copied().collect();
        let mean = match seen.is_empty() {
            true => "not seen".to_owned(),
            false => percent(seen.iter().sum::<f64>() / seen.len() as f64),
        };
        row(pen, &lane.name, &line(&lane.activity, columns), &mean);
        if lane.is_guilty {
            row(pen, "  its bursts", &bursts(figure, &lane.bursts, columns), "");
        }
    }
    if let Some(window) = figure.window {
        row(pen, "  window", &bursts(figure, &[window], columns), "");
    }
    let time = |it: &str| it.split_once(' ').map_or(String::new(), |it| it.1.to_owned());
    let from = time(stamp(figure.span.from()).trim_end_matches(" UTC"));
    let until = time(&stamp(figure.span.until()));
    write_axis(pen, &from, &until, "");
    let key = "Number: greatest value of the victim, mean activity of the others while there. \u{b7}: not seen.";
    pen.paragraph("  ", key, Style::Faint);
}

/// From values of the victim to heights from 0 to 1.
fn axis(figure: &SuspectsFigure) -> impl Fn(f64) -> f64 {
    let (least, most) = figure.range().unwrap_or((0.0, 1.0));
    let is_log = figure.is_logarithmic();
    move |value: f64| match is_log {
        true => 0.1 + 0.9 * (value / least).ln() / (most / least).ln(),
        false => value / most,
    }
}

/// Mean of each stretch as a height; a stretch without values is a dot.
fn line(values: &[Option<f64>], columns: usize) -> String {
    let stretch = |column: usize| {
        let first = column * values.len() / columns;
        let last = ((column + 1) * values.len() / columns).max(first + 1).min(values.len());
        let seen: Vec<f64> =
            values.get(first..last).unwrap_or_default().iter().flatten().copied().collect();
        match seen.is_empty() {
            true => '\u{b7}',
            false => level(seen.iter().sum::<f64>() / seen.len() as f64),
        }
    };
    (0..columns).map(stretch).collect()
}

/// Stretches that a span touches.
fn bursts(
    figure: &SuspectsFigure,
    spans: &[crate::domain::time::TimeSpan],
    columns: usize,
) -> String {
    let whole = figure.span.seconds();
    let start = figure.span.from();
    let is_touched = |column: usize| {
        let from = whole * column as f64 / columns as f64;
        let until = whole * (column + 1) as f64 / columns as f64;
        spans.iter().any(|it| {
            it.from().seconds_since(start) < until && it.until().seconds_since(start) > from
        })
    };
    (0..columns).map(|it| if is_touched(it) { '▔' } else { ' ' }).collect()
}
