//! Which fields each subject was asked for, and which it ever answered.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::{GpuId, Subject};
use crate::domain::metric::Metric;
use crate::domain::time::Timestamp;
use crate::import::error::ImportError;
use crate::import::run::ImportRun;
use std::collections::BTreeMap;

/// Answers are kept for so many processes.
const MOST_PROCESSES: usize = 16_384;
/// So many processes of a GPU have a blind spot each where one field of theirs is silent.
const MOST_TOLD: usize = 16;

/// A set of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
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

    /// The same of so many processes.
    fn of_many(self, metric: Metric, processes: u64) -> Self {
        let label = format!("{}: ", metric.spec().label);
        let rest = self.detail.strip_prefix(&label).unwrap_or(&self.detail);
        Self { detail: format!("{label}{processes} processes: {rest}"), ..self }
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
    processes: usize,
    /// How many stayed when some were forgotten last.
    stayed: usize,
    /// How many processes of a GPU were forgotten that never answered these fields, and one of them.
    forgotten: BTreeMap<(Option<GpuId>, MetricSet), (Subject, u64)>,
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
            if is_process(subject) {
                self.processes += 1;
                // Those that are there at once are not gone through again for each that comes.
                if self.processes > MOST_PROCESSES.max(self.stayed.saturating_mul(2)) {
                    self.forget();
                }
            }
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

    /// Forgets the half of the processes that were not seen for longest, but for how many there were.
    fn forget(&mut self) {
        let mut last: Vec<Option<Timestamp>> =
            self.subjects.iter().filter(|it| is_process(it.0)).map(|it| it.1.last).collect();
        let middle = last.len() / 2;
        let limit = *last.select_nth_unstable(middle).1;
        let is_old = |subject: &Subject, it: &Answers| is_process(subject) && it.last < limit;
        let old: Vec<(Subject, Answers)> =
            self.subjects.extract_if(.., |subject, it| is_old(subject, it)).collect();
        self.processes = self.processes.saturating_sub(old.len());
        self.stayed = self.processes;
        for (subject, answers) in old {
            let key = (subject.gpu().cloned(), answers.silent());
            self.forgotten.entry(key).or_insert((subject, 0)).1 += 1;
        }
    }

    /// Notes one blind spot for each field of each subject that never had a reading, and one for all processes of a GPU where they are many.
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
        let mut of_processes = BTreeMap::<_, Vec<(&Subject, u64)>>::new();
        for (subject, answers) in &self.subjects {
            for metric in answers.silent().iter() {
                let told = explain(subject, metric);
                if is_process(subject) {
                    of_processes
                        .entry((subject.gpu(), metric, told))
                        .or_default()
                        .push((subject, 1));
                } else {
                    run.silence(subject, metric, told)?;
                }
            }
        }
        for ((gpu, silent), (subject, count)) in &self.forgotten {
            for metric in silent.iter() {
                let key = (gpu.as_ref(), metric, explain(subject, metric));
                of_processes.entry(key).or_default().push((subject, *count));
            }
        }
        let mut each = Vec::new();
        for ((gpu, metric, told), silent) in of_processes {
            let count: u64 = silent.iter().map(|it| it.1).sum();
            match gpu.filter(|_| count > MOST_TOLD.min(silent.len()) as u64) {
                Some(gpu) => {
                    run.silence(&Subject::device(gpu), metric, told.of_many(metric, count))?;
                }
                None => each.extend(silent.into_iter().map(|it| (it.0, metric, told.clone()))),
            }
        }
        each.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
        each.into_iter().try_for_each(|(subject, metric, told)| run.silence(subject, metric, told))
    }
}

fn is_process(subject: &Subject) -> bool {
    matches!(subject, Subject::Process { .. })
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
    use crate::domain::collector::Collector;
    use crate::domain::source::SourceId;
    use crate::import::ImportOptions;
    use crate::import::testing::{START, in_run, process};

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
    fn silence_of_many_processes_is_one_sentence_however_many_were_forgotten() {
        for (count, sentences) in [(3_u32, 3), (17, 1), (40_000, 1)] {
            let mut seen = Seen::default();
            let options = ImportOptions::default();
            let mut sink = Collector::new();
            {
                let run = &mut ImportRun::new("test", "log", &options, SourceId(0), &mut sink);
                let asked = [Metric::Power, Metric::SmClock].into_iter().collect();
                for number in 0..count {
                    let subject = process("gpu0", number);
                    let at = START.plus_micros(i64::from(number));
                    seen.row(run, at, &subject, asked, &[(Metric::Power, 1.0)]).unwrap();
                }
                assert!(seen.subjects().count() <= MOST_PROCESSES);
                seen.report_silence(run, |_, metric| Silence::unexplained(metric)).unwrap();
            }
            let spots = sink.into_recording().outline.blind_spots;
            assert_eq!(spots.len(), sentences, "{count}");
            let told =
                format!("SM clock: {count} processes: the column is there but never has a reading");
            assert!(sentences > 1 || spots[0].detail == told, "{}", spots[0].detail);
        }
    }

    #[test]
    fn few_that_were_forgotten_are_told_with_their_number() {
        let mut seen = Seen::default();
        let options = ImportOptions::default();
        let mut sink = Collector::new();
        {
            let run = &mut ImportRun::new("test", "log", &options, SourceId(0), &mut sink);
            let asked = [Metric::Power, Metric::SmClock].into_iter().collect();
            for number in 0..40_000 {
                let (power, clock) = ((Metric::Power, 1.0), (Metric::SmClock, 1.0));
                let readings = if number < 5 { vec![power] } else { vec![power, clock] };
                let at = START.plus_micros(i64::from(number));
                seen.row(run, at, &process("gpu0", number), asked, &readings).unwrap();
            }
            seen.report_silence(run, |_, metric| Silence::unexplained(metric)).unwrap();
        }
        let spots = sink.into_recording().outline.blind_spots;
        assert_eq!(spots.len(), 1);
        assert!(spots[0].detail.starts_with("SM clock: 5 processes: "), "{}", spots[0].detail);
    }

    #[test]
    fn a_crowd_that_is_there_at_once_is_kept_and_gone_through_seldom() {
        let mut seen = Seen::default();
        let options = ImportOptions::default();
        let mut sink = Collector::new();
        let run = &mut ImportRun::new("test", "log", &options, SourceId(0), &mut sink);
        let asked = [Metric::Power].into_iter().collect();
        for number in 0..100_000 {
            let subject = process("gpu0", number);
            seen.row(run, START, &subject, asked, &[(Metric::Power, 1.0)]).unwrap();
        }
        assert_eq!(seen.subjects().count(), 100_000);
        assert_eq!(seen.stayed, 65_543, "the third time, and each at twice as many");
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
