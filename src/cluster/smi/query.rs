//! `nvidia-smi -q`: GPUs, MIG devices and which process sits on which instance.

use crate::cluster::facts::{
    ComputeMode, GpuFacts, GpuKey, GpuProcess, MigDevice, NodeWords, Origin,
};
use crate::cluster::text::{Line, count, lines, mebibytes, said};

/// Reads all GPUs of a query; a file that ends early gives what stands above its end.
///
/// The text gives no index. Where it holds as many GPUs as it says are attached, their order is that of
/// their indices; otherwise (`-i`, or a file that was cut) the indices stay unknown.
pub fn read(file: &str, text: &str) -> NodeWords {
    let mut reader = Reader::new(file);
    for line in lines(text) {
        reader.take(line);
    }
    reader.finish()
}

struct Reader<'a> {
    file: &'a str,
    words: NodeWords,
    /// Indent and key of the lines that the current one stands below.
    above: Vec<(usize, &'a str)>,
    attached: Option<usize>,
    /// Instances that the next process line belongs to.
    instances: (Option<u32>, Option<u32>),
}

impl<'a> Reader<'a> {
    fn new(file: &'a str) -> Self {
        Self {
            file,
            words: NodeWords::default(),
            above: Vec::new(),
            attached: None,
            instances: (None, None),
        }
    }

    fn take(&mut self, line: Line<'a>) {
        let content = line.text.trim();
        if content.is_empty() || content.starts_with('=') {
            return;
        }
        let indent = line.text.len() - line.text.trim_start().len();
        let (key, value) = match content.split_once(" : ") {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (content.trim_end_matches(':').trim(), None),
        };
        while self.above.last().is_some_and(|it| it.0 >= indent) {
            self.above.pop();
        }
        match (indent, value) {
            (0, None) if key.starts_with("GPU ") => self.begin_gpu(&key[4..], line.number),
            (0, Some(value)) if key == "Attached GPUs" => self.attached = value.parse().ok(),
            (_, None) if key == "MIG Device" => self.begin_mig_device(line.number),
            (_, Some(value)) => self.leaf(key, value, line.number),
            _ => {}
        }
        self.above.push((indent, key));
    }

    fn begin_gpu(&mut self, bus_id: &str, line: u64) {
        let gpu = GpuKey::new(None, None, Some(bus_id));
        self.words.gpus.push(GpuFacts::new(gpu, Origin::new(self.file, line)));
        self.instances = (None, None);
    }

    fn begin_mig_device(&mut self, line: u64) {
        if let Some(gpu) = self.words.gpus.last() {
            let device = MigDevice::new(gpu.gpu.clone(), Origin::new(self.file, line));
            self.words.mig_devices.push(device);
        }
    }

    fn leaf(&mut self, key: &str, value: &str, line: u64) {
        let keys: Vec<&str> = self.above.iter().skip(1).map(|it| it.1).collect();
        match keys.first() {
            Some(&"MIG Device") => self.mig_leaf(keys.last().copied(), key, value),
            Some(&"Processes") => self.process_leaf(key, value, line),
            section => self.gpu_leaf(section.copied(), key, value),
        }
    }

    fn gpu_leaf(&mut self, section: Option<&str>, key: &str, value: &str) {
        let Some(gpu) = self.words.gpus.last_mut() else { return };
        match (section, key) {
            (None, "Product Name") => gpu.name = said(value).map(str::to_owned),
            (None, "GPU UUID") => gpu.gpu.set_uuid(value),
            (None, "Compute Mode") => gpu.compute_mode = compute_mode(value),
            (Some("PCI"), "Device Id") => gpu.pci_device_id = said(value).map(str::to_owned),
            (Some("MIG Mode" | "Mig Mode"), "Current") => gpu.is_mig_on = switch(value),
            (Some("MIG Mode" | "Mig Mode"), "Pending") => gpu.is_mig_pending = switch(value),
            (Some("FB Memory Usage"), "Total") => gpu.memory_total_mib = mebibytes(value),
            (Some("FB Memory Usage"), "Reserved") => gpu.memory_reserved_mib = mebibytes(value),
            (Some("FB Memory Usage"), "Used") => gpu.memory_used_mib = mebibytes(value),
            _ => {}
        }
    }

    fn mig_leaf(&mut self, group: Option<&str>, key: &str, value: &str) {
        let Some(device) = self.words.mig_devices.last_mut() else { return };
        match (group, key) {
            (_, "Index") => device.index = count(value),
            (_, "GPU Instance ID") => device.gpu_instance = count(value),
            (_, "Compute Instance ID") => device.compute_instance = count(value),
            (_, "UUID" | "MIG UUID") => device.uuid = said(value).map(str::to_owned),
            (_, "Multiprocessor count") => device.multiprocessors = count(value),
            (Some("Shared FB Memory Usage" | "FB Memory Usage"), "Total") => {
                device.memory_total_mib = mebibytes(value);
            }
            (Some("Shared FB Memory Usage" | "FB Memory Usage"), "Used") => {
                device.memory_used_mib = mebibytes(value);
            }
            _ => {}
        }
    }

    fn process_leaf(&mut self, key: &str, value: &str, line: u64) {
        let Some(gpu) = self.words.gpus.last() else { return };
        match key {
            "GPU instance ID" | "GPU Instance ID" => self.instances.0 = count(value),
            "Compute instance ID" | "Compute Instance ID" => self.instances.1 = count(value),
            "Process ID" => match value.parse() {
                Ok(pid) => self.words.processes.push(GpuProcess {
                    gpu_instance: self.instances.0,
                    compute_instance: self.instances.1,
                    ..GpuProcess::new(gpu.gpu.clone(), pid, Origin::new(self.file, line))
                }),
                Err(_) => self
                    .words
                    .unread(Origin::new(self.file, line), format!("`{value}` is no process id")),
            },
            _ => {
                let Some(process) = self.words.processes.last_mut() else { return };
                match key {
                    "Type" => process.kind = said(value).map(str::to_owned),
                    "Name" => process.name = said(value).map(str::to_owned),
                    "Used GPU Memory" => process.memory_mib = mebibytes(value),
                    _ => {}
                }
            }
        }
    }

    /// Spreads the names of a GPU, of which some stand below its devices, over all that belongs to it.
    fn finish(mut self) -> NodeWords {
        let found = self.words.gpus.len();
        if self.attached == Some(found) {
            for (gpu, index) in self.words.gpus.iter_mut().zip(0..) {
                gpu.gpu.index = Some(index);
            }
        }
        let keys: Vec<GpuKey> = self.words.gpus.iter().map(|it| it.gpu.clone()).collect();
        let whole = |key: &mut GpuKey| {
            if let Some(it) = keys.iter().find(|it| it.bus_id == key.bus_id) {
                *key = it.clone();
            }
        };
        self.words.mig_devices.iter_mut().for_each(|it| whole(&mut it.gpu));
        self.words.processes.iter_mut().for_each(|it| whole(&mut it.gpu));
        if let Some(attached) = self.attached.filter(|it| *it > found) {
            let text = format!("{attached} GPUs are attached, and the file shows {found}");
            self.words.unread(Origin::new(self.file, None), text);
        }
        self.words
    }
}

/// `Enabled` and `Disabled`.
pub(super) fn switch(value: &str) -> Option<bool> {
    match value {
        "Enabled" => Some(true),
        "Disabled" => Some(false),
        _ => None,
    }
}

/// A compute mode in the words of the query or of the table.
pub(super) fn compute_mode(value: &str) -> Option<ComputeMode> {
    match value {
        "Default" => Some(ComputeMode::Default),
        "Exclusive_Process" | "Exclusive Process" | "E. Process" => {
            Some(ComputeMode::ExclusiveProcess)
        }
        "Prohibited" => Some(ComputeMode::Prohibited),
        _ => None,
    }
}
