//! PNG: drawn larger than asked for, then averaged, so that edges are smooth.

use crate::report::figure::Figure;
use crate::report::plot::canvas::{Canvas, Medium};
use crate::report::plot::fit::Fit;
use crate::report::plot::theme::Theme;
use crate::report::plot::{PlotError, draw};
use plotters::drawing::IntoDrawingArea;
use plotters::prelude::BitMapBackend;

/// At least so many drawn pixels stand for one logical pixel, as far as memory allows.
const FINENESS: u32 = 4;

/// No more pixels than this are drawn at once: about 200 MB.
const MOST_DRAWN: u64 = 64_000_000;

/// Bytes of a pixel.
const RGB: usize = 3;

/// The figure as PNG of so many pixels.
pub(crate) fn png(
    figure: &Figure,
    (width, height): (u32, u32),
    theme: Theme,
    fit: &Fit,
) -> Result<Vec<u8>, PlotError> {
    let fits = |grain: &u32| u64::from(width * grain) * u64::from(height * grain) <= MOST_DRAWN;
    let finest = (f64::from(FINENESS) / fit.scale).ceil().clamp(1.0, f64::from(FINENESS)) as u32;
    let grain = (1..=finest).rev().find(fits).ok_or(PlotError::Size { width, height })?;
    let large = (width * grain, height * grain);
    let mut drawn = vec![0; large.0 as usize * large.1 as usize * RGB];
    {
        let area = BitMapBackend::with_buffer(&mut drawn, large).into_drawing_area();
        let canvas = Canvas::new(&area, fit.scale * f64::from(grain), theme, Medium::Pixels);
        draw(figure, canvas, fit)?;
        area.present().map_err(|it| PlotError::Draw { message: it.to_string() })?;
    }
    let pixels = averaged(&drawn, large.0 as usize, grain as usize);
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    // 96 dots per inch at scale 1, so that documents place the picture at its own size.
    let dots_per_metre = (3780.0 * fit.scale).round() as u32;
    encoder.set_pixel_dims(Some(png::PixelDimensions {
        xppu: dots_per_metre,
        yppu: dots_per_metre,
        unit: png::Unit::Meter,
    }));
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels)?;
    writer.finish()?;
    Ok(bytes)
}

/// Each square of `grain` by `grain` pixels as one pixel of their mean.
fn averaged(drawn: &[u8], width: usize, grain: usize) -> Vec<u8> {
    if grain == 1 {
        return drawn.to_vec();
    }
    let share = (grain * grain) as u32;
    let mut pixels = Vec::with_capacity(drawn.len() / (grain * grain));
    for rows in drawn.chunks_exact(width * RGB * grain) {
        for column in 0..width / grain {
            for channel in 0..RGB {
                let sum: u32 = (0..grain)
                    .flat_map(|row| (0..grain).map(move |step| (row, step)))
                    .map(|(row, step)| {
                        u32::from(rows[(row * width + column * grain + step) * RGB + channel])
                    })
                    .sum();
                pixels.push(((sum + share / 2) / share) as u8);
            }
        }
    }
    pixels
}
