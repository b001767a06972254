//! One board behind the library, as a source of samples.

use crate::domain::metric::Metric;
use crate::sampler::nvml::events::NvmlEvents;
use crate::sampler::nvml::gpm::Gpm;
use crate::sampler::nvml::instances;
use crate::sampler::nvml::raw::{self, Handle, ProcessRooms, call, number};
use crate::sampler::nvml::return_code::{check, of_wrapper};
use crate::sampler::source::{
    Count, EventSource, FoundInstance, GpuSource, Identity, ListedProcess, Part, ProcessList,
    ProcessSample, Question, Refusal, Reply, Ring, RingSample,
};
use nvml_wrapper::enum_wrappers::device::{
    Clock, EccCounter, MemoryError, PcieUtilCounter, PerformancePolicy, TemperatureSensor,
};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use nvml_wrapper_sys::bindings::{nvmlProcessInfo_t, nvmlSample_t};
use std::sync::Arc;

/// All links together, in the scope of a field.
const ALL_LINKS: u32 = u32::MAX;
/// Bytes of a process's name that are asked for.
const LONGEST_NAME: usize = 256;
/// Field values of NVLink count in KiB.
const KIBIBYTES: u64 = 1024;

/// How a field's number becomes a reply.
#[derive(Clone, Copy)]
enum Shape {
    AsIs,
    /// A total of bytes.
    Bytes,
    /// A total of KiB.
    Kibibytes,
}

/// Fields that one call asks for: id, scope, what it is about, how it counts.
const FIELDS: &[(u32, u32, Metric, Shape)] = &[
    (186, 0, Metric::PowerInstant, Shape::AsIs),
    (83, 0, Metric::Energy, Shape::AsIs),
    (74, 0, Metric::PowerViolation, Shape::AsIs),
    (75, 0, Metric::ThermalViolation, Shape::AsIs),
    (197, 0, Metric::PcieTransmit, Shape::Bytes),
    (198, 0, Metric::PcieReceive, Shape::Bytes),
    (138, ALL_LINKS, Metric::NvlinkTransmit, Shape::Kibibytes),
    (139, ALL_LINKS, Metric::NvlinkReceive, Shape::Kibibytes),
    (82, 0, Metric::MemoryTemperature, Shape::AsIs),
];

/// Memory of a board or an instance, bytes.
pub(super) struct Memory {
    pub(super) total: u64,
    pub(super) free: u64,
    pub(super) used: u64,
    /// `None` from drivers before 510, which count it as used.
    pub(super) reserved: Option<u64>,
}

/// Memory, by the older function where the driver lacks the newer one.
pub(super) fn memory(nvml: &Nvml, handle: Handle) -> Result<Memory, Refusal> {
    // SAFETY: the handle comes from this library, which is still loaded.
    let device = unsafe { Device::new(handle.0, nvml) };
    match device.memory_info() {
        Ok(it) => {
            let reserved = Some(it.reserved);
            Ok(Memory { total: it.total, free: it.free, used: it.used, reserved })
        }
        Err(NvmlError::FailedToLoadSymbol(_) | NvmlError::FunctionNotFound) => {
            let (total, free, used) = raw::memory_v1(nvml, handle)?;
            Ok(Memory { total, free, used, reserved: None })
        }
        Err(error) => Err(of_wrapper(error)),
    }
}

/// A board.
pub(super) struct NvmlGpu {
    nvml: Arc<Nvml>,
    handle: Handle,
    identity: Identity,
    gpm: Gpm,
    samples: Vec<nvmlSample_t>,
    rooms: ProcessRooms,
    processes: Vec<nvmlProcessInfo_t>,
}

impl NvmlGpu {
    pub(super) fn new(nvml: &Arc<Nvml>, handle: Handle, identity: Identity) -> Self {
        Self {
            nvml: Arc::clone(nvml),
            handle,
            identity,
            gpm: Gpm::default(),
            samples: Vec::new(),
            rooms: ProcessRooms::default(),
            processes: Vec::new(),
        }
    }

    fn device(&self) -> Device<'_> {
        // SAFETY: the handle comes from this library, which lives as long as `self`.
        unsafe { Device::new(self.handle.0, &self.nvml) }
    }

    fn fields(&self, replies: &mut Vec<Reply>) -> Result<(), Refusal> {
        let asked: [(u32, u32); FIELDS.len()] =
            std::array::from_fn(|it| (FIELDS[it].0, FIELDS[it].1));
        let answers = raw::fields(&self.nvml, self.handle, &asked)?;
        for ((_, _, metric, shape), answer) in FIELDS.iter().zip(answers) {
            let count = answer.map(|it| shaped(it, *shape));
            replies.push(Reply { metric: *metric, count });
        }
        Ok(())
    }

    fn clocks(&self, replies: &mut Vec<Reply>) {
        for (metric, clock) in [
            (Metric::SmClock, Clock::SM),
            (Metric::MemoryClock, Clock::Memory),
            (Metric::VideoClock, Clock::Video),
        ] {
            replies.push(narrow(metric, self.device().clock_info(clock)));
        }
    }

    fn memory(&self, question: Question, replies: &mut Vec<Reply>) -> Result<(), Refusal> {
        let memory = memory(&self.nvml, self.handle)?;
        let mut push = |metric, count| replies.push(Reply { metric, count });
        if question == Question::MemoryUsed {
            push(Metric::FramebufferUsed, Ok(Count::Wide(memory.used)));
            return Ok(());
        }
        push(Metric::FramebufferFree, Ok(Count::Wide(memory.free)));
        push(Metric::FramebufferTotal, Ok(Count::Wide(memory.total)));
        let reserved = memory.reserved.map(Count::Wide).ok_or(Refusal::NoFunction);
        push(Metric::FramebufferReserved, reserved);
        Ok(())
    }

    fn violations(&self, replies: &mut Vec<Reply>) {
        for (metric, policy) in [
            (Metric::PowerViolation, PerformancePolicy::Power),
            (Metric::ThermalViolation, PerformancePolicy::Thermal),
        ] {
            let status = self.device().violation_status(policy);
            replies.push(wide(metric, status.map(|it| it.violation_time)));
        }
    }

    /// Each direction takes the library 20 ms.
    fn pcie_throughput(&self, replies: &mut Vec<Reply>) {
        for (metric, counter) in [
            (Metric::PcieTransmit, PcieUtilCounter::Send),
            (Metric::PcieReceive, PcieUtilCounter::Receive),
        ] {
            let kilobytes = self.device().pcie_throughput(counter).map_err(of_wrapper);
            let bytes = |it| match it {
                u32::MAX => Count::Narrow(it),
                it => Count::Wide(u64::from(it) * 1000),
            };
            replies.push(Reply { metric, count: kilobytes.map(bytes) });
        }
    }

    fn engine(&self, question: Question, replies: &mut Vec<Reply>) {
        let (nvml, device) = (&self.nvml, self.handle.0);
        let mut period = 0;
        let percent = match question {
            Question::Encoder => {
                self.device().encoder_utilization().map(|it| it.utilization).map_err(of_wrapper)
            }
            Question::Decoder => {
                self.device().decoder_utilization().map(|it| it.utilization).map_err(of_wrapper)
            }
            Question::Jpeg => number(|it: &mut u32| {
                call!(nvml, nvmlDeviceGetJpgUtilization(device, it, &mut period))
            }),
            _ => number(|it: &mut u32| {
                call!(nvml, nvmlDeviceGetOfaUtilization(device, it, &mut period))
            }),
        };
        let metric = question.spec().metrics[0];
        replies.push(Reply { metric, count: percent.map(Count::Narrow) });
    }

    /// Questions of several calls, of which each may fail by itself.
    fn several(&self, question: Question, replies: &mut Vec<Reply>) {
        match question {
            Question::Clocks => self.clocks(replies),
            Question::Violations => self.violations(replies),
            _ => self.pcie_throughput(replies),
        }
    }

    fn utilization(&self, replies: &mut Vec<Reply>) -> Result<(), Refusal> {
        let both = self.device().utilization_rates().map_err(of_wrapper)?;
        replies.push(Reply { metric: Metric::GpuUtilization, count: Ok(Count::Narrow(both.gpu)) });
        replies.push(Reply {
            metric: Metric::MemoryUtilization,
            count: Ok(Count::Narrow(both.memory)),
        });
        Ok(())
    }
}

/// A field's number as a count of what we want.
fn shaped(count: Count, shape: Shape) -> Count {
    match (shape, count) {
        (Shape::Bytes, Count::Wide(it)) => Count::Total(it),
        (Shape::Bytes, Count::Narrow(it)) if it != u32::MAX => Count::Total(u64::from(it)),
        (Shape::Kibibytes, Count::Wide(it)) if it != u64::MAX => {
            Count::Total(it.saturating_mul(KIBIBYTES))
        }
        (Shape::Kibibytes, Count::Narrow(it)) if it != u32::MAX => {
            Count::Total(u64::from(it) * KIBIBYTES)
        }
        (_, count) => count,
    }
}

fn narrow(metric: Metric, answer: Result<u32, NvmlError>) -> Reply {
    Reply { metric, count: answer.map(Count::Narrow).map_err(of_wrapper) }
}

fn wide(metric: Metric, answer: Result<u64, NvmlError>) -> Reply {
    Reply { metric, count: answer.map(Count::Wide).map_err(of_wrapper) }
}

impl GpuSource for NvmlGpu {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn ask(&mut self, question: Question, replies: &mut Vec<Reply>) -> Result<(), Refusal> {
        let device = self.device();
        let one = match question {
            Question::Utilization => return self.utilization(replies),
            Question::Fields => return self.fields(replies),
            Question::MemoryUsed | Question::Memory => return self.memory(question, replies),
            Question::Clocks | Question::Violations | Question::PcieThroughput => {
                self.several(question, replies);
                return Ok(());
            }
            Question::Encoder | Question::Decoder | Question::Jpeg | Question::Ofa => {
                self.engine(question, replies);
                return Ok(());
            }
            Question::ThrottleReasons => Reply {
                metric: Metric::ThrottleReasons,
                count: raw::throttle_reasons(&self.nvml, self.handle).map(Count::Wide),
            },
            Question::RemappedRows => Reply {
                metric: Metric::RemappedRows,
                count: raw::remapped_rows(&self.nvml, self.handle).map(Count::Narrow),
            },
            Question::Power => narrow(Metric::Power, device.power_usage()),
            Question::Energy => wide(Metric::Energy, device.total_energy_consumption()),
            Question::Temperature => {
                narrow(Metric::GpuTemperature, device.temperature(TemperatureSensor::Gpu))
            }
            Question::PerformanceState => {
                narrow(Metric::PerformanceState, device.performance_state().map(|it| it.as_c()))
            }
            Question::PowerLimit => narrow(Metric::PowerLimit, device.enforced_power_limit()),
            Question::FanSpeed => narrow(Metric::FanSpeed, device.fan_speed(0)),
            Question::Bar1 => wide(Metric::Bar1Used, device.bar1_memory_info().map(|it| it.used)),
            Question::Ecc => wide(
                Metric::EccUncorrected,
                device.total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile),
            ),
            Question::PcieReplays => narrow(Metric::PcieReplays, device.pcie_replay_counter()),
        };
        replies.push(one);
        Ok(())
    }

    fn ring(
        &mut self,
        ring: Ring,
        after_us: u64,
        samples: &mut Vec<RingSample>,
    ) -> Result<(), Refusal> {
        let kind = match ring {
            Ring::Power => 0,
            Ring::GpuUtilization => 1,
            Ring::MemoryUtilization => 2,
        };
        raw::samples(&self.nvml, self.handle, kind, after_us, &mut self.samples, samples)
    }

    fn process_ring(
        &mut self,
        after_us: u64,
        samples: &mut Vec<ProcessSample>,
    ) -> Result<(), Refusal> {
        raw::process_samples(&self.nvml, self.handle, after_us, &mut self.rooms, samples)
    }

    fn processes(
        &mut self,
        list: ProcessList,
        found: &mut Vec<ListedProcess>,
    ) -> Result<(), Refusal> {
        raw::processes(&self.nvml, self.handle, list, &mut self.processes, found)
    }

    fn instances(&mut self, found: &mut Vec<FoundInstance>) -> Result<(), Refusal> {
        instances::find(&self.nvml, self.handle, found)
    }

    fn counters(&mut self, part: Part, replies: &mut Vec<Reply>) -> Result<(), Refusal> {
        self.gpm.read(&self.nvml, self.handle, part, replies)
    }

    fn forget_counters(&mut self, part: Part) {
        self.gpm.forget(part);
    }

    fn events(&mut self) -> Result<Box<dyn EventSource>, Refusal> {
        Ok(Box::new(NvmlEvents::of(&self.nvml, self.handle)?))
    }

    fn process_name(&mut self, pid: u32) -> Option<String> {
        self.nvml.sys_process_name(pid, LONGEST_NAME).ok()
    }

    fn is_persistent(&mut self) -> Result<bool, Refusal> {
        self.device().is_in_persistent_mode().map_err(of_wrapper)
    }
}
