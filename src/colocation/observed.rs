//! Demands from a recording.

use crate::colocation::demand::{Assumption, Coupling, Demand, DriverView, Pace, Timeline};
use crate::colocation::draw::Draw;
use crate::colocation::range::Range;
use crate::colocation::service::{ServiceBin, arrivals, fitted, works};
use crate::colocation::spells::{BurstLength, spells};
use crate::colocation::watched::{Bins, Watched};
use crate::domain::ident::{GpuId, Subject, TenantId};
use crate::domain::metric::Metric;
use crate::domain::recording::{Recording, Trace};
use std::sync::Arc;

/// Bandwidth over the driver's memory utilisation, at most.
const BANDWIDTH_PER_UTILISATION: f64 = 0.9;
/// Standard deviation of the busy fraction from which on power can be told apart from idle power.
const TELLING: f64 = 0.05;
/// Share of the SMs while active where nothing tells: see [`Assumption::WidthUnknown`].
pub(crate) const UNKNOWN_WIDTH: Range = Range { expected: 0.65, low: 0.3, high: 1.0 };
/// Share of the peak memory bandwidth while active where nothing tells: see [`Assumption::BandwidthUnknown`].
pub(crate) const UNKNOWN_BANDWIDTH: Range = Range { expected: 0.0, low: 0.0, high: 0.5 };
/// Busy seconds below which a tenant counts as idle.
const LEAST_BUSY_S: f64 = 1e-6;

/// Whom a recording is asked about, and what is known besides.
#[derive(Debug, Clone, Copy)]
pub struct Sitting<'a> {
    /// The GPU.
    pub gpu: &'a GpuId,
    /// The tenant; its processes are looked for, and what it measures itself.
    pub tenant: &'a TenantId,
    /// Whether nobody else worked on the GPU, so that the GPU's own series are the tenant's.
    pub is_alone: bool,
    /// Power of the GPU when nothing runs, W; `None` takes it from the recording.
    pub idle_w: Option<f64>,
}

impl Demand {
    /// What a tenant asked of a GPU while it was recorded, alone or beside others.
    ///
    /// A tenant that reports requests becomes a queue of requests; any other becomes bursts. What the recording does not show
    /// is assumed, and the demand says so. `None` when nothing shows when it was active.
    pub fn recorded(part: &Recording, sitting: Sitting<'_>) -> Option<Self> {
        let Sitting { gpu, tenant, is_alone, .. } = sitting;
        let watched = Watched::of(part, gpu, tenant, is_alone)?;
        let service = part.series_of(gpu, tenant);
        let name = tenant.as_str();
        let mut demand = match service.and_then(|it| Self::of_requests(name, it, &watched.busy)) {
            Some(it) => it,
            None => match service.and_then(|it| Self::of_iterations(name, it, &watched.busy)) {
                Some(it) => it,
                None => Self::of_bursts(name, &watched)?,
            },
        };
        if !watched.is_device {
            demand.assume(Assumption::CoProfiled);
        }
        if watched.counted.is_some() {
            demand.assume(Assumption::OrderDrawn);
        }
        demand.measure(part, &watched, sitting);
        Some(demand)
    }

    /// Requests: arrivals and latencies as the service counted them, GPU time as it was seen.
    fn of_requests(name: &str, service: &Trace, busy: &Bins) -> Option<Self> {
        let offered =
            service.get(Metric::OfferedLoad).or_else(|| service.get(Metric::Throughput))?;
        let bin_s = offered.typical_interval()?.as_seconds();
        let zero = busy.from;
        let at = |metric: Metric| {
            let series = service.get(metric);
            move |time| {
                let series = series?;
                let place = series.times().binary_search(&time).ok()?;
                Some(series.values()[place])
            }
        };
        let (mean, p50, p95) =
            (at(Metric::LatencyMean), at(Metric::LatencyP50), at(Metric::LatencyP95));
        let bin = |(time, rate): (&crate::domain::time::Timestamp, &f64)| ServiceBin {
            from_s: (time.seconds_since(zero) - bin_s).max(0.0),
            requests: rate * bin_s,
            mean_s: mean(*time),
            p50_s: p50(*time),
            p95_s: p95(*time),
        };
        let bins: Vec<ServiceBin> = offered.times().iter().zip(offered.values()).map(bin).collect();
        let requests: f64 = bins.iter().map(|it| it.requests).sum();
        let span_s = bins.last()?.from_s + bin_s;
        let mean_s = busy.seconds() / requests;
        if !(requests >= 1.0 && mean_s > 0.0) {
            return None;
        }
        let mut draw = Draw::named(name, 4);
        let fit = fitted(&bins, bin_s, mean_s, &draw);
        let at = arrivals(&bins, bin_s, &mut draw);
        let works = works(at.len(), mean_s, fit.spread, &mut draw);
        let pieces = at.into_iter().map(|it| it.min(span_s)).zip(works);
        let mut demand = Self::of(name, Pace::Open, Timeline::new(pieces, span_s)?);
        demand.host_s = fit.host_s;
        demand.assume(Assumption::ArrivalsInBins);
        if !fit.is_spread_known {
            demand.assume(Assumption::ServiceSpreadUnknown);
        }
        if !fit.is_host_known {
            demand.assume(Assumption::HostUnknown);
        }
        Some(demand)
    }

    /// Iterations: as many as were counted, each busy for its part of the time that was seen.
    fn of_iterations(name: &str, service: &Trace, busy: &Bins) -> Option<Self> {
        let rate = service.get(Metric::IterationRate)?;
        let bin_s = rate.typical_interval()?.as_seconds();
        let mut pieces = Vec::new();
        let (mut now, span_s) = (0.0, busy.span_s());
        let duty = busy.mean().clamp(0.0, 1.0);
        while now < span_s {
            let place = ((now / bin_s) as usize).min(rate.len().checked_sub(1)?);
            let per_second = rate.values()[place];
            let cycle = if per_second > 0.0 { 1.0 / per_second } else { bin_s };
            if per_second > 0.0 {
                pieces.push((now, (duty * cycle).min(span_s - now)));
            }
            now += cycle;
        }
        let timeline = Timeline::new(pieces, span_s).filter(|it| !it.is_empty())?;
        Some(Self::of(name, Pace::Closed, timeline))
    }

    /// Bursts: spells that give the bins their busy fractions.
    fn of_bursts(name: &str, watched: &Watched<'_>) -> Option<Self> {
        let bins = &watched.busy;
        let span_s = bins.span_s();
        let length = watched
            .counted
            .unwrap_or_else(|| BurstLength::of(&bins.fractions, bins.window_s, bins.quantum));
        let timeline = |burst_s: f64, purpose: u64| {
            let mut draw = Draw::named(name, purpose);
            let found = spells(&bins.fractions, bins.step_s, burst_s, &mut draw);
            Timeline::new(found, span_s)
        };
        let (middle, ends) = match length {
            BurstLength::Seen => (f64::INFINITY, None),
            BurstLength::Inferred([low, middle, high])
            | BurstLength::Unknown([low, middle, high]) => (middle, Some([low, high])),
        };
        let mut demand = Self::of(name, Pace::Closed, timeline(middle, 5)?);
        demand.coupling = Coupling::Unknown;
        demand.assume(Assumption::PaceUnknown);
        if let Some([low, high]) = ends {
            demand.doubts = Some([Arc::new(timeline(low, 6)?), Arc::new(timeline(high, 7)?)]);
            demand.assume(match length {
                BurstLength::Inferred(_) => Assumption::BurstsInferred,
                _ => Assumption::BurstsUnknown,
            });
        }
        if bins.seconds() < LEAST_BUSY_S {
            demand.timeline = Arc::new(Timeline::new([], span_s)?);
            demand.doubts = None;
        }
        Some(demand)
    }

    /// Width, bandwidth, power and memory while active.
    fn measure(&mut self, part: &Recording, watched: &Watched<'_>, sitting: Sitting<'_>) {
        let busy = watched.busy.mean();
        let mean = |metric: Metric| watched.mean(metric);
        let while_active = |it: f64| if busy > 0.0 { (it / busy).clamp(0.0, 1.0) } else { 0.0 };
        match mean(Metric::SmActive).filter(|_| busy > 0.0) {
            Some(it) => self.width = Range::exact(while_active(it).max(0.01)),
            None => {
                self.width = UNKNOWN_WIDTH;
                self.assume(Assumption::WidthUnknown);
            }
        }
        let memory_utilisation = mean(Metric::MemoryUtilization).map(|it| it / 100.0);
        match (mean(Metric::DramActive), memory_utilisation) {
            (Some(it), _) => self.bandwidth = Range::exact(while_active(it)),
            (None, Some(it)) => {
                let most = while_active(it) * BANDWIDTH_PER_UTILISATION;
                self.bandwidth = Range::new(most, 0.5 * most, most);
                self.assume(Assumption::BandwidthFromUtilisation);
            }
            (None, None) => {
                self.bandwidth = UNKNOWN_BANDWIDTH;
                self.assume(Assumption::BandwidthUnknown);
            }
        }
        self.power_w = watched.power_over_idle(sitting.idle_w, TELLING);
        if self.power_w.is_none() {
            self.assume(Assumption::PowerUnknown);
        }
        self.memory_bytes = watched.most_memory_bytes();
        self.driver = memory_utilisation.map(|memory_utilisation| DriverView {
            utilisation: busy,
            memory_utilisation,
            power_w: part
                .series(&Subject::device(sitting.gpu), Metric::Power)
                .filter(|it| !it.is_empty())
                .map(|it| {
                    let mut sum = 0.0;
                    it.each(0..it.len(), |it| sum += it);
                    sum / it.len() as f64 / 1e3
                }),
        });
    }
}

trait SeriesOf {
    fn series_of(&self, gpu: &GpuId, tenant: &TenantId) -> Option<&Trace>;
}

impl SeriesOf for Recording {
    /// What a tenant measures itself; on the GPU, or where the source does not say on which.
    fn series_of(&self, gpu: &GpuId, tenant: &TenantId) -> Option<&Trace> {
        let here = Subject::Tenant { gpu: Some(gpu.clone()), tenant: tenant.clone() };
        let anywhere = Subject::Tenant { gpu: None, tenant: tenant.clone() };
        self.traces.get(&here).or_else(|| self.traces.get(&anywhere))
    }
}
