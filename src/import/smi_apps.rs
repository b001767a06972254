//! `nvidia-smi --query-compute-apps=… --format=csv`: which process held how much memory, and when.
//!
//! `--query-accounted-apps` looks alike but prints one lifetime average for each process that ever
//! ran, dead ones included; those are no samples, so such a file is refused.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::{GpuId, ProcessKey, Subject};
use crate::domain::metric::{Dialect, Metric};
use crate::domain::outline::{Device, Process};
use crate::domain::sink::Fact;
use crate::domain::time::Timestamp;
use crate::import::cells::{factor_to, is_missing, number, printed_unit};
use crate::import::clock::{MADE, Ticks, report_assumptions, report_made_stamps};
use crate::import::error::ImportError;
use crate::import::lines::{Lines, head_lines};
use crate::import::program::program_name;
use crate::import::run::ImportRun;
use crate::import::seen::{MetricSet, Seen, Silence};
use crate::import::smi_csv::{GpuColumns, Header, cell, split, unnamed_gpu};
use crate::import::stamp::StampReader;
use crate::import::unnamed_gpu::{report_assumed_gpu, several_gpus};
use crate::import::{Importer, Likeness};
use std::collections::BTreeMap;
use std::io::BufRead;

/// Columns that only `--query-accounted-apps` has.
const LIFETIME_COLUMNS: &[&str] = &["max_memory_usage", "gpu_utilization", "mem_utilization"];

/// Reads `nvidia-smi --query-compute-apps=… --format=csv`.
pub struct SmiComputeApps;

impl Importer for SmiComputeApps {
    fn id(&self) -> &'static str {
        "smi-compute-apps"
    }

    fn about(&self) -> &'static str {
        "csv of `nvidia-smi --query-compute-apps`: memory of each process"
    }

    fn recognise(&self, head: &[u8]) -> Likeness {
        let is_header = |it: &String| is_header(&Header::parse(it));
        match head_lines(head).iter().any(is_header) {
            true => Likeness::Sure,
            false => Likeness::No,
        }
    }

    fn import(&self, input: &mut dyn BufRead, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut file = AppsFile::new(run);
        let mut lines = Lines::new(input);
        while let Some(line) = lines.next(run)? {
            if !line.trim().is_empty() {
                file.line(run, line)?;
            }
        }
        file.finish(run)
    }
}

fn is_header(header: &Header) -> bool {
    let memory = &["used_gpu_memory", "used_memory", "max_memory_usage", "process_name"];
    header.is_all_fields()
        && header.position(&["pid"]).is_some()
        && header.position(memory).is_some()
}

/// What a header means.
struct Layout {
    width: usize,
    stamp: Option<usize>,
    pid: usize,
    name: Option<usize>,
    memory: Option<usize>,
    memory_unit: String,
    gpu: GpuColumns,
    is_lifetime: bool,
}

impl Layout {
    fn new(header: &Header) -> Option<Self> {
        let memory = header.position(&["used_gpu_memory", "used_memory"]);
        Some(Self {
            width: header.len(),
            stamp: header.position(&["timestamp"]),
            pid: header.position(&["pid"])?,
            name: header.position(&["process_name", "name"]),
            memory,
            memory_unit: memory.map_or_else(String::new, |it| header.units[it].clone()),
            gpu: GpuColumns::of(header),
            is_lifetime: header.position(LIFETIME_COLUMNS).is_some(),
        })
    }

    /// Cells of a row; commas in the name of a program are not separators. `None` for a ragged row.
    fn cells(&self, line: &str) -> Option<Vec<String>> {
        let cells = split(line);
        let filled = cells.iter().rposition(|it| !it.is_empty()).map_or(0, |it| it + 1);
        let extra = filled.max(self.width).checked_sub(self.width)?;
        if cells.len() < self.width || (extra > 0 && self.name.is_none()) {
            return None;
        }
        let mut row: Vec<String> =
            cells[..filled.max(self.width)].iter().map(|&it| it.to_owned()).collect();
        if let (Some(name), true) = (self.name, extra > 0) {
            let joined = row[name..=name + extra].join(", ");
            row.splice(name..=name + extra, [joined]);
        }
        Some(row)
    }
}

/// A file that is being read.
struct AppsFile {
    layout: Option<Layout>,
    reader: StampReader,
    ticks: Ticks<(GpuId, u32)>,
    has_made_stamps: bool,
    unnamed: BTreeMap<u32, (Timestamp, String)>,
    names: BTreeMap<(GpuId, u32), Option<String>>,
    seen: Seen,
}

impl AppsFile {
    fn new(run: &ImportRun<'_>) -> Self {
        let fields = run.options.fields.as_deref().unwrap_or_default();
        Self {
            layout: Layout::new(&Header::of(fields.iter().map(String::as_str))),
            reader: StampReader::new(run.options.time_zone.clone()),
            ticks: Ticks::default(),
            has_made_stamps: false,
            unnamed: BTreeMap::new(),
            names: BTreeMap::new(),
            seen: Seen::default(),
        }
    }

    fn line(&mut self, run: &mut ImportRun<'_>, line: &str) -> Result<(), ImportError> {
        if line.contains("pid") {
            let header = Header::parse(line);
            if is_header(&header) {
                if run.options.fields.is_none() {
                    self.layout = Layout::new(&header);
                }
                return Ok(());
            }
        }
        let Some(layout) = &self.layout else {
            run.reject("", "the header of --query-compute-apps", line);
            return Ok(());
        };
        if layout.is_lifetime {
            let remedy = "it holds one lifetime average for each process, not samples over time; record `nvidia-smi pmon -s um -o DT`";
            return Err(run.structure_error("samples over time", "accounted apps", remedy));
        }
        match layout.cells(line) {
            Some(cells) => {
                let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
                self.row(run, line, &cells)
            }
            None => {
                run.reject("", &format!("{} cells", layout.width), line);
                Ok(())
            }
        }
    }

    fn row(
        &mut self,
        run: &mut ImportRun<'_>,
        line: &str,
        cells: &[&str],
    ) -> Result<(), ImportError> {
        let Some(layout) = &self.layout else {
            return Ok(());
        };
        let Ok(pid) = cells[layout.pid].parse() else {
            run.reject("pid", "a process id", cells[layout.pid]);
            return Ok(());
        };
        let named = layout.gpu.gpu(cells);
        let is_named = named.is_some();
        let gpu = named.unwrap_or_else(|| unnamed_gpu(run));
        let at = match layout.stamp.map(|it| self.reader.text(cells[it])) {
            Some(Ok(at)) => at,
            Some(Err(found)) => {
                run.reject("timestamp", "a time stamp", &found);
                return Ok(());
            }
            None => {
                self.has_made_stamps = true;
                self.ticks.stamp(run, (gpu.clone(), pid), false)?
            }
        };
        if !is_named && run.options.gpu.is_none() {
            self.check_unnamed(run, at, pid, line)?;
        }
        self.give(run, at, gpu, pid, cells)
    }

    /// One process at one stamp twice, with different memory, means several GPUs.
    fn check_unnamed(
        &mut self,
        run: &ImportRun<'_>,
        at: Timestamp,
        pid: u32,
        line: &str,
    ) -> Result<(), ImportError> {
        match self.unnamed.insert(pid, (at, line.to_owned())) {
            Some((last, text)) if last == at && text != line => {
                let stamp = text.split(',').next().unwrap_or_default().to_owned();
                Err(several_gpus(run.file(), run.line, 2, &stamp))
            }
            _ => Ok(()),
        }
    }

    fn give(
        &mut self,
        run: &mut ImportRun<'_>,
        at: Timestamp,
        gpu: GpuId,
        pid: u32,
        cells: &[&str],
    ) -> Result<(), ImportError> {
        let Some(layout) = &self.layout else {
            return Ok(());
        };
        let (clock, asked) = match layout.stamp {
            Some(_) => (self.reader.clock(), None),
            None => (MADE.to_owned(), run.options.interval),
        };
        run.describe_source("nvidia-smi", None, asked, &clock)?;
        let process = ProcessKey { pid, started: None };
        let name = cell(cells, layout.name).and_then(program_name);
        let key = (gpu.clone(), pid);
        if self.names.get(&key) != Some(&name) {
            run.fact(Fact::Device(Device { index: None, ..layout.gpu.device(&gpu, cells) }))?;
            self.names.insert(key, name.clone());
            let gpu = gpu.clone();
            run.fact(Fact::Process(Process { gpu, process, name, tenant: None }))?;
        }
        let memory = layout.memory.and_then(|it| memory_bytes(run, cells[it], &layout.memory_unit));
        let reading = memory.map(|it| (Metric::FramebufferUsed, it));
        let asked: MetricSet = layout.memory.map(|_| Metric::FramebufferUsed).into_iter().collect();
        let subject = Subject::Process { gpu, process };
        self.seen.row(run, at, &subject, asked, reading.as_slice())
    }

    fn finish(self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        if self.layout.is_none() && run.line > 0 {
            let remedy = "give the field list of the recording: --fields timestamp,gpu_uuid,pid,process_name,used_memory";
            let expected = "a header that names fields of --query-compute-apps";
            return Err(run.structure_error(expected, "none", remedy));
        }
        if !self.unnamed.is_empty() {
            let gpu = unnamed_gpu(run);
            report_assumed_gpu(run, &gpu)?;
        }
        if self.has_made_stamps {
            report_made_stamps(run, "a process that returns")?;
        }
        report_assumptions(run, &self.reader)?;
        self.seen.report_silence(run, |_, metric| Silence {
            kind: BlindSpotKind::NotReported,
            detail: format!("{}: nvidia-smi never had a reading", metric.spec().label),
            remedy: "Windows (WDDM) keeps the memory of processes to itself: record under Linux, or take it from the process's own view".to_owned(),
        })
    }
}

/// Memory of a process in bytes; a cell that is no amount of memory is rejected.
fn memory_bytes(run: &mut ImportRun<'_>, cell: &str, header_unit: &str) -> Option<f64> {
    if is_missing(cell) {
        return None;
    }
    let unit = match printed_unit(cell) {
        "" => header_unit,
        unit => unit,
    };
    let factor = match unit {
        "" => Metric::from_foreign(Dialect::Smi, "used_gpu_memory").map(|it| it.1),
        unit => factor_to(Metric::FramebufferUsed.spec().unit, unit),
    };
    match (number(cell), factor) {
        (Ok(value), Some(factor)) => value.map(|it| it * factor),
        _ => {
            run.reject("used_gpu_memory", "an amount of memory", cell);
            None
        }
    }
}
