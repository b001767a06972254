//! What one scrape holds of what a plan wants, and what grew from one scrape to the next.

use crate::domain::histogram::Histogram;
use crate::domain::service_table::{STATUS_LABELS, Which};
use crate::sampler::services::clock::Middle;
use crate::sampler::services::exposition::{Labels, samples};
use crate::sampler::services::plan::Plan;
use std::collections::BTreeMap;
use std::time::Duration;

/// Gauge of the start of a process, which client libraries show by themselves.
const PROCESS_START: &str = "process_start_time_seconds";

/// Label sets that are remembered although they are not there, at most.
const MOST_ABSENT: usize = 1000;

/// Time between two scrapes that half of one may take, as a share, for rates to be right.
const LONGEST_HALF: f64 = 0.1;

/// A name, and one of its label sets.
type Series = (String, Labels);

/// What one scrape holds.
#[derive(Debug, Clone)]
pub(crate) struct Snapshot {
    taken: Middle,
    counters: BTreeMap<Series, f64>,
    /// Also those that are no finite number.
    gauges: BTreeMap<Series, f64>,
    histograms: BTreeMap<Series, Histogram>,
    /// Label sets of histograms that were left out.
    pub(crate) odd: usize,
    /// What label sets counted that were there before.
    absent: BTreeMap<Series, f64>,
    process_start: Option<f64>,
}

impl Snapshot {
    /// Reads what the plan wants from a body that was taken at this time.
    pub(crate) fn read(body: &str, plan: &Plan, taken: Middle) -> Self {
        let mut snapshot = Self {
            taken,
            counters: BTreeMap::new(),
            gauges: BTreeMap::new(),
            histograms: BTreeMap::new(),
            odd: 0,
            absent: BTreeMap::new(),
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
            let is_gauge = plan.wants_gauge(sample.name);
            if !sample.value.is_finite() && !is_gauge {
                continue;
            }
            if sample.name == PROCESS_START {
                snapshot.process_start = Some(sample.value);
                continue;
            }
            if plan.wants(sample.name) {
                let series = (sample.name.to_owned(), sample.labels.clone());
                let numbers = if is_gauge { &mut snapshot.gauges } else { &mut snapshot.counters };
                numbers.insert(series, sample.value);
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
        snapshot.leave_out_odd();
        snapshot
    }

    /// Leaves out histograms that are not whole, or have other bounds than most of their name.
    fn leave_out_odd(&mut self) {
        let bounds = |it: &Histogram| it.buckets.iter().map(|it| it.0.to_bits()).collect();
        let mut votes: BTreeMap<&str, BTreeMap<Vec<u64>, usize>> = BTreeMap::new();
        for ((name, _), histogram) in self.histograms.iter().filter(|it| it.1.is_whole()) {
            *votes.entry(name).or_default().entry(bounds(histogram)).or_default() += 1;
        }
        let usual = |(name, votes): (&str, BTreeMap<Vec<u64>, usize>)| {
            let most = votes.into_iter().max_by_key(|(bounds, sets)| (*sets, bounds.len()))?;
            Some((name.to_owned(), most.0))
        };
        let usual: BTreeMap<String, Vec<u64>> = votes.into_iter().filter_map(usual).collect();
        let all = self.histograms.len();
        self.histograms.retain(|key, it| it.is_whole() && usual.get(&key.0) == Some(&bounds(it)));
        self.odd = all - self.histograms.len();
    }

    /// Remembers what label sets counted that were there before and are not now.
    pub(crate) fn remember(&mut self, before: &Snapshot) {
        let known = before.counted().chain(before.absent.iter().map(|(key, it)| (key, *it)));
        let is_absent = |(key, _): &(&Series, f64)| {
            !self.counters.contains_key(*key) && !self.histograms.contains_key(*key)
        };
        let absent = known.filter(is_absent).take(MOST_ABSENT);
        self.absent = absent.map(|(key, it)| (key.clone(), it)).collect();
    }

    /// What every label set counted.
    fn counted(&self) -> impl Iterator<Item = (&Series, f64)> {
        let totals = self.histograms.iter().filter_map(|(key, it)| Some((key, it.total()?)));
        self.counters.iter().map(|(key, it)| (key, *it)).chain(totals)
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
        self.counters.is_empty() && self.gauges.is_empty() && self.histograms.is_empty()
    }

    /// A gauge of each label set.
    pub(crate) fn gauge(&self, name: &str) -> impl Iterator<Item = f64> {
        self.gauges.iter().filter(move |it| it.0.0 == name).map(|it| *it.1)
    }
}

/// What grew from one scrape to the next.
#[derive(Debug)]
pub(crate) struct Growth<'a> {
    before: &'a Snapshot,
    now: &'a Snapshot,
    /// Time in between.
    pub(crate) seconds: f64,
    /// Whether the time in between is not sure, for the scrapes took much of it.
    pub(crate) is_coarse: bool,
    /// Whether the server said that it is another process now.
    has_restarted: bool,
    /// Whether label sets that are new began at zero, since the process seems to have begun anew.
    is_anew: bool,
}

impl<'a> Growth<'a> {
    /// What grew; `None` where no time passed.
    pub(crate) fn between(before: &'a Snapshot, now: &'a Snapshot) -> Option<Self> {
        let since = now.taken.instant.checked_duration_since(before.taken.instant)?;
        let seconds = since.as_secs_f64();
        let half: Duration = before.taken.half.max(now.taken.half);
        let is_coarse = half.as_secs_f64() > LONGEST_HALF * seconds;
        let starts = before.process_start.zip(now.process_start);
        let has_restarted = starts.is_some_and(|it| it.0 != it.1);
        let is_anew = starts.map_or_else(|| most_fell(before, now), |_| has_restarted);
        let growth = Self { before, now, seconds, is_coarse, has_restarted, is_anew };
        (seconds > 0.0).then_some(growth)
    }

    /// Whether a label set that the scrape before did not have began at zero since then.
    ///
    /// Others may have counted for long before they were shown.
    fn began(&self, series: &Series, value: f64) -> bool {
        self.is_anew || self.before.absent.get(series).is_some_and(|it| *it > value)
    }

    /// Growth of a counter over the label sets that count; `None` where there is none of them.
    ///
    /// A series that fell began anew from zero; one that the scrape before did not have counts
    /// from the next scrape on.
    pub(crate) fn number(&self, name: &str, which: Which) -> Option<f64> {
        let mut sum = None;
        let series = self.now.counters.iter();
        for (key, value) in series.filter(|(key, _)| key.0 == name && which.holds(&key.1)) {
            let grown = match self.before.counters.get(key) {
                Some(before) if !self.has_restarted && before <= value => value - before,
                Some(_) => *value,
                None if self.began(key, *value) => *value,
                None => continue,
            };
            sum = Some(sum.unwrap_or(0.0) + grown);
        }
        sum
    }

    /// Growth of a histogram over the label sets that count.
    pub(crate) fn histogram(&self, name: &str, which: Which) -> Option<Histogram> {
        let all = self.now.histograms.iter().filter(|(key, _)| key.0 == name);
        let mut sum: Option<Histogram> = None;
        let (mut has_status, mut holds_any) = (false, false);
        for (key, now) in all {
            has_status |= key.1.iter().any(|it| STATUS_LABELS.contains(&it.0.as_str()));
            if !which.holds(&key.1) {
                continue;
            }
            holds_any = true;
            let grown = match self.before.histograms.get(key) {
                Some(before) if !self.has_restarted => now.since(before).0,
                Some(_) => now.clone(),
                None if now.total().is_some_and(|it| self.began(key, it)) => now.clone(),
                None => continue,
            };
            match &mut sum {
                Some(sum) => sum.add(&grown),
                None => sum = Some(grown),
            }
        }
        // A server that labels answers by status and shows none of an error had none.
        let has_no_error = which == Which::ServerErrors && has_status && !holds_any;
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

/// Whether more label sets fell than rose, as after a restart that the server does not show.
fn most_fell(before: &Snapshot, now: &Snapshot) -> bool {
    let then: BTreeMap<&Series, f64> = before.counted().collect();
    let pairs = now.counted().filter_map(|(key, it)| Some((*then.get(key)?, it)));
    let (fell, rose) = pairs.fold((0, 0), |(fell, rose), (then, now)| {
        (fell + usize::from(now < then), rose + usize::from(now > then))
    });
    fell > rose
}
