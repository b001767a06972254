//! Memory in use against what there is: median and peak of each subject.

use crate::domain::units::MemoryBytes;
use crate::report::figure::MemoryBar;
use crate::report::plot::PlotError;
use crate::report::plot::canvas::{Canvas, Lettering};
use crate::report::plot::scale::{Scale, byte_marks};
use crate::report::plot::theme::Role;
use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::HPos;

/// Room above the bars for the name of the limit, in logical pixels.
const TOP: f64 = 26.0;
/// Room below the bars for the axis.
const BOTTOM: f64 = 26.0;
/// Room left of the bars for names.
const LEFT: f64 = 124.0;
/// Room right of the bars for the peak.
const RIGHT: f64 = 66.0;

/// Draws bars of memory.
pub(crate) fn draw<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    bars: &[MemoryBar],
    total_bytes: Option<f64>,
    (width, height): (f64, f64),
) -> Result<(), PlotError> {
    let highest = bars.iter().map(|it| it.peak_bytes).fold(total_bytes.unwrap_or(0.0), f64::max);
    let amount = Scale::new((0.0, highest.max(1.0)), (LEFT, width - RIGHT));
    let floor = height - BOTTOM;
    for (bytes, name) in byte_marks(highest, 4) {
        let x = amount.at(bytes);
        canvas.line(&[(x, TOP), (x, floor)], Role::Grid, 0.75)?;
        canvas.words((x, floor + 15.0), &name, Lettering::TICK.anchored(HPos::Center))?;
    }
    let step = (floor - TOP) / bars.len().max(1) as f64;
    for (position, bar) in bars.iter().enumerate() {
        let centre = TOP + step * (position as f64 + 0.5);
        let look = Lettering { is_bold: position == 0, ..Lettering::LABEL };
        canvas.name((0.0, centre + 4.0), &bar.name, LEFT - 8.0, look)?;
        let role = Role::of_series(bar.colour);
        for (bytes, alpha) in [(bar.peak_bytes, 0.35), (bar.median_bytes, 1.0)] {
            let end = amount.at(bytes).max(LEFT + 1.0);
            canvas.block((LEFT, centre - 7.0), (end, centre + 7.0), role, alpha)?;
        }
        if let Some(peak) = MemoryBytes::from_f64(bar.peak_bytes) {
            canvas.words((width, centre + 4.0), &peak.to_string(), Lettering::TICK)?;
            let median = MemoryBytes::from_f64(bar.median_bytes);
            let median = median.map_or_else(String::new, |it| format!("median {it}, "));
            let words = format!("{}: {median}peak {peak}", bar.name);
            canvas.spot((0.0, centre - step / 2.0), (width, centre + step / 2.0), words);
        }
    }
    match total_bytes.and_then(|it| Some((it, MemoryBytes::from_f64(it)?))) {
        Some((bytes, total)) => {
            let x = amount.at(bytes);
            canvas.dashes((x, TOP - 4.0), (x, floor), Role::Limit, 1.0)?;
            let look = Lettering::TICK.coloured(Role::Limit);
            canvas.words((x, TOP - 11.0), &format!("{total} in all"), look)
        }
        None => Ok(()),
    }
}
