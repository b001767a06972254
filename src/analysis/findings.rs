//! What a recording means: the result types of every analysis.
//!
//! They are printed as JSON as they stand, so names carry their unit and unknown is `None`.

use crate::analysis::counted_together::CountedTogether;
use crate::analysis::evidence::Evidence;
use crate::analysis::extents::BurstExtent;
use crate::analysis::influence::findings::InfluenceFindings;
use crate::analysis::memory_findings::{CoActivation, MemoryFindings};
use crate::domain::blind_spot::BlindSpot;
use crate::domain::ident::{GpuId, Subject};
use crate::domain::metric::Metric;
use crate::domain::time::{TimeSpan, Timestamp};
use serde::Serialize;
use std::collections::BTreeMap;

/// Everything that the analyses found.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Findings {
    /// One entry for each GPU, in the order of the outline.
    pub devices: Vec<DeviceFindings>,
    /// Tenants of which no GPU is known.
    pub unplaced: Vec<SubjectFindings>,
    /// Who slows whom among those tenants, where the user said that they share one GPU.
    pub unplaced_influences: InfluenceFindings,
    /// What the analyses could not see, besides what the recording itself says.
    pub blind_spots: Vec<BlindSpot>,
}

impl Findings {
    /// All subjects: devices first, each followed by what lives on it, then unplaced tenants.
    pub fn subjects(&self) -> impl Iterator<Item = &SubjectFindings> {
        self.devices.iter().flat_map(|it| it.subjects.iter()).chain(&self.unplaced)
    }
}

/// What was found about a GPU and what lives on it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceFindings {
    /// The GPU.
    pub gpu: GpuId,
    /// Short name for people.
    pub label: String,
    /// Product name.
    pub model: Option<String>,
    /// The device itself first, then instances, processes and tenants that have readings.
    pub subjects: Vec<SubjectFindings>,
    /// Pairs of tenants whose bursts were seen: whether they come together.
    pub co_activations: Vec<CoActivation>,
    /// Pairs of tenants that an exporter compared: how long both were busy.
    pub counted_together: Vec<CountedTogether>,
    /// Whose peaks of memory meet, and who filled it when it ran out: of the device, or of each MIG instance.
    pub memory: Vec<MemoryFindings>,
    /// Who slows whom, and what else made somebody slow.
    pub influences: InfluenceFindings,
}

/// What was found about one subject.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SubjectFindings {
    /// The subject.
    pub subject: Subject,
    /// Short name for people.
    pub label: String,
    /// The whole recording first, then each labelled phase, then each chosen window.
    pub scopes: Vec<ScopeFindings>,
    /// Pictures of the metrics over time, over the whole recording.
    pub timelines: Vec<Timeline>,
}

impl SubjectFindings {
    /// What was found over the whole recording.
    pub fn whole(&self) -> Option<&ScopeFindings> {
        self.scopes.iter().find(|it| it.scope == Scope::Whole)
    }

    /// The picture of a metric over time.
    pub fn timeline(&self, metric: Metric) -> Option<&Timeline> {
        self.timelines.iter().find(|it| it.metric == metric)
    }
}

/// Which part of the time a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Scope {
    /// The whole recording, or the part of it that was asked for.
    Whole,
    /// Every stretch of a labelled phase.
    Phase {
        /// Its label.
        label: String,
    },
    /// A window that the user chose.
    Window {
        /// The window.
        span: TimeSpan,
    },
}

impl std::fmt::Display for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole => f.write_str("whole recording"),
            Self::Phase { label } => write!(f, "phase {label}"),
            Self::Window { span } => write!(f, "window of {:.0} s", span.seconds()),
        }
    }
}

/// What was found about one subject in one part of the time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScopeFindings {
    /// Which part of the time.
    pub scope: Scope,
    /// Mean, range and quantiles of every metric that was seen.
    pub levels: BTreeMap<Metric, Level>,
    /// Shape of the activity; `None` when no activity metric was seen.
    pub profile: Option<BurstProfile>,
    /// High utilisation that hides idle SMs; `None` when it is not there or cannot be seen.
    pub utilisation_trap: Option<UtilisationTrap>,
    /// Sentences for people.
    pub evidence: Vec<Evidence>,
}

/// How high one metric stood, in the metric's own unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Level {
    /// Number of samples.
    pub samples: u64,
    /// Mean of the samples.
    pub mean: f64,
    /// Standard deviation of the samples (population).
    pub standard_deviation: f64,
    /// Least sample.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Greatest sample.
    pub max: f64,
    /// Share of samples at or above 95 % of full use; `None` for metrics without a full.
    pub saturated_ratio: Option<f64>,
}

/// SMs idle while the GPU counts as used.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct UtilisationTrap {
    /// Mean GPU utilisation, 0 to 1.
    pub gpu_utilization_ratio: f64,
    /// Mean SM activity in the same part of the time, 0 to 1.
    pub sm_active_ratio: f64,
}

/// Burst shape of one subject's activity: duty, bursts, gaps, scales, rhythm and resolution.
///
/// Activity is a busy fraction from 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BurstProfile {
    /// The metric that stands for activity here.
    pub metric: Metric,
    /// Number of samples.
    pub samples: u64,
    /// First to last sample.
    pub span: TimeSpan,
    /// Median time between samples, in seconds.
    pub stride_s: f64,
    /// Time that one sample averages over, in seconds.
    pub window_s: f64,
    /// Whether the source states the window; otherwise it is the driver's usual one.
    pub window_is_stated: bool,
    /// Stretches without a hole.
    pub segments: u64,
    /// Mean busy fraction.
    pub mean_ratio: f64,
    /// Standard deviation of the samples.
    pub standard_deviation_ratio: f64,
    /// Share of samples at or above each level.
    pub duty: Duty,
    /// Greatest sample over mean; `None` when the mean is zero.
    pub peak_to_mean: Option<f64>,
    /// 95th percentile over mean; `None` when the mean is zero.
    pub p95_to_mean: Option<f64>,
    /// Greatest sample over root mean square; `None` when all are zero.
    pub crest_factor: Option<f64>,
    /// Bursts and gaps; `None` when the trace is flat or the resolution forbids them.
    pub bursts: Option<Bursts>,
    /// Coefficient of variation of demand, averaged over longer and longer windows.
    pub demand_cv: Vec<ScaleValue>,
    /// Allan factor of burst onsets over longer and longer windows.
    pub allan_factor: Vec<ScaleValue>,
    /// Slope of the Allan factor in log-log; `None` without enough bursts.
    pub allan_slope: Option<f64>,
    /// Dominant period; `None` when there is none.
    pub period: Option<PeriodFinding>,
    /// Correlation of neighbouring samples; `None` when constant.
    pub lag1_correlation: Option<f64>,
    /// Variance over what it would be if every burst were longer than the window; see METHODS.
    pub blur_index: Option<f64>,
    /// What the sampling allows to be said.
    pub resolution: Resolution,
    /// Stretches of different mean, found by PELT; one when there was no change.
    pub regimes: Vec<Regime>,
}

/// Share of samples at or above a level of activity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Duty {
    /// At or above 5 %: used at all.
    pub at_5_pct: f64,
    /// At or above 50 %.
    pub at_50_pct: f64,
    /// At or above 95 %: saturated.
    pub at_95_pct: f64,
}

/// Bursts and the gaps between them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bursts {
    /// A burst begins at or above this activity.
    pub on_ratio: f64,
    /// A burst ends below this activity.
    pub off_ratio: f64,
    /// Lengths of bursts.
    pub burst_lengths: Lengths,
    /// Lengths of gaps.
    pub gap_lengths: Lengths,
    /// Median of the bursts' heights; a height is the 95th percentile inside the burst.
    pub height_p50_ratio: f64,
    /// Greatest height.
    pub height_max_ratio: f64,
    /// Median busy time of a burst, in seconds.
    pub mass_p50_s: f64,
    /// Share of time inside bursts.
    pub on_ratio_of_time: f64,
    /// Burstiness of the gaps between onsets, -1 regular, 0 random, 1 clustered; `None` with too few.
    pub burstiness: Option<f64>,
    /// Memory of the gaps between onsets, -1 to 1; `None` with fewer than 20 bursts.
    pub memory: Option<f64>,
    /// Index of dispersion of onsets per ten windows; 1 is random; `None` with too few.
    pub index_of_dispersion: Option<f64>,
    /// Burst lengths as a histogram, each bin twice as long as the one before.
    pub histogram: Vec<LengthBin>,
    /// Time spent at each height, by exact burst length; too long to be printed.
    #[serde(skip)]
    pub extents: Vec<BurstExtent>,
}

/// A set of lengths; those cut off by the recording's ends count, but do not enter the quantiles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Lengths {
    /// How many.
    pub count: u64,
    /// How many of them were cut off by an end or a hole.
    pub censored: u64,
    /// Median, in seconds; `None` when all are cut off.
    pub p50_s: Option<f64>,
    /// 90th percentile, in seconds.
    pub p90_s: Option<f64>,
    /// Longest, in seconds, cut-off ones included.
    pub max_s: Option<f64>,
}

/// How many bursts lie between two lengths, and how much of the time they take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LengthBin {
    /// Lower limit, included, in seconds.
    pub from_s: f64,
    /// Upper limit, excluded, in seconds.
    pub until_s: f64,
    /// How many, those that were cut off left out.
    pub count: u64,
    /// Share of all time that bursts of this length take, those that were cut off included.
    pub time_ratio: f64,
    /// Mean height of that time, 0 to 1; `None` when there is none.
    pub height_ratio: Option<f64>,
}

/// A value at a time scale.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ScaleValue {
    /// Length of the averaging window, in seconds.
    pub scale_s: f64,
    /// The value; no unit.
    pub value: f64,
}

/// A rhythm.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PeriodFinding {
    /// Length, in seconds.
    pub period_s: f64,
    /// Height of its peak, 0 to 1.
    pub strength: f64,
    /// How it was found.
    pub method: PeriodMethod,
}

/// How a period was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PeriodMethod {
    /// Autocorrelation of evenly spaced samples.
    Autocorrelation,
    /// Lomb-Scargle periodogram, for samples with holes.
    LombScargle,
}

/// A stretch of steady mean.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Regime {
    /// When.
    pub span: TimeSpan,
    /// Mean activity in it.
    pub mean_ratio: f64,
}

/// What the sampling allows to be said about bursts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Resolution {
    /// The verdict.
    pub verdict: ResolutionVerdict,
    /// The verdict as a sentence with its numbers.
    pub sentence: String,
    /// Length of a burst, where it had to be inferred; `None` where it was seen or cannot be known.
    pub estimated_burst: Option<EstimatedLength>,
    /// Interval between samples that would settle it, in seconds; `None` when nothing more is needed.
    pub needed_interval_s: Option<f64>,
    /// Chance that a typical burst falls between two samples; `None` without gaps between samples.
    pub miss_probability: Option<f64>,
}

/// What the sampling allows to be said about bursts; see METHODS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResolutionVerdict {
    /// Nothing to resolve: the activity hardly moves and lies near zero or near full.
    Constant,
    /// Bursts last at least three windows: lengths as measured.
    Resolved,
    /// Bursts last one to three windows: lengths are upper limits.
    PartlyResolved,
    /// Bursts are shorter than the window: only an estimate of their length.
    ShorterThanWindow,
    /// Steady at this scale: bursts, if any, are far shorter than the window.
    SteadyAtThisScale,
    /// Samples are too far apart for lengths: only shares and heights.
    Sparse,
    /// Too few samples for any of this.
    TooFewSamples,
}

/// A length that was inferred, with the limits that the method allows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EstimatedLength {
    /// Best guess, in seconds.
    pub about_s: f64,
    /// Lower limit, in seconds.
    pub low_s: f64,
    /// Upper limit, in seconds.
    pub high_s: f64,
}

/// A picture of one metric over time: least, mean and greatest value of each bin, never a plain mean.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timeline {
    /// The metric.
    pub metric: Metric,
    /// Bins in time order; a bin without samples is left out.
    pub bins: Vec<TimelineBin>,
    /// Length of a bin, in seconds.
    pub bin_s: f64,
}

/// One bin of a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TimelineBin {
    /// Start.
    pub at: Timestamp,
    /// Least sample.
    pub low: f64,
    /// Mean of the samples.
    pub mean: f64,
    /// Greatest sample.
    pub high: f64,
}
