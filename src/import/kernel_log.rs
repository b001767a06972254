//! Xid errors in a kernel log: `dmesg`, `journalctl -k` or a syslog file.
//!
//! An Xid becomes a reading of the metric that the sampler fills from NVML's events. Which process it names is told as a
//! process of the GPU; that the two belong together is not kept. Sources: NVIDIA, XID Errors; NVIDIA/
//! open-gpu-kernel-modules, the format of error containment lines.

use crate::domain::ident::{GpuId, MigInstanceId, Subject};
use crate::domain::metric::Metric;
use crate::domain::outline::Device;
use crate::domain::time::Timestamp;
use crate::import::error::ImportError;
use crate::import::gpu_names::{bus_id, driver_uuid};
use crate::import::run::ImportRun;
use crate::import::run::devices::Devices;
use crate::import::run::origin::Origin;
use crate::import::run::rejection::quoted;
use crate::import::smi::program::{Programs, short_name};
use crate::import::text::lines::{Lines, head_lines};
use crate::import::text::stamp::{EpochUnit, StampReader, epoch};
use crate::import::{ImportOptions, Importer, Likeness};
use std::collections::BTreeMap;
use std::io::BufRead;

/// Where an Xid begins in a line.
const XID: &str = "NVRM: Xid (";
/// Months as syslog writes them.
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// How the kernel says that a GPU is gone, with or without an Xid beside it.
const FALLEN: &str = "GPU has fallen off the bus";
/// The Xid of a GPU that is gone.
const FALLEN_XID: u32 = 79;
/// Two lines about one GPU that is gone lie at most so far apart, in microseconds.
const SAME_FALL_US: i64 = 60_000_000;

/// Reads Xid errors in a kernel log.
pub struct KernelLog;

impl Importer for KernelLog {
    fn id(&self) -> &'static str {
        "kernel-log"
    }

    fn about(&self) -> &'static str {
        "Xid errors in `dmesg`, `journalctl -k` or a syslog file"
    }

    fn recognise(&self, head: &[u8]) -> Likeness {
        let lines = head_lines(head);
        let has = |word: &str| lines.iter().any(|it| it.contains(word));
        if has(XID) {
            return Likeness::Sure;
        }
        match has("NVRM: ") || has("kernel: Linux version ") || has("] Linux version ") {
            true => Likeness::Maybe,
            false => Likeness::No,
        }
    }

    fn import(&self, input: &mut dyn BufRead, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut file = KernelFile::new(run.options);
        let mut lines = Lines::new(input);
        while let Some(line) = lines.next(run)? {
            file.line(run, &line)?;
        }
        file.finish(run)
    }
}

/// An Xid line.
#[derive(Debug, PartialEq, Eq)]
struct Xid<'a> {
    bus_id: String,
    gpu_instance: Option<u32>,
    code: u32,
    pid: Option<u32>,
    name: Option<&'a str>,
}

impl<'a> Xid<'a> {
    /// `NVRM: Xid (PCI:0000:3b:00 GPU-I:05): 94, pid=7194, name=python, …`; `None` for any other text.
    fn parse(line: &'a str) -> Option<Self> {
        let (place, rest) = line.split_once(XID)?.1.split_once("):")?;
        let mut words = place.split_whitespace();
        let bus_id = bus_id(words.next()?)?;
        let gpu_instance = words.find_map(|it| it.strip_prefix("GPU-I:")?.parse().ok());
        let mut fields = rest.split(',').map(str::trim);
        let code = fields.next()?.parse().ok()?;
        let fields: Vec<&str> = fields.take(2).collect();
        let value = |key: &str| {
            let found = fields.iter().find_map(|it| it.strip_prefix(key)?.strip_prefix('='));
            found.map(|it| it.trim_matches('\''))
        };
        let pid = value("pid").and_then(|it| it.parse().ok());
        let name = value("name").filter(|it| !it.starts_with('<'));
        Some(Self { bus_id, gpu_instance, code, pid, name })
    }
}

/// When a line was, as it says it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stamp<'a> {
    /// With a year.
    Dated(&'a str),
    /// `Jul 14 09:00:43`, without one.
    Yearless(&'a str),
    /// Seconds since the kernel started.
    Uptime(f64),
    /// Microseconds since 1970, as `journalctl -o json` writes them.
    Epoch(&'a str),
}

/// The stamp at the start of a line, and what kernel or syslog call it.
fn stamp(line: &str) -> Option<Stamp<'_>> {
    if line.starts_with('{') {
        let rest = line.split_once("\"__REALTIME_TIMESTAMP\"")?.1;
        let rest = rest.trim_start_matches([' ', ':', '"']);
        let end = rest.find(|it: char| !it.is_ascii_digit()).unwrap_or(rest.len());
        return Some(Stamp::Epoch(&rest[..end]));
    }
    if let Some((inside, _)) = line.strip_prefix('[').and_then(|it| it.split_once(']')) {
        let inside = inside.trim();
        return Some(inside.parse().map_or(Stamp::Dated(inside), Stamp::Uptime));
    }
    let first = line.split_whitespace().next()?;
    if first.contains('T') && first.starts_with(|it: char| it.is_ascii_digit()) {
        return Some(Stamp::Dated(first));
    }
    let end = line.match_indices(' ').filter(|it| !line[..it.0].ends_with(' ')).nth(2)?.0;
    let text = &line[..end];
    let is_month = text.get(..3).is_some_and(|it| MONTHS.contains(&it));
    (is_month && text.contains(':')).then_some(Stamp::Yearless(text))
}

/// A file that is being read.
struct KernelFile {
    reader: StampReader,
    /// Year and month of the row before, where stamps carry no year.
    year: Option<(i16, i8)>,
    /// Uptime of the first line that has one; the user's start is when that was.
    first_uptime: Option<f64>,
    has_uptime: bool,
    devices: Devices,
    programs: Programs,
    uuids: BTreeMap<String, GpuId>,
    /// The last stamp of each subject: several Xids within one printed instant stay apart.
    last: BTreeMap<Subject, Timestamp>,
    fallen: BTreeMap<String, Timestamp>,
    counts: BTreeMap<(GpuId, u32), (u64, Option<String>)>,
}

impl KernelFile {
    fn new(options: &ImportOptions) -> Self {
        Self {
            reader: StampReader::new(options.time_zone.clone()),
            year: None,
            first_uptime: None,
            has_uptime: false,
            devices: Devices::default(),
            programs: Programs::default(),
            uuids: BTreeMap::new(),
            last: BTreeMap::new(),
            fallen: BTreeMap::new(),
            counts: BTreeMap::new(),
        }
    }

    fn line(&mut self, run: &mut ImportRun<'_>, line: &str) -> Result<(), ImportError> {
        let stamp = stamp(line.trim_start());
        if let (Some(Stamp::Uptime(it)), None) = (stamp, self.first_uptime) {
            self.first_uptime = Some(it);
        }
        let Some((_, text)) = line.split_once("NVRM: ") else { return Ok(()) };
        if let Some(rest) = text.strip_prefix("GPU at ") {
            self.name(rest);
            return Ok(());
        }
        let is_xid = line.contains(XID);
        let fallen = text.strip_prefix("GPU ").filter(|_| text.contains(FALLEN));
        if !is_xid && fallen.is_none() {
            return Ok(());
        }
        let Some(at) = self.at(run, stamp)? else { return Ok(()) };
        match (Xid::parse(line), fallen) {
            (Some(xid), _) => self.xid(run, at, &xid),
            (None, Some(rest)) => self.fall(run, at, rest),
            _ => {
                run.reject("", "an Xid with PCI address and number", line);
                Ok(())
            }
        }
    }

    /// `GPU at PCI:0000:3b:00: GPU-…` gives a GPU its UUID.
    fn name(&mut self, rest: &str) {
        let Some((place, uuid)) = rest.rsplit_once(": ") else { return };
        if let (Some(bus), Some(uuid)) = (bus_id(place), driver_uuid(uuid)) {
            self.uuids.insert(bus, GpuId::new(uuid));
        }
    }

    /// A GPU that is gone, said without an Xid, or again after one.
    fn fall(
        &mut self,
        run: &mut ImportRun<'_>,
        at: Timestamp,
        rest: &str,
    ) -> Result<(), ImportError> {
        let Some(bus_id) = rest.split_whitespace().next().and_then(bus_id) else {
            run.reject("", "the PCI address of a GPU", rest);
            return Ok(());
        };
        let is_known = self.fallen.get(&bus_id);
        if is_known.is_some_and(|it| at.micros_since(*it).abs() <= SAME_FALL_US) {
            return Ok(());
        }
        let (gpu_instance, pid, name) = (None, None, None);
        self.xid(run, at, &Xid { bus_id, gpu_instance, code: FALLEN_XID, pid, name })
    }

    fn xid(
        &mut self,
        run: &mut ImportRun<'_>,
        at: Timestamp,
        xid: &Xid<'_>,
    ) -> Result<(), ImportError> {
        let clock = match self.has_uptime {
            true => "made from --start and the kernel's uptime".to_owned(),
            false => self.reader.clock(),
        };
        let tool = "kernel".to_owned();
        run.describe_source(|_| Origin { tool, clock, ..Origin::default() })?;
        if xid.code == FALLEN_XID {
            self.fallen.insert(xid.bus_id.clone(), at);
        }
        let gpu = self.uuids.get(&xid.bus_id).cloned();
        let gpu = gpu.unwrap_or_else(|| GpuId::new(xid.bus_id.clone()));
        let (bus_id, is_mig) = (Some(xid.bus_id.clone()), xid.gpu_instance.map(|_| true));
        self.devices.tell(run, Device { bus_id, is_mig, ..Device::named(gpu.clone()) })?;
        let name = xid.name.and_then(short_name);
        if let Some(pid) = xid.pid {
            self.programs.tell(run, &gpu, pid, name.clone())?;
        }
        let who = xid.pid.map(|pid| match &name {
            Some(name) => format!("{} (pid {pid})", quoted(name)),
            None => format!("pid {pid}"),
        });
        let count = self.counts.entry((gpu.clone(), xid.code)).or_default();
        *count = (count.0 + 1, who.or(count.1.take()));
        let subject = match xid.gpu_instance {
            Some(gpu_instance) => Subject::MigInstance {
                instance: MigInstanceId {
                    gpu,
                    gpu_instance,
                    compute_instance: None,
                    generation: 0,
                },
            },
            None => Subject::Device { gpu },
        };
        let last = self.last.get(&subject).copied();
        let at = last.filter(|it| *it >= at).map_or(at, |it| it.plus_micros(1));
        self.last.insert(subject.clone(), at);
        run.row(at, &subject, &[(Metric::Xid, f64::from(xid.code))])
    }

    /// When a line was; `None` where its stamp was rejected.
    fn at(
        &mut self,
        run: &mut ImportRun<'_>,
        stamp: Option<Stamp<'_>>,
    ) -> Result<Option<Timestamp>, ImportError> {
        let no_stamps = || ImportError::NoStamps { file: run.file().to_owned() };
        let text = match stamp {
            Some(Stamp::Dated(text)) => text.replace(',', "."),
            Some(Stamp::Yearless(text)) => {
                let start = run.options.start.ok_or_else(no_stamps)?;
                match self.with_year(start, text) {
                    Some(text) => text,
                    None => text.to_owned(),
                }
            }
            Some(Stamp::Epoch(text)) => {
                let read = epoch(text, EpochUnit::Microseconds);
                return Ok(read.map_err(|found| run.reject("", "microseconds", &found)).ok());
            }
            Some(Stamp::Uptime(uptime)) => {
                let start = run.options.start.ok_or_else(no_stamps)?;
                self.has_uptime = true;
                let seconds = uptime - self.first_uptime.unwrap_or(uptime);
                return Ok(Some(start.plus_micros((seconds * 1e6).round() as i64)));
            }
            None => {
                run.reject("", "a stamp at the start of the line", "a line without one");
                return Ok(None);
            }
        };
        let read = self.reader.text(&text);
        Ok(read.map_err(|found| run.reject("", "a time stamp", &found)).ok())
    }

    /// Puts the year in front of a stamp: that of the start, and one more whenever the months begin again.
    fn with_year(&mut self, start: Timestamp, text: &str) -> Option<String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [month, day, time] = words.as_slice() else { return None };
        let start = jiff::Timestamp::from_microsecond(start.as_micros()).ok()?;
        let start = jiff::tz::TimeZone::UTC.to_datetime(start);
        let number = i8::try_from(MONTHS.iter().position(|it| it == month)? + 1).ok()?;
        let (year, before) = self.year.unwrap_or((start.year(), number));
        let year = if number < before { year + 1 } else { year };
        self.year = Some((year, number));
        Some(format!("{year}-{number:02}-{:02} {time}", day.parse::<u8>().ok()?))
    }

    fn finish(self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        for ((gpu, code), (count, who)) in &self.counts {
            let times = if *count == 1 { "once".to_owned() } else { format!("{count} times") };
            let who = who.as_ref().map(|it| format!(", last by {it}")).unwrap_or_default();
            run.warn(format!("{gpu}: Xid {code} {times}{who}"));
        }
        use crate::domain::blind_spot::BlindSpotKind::ClockAssumed;
        if self.has_uptime {
            let detail = "the file has no dates; they were made from --start, which was taken for its first line, and the kernel's uptime".to_owned();
            run.warn(detail.clone());
            run.blind_spot(ClockAssumed, None, None, detail, "use dmesg --time-format iso")?;
        }
        if self.year.is_some() {
            let detail = "the file has no years; they were taken from --start".to_owned();
            run.warn(detail.clone());
            run.blind_spot(
                ClockAssumed,
                None,
                None,
                detail,
                "use journalctl -k -o short-iso-precise",
            )?;
        }
        for (detail, remedy) in self.reader.assumptions() {
            run.warn(format!("{detail}; {remedy}"));
            run.blind_spot(ClockAssumed, None, None, detail, &remedy)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::testing::{Outcome, gpu, read};

    const BUS: &str = "00000000:3B:00.0";

    fn import(text: &str) -> Outcome {
        read(&KernelLog, text, &ImportOptions::default())
    }

    fn started(text: &str, start: &str) -> Outcome {
        let start: jiff::Timestamp = start.parse().unwrap();
        let start = Some(Timestamp::from_micros(start.as_microsecond()));
        read(&KernelLog, text, &ImportOptions { start, ..ImportOptions::default() })
    }

    #[test]
    fn every_spelling_of_a_stamp_means_the_same_instant() {
        let xid = "NVRM: Xid (PCI:0000:3b:00): 31, pid=1234, name=python, Ch 00000008";
        let expected = 1_784_019_643_000;
        for prefix in [
            "2026-07-14T09:00:43,000000+00:00",
            "[Tue Jul 14 09:00:43 2026]",
            "2026-07-14T09:00:43+0000 node-a kernel:",
            "2026-07-14T11:00:43.000000+02:00 node-a kernel: [ 1234.567890]",
            "Jul 14 09:00:43 node-a kernel:",
            "Jul 14 09:00:43.000000 node-a kernel: [1234.5]",
        ] {
            let it = started(&format!("{prefix} {xid}\n"), "2026-01-01T00:00:00Z");
            assert_eq!(it.values(&gpu(BUS), Metric::Xid), [31.0], "{prefix}");
            assert_eq!(it.millis(&gpu(BUS), Metric::Xid), [expected], "{prefix}");
        }
        let json =
            format!("{{\"MESSAGE\":\"{xid}\",\"__REALTIME_TIMESTAMP\" : \"1784019643000000\"}}\n");
        assert_eq!(import(&json).millis(&gpu(BUS), Metric::Xid), [expected]);
        let text = format!("[    0.000000] Linux version 6\n[  100.500000] {xid}\n");
        assert_eq!(KernelLog.recognise(text.as_bytes()), Likeness::Sure);
        let it = started(&text, "2026-07-14T09:00:00Z");
        assert_eq!(it.millis(&gpu(BUS), Metric::Xid), [1_784_019_700_500]);
        assert_eq!(it.blind_spots(), ["ClockAssumed all all"]);
        assert_eq!(import(&text).error().0, "log: has no time stamps");
    }

    #[test]
    fn a_year_ends_when_the_months_begin_again() {
        let text = "Dec 31 23:59:59 a kernel: NVRM: Xid (PCI:0000:3b:00): 13, x\nJan  1 00:00:01 a kernel: NVRM: Xid (PCI:0000:3b:00): 45, x\n";
        let millis = started(text, "2025-06-01T00:00:00Z").millis(&gpu(BUS), Metric::Xid);
        assert_eq!((millis[0], millis[1] - millis[0]), (1_767_225_599_000, 2000));
    }

    #[test]
    fn processes_instances_and_uuids_are_told_and_xids_of_one_instant_stay_apart() {
        let uuid = "GPU-1a2b3c4d-0000-4000-8000-00000000000a";
        let at = "2026-07-14T09:00:43+00:00 a kernel:";
        let text = format!(
            "{at} NVRM: GPU at PCI:0000:3b:00: {uuid}\n{at} NVRM: Xid (PCI:0000:3b:00): 31, pid=77, name=python3, MMU Fault\n{at} NVRM: Xid (PCI:0000:3b:00): 45, pid='<unknown>', name=<unknown>, Ch 1\n{at} NVRM: Xid (PCI:0000:3b:00 GPU-I:05 GPU-CI:00): 94, pid=78, Contained: CE\n{at} usb 1-1: new device\n"
        );
        let it = import(&text);
        assert_eq!(it.values(&gpu(uuid), Metric::Xid), [31.0, 45.0]);
        let instance = MigInstanceId {
            gpu: GpuId::new(uuid),
            gpu_instance: 5,
            compute_instance: None,
            generation: 0,
        };
        assert_eq!(it.values(&Subject::MigInstance { instance }, Metric::Xid), [94.0]);
        let outline = &it.recording.outline;
        let named: Vec<_> = outline.processes.iter().map(|it| it.process.pid).collect();
        assert_eq!(named, [77, 78]);
        assert_eq!(outline.devices[0].bus_id.as_deref(), Some(BUS));
        assert!(it.summary().warnings[0].ends_with("Xid 31 once, last by python3 (pid 77)"));
    }

    #[test]
    fn a_gpu_that_fell_off_the_bus_counts_once_with_or_without_its_xid() {
        let at = "2026-07-14T09:00:43+00:00 a kernel:";
        let bare = format!("{at} NVRM: GPU 0000:3b:00.0: {FALLEN}.\n");
        let both = format!("{at} NVRM: Xid (PCI:0000:3b:00): 79, {FALLEN}.\n{bare}");
        for text in [bare, both] {
            assert_eq!(import(&text).values(&gpu(BUS), Metric::Xid), [79.0], "{text}");
        }
    }

    #[test]
    fn damage_costs_the_line_and_a_log_without_xids_is_empty() {
        let at = "2026-07-14T09:00:43+00:00 a kernel:";
        let good = format!("{at} NVRM: Xid (PCI:0000:3b:00): 31, x");
        let text = format!(
            "{good}\n{at} NVRM: Xid (PCI:nowhere): 31\n{at} NVRM: Xid (PCI:0000:3b:00): many\nNVRM: Xid (PCI:0000:3b:00): 31\n{at} NVRM: Xid (PCI:0000:3b:00): 99999, x\n{}",
            &good[..good.len() - 8]
        );
        let it = import(&text);
        assert_eq!(it.values(&gpu(BUS), Metric::Xid), [31.0]);
        assert_eq!(it.summary().rejections.count(), 5);
        let none = format!("{at} NVRM: loading NVIDIA UNIX Open Kernel Module\n");
        assert_eq!(KernelLog.recognise(none.as_bytes()), Likeness::Maybe);
        assert_eq!(import(&none).error().0, "log: holds no samples");
        assert_eq!(KernelLog.recognise(b"index, pci.bus_id\n"), Likeness::No);
    }
}
