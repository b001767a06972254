//! Share of time at or above 5, 50 and 95 %: one nested bar for each subject.

use crate::report::figure::DutyBar;
use crate::report::plot::PlotError;
use crate::report::plot::canvas::{Canvas, Lettering, width_of};
use crate::report::plot::scale::Scale;
use crate::report::plot::theme::Role;
use crate::report::wording::percent;
use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::HPos;

/// Room above the bars for the legend, in logical pixels.
const TOP: f64 = 40.0;
/// Room below the bars for the axis.
const BOTTOM: f64 = 34.0;
/// Room right of the bars for the share of full load.
const RIGHT: f64 = 78.0;

/// Draws duty bars.
pub(crate) fn draw<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    bars: &[DutyBar],
    (width, height): (f64, f64),
) -> Result<(), PlotError> {
    let left = (width * 0.3).min(230.0);
    let share = Scale::new((0.0, 1.0), (left, width - RIGHT));
    legend(canvas, width)?;
    let floor = height - BOTTOM;
    for (value, name) in [(0.0, "0"), (0.25, ""), (0.5, "50"), (0.75, ""), (1.0, "100 %")] {
        let x = share.at(value);
        canvas.line(&[(x, TOP - 4.0), (x, floor)], Role::Grid, 0.75)?;
        canvas.words((x, floor + 14.0), name, Lettering::TICK.anchored(HPos::Center))?;
    }
    let middle = (share.at(0.0) + share.at(1.0)) / 2.0;
    let look = Lettering::NOTE.anchored(HPos::Center);
    canvas.words((middle, floor + 29.0), "share of the time", look)?;
    let step = (floor - TOP) / bars.len().max(1) as f64;
    for (position, bar) in bars.iter().enumerate() {
        let centre = TOP + step * (position as f64 + 0.5);
        let look = if position == 0 {
            Lettering::LABEL
        } else {
            Lettering { is_bold: false, ..Lettering::LABEL }
        };
        canvas.name((0.0, centre + 4.0), &bar.name, left - 8.0, look)?;
        one_bar(canvas, bar, &share, centre, width)?;
        canvas.spot((0.0, centre - step / 2.0), (width, centre + step / 2.0), words(bar));
    }
    Ok(())
}

fn words(bar: &DutyBar) -> String {
    let duty = &bar.duty;
    let [used, half, full, mean] =
        [duty.at_5_pct, duty.at_50_pct, duty.at_95_pct, bar.mean_ratio].map(percent);
    format!(
        "{}: at 5 % or more for {used} of the time, at 50 % or more for {half}, at 95 % or more for \
         {full}; mean {mean}",
        bar.name
    )
}

fn one_bar<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    bar: &DutyBar,
    share: &Scale,
    centre: f64,
    width: f64,
) -> Result<(), PlotError> {
    let nested = [
        (bar.duty.at_5_pct, Role::Used),
        (bar.duty.at_50_pct, Role::Half),
        (bar.duty.at_95_pct, Role::Full),
    ];
    for (value, role) in nested {
        if value > 0.0 {
            let end = share.at(value).max(share.at(0.0) + 1.0);
            canvas.block((share.at(0.0), centre - 8.0), (end, centre + 8.0), role, 1.0)?;
        }
    }
    let x = share.at(bar.mean_ratio);
    canvas.line(&[(x, centre - 11.0), (x, centre + 11.0)], Role::Ground, 4.0)?;
    canvas.line(&[(x, centre - 11.0), (x, centre + 11.0)], Role::Ink, 2.0)?;
    let look = Lettering { is_bold: bar.duty.at_95_pct > 0.0, ..Lettering::TICK };
    let look = if look.is_bold { look.coloured(Role::Limit) } else { look };
    canvas.words((width, centre + 4.0), &percent(bar.duty.at_95_pct), look)
}

fn legend<B: DrawingBackend>(canvas: &mut Canvas<'_, B>, width: f64) -> Result<(), PlotError> {
    let entries = [("≥ 5 %", Role::Used), ("≥ 50 %", Role::Half), ("≥ 95 % (full)", Role::Full)];
    let mut x = 0.0;
    for (name, role) in entries {
        canvas.block((x, 4.0), (x + 11.0, 14.0), role, 1.0)?;
        canvas.words((x + 16.0, 13.0), name, Lettering::NOTE)?;
        x += 16.0 + width_of(name, 11.5) + 12.0;
    }
    canvas.line(&[(x + 4.0, 2.0), (x + 4.0, 16.0)], Role::Ink, 2.0)?;
    canvas.words((x + 11.0, 13.0), "mean", Lettering::NOTE)?;
    canvas.words((width, 30.0), "≥ 95 %", Lettering::TICK)
}
