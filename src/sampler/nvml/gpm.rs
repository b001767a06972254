//! Performance counters: means between two samples of a device or an instance.

use crate::domain::metric::Metric;
use crate::sampler::nvml::raw::{Handle, call};
use crate::sampler::nvml::return_code::check;
use crate::sampler::source::{Count, Part, Refusal, Reply};
use nvml_wrapper::Nvml;
use nvml_wrapper_sys::bindings::{
    NVML_GPM_METRICS_GET_VERSION, NVML_GPM_SUPPORT_VERSION, nvmlGpmMetricsGet_t, nvmlGpmSample_t,
    nvmlGpmSupport_t,
};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// Shares of time come in percent, rates in MiB/s.
const PERCENT: f64 = 0.01;
const MEBIBYTES: f64 = 1_048_576.0;

/// Number of each counter, what it is about, and the factor that turns it into our unit.
const COUNTERS: &[(u32, Metric, f64)] = &[
    (1, Metric::GraphicsEngineActive, PERCENT),
    (2, Metric::SmActive, PERCENT),
    (3, Metric::SmOccupancy, PERCENT),
    (5, Metric::TensorActive, PERCENT),
    (10, Metric::DramActive, PERCENT),
    (11, Metric::Fp64Active, PERCENT),
    (12, Metric::Fp32Active, PERCENT),
    (13, Metric::Fp16Active, PERCENT),
    (20, Metric::PcieTransmit, MEBIBYTES),
    (21, Metric::PcieReceive, MEBIBYTES),
    (61, Metric::NvlinkTransmit, MEBIBYTES),
    (60, Metric::NvlinkReceive, MEBIBYTES),
];

/// A sample of the library's own; freed with it.
struct Sample {
    nvml: Arc<Nvml>,
    sample: nvmlGpmSample_t,
}

// SAFETY: the pointer is only passed to the library, by one thread at a time.
unsafe impl Send for Sample {}

impl Sample {
    fn new(nvml: &Arc<Nvml>) -> Result<Self, Refusal> {
        let mut sample: nvmlGpmSample_t = std::ptr::null_mut();
        call!(nvml, nvmlGpmSampleAlloc(&mut sample))?;
        Ok(Self { nvml: Arc::clone(nvml), sample })
    }

    fn take(&self, device: Handle, part: Part) -> Result<(), Refusal> {
        let nvml = &self.nvml;
        match part {
            Part::Whole => call!(nvml, nvmlGpmSampleGet(device.0, self.sample)),
            Part::Instance(gi) => call!(nvml, nvmlGpmMigSampleGet(device.0, gi, self.sample)),
        }
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        let nvml = &self.nvml;
        // A library that cannot free it cannot be helped.
        let _ = call!(nvml, nvmlGpmSampleFree(self.sample));
    }
}

/// The last sample of a part, and one to take the next into.
struct Pair {
    last: Sample,
    next: Sample,
    is_seeded: bool,
}

/// The question that is filled again and again.
struct Request(Box<nvmlGpmMetricsGet_t>);

// SAFETY: its pointers are samples of ours and constant texts of the library; none is followed here.
unsafe impl Send for Request {}

/// Samples of every part that is looked at.
#[derive(Default)]
pub(super) struct Gpm {
    pairs: BTreeMap<Part, Pair>,
    request: Option<Request>,
    is_supported: Option<bool>,
}

impl Gpm {
    /// Adds the means since the call before; the first call only takes a sample.
    pub(super) fn read(
        &mut self,
        nvml: &Arc<Nvml>,
        device: Handle,
        part: Part,
        replies: &mut Vec<Reply>,
    ) -> Result<(), Refusal> {
        if !self.is_supported(nvml, device)? {
            return Err(Refusal::NotSupported);
        }
        let pair = match self.pairs.entry(part) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(Pair {
                last: Sample::new(nvml)?,
                next: Sample::new(nvml)?,
                is_seeded: false,
            }),
        };
        if let Err(refusal) = pair.next.take(device, part) {
            pair.is_seeded = false;
            return Err(refusal);
        }
        std::mem::swap(&mut pair.last, &mut pair.next);
        if !std::mem::replace(&mut pair.is_seeded, true) {
            return Ok(());
        }
        // SAFETY: the structure is plain numbers and pointers, for which zero is a value.
        let empty = || Request(Box::new(unsafe { std::mem::zeroed() }));
        let request = self.request.get_or_insert_with(empty);
        between(nvml, &mut request.0, &pair.next, &pair.last)?;
        for (answer, (_, metric, factor)) in request.0.metrics.iter().zip(COUNTERS) {
            let count = check(answer.nvmlReturn).map(|()| Count::Real(answer.value * factor));
            replies.push(Reply { metric: *metric, count });
        }
        Ok(())
    }

    /// Makes the next call on a part its first.
    pub(super) fn forget(&mut self, part: Part) {
        self.pairs.remove(&part);
    }

    fn is_supported(&mut self, nvml: &Nvml, device: Handle) -> Result<bool, Refusal> {
        if let Some(known) = self.is_supported {
            return Ok(known);
        }
        let mut support =
            nvmlGpmSupport_t { version: NVML_GPM_SUPPORT_VERSION, isSupportedDevice: 0 };
        call!(nvml, nvmlGpmQueryDeviceSupport(device.0, &mut support))?;
        self.is_supported = Some(support.isSupportedDevice == 1);
        Ok(support.isSupportedDevice == 1)
    }
}

/// Fills the request with the means between two samples.
fn between(
    nvml: &Nvml,
    request: &mut nvmlGpmMetricsGet_t,
    first: &Sample,
    second: &Sample,
) -> Result<(), Refusal> {
    request.version = NVML_GPM_METRICS_GET_VERSION;
    request.sample1 = first.sample;
    request.sample2 = second.sample;
    let asked = COUNTERS.len().min(request.metrics.len());
    request.numMetrics = u32::try_from(asked).map_err(|_| Refusal::Invalid)?;
    for (place, (id, ..)) in request.metrics.iter_mut().zip(COUNTERS) {
        place.metricId = *id;
        place.nvmlReturn = 0;
        place.value = f64::NAN;
    }
    call!(nvml, nvmlGpmMetricsGet(request))
}
