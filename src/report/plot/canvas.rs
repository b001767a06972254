//! A drawing area with sub-pixel coordinates, roles for colours and a few kinds of marks.

use crate::report::plot::PlotError;
use crate::report::plot::readings::{Chart, Readings, Spot};
use crate::report::plot::theme::{Role, Theme};
use crate::report::wording::shorten;
use plotters::coord::Shift;
use plotters::prelude::{
    Circle, Color, DrawingArea, DrawingBackend, IntoTextStyle, PathElement, Polygon, RGBColor,
    Rectangle, ShapeStyle, Text,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontFamily, FontStyle, FontTransform};
use unicode_width::UnicodeWidthStr;

/// Size that plotters calls a font of one pixel per em.
const PLOTTERS_PER_EM: f64 = 1.24;

/// The built-in font is drawn this much larger than asked for, by its line height.
const PIXEL_FONT_RATIO: f64 = 0.904;

/// A typical letter is this wide, in em; wider than most, so that words never collide.
const LETTER_EM: f64 = 0.56;

/// What the marks become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Medium {
    /// Elements of an SVG.
    Vector,
    /// Pixels of an image.
    Pixels,
}

/// What is drawn over what; a page redraws some layers when a reader zooms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    /// The ground, and what moves with the time axis behind everything.
    Behind,
    /// Lines of the grid that stay where they are.
    Grid,
    /// Values over time.
    Data,
    /// Names and limits that stay where they are; everything of a picture without a time axis.
    Front,
}

/// All layers, from the ground up.
pub(crate) const LAYERS: [Layer; 4] = [Layer::Behind, Layer::Grid, Layer::Data, Layer::Front];

/// A point, in logical pixels from the upper left corner.
pub(crate) type Point = (f64, f64);

/// How words look.
#[derive(Clone, Copy)]
pub(crate) struct Lettering {
    /// Height of an em, in logical pixels.
    pub size: f64,
    /// Colour.
    pub role: Role,
    /// Whether the letters are strong.
    pub is_bold: bool,
    /// Which end of the words stands at the point.
    pub anchor: HPos,
}

impl Lettering {
    /// Names of rows and panels.
    pub(crate) const LABEL: Self =
        Self { size: 12.5, role: Role::Ink, is_bold: true, anchor: HPos::Left };
    /// Numbers at axes.
    pub(crate) const TICK: Self =
        Self { size: 11.5, role: Role::Muted, is_bold: false, anchor: HPos::Right };
    /// Remarks and legends.
    pub(crate) const NOTE: Self =
        Self { size: 11.5, role: Role::Muted, is_bold: false, anchor: HPos::Left };

    /// The same with the other end at the point.
    pub(crate) const fn anchored(self, anchor: HPos) -> Self {
        Self { anchor, ..self }
    }

    /// The same in another colour.
    pub(crate) const fn coloured(self, role: Role) -> Self {
        Self { role, ..self }
    }
}

/// A drawing area with sub-pixel coordinates.
pub(crate) struct Canvas<'a, B: DrawingBackend> {
    area: &'a DrawingArea<B, Shift>,
    factor: f64,
    theme: Theme,
    medium: Medium,
    origin: Point,
    layer: Layer,
    only: Option<Layer>,
    shortened: Vec<(String, String)>,
    readings: Readings,
}

impl<'a, B: DrawingBackend> Canvas<'a, B> {
    /// A canvas on which one logical pixel is `factor` pixels of the area.
    pub(crate) fn new(
        area: &'a DrawingArea<B, Shift>,
        factor: f64,
        theme: Theme,
        medium: Medium,
    ) -> Self {
        Self {
            area,
            factor,
            theme,
            medium,
            origin: (0.0, 0.0),
            layer: Layer::Front,
            only: None,
            shortened: Vec::new(),
            readings: Readings::default(),
        }
    }

    /// Names that were shortened, with the full ones, in the order of drawing; what can be asked.
    pub(crate) fn into_words(self) -> (Vec<(String, String)>, Readings) {
        (self.shortened, self.readings)
    }

    /// Leaves out what is not drawn on this layer; `None` draws everything.
    pub(crate) fn show_only(&mut self, layer: Option<Layer>) {
        self.only = layer;
    }

    /// Draws on this layer from now on.
    pub(crate) fn on(&mut self, layer: Layer) {
        self.layer = layer;
    }

    fn is_hidden(&self) -> bool {
        self.only.is_some_and(|it| it != self.layer)
    }

    /// Tells the values behind a time axis, where somebody may ask for them.
    pub(crate) fn tell(&mut self, chart: impl FnOnce() -> Chart) {
        if self.medium == Medium::Vector && !self.is_hidden() {
            self.readings.chart = Some(chart());
        }
    }

    /// Tells what the rectangle stands for.
    pub(crate) fn spot(&mut self, corner: Point, opposite: Point, words: String) {
        if self.medium == Medium::Vector && !self.is_hidden() {
            self.readings.spots.push(Spot { corner, opposite, words });
        }
    }

    /// Puts the origin this far from the left and from the top, in logical pixels.
    pub(crate) fn move_origin(&mut self, origin: Point) {
        self.origin = origin;
    }

    /// Fills everything with the ground.
    pub(crate) fn clear(&mut self) -> Result<(), PlotError> {
        if self.only.is_some_and(|it| it != Layer::Behind) {
            return Ok(());
        }
        drawn(self.area.fill(&self.colour(Role::Ground)))
    }

    /// A line through the points.
    pub(crate) fn line(&mut self, points: &[Point], role: Role, px: f64) -> Result<(), PlotError> {
        if self.is_hidden() {
            return Ok(());
        }
        let stroke_width = (px * self.factor).round().max(1.0) as u32;
        let style = ShapeStyle { color: self.colour(role).to_rgba(), filled: false, stroke_width };
        drawn(self.area.draw(&PathElement::new(self.device_points(points), style)))
    }

    /// A line of dashes between two points on one level or one plumb line.
    pub(crate) fn dashes(
        &mut self,
        from: Point,
        to: Point,
        role: Role,
        px: f64,
    ) -> Result<(), PlotError> {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = dx.hypot(dy);
        let mut start = 0.0;
        while start < length {
            let at = |way: f64| (from.0 + dx * way / length, from.1 + dy * way / length);
            self.line(&[at(start), at((start + 4.0).min(length))], role, px)?;
            start += 7.0;
        }
        Ok(())
    }

    /// A filled shape.
    pub(crate) fn fill(
        &mut self,
        points: &[Point],
        role: Role,
        alpha: f64,
    ) -> Result<(), PlotError> {
        if self.is_hidden() {
            return Ok(());
        }
        let style = self.colour(role).mix(alpha).filled();
        drawn(self.area.draw(&Polygon::new(self.device_points(points), style)))
    }

    /// A filled rectangle between two opposite corners.
    pub(crate) fn block(
        &mut self,
        corner: Point,
        opposite: Point,
        role: Role,
        alpha: f64,
    ) -> Result<(), PlotError> {
        if self.is_hidden() {
            return Ok(());
        }
        let style = self.colour(role).mix(alpha).filled();
        let corners = [self.device_point(corner), self.device_point(opposite)];
        drawn(self.area.draw(&Rectangle::new(corners, style)))
    }

    /// A filled disc.
    pub(crate) fn disc(&mut self, centre: Point, px: f64, role: Role) -> Result<(), PlotError> {
        if self.is_hidden() {
            return Ok(());
        }
        let radius = (px * self.factor).round().max(1.0) as i32;
        let style = self.colour(role).filled();
        drawn(self.area.draw(&Circle::new(self.device_point(centre), radius, style)))
    }

    /// Words with their baseline at the point.
    pub(crate) fn words(
        &mut self,
        at: Point,
        text: &str,
        look: Lettering,
    ) -> Result<(), PlotError> {
        self.written(at, text, look, FontTransform::None)
    }

    /// A name that runs upwards from the point, in at most `px` logical pixels.
    pub(crate) fn name_upwards(
        &mut self,
        at: Point,
        name: &str,
        px: f64,
        look: Lettering,
    ) -> Result<(), PlotError> {
        if self.is_hidden() {
            return Ok(());
        }
        let short = fitted(name, px, look.size);
        self.written(at, &short, look, FontTransform::Rotate270)?;
        if short != name {
            self.shortened.push((short, name.to_owned()));
        }
        Ok(())
    }

    fn written(
        &mut self,
        at: Point,
        text: &str,
        look: Lettering,
        turn: FontTransform,
    ) -> Result<(), PlotError> {
        if self.is_hidden() {
            return Ok(());
        }
        let em = look.size * self.factor;
        let style = if look.is_bold { FontStyle::Bold } else { FontStyle::Normal };
        let (size, lift) = match self.medium {
            Medium::Vector => (em * PLOTTERS_PER_EM, 0.0),
            Medium::Pixels => {
                let size = em * PLOTTERS_PER_EM * PIXEL_FONT_RATIO;
                (size, size / 2.0)
            }
        };
        let font = (FontFamily::SansSerif, size, style).into_text_style(self.area);
        let colour = self.colour(look.role);
        let is_turned = matches!(turn, FontTransform::Rotate270);
        let font = font.pos(Pos::new(look.anchor, VPos::Top)).color(&colour).transform(turn);
        // The built-in font has one thin weight: pixels get it by printing side by side.
        let spread = match (self.medium, look.is_bold) {
            (Medium::Vector, _) => 0.0,
            (Medium::Pixels, false) => 0.2,
            (Medium::Pixels, true) => 0.55,
        };
        let (x, y) = self.device_point(at);
        for step in 0..=(spread * self.factor).round() as i32 {
            let corner = match is_turned {
                true => (x - lift.round() as i32, y - step),
                false => (x + step, y - lift.round() as i32),
            };
            drawn(self.area.draw(&Text::new(text, corner, font.clone())))?;
        }
        Ok(())
    }

    /// A name in at most `px` logical pixels; the full one is kept for a tooltip.
    pub(crate) fn name(
        &mut self,
        at: Point,
        name: &str,
        px: f64,
        look: Lettering,
    ) -> Result<(), PlotError> {
        if self.is_hidden() {
            return Ok(());
        }
        let short = fitted(name, px, look.size);
        self.words(at, &short, look)?;
        if short != name {
            self.shortened.push((short, name.to_owned()));
        }
        Ok(())
    }

    fn colour(&self, role: Role) -> RGBColor {
        let (red, green, blue) = role.rgb(self.theme);
        RGBColor(red, green, blue)
    }

    fn device_point(&self, at: Point) -> (i32, i32) {
        let pixel = |it: f64| (it * self.factor).round() as i32;
        (pixel(at.0 + self.origin.0), pixel(at.1 + self.origin.1))
    }

    fn device_points(&self, points: &[Point]) -> Vec<(i32, i32)> {
        points.iter().map(|it| self.device_point(*it)).collect()
    }
}

fn drawn<T, E: std::error::Error + Send + Sync>(
    result: Result<T, plotters::drawing::DrawingAreaErrorKind<E>>,
) -> Result<T, PlotError> {
    result.map_err(|it| PlotError::Draw { message: it.to_string() })
}

/// About how wide the words are, in logical pixels; rather too much than too little.
pub(crate) fn width_of(text: &str, size: f64) -> f64 {
    text.width() as f64 * LETTER_EM * size
}

/// The name, shortened to so many logical pixels.
pub(crate) fn fitted(name: &str, px: f64, size: f64) -> String {
    let most = (px / (LETTER_EM * size)).floor().max(3.0) as usize;
    let mut short = shorten(name, most);
    let mut letters = most;
    while width_of(&short, size) > px && letters > 3 {
        letters -= 1;
        short = shorten(name, letters);
    }
    short
}
