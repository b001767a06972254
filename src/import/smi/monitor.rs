//! What `nvidia-smi dmon` and `pmon` have in common: header lines, units, stamps and GPUs.

use crate::domain::ident::GpuId;
use crate::domain::metric::{Dialect, Metric};
use crate::domain::outline::Device;
use crate::domain::sink::Fact;
use crate::domain::time::Timestamp;
use crate::import::error::ImportError;
use crate::import::run::ImportRun;
use crate::import::run::seen::MetricSet;
use crate::import::text::cells::{factor_to, is_missing, number};
use crate::import::text::clock::{RowClock, Ticks};
use std::collections::BTreeSet;

/// Columns that name no metric.
const KEY_COLUMNS: &[&str] = &["date", "time", "gpu", "pid", "type", "command"];

/// Columns that are known and hold nothing that a recording keeps.
const UNUSED_COLUMNS: &[&str] = &["pviol", "tviol", "sbecc"];

/// What the lines that begin with `#` say about the columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Columns {
    names: Vec<String>,
    /// Position, metric and factor of each column that holds a metric.
    metrics: Vec<(usize, Metric, f64)>,
}

/// The words of a line that begins with `#`, without it; `None` for any other line.
fn heading_words(line: &str) -> Option<Vec<&str>> {
    Some(line.trim_start().strip_prefix('#')?.split_whitespace().collect())
}

/// Whether a line names columns: the one among the `#` lines that has a column `gpu`.
pub fn column_names(line: &str) -> Option<Vec<String>> {
    let words = heading_words(line)?;
    let names: Vec<String> = words.iter().map(|it| it.to_ascii_lowercase()).collect();
    names.iter().any(|it| it == "gpu").then_some(names)
}

impl Columns {
    /// The columns of a line of names; unknown ones are named once in a warning.
    pub fn new(run: &mut ImportRun<'_>, names: Vec<String>, dialect: Dialect) -> Self {
        let mut metrics = Vec::new();
        let mut unknown = Vec::new();
        for (position, name) in names.iter().enumerate() {
            match Metric::from_foreign(dialect, name) {
                Some((metric, factor)) => metrics.push((position, metric, factor)),
                None if KEY_COLUMNS.contains(&name.as_str()) => {}
                None if UNUSED_COLUMNS.contains(&name.as_str()) => {}
                None => unknown.push(name.as_str()),
            }
        }
        if !unknown.is_empty() {
            run.warn(format!("columns not known here were left out: {}", unknown.join(", ")));
        }
        Self { names, metrics }
    }

    /// Takes the units from the line below the names, where they fit; `Idx` stands under `gpu`.
    pub fn take_units(&mut self, line: &str) {
        let units = heading_words(line).unwrap_or_default();
        if units.len() < self.metrics.last().map_or(0, |it| it.0 + 1) {
            return;
        }
        for (position, metric, factor) in &mut self.metrics {
            if let Some(printed) = factor_to(metric.spec().unit, units[*position]) {
                *factor = printed;
            }
        }
    }

    /// Names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Position of a column.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|it| it == name)
    }

    /// Metrics that the columns have a place for.
    pub fn asked(&self) -> MetricSet {
        self.metrics.iter().map(|it| it.1).collect()
    }

    /// The readings of a row; a cell that is no number is rejected.
    pub fn readings(&self, run: &mut ImportRun<'_>, cells: &[&str]) -> Vec<(Metric, f64)> {
        let mut readings = Vec::with_capacity(self.metrics.len());
        for (position, metric, factor) in &self.metrics {
            let Some(cell) = cells.get(*position).filter(|it| !is_missing(it)) else {
                continue;
            };
            match number(cell) {
                Ok(value) => readings.extend(value.map(|it| (*metric, it * factor))),
                Err(found) => run.reject(&self.names[*position], "a number", &found),
            }
        }
        readings
    }

    /// The index of the row's GPU; a cell that is none is rejected.
    pub fn gpu(&self, run: &mut ImportRun<'_>, cells: &[&str]) -> Option<u32> {
        let cell = cells.get(self.position("gpu")?)?;
        let index = cell.parse().ok();
        if index.is_none() {
            run.reject("gpu", "the index of a GPU", cell);
        }
        index
    }
}

/// Takes the names and units of columns from a line; whether it was no row but blank or such a line.
pub fn take_heading(
    columns: &mut Option<Columns>,
    run: &mut ImportRun<'_>,
    line: &str,
    dialect: Dialect,
) -> bool {
    if !line.trim_start().starts_with('#') {
        return line.trim().is_empty();
    }
    match (column_names(line), columns) {
        (Some(names), columns) => *columns = Some(Columns::new(run, names, dialect)),
        (None, Some(columns)) => columns.take_units(line),
        (None, None) => {}
    }
    true
}

/// The rows of a file: stamps them, and tells where they come from and which GPUs they are about.
///
/// Stamps are made of a date and a time, of a time alone, or from the user's start.
pub struct Rows<K> {
    tool: &'static str,
    clock: RowClock<K>,
    devices: BTreeSet<u32>,
    /// Day and second of the day of the row before, where rows have a time but no date.
    day: Option<(jiff::civil::Date, i32)>,
}

impl<K: Ord> Rows<K> {
    /// The rows of a file of this tool, before the first.
    pub fn new(run: &ImportRun<'_>, tool: &'static str) -> Self {
        Self { tool, clock: RowClock::new(run, None), devices: BTreeSet::new(), day: None }
    }

    /// Begins a row about a GPU: its stamp, after whatever has to be told before it.
    ///
    /// `None` when its own stamp was not readable and was rejected. `begins` is asked only of rows
    /// without stamps: whether the row begins a tick although its key did not occur before. Errors:
    /// no stamps, and none made up by the user.
    pub fn begin(
        &mut self,
        run: &mut ImportRun<'_>,
        columns: &Columns,
        cells: &[&str],
        (index, key): (u32, K),
        begins: impl Fn(&Ticks<K>) -> bool,
    ) -> Result<Option<Timestamp>, ImportError> {
        let Some(at) = self.stamp(run, columns, cells, key, begins)? else {
            return Ok(None);
        };
        run.describe_source(|options| self.clock.origin(options, self.tool))?;
        if self.devices.insert(index) {
            let gpu = GpuId::from_index(index);
            run.fact(Fact::Device(Device { index: Some(index), ..Device::named(gpu) }))?;
        }
        Ok(Some(at))
    }

    fn stamp(
        &mut self,
        run: &mut ImportRun<'_>,
        columns: &Columns,
        cells: &[&str],
        key: K,
        begins: impl Fn(&Ticks<K>) -> bool,
    ) -> Result<Option<Timestamp>, ImportError> {
        let date = columns.position("date").and_then(|it| cells.get(it));
        let time = columns.position("time").and_then(|it| cells.get(it));
        let text = match (date, time) {
            (Some(date), Some(time)) => format!("{date} {time}"),
            (None, Some(time)) => match self.with_day(run, time)? {
                Some(text) => text,
                None => return Ok(None),
            },
            _ => return self.clock.make(run, key, begins).map(Some),
        };
        Ok(self.clock.read(run, "time", &text))
    }

    /// Puts the day in front of a time; the day is that of the start, and moves on at midnight.
    fn with_day(
        &mut self,
        run: &mut ImportRun<'_>,
        time: &str,
    ) -> Result<Option<String>, ImportError> {
        const HALF_A_DAY: i32 = 12 * 3600;
        let Ok(clock) = jiff::civil::Time::strptime("%H:%M:%S", time) else {
            run.reject("time", "a time of day", time);
            return Ok(None);
        };
        let second = i32::from(clock.hour()) * 3600
            + i32::from(clock.minute()) * 60
            + i32::from(clock.second());
        let (day, last) = match self.day {
            Some(it) => it,
            None => (first_day(run)?, second),
        };
        let day = if second < last - HALF_A_DAY { day.tomorrow().unwrap_or(day) } else { day };
        self.day = Some((day, second));
        Ok(Some(format!("{day} {time}")))
    }

    /// Tells what had to be assumed about the stamps.
    ///
    /// Errors: no line named the columns.
    pub fn finish(
        &self,
        run: &mut ImportRun<'_>,
        columns: Option<&Columns>,
        tick_end: &str,
    ) -> Result<(), ImportError> {
        if columns.is_none() && run.line > 0 {
            let remedy =
                "keep the lines that begin with `#` when you record: they name the columns";
            let expected = format!("a line `# gpu …` as {} prints it", self.tool);
            return Err(run.structure_error(&expected, "none", remedy));
        }
        self.clock.finish(run, tick_end, "record with stamps: -o DT")
    }
}

/// The day of the user's start, in the zone of the host.
fn first_day(run: &ImportRun<'_>) -> Result<jiff::civil::Date, ImportError> {
    let no_stamps = || ImportError::NoStamps { file: run.file().to_owned() };
    let start = run.options.start.ok_or_else(no_stamps)?;
    let zone = run.options.time_zone.clone().unwrap_or(jiff::tz::TimeZone::UTC);
    let start = jiff::Timestamp::from_microsecond(start.as_micros()).map_err(|_| no_stamps())?;
    Ok(zone.to_datetime(start).date())
}
