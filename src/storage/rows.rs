//! Rows of one subject in memory, column by column; a missing reading is a NaN, in here only.

use crate::domain::metric::Metric;
use crate::domain::recording::Trace;
use crate::domain::series::Series;
use crate::domain::source::SourceId;
use crate::domain::time::{TimeSpan, Timestamp};
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Rows of one subject; columns may be shorter than the stamps and then end in missing readings.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) times: Vec<i64>,
    pub(crate) sources: Vec<i32>,
    pub(crate) columns: BTreeMap<Metric, Vec<f64>>,
    /// Rows that are still to come, as far as that is known: room for them is taken at once.
    pub(crate) expected: usize,
}

impl Rows {
    /// No rows yet, with room for so many: a vector that grows holds up to three times what it needs.
    pub(crate) fn expecting(rows: usize) -> Self {
        Self {
            times: Vec::with_capacity(rows),
            sources: Vec::with_capacity(rows),
            columns: BTreeMap::new(),
            expected: rows,
        }
    }

    /// The column of a metric, with room for all rows to come when it is new.
    pub(crate) fn column(&mut self, metric: Metric) -> &mut Vec<f64> {
        let rows = self.expected;
        self.columns.entry(metric).or_insert_with(|| Vec::with_capacity(rows))
    }

    /// Adds readings; those that carry the last row's stamp and source join that row.
    pub(crate) fn add(&mut self, at: Timestamp, source: u16, readings: &[(Metric, f64)]) {
        let key = (at.as_micros(), i32::from(source));
        let last = self.times.last().zip(self.sources.last());
        if last != Some((&key.0, &key.1)) {
            self.times.push(key.0);
            self.sources.push(key.1);
        }
        let row = self.times.len() - 1;
        for (metric, value) in readings.iter().filter(|it| it.1.is_finite()) {
            let column = self.columns.entry(*metric).or_default();
            if column.len() <= row {
                column.resize(row, f64::NAN);
                column.push(*value);
            } else {
                column[row] = *value;
            }
        }
    }

    /// Adds the rows of another that lie in the span, with these metrics only.
    pub(crate) fn append(
        &mut self,
        other: &Rows,
        span: Option<TimeSpan>,
        metrics: Option<&[Metric]>,
    ) {
        for (row, time) in other.times.iter().enumerate() {
            let at = Timestamp::from_micros(*time);
            if span.is_some_and(|it| !it.contains(at)) {
                continue;
            }
            let is_wanted = |it: &Metric| metrics.is_none_or(|all| all.contains(it));
            let readings: Vec<(Metric, f64)> = other
                .columns
                .iter()
                .filter(|it| is_wanted(it.0))
                .filter_map(|(metric, column)| Some((*metric, *column.get(row)?)))
                .collect();
            let source = other.sources.get(row).copied().unwrap_or_default();
            self.add(at, u16::try_from(source).unwrap_or_default(), &readings);
        }
    }

    /// Makes every column as long as the stamps.
    pub(crate) fn pad(&mut self) {
        let rows = self.times.len();
        for column in self.columns.values_mut() {
            column.resize(rows, f64::NAN);
        }
    }

    /// Puts rows in time order, keeping the order of rows with one stamp.
    pub(crate) fn sort(&mut self) {
        self.pad();
        if self.times.is_sorted() {
            return;
        }
        let mut order: Vec<usize> = (0..self.times.len()).collect();
        order.sort_by_key(|row| self.times[*row]);
        self.times = order.iter().map(|row| self.times[*row]).collect();
        if self.sources.len() == order.len() {
            self.sources = order.iter().map(|row| self.sources[*row]).collect();
        }
        for column in self.columns.values_mut() {
            *column = order.iter().map(|row| column[*row]).collect();
        }
    }

    /// First and last stamp, the last included; `None` without rows. Needs sorted rows.
    pub(crate) fn span(&self) -> Option<TimeSpan> {
        let first = Timestamp::from_micros(*self.times.first()?);
        let last = Timestamp::from_micros(*self.times.last()?);
        Some(TimeSpan::covering(first, last))
    }

    /// Number of readings.
    pub(crate) fn readings(&self) -> u64 {
        self.columns.values().map(|it| it.iter().filter(|it| !it.is_nan()).count() as u64).sum()
    }

    /// The rows as series; of readings with one stamp the last one stays. Sorts first.
    pub(crate) fn into_trace(mut self) -> Trace {
        self.sort();
        let unique = self.times.windows(2).all(|pair| pair[0] < pair[1]);
        let sources: BTreeSet<SourceId> =
            self.sources.iter().filter_map(|it| u16::try_from(*it).ok()).map(SourceId).collect();
        self.sources = Vec::new();
        // The stamps stay where they are: a stamp is its microseconds.
        let times: Vec<Timestamp> = self.times.into_iter().map(Timestamp::from_micros).collect();
        let shared = Arc::new(times);
        let mut trace = Trace { sources, ..Trace::default() };
        for (metric, column) in self.columns {
            let is_full = unique && !column.iter().any(|it| it.is_nan());
            let series = if is_full {
                Series::new(Arc::clone(&shared), column)
            } else {
                let (times, values) = present(&shared, &column);
                Series::new(Arc::new(times), values)
            };
            if let Some(series) = series.filter(|it| !it.is_empty()) {
                trace.series.insert(metric, series);
            }
        }
        trace
    }
}

/// The readings that are there; of those with one stamp the last.
fn present(times: &[Timestamp], column: &[f64]) -> (Vec<Timestamp>, Vec<f64>) {
    let mut kept_times: Vec<Timestamp> = Vec::new();
    let mut kept_values: Vec<f64> = Vec::new();
    for (at, value) in times.iter().zip(column).filter(|it| !it.1.is_nan()) {
        if kept_times.last() == Some(at) {
            kept_times.pop();
            kept_values.pop();
        }
        kept_times.push(*at);
        kept_values.push(*value);
    }
    (kept_times, kept_values)
}
