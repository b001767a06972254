//! The table `GPU_METRICS`: one row for each metric, GPU and sample.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::{GpuId, Subject};
use crate::domain::metric::{Dialect, Metric};
use crate::import::error::ImportError;
use crate::import::nsight::database::{Cell, Database};
use crate::import::nsight::gpus::Gpus;
use crate::import::nsight::{Epoch, LONGEST};
use crate::import::run::ImportRun;
use crate::import::run::seen::{MetricSet, Seen, Silence};
use crate::import::run::unknown_names::UnknownNames;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// The table of samples.
pub(super) const TABLE: &str = "GPU_METRICS";
/// The table of what a metric's number means.
const NAMES: &str = "TARGET_INFO_GPU_METRICS";
/// Columns of a sample.
const COLUMNS: [&str; 4] = ["timestamp", "typeId", "metricId", "value"];

/// Reads and writes of device memory: both make up one metric.
const DRAM_PARTS: u8 = 2;
/// Sum of two percentages that were rounded to whole ones, at most.
const ROUNDED: f64 = 1.015;
/// A clock of this many or more is in hertz, which is what the table holds; less would be in megahertz, as the name says.
const HERTZ_FROM: f64 = 1e5;
/// A hole is a step of more than this many of the shortest ones.
const HOLE_STEPS: i64 = 2;

/// Names of shares of a link's peak, and what the recording would hold if the peak were known.
const SHARES: [(&str, Metric); 4] = [
    ("PCIe RX Throughput", Metric::PcieReceive),
    ("PCIe TX Throughput", Metric::PcieTransmit),
    ("NVLink RX ", Metric::NvlinkReceive),
    ("NVLink TX ", Metric::NvlinkTransmit),
];

/// What a metric's number means.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Meaning {
    /// A metric, and the factor to its unit.
    Known(Metric, f64),
    /// A share of a peak that the file does not hold.
    Share(Metric),
    /// Warps of graphics, which are resident and not counted as occupancy.
    Graphics,
}

impl Meaning {
    fn of(name: &str) -> Option<Self> {
        if let Some((metric, factor)) = Metric::from_foreign(Dialect::Nsight, name) {
            return Some(Self::Known(metric, factor));
        }
        let is_share = name.ends_with("[Throughput %]");
        if let Some((_, metric)) = SHARES.iter().find(|it| is_share && name.starts_with(it.0)) {
            return Some(Self::Share(*metric));
        }
        let is_graphics =
            name.starts_with("Pixel Warps") || name.starts_with("Vertex/Tess/Geometry Warps");
        (is_graphics && is_share).then_some(Self::Graphics)
    }
}

/// A sample of one GPU that is being put together.
#[derive(Debug)]
struct Sample {
    /// When it began, in nanoseconds since the start of the capture.
    start: i64,
    readings: Vec<(Metric, f64)>,
    dram_parts: u8,
}

/// Samples of one `typeId`.
#[derive(Debug)]
struct Track {
    gpu: GpuId,
    asked: MetricSet,
    sample: Option<Sample>,
    /// Shortest time between two samples, nanoseconds.
    step: Option<i64>,
    has_total: bool,
}

/// All samples of a capture.
#[derive(Debug, Default)]
pub(super) struct Samples {
    meanings: BTreeMap<(Option<i64>, i64), Meaning>,
    tracks: BTreeMap<i64, Track>,
    shares: BTreeSet<(GpuId, Metric)>,
    graphics: BTreeSet<GpuId>,
    seen: Seen,
}

impl Samples {
    /// Whether there were none.
    pub(super) fn is_empty(&self) -> bool {
        self.tracks.is_empty()
    }

    /// Reads the table, if there is one.
    pub(super) fn read(
        &mut self,
        run: &mut ImportRun<'_>,
        database: &Database,
        gpus: &mut Gpus,
        epoch: Epoch,
    ) -> Result<(), ImportError> {
        if database.table(TABLE).is_none() {
            return Ok(());
        }
        database.require(run, TABLE, &COLUMNS)?;
        database.require(run, NAMES, &["metricId", "metricName"])?;
        self.read_names(run, database)?;
        database.rows(run, TABLE, &COLUMNS, |run, cells| {
            let [at, kind, metric, value] = cells else { return Ok(()) };
            let (Cell::Integer(at), Cell::Integer(kind), Cell::Integer(metric)) =
                (at, kind, metric)
            else {
                let wrong = [at, kind, metric].into_iter().zip(COLUMNS);
                for (cell, column) in wrong.filter(|it| it.0.integer().is_none()) {
                    run.reject(&format!("{TABLE}.{column}"), "a whole number", &cell.shown());
                }
                return Ok(());
            };
            if !(-LONGEST..=LONGEST).contains(at) {
                let expected = "a stamp within a week of the capture's start";
                run.reject(&format!("{TABLE}.timestamp"), expected, &at.to_string());
                return Ok(());
            }
            let Some(meaning) = self.meaning(*kind, *metric) else { return Ok(()) };
            let value = match value {
                Cell::Null => None,
                Cell::Integer(it) => Some(*it as f64),
                Cell::Real(it) => Some(*it),
                other => {
                    run.reject(&format!("{TABLE}.value"), "a number", &other.shown());
                    None
                }
            };
            self.take(run, gpus, epoch, (*at, *kind), meaning, value)
        })
    }

    fn read_names(
        &mut self,
        run: &mut ImportRun<'_>,
        database: &Database,
    ) -> Result<(), ImportError> {
        let mut unknown = UnknownNames::default();
        let has_kinds = database.has_columns(NAMES, &["typeId"]);
        let columns: &[&str] = match has_kinds {
            true => &["metricId", "metricName", "typeId"],
            false => &["metricId", "metricName"],
        };
        database.rows(run, NAMES, columns, |run, cells| {
            let (Some(metric), Some(name)) = (cells[0].integer(), cells[1].text()) else {
                let found = format!("{}, {}", cells[0].shown(), cells[1].shown());
                run.reject(NAMES, "a number and a name", &found);
                return Ok(());
            };
            match Meaning::of(&name) {
                Some(it) => {
                    let kind = cells.get(2).and_then(Cell::integer);
                    self.meanings.insert((kind, metric), it);
                }
                None => unknown.add(&name),
            }
            Ok(())
        })?;
        unknown.warning().into_iter().for_each(|it| run.warn(it));
        Ok(())
    }

    fn meaning(&self, kind: i64, metric: i64) -> Option<Meaning> {
        let own = self.meanings.get(&(Some(kind), metric));
        own.or_else(|| self.meanings.get(&(None, metric))).copied()
    }

    /// Takes one value; `at` holds the stamp and the `typeId`.
    fn take(
        &mut self,
        run: &mut ImportRun<'_>,
        gpus: &mut Gpus,
        epoch: Epoch,
        (at, kind): (i64, i64),
        meaning: Meaning,
        value: Option<f64>,
    ) -> Result<(), ImportError> {
        let track = match self.tracks.entry(kind) {
            Entry::Occupied(it) => it.into_mut(),
            Entry::Vacant(it) => {
                let (gpu, asked) = (gpus.sampled(run, kind)?, MetricSet::default());
                it.insert(Track { gpu, asked, sample: None, step: None, has_total: false })
            }
        };
        if track.sample.as_ref().is_some_and(|it| it.start != at) {
            track.flush(run, &mut self.seen, gpus, epoch, Some(at))?;
        }
        match meaning {
            Meaning::Share(metric) => {
                self.shares.insert((track.gpu.clone(), metric));
            }
            Meaning::Graphics => {
                if value.is_some_and(|it| it > 0.0) {
                    self.graphics.insert(track.gpu.clone());
                }
            }
            Meaning::Known(metric, factor) => {
                track.add(at, metric, value.map(|it| scaled(metric, it, factor)))
            }
        }
        Ok(())
    }

    /// Ends the last samples, and tells what they could not show.
    pub(super) fn finish(
        &mut self,
        run: &mut ImportRun<'_>,
        gpus: &Gpus,
        epoch: Epoch,
    ) -> Result<(), ImportError> {
        for track in self.tracks.values_mut() {
            track.flush(run, &mut self.seen, gpus, epoch, None)?;
        }
        for (gpu, metric) in &self.shares {
            let detail = format!(
                "{} is sampled as a share of the link's peak, which is not in the file",
                metric.spec().label
            );
            let (subject, remedy) =
                (Some(Subject::device(gpu)), "record bytes beside it: nvidia-smi dmon -s t");
            run.blind_spot(BlindSpotKind::NotReported, subject, Some(*metric), detail, remedy)?;
        }
        for gpu in &self.graphics {
            let detail =
                "warps of graphics were resident too; occupancy counts those of compute only"
                    .to_owned();
            let (subject, metric) = (Some(Subject::device(gpu)), Some(Metric::SmOccupancy));
            run.blind_spot(BlindSpotKind::Ambiguous, subject, metric, detail, "")?;
        }
        let sampled: BTreeSet<&GpuId> = self.tracks.values().map(|it| &it.gpu).collect();
        for gpu in sampled {
            let detail = "GPU metrics of Nsight Systems do not hold memory in use".to_owned();
            let (subject, metric) = (Some(Subject::device(gpu)), Some(Metric::FramebufferUsed));
            let remedy = "record it beside: cotenant record, or nvidia-smi --query-gpu=uuid,timestamp,memory.used";
            run.blind_spot(BlindSpotKind::NotRecorded, subject, metric, detail, remedy)?;
        }
        self.seen.report_silence(run, |_, metric| match metric {
            Metric::DramActive => Silence {
                detail: "DRAM active is reads and writes together, and no sample has both"
                    .to_owned(),
                ..Silence::unexplained(metric)
            },
            _ => Silence::unexplained(metric),
        })
    }
}

impl Track {
    fn add(&mut self, at: i64, metric: Metric, value: Option<f64>) {
        self.asked.insert(metric);
        let sample =
            self.sample.get_or_insert(Sample { start: at, readings: Vec::new(), dram_parts: 0 });
        let Some(value) = value else { return };
        let present = sample.readings.iter_mut().find(|it| it.0 == metric);
        match (present, metric) {
            (Some(present), Metric::DramActive) => {
                present.1 += value;
                sample.dram_parts += 1;
            }
            (Some(_), _) => {}
            (None, _) => {
                sample.dram_parts += u8::from(metric == Metric::DramActive);
                sample.readings.push((metric, value));
            }
        }
    }

    /// Gives the sample to the run, with the stamp of its end: the next sample's, or a step later where there is a hole.
    fn flush(
        &mut self,
        run: &mut ImportRun<'_>,
        seen: &mut Seen,
        gpus: &Gpus,
        epoch: Epoch,
        next: Option<i64>,
    ) -> Result<(), ImportError> {
        let Some(mut sample) = self.sample.take() else { return Ok(()) };
        let gap = next.map(|it| it.saturating_sub(sample.start)).filter(|it| *it > 0);
        let step = match (self.step, gap) {
            (Some(step), Some(gap)) => Some(step.min(gap)),
            (step, gap) => step.or(gap),
        };
        self.step = step;
        let within =
            gap.filter(|it| step.is_some_and(|step| *it <= step.saturating_mul(HOLE_STEPS)));
        let end = sample.start.saturating_add(within.or(step).unwrap_or_default());
        sample.readings.retain(|it| it.0 != Metric::DramActive || sample.dram_parts == DRAM_PARTS);
        for reading in sample.readings.iter_mut().filter(|it| it.0 == Metric::DramActive) {
            if reading.1 <= ROUNDED {
                reading.1 = reading.1.min(1.0);
            }
        }
        if !std::mem::replace(&mut self.has_total, true) {
            let total = gpus.memory(&self.gpu);
            sample.readings.extend(total.map(|it| (Metric::FramebufferTotal, it)));
        }
        let subject = Subject::device(&self.gpu);
        seen.row(run, epoch.at(end), &subject, self.asked, &sample.readings)
    }
}

/// A value in the metric's unit.
///
/// A clock is in hertz, whatever its name says, and wraps into the sign of 32 bits from 2.147 GHz on.
fn scaled(metric: Metric, value: f64, factor: f64) -> f64 {
    if metric != Metric::SmClock {
        return value * factor;
    }
    let wrapped = f64::from(i32::MIN) <= value && value < 0.0;
    let hertz = if wrapped { value + 4_294_967_296.0 } else { value };
    if hertz >= HERTZ_FROM { hertz * factor } else { hertz }
}
