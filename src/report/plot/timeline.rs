//! Who used a device when: rows on one time axis, each from least to greatest with the mean.

use crate::analysis::findings::TimelineBin;
use crate::domain::metric::Unit;
use crate::domain::time::{TimeSpan, Timestamp};
use crate::report::figure::{Axis, RowSeries, TimelineFigure, TimelineRow};
use crate::report::plot::PlotError;
use crate::report::plot::canvas::{Canvas, Layer, Lettering, Point, fitted, width_of};
use crate::report::plot::readings::{Chart, ChartRow, ChartSeries, Reading};
use crate::report::plot::scale::{Scale, byte_marks, days, time_marks};
use crate::report::plot::theme::Role;
use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::HPos;

/// Room left of the rows for the names of values, in logical pixels.
const LEFT: f64 = 58.0;
/// Room right of the rows.
const RIGHT: f64 = 24.0;
/// Room above the rows for the names of phases.
const TOP: f64 = 24.0;
/// Room below the rows for the names of instants.
const BOTTOM: f64 = 40.0;
/// Room above each row for its name.
const HEAD: f64 = 32.0;
/// Room for the name of a value, from one to the next.
const NAME_PX: f64 = 13.0;
/// Room for the name of an instant.
const MARK_PX: f64 = 92.0;
/// A drawn column is this wide, in logical pixels: finer would not be seen.
const COLUMN_PX: f64 = 1.5;

/// Draws a timeline.
pub(crate) fn draw<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    figure: &TimelineFigure,
    (width, height): (f64, f64),
) -> Result<(), PlotError> {
    let time = Time::new(figure.span, (LEFT, width - RIGHT));
    let floor = height - BOTTOM;
    canvas.on(Layer::Behind);
    phases(canvas, &figure.phases, &time, floor)?;
    time_axis(canvas, figure.span, &time, (floor, height), LEFT)?;
    let row_height = (floor - TOP) / figure.rows.len().max(1) as f64;
    let frame = |position: usize| {
        let top = TOP + row_height * position as f64;
        Frame {
            left: LEFT,
            right: width - RIGHT,
            head: top,
            top: top + HEAD,
            bottom: top + row_height - 4.0,
        }
    };
    for (position, row) in figure.rows.iter().enumerate() {
        draw_row(canvas, row, &time, frame(position))?;
    }
    canvas.on(Layer::Front);
    canvas.tell(|| Chart {
        span: figure.span,
        sides: (LEFT, width - RIGHT),
        ends: (TOP, floor),
        days_at: height - 5.0,
        phases: figure.phases.clone(),
        moments: Vec::new(),
        rows: figure.rows.iter().enumerate().map(|it| told(it.1, frame(it.0))).collect(),
    });
    Ok(())
}

/// A row with its values, for those who ask.
fn told(row: &TimelineRow, frame: Frame) -> ChartRow {
    let series = |it: &RowSeries| ChartSeries {
        name: it.name.clone(),
        hue: Role::of_series(it.colour).name(),
        reading: if it.shows_range { Reading::Range } else { Reading::Mean },
        bin_s: it.bin_s,
        bins: it.bins.clone(),
    };
    ChartRow {
        name: row.name.clone(),
        ends: (frame.top, frame.bottom),
        values: (0.0, row.top),
        is_logarithmic: false,
        unit: match row.axis {
            Axis::Percent => Unit::Percent,
            Axis::Bytes => Unit::Bytes,
        },
        series: row.series.iter().map(series).collect(),
        shades: Vec::new(),
    }
}

/// Draws one series at a glance.
pub(crate) fn draw_strip<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    span: TimeSpan,
    series: &RowSeries,
    (width, height): (f64, f64),
) -> Result<(), PlotError> {
    let time = Time::new(span, (0.0, width));
    let value = Scale::new((0.0, 100.0), (height - 1.0, 2.0));
    for level in [0.0, 100.0] {
        let y = value.at(level);
        canvas.line(&[(0.0, y), (width, y)], Role::Grid, 0.75)?;
    }
    draw_series(canvas, series, &time, &value)
}

/// The shared time axis.
pub(super) struct Time {
    from: Timestamp,
    scale: Scale,
    seconds_per_px: f64,
    end_px: f64,
}

impl Time {
    /// The span between two positions.
    pub(super) fn new(span: TimeSpan, (start_px, end_px): (f64, f64)) -> Self {
        let seconds = span.seconds();
        Self {
            from: span.from(),
            scale: Scale::new((0.0, seconds), (start_px, end_px)),
            seconds_per_px: seconds / (end_px - start_px).max(1.0),
            end_px,
        }
    }

    /// Where the axis ends, in logical pixels.
    pub(super) fn end(&self) -> f64 {
        self.end_px
    }

    pub(super) fn at(&self, instant: Timestamp) -> f64 {
        self.scale.at(instant.seconds_since(self.from))
    }

    fn after(&self, instant: Timestamp, seconds: f64) -> f64 {
        self.scale.at(instant.seconds_since(self.from) + seconds)
    }
}

/// Where one row lies.
#[derive(Clone, Copy)]
struct Frame {
    left: f64,
    right: f64,
    head: f64,
    top: f64,
    bottom: f64,
}

fn phases<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    phases: &[(String, TimeSpan)],
    time: &Time,
    floor: f64,
) -> Result<(), PlotError> {
    let mut free_from = 0.0;
    for (position, (label, span)) in phases.iter().enumerate() {
        let (left, right) = (time.at(span.from()), time.at(span.until()));
        // Every second one is tinted, so that phases which follow each other are told apart.
        if position % 2 == 0 {
            canvas.block((left, 2.0), (right.max(left + 0.75), floor), Role::Band, 1.0)?;
        }
        canvas.line(&[(left, 2.0), (right.max(left + 0.75), 2.0)], Role::Other, 2.0)?;
        canvas.line(&[(left, 2.0), (left, floor)], Role::Grid, 1.0)?;
        let start = left.max(free_from) + 5.0;
        if right - start > 22.0 {
            canvas.name((start, 17.0), label, right - start - 4.0, Lettering::NOTE)?;
            free_from = start + width_of(&fitted(label, right - start - 4.0, 11.5), 11.5);
        }
    }
    Ok(())
}

pub(super) fn time_axis<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    span: TimeSpan,
    time: &Time,
    (floor, height): (f64, f64),
    left: f64,
) -> Result<(), PlotError> {
    let most = ((time.end() - left) / MARK_PX).floor().clamp(2.0, 9.0) as usize;
    for (instant, name) in time_marks(span, most) {
        let x = time.at(instant);
        canvas.line(&[(x, TOP), (x, floor + 4.0)], Role::Grid, 0.75)?;
        canvas.words((x, floor + 17.0), &name, Lettering::TICK.anchored(HPos::Center))?;
    }
    canvas.words((left, height - 5.0), &days(span), Lettering::NOTE)
}

fn draw_row<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    row: &TimelineRow,
    time: &Time,
    frame: Frame,
) -> Result<(), PlotError> {
    let value = Scale::new((0.0, row.top), (frame.bottom, frame.top));
    canvas.on(Layer::Grid);
    let levels = levels(row.axis, row.top);
    // In a low row the ends are named and what lies between them is not.
    let ends = [levels.first(), levels.last()].map(|it| it.map_or(0.0, |it| value.at(it.0)));
    for (level, name) in &levels {
        let y = value.at(*level);
        canvas.line(&[(frame.left, y), (frame.right, y)], Role::Grid, 0.75)?;
        let is_free = |end: &f64| (y - end).abs() < 0.5 || (y - end).abs() >= NAME_PX;
        if ends.iter().all(is_free) {
            canvas.words((frame.left - 6.0, y + 4.0), name, Lettering::TICK)?;
        }
    }
    canvas.on(Layer::Data);
    for series in row.series.iter().rev() {
        draw_series(canvas, series, time, &value)?;
    }
    canvas.on(Layer::Front);
    if let Some((level, name)) = &row.limit {
        let y = value.at(*level);
        canvas.dashes((frame.left, y), (frame.right, y), Role::Limit, 1.0)?;
        let look = Lettering::NOTE.coloured(Role::Limit).anchored(HPos::Right);
        canvas.words((frame.right, y - 4.0), name, look)?;
    }
    heading(canvas, row, frame)
}

/// Name of the row, then its series with their colours.
fn heading<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    row: &TimelineRow,
    frame: Frame,
) -> Result<(), PlotError> {
    let baseline = frame.head + 21.0;
    let room = 300.0;
    canvas.name((frame.left, baseline), &row.name, room, Lettering::LABEL)?;
    let mut x = frame.left + width_of(&fitted(&row.name, room, 12.5), 13.0) + 18.0;
    let limit = row.limit.as_ref().map_or(0.0, |it| width_of(&it.1, 11.5) + 8.0);
    for series in row.series.iter().filter(|it| !it.name.is_empty()) {
        let shown = fitted(&series.name, 130.0, 11.5);
        let end = x + 16.0 + width_of(&shown, 11.5);
        if end > frame.right - limit {
            break;
        }
        let role = Role::of_series(series.colour);
        canvas.block((x, baseline - 6.0), (x + 11.0, baseline - 2.5), role, 1.0)?;
        canvas.name((x + 16.0, baseline), &series.name, 130.0, Lettering::NOTE)?;
        x = end + 14.0;
    }
    Ok(())
}

/// Values that the axis of a row names.
fn levels(axis: Axis, top: f64) -> Vec<(f64, String)> {
    match axis {
        Axis::Percent => {
            [(0.0, "0"), (50.0, "50"), (100.0, "100 %")].map(|it| (it.0, it.1.to_owned())).to_vec()
        }
        Axis::Bytes => byte_marks(top, 3),
    }
}

pub(super) fn draw_series<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    series: &RowSeries,
    time: &Time,
    value: &Scale,
) -> Result<(), PlotError> {
    let role = Role::of_series(series.colour);
    let column_s = (COLUMN_PX * time.seconds_per_px).max(series.bin_s);
    let columns = merged(&series.bins, time.from, series.bin_s, column_s);
    for run in columns.chunk_by(|a, b| b.at.seconds_since(a.at) <= 1.5 * column_s) {
        let edges = run_edges(run, time, column_s, column_s / time.seconds_per_px);
        if series.shows_range {
            let high = edges.iter().map(|it| (it.0, value.at(run[it.1].high)));
            let low = edges.iter().rev().map(|it| (it.0, value.at(run[it.1].low)));
            let outline: Vec<Point> = high.chain(low).collect();
            canvas.fill(&outline, role, 0.26)?;
        }
        let mean: Vec<Point> = edges.iter().map(|it| (it.0, value.at(run[it.1].mean))).collect();
        if series.shows_range
            && let (Some(first), Some(last)) = (mean.first(), mean.last())
        {
            let base = [(last.0, value.at(0.0)), (first.0, value.at(0.0))];
            let below: Vec<Point> = mean.iter().copied().chain(base).collect();
            canvas.fill(&below, role, 0.13)?;
        }
        canvas.line(&mean, role, 1.25)?;
    }
    Ok(())
}

/// Positions of a run's edges with the bin that each belongs to: steps where they can be seen.
fn run_edges(run: &[TimelineBin], time: &Time, column_s: f64, column_px: f64) -> Vec<(f64, usize)> {
    let is_stepped = column_px >= 3.0 || run.len() < 3;
    let edges = run.iter().enumerate().flat_map(|(position, bin)| {
        let (left, right) = (time.at(bin.at), time.after(bin.at, column_s));
        let ends =
            if is_stepped { [Some(left), Some(right)] } else { [Some((left + right) / 2.0), None] };
        ends.into_iter().flatten().map(move |x| (x, position))
    });
    edges.collect()
}

/// Bins joined into columns of one length, counted from the axis' start.
fn merged(bins: &[TimelineBin], from: Timestamp, bin_s: f64, column_s: f64) -> Vec<TimelineBin> {
    if column_s <= bin_s * 1.000_001 {
        return bins.to_vec();
    }
    let column_of = |it: &TimelineBin| (it.at.seconds_since(from) / column_s).floor();
    let join = |group: &[TimelineBin]| TimelineBin {
        at: from.plus_micros((group.first().map_or(0.0, column_of) * column_s * 1e6) as i64),
        low: group.iter().map(|it| it.low).fold(f64::INFINITY, f64::min),
        mean: group.iter().map(|it| it.mean).sum::<f64>() / group.len().max(1) as f64,
        high: group.iter().map(|it| it.high).fold(f64::NEG_INFINITY, f64::max),
    };
    bins.chunk_by(|a, b| column_of(a) == column_of(b)).map(join).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_bins_keep_the_least_and_the_greatest_sample() {
        let bin = |second: i64, low: f64, high: f64| TimelineBin {
            at: Timestamp::from_micros(second * 1_000_000),
            low,
            mean: (low + high) / 2.0,
            high,
        };
        let bins = [bin(0, 1.0, 2.0), bin(1, 0.0, 1.0), bin(2, 5.0, 100.0), bin(9, 3.0, 3.0)];
        let columns = merged(&bins, Timestamp::from_micros(0), 1.0, 3.0);
        assert_eq!(columns.len(), 2);
        assert_eq!((columns[0].low, columns[0].high), (0.0, 100.0));
        assert_eq!(columns[1].at, Timestamp::from_micros(9_000_000));
    }
}
