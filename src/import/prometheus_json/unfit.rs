//! What a set of series as a whole is not fit for: doubles, grids, labels of the exporter itself.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::time::Timestamp;
use crate::domain::units::Seconds;
use crate::import::error::ImportError;
use crate::import::prometheus_json::answer::RawSeries;
use crate::import::prometheus_text::owner::Owner;
use crate::import::prometheus_text::share::Placed;
use crate::import::run::ImportRun;
use std::collections::{BTreeMap, BTreeSet};

/// Parts of names of pods and containers that belong to an exporter, not to a workload.
const EXPORTERS: [&str; 5] =
    ["exporter", "hami-device-plugin", "vgpu-monitor", "vgpumonitor", "all-smi"];

/// Labels that name a host, in the order in which they are believed.
const HOSTS: [&str; 8] = [
    "Hostname",
    "hostname",
    "node",
    "nodename",
    "node_name",
    "nodeid",
    "exported_instance",
    "instance",
];

/// Fewer points say nothing about a grid.
const LEAST_POINTS: usize = 3;

/// What was noticed about series, for the blind spots at the end.
#[derive(Debug, Default)]
pub(crate) struct Unfit {
    /// What several series said at the same time.
    pub(crate) doubled: BTreeSet<(Metric, Owner)>,
    /// Names of native histograms.
    pub(crate) native_histograms: BTreeSet<String>,
    /// Names of pods of exporters that stood where a workload's should.
    of_exporters: BTreeSet<String>,
    has_pods: bool,
    with_pod: u64,
    without_pod: u64,
    grid: Grid,
}

/// Whether all stamps lie on one grid, which scrapes of several targets do not.
#[derive(Debug, Default)]
struct Grid {
    asked_ms: BTreeSet<u64>,
    phases: BTreeSet<(i64, i64)>,
    is_broken: bool,
    targets: BTreeSet<String>,
}

impl Unfit {
    /// Labels without those of an exporter's own pod, and with a host where only the address tells.
    pub(crate) fn labels(&mut self, labels: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let mut labels = labels.clone();
        let is_exporters = |key: &str| {
            labels.get(key).is_some_and(|it| EXPORTERS.iter().any(|name| it.contains(name)))
        };
        if !labels.contains_key("exported_pod")
            && (is_exporters("pod") || is_exporters("container"))
        {
            let pod = labels.remove("pod");
            self.of_exporters.extend(pod);
            labels.remove("namespace");
            labels.remove("container");
        }
        let host = HOSTS.iter().find_map(|it| labels.get(*it).filter(|it| !it.is_empty()));
        if let Some(host) = host.cloned() {
            let bare = host.rsplit_once(':').filter(|it| it.1.parse::<u16>().is_ok());
            labels.insert("Hostname".to_owned(), bare.map_or(host.clone(), |it| it.0.to_owned()));
        }
        labels
    }

    /// Takes note of the stamps of a series; `step_ms` is what the server was asked
    /// for, 0 for raw samples; `None` where nobody knows.
    pub(crate) fn note_grid(&mut self, series: &RawSeries, step_ms: Option<u64>) {
        let grid = &mut self.grid;
        if let Some(step) = step_ms {
            grid.asked_ms.extend(Some(step).filter(|it| *it > 0));
            return;
        }
        let millis = |it: &(Timestamp, f64)| it.0.as_micros() / 1000;
        let [first, second, ..] = series.samples.as_slice() else { return };
        if series.samples.len() < LEAST_POINTS || grid.is_broken {
            return;
        }
        let step = millis(second) - millis(first);
        let is_even = step > 0
            && millis(first) % 1000 == 0
            && series.samples.iter().all(|it| (millis(it) - millis(first)) % step == 0);
        grid.is_broken |= !is_even;
        grid.phases.insert((step, millis(first) % step.max(1)));
        grid.targets.extend(series.labels.get("instance").cloned());
    }

    /// Takes note of how many readings carry a pod.
    pub(crate) fn note_pods(&mut self, shared: &[Placed]) {
        let readings = shared.iter().filter(|it| it.metric == Metric::GpuUtilization);
        let mut instants: BTreeMap<(Timestamp, &Subject), bool> = BTreeMap::new();
        for reading in readings {
            *instants.entry((reading.at, &reading.place)).or_default() |= reading.pod.is_some();
        }
        self.has_pods |= shared.iter().any(|it| it.pod.is_some());
        let with = instants.values().filter(|it| **it).count() as u64;
        self.with_pod += with;
        self.without_pod += instants.len() as u64 - with;
    }

    /// The step of a grid that all stamps lie on.
    fn step_ms(&self) -> Option<u64> {
        if let Some(step) = self.grid.asked_ms.last() {
            return Some(*step);
        }
        let is_grid = !self.grid.is_broken && self.grid.targets.len() > 1;
        match self.grid.phases.iter().next() {
            Some((step, _)) if is_grid && self.grid.phases.len() == 1 => u64::try_from(*step).ok(),
            _ => None,
        }
    }

    /// Tells the recording.
    pub(crate) fn report(&self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut tell = |kind, detail: String, remedy: &str| {
            run.warn(detail.clone());
            run.blind_spot(kind, None, None, detail, remedy)
        };
        if let Some(step) = self.step_ms() {
            let step = Seconds(step as f64 / 1000.0);
            let detail = format!(
                "the server evaluated every {step}: each value is the last sample of up to five \
                 minutes before its stamp, and samples in between were skipped, not averaged"
            );
            let remedy = "ask for raw samples: METRIC[1h] at /api/v1/query, as `cotenant import \
                          --prometheus URL` does";
            tell(BlindSpotKind::TooCoarse, detail, remedy)?;
        }
        if !self.doubled.is_empty() {
            let count = self.doubled.len();
            let series = if count == 1 {
                "1 quantity was".to_owned()
            } else {
                format!("{count} quantities were")
            };
            let detail = format!(
                "{series} told by several series at once, as of two replicas of Prometheus or of \
                 an exporter that two jobs scrape; the fullest one counts, once"
            );
            let remedy = "narrow down with --selector, for example 'prometheus_replica=\"a\"'";
            tell(BlindSpotKind::Ambiguous, detail, remedy)?;
        }
        if let Some(pod) = self.of_exporters.first() {
            let count = self.of_exporters.len();
            let detail = format!(
                "the pod labels of {count} pods, `{pod}` first, name the exporter itself and were left \
                 out: whose workload it was is not known from them"
            );
            let remedy = "scrape with honorLabels: true, or keep exported_pod when relabelling";
            tell(BlindSpotKind::Ambiguous, detail, remedy)?;
        }
        if self.has_pods && self.without_pod > 0 {
            let all = (self.with_pod + self.without_pod) as f64;
            let share = 100.0 * self.without_pod as f64 / all;
            let detail = format!(
                "{share:.1} % of the samples of GPU utilisation carry no pod's labels; whoever used \
                 the GPU then is not named"
            );
            let remedy = "record processes on the node: cotenant record";
            tell(BlindSpotKind::Ambiguous, detail, remedy)?;
        }
        if let Some(name) = self.native_histograms.first() {
            let detail = format!("native histograms are not read: {name}");
            tell(BlindSpotKind::NotRecorded, detail, "let the server keep classic buckets too")?;
        }
        Ok(())
    }
}
