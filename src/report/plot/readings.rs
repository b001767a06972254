//! What a picture can be asked for: values behind a time axis, and words behind places.

use crate::analysis::findings::TimelineBin;
use crate::domain::metric::Unit;
use crate::domain::time::{TimeSpan, Timestamp};
use crate::report::plot::canvas::Point;

/// What a picture tells besides its marks, in logical pixels from the upper left corner.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Readings {
    /// Values over time; `None` for a picture without a time axis.
    pub chart: Option<Chart>,
    /// Places with their words, in reading order.
    pub spots: Vec<Spot>,
}

/// A rectangle with what it stands for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spot {
    /// One corner.
    pub corner: Point,
    /// The corner opposite.
    pub opposite: Point,
    /// Whom it is about and its values with their units.
    pub words: String,
}

/// Rows over one time axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chart {
    /// The time axis.
    pub span: TimeSpan,
    /// Where it begins and ends.
    pub sides: (f64, f64),
    /// Top of the grid and bottom of the lowest row.
    pub ends: (f64, f64),
    /// Baseline of the days below the axis.
    pub days_at: f64,
    /// Labelled stretches behind all rows.
    pub phases: Vec<(String, TimeSpan)>,
    /// Instants that are marked through all rows.
    pub moments: Vec<Timestamp>,
    /// From top to bottom.
    pub rows: Vec<ChartRow>,
}

/// One row of a chart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChartRow {
    /// Whom it is about; empty when the series say it.
    pub name: String,
    /// Top and bottom.
    pub ends: (f64, f64),
    /// Values at the bottom and at the top.
    pub values: (f64, f64),
    /// Whether the row is logarithmic.
    pub is_logarithmic: bool,
    /// Unit of the values.
    pub unit: Unit,
    /// The series, in reading order.
    pub series: Vec<ChartSeries>,
    /// Shaded stretches.
    pub shades: Vec<TimeSpan>,
}

/// One series of a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChartSeries {
    /// What it shows; empty when the row says it.
    pub name: String,
    /// Its hue, a name of the palette.
    pub hue: &'static str,
    /// What is known of a bin.
    pub reading: Reading,
    /// Length of a bin, in seconds.
    pub bin_s: f64,
    /// Bins in the row's unit; a bin without samples is left out.
    pub bins: Vec<TimelineBin>,
}

/// What a series says about a bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Mean, least and greatest sample; the range is drawn.
    Range,
    /// The same; only the mean is drawn.
    Mean,
    /// One value.
    Value,
    /// One value, which stands on the layers before it.
    Layer,
    /// One value, drawn as a line over layers.
    Least,
}
