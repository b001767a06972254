//! Servers of models and of requests: what their counters and histograms grew by becomes latency and throughput.
//!
//! `domain::service_table` says what is read from which server. A server is told from others by its
//! pod, else by its model and address. Growth is taken from one sample of a series to the next; a
//! series that falls began anew from zero.

mod instant;

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::TenantId;
use crate::domain::metric::Metric;
use crate::domain::service_table::{How, PRESETS, Preset, USUAL_ENDS, Which, factor_of};
use crate::domain::time::Timestamp;
use crate::import::error::ImportError;
use crate::import::prometheus_json::answer::RawSeries;
use crate::import::prometheus_json::merge::{Samples, merge};
use crate::import::prometheus_json::services::instant::{
    Instant, LEAST_REQUESTS, LabelSet, PARTS, Point, Points, Tally,
};
use crate::import::run::ImportRun;
use std::collections::{BTreeMap, BTreeSet};

/// Labels that say which copy of the same data it is, or where a server runs: no label sets of their own.
const PLACE_LABELS: [&str; 13] = [
    "__name__",
    "prometheus",
    "prometheus_replica",
    "replica",
    "__replica__",
    "cluster",
    "instance",
    "job",
    "pod",
    "namespace",
    "container",
    "endpoint",
    "service",
];

/// One server.
#[derive(Debug, Default)]
struct Server {
    preset: Option<&'static Preset>,
    /// Base name of the histogram of requests, for servers without a preset.
    usual: BTreeSet<String>,
    held: BTreeMap<(String, LabelSet), Vec<Samples>>,
    last: BTreeMap<(String, LabelSet), (Timestamp, f64)>,
}

/// All servers of a file.
#[derive(Debug, Default)]
pub(crate) struct Services {
    servers: BTreeMap<TenantId, Server>,
    held_samples: usize,
    tools: BTreeSet<&'static str>,
    restarts: BTreeSet<TenantId>,
    few: u64,
    above: BTreeMap<Metric, f64>,
}

/// What stands behind the name of a histogram in the names of its parts.
pub(crate) fn parts_of_histograms() -> impl Iterator<Item = &'static str> {
    PARTS.into_iter()
}

/// Readings of one server at one stamp.
pub(crate) type Readings = (Timestamp, TenantId, Vec<(Metric, f64)>);

impl Services {
    /// Takes a series of a server; `false` when it is none.
    pub(crate) fn take(&mut self, name: &str, series: &RawSeries) -> bool {
        let preset = PRESETS.iter().find(|it| name.starts_with(it.mark));
        let base = PARTS.iter().find_map(|it| name.strip_suffix(it));
        let usual = base.filter(|it| USUAL_ENDS.iter().any(|end| it.ends_with(end)));
        if preset.is_none() && usual.is_none() {
            return false;
        }
        self.tools.insert(preset.map_or("prometheus", |it| it.id));
        let server = self.servers.entry(tenant(&series.labels)).or_default();
        server.preset = server.preset.or(preset);
        if preset.is_none() {
            server.usual.extend(usual.map(str::to_owned));
        }
        let is_own = |it: &(&String, &String)| !PLACE_LABELS.contains(&it.0.as_str());
        let labels = series.labels.iter().filter(is_own);
        let labels = labels.map(|it| (it.0.clone(), it.1.clone())).collect();
        let finite: Samples =
            series.samples.iter().filter(|it| it.1.is_finite()).copied().collect();
        self.held_samples += finite.len();
        server.held.entry((name.to_owned(), labels)).or_default().push(finite);
        true
    }

    /// Samples that are held.
    pub(crate) fn held_samples(&self) -> usize {
        self.held_samples
    }

    /// Ids of presets that were met.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &'static str> {
        self.tools.iter().copied()
    }

    /// Readings of what is held, by server and stamp; nothing is held afterwards.
    pub(crate) fn readings(&mut self) -> Vec<Readings> {
        self.held_samples = 0;
        let mut all = Vec::new();
        for (tenant, server) in &mut self.servers {
            let mut tally = Tally::default();
            for (at, readings) in server.readings(&mut tally) {
                all.push((at, tenant.clone(), readings));
            }
            self.few += tally.few;
            self.restarts.extend(tally.has_restarted.then(|| tenant.clone()));
            for (metric, bound) in tally.above {
                let known = self.above.entry(metric).or_insert(bound);
                *known = known.max(bound);
            }
        }
        all
    }

    /// Tells the recording what quantiles could not say.
    pub(crate) fn report(&self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        if let Some(first) = self.restarts.first() {
            let count = self.restarts.len();
            run.warn(format!(
                "counters of {count} services fell, `{first}` first: they began anew, and what they \
                 counted from zero on is taken as growth"
            ));
        }
        if self.few > 0 {
            let detail = format!(
                "{} times fewer than {LEAST_REQUESTS} requests fell between two samples of a service: \
                 no quantile then",
                self.few
            );
            let remedy = "scrape less often, or look at the mean";
            let metric = Some(Metric::LatencyP99);
            run.blind_spot(BlindSpotKind::TooCoarse, None, metric, detail, remedy)?;
        }
        for (metric, bound) in &self.above {
            let label = metric.spec().label;
            let detail = format!(
                "{label}: above the last bucket's bound, {bound}, where no number is known"
            );
            let remedy = "give the histogram buckets beyond the longest requests";
            run.blind_spot(BlindSpotKind::TooCoarse, None, Some(*metric), detail, remedy)?;
        }
        Ok(())
    }
}

impl Server {
    fn readings(&mut self, tally: &mut Tally) -> Vec<(Timestamp, Vec<(Metric, f64)>)> {
        let mut stamps: BTreeMap<Timestamp, BTreeMap<String, Points>> = BTreeMap::new();
        for ((name, labels), all) in std::mem::take(&mut self.held) {
            let key = (name, labels);
            let mut before = self.last.get(&key).copied();
            for (at, now) in merge(all).samples {
                if before.is_some_and(|it| it.0 >= at) {
                    continue;
                }
                let names = stamps.entry(at).or_default();
                names
                    .entry(key.0.clone())
                    .or_default()
                    .insert(key.1.clone(), Point { now, before });
                before = Some((at, now));
            }
            if let Some(last) = before {
                self.last.insert(key, last);
            }
        }
        let read = |(at, names): (Timestamp, BTreeMap<String, Points>)| {
            let instant = Instant { at, names };
            let mut readings = self.of_table(&instant, tally);
            readings.retain(|it| it.0.is_plausible(it.1));
            readings.sort_by_key(|it| it.0);
            readings.dedup_by_key(|it| it.0);
            (at, readings)
        };
        stamps.into_iter().map(read).collect()
    }

    fn of_table(&self, instant: &Instant, tally: &mut Tally) -> Vec<(Metric, f64)> {
        let mut readings = Vec::new();
        if let Some(preset) = self.preset {
            for name in preset.latency {
                instant.latency(name, 1.0, &mut readings, tally);
            }
            for row in preset.rows {
                let is_there = |it: &&&str| instant.has(it);
                let Some(name) = row.names.iter().find(is_there) else { continue };
                let value = instant.value(name, row.how, row.which, tally);
                readings.extend(value.map(|it| (row.metric, it * row.factor)));
            }
        }
        if let Some(name) = self.chosen() {
            instant.latency(name, factor_of(name), &mut readings, tally);
            for (metric, which) in
                [(Metric::Throughput, Which::All), (Metric::ErrorRate, Which::ServerErrors)]
            {
                let value = instant.value(name, How::RateOfCount, which, tally);
                readings.extend(value.map(|it| (metric, it)));
            }
        }
        readings
    }

    /// Of several usual histograms the one with most requests: that is the one that users meet.
    fn chosen(&self) -> Option<&str> {
        let requests = |name: &String| -> f64 {
            let count = format!("{name}_count");
            self.last.iter().filter(|it| it.0.0 == count).map(|it| it.1.1).sum()
        };
        let most = self.usual.iter().max_by(|one, other| requests(one).total_cmp(&requests(other)));
        most.map(String::as_str)
    }
}

/// The tenant whose server a series is of: its pod, else its model or job with its address.
///
/// A pod is spelled as the GPU's exporter spells it, so that both are one tenant.
fn tenant(labels: &BTreeMap<String, String>) -> TenantId {
    let get = |key: &str| labels.get(key).filter(|it| !it.is_empty());
    for keys in [
        ["exported_namespace", "exported_pod", "exported_container"],
        ["namespace", "pod", "container"],
    ] {
        if get(keys[1]).is_some() {
            let parts: Vec<&str> =
                keys.iter().filter_map(|it| get(it).map(String::as_str)).collect();
            return TenantId::new(parts.join("/"));
        }
    }
    let name = ["model_name", "model", "service", "app", "job"].iter().find_map(|it| get(it));
    let name = name.map_or("service", String::as_str);
    match get("instance") {
        Some(instance) => TenantId::new(format!("{name}@{instance}")),
        None => TenantId::new(name),
    }
}
