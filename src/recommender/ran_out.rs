//! Moments at which memory ran out, as a decision needs them.

use crate::analysis::evidence::Confidence;
use crate::analysis::memory_findings::{
    Blame, MemoryFindings, MemoryResident, OutOfMemory, OutOfMemoryKind,
};
use crate::domain::ident::Subject;
use crate::domain::time::Timestamp;
use crate::recommender::situation::MIB;
use serde::{Deserialize, Serialize};

/// Confidence from which an event counts as one; below it somebody has to look.
const SURE: f64 = 0.5;

/// A moment at which memory ran out, or seems to have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RanOut {
    /// The last instant before it, as far as the sampling shows.
    #[serde(rename = "at_us")]
    pub at: Timestamp,
    /// What was seen.
    pub kind: OutOfMemoryKind,
    /// Whether it was the memory of the whole device, and not of one MIG instance.
    pub is_device: bool,
    /// How many held memory then.
    pub tenants: usize,
    /// Who lost its memory; `None` when nobody did.
    pub lost: Option<String>,
    /// What the lost one asked for at least, MiB: what it held and what was free beside it; `None` when nobody was lost.
    pub asked_mib: Option<f64>,
    /// Who had taken the memory; `None` unless one tenant is named.
    pub taker: Option<Taker>,
    /// How sure it is that memory ran out, and for whom.
    pub confidence: Confidence,
    /// All of it in a sentence.
    pub sentence: String,
}

/// The one tenant that had grown before memory ran out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Taker {
    /// Its name.
    pub tenant: String,
    /// Held just before, MiB.
    pub held_mib: f64,
    /// Median of its life before, MiB.
    pub usual_mib: f64,
}

impl RanOut {
    /// Whether somebody was lost, as far as it can be told.
    pub fn is_loss(&self) -> bool {
        self.lost.is_some()
    }

    /// Whether it counts as a fact.
    pub fn is_sure(&self) -> bool {
        self.is_loss() && self.confidence.value() >= SURE
    }

    /// Whether several tenants shared the memory of the device.
    pub fn is_shared(&self) -> bool {
        self.is_device && self.tenants > 1
    }
}

/// Every moment at which the memory of a device, or of one of its instances, ran out, in time order.
pub(crate) fn ran_out(memory: &[MemoryFindings]) -> Vec<RanOut> {
    let of = |found: &MemoryFindings| -> Vec<RanOut> {
        found.out_of_memory.iter().map(|it| moment(found, it)).collect()
    };
    let mut all: Vec<RanOut> = memory.iter().flat_map(of).collect();
    all.sort_by_key(|it| it.at);
    all
}

fn moment(found: &MemoryFindings, event: &OutOfMemory) -> RanOut {
    let held = event.shares.iter().filter(|it| it.held_bytes > 0.0);
    let failed = event.shares.iter().find(|it| it.has_failed);
    let asked = failed.zip(event.free_bytes).map(|(it, free)| (it.held_bytes + free) / MIB);
    let taker = event.shares.first().filter(|_| event.blame == Blame::OneTenant);
    RanOut {
        at: event.at,
        kind: event.kind,
        is_device: found.space.is_device(),
        tenants: held.count(),
        lost: event.failed.as_deref().map(|it| tenant_of(found, it)),
        asked_mib: asked,
        taker: taker.map(|it| Taker {
            tenant: tenant_of(found, &it.label),
            held_mib: it.held_bytes / MIB,
            usual_mib: it.baseline_bytes / MIB,
        }),
        confidence: event.confidence,
        sentence: format!("at {} {}", utc(event.at), event.sentence),
    }
}

/// Name of the tenant behind a label.
fn tenant_of(found: &MemoryFindings, label: &str) -> String {
    let is_it = |it: &&MemoryResident| it.label == label;
    match found.residents.iter().find(is_it).map(|it| &it.subject) {
        Some(Subject::Tenant { tenant, .. }) => tenant.as_str().to_owned(),
        _ => label.to_owned(),
    }
}

/// An instant in UTC, to the second: `2026-11-28 09:00:00 UTC`.
///
/// Source of the days: H. Hinnant, chrono-Compatible Low-Level Date Algorithms, `civil_from_days`.
pub(crate) fn utc(at: Timestamp) -> String {
    let seconds = at.as_micros().div_euclid(1_000_000);
    let (days, clock) = (seconds.div_euclid(86_400) + 719_468, seconds.rem_euclid(86_400));
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + 400 * era + i64::from(month <= 2);
    let (hour, minute, second) = (clock / 3_600, clock / 60 % 60, clock % 60);
    format!("{year:04}-{month:02}-{date:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_read_as_on_a_calendar() {
        let at = |seconds: i64| utc(Timestamp::from_micros(1_000_000 * seconds));
        assert_eq!(at(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(at(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(at(1_795_943_045), "2026-11-29 09:04:05 UTC");
        assert_eq!(at(-1), "1969-12-31 23:59:59 UTC");
    }
}
