//! Slowdowns under each way to share: median and p99 as points with whiskers, on one logarithmic axis.

use crate::report::figure::{SlowdownGroup, SlowdownRow, SlowdownsFigure, Whisker};
use crate::report::plot::PlotError;
use crate::report::plot::canvas::{Canvas, Lettering, Point, fitted, width_of};
use crate::report::plot::scale::Scale;
use crate::report::plot::theme::Role;
use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::HPos;

/// Room left of the points for names, in logical pixels.
const LEFT: f64 = 190.0;
/// Room right of the points.
const RIGHT: f64 = 30.0;
/// Room above the first way for the legend.
const TOP: f64 = 34.0;
/// Half of the distance between the two points of a row.
const APART: f64 = 6.0;
/// Slowdowns that the axis names.
const TICKS: [f64; 17] =
    [1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 2e3, 5e3, 1e4, 1e5, 1e6];

/// Draws the picture.
pub(crate) fn draw<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    figure: &SlowdownsFigure,
    (width, height): (f64, f64),
) -> Result<(), PlotError> {
    let right = (width - RIGHT).max(LEFT + 1.0);
    let floor = (height - f64::from(SlowdownsFigure::BOTTOM)).max(TOP + 1.0);
    let axis = Axis::over(figure, (LEFT, right));
    legend(canvas, right)?;
    ticks(canvas, &axis, floor)?;
    limit(canvas, figure, &axis, floor)?;
    let mut top = TOP;
    for group in &figure.groups {
        draw_group(canvas, group, &axis, top)?;
        top += f64::from(SlowdownsFigure::height_of(group));
    }
    Ok(())
}

/// The axis from alone to the greatest end, or to where it is cut off.
struct Axis {
    scale: Scale,
    ticks: Vec<f64>,
    most: f64,
    left: f64,
    right: f64,
}

impl Axis {
    fn over(figure: &SlowdownsFigure, (left, right): (f64, f64)) -> Self {
        let most = figure.most();
        let last = TICKS.iter().position(|it| *it >= most).unwrap_or(TICKS.len() - 1).max(2);
        let ticks = TICKS[..=last].to_vec();
        let most = TICKS[last];
        // A little room left of 1, so that a point there is seen whole.
        let scale = Scale::new((0.97_f64.log10(), most.log10()), (left, right));
        Self { scale, ticks, most, left, right }
    }

    fn at(&self, value: f64) -> f64 {
        self.scale.at_log(value)
    }
}

fn ticks<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    axis: &Axis,
    floor: f64,
) -> Result<(), PlotError> {
    let mut free_from = f64::MIN;
    for tick in &axis.ticks {
        let x = axis.at(*tick);
        let role = if *tick == 1.0 { Role::Muted } else { Role::Grid };
        canvas.line(&[(x, TOP), (x, floor)], role, 0.75)?;
        let name = format!("{tick}x");
        let room = width_of(&name, Lettering::TICK.size);
        if x - room / 2.0 > free_from {
            let look = Lettering::TICK.anchored(HPos::Center);
            canvas.words((x, floor + 18.0), &name, look)?;
            free_from = x + room / 2.0 + 6.0;
        }
    }
    let words = "times as slow as alone, logarithmic";
    canvas.words((axis.left, floor + 36.0), words, Lettering::NOTE)
}

/// The limit of the objective, where it is a factor.
fn limit<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    figure: &SlowdownsFigure,
    axis: &Axis,
    floor: f64,
) -> Result<(), PlotError> {
    let Some((value, words)) = &figure.limit else { return Ok(()) };
    if !(value.is_finite() && *value <= axis.most) {
        return Ok(());
    }
    let x = axis.at(*value);
    canvas.dashes((x, TOP - 8.0), (x, floor), Role::Limit, 1.5)?;
    canvas.words((x + 5.0, TOP - 2.0), words, Lettering::NOTE.coloured(Role::Limit))
}

/// What the two kinds of points are.
fn legend<B: DrawingBackend>(canvas: &mut Canvas<'_, B>, right: f64) -> Result<(), PlotError> {
    let room = width_of("p50", Lettering::NOTE.size) + 26.0;
    let x = (right - 2.0 * room).max(LEFT);
    median(canvas, (x, 10.0))?;
    canvas.words((x + 10.0, 14.0), "p50", Lettering::NOTE)?;
    tail(canvas, (x + room, 10.0))?;
    canvas.words((x + room + 10.0, 14.0), "p99", Lettering::NOTE)
}

fn draw_group<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    group: &SlowdownGroup,
    axis: &Axis,
    top: f64,
) -> Result<(), PlotError> {
    canvas.line(&[(0.0, top), (axis.right, top)], Role::Grid, 0.75)?;
    canvas.words((0.0, top + 17.0), &group.name, Lettering::LABEL)?;
    let first = top + f64::from(SlowdownsFigure::HEAD);
    for (position, row) in group.rows.iter().enumerate() {
        let middle = first + f64::from(SlowdownsFigure::ROW) * (position as f64 + 0.5);
        draw_row(canvas, row, axis, middle)?;
    }
    Ok(())
}

fn draw_row<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    row: &SlowdownRow,
    axis: &Axis,
    middle: f64,
) -> Result<(), PlotError> {
    let name = Lettering { is_bold: false, ..Lettering::LABEL };
    canvas.name((14.0, middle + 4.0), &row.name, LEFT - 34.0, name)?;
    if row.p50.is_none() && row.p99.is_none() {
        let words = format!("no number: {}", row.note);
        let short = fitted(&words, axis.right - axis.left - 12.0, Lettering::NOTE.size);
        return canvas.words((axis.left + 10.0, middle + 4.0), &short, Lettering::NOTE);
    }
    let words = told(row);
    let half = f64::from(SlowdownsFigure::ROW) / 2.0;
    canvas.spot((0.0, middle - half), (axis.right, middle + half), words);
    if let Some(it) = row.p50 {
        let y = middle - APART;
        whisker(canvas, it, axis, y, (Role::Resident1, row.is_at_least))?;
        median(canvas, (axis.at(it.value), y))?;
    }
    if let Some(it) = row.p99 {
        let y = middle + APART;
        whisker(canvas, it, axis, y, (Role::Full, row.is_at_least))?;
        tail(canvas, (axis.at(it.value), y))?;
    }
    Ok(())
}

/// Median and p99 with their intervals.
fn told(row: &SlowdownRow) -> String {
    let sign = if row.is_at_least { "at least " } else { "" };
    let one = |name: &str, it: &Whisker| {
        let (value, low, high) = (it.value, it.low, it.high);
        let interval = match (row.is_at_least, high.is_finite()) {
            (true, _) => String::new(),
            (false, true) => format!(" ({low:.2} to {high:.2})"),
            (false, false) => format!(" (from {low:.2})"),
        };
        format!("{name} {sign}{value:.2} times as slow as alone{interval}")
    };
    let points = [("p50", &row.p50), ("p99", &row.p99)];
    let points = points.into_iter().filter_map(|it| Some(one(it.0, it.1.as_ref()?)));
    format!("{}: {}", row.name, points.collect::<Vec<_>>().join("; "))
}

/// The interval with a bar at each end; an arrow where it goes on.
fn whisker<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    it: Whisker,
    axis: &Axis,
    y: f64,
    (role, is_open): (Role, bool),
) -> Result<(), PlotError> {
    let goes_on = is_open || it.high > axis.most || !it.high.is_finite();
    let left = axis.at(it.low);
    let end = match () {
        () if is_open => (axis.at(it.value) + 26.0).min(axis.right),
        () if goes_on => axis.right,
        () => axis.at(it.high),
    };
    canvas.line(&[(left, y), (end, y)], role, 1.5)?;
    canvas.line(&[(left, y - 3.5), (left, y + 3.5)], role, 1.5)?;
    match goes_on {
        true => {
            canvas.fill(&[(end + 6.0, y), (end - 2.0, y - 4.5), (end - 2.0, y + 4.5)], role, 1.0)
        }
        false => canvas.line(&[(end, y - 3.5), (end, y + 3.5)], role, 1.5),
    }
}

/// The median: a disc.
fn median<B: DrawingBackend>(canvas: &mut Canvas<'_, B>, at: Point) -> Result<(), PlotError> {
    canvas.disc(at, 4.5, Role::Resident1)
}

/// The p99: a diamond.
fn tail<B: DrawingBackend>(canvas: &mut Canvas<'_, B>, (x, y): Point) -> Result<(), PlotError> {
    let corners = [(x, y - 6.5), (x + 6.5, y), (x, y + 6.5), (x - 6.5, y)];
    canvas.fill(&corners, Role::Full, 1.0)
}
