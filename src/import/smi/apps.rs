//! `nvidia-smi --query-compute-apps=… --format=csv`: which process held how much memory, and when.
//!
//! `--query-accounted-apps` looks alike but prints one lifetime average for each process that ever
//! ran, dead ones included; those are no samples, so such a file is refused.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::{GpuId, ProcessKey, Subject};
use crate::domain::metric::{Dialect, Metric};
use crate::domain::outline::Device;
use crate::domain::sink::Fact;
use crate::domain::time::Timestamp;
use crate::import::error::ImportError;
use crate::import::run::ImportRun;
use crate::import::run::seen::{MetricSet, Seen, Silence};
use crate::import::smi::csv::{GpuColumns, Header, cell, split};
use crate::import::smi::program::{Programs, program_name};
use crate::import::smi::unnamed_gpu::{report_assumed_gpu, several_gpus};
use crate::import::text::cells::{factor_to, is_missing, number, printed_unit};
use crate::import::text::clock::RowClock;
use crate::import::text::lines::{Lines, head_lines};
use crate::import::{Importer, Likeness};
use std::collections::{BTreeMap, BTreeSet};
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
                file.line(run, &line)?;
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
    rows: Rows,
}

impl AppsFile {
    fn new(run: &ImportRun<'_>) -> Self {
        let rows = Rows {
            clock: RowClock::new(run, None),
            unnamed: BTreeMap::new(),
            devices: BTreeSet::new(),
            programs: Programs::default(),
            seen: Seen::default(),
        };
        Self { layout: Layout::new(&Header::given(run)), rows }
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
                self.rows.row(run, layout, line, &cells)
            }
            None => {
                run.reject("", &format!("{} cells", layout.width), line);
                Ok(())
            }
        }
    }

    fn finish(self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        if self.layout.is_none() && run.line > 0 {
            let remedy = "give the field list of the recording: --fields timestamp,gpu_uuid,pid,process_name,used_memory";
            let expected = "a header that names fields of --query-compute-apps";
            return Err(run.structure_error(expected, "none", remedy));
        }
        self.rows.finish(run)
    }
}

/// The rows of a file, whatever its header.
struct Rows {
    clock: RowClock<(GpuId, u32)>,
    unnamed: BTreeMap<u32, (Timestamp, String)>,
    devices: BTreeSet<GpuId>,
    programs: Programs,
    seen: Seen,
}

impl Rows {
    fn row(
        &mut self,
        run: &mut ImportRun<'_>,
        layout: &Layout,
        line: &str,
        cells: &[&str],
    ) -> Result<(), ImportError> {
        let Ok(pid) = cells[layout.pid].parse() else {
            run.reject("pid", "a process id", cells[layout.pid]);
            return Ok(());
        };
        let (gpu, is_assumed) = layout.gpu.gpu_or_assumed(run, cells);
        let at = match layout.stamp {
            Some(it) => self.clock.read(run, "timestamp", cells[it]),
            None => Some(self.clock.make(run, (gpu.clone(), pid), |_| false)?),
        };
        let Some(at) = at else { return Ok(()) };
        if is_assumed {
            self.check_unnamed(run, at, pid, line)?;
        }
        run.describe_source(|options| self.clock.origin(options, "nvidia-smi"))?;
        if self.devices.insert(gpu.clone()) {
            run.fact(Fact::Device(Device { index: None, ..layout.gpu.device(&gpu, cells) }))?;
        }
        let name = cell(cells, layout.name).and_then(program_name);
        self.programs.tell(run, &gpu, pid, name)?;
        let memory = layout.memory.and_then(|it| memory_bytes(run, cells[it], &layout.memory_unit));
        let reading = memory.map(|it| (Metric::FramebufferUsed, it));
        let asked: MetricSet = layout.memory.map(|_| Metric::FramebufferUsed).into_iter().collect();
        let subject = Subject::Process { gpu, process: ProcessKey { pid, started: None } };
        self.seen.row(run, at, &subject, asked, reading.as_slice())
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

    fn finish(self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        if !self.unnamed.is_empty() {
            report_assumed_gpu(run)?;
        }
        self.clock.finish(run, "a process that returns", "record the field `timestamp` too")?;
        self.seen.report_silence(run, |_, metric| Silence {
            kind: BlindSpotKind::NotReported,
            detail: format!("{}: nvidia-smi never had a reading", metric.spec().label),
            remedy: "Windows (WDDM) keeps it to itself; under Linux, record as root in the PID namespace of the host".to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::ImportOptions;
    use crate::import::testing::{Outcome, every_second, process, read};

    const HEADER: &str =
        "timestamp, gpu_name, gpu_bus_id, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n";
    const MIB: f64 = 1_048_576.0;

    fn import(text: &str) -> Outcome {
        read(&SmiComputeApps, text, &ImportOptions::default())
    }

    fn row(millis: u32, pid: u32, name: &str, memory: &str) -> String {
        format!(
            "2026/01/01 00:00:00.{millis:03}, NVIDIA X, 00000000:0C:00.0, GPU-1a, {pid}, {name}, {memory}\n"
        )
    }

    #[test]
    fn memory_belongs_to_the_process_and_only_its_bare_name_is_kept() {
        let text = format!(
            "{HEADER}{}{}",
            row(0, 11, "/opt/secret/train", "2566 MiB"),
            row(0, 12, "./burn", "15690 MiB")
        );
        let it = import(&text);
        assert_eq!(it.values(&process("GPU-1a", 12), Metric::FramebufferUsed), [15690.0 * MIB]);
        let names: Vec<_> =
            it.recording.outline.processes.iter().map(|it| it.name.clone().unwrap()).collect();
        assert_eq!(names, ["train", "burn"]);
        assert_eq!(it.recording.outline.devices[0].model.as_deref(), Some("NVIDIA X"));
    }

    #[test]
    fn windows_names_processes_but_hides_their_memory() {
        let text =
            format!("{HEADER}{}", row(0, 7, r"C:\Program Files\Some App\Some App.exe", "[N/A]"));
        let it = import(&text);
        assert_eq!(it.summary().rows, 0);
        assert_eq!(it.recording.outline.processes[0].name.as_deref(), Some("Some App.exe"));
        assert_eq!(it.blind_spots()[1], "NotReported GPU-1a pid 7 framebuffer_used_bytes");
        assert!(it.recording.outline.blind_spots[1].remedy.contains("WDDM"));
    }

    #[test]
    fn a_comma_in_the_name_of_a_program_is_no_separator() {
        let text = format!("{HEADER}{}", row(0, 7, "/opt/a, b/run, it", "5 MiB"));
        let it = import(&text);
        assert_eq!(it.values(&process("GPU-1a", 7), Metric::FramebufferUsed), [5.0 * MIB]);
        assert_eq!(it.summary().rejections.count(), 0);
    }

    #[test]
    fn a_header_alone_means_that_there_was_no_process() {
        assert_eq!(import(HEADER).error().0, "log: holds no samples");
    }

    #[test]
    fn lifetime_averages_are_refused_as_no_time_series() {
        let text = "timestamp, gpu_uuid, pid, gpu_utilization [%], mem_utilization [%], max_memory_usage [MiB], time [ms]\n2026/01/01 00:00:00.000, GPU-1a, 7, 71 %, 8 %, 0 MiB, 5270 ms\n";
        assert_eq!(SmiComputeApps.recognise(text.as_bytes()), Likeness::Sure);
        let (error, remedy) = import(text).error();
        assert!(error.contains("expected samples over time"), "{error}");
        assert!(remedy.contains("lifetime average"), "{remedy}");
    }

    #[test]
    fn rows_without_stamps_are_ticks_that_end_when_a_process_returns() {
        let text =
            "pid, process_name, used_gpu_memory [MiB]\n7, a, 1 MiB\n8, b, 2 MiB\n7, a, 3 MiB\n";
        let it = read(&SmiComputeApps, text, &every_second());
        assert_eq!(it.millis(&process("gpu0", 7), Metric::FramebufferUsed), [0, 1000]);
        assert!(it.blind_spots().contains(&"Ambiguous gpu0 all".to_owned()));
    }

    #[test]
    fn a_process_on_two_gpus_that_no_column_names_is_refused() {
        let text = "timestamp, pid, used_gpu_memory [MiB]\n2026/01/01 00:00:00.000, 7, 1 MiB\n2026/01/01 00:00:00.000, 7, 2 MiB\n";
        assert!(import(text).error().0.contains("no column names the GPU"));
    }

    #[test]
    fn ragged_rows_and_odd_cells_are_rejected_one_by_one() {
        let text = format!(
            "{HEADER}2026/01/01 00:00:00.000, NVIDIA X\n{}{}{}",
            row(1, 7, "a", "much"),
            row(2, 8, "a", "5 W"),
            row(3, 9, "a", "5 MiB")
        );
        let it = import(&text);
        assert_eq!((it.summary().rows, it.summary().rejections.count()), (1, 3));
    }
}
