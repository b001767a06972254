//! What a recording means for memory: who peaks with whom, and who filled the device when it ran out.

use crate::analysis::evidence::{Confidence, Evidence};
use crate::domain::blind_spot::BlindSpot;
use crate::domain::ident::Subject;
use crate::domain::time::Timestamp;
use crate::stats::staircase::Staircase;
use serde::{Deserialize, Serialize};

/// Memory that tenants share: of a whole GPU, or of one MIG instance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryFindings {
    /// Whose memory it is.
    pub space: Subject,
    /// Short name of it.
    pub label: String,
    /// Whether what tenants hold can be believed.
    pub reporting: MemoryReporting,
    /// Length of a step of the grid on which they are compared, in seconds.
    pub step_s: f64,
    /// Time in which all tenants were seen, in seconds.
    pub seen_s: f64,
    /// Time between two samples of the tenant that was seen least often, in seconds; `None` without tenants.
    pub sample_interval_s: Option<f64>,
    /// Memory that there is, in bytes; `None` when it was not recorded.
    pub total_bytes: Option<f64>,
    /// What the driver keeps for itself, in bytes; `None` when it was not recorded.
    pub reserved_bytes: Option<f64>,
    /// In use and nobody's, in bytes: contexts and processes that are not visible (median); `None` unless both sides were seen.
    pub unattributed_bytes: Option<f64>,
    /// What is left for tenants: total less reserve less nobody's, in bytes; `None` without a total.
    pub room_bytes: Option<f64>,
    /// Whether a part of what has to be taken off the total is unknown, so that there may be less room.
    pub room_is_upper_limit: bool,
    /// Greatest sum of all tenants at one instant, in bytes.
    pub peak_of_sum_bytes: Option<f64>,
    /// Sum of every tenant's own peak, in bytes.
    pub sum_of_peaks_bytes: Option<f64>,
    /// Peak of the sum over sum of the peaks: 1 when all peaks fall on one instant.
    pub coincidence_ratio: Option<f64>,
    /// Time in which less than 2 % of the room was free, in seconds; `None` without a total.
    pub full_s: Option<f64>,
    /// Share of time in which the tenants held more than the room together; `None` without a total.
    pub over_room_ratio: Option<f64>,
    /// How often their sum rose above the room while it was seen; `None` without a total.
    pub over_room_crossings: Option<u64>,
    /// Every tenant, the highest peak first.
    pub residents: Vec<MemoryResident>,
    /// Pairs of tenants whose memory swings: whether the peaks come together.
    pub pairs: Vec<CoActivation>,
    /// Moments at which the memory ran out, or seems to have.
    pub out_of_memory: Vec<OutOfMemory>,
    /// What was drawn.
    #[serde(skip)]
    pub picture: MemoryPicture,
    /// Sentences for people.
    pub evidence: Vec<Evidence>,
    /// What could not be seen.
    pub blind_spots: Vec<BlindSpot>,
}

/// What was seen to be held in one memory, without who met whom.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryHeld {
    /// Whose memory it is.
    pub space: Subject,
    /// Whether what tenants hold can be believed.
    pub reporting: MemoryReporting,
    /// Length of a step of the stairs, in seconds.
    pub step_s: f64,
    /// Memory that there is, in bytes; `None` when it was not recorded.
    pub total_bytes: Option<f64>,
    /// What the driver keeps for itself, in bytes; `None` when it was not recorded.
    pub reserved_bytes: Option<f64>,
    /// Every tenant, the highest peak first.
    pub residents: Vec<MemoryResident>,
    /// All that is in use, as if it were one tenant; `None` when the device never said.
    pub whole: Option<MemoryResident>,
}

/// Whether what tenants hold can be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryReporting {
    /// Tenants report what they hold.
    Reported,
    /// Tenants report far less than the device has in use, as parts with unified memory do.
    UnderReported,
    /// No tenant reports anything.
    Absent,
}

/// How one tenant holds memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryResident {
    /// Short name.
    pub label: String,
    /// The same as a subject.
    pub subject: Subject,
    /// Time between two samples of it, in seconds.
    pub sample_interval_s: f64,
    /// Share of the time in which it was there, 0 to 1.
    pub present_ratio: f64,
    /// Median while it was there, in bytes.
    pub p50_bytes: f64,
    /// 99th percentile while it was there, in bytes.
    pub p99_bytes: f64,
    /// Greatest, in bytes.
    pub peak_bytes: f64,
    /// Greatest rise from one sample to the next within a life, in bytes.
    pub largest_rise_bytes: f64,
    /// Lives that were seen: a restart begins a new one.
    pub lives: u64,
    /// Whether it never gave memory back within a life although it grew: a caching allocator. `None` when it hardly moved.
    pub keeps_what_it_takes: Option<bool>,
    /// How long it stands at which height, and how often it rises: what a forecast needs.
    #[serde(skip)]
    pub staircase: Option<Staircase>,
}

/// Whether two tenants of one GPU are high at the same time: in activity, or in memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CoActivation {
    /// One of the two.
    pub first: Subject,
    /// The other.
    pub second: Subject,
    /// Samples in which both were seen.
    pub samples: u64,
    /// Time in which both were in a burst, or near their peaks, in seconds.
    pub overlap_s: f64,
    /// The same, if they knew nothing of each other, in seconds.
    pub expected_overlap_s: f64,
    /// Overlap over expected overlap; `None` when one of them is never in a burst.
    pub lift: Option<f64>,
    /// Chance of such an overlap when one is shifted against the other; `None` with too few samples.
    pub p_value: Option<f64>,
    /// The same with the search over all pairs of the GPU paid for (Benjamini-Hochberg).
    pub q_value: Option<f64>,
    /// Peak of the sum over sum of the peaks: 1 when they peak together, 1/2 when equal peaks never meet.
    pub coincidence_ratio: Option<f64>,
    /// Time in which both stood at or above their own 95th percentile, in seconds.
    pub joint_high_s: f64,
    /// The same, if they knew nothing of each other, in seconds.
    pub expected_joint_high_s: f64,
    /// How the two rhythms lie to each other.
    pub phase: PhaseRelation,
    /// How firmly the bursts of one keep their place in the cycles of the other, 0 to 1; `None` with too few.
    pub phase_concentration_ratio: Option<f64>,
    /// Chance of such a concentration without a common clock, over all pairs of the GPU.
    pub phase_q_value: Option<f64>,
}

/// How two rhythms lie to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseRelation {
    /// They are high together more often than chance has it: one trigger, or one upstream.
    Together,
    /// They keep a fixed distance, as staggered cron jobs do, and are not high together.
    TakingTurns,
    /// Nothing ties them together.
    Independent,
    /// Too few bursts to tell.
    Unknown,
}

/// A moment at which memory ran out, or seems to have, with who had taken it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutOfMemory {
    /// What was seen.
    pub kind: OutOfMemoryKind,
    /// The last instant before it, as far as the sampling shows.
    #[serde(rename = "at_us")]
    pub at: Timestamp,
    /// How far the instant may be off, in seconds.
    pub at_uncertainty_s: f64,
    /// Short name of the tenant that was lost; `None` when nobody was.
    pub failed: Option<String>,
    /// Free just before, in bytes; `None` without a total.
    pub free_bytes: Option<f64>,
    /// The most that the lost tenant was seen to take at once at any other time, in bytes; `None` when nobody was lost.
    pub usual_rise_bytes: Option<f64>,
    /// The last Xid within 10 s before, which speaks for another cause; 43 and 45 follow from a process that ends and are not named.
    pub xid_code: Option<u32>,
    /// Who is named.
    pub blame: Blame,
    /// Short names of those who are named, the largest share first.
    pub named: Vec<String>,
    /// Everybody who was there, the largest share first.
    pub shares: Vec<MemoryShare>,
    /// How sure it is that memory ran out and that the named one had taken it.
    pub confidence: Confidence,
    /// One sentence with its numbers.
    pub sentence: String,
    /// What was not seen about it, each in a sentence.
    pub unseen: Vec<String>,
}

/// What was seen of a moment without memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutOfMemoryKind {
    /// A tenant lost all its memory while less than 2 % was free.
    LostWhileFull,
    /// A tenant lost all its memory while less was free than it was seen to take at once at other times.
    LostWhileTight,
    /// Less than 0.5 % was free, and everybody lived on.
    FullOnly,
    /// The user named the moment.
    Asked,
}

/// Who is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Blame {
    /// One tenant has more than half of the growth.
    OneTenant,
    /// Several share the growth.
    Several,
    /// Nobody had grown: the tenant that was lost asked for more than was left beside everybody's usual memory.
    OwnRequest,
    /// What each tenant held was not seen.
    CannotTell,
}

/// What one tenant had taken when memory ran out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryShare {
    /// Short name.
    pub label: String,
    /// Held just before, in bytes.
    pub held_bytes: f64,
    /// Its own baseline before: the median of its life, in bytes.
    pub baseline_bytes: f64,
    /// Part of all growth above the baselines, 0 to 1; `None` when nobody had grown.
    pub share_ratio: Option<f64>,
    /// The same by Shapley's value of what did not fit; `None` when it all fitted, or with more than eight who grew.
    pub shapley_ratio: Option<f64>,
    /// Whether it stood at or above its own 99th percentile.
    pub is_above_own_p99: bool,
    /// How long before the moment its last growth began, in seconds; `None` when it had not grown.
    pub grew_before_s: Option<f64>,
    /// Whether its growth began last.
    pub is_last_to_grow: bool,
    /// Whether it is the one that was lost.
    pub has_failed: bool,
}

/// Stacked memory over time in a bounded number of bins.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MemoryPicture {
    /// Start of the first bin.
    pub from: Timestamp,
    /// Length of a bin, in seconds.
    pub bin_s: f64,
    /// The tenants from the bottom up.
    pub layers: Vec<MemoryLayer>,
    /// Least sum of all tenants in each bin, in bytes; `None` where not all were seen.
    pub low_bytes: Vec<Option<f64>>,
    /// Greatest use of the device in each bin, in bytes; `None` where it was not seen.
    pub used_bytes: Vec<Option<f64>>,
}

/// One tenant in a stack.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryLayer {
    /// Short name.
    pub label: String,
    /// The same as a subject.
    pub subject: Subject,
    /// Held at the instant of the bin at which all held most together, in bytes; `None` where not all were seen.
    pub bytes: Vec<Option<f64>>,
}
