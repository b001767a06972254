//! Which part of a sheet of given pixels a picture takes, and how large its words are there.

use crate::report::figure::{Figure, MARGIN};
use crate::report::plot::PlotError;
use crate::report::plot::canvas::Point;

/// Words get no smaller than this share of their usual size: 8 pixels high.
const LEAST_SCALE: f64 = 0.7;
/// A narrow picture is taken for this wide, so that its words are not larger than those of others on a large sheet.
const USUAL_WIDTH: u32 = 720;

/// Where a picture lies on its sheet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fit {
    /// Width and height of the picture, in logical pixels.
    pub(crate) room: (f64, f64),
    /// Upper left corner of the picture, in logical pixels.
    pub(crate) origin: Point,
    /// Pixels of the sheet for each logical pixel.
    pub(crate) scale: f64,
}

impl Fit {
    /// A sheet of so many logical pixels with its margin.
    pub(crate) fn whole(size: (u32, u32), scale: f64) -> Self {
        let inside = |it: u32| f64::from(it.saturating_sub(2 * MARGIN));
        let margin = f64::from(MARGIN);
        Self { room: (inside(size.0), inside(size.1)), origin: (margin, margin), scale }
    }

    /// The same without a margin.
    pub(crate) fn bare(size: (u32, u32)) -> Self {
        let room = (f64::from(size.0), f64::from(size.1));
        Self { room, origin: (0.0, 0.0), scale: 1.0 }
    }

    /// The picture on a sheet of so many pixels.
    ///
    /// On a large sheet all grows alike until one side is full, and the other gets more room; on a small one the
    /// picture becomes denser first, and only then its words smaller.
    /// Errors: words would become too small to be read.
    pub(crate) fn of(figure: &Figure, pixels: (u32, u32)) -> Result<Self, PlotError> {
        let (width, height) = (f64::from(pixels.0), f64::from(pixels.1));
        let natural = figure.natural_size();
        let share = |size: (u32, u32)| (width / f64::from(size.0)).min(height / f64::from(size.1));
        let least = figure.least_size();
        // Rows of a fixed height leave a high sheet empty, so they may be as narrow as a usual picture.
        let own = if figure.has_fixed_height() { least.0 } else { natural.0 };
        let grown = share((own.max(USUAL_WIDTH), natural.1));
        let scale = if grown >= 1.0 { grown } else { share(least).min(1.0) };
        if scale < LEAST_SCALE {
            let [least_width, least_height] =
                [least.0, least.1].map(|it| (f64::from(it) * LEAST_SCALE).ceil() as u32);
            let (width, height) = pixels;
            return Err(PlotError::TooSmall { width, height, least_width, least_height });
        }
        let margin = f64::from(MARGIN);
        let room = (width / scale - 2.0 * margin, height / scale - 2.0 * margin);
        let high = f64::from(natural.1) - 2.0 * margin;
        if figure.has_fixed_height() && high < room.1 {
            let origin = (margin, margin + (room.1 - high) / 2.0);
            return Ok(Self { room: (room.0, high), origin, scale });
        }
        Ok(Self { room, origin: (margin, margin), scale })
    }
}
