//! System metrics of Weights & Biases, `run.history(stream="events")`, as CSV or JSON lines.
//!
//! `gpu.process.N.*` are the GPU's own readings again, written while the run uses it: nothing of them is the run's own
//! share. Source: wandb/wandb, `gpu_stats/src/gpu_nvidia.rs` and `gpu_nvidia_dcgm.rs`.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::{GpuId, Subject};
use crate::domain::metric::{Dialect, Metric};
use crate::domain::outline::Device;
use crate::domain::time::Timestamp;
use crate::import::error::ImportError;
use crate::import::gpu_names::GpuNames;
use crate::import::json::{Json, Objects};
use crate::import::run::ImportRun;
use crate::import::run::devices::Devices;
use crate::import::run::origin::Origin;
use crate::import::run::seen::{MetricSet, Seen, Silence};
use crate::import::smi::csv::split;
use crate::import::text::cells::number;
use crate::import::text::lines::{Lines, head_lines};
use crate::import::text::stamp::{EpochUnit, epoch};
use crate::import::{Importer, Likeness};
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

/// Samples that `run.history` gives at most unless it is asked for more.
const DEFAULT_SAMPLES: u64 = 500;

/// Reads system metrics of W&B.
pub struct Wandb;

impl Importer for Wandb {
    fn id(&self) -> &'static str {
        "wandb"
    }

    fn about(&self) -> &'static str {
        "system metrics of W&B, run.history(stream=\"events\"), as csv or JSON lines"
    }

    fn recognise(&self, head: &[u8]) -> Likeness {
        let is_json = begins_json(head);
        let text = String::from_utf8_lossy(head);
        let has_key = ["\"system.gpu.", "\"system/gpu."].iter().any(|it| text.contains(it));
        let is_header = |it: &String| split(it).into_iter().any(|it| Name::parse(it).is_some());
        match (is_json && has_key) || (!is_json && head_lines(head).iter().take(20).any(is_header))
        {
            true => Likeness::Sure,
            false => Likeness::No,
        }
    }

    fn import(&self, input: &mut dyn BufRead, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut file = WandbFile::default();
        let is_json = begins_json(input.fill_buf().map_err(|it| run.read_error(it))?);
        match is_json {
            true => file.objects(run, input)?,
            false => file.table(run, input)?,
        }
        file.finish(run)
    }
}

fn begins_json(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    head.trim_ascii_start().first().is_some_and(|it| matches!(it, b'{' | b'['))
}

/// The name of a system metric of a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    index: u32,
    /// Node, where several write into one run.
    node: Option<String>,
    /// Name without what stands before it.
    pub(super) key: String,
    /// Whether it is the GPU's reading again, because the run uses it.
    is_of_run: bool,
}

impl Name {
    /// `system.gpu.0.powerWatts`, also with `/`, with `process` in it, and with `/l:NODE` behind; `None` for any other name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let rest = name.strip_prefix("system.").or_else(|| name.strip_prefix("system/"))?;
        let (rest, node) = match rest.split_once("/l:") {
            Some((rest, node)) => (rest, Some(node.to_owned())),
            None => (rest, None),
        };
        let rest = rest.strip_prefix("gpu.")?;
        let (rest, is_of_run) = match rest.strip_prefix("process.") {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let (index, key) = rest.split_once('.')?;
        Some(Self { index: index.parse().ok()?, node, key: key.to_owned(), is_of_run })
    }
}

/// What a row has about one GPU: the metrics with a cell, and those with a reading.
type Cells = (MetricSet, Vec<(Metric, f64)>);

/// What is known of one GPU besides its readings.
#[derive(Debug, Default)]
struct Known {
    has_run: bool,
    has_share: bool,
    has_bytes: bool,
}

/// A file that is being read.
#[derive(Default)]
pub(super) struct WandbFile {
    /// Where the rows come from; is told with the first of them.
    pub(super) origin: Origin,
    names: GpuNames,
    devices: Devices,
    seen: Seen,
    known: BTreeMap<GpuId, Known>,
    rows: u64,
}

impl WandbFile {
    fn objects(
        &mut self,
        run: &mut ImportRun<'_>,
        input: &mut dyn BufRead,
    ) -> Result<(), ImportError> {
        let mut objects = Objects::new(input);
        while let Some(object) = objects.next(run)? {
            let Some(members) = object.as_object() else { continue };
            if members.values().any(|it| it.is_object() || it.is_array()) {
                let remedy =
                    "write one row a line: df.to_json(FILE, orient=\"records\", lines=True)";
                let found = object.to_string();
                return Err(run.structure_error("rows with numbers in them", &found, remedy));
            }
            let cells: Vec<(&str, String)> = members
                .iter()
                .map(|(name, value)| {
                    let text = match value {
                        Json::Null => String::new(),
                        Json::String(it) => it.clone(),
                        other => other.to_string(),
                    };
                    (name.as_str(), text)
                })
                .collect();
            let cells: Vec<(&str, &str)> = cells.iter().map(|it| (it.0, it.1.as_str())).collect();
            self.row(run, &cells)?;
        }
        Ok(())
    }

    fn table(
        &mut self,
        run: &mut ImportRun<'_>,
        input: &mut dyn BufRead,
    ) -> Result<(), ImportError> {
        let mut header: Option<Vec<String>> = None;
        let mut lines = Lines::new(input);
        while let Some(line) = lines.next(run)? {
            let cells = split(&line);
            if cells.iter().any(|it| Name::parse(it).is_some()) {
                header = Some(cells.into_iter().map(str::to_owned).collect());
                continue;
            }
            match &header {
                Some(names) if names.len() == cells.len() => {
                    let cells: Vec<(&str, &str)> =
                        names.iter().map(String::as_str).zip(cells).collect();
                    self.row(run, &cells)?;
                }
                _ if line.trim().is_empty() => {}
                Some(names) => run.reject("", &format!("{} cells", names.len()), &line),
                None => run.reject("", "a header with columns like `system.gpu.0.gpu`", &line),
            }
        }
        Ok(())
    }

    /// One row: names and texts of its cells.
    fn row(&mut self, run: &mut ImportRun<'_>, cells: &[(&str, &str)]) -> Result<(), ImportError> {
        match self.stamp(run, cells)? {
            Some(at) => self.row_at(run, at, cells),
            None => Ok(()),
        }
    }

    /// One row at this instant.
    pub(super) fn row_at(
        &mut self,
        run: &mut ImportRun<'_>,
        at: Timestamp,
        cells: &[(&str, &str)],
    ) -> Result<(), ImportError> {
        self.rows += 1;
        run.describe_source(|_| Origin { tool: "wandb".to_owned(), ..self.origin.clone() })?;
        let mut gpus: BTreeMap<(u32, GpuId), Cells> = BTreeMap::new();
        for (name, text) in cells {
            let Some(name) = Name::parse(name) else { continue };
            let gpu = self.names.by_index(name.node.as_deref(), name.index);
            let known = self.known.entry(gpu.clone()).or_default();
            known.has_run |= name.is_of_run;
            known.has_share |= name.key == "memoryAllocated";
            known.has_bytes |= name.key == "memoryAllocatedBytes";
            let metric = Metric::from_foreign(Dialect::Wandb, &name.key);
            let Some((metric, factor)) = metric.filter(|_| !name.is_of_run) else { continue };
            let own = gpus.entry((name.index, gpu)).or_default();
            own.0.insert(metric);
            match number(text) {
                Ok(value) => own.1.extend(value.map(|it| (metric, it * factor))),
                Err(found) => run.reject(&name.key, "a number", &found),
            }
        }
        for ((index, gpu), (asked, read)) in gpus {
            let named = Device::named(gpu.clone());
            self.devices.tell(run, Device { index: Some(index), ..named })?;
            self.seen.row(run, at, &Subject::Device { gpu }, asked, &read)?;
        }
        Ok(())
    }

    /// When a row was: by `_timestamp`, or by the user's start and `_runtime`; `None` when it was rejected.
    fn stamp(
        &mut self,
        run: &mut ImportRun<'_>,
        cells: &[(&str, &str)],
    ) -> Result<Option<Timestamp>, ImportError> {
        let cell =
            |name: &str| cells.iter().find(|it| it.0 == name && !it.1.is_empty()).map(|it| it.1);
        if let Some(text) = cell("_timestamp") {
            self.origin.clock = "UTC".to_owned();
            let read = epoch(text, EpochUnit::Seconds);
            return Ok(read
                .map_err(|found| run.reject("_timestamp", "seconds since 1970", &found))
                .ok());
        }
        let Some(text) = cell("_runtime") else {
            run.reject("_timestamp", "a row with its stamp", "a row without one");
            return Ok(None);
        };
        let no_stamps = || ImportError::NoStamps { file: run.file().to_owned() };
        let start = run.options.start.ok_or_else(no_stamps)?;
        self.origin.clock = "made from --start and _runtime".to_owned();
        let read = epoch(text, EpochUnit::Seconds);
        Ok(read
            .map(|it| start.plus_micros(it.as_micros()))
            .map_err(|found| run.reject("_runtime", "seconds", &found))
            .ok())
    }

    fn finish(self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        if self.rows == DEFAULT_SAMPLES {
            let detail = format!(
                "the file holds {DEFAULT_SAMPLES} rows, which is what run.history gives when more were recorded"
            );
            run.warn(detail.clone());
            let remedy = "ask for all: run.history(stream=\"events\", samples=1000000)";
            run.blind_spot(BlindSpotKind::TooCoarse, None, None, detail, remedy)?;
        }
        self.report(run)
    }

    /// Tells what the columns cannot show.
    pub(super) fn report(self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let runs: BTreeSet<&GpuId> =
            self.known.iter().filter(|it| it.1.has_run).map(|it| it.0).collect();
        for gpu in runs {
            let detail = "W&B writes the whole GPU's readings again as gpu.process; what the run itself used is not recorded".to_owned();
            let (subject, metric) = (Subject::device(gpu), Some(Metric::GpuUtilization));
            let remedy = "record processes beside it: cotenant record";
            run.blind_spot(BlindSpotKind::Ambiguous, Some(subject), metric, detail, remedy)?;
        }
        for (gpu, _) in self.known.iter().filter(|it| it.1.has_share && !it.1.has_bytes) {
            let detail =
                "memory is written as a share of a total that is not in the file".to_owned();
            let (subject, metric) = (Subject::device(gpu), Some(Metric::FramebufferUsed));
            let remedy = "use a newer wandb, which writes memoryAllocatedBytes";
            run.blind_spot(BlindSpotKind::NotRecorded, Some(subject), metric, detail, remedy)?;
        }
        self.seen.report_silence(run, |_, metric| Silence::unexplained(metric))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::ImportOptions;
    use crate::import::testing::{Outcome, every_second, gpu, read};

    fn import(text: &str) -> Outcome {
        read(&Wandb, text, &ImportOptions::default())
    }

    const HEADER: &str = ",system.gpu.0.gpu,system.gpu.0.memory,system.gpu.0.memoryAllocated,system.gpu.0.memoryAllocatedBytes,system.gpu.0.powerWatts,system.gpu.1.gpu,system.gpu.process.0.gpu,system.cpu,_timestamp,_runtime\n";

    #[test]
    fn csv_and_json_lines_say_the_same() {
        let csv = format!(
            "{HEADER}0,97.0,11,50.0,1048576,432.5,,97.0,3.0,1784019602.25,2.25\n1,98.0,12,50.0,1048576,433.5,5,98.0,3.0,1784019617.25,17.25\n"
        );
        let json = "{\"system.gpu.0.gpu\":97.0,\"system.gpu.0.memory\":11,\"system.gpu.0.memoryAllocated\":50.0,\"system.gpu.0.memoryAllocatedBytes\":1048576,\"system.gpu.0.powerWatts\":432.5,\"system.gpu.1.gpu\":NaN,\"system.gpu.process.0.gpu\":97.0,\"_timestamp\":1784019602.25,\"_wandb\":null}\n{\"system.gpu.0.gpu\":98.0,\"system.gpu.0.memory\":12,\"system.gpu.0.memoryAllocatedBytes\":1048576,\"system.gpu.0.powerWatts\":433.5,\"system.gpu.1.gpu\":5,\"_timestamp\":1784019617.25}\n";
        for text in [csv.as_str(), json] {
            assert_eq!(Wandb.recognise(text.as_bytes()), Likeness::Sure, "{text}");
            let it = import(text);
            for (metric, values) in [
                (Metric::GpuUtilization, [97.0, 98.0]),
                (Metric::MemoryUtilization, [11.0, 12.0]),
                (Metric::FramebufferUsed, [1_048_576.0; 2]),
                (Metric::Power, [432_500.0, 433_500.0]),
            ] {
                assert_eq!(it.values(&gpu("gpu0"), metric), values, "{}", metric.key());
            }
            assert_eq!(it.values(&gpu("gpu1"), Metric::GpuUtilization), [5.0]);
            assert_eq!(it.millis(&gpu("gpu1"), Metric::GpuUtilization), [1_784_019_617_250]);
            assert_eq!(it.blind_spots(), ["Ambiguous gpu0 gpu_utilization_pct"], "{text}");
            assert!(it.recording.outline.processes.is_empty(), "a run is no process");
        }
    }

    #[test]
    fn without_stamps_the_runtime_counts_from_the_start_that_was_given() {
        let text = "system/gpu.0.gpu,_runtime\n7,0.5\n8,15.5\n";
        assert_eq!(import(text).error().0, "log: has no time stamps");
        let it = read(&Wandb, text, &every_second());
        assert_eq!(it.millis(&gpu("gpu0"), Metric::GpuUtilization), [500, 15_500]);
    }

    #[test]
    fn nodes_of_one_run_stay_apart_and_a_share_of_memory_is_no_amount() {
        let text = "system.gpu.0.gpu/l:a,system.gpu.0.gpu/l:b,system.gpu.0.memoryAllocated/l:a,_timestamp\n7,8,50,100\n";
        let it = import(text);
        assert_eq!(it.values(&gpu("gpu0"), Metric::GpuUtilization), [7.0]);
        assert_eq!(it.values(&gpu("b/gpu0"), Metric::GpuUtilization), [8.0]);
        assert_eq!(it.blind_spots(), ["NotRecorded gpu0 framebuffer_used_bytes"]);
    }

    #[test]
    fn exactly_the_default_number_of_rows_is_doubted() {
        let rows: String = (0..500).map(|it| format!("7,{it}\n")).collect();
        let it = import(&format!("system.gpu.0.gpu,_timestamp\n{rows}"));
        assert_eq!(it.blind_spots(), ["TooCoarse all all"]);
    }

    #[test]
    fn damage_costs_the_row_or_the_cell_and_another_shape_of_json_is_explained() {
        let text = "junk\nsystem.gpu.0.gpu,system.gpu.0.temp,_timestamp\n7,50,100\nmany,51,101\n8,52\n9,53,soon\n9,54,\n137,55,102\n";
        let it = import(text);
        assert_eq!(it.values(&gpu("gpu0"), Metric::GpuUtilization), [7.0]);
        assert_eq!(it.values(&gpu("gpu0"), Metric::GpuTemperature), [50.0, 51.0, 55.0]);
        assert_eq!(it.summary().rejections.count(), 6);
        let (error, remedy) =
            import("{\"system.gpu.0.gpu\":{\"0\":7},\"_timestamp\":{\"0\":1}}").error();
        assert!(error.contains("rows with numbers") && remedy.contains("lines=True"), "{error}");
        for head in ["gpu,power\n", "{\"gpu.0\":1}", ""] {
            assert_eq!(Wandb.recognise(head.as_bytes()), Likeness::No, "{head}");
        }
    }
}
