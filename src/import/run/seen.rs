//! Which fields each subject was asked for, and which it ever answered.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::time::Timestamp;
use crate::import::error::ImportError;
use crate::import::run::ImportRun;
use std::collections::BTreeMap;

/// A set of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MetricSet(u128);

impl MetricSet {
    /// Adds a metric.
    pub fn insert(&mut self, metric: Metric) {
        self.0 |= 1 << metric as u32;
    }

    /// Whether the metric is in the set.
    pub fn contains(self, metric: Metric) -> bool {
        self.0 & (1 << metric as u32) != 0
    }

    /// Whether nothing is in the set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// What is in this set but not in the other.
    pub fn without(self, other: MetricSet) -> MetricSet {
        MetricSet(self.0 & !other.0)
    }

    /// The metrics, in the order of the table.
    pub fn iter(self) -> impl Iterator<Item = Metric> {
        Metric::all().filter(move |it| self.contains(*it))
    }
}

impl FromIterator<Metric> for MetricSet {
    fn from_iter<I: IntoIterator<Item = Metric>>(metrics: I) -> Self {
        let mut set = Self::default();
        metrics.into_iter().for_each(|it| set.insert(it));
        set
    }
}

/// What one subject was asked and what it answered.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// Fields that the file has a place for.
    pub asked: MetricSet,
    /// Fields that had a believable reading at least once.
    pub answered: MetricSet,
    last: Option<Timestamp>,
    /// Readings of the row before.
    before: Vec<(Metric, f64)>,
}

impl Answers {
    /// Fields that never had a reading.
    pub fn silent(&self) -> MetricSet {
        self.asked.without(self.answered)
    }
}

/// Why a field never had a reading, and what would help.
pub struct Silence {
    /// The kind of blind spot.
    pub kind: BlindSpotKind,
    /// One sentence.
    pub detail: String,
    /// What would let it be seen; empty when nothing can.
    pub remedy: String,
}

impl Silence {
    /// A column without any reading, for which there is no explanation.
    pub fn unexplained(metric: Metric) -> Self {
        Self {
            kind: BlindSpotKind::NotReported,
            detail: format!("{}: the column is there but never has a reading", metric.spec().label),
            remedy: String::new(),
        }
    }

    /// A field that MIG takes from the whole GPU; `sign` says by what it shows.
    pub fn hidden_by_mig(metric: Metric, sign: &str) -> Self {
        Self {
            kind: BlindSpotKind::HiddenByMig,
            detail: format!("{}: {sign}", metric.spec().label),
            remedy: "record the instances: dcgmi dmon -e 1001,1002,1005".to_owned(),
        }
    }
}

/// All subjects of a file, with what they answered.
#[derive(Debug, Default)]
pub struct Seen {
    subjects: BTreeMap<Subject, Answers>,
    went_back: u64,
    contradicted: u64,
}

impl Seen {
    /// Gives a row to the sink and remembers which of the fields asked for it answered.
    ///
    /// A row that is older than one before it is taken too, and counted: the sink sorts by time. So is one that says something
    /// else about the instant of the row before: the sink keeps the last.
    pub fn row(
        &mut self,
        run: &mut ImportRun<'_>,
        at: Timestamp,
        subject: &Subject,
        asked: MetricSet,
        readings: &[(Metric, f64)],
    ) -> Result<(), ImportError> {
        if !self.subjects.contains_key(subject) {
            self.subjects.insert(subject.clone(), Answers::default());
        }
        if let Some(answers) = self.subjects.get_mut(subject) {
            if answers.last.is_some_and(|it| at < it) {
                self.went_back += 1;
            }
            let is_other = |it: &(Metric, f64)| {
                readings.iter().any(|reading| reading.0 == it.0 && reading.1 != it.1)
            };
            if answers.last == Some(at) && answers.before.iter().any(is_other) {
                self.contradicted += 1;
            }
            answers.before.clear();
            answers.before.extend_from_slice(readings);
            answers.last = answers.last.max(Some(at));
            answers.asked.0 |= asked.0;
            for (metric, _) in readings.iter().filter(|it| it.0.is_plausible(it.1)) {
                answers.answered.insert(*metric);
            }
        }
        run.row(at, subject, readings)
    }

    /// Every subject with its answers.
    pub fn subjects(&self) -> impl Iterator<Item = (&Subject, &Answers)> {
        self.subjects.iter()
    }

    /// Notes one blind spot for each field of each subject that never had a reading.
    pub fn report_silence(
        &self,
        run: &mut ImportRun<'_>,
        explain: impl Fn(&Subject, Metric) -> Silence,
    ) -> Result<(), ImportError> {
        if self.went_back > 0 {
            let rows = if self.went_back == 1 { "row was" } else { "rows were" };
            run.warn(format!("{} {rows} older than one before and sorted in", self.went_back));
        }
        if self.contradicted > 0 {
            let rows = if self.contradicted == 1 { "row says" } else { "rows say" };
            run.warn(format!(
                "{} {rows} something else about the same instant as the row before; the last one counts",
                self.contradicted
            ));
        }
        for (subject, answers) in &self.subjects {
            for metric in answers.silent().iter() {
                let Silence { kind, detail, remedy } = explain(subject, metric);
                run.blind_spot(kind, Some(subject.clone()), Some(metric), detail, &remedy)?;
            }
        }
        Ok(())
    }
}

/// Whether MIG takes this field from the whole GPU: the driver counts no engine's utilisation then.
pub fn is_hidden_by_mig(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::GpuUtilization
            | Metric::MemoryUtilization
            | Metric::EncoderUtilization
            | Metric::DecoderUtilization
            | Metric::JpegUtilization
            | Metric::OfaUtilization
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ident::GpuId;
    use crate::import::ImportOptions;
    use crate::import::testing::{START, in_run};

    #[test]
    fn a_set_has_room_for_every_metric() {
        let all: MetricSet = Metric::all().collect();
        assert_eq!(all.iter().count(), Metric::all().count());
        assert!(all.without(all).is_empty());
    }

    #[test]
    fn a_row_that_contradicts_the_one_before_is_counted_and_one_that_repeats_it_is_not() {
        let mut seen = Seen::default();
        in_run(&ImportOptions::default(), |run| {
            let (power, clock) = (Metric::Power, Metric::SmClock);
            for (seconds, readings) in [
                (1, vec![(power, 1.0), (clock, 5.0)]),
                (1, vec![(power, 1.0)]),
                (1, vec![(clock, 5.0)]),
                (2, vec![(power, 1.0)]),
                (2, vec![(power, 2.0)]),
            ] {
                let at = START.plus_micros(seconds * 1_000_000);
                let subject = Subject::device(&GpuId::from_index(0));
                seen.row(run, at, &subject, MetricSet::default(), &readings).unwrap();
            }
            assert_eq!((seen.contradicted, seen.went_back), (1, 0));
        });
    }

    #[test]
    fn a_row_that_goes_back_in_time_is_taken_and_counted() {
        let mut seen = Seen::default();
        in_run(&ImportOptions::default(), |run| {
            for (gpu, seconds) in [("gpu0", 10), ("gpu0", 20), ("gpu1", 15), ("gpu0", 15)] {
                let readings = [(Metric::Power, 1.0)];
                let at = START.plus_micros(seconds * 1_000_000);
                let subject = Subject::device(&GpuId::new(gpu));
                seen.row(run, at, &subject, MetricSet::default(), &readings).unwrap();
            }
            assert_eq!((run.rows(), run.rejection_count(), seen.went_back), (4, 0, 1));
        });
    }
}
