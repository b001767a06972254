//! Rows of one subject to and from a polars frame: the columns of a segment.

use crate::domain::ident::Subject;
use crate::domain::metric::{Metric, Precision};
use crate::storage::gathered::Gathered;
use crate::storage::rows::Rows;
use polars::prelude::{
    ArrowSchema, Column, DataFrame, DataType, Float32Chunked, Int32Chunked, Int64Chunked,
    IntoColumn, IntoSeries, NewChunkedArray, PlSmallStr, PolarsResult, Schema, StringChunked,
    TimeUnit,
};
use std::collections::BTreeSet;
use std::iter::repeat_n;
use std::ops::Range;

/// Column of stamps: microseconds since the Unix epoch, UTC.
const TIME: &str = "time";
/// Column of the source's number.
const SOURCE: &str = "source";

/// Columns that say whom a row is about; only those that a segment needs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Identity {
    Gpu,
    GpuInstance,
    ComputeInstance,
    MigGeneration,
    Pid,
    ProcessStarted,
    Tenant,
}

const IDENTITIES: [Identity; 7] = [
    Identity::Gpu,
    Identity::GpuInstance,
    Identity::ComputeInstance,
    Identity::MigGeneration,
    Identity::Pid,
    Identity::ProcessStarted,
    Identity::Tenant,
];

#[derive(Clone, Copy)]
enum Value<'a> {
    Text(&'a str),
    Number(i64),
}

impl Identity {
    fn name(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::GpuInstance => "gpu_instance",
            Self::ComputeInstance => "compute_instance",
            Self::MigGeneration => "mig_generation",
            Self::Pid => "pid",
            Self::ProcessStarted => "process_started_us",
            Self::Tenant => "tenant",
        }
    }

    fn dtype(self) -> DataType {
        match self {
            Self::Gpu | Self::Tenant => DataType::String,
            _ => DataType::Int64,
        }
    }

    fn of(self, subject: &Subject) -> Option<Value<'_>> {
        let number = |it: u32| Value::Number(i64::from(it));
        match (self, subject) {
            (Self::Gpu, _) => subject.gpu().map(|it| Value::Text(it.as_str())),
            (Self::Tenant, Subject::Tenant { tenant, .. }) => Some(Value::Text(tenant.as_str())),
            (Self::GpuInstance, Subject::MigInstance { instance }) => {
                Some(number(instance.gpu_instance))
            }
            (Self::ComputeInstance, Subject::MigInstance { instance }) => {
                instance.compute_instance.map(number)
            }
            (Self::MigGeneration, Subject::MigInstance { instance }) => {
                Some(number(instance.generation))
            }
            (Self::Pid, Subject::Process { process, .. }) => Some(number(process.pid)),
            (Self::ProcessStarted, Subject::Process { process, .. }) => {
                process.started.map(|it| Value::Number(it.as_micros()))
            }
            _ => None,
        }
    }
}

/// The columns of one segment.
#[derive(Debug)]
pub(crate) struct Columns {
    identities: Vec<Identity>,
    metrics: Vec<Metric>,
}

impl Columns {
    /// The columns that these subjects and their rows need.
    pub(crate) fn needed(held: &[(Subject, Rows)]) -> Self {
        let is_used = |it: &Identity| held.iter().any(|(subject, _)| it.of(subject).is_some());
        let metrics: BTreeSet<Metric> =
            held.iter().flat_map(|(_, rows)| rows.columns.keys().copied()).collect();
        Self {
            identities: IDENTITIES.into_iter().filter(is_used).collect(),
            metrics: metrics.into_iter().collect(),
        }
    }

    /// Schema of the segment.
    pub(crate) fn schema(&self) -> Schema {
        let mut schema = Schema::default();
        schema.insert(TIME.into(), time_dtype());
        schema.insert(SOURCE.into(), DataType::Int32);
        for identity in &self.identities {
            schema.insert(identity.name().into(), identity.dtype());
        }
        for metric in &self.metrics {
            schema.insert(metric.key().into(), metric_dtype(*metric));
        }
        schema
    }

    /// Rows of these subjects, one after the other, as a frame of this segment's columns.
    ///
    /// Needs padded rows. No column is made of zeros that the library shares: it would keep 8 MiB
    /// of them for good.
    pub(crate) fn frame(&self, parts: &[Part<'_>]) -> PolarsResult<DataFrame> {
        let height = parts.iter().map(|it| it.range.len()).sum();
        let times: Vec<i64> =
            parts.iter().flat_map(|it| &it.rows.times[it.range.clone()]).copied().collect();
        let sources: Vec<i32> =
            parts.iter().flat_map(|it| &it.rows.sources[it.range.clone()]).copied().collect();
        let times = Int64Chunked::from_vec(TIME.into(), times);
        let mut columns = vec![
            times.into_series().cast(&time_dtype())?.into_column(),
            Int32Chunked::from_vec(SOURCE.into(), sources).into_column(),
        ];
        columns.extend(self.identities.iter().map(|it| identity_column(*it, parts)));
        columns.extend(self.metrics.iter().map(|it| metric_column(*it, parts, height)));
        DataFrame::new(height, columns)
    }
}

/// Rows of one subject that are written together.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    pub(crate) subject: &'a Subject,
    pub(crate) rows: &'a Rows,
    pub(crate) range: Range<usize>,
}

impl Part<'_> {
    /// The readings of a metric, row by row.
    fn cells(&self, metric: Metric) -> impl Iterator<Item = Option<f64>> + Clone {
        let column = self.rows.columns.get(&metric).map(|it| &it[self.range.clone()]);
        let cell = move |row: usize| column.map(|it| it[row]).filter(|it| !it.is_nan());
        (0..self.range.len()).map(cell)
    }
}

fn time_dtype() -> DataType {
    DataType::Datetime(TimeUnit::Microseconds, Some(polars::prelude::TimeZone::UTC))
}

fn metric_dtype(metric: Metric) -> DataType {
    match metric.spec().precision {
        Precision::Single => DataType::Float32,
        Precision::Whole => DataType::Int64,
    }
}

fn identity_column(identity: Identity, parts: &[Part<'_>]) -> Column {
    let name: PlSmallStr = identity.name().into();
    let values = parts.iter().flat_map(|it| repeat_n(identity.of(it.subject), it.range.len()));
    match identity.dtype() {
        DataType::String => {
            let cells = values.map(|it| match it {
                Some(Value::Text(text)) => Some(text),
                _ => None,
            });
            StringChunked::from_iter_options(name, cells).into_column()
        }
        _ => {
            let cells = values.map(|it| match it {
                Some(Value::Number(number)) => Some(number),
                _ => None,
            });
            Int64Chunked::from_iter_options(name, cells).into_column()
        }
    }
}

fn metric_column(metric: Metric, parts: &[Part<'_>], height: usize) -> Column {
    let name: PlSmallStr = metric.key().into();
    let cells = parts.iter().flat_map(|it| it.cells(metric));
    let is_full = cells.clone().flatten().count() == height;
    match (metric.spec().precision, is_full) {
        (Precision::Single, true) => {
            Float32Chunked::from_vec(name, cells.flatten().map(|it| it as f32).collect())
                .into_column()
        }
        (Precision::Whole, true) => {
            Int64Chunked::from_vec(name, cells.flatten().map(|it| it.round() as i64).collect())
                .into_column()
        }
        (Precision::Single, false) => {
            let cells = cells.map(|it| it.map(|it| it as f32));
            Float32Chunked::from_iter_options(name, cells).into_column()
        }
        (Precision::Whole, false) => {
            let cells = cells.map(|it| it.map(|it| it.round() as i64));
            Int64Chunked::from_iter_options(name, cells).into_column()
        }
    }
}

/// Names of the columns that a reader of these metrics needs; `None` means every metric.
pub(crate) fn wanted_columns(schema: &ArrowSchema, metrics: Option<&[Metric]>) -> Vec<String> {
    let is_wanted = |name: &str| match Metric::from_key(name) {
        Some(metric) => metrics.is_none_or(|it| it.contains(&metric)),
        None => name == TIME || name == SOURCE,
    };
    schema.iter_names().map(|it| it.to_string()).filter(|it| is_wanted(it)).collect()
}

/// Appends a frame's rows that lie in `keep` (positions) to what was gathered of a subject.
pub(crate) fn append(
    frame: &DataFrame,
    gathered: &mut Gathered,
    keep: impl Fn(&[i64]) -> Range<usize>,
) -> PolarsResult<()> {
    let times = frame.column(TIME)?.to_physical_repr();
    let times = times.as_materialized_series().i64()?.rechunk();
    let times = times.cont_slice()?;
    let range = keep(times);
    gathered.stamps(&times[range.clone()]);
    let inside = |column: &Column| column.slice(range.start as i64, range.len());
    if let Ok(sources) = frame.column(SOURCE) {
        let sources = inside(sources);
        let cells = sources.as_materialized_series().i32()?;
        gathered.sources(cells.iter().map(|it| it.unwrap_or(-1)));
    }
    for column in frame.columns() {
        let Some(metric) = Metric::from_key(column.name()) else { continue };
        if column.null_count() < column.len() {
            fill(gathered, metric, &inside(column))?;
        }
    }
    Ok(())
}

fn fill(gathered: &mut Gathered, metric: Metric, column: &Column) -> PolarsResult<()> {
    let series = column.as_materialized_series();
    match series.dtype() {
        DataType::Float32 => {
            let cells = series.f32()?.rechunk();
            match cells.cont_slice().ok().filter(|it| !it.iter().any(|it| it.is_nan())) {
                Some(all) => gathered.fill_all(metric, all.iter().map(|it| f64::from(*it))),
                None => gathered.fill_some(metric, cells.iter().map(|it| it.map(f64::from))),
            }
        }
        _ => {
            let whole = series.cast(&DataType::Int64)?;
            let cells = whole.i64()?.rechunk();
            match cells.cont_slice() {
                Ok(all) => gathered.fill_all(metric, all.iter().map(|it| *it as f64)),
                Err(_) => gathered.fill_some(metric, cells.iter().map(|it| it.map(|it| it as f64))),
            }
        }
    }
    Ok(())
}
