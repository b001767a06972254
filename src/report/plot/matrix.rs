//! Who slows whom: a cell for each suspect and victim, told apart by mark, ground and words.

use crate::report::block::Mark;
use crate::report::figure::{MatrixCell, MatrixFigure};
use crate::report::plot::PlotError;
use crate::report::plot::canvas::{Canvas, Lettering, Point, fitted, width_of};
use crate::report::plot::theme::Role;
use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::HPos;

/// Room left of the cells for the suspects, in logical pixels.
const LEFT: f64 = 184.0;
/// Room right of the cells for a legend that stands beside them.
const LEGEND: f64 = 212.0;
/// A cell is not wider than this.
const WIDEST: f64 = 180.0;
/// Half of the space between two cells.
const SEAM: f64 = 2.0;
/// In a cell narrower than this everything moves to the left.
const NARROW: f64 = 100.0;
/// Strong letters are so much wider than others, whatever font the reader has.
const STRONG: f64 = 1.3;
/// Distance of the lines that hatch a cell.
const HATCH: f64 = 9.0;

/// The change in a cell.
const VALUE: Lettering =
    Lettering { size: 15.0, role: Role::Ink, is_bold: true, anchor: HPos::Left };
/// What changes.
const METRIC: Lettering =
    Lettering { size: 11.5, role: Role::Ink, is_bold: false, anchor: HPos::Left };

/// Draws the matrix.
pub(crate) fn draw<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    figure: &MatrixFigure,
    (width, height): (f64, f64),
) -> Result<(), PlotError> {
    let is_beside = figure.has_legend_beside();
    let room = width - LEFT - if is_beside { LEGEND + 24.0 } else { 0.0 };
    let cell_width = (room / figure.victims.len().max(1) as f64).clamp(8.0, WIDEST);
    let (top, row) = (f64::from(figure.top()), f64::from(MatrixFigure::ROW));
    heads(canvas, figure, cell_width)?;
    for (position, (suspect, cells)) in figure.suspects.iter().zip(&figure.cells).enumerate() {
        let above = top + row * position as f64;
        let middle = above + row / 2.0 + 4.0;
        canvas.name((0.0, middle), suspect, LEFT - 14.0, Lettering::LABEL)?;
        for (column, cell) in cells.iter().enumerate() {
            let left = LEFT + cell_width * column as f64;
            let frame = Frame {
                left: left + SEAM,
                right: left + cell_width - SEAM,
                top: above + SEAM,
                bottom: above + row - SEAM,
            };
            match cell {
                Some(it) => {
                    draw_cell(canvas, it, frame)?;
                    let victim = figure.victims.get(column).map_or("", |it| it);
                    let words = told(figure, it, (suspect, victim));
                    canvas.spot((frame.left, frame.top), (frame.right, frame.bottom), words);
                }
                None if figure.victims.get(column) == Some(suspect) => {}
                None => outline(canvas, frame, Role::Grid, 0.75)?,
            }
        }
    }
    let place = match is_beside {
        true => (LEFT + cell_width * figure.victims.len() as f64 + 28.0, top + 14.0),
        false => (LEFT, height - 12.0),
    };
    legend(canvas, figure, place, is_beside)
}

/// Who does what to whom, and how firm that is.
fn told(figure: &MatrixFigure, cell: &MatrixCell, (suspect, victim): (&str, &str)) -> String {
    let legend = figure.legend();
    let firm = legend.iter().find(|it| it.0 == cell.mark).map_or("", |it| it.1);
    let parts = [cell.value.as_str(), cell.note.as_str()];
    let parts: Vec<&str> = parts.into_iter().filter(|it| !it.is_empty()).collect();
    format!("{suspect} → {victim}: {firm}; {}", parts.join(", "))
}

/// Where one cell lies.
#[derive(Clone, Copy)]
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// Who stands in the rows, who in the columns.
fn heads<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    figure: &MatrixFigure,
    cell_width: f64,
) -> Result<(), PlotError> {
    let top = f64::from(figure.top());
    let is_narrow = MatrixFigure::is_narrow(figure.victims.len());
    canvas.words((0.0, top - 10.0), "suspect", Lettering::NOTE)?;
    let (place, anchor) = match is_narrow {
        true => ((LEFT - 14.0, top / 2.0), HPos::Right),
        false => ((LEFT + SEAM, 13.0), HPos::Left),
    };
    canvas.words(place, "victim", Lettering::NOTE.anchored(anchor))?;
    for (column, victim) in figure.victims.iter().enumerate() {
        let left = LEFT + cell_width * column as f64 + SEAM;
        if is_narrow {
            let at = (left + cell_width / 2.0 + 2.0, top - 8.0);
            canvas.name_upwards(at, victim, top - 12.0, Lettering::LABEL)?;
        } else {
            canvas.name((left, top - 10.0), victim, cell_width - 8.0, Lettering::LABEL)?;
        }
    }
    Ok(())
}

fn draw_cell<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    cell: &MatrixCell,
    frame: Frame,
) -> Result<(), PlotError> {
    ground(canvas, cell.mark, frame)?;
    let room = frame.right - frame.left;
    let has_mark = room > 40.0;
    let indent = if room < NARROW { 12.0 } else { 16.0 };
    let start = frame.left + if has_mark { indent + 13.0 } else { 6.0 };
    let middle = (frame.top + frame.bottom) / 2.0;
    if has_mark {
        mark(canvas, cell.mark, (frame.left + indent, middle))?;
    }
    let words = frame.right - start - 4.0;
    if cell.value.is_empty() {
        return canvas.words(
            (start, middle + 4.0),
            &fitted(&cell.note, words, METRIC.size),
            METRIC,
        );
    }
    let value = Lettering { size: value_size(&cell.value, words), ..VALUE };
    canvas.words((start, middle), &cell.value, value)?;
    canvas.words((start, middle + 16.0), &fitted(&cell.note, words, METRIC.size), METRIC)
}

/// The largest size in which a value fits; a number is never cut.
fn value_size(value: &str, room: f64) -> f64 {
    let width = (STRONG * width_of(value, 1.0)).max(1.0);
    (room / width).clamp(7.0, VALUE.size)
}

/// The ground of a cell: the firmer, the stronger; hatched where nothing can be told.
fn ground<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    mark: Mark,
    frame: Frame,
) -> Result<(), PlotError> {
    let corners = ((frame.left, frame.top), (frame.right, frame.bottom));
    match mark {
        Mark::Firm => canvas.block(corners.0, corners.1, Role::Full, 0.5),
        Mark::Indirect => {
            canvas.block(corners.0, corners.1, Role::Full, 0.18)?;
            outline(canvas, frame, Role::Full, 1.5)
        }
        Mark::Probable => canvas.block(corners.0, corners.1, Role::Resident2, 0.34),
        Mark::Neutral | Mark::Absent | Mark::Fine => {
            canvas.block(corners.0, corners.1, Role::Band, 1.0)
        }
        Mark::Unknown => hatch(canvas, frame),
    }
}

fn outline<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    it: Frame,
    role: Role,
    px: f64,
) -> Result<(), PlotError> {
    let corners = [
        (it.left, it.top),
        (it.right, it.top),
        (it.right, it.bottom),
        (it.left, it.bottom),
        (it.left, it.top),
    ];
    canvas.line(&corners, role, px)
}

/// Lines from the lower left to the upper right, kept inside the frame.
fn hatch<B: DrawingBackend>(canvas: &mut Canvas<'_, B>, it: Frame) -> Result<(), PlotError> {
    let (width, height) = (it.right - it.left, it.bottom - it.top);
    let mut way = HATCH / 2.0;
    while way < width + height {
        let low = if way <= height {
            (it.left, it.top + way)
        } else {
            (it.left + way - height, it.bottom)
        };
        let high =
            if way <= width { (it.left + way, it.top) } else { (it.right, it.top + way - width) };
        canvas.line(&[low, high], Role::Grid, 1.0)?;
        way += HATCH;
    }
    outline(canvas, it, Role::Grid, 0.75)
}

/// A mark that differs from the others in form.
fn mark<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    mark: Mark,
    (x, y): Point,
) -> Result<(), PlotError> {
    match mark {
        Mark::Firm => canvas.disc((x, y), 6.5, Role::Limit),
        Mark::Indirect => {
            let corners = [(x, y - 7.0), (x + 7.5, y + 6.0), (x - 7.5, y + 6.0)];
            canvas.fill(&corners, Role::Limit, 1.0)
        }
        Mark::Probable => {
            let ring = ring((x, y), 5.5);
            canvas.line(&ring, Role::Ink, 2.0)
        }
        Mark::Neutral | Mark::Absent | Mark::Fine => canvas.disc((x, y), 2.0, Role::Muted),
        Mark::Unknown => {
            let look = Lettering { size: 17.0, ..VALUE }.anchored(HPos::Center);
            canvas.words((x, y + 6.0), "?", look.coloured(Role::Muted))
        }
    }
}

/// A circle as a closed line.
fn ring((x, y): Point, radius: f64) -> Vec<Point> {
    let step = std::f64::consts::TAU / 24.0;
    let at = |it: i32| f64::from(it) * step;
    (0..=24).map(|it| (x + radius * at(it).cos(), y + radius * at(it).sin())).collect()
}

/// What the marks mean: below each other beside the cells, or in one line below them.
fn legend<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    figure: &MatrixFigure,
    (x, y): Point,
    is_beside: bool,
) -> Result<(), PlotError> {
    let (mut x, mut y) = (x, y);
    for (sign, words) in figure.legend() {
        mark(canvas, sign, (x + 8.0, y - 4.0))?;
        canvas.words((x + 24.0, y), words, Lettering::NOTE)?;
        if is_beside {
            y += f64::from(MatrixFigure::LINE);
        } else {
            x += 40.0 + width_of(words, Lettering::NOTE.size);
        }
    }
    Ok(())
}
