//! The memory that tenants of a what-if need, where they would find it, and what the user says of both.

use crate::analysis::co_peaks::memory_findings;
use crate::analysis::memory_findings::{MemoryHeld, MemoryReporting, MemoryResident};
use crate::cli::error::CliError;
use crate::cli::whatif_seen::gpu_part;
use crate::cli::whatif_tenants::Found;
use crate::colocation::memory::outlook::{MemoryOutlook, MemorySpaces};
use crate::colocation::memory::{MeasuredPhase, MemoryDemand, MemoryRoom};
use crate::colocation::share::{Mechanism, Slice};
use crate::colocation::slices::memory_bytes;
use crate::domain::ident::{GpuId, Subject};
use crate::domain::mig_geometry::MigBoard;
use crate::recommender::candidates::Candidate;
use crate::recommender::memory_risk::{demand, measured};
use crate::report::whatif::Terms;
use crate::storage::StoredRecording;
use std::collections::BTreeMap;

/// What a tenant was seen to hold, and what its GPU keeps for itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct Held {
    /// `None` when it was not recorded, or cannot be believed.
    pub(crate) demand: Option<MemoryDemand>,
    /// What the driver keeps for itself, in bytes.
    pub(crate) reserved_bytes: Option<f64>,
}

/// What was held on a GPU, by name: a tenant is found at once, however many there are.
pub(crate) struct Holders {
    spaces: Vec<MemoryHeld>,
    /// Places of the first resident of each name, for each space.
    named: Vec<BTreeMap<String, usize>>,
}

impl Holders {
    pub(crate) fn of(spaces: Vec<MemoryHeld>) -> Self {
        let named = |it: &MemoryHeld| {
            let mut named = BTreeMap::new();
            for (place, it) in it.residents.iter().enumerate() {
                named.entry(name_of(it).to_owned()).or_insert(place);
            }
            named
        };
        let named = spaces.iter().map(named).collect();
        Self { spaces, named }
    }

    /// Looks a tenant up, as the analysis tells it.
    pub(crate) fn held(&self, candidate: &Candidate) -> Held {
        let of_space = |(space, named): (&MemoryHeld, &BTreeMap<String, usize>)| {
            if candidate.is_whole_gpu {
                let whole = space.space.is_device().then_some(space.whole.as_ref()?)?;
                return demand(whole, space.step_s);
            }
            let is_told = space.reporting == MemoryReporting::Reported;
            let own = is_told.then(|| named.get(candidate.tenant.as_str()))??;
            demand(&space.residents[*own], space.step_s)
        };
        let mut spaces = self.spaces.iter().zip(&self.named);
        let found = spaces.find_map(|it| Some((it.0, of_space(it)?)));
        let reserved_bytes = found
            .as_ref()
            .map(|it| it.0)
            .or(self.spaces.first())
            .filter(|it| it.space.is_device())
            .and_then(|it| it.reserved_bytes);
        Held { demand: found.map(|it| it.1), reserved_bytes }
    }
}

/// Under what name a resident is looked for.
fn name_of(it: &MemoryResident) -> &str {
    match &it.subject {
        Subject::Tenant { tenant, .. } => tenant.as_str(),
        _ => &it.label,
    }
}

/// How the memory of tenants of one GPU was seen to meet; `None` unless they, and only they, held memory there.
pub(crate) fn together(
    recording: &StoredRecording,
    gpu: &GpuId,
    names: &[&str],
) -> Result<Option<MeasuredPhase>, CliError> {
    let part = gpu_part(recording, gpu)?;
    let spaces = memory_findings(gpu, &part, None);
    let [found] = spaces.as_slice() else { return Ok(None) };
    let residents: Vec<&str> = found.residents.iter().map(name_of).collect();
    let is_all = residents.len() == names.len() && residents.iter().all(|it| names.contains(it));
    let is_told = is_all && found.reporting == MemoryReporting::Reported && found.space.is_device();
    Ok(is_told.then(|| measured(found)))
}

/// The memory of the GPU that would be shared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) capacity_bytes: Option<f64>,
    pub(crate) reserved_bytes: Option<f64>,
    /// Its MIG instances; `None` where they are not known.
    pub(crate) board: Option<&'static MigBoard>,
}

impl Room {
    /// Memory of an instance, in bytes.
    pub(crate) fn of_slice(&self, slice: Slice) -> Option<f64> {
        memory_bytes(slice, self.board, self.capacity_bytes)
    }

    /// The same as a room: what a board's instance is said to have is all for tenants.
    fn part(&self, slice: Slice) -> Option<MemoryRoom> {
        let total_bytes = self.of_slice(slice)?;
        let reserved = self.reserved_bytes.map(|it| it * slice.bandwidth());
        Some(MemoryRoom {
            total_bytes,
            reserved_bytes: if self.board.is_some() { Some(0.0) } else { reserved },
            others_bytes: None,
        })
    }
}

/// The needs of all tenants, each with what the user says of its growth and of its cap.
pub(crate) struct Needs {
    pub(crate) demands: Vec<Option<MemoryDemand>>,
    /// Hard caps under MPS, in bytes.
    pub(crate) caps: Vec<Option<f64>>,
    /// How it was seen to meet.
    pub(crate) measured: Option<MeasuredPhase>,
}

impl Needs {
    /// `limits` and `caps` are in bytes, in the order of the tenants.
    pub(crate) fn of(found: &[Found], limits: &[Option<f64>], caps: Vec<Option<f64>>) -> Self {
        let demands = found.iter().zip(limits).map(|(it, limit)| {
            let known = it.memory.clone();
            // A tenant that was never seen, but whose limit is known, may take all of it at once.
            let mut demand = known.or_else(|| limit.and_then(|it| steady("", it)))?;
            demand.label.clone_from(&it.party.name);
            demand.limit_bytes = limit.or(demand.limit_bytes);
            Some(demand)
        });
        Self { demands: demands.collect(), caps, measured: None }
    }

    /// What becomes of them under one way to share; `terms` in the order of the tenants.
    pub(crate) fn under(
        &self,
        mechanism: &Mechanism,
        terms: &[Terms],
        room: Room,
    ) -> MemoryOutlook {
        let whole = room.capacity_bytes.map(|total_bytes| MemoryRoom {
            total_bytes,
            reserved_bytes: room.reserved_bytes,
            others_bytes: None,
        });
        let part = |it: &Terms| room.part(it.slice?);
        let spaces = match mechanism {
            Mechanism::Exclusive => MemorySpaces::Own(vec![whole; terms.len()]),
            Mechanism::Mig => MemorySpaces::Own(terms.iter().map(part).collect()),
            Mechanism::Mps { .. } | Mechanism::TimeSlicing { .. } => MemorySpaces::Shared(whole),
        };
        match mechanism {
            Mechanism::Mps { .. } => MemoryOutlook::of(&self.capped(), &spaces, self.measured),
            _ => MemoryOutlook::of(&self.demands, &spaces, self.measured),
        }
    }

    fn capped(&self) -> Vec<Option<MemoryDemand>> {
        let with_cap = |(demand, cap): (&Option<MemoryDemand>, &Option<f64>)| {
            let mut demand = demand.clone()?;
            demand.cap_bytes = *cap;
            Some(demand)
        };
        self.demands.iter().zip(&self.caps).map(with_cap).collect()
    }
}

/// A need that never changes; `None` for what is no size.
pub(crate) fn steady(label: &str, bytes: f64) -> Option<MemoryDemand> {
    MemoryDemand::of(label, &[&[bytes, bytes]], 1.0).filter(|_| bytes.is_finite() && bytes >= 0.0)
}

/// A size as typed: `18GiB`, `512MiB`, `4G` and `512M` as MPS writes them (powers of two all).
pub(crate) fn size(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|it: char| it.is_ascii_alphabetic());
    let unit: f64 = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "g" | "gib" | "gb" => 1_073_741_824.0,
        "m" | "mib" | "mb" => 1_048_576.0,
        _ => return None,
    };
    let number: f64 = digits.trim_end().parse().ok()?;
    (number.is_finite() && number > 0.0).then_some(number * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_a_unit_and_is_positive() {
        assert_eq!(size("18GiB"), Some(18.0 * 1_073_741_824.0));
        assert_eq!(size("512 M"), Some(512.0 * 1_048_576.0));
        for wrong in ["18", "GiB", "-1G", "0M", "1T", "nanG", ""] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
    }
}
