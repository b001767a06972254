//! Will these tenants run out of memory together, and how soon?
//!
//! One crossing of the capacity kills, however short it is: what counts is how often the sum rises
//! above it, not for how long it stands there, and never its mean.

mod forecast;
pub mod outlook;
mod words;

pub use forecast::{forecast, phase_peaks, slices};

use crate::stats::staircase::Staircase;
use serde::{Deserialize, Serialize};

/// How much memory one tenant needs over time, and what is known of its growth.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryDemand {
    /// Short name.
    pub label: String,
    /// How long it stands at which height, in bytes, and how often it rises.
    pub stairs: Staircase,
    /// Length of a sample of the stairs, in seconds.
    pub step_s: f64,
    /// Time between two readings of it, in seconds: longer than a step where readings were held.
    pub interval_s: f64,
    /// Whether it gives nothing back within a life (a caching allocator): then it counts with its peak all the time.
    pub keeps_what_it_takes: bool,
    /// What it is configured to grow to, in bytes, for example its KV cache; `None` where nothing says so.
    pub limit_bytes: Option<f64>,
    /// More than this it cannot get, in bytes: a pinned limit of MPS; `None` without one.
    pub cap_bytes: Option<f64>,
}

/// Time between readings that are none, in seconds; a number that JSON can hold, for findings are kept.
const NEVER_S: f64 = f64::MAX;

impl MemoryDemand {
    /// The demand of a tenant that was seen at one height and not followed over time: readings so few are endlessly far apart, so
    /// that no peak is believed.
    pub fn glimpsed(label: &str, bytes: f64, samples: u64) -> Self {
        Self {
            label: label.to_owned(),
            stairs: Staircase { samples, ..Staircase::constant(bytes) },
            step_s: 1.0,
            interval_s: NEVER_S,
            keeps_what_it_takes: false,
            limit_bytes: None,
            cap_bytes: None,
        }
    }

    /// Whether it was seen and not followed over time: see [`MemoryDemand::glimpsed`].
    pub fn is_glimpse(&self) -> bool {
        self.interval_s >= NEVER_S
    }

    /// The demand of a tenant from its samples in bytes, in even segments; `None` without a sample.
    ///
    /// A tenant that grows and gives back less than 2 % of it within a life keeps what it takes.
    pub fn of(label: &str, segments: &[&[f64]], interval_s: f64) -> Option<Self> {
        let stairs = Staircase::of(segments)?;
        let (mut taken, mut given_back) = (0.0, 0.0);
        for pair in segments.iter().flat_map(|it| it.windows(2)) {
            if pair[0] > 0.0 && pair[1] > 0.0 {
                taken += (pair[1] - pair[0]).max(0.0);
                given_back += (pair[0] - pair[1]).max(0.0);
            }
        }
        let has_grown = taken > 0.05 * stairs.peak();
        Some(Self {
            label: label.to_owned(),
            keeps_what_it_takes: has_grown && given_back <= 0.02 * taken,
            stairs,
            step_s: interval_s,
            interval_s,
            limit_bytes: None,
            cap_bytes: None,
        })
    }
}

/// Memory that tenants share: of a device, or of one MIG instance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryRoom {
    /// What there is, in bytes.
    pub total_bytes: f64,
    /// What the driver keeps for itself, in bytes; `None` where it is not known.
    pub reserved_bytes: Option<f64>,
    /// What contexts, an MPS server and hidden processes hold besides, in bytes; `None` where it is not known.
    pub others_bytes: Option<f64>,
}

impl MemoryRoom {
    /// What is left for tenants, in bytes; an upper limit where a part is not known.
    pub fn bytes(&self) -> f64 {
        self.total_bytes - self.reserved_bytes.unwrap_or(0.0) - self.others_bytes.unwrap_or(0.0)
    }

    /// Whether there may be less room than [`Self::bytes`] says.
    pub fn is_upper_limit(&self) -> bool {
        self.reserved_bytes.is_none() || self.others_bytes.is_none()
    }
}

/// What a recording of all of them at once shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredPhase {
    /// Time in which all were seen, in seconds.
    pub seen_s: f64,
    /// How often their sum rose above the room, or one of them was lost because it would have.
    pub crossings: u64,
    /// How their rhythms lie to each other.
    pub phases: Phases,
}

/// How the rhythms of tenants lie to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phases {
    /// Nothing ties them together: every phase is equally likely.
    Independent,
    /// All keep fixed distances: the phase that was measured is the one to come.
    Fixed,
    /// Some peak together more often than chance has it.
    Together,
    /// It cannot be told.
    Unknown,
}

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct MemoryQuestion<'a> {
    /// Who would share.
    pub demands: &'a [MemoryDemand],
    /// What they would share.
    pub room: MemoryRoom,
    /// A recording of them together; `None` where they never ran beside each other.
    pub measured: Option<MeasuredPhase>,
    /// Times within which it may happen, in seconds.
    pub horizons_s: &'a [f64],
}

/// How likely and how soon tenants run out of the memory they share.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryForecast {
    /// What is left for tenants, in bytes.
    pub room_bytes: f64,
    /// Whether there may be less.
    pub room_is_upper_limit: bool,
    /// What they hold on average, added up, in bytes.
    pub sum_of_means_bytes: f64,
    /// Sum that 99 % of the time stays below, at independent phases, in bytes.
    pub sum_p99_bytes: f64,
    /// What they hold if all of them peak at once, in bytes.
    pub sum_of_peaks_bytes: f64,
    /// Share of time in which they would want more than there is, at independent phases.
    pub over_ratio: f64,
    /// How often the sum would rise above the room at independent phases, per hour.
    pub crossings_per_h: f64,
    /// Whether peaks were as short as a sample, so that there may be more crossings.
    pub is_lower_limit: bool,
    /// How often it did in the phase that was recorded, per hour; `None` without such a recording.
    pub measured_crossings_per_h: Option<f64>,
    /// How the phases lie to each other; `None` without a recording of all of them.
    pub phases: Option<Phases>,
    /// What the answer stands on.
    pub basis: ForecastBasis,
    /// Chance of running out within each horizon.
    pub risks: Vec<MemoryRisk>,
    /// Whether everything fits if each tenant reaches its configured limit; `None` where no limit is known.
    pub fits_at_limits: Option<bool>,
    /// Tenants that would want more than their own hard cap, with how often, per hour.
    pub beyond_own_cap: Vec<BeyondCap>,
    /// Time between samples that would allow an answer, in seconds; `None` where there is one.
    pub needed_interval_s: Option<f64>,
    /// The answer in one sentence.
    pub sentence: String,
    /// What the answer leaves out, each in a sentence.
    pub caveats: Vec<String>,
}

/// What a forecast stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ForecastBasis {
    /// It fits even if all peak at once.
    AlwaysFits,
    /// Crossings at phases that are all equally likely.
    IndependentPhases,
    /// Crossings in the phase that was measured, which stays.
    MeasuredPhase,
    /// The worse of both.
    WorseOfBoth,
    /// Growth to configured limits that was not seen yet.
    Limits,
    /// Samples are too far apart for an answer.
    Blind,
}

/// Chance of running out of memory within a time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MemoryRisk {
    /// Within this time, in seconds.
    pub horizon_s: f64,
    /// At independent phases, 0 to 1.
    pub independent_ratio: f64,
    /// In the phase that was measured, 0 to 1; `None` without such a recording.
    pub measured_ratio: Option<f64>,
    /// Up to which it may be in that phase with 95 % confidence.
    pub measured_high_ratio: Option<f64>,
    /// The one that counts, 0 to 1; `None` when the samples are too sparse.
    pub risk_ratio: Option<f64>,
}

/// A tenant that would want more than its own hard cap: its allocation fails, and nobody else's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BeyondCap {
    /// Short name.
    pub label: String,
    /// How often, per hour.
    pub per_h: f64,
}

#[cfg(test)]
mod tests;
