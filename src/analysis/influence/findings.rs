//! Who slowed whom: the result types.
//!
//! They are printed as JSON as they stand, so names carry their unit and unknown is `None`.
//! Every `effect` is a relative change for the worse: 0.18 means 18 % slower, or 18 % less throughput.

use crate::analysis::findings::Scope;
use crate::domain::ident::{GpuId, Subject};
use crate::domain::metric::Metric;
use crate::domain::time::TimeSpan;
use serde::Serialize;

/// Who slows whom on one GPU, and what else made somebody slow.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct InfluenceFindings {
    /// Every suspect against every measured victim, both directions; the surest first.
    pub pairs: Vec<Influence>,
    /// What looks like a neighbour's doing and may be something else, checked for each victim.
    pub look_alikes: Vec<LookAlike>,
    /// Time in which a neighbour may have had to wait; `None` where it cannot be seen.
    pub contention: Option<Contention>,
    /// How far the clock of each service is from the clock of the GPU's metrics.
    pub clock_offsets: Vec<ClockOffset>,
}

/// Whether one tenant slows another, in one metric of the other and one part of the time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Influence {
    /// The GPU that both live on; `None` where it is only assumed to be one.
    pub gpu: Option<GpuId>,
    /// Short name of the one that may have done it.
    pub suspect: String,
    /// The same as a subject.
    pub suspect_subject: Subject,
    /// Short name of the one that may have suffered.
    pub victim: String,
    /// The same as a subject.
    pub victim_subject: Subject,
    /// The victim's metric.
    pub metric: Metric,
    /// Which part of the time.
    pub scope: Scope,
    /// What was shown.
    pub verdict: InfluenceVerdict,
    /// Change of the victim while the suspect is in a burst; `None` when bursts cannot be told from gaps.
    pub effect_ratio: Option<f64>,
    /// Lower end of the 95 % interval of the effect.
    pub effect_low: Option<f64>,
    /// Upper end of the 95 % interval of the effect.
    pub effect_high: Option<f64>,
    /// How long the victim follows the suspect, in seconds, to the bin.
    pub lag_seconds: Option<f64>,
    /// Chance of such a help in prediction without any influence, one-sided.
    pub p_granger: Option<f64>,
    /// Chance of such a contrast between bursts and gaps, one-sided.
    pub p_event: Option<f64>,
    /// Share of false accusations among all pairs of this GPU that stand at least as firm (Benjamini and Hochberg).
    pub q: Option<f64>,
    /// The same without any assumption on how the pairs depend on each other (Benjamini and Yekutieli).
    pub q_any_dependence: Option<f64>,
    /// Least change that would have been found with a chance of 80 %.
    pub mde_ratio: Option<f64>,
    /// By which way the influence acts, where it is not the SMs, caches and memory themselves.
    pub through: Option<Channel>,
    /// Change of the victim that goes with one standard deviation of the suspect, all suspects together in one regression, at the lag where it is greatest.
    pub importance_ratio: Option<f64>,
    /// The score of CPI2, -1 to 1, as a familiar second number; 0.35 is its threshold.
    pub cpi2_score: Option<f64>,
    /// Effect in the lower, middle and upper third of the suspect's activity within bursts.
    pub dose_ratios: Vec<f64>,
    /// Length of a bin, in seconds.
    pub bin_s: f64,
    /// Bins in which victim, suspect and everything held fixed were seen; 0 where they are too few for a regression.
    pub bins: u64,
    /// Bursts of the suspect.
    pub bursts: u64,
    /// Share of time that the suspect is in a burst, 0 to 1.
    pub on_ratio_of_time: Option<f64>,
    /// What was held fixed, for example `offered load` or a tenant's name.
    pub held_fixed: Vec<String>,
    /// Why the verdict is what it is; each begins with a code in kebab case and a colon.
    pub reasons: Vec<String>,
    /// The cheapest measurement that would settle it, or prove what was shown; `None` where nothing was shown.
    pub remedy: Option<String>,
}

/// What was shown about a pair, the firmest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InfluenceVerdict {
    /// Both witnesses agree, the effect matters, and the error over all pairs is controlled.
    Confirmed,
    /// Shown as above, but it acts through something the whole board shares, which `through` names.
    Through,
    /// One witness is firm and the other does not object.
    Likely,
    /// Nothing was shown; `mde_ratio` says how large an effect could have hidden.
    NotShown,
    /// The recording does not allow an answer; `remedy` says what would.
    CannotTell,
}

/// A way by which one tenant acts on another although neither touches the other's SMs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// It drives the board into its power cap, and the clock falls for everybody.
    PowerCap,
    /// It heats the board until the clock falls for everybody.
    Heat,
    /// The clock falls with it, for a reason that was not recorded.
    Clock,
    /// It fills the PCIe link.
    Pcie,
}

/// Something that makes a tenant slow and is not, or not only, a neighbour.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LookAlike {
    /// What it is.
    pub kind: LookAlikeKind,
    /// Whether it was found.
    pub state: LookAlikeState,
    /// Short name of the tenant; `None` when it concerns the whole GPU.
    pub victim: Option<String>,
    /// The same as a subject.
    pub victim_subject: Option<Subject>,
    /// The metric in which it was looked for.
    pub metric: Option<Metric>,
    /// How much slower the victim is where it is present; `None` where that cannot be said.
    pub effect_ratio: Option<f64>,
    /// Share of the time in which it is present, 0 to 1.
    pub share_of_time: Option<f64>,
    /// When it was present, the longest stretches first, at most 20.
    pub spans: Vec<TimeSpan>,
    /// One sentence with its numbers.
    pub sentence: String,
}

/// Kinds of look-alikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LookAlikeKind {
    /// The board was held at its power limit.
    PowerCap,
    /// The board was slowed because of heat.
    ThermalSlowdown,
    /// The hardware slowed the board: power brake or an external signal.
    HardwareSlowdown,
    /// The clock was low after idleness, or for no recorded reason.
    ClockRamp,
    /// The PCIe link was full.
    PcieSaturation,
    /// An Xid or an uncorrected memory error came up.
    Fault,
    /// The victim's own load rose, or its own queue or cache was full.
    OwnQueue,
    /// The victim is slow throughout, with and without neighbours.
    SlowThroughout,
    /// Several series are the same, so that nobody can be told apart.
    MirroredSeries,
    /// A series never changes although it should.
    FrozenSeries,
    /// Victim and suspects were not seen at the same time.
    NoOverlap,
    /// The victim began slowly and warmed up, so that before and after do not compare.
    WarmUp,
}

/// Whether a look-alike is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LookAlikeState {
    /// It is there.
    Found,
    /// It was looked for and is not there.
    RuledOut,
    /// The recording does not hold what is needed to look for it.
    Unseen,
}

/// Device-level contention: the weaker evidence, which needs no victim.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contention {
    /// Tenants whose activity was seen.
    pub tenants: Vec<String>,
    /// Time in which two or more of them were active and the device was saturated, in seconds.
    pub contended_s: f64,
    /// Time in which all of this was seen, in seconds.
    pub seen_s: f64,
    /// The same by pair, the most contended first.
    pub pairs: Vec<ContendedPair>,
    /// Why this is weaker than an influence, in one sentence.
    pub caveat: String,
}

/// Contended time of two tenants.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContendedPair {
    /// Short name of one.
    pub first: String,
    /// Short name of the other.
    pub second: String,
    /// Time in which both were active and the device was saturated, in seconds.
    pub contended_s: f64,
}

/// How far a service's clock is from the clock of the GPU's metrics.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClockOffset {
    /// Short name of the service.
    pub tenant: String,
    /// The service's clock minus the GPU's, in seconds: positive when the service's stamps are too late.
    pub offset_s: f64,
    /// How it is known.
    pub origin: ClockOffsetOrigin,
    /// One sentence with its numbers.
    pub sentence: String,
}

/// How a clock offset is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockOffsetOrigin {
    /// The user gave it.
    Given,
    /// The service's own requests and its own GPU activity fit best this way.
    Estimated,
    /// One recorder stamped both, so there is none.
    SameClock,
    /// Nothing allows an estimate: the clocks are taken to agree.
    Assumed,
}
