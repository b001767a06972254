//! What scrapes did not show, told at the end of a file.

use crate::domain::blind_spot::BlindSpotKind;
use crate::domain::ident::{GpuId, Subject};
use crate::domain::metric::Metric;
use crate::domain::outline::MigInstance;
use crate::domain::sink::Fact;
use crate::import::error::ImportError;
use crate::import::prometheus_text::cards::Cards;
use crate::import::run::ImportRun;
use std::collections::BTreeSet;

/// What was noticed on the way, for the blind spots at the end.
#[derive(Debug, Default)]
pub(crate) struct Unseen {
    /// Metrics with a reading.
    pub(crate) measured: BTreeSet<Metric>,
    /// Metrics that were named without a reading.
    pub(crate) silent: BTreeSet<Metric>,
    /// GPUs with a utilisation of the whole.
    pub(crate) utilised: BTreeSet<GpuId>,
    /// Names of counts since the server's start.
    pub(crate) cumulative: BTreeSet<String>,
    /// Processes that were named without a reading.
    pub(crate) without_memory: BTreeSet<Subject>,
    /// Whether a pod had readings of its own.
    pub(crate) has_own_shares: bool,
    /// Scrapes whose stamps were made.
    pub(crate) made_stamps: u32,
}

type BlindSpot = (BlindSpotKind, Option<Subject>, Option<Metric>, String, &'static str);

impl Unseen {
    /// Tells the recording what could not be seen.
    pub(crate) fn report(&self, cards: &Cards, run: &mut ImportRun<'_>) -> Result<(), ImportError> {
        let of_cards = self.of_metrics().into_iter().chain(self.of_cards(cards));
        for (kind, subject, metric, detail, remedy) in of_cards.chain(self.of_scrapes()) {
            run.blind_spot(kind, subject, metric, detail, remedy)?;
        }
        Ok(())
    }

    fn of_metrics(&self) -> Vec<BlindSpot> {
        let spot = |metric: &Metric| {
            let detail = "the exporter names the field and has no value for it".to_owned();
            (BlindSpotKind::NotReported, None, Some(*metric), detail, "")
        };
        self.silent.difference(&self.measured).map(spot).collect()
    }

    fn of_cards(&self, cards: &Cards) -> Vec<BlindSpot> {
        let hidden = |gpu: &GpuId| {
            let detail = "MIG is on, and then the driver gives no utilisation of the whole GPU";
            let remedy = "scrape DCGM_FI_PROF_GR_ENGINE_ACTIVE, which every instance has";
            let (subject, metric) = (Some(Subject::device(gpu)), Some(Metric::GpuUtilization));
            (BlindSpotKind::HiddenByMig, subject, metric, detail.to_owned(), remedy)
        };
        let dark = cards.with_mig().filter(|it| !self.utilised.contains(it));
        let mut spots: Vec<BlindSpot> = dark.map(hidden).collect();
        if cards.has_made_numbers() {
            let detail = "MIG instances carry no GPU_I_ID and were numbered as they appeared";
            let remedy = "scrape with GPU_I_ID labels";
            spots.push((BlindSpotKind::Ambiguous, None, None, detail.to_owned(), remedy));
        }
        spots
    }

    fn of_scrapes(&self) -> Vec<BlindSpot> {
        let mut spots = Vec::new();
        if !self.without_memory.is_empty() {
            let count = self.without_memory.len();
            let detail = format!("{count} processes are named, but not how much memory they use");
            let remedy = "record on Linux; Windows hides it for cards that drive a display";
            let metric = Some(Metric::FramebufferUsed);
            spots.push((BlindSpotKind::NotReported, None, metric, detail, remedy));
        }
        if self.has_own_shares {
            let detail = "per-pod utilisation of dcgm-exporter is a mean over the driver's whole \
                          sample buffer, and a pod without a sample reads 0";
            let remedy = "record processes on the node with `nvidia-smi pmon -s um -o DT`";
            let metric = Some(Metric::GpuUtilization);
            spots.push((BlindSpotKind::TooCoarse, None, metric, detail.to_owned(), remedy));
        }
        if !self.cumulative.is_empty() {
            let count = self.cumulative.len();
            let detail = format!(
                "{count} counters and histograms count since the server's start, so a scrape of \
                 them gives no latency or throughput of a moment"
            );
            let remedy = "export the differences of two scrapes, or Prometheus' rate(…_sum[1m]) / \
                          rate(…_count[1m]), as csv, and import that with --mapping FILE";
            let metric = Some(Metric::LatencyMean);
            spots.push((BlindSpotKind::NotRecorded, None, metric, detail, remedy));
        }
        if self.made_stamps > 0 {
            let count = self.made_stamps;
            let detail = format!("{count} scrapes carry no stamp; theirs were made from --start");
            let remedy = "put `# cotenant-scrape-time: 2026-01-31T12:00:00Z` before each scrape";
            spots.push((BlindSpotKind::ClockAssumed, None, None, detail, remedy));
        }
        spots
    }
}

/// Says once of each tenant that its share was not measured; the second subject is where it is on.
pub(crate) fn tell_unmeasured(
    unmeasured: BTreeSet<(Subject, Subject)>,
    told: &mut BTreeSet<Subject>,
    run: &mut ImportRun<'_>,
) -> Result<(), ImportError> {
    for (tenant, place) in unmeasured {
        if told.insert(tenant.clone()) {
            let whole = if place.is_device() { "GPU" } else { "MIG instance" };
            let detail = format!(
                "the share of `{tenant}` was not measured: values with its labels are those of \
                 the whole {whole} {place}"
            );
            let remedy = "record processes on the node with `nvidia-smi pmon -s um -o DT`, or \
                          let dcgm-exporter measure pods (KUBERNETES_VIRTUAL_GPUS=true)";
            if let (Subject::MigInstance { instance }, Subject::Tenant { tenant, .. }) =
                (place, &tenant)
            {
                let tenants = vec![tenant.clone()];
                let lives_in = MigInstance { instance, profile: None, tenants };
                run.fact(Fact::MigInstance(lives_in))?;
            }
            run.blind_spot(BlindSpotKind::Ambiguous, Some(tenant), None, detail, remedy)?;
        }
    }
    Ok(())
}
