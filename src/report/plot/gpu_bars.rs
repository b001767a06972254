//! Numbers of GPUs as bars, with what comes on top.

use crate::report::figure::GpuBarsFigure;
use crate::report::plot::PlotError;
use crate::report::plot::canvas::{Canvas, Lettering};
use crate::report::plot::scale::{Scale, round_steps, tidy};
use crate::report::plot::theme::Role;
use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::HPos;

/// Room above the bars for the name of the limit, in logical pixels.
const TOP: f64 = 24.0;
/// Room below the bars for the axis.
const BOTTOM: f64 = 36.0;
/// Share of the width for names, and for notes.
const SHARES: (f64, f64) = (0.25, 0.30);

/// Draws bars of GPUs.
pub(crate) fn draw<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    figure: &GpuBarsFigure,
    (width, height): (f64, f64),
) -> Result<(), PlotError> {
    let (left, right) = (width * SHARES.0, width * SHARES.1);
    let limit = figure.limit.as_ref().map_or(0.0, |it| it.0);
    let sane = |it: f64| if it.is_finite() { it.max(0.0) } else { 0.0 };
    let most =
        figure.rows.iter().map(|it| sane(it.base) + sane(it.more)).fold(sane(limit), f64::max);
    let scale = Scale::new((0.0, most.max(1.0)), (left, width - right));
    let floor = height - BOTTOM;
    for value in round_steps(most.max(1.0), 5).into_iter().filter(|it| *it <= most.max(1.0)) {
        let x = scale.at(value);
        canvas.line(&[(x, TOP - 2.0), (x, floor)], Role::Grid, 0.75)?;
        canvas.words((x, floor + 14.0), &tidy(value), Lettering::TICK.anchored(HPos::Center))?;
    }
    let middle = (left + width - right) / 2.0;
    canvas.words((middle, floor + 29.0), "GPUs", Lettering::NOTE.anchored(HPos::Center))?;
    let step = (floor - TOP) / figure.rows.len().max(1) as f64;
    for (place, row) in figure.rows.iter().enumerate() {
        let centre = TOP + step * (place as f64 + 0.5);
        let look = Lettering { is_bold: place == 0, ..Lettering::LABEL };
        canvas.name((0.0, centre + 4.0), &row.name, left - 10.0, look)?;
        let (base, end) = (scale.at(sane(row.base)), scale.at(sane(row.base) + sane(row.more)));
        canvas.block(
            (left, centre - 7.0),
            (base.max(left + 1.0), centre + 7.0),
            Role::Half,
            1.0,
        )?;
        let sum = tidy(sane(row.base) + sane(row.more));
        let words = format!("{}: {sum} GPUs. {}", row.name, row.note);
        canvas.spot((0.0, centre - step / 2.0), (width, centre + step / 2.0), words);
        if end > base {
            canvas.block((base, centre - 7.0), (end, centre + 7.0), Role::Full, 1.0)?;
        }
        canvas.name((end + 8.0, centre + 4.0), &row.note, width - end - 8.0, Lettering::NOTE)?;
    }
    let Some((value, name)) = figure.limit.as_ref().filter(|it| it.0.is_finite() && it.0 > 0.0)
    else {
        return Ok(());
    };
    let x = scale.at(*value);
    canvas.dashes((x, TOP - 6.0), (x, floor), Role::Limit, 1.0)?;
    canvas.words((x, TOP - 10.0), name, Lettering::TICK.coloured(Role::Limit))
}
