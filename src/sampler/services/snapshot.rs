//! What one scrape holds of what a plan wants, and what grew from one scrape to the next.

use crate::sampler::services::exposition::{Labels, samples};
use crate::sampler::services::histogram::Histogram;
use crate::sampler::services::plan::Plan;
use crate::sampler::services::presets::{STATUS_LABELS, Which};
use std::collections::BTreeMap;
use std::time::Instant;

/// Gauge of the start of a process, which client libraries show by themselves.
const PROCESS_START: &str = "process_start_time_seconds";

/// A name, and one of its label sets.
type Series = (String, Labels);

/// What one scrape holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Snapshot {
    taken: Instant,
    numbers: BTreeMap<Series, f64>,
    histograms: BTreeMap<Series, Histogram>,
    process_start: Option<f64>,
}

impl Snapshot {
    /// Reads what the plan wants from a body that was taken at this instant.
    pub(crate) fn read(body: &str, plan: &Plan, taken: Instant) -> Self {
        let mut snapshot = Self {
            taken,
            numbers: BTreeMap::new(),
            histograms: BTreeMap::new(),
            process_start: None,
        };
        let base = |name: &str| {
            let (base, part) = name.rsplit_once('_')?;
            let is_part = matches!(part, "bucket" | "sum" | "count") && plan.wants_histogram(base);
            is_part.then_some(base.len())
        };
        let wanted =
            samples(body, |it| it == PROCESS_START || plan.wants(it) || base(it).is_some());
        for sample in wanted {
            if sample.name == PROCESS_START {
                snapshot.process_start = Some(sample.value);
                continue;
            }
            if plan.wants(sample.name) {
                let series = (sample.name.to_owned(), sample.labels.clone());
                snapshot.numbers.insert(series, sample.value);
            }
            if let Some((name, part)) =
                base(sample.name).and_then(|it| sample.name.split_at_checked(it))
            {
                snapshot.add_part(name, part, sample.labels, sample.value);
            }
        }
        for histogram in snapshot.histograms.values_mut() {
            histogram.buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
            histogram.buckets.dedup_by_key(|it| it.0);
        }
        snapshot
    }

    fn add_part(&mut self, name: &str, part: &str, mut labels: Labels, value: f64) {
        let bound = labels.iter().position(|it| it.0 == "le").map(|it| labels.remove(it).1);
        let histogram = self.histograms.entry((name.to_owned(), labels)).or_default();
        match part {
            "_sum" => histogram.sum = Some(value),
            "_count" => histogram.count = Some(value),
            _ => {
                let bound = bound.and_then(|it| it.parse::<f64>().ok()).filter(|it| !it.is_nan());
                histogram.buckets.extend(bound.map(|it| (it, value)));
            }
        }
    }

    /// Whether there is nothing that the plan wants.
    pub(crate) fn is_empty(&self) -> bool {
        self.numbers.is_empty() && self.histograms.is_empty()
    }

    /// A gauge over its label sets: what `join` makes of their sum and number; `None` without any.
    pub(crate) fn gauge(&self, name: &str, join: impl Fn(f64, usize) -> f64) -> Option<f64> {
        let values = self.numbers.iter().filter(|it| it.0.0 == name).map(|it| *it.1);
        let (sum, sets) = values.fold((0.0, 0), |(sum, sets), it| (sum + it, sets + 1));
        (sets > 0).then(|| join(sum, sets))
    }
}

/// What grew from one scrape to the next.
#[derive(Debug)]
pub(crate) struct Growth<'a> {
    before: &'a Snapshot,
    now: &'a Snapshot,
    /// Time in between.
    pub(crate) seconds: f64,
    /// Whether the server said that it is another process now.
    has_restarted: bool,
}

impl<'a> Growth<'a> {
    /// What grew; `None` where no time passed.
    pub(crate) fn between(before: &'a Snapshot, now: &'a Snapshot) -> Option<Self> {
        let seconds = now.taken.checked_duration_since(before.taken)?.as_secs_f64();
        let starts = before.process_start.zip(now.process_start);
        let has_restarted = starts.is_some_and(|it| it.0 != it.1);
        (seconds > 0.0).then_some(Self { before, now, seconds, has_restarted })
    }

    /// Growth of a counter over the label sets that count; `None` where there is none of them.
    ///
    /// A series that fell began anew from zero, and so did one that was not there before: client
    /// libraries show a label set from its first event on.
    pub(crate) fn number(&self, name: &str, which: Which) -> Option<f64> {
        let mut sum = None;
        let series = self.now.numbers.iter();
        for (key, value) in series.filter(|(key, _)| key.0 == name && which.holds(&key.1)) {
            let before = self.before.numbers.get(key).filter(|_| !self.has_restarted);
            let grown = before.filter(|it| *it <= value).map_or(*value, |it| value - it);
            sum = Some(sum.unwrap_or(0.0) + grown);
        }
        sum
    }

    /// Growth of a histogram over the label sets that count.
    pub(crate) fn histogram(&self, name: &str, which: Which) -> Option<Histogram> {
        let all = self.now.histograms.iter().filter(|(key, _)| key.0 == name);
        let mut sum: Option<Histogram> = None;
        let mut has_status = false;
        for (key, now) in all {
            has_status |= key.1.iter().any(|it| STATUS_LABELS.contains(&it.0.as_str()));
            if !which.holds(&key.1) {
                continue;
            }
            let before = self.before.histograms.get(key).filter(|_| !self.has_restarted);
            let grown = before.map_or_else(|| now.clone(), |it| now.since(it).0);
            match &mut sum {
                Some(sum) => sum.add(&grown),
                None => sum = Some(grown),
            }
        }
        // A server that labels answers by status and shows none of an error had none.
        let has_no_error = which == Which::ServerErrors && has_status && sum.is_none();
        sum.or_else(|| has_no_error.then(|| Histogram { count: Some(0.0), ..Histogram::default() }))
    }

    /// Whether a histogram began anew although the server did not say that it is another process.
    ///
    /// Plain numbers do not count: gauges fall all the time.
    pub(crate) fn has_fallen(&self) -> bool {
        let began = |(key, now): (&Series, &Histogram)| {
            self.before.histograms.get(key).is_some_and(|it| now.since(it).1)
        };
        !self.has_restarted && self.now.histograms.iter().any(began)
    }
}
