//! What was found about memory, in sentences; and what could not be seen.

use crate::analysis::evidence::{Confidence, Evidence};
use crate::analysis::memory_findings::{
    CoActivation, MemoryFindings, MemoryReporting, OutOfMemoryKind, PhaseRelation,
};
use crate::domain::blind_spot::{BlindSpot, BlindSpotKind};
use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::units::{MemoryBytes, Seconds};

/// Samples of memory further apart than this miss spikes of a request, in seconds.
const COARSE_S: f64 = 2.0;

/// An amount for people; `unknown` for one that is none.
pub(crate) fn amount(bytes: f64) -> String {
    MemoryBytes::from_f64(bytes.max(0.0)).map_or_else(|| "unknown".to_owned(), |it| it.to_string())
}

/// Sentences for people.
pub(crate) fn evidence(found: &MemoryFindings) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    let mut say = |sentence: String, confidence: f64| {
        evidence.push(Evidence {
            analysis: "co-peaks",
            subject: Some(found.space.clone()),
            sentence,
            confidence: Confidence::new(confidence),
        });
    };
    if let Some(sentence) = peaks(found) {
        say(sentence, 0.9);
    }
    for pair in found.pairs.iter().filter(|it| it.phase != PhaseRelation::Independent) {
        if let Some(sentence) = together(found, pair) {
            say(sentence, 0.85);
        }
    }
    let lost = |it: &&crate::analysis::memory_findings::OutOfMemory| {
        !matches!(it.kind, OutOfMemoryKind::FullOnly)
    };
    for event in found.out_of_memory.iter().filter(lost).take(3) {
        evidence.push(Evidence {
            analysis: "out-of-memory",
            subject: Some(found.space.clone()),
            sentence: event.sentence.clone(),
            confidence: event.confidence,
        });
    }
    evidence
}

fn peaks(found: &MemoryFindings) -> Option<String> {
    if found.residents.len() < 2 {
        return None;
    }
    let (joint, sum) = (found.peak_of_sum_bytes?, found.sum_of_peaks_bytes?);
    let room = match found.room_bytes {
        Some(room) if sum > room => {
            format!("; {} are there for them, so peaks that meet do not fit", amount(room))
        }
        Some(room) => format!("; {} are there for them", amount(room)),
        None => String::new(),
    };
    Some(format!(
        "tenants hold at most {} together, and {} if all of them peaked at once (coincidence {:.2}){room}",
        amount(joint),
        amount(sum),
        joint / sum
    ))
}

fn together(found: &MemoryFindings, pair: &CoActivation) -> Option<String> {
    let name = |subject: &Subject| {
        found.residents.iter().find(|it| it.subject == *subject).map(|it| format!("`{}`", it.label))
    };
    let (first, second) = (name(&pair.first)?, name(&pair.second)?);
    match pair.phase {
        PhaseRelation::Together => Some(format!(
            "{first} and {second} peak in memory together: {} at once, {} by chance (lift {:.1})",
            Seconds(pair.overlap_s),
            Seconds(pair.expected_overlap_s),
            pair.lift?
        )),
        PhaseRelation::TakingTurns => Some(format!(
            "{first} and {second} keep a fixed distance in time and do not peak together ({} at once, {} by chance): they fit as long as neither clock moves",
            Seconds(pair.overlap_s),
            Seconds(pair.expected_overlap_s)
        )),
        PhaseRelation::Independent | PhaseRelation::Unknown => None,
    }
}

/// What could not be seen about memory, with what would show it.
pub(crate) fn blind_spots(found: &MemoryFindings) -> Vec<BlindSpot> {
    let mut spots = Vec::new();
    let mut spot = |kind, metric, detail: String, remedy: &str| {
        spots.push(BlindSpot {
            kind,
            subject: Some(found.space.clone()),
            metric: Some(metric),
            span: None,
            detail,
            remedy: remedy.to_owned(),
        });
    };
    match found.reporting {
        MemoryReporting::Absent => spot(
            BlindSpotKind::NotRecorded,
            Metric::FramebufferUsed,
            "no tenant reports how much memory it holds, so nobody can be named when it runs out"
                .to_owned(),
            "record processes too (`cotenant record`, or nvidia-smi --query-compute-apps); under WDDM and some vGPU guests nothing can",
        ),
        MemoryReporting::UnderReported => spot(
            BlindSpotKind::Ambiguous,
            Metric::FramebufferUsed,
            format!(
                "tenants report {} at most, far less than the device has in use: what each holds is not known",
                found.peak_of_sum_bytes.map_or_else(|| "nothing".to_owned(), amount)
            ),
            "on parts with unified memory no counter shows it; else record as root, or in the host's PID namespace, so that all processes are visible",
        ),
        MemoryReporting::Reported => {}
    }
    if found.total_bytes.is_none() {
        spot(
            BlindSpotKind::NotRecorded,
            Metric::FramebufferTotal,
            "how much memory there is was not recorded, so whether it suffices cannot be said"
                .to_owned(),
            "record memory.total",
        );
    } else if found.reserved_bytes.is_none() {
        spot(
            BlindSpotKind::NotRecorded,
            Metric::FramebufferReserved,
            "what the driver keeps for itself was not recorded; usually a few percent, by which there is less room than said here".to_owned(),
            "record memory.reserved (nvidia-smi) or DCGM_FI_DEV_FB_RESERVED",
        );
    }
    if let Some(interval) = found.sample_interval_s.filter(|it| *it > COARSE_S) {
        spot(
            BlindSpotKind::TooCoarse,
            Metric::FramebufferUsed,
            format!(
                "memory of tenants was sampled every {}: shorter peaks were missed, and with them the peaks that coincide",
                Seconds(interval)
            ),
            "sample memory ten times a second while the loads that matter run",
        );
    }
    spots
}
