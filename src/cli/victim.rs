//! Who was slow, and in which metric.

use crate::cli::error::CliError;
use crate::cli::tenants::{ambiguous, called, unknown};
use crate::domain::ident::Subject;
use crate::domain::metric::{Metric, Scope};
use crate::domain::outline::Outline;
use crate::domain::recording::Recording;
use crate::domain::spelling::distance;
use crate::domain::time::TimeSpan;
use crate::storage::{Selection, StoredRecording};

/// Short names of metrics; the first of them that the victim reports is meant.
const SHORT: &[(&str, &[Metric])] = &[
    ("p99", &[Metric::LatencyP99]),
    ("p95", &[Metric::LatencyP95]),
    ("p90", &[Metric::LatencyP90]),
    ("p50", &[Metric::LatencyP50]),
    ("median", &[Metric::LatencyP50]),
    ("mean", &[Metric::LatencyMean]),
    ("queue", &[Metric::QueueTime]),
    ("ttft", &[Metric::TimeToFirstToken]),
    ("throughput", &[Metric::Throughput]),
    ("tokens", &[Metric::TokenThroughput]),
    ("iteration", &[Metric::IterationTime, Metric::IterationRate]),
];

/// The victim.
#[derive(Debug)]
pub(crate) struct Victim {
    pub(crate) subject: Subject,
    name: String,
}

impl Victim {
    /// The one of this name that reports about its service, or else the only one of this name.
    pub(crate) fn find(recording: &StoredRecording, name: &str) -> Result<Self, CliError> {
        let outline = recording.outline();
        let mut found = called(outline, name);
        if found.is_empty() {
            return Err(unknown(outline, "tenant", name));
        }
        if found.len() > 1 {
            let metrics = Metric::all().filter(|it| it.spec().scope == Scope::Service).collect();
            let reporting = recording.load(&Selection {
                subjects: Some(found.iter().map(|it| (*it).clone()).collect()),
                metrics: Some(metrics),
                ..Selection::default()
            })?;
            let reports = |it: &Subject| {
                reporting.traces.get(it).is_some_and(|it| it.series.keys().any(is_service))
            };
            if found.iter().any(|it| reports(it)) {
                found.retain(|it| reports(it));
            }
        }
        match found.as_slice() {
            [only] => Ok(Self { subject: (*only).clone(), name: name.to_owned() }),
            several => Err(ambiguous("tenant", name, several)),
        }
    }

    /// Another tenant at the same place.
    pub(crate) fn neighbour(&self, outline: &Outline, name: &str) -> Result<Subject, CliError> {
        let found: Vec<&Subject> = called(outline, name)
            .into_iter()
            .filter(|it| it.gpu() == self.subject.gpu() && **it != self.subject)
            .collect();
        match found.as_slice() {
            [] => Err(unknown(outline, "other tenant at the place of the victim", name)),
            [only] => Ok((*only).clone()),
            several => Err(ambiguous("tenant", name, several)),
        }
    }

    /// Errors: the victim reports nothing, or nothing in the window.
    pub(crate) fn check_window(
        &self,
        part: &Recording,
        metric: Option<Metric>,
        window: Option<TimeSpan>,
        clock_offset_s: Option<f64>,
    ) -> Result<(), CliError> {
        let shift = -(clock_offset_s.unwrap_or(0.0) * 1e6).round() as i64;
        let metrics = metric.map_or_else(|| self.reported(part), |it| vec![it]);
        if metrics.is_empty() {
            return Err(CliError::not_enough_data(
                format!(
                    "`{}` reports nothing about its service: no latency, no throughput",
                    self.name
                ),
                "record what the service itself measures, and import both logs together",
            ));
        }
        let is_inside = |metric: &Metric| {
            let Some(series) = part.series(&self.subject, *metric) else { return false };
            series
                .times()
                .iter()
                .any(|at| window.is_none_or(|it| it.contains(at.plus_micros(shift))))
        };
        if metrics.iter().any(is_inside) {
            return Ok(());
        }
        Err(CliError::not_enough_data(
            format!("`{}` reports nothing in the window", self.name),
            "name another window; `cotenant export` shows when there are readings",
        ))
    }

    /// What the victim reports about its service.
    fn reported(&self, part: &Recording) -> Vec<Metric> {
        let trace = part.traces.get(&self.subject);
        trace.map_or_else(Vec::new, |it| it.series.keys().copied().filter(is_service).collect())
    }
}

fn is_service(metric: &Metric) -> bool {
    metric.spec().scope == Scope::Service
}

/// The metric that a user named by its key or in short; `None` where none was named.
pub(crate) fn metric_of(
    victim: &Victim,
    part: &Recording,
    name: Option<&str>,
) -> Result<Option<Metric>, CliError> {
    let Some(name) = name else { return Ok(None) };
    let reported = victim.reported(part);
    let wanted = name.to_ascii_lowercase();
    let short = SHORT.iter().find(|it| it.0 == wanted).map(|it| it.1);
    let key = Metric::from_key(&wanted).filter(is_service);
    let meant: Vec<Metric> =
        short.map(<[Metric]>::to_vec).or(key.map(|it| vec![it])).unwrap_or_default();
    if let Some(found) = meant.iter().find(|it| reported.contains(it)) {
        return Ok(Some(*found));
    }
    let known: Vec<&str> = reported.iter().map(|it| it.key()).collect();
    if !meant.is_empty() {
        let remedy = match known.as_slice() {
            [] => "it reports nothing about its service".to_owned(),
            all => format!("it reports: {}", all.join(", ")),
        };
        return Err(CliError::usage(format!("`{}` does not report {name}", victim.name), remedy));
    }
    let mut all: Vec<&str> = SHORT.iter().map(|it| it.0).chain(known).collect();
    all.sort_by_key(|it| distance(&wanted, it));
    Err(CliError::usage(
        format!("no metric is called `{name}`"),
        format!("metrics: {}", all.join(", ")),
    ))
}
