//! Pictures: figure data in, SVG or PNG bytes out. The only place that knows plotters.

mod burst_histogram;
mod canvas;
mod changes;
mod demand_cv;
mod duty_bars;
mod fit;
mod gpu_bars;
mod matrix;
mod memory_bars;
mod memory_stack;
mod paths;
mod pixels;
pub(crate) mod readings;
mod scale;
mod suspects;
pub mod theme;
mod tiles;
mod timeline;
mod vectors;
mod whatif;

use crate::report::Report;
use crate::report::block::Block;
use crate::report::figure::Figure;
use crate::report::plot::canvas::Canvas;
use crate::report::plot::fit::Fit;
use crate::report::plot::readings::Readings;
use crate::report::plot::theme::Theme;
use plotters::prelude::DrawingBackend;
use plotters::style::FontStyle;
use std::sync::OnceLock;

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
    /// The words of this picture would collide.
    #[error(
        "{width}x{height} pixels leave no room for its words; the least size is {least_width}x{least_height}"
    )]
    TooSmall {
        /// In pixels.
        width: u32,
        /// In pixels.
        height: u32,
        /// In pixels.
        least_width: u32,
        /// In pixels.
        least_height: u32,
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
    /// What it shows, for those who cannot see it.
    pub alt: &'a str,
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
            Block::Figure { id, figure, caption, alt, .. } => {
                found.push(NamedFigure { id, figure, caption, alt });
            }
            Block::Details { blocks, .. } => collect(blocks, found),
            _ => {}
        }
    }
}

/// Draws a figure; `size` is in logical pixels, see [`Figure::natural_size`].
///
/// Errors: [`PlotError::Size`] below 60 or above 8000 pixels a side.
pub fn render(
    figure: &Figure,
    size: (u32, u32),
    theme: Theme,
    format: Format,
) -> Result<Vec<u8>, PlotError> {
    check_size(size)?;
    load_font()?;
    match format {
        Format::Svg => vectors::svg(figure, size, theme).map(String::into_bytes),
        Format::Png { scale } => {
            let scale = scale.clamp(1, 4);
            let pixels = (size.0 * scale, size.1 * scale);
            pixels::png(figure, pixels, theme, &Fit::whole(size, f64::from(scale)))
        }
    }
}

fn check_size(size: (u32, u32)) -> Result<(), PlotError> {
    if [size.0, size.1].iter().all(|it| (60..=8000).contains(it)) {
        return Ok(());
    }
    Err(PlotError::Size { width: size.0, height: size.1 })
}

/// What a file of its own is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Vectors, with title and description.
    Svg,
    /// Pixels.
    Png,
}

/// A picture as a file of its own, of exactly so many pixels; words grow with a large picture and stay apart in a small one.
///
/// Without a size it has its natural one, in pixels for vectors and twice as fine for pixels.
///
/// Errors: [`PlotError::TooSmall`] names the least size; [`PlotError::Size`] below 60 or above 8000 pixels a side.
pub fn single(
    named: &NamedFigure<'_>,
    pixels: Option<(u32, u32)>,
    theme: Theme,
    kind: FileKind,
) -> Result<Vec<u8>, PlotError> {
    let natural = named.figure.natural_size();
    let (pixels, fit) = match pixels {
        Some(pixels) => {
            check_size(pixels)?;
            (pixels, Fit::of(named.figure, pixels)?)
        }
        None if kind == FileKind::Svg => (natural, Fit::whole(natural, 1.0)),
        None => ((natural.0 * 2, natural.1 * 2), Fit::whole(natural, 2.0)),
    };
    load_font()?;
    match kind {
        FileKind::Svg => vectors::single(named, pixels, theme, &fit).map(String::into_bytes),
        FileKind::Png => pixels::png(named.figure, pixels, theme, &fit),
    }
}

/// A picture inside a page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Embedded {
    /// The element.
    pub svg: String,
    /// What it can be asked for.
    pub readings: Readings,
    /// Units of the element for each logical pixel.
    pub factor: f64,
}

/// The picture as an element of a page, which gives it its hues; `key` starts the ids inside it.
pub(crate) fn embedded_svg(figure: &Figure, key: &str, alt: &str) -> Result<Embedded, PlotError> {
    load_font()?;
    vectors::embedded(figure, key, alt)
}

/// Width of words in the built-in font, in units of the size of an em.
#[cfg(test)]
pub(crate) fn text_extent(text: &str, em: f64) -> f64 {
    use plotters::style::{FontFamily, IntoFont};
    load_font().unwrap();
    let font = (FontFamily::SansSerif, 1.24 * 0.904 * 100.0, FontStyle::Normal).into_font();
    let width = font.box_size(text).map_or(0.0, |it| f64::from(it.0));
    width * em / 100.0
}

/// Gives plotters the one font that it measures and prints with.
fn load_font() -> Result<(), PlotError> {
    static LOADED: OnceLock<bool> = OnceLock::new();
    let is_loaded = LOADED.get_or_init(|| {
        let font = epaint_default_fonts::UBUNTU_LIGHT;
        plotters::style::register_font("sans-serif", FontStyle::Normal, font).is_ok()
    });
    if *is_loaded { Ok(()) } else { Err(PlotError::Font) }
}

/// Draws on any backend; names that were shortened come back with the full ones, and what can be asked.
fn draw<B: DrawingBackend>(
    figure: &Figure,
    mut canvas: Canvas<'_, B>,
    fit: &Fit,
) -> Result<(Vec<(String, String)>, Readings), PlotError> {
    let size = fit.room;
    canvas.clear()?;
    canvas.move_origin(fit.origin);
    match figure {
        Figure::Timeline(it) => timeline::draw(&mut canvas, it, size),
        Figure::Strip { span, series } => timeline::draw_strip(&mut canvas, *span, series, size),
        Figure::DutyBars(it) => duty_bars::draw(&mut canvas, it, size),
        Figure::DemandCv(it) => demand_cv::draw(&mut canvas, it, size),
        Figure::BurstHistogram(it) => burst_histogram::draw(&mut canvas, it, size),
        Figure::MemoryBars { bars, total_bytes } => {
            memory_bars::draw(&mut canvas, bars, *total_bytes, size)
        }
        Figure::MemoryStack(it) => memory_stack::draw(&mut canvas, it, size),
        Figure::Matrix(it) => matrix::draw(&mut canvas, it, size),
        Figure::Suspects(it) => suspects::draw(&mut canvas, it, size),
        Figure::Slowdowns(it) => whatif::draw(&mut canvas, it, size),
        Figure::Changes(it) => changes::draw(&mut canvas, it, size),
        Figure::Tiles(it) => tiles::draw(&mut canvas, it, size),
        Figure::GpuBars(it) => gpu_bars::draw(&mut canvas, it, size),
    }?;
    Ok(canvas.into_words())
}
