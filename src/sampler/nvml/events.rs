//! Events of one board: errors, and changes of its layout.

use crate::sampler::nvml::raw::{Handle, call, number};
use crate::sampler::nvml::return_code::check;
use crate::sampler::source::{Event, EventSource, Refusal};
use nvml_wrapper::Nvml;
use nvml_wrapper_sys::bindings::{
    nvmlEventData_t, nvmlEventMigConfigChange, nvmlEventSet_t, nvmlEventTypeXidCriticalError,
};
use std::sync::Arc;

const XID: u64 = nvmlEventTypeXidCriticalError as u64;
const MIG: u64 = nvmlEventMigConfigChange as u64;

/// A set that waits for the events of one board; freed with it.
pub(super) struct NvmlEvents {
    nvml: Arc<Nvml>,
    set: nvmlEventSet_t,
}

// SAFETY: the pointer is only passed to the library, by one thread at a time.
unsafe impl Send for NvmlEvents {}

impl NvmlEvents {
    /// Waits for whatever of our events the board supports.
    pub(super) fn of(nvml: &Arc<Nvml>, device: Handle) -> Result<Self, Refusal> {
        let supported =
            number(|it: &mut u64| call!(nvml, nvmlDeviceGetSupportedEventTypes(device.0, it)))?;
        let wanted = supported & (XID | MIG);
        if wanted == 0 {
            return Err(Refusal::NotSupported);
        }
        let mut set: nvmlEventSet_t = std::ptr::null_mut();
        call!(nvml, nvmlEventSetCreate(&mut set))?;
        let events = Self { nvml: Arc::clone(nvml), set };
        call!(nvml, nvmlDeviceRegisterEvents(device.0, wanted, set))?;
        Ok(events)
    }
}

impl EventSource for NvmlEvents {
    fn wait(&mut self, timeout_ms: u32) -> Result<Option<Event>, Refusal> {
        // SAFETY: the structure is plain numbers and a pointer, for which zero is a value.
        let mut data: nvmlEventData_t = unsafe { std::mem::zeroed() };
        let nvml = &self.nvml;
        match call!(nvml, nvmlEventSetWait_v2(self.set, &mut data, timeout_ms)) {
            Err(Refusal::TimedOut) => return Ok(None),
            answer => answer?,
        }
        let instance = (data.gpuInstanceId != u32::MAX).then_some(data.gpuInstanceId);
        Ok(Some(match data.eventType {
            XID => Event::Xid { code: data.eventData, gpu_instance: instance },
            MIG => Event::MigChanged,
            _ => Event::Other,
        }))
    }
}

impl Drop for NvmlEvents {
    fn drop(&mut self) {
        let nvml = &self.nvml;
        // A library that cannot free it cannot be helped.
        let _ = call!(nvml, nvmlEventSetFree(self.set));
    }
}
