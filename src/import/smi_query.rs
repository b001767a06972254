//! `nvidia-smi --query-gpu=… --format=csv`, in every header dialect.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::{GpuId, Subject};
use crate::domain::metric::Metric;
use crate::domain::sink::Fact;
use crate::domain::time::Timestamp;
use crate::import::clock::{MADE, Ticks, report_assumptions, report_made_stamps};
use crate::import::error::ImportError;
use crate::import::lines::{Lines, head_lines};
use crate::import::run::ImportRun;
use crate::import::seen::{Seen, Silence, is_hidden_by_mig};
use crate::import::smi_csv::{GpuColumns, Header, begins_with_stamp, split, unnamed_gpu};
use crate::import::smi_fields::SmiFields;
use crate::import::stamp::StampReader;
use crate::import::unnamed_gpu::{UnnamedGpu, report_assumed_gpu, several_gpus};
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
            file.line(run, line)?;
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
    reader: StampReader,
    ticks: Ticks<GpuId>,
    has_made_stamps: bool,
    unnamed: UnnamedGpu,
    unnamed_rows: u64,
    is_mig: BTreeMap<GpuId, bool>,
    seen: Seen,
}

impl QueryFile {
    fn new(run: &mut ImportRun<'_>) -> Self {
        let fields = run.options.fields.as_deref().unwrap_or_default();
        let header = Header::of(fields.iter().map(String::as_str));
        Self {
            layout: (!header.is_empty()).then(|| Layout::new(run, &header, "")),
            first_line: None,
            reader: StampReader::new(run.options.time_zone.clone()),
            ticks: Ticks::default(),
            has_made_stamps: false,
            unnamed: UnnamedGpu::default(),
            unnamed_rows: 0,
            is_mig: BTreeMap::new(),
            seen: Seen::default(),
        }
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
            return self.header(run, line);
        }
        let Some(layout) = &self.layout else {
            return self.before_header(run, line);
        };
        let cells = split(line);
        let is_row =
            cells.len() >= layout.width && cells[layout.width..].iter().all(|it| it.is_empty());
        match is_row {
            true => self.row(run, line, &cells),
            false => {
                run.reject("", &format!("{} cells", layout.width), line);
                Ok(())
            }
        }
    }

    /// A header, the first one or a later one with other columns; a field list from the user wins.
    fn header(&mut self, run: &mut ImportRun<'_>, line: &str) -> Result<(), ImportError> {
        if run.options.fields.is_none() {
            self.layout = Some(Layout::new(run, &Header::parse(line), line));
        }
        Ok(())
    }

    /// A line before any header: a process id, a banner, or rows that never had a header.
    fn before_header(&self, run: &mut ImportRun<'_>, line: &str) -> Result<(), ImportError> {
        if begins_with_stamp(line) || run.line > LINES_BEFORE_HEADER {
            return Err(no_header(run, line));
        }
        run.reject("", "the header of --query-gpu", line);
        Ok(())
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
        let stamp = layout.stamp.map(|it| cells[it]);
        let at = match stamp.map(|it| self.reader.text(it)) {
            Some(Err(found)) => {
                run.reject("timestamp", "a time stamp", &found);
                return Ok(());
            }
            Some(Ok(at)) => Some(at),
            None => None,
        };
        let named = layout.gpu.gpu(cells);
        let is_named = named.is_some();
        let gpu = named.unwrap_or_else(|| unnamed_gpu(run));
        if !is_named && run.options.gpu.is_none() {
            self.unnamed_row(run, at, stamp.unwrap_or_default(), line, cells)?;
        }
        let at = match at {
            Some(at) => at,
            None => {
                self.has_made_stamps = true;
                self.ticks.stamp(run, gpu.clone(), false)?
            }
        };
        self.give(run, at, gpu, cells)
    }

    /// A row that names no GPU, while the user named none either.
    fn unnamed_row(
        &mut self,
        run: &ImportRun<'_>,
        at: Option<Timestamp>,
        stamp: &str,
        line: &str,
        cells: &[&str],
    ) -> Result<(), ImportError> {
        self.unnamed_rows += 1;
        let count = self.layout.as_ref().and_then(|it| it.gpu.count(cells)).unwrap_or(1);
        match at {
            _ if count > 1 => Err(several_gpus(run.file(), run.line, count as usize, stamp)),
            Some(at) => self.unnamed.row(run, at, stamp, line),
            None if self.unnamed_rows > 1 => {
                Err(several_gpus(run.file(), run.line, 2, "none at all"))
            }
            None => Ok(()),
        }
    }

    fn give(
        &mut self,
        run: &mut ImportRun<'_>,
        at: Timestamp,
        gpu: GpuId,
        cells: &[&str],
    ) -> Result<(), ImportError> {
        let Some(layout) = &self.layout else {
            return Ok(());
        };
        let (clock, asked) = match layout.stamp {
            Some(_) => (self.reader.clock(), None),
            None => (MADE.to_owned(), run.options.interval),
        };
        run.describe_source("nvidia-smi", layout.gpu.driver(cells), asked, &clock)?;
        if !self.is_mig.contains_key(&gpu) {
            let device = layout.gpu.device(&gpu, cells);
            self.is_mig.insert(gpu.clone(), device.is_mig == Some(true));
            run.fact(Fact::Device(device))?;
        }
        let readings = layout.fields.readings(run, cells);
        let subject = Subject::Device { gpu };
        self.seen.row(run, at, &subject, layout.fields.asked(), &readings)
    }

    fn finish(self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        if let (None, Some(line)) = (&self.layout, &self.first_line) {
            return Err(no_header(run, line));
        }
        let gpu = unnamed_gpu(run);
        if self.has_made_stamps {
            if self.unnamed_rows > 0 {
                report_assumed_gpu(run, &gpu)?;
            }
            report_made_stamps(run, "a GPU that returns")?;
        } else {
            self.unnamed.finish(run, &gpu)?;
        }
        report_assumptions(run, &self.reader)?;
        if let Some(layout) = &self.layout {
            layout.fields.report_partial_mask(run)?;
        }
        self.seen.report_silence(run, |subject, metric| {
            let is_mig = subject.gpu().and_then(|it| self.is_mig.get(it)) == Some(&true);
            silence(metric, is_mig)
        })
    }
}

fn silence(metric: Metric, is_mig: bool) -> Silence {
    let label = metric.spec().label;
    if is_mig && is_hidden_by_mig(metric) {
        return Silence {
            kind: BlindSpotKind::HiddenByMig,
            detail: format!("{label}: nvidia-smi has no reading for a GPU in MIG mode"),
            remedy: "record the instances: dcgmi dmon -e 1001,1002,1005".to_owned(),
        };
    }
    Silence {
        kind: BlindSpotKind::NotReported,
        detail: format!("{label}: the column is there but never has a reading"),
        remedy: String::new(),
    }
}

fn no_header(run: &ImportRun<'_>, found: &str) -> ImportError {
    let remedy = "give the field list of the recording: --fields timestamp,index,utilization.gpu,… (for --query-compute-apps with --format smi-compute-apps)";
    run.structure_error("a header that names fields of --query-gpu", found, remedy)
}
