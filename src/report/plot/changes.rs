//! Changes with their intervals, tenant by tenant, around a line of no change.

use crate::report::figure::{ChangeGroup, ChangeKind, ChangeRow, ChangesFigure, Whisker};
use crate::report::plot::PlotError;
use crate::report::plot::canvas::{Canvas, Lettering, Point, fitted, width_of};
use crate::report::plot::scale::Scale;
use crate::report::plot::theme::Role;
use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::HPos;

/// Room left of the axis for names, in logical pixels.
const LEFT: f64 = 150.0;
/// Room right of the axis for the numbers.
const RIGHT: f64 = 172.0;
/// Distance of the change at equal load from the middle of its row.
const APART: f64 = 8.0;
/// Factors that the axis names, with their names.
const TICKS: [(f64, &str); 19] = [
    (0.02, "−98 %"),
    (0.05, "−95 %"),
    (0.1, "−90 %"),
    (0.25, "−75 %"),
    (0.5, "−50 %"),
    (0.67, "−33 %"),
    (0.8, "−20 %"),
    (0.9, "−10 %"),
    (0.95, "−5 %"),
    (1.0, "no change"),
    (1.05, "+5 %"),
    (1.1, "+10 %"),
    (1.25, "+25 %"),
    (1.5, "+50 %"),
    (2.0, "+100 %"),
    (4.0, "+300 %"),
    (10.0, "+900 %"),
    (20.0, "×20"),
    (50.0, "×50"),
];

/// Draws the picture.
pub(crate) fn draw<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    figure: &ChangesFigure,
    (width, height): (f64, f64),
) -> Result<(), PlotError> {
    let right = (width - RIGHT).max(LEFT + 1.0);
    let floor = height - f64::from(ChangesFigure::BOTTOM);
    let most = figure.most();
    let axis = Axis {
        scale: Scale::new((-most.log10(), most.log10()), (LEFT, right)),
        most,
        left: LEFT,
        right,
    };
    legend(canvas, figure)?;
    let mut top = f64::from(ChangesFigure::TOP);
    ticks(canvas, &axis, (top, floor))?;
    for group in &figure.groups {
        draw_group(canvas, group, &axis, (top, width))?;
        top += f64::from(ChangesFigure::height_of(group));
    }
    Ok(())
}

/// The axis, as long in both directions.
struct Axis {
    scale: Scale,
    most: f64,
    left: f64,
    right: f64,
}

impl Axis {
    fn at(&self, factor: f64) -> f64 {
        let factor = if factor.is_finite() { factor } else { self.most };
        self.scale.at_log(factor.clamp(1.0 / self.most, self.most))
    }
}

fn ticks<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    axis: &Axis,
    (top, floor): (f64, f64),
) -> Result<(), PlotError> {
    let room = |name: &str| width_of(name, Lettering::TICK.size) / 2.0 + 4.0;
    let centre = axis.at(1.0);
    // No change first, then outwards, so that the nearest names win the room.
    let mut taken: Vec<(f64, f64)> = Vec::new();
    let mut all = TICKS.to_vec();
    all.sort_by(|a, b| b.0.ln().abs().total_cmp(&a.0.ln().abs()).reverse());
    for (factor, name) in all {
        if factor.ln().abs() > axis.most.ln() {
            continue;
        }
        let x = axis.at(factor);
        let (low, high) = (x - room(name), x + room(name));
        if taken.iter().any(|it| low < it.1 && it.0 < high) {
            continue;
        }
        taken.push((low, high));
        let role = if x == centre { Role::Muted } else { Role::Grid };
        canvas.line(&[(x, top), (x, floor)], role, if x == centre { 1.5 } else { 0.75 })?;
        canvas.words((x, floor + 18.0), name, Lettering::TICK.anchored(HPos::Center))?;
    }
    let words = "after against before, logarithmic";
    canvas.words((axis.left, floor + 36.0), words, Lettering::NOTE)
}

/// What the marks are.
fn legend<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    figure: &ChangesFigure,
) -> Result<(), PlotError> {
    let mut x = 7.0;
    for (kind, words) in figure.legend() {
        mark(canvas, kind, (x, 10.0))?;
        canvas.words((x + 11.0, 14.0), words, Lettering::NOTE)?;
        x += 11.0 + width_of(words, Lettering::NOTE.size) + 18.0;
    }
    if figure.has_adjusted() {
        canvas.line(&[(x, 10.0), (x + 20.0, 10.0)], Role::Muted, 1.25)?;
        hollow(canvas, (x + 10.0, 10.0))?;
        canvas.words((x + 27.0, 14.0), "at equal load", Lettering::NOTE)?;
    }
    Ok(())
}

fn draw_group<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    group: &ChangeGroup,
    axis: &Axis,
    (top, width): (f64, f64),
) -> Result<(), PlotError> {
    canvas.line(&[(0.0, top), (width, top)], Role::Grid, 0.75)?;
    canvas.name((0.0, top + 17.0), &group.name, axis.left - 8.0, Lettering::LABEL)?;
    let first = top + f64::from(ChangesFigure::HEAD);
    for (position, row) in group.rows.iter().enumerate() {
        let middle = first + f64::from(ChangesFigure::ROW) * (position as f64 + 0.5);
        draw_row(canvas, row, axis, (middle, width))?;
    }
    Ok(())
}

fn draw_row<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    row: &ChangeRow,
    axis: &Axis,
    (middle, width): (f64, f64),
) -> Result<(), PlotError> {
    let name = Lettering { is_bold: false, ..Lettering::LABEL };
    canvas.name((14.0, middle + 4.0), &row.name, axis.left - 24.0, name)?;
    let Some(change) = row.change else {
        let short = fitted(&row.note, width - axis.left - 12.0, Lettering::NOTE.size);
        return canvas.words((axis.left + 6.0, middle + 4.0), &short, Lettering::NOTE);
    };
    if let Some(it) = row.adjusted {
        whisker(canvas, it, axis, middle + APART, (Role::Muted, 1.25))?;
        hollow(canvas, (axis.at(it.value), middle + APART))?;
    }
    let place = if row.adjusted.is_some() { middle - APART / 2.0 } else { middle };
    whisker(canvas, change, axis, place, (role(row.kind), 2.0))?;
    mark(canvas, row.kind, (axis.at(change.value), place))?;
    let look = Lettering { role: Role::Ink, ..Lettering::TICK };
    let short = fitted(&row.note, RIGHT - 10.0, look.size);
    canvas.words((width, middle + 4.0), &short, look)
}

/// The interval with a bar at each end; an arrow where it goes on.
fn whisker<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    it: Whisker,
    axis: &Axis,
    y: f64,
    (role, px): (Role, f64),
) -> Result<(), PlotError> {
    let (low, high) = (axis.at(it.low), axis.at(it.high));
    canvas.line(&[(low, y), (high, y)], role, px)?;
    match it.low < 1.0 / axis.most || !it.low.is_finite() {
        true => {
            let left = axis.left;
            canvas.fill(
                &[(left - 6.0, y), (left + 2.0, y - 4.0), (left + 2.0, y + 4.0)],
                role,
                1.0,
            )?;
        }
        false => canvas.line(&[(low, y - 3.5), (low, y + 3.5)], role, px)?,
    }
    match it.high > axis.most || !it.high.is_finite() {
        true => {
            let right = axis.right;
            canvas.fill(
                &[(right + 6.0, y), (right - 2.0, y - 4.0), (right - 2.0, y + 4.0)],
                role,
                1.0,
            )
        }
        false => canvas.line(&[(high, y - 3.5), (high, y + 3.5)], role, px),
    }
}

fn role(kind: ChangeKind) -> Role {
    match kind {
        ChangeKind::Worse => Role::Full,
        ChangeKind::Better => Role::Resident3,
        ChangeKind::Different => Role::Device,
        ChangeKind::NotShown => Role::Other,
    }
}

/// Worse is a diamond, better a disc, changed a square, not shown a ring.
fn mark<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    kind: ChangeKind,
    (x, y): Point,
) -> Result<(), PlotError> {
    let role = role(kind);
    match kind {
        ChangeKind::Worse => {
            let corners = [(x, y - 6.5), (x + 6.5, y), (x, y + 6.5), (x - 6.5, y)];
            canvas.fill(&corners, role, 1.0)
        }
        ChangeKind::Better => canvas.disc((x, y), 5.0, role),
        ChangeKind::Different => canvas.block((x - 4.5, y - 4.5), (x + 4.5, y + 4.5), role, 1.0),
        ChangeKind::NotShown => {
            canvas.disc((x, y), 4.5, role)?;
            canvas.disc((x, y), 2.5, Role::Ground)
        }
    }
}

fn hollow<B: DrawingBackend>(canvas: &mut Canvas<'_, B>, at: Point) -> Result<(), PlotError> {
    canvas.disc(at, 3.5, Role::Muted)?;
    canvas.disc(at, 2.0, Role::Ground)
}
