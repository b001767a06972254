//! `nvidia-smi` without options: the tables of GPUs, MIG devices and processes, one capture or many in a row.
//!
//! Only this text and `-q` say which process sits on which MIG instance.

use crate::domain::ident::GpuId;
use crate::domain::metric::{Metric, Unit};
use crate::domain::mig_geometry::Engines;
use crate::domain::outline::Device;
use crate::domain::time::SampleInterval;
use crate::import::error::ImportError;
use crate::import::run::ImportRun;
use crate::import::smi::capture::{
    Capture, CapturedGpu, CapturedInstance, CapturedProcess, Captures, quantity,
};
use crate::import::smi::program::program_name;
use crate::import::text::cells::{factor_to, is_missing, printed_unit};
use crate::import::text::lines::{Lines, head_lines};
use crate::import::{Importer, Likeness};
use std::io::BufRead;

/// Bytes in a mebibyte, the unit of all memory in the tables.
const MIB: f64 = 1_048_576.0;

/// Fields of the table of GPUs.
const GPU_FIELDS: [Metric; 9] = [
    Metric::FanSpeed,
    Metric::GpuTemperature,
    Metric::PerformanceState,
    Metric::Power,
    Metric::PowerLimit,
    Metric::FramebufferUsed,
    Metric::FramebufferTotal,
    Metric::GpuUtilization,
    Metric::EccUncorrected,
];

/// Reads `nvidia-smi` without options.
pub struct SmiTable;

impl Importer for SmiTable {
    fn id(&self) -> &'static str {
        "smi-table"
    }

    fn about(&self) -> &'static str {
        "tables of `nvidia-smi` without options, one or many in a row, also under watch"
    }

    fn recognise(&self, head: &[u8]) -> Likeness {
        let is_banner = |it: &String| banner(it.trim()).is_some();
        match head_lines(head).iter().any(is_banner) {
            true => Likeness::Sure,
            false => Likeness::No,
        }
    }

    fn import(&self, input: &mut dyn BufRead, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut file = TableFile {
            captures: Captures::new(run),
            capture: Capture::default(),
            interval: None,
            part: Part::None,
            is_foreign: false,
            is_lost: false,
        };
        let mut lines = Lines::new(input);
        while let Some(line) = lines.next(run)? {
            file.line(run, &line)?;
        }
        file.flush(run)?;
        let remedy = "keep the line with the date above each table";
        file.captures.finish(run, remedy)
    }
}

/// Version of the driver in the first line of a capture; `None` for any other line.
fn banner(line: &str) -> Option<Option<&str>> {
    let rest = line.strip_prefix('|')?.trim_start().strip_prefix("NVIDIA-SMI ")?;
    let version = rest.split("Driver Version:").nth(1).and_then(|it| it.split_whitespace().next());
    Some(version.filter(|it| *it != "|"))
}

/// Which of the tables a row stands in.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    None,
    Gpus,
    MigDevices,
    Processes { has_instances: bool },
}

/// A file that is being read.
struct TableFile {
    captures: Captures,
    capture: Capture,
    /// Time between captures, where watch says it.
    interval: Option<SampleInterval>,
    part: Part,
    /// Whether the lines belong to another text of nvidia-smi that stands in between.
    is_foreign: bool,
    /// Whether the date of the capture could not be read, so that nobody knows when it was.
    is_lost: bool,
}

impl TableFile {
    fn line(&mut self, run: &mut ImportRun<'_>, line: &str) -> Result<(), ImportError> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('+') || line.starts_with("|-") {
            return Ok(());
        }
        if let Some(version) = banner(line) {
            if self.part != Part::None {
                self.flush(run)?;
            }
            self.capture.driver = version.map(str::to_owned);
            (self.part, self.is_foreign) = (Part::Gpus, false);
            return Ok(());
        }
        match line.strip_prefix('|') {
            Some(inner) => self.inside(run, line, inner),
            None => self.outside(run, line)?,
        }
        Ok(())
    }

    /// A line between tables: the date, what watch prints, or nothing of ours.
    fn outside(&mut self, run: &mut ImportRun<'_>, line: &str) -> Result<(), ImportError> {
        if let Some(interval) = watched_every(line) {
            self.flush(run)?;
            self.interval = Some(interval);
        } else if is_date(line) {
            self.flush(run)?;
            self.capture.at = self.captures.clock.read(run, "date", line);
            (self.is_foreign, self.is_lost) = (false, self.capture.at.is_none());
        } else if line.contains("NVSMI LOG") || line.starts_with("<?xml") {
            self.is_foreign = true;
            run.reject("", "a table of nvidia-smi", line);
        } else if !self.is_foreign {
            run.reject("", "a table of nvidia-smi", line);
        }
        Ok(())
    }

    fn inside(&mut self, run: &mut ImportRun<'_>, line: &str, inner: &str) {
        let heading = inner.trim_start();
        if heading.starts_with("MIG devices:") {
            self.part = Part::MigDevices;
            return;
        }
        if heading.starts_with("Processes:") {
            self.part = Part::Processes { has_instances: false };
            return;
        }
        if let Part::Processes { .. } = self.part
            && inner.contains("PID")
        {
            self.part = Part::Processes { has_instances: inner.contains("GI") };
            return;
        }
        let Some(inner) = inner.strip_suffix('|') else {
            run.reject("", "a row that ends with |", line);
            return;
        };
        let cells: Vec<&str> = inner.split('|').map(str::trim).collect();
        match self.part {
            Part::Gpus => self.gpu_row(run, &cells, line),
            Part::MigDevices if begins_with_number(inner) => self.mig_row(run, &cells, line),
            Part::Processes { has_instances } if begins_with_number(inner) => {
                match process_row(run, &self.capture.gpus, inner, has_instances) {
                    Some(process) => self.capture.processes.push(process),
                    None => run.reject("", "a process on a GPU of the table", line),
                }
            }
            _ => {}
        }
    }

    /// A GPU takes three rows, on drivers before MIG two: names; readings; MIG mode.
    fn gpu_row(&mut self, run: &mut ImportRun<'_>, cells: &[&str], line: &str) {
        let [left, middle, right, ..] = cells else { return };
        if begins_with_number(left) && middle.contains(':') {
            let driver = self.capture.driver.clone();
            match named_gpu(left, middle, driver) {
                Some(device) => {
                    let mut it = CapturedGpu {
                        device,
                        asked: GPU_FIELDS.into_iter().collect(),
                        readings: Vec::new(),
                    };
                    let errors = quantity(run, "ECC", Metric::EccUncorrected, 1.0, right);
                    it.readings.extend(errors.map(|it| (Metric::EccUncorrected, it)));
                    self.capture.gpus.push(it);
                }
                None => run.reject("", "index, name and bus id of a GPU", line),
            }
            return;
        }
        let Some(gpu) = self.capture.gpus.last_mut() else { return };
        if let Some((used, total)) = pair(middle) {
            gpu.readings.extend(gpu_readings(run, left, used, total, right, line));
        } else if left.is_empty() && middle.is_empty() {
            // A star means that the mode changes with the next reset.
            gpu.device.is_mig = match right.trim_end_matches('*') {
                "Enabled" => Some(true),
                "Disabled" => Some(false),
                _ => None,
            };
        }
    }

    /// `GPU GI CI Dev | used / total | SMs … | engines`; the row below it, about BAR1, begins with no number.
    fn mig_row(&mut self, run: &mut ImportRun<'_>, cells: &[&str], line: &str) {
        match mig_device(run, &self.capture.gpus, cells) {
            Some(it) => self.capture.instances.push(it),
            None => run.reject("", "a MIG device of a GPU of the table", line),
        }
    }

    fn flush(&mut self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let capture = Capture { interval: self.interval, ..std::mem::take(&mut self.capture) };
        self.part = Part::None;
        if std::mem::take(&mut self.is_lost) {
            return Ok(());
        }
        self.captures.take(run, "nvidia-smi", capture)
    }
}

fn begins_with_number(inner: &str) -> bool {
    inner.split_whitespace().next().is_some_and(|it| it.parse::<u32>().is_ok())
}

/// Whether a line is a date as C's `ctime` writes it: `Tue Jul 14 09:00:43 2026`.
fn is_date(line: &str) -> bool {
    const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    let words: Vec<&str> = line.split_whitespace().collect();
    matches!(words.as_slice(), [day, _, _, time, _] if DAYS.contains(day) && time.contains(':'))
}

/// The interval in the first line of watch: `Every 1.0s: nvidia-smi`.
fn watched_every(line: &str) -> Option<SampleInterval> {
    let seconds = line.strip_prefix("Every ")?.split_once("s:")?.0.replace(',', ".");
    let seconds: f64 = seconds.parse().ok().filter(|it: &f64| (0.0..1e9).contains(it))?;
    SampleInterval::from_micros((seconds * 1e6).round() as u64)
}

/// The two sides of `11125MiB /  81559MiB`.
fn pair(cell: &str) -> Option<(&str, &str)> {
    let (used, total) = cell.split_once('/')?;
    let (used, total) = (used.trim(), total.trim());
    let is_reading = |it: &str| is_missing(it) || it.starts_with(|it: char| it.is_ascii_digit());
    (is_reading(used) && is_reading(total)).then_some((used, total))
}

fn named_gpu(left: &str, middle: &str, driver: Option<String>) -> Option<Device> {
    let (index, rest) = left.split_once(char::is_whitespace)?;
    let index = index.parse().ok()?;
    let model = rest.trim().rsplit_once(char::is_whitespace).map(|it| it.0.trim().to_owned());
    let bus_id = middle.split_whitespace().next().map(str::to_owned);
    let named = Device::named(GpuId::from_index(index));
    Some(Device { index: Some(index), bus_id, model, driver, ..named })
}

/// `N/A 52C P0 432W / 700W`, memory, and the utilisation before the compute mode.
fn gpu_readings(
    run: &mut ImportRun<'_>,
    left: &str,
    used: &str,
    total: &str,
    right: &str,
    line: &str,
) -> Vec<(Metric, f64)> {
    let words: Vec<&str> = left.split_whitespace().collect();
    let [fan, temperature, state, power, "/", limit] = words.as_slice() else {
        run.reject("", "fan, temperature, state, power / limit", line);
        return Vec::new();
    };
    let utilisation = right.split_whitespace().next().unwrap_or_default();
    [
        ("Fan", Metric::FanSpeed, *fan),
        ("Temp", Metric::GpuTemperature, *temperature),
        ("Perf", Metric::PerformanceState, *state),
        ("Pwr:Usage", Metric::Power, *power),
        ("Pwr:Cap", Metric::PowerLimit, *limit),
        ("Memory-Usage", Metric::FramebufferUsed, used),
        ("Memory-Usage", Metric::FramebufferTotal, total),
        ("GPU-Util", Metric::GpuUtilization, utilisation),
    ]
    .into_iter()
    .filter_map(|(field, metric, text)| Some((metric, quantity(run, field, metric, 1.0, text)?)))
    .collect()
}

/// Position of the GPU with this index in a capture.
fn position(gpus: &[CapturedGpu], index: u32) -> Option<usize> {
    gpus.iter().position(|it| it.device.index == Some(index))
}

fn mig_device(
    run: &mut ImportRun<'_>,
    gpus: &[CapturedGpu],
    cells: &[&str],
) -> Option<CapturedInstance> {
    let [ids, memory, processors, rest @ ..] = cells else { return None };
    let ids: Option<Vec<u32>> = ids.split_whitespace().map(|it| it.parse().ok()).collect();
    let [gpu, gpu_instance, _, _] = ids?.try_into().ok()?;
    let (used, total) = pair(memory)?;
    let mut memory = Vec::new();
    for (metric, text) in [(Metric::FramebufferUsed, used), (Metric::FramebufferTotal, total)] {
        let read = quantity(run, "Shared Memory-Usage", metric, MIB, text);
        memory.extend(read.map(|it| (metric, it)));
    }
    Some(CapturedInstance {
        gpu: position(gpus, gpu)?,
        gpu_instance,
        multiprocessors: processors.split_whitespace().next().and_then(|it| it.parse().ok()),
        engines: rest.first().and_then(|it| engines(it)),
        readings: memory,
    })
}

/// `CE ENC DEC OFA JPG`.
fn engines(cell: &str) -> Option<Engines> {
    let counts: Option<Vec<u32>> = cell.split_whitespace().map(|it| it.parse().ok()).collect();
    let [copy, encoder, decoder, optical_flow, jpeg] = counts?.try_into().ok()?;
    Some(Engines {
        copy: Some(copy),
        decoder: Some(decoder),
        encoder: Some(encoder),
        jpeg: Some(jpeg),
        optical_flow: Some(optical_flow),
    })
}

/// `GPU GI CI PID Type Name Memory`, on drivers before MIG without `GI CI`; a name may hold blanks.
fn process_row(
    run: &mut ImportRun<'_>,
    gpus: &[CapturedGpu],
    inner: &str,
    has_instances: bool,
) -> Option<CapturedProcess> {
    let words: Vec<&str> = inner.split_whitespace().collect();
    let (gpu, rest) = words.split_first()?;
    let (instances, rest) = rest.split_at_checked(if has_instances { 2 } else { 0 })?;
    let (pid, rest) = rest.split_first()?;
    let (_kind, rest) = rest.split_first()?;
    let (name, memory) = match rest.split_last() {
        Some((last, name)) if is_memory(last) || is_missing(last) => (name, *last),
        _ => (rest, ""),
    };
    Some(CapturedProcess {
        gpu: position(gpus, gpu.parse().ok()?)?,
        gpu_instance: instances.first().and_then(|it| it.parse().ok()),
        pid: pid.parse().ok()?,
        name: program_name(&name.join(" ")),
        memory: quantity(run, "GPU Memory", Metric::FramebufferUsed, MIB, memory),
    })
}

/// Whether a word is a number with a unit of memory behind it: `2296MiB`, `2GiB`.
fn is_memory(word: &str) -> bool {
    let unit = printed_unit(word);
    word.len() > unit.len()
        && word[..word.len() - unit.len()].bytes().all(|it| it.is_ascii_digit() || it == b'.')
        && factor_to(Unit::Bytes, unit).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ident::{MigInstanceId, Subject};
    use crate::import::ImportOptions;
    use crate::import::testing::{Outcome, every_second, gpu, process, read};

    const BANNER: &str =
        "| NVIDIA-SMI 600.10     Driver Version: 600.10     CUDA Version: 13.9 |\n";

    fn import(text: &str) -> Outcome {
        read(&SmiTable, text, &ImportOptions::default())
    }

    /// One GPU at second 2 s of the minute.
    fn capture(second: u32, utilisation: &str, mode: &str) -> String {
        format!(
            "Tue Jul 14 09:00:{second:02} 2026\n+----+\n{BANNER}| GPU  Name | Bus-Id | ECC |\n|====+=====+====|\n|   0  NVIDIA H100 80GB HBM3   On  | 00000000:1B:00.0 Off |   On |\n| 38%   52C    P2   97.5W /  700W |  11125MiB /  81559MiB |  {utilisation}      Default |\n|     |      |  {mode} |\n+----+\n"
        )
    }

    const INSTANCES: &str = "| MIG devices: |\n|==|\n|  0    2   0   0  |  11091MiB / 40448MiB  | 60   0 |  3   0    3    0    3 |\n|    |  0MiB / 24739MiB |    |    |\n|  0   10   0   1  |  9MiB / 9984MiB  | 16   0 |  1   0    1    0    1 |\n";
    const PROCESSES: &str = "| Processes: |\n|  GPU   GI   CI    PID   Type   Process name   GPU Memory |\n|        ID   ID     Usage |\n|==|\n|    0    2    0   21180   C   /opt/secret/train --key=x   2296MiB |\n|    0    2    0   21198   C   ./burn   7484MiB |\n|    0   10    0   21200   C   ...rogram Files\\Some App.exe   N/A |\n";

    #[test]
    fn memory_in_gibibytes_is_memory_in_gibibytes() {
        let text = capture(1, "97%", "Disabled").replace("11125MiB /  81559MiB", "11GiB / 80 GiB");
        let processes = PROCESSES
            .replace("2296MiB", "2GiB")
            .replace(" GI   CI ", "")
            .replace("   0    2    0   21180", "   0   21180")
            .replace("   0    2    0   21198", "   0   21198")
            .replace("   0   10    0   21200", "   0   21200");
        let it = import(&(text + &processes));
        assert_eq!(it.values(&gpu("gpu0"), Metric::FramebufferUsed), [11.0 * 1024.0 * MIB]);
        assert_eq!(it.values(&gpu("gpu0"), Metric::FramebufferTotal), [80.0 * 1024.0 * MIB]);
        let held = it.values(&process("gpu0", 21180), Metric::FramebufferUsed);
        assert_eq!(held, [2.0 * 1024.0 * MIB]);
        // Windows says N/A for what a process holds.
        let spots = &it.recording.outline.blind_spots;
        let silent = spots.iter().find(|it| it.subject == Some(process("gpu0", 21200)));
        assert!(silent.is_some_and(|it| it.remedy.contains("WDDM")), "{spots:?}");
    }

    #[test]
    fn every_field_of_the_table_is_read_in_its_unit() {
        let it = import(&capture(1, "97%", "Disabled"));
        for (metric, value) in [
            (Metric::FanSpeed, 38.0),
            (Metric::GpuTemperature, 52.0),
            (Metric::PerformanceState, 2.0),
            (Metric::Power, 97_500.0),
            (Metric::PowerLimit, 700_000.0),
            (Metric::FramebufferUsed, 11_125.0 * MIB),
            (Metric::FramebufferTotal, 81_559.0 * MIB),
            (Metric::GpuUtilization, 97.0),
        ] {
            assert_eq!(it.values(&gpu("gpu0"), metric), [value], "{}", metric.key());
        }
        let device = it.recording.outline.devices[0].clone();
        assert_eq!(device.model.as_deref(), Some("NVIDIA H100 80GB HBM3"));
        assert_eq!(device.bus_id.as_deref(), Some("00000000:1B:00.0"));
        assert_eq!((device.driver.as_deref(), device.is_mig), (Some("600.10"), Some(false)));
        assert!(it.blind_spots().contains(&"NotReported gpu0 ecc_uncorrected_count".to_owned()));
    }

    #[test]
    fn a_process_belongs_to_the_instance_that_it_sits_on() {
        let it = import(&format!("{}{INSTANCES}{PROCESSES}", capture(1, "N/A", "Enabled")));
        let instances = &it.recording.outline.mig_instances;
        let lives: Vec<_> = instances
            .iter()
            .map(|it| {
                let tenants: Vec<&str> = it.tenants.iter().map(|it| it.as_str()).collect();
                (it.instance.gpu_instance, it.profile.clone(), tenants.join(", "))
            })
            .collect();
        assert_eq!(
            lives,
            [
                (2, Some("3g.40gb".to_owned()), "train (pid 21180), burn (pid 21198)".to_owned()),
                (10, Some("1g.10gb".to_owned()), "Some App.exe (pid 21200)".to_owned()),
            ]
        );
        assert_eq!(
            it.recording.outline.label(&process("gpu0", 21198)),
            "burn (pid 21198)",
            "the label does not say it twice"
        );
        assert_eq!(it.values(&process("gpu0", 21180), Metric::FramebufferUsed), [2296.0 * MIB]);
        let instance = MigInstanceId {
            gpu: GpuId::from_index(0),
            gpu_instance: 2,
            compute_instance: None,
            generation: 0,
        };
        let subject = Subject::MigInstance { instance };
        assert_eq!(it.values(&subject, Metric::FramebufferUsed), [11_091.0 * MIB]);
        let spots = it.blind_spots();
        for spot in [
            "HiddenByMig gpu0 gpu_utilization_pct",
            "NotReported gpu0 pid 21200 framebuffer_used_bytes",
        ] {
            assert!(spots.contains(&spot.to_owned()), "{spots:?}");
        }
    }

    #[test]
    fn captures_in_a_row_are_samples_and_a_number_that_returns_in_another_size_is_another_instance()
    {
        let smaller = INSTANCES.replace("40448", "20096").replace("| 60 ", "| 32 ");
        let text = format!(
            "Every 2.0s: nvidia-smi      node7: Tue Jul 14 09:00:01 2026\n\n{}{INSTANCES}{PROCESSES}\n{}{smaller}{PROCESSES}",
            capture(1, "N/A", "Enabled"),
            capture(3, "N/A", "Enabled*")
        );
        let it = import(&text);
        let millis = it.millis(&gpu("gpu0"), Metric::Power);
        assert_eq!(millis[1] - millis[0], 2000);
        assert_eq!(it.summary().rejections.count(), 0);
        let instances = it.recording.outline.mig_instances.iter();
        let generations: Vec<_> =
            instances.map(|it| (it.instance.gpu_instance, it.instance.generation)).collect();
        assert_eq!(generations, [(2, 0), (10, 0), (2, 1)]);
        let asked = it.recording.outline.sources[0].asked_interval;
        assert_eq!(asked, SampleInterval::from_micros(2_000_000));
    }

    #[test]
    fn compute_instances_share_the_memory_and_the_processors_of_their_instance() {
        let halves = "| MIG devices: |\n|  0    2   0   0  |  11091MiB / 40448MiB  | 30   0 |  3   0    3    0    3 |\n|  0    2   1   1  |  11091MiB / 40448MiB  | 30   0 |  3   0    3    0    3 |\n";
        let processes = PROCESSES.replace("    0    2    0   21198", "    0    2    1   21198");
        let it = import(&format!("{}{halves}{processes}", capture(1, "N/A", "Enabled")));
        let [instance] = it.recording.outline.mig_instances.as_slice() else {
            panic!("two halves")
        };
        assert_eq!((instance.profile.as_deref(), instance.tenants.len()), (Some("3g.40gb"), 2));
        let subject = Subject::MigInstance { instance: instance.instance.clone() };
        assert_eq!(it.values(&subject, Metric::FramebufferUsed), [11_091.0 * MIB]);
    }

    #[test]
    fn a_driver_from_before_mig_is_read_too() {
        let text = format!(
            "{BANNER}|   0  Tesla V100-SXM2...  Off  | 00000000:00:1E.0 Off |   0 |\n| N/A   45C    P0    40W / 300W |   1010MiB / 16130MiB |      3%      Default |\n| Processes:   GPU Memory |\n|  GPU  PID   Type   Process name   Usage |\n|    0      3210      C   ./train    1000MiB |\n"
        );
        assert_eq!(import(&text).error().0, "log: has no time stamps");
        let it = read(&SmiTable, &text, &every_second());
        assert_eq!(it.values(&process("gpu0", 3210), Metric::FramebufferUsed), [1000.0 * MIB]);
        assert_eq!(it.values(&gpu("gpu0"), Metric::EccUncorrected), [0.0]);
        let owner = &it.recording.outline.processes[0];
        assert_eq!((owner.name.as_deref(), owner.tenant.clone()), (Some("train"), None));
    }

    #[test]
    fn damaged_rows_cost_themselves_and_a_damaged_date_its_capture() {
        let cut = "| N/A   52C    P0   9";
        let text = format!(
            "{}what is this\n{}{cut}\n|    7    2    0   1   C   a   1MiB |\n| Processes: |\n|  GPU   GI   CI    PID   Type |\n|    7    2    0   1   C   a   1MiB |\n|    0    2    0   x   C   a   1MiB |\nTue Jul 99 09:00:03 2026\n{BANNER}{}",
            capture(1, "5%", "Disabled"),
            capture(2, "many %", "Disabled"),
            capture(3, "", "").split_once("13.9 |\n").unwrap().1,
        );
        let it = import(&text);
        assert_eq!(it.values(&gpu("gpu0"), Metric::GpuUtilization), [5.0]);
        assert_eq!(it.values(&gpu("gpu0"), Metric::Power).len(), 2);
        let first: Vec<_> =
            it.summary().rejections.first().iter().map(|it| it.expected.clone()).collect();
        assert_eq!(it.summary().rejections.count(), 5, "{first:?}");
        assert_eq!(
            first,
            [
                "a table of nvidia-smi",
                "a row that ends with |",
                "a process on a GPU of the table",
                "a process on a GPU of the table",
                "a time stamp",
            ]
        );
    }

    #[test]
    fn hostile_names_are_cut_to_a_program_and_other_text_is_not_ours() {
        let row = "|    0   N/A  N/A   9   C   /a/b/\u{1b}[31mevil --password=hunter2   1MiB |\n";
        let heads = "| Processes: |\n|  GPU   GI   CI    PID   Type |\n";
        let it = import(&format!("{}{heads}{row}", capture(1, "5%", "Disabled")));
        let name = it.recording.outline.processes[0].name.clone().unwrap();
        assert!(!name.contains("hunter2") && !name.contains('/'), "{name}");
        for head in
            ["| GPU instances: |\n", "index, timestamp, power.draw\n", "", "| NVIDIA | x |\n"]
        {
            assert_eq!(SmiTable.recognise(head.as_bytes()), Likeness::No, "{head}");
        }
    }
}
