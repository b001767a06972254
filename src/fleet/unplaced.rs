//! Tenants of which a recording does not say on which GPU they run.

use crate::domain::ident::{GpuId, Subject, TenantId};
use crate::domain::metric::Metric;
use crate::domain::outline::Device;
use crate::domain::recording::{Recording, Trace};
use crate::fleet::findings::DeviceFinding;

/// What a tenant reports that is the device's own where it has one to itself.
const OF_DEVICE: [Metric; 7] = [
    Metric::GpuUtilization,
    Metric::GraphicsEngineActive,
    Metric::SmActive,
    Metric::MemoryUtilization,
    Metric::DramActive,
    Metric::FramebufferUsed,
    Metric::Power,
];

/// Whether a tenant reports anything of the device that it is on: then there is one, although nobody names it.
pub fn is_on_one(part: &Recording) -> bool {
    let metrics = part.traces.values().flat_map(|it| it.series.keys());
    metrics.into_iter().any(|it| OF_DEVICE.contains(it))
}

/// A tenant of a recording without GPUs, as if it had one to itself that is called after it.
///
/// `part` holds the tenant and nobody else.
pub fn on_its_own(part: &Recording, tenant: &TenantId) -> (Recording, GpuId) {
    let gpu = GpuId::new(tenant.as_str());
    let mut placed = Recording { outline: part.outline.clone(), ..Recording::default() };
    placed.outline.devices = vec![Device::named(gpu.clone())];
    let own = Subject::Tenant { gpu: Some(gpu.clone()), tenant: tenant.clone() };
    for (_, trace) in part.traces.iter().filter(|it| matches!(it.0, Subject::Tenant { .. })) {
        let of_device = |it: &Metric| OF_DEVICE.contains(it);
        let device = trace.series.iter().filter(|it| of_device(it.0));
        let device = Trace {
            series: device.map(|it| (*it.0, it.1.clone())).collect(),
            sources: trace.sources.clone(),
        };
        placed.traces.insert(Subject::device(&gpu), device);
        placed.traces.insert(own.clone(), trace.clone());
    }
    placed.outline.subjects = placed.traces.keys().cloned().collect();
    (placed, gpu)
}

/// Says in a finding that its GPU was assumed.
pub fn told(mut finding: DeviceFinding) -> DeviceFinding {
    finding.unseen.insert(
        0,
        "the recording names no GPU: each of its tenants is taken to have one to itself".to_owned(),
    );
    finding
}
