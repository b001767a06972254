//! The GPUs of a fleet as tiles.

use crate::report::figure::{Tile, TileKind, TilePanel, TilesFigure};
use crate::report::plot::PlotError;
use crate::report::plot::canvas::{Canvas, Lettering, width_of};
use crate::report::plot::theme::Role;
use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::HPos;

/// Side of a tile in the legend, in logical pixels.
const SAMPLE: f64 = 14.0;
/// Smallest tile in which a number can be read, in logical pixels.
const READABLE: f64 = 18.0;

/// Draws tiles, panel beside panel.
pub(crate) fn draw<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    figure: &TilesFigure,
    (width, height): (f64, f64),
) -> Result<(), PlotError> {
    let panels = figure.panels.len().max(1) as f64;
    let between = f64::from(TilesFigure::BETWEEN);
    let own = (width - between * (panels - 1.0)) / panels;
    for (place, panel) in figure.panels.iter().enumerate() {
        let left = place as f64 * (own + between);
        canvas.name((left, 14.0), &panel.name, own, Lettering::LABEL)?;
        tiles(canvas, figure, panel, (left, own, height))?;
    }
    legend(canvas, figure, height)
}

fn tiles<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    figure: &TilesFigure,
    panel: &TilePanel,
    (left, width, height): (f64, f64, f64),
) -> Result<(), PlotError> {
    let step = f64::from(figure.step());
    let columns = ((width / step) as usize).clamp(1, figure.columns().max(1));
    let side = (step * 0.84).max(2.0);
    for (place, tile) in panel.tiles.iter().enumerate() {
        let x = left + (place % columns) as f64 * step;
        let y = f64::from(TilesFigure::TOP) + (place / columns) as f64 * step;
        if y + side > height - f64::from(TilesFigure::BOTTOM) + step {
            break;
        }
        one(canvas, *tile, (x, y), side)?;
    }
    Ok(())
}

fn one<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    tile: Tile,
    (x, y): (f64, f64),
    side: f64,
) -> Result<(), PlotError> {
    let (role, alpha) = look(tile.kind);
    let corner = (x + side, y + side);
    canvas.block((x, y), corner, role, alpha)?;
    match tile.kind {
        TileKind::Free => {
            let frame = [(x, y), (x + side, y), corner, (x, y + side), (x, y)];
            canvas.line(&frame, Role::Muted, 1.0)?;
        }
        // The parts of a cut GPU.
        TileKind::Partitioned => {
            for part in [1.0 / 3.0, 2.0 / 3.0] {
                let at = x + side * part;
                canvas.line(&[(at, y), (at, y + side)], Role::Ground, 1.0)?;
            }
        }
        TileKind::Further => {
            canvas.line(&[(x, y + side), (x + side, y)], Role::Ground, 1.5)?;
        }
        TileKind::Shared | TileKind::Alone | TileKind::Unknown => {}
    }
    let text = match tile.kind {
        TileKind::Unknown => "?".to_owned(),
        _ if tile.tenants > 1 => tile.tenants.to_string(),
        _ => return Ok(()),
    };
    if side < READABLE {
        return Ok(());
    }
    let role = if tile.kind == TileKind::Unknown { Role::Ink } else { Role::Ground };
    let look = Lettering { is_bold: true, ..Lettering::TICK.coloured(role) };
    canvas.words((x + side / 2.0, y + side / 2.0 + 4.5), &text, look.anchored(HPos::Center))
}

fn look(kind: TileKind) -> (Role, f64) {
    match kind {
        TileKind::Partitioned => (Role::Resident1, 1.0),
        TileKind::Shared => (Role::Resident3, 1.0),
        TileKind::Alone => (Role::Half, 0.55),
        TileKind::Unknown => (Role::Grid, 1.0),
        TileKind::Free => (Role::Ground, 1.0),
        TileKind::Further => (Role::Full, 1.0),
    }
}

fn legend<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    figure: &TilesFigure,
    height: f64,
) -> Result<(), PlotError> {
    let mut x = 0.0;
    let y = height - SAMPLE - 2.0;
    for (kind, words) in figure.legend() {
        one(canvas, Tile { kind, tenants: 1 }, (x, y), SAMPLE)?;
        canvas.words((x + SAMPLE + 6.0, y + SAMPLE - 2.5), words, Lettering::NOTE)?;
        x += SAMPLE + 6.0 + width_of(words, Lettering::NOTE.size) + 18.0;
    }
    Ok(())
}
