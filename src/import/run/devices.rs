//! GPUs that were described to the sink.

use crate::domain::ident::GpuId;
use crate::domain::outline::Device;
use crate::domain::sink::Fact;
use crate::import::error::ImportError;
use crate::import::run::ImportRun;
use std::collections::BTreeMap;

/// GPUs that were described to the sink.
#[derive(Debug, Default)]
pub struct Devices(BTreeMap<GpuId, Device>);

impl Devices {
    /// Describes a GPU when it is new, and again when something else is said of it.
    pub fn tell(&mut self, run: &mut ImportRun<'_>, device: Device) -> Result<(), ImportError> {
        if self.0.get(&device.gpu) == Some(&device) {
            return Ok(());
        }
        self.0.insert(device.gpu.clone(), device.clone());
        run.fact(Fact::Device(device))
    }

    /// Whether a GPU was last described as being in MIG mode.
    pub fn is_mig(&self, gpu: &GpuId) -> bool {
        self.0.get(gpu).is_some_and(|it| it.is_mig == Some(true))
    }
}
