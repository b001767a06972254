//! MIG instances of a board, as they stand now.

use crate::domain::metric::Metric;
use crate::sampler::nvml::device::memory;
use crate::sampler::nvml::raw::{Handle, call, number};
use crate::sampler::nvml::return_code::{check, of_wrapper};
use crate::sampler::source::{Count, FoundInstance, Refusal, Reply};
use nvml_wrapper::{Device, Nvml};

/// Adds the instances of a board; the count that the library gives is a maximum, with holes.
pub(super) fn find(
    nvml: &Nvml,
    device: Handle,
    found: &mut Vec<FoundInstance>,
) -> Result<(), Refusal> {
    // SAFETY: the handle comes from this library, which is still loaded.
    let board = unsafe { Device::new(device.0, nvml) };
    // Boards that could be cut and are not have room for seven: one call instead of eight.
    if board.mig_mode().is_ok_and(|it| it.current == 0) {
        return Ok(());
    }
    let most = board.mig_device_count().map_err(of_wrapper)?;
    for index in 0..most {
        let part = match board.mig_device_by_index(index).map_err(of_wrapper) {
            Err(Refusal::NotFound | Refusal::Invalid) => continue,
            answer => answer?,
        };
        // An instance may go between two calls: what is gone is left out.
        if let Some(instance) = describe(nvml, &part) {
            found.push(instance);
        }
    }
    Ok(())
}

fn describe(nvml: &Nvml, part: &Device<'_>) -> Option<FoundInstance> {
    // SAFETY: the handle is only passed to the library that it comes from.
    let handle = Handle(unsafe { part.handle() });
    let gpu_instance =
        number(|it: &mut u32| call!(nvml, nvmlDeviceGetGpuInstanceId(handle.0, it))).ok()?;
    let uuid = part.uuid().ok()?;
    // `NVIDIA H100 80GB HBM3 MIG 1g.10gb` ends in the profile.
    let name = part.name().ok();
    let profile = name.and_then(|it| Some(it.rsplit_once("MIG ")?.1.to_owned()));
    let replies = match memory(nvml, handle) {
        Err(refusal) => vec![Reply { metric: Metric::FramebufferUsed, count: Err(refusal) }],
        Ok(it) => {
            let reply = |metric, bytes| Reply { metric, count: Ok(Count::Wide(bytes)) };
            let mut replies = vec![
                reply(Metric::FramebufferUsed, it.used),
                reply(Metric::FramebufferFree, it.free),
                reply(Metric::FramebufferTotal, it.total),
            ];
            replies.extend(it.reserved.map(|it| reply(Metric::FramebufferReserved, it)));
            replies
        }
    };
    Some(FoundInstance { uuid, gpu_instance, profile, replies })
}
