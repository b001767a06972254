//! Rows of one subject as they come from segments: columns in their smallest form, to become series.

use crate::domain::column::{Column, ColumnBuilder};
use crate::domain::metric::Metric;
use crate::domain::recording::Trace;
use crate::domain::series::Series;
use crate::domain::source::SourceId;
use crate::domain::time::{TimeSpan, Timestamp};
use crate::storage::rows::Rows;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Room is taken at once for so many rows at most: more may be claimed by a damaged footer.
const MOST_EXPECTED: usize = 1 << 23;

/// Rows of one subject, column by column.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    times: Vec<Timestamp>,
    sources: BTreeSet<SourceId>,
    columns: BTreeMap<Metric, Cells>,
    /// Rows that are still to come, as far as that is known: room for them is taken at once.
    expected: usize,
}

/// Columns that were read at the same instants.
type Together = (Arc<Vec<Timestamp>>, Vec<(Metric, Column)>);

/// The readings of one metric.
#[derive(Debug)]
struct Cells {
    values: ColumnBuilder,
    /// Stamps of the readings, where not every row has one.
    times: Option<Vec<Timestamp>>,
}

impl Gathered {
    /// No rows yet, with room for so many: a vector that grows holds up to three times what it needs.
    pub(crate) fn expecting(rows: usize) -> Self {
        let expected = rows.min(MOST_EXPECTED);
        Self { times: Vec::with_capacity(expected), expected, ..Self::default() }
    }

    /// Adds stamps, in microseconds; the readings of these rows follow with [`Self::fill`].
    pub(crate) fn stamps(&mut self, micros: &[i64]) {
        self.times.extend(micros.iter().copied().map(Timestamp::from_micros));
    }

    /// Adds sources, of which negative ones are none.
    pub(crate) fn sources(&mut self, numbers: impl IntoIterator<Item = i32>) {
        let mut last = None;
        for number in numbers {
            if last != Some(number) {
                self.sources.extend(u16::try_from(number).ok().map(SourceId));
                last = Some(number);
            }
        }
    }

    /// Adds a reading for each of the last rows that were stamped.
    pub(crate) fn fill_all(&mut self, metric: Metric, values: impl ExactSizeIterator<Item = f64>) {
        let before = self.times.len() - values.len();
        let cells = cells_of(&mut self.columns, metric, self.expected);
        if cells.times.is_none() && cells.values.len() < before {
            cells.times = Some(first_of(&self.times, cells.values.len(), self.expected));
        }
        if let Some(times) = &mut cells.times {
            times.extend_from_slice(&self.times[before..]);
        }
        cells.values.extend(values);
    }

    /// Adds readings for those of the last rows that have one.
    pub(crate) fn fill_some(
        &mut self,
        metric: Metric,
        values: impl ExactSizeIterator<Item = Option<f64>>,
    ) {
        let before = self.times.len() - values.len();
        let cells = cells_of(&mut self.columns, metric, self.expected);
        let held = cells.values.len();
        let own = || first_of(&self.times, held, self.expected);
        let times = cells.times.get_or_insert_with(own);
        let rows = self.times[before..].iter().zip(values);
        cells.values.extend(rows.filter_map(|(at, value)| {
            let value = value.filter(|it| !it.is_nan())?;
            times.push(*at);
            Some(value)
        }));
    }

    /// Adds the rows of a journal that lie in the span, with these metrics only.
    pub(crate) fn append(
        &mut self,
        rows: &Rows,
        span: Option<TimeSpan>,
        metrics: Option<&[Metric]>,
    ) {
        let is_inside = |it: &usize| {
            span.is_none_or(|span| span.contains(Timestamp::from_micros(rows.times[*it])))
        };
        let kept: Vec<usize> = (0..rows.times.len()).filter(is_inside).collect();
        let times: Vec<i64> = kept.iter().map(|it| rows.times[*it]).collect();
        self.stamps(&times);
        self.sources(kept.iter().filter_map(|it| rows.sources.get(*it).copied()));
        for (metric, column) in &rows.columns {
            if metrics.is_none_or(|all| all.contains(metric)) {
                self.fill_some(*metric, kept.iter().map(|it| column.get(*it).copied()));
            }
        }
    }

    /// The rows as series; of readings with one stamp the last one stays.
    pub(crate) fn into_trace(self) -> Trace {
        let mut trace = Trace { sources: self.sources, ..Trace::default() };
        let rows = self.times.len();
        let shared = Arc::new(self.times);
        let in_order = is_in_order(&shared);
        let mut together: Vec<(Metric, Column)> = Vec::new();
        let mut apart: Vec<Together> = Vec::new();
        for (metric, cells) in self.columns {
            let is_full = cells.times.is_none() && cells.values.len() == rows;
            let column = cells.values.finish();
            if is_full && in_order {
                together.push((metric, column));
                continue;
            }
            let times = cells.times.unwrap_or_else(|| shared[..column.len()].to_vec());
            let (times, column) = put_in_order(times, column);
            // What was asked at the same instants shares one copy of their stamps.
            match apart.iter_mut().find(|it| *it.0 == times) {
                Some(it) => it.1.push((metric, column)),
                None => apart.push((Arc::new(times), vec![(metric, column)])),
            }
        }
        apart.push((shared, together));
        for (times, columns) in apart {
            let (metrics, columns): (Vec<Metric>, Vec<Column>) = columns.into_iter().unzip();
            for (metric, series) in metrics.into_iter().zip(Series::together(times, columns)) {
                trace.series.extend(series.filter(|it| !it.is_empty()).map(|it| (metric, it)));
            }
        }
        trace
    }
}

/// The readings of a metric, with room for all rows to come when it is new.
fn cells_of(columns: &mut BTreeMap<Metric, Cells>, metric: Metric, expected: usize) -> &mut Cells {
    columns
        .entry(metric)
        .or_insert_with(|| Cells { values: ColumnBuilder::expecting(expected), times: None })
}

/// The first stamps, with room for all to come.
fn first_of(times: &[Timestamp], count: usize, expected: usize) -> Vec<Timestamp> {
    let mut first = Vec::with_capacity(expected.max(count));
    first.extend_from_slice(&times[..count]);
    first
}

fn is_in_order(times: &[Timestamp]) -> bool {
    times.windows(2).all(|pair| pair[0] < pair[1])
}

/// Readings by time; of those with one stamp the last.
fn put_in_order(times: Vec<Timestamp>, column: Column) -> (Vec<Timestamp>, Column) {
    if is_in_order(&times) {
        return (times, column);
    }
    let mut rows: Vec<(Timestamp, f64)> = times.into_iter().zip(column.into_values()).collect();
    rows.sort_by_key(|it| it.0);
    rows.reverse();
    rows.dedup_by_key(|it| it.0);
    rows.reverse();
    let times = rows.iter().map(|it| it.0).collect();
    let mut values = ColumnBuilder::expecting(rows.len());
    values.extend(rows.iter().map(|it| it.1));
    (times, values.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn micros(series: &Series) -> Vec<i64> {
        series.times().iter().map(|it| it.as_micros()).collect()
    }

    #[test]
    fn a_metric_that_comes_late_ends_early_or_skips_rows_has_stamps_of_its_own() {
        let mut gathered = Gathered::expecting(6);
        gathered.stamps(&[10, 20]);
        gathered.fill_all(Metric::Power, [1.0, 2.0].into_iter());
        gathered.fill_all(Metric::SmClock, [7.0, 7.0].into_iter());
        gathered.stamps(&[30, 40]);
        gathered.fill_all(Metric::Power, [3.0, 4.0].into_iter());
        gathered.fill_all(Metric::GpuUtilization, [50.0, 60.0].into_iter());
        gathered.stamps(&[50, 60]);
        gathered.fill_all(Metric::Power, [5.0, 6.0].into_iter());
        gathered.fill_some(Metric::GpuUtilization, [None, Some(70.0)].into_iter());
        gathered.fill_some(Metric::SmActive, [None, Some(0.5)].into_iter());
        let trace = gathered.into_trace();
        let seen = |metric| {
            let series = trace.get(metric).unwrap();
            (micros(series), series.values().to_vec())
        };
        let all = (vec![10, 20, 30, 40, 50, 60], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(seen(Metric::Power), all);
        assert_eq!(seen(Metric::SmClock), (vec![10, 20], vec![7.0, 7.0]));
        assert_eq!(seen(Metric::GpuUtilization), (vec![30, 40, 60], vec![50.0, 60.0, 70.0]));
        assert_eq!(seen(Metric::SmActive), (vec![60], vec![0.5]));
    }

    #[test]
    fn what_was_asked_at_the_same_instants_shares_its_stamps() {
        let mut gathered = Gathered::default();
        gathered.stamps(&[10, 20, 30]);
        gathered.fill_all(Metric::Power, [1.0; 3].into_iter());
        for metric in [Metric::SmClock, Metric::MemoryClock] {
            gathered.fill_some(metric, [Some(1.0), None, Some(1.0)].into_iter());
        }
        let trace = gathered.into_trace();
        let times = |metric| trace.get(metric).unwrap().shared_times();
        assert!(Arc::ptr_eq(&times(Metric::SmClock), &times(Metric::MemoryClock)));
        assert_eq!(micros(trace.get(Metric::SmClock).unwrap()), [10, 30]);
    }

    proptest! {
        #[test]
        fn rows_in_any_order_and_parts_become_the_last_reading_of_each_instant(
            rows in prop::collection::vec((0..30_i64, prop::option::of(0..300_i32)), 1..80),
            cuts in prop::collection::vec(0..80_usize, 0..4),
        ) {
            let mut expected: BTreeMap<i64, f64> = BTreeMap::new();
            for (at, value) in &rows {
                expected.extend(value.map(|it| (*at, f64::from(it))));
            }
            let mut cuts: Vec<usize> = cuts.into_iter().map(|it| it.min(rows.len())).collect();
            cuts.extend([0, rows.len()]);
            cuts.sort_unstable();
            let mut gathered = Gathered::default();
            for cut in cuts.windows(2) {
                let part = &rows[cut[0]..cut[1]];
                gathered.stamps(&part.iter().map(|it| it.0).collect::<Vec<i64>>());
                let values = part.iter().map(|it| it.1.map(f64::from));
                match part.iter().all(|it| it.1.is_some()) {
                    true => gathered.fill_all(Metric::Power, values.map(Option::unwrap_or_default)),
                    false => gathered.fill_some(Metric::Power, values),
                }
            }
            let trace = gathered.into_trace();
            let found: BTreeMap<i64, f64> = trace.get(Metric::Power).map_or(BTreeMap::new(), |it| {
                micros(it).into_iter().zip(it.values().iter().copied()).collect()
            });
            prop_assert_eq!(found, expected);
        }
    }
}
