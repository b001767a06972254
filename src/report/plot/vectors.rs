//! SVG: for a file of its own, and for inside a page.

use crate::report::figure::Figure;
use crate::report::plot::canvas::{Canvas, Medium};
use crate::report::plot::fit::Fit;
use crate::report::plot::theme::{ROLES, Theme};
use crate::report::plot::{NamedFigure, PlotError, draw};
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
    Ok(frame + &body(figure, size, theme, &Fit::whole(size, 1.0))?)
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
    Ok(frame + &body(named.figure, pixels, theme, fit)?)
}

/// The figure as an element of a page: hues are style variables, so that one drawing serves
/// light and dark; no name space, which a page does not need.
pub(crate) fn embedded(figure: &Figure, key: &str, alt: &str) -> Result<String, PlotError> {
    let size = figure.content_size();
    let (wide, high) = (size.0 * FACTOR, size.1 * FACTOR);
    // A strip has no words and no circles, so it may be stretched to its place.
    let is_strip = matches!(figure, Figure::Strip { .. });
    let stretch = if is_strip { " preserveAspectRatio=\"none\"" } else { "" };
    let frame = format!(
        "<svg viewBox=\"0 0 {wide} {high}\"{stretch} role=\"img\" aria-labelledby=\"{key}-alt\">\
         <title id=\"{key}-alt\">{}</title>",
        escaped(alt)
    );
    let mut drawing = body(figure, size, Theme::Light, &Fit::bare(size))?;
    for (_, name, hue, _) in ROLES {
        for attribute in ["fill", "stroke"] {
            let fixed = format!(" {attribute}=\"#{hue:06X}\"");
            drawing = drawing.replace(&fixed, &format!(" {attribute}=\"var(--plot-{name})\""));
        }
    }
    Ok(frame + &drawing)
}

/// Everything after the opening tag.
fn body(figure: &Figure, size: (u32, u32), theme: Theme, fit: &Fit) -> Result<String, PlotError> {
    let mut drawing = String::new();
    let large = (size.0 * FACTOR, size.1 * FACTOR);
    let shortened = {
        let area = SVGBackend::with_string(&mut drawing, large).into_drawing_area();
        let canvas = Canvas::new(&area, f64::from(FACTOR) * fit.scale, theme, Medium::Vector);
        let shortened = draw(figure, canvas, fit)?;
        area.present().map_err(|it| PlotError::Draw { message: it.to_string() })?;
        shortened
    };
    let start = drawing.find(">\n").map_or(0, |it| it + 2);
    let mut body = drawing.get(start..).unwrap_or_default().to_owned();
    for (short, full) in shortened {
        let (short, full) = (escaped(&short), escaped(&full));
        let titled = format!("><title>{full}</title>{short}</text>");
        body = body.replacen(&format!(">\n{short}\n</text>"), &titled, 1);
    }
    for silent in SILENT {
        body = body.replace(silent, "");
    }
    Ok(body.replace(">\n", ">").replace("\n<", "<").replace(" \"", "\""))
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
