//! How much demand varies when it is averaged over longer and longer windows.

use crate::domain::units::Seconds;
use crate::report::figure::CvCurve;
use crate::report::plot::PlotError;
use crate::report::plot::canvas::{Canvas, Lettering, Point, fitted, width_of};
use crate::report::plot::scale::{Scale, length_marks, round_steps, tidy};
use crate::report::plot::theme::Role;
use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::HPos;

/// Room left of the curves, in logical pixels.
const LEFT: f64 = 40.0;
/// Room right of the curves: half of the last length's name.
const RIGHT: f64 = 22.0;
/// Room below the curves for the axis.
const BOTTOM: f64 = 42.0;
/// Height of a line of the legend.
const LINE: f64 = 18.0;
/// Longest name in the legend.
const NAME_PX: f64 = 170.0;

/// Draws curves of demand CV.
pub(crate) fn draw<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    curves: &[CvCurve],
    (width, height): (f64, f64),
) -> Result<(), PlotError> {
    let top = legend(canvas, curves, width)? + 44.0;
    let floor = height - BOTTOM;
    let points = || curves.iter().flat_map(|it| it.points.iter()).filter(|it| it.scale_s > 0.0);
    let first = points().map(|it| it.scale_s).fold(f64::INFINITY, f64::min);
    let last = points().map(|it| it.scale_s).fold(0.0, f64::max);
    let highest = points().map(|it| it.value).fold(0.5, f64::max);
    if !(first.is_finite() && last > 0.0) {
        return Ok(());
    }
    let window = Scale::new((first.log10(), last.log10()), (LEFT, width - RIGHT));
    let steps = round_steps(highest, 4);
    let value = Scale::new((0.0, steps.last().copied().unwrap_or(1.0)), (floor, top));
    canvas.words((0.0, top - 12.0), "variation of demand (CV)", Lettering::NOTE)?;
    for step in steps {
        let y = value.at(step);
        canvas.line(&[(LEFT, y), (width - RIGHT, y)], Role::Grid, 0.75)?;
        canvas.words((LEFT - 6.0, y + 4.0), &tidy(step), Lettering::TICK)?;
    }
    for (length, name) in length_marks(first, last) {
        let x = window.at_log(length);
        canvas.line(&[(x, floor), (x, floor + 4.0)], Role::Muted, 0.75)?;
        canvas.words((x, floor + 16.0), &name, Lettering::TICK.anchored(HPos::Center))?;
    }
    let look = Lettering::NOTE.anchored(HPos::Right);
    canvas.words((width - RIGHT, height - 6.0), "averaged over windows of this length", look)?;
    for curve in curves.iter().rev() {
        let role = Role::of_series(curve.colour);
        let way: Vec<Point> = curve
            .points
            .iter()
            .filter(|it| it.scale_s > 0.0)
            .map(|it| (window.at_log(it.scale_s), value.at(it.value)))
            .collect();
        canvas.line(&way, role, 1.75)?;
        for point in way {
            canvas.disc(point, 2.25, role)?;
        }
        for point in curve.points.iter().filter(|it| it.scale_s > 0.0) {
            let (x, y) = (window.at_log(point.scale_s), value.at(point.value));
            let length = Seconds(point.scale_s);
            let words = format!("{}: CV {:.2} over windows of {length}", curve.name, point.value);
            canvas.spot((x - 7.0, y - 7.0), (x + 7.0, y + 7.0), words);
        }
    }
    Ok(())
}

/// Names of the curves with their colours, in as many lines as needed; how high it became.
fn legend<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    curves: &[CvCurve],
    width: f64,
) -> Result<f64, PlotError> {
    let (mut x, mut baseline) = (0.0, 13.0);
    for curve in curves {
        let room = 16.0 + width_of(&fitted(&curve.name, NAME_PX, 11.5), 11.5);
        if x > 0.0 && x + room > width {
            (x, baseline) = (0.0, baseline + LINE);
        }
        let role = Role::of_series(curve.colour);
        canvas.block((x, baseline - 6.0), (x + 11.0, baseline - 2.5), role, 1.0)?;
        canvas.name((x + 16.0, baseline), &curve.name, NAME_PX, Lettering::NOTE)?;
        x += room + 14.0;
    }
    Ok(baseline)
}
