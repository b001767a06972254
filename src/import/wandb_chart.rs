//! Charts of Weights & Biases, exported from the page of a run as CSV: `RUN - system/gpu.0.gpu`, with `__MIN` and `__MAX`.
//!
//! A chart that had more samples than points shows means of buckets. Each run counts its relative time from its own
//! start, so that only one run makes a recording. Source: W&B, "Line plots", and exports in public repositories.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::metric::{Dialect, Metric};
use crate::domain::source::Reading;
use crate::domain::time::Timestamp;
use crate::import::error::ImportError;
use crate::import::run::ImportRun;
use crate::import::smi::csv::split;
use crate::import::text::cells::number;
use crate::import::text::clock::RowClock;
use crate::import::text::lines::{Lines, head_lines};
use crate::import::text::stamp::{EpochUnit, epoch};
use crate::import::wandb::{Name, WandbFile};
use crate::import::{Importer, Likeness};
use std::collections::BTreeSet;
use std::io::BufRead;

/// What stands between the name of a run and of a metric.
const BETWEEN: &str = " - ";
/// How the name of a group of runs begins.
const GROUP: &str = "Group: ";
/// From here on a number of seconds since 1970 is one of milliseconds: seconds would lie in the year 5138.
const MILLISECONDS_FROM: i64 = 100_000_000_000 * 1_000_000;

/// Columns of time, and what they count.
const AXES: [(&str, Axis); 7] = [
    ("Relative Time (Wall)", Axis::Relative),
    ("Relative Time (Process)", Axis::Relative),
    ("_runtime", Axis::Relative),
    ("Wall Time", Axis::Wall),
    ("_timestamp", Axis::Wall),
    ("Timestamp", Axis::Wall),
    ("timestamp", Axis::Wall),
];

/// Reads charts of W&B.
pub struct WandbChart;

impl Importer for WandbChart {
    fn id(&self) -> &'static str {
        "wandb-chart"
    }

    fn about(&self) -> &'static str {
        "csv of a system chart of one run, exported from the W&B page"
    }

    fn recognise(&self, head: &[u8]) -> Likeness {
        match head_lines(head).iter().take(20).any(|it| Header::of(&split(it)).is_some()) {
            true => Likeness::Sure,
            false => Likeness::No,
        }
    }

    fn import(&self, input: &mut dyn BufRead, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut chart: Option<Chart> = None;
        let mut lines = Lines::new(input);
        while let Some(line) = lines.next(run)? {
            let cells = split(&line);
            if let Some(header) = Header::of(&cells) {
                match &chart {
                    Some(it) if it.header == header => {}
                    Some(_) => run.reject("", "one chart in a file", &line),
                    None => chart = Some(Chart::new(run, header)?),
                }
                continue;
            }
            match &mut chart {
                Some(it) if it.header.count == cells.len() => it.row(run, &cells)?,
                _ if line.trim().is_empty() => {}
                Some(it) => run.reject("", &format!("{} cells", it.header.count), &line),
                None => {
                    run.reject("", "a header with columns like `RUN - system/gpu.0.gpu`", &line)
                }
            }
        }
        match chart {
            Some(chart) => chart.finish(run),
            None => Ok(()),
        }
    }
}

/// What a column of time counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Axis {
    /// Seconds since the run began.
    Relative,
    /// Seconds or milliseconds since 1970, or a date.
    Wall,
}

/// A column of values, and those of its least and greatest sample in each point.
#[derive(Debug, PartialEq, Eq)]
struct Column {
    place: usize,
    name: String,
    bounds: Option<(usize, usize)>,
}

/// The columns of a chart.
#[derive(Debug, PartialEq, Eq)]
struct Header {
    count: usize,
    first: String,
    time: Option<(usize, Axis)>,
    columns: Vec<Column>,
    runs: BTreeSet<String>,
}

impl Header {
    /// The header in these cells; `None` where none of them is a system metric of a GPU in a run.
    fn of(cells: &[&str]) -> Option<Self> {
        let mut columns = Vec::new();
        let mut runs = BTreeSet::new();
        for (place, cell) in cells.iter().enumerate() {
            let Some((run, name)) = cell.rsplit_once(BETWEEN) else { continue };
            if Name::parse(name).is_none() || name.ends_with("__MIN") || name.ends_with("__MAX") {
                continue;
            }
            let at = |end: &str| cells.iter().position(|it| it.strip_suffix(end) == Some(*cell));
            let bounds = at("__MIN").zip(at("__MAX"));
            columns.push(Column { place, name: name.to_owned(), bounds });
            runs.insert(run.to_owned());
        }
        let axis = |it: &(&str, Axis)| {
            cells.iter().position(|cell| *cell == it.0).map(|place| (place, it.1))
        };
        let (count, time) = (cells.len(), AXES.iter().find_map(axis));
        let first = cells.first().map(|it| (*it).to_owned()).unwrap_or_default();
        (!columns.is_empty()).then_some(Self { count, first, time, columns, runs })
    }
}

/// A chart that is being read.
struct Chart {
    header: Header,
    time: (usize, Axis),
    clock: RowClock<()>,
    file: WandbFile,
    points: u64,
    buckets: u64,
}

impl Chart {
    /// A chart with this header.
    ///
    /// Errors: it has no time axis, or it is of several runs, or of a group of them.
    fn new(run: &ImportRun<'_>, header: Header) -> Result<Self, ImportError> {
        let Some(time) = header.time else {
            let remedy = "set the x axis of the panel to Wall Time or Relative Time (Wall), and export it again";
            return Err(run.structure_error("a chart over time", &header.first, remedy));
        };
        if let Some(group) = header.runs.iter().find(|it| it.starts_with(GROUP)) {
            let remedy = "turn grouping off in the panel, show one run, and export it again";
            return Err(run.structure_error(
                "a run of its own, no mean over several",
                group,
                remedy,
            ));
        }
        if header.runs.len() > 1 {
            let runs: Vec<&str> = header.runs.iter().map(String::as_str).collect();
            let remedy = "nothing says whether these runs shared a host or a time: hide all runs but one in the panel and export it again, or keep the columns of one";
            return Err(run.structure_error("a chart of one run", &runs.join(", "), remedy));
        }
        let clock = match time.1 {
            Axis::Relative => "made from --start and the run's own clock",
            Axis::Wall => "UTC",
        };
        let mut file = WandbFile::default();
        file.origin.clock = clock.to_owned();
        let is_mean = |it: &&Column| it.bounds.is_some();
        file.origin.readings = header.columns.iter().filter(is_mean).filter_map(mean).collect();
        Ok(Self { header, time, clock: RowClock::new(run, None), file, points: 0, buckets: 0 })
    }

    fn row(&mut self, run: &mut ImportRun<'_>, cells: &[&str]) -> Result<(), ImportError> {
        let Some(at) = self.stamp(run, cells[self.time.0])? else { return Ok(()) };
        self.points += 1;
        let differ = |it: &Column| {
            let cell = |place: usize| cells.get(place).and_then(|it| number(it).ok().flatten());
            let (least, greatest) = it.bounds?;
            Some(cell(least)? < cell(greatest)?)
        };
        self.buckets += u64::from(self.header.columns.iter().any(|it| differ(it) == Some(true)));
        let named = self.header.columns.iter().map(|it| (it.name.as_str(), cells[it.place]));
        let named: Vec<(&str, &str)> = named.collect();
        self.file.row_at(run, at, &named)
    }

    /// When a point was; `None` when its stamp was rejected. Errors: it is relative, and the user gave no start.
    fn stamp(
        &mut self,
        run: &mut ImportRun<'_>,
        cell: &str,
    ) -> Result<Option<Timestamp>, ImportError> {
        let column = if self.time.1 == Axis::Relative { "Relative Time" } else { "Wall Time" };
        let seconds = epoch(cell, EpochUnit::Seconds);
        if self.time.1 == Axis::Relative {
            let no_stamps = || ImportError::NoStamps { file: run.file().to_owned() };
            let start = run.options.start.ok_or_else(no_stamps)?;
            let read = seconds.map(|it| start.plus_micros(it.as_micros()));
            return Ok(read.map_err(|found| run.reject(column, "seconds", &found)).ok());
        }
        Ok(match seconds {
            Ok(it) if it.as_micros() < MILLISECONDS_FROM => Some(it),
            Ok(_) => epoch(cell, EpochUnit::Milliseconds).ok(),
            Err(_) => self.clock.read(run, column, cell),
        })
    }

    fn finish(self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        if self.time.1 == Axis::Relative && self.points > 0 {
            let detail =
                "the chart counts seconds since its run began; --start was taken for that moment"
                    .to_owned();
            run.warn(detail.clone());
            let remedy = "export the chart over Wall Time";
            run.blind_spot(BlindSpotKind::ClockAssumed, None, None, detail, remedy)?;
        }
        if self.buckets > 0 {
            let detail = format!(
                "the chart was down-sampled: {} of {} points are means of several samples, and what happened within them is lost",
                self.buckets, self.points
            );
            run.warn(detail.clone());
            let remedy = "ask for every sample: run.history(stream=\"events\", samples=1000000)";
            run.blind_spot(BlindSpotKind::TooCoarse, None, None, detail, remedy)?;
        }
        self.clock.report_assumptions(run)?;
        self.file.report(run)
    }
}

/// The metric of a column whose points may be means.
fn mean(column: &Column) -> Option<(Metric, Reading)> {
    let key = Name::parse(&column.name)?.key;
    let (metric, _) = Metric::from_foreign(Dialect::Wandb, &key)?;
    Some((metric, Reading::WindowAverage { window: None }))
}

#[cfg(test)]
mod tests;
