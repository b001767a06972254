//! Tenants that were recorded together: will they run out of the memory that they share?

use crate::analysis::findings::{DeviceFindings, Findings};
use crate::analysis::memory_findings::{
    MemoryFindings, MemoryReporting, MemoryResident, OutOfMemoryKind, PhaseRelation,
};
use crate::colocation::memory::outlook::HORIZONS_S;
use crate::colocation::memory::{
    MeasuredPhase, MemoryDemand, MemoryForecast, MemoryQuestion, MemoryRoom, Phases, forecast,
};
use crate::domain::ident::{GpuId, Subject};
use serde::Serialize;

/// The forecast for the tenants of one device, or of one MIG instance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SharedMemoryRisk {
    /// The GPU.
    pub gpu: GpuId,
    /// Whose memory it is.
    pub space: Subject,
    /// Short name of it.
    pub label: String,
    /// How likely and how soon it runs out.
    pub forecast: MemoryForecast,
}

/// A forecast for each memory in which two tenants or more were seen and that has a known size.
pub fn memory_risks(findings: &Findings) -> Vec<SharedMemoryRisk> {
    let of_device = |device: &DeviceFindings| -> Vec<SharedMemoryRisk> {
        let risk = |it: &MemoryFindings| {
            Some(SharedMemoryRisk {
                gpu: device.gpu.clone(),
                space: it.space.clone(),
                label: it.label.clone(),
                forecast: shared(it)?,
            })
        };
        device.memory.iter().filter_map(risk).collect()
    };
    findings.devices.iter().flat_map(of_device).collect()
}

fn shared(found: &MemoryFindings) -> Option<MemoryForecast> {
    if found.reporting != MemoryReporting::Reported || found.residents.len() < 2 {
        return None;
    }
    let demand = |it: &MemoryResident| demand(it, found.step_s);
    let demands: Vec<MemoryDemand> = found.residents.iter().filter_map(demand).collect();
    forecast(&MemoryQuestion {
        demands: &demands,
        room: MemoryRoom {
            total_bytes: found.total_bytes?,
            reserved_bytes: found.reserved_bytes,
            others_bytes: found.unattributed_bytes,
        },
        measured: Some(measured(found)),
        horizons_s: &HORIZONS_S,
    })
}

/// What the recording of all its tenants at once shows of their peaks.
pub fn measured(found: &MemoryFindings) -> MeasuredPhase {
    let is_lost = |kind: OutOfMemoryKind| {
        matches!(kind, OutOfMemoryKind::LostWhileFull | OutOfMemoryKind::LostWhileTight)
    };
    let lost = found.out_of_memory.iter().filter(|it| is_lost(it.kind)).count() as u64;
    MeasuredPhase {
        seen_s: found.seen_s,
        // Whoever shares a device is refused what does not fit: the crossing shows as a loss.
        crossings: found.over_room_crossings.unwrap_or(0) + lost,
        phases: phases(found),
    }
}

/// What a tenant was seen to need, for a forecast of any company.
///
/// `step_s` is that of the findings it comes from. `None` when its memory was never seen.
pub fn demand(resident: &MemoryResident, step_s: f64) -> Option<MemoryDemand> {
    Some(MemoryDemand {
        label: resident.label.clone(),
        stairs: resident.staircase.clone()?,
        step_s,
        interval_s: resident.sample_interval_s,
        keeps_what_it_takes: resident.keeps_what_it_takes == Some(true),
        limit_bytes: None,
        cap_bytes: None,
    })
}

/// How the rhythms of all who swing lie to each other; nobody, or one alone, is independent.
fn phases(found: &MemoryFindings) -> Phases {
    let is = |relation: PhaseRelation| found.pairs.iter().filter(|it| it.phase == relation).count();
    match found.pairs.len() {
        0 => Phases::Independent,
        _ if is(PhaseRelation::Together) > 0 => Phases::Together,
        all if is(PhaseRelation::TakingTurns) == all => Phases::Fixed,
        all if is(PhaseRelation::Independent) == all => Phases::Independent,
        _ => Phases::Unknown,
    }
}
