//! How long bursts last, on a logarithmic axis, with what the sampling cannot see.

use crate::domain::units::Seconds;
use crate::report::figure::HistogramPanel;
use crate::report::plot::PlotError;
use crate::report::plot::canvas::{Canvas, Lettering, width_of};
use crate::report::plot::scale::{Scale, length_marks};
use crate::report::plot::theme::Role;
use crate::report::wording::count;
use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::HPos;

/// Room left of the bars, in logical pixels.
const LEFT: f64 = 40.0;
/// Room right of the bars: half of the last length's name.
const RIGHT: f64 = 22.0;
/// Room below the bars for the axis.
const BOTTOM: f64 = 42.0;
/// Room above each panel for its name.
const HEAD: f64 = 44.0;

/// Draws histograms of burst lengths.
pub(crate) fn draw<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    panels: &[HistogramPanel],
    (width, height): (f64, f64),
) -> Result<(), PlotError> {
    let bins = || panels.iter().flat_map(|it| it.bins.iter()).filter(|it| it.from_s > 0.0);
    let window_s = panels.iter().map(|it| it.window_s).fold(0.0, f64::max);
    let shortest = bins().map(|it| it.from_s).fold(f64::INFINITY, f64::min);
    let longest = bins().map(|it| it.until_s).fold(0.0, f64::max);
    if !(shortest.is_finite() && longest > shortest) {
        return Ok(());
    }
    let first = if window_s > 0.0 { shortest.min(window_s * 0.6) } else { shortest };
    let length = Scale::new((first.log10(), longest.log10()), (LEFT, width - RIGHT));
    let floor = height - BOTTOM;
    let step = floor / panels.len().max(1) as f64;
    for (position, panel) in panels.iter().enumerate() {
        let top = step * position as f64;
        let frame = (top + HEAD, top + step - 2.0);
        draw_panel(canvas, panel, &length, frame, width)?;
    }
    for (seconds, name) in length_marks(first, longest) {
        let x = length.at_log(seconds);
        canvas.line(&[(x, floor - 2.0), (x, floor + 4.0)], Role::Muted, 0.75)?;
        canvas.words((x, floor + 16.0), &name, Lettering::TICK.anchored(HPos::Center))?;
    }
    let look = Lettering::NOTE.anchored(HPos::Right);
    canvas.words((width - RIGHT, height - 6.0), "length of a burst", look)
}

fn draw_panel<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    panel: &HistogramPanel,
    length: &Scale,
    (top, floor): (f64, f64),
    width: f64,
) -> Result<(), PlotError> {
    let most = panel.bins.iter().map(|it| it.count).max().unwrap_or(0).max(1);
    let total: u64 = panel.bins.iter().map(|it| it.count).sum();
    let value = Scale::new((0.0, most as f64), (floor, top));
    let left = length.at_log(panel.window_s.max(f64::MIN_POSITIVE));
    if panel.window_s > 0.0 && left > LEFT + 0.5 {
        canvas.block((LEFT, top), (left, floor), Role::Band, 1.0)?;
    }
    canvas.line(&[(LEFT, floor), (width - RIGHT, floor)], Role::Muted, 0.75)?;
    canvas.line(&[(LEFT, top), (width - RIGHT, top)], Role::Grid, 0.75)?;
    canvas.words((LEFT - 6.0, floor + 1.0), "0", Lettering::TICK)?;
    canvas.words((LEFT - 6.0, top + 4.0), &most.to_string(), Lettering::TICK)?;
    let role = Role::of_series(panel.colour);
    for bin in panel.bins.iter().filter(|it| it.count > 0) {
        let (from, until) = (length.at_log(bin.from_s), length.at_log(bin.until_s));
        let high = value.at(bin.count as f64).min(floor - 1.0);
        canvas.block((from + 0.75, high), (until - 0.75, floor), role, 0.85)?;
        let bursts = count(bin.count as usize, "burst", "bursts");
        let (shortest, longest) = (Seconds(bin.from_s), Seconds(bin.until_s));
        let words = format!("{}: {bursts} of {shortest} to {longest}", panel.name);
        canvas.spot((from, top), (until, floor), words);
    }
    canvas.name((0.0, top - HEAD + 18.0), &panel.name, 210.0, Lettering::LABEL)?;
    let bursts = count(total as usize, "burst", "bursts");
    let look = Lettering::NOTE.anchored(HPos::Right);
    canvas.words((width - RIGHT, top - HEAD + 18.0), &bursts, look)?;
    match panel.p50_s {
        Some(median) => mark_median(canvas, median, length, (top, floor)),
        None => Ok(()),
    }
}

fn mark_median<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    median: f64,
    length: &Scale,
    (top, floor): (f64, f64),
) -> Result<(), PlotError> {
    let x = length.at_log(median);
    let name = format!("median {}", Seconds(median));
    canvas.line(&[(x, top - 4.0), (x, floor)], Role::Ground, 3.5)?;
    canvas.line(&[(x, top - 4.0), (x, floor)], Role::Ink, 1.5)?;
    let half = width_of(&name, 11.5) / 2.0;
    let centre = x.min(length.at_log(f64::MAX) - half).max(LEFT + half);
    canvas.words((centre, top - 7.0), &name, Lettering::NOTE.anchored(HPos::Center))
}
