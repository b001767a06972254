//! Why there is no prediction, and the cheapest measurement that would allow one.

use crate::domain::shares::share;
use serde::Serialize;
use std::fmt;

/// Why there is no prediction for a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Refusal {
    /// It never worked while it was recorded.
    NeverActive,
    /// It fills the GPU alone, so that its queue has no steady length even without company.
    SaturatedAlone {
        /// Share of the time that its work fills.
        busy_share: f64,
    },
    /// Its queue would grow without end.
    QueueGrows {
        /// Share of its requests that were not done when the replay ended.
        never_done: f64,
    },
    /// It, or somebody beside it, was recorded for fewer than three bursts.
    TooFewBursts {
        /// How many were seen.
        seen: usize,
    },
    /// Under MIG, somebody has no slice.
    NoSlice,
    /// No set of MIG instances that can stand beside each other holds them all.
    NoSplit,
    /// More tenants than can be replayed together.
    TooManyTenants {
        /// The most that can be.
        most: usize,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeverActive => write!(f, "it never worked while it was recorded"),
            Self::SaturatedAlone { busy_share } => {
                write!(f, "it fills {} of the GPU alone", share(*busy_share))
            }
            Self::QueueGrows { never_done } => write!(
                f,
                "its queue would grow without end: {} of its requests were not done in time",
                share(*never_done)
            ),
            Self::TooFewBursts { seen } => write!(f, "only {seen} bursts were recorded"),
            Self::NoSlice => write!(f, "a tenant has no MIG slice"),
            Self::NoSplit => write!(f, "no set of MIG instances holds all tenants"),
            Self::TooManyTenants { most } => write!(f, "more than {most} tenants"),
        }
    }
}

impl Refusal {
    /// The cheapest measurement, or change, that would allow a prediction.
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::NeverActive => "record it while it works",
            Self::SaturatedAlone { .. } => "give it a GPU of its own, or fewer requests",
            Self::QueueGrows { .. } => {
                "choose a way to share that leaves it more, or a neighbour that is busy less"
            }
            Self::TooFewBursts { .. } => {
                "record until at least three bursts, better thirty, were seen"
            }
            Self::NoSlice => "name the slice of every tenant",
            Self::NoSplit => "ask about fewer tenants, or about one that needs less memory",
            Self::TooManyTenants { .. } => "ask about fewer tenants; alike ones may be joined",
        }
    }
}
