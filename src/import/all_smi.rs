//! What `all-smi record` writes, and `all-smi snapshot --format json`: one snapshot of a host after the other.
//!
//! all-smi has no way to say "no reading" for some fields: it writes 0 or −1 there. What cannot be told from a reading
//! becomes a blind spot. Source: lablup/all-smi, `src/device/types.rs`, `src/device/readers/nvidia.rs`.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::{GpuId, ProcessKey, Subject, TenantId};
use crate::domain::metric::{Dialect, Metric};
use crate::domain::outline::Device;
use crate::domain::time::{SampleInterval, Timestamp};
use crate::import::error::ImportError;
use crate::import::gpu_names::{GpuNames, driver_uuid};
use crate::import::json::{Json, Objects, member, readings, text, whole};
use crate::import::run::ImportRun;
use crate::import::run::devices::Devices;
use crate::import::run::origin::Origin;
use crate::import::run::seen::{Seen, Silence, is_hidden_by_mig};
use crate::import::smi::program::{Programs, short_name};
use crate::import::text::clock::RowClock;
use crate::import::{Importer, Likeness};
use std::collections::BTreeMap;
use std::io::BufRead;

/// Reads what `all-smi record` and `all-smi snapshot` write.
pub struct AllSmi;

impl Importer for AllSmi {
    fn id(&self) -> &'static str {
        "all-smi"
    }

    fn about(&self) -> &'static str {
        "recordings of `all-smi record` (NDJSON) and JSON of `all-smi snapshot`"
    }

    fn recognise(&self, head: &[u8]) -> Likeness {
        let head = String::from_utf8_lossy(head);
        if !head.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '[']) {
            return Likeness::No;
        }
        let has = |keys: &[&str]| keys.iter().all(|it| head.contains(&format!("\"{it}\"")));
        let is_recording = has(&["all_smi_version", "schema"])
            || has(&["schema", "timestamp", "hostname", "gpus"])
            || has(&["ane_utilization", "host_id", "used_memory"]);
        match is_recording {
            true => Likeness::Sure,
            false => Likeness::No,
        }
    }

    fn import(&self, input: &mut dyn BufRead, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut file = AllSmiFile::new(run);
        let mut objects = Objects::new(input);
        while let Some(object) = objects.next(run)? {
            file.object(run, &object)?;
        }
        file.finish(run)
    }
}

/// How often a GPU's utilisation was 0, and anything.
#[derive(Debug, Default)]
struct Zeros {
    zero: u64,
    all: u64,
}

/// A file that is being read.
struct AllSmiFile {
    clock: RowClock<()>,
    version: Option<String>,
    interval: Option<SampleInterval>,
    names: GpuNames,
    devices: Devices,
    programs: Programs,
    seen: Seen,
    zeros: BTreeMap<GpuId, Zeros>,
    last: Option<(String, Timestamp)>,
    repeats: u64,
    failures: BTreeMap<(String, String), u64>,
}

impl AllSmiFile {
    fn new(run: &ImportRun<'_>) -> Self {
        Self {
            clock: RowClock::new(run, None),
            version: None,
            interval: None,
            names: GpuNames::default(),
            devices: Devices::default(),
            programs: Programs::default(),
            seen: Seen::default(),
            zeros: BTreeMap::new(),
            last: None,
            repeats: 0,
            failures: BTreeMap::new(),
        }
    }

    fn object(&mut self, run: &mut ImportRun<'_>, object: &Json) -> Result<(), ImportError> {
        let is_set = |key: &str| object.get(key).and_then(Json::as_bool) == Some(true);
        if is_set("index") {
            return Ok(());
        }
        if is_set("header") {
            self.version = text(object, "all_smi_version").map(str::to_owned);
            let millis = object.get("interval_ms").and_then(Json::as_u64);
            self.interval =
                millis.and_then(|it| SampleInterval::from_micros(it.saturating_mul(1000)));
            return Ok(());
        }
        let Some(stamp) = text(object, "timestamp") else {
            run.reject("timestamp", "a snapshot of all-smi with its stamp", &object.to_string());
            return Ok(());
        };
        match self.clock.read(run, "timestamp", stamp) {
            Some(at) => self.snapshot(run, at, object),
            None => Ok(()),
        }
    }

    fn snapshot(
        &mut self,
        run: &mut ImportRun<'_>,
        at: Timestamp,
        object: &Json,
    ) -> Result<(), ImportError> {
        let host = text(object, "hostname").unwrap_or_default().to_owned();
        let this = Some((host.clone(), at));
        self.repeats += u64::from(self.last == this);
        self.last = this;
        run.describe_source(|options| Origin {
            tool_version: self.version.clone(),
            asked_interval: self.interval,
            ..self.clock.origin(options, "all-smi")
        })?;
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for gpu in list(object, "gpus") {
            let host = text(gpu, "hostname").unwrap_or(&host).to_owned();
            let index = counts.entry(host.clone()).or_insert(0);
            self.gpu(run, at, gpu, &host, *index)?;
            *index += 1;
        }
        for process in list(object, "processes") {
            if process.get("uses_gpu").and_then(Json::as_bool) != Some(false) {
                self.process(run, at, process, &host)?;
            }
        }
        for failure in list(object, "errors") {
            let word = |key| text(failure, key).unwrap_or("unknown").to_owned();
            *self.failures.entry((word("section"), word("kind"))).or_default() += 1;
        }
        Ok(())
    }

    fn gpu(
        &mut self,
        run: &mut ImportRun<'_>,
        at: Timestamp,
        object: &Json,
        host: &str,
        index: u32,
    ) -> Result<(), ImportError> {
        let gpu = self.name(text(object, "uuid"), host, index);
        let detail = |key: &str| member(object, "detail").and_then(|it| text(it, key));
        let is_mig = detail("mig_mode_current").map(|it| it == "1" || it == "true");
        let owned = |it: Option<&str>| it.map(str::to_owned);
        let device = Device {
            gpu: gpu.clone(),
            index: Some(index),
            bus_id: None,
            model: owned(text(object, "name")),
            host: Some(host.to_owned()).filter(|it| !it.is_empty()),
            driver: owned(detail("Driver Version")),
            is_mig,
        };
        self.devices.tell(run, device)?;
        let (asked, mut read) = readings(run, Dialect::AllSmiRecord, object);
        let has_memory = read.iter().any(|it| it.0 == Metric::FramebufferTotal && it.1 > 0.0);
        read.retain(|(metric, value)| match metric {
            Metric::GpuUtilization => *value >= 0.0 && is_mig != Some(true),
            Metric::Power | Metric::GpuTemperature | Metric::SmClock => *value > 0.0,
            Metric::FramebufferUsed | Metric::FramebufferTotal => has_memory,
            _ => true,
        });
        if let Some((_, value)) = read.iter().find(|it| it.0 == Metric::GpuUtilization) {
            let zeros = self.zeros.entry(gpu.clone()).or_default();
            zeros.all += 1;
            zeros.zero += u64::from(*value == 0.0);
        }
        self.seen.row(run, at, &Subject::Device { gpu }, asked, &read)
    }

    fn process(
        &mut self,
        run: &mut ImportRun<'_>,
        at: Timestamp,
        object: &Json,
        host: &str,
    ) -> Result<(), ImportError> {
        let Some(pid) = whole(object, "pid") else {
            run.reject("pid", "a process id", &object.to_string());
            return Ok(());
        };
        let index = whole(object, "device_id").unwrap_or(0);
        let gpu = self.name(text(object, "device_uuid"), host, index);
        let name = text(object, "process_name").and_then(short_name);
        let user = text(object, "user").filter(|it| *it != "unknown");
        let tenant = user.map(|it| TenantId::new(format!("user {it}")));
        self.programs.tell_with_tenant(run, &gpu, pid, name, tenant)?;
        // 0 stands for "no reading" in both.
        let value = |key| object.get(key).and_then(Json::as_f64).filter(|it| *it > 0.0);
        let fields = [
            (Metric::FramebufferUsed, value("used_memory")),
            (Metric::GpuUtilization, value("gpu_utilization")),
        ];
        let read: Vec<(Metric, f64)> = fields.iter().filter_map(|it| Some((it.0, it.1?))).collect();
        let subject = Subject::Process { gpu, process: ProcessKey { pid, started: None } };
        self.seen.row(run, at, &subject, fields.iter().map(|it| it.0).collect(), &read)
    }

    /// The GPU of a UUID; `GPU-3` stands for the third one's, which the driver did not tell.
    fn name(&mut self, uuid: Option<&str>, host: &str, index: u32) -> GpuId {
        let is_number = |it: &&str| {
            let bare = it.strip_prefix("GPU-").unwrap_or(it);
            bare.bytes().all(|it| it.is_ascii_digit())
        };
        match uuid.filter(|it| !is_number(it)).and_then(driver_uuid) {
            Some(uuid) => GpuId::new(uuid),
            None => self.names.by_index(Some(host), index),
        }
    }

    fn finish(self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        if self.repeats > 0 {
            let detail = format!(
                "{} snapshots carry the stamp of the one before, because all-smi writes whole seconds; the last of them stays",
                self.repeats
            );
            run.warn(detail.clone());
            let remedy = "record every two seconds or less often";
            run.blind_spot(BlindSpotKind::TooCoarse, None, None, detail, remedy)?;
        }
        for ((section, kind), count) in &self.failures {
            let detail =
                format!("all-smi could not read its section `{section}` {count} times: {kind}");
            run.warn(detail.clone());
            run.blind_spot(BlindSpotKind::Gap, None, None, detail, "run all-smi doctor")?;
        }
        for (gpu, _) in self.zeros.iter().filter(|it| it.1.zero == it.1.all) {
            let detail = "GPU utilisation: 0 in every snapshot; all-smi writes 0 for an idle GPU and where the driver has no reading";
            let remedy = "compare with nvidia-smi --query-gpu=uuid,utilization.gpu --format=csv";
            let (subject, metric) = (Some(Subject::device(gpu)), Some(Metric::GpuUtilization));
            let kind = BlindSpotKind::NotReported;
            run.blind_spot(kind, subject, metric, detail.to_owned(), remedy)?;
        }
        self.clock.report_assumptions(run)?;
        self.seen.report_silence(run, |subject, metric| silence(&self.devices, subject, metric))
    }
}

fn silence(devices: &Devices, subject: &Subject, metric: Metric) -> Silence {
    let label = metric.spec().label;
    let is_mig = subject.gpu().is_some_and(|it| devices.is_mig(it));
    match (subject, metric) {
        (Subject::Process { .. }, Metric::GpuUtilization) => Silence {
            kind: BlindSpotKind::NotRecorded,
            detail: format!("{label}: all-smi does not ask NVIDIA's driver for it"),
            remedy: "record processes too: nvidia-smi pmon -s um -o DT".to_owned(),
        },
        (Subject::Device { .. }, _) if is_mig && is_hidden_by_mig(metric) => {
            Silence::hidden_by_mig(metric, "the driver has no reading for a GPU in MIG mode")
        }
        _ => Silence {
            detail: format!("{label}: the key is there but never has a reading"),
            ..Silence::unexplained(metric)
        },
    }
}

/// The objects in a member that is a list; none where it is anything else.
fn list<'a>(object: &'a Json, name: &str) -> &'a [Json] {
    object.get(name).and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::ImportOptions;
    use crate::import::testing::{Outcome, gpu, process, read};

    const UUID: &str = "GPU-1a2b3c4d-0000-4000-8000-00000000000a";

    fn import(text: &str) -> Outcome {
        read(&AllSmi, text, &ImportOptions::default())
    }

    fn snapshot(second: u32, gpus: &str, processes: &str) -> String {
        format!(
            "{{\"gpus\":[{gpus}],\"hostname\":\"node-a\",\"processes\":[{processes}],\"schema\":1,\"timestamp\":\"2026-07-14T09:00:{second:02}Z\"}}\n"
        )
    }

    fn card(uuid: &str, utilisation: &str) -> String {
        format!(
            "{{\"uuid\":\"{uuid}\",\"name\":\"NVIDIA X\",\"hostname\":\"node-a\",\"utilization\":{utilisation},\"temperature\":61,\"used_memory\":1048576,\"total_memory\":85899345920,\"frequency\":1980,\"power_consumption\":432.5,\"performance_state\":0,\"gpm_metrics\":{{\"sm_occupancy\":0.25,\"memory_bandwidth_utilization\":null}},\"detail\":{{\"Driver Version\":\"600.10\"}}}}"
        )
    }

    const PROCESS: &str = "{\"device_id\":0,\"device_uuid\":\"GPU-1a2b3c4d-0000-4000-8000-00000000000a\",\"pid\":77,\"process_name\":\"python3\",\"used_memory\":2097152,\"user\":\"alice\",\"uses_gpu\":true,\"gpu_utilization\":0.0,\"command\":\"python3 --key=x\"}";
    const HEADER: &str = "{\"all_smi_version\":\"0.30.1\",\"header\":true,\"hosts\":[\"node-a\"],\"interval_ms\":3000,\"schema\":1}\n";

    #[test]
    fn gpus_and_processes_are_read_in_their_units_with_their_owners() {
        let index = "{\"byte_offset\":1,\"index\":true,\"schema\":1,\"seq\":1000}\n";
        let host_process = PROCESS.replace("true", "false").replace("77", "1");
        let processes = format!("{PROCESS},{host_process}");
        let text = format!("{HEADER}{}{index}", snapshot(1, &card(UUID, "97.0"), &processes));
        assert_eq!(AllSmi.recognise(text.as_bytes()), Likeness::Sure);
        let it = import(&text);
        for (metric, value) in [
            (Metric::GpuUtilization, 97.0),
            (Metric::GpuTemperature, 61.0),
            (Metric::FramebufferUsed, 1_048_576.0),
            (Metric::FramebufferTotal, 85_899_345_920.0),
            (Metric::SmClock, 1980.0),
            (Metric::Power, 432_500.0),
            (Metric::PerformanceState, 0.0),
            (Metric::SmOccupancy, 0.25),
        ] {
            assert_eq!(it.values(&gpu(UUID), metric), [value], "{}", metric.key());
        }
        assert_eq!(it.values(&process(UUID, 77), Metric::FramebufferUsed), [2_097_152.0]);
        let outline = &it.recording.outline;
        let [owner] = &outline.processes[..] else { panic!("{outline:?}") };
        assert_eq!(owner.tenant.as_ref().map(TenantId::as_str), Some("user alice"));
        assert_eq!(owner.name.as_deref(), Some("python3"));
        let source = &outline.sources[0];
        assert_eq!(
            (source.tool_version.as_deref(), source.clock.as_str()),
            (Some("0.30.1"), "UTC")
        );
        assert_eq!(source.asked_interval, SampleInterval::from_micros(3_000_000));
        assert_eq!(outline.devices[0].driver.as_deref(), Some("600.10"));
        assert_eq!(
            it.blind_spots(),
            [
                format!("NotReported {UUID} dram_active_ratio"),
                format!("NotRecorded {UUID} pid 77 gpu_utilization_pct"),
            ]
        );
    }

    #[test]
    fn numbers_that_stand_for_no_reading_are_missing() {
        let empty = card(UUID, "-1.0")
            .replace("61", "0")
            .replace("432.5", "-1.0")
            .replace("1980", "0")
            .replace("85899345920", "0");
        let it = import(&snapshot(1, &empty, &PROCESS.replace("2097152", "0")));
        let series = &it.recording.traces[&gpu(UUID)].series;
        let read: Vec<Metric> = series.keys().copied().collect();
        assert_eq!(read, [Metric::SmOccupancy, Metric::PerformanceState]);
        assert!(
            it.blind_spots().contains(&format!("NotReported {UUID} pid 77 framebuffer_used_bytes"))
        );
    }

    #[test]
    fn zeros_are_doubted_and_under_mig_they_are_none() {
        let it = import(&format!(
            "{}{}",
            snapshot(1, &card(UUID, "0.0"), ""),
            snapshot(4, &card(UUID, "0.0"), "")
        ));
        assert_eq!(it.values(&gpu(UUID), Metric::GpuUtilization), [0.0, 0.0]);
        assert_eq!(it.blind_spots()[0], format!("NotReported {UUID} gpu_utilization_pct"));
        let mig = card(UUID, "0.0").replace("\"600.10\"", "\"600.10\",\"mig_mode_current\":\"1\"");
        let it = import(&snapshot(1, &mig, ""));
        assert!(it.values(&gpu(UUID), Metric::GpuUtilization).is_empty());
        assert_eq!(it.blind_spots()[0], format!("HiddenByMig {UUID} gpu_utilization_pct"));
    }

    #[test]
    fn gpus_of_several_hosts_stay_apart_and_a_stamp_that_returns_is_told() {
        let second = card("GPU-1", "5").replace("node-a", "node-b");
        let gpus = format!("{},{second}", card("GPU-0", "4"));
        let it = import(&format!("{}{}", snapshot(1, &gpus, ""), snapshot(1, &gpus, "")));
        assert_eq!(it.values(&gpu("gpu0"), Metric::GpuUtilization), [4.0]);
        assert_eq!(it.values(&gpu("node-b/gpu0"), Metric::GpuUtilization), [5.0]);
        assert_eq!(it.blind_spots()[0], "TooCoarse all all");
    }

    #[test]
    fn damage_costs_the_snapshot_or_the_field_and_failures_are_gaps() {
        let good = snapshot(1, &card(UUID, "97"), "");
        let odd = snapshot(2, &card(UUID, "\"many\""), "{\"pid\":-3}");
        let undated = snapshot(3, "", "").replace("2026-07-14", "yesterday");
        let failed = snapshot(4, "", "").replace(
            "\"schema\"",
            "\"errors\":[{\"section\":\"gpu\",\"kind\":\"timeout\",\"message\":\"x\"}],\"schema\"",
        );
        let cut = good[..good.len() / 2].to_owned();
        let it = import(&format!("{good}{odd}{undated}{{\"schema\":1}}\n{failed}{cut}"));
        assert_eq!(it.values(&gpu(UUID), Metric::GpuUtilization), [97.0]);
        assert_eq!(it.values(&gpu(UUID), Metric::SmClock), [1980.0, 1980.0]);
        assert_eq!(it.summary().rejections.count(), 5);
        assert_eq!(it.blind_spots()[0], "Gap all all");
        for head in ["{\"schema\":1}", "[1]", "", "schema timestamp hostname gpus"] {
            assert_eq!(AllSmi.recognise(head.as_bytes()), Likeness::No, "{head}");
        }
    }
}
