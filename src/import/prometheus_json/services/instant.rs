//! All values of one server at one stamp, and what they grew by since the sample before.

use crate::domain::histogram::{Histogram, Quantile};
use crate::domain::metric::Metric;
use crate::domain::service_table::{How, QUANTILES, Which};
use crate::domain::time::Timestamp;
use std::collections::BTreeMap;

/// Fewer requests between two samples give no quantile.
pub(crate) const LEAST_REQUESTS: f64 = 10.0;

/// Parts of a histogram as names end in them.
pub(crate) const PARTS: [&str; 3] = ["_bucket", "_sum", "_count"];

/// Labels of one series but for those of its place, by name.
pub(crate) type LabelSet = Vec<(String, String)>;

/// Values at a stamp, of each label set of a name; the value before it is what growth begins with.
pub(crate) type Points = BTreeMap<LabelSet, Point>;

/// One value, with the one before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    pub(crate) now: f64,
    pub(crate) before: Option<(Timestamp, f64)>,
}

/// What was noticed on the way.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) few: u64,
    pub(crate) has_restarted: bool,
    pub(crate) above: BTreeMap<Metric, f64>,
}

/// Growth over the label sets of a name, and the time it took.
#[derive(Debug, Clone, Copy)]
struct Growth {
    amount: f64,
    seconds: f64,
}

/// All values of one server at one stamp.
#[derive(Debug)]
pub(crate) struct Instant {
    pub(crate) at: Timestamp,
    pub(crate) names: BTreeMap<String, Points>,
}

impl Instant {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains_key(name) || self.names.contains_key(&format!("{name}_count"))
    }

    fn points(&self, name: &str) -> impl Iterator<Item = (&LabelSet, &Point)> {
        self.names.get(name).into_iter().flatten()
    }

    /// Mean and quantiles of the requests since the sample before.
    pub(crate) fn latency(
        &self,
        name: &str,
        factor: f64,
        readings: &mut Vec<(Metric, f64)>,
        tally: &mut Tally,
    ) {
        let Some(grown) = self.histogram(name, Which::All, tally) else { return };
        let Some(requests) = grown.histogram.total().filter(|it| *it > 0.0) else { return };
        let mean = grown.histogram.sum.map(|it| it / requests);
        readings.extend(mean.map(|it| (Metric::LatencyMean, it * factor)));
        if requests < LEAST_REQUESTS {
            tally.few += 1;
            return;
        }
        for (metric, q) in QUANTILES {
            match grown.histogram.quantile(q) {
                Quantile::At(value) => readings.push((metric, value * factor)),
                Quantile::Above(bound) => {
                    let known = tally.above.entry(metric).or_insert(bound * factor);
                    *known = known.max(bound * factor);
                }
                Quantile::Unknown => {}
            }
        }
    }

    pub(crate) fn value(
        &self,
        name: &str,
        how: How,
        which: Which,
        tally: &mut Tally,
    ) -> Option<f64> {
        let holding = || self.points(name).filter(move |it| which.holds(it.0)).map(|it| it.1.now);
        match how {
            How::Sum | How::Mean => {
                let count = holding().count();
                let parts = if how == How::Mean { count as f64 } else { 1.0 };
                (count > 0).then(|| holding().sum::<f64>() / parts)
            }
            How::Rate => {
                let grown = self.number(name, which, tally)?;
                Some(grown.amount / grown.seconds)
            }
            How::MeanOver(other) => {
                let requests = self.number(other, which, tally)?.amount;
                let amount = self.number(name, which, tally)?.amount;
                (requests > 0.0).then(|| amount / requests)
            }
            How::RateOfCount => {
                let grown = self.histogram(name, which, tally)?;
                Some(grown.histogram.total()? / grown.seconds)
            }
            How::RateOfSum => {
                let grown = self.histogram(name, which, tally)?;
                Some(grown.histogram.sum? / grown.seconds)
            }
            How::MeanOfHistogram => {
                let histogram = self.histogram(name, which, tally)?.histogram;
                let requests = histogram.total().filter(|it| *it > 0.0)?;
                Some(histogram.sum? / requests)
            }
            How::Quantile(_) => None,
        }
    }

    /// Growth of a counter over the label sets that had a value before.
    fn number(&self, name: &str, which: Which, tally: &mut Tally) -> Option<Growth> {
        let mut growth: Option<Growth> = None;
        for (_, point) in self.points(name).filter(|it| which.holds(it.0)) {
            let Some((since, before)) = point.before else { continue };
            tally.has_restarted |= point.now < before;
            let amount = if point.now < before { point.now } else { point.now - before };
            let seconds = self.at.seconds_since(since);
            let sum = growth.get_or_insert(Growth { amount: 0.0, seconds });
            sum.amount += amount;
            sum.seconds = sum.seconds.max(seconds);
        }
        growth
    }

    /// What a histogram grew by, over the label sets that were whole before.
    fn histogram(&self, name: &str, which: Which, tally: &mut Tally) -> Option<Grown> {
        let mut pairs: BTreeMap<LabelSet, Pair> = BTreeMap::new();
        for part in PARTS {
            for (labels, point) in self.points(&format!("{name}{part}")) {
                let mut labels = labels.clone();
                let bound = labels.iter().position(|it| it.0 == "le").map(|it| labels.remove(it).1);
                let bound = bound.and_then(|it| it.parse::<f64>().ok());
                if which.holds(&labels) {
                    pairs.entry(labels).or_default().add(part, bound, point);
                }
            }
        }
        let mut sum: Option<Grown> = None;
        for mut pair in pairs.into_values().filter(|it| it.is_whole) {
            let Some(since) = pair.since else { continue };
            pair.now.buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
            pair.before.buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
            let (histogram, has_restarted) = pair.now.since(&pair.before);
            tally.has_restarted |= has_restarted;
            let seconds = self.at.seconds_since(since);
            match &mut sum {
                Some(sum) => {
                    sum.histogram.add(&histogram);
                    sum.seconds = sum.seconds.max(seconds);
                }
                None => sum = Some(Grown { histogram, seconds }),
            }
        }
        sum
    }
}

/// What a histogram grew by, and the time it took.
#[derive(Debug)]
struct Grown {
    histogram: Histogram,
    seconds: f64,
}

/// A histogram now and before.
#[derive(Debug)]
struct Pair {
    now: Histogram,
    before: Histogram,
    since: Option<Timestamp>,
    /// Whether every part had a value before, all at one stamp.
    is_whole: bool,
}

impl Default for Pair {
    fn default() -> Self {
        let (now, before) = (Histogram::default(), Histogram::default());
        Self { now, before, since: None, is_whole: true }
    }
}

impl Pair {
    fn add(&mut self, part: &str, bound: Option<f64>, point: &Point) {
        let Some((since, before)) = point.before else {
            self.is_whole = false;
            return;
        };
        self.is_whole &= self.since.is_none_or(|it| it == since);
        self.since = Some(since);
        match (part, bound) {
            ("_sum", _) => (self.now.sum, self.before.sum) = (Some(point.now), Some(before)),
            ("_count", _) => (self.now.count, self.before.count) = (Some(point.now), Some(before)),
            (_, Some(bound)) => {
                self.now.buckets.push((bound, point.now));
                self.before.buckets.push((bound, before));
            }
            _ => self.is_whole = false,
        }
    }
}
