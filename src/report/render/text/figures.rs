//! Pictures out of characters: the same data, as well as a terminal can.

use crate::analysis::findings::ScaleValue;
use crate::domain::time::TimeSpan;
use crate::domain::units::{MemoryBytes, Seconds};
use crate::report::cells::number;
use crate::report::figure::{
    Axis, CvCurve, DutyBar, Figure, HistogramPanel, MemoryBar, MemoryStackFigure, RowSeries,
    TimelineFigure,
};
use crate::report::render::text::changes::changes;
use crate::report::render::text::fleet;
use crate::report::render::text::slowdowns::slowdowns;
use crate::report::render::text::style::{Pen, Style};
use crate::report::render::text::suspects;
use crate::report::wording::{percent, shorten, stamp};
use unicode_width::UnicodeWidthStr;

/// Columns for names.
const NAME: usize = 20;
/// Columns for the number at the right.
const NUMBER: usize = 10;
/// From nothing to everything, in eighths.
const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A picture in characters.
pub(super) fn figure(pen: &mut Pen, figure: &Figure) {
    match figure {
        Figure::Timeline(it) => timeline(pen, it),
        // Cards are told in words; the timeline follows.
        Figure::Strip { .. } => {}
        Figure::DutyBars(bars) => duty(pen, bars),
        Figure::DemandCv(curves) => demand_cv(pen, curves),
        Figure::BurstHistogram(panels) => histogram(pen, panels),
        Figure::MemoryBars { bars, total_bytes } => memory(pen, bars, *total_bytes),
        Figure::MemoryStack(it) => stack(pen, it),
        Figure::Matrix(it) => suspects::matrix(pen, it),
        Figure::Suspects(it) => suspects::suspects(pen, it),
        Figure::Slowdowns(it) => slowdowns(pen, it),
        Figure::Changes(it) => changes(pen, it),
        Figure::Tiles(it) => fleet::tiles(pen, it),
        Figure::GpuBars(it) => fleet::bars(pen, it),
    }
}

/// Columns for the picture between a name and a number.
pub(super) fn room(pen: &Pen) -> usize {
    pen.width().saturating_sub(name_columns(pen) + NUMBER + 5).max(8)
}

/// Columns for a name: no more than the picture gets.
fn name_columns(pen: &Pen) -> usize {
    (pen.width().saturating_sub(NUMBER + 5) / 2).min(NAME)
}

/// A name, its picture and its number; what does not fit beside the picture stands above or below it.
pub(super) fn row(pen: &mut Pen, name: &str, picture: &str, number: &str) {
    let mut name = shorten(name, NAME);
    while name.width() > NAME {
        name = shorten(&name, name.chars().count() - 1);
    }
    let columns = name_columns(pen);
    if name.width() > columns {
        pen.line(&[("  ", Style::Plain), (&name, Style::Plain)]);
        name.clear();
    }
    let before = format!("  {name}{} {picture}", " ".repeat(columns - name.width()));
    let number = format!(" {number:>NUMBER$}");
    if before.width() + number.width() <= pen.width() {
        pen.line(&[(&before, Style::Plain), (&number, Style::Plain)]);
        return;
    }
    pen.line(&[(&before, Style::Plain)]);
    let number = number.trim_start();
    let indent = " ".repeat(pen.width().saturating_sub(number.width() + 1));
    pen.line(&[(&indent, Style::Plain), (number, Style::Plain)]);
}

/// What the first and the last column of the pictures above stand for, and the numbers beside them.
pub(super) fn axis(pen: &mut Pen, first: &str, last: &str, number: &str) {
    let columns = room(pen);
    match columns.checked_sub(first.width() + last.width()) {
        Some(between @ 1..) => {
            row(pen, "", &format!("{first}{}{last}", " ".repeat(between)), number);
        }
        _ => {
            let number = if number.is_empty() { String::new() } else { format!("; {number}") };
            pen.paragraph("  ", &format!("from {first} to {last}{number}"), Style::Faint);
        }
    }
}

/// One line for each row: the mean of each stretch, and the mean of all at the right.
fn timeline(pen: &mut Pen, figure: &TimelineFigure) {
    let columns = room(pen);
    for line in &figure.rows {
        let Some(series) = line.series.first() else { continue };
        let means = stretches(figure.span, series, columns);
        let picture: String =
            means.iter().map(|it| it.map_or('·', |mean| level(mean / line.top))).collect();
        let all = series.mean.unwrap_or_else(|| {
            series.bins.iter().map(|it| it.mean).sum::<f64>() / series.bins.len().max(1) as f64
        });
        let number = match line.axis {
            Axis::Percent => percent(all / 100.0),
            Axis::Bytes => MemoryBytes::from_f64(all).map_or_else(String::new, |it| it.to_string()),
        };
        row(pen, &line.name, &picture, &number);
    }
    let (from, until) = (stamp(figure.span.from()), stamp(figure.span.until()));
    let time = |it: &str| it.split_once(' ').map_or(String::new(), |it| it.1.to_owned());
    let (from, until) = (time(from.trim_end_matches(" UTC")), time(&until));
    axis(pen, &from, &until, "mean");
}

/// Mean of each of so many stretches; `None` where there are no samples.
pub(super) fn stretches(span: TimeSpan, series: &RowSeries, columns: usize) -> Vec<Option<f64>> {
    let mut sums = vec![(0.0, 0usize); columns];
    let whole = span.seconds();
    for bin in &series.bins {
        let share = bin.at.seconds_since(span.from()) / whole;
        let last = ((share + series.bin_s / whole) * columns as f64 - 1e-9) as usize;
        let first = ((share * columns as f64) as usize).min(columns - 1);
        for (sum, count) in &mut sums[first..=last.clamp(first, columns - 1)] {
            *sum += bin.mean;
            *count += 1;
        }
    }
    sums.into_iter().map(|it| (it.1 > 0).then(|| it.0 / it.1 as f64)).collect()
}

pub(super) fn level(share: f64) -> char {
    let eighths = (share * 8.0).ceil().clamp(0.0, 8.0) as usize;
    // A little is not nothing, but noise near zero should not look like a line.
    LEVELS[if share < 0.02 { 0 } else { eighths }]
}

fn duty(pen: &mut Pen, bars: &[DutyBar]) {
    let columns = room(pen);
    for bar in bars {
        let end = |share: f64| (share * columns as f64).round() as usize;
        let (used, half, full) =
            (end(bar.duty.at_5_pct), end(bar.duty.at_50_pct), end(bar.duty.at_95_pct));
        let picture: String = (0..columns)
            .map(|it| match it {
                it if it < full => '█',
                it if it < half => '▓',
                it if it < used => '░',
                _ => '·',
            })
            .collect();
        row(pen, &bar.name, &picture, &percent(bar.duty.at_95_pct));
    }
    let key = "█ at 95 % or more (number), ▓ 50 %, ░ 5 % of the device; 100 % of time";
    pen.paragraph("  ", key, Style::Faint);
}

fn demand_cv(pen: &mut Pen, curves: &[CvCurve]) {
    for curve in curves {
        let step = curve.points.len().div_ceil(4).max(1);
        let mut points: Vec<String> = curve.points.iter().step_by(step).map(value_at).collect();
        if let Some(last) = curve.points.last().filter(|_| (curve.points.len() - 1) % step != 0) {
            points.push(value_at(last));
        }
        let start = format!("  {} varies by ", shorten(&curve.name, NAME));
        pen.hanging(&start, Style::Plain, "    ", &points.join(", "), Style::Plain);
    }
}

fn value_at(point: &ScaleValue) -> String {
    format!("{} over {}", number(point.value, "", 2).plain(), Seconds(point.scale_s))
}

fn histogram(pen: &mut Pen, panels: &[HistogramPanel]) {
    let columns = room(pen);
    for panel in panels {
        pen.paragraph("  ", &format!("Bursts of {}", shorten(&panel.name, 40)), Style::Plain);
        let most = panel.bins.iter().map(|it| it.count).max().unwrap_or(0).max(1);
        for bin in &panel.bins {
            let name = format!("{} to {}", Seconds(bin.from_s), Seconds(bin.until_s));
            let filled = (bin.count * columns as u64).div_ceil(most) as usize;
            let picture = "█".repeat(filled) + &" ".repeat(columns.saturating_sub(filled));
            row(pen, &name, &picture, &bin.count.to_string());
        }
    }
}

/// One line for each tenant and one for all: the greatest of each stretch, and of all at the right.
fn stack(pen: &mut Pen, figure: &MemoryStackFigure) {
    let columns = room(pen);
    let top = figure.highest().max(figure.room_bytes.unwrap_or(0.0)).max(1.0);
    let mut line = |name: &str, held: &dyn Fn(usize) -> Option<f64>| {
        let stretch = |column: usize| {
            let place = |it: usize| it * figure.bins() / columns;
            let bins = place(column)..place(column + 1).max(place(column) + 1);
            bins.filter_map(held).reduce(f64::max)
        };
        let picture: String =
            (0..columns).map(|it| stretch(it).map_or('·', |bytes| level(bytes / top))).collect();
        let most = (0..figure.bins()).filter_map(held).reduce(f64::max);
        let number = most.and_then(MemoryBytes::from_f64);
        row(pen, name, &picture, &number.map_or_else(String::new, |it| it.to_string()));
    };
    line("all together", &|bin| figure.sum(bin));
    for layer in &figure.layers {
        line(&layer.name, &|bin| layer.bytes.get(bin).copied().flatten());
    }
}

fn memory(pen: &mut Pen, bars: &[MemoryBar], total_bytes: Option<f64>) {
    let columns = room(pen);
    let highest = bars.iter().map(|it| it.peak_bytes).fold(total_bytes.unwrap_or(0.0), f64::max);
    for bar in bars {
        let end = |bytes: f64| (bytes / highest.max(1.0) * columns as f64).round() as usize;
        let (median, peak) = (end(bar.median_bytes), end(bar.peak_bytes));
        let picture: String = (0..columns)
            .map(|it| {
                if it < median {
                    '█'
                } else if it < peak {
                    '░'
                } else {
                    '·'
                }
            })
            .collect();
        let number = MemoryBytes::from_f64(bar.peak_bytes);
        row(pen, &bar.name, &picture, &number.map_or_else(String::new, |it| it.to_string()));
    }
}
