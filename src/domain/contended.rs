//! Time in which two tenants of one GPU were both busy, as somebody else counted it.
//!
//! `cotenant serve` compares busy stretches of tenants as it sees them and shows a sum for each pair. What
//! grew between two scrapes is kept by scrape interval, so that a part of the time can be looked at.

use crate::domain::ident::{GpuId, TenantId};
use crate::domain::time::TimeSpan;
use serde::{Deserialize, Serialize};

/// The counter in which `cotenant serve` shows them, with the ending of its kind.
pub const CONTENDED: &str = "cotenant_contended_seconds_total";
/// Label of the second tenant of a pair.
pub const OTHER_TENANT: &str = "other_tenant";
/// When an exporter began, seconds since the Unix epoch; its counters count from then.
pub const BEGAN: &str = "cotenant_start_time_seconds";
/// Name under which an exporter counts those for whom it has no place; a pair of it stands for all other pairs.
pub const OTHERS: &str = "other";

/// What was counted about the pairs of one GPU in one stretch of time, mostly between two scrapes.
///
/// Everybody on the GPU was compared with everybody else: a pair that is not listed was never busy at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContendedSpan {
    /// The GPU.
    pub gpu: GpuId,
    /// Which time it covers.
    pub span: TimeSpan,
    /// Pairs with time in common, by name.
    pub pairs: Vec<PairSeconds>,
}

/// Two tenants and the time in which both were busy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairSeconds {
    /// One of them.
    pub first: TenantId,
    /// The other.
    pub second: TenantId,
    /// Time in which both were busy at 5 % or more, seconds.
    pub seconds: f64,
}
