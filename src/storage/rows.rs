//! Rows of one subject in memory, column by column; a missing reading is a NaN, in here only.

use crate::domain::metric::Metric;
use crate::domain::time::{TimeSpan, Timestamp};
use std::collections::BTreeMap;

/// Rows of one subject; columns may be shorter than the stamps and then end in missing readings.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) times: Vec<i64>,
    pub(crate) sources: Vec<i32>,
    pub(crate) columns: BTreeMap<Metric, Vec<f64>>,
}

impl Rows {
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
}
