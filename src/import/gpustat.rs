//! `gpustat --json`: one object for each look, as often as it was run into one file.
//!
//! Memory is in mebibytes and power in whole watts, both rounded down. Source: wookayin/gpustat, `gpustat/core.py`.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::{GpuId, ProcessKey, Subject, TenantId};
use crate::domain::metric::Dialect;
use crate::domain::outline::Device;
use crate::domain::time::Timestamp;
use crate::import::error::ImportError;
use crate::import::gpu_names::{GpuNames, driver_uuid};
use crate::import::json::{Json, Objects, readings, text, whole};
use crate::import::run::ImportRun;
use crate::import::run::devices::Devices;
use crate::import::run::seen::{Seen, Silence};
use crate::import::smi::program::{Programs, program_name};
use crate::import::text::clock::RowClock;
use crate::import::{Importer, Likeness};
use std::collections::BTreeSet;
use std::io::BufRead;

/// Reads `gpustat --json`.
pub struct Gpustat;

impl Importer for Gpustat {
    fn id(&self) -> &'static str {
        "gpustat"
    }

    fn about(&self) -> &'static str {
        "JSON of `gpustat --json`, one object or many in a row"
    }

    fn recognise(&self, head: &[u8]) -> Likeness {
        let head = String::from_utf8_lossy(head);
        let is_json = head.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '[']);
        let has = |key: &str| head.contains(key);
        match is_json && has("\"query_time\"") && has("\"gpus\"") {
            true => Likeness::Sure,
            false => Likeness::No,
        }
    }

    fn import(&self, input: &mut dyn BufRead, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut file = GpustatFile {
            clock: RowClock::new(run, None),
            names: GpuNames::default(),
            devices: Devices::default(),
            programs: Programs::default(),
            seen: Seen::default(),
            closed: BTreeSet::new(),
        };
        let mut objects = Objects::new(input);
        while let Some(object) = objects.next(run)? {
            file.look(run, &object)?;
        }
        file.finish(run)
    }
}

/// A file that is being read.
struct GpustatFile {
    clock: RowClock<()>,
    names: GpuNames,
    devices: Devices,
    programs: Programs,
    seen: Seen,
    /// GPUs that did not list their processes.
    closed: BTreeSet<GpuId>,
}

impl GpustatFile {
    fn look(&mut self, run: &mut ImportRun<'_>, object: &Json) -> Result<(), ImportError> {
        let gpus = object.get("gpus").and_then(Json::as_array);
        let (Some(stamp), Some(gpus)) = (text(object, "query_time"), gpus) else {
            run.reject("query_time", "an object of gpustat with its stamp", &object.to_string());
            return Ok(());
        };
        let Some(at) = self.clock.read(run, "query_time", stamp) else { return Ok(()) };
        let driver = text(object, "driver_version");
        run.describe_source(|options| self.clock.origin(options, "gpustat"))?;
        for gpu in gpus {
            self.gpu(run, at, text(object, "hostname"), driver, gpu)?;
        }
        Ok(())
    }

    fn gpu(
        &mut self,
        run: &mut ImportRun<'_>,
        at: Timestamp,
        host: Option<&str>,
        driver: Option<&str>,
        object: &Json,
    ) -> Result<(), ImportError> {
        let index = whole(object, "index");
        let uuid = text(object, "uuid").and_then(driver_uuid).map(GpuId::new);
        let Some(gpu) = uuid.or_else(|| Some(self.names.by_index(host, index?))) else {
            run.reject("index", "the index or the UUID of a GPU", &object.to_string());
            return Ok(());
        };
        let owned = |it: Option<&str>| it.map(str::to_owned);
        let (model, host, driver) = (owned(text(object, "name")), owned(host), owned(driver));
        let named = Device::named(gpu.clone());
        self.devices.tell(run, Device { index, model, host, driver, ..named })?;
        let (asked, read) = readings(run, Dialect::Gpustat, object);
        self.seen.row(run, at, &Subject::device(&gpu), asked, &read)?;
        match object.get("processes") {
            Some(Json::Array(processes)) => {
                processes.iter().try_for_each(|it| self.process(run, at, &gpu, it))
            }
            Some(Json::Null) => {
                self.closed.insert(gpu);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn process(
        &mut self,
        run: &mut ImportRun<'_>,
        at: Timestamp,
        gpu: &GpuId,
        object: &Json,
    ) -> Result<(), ImportError> {
        let Some(pid) = whole(object, "pid") else {
            run.reject("pid", "a process id", &object.to_string());
            return Ok(());
        };
        let name = text(object, "command").filter(|it| *it != "?").and_then(program_name);
        let tenant = text(object, "username").map(|it| TenantId::new(format!("user {it}")));
        self.programs.tell_with_tenant(run, gpu, pid, name, tenant)?;
        let (asked, read) = readings(run, Dialect::Gpustat, object);
        let process = ProcessKey { pid, started: None };
        self.seen.row(run, at, &Subject::Process { gpu: gpu.clone(), process }, asked, &read)
    }

    fn finish(self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        self.clock.report_assumptions(run)?;
        for gpu in self.closed {
            let detail = "the driver did not list the processes of this GPU".to_owned();
            let (kind, subject) = (BlindSpotKind::NotReported, Some(Subject::device(&gpu)));
            run.blind_spot(kind, subject, None, detail, "record processes: cotenant record")?;
        }
        self.seen.report_silence(run, |_, metric| Silence {
            kind: BlindSpotKind::NotReported,
            detail: format!("{}: gpustat never had a reading", metric.spec().label),
            remedy: "MIG, Windows and passively cooled boards keep some fields to themselves; cotenant record says which and why".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::metric::Metric;
    use crate::import::ImportOptions;
    use crate::import::testing::{Outcome, gpu, process, read};

    const UUID: &str = "GPU-1a2b3c4d-0000-4000-8000-00000000000a";
    const MIB: f64 = 1_048_576.0;

    fn import(text: &str) -> Outcome {
        read(&Gpustat, text, &ImportOptions::default())
    }

    fn look(second: u32, utilisation: &str, processes: &str) -> String {
        format!(
            "{{\n    \"hostname\": \"node-a\",\n    \"driver_version\": \"600.10\",\n    \"query_time\": \"2026-07-14T09:00:{second:02}.250000\",\n    \"gpus\": [\n        {{\n            \"index\": 3,\n            \"uuid\": \"{UUID}\",\n            \"name\": \"NVIDIA X\",\n            \"temperature.gpu\": 61,\n            \"fan.speed\": null,\n            \"utilization.gpu\": {utilisation},\n            \"utilization.enc\": 5,\n            \"utilization.dec\": 6,\n            \"power.draw\": 432,\n            \"enforced.power.limit\": 700,\n            \"memory.used\": 11125,\n            \"memory.total\": 81559,\n            \"processes\": {processes}\n        }}\n    ]\n}}\n"
        )
    }

    const PROCESSES: &str = "[{\"username\": \"alice\", \"command\": \"python3\", \"full_command\": [\"python3\", \"--key=x\"], \"gpu_memory_usage\": 2296, \"cpu_percent\": 99.0, \"cpu_memory_usage\": 1, \"pid\": 77}, {\"username\": \"bob\", \"command\": \"?\", \"gpu_memory_usage\": null, \"pid\": 78}]";

    #[test]
    fn gpus_and_processes_are_read_in_their_units_with_their_owners() {
        let text = format!("{}{}", look(1, "97", PROCESSES), look(2, "98", PROCESSES));
        assert_eq!(Gpustat.recognise(text.as_bytes()), Likeness::Sure);
        let it = import(&text);
        for (metric, value) in [
            (Metric::GpuTemperature, 61.0),
            (Metric::EncoderUtilization, 5.0),
            (Metric::DecoderUtilization, 6.0),
            (Metric::Power, 432_000.0),
            (Metric::PowerLimit, 700_000.0),
            (Metric::FramebufferUsed, 11_125.0 * MIB),
            (Metric::FramebufferTotal, 81_559.0 * MIB),
        ] {
            assert_eq!(it.values(&gpu(UUID), metric), [value; 2], "{}", metric.key());
        }
        assert_eq!(it.values(&gpu(UUID), Metric::GpuUtilization), [97.0, 98.0]);
        assert_eq!(it.values(&process(UUID, 77), Metric::FramebufferUsed), [2296.0 * MIB; 2]);
        let owners: Vec<_> = it
            .recording
            .outline
            .processes
            .iter()
            .map(|it| (it.name.clone(), it.tenant.as_ref().map(|it| it.as_str().to_owned())))
            .collect();
        assert_eq!(
            owners,
            [
                (Some("python3".to_owned()), Some("user alice".to_owned())),
                (None, Some("user bob".to_owned()))
            ]
        );
        assert_eq!(it.recording.outline.devices[0].label(), "GPU 3 on node-a");
        assert_eq!(
            it.blind_spots(),
            [
                "ClockAssumed all all".to_owned(),
                format!("NotReported {UUID} fan_speed_pct"),
                format!("NotReported {UUID} pid 78 framebuffer_used_bytes"),
            ]
        );
    }

    #[test]
    fn a_gpu_without_utilisation_or_list_of_processes_says_so() {
        let it = import(&look(1, "null", "null"));
        let spots = it.blind_spots();
        assert!(spots.contains(&format!("NotReported {UUID} all")), "{spots:?}");
        assert!(spots.contains(&format!("NotReported {UUID} gpu_utilization_pct")), "{spots:?}");
    }

    #[test]
    fn damage_costs_the_look_or_the_field() {
        let nameless =
            look(5, "1", "[]").replace("\"index\": 3", "\"index\": -1").replace(UUID, "");
        let text = format!(
            "{}{}{}{}{nameless}{}",
            look(1, "97", PROCESSES),
            look(2, "[]", "[{\"pid\": \"many\"}]"),
            look(3, "1", "[]").replace("2026-07-14T", "yesterday "),
            "{\"gpus\": []}\n",
            &look(4, "1", "[]")[..200],
        );
        let it = import(&text);
        assert_eq!(it.values(&gpu(UUID), Metric::GpuUtilization), [97.0]);
        assert_eq!(it.values(&gpu(UUID), Metric::Power).len(), 2);
        assert_eq!(it.summary().rejections.count(), 6);
        assert_eq!(Gpustat.recognise(b"{\"gpus\": []}"), Likeness::No);
    }
}
