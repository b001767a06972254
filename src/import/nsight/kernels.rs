//! Traced kernels: the share of each 10 ms in which a process had at least one of them on a GPU.
//!
//! That is what utilisation of a process means to the driver too. A kernel's span holds time in which the GPU had turned
//! to another process, and a graph's span the gaps between its kernels; both are told.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::{GpuId, ProcessKey, Subject};
use crate::domain::metric::Metric;
use crate::import::error::ImportError;
use crate::import::nsight::database::{Cell, Database};
use crate::import::nsight::gpus::Gpus;
use crate::import::nsight::{Epoch, LONGEST, PROFILE, metrics};
use crate::import::run::ImportRun;
use crate::import::smi::program::Programs;
use std::collections::{BTreeMap, BTreeSet};

/// Tables with spans on a GPU: single kernels, and whole graphs where kernels in them were not traced.
pub(super) const TABLES: [&str; 2] = ["CUPTI_ACTIVITY_KIND_KERNEL", GRAPHS];
const GRAPHS: &str = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
/// Columns of a span.
const COLUMNS: [&str; 4] = ["start", "end", "deviceId", "globalPid"];

/// Length of a window, nanoseconds.
const WINDOW: i64 = 10_000_000;
/// The most windows of all processes together: some 28 hours of one.
const MOST_WINDOWS: u64 = 10_000_000;

/// The most processes on GPUs that a capture can hold: a damaged file may call each row's process by another number.
const MOST_PROCESSES: usize = 65_536;

/// Spans on a GPU, nanoseconds since the start of the capture.
type Spans = Vec<(i64, i64)>;

/// The spans of every process, by what the table calls the process and the GPU.
#[derive(Debug, Default)]
pub(super) struct Kernels {
    spans: BTreeMap<(i64, i64), Spans>,
    has_graphs: bool,
    is_traced: bool,
}

impl Kernels {
    /// Reads the tables of spans, as far as there are any.
    ///
    /// Beside sampled metrics, a table that lacks a column is left out with a warning. Errors: it is all there is.
    pub(super) fn read(
        &mut self,
        run: &mut ImportRun<'_>,
        database: &Database,
    ) -> Result<(), ImportError> {
        for table in TABLES.into_iter().filter(|it| database.table(it).is_some()) {
            match database.require(run, table, &COLUMNS) {
                Err(error) if database.table(metrics::TABLE).is_some() => {
                    run.warn(format!("{error}; its kernels are left out"));
                    continue;
                }
                outcome => outcome?,
            }
            self.is_traced = true;
            database.rows(run, table, &COLUMNS, |run, cells| {
                if let Some((key, span)) = span(run, table, cells) {
                    if self.spans.len() >= MOST_PROCESSES && !self.spans.contains_key(&key) {
                        let expected = "at most 65536 processes on GPUs";
                        run.reject(&format!("{table}.globalPid"), expected, &key.0.to_string());
                        return Ok(());
                    }
                    self.has_graphs |= table == GRAPHS;
                    self.spans.entry(key).or_default().push(span);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Gives the busy share of every process to the run, and tells what it could not show.
    pub(super) fn finish(
        &mut self,
        run: &mut ImportRun<'_>,
        gpus: &Gpus,
        epoch: Epoch,
    ) -> Result<(), ImportError> {
        let mut nameless = BTreeSet::new();
        let mut processes: BTreeMap<(GpuId, u32), (i64, Spans)> = BTreeMap::new();
        for ((process, device), spans) in std::mem::take(&mut self.spans) {
            let Some(gpu) = gpus.called(process, device) else {
                nameless.insert(device);
                continue;
            };
            let own = processes.entry((gpu, gpus.pid(process))).or_insert((process, Vec::new()));
            own.1.extend(spans);
        }
        let mut neighbours: BTreeMap<GpuId, usize> = BTreeMap::new();
        let (mut programs, mut room) = (Programs::default(), MOST_WINDOWS);
        for ((gpu, pid), (process, spans)) in processes {
            *neighbours.entry(gpu.clone()).or_default() += 1;
            programs.tell(run, &gpu, pid, gpus.program(process))?;
            let process = ProcessKey { pid, started: None };
            write(run, Subject::Process { gpu, process }, spans, epoch, &mut room)?;
        }
        self.report(run, &neighbours, &nameless)
    }

    fn report(
        &self,
        run: &mut ImportRun<'_>,
        neighbours: &BTreeMap<GpuId, usize>,
        nameless: &BTreeSet<i64>,
    ) -> Result<(), ImportError> {
        let metric = Some(Metric::GpuUtilization);
        let detail = match self.is_traced {
            true => {
                "only processes that Nsight Systems traced are in the file; who else used the GPUs is not"
            }
            false => "no kernels were traced, so nothing says which process used the GPU",
        };
        let remedy =
            if self.is_traced { "record processes beside it: cotenant record" } else { PROFILE };
        run.blind_spot(BlindSpotKind::NotRecorded, None, metric, detail.to_owned(), remedy)?;
        for (gpu, count) in neighbours.iter().filter(|it| *it.1 > 1) {
            let detail = format!(
                "{count} processes ran kernels on {gpu}: a kernel's span holds the time in which the GPU had turned to another process, so their shares may add up to more than there was"
            );
            let subject = Some(Subject::device(gpu));
            run.blind_spot(BlindSpotKind::Ambiguous, subject, metric, detail, "")?;
        }
        if self.has_graphs {
            let detail =
                "kernels in CUDA graphs were traced as whole graphs, whose gaps count as busy"
                    .to_owned();
            let remedy = "nsys profile --cuda-graph-trace=node";
            run.blind_spot(BlindSpotKind::TooCoarse, None, metric, detail, remedy)?;
        }
        if !nameless.is_empty() {
            let numbers: Vec<String> = nameless.iter().take(5).map(i64::to_string).collect();
            let detail = format!(
                "kernels on CUDA devices {} were left out: the file does not say which GPUs those are",
                numbers.join(", ")
            );
            run.warn(detail.clone());
            let remedy = "export with the tables TARGET_INFO_GPU and TARGET_INFO_CUDA_DEVICE";
            run.blind_spot(BlindSpotKind::Ambiguous, None, metric, detail, remedy)?;
        }
        Ok(())
    }
}

/// The span in a row, with process and GPU; `None` when it was rejected.
fn span(
    run: &mut ImportRun<'_>,
    table: &str,
    cells: &[Cell<'_>],
) -> Option<((i64, i64), (i64, i64))> {
    let [start, end, device, process] = cells else { return None };
    let all = (start.integer(), end.integer(), device.integer(), process.integer());
    let (Some(start), Some(end), Some(device), Some(process)) = all else {
        for (cell, column) in cells.iter().zip(COLUMNS).filter(|it| it.0.integer().is_none()) {
            run.reject(&format!("{table}.{column}"), "a whole number", &cell.shown());
        }
        return None;
    };
    if start > end || start < -LONGEST || LONGEST < end {
        let expected = "a span within a week of the capture's start";
        run.reject(&format!("{table}.start"), expected, &format!("{start} to {end}"));
        return None;
    }
    Some(((process, device), (start, end)))
}

/// Writes the busy share of every window from the first to the last span, those without one too.
fn write(
    run: &mut ImportRun<'_>,
    subject: Subject,
    mut spans: Spans,
    epoch: Epoch,
    room: &mut u64,
) -> Result<(), ImportError> {
    let first = spans.iter().map(|it| it.0).min().unwrap_or_default();
    let last = spans.iter().map(|it| it.1).max().unwrap_or_default();
    let windows = last.saturating_sub(first).unsigned_abs() / WINDOW.unsigned_abs() + 2;
    let Some(left) = room.checked_sub(windows) else {
        let detail = format!(
            "kernels of {subject} were left out: with them there are over {MOST_WINDOWS} windows of 10 ms"
        );
        run.warn(detail.clone());
        let metric = Some(Metric::GpuUtilization);
        let remedy = "export a shorter stretch of time";
        return run.blind_spot(BlindSpotKind::Gap, Some(subject), metric, detail, remedy);
    };
    *room = left;
    spans.sort_unstable();
    let mut busy = Busy { window: first.div_euclid(WINDOW), nanos: 0 };
    let mut covered = first;
    for (start, end) in spans {
        let mut from = start.max(covered);
        covered = covered.max(end);
        while from < end {
            let window = from.div_euclid(WINDOW);
            while busy.window < window {
                busy.end(run, &subject, epoch)?;
            }
            let until = end.min((window + 1) * WINDOW);
            busy.nanos += until - from;
            from = until;
        }
    }
    busy.end(run, &subject, epoch)
}

/// A window that is being counted.
struct Busy {
    window: i64,
    nanos: i64,
}

impl Busy {
    /// Writes the window, and goes on to the next.
    fn end(
        &mut self,
        run: &mut ImportRun<'_>,
        subject: &Subject,
        epoch: Epoch,
    ) -> Result<(), ImportError> {
        let share = 100.0 * self.nanos as f64 / WINDOW as f64;
        let at = epoch.at((self.window + 1) * WINDOW);
        *self = Self { window: self.window + 1, nanos: 0 };
        run.row(at, subject, &[(Metric::GpuUtilization, share)])
    }
}
