//! What differs between two recordings: the result types.
//!
//! They are printed as JSON as they stand, so names carry their unit and unknown is `None`.

use crate::analysis::influence::findings::InfluenceVerdict;
use crate::domain::metric::Metric;
use crate::domain::time::TimeSpan;
use serde::Serialize;

/// Everything that differs between a recording before a change and one after it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The recording before.
    pub before: SideSummary,
    /// The recording after.
    pub after: SideSummary,
    /// The kind of answer.
    pub answer: ComparisonAnswer,
    /// The answer in one sentence or two, with its numbers.
    pub headline: String,
    /// What tenants measure of themselves, tenant by tenant: this is what the answer stands on.
    pub services: Vec<ServiceChange>,
    /// What else changed on the devices: activity, saturation, power, clock, temperature.
    pub conditions: Vec<ConditionChange>,
    /// Shapes of load and memory side by side; these are not tested.
    pub shapes: Vec<ShapePair>,
    /// Who slowed whom, before and after; each side was tested by itself.
    pub influences: Vec<InfluencePair>,
    /// Who or what is in one of the recordings only.
    pub only_in_one: Vec<OneSided>,
    /// Whether both are the same recording, so that nothing can differ.
    pub is_same: bool,
    /// How the two were matched, and what could not be compared, in sentences.
    pub remarks: Vec<String>,
    /// Tests among `services` and among `conditions`: the error of 5 % holds over all of each.
    pub tests: TestCounts,
}

/// One of the two recordings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SideSummary {
    /// Name for people.
    pub name: String,
    /// What was compared of it; `None` when there is no sample.
    pub span: Option<TimeSpan>,
    /// Length of that, in seconds.
    pub length_s: Option<f64>,
    /// Length of the whole recording, in seconds; `None` when all of it was compared.
    pub part_of_s: Option<f64>,
}

/// Which of the two recordings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Before the change.
    Before,
    /// After it.
    After,
}

/// What became of the services, the weightiest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonAnswer {
    /// Something became worse, and nothing better.
    Worse,
    /// Something became better, and nothing worse.
    Better,
    /// Some became worse and some better.
    Mixed,
    /// Nothing was shown; `mde_ratio` of each says how large a change could have hidden.
    NotShown,
    /// No service could be compared.
    CannotTell,
}

/// How a service's own metric changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServiceChange {
    /// Name of the tenant, the same on both sides.
    pub tenant: String,
    /// What it measures of itself.
    pub metric: Metric,
    /// What was shown.
    pub verdict: ChangeVerdict,
    /// How sure that is; `None` where nothing was shown.
    pub certainty: Option<Certainty>,
    /// Whether the change is below 5 %, however sure it is.
    pub is_small: bool,
    /// Change of the typical value as a share of that before: 0.3 is 30 % more; `None` where it cannot be told.
    pub change_ratio: Option<f64>,
    /// Lower end of its 95 % interval.
    pub change_low: Option<f64>,
    /// Upper end of its 95 % interval.
    pub change_high: Option<f64>,
    /// Chance of such a change without any, in either direction.
    pub p: Option<f64>,
    /// The same over all tests of services (Holm).
    pub p_of_all: Option<f64>,
    /// Least change that would have been shown with a chance of 80 %, in this test by itself.
    pub mde_ratio: Option<f64>,
    /// No change larger than this, either way, fits what was seen (90 % interval).
    pub bound_ratio: Option<f64>,
    /// Before.
    pub before: Option<ServiceLevel>,
    /// After.
    pub after: Option<ServiceLevel>,
    /// How the tenant's own load changed, and what is left of the change without it; `None` where the load is not known.
    pub load: Option<LoadChange>,
    /// Why the verdict is what it is, in sentences.
    pub reasons: Vec<String>,
}

/// How high a service's metric stood, in its own unit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServiceLevel {
    /// Geometric mean over bins of a time; mean of a rate.
    pub typical: f64,
    /// 95th percentile over bins.
    pub p95: f64,
    /// Bins that were seen.
    pub bins: u64,
    /// Length of a bin, in seconds.
    pub bin_s: f64,
    /// Correlation of neighbouring bins; `None` where the mean could not be told.
    pub memory: Option<f64>,
}

/// How a tenant's own load changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadChange {
    /// What stands for the load.
    pub name: &'static str,
    /// Change of its mean as a share of that before.
    pub change_ratio: f64,
    /// Lower end of its 95 % interval.
    pub change_low: f64,
    /// Upper end of its 95 % interval.
    pub change_high: f64,
    /// Whether it moved so far that a change of the service may be its doing.
    pub has_moved: bool,
    /// Change of the metric at equal load; `None` where it cannot be told.
    pub adjusted_ratio: Option<f64>,
    /// Lower end of its 95 % interval.
    pub adjusted_low: Option<f64>,
    /// Upper end of its 95 % interval.
    pub adjusted_high: Option<f64>,
    /// How far the load moved, in standard deviations within the recordings; beyond 2 the adjustment is a guess.
    pub distance: Option<f64>,
}

/// What was shown about a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeVerdict {
    /// A change for the worse.
    Worse,
    /// A change for the better.
    Better,
    /// A change that is neither: of a load, or of a condition.
    Different,
    /// Nothing was shown.
    NotShown,
    /// The recordings do not allow an answer.
    CannotTell,
}

/// How sure a change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// The error over all tests is controlled, and the tenant's own load does not explain it.
    Confirmed,
    /// It is there, but the tenant's own load changed too and may explain it.
    Likely,
}

/// How a condition of a device changed, in the condition's own unit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConditionChange {
    /// Name of the device.
    pub device: String,
    /// Which condition.
    pub condition: Condition,
    /// What was shown.
    pub verdict: ChangeVerdict,
    /// Mean before; `None` where it was not recorded.
    pub before: Option<f64>,
    /// Mean after.
    pub after: Option<f64>,
    /// After less before.
    pub difference: Option<f64>,
    /// Lower end of its 95 % interval.
    pub difference_low: Option<f64>,
    /// Upper end of its 95 % interval.
    pub difference_high: Option<f64>,
    /// Chance of such a difference without any change, in either direction.
    pub p: Option<f64>,
    /// The same over all tests of conditions (Holm).
    pub p_of_all: Option<f64>,
}

/// Conditions of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// Mean activity, 0 to 1.
    ActivityRatio,
    /// Share of time at or above 95 % activity, 0 to 1.
    SaturatedRatio,
    /// Mean power, in milliwatts.
    PowerMw,
    /// Mean SM clock, in megahertz.
    SmClockMhz,
    /// Mean temperature of the GPU, in degrees Celsius.
    GpuTemperatureCelsius,
}

/// The shape of one load before and after; `None` on the side where it is not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShapePair {
    /// Name for people.
    pub name: String,
    /// Before.
    pub before: Option<ShapeSide>,
    /// After.
    pub after: Option<ShapeSide>,
    /// Why lengths and peaks of the two do not compare; `None` where they do.
    pub incomparable: Option<String>,
}

/// The shape of one load in one recording.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShapeSide {
    /// Mean activity, 0 to 1; `None` where no activity was seen.
    pub mean_ratio: Option<f64>,
    /// Share of time at or above 5, 50 and 95 % activity.
    pub duty: Option<crate::analysis::findings::Duty>,
    /// Median length of bursts, in seconds; `None` where the resolution forbids it.
    pub burst_p50_s: Option<f64>,
    /// 90th percentile of the lengths of bursts, in seconds.
    pub burst_p90_s: Option<f64>,
    /// Number of bursts.
    pub bursts: Option<u64>,
    /// Most memory in use, in bytes.
    pub memory_peak_bytes: Option<f64>,
    /// Time that one sample averages over, in seconds.
    pub window_s: Option<f64>,
}

/// What was shown about one suspect and one victim on each side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InfluencePair {
    /// Name of the one that may have done it.
    pub suspect: String,
    /// Name of the one that may have suffered.
    pub victim: String,
    /// Before; `None` where the pair was not tested.
    pub before: Option<InfluenceSide>,
    /// After.
    pub after: Option<InfluenceSide>,
}

/// What was shown about a pair in one recording, in the metric where it stands firmest.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InfluenceSide {
    /// What was shown.
    pub verdict: InfluenceVerdict,
    /// The victim's metric.
    pub metric: Metric,
    /// Change of the victim for the worse while the suspect is in a burst.
    pub effect_ratio: Option<f64>,
    /// Least change that would have been found with a chance of 80 %.
    pub mde_ratio: Option<f64>,
}

/// Something that is in one of the recordings only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OneSided {
    /// In which.
    pub side: Side,
    /// What it is.
    pub kind: OneSidedKind,
    /// Its name; of a metric, that of the tenant with the metric's.
    pub name: String,
}

/// What is in one recording only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OneSidedKind {
    /// A GPU.
    Device,
    /// A tenant.
    Tenant,
    /// A metric of a tenant.
    Metric,
}

/// Numbers of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TestCounts {
    /// Of services.
    pub services: u64,
    /// Of conditions.
    pub conditions: u64,
}

impl Comparison {
    /// Whether a service became worse for sure, by 5 % or more.
    pub fn is_regression(&self) -> bool {
        self.services.iter().any(|it| {
            it.verdict == ChangeVerdict::Worse
                && it.certainty == Some(Certainty::Confirmed)
                && !it.is_small
        })
    }
}
