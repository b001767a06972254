//! A victim over those who are suspected: one time axis, guilty bursts shaded through both.

use crate::analysis::findings::TimelineBin;
use crate::domain::metric::Unit;
use crate::domain::time::{TimeSpan, Timestamp};
use crate::report::figure::{RowSeries, SeriesColour, SuspectLane, SuspectsFigure};
use crate::report::influences::quantities::quantity;
use crate::report::plot::PlotError;
use crate::report::plot::canvas::{Canvas, Layer, Lettering, fitted, width_of};
use crate::report::plot::readings::{Chart, ChartRow, ChartSeries, Reading};
use crate::report::plot::scale::{Scale, round_steps};
use crate::report::plot::theme::Role;
use crate::report::plot::timeline::{Time, draw_series, time_axis};
use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::HPos;

/// Room left of the rows for the names of values, in logical pixels.
const LEFT: f64 = 66.0;
/// Room right of the rows.
const RIGHT: f64 = 24.0;
/// Room above everything for the name of the window.
const TOP: f64 = 24.0;
/// Room below the rows for the names of instants.
const BOTTOM: f64 = 40.0;
/// Room above each row for its name.
const HEAD: f64 = 28.0;
/// Height of a suspect's row.
const LANE: f64 = 74.0;

/// Draws the picture.
pub(crate) fn draw<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    figure: &SuspectsFigure,
    (width, height): (f64, f64),
) -> Result<(), PlotError> {
    let time = Time::new(figure.span, (LEFT, (width - RIGHT).max(LEFT + 1.0)));
    let floor = (height - BOTTOM).max(TOP + 1.0);
    let lanes = LANE * figure.lanes.len() as f64;
    let parting = (floor - lanes).max(TOP + HEAD + 8.0);
    canvas.on(Layer::Behind);
    window(canvas, figure.window, &time, floor)?;
    time_axis(canvas, figure.span, &time, (floor, height), LEFT)?;
    let own = Frame { left: LEFT, right: width - RIGHT, top: TOP + HEAD, bottom: parting - 6.0 };
    canvas.on(Layer::Data);
    for lane in figure.lanes.iter().filter(|it| it.is_guilty) {
        shade(canvas, &lane.bursts, &time, (own.top, own.bottom))?;
    }
    victim(canvas, figure, &time, own)?;
    let place = |position: usize| {
        let head = parting + LANE * position as f64;
        Frame { top: head + HEAD - 4.0, bottom: head + LANE - 6.0, ..own }
    };
    for (position, lane) in figure.lanes.iter().enumerate() {
        suspect(canvas, figure, lane, &time, place(position))?;
    }
    canvas.on(Layer::Front);
    canvas.tell(|| {
        let lanes = figure.lanes.iter().enumerate();
        let lanes = lanes.map(|(position, lane)| told_lane(figure, lane, place(position)));
        Chart {
            span: figure.span,
            sides: (LEFT, time.end()),
            ends: (TOP, floor),
            days_at: height - 5.0,
            phases: figure
                .window
                .map(|it| ("window in question".to_owned(), it))
                .into_iter()
                .collect(),
            moments: Vec::new(),
            rows: told_victim(figure, own).into_iter().chain(lanes).collect(),
        }
    });
    Ok(())
}

/// The victim's row with its values, for those who ask; `None` when it was never seen.
fn told_victim(figure: &SuspectsFigure, frame: Frame) -> Option<ChartRow> {
    let (least, most) = figure.range()?;
    let is_logarithmic = figure.is_logarithmic();
    let axis = if is_logarithmic { Axis::logarithmic(least, most) } else { Axis::linear(most) };
    let values = match axis.bottom {
        Some(bottom) => (10f64.powf(bottom), 10f64.powf(bottom + axis.height)),
        None => (0.0, axis.height),
    };
    let guilty = figure.lanes.iter().filter(|it| it.is_guilty);
    let series = series(figure, &figure.values, SeriesColour::Device, |it| it);
    Some(ChartRow {
        name: figure.victim.clone(),
        ends: (frame.top, frame.bottom),
        values,
        is_logarithmic,
        unit: figure.metric.spec().unit,
        series: vec![told_series(figure.metric.spec().label, series)],
        shades: guilty.flat_map(|it| it.bursts.iter().copied()).collect(),
    })
}

fn told_lane(figure: &SuspectsFigure, lane: &SuspectLane, frame: Frame) -> ChartRow {
    let series = series(figure, &lane.activity, lane.colour, |it| 100.0 * it);
    ChartRow {
        name: lane.name.clone(),
        ends: (frame.top, frame.bottom),
        values: (0.0, 100.0),
        is_logarithmic: false,
        unit: Unit::Percent,
        series: vec![told_series("activity", series)],
        shades: if lane.is_guilty { lane.bursts.clone() } else { Vec::new() },
    }
}

fn told_series(name: &str, series: RowSeries) -> ChartSeries {
    ChartSeries {
        name: name.to_owned(),
        hue: Role::of_series(series.colour).name(),
        reading: Reading::Value,
        bin_s: series.bin_s,
        bins: series.bins,
    }
}

/// Where one row lies.
#[derive(Clone, Copy)]
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// The window in question, behind everything.
fn window<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    window: Option<TimeSpan>,
    time: &Time,
    floor: f64,
) -> Result<(), PlotError> {
    let Some(span) = window else { return Ok(()) };
    let (left, right) = (time.at(span.from()), time.at(span.until()));
    let right = right.max(left + 1.0);
    canvas.block((left, TOP - 6.0), (right, floor), Role::Band, 1.0)?;
    canvas.line(&[(left, TOP - 6.0), (right, TOP - 6.0)], Role::Ink, 2.5)?;
    for x in [left, right] {
        canvas.dashes((x, TOP - 6.0), (x, floor), Role::Muted, 1.0)?;
    }
    let words = "window in question";
    let room = width_of(words, Lettering::NOTE.size);
    let centre = ((left + right) / 2.0)
        .clamp(LEFT + room / 2.0, (time.end() - room / 2.0).max(LEFT + room / 2.0));
    canvas.words((centre, 12.0), words, Lettering::NOTE.anchored(HPos::Center))
}

/// Bursts as shades from the top to the bottom of a row.
fn shade<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    bursts: &[TimeSpan],
    time: &Time,
    (top, bottom): (f64, f64),
) -> Result<(), PlotError> {
    let mut free_from = f64::MIN;
    for burst in bursts {
        let left = time.at(burst.from()).max(free_from);
        let right = time.at(burst.until()).max(time.at(burst.from()) + 0.75);
        if right > left {
            canvas.block((left, top), (right, bottom), Role::Full, 0.26)?;
            free_from = right;
        }
    }
    Ok(())
}

/// The victim's own row; logarithmic where its values lie far apart.
fn victim<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    figure: &SuspectsFigure,
    time: &Time,
    frame: Frame,
) -> Result<(), PlotError> {
    let is_log = figure.is_logarithmic();
    let note = match is_log {
        true => format!("{}, logarithmic", figure.metric.spec().label),
        false => figure.metric.spec().label.to_owned(),
    };
    canvas.on(Layer::Front);
    heading(canvas, &figure.victim, &note, SeriesColour::Device, frame)?;
    let Some((least, most)) = figure.range() else {
        return canvas.words((frame.left + 6.0, frame.bottom - 8.0), "not seen", Lettering::NOTE);
    };
    let axis = if is_log { Axis::logarithmic(least, most) } else { Axis::linear(most) };
    let value = Scale::new((0.0, axis.height), (frame.bottom, frame.top));
    canvas.on(Layer::Grid);
    for level in &axis.marks {
        let y = value.at(axis.place(*level));
        canvas.line(&[(frame.left, y), (frame.right, y)], Role::Grid, 0.75)?;
        let name = quantity(figure.metric, *level);
        let name = if *level == 0.0 { "0".to_owned() } else { name };
        canvas.words((frame.left - 6.0, y + 4.0), &tidied(&name), Lettering::TICK)?;
    }
    canvas.on(Layer::Data);
    let series = series(figure, &figure.values, SeriesColour::Device, |it| axis.place(it));
    draw_series(canvas, &series, time, &value)
}

/// A mark without digits that say nothing: `200 ms` for `200.00 ms`.
fn tidied(name: &str) -> String {
    match name.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => name.to_owned(),
    }
}

/// One suspect: its bursts, and its activity over them.
fn suspect<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    figure: &SuspectsFigure,
    lane: &SuspectLane,
    time: &Time,
    frame: Frame,
) -> Result<(), PlotError> {
    canvas.on(Layer::Data);
    if lane.is_guilty {
        shade(canvas, &lane.bursts, time, (frame.top, frame.bottom))?;
    }
    let note = if lane.is_guilty { "activity; its bursts are shaded" } else { "activity" };
    canvas.on(Layer::Front);
    heading(canvas, &lane.name, note, lane.colour, frame)?;
    canvas.on(Layer::Grid);
    let value = Scale::new((0.0, 100.0), (frame.bottom, frame.top));
    for (level, name) in [(0.0, "0"), (100.0, "100 %")] {
        let y = value.at(level);
        canvas.line(&[(frame.left, y), (frame.right, y)], Role::Grid, 0.75)?;
        canvas.words((frame.left - 6.0, y + 4.0), name, Lettering::TICK)?;
    }
    canvas.on(Layer::Data);
    let series = series(figure, &lane.activity, lane.colour, |it| 100.0 * it);
    draw_series(canvas, &series, time, &value)
}

fn heading<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    name: &str,
    note: &str,
    colour: SeriesColour,
    frame: Frame,
) -> Result<(), PlotError> {
    let baseline = frame.top - 8.0;
    let role = Role::of_series(colour);
    canvas.block((frame.left, baseline - 7.0), (frame.left + 11.0, baseline - 2.5), role, 1.0)?;
    canvas.name((frame.left + 17.0, baseline), name, 320.0, Lettering::LABEL)?;
    let x = frame.left + 31.0 + width_of(&fitted(name, 320.0, 12.5), 13.0);
    canvas.words((x, baseline), note, Lettering::NOTE)
}

/// Bins that were seen, with their places on the axis.
fn series(
    figure: &SuspectsFigure,
    values: &[Option<f64>],
    colour: SeriesColour,
    place: impl Fn(f64) -> f64,
) -> RowSeries {
    let bin = |(position, value): (usize, &Option<f64>)| {
        let value = place(value.filter(|it| it.is_finite())?);
        let at = after(figure.span.from(), position as f64 * figure.bin_s);
        Some(TimelineBin { at, low: value, mean: value, high: value })
    };
    RowSeries {
        mean: None,
        name: String::new(),
        colour,
        shows_range: true,
        bin_s: figure.bin_s,
        bins: values.iter().enumerate().filter_map(bin).collect(),
    }
}

fn after(start: Timestamp, seconds: f64) -> Timestamp {
    start.plus_micros((seconds * 1e6).round() as i64)
}

/// The axis of the victim: from values to heights that begin at 0.
struct Axis {
    /// Values that it names.
    marks: Vec<f64>,
    /// The greatest height.
    height: f64,
    /// Logarithm of the value at the bottom; `None` on a linear axis.
    bottom: Option<f64>,
}

impl Axis {
    fn linear(most: f64) -> Self {
        let marks = round_steps(most, 4);
        let height = marks.last().copied().unwrap_or(1.0);
        Self { marks, height, bottom: None }
    }

    /// From the round value below the least to the one above the greatest.
    fn logarithmic(least: f64, most: f64) -> Self {
        let decades = (least.log10().floor() as i32)..=(most.log10().ceil() as i32);
        let round: Vec<f64> =
            decades.flat_map(|it| [1.0, 2.0, 5.0].map(|by| by * 10f64.powi(it))).collect();
        let first = round.iter().rposition(|it| *it <= least * 1.000_001).unwrap_or(0);
        let last = round.iter().position(|it| *it >= most * 0.999_999).unwrap_or(round.len() - 1);
        let mut marks = round.get(first..=last.max(first)).unwrap_or(&round).to_vec();
        let (low, high) = (marks.first().copied(), marks.last().copied());
        let (low, high) = (low.unwrap_or(least), high.unwrap_or(most));
        if marks.len() > 6 {
            marks.retain(|it| (it.log10() - it.log10().round()).abs() < 1e-9);
        }
        let bottom = low.log10();
        Self { marks, height: (high.log10() - bottom).max(1e-9), bottom: Some(bottom) }
    }

    fn place(&self, value: f64) -> f64 {
        match self.bottom {
            Some(bottom) => (value.max(f64::MIN_POSITIVE).log10() - bottom).max(0.0),
            None => value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logarithmic_axis_begins_below_the_least_value_and_ends_above_the_greatest() {
        let axis = Axis::logarithmic(0.06, 1.3);
        assert_eq!(axis.marks, [0.05, 0.1, 0.2, 0.5, 1.0, 2.0]);
        assert_eq!(axis.place(0.05), 0.0);
        assert!((axis.place(2.0) - axis.height).abs() < 1e-12);
    }

    #[test]
    fn an_axis_over_many_decades_names_only_powers_of_ten() {
        let axis = Axis::logarithmic(0.001, 900.0);
        assert_eq!(axis.marks.len(), 7);
        assert_eq!(axis.marks[0], 0.001);
    }

    #[test]
    fn marks_of_an_axis_have_no_digits_that_say_nothing() {
        assert_eq!(["200 ms", "2.00 s", "1.50 s"].map(tidied), ["200 ms", "2 s", "1.5 s"]);
    }
}
