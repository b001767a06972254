//! What one capture of `nvidia-smi` or `nvidia-smi -q` says, and how captures in a row become rows.
//!
//! Both texts place processes on MIG instances. A recording holds that by tenant: a process on an instance is a
//! tenant of its own, under the name that people know it by, and the instance names it.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::{GpuId, MigInstanceId, ProcessKey, Subject, TenantId};
use crate::domain::metric::Metric;
use crate::domain::mig_geometry::{Engines, MigProfile, by_product_name};
use crate::domain::outline::{Device, MigInstance};
use crate::domain::sink::Fact;
use crate::domain::time::{SampleInterval, Timestamp};
use crate::import::error::ImportError;
use crate::import::run::ImportRun;
use crate::import::run::devices::Devices;
use crate::import::run::origin::Origin;
use crate::import::run::seen::{MetricSet, Seen, Silence, is_hidden_by_mig};
use crate::import::smi::program::Programs;
use crate::import::text::cells::{factor_to, is_missing, number, printed_unit};
use crate::import::text::clock::RowClock;
use std::collections::{BTreeMap, BTreeSet};

/// What shows more than an instant.
const RECORD_SAMPLES: &str = "capture again and again, `while :; do nvidia-smi; sleep 1; done`, or record `cotenant record`, which sees far more";

/// A GPU in a capture.
#[derive(Debug)]
pub struct CapturedGpu {
    /// What it is.
    pub device: Device,
    /// Fields that the text has a place for.
    pub asked: MetricSet,
    /// What it reads.
    pub readings: Vec<(Metric, f64)>,
}

/// A MIG device in a capture: a compute instance, with what its GPU instance holds.
#[derive(Debug, Default)]
pub struct CapturedInstance {
    /// Position of its GPU in the capture.
    pub gpu: usize,
    /// Number of the GPU instance.
    pub gpu_instance: u32,
    /// Multiprocessors of the compute instance.
    pub multiprocessors: Option<u32>,
    /// Copy engines, encoders, decoders, optical flow and JPEG engines, where the text gives them.
    pub engines: Option<Engines>,
    /// Memory of the GPU instance; all compute instances in it share it.
    pub readings: Vec<(Metric, f64)>,
}

/// A process in a capture.
#[derive(Debug)]
pub struct CapturedProcess {
    /// Position of its GPU in the capture.
    pub gpu: usize,
    /// GPU instance that it sits on; `None` on a GPU without MIG.
    pub gpu_instance: Option<u32>,
    /// Process id.
    pub pid: u32,
    /// Program; `None` where the text does not say.
    pub name: Option<String>,
    /// Device memory, bytes; `None` where the text has no reading.
    pub memory: Option<f64>,
}

/// One capture.
#[derive(Debug, Default)]
pub struct Capture {
    /// When; `None` where it carries no stamp.
    pub at: Option<Timestamp>,
    /// Version of the driver.
    pub driver: Option<String>,
    /// Time between captures, where the text says it.
    pub interval: Option<SampleInterval>,
    /// GPUs in the order of the text.
    pub gpus: Vec<CapturedGpu>,
    /// MIG devices.
    pub instances: Vec<CapturedInstance>,
    /// Processes.
    pub processes: Vec<CapturedProcess>,
}

impl Capture {
    /// Whether nothing was found yet.
    pub fn is_empty(&self) -> bool {
        self.gpus.is_empty() && self.processes.is_empty()
    }
}

/// A size of an instance: what shows that a number was given to another one.
type Size = (Option<u32>, Option<u64>);

/// Captures in a row.
pub struct Captures {
    /// Reads the stamps of captures.
    pub clock: RowClock<()>,
    has_stamps: bool,
    taken: u64,
    seen: Seen,
    devices: Devices,
    programs: Programs,
    /// Present size and generation of each GPU instance.
    layouts: BTreeMap<(GpuId, u32), (Size, u32)>,
    described: BTreeSet<MigInstanceId>,
}

impl Captures {
    /// No captures yet.
    pub fn new(run: &ImportRun<'_>) -> Self {
        Self {
            clock: RowClock::new(run, None),
            has_stamps: false,
            taken: 0,
            seen: Seen::default(),
            devices: Devices::default(),
            programs: Programs::default(),
            layouts: BTreeMap::new(),
            described: BTreeSet::new(),
        }
    }

    /// Gives a capture to the run.
    ///
    /// Errors: it has no stamp, and none was made up by the user.
    pub fn take(
        &mut self,
        run: &mut ImportRun<'_>,
        tool: &str,
        capture: Capture,
    ) -> Result<(), ImportError> {
        if capture.is_empty() {
            return Ok(());
        }
        let at = match capture.at {
            Some(at) => at,
            None if self.has_stamps && run.options.start.is_none() => {
                run.reject("", "the date of the capture", "a capture without one");
                return Ok(());
            }
            None => self.clock.make(run, (), |_| false)?,
        };
        self.has_stamps |= capture.at.is_some();
        self.taken += 1;
        run.describe_source(|options| {
            let origin = self.clock.origin(options, tool);
            let asked_interval = capture.interval.or(origin.asked_interval);
            Origin { tool_version: capture.driver.clone(), asked_interval, ..origin }
        })?;
        for it in &capture.gpus {
            self.devices.tell(run, it.device.clone())?;
            let subject = Subject::device(&it.device.gpu);
            self.seen.row(run, at, &subject, it.asked, &it.readings)?;
        }
        let places = self.instances(run, at, &capture)?;
        for it in &capture.processes {
            self.process(run, at, &capture, &places, it)?;
        }
        Ok(())
    }

    /// The instances of a capture by the position of their GPU and their number.
    fn instances(
        &mut self,
        run: &mut ImportRun<'_>,
        at: Timestamp,
        capture: &Capture,
    ) -> Result<BTreeMap<(usize, u32), MigInstanceId>, ImportError> {
        let mut places = BTreeMap::new();
        for it in &capture.instances {
            let Some(gpu) = capture.gpus.get(it.gpu) else { continue };
            if places.contains_key(&(it.gpu, it.gpu_instance)) {
                continue;
            }
            let shares = |other: &&CapturedInstance| {
                (other.gpu, other.gpu_instance) == (it.gpu, it.gpu_instance)
            };
            let counts: Option<Vec<u32>> =
                capture.instances.iter().filter(shares).map(|it| it.multiprocessors).collect();
            let multiprocessors = counts.map(|it| it.iter().sum());
            let instance = self.settle(&gpu.device.gpu, it, multiprocessors);
            places.insert((it.gpu, it.gpu_instance), instance.clone());
            if self.described.insert(instance.clone()) {
                let profile = profile(gpu, it, multiprocessors);
                let (instance, tenants) = (instance.clone(), Vec::new());
                run.fact(Fact::MigInstance(MigInstance { instance, profile, tenants }))?;
            }
            let asked = [Metric::FramebufferUsed, Metric::FramebufferTotal].into_iter().collect();
            self.seen.row(run, at, &Subject::MigInstance { instance }, asked, &it.readings)?;
        }
        Ok(places)
    }

    /// The instance of this number; one of another size is the next generation.
    fn settle(
        &mut self,
        gpu: &GpuId,
        it: &CapturedInstance,
        multiprocessors: Option<u32>,
    ) -> MigInstanceId {
        let size = (multiprocessors, total(&it.readings));
        let place = self.layouts.entry((gpu.clone(), it.gpu_instance)).or_insert((size, 0));
        if place.0 != size {
            *place = (size, place.1 + 1);
        }
        let (gpu, gpu_instance) = (gpu.clone(), it.gpu_instance);
        MigInstanceId { gpu, gpu_instance, compute_instance: None, generation: place.1 }
    }

    fn process(
        &mut self,
        run: &mut ImportRun<'_>,
        at: Timestamp,
        capture: &Capture,
        places: &BTreeMap<(usize, u32), MigInstanceId>,
        it: &CapturedProcess,
    ) -> Result<(), ImportError> {
        let Some(gpu) = capture.gpus.get(it.gpu).map(|it| it.device.gpu.clone()) else {
            return Ok(());
        };
        let process = ProcessKey { pid: it.pid, started: None };
        let place = it.gpu_instance.and_then(|number| places.get(&(it.gpu, number)));
        let tenant = place.map(|_| match &it.name {
            Some(name) => TenantId::new(format!("{name} (pid {})", it.pid)),
            None => TenantId::new(format!("pid {}", it.pid)),
        });
        self.programs.tell_with_tenant(run, &gpu, it.pid, it.name.clone(), tenant.clone())?;
        if let (Some(instance), Some(tenant)) = (place.cloned(), tenant) {
            let lives = MigInstance { instance, profile: None, tenants: vec![tenant] };
            run.fact(Fact::MigInstance(lives))?;
        }
        let reading = it.memory.map(|it| (Metric::FramebufferUsed, it));
        let asked = [Metric::FramebufferUsed].into_iter().collect();
        self.seen.row(run, at, &Subject::Process { gpu, process }, asked, reading.as_slice())
    }

    /// Tells what was assumed and what never had a reading.
    pub fn finish(&self, run: &mut ImportRun<'_>, remedy: &str) -> Result<(), ImportError> {
        self.clock.finish(run, "a capture", remedy)?;
        if self.taken == 1 {
            let detail = "the file holds one capture: an instant, not what happened over time";
            run.warn(format!("{detail}; {RECORD_SAMPLES}"));
            let (kind, detail) = (BlindSpotKind::TooShort, detail.to_owned());
            run.blind_spot(kind, None, None, detail, RECORD_SAMPLES)?;
        }
        self.seen.report_silence(run, |subject, metric| {
            let is_mig = subject.gpu().is_some_and(|it| self.devices.is_mig(it));
            match subject {
                Subject::Process { .. } => Silence {
                    kind: BlindSpotKind::NotReported,
                    detail: format!("{}: nvidia-smi never had a reading", metric.spec().label),
                    remedy: "Windows (WDDM) keeps it to itself; under Linux, record as root in the PID namespace of the host".to_owned(),
                },
                Subject::Device { .. } if is_mig && is_hidden_by_mig(metric) => {
                    Silence::hidden_by_mig(metric, "nvidia-smi has no reading for a GPU in MIG mode")
                }
                _ => Silence {
                    detail: format!("{}: the field is there but never has a reading", metric.spec().label),
                    ..Silence::unexplained(metric)
                },
            }
        })
    }
}

fn total(readings: &[(Metric, f64)]) -> Option<u64> {
    let total = readings.iter().find(|it| it.0 == Metric::FramebufferTotal)?.1;
    Some((total / 1_048_576.0).round() as u64)
}

/// The only profile of the board that is of this size; `None` where several are, or none.
fn profile(
    gpu: &CapturedGpu,
    it: &CapturedInstance,
    multiprocessors: Option<u32>,
) -> Option<String> {
    let memory = gpu.readings.iter().find(|it| it.0 == Metric::FramebufferTotal);
    let memory = memory.map(|it| it.1 as u64);
    let board = by_product_name(gpu.device.model.as_deref()?, memory)?;
    let (count, memory) = (multiprocessors?, total(&it.readings)?);
    let is_size = |it: &&MigProfile| it.sm_count == Some(count) && it.memory_mib == Some(memory);
    let mut fitting: Vec<&MigProfile> = board.profiles.iter().filter(is_size).collect();
    if let Some(engines) = it.engines.filter(|_| fitting.len() > 1) {
        let agree = |(mine, theirs): (Option<u32>, Option<u32>)| {
            mine.is_none() || theirs.is_none() || mine == theirs
        };
        let own = engines.counts();
        fitting.retain(|it| own.into_iter().zip(it.engines.counts()).all(agree));
    }
    match fitting.as_slice() {
        [only] => Some(only.name.to_string()),
        _ => None,
    }
}

/// Reads a value with its unit; a text without any digit says that there is no reading.
///
/// `factor` is for a value without unit. A value in a unit that does not fit is rejected.
pub fn quantity(
    run: &mut ImportRun<'_>,
    field: &str,
    metric: Metric,
    factor: f64,
    text: &str,
) -> Option<f64> {
    let text = match metric {
        Metric::PerformanceState => text.trim_start_matches(['P', 'p']),
        _ => text.trim(),
    };
    if is_missing(text) || !text.bytes().any(|it| it.is_ascii_digit()) {
        return None;
    }
    let factor = match printed_unit(text) {
        "" => Some(factor),
        unit => factor_to(metric.spec().unit, unit),
    };
    match (number(text), factor) {
        (Ok(value), Some(factor)) => value.map(|it| it * factor),
        _ => {
            run.reject(field, "a number in a unit that fits", text);
            None
        }
    }
}
