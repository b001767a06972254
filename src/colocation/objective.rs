//! What latency a service must keep, and whether a prediction says that it does.

use crate::colocation::demand::{Assumption, Demand, Pace};
use crate::colocation::range::{Quantiles, Range};
use crate::colocation::refusal::Refusal;
use crate::colocation::whatif::TenantPrediction;
use serde::Serialize;

/// Work done over that alone from which on a queue may as well be steady at the benign end.
const STEADY: f64 = 0.99;

/// Delay by others that may be in the latency of a tenant that was not recorded alone, over what it would be without.
const DELAY_OF_OTHERS: f64 = 2.0;

/// Which quantile of the latency is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Median.
    P50,
    /// 95th percentile.
    P95,
    /// 99th percentile.
    P99,
}

impl Level {
    /// Every level with its name.
    pub const ALL: [(&'static str, Level); 3] =
        [("p50", Self::P50), ("p95", Self::P95), ("p99", Self::P99)];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P95 => "p95",
            Self::P99 => "p99",
        }
    }

    /// This one of three.
    pub fn of<T>(self, all: Quantiles<T>) -> T {
        match self {
            Self::P50 => all.p50,
            Self::P95 => all.p95,
            Self::P99 => all.p99,
        }
    }
}

/// How much is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Latency at most, seconds.
    Seconds(f64),
    /// Latency over that alone at most.
    Factor(f64),
}

/// What a service must keep.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Objective {
    /// Which quantile.
    pub level: Level,
    /// How much is allowed.
    pub limit: Limit,
}

/// Whether an objective is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Keeping {
    /// Even the adverse end keeps it.
    Met,
    /// The limit lies inside the interval, or there is no number.
    CannotTell,
    /// Even the benign end misses it.
    Missed,
}

impl Objective {
    /// Whether a tenant keeps it; `None` for one without requests, which has no latency to keep.
    pub fn kept(&self, demand: &Demand, found: &TenantPrediction) -> Option<Keeping> {
        if demand.pace != Pace::Open {
            return None;
        }
        if let Some(Refusal::QueueGrows { .. }) = found.refusal {
            let may_be_steady = found.throughput_ratio.is_none_or(|it| it.high >= STEADY);
            return Some(if may_be_steady { Keeping::CannotTell } else { Keeping::Missed });
        }
        // What others did to it while it was recorded is in its seconds, not in its factor.
        let doubt = match self.limit {
            Limit::Seconds(_) if found.assumptions.contains(&Assumption::CoProfiled) => {
                DELAY_OF_OTHERS
            }
            _ => 1.0,
        };
        let (all, limit): (Option<Quantiles<Range>>, f64) = match self.limit {
            Limit::Seconds(it) => (found.latency_s, it),
            Limit::Factor(it) => (found.slowdown, it),
        };
        let Some(it) = all.map(|it| self.level.of(it)) else { return Some(Keeping::CannotTell) };
        Some(match () {
            () if it.low > doubt * limit => Keeping::Missed,
            () if it.high <= limit && !found.is_at_least => Keeping::Met,
            () => Keeping::CannotTell,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colocation::demand::Spread;

    fn found(low: f64, high: f64) -> TenantPrediction {
        let range = Range::new(0.5 * (low + high), low, high);
        let all = Quantiles { p50: range, p95: range, p99: range };
        TenantPrediction {
            name: "chat".to_owned(),
            slowdown: Some(all),
            latency_s: Some(all.map(|it| Range {
                expected: 0.02 * it.expected,
                low: 0.02 * it.low,
                high: 0.02 * it.high,
            })),
            throughput_ratio: Some(Range::exact(0.5)),
            is_at_least: false,
            refusal: None,
            assumptions: Vec::new(),
        }
    }

    #[test]
    fn the_interval_decides_and_not_the_number_in_its_middle() {
        let chat = Demand::requests("chat", 5.0, (0.02, Spread::Fixed), 100.0).unwrap();
        let factor = Objective { level: Level::P99, limit: Limit::Factor(1.5) };
        assert_eq!(factor.kept(&chat, &found(1.1, 1.4)), Some(Keeping::Met));
        assert_eq!(factor.kept(&chat, &found(1.1, 1.6)), Some(Keeping::CannotTell));
        assert_eq!(factor.kept(&chat, &found(1.6, 1.9)), Some(Keeping::Missed));
        let seconds = Objective { limit: Limit::Seconds(0.03), ..factor };
        assert_eq!(seconds.kept(&chat, &found(1.1, 1.4)), Some(Keeping::Met));
        let assumptions = vec![Assumption::CoProfiled];
        let disturbed = TenantPrediction { assumptions, ..found(1.6, 1.9) };
        assert_eq!(seconds.kept(&chat, &disturbed), Some(Keeping::CannotTell));
        assert_eq!(factor.kept(&chat, &disturbed), Some(Keeping::Missed));
        let lower_limit = TenantPrediction { is_at_least: true, ..found(1.1, 1.4) };
        assert_eq!(factor.kept(&chat, &lower_limit), Some(Keeping::CannotTell));
    }

    #[test]
    fn a_queue_that_grows_misses_every_limit_and_a_batch_job_has_none() {
        let chat = Demand::requests("chat", 5.0, (0.02, Spread::Fixed), 100.0).unwrap();
        let batch = Demand::bursts("batch", 0.3, (1.0, Spread::Fixed), 100.0).unwrap();
        let refusal = Some(Refusal::QueueGrows { never_done: 0.2 });
        let growing =
            TenantPrediction { refusal, slowdown: None, latency_s: None, ..found(1.0, 1.0) };
        let limit = Objective { level: Level::P50, limit: Limit::Seconds(10.0) };
        assert_eq!(limit.kept(&chat, &growing), Some(Keeping::Missed));
        assert_eq!(limit.kept(&batch, &growing), None);
    }
}
