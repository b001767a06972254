//! A sink that keeps everything in memory: for small recordings, tests and one window of a long one.

use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::outline::Outline;
use crate::domain::recording::{Recording, Trace};
use crate::domain::series::Series;
use crate::domain::sink::{Fact, Sink, SinkError};
use crate::domain::source::SourceId;
use crate::domain::time::{TimeSpan, Timestamp};
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

#[derive(Debug, Default)]
struct Column {
    times: Vec<Timestamp>,
    values: Vec<f64>,
}

/// A sink that keeps everything in memory.
#[derive(Debug, Default)]
pub struct Collector {
    outline: Outline,
    columns: BTreeMap<Subject, BTreeMap<Metric, Column>>,
    sources: BTreeMap<Subject, BTreeSet<SourceId>>,
}

impl Collector {
    /// An empty collector.
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything collected, sorted by time; of readings with one stamp the last one stays.
    pub fn into_recording(self) -> Recording {
        let mut recording = Recording { outline: self.outline, traces: BTreeMap::new() };
        let mut readings = 0;
        let mut span: Option<TimeSpan> = None;
        for (subject, columns) in self.columns {
            let sources = self.sources.get(&subject).cloned().unwrap_or_default();
            let mut trace = Trace { sources, ..Trace::default() };
            for (metric, column) in columns {
                if let Some(series) = sorted(column) {
                    readings += series.len() as u64;
                    span = match (span, series.span()) {
                        (Some(mine), Some(its)) => Some(mine.hull(its)),
                        (mine, its) => mine.or(its),
                    };
                    trace.series.insert(metric, series);
                }
            }
            recording.outline.subjects.push(subject.clone());
            recording.traces.insert(subject, trace);
        }
        recording.outline.merge(Outline { span, readings, ..Outline::default() });
        recording
    }
}

fn sorted(column: Column) -> Option<Series> {
    let Column { mut times, mut values } = column;
    if !times.windows(2).all(|pair| pair[0] < pair[1]) {
        let mut rows: Vec<(Timestamp, f64)> = times.into_iter().zip(values).collect();
        rows.sort_by_key(|it| it.0);
        rows.reverse();
        rows.dedup_by_key(|it| it.0);
        rows.reverse();
        (times, values) = rows.into_iter().unzip();
    }
    Series::compact(Arc::new(times), values)
}

impl Sink for Collector {
    fn row(
        &mut self,
        at: Timestamp,
        subject: &Subject,
        source: SourceId,
        readings: &[(Metric, f64)],
    ) -> Result<(), SinkError> {
        if !self.columns.contains_key(subject) {
            self.columns.insert(subject.clone(), BTreeMap::new());
        }
        if !self.sources.get(subject).is_some_and(|it| it.contains(&source)) {
            self.sources.entry(subject.clone()).or_default().insert(source);
        }
        if let Some(columns) = self.columns.get_mut(subject) {
            for (metric, value) in readings.iter().filter(|it| it.1.is_finite()) {
                let column = columns.entry(*metric).or_default();
                column.times.push(at);
                column.values.push(*value);
            }
        }
        Ok(())
    }

    fn fact(&mut self, fact: Fact) -> Result<(), SinkError> {
        self.outline.learn(fact);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ident::GpuId;

    #[test]
    fn readings_out_of_order_are_sorted_and_the_last_of_one_stamp_stays() {
        let gpu = Subject::device(&GpuId::from_index(0));
        let mut collector = Collector::new();
        for (micros, value) in [(20, 1.0), (10, 2.0), (20, 3.0)] {
            let at = Timestamp::from_micros(micros);
            collector.row(at, &gpu, SourceId(0), &[(Metric::SmActive, value)]).unwrap();
        }
        let recording = collector.into_recording();
        let series = recording.series(&gpu, Metric::SmActive).unwrap();
        assert_eq!(series.values(), [2.0, 3.0]);
        assert_eq!(recording.outline.readings, 2);
    }
}
