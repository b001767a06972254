//! Memory that was seen too seldom to be followed over time: it was seen all the same.

use crate::analysis::findings::{Level, SubjectFindings};
use crate::colocation::memory::MemoryDemand;
use crate::domain::metric::Metric;
use crate::recommender::on_device::OnDevice;
use crate::recommender::seen::SeenTenant;

/// More samples than these show how it goes on over time, and are no glimpse.
const MOST_SAMPLES: u64 = 2;

/// What a tenant was seen to hold where nothing shows it over time; `None` where it was never seen, or often
/// enough to be followed.
///
/// Processes of a tenant are added up at the highest that each was seen to hold. Samples so few are infinitely far apart, so that
/// no peak is believed.
pub(crate) fn glimpsed(on: &OnDevice<'_>, seen: &SeenTenant) -> Option<MemoryDemand> {
    let level = |it: &SubjectFindings| it.whole()?.levels.get(&Metric::FramebufferUsed).copied();
    let levels: Vec<Level> = on.holders(seen).filter_map(level).collect();
    let samples = levels.iter().map(|it| it.samples).min()?;
    let bytes: f64 = levels.iter().map(|it| it.max).sum();
    (samples <= MOST_SAMPLES).then(|| MemoryDemand::glimpsed(seen.tenant.as_str(), bytes, samples))
}
