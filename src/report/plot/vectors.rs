//! SVG: for a file of its own, and for inside a page.

use crate::report::figure::Figure;
use crate::report::plot::canvas::{Canvas, LAYERS, Layer, Medium};
use crate::report::plot::fit::Fit;
use crate::report::plot::paths::compact;
use crate::report::plot::readings::Readings;
use crate::report::plot::theme::{ROLES, Theme};
use crate::report::plot::{Embedded, NamedFigure, PlotError, draw};
use crate::report::wording::clean;
use plotters::drawing::IntoDrawingArea;
use plotters::prelude::SVGBackend;

/// plotters counts whole pixels, so the drawing is made larger and shown smaller.
const FACTOR: u32 = 4;

/// Fonts for words in pictures; the first that the reader has.
const FONTS: &str = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif";

/// The same for a file of its own: first the font that pixels are printed with.
const SINGLE_FONTS: &str = "'Ubuntu Light',Ubuntu,system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif";

/// Attributes of plotters' that say nothing, or that the frame says once for all.
const SILENT: &[&str] = &[
    " font-family=\"sans-serif\"",
    " dy=\"0.76em\"",
    " opacity=\"1\"",
    " stroke=\"none\"",
    " text-anchor=\"start\"",
];

/// The figure as a complete SVG.
pub(crate) fn svg(figure: &Figure, size: (u32, u32), theme: Theme) -> Result<String, PlotError> {
    let (width, height) = size;
    let (wide, high) = (width * FACTOR, height * FACTOR);
    let frame = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {wide} {high}\" font-family=\"{FONTS}\">"
    );
    Ok(frame + &body(figure, size, (theme, None), &Fit::whole(size, 1.0))?.0 + "</svg>")
}

/// The figure as a file of its own: a complete SVG with title and description.
pub(crate) fn single(
    named: &NamedFigure<'_>,
    pixels: (u32, u32),
    theme: Theme,
    fit: &Fit,
) -> Result<String, PlotError> {
    let (width, height) = pixels;
    let (wide, high) = (width * FACTOR, height * FACTOR);
    let frame = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {wide} {high}\" role=\"img\" aria-labelledby=\"title desc\" \
         font-family=\"{SINGLE_FONTS}\"><title id=\"title\">{}</title><desc id=\"desc\">{}</desc>",
        escaped(&clean(named.caption)),
        escaped(&clean(named.alt)),
    );
    Ok(frame + &body(named.figure, pixels, (theme, None), fit)?.0 + "</svg>")
}

/// The figure as an element of a page: hues are style variables, so that one drawing serves
/// light and dark; no name space, which a page does not need.
pub(crate) fn embedded(figure: &Figure, key: &str, alt: &str) -> Result<Embedded, PlotError> {
    let size = figure.content_size();
    let (wide, high) = (size.0 * FACTOR, size.1 * FACTOR);
    // A strip has no words and no circles, so it may be stretched to its place.
    let is_strip = matches!(figure, Figure::Strip { .. });
    let stretch = if is_strip { " preserveAspectRatio=\"none\"" } else { "" };
    let mut svg = format!(
        "<svg viewBox=\"0 0 {wide} {high}\"{stretch} role=\"img\" aria-labelledby=\"{key}-alt\">\
         <title id=\"{key}-alt\">{}</title>",
        escaped(alt)
    );
    let mut readings = Readings::default();
    if figure.has_time_axis() {
        for layer in LAYERS {
            let (drawing, told) =
                body(figure, size, (Theme::Light, Some(layer)), &Fit::bare(size))?;
            let drawing = recoloured(&compact(&drawing));
            match layer {
                Layer::Behind | Layer::Data => svg += &format!("<g class=\"moves\">{drawing}</g>"),
                Layer::Grid | Layer::Front => svg += &drawing,
            }
            readings = told;
        }
    } else {
        let (drawing, told) = body(figure, size, (Theme::Light, None), &Fit::bare(size))?;
        svg += &recoloured(&compact(&drawing));
        readings = told;
    }
    Ok(Embedded { svg: svg + "</svg>", readings, factor: f64::from(FACTOR) })
}

/// The drawing with style variables in place of the hues of the light theme.
fn recoloured(drawing: &str) -> String {
    let mut drawing = drawing.to_owned();
    for (_, name, hue, _) in ROLES {
        for attribute in ["fill", "stroke"] {
            let fixed = format!(" {attribute}=\"#{hue:06X}\"");
            drawing = drawing.replace(&fixed, &format!(" {attribute}=\"var(--plot-{name})\""));
        }
    }
    drawing
}

/// Everything between the tags of the frame, on one layer or on all.
fn body(
    figure: &Figure,
    size: (u32, u32),
    (theme, layer): (Theme, Option<Layer>),
    fit: &Fit,
) -> Result<(String, Readings), PlotError> {
    let mut drawing = String::new();
    let large = (size.0 * FACTOR, size.1 * FACTOR);
    let (shortened, readings) = {
        let area = SVGBackend::with_string(&mut drawing, large).into_drawing_area();
        let factor = f64::from(FACTOR) * fit.scale;
        let mut canvas = Canvas::new(&area, factor, theme, Medium::Vector);
        canvas.show_only(layer);
        let words = draw(figure, canvas, fit)?;
        area.present().map_err(|it| PlotError::Draw { message: it.to_string() })?;
        words
    };
    let start = drawing.find(">\n").map_or(0, |it| it + 2);
    let inside = drawing.get(start..).unwrap_or_default().trim_end();
    let mut body = inside.strip_suffix("</svg>").unwrap_or(inside).to_owned();
    for (short, full) in shortened {
        let (short, full) = (escaped(&short), escaped(&full));
        let titled = format!("><title>{full}</title>{short}</text>");
        body = body.replacen(&format!(">\n{short}\n</text>"), &titled, 1);
    }
    for silent in SILENT {
        body = body.replace(silent, "");
    }
    Ok((body.replace(">\n", ">").replace("\n<", "<").replace(" \"", "\""), readings))
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            other => safe.push(other),
        }
    }
    safe
}
