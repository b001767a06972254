//! The GPUs and processes of a capture, and which of them a number in a table means.

use crate::domain::ident::GpuId;
use crate::domain::outline::Device;
use crate::import::error::ImportError;
use crate::import::gpu_names::{bus_id, driver_uuid};
use crate::import::nsight::database::{Cell, Database};
use crate::import::run::ImportRun;
use crate::import::run::devices::Devices;
use crate::import::smi::program::program_name;
use std::collections::{BTreeMap, BTreeSet};

/// Bits of a `typeId` that number the GPU.
const GPU_BITS: i64 = 0xff;
/// A process as nsys counts it: host, machine, then 24 bits of process id, then 24 bits that are zero.
const PID_SHIFT: u32 = 24;
/// Bits of a process id there.
const PID_BITS: i64 = 0xff_ffff;

/// The table of GPUs.
const GPUS: &str = "TARGET_INFO_GPU";
/// The table of what each process calls its GPUs.
const CUDA_DEVICES: &str = "TARGET_INFO_CUDA_DEVICE";
/// The table of processes.
const PROCESSES: &str = "PROCESSES";

/// A GPU of the capture.
#[derive(Debug)]
pub(super) struct Gpu {
    device: Device,
    /// Its number in the table.
    id: Option<i64>,
    /// Its number for the sampler of metrics.
    sampler: Option<i64>,
    /// Its number for CUDA, where a process does not say otherwise.
    cuda: Option<i64>,
    /// Device memory, bytes.
    pub(super) memory: Option<f64>,
}

/// A process of the capture.
#[derive(Debug, Clone, Default)]
struct Known {
    pid: Option<u32>,
    name: Option<String>,
}

/// The GPUs and processes of a capture.
#[derive(Debug, Default)]
pub(super) struct Gpus {
    all: Vec<Gpu>,
    /// Position of the GPU that a process calls by this number.
    called: BTreeMap<(i64, i64), usize>,
    processes: BTreeMap<i64, Known>,
    devices: Devices,
}

impl Gpus {
    /// Reads what the capture says about them; a table that is missing leaves them unknown.
    pub(super) fn read(run: &mut ImportRun<'_>, database: &Database) -> Result<Self, ImportError> {
        let mut gpus = Self::default();
        gpus.read_gpus(run, database)?;
        gpus.read_names_of_processes(run, database)?;
        gpus.read_processes(run, database)?;
        Ok(gpus)
    }

    fn read_gpus(
        &mut self,
        run: &mut ImportRun<'_>,
        database: &Database,
    ) -> Result<(), ImportError> {
        let wanted = ["id", "pwGpuId", "cuDevice", "uuid", "busLocation", "name", "totalMemory"];
        let columns = present(database, GPUS, &wanted);
        if columns.is_empty() {
            return Ok(());
        }
        database.rows(run, GPUS, &columns, |_, cells| {
            let cell = |name: &str| columns.iter().position(|it| *it == name).map(|it| cells[it]);
            let number = |name| cell(name).and_then(|it| it.integer());
            let text = |name| cell(name).and_then(|it| it.text());
            let bus = text("busLocation").map(|it| bus_id(&it).unwrap_or(it));
            let index = number("id").and_then(|it| u32::try_from(it).ok());
            let named = text("uuid").and_then(|it| driver_uuid(&it)).or_else(|| bus.clone());
            let gpu = match (named, index) {
                (Some(name), _) => GpuId::new(name),
                (None, Some(index)) => GpuId::from_index(index),
                (None, None) => return Ok(()),
            };
            let device = Device { bus_id: bus, model: text("name"), ..Device::named(gpu) };
            let memory = number("totalMemory").filter(|it| *it > 0).map(|it| it as f64);
            let (sampler, cuda) = (number("pwGpuId"), number("cuDevice"));
            self.all.push(Gpu { device, id: number("id"), sampler, cuda, memory });
            Ok(())
        })
    }

    fn read_names_of_processes(
        &mut self,
        run: &mut ImportRun<'_>,
        database: &Database,
    ) -> Result<(), ImportError> {
        let columns = ["pid", "cudaId", "gpuId", "uuid"];
        if !database.has_columns(CUDA_DEVICES, &columns) {
            return Ok(());
        }
        database.rows(run, CUDA_DEVICES, &columns, |_, cells| {
            let (Some(pid), Some(cuda)) = (cells[0].integer(), cells[1].integer()) else {
                return Ok(());
            };
            let uuid = cells[3].text().and_then(|it| driver_uuid(&it)).map(GpuId::new);
            let by_uuid = |it: &Gpu| uuid.as_ref() == Some(&it.device.gpu);
            let by_id = |it: &Gpu| it.id.is_some() && it.id == cells[2].integer();
            let place =
                self.all.iter().position(by_uuid).or_else(|| self.all.iter().position(by_id));
            self.called.extend(place.map(|it| ((pid, cuda), it)));
            Ok(())
        })
    }

    fn read_processes(
        &mut self,
        run: &mut ImportRun<'_>,
        database: &Database,
    ) -> Result<(), ImportError> {
        let columns = present(database, PROCESSES, &["globalPid", "pid", "name"]);
        if !columns.contains(&"globalPid") {
            return Ok(());
        }
        database.rows(run, PROCESSES, &columns, |run, cells| {
            let cell = |name: &str| columns.iter().position(|it| *it == name).map(|it| cells[it]);
            let Some(Cell::Integer(key)) = cell("globalPid") else {
                run.reject("PROCESSES.globalPid", "a whole number", &cells[0].shown());
                return Ok(());
            };
            let pid = cell("pid").and_then(|it| it.integer()).and_then(|it| u32::try_from(it).ok());
            let name = cell("name").and_then(|it| it.text()).and_then(|it| program_name(&it));
            self.processes.insert(key, Known { pid, name });
            Ok(())
        })
    }

    /// Describes every GPU to the sink.
    pub(super) fn tell(&mut self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        for gpu in &self.all {
            self.devices.tell(run, gpu.device.clone())?;
        }
        Ok(())
    }

    /// The GPU that a `typeId` means; one that the table of GPUs lacks is known by its number, and described.
    ///
    /// The sampler's own numbers count where they are kept: they need not be those of the table.
    pub(super) fn sampled(
        &mut self,
        run: &mut ImportRun<'_>,
        kind: i64,
    ) -> Result<GpuId, ImportError> {
        let number = kind & GPU_BITS;
        let own: BTreeSet<Option<i64>> = self.all.iter().map(|it| it.sampler).collect();
        let has_own = own.len() == self.all.len() && !own.contains(&None);
        let is_it =
            |it: &&Gpu| if has_own { it.sampler == Some(number) } else { it.id == Some(number) };
        if let Some(gpu) = self.all.iter().find(is_it) {
            return Ok(gpu.device.gpu.clone());
        }
        let index = number as u32;
        let named = Device::named(GpuId::from_index(index));
        self.devices.tell(run, Device { index: Some(index), ..named.clone() })?;
        run.warn(format!(
            "the table {GPUS} does not describe GPU {number}, whose metrics were sampled; it is known by that number"
        ));
        Ok(named.gpu)
    }

    /// The GPU that a process calls by this number; `None` where nothing says which it is.
    pub(super) fn called(&self, process: i64, number: i64) -> Option<GpuId> {
        let pid = i64::from(self.pid(process));
        let by_cuda = || {
            let mut fitting = self.all.iter().enumerate().filter(|it| it.1.cuda == Some(number));
            fitting.next().map(|it| it.0)
        };
        let only = || (self.all.len() == 1).then_some(0);
        let place = self.called.get(&(pid, number)).copied().or_else(by_cuda).or_else(only)?;
        self.all.get(place).map(|it| it.device.gpu.clone())
    }

    /// Process id of a process as nsys counts it.
    pub(super) fn pid(&self, process: i64) -> u32 {
        let known = self.processes.get(&process).and_then(|it| it.pid);
        known.unwrap_or(((process >> PID_SHIFT) & PID_BITS) as u32)
    }

    /// Its program; `None` where the capture does not say.
    pub(super) fn program(&self, process: i64) -> Option<String> {
        self.processes.get(&process).and_then(|it| it.name.clone())
    }

    /// Device memory of a GPU, bytes; `None` where the capture does not say.
    pub(super) fn memory(&self, gpu: &GpuId) -> Option<f64> {
        self.all.iter().find(|it| it.device.gpu == *gpu).and_then(|it| it.memory)
    }
}

/// Those of the columns that the table has.
fn present<'a>(database: &Database, table: &str, wanted: &[&'a str]) -> Vec<&'a str> {
    wanted.iter().copied().filter(|it| database.has_columns(table, &[it])).collect()
}
