//! Memory that was seen too seldom to be followed over time: it was seen all the same.

use crate::analysis::findings::{DeviceFindings, Level, SubjectFindings};
use crate::colocation::memory::MemoryDemand;
use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::outline::Outline;
use crate::recommender::seen::SeenTenant;
use crate::stats::staircase::Staircase;

/// Time between samples that are none, seconds; a number that JSON can hold, for findings are kept.
const NEVER_S: f64 = f64::MAX;

/// What a tenant was seen to hold where nothing shows it over time; `None` where it was never seen.
///
/// Processes of a tenant are added up at the highest that each was seen to hold. Samples so few are infinitely far apart, so that
/// no peak is believed.
pub(crate) fn glimpsed(
    outline: &Outline,
    device: &DeviceFindings,
    seen: &SeenTenant,
) -> Option<MemoryDemand> {
    let is_own = |it: &&SubjectFindings| match &it.subject {
        Subject::Device { .. } => seen.is_whole_gpu,
        Subject::Process { gpu, process } => {
            let is_it = |known: &&crate::domain::outline::Process| {
                known.gpu == *gpu && known.process == *process
            };
            let tenant = outline.processes.iter().find(is_it).and_then(|it| it.tenant.as_ref());
            match tenant {
                Some(tenant) => *tenant == seen.tenant,
                None => it.label == seen.tenant.as_str(),
            }
        }
        Subject::Tenant { tenant, .. } => *tenant == seen.tenant,
        Subject::MigInstance { .. } => false,
    };
    let level = |it: &SubjectFindings| it.whole()?.levels.get(&Metric::FramebufferUsed).copied();
    let levels: Vec<Level> = device.subjects.iter().filter(is_own).filter_map(level).collect();
    let samples = levels.iter().map(|it| it.samples).min()?;
    let bytes: f64 = levels.iter().map(|it| it.max).sum();
    Some(MemoryDemand {
        label: seen.tenant.as_str().to_owned(),
        stairs: Staircase { samples, ..Staircase::constant(bytes) },
        step_s: 1.0,
        interval_s: NEVER_S,
        keeps_what_it_takes: false,
        limit_bytes: None,
        cap_bytes: None,
    })
}
