//! Nsight Systems as SQLite, `nsys export --type sqlite`: GPU metrics at up to 10 kHz, and the kernels of traced processes.
//!
//! `GPU_METRICS` holds whole percentages, and clocks in hertz in spite of their names; a value stands for the time from
//! its stamp to the next one. `typeId & 0xFF` is the number of the GPU. Source: NVIDIA, Nsight Systems User Guide,
//! "GPU Metrics" and "Exporter SQLite Schema"; its recipe `gpu_metric_util_map` for the stamps.

mod database;
mod gpus;
mod kernels;
mod metrics;
#[cfg(test)]
mod tests;

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::metric::Metric;
use crate::domain::source::Reading;
use crate::domain::time::Timestamp;
use crate::import::error::ImportError;
use crate::import::nsight::database::{Cell, Database, MAGIC};
use crate::import::nsight::gpus::Gpus;
use crate::import::nsight::kernels::Kernels;
use crate::import::nsight::metrics::Samples;
use crate::import::run::ImportRun;
use crate::import::run::origin::Origin;
use crate::import::{Importer, Likeness};
use std::io::BufRead;

/// Names that only tables of Nsight Systems have; some of them stand in the first pages of every export.
const MARKS: &[&[u8]] = &[
    b"GPU_METRICS",
    b"TARGET_INFO_",
    b"CUPTI_ACTIVITY_KIND_",
    b"META_DATA_EXPORT",
    b"META_DATA_CAPTURE",
    b"ENUM_NSYS_",
    b"ENUM_CUPTI_",
    b"ENUM_CUDA_",
];
/// The longest that a capture can be, nanoseconds: a stamp farther from its start is no reading.
const LONGEST: i64 = 7 * 24 * 3600 * 1_000_000_000;
/// How to make a file that says who used the GPU and how much.
const PROFILE: &str = "record with `nsys profile --gpu-metrics-devices=all --trace=cuda …` and export with `nsys export --type sqlite REPORT.nsys-rep`";

/// Reads what `nsys export --type sqlite` writes.
pub struct Nsight;

impl Importer for Nsight {
    fn id(&self) -> &'static str {
        "nsight-sqlite"
    }

    fn about(&self) -> &'static str {
        "Nsight Systems as SQLite, nsys export --type sqlite: GPU metrics and kernels of processes"
    }

    fn recognise(&self, head: &[u8]) -> Likeness {
        if !head.starts_with(MAGIC) {
            return Likeness::No;
        }
        let has = |it: &&[u8]| head.windows(it.len()).any(|window| window == *it);
        // Another database is told apart by its tables, which may stand anywhere in it.
        if MARKS.iter().any(has) { Likeness::Sure } else { Likeness::Maybe }
    }

    fn import(&self, input: &mut dyn BufRead, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let database = Database::read(run, input)?;
        let has = |it: &str| database.table(it).is_some();
        let has_kernels = kernels::TABLES.iter().any(|it| has(it));
        if !has(metrics::TABLE) && !has_kernels {
            return Err(no_tables(run, &database));
        }
        let mut capture = Capture {
            epoch: epoch(run, &database)?,
            gpus: Gpus::read(run, &database)?,
            samples: Samples::default(),
            kernels: Kernels::default(),
        };
        // What stands before a damaged page is kept, and what it could not show is told all the same.
        match capture.read(run, &database) {
            Err(error) if !matches!(error, ImportError::Read { .. }) => Err(error),
            outcome => capture.finish(run, &database).and(outcome),
        }
    }
}

/// The error that a database holds nothing for a recording; names a few of the tables that it has.
fn no_tables(run: &ImportRun<'_>, database: &Database) -> ImportError {
    let names: Vec<&str> = database.tables().take(3).collect();
    let is_old = database.table("GENERIC_EVENTS").is_some();
    let remedy = match is_old {
        true => {
            "an export of nsys before 2023 keeps GPU metrics as JSON; export again with a newer nsys"
        }
        false => PROFILE,
    };
    let expected = "an export of Nsight Systems with GPU_METRICS or kernels";
    run.structure_error(expected, &names.join(", "), remedy)
}

/// Where the zero of all stamps lies.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    start: Timestamp,
    is_recorded: bool,
}

impl Epoch {
    /// The instant that lies so many nanoseconds after the start of the capture.
    fn at(self, nanos: i64) -> Timestamp {
        self.start.plus_micros(nanos.div_euclid(1000))
    }
}

/// When the capture began: by its own word, or else by the user's.
///
/// Errors: neither says it.
fn epoch(run: &mut ImportRun<'_>, database: &Database) -> Result<Epoch, ImportError> {
    let mut recorded = None;
    let table = "TARGET_INFO_SESSION_START_TIME";
    if database.has_columns(table, &["utcEpochNs"]) {
        database.rows(run, table, &["utcEpochNs"], |run, cells| {
            match cells[0] {
                Cell::Integer(nanos) if nanos > 0 => recorded = recorded.or(Some(nanos)),
                Cell::Null => {}
                _ => run.reject(
                    &format!("{table}.utcEpochNs"),
                    "nanoseconds since 1970",
                    &cells[0].shown(),
                ),
            }
            Ok(())
        })?;
    }
    if let Some(nanos) = recorded {
        let start = Timestamp::from_micros(nanos.div_euclid(1000));
        return Ok(Epoch { start, is_recorded: true });
    }
    let no_stamps = || ImportError::NoStamps { file: run.file().to_owned() };
    let start = run.options.start.ok_or_else(no_stamps)?;
    Ok(Epoch { start, is_recorded: false })
}

/// A capture that is being read.
struct Capture {
    epoch: Epoch,
    gpus: Gpus,
    samples: Samples,
    kernels: Kernels,
}

impl Capture {
    fn read(&mut self, run: &mut ImportRun<'_>, database: &Database) -> Result<(), ImportError> {
        let clock = match self.epoch.is_recorded {
            true => "UTC",
            false => "made from --start and the capture's own clock",
        };
        let tool_version = version(run, database)?;
        let since_before = Reading::WindowAverage { window: None };
        run.describe_source(|_| Origin {
            tool: "nsys".to_owned(),
            tool_version,
            clock: clock.to_owned(),
            readings: [(Metric::SmClock, since_before)].into(),
            ..Origin::default()
        })?;
        self.gpus.tell(run)?;
        self.samples.read(run, database, &mut self.gpus, self.epoch)?;
        self.kernels.read(run, database)
    }

    fn finish(&mut self, run: &mut ImportRun<'_>, database: &Database) -> Result<(), ImportError> {
        if !self.epoch.is_recorded {
            let detail =
                "the file does not say when the capture began; --start was taken for it".to_owned();
            run.warn(detail.clone());
            let remedy = "export with the table TARGET_INFO_SESSION_START_TIME";
            run.blind_spot(BlindSpotKind::ClockAssumed, None, None, detail, remedy)?;
        }
        self.samples.finish(run, &self.gpus, self.epoch)?;
        self.kernels.finish(run, &self.gpus, self.epoch)?;
        if self.samples.is_empty() {
            let detail = "no GPU metrics were sampled, only kernels were traced".to_owned();
            let metric = Some(Metric::SmActive);
            run.blind_spot(BlindSpotKind::NotRecorded, None, metric, detail, PROFILE)?;
        }
        if let Some(detail) = database.damage() {
            run.warn(detail.clone());
            run.blind_spot(BlindSpotKind::Gap, None, None, detail, "copy the whole file")?;
        }
        Ok(())
    }
}

/// The version of nsys that exported the file; `None` where it does not say.
fn version(run: &mut ImportRun<'_>, database: &Database) -> Result<Option<String>, ImportError> {
    let mut version = None;
    let (table, columns) = ("META_DATA_EXPORT", ["name", "value"]);
    if database.has_columns(table, &columns) {
        database.rows(run, table, &columns, |_, cells| {
            if cells[0].text().is_some_and(|it| it == "EXPORT_PRODUCT_VERSION") {
                version = cells[1].text();
            }
            Ok(())
        })?;
    }
    Ok(version)
}
