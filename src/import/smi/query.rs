//! `nvidia-smi --query-gpu=… --format=csv`, in every header dialect.

use crate::domain::ident::{GpuId, Subject};
use crate::domain::sink::Fact;
use crate::domain::time::Timestamp;
use crate::import::error::ImportError;
use crate::import::run::ImportRun;
use crate::import::run::origin::Origin;
use crate::import::run::seen::{Seen, Silence, is_hidden_by_mig};
use crate::import::smi::csv::{GpuColumns, Header, begins_with_stamp, split};
use crate::import::smi::fields::SmiFields;
use crate::import::smi::unnamed_gpu::{UnnamedGpu, report_assumed_gpu, several_gpus};
use crate::import::text::clock::RowClock;
use crate::import::text::lines::{Lines, head_lines};
use crate::import::{Importer, Likeness};
use std::collections::BTreeMap;
use std::io::BufRead;

/// Lines that may precede the header before the search is given up.
const LINES_BEFORE_HEADER: u64 = 1_000;

/// Columns that only lists of processes have.
const PROCESS_COLUMNS: &[&str] =
    &["pid", "process_name", "used_gpu_memory", "used_memory", "max_memory_usage"];

/// Reads `nvidia-smi --query-gpu=… --format=csv`.
pub struct SmiQuery;

impl Importer for SmiQuery {
    fn id(&self) -> &'static str {
        "smi-query"
    }

    fn about(&self) -> &'static str {
        "csv of `nvidia-smi --query-gpu`, with or without header and units"
    }

    fn recognise(&self, head: &[u8]) -> Likeness {
        let lines = head_lines(head);
        let best = lines.iter().map(|it| header_likeness(it)).max().unwrap_or(Likeness::No);
        let is_bare = lines.iter().find(|it| !it.trim().is_empty());
        match is_bare.is_some_and(|it| begins_with_stamp(it)) {
            true => best.max(Likeness::Maybe),
            false => best,
        }
    }

    fn import(&self, input: &mut dyn BufRead, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut file = QueryFile::new(run);
        let mut lines = Lines::new(input);
        while let Some(line) = lines.next(run)? {
            file.line(run, &line)?;
        }
        file.finish(run)
    }
}

/// How surely a line is the header of `--query-gpu`.
fn header_likeness(line: &str) -> Likeness {
    if !line.contains('.') && !line.contains("pstate") {
        return Likeness::No;
    }
    let header = Header::parse(line);
    if !SmiFields::has_any(&header) || header.position(PROCESS_COLUMNS).is_some() {
        return Likeness::No;
    }
    match header.is_all_fields() {
        true => Likeness::Sure,
        false => Likeness::Maybe,
    }
}

/// What a header means.
struct Layout {
    line: String,
    width: usize,
    stamp: Option<usize>,
    gpu: GpuColumns,
    fields: SmiFields,
}

impl Layout {
    fn new(run: &mut ImportRun<'_>, header: &Header, line: &str) -> Self {
        Self {
            line: line.to_owned(),
            width: header.len(),
            stamp: header.position(&["timestamp"]),
            gpu: GpuColumns::of(header),
            fields: SmiFields::of(run, header),
        }
    }
}

/// A file that is being read.
struct QueryFile {
    layout: Option<Layout>,
    first_line: Option<String>,
    rows: Rows,
}

impl QueryFile {
    fn new(run: &mut ImportRun<'_>) -> Self {
        let header = Header::given(run);
        let rows = Rows {
            clock: RowClock::new(run, None),
            unnamed: UnnamedGpu::default(),
            unnamed_rows: 0,
            is_mig: BTreeMap::new(),
            seen: Seen::default(),
        };
        let layout = (!header.is_empty()).then(|| Layout::new(run, &header, ""));
        Self { layout, first_line: None, rows }
    }

    fn line(&mut self, run: &mut ImportRun<'_>, line: &str) -> Result<(), ImportError> {
        if line.trim().is_empty() || self.layout.as_ref().is_some_and(|it| it.line == line) {
            return Ok(());
        }
        if self.first_line.is_none() {
            self.first_line = Some(line.to_owned());
        }
        let may_be_header =
            line.starts_with(|it: char| it.is_ascii_alphabetic() || ",\" ".contains(it));
        if may_be_header && header_likeness(line) != Likeness::No {
            self.header(run, line);
            return Ok(());
        }
        let Some(layout) = &self.layout else {
            return before_header(run, line);
        };
        let cells = split(line);
        let is_row =
            cells.len() >= layout.width && cells[layout.width..].iter().all(|it| it.is_empty());
        match is_row {
            true => self.rows.row(run, layout, line, &cells),
            false => {
                run.reject("", &format!("{} cells", layout.width), line);
                Ok(())
            }
        }
    }

    /// A header, the first one or a later one with other columns; a field list from the user wins.
    fn header(&mut self, run: &mut ImportRun<'_>, line: &str) {
        if run.options.fields.is_none() {
            self.layout = Some(Layout::new(run, &Header::parse(line), line));
        }
    }

    fn finish(self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        if let (None, Some(line)) = (&self.layout, &self.first_line) {
            return Err(no_header(run, line));
        }
        self.rows.finish(run, self.layout.as_ref())
    }
}

/// A line before any header: a process id, a banner, or rows that never had a header.
fn before_header(run: &mut ImportRun<'_>, line: &str) -> Result<(), ImportError> {
    if begins_with_stamp(line) || run.line > LINES_BEFORE_HEADER {
        return Err(no_header(run, line));
    }
    run.reject("", "the header of --query-gpu", line);
    Ok(())
}

/// The rows of a file, whatever their header.
struct Rows {
    clock: RowClock<GpuId>,
    unnamed: UnnamedGpu,
    unnamed_rows: u64,
    is_mig: BTreeMap<GpuId, bool>,
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
        let stamp = layout.stamp.map(|it| cells[it]);
        let at = stamp.and_then(|it| self.clock.read(run, "timestamp", it));
        if stamp.is_some() && at.is_none() {
            return Ok(());
        }
        let (gpu, is_assumed) = layout.gpu.gpu_or_assumed(run, cells);
        if is_assumed {
            let count = layout.gpu.count(cells).unwrap_or(1);
            self.check_unnamed(run, count, at.zip(stamp), line)?;
        }
        let at = match at {
            Some(at) => at,
            None => self.clock.make(run, gpu.clone(), |_| false)?,
        };
        run.describe_source(|options| {
            let tool_version = layout.gpu.driver(cells).map(str::to_owned);
            Origin { tool_version, ..self.clock.origin(options, "nvidia-smi") }
        })?;
        if !self.is_mig.contains_key(&gpu) {
            let device = layout.gpu.device(&gpu, cells);
            self.is_mig.insert(gpu.clone(), device.is_mig == Some(true));
            run.fact(Fact::Device(device))?;
        }
        let readings = layout.fields.readings(run, cells);
        let subject = Subject::Device { gpu };
        self.seen.row(run, at, &subject, layout.fields.asked(), &readings)
    }

    /// Takes notice of a row that names no GPU, of the `count` on its host, with its stamp.
    ///
    /// Errors: several GPUs are proven.
    fn check_unnamed(
        &mut self,
        run: &ImportRun<'_>,
        count: u32,
        stamp: Option<(Timestamp, &str)>,
        line: &str,
    ) -> Result<(), ImportError> {
        self.unnamed_rows += 1;
        match stamp {
            _ if count > 1 => {
                let stamp = stamp.map_or("", |it| it.1);
                Err(several_gpus(run.file(), run.line, count as usize, stamp))
            }
            Some((at, stamp)) => self.unnamed.row(run, at, stamp, line),
            None if self.unnamed_rows > 1 => {
                Err(several_gpus(run.file(), run.line, 2, "none at all"))
            }
            None => Ok(()),
        }
    }

    fn finish(self, run: &mut ImportRun<'_>, layout: Option<&Layout>) -> Result<(), ImportError> {
        if !self.clock.has_made() {
            self.unnamed.finish(run)?;
        } else if self.unnamed_rows > 0 {
            report_assumed_gpu(run)?;
        }
        self.clock.finish(run, "a GPU that returns", "record the field `timestamp` too")?;
        if let Some(layout) = layout {
            layout.fields.report_partial_mask(run)?;
        }
        self.seen.report_silence(run, |subject, metric| {
            let is_mig = subject.gpu().and_then(|it| self.is_mig.get(it)) == Some(&true);
            match is_mig && is_hidden_by_mig(metric) {
                true => Silence::hidden_by_mig(
                    metric,
                    "nvidia-smi has no reading for a GPU in MIG mode",
                ),
                false => Silence::unexplained(metric),
            }
        })
    }
}

fn no_header(run: &ImportRun<'_>, found: &str) -> ImportError {
    let remedy = "give the field list of the recording: --fields timestamp,index,utilization.gpu,… (for --query-compute-apps with --format smi-compute-apps)";
    run.structure_error("a header that names fields of --query-gpu", found, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::metric::Metric;
    use crate::domain::time::SampleInterval;
    use crate::import::ImportOptions;
    use crate::import::testing::{Outcome, every_second, gpu, read};

    fn import(text: &str) -> Outcome {
        read(&SmiQuery, text, &ImportOptions::default())
    }

    fn fields(list: &str) -> ImportOptions {
        let fields = list.split(',').map(str::to_owned).collect();
        ImportOptions { fields: Some(fields), ..every_second() }
    }

    const MIB: f64 = 1_048_576.0;

    #[test]
    fn units_in_header_or_cells_or_nowhere_give_the_same_values() {
        for text in [
            "index, timestamp, memory.used [MiB], power.draw [W]\n0, 2026/01/01 00:00:00.000, 512 MiB, 70.50 W\n",
            "index,timestamp,memory.used [MiB],power.draw [W]\n0,2026/01/01 00:00:00.000,512,70.50\n",
            "index,timestamp,memory.used,power.draw\n0, 2026/01/01 00:00:00.000, 512, 70.50\n",
            "index,timestamp,memory.used,power.draw\n0, 2026/01/01 00:00:00.000, 512 MiB, 70500 mW\n",
            "index,timestamp,memory.used [GiB],power.draw [W]\n0, 2026/01/01 00:00:00.000, 0.5, 70.50 W",
            "\u{feff}index,timestamp,memory.used [MiB],power.draw [W],\r\n0,2026/01/01 00:00:00.000,512 MiB,70.50 W,\r\n",
            ",index,timestamp,memory.used [MiB],power.draw [W]\n7,0,2026/01/01 00:00:00.000,512 MiB,70.50 W\n",
            "\"index\",\"timestamp\",\"memory.used [MiB]\",\"power.draw [W]\"\n\"0\",\"2026/01/01 00:00:00.000\",\"512 MiB\",\"70.50 W\"\n",
        ] {
            let it = import(text);
            assert_eq!(it.values(&gpu("gpu0"), Metric::FramebufferUsed), [512.0 * MIB], "{text}");
            assert_eq!(it.values(&gpu("gpu0"), Metric::Power), [70_500.0], "{text}");
            assert_eq!(it.summary().rejections.count(), 0, "{text}");
            assert!(SmiQuery.recognise(text.as_bytes()) > Likeness::No, "{text}");
        }
    }

    #[test]
    fn a_file_without_header_is_read_with_the_field_list_that_was_given() {
        let text =
            "2026/01/01 00:00:00.000, 1, 45 %, [N/A]\n2026/01/01 00:00:01.000, 1, 46 %, 30\n";
        let it = read(&SmiQuery, text, &fields("timestamp,index,utilization.gpu,temperature.gpu"));
        assert_eq!(it.values(&gpu("gpu1"), Metric::GpuUtilization), [45.0, 46.0]);
        assert_eq!(it.values(&gpu("gpu1"), Metric::GpuTemperature), [30.0]);
        let (error, remedy) = import(text).error();
        assert!(error.contains("expected a header"), "{error}");
        assert!(remedy.contains("--fields"), "{remedy}");
    }

    #[test]
    fn every_way_to_say_no_reading_is_a_gap_and_one_blind_spot_for_the_column() {
        let mut text = "index, timestamp, power.draw [W], fan.speed [%]\n".to_owned();
        for (second, cell) in [
            "[N/A]",
            "N/A",
            "-",
            "",
            "[Not Supported]",
            "[Requested functionality has been deprecated]",
            "[Function Not Found]",
            "[Unknown Error]",
        ]
        .iter()
        .enumerate()
        {
            text += &format!("0, 2026/01/01 00:00:0{second}.000, 50.00 W, {cell}\n");
        }
        let it = import(&text);
        assert_eq!(it.values(&gpu("gpu0"), Metric::Power).len(), 8);
        assert_eq!(it.values(&gpu("gpu0"), Metric::FanSpeed), [0.0; 0]);
        assert_eq!(it.summary().rejections.count(), 0);
        let spots = it.blind_spots();
        assert_eq!(spots, ["ClockAssumed all all", "NotReported gpu0 fan_speed_pct"]);
    }

    #[test]
    fn an_empty_file_and_one_with_a_header_only_hold_no_samples() {
        assert_eq!(import("").error().0, "log: holds no samples");
        assert_eq!(import("timestamp, power.draw [W]\n").error().0, "log: holds no samples");
    }

    #[test]
    fn several_gpus_that_no_column_tells_apart_are_refused() {
        let text = "timestamp,power.draw\n2026/01/01 00:00:00.000,70\n2026/01/01 00:00:00.000,80\n2026/01/01 00:00:00.001,90\n";
        let (error, remedy) = import(text).error();
        assert_eq!(
            error,
            "log:3: 2 rows carry the stamp `2026/01/01 00:00:00.000`, and no column names the GPU"
        );
        assert!(remedy.contains("--query-gpu=index") && remedy.contains("--gpu"), "{remedy}");
        let late = "timestamp,power.draw\n2026/01/01 00:00:00.000,70\n2026/01/01 00:00:01.000,70\n2026/01/01 00:00:02.000,70\n2026/01/01 00:00:02.000,80\n";
        assert!(import(late).error().0.starts_with("log:5: 2 rows"));
    }

    #[test]
    fn a_count_above_one_proves_several_gpus_at_the_first_row() {
        let text = "timestamp,count,power.draw\n2026/01/01 00:00:00.000,4,70\n";
        assert!(import(text).error().0.starts_with("log:2: 4 rows"));
    }

    #[test]
    fn one_row_for_each_stamp_is_one_gpu_and_the_assumption_is_recorded() {
        let text = "timestamp, power.draw [W]\n2026/01/01 00:00:00.000, 22.89 W\n2026/01/01 00:00:00.050, 22.73 W\n2026/01/01 00:00:00.101, 22.73 W\n";
        let it = import(text);
        assert_eq!(it.values(&gpu("gpu0"), Metric::Power), [22_890.0, 22_730.0, 22_730.0]);
        assert!(it.blind_spots().contains(&"Ambiguous gpu0 all".to_owned()));
        assert!(it.summary().warnings[0].contains("no column names the GPU"));
    }

    #[test]
    fn a_gpu_that_the_user_named_is_believed() {
        let options =
            ImportOptions { gpu: Some("node7/gpu2".to_owned()), ..ImportOptions::default() };
        let text = "timestamp,power.draw\n2026/01/01 00:00:00.000,70\n2026/01/01 00:00:00.000,80\n";
        let it = read(&SmiQuery, text, &options);
        assert_eq!(it.values(&gpu("node7/gpu2"), Metric::Power), [80_000.0]);
        assert_eq!(it.blind_spots(), ["ClockAssumed all all"]);
    }

    #[test]
    fn stamps_are_kept_as_printed_and_not_put_on_a_grid() {
        let text = "index,timestamp,power.draw\n0,2026/01/01 00:00:00.189,1\n0,2026/01/01 00:00:00.239,2\n0,2026/01/01 00:00:00.291,3\n";
        let millis = import(text).millis(&gpu("gpu0"), Metric::Power);
        assert_eq!((millis[1] - millis[0], millis[2] - millis[1]), (50, 52));
    }

    #[test]
    fn rows_without_stamps_are_ticks_that_end_when_a_gpu_returns() {
        let text = "index, utilization.gpu [%]\n0, 1 %\n1, 2 %\n0, 3 %\n1, 4 %\n";
        assert_eq!(import(text).error().0, "log: has no time stamps");
        let it = read(&SmiQuery, text, &every_second());
        assert_eq!(it.millis(&gpu("gpu1"), Metric::GpuUtilization), [0, 1000]);
        assert!(it.blind_spots().contains(&"ClockAssumed all all".to_owned()));
        assert_eq!(it.recording.outline.sources[0].clock, "made from --start and --interval");
        assert_eq!(
            it.recording.outline.sources[0].asked_interval,
            SampleInterval::from_micros(1_000_000)
        );
        let unnamed = "utilization.gpu [%]\n1 %\n2 %\n";
        assert!(
            read(&SmiQuery, unnamed, &every_second()).error().0.contains("no column names the GPU")
        );
    }

    #[test]
    fn mig_mode_explains_why_the_utilisation_has_no_reading() {
        let text = "index,timestamp,mig.mode.current,utilization.gpu [%],utilization.memory [%],temperature.memory\n0,2026/01/01 00:00:00.000,Enabled,[N/A],[N/A],N/A\n1,2026/01/01 00:00:00.001,Disabled,[N/A],3 %,N/A\n";
        let it = import(text);
        assert_eq!(
            it.blind_spots()[1..],
            [
                "HiddenByMig gpu0 gpu_utilization_pct",
                "HiddenByMig gpu0 memory_utilization_pct",
                "NotReported gpu0 memory_temperature_celsius",
                "NotReported gpu1 gpu_utilization_pct",
                "NotReported gpu1 memory_temperature_celsius",
            ]
        );
        let is_mig: Vec<_> = it.recording.outline.devices.iter().map(|it| it.is_mig).collect();
        assert_eq!(is_mig, [Some(true), Some(false)]);
    }

    #[test]
    fn of_two_columns_for_one_metric_the_first_with_a_reading_wins() {
        let header = "index,timestamp,power.draw.instant [W],power.draw.average [W],power.draw [W],power.limit [W],enforced.power.limit [W]\n";
        let text = format!(
            "{header}0,2026/01/01 00:00:00.000,3 W,2 W,1 W,9 W,8 W\n0,2026/01/01 00:00:01.000,3 W,2 W,[N/A],9 W,[N/A]\n"
        );
        let it = import(&text);
        assert_eq!(it.values(&gpu("gpu0"), Metric::Power), [1000.0, 2000.0]);
        assert_eq!(it.values(&gpu("gpu0"), Metric::PowerInstant), [3000.0, 3000.0]);
        assert_eq!(it.values(&gpu("gpu0"), Metric::PowerLimit), [8000.0, 9000.0]);
    }

    #[test]
    fn performance_state_and_clock_event_reasons_become_numbers() {
        let text = "index,timestamp,pstate,clocks_event_reasons.active,clocks_event_reasons_counters.sw_power_cap [us]\n0,2026/01/01 00:00:00.000,P8,0x0000000000000044,7 us\n";
        let it = import(text);
        assert_eq!(it.values(&gpu("gpu0"), Metric::PerformanceState), [8.0]);
        assert_eq!(it.values(&gpu("gpu0"), Metric::ThrottleReasons), [68.0]);
        assert_eq!(it.values(&gpu("gpu0"), Metric::PowerViolation), [7000.0]);
    }

    #[test]
    fn single_reasons_make_up_the_mask_where_it_is_absent() {
        let text = "index,timestamp,clocks_throttle_reasons.sw_power_cap,clocks_throttle_reasons.hw_slowdown\n0,2026/01/01 00:00:00.000,Active,Not Active\n0,2026/01/01 00:00:01.000,Not Active,Not Active\n0,2026/01/01 00:00:02.000,[N/A],[N/A]\n";
        let it = import(text);
        assert_eq!(it.values(&gpu("gpu0"), Metric::ThrottleReasons), [4.0, 0.0]);
        assert!(it.blind_spots().contains(&"NotRecorded all throttle_reasons_mask".to_owned()));
    }

    #[test]
    fn two_formats_in_one_file_cost_only_the_lines_of_the_other_one() {
        let text = "[1] 4711\nindex, timestamp, utilization.gpu [%]\n0, 2026/01/01 00:00:00.000, 5 %\n\nWed Jan  1 00:00:01 2026\n+------+\n| GPU |\n0, 2026/01/01 00:00:01.000, 6 %\nindex, timestamp, utilization.gpu [%]\n0, 2026/01/01 00:00:02.000, 7 %\n";
        let it = import(text);
        assert_eq!(it.values(&gpu("gpu0"), Metric::GpuUtilization), [5.0, 6.0, 7.0]);
        assert_eq!(it.summary().rejections.count(), 4);
        let first = it.summary().rejections.first()[0].to_string();
        assert_eq!(first, "log:1: expected the header of --query-gpu, found `[1] 4711`");
    }

    #[test]
    fn cells_and_rows_that_cannot_be_read_are_rejected_one_by_one() {
        let text = "index,timestamp,utilization.gpu [%],memory.used [MiB]\n0,2026/01/01 00:00:00.000,37100 %,5 MiB\n0,2026/01/01 00:00:01.000,5 %,5 W\n0,2026/01/01 00:00:02.000,5 %\n0,yesterday,5 %,5 MiB\n";
        let it = import(text);
        assert_eq!(it.values(&gpu("gpu0"), Metric::GpuUtilization), [5.0]);
        assert_eq!(it.values(&gpu("gpu0"), Metric::FramebufferUsed), [5.0 * MIB]);
        assert_eq!(it.summary().rejections.count(), 4);
        assert!(it.blind_spots().contains(&"Rejected all all".to_owned()));
    }

    #[test]
    fn a_row_that_goes_back_in_time_is_sorted_in_with_a_warning() {
        let text = "index,timestamp,utilization.gpu [%]\n0,2026/01/01 00:00:02.000,5 %\n1,2026/01/01 00:00:01.000,6 %\n0,2026/01/01 00:00:01.500,7 %\n";
        let it = import(text);
        assert_eq!(it.values(&gpu("gpu0"), Metric::GpuUtilization), [7.0, 5.0]);
        assert_eq!(it.values(&gpu("gpu1"), Metric::GpuUtilization), [6.0]);
        assert_eq!(it.summary().rejections.count(), 0);
        let warning = "1 row was older than one before and sorted in";
        assert!(it.summary().warnings.contains(&warning.to_owned()));
    }

    #[test]
    fn a_column_whose_unit_does_not_fit_is_left_out_with_a_warning() {
        let text =
            "index,timestamp,power.draw [hp],utilization.gpu [%]\n0,2026/01/01 00:00:00.000,1,5\n";
        let it = import(text);
        assert_eq!(it.values(&gpu("gpu0"), Metric::Power), [0.0; 0]);
        assert!(it.summary().warnings[0].contains("`hp`"), "{:?}", it.summary().warnings);
    }

    #[test]
    fn gpus_are_known_by_uuid_and_described() {
        let text = "uuid,index,name,driver_version,hostname,timestamp,utilization.gpu [%]\nGPU-1a2b,3,NVIDIA X,600.1,node1,2026/01/01 00:00:00.000,5 %\n";
        let it = import(text);
        let device = it.recording.outline.devices[0].clone();
        assert_eq!(device.label(), "GPU 3 on node1");
        assert_eq!(
            (device.model.as_deref(), device.driver.as_deref()),
            (Some("NVIDIA X"), Some("600.1"))
        );
        assert_eq!(it.recording.outline.sources[0].tool_version.as_deref(), Some("600.1"));
        assert_eq!(it.values(&gpu("GPU-1a2b"), Metric::GpuUtilization), [5.0]);
    }

    #[test]
    fn headers_of_other_tools_are_left_to_them() {
        for head in [
            "timestamp,gpu_index,name,util_gpu_pct,util_mem_pct\n",
            "timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n",
            "timestamp,phase,gpu,gpu_model,power_w,temp_c\n",
            "# gpu pwr gtemp\n",
            "metric.name{gpu=\"0\"} 1\n",
            "",
        ] {
            assert_eq!(SmiQuery.recognise(head.as_bytes()), Likeness::No, "{head}");
        }
        assert_eq!(SmiQuery.recognise(b"timestamp,power.draw,note\n"), Likeness::Maybe);
        assert_eq!(SmiQuery.recognise(b"2026/01/01 00:00:00.000, 1, 2\n"), Likeness::Maybe);
    }
}
