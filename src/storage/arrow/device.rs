//! Rows of one device in the documented schema become its part of a recording.

use crate::domain::ident::{GpuId, MigInstanceId, ProcessKey, Subject, TenantId};
use crate::domain::metric::{Metric, Precision};
use crate::domain::outline::{Device, Outline};
use crate::domain::recording::Recording;
use crate::domain::series::Series;
use crate::domain::time::{TimeSpan, Timestamp};
use crate::storage::arrow::columns::{Cell, Column};
use crate::storage::arrow::stream::{DeviceKey, RowSlice};
use crate::storage::gathered::Gathered;
use std::collections::BTreeMap;
use std::ops::Range;

/// Columns besides metrics and those that say whom a row is about.
const FACTS: [&str; 5] = ["time", "source", "outline", "model", "index"];
/// Columns that say whom a row is about.
const IDENTITY: [&str; 7] = [
    "gpu",
    "gpu_instance",
    "compute_instance",
    "mig_generation",
    "pid",
    "process_started_us",
    "tenant",
];

/// Rows of one device under way.
#[derive(Debug)]
pub struct DeviceRows {
    key: DeviceKey,
    outline: Outline,
    has_outline: bool,
    model: Option<String>,
    index: Option<u32>,
    subjects: BTreeMap<Subject, Gathered>,
    rows: u64,
}

/// Why the rows of a device are no part of a recording; the others are not touched by it.
type Problem = String;

impl DeviceRows {
    /// Whether a column of the stream is of any use.
    pub fn is_wanted(column: &str) -> bool {
        let is_fact = FACTS.contains(&column) || IDENTITY.contains(&column);
        is_fact || Metric::from_key(column).is_some()
    }

    /// No rows yet.
    pub fn new(key: &DeviceKey) -> Self {
        Self {
            key: key.clone(),
            outline: Outline::default(),
            has_outline: false,
            model: None,
            index: None,
            subjects: BTreeMap::new(),
            rows: 0,
        }
    }

    /// Takes some rows.
    ///
    /// Errors, as a sentence: a row without a stamp or without anybody that it is about, or a column of the wrong type.
    pub fn take(&mut self, slice: &RowSlice<'_>) -> Result<(), Problem> {
        check(slice)?;
        let identity: Vec<&Column> = IDENTITY.iter().filter_map(|it| slice.column(it)).collect();
        let mut parts: BTreeMap<Subject, Vec<Range<usize>>> = BTreeMap::new();
        let mut row = slice.rows.start;
        while row < slice.rows.end {
            let is_same = |it: usize| identity.iter().all(|column| column.is_same(row, it));
            let end = (row + 1..slice.rows.end).find(|it| !is_same(*it)).unwrap_or(slice.rows.end);
            let stamped = self.facts(slice, row..end)?;
            if !stamped.is_empty() {
                let subject = subject(slice, row).map_err(|it| at_row(slice, row, &it))?;
                parts.entry(subject).or_default().extend(stamped);
            }
            row = end;
        }
        for (subject, ranges) in parts {
            let gathered = self.subjects.entry(subject).or_default();
            self.rows += ranges.iter().map(|it| it.len() as u64).sum::<u64>();
            gather(slice, &ranges, gathered);
        }
        Ok(())
    }

    /// Takes what is known besides samples, and returns the rows that hold samples.
    fn facts(
        &mut self,
        slice: &RowSlice<'_>,
        rows: Range<usize>,
    ) -> Result<Vec<Range<usize>>, Problem> {
        let outline = slice.column("outline");
        let mut stamped: Vec<Range<usize>> = Vec::new();
        for row in rows {
            let told = outline.and_then(|it| it.text(row));
            if let Some(told) = told {
                let told: Outline = serde_json::from_str(told)
                    .map_err(|it| at_row(slice, row, &format!("its outline is broken: {it}")))?;
                self.outline.merge(told);
                self.has_outline = true;
            }
            match (micros(slice, row), told) {
                (Some(_), _) => match stamped.last_mut().filter(|it| it.end == row) {
                    Some(it) => it.end = row + 1,
                    None => stamped.push(row..row + 1),
                },
                (None, Some(_)) => {}
                (None, None) => return Err(at_row(slice, row, "it has no stamp")),
            }
        }
        let first = slice.rows.start;
        if self.model.is_none()
            && let Cell::Text(model) = slice.cell("model", first)
        {
            self.model = Some(model.to_owned());
        }
        let index = slice.column("index").and_then(|it| it.whole(first));
        self.index = self.index.or(index.and_then(|it| u32::try_from(it).ok()));
        Ok(stamped)
    }

    /// The part of the recording.
    ///
    /// Errors, as a sentence: there was no sample.
    pub fn finish(self) -> Result<Recording, Problem> {
        if self.rows == 0 {
            return Err("holds no sample".to_owned());
        }
        let mut recording = Recording { outline: self.outline, traces: BTreeMap::new() };
        for (subject, gathered) in self.subjects {
            recording.traces.insert(subject, gathered.into_trace());
        }
        if recording.traces.values().all(|it| it.series.is_empty()) {
            return Err("holds no reading of a metric that is known".to_owned());
        }
        if !self.has_outline {
            let series = || recording.traces.values().flat_map(|it| it.series.values());
            let device = self.key.gpu.as_deref().map(|gpu| Device {
                host: self.key.host.clone(),
                model: self.model.clone(),
                index: self.index,
                ..Device::named(GpuId::new(gpu))
            });
            recording.outline = Outline {
                devices: device.into_iter().collect(),
                subjects: recording.traces.keys().cloned().collect(),
                span: series().filter_map(Series::span).reduce(TimeSpan::hull),
                readings: series().map(|it| it.len() as u64).sum(),
                ..Outline::default()
            };
        }
        Ok(recording)
    }
}

fn at_row(slice: &RowSlice<'_>, row: usize, what: &str) -> Problem {
    format!("row {} of the stream: {what}", slice.first_row + (row - slice.rows.start) as u64)
}

/// Refuses columns of a type that cannot be what their name says.
fn check(slice: &RowSlice<'_>) -> Result<(), Problem> {
    let refuse = |name: &str, column: &Column, needed: &str| {
        Err(format!("column `{name}` holds {}, and has to hold {needed}", column.kind()))
    };
    for (name, column) in slice.columns() {
        let is_text = matches!(column, Column::Text { .. });
        let is_number = matches!(column, Column::Whole(_) | Column::Number(_));
        let is_fit = match name {
            _ if matches!(column, Column::Missing) => true,
            "time" => matches!(column, Column::Instant(_) | Column::Whole(_)),
            "tenant" | "outline" | "model" => is_text,
            "gpu" => is_text || matches!(column, Column::Whole(_)),
            _ if DeviceRows::is_wanted(name) => is_number,
            _ => true,
        };
        if !is_fit {
            let needed = match name {
                "time" => "stamps, or whole microseconds since 1970 UTC",
                "tenant" | "outline" | "model" | "gpu" => "text",
                _ => "numbers",
            };
            return refuse(name, column, needed);
        }
    }
    match slice.column("time") {
        Some(_) => Ok(()),
        None => Err("there is no column `time`".to_owned()),
    }
}

/// The stamp of a row.
fn micros(slice: &RowSlice<'_>, row: usize) -> Option<i64> {
    match slice.cell("time", row) {
        Cell::Instant(it) | Cell::Whole(it) => Some(it),
        _ => None,
    }
}

/// Whom a row is about, as docs/RECORDING.md says.
fn subject(slice: &RowSlice<'_>, row: usize) -> Result<Subject, Problem> {
    let number = |name: &str| -> Result<Option<u32>, Problem> {
        let Some(column) = slice.column(name) else { return Ok(None) };
        if column.cell(row) == Cell::Missing {
            return Ok(None);
        }
        let number = column.whole(row).and_then(|it| u32::try_from(it).ok());
        number.map(Some).ok_or_else(|| format!("its `{name}` is no number from 0 to {}", u32::MAX))
    };
    let gpu = match slice.cell("gpu", row) {
        Cell::Text(it) if !it.is_empty() => Some(GpuId::new(it)),
        Cell::Whole(it) => {
            let index = u32::try_from(it);
            Some(GpuId::from_index(index.map_err(|_| format!("there is no GPU {it}"))?))
        }
        _ => None,
    };
    if let Cell::Text(tenant) = slice.cell("tenant", row)
        && !tenant.is_empty()
    {
        return Ok(Subject::Tenant { gpu, tenant: TenantId::new(tenant) });
    }
    let gpu = gpu.ok_or_else(|| "it names neither a GPU nor a tenant".to_owned())?;
    if let Some(pid) = number("pid")? {
        let started = slice.column("process_started_us").and_then(|it| it.whole(row));
        let process = ProcessKey { pid, started: started.map(Timestamp::from_micros) };
        return Ok(Subject::Process { gpu, process });
    }
    let Some(gpu_instance) = number("gpu_instance")? else { return Ok(Subject::device(&gpu)) };
    let instance = MigInstanceId {
        gpu,
        gpu_instance,
        compute_instance: number("compute_instance")?,
        generation: number("mig_generation")?.unwrap_or(0),
    };
    Ok(Subject::MigInstance { instance })
}

/// Adds the rows of one subject.
fn gather(slice: &RowSlice<'_>, ranges: &[Range<usize>], gathered: &mut Gathered) {
    let rows = || ranges.iter().cloned().flatten();
    let times: Vec<i64> = rows().filter_map(|it| micros(slice, it)).collect();
    gathered.stamps(&times);
    if let Some(sources) = slice.column("source") {
        let number = |it: usize| sources.whole(it).and_then(|it| i32::try_from(it).ok());
        gathered.sources(rows().map(|it| number(it).unwrap_or(-1)));
    }
    let mut values: Vec<Option<f64>> = Vec::with_capacity(times.len());
    for (name, column) in slice.columns() {
        let Some(metric) = Metric::from_key(name) else { continue };
        values.clear();
        values.extend(rows().map(|it| stored(metric, column.cell(it))));
        match values.iter().flatten().count() {
            0 => {}
            all if all == values.len() => {
                let all: Vec<f64> = values.iter().flatten().copied().collect();
                gathered.fill_all(metric, all.into_iter());
            }
            _ => gathered.fill_some(metric, values.iter().copied()),
        }
    }
}

/// A reading with the digits that a recording would have kept of it.
fn stored(metric: Metric, cell: Cell<'_>) -> Option<f64> {
    let value = match cell {
        Cell::Whole(it) => it as f64,
        Cell::Number(it) => it,
        _ => return None,
    };
    Some(match metric.spec().precision {
        Precision::Single => f64::from(value as f32),
        Precision::Whole => value.round(),
    })
}
