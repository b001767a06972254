//! `nvidia-smi -q -x`: what `nvidia-smi -q` says, as XML; one document or many in a row (`-l 1`).
//!
//! Every element that holds something is the line of the text that says the same, so both give the same rows.
//! Source of the names: the `nvsmi_device` DTDs that nvidia-smi carries (`--dtd`).

use crate::import::error::ImportError;
use crate::import::run::ImportRun;
use crate::import::smi::log::LogFile;
use crate::import::text::lines::{Lines, head_lines};
use crate::import::{Importer, Likeness};
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::reader::Reader;
use std::io::BufRead;

/// The element around one capture.
const ROOT: &str = "nvidia_smi_log";
/// The end of one capture.
const END: &str = "</nvidia_smi_log>";
/// Longest document that is read, in bytes; one of sixteen GPUs with all clocks has some 400 KiB.
const LONGEST: usize = 16 << 20;
/// Most elements that stand in each other.
const DEEPEST: usize = 32;

/// Elements of a GPU that hold something, and the line of the text that says the same: its headings and its key.
///
/// Elements `mig_device` and `process_info` begin one of many. The reasons of clocks follow a rule of their own.
#[rustfmt::skip]
const ELEMENTS: &[(&str, &[&str], &str)] = &[
    ("product_name", &[], "Product Name"),
    ("uuid", &[], "GPU UUID"),
    ("mig_mode/current_mig", &["MIG Mode"], "Current"),
    ("pci/tx_util", &["PCI"], "Tx Throughput"),
    ("pci/rx_util", &["PCI"], "Rx Throughput"),
    ("pci/replay_counter", &["PCI"], "Replays Since Reset"),
    ("fan_speed", &[], "Fan Speed"),
    ("performance_state", &[], "Performance State"),
    ("clocks_event_reasons_counters/clocks_event_reasons_counters_sw_power_cap", &["Clocks Event Reasons Counters"], "SW Power Capping"),
    ("clocks_event_reasons_counters/clocks_event_reasons_counters_sw_therm_slowdown", &["Clocks Event Reasons Counters"], "SW Thermal Slowdown"),
    ("fb_memory_usage/total", &["FB Memory Usage"], "Total"),
    ("fb_memory_usage/reserved", &["FB Memory Usage"], "Reserved"),
    ("fb_memory_usage/used", &["FB Memory Usage"], "Used"),
    ("fb_memory_usage/free", &["FB Memory Usage"], "Free"),
    ("bar1_memory_usage/used", &["BAR1 Memory Usage"], "Used"),
    ("cc_protected_memory_usage/used", &["Conf Compute Protected Memory Usage"], "Used"),
    ("utilization/gpu_util", &["Utilization"], "GPU"),
    ("utilization/memory_util", &["Utilization"], "Memory"),
    ("utilization/encoder_util", &["Utilization"], "Encoder"),
    ("utilization/decoder_util", &["Utilization"], "Decoder"),
    ("utilization/jpeg_util", &["Utilization"], "JPEG"),
    ("utilization/ofa_util", &["Utilization"], "OFA"),
    ("ecc_errors/volatile/sram_uncorrectable", &["ECC Errors", "Volatile"], "SRAM Uncorrectable"),
    ("ecc_errors/volatile/sram_uncorrectable_parity", &["ECC Errors", "Volatile"], "SRAM Uncorrectable Parity"),
    ("ecc_errors/volatile/sram_uncorrectable_secded", &["ECC Errors", "Volatile"], "SRAM Uncorrectable SEC-DED"),
    ("ecc_errors/volatile/dram_uncorrectable", &["ECC Errors", "Volatile"], "DRAM Uncorrectable"),
    ("ecc_errors/volatile/double_bit/total", &["ECC Errors", "Volatile", "Double Bit"], "Total"),
    ("remapped_rows/remapped_row_corr", &["Remapped Rows"], "Correctable Error"),
    ("remapped_rows/remapped_row_unc", &["Remapped Rows"], "Uncorrectable Error"),
    ("temperature/gpu_temp", &["Temperature"], "GPU Current Temp"),
    ("temperature/memory_temp", &["Temperature"], "Memory Current Temp"),
    ("gpu_power_readings/average_power_draw", &["GPU Power Readings"], "Average Power Draw"),
    ("gpu_power_readings/instant_power_draw", &["GPU Power Readings"], "Instantaneous Power Draw"),
    ("gpu_power_readings/power_draw", &["GPU Power Readings"], "Power Draw"),
    ("gpu_power_readings/current_power_limit", &["GPU Power Readings"], "Current Power Limit"),
    ("power_readings/power_draw", &["Power Readings"], "Power Draw"),
    ("power_readings/enforced_power_limit", &["Power Readings"], "Enforced Power Limit"),
    ("clocks/sm_clock", &["Clocks"], "SM"),
    ("clocks/mem_clock", &["Clocks"], "Memory"),
    ("clocks/video_clock", &["Clocks"], "Video"),
    ("mig_devices/mig_device/gpu_instance_id", &["MIG Device"], "GPU Instance ID"),
    ("mig_devices/mig_device/device_attributes/shared/multiprocessor_count", &["MIG Device", "Device Attributes", "Shared"], "Multiprocessor count"),
    ("mig_devices/mig_device/device_attributes/shared/copy_engine_count", &["MIG Device", "Device Attributes", "Shared"], "Copy Engine count"),
    ("mig_devices/mig_device/device_attributes/shared/encoder_count", &["MIG Device", "Device Attributes", "Shared"], "Encoder count"),
    ("mig_devices/mig_device/device_attributes/shared/decoder_count", &["MIG Device", "Device Attributes", "Shared"], "Decoder count"),
    ("mig_devices/mig_device/device_attributes/shared/ofa_count", &["MIG Device", "Device Attributes", "Shared"], "OFA count"),
    ("mig_devices/mig_device/device_attributes/shared/jpg_count", &["MIG Device", "Device Attributes", "Shared"], "JPG count"),
    ("mig_devices/mig_device/fb_memory_usage/total", &["MIG Device", "FB Memory Usage"], "Total"),
    ("mig_devices/mig_device/fb_memory_usage/reserved", &["MIG Device", "FB Memory Usage"], "Reserved"),
    ("mig_devices/mig_device/fb_memory_usage/used", &["MIG Device", "FB Memory Usage"], "Used"),
    ("mig_devices/mig_device/fb_memory_usage/free", &["MIG Device", "FB Memory Usage"], "Free"),
    ("processes/process_info/gpu_instance_id", &["Processes"], "GPU instance ID"),
    ("processes/process_info/pid", &["Processes"], "Process ID"),
    ("processes/process_info/process_name", &["Processes", "Process ID"], "Name"),
    ("processes/process_info/used_memory", &["Processes", "Process ID"], "Used GPU Memory"),
];

/// Elements of clock event reasons below their heading, new and old, without their common start.
const REASONS: [(&str, &str); 9] = [
    ("gpu_idle", "Idle"),
    ("applications_clocks_setting", "Applications Clocks Setting"),
    ("sw_power_cap", "SW Power Cap"),
    ("hw_slowdown", "HW Slowdown"),
    ("sync_boost", "Sync Boost"),
    ("sw_thermal_slowdown", "SW Thermal Slowdown"),
    ("hw_thermal_slowdown", "HW Thermal Slowdown"),
    ("hw_power_brake_slowdown", "HW Power Brake Slowdown"),
    ("display_clocks_setting", "Display Clock Setting"),
];
/// Starts of their paths.
const REASONS_BELOW: [&str; 2] = [
    "clocks_event_reasons/clocks_event_reason_",
    "clocks_throttle_reasons/clocks_throttle_reason_",
];

/// Reads `nvidia-smi -q -x`.
pub struct SmiXml;

impl Importer for SmiXml {
    fn id(&self) -> &'static str {
        "smi-xml"
    }

    fn about(&self) -> &'static str {
        "XML of `nvidia-smi -q -x`, one document or many in a row (`-l 1`)"
    }

    fn recognise(&self, head: &[u8]) -> Likeness {
        let begins =
            |it: &String| it.contains("<nvidia_smi_log") || it.contains("<!DOCTYPE nvidia_smi_log");
        match head_lines(head).iter().any(begins) {
            true => Likeness::Sure,
            false => Likeness::No,
        }
    }

    fn import(&self, input: &mut dyn BufRead, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut file = LogFile::new(run);
        let mut documents = Documents::default();
        let mut lines = Lines::new(input);
        while let Some(line) = lines.next(run)? {
            let line = line.into_owned();
            for piece in line.split_inclusive(END) {
                for whole in documents.add(run, piece) {
                    document(run, &mut file, &whole)?;
                }
            }
            documents.end_line();
        }
        if let Some(cut) = documents.cut(run) {
            document(run, &mut file, &cut)?;
        }
        file.captures.finish(run, "keep the element `timestamp` of each document")
    }
}

/// A document, and the line that it begins on.
struct Document {
    text: String,
    line: u64,
}

/// Puts lines together to documents, and leaves out what stands between them.
#[derive(Default)]
struct Documents {
    /// The document that is being read; `None` between two.
    open: Option<Document>,
    /// Whether its root has begun.
    has_root: bool,
    is_too_long: bool,
}

impl Documents {
    /// Takes a piece of a line; returns the documents that it cuts short by beginning another, or ends.
    fn add(&mut self, run: &mut ImportRun<'_>, piece: &str) -> Vec<Document> {
        let begins = piece.contains("<?xml");
        let is_root = piece.contains("<nvidia_smi_log");
        let mut ended = Vec::new();
        if begins || (is_root && self.has_root) {
            ended.extend(self.cut(run));
        }
        if self.open.is_none() && (begins || is_root || piece.contains("<!DOCTYPE")) {
            self.open = Some(Document { text: String::new(), line: run.line });
            (self.has_root, self.is_too_long) = (false, false);
        }
        let Some(open) = &mut self.open else { return ended };
        self.has_root |= is_root;
        if open.text.len() + piece.len() > LONGEST {
            self.is_too_long = true;
        } else {
            open.text.push_str(piece);
        }
        if piece.ends_with(END) {
            ended.extend(self.close(run));
        }
        ended
    }

    fn end_line(&mut self) {
        // What is too long is not kept, and neither are its ends of lines.
        if let Some(open) = self.open.as_mut().filter(|_| !self.is_too_long) {
            open.text.push('\n');
        }
    }

    /// The document that has no end; `None` when there is none.
    fn cut(&mut self, run: &mut ImportRun<'_>) -> Option<Document> {
        let cut = self.close(run)?;
        if !self.has_root {
            return None;
        }
        run.reject("", "a document that ends", "one that is cut short");
        Some(cut)
    }

    fn close(&mut self, run: &mut ImportRun<'_>) -> Option<Document> {
        let open = self.open.take()?;
        if self.is_too_long {
            run.reject("", "a document of at most 16 MiB", "a longer one");
            return None;
        }
        Some(open)
    }
}

/// Reads one document; what is wrong with it costs the rest of it.
fn document(
    run: &mut ImportRun<'_>,
    file: &mut LogFile,
    document: &Document,
) -> Result<(), ImportError> {
    let last = std::mem::replace(&mut run.line, document.line);
    let outcome = Tree::default().read(run, file, &document.text);
    run.line = last;
    outcome?;
    file.flush(run)
}

/// Where the reader stands in a document.
#[derive(Default)]
struct Tree {
    path: Vec<String>,
    text: String,
}

impl Tree {
    fn read(
        &mut self,
        run: &mut ImportRun<'_>,
        file: &mut LogFile,
        document: &str,
    ) -> Result<(), ImportError> {
        let mut reader = Reader::from_str(document);
        reader.config_mut().allow_dangling_amp = true;
        loop {
            let event = match reader.read_event() {
                Ok(Event::Eof) => return Ok(()),
                Ok(event) => event,
                Err(error) => {
                    run.reject("", "well-formed XML", &error.to_string());
                    return Ok(());
                }
            };
            run.line += event.iter().filter(|it| **it == b'\n').count() as u64;
            match event {
                Event::DocType(it) if it.contains(&b'[') => {
                    let found = String::from_utf8_lossy(&it).into_owned();
                    run.reject("", "a document without entities of its own", &found);
                    return Ok(());
                }
                Event::Start(it) => {
                    if self.path.len() >= DEEPEST {
                        run.reject("", "elements at most 32 deep", &String::from_utf8_lossy(&it));
                        return Ok(());
                    }
                    self.begin(file, &it);
                }
                Event::End(_) => self.end(run, file)?,
                Event::Text(it) => self.text.push_str(&String::from_utf8_lossy(&it)),
                Event::CData(it) => self.text.push_str(&String::from_utf8_lossy(&it)),
                Event::GeneralRef(it) => self.text.push_str(&resolved(&it)),
                _ => {}
            }
        }
    }

    fn begin(&mut self, file: &mut LogFile, element: &BytesStart<'_>) {
        let name = String::from_utf8_lossy(element.name().as_ref()).into_owned();
        self.text.clear();
        self.path.push(name);
        match self.below_root().as_deref() {
            Some(["gpu"]) => {
                let id = element.try_get_attribute("id").ok().flatten();
                let id = id.map(|it| String::from_utf8_lossy(&it.value).into_owned());
                file.begin_gpu(&id.unwrap_or_default());
            }
            Some(["gpu", "mig_devices", "mig_device"]) => file.begin_instance(),
            _ => {}
        }
    }

    fn end(&mut self, run: &mut ImportRun<'_>, file: &mut LogFile) -> Result<(), ImportError> {
        let text = std::mem::take(&mut self.text);
        let value = text.trim();
        match self.below_root().as_deref() {
            Some(["timestamp"]) => file.topmost(run, "Timestamp", value)?,
            Some(["driver_version"]) => file.topmost(run, "Driver Version", value)?,
            Some(["attached_gpus"]) => file.topmost(run, "Attached GPUs", value)?,
            Some(["gpu", below @ ..]) if !value.is_empty() => {
                if let Some((headings, key)) = line(&below.join("/")) {
                    file.below(run, headings, key, value);
                }
            }
            _ => {}
        }
        self.path.pop();
        Ok(())
    }

    /// The present element below the one around the capture; `None` outside of it.
    fn below_root(&self) -> Option<Vec<&str>> {
        let mut path = self.path.iter().map(String::as_str);
        (path.next() == Some(ROOT)).then(|| path.collect())
    }
}

/// Headings and key of the line that says what this element does; `None` for elements without a place in a recording.
fn line(path: &str) -> Option<(&'static [&'static str], &'static str)> {
    if let Some(it) = ELEMENTS.iter().find(|it| it.0 == path) {
        return Some((it.1, it.2));
    }
    let reason = REASONS_BELOW.iter().find_map(|it| path.strip_prefix(it))?;
    let (_, key) = REASONS.iter().find(|it| it.0 == reason)?;
    Some((&["Clocks Event Reasons"], key))
}

/// What a reference stands for: one of XML's own five, or a character by number. Any other stays as it is.
fn resolved(reference: &BytesRef<'_>) -> String {
    if let Ok(Some(letter)) = reference.resolve_char_ref() {
        return letter.to_string();
    }
    let name = String::from_utf8_lossy(reference).into_owned();
    resolve_predefined_entity(&name).map_or_else(|| format!("&{name};"), str::to_owned)
}

#[cfg(test)]
mod tests;
