//! What to read from one server: a preset, or the histogram that looks like its requests.

use crate::domain::histogram::Quantile;
use crate::domain::metric::Metric;
use crate::domain::service_table::{How, PRESETS, Preset, QUANTILES, USUAL_ENDS, Which, factor_of};
use crate::domain::spelling::suggestion;
use crate::sampler::services::snapshot::{Growth, Snapshot};
use std::collections::BTreeSet;

/// Histograms that are taken before others of their kind.
const PREFERRED: [&str; 2] =
    ["http_server_request_duration_seconds", "http_request_duration_seconds"];

/// What to read from one server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    /// The server: id of the preset, or `prometheus`.
    pub(crate) tool: &'static str,
    /// A choice that was made and that the user may want otherwise.
    pub(crate) remark: Option<String>,
    rows: Vec<PlannedRow>,
}

#[derive(Debug, Clone, PartialEq)]
struct PlannedRow {
    metric: Metric,
    name: String,
    how: How,
    which: Which,
    factor: f64,
}

/// What one scrape says after another.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Outcome {
    pub(crate) readings: Vec<(Metric, f64)>,
    /// Quantiles above the last finite bound, and that bound.
    pub(crate) above: Vec<(Metric, f64)>,
    /// Whether there were requests, but too few for quantiles.
    pub(crate) has_few: bool,
    /// Whether rates were left out, for the scrapes took much of the time between them.
    pub(crate) is_coarse: bool,
    /// Metrics with values that cannot be.
    pub(crate) rejected: Vec<Metric>,
}

impl Plan {
    /// The plan for a server that shows these names; `Err` says what it lacks.
    pub(crate) fn choose(shown: &BTreeSet<&str>, asked: Option<&str>) -> Result<Self, String> {
        let preset = PRESETS.iter().find(|it| shown.iter().any(|name| name.starts_with(it.mark)));
        let tool = preset.map_or("prometheus", |it| it.id);
        let mut plan = Self { tool, remark: None, rows: Vec::new() };
        match (asked, preset) {
            (Some(asked), _) => {
                plan.add_histogram(&existing(shown, asked)?);
                preset.into_iter().for_each(|it| plan.add_rows(it, shown));
            }
            (None, Some(preset)) => {
                let latency = preset.latency.iter().find(|it| shown.contains(bucket(it).as_str()));
                latency.into_iter().for_each(|it| plan.add_latency(it, 1.0));
                plan.add_rows(preset, shown);
            }
            (None, None) => plan.add_usual(shown)?,
        }
        Ok(plan)
    }

    /// The histogram of requests of a server that no preset knows.
    fn add_usual(&mut self, shown: &BTreeSet<&str>) -> Result<(), String> {
        let is_usual = |it: &&str| USUAL_ENDS.iter().any(|end| it.ends_with(end));
        let mut found: Vec<&str> = histograms(shown).filter(is_usual).collect();
        let has_buckets = !found.is_empty();
        if !has_buckets {
            found = summaries(shown).filter(is_usual).collect();
        }
        let preferred = PREFERRED.iter().copied().find(|it| found.contains(it));
        let Some(chosen) = preferred.or_else(|| found.first().copied()) else {
            return Err("it shows no histogram of requests that is known".to_owned());
        };
        if !has_buckets {
            self.remark = Some(format!(
                "`{chosen}` is a summary: its mean is read and no quantile, for those of a summary are of minutes; let the server show a histogram"
            ));
        }
        if found.len() > 1 {
            self.remark = Some(format!(
                "{} histograms look like requests ({}); `{chosen}` is read, and #NAME behind the address picks another",
                found.len(),
                found.join(", ")
            ));
        }
        self.add_histogram(chosen);
        Ok(())
    }

    fn add_histogram(&mut self, name: &str) {
        self.add_latency(name, factor_of(name));
        self.add(Metric::Throughput, name, How::RateOfCount, Which::All, 1.0);
        self.add(Metric::ErrorRate, name, How::RateOfCount, Which::ServerErrors, 1.0);
    }

    fn add_latency(&mut self, name: &str, factor: f64) {
        self.add(Metric::LatencyMean, name, How::MeanOfHistogram, Which::All, factor);
        for (metric, q) in QUANTILES {
            self.add(metric, name, How::Quantile(q), Which::All, factor);
        }
    }

    fn add_rows(&mut self, preset: &Preset, shown: &BTreeSet<&str>) {
        let is_shown =
            |it: &&&str| shown.contains(**it) || shown.contains(format!("{it}_count").as_str());
        for row in preset.rows {
            if let Some(name) = row.names.iter().find(is_shown) {
                self.add(row.metric, name, row.how, row.which, row.factor);
            }
        }
    }

    /// Adds a row, unless there is one about this metric.
    fn add(&mut self, metric: Metric, name: &str, how: How, which: Which, factor: f64) {
        if self.rows.iter().all(|it| it.metric != metric) {
            self.rows.push(PlannedRow { metric, name: name.to_owned(), how, which, factor });
        }
    }

    /// Whether a number of this name matters.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.rows.iter().any(|it| match it.how {
            How::Sum | How::Mean | How::Rate => it.name == name,
            How::MeanOver(other) => it.name == name || other == name,
            _ => false,
        })
    }

    /// Whether a gauge of this name matters.
    pub(crate) fn wants_gauge(&self, name: &str) -> bool {
        self.rows.iter().any(|it| matches!(it.how, How::Sum | How::Mean) && it.name == name)
    }

    /// Whether a histogram of this name matters.
    pub(crate) fn wants_histogram(&self, name: &str) -> bool {
        self.rows.iter().any(|it| it.name == name && it.how.is_of_histogram())
    }

    /// What a scrape says, and what it says after the one before.
    pub(crate) fn read(
        &self,
        before: Option<&Snapshot>,
        now: &Snapshot,
        least_requests: u32,
    ) -> Outcome {
        let growth = before.and_then(|it| Growth::between(it, now));
        let mut outcome = Outcome::default();
        for row in &self.rows {
            let value = match row.how {
                How::Sum | How::Mean => row.gauge(now, &mut outcome),
                _ => growth.as_ref().and_then(|it| row.grown(it, least_requests, &mut outcome)),
            };
            outcome.readings.extend(value.map(|it| (row.metric, it * row.factor)));
        }
        let is_plausible = |it: &(Metric, f64)| it.0.is_plausible(it.1);
        let (readings, refused) = outcome.readings.into_iter().partition(is_plausible);
        let refused: Vec<(Metric, f64)> = refused;
        outcome.readings = readings;
        outcome.rejected.extend(refused.iter().map(|it| it.0));
        outcome
    }
}

impl PlannedRow {
    /// A gauge over its label sets, without those whose value cannot be.
    fn gauge(&self, now: &Snapshot, outcome: &mut Outcome) -> Option<f64> {
        let (mut sum, mut sets) = (0.0, 0_u32);
        for value in now.gauge(&self.name) {
            match self.metric.is_plausible(value * self.factor) {
                true => (sum, sets) = (sum + value, sets + 1),
                false => outcome.rejected.push(self.metric),
            }
        }
        let parts = if self.how == How::Mean { f64::from(sets) } else { 1.0 };
        (sets > 0).then(|| sum / parts)
    }

    /// A reading of what grew; quantiles that have no number are noted.
    fn grown(&self, growth: &Growth<'_>, least: u32, outcome: &mut Outcome) -> Option<f64> {
        let (name, which) = (self.name.as_str(), self.which);
        if growth.is_coarse && self.how.is_rate() {
            outcome.is_coarse = true;
            return None;
        }
        match self.how {
            How::Sum | How::Mean => None,
            How::Rate => Some(growth.number(name, which)? / growth.seconds),
            How::MeanOver(other) => {
                let requests = growth.number(other, which).filter(|it| *it > 0.0)?;
                Some(growth.number(name, which)? / requests)
            }
            How::RateOfCount => Some(growth.histogram(name, which)?.total()? / growth.seconds),
            How::RateOfSum => Some(growth.histogram(name, which)?.sum? / growth.seconds),
            How::MeanOfHistogram => {
                let histogram = growth.histogram(name, which)?;
                let requests = histogram.total().filter(|it| *it > 0.0)?;
                Some(histogram.sum? / requests)
            }
            How::Quantile(q) => {
                let histogram = growth.histogram(name, which)?;
                let requests = histogram.total()?;
                if requests < f64::from(least) {
                    outcome.has_few |= requests > 0.0;
                    return None;
                }
                match histogram.quantile(q) {
                    Quantile::At(value) => Some(value),
                    Quantile::Above(bound) => {
                        outcome.above.push((self.metric, bound * self.factor));
                        None
                    }
                    Quantile::Unknown => None,
                }
            }
        }
    }
}

fn bucket(name: &str) -> String {
    format!("{name}_bucket")
}

/// Histograms among the names.
fn histograms<'a>(shown: &'a BTreeSet<&str>) -> impl Iterator<Item = &'a str> {
    shown.iter().filter_map(|it| it.strip_suffix("_bucket"))
}

/// Sums and counts without buckets among the names.
fn summaries<'a>(shown: &'a BTreeSet<&str>) -> impl Iterator<Item = &'a str> {
    shown.iter().filter_map(|it| it.strip_suffix("_sum")).filter(|base| {
        shown.contains(format!("{base}_count").as_str()) && !shown.contains(bucket(base).as_str())
    })
}

fn existing(shown: &BTreeSet<&str>, asked: &str) -> Result<String, String> {
    let known: Vec<&str> = histograms(shown).chain(summaries(shown)).collect();
    let base = asked.strip_suffix("_bucket").unwrap_or(asked);
    match known.contains(&base) {
        true => Ok(base.to_owned()),
        false if known.is_empty() => Err(format!("it shows no histogram `{asked}`, and no other")),
        false => Err(format!("it shows no histogram `{asked}`; {}", suggestion(asked, &known))),
    }
}
