//! `nvidia-smi -q`: everything that the driver says about each GPU, one capture or many in a row (`-l 1`).
//!
//! The text is indented: a line without value heads the lines that stand deeper below it.

use crate::domain::ident::GpuId;
use crate::domain::metric::{Dialect, Metric};
use crate::domain::mig_geometry::Engines;
use crate::domain::outline::Device;
use crate::import::error::ImportError;
use crate::import::gpu_names::driver_uuid;
use crate::import::run::ImportRun;
use crate::import::smi::capture::{
    Capture, CapturedGpu, CapturedInstance, CapturedProcess, Captures, quantity,
};
use crate::import::smi::program::program_name;
use crate::import::text::cells::is_missing;
use crate::import::text::lines::{Lines, head_lines};
use crate::import::{Importer, Likeness};
use std::io::BufRead;

/// Bytes in a mebibyte.
const MIB: f64 = 1_048_576.0;

/// Clock event reasons and their bit in NVML's mask.
const REASONS: [(&str, u64); 9] = [
    ("Idle", 0x1),
    ("Applications Clocks Setting", 0x2),
    ("SW Power Cap", 0x4),
    ("HW Slowdown", 0x8),
    ("Sync Boost", 0x10),
    ("SW Thermal Slowdown", 0x20),
    ("HW Thermal Slowdown", 0x40),
    ("HW Power Brake Slowdown", 0x80),
    ("Display Clock Setting", 0x100),
];

/// Reads `nvidia-smi -q`.
pub struct SmiLog;

impl Importer for SmiLog {
    fn id(&self) -> &'static str {
        "smi-log"
    }

    fn about(&self) -> &'static str {
        "text of `nvidia-smi -q`, one capture or many in a row (`-l 1`)"
    }

    fn recognise(&self, head: &[u8]) -> Likeness {
        let is_banner = |it: &String| is_banner(it);
        match head_lines(head).iter().any(is_banner) {
            true => Likeness::Sure,
            false => Likeness::No,
        }
    }

    fn import(&self, input: &mut dyn BufRead, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut file = LogFile::new(run);
        let mut lines = Lines::new(input);
        while let Some(line) = lines.next(run)? {
            file.line(run, &line)?;
        }
        file.flush(run)?;
        file.captures.finish(run, "keep the line `Timestamp` of each capture")
    }
}

fn is_banner(line: &str) -> bool {
    line.starts_with("====") && line.contains("NVSMI LOG")
}

/// A GPU of the present capture, as far as it was read.
struct Section {
    gpu: CapturedGpu,
    bus_id: String,
    mask: Option<u64>,
    /// Uncorrected errors since the driver was loaded, part by part.
    uncorrected: Sum,
    /// Remapped rows, corrected and not.
    remapped: Sum,
}

/// A sum that is one only if every part has a reading.
#[derive(Default)]
struct Sum {
    sum: f64,
    parts: u32,
    is_whole: bool,
}

impl Sum {
    fn add(&mut self, part: Option<f64>) {
        self.is_whole = part.is_some() && (self.parts == 0 || self.is_whole);
        self.sum += part.unwrap_or_default();
        self.parts += 1;
    }

    fn value(&self) -> Option<f64> {
        self.is_whole.then_some(self.sum)
    }
}

/// A file that is being read, line by line or element by element.
pub(super) struct LogFile {
    pub(super) captures: Captures,
    capture: Capture,
    sections: Vec<Section>,
    /// Indent and key of the lines that the present one stands below.
    above: Vec<(usize, String)>,
    attached: Option<usize>,
    /// GPU instance of the process that comes next.
    place: Option<u32>,
    /// Whether the stamp of the capture could not be read, so that nobody knows when it was.
    is_process_lost: bool,
}

impl LogFile {
    pub(super) fn new(run: &ImportRun<'_>) -> Self {
        Self {
            captures: Captures::new(run),
            capture: Capture::default(),
            sections: Vec::new(),
            above: Vec::new(),
            attached: None,
            place: None,
            is_process_lost: false,
        }
    }

    fn line(&mut self, run: &mut ImportRun<'_>, line: &str) -> Result<(), ImportError> {
        if is_banner(line) {
            return self.flush(run);
        }
        let content = line.trim();
        if content.starts_with(['+', '|']) {
            if content.contains("NVIDIA-SMI ") {
                run.reject("", "the text of nvidia-smi -q", content);
            }
            return Ok(());
        }
        if content.is_empty() || content.starts_with('=') {
            return Ok(());
        }
        let indent = line.len() - line.trim_start().len();
        let (key, value) = match content.split_once(" : ") {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (content.trim_end_matches(':').trim(), None),
        };
        while self.above.last().is_some_and(|it| it.0 >= indent) {
            self.above.pop();
        }
        match (indent, value) {
            (0, None) if key.starts_with("GPU ") => self.begin_gpu(&key[4..]),
            (0, Some(value)) => self.topmost(run, key, value)?,
            (_, None) if key == "MIG Device" => self.begin_instance(),
            (_, Some(value)) => self.leaf(run, key, value),
            _ => {}
        }
        self.above.push((indent, key.to_owned()));
        Ok(())
    }

    pub(super) fn topmost(
        &mut self,
        run: &mut ImportRun<'_>,
        key: &str,
        value: &str,
    ) -> Result<(), ImportError> {
        match key {
            "Timestamp" => {
                if !self.sections.is_empty() {
                    self.flush(run)?;
                }
                self.capture.at = self.captures.clock.read(run, "Timestamp", value);
                self.is_process_lost = self.capture.at.is_none();
            }
            "Driver Version" => self.capture.driver = Some(value.to_owned()),
            "Attached GPUs" => self.attached = value.parse().ok(),
            _ => {}
        }
        Ok(())
    }

    pub(super) fn begin_gpu(&mut self, bus_id: &str) {
        let device = Device::named(GpuId::new(bus_id));
        let driver = self.capture.driver.clone();
        let device = Device { bus_id: Some(bus_id.to_owned()), driver, ..device };
        self.sections.push(Section {
            gpu: CapturedGpu { device, asked: Default::default(), readings: Vec::new() },
            bus_id: bus_id.to_owned(),
            mask: None,
            uncorrected: Sum::default(),
            remapped: Sum::default(),
        });
        self.place = None;
    }

    pub(super) fn begin_instance(&mut self) {
        if let Some(gpu) = self.sections.len().checked_sub(1) {
            self.capture.instances.push(CapturedInstance { gpu, ..Default::default() });
        }
    }

    fn leaf(&mut self, run: &mut ImportRun<'_>, key: &str, value: &str) {
        let keys: Vec<String> = self.above.iter().skip(1).map(|it| it.1.clone()).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        self.below(run, &keys, key, value);
    }

    /// A value below these headings of a GPU.
    pub(super) fn below(&mut self, run: &mut ImportRun<'_>, path: &[&str], key: &str, value: &str) {
        match path {
            ["MIG Device", group @ ..] => self.instance_leaf(run, group, key, value),
            ["Processes", ..] => self.process_leaf(run, key, value),
            path => {
                if let Some(section) = self.sections.last_mut() {
                    section.leaf(run, path, key, value);
                }
            }
        }
    }

    fn instance_leaf(&mut self, run: &mut ImportRun<'_>, group: &[&str], key: &str, value: &str) {
        let Some(it) = self.capture.instances.last_mut() else { return };
        let count = || value.parse::<u32>().ok();
        let engines = it.engines.get_or_insert(Engines {
            copy: None,
            decoder: None,
            encoder: None,
            jpeg: None,
            optical_flow: None,
        });
        match (group.first().copied(), key) {
            (None, "GPU Instance ID") => match count() {
                Some(number) => it.gpu_instance = number,
                None => run.reject(key, "the number of a GPU instance", value),
            },
            (_, "Multiprocessor count") => it.multiprocessors = count(),
            (_, "Copy Engine count") => engines.copy = count(),
            (_, "Encoder count") => engines.encoder = count(),
            (_, "Decoder count") => engines.decoder = count(),
            (_, "OFA count") => engines.optical_flow = count(),
            (_, "JPG count" | "JPEG count") => engines.jpeg = count(),
            (Some("Shared FB Memory Usage" | "FB Memory Usage"), _) => {
                let metric = match key {
                    "Used" => Metric::FramebufferUsed,
                    "Total" => Metric::FramebufferTotal,
                    "Free" => Metric::FramebufferFree,
                    "Reserved" => Metric::FramebufferReserved,
                    _ => return,
                };
                let read = quantity(run, key, metric, MIB, value);
                it.readings.extend(read.map(|it| (metric, it)));
            }
            _ => {}
        }
    }

    fn process_leaf(&mut self, run: &mut ImportRun<'_>, key: &str, value: &str) {
        let Some(gpu) = self.sections.len().checked_sub(1) else { return };
        let process = self.capture.processes.last_mut().filter(|it| it.gpu == gpu);
        match (key, process) {
            ("GPU instance ID" | "GPU Instance ID", _) => self.place = value.parse().ok(),
            ("Process ID", _) => match value.parse() {
                Ok(pid) => {
                    let gpu_instance = self.place.take();
                    let it = CapturedProcess { gpu, gpu_instance, pid, name: None, memory: None };
                    self.capture.processes.push(it);
                }
                Err(_) => run.reject(key, "a process id", value),
            },
            ("Name", Some(it)) => it.name = program_name(value),
            ("Used GPU Memory", Some(it)) => {
                it.memory = quantity(run, key, Metric::FramebufferUsed, MIB, value);
            }
            _ => {}
        }
    }

    /// Ends a capture. Where it holds as many GPUs as it says are attached, their order is that of their indices.
    pub(super) fn flush(&mut self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut capture = std::mem::take(&mut self.capture);
        let sections = std::mem::take(&mut self.sections);
        let attached = self.attached.take();
        self.above.clear();
        if std::mem::take(&mut self.is_process_lost) {
            return Ok(());
        }
        let is_whole = attached == Some(sections.len());
        for (index, section) in (0u32..).zip(sections) {
            capture.gpus.push(section.close(is_whole.then_some(index)));
        }
        self.captures.take(run, "nvidia-smi -q", capture)
    }
}

impl Section {
    fn leaf(&mut self, run: &mut ImportRun<'_>, path: &[&str], key: &str, value: &str) {
        let device = &mut self.gpu.device;
        match (path, key) {
            ([], "Product Name") => device.model = said(value),
            ([], "GPU UUID") => {
                if let Some(uuid) = driver_uuid(value) {
                    device.gpu = GpuId::new(uuid);
                }
            }
            (["MIG Mode" | "Mig Mode"], "Current") => {
                device.is_mig = match value {
                    "Enabled" => Some(true),
                    "Disabled" => Some(false),
                    _ => None,
                };
            }
            (["Clocks Event Reasons" | "Clocks Throttle Reasons", ..], _) => {
                self.reason(key, value);
            }
            (["ECC Errors", "Volatile", ..], _) if is_uncorrected(&path[2..], key) => {
                self.gpu.asked.insert(Metric::EccUncorrected);
                let part = quantity(run, key, Metric::EccUncorrected, 1.0, value);
                self.uncorrected.add(part);
            }
            (["Remapped Rows"], "Correctable Error" | "Uncorrectable Error") => {
                self.gpu.asked.insert(Metric::RemappedRows);
                self.remapped.add(quantity(run, key, Metric::RemappedRows, 1.0, value));
            }
            _ => self.metric(run, path, key, value),
        }
    }

    /// A line that the table of metrics knows; of two for one metric the first with a reading stays.
    fn metric(&mut self, run: &mut ImportRun<'_>, path: &[&str], key: &str, value: &str) {
        let name = path.iter().chain([&key]).copied().collect::<Vec<&str>>().join("/");
        let Some((metric, factor)) = Metric::from_foreign(Dialect::SmiLog, &name) else { return };
        self.gpu.asked.insert(metric);
        if self.gpu.readings.iter().all(|it| it.0 != metric) {
            let read = quantity(run, &name, metric, factor, value);
            self.gpu.readings.extend(read.map(|it| (metric, it)));
        }
    }

    fn reason(&mut self, key: &str, value: &str) {
        let Some((_, bit)) = REASONS.iter().find(|it| it.0 == key) else { return };
        self.gpu.asked.insert(Metric::ThrottleReasons);
        match value {
            "Active" => self.mask = Some(self.mask.unwrap_or(0) | bit),
            "Not Active" => self.mask = Some(self.mask.unwrap_or(0)),
            _ => {}
        }
    }

    fn close(mut self, index: Option<u32>) -> CapturedGpu {
        let it = &mut self.gpu;
        it.device.index = index;
        let is_nameless = it.device.gpu.as_str() == self.bus_id;
        if let Some(index) = index.filter(|_| is_nameless) {
            it.device.gpu = GpuId::from_index(index);
        }
        let sums = [
            (Metric::ThrottleReasons, self.mask.map(|it| it as f64)),
            (Metric::EccUncorrected, self.uncorrected.value()),
            (Metric::RemappedRows, self.remapped.value()),
        ];
        it.readings.extend(sums.into_iter().filter_map(|it| Some((it.0, it.1?))));
        self.gpu
    }
}

/// Whether a line below `Volatile` counts uncorrected errors: by place on new drivers, in all on old ones.
fn is_uncorrected(path: &[&str], key: &str) -> bool {
    match path {
        [] => key.contains("Uncorrectable"),
        ["Double Bit"] => key == "Total",
        _ => false,
    }
}

fn said(value: &str) -> Option<String> {
    (!is_missing(value)).then(|| value.to_owned())
}

#[cfg(test)]
mod tests;
