//! Memory of tenants stacked over time, below what there is.

use crate::analysis::findings::TimelineBin;
use crate::domain::metric::Unit;
use crate::domain::time::TimeSpan;
use crate::domain::units::MemoryBytes;
use crate::report::figure::{MemoryStackFigure, StackLayer};
use crate::report::plot::PlotError;
use crate::report::plot::canvas::{Canvas, Layer, Lettering, Point, fitted, width_of};
use crate::report::plot::readings::{Chart, ChartRow, ChartSeries, Reading};
use crate::report::plot::scale::{Scale, byte_marks};
use crate::report::plot::theme::Role;
use crate::report::plot::timeline::{Time, time_axis};
use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::HPos;

/// Room left of the stack for the names of amounts, in logical pixels.
const LEFT: f64 = 58.0;
/// Room right of it.
const RIGHT: f64 = 24.0;
/// Room above it for names and marks.
const TOP: f64 = 56.0;
/// Room below it for the names of instants.
const BOTTOM: f64 = 40.0;

/// Draws a stack.
pub(crate) fn draw<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    figure: &MemoryStackFigure,
    (width, height): (f64, f64),
) -> Result<(), PlotError> {
    let length = (figure.bin_s * figure.bins().max(1) as f64 * 1e6) as i64;
    let span = TimeSpan::covering(figure.from, figure.from.plus_micros(length));
    let time = Time::new(span, (LEFT, width - RIGHT));
    let floor = height - BOTTOM;
    let top = figure.highest().max(figure.room_bytes.unwrap_or(0.0)).max(1.0) * 1.04;
    let amount = Scale::new((0.0, top), (floor, TOP));
    canvas.on(Layer::Behind);
    time_axis(canvas, span, &time, (floor, height), LEFT)?;
    canvas.on(Layer::Grid);
    for (bytes, name) in byte_marks(top, 4) {
        let y = amount.at(bytes);
        canvas.line(&[(LEFT, y), (width - RIGHT, y)], Role::Grid, 0.75)?;
        canvas.words((LEFT - 6.0, y + 4.0), &name, Lettering::TICK)?;
    }
    canvas.on(Layer::Front);
    let limit = limit_name(figure);
    let limit_px = limit.as_ref().map_or(0.0, |it| width_of(it, 11.5) + 14.0);
    legend(canvas, figure, width - RIGHT - limit_px)?;
    if let Some(name) = limit {
        let look = Lettering::NOTE.coloured(Role::Limit).anchored(HPos::Right);
        canvas.words((width - RIGHT, 20.0), &name, look)?;
    }
    let edge =
        |bin: usize| time.at(figure.from.plus_micros((bin as f64 * figure.bin_s * 1e6) as i64));
    canvas.on(Layer::Data);
    for run in figure.runs() {
        layers(canvas, figure, run.clone(), &edge, &amount)?;
        least(canvas, figure, run, &edge, &amount)?;
    }
    for at in &figure.moments {
        let x = time.at(*at);
        canvas.line(&[(x, TOP - 10.0), (x, floor)], Role::Limit, 1.0)?;
        let tip = [(x - 4.5, TOP - 16.0), (x + 4.5, TOP - 16.0), (x, TOP - 7.0)];
        canvas.fill(&tip, Role::Limit, 1.0)?;
    }
    canvas.on(Layer::Front);
    if let Some(room) = figure.room_bytes {
        let y = amount.at(room);
        canvas.dashes((LEFT, y), (width - RIGHT, y), Role::Limit, 1.0)?;
    }
    canvas.tell(|| Chart {
        span,
        sides: (LEFT, width - RIGHT),
        ends: (TOP, floor),
        days_at: height - 5.0,
        phases: Vec::new(),
        moments: figure.moments.clone(),
        rows: vec![told(figure, (TOP, floor), top)],
    });
    Ok(())
}

/// The stack with its values, for those who ask.
fn told(figure: &MemoryStackFigure, ends: (f64, f64), top: f64) -> ChartRow {
    let series = |name: &str, hue: &'static str, reading: Reading, bytes: &[Option<f64>]| {
        let start = |bin: usize| figure.from.plus_micros((bin as f64 * figure.bin_s * 1e6) as i64);
        let bin = |(bin, value): (usize, &Option<f64>)| {
            let value = value.filter(|it| it.is_finite())?;
            Some(TimelineBin { at: start(bin), low: value, mean: value, high: value })
        };
        ChartSeries {
            name: name.to_owned(),
            hue,
            reading,
            bin_s: figure.bin_s,
            bins: bytes.iter().enumerate().filter_map(bin).collect(),
        }
    };
    let layers = figure
        .layers
        .iter()
        .map(|it| series(&it.name, Role::of_series(it.colour).name(), Reading::Layer, &it.bytes));
    let least = series("least sum in the bin", "ink", Reading::Least, &figure.low_bytes);
    ChartRow {
        name: "at the fullest instant".to_owned(),
        ends,
        values: (0.0, top),
        is_logarithmic: false,
        unit: Unit::Bytes,
        series: std::iter::once(least).chain(layers).collect(),
        shades: Vec::new(),
    }
}

/// What the dashed line stands for.
fn limit_name(figure: &MemoryStackFigure) -> Option<String> {
    let room = MemoryBytes::from_f64(figure.room_bytes?)?;
    Some(format!("- - {room} for tenants"))
}

fn legend<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    figure: &MemoryStackFigure,
    end: f64,
) -> Result<(), PlotError> {
    let mut x = LEFT;
    for layer in &figure.layers {
        let shown = fitted(&layer.name, 150.0, 11.5);
        let next = x + 16.0 + width_of(&shown, 11.5);
        if next > end {
            break;
        }
        canvas.block((x, 12.0), (x + 11.0, 19.0), Role::of_series(layer.colour), 0.8)?;
        canvas.name((x + 16.0, 20.0), &layer.name, 150.0, Lettering::NOTE)?;
        x = next + 14.0;
    }
    Ok(())
}

/// Every layer of a run of bins as one shape with steps.
fn layers<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    figure: &MemoryStackFigure,
    run: std::ops::Range<usize>,
    edge: &impl Fn(usize) -> f64,
    amount: &Scale,
) -> Result<(), PlotError> {
    let mut below = vec![0.0; run.len()];
    for layer in &figure.layers {
        let above: Vec<f64> = run.clone().zip(&below).map(|it| it.1 + held(layer, it.0)).collect();
        let steps = |levels: &[f64]| -> Vec<Point> {
            let at = |(place, level): (usize, &f64)| {
                let (left, right) = (edge(run.start + place), edge(run.start + place + 1));
                [(left, amount.at(*level)), (right.max(left + 0.5), amount.at(*level))]
            };
            levels.iter().enumerate().flat_map(at).collect()
        };
        let mut outline = steps(&above);
        outline.extend(steps(&below).into_iter().rev());
        canvas.fill(&outline, Role::of_series(layer.colour), 0.8)?;
        below = above;
    }
    Ok(())
}

fn held(layer: &StackLayer, bin: usize) -> f64 {
    layer.bytes.get(bin).copied().flatten().unwrap_or(0.0)
}

/// The least sum of each bin, so that a bin of many samples hides neither end.
fn least<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    figure: &MemoryStackFigure,
    run: std::ops::Range<usize>,
    edge: &impl Fn(usize) -> f64,
    amount: &Scale,
) -> Result<(), PlotError> {
    let points: Vec<Point> = run
        .filter_map(|bin| Some((bin, figure.low_bytes.get(bin).copied().flatten()?)))
        .flat_map(|(bin, low)| [(edge(bin), amount.at(low)), (edge(bin + 1), amount.at(low))])
        .collect();
    if points.len() < 2 { Ok(()) } else { canvas.line(&points, Role::Ink, 0.75) }
}
