//! What a scraped series can get wrong: holes, values that are held, frozen, mirrored or silently zero, counters that fall.
//!
//! Looks at rows as they pass, in time order, and keeps a few numbers for each series.

mod holes;
mod pulse;

use crate::domain::blind_spot::{BlindSpot, BlindSpotKind};
use crate::domain::ident::{GpuId, Subject};
use crate::domain::metric::Metric;
use crate::domain::sink::Fact;
use crate::domain::time::{TimeSpan, Timestamp};
use crate::domain::units::Seconds;
use crate::import::error::ImportError;
use crate::import::prometheus_json::watch::holes::{Rhythm, common_and_own};
use crate::import::prometheus_json::watch::pulse::Pulse;
use crate::import::run::ImportRun;
use std::collections::BTreeMap;

/// Quantities that move all the time while a GPU is on, so that a value that stays was not measured anew.
const RESTLESS: [Metric; 5] = [
    Metric::Energy,
    Metric::Power,
    Metric::PowerInstant,
    Metric::PcieTransmit,
    Metric::PcieReceive,
];

/// Utilisation from which an engine that is never active is not believed, in per cent.
const BUSY_PCT: f64 = 50.0;

/// So many samples in a row make a suspicion.
const LEAST_RUN: u32 = 20;

/// Shortest stretch that counts as frozen, in seconds.
const LEAST_FROZEN_S: f64 = 300.0;

/// Blind spots of one kind that are told one by one.
const MOST_TOLD: usize = 50;

/// A run of samples under one suspicion: how many, and since when; and the longest there was.
#[derive(Debug, Default, Clone, Copy)]
struct Run {
    length: u32,
    since: Option<Timestamp>,
    longest: u32,
    span: Option<TimeSpan>,
}

impl Run {
    fn feed(&mut self, at: Timestamp, is_suspicious: bool) {
        if !is_suspicious {
            (self.length, self.since) = (0, None);
            return;
        }
        self.length += 1;
        let since = *self.since.get_or_insert(at);
        if self.length > self.longest {
            self.longest = self.length;
            self.span = Some(TimeSpan::covering(since, at));
        }
    }
}

/// One GPU under HAMi at one stamp.
#[derive(Debug, Default)]
struct Shared {
    at: Option<Timestamp>,
    device_pct: Option<f64>,
    tenants: u32,
    tenants_pct: f64,
    silent: Run,
}

/// Looks at rows as they pass.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    rhythms: BTreeMap<Subject, Rhythm>,
    pulses: BTreeMap<(Subject, Metric), Pulse>,
    zeros: BTreeMap<(Subject, Metric), Run>,
    shared: BTreeMap<GpuId, Shared>,
}

impl Watch {
    /// Looks at one row.
    pub(crate) fn row(&mut self, at: Timestamp, subject: &Subject, readings: &[(Metric, f64)]) {
        if !self.rhythms.contains_key(subject) {
            self.rhythms.insert(subject.clone(), Rhythm::default());
        }
        if let Some(rhythm) = self.rhythms.get_mut(subject) {
            rhythm.feed(at);
        }
        let value = |metric| readings.iter().find(|it| it.0 == metric).map(|it| it.1);
        if !matches!(subject, Subject::Tenant { .. }) {
            for metric in RESTLESS {
                if let Some(value) = value(metric) {
                    let pulse = self.pulses.entry((subject.clone(), metric)).or_default();
                    pulse.feed(at, value);
                }
            }
        }
        let utilisation = value(Metric::GpuUtilization);
        if let Some(utilisation) = utilisation {
            for metric in [Metric::GraphicsEngineActive, Metric::SmActive] {
                if let Some(active) = value(metric) {
                    let run = self.zeros.entry((subject.clone(), metric)).or_default();
                    run.feed(at, utilisation >= BUSY_PCT && active == 0.0);
                }
            }
            self.share(at, subject, utilisation);
        }
    }

    /// Compares a GPU with the parts of it that tenants say they use.
    fn share(&mut self, at: Timestamp, subject: &Subject, utilisation: f64) {
        let Some(gpu) = subject.gpu() else { return };
        let shared = self.shared.entry(gpu.clone()).or_default();
        if shared.at != Some(at) {
            shared.close();
            shared.at = Some(at);
        }
        match subject {
            Subject::Device { .. } => shared.device_pct = Some(utilisation),
            Subject::Tenant { .. } => {
                shared.tenants += 1;
                shared.tenants_pct += utilisation;
            }
            _ => {}
        }
    }

    /// Tells the recording what was noticed.
    pub(crate) fn report(mut self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        self.report_holes(run)?;
        self.report_held(run)?;
        self.report_frozen(run)?;
        self.report_mirrored(run)?;
        self.report_zeros(run)?;
        self.report_counters(run);
        Ok(())
    }

    fn report_holes(&self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let (common, own) = common_and_own(&self.rhythms);
        let remedy = "scrape again what was down, or ask a Prometheus that was up then";
        for span in &common {
            let length = Seconds(span.seconds());
            let detail = format!(
                "nobody was scraped for {length}: Prometheus itself was down, or its data is gone"
            );
            tell(run, BlindSpotKind::Gap, None, None, Some(*span), detail, remedy)?;
        }
        for (subject, span) in own.iter().take(MOST_TOLD) {
            let detail = format!("no sample for {}", Seconds(span.seconds()));
            tell(run, BlindSpotKind::Gap, Some(subject), None, Some(*span), detail, remedy)?;
        }
        if own.len() > MOST_TOLD {
            let detail = format!("{} more gaps of single subjects", own.len() - MOST_TOLD);
            tell(run, BlindSpotKind::Gap, None, None, None, detail, remedy)?;
        }
        if !common.is_empty() || !own.is_empty() {
            run.warn(format!(
                "{} gaps of everybody and {} of single subjects; they are in the recording as blind spots",
                common.len(),
                own.len()
            ));
        }
        Ok(())
    }

    /// Values that an exporter measures less often than it is scraped.
    fn report_held(&self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut by_metric: BTreeMap<Metric, Vec<f64>> = BTreeMap::new();
        for ((_, metric), pulse) in &self.pulses {
            by_metric.entry(*metric).or_default().extend(pulse.held_for());
        }
        for (metric, mut held) in by_metric.into_iter().filter(|it| !it.1.is_empty()) {
            held.sort_by(f64::total_cmp);
            let all = self.pulses.keys().filter(|it| it.1 == metric).count();
            let interval =
                self.pulses.iter().find(|it| it.0.1 == metric).and_then(|it| it.1.interval_s());
            let detail = format!(
                "{} of {} of {all} GPUs changes only about every {}, though it was scraped every {}: \
                 the exporter measures less often than it is asked",
                metric.spec().label,
                held.len(),
                Seconds(held[held.len() / 2]),
                Seconds(interval.unwrap_or_default())
            );
            run.warn(detail.clone());
            let remedy = "let dcgm-exporter measure as often as it is scraped: --collect-interval";
            tell(run, BlindSpotKind::TooCoarse, None, Some(metric), None, detail, remedy)?;
        }
        Ok(())
    }

    fn report_frozen(&self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut count = 0;
        for ((subject, metric), pulse) in &self.pulses {
            let Some(span) = pulse.frozen(LEAST_RUN, LEAST_FROZEN_S) else { continue };
            count += 1;
            if count > MOST_TOLD {
                continue;
            }
            let detail = format!(
                "{} did not change at all for {}: the exporter served an old value",
                metric.spec().label,
                Seconds(span.seconds())
            );
            let remedy = "restart the exporter and its host engine, and do not trust this stretch";
            let kind = BlindSpotKind::NotReported;
            tell(run, kind, Some(subject), Some(*metric), Some(span), detail, remedy)?;
        }
        if count > 0 {
            run.warn(format!("{count} series that move all the time stood still for minutes"));
        }
        Ok(())
    }

    /// GPUs whose restless values are the same all the time.
    fn report_mirrored(&self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let mut same: BTreeMap<(Metric, u64, u32), Vec<&Subject>> = BTreeMap::new();
        for ((subject, metric), pulse) in &self.pulses {
            if let (Subject::Device { .. }, Some((print, samples))) = (subject, pulse.print()) {
                same.entry((*metric, print, samples)).or_default().push(subject);
            }
        }
        for ((metric, _, samples), subjects) in same.into_iter().filter(|it| it.1.len() > 1) {
            let names: Vec<String> = subjects.iter().map(ToString::to_string).collect();
            let detail = format!(
                "{} is the same on {} GPUs in all {samples} samples ({}): one value was mirrored",
                metric.spec().label,
                names.len(),
                names.iter().take(4).cloned().collect::<Vec<_>>().join(", ")
            );
            run.warn(detail.clone());
            let remedy =
                "look at each GPU on its node: nvidia-smi --query-gpu=uuid,power.draw --format=csv";
            let kind = BlindSpotKind::Ambiguous;
            tell(run, kind, subjects.first().copied(), Some(metric), None, detail, remedy)?;
        }
        Ok(())
    }

    fn report_zeros(&mut self, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        for ((subject, metric), zeros) in self.zeros.iter().filter(|it| it.1.longest >= LEAST_RUN) {
            let detail = format!(
                "{} is zero in {} samples in a row while the GPU is at least {BUSY_PCT} % utilised: \
                 the counter is broken, not the GPU idle",
                metric.spec().label,
                zeros.longest
            );
            run.warn(format!("{subject}: {detail}"));
            let remedy = "restart nv-hostengine, and see that no profiler holds the counters";
            let kind = BlindSpotKind::NotReported;
            tell(run, kind, Some(subject), Some(*metric), zeros.span, detail, remedy)?;
        }
        self.shared.values_mut().for_each(Shared::close);
        for (gpu, shared) in self.shared.iter().filter(|it| it.1.silent.longest >= LEAST_RUN) {
            let detail = format!(
                "all tenants say 0 % in {} samples in a row while the GPU is at least {BUSY_PCT} % \
                 utilised: the hook in their containers does not see them",
                shared.silent.longest
            );
            run.warn(format!("{gpu}: {detail}"));
            let remedy = "record processes on the node: cotenant record";
            let (subject, metric) = (Subject::device(gpu), Some(Metric::GpuUtilization));
            let kind = BlindSpotKind::NotReported;
            tell(run, kind, Some(&subject), metric, shared.silent.span, detail, remedy)?;
        }
        Ok(())
    }

    fn report_counters(&self, run: &mut ImportRun<'_>) {
        let energies = || self.pulses.iter().filter(|it| it.0.1 == Metric::Energy);
        let falls: u32 = energies().map(|it| it.1.falls).sum();
        if falls > 0 {
            run.warn(format!(
                "the energy counter fell {falls} times: the driver was loaded anew; energy across a fall is unknown"
            ));
        }
        let jumps: u32 = energies().map(|it| it.1.jumps).sum();
        if jumps > 0 {
            run.warn(format!(
                "the energy counter rose faster than any GPU can {jumps} times; do not trust energy there"
            ));
        }
    }
}

impl Shared {
    fn close(&mut self) {
        let Some(at) = self.at.take() else { return };
        if self.tenants > 0
            && let Some(device) = self.device_pct
        {
            self.silent.feed(at, device >= BUSY_PCT && self.tenants_pct == 0.0);
        }
        (self.device_pct, self.tenants, self.tenants_pct) = (None, 0, 0.0);
    }
}

fn tell(
    run: &mut ImportRun<'_>,
    kind: BlindSpotKind,
    subject: Option<&Subject>,
    metric: Option<Metric>,
    span: Option<TimeSpan>,
    detail: String,
    remedy: &str,
) -> Result<(), ImportError> {
    let (subject, remedy) = (subject.cloned(), remedy.to_owned());
    run.fact(Fact::BlindSpot(BlindSpot { kind, subject, metric, span, detail, remedy }))
}
