//! What is drawn in a picture: data only, no colours and no pixels.

use crate::analysis::findings::{Duty, LengthBin, ScaleValue, TimelineBin};
use crate::domain::time::TimeSpan;

/// A picture, as data.
#[derive(Debug, Clone, PartialEq)]
pub enum Figure {
    /// Who used the device when.
    Timeline(TimelineFigure),
    /// One series at a glance, without axes: from 0 to 100 % over its whole time.
    Strip {
        /// From left to right.
        span: TimeSpan,
        /// In percent.
        series: RowSeries,
    },
    /// Share of time at or above 5, 50 and 95 %.
    DutyBars(Vec<DutyBar>),
    /// How much demand varies when averaged over longer and longer windows.
    DemandCv(Vec<CvCurve>),
    /// How long bursts last.
    BurstHistogram(Vec<HistogramPanel>),
    /// Memory in use, typically and at most.
    MemoryBars {
        /// The device first, then loads.
        bars: Vec<MemoryBar>,
        /// Memory of the device, in bytes; `None` when it was not recorded.
        total_bytes: Option<f64>,
    },
}

/// Empty room around a picture that stands alone, in pixels.
pub(crate) const MARGIN: u32 = 16;

impl Figure {
    /// Width and height in pixels at which the picture is easy to read, with its margin.
    pub fn natural_size(&self) -> (u32, u32) {
        let (width, height) = self.content_size();
        (width + 2 * MARGIN, height + 2 * MARGIN)
    }

    /// The same without a margin, for a place that has one.
    pub(crate) fn content_size(&self) -> (u32, u32) {
        match self {
            Self::Timeline(it) => (960, 64 + 104 * it.rows.len() as u32),
            Self::Strip { .. } => (880, 46),
            Self::DutyBars(bars) => (960, 78 + 30 * bars.len() as u32),
            Self::DemandCv(_) => (400, 290),
            Self::BurstHistogram(panels) => (400, 60 + 120 * panels.len() as u32),
            Self::MemoryBars { bars, .. } => (400, 60 + 30 * bars.len() as u32),
        }
    }
}

/// Several rows that share one time axis.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineFigure {
    /// The time axis.
    pub span: TimeSpan,
    /// From top to bottom.
    pub rows: Vec<TimelineRow>,
    /// Labelled stretches, drawn behind all rows.
    pub phases: Vec<(String, TimeSpan)>,
}

/// One row of a timeline: an axis of its own, one or more series.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineRow {
    /// Whom it is about.
    pub name: String,
    /// What the axis counts.
    pub axis: Axis,
    /// Top of the axis, in the axis' unit; the bottom is 0.
    pub top: f64,
    /// A line not to be crossed, in the axis' unit, with its name.
    pub limit: Option<(f64, String)>,
    /// The series, the most important first.
    pub series: Vec<RowSeries>,
}

/// What the axis of a row counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// Activity, in percent.
    Percent,
    /// Memory, in bytes.
    Bytes,
}

/// One series of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct RowSeries {
    /// What it shows; empty when the row says it.
    pub name: String,
    /// Whose colour it has.
    pub colour: SeriesColour,
    /// Whether the range from least to greatest is drawn around the mean.
    pub shows_range: bool,
    /// Length of a bin, in seconds.
    pub bin_s: f64,
    /// Bins in the axis' unit; a bin without samples is left out.
    pub bins: Vec<TimelineBin>,
}

/// The same subject has the same colour in all pictures of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesColour {
    /// The device itself.
    Device,
    /// A second reading of the device.
    DeviceSecond,
    /// The tenant or process of this rank.
    Resident(usize),
}

/// Duty of one subject.
#[derive(Debug, Clone, PartialEq)]
pub struct DutyBar {
    /// Whom it is about.
    pub name: String,
    /// Shares from 0 to 1.
    pub duty: Duty,
    /// Mean activity, from 0 to 1.
    pub mean_ratio: f64,
}

/// Demand CV of one subject.
#[derive(Debug, Clone, PartialEq)]
pub struct CvCurve {
    /// Whom it is about.
    pub name: String,
    /// Whose colour it has.
    pub colour: SeriesColour,
    /// By growing window.
    pub points: Vec<ScaleValue>,
}

/// Burst lengths of one subject.
#[derive(Debug, Clone, PartialEq)]
pub struct HistogramPanel {
    /// Whom it is about.
    pub name: String,
    /// Whose colour it has.
    pub colour: SeriesColour,
    /// Bins by growing length, each twice as long as the one before.
    pub bins: Vec<LengthBin>,
    /// Median burst, in seconds; `None` when all are cut off.
    pub p50_s: Option<f64>,
    /// Time that one sample averages over, in seconds: nothing shorter can be seen.
    pub window_s: f64,
}

/// Memory of one subject.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryBar {
    /// Whom it is about.
    pub name: String,
    /// Whose colour it has.
    pub colour: SeriesColour,
    /// Median, in bytes.
    pub median_bytes: f64,
    /// Greatest, in bytes.
    pub peak_bytes: f64,
}
