//! What is drawn in a picture: data only, no colours and no pixels.

mod changes;
mod fleet;
mod names;
mod size;
mod slowdowns;
mod suspects;

pub use changes::{ChangeGroup, ChangeKind, ChangeRow, ChangesFigure};
pub use fleet::{GpuBar, GpuBarsFigure, Tile, TileKind, TilePanel, TilesFigure};
pub use slowdowns::{SlowdownGroup, SlowdownRow, SlowdownsFigure, Whisker};
pub use suspects::{SuspectLane, SuspectsFigure};

use crate::analysis::findings::{Duty, LengthBin, ScaleValue, TimelineBin};
use crate::domain::time::{TimeSpan, Timestamp};
use crate::report::block::Mark;

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
    /// Memory of tenants stacked over time.
    MemoryStack(MemoryStackFigure),
    /// Who slows whom.
    Matrix(MatrixFigure),
    /// A victim over those who are suspected, on one time axis.
    Suspects(SuspectsFigure),
    /// Slowdowns of tenants under each way to share.
    Slowdowns(SlowdownsFigure),
    /// Changes from one recording to another.
    Changes(ChangesFigure),
    /// The GPUs of a fleet.
    Tiles(TilesFigure),
    /// Numbers of GPUs.
    GpuBars(GpuBarsFigure),
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
            Self::MemoryStack(_) => (960, 300),
            Self::Matrix(it) => (960, it.height()),
            Self::Suspects(it) => (960, 250 + 74 * it.lanes.len() as u32),
            Self::Slowdowns(it) => (960, it.height()),
            Self::Changes(it) => (960, it.height()),
            Self::Tiles(it) => (960, it.height()),
            Self::GpuBars(it) => (960, it.height()),
        }
    }

    /// Whether positions along the picture are instants that a reader may zoom into.
    pub(crate) fn has_time_axis(&self) -> bool {
        matches!(self, Self::Timeline(_) | Self::MemoryStack(_) | Self::Suspects(_))
    }

    /// Terms that are drawn and stand nowhere else.
    pub(crate) fn words(&self) -> Vec<&'static str> {
        match self {
            Self::DemandCv(_) => vec!["demand CV"],
            Self::Matrix(it) => it.legend().into_iter().map(|it| it.1).collect(),
            _ => Vec::new(),
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
    /// Mean of all in the axis' unit, as every table has it; `None`: that of the bins.
    pub mean: Option<f64>,
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

/// Memory of tenants stacked over time, below what there is.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryStackFigure {
    /// Start of the first bin.
    pub from: Timestamp,
    /// Length of a bin, in seconds.
    pub bin_s: f64,
    /// From the bottom up.
    pub layers: Vec<StackLayer>,
    /// Least sum of each bin, in bytes; `None` where not all were seen.
    pub low_bytes: Vec<Option<f64>>,
    /// What there is for tenants, in bytes; `None` when it is not known.
    pub room_bytes: Option<f64>,
    /// Moments at which memory ran out.
    pub moments: Vec<Timestamp>,
}

/// One tenant of a stack.
#[derive(Debug, Clone, PartialEq)]
pub struct StackLayer {
    /// Its name.
    pub name: String,
    /// Its colour.
    pub colour: SeriesColour,
    /// Held at the fullest instant of each bin, in bytes; `None` where not all were seen.
    pub bytes: Vec<Option<f64>>,
}

impl MemoryStackFigure {
    /// Number of bins.
    pub(crate) fn bins(&self) -> usize {
        self.low_bytes.len()
    }

    /// The height of the stack in a bin, in bytes; `None` where not all were seen.
    pub(crate) fn sum(&self, bin: usize) -> Option<f64> {
        let held = self.layers.iter().map(|it| it.bytes.get(bin).copied().flatten());
        held.sum::<Option<f64>>().filter(|it| it.is_finite() && !self.layers.is_empty())
    }

    /// The greatest height, in bytes.
    pub(crate) fn highest(&self) -> f64 {
        (0..self.bins()).filter_map(|it| self.sum(it)).fold(0.0, f64::max)
    }

    /// Stretches of bins in which all were seen.
    pub(crate) fn runs(&self) -> Vec<std::ops::Range<usize>> {
        let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
        for bin in (0..self.bins()).filter(|it| self.sum(*it).is_some()) {
            match runs.last_mut().filter(|it| it.end == bin) {
                Some(run) => run.end = bin + 1,
                None => runs.push(bin..bin + 1),
            }
        }
        runs
    }
}

/// Who slows whom: one row for each suspect, one column for each victim.
#[derive(Debug, Clone, PartialEq)]
pub struct MatrixFigure {
    /// From top to bottom.
    pub suspects: Vec<String>,
    /// From left to right.
    pub victims: Vec<String>,
    /// Row by row; `None` where a tenant meets itself, or was not tested.
    pub cells: Vec<Vec<Option<MatrixCell>>>,
}

/// What was shown about one suspect and one victim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatrixCell {
    /// How firm it is.
    pub mark: Mark,
    /// The change of the victim, in words that fit; empty when it is not known.
    pub value: String,
    /// What changes, and how else the value is to be read.
    pub note: String,
}

impl MatrixFigure {
    /// More victims than this leave no room for the legend beside them.
    const MOST_BESIDE: usize = 4;
    /// Height of a row, in pixels.
    pub(crate) const ROW: u32 = 56;
    /// Room above the rows, in pixels.
    const TOP: u32 = 46;
    /// The same where names run upwards.
    const HIGH_TOP: u32 = 136;
    /// More victims than this have names that run upwards, and short words in their cells.
    const MOST_WIDE: usize = 5;
    /// Height of a line of the legend, in pixels.
    pub(crate) const LINE: u32 = 26;

    /// Whether the legend stands beside the cells.
    pub(crate) fn has_legend_beside(&self) -> bool {
        self.victims.len() <= Self::MOST_BESIDE
    }

    /// Whether so many victims leave no room for long words.
    pub(crate) fn is_narrow(victims: usize) -> bool {
        victims > Self::MOST_WIDE
    }

    /// Room above the rows, in pixels.
    pub(crate) fn top(&self) -> u32 {
        if Self::is_narrow(self.victims.len()) { Self::HIGH_TOP } else { Self::TOP }
    }

    /// Marks that are drawn, with their words.
    pub(crate) fn legend(&self) -> Vec<(Mark, &'static str)> {
        let words = [
            (Mark::Firm, "confirmed"),
            (Mark::Indirect, "through the whole board"),
            (Mark::Probable, "likely"),
            (Mark::Absent, "not shown"),
            (Mark::Unknown, "cannot tell"),
        ];
        let is_drawn = |mark: Mark| self.cells.iter().flatten().flatten().any(|it| it.mark == mark);
        words.into_iter().filter(|it| is_drawn(it.0)).collect()
    }

    /// Width at which the words of the cells fit, in pixels.
    pub(crate) fn least_width(&self) -> u32 {
        let cell = if Self::is_narrow(self.victims.len()) { 60 } else { 110 };
        let legend = if self.has_legend_beside() { 236 } else { 0 };
        (184 + cell * self.victims.len() as u32 + legend).max(640)
    }

    fn height(&self) -> u32 {
        let rows = Self::ROW * self.suspects.len() as u32;
        let legend = Self::LINE * self.legend().len() as u32;
        if self.has_legend_beside() {
            self.top() + rows.max(legend) + 4
        } else {
            self.top() + rows + 34
        }
    }
}
