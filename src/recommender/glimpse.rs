//! Memory that was seen too seldom to be followed over time: it was seen all the same.

use crate::analysis::findings::{DeviceFindings, Level, SubjectFindings};
use crate::colocation::memory::MemoryDemand;
use crate::domain::ident::{ProcessKey, Subject};
use crate::domain::metric::Metric;
use crate::domain::outline::Outline;
use crate::recommender::seen::SeenTenant;
use std::collections::BTreeSet;

/// More samples than these show how it goes on over time, and are no glimpse.
const MOST_SAMPLES: u64 = 2;

/// What a tenant was seen to hold where nothing shows it over time; `None` where it was never seen, or often
/// enough to be followed.
///
/// Processes of a tenant are added up at the highest that each was seen to hold. Samples so few are infinitely far apart, so that
/// no peak is believed.
pub(crate) fn glimpsed(
    outline: &Outline,
    device: &DeviceFindings,
    seen: &SeenTenant,
) -> Option<MemoryDemand> {
    let own: BTreeSet<ProcessKey> =
        outline.processes.of_tenant(&seen.gpu, &seen.tenant).map(|it| it.process).collect();
    let is_own = |it: &&SubjectFindings| match &it.subject {
        Subject::Device { .. } => seen.is_whole_gpu,
        Subject::Process { gpu, process } => {
            let has_owner = || outline.processes.of(gpu, *process)?.tenant.as_ref();
            (*gpu == seen.gpu && own.contains(process))
                || (it.label == seen.tenant.as_str() && has_owner().is_none())
        }
        Subject::Tenant { tenant, .. } => *tenant == seen.tenant,
        Subject::MigInstance { .. } => false,
    };
    let level = |it: &SubjectFindings| it.whole()?.levels.get(&Metric::FramebufferUsed).copied();
    let levels: Vec<Level> = device.subjects.iter().filter(is_own).filter_map(level).collect();
    let samples = levels.iter().map(|it| it.samples).min()?;
    let bytes: f64 = levels.iter().map(|it| it.max).sum();
    (samples <= MOST_SAMPLES).then(|| MemoryDemand::glimpsed(seen.tenant.as_str(), bytes, samples))
}
