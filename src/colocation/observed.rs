//! Demands from a recording.

use crate::colocation::demand::{Assumption, Coupling, Demand, DriverView, Pace, Timeline};
use crate::colocation::draw::Draw;
use crate::colocation::range::Range;
use crate::colocation::service::{ServiceBin, arrivals, fitted, works};
use crate::colocation::spells::{BurstLength, pieces_of, spells};
use crate::colocation::stretches::Played;
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
        let mean_s = busy.seconds() / requests;
        if !(requests >= 1.0 && mean_s > 0.0) {
            return None;
        }
        let played = Played::of(&bins.iter().map(|it| it.requests.max(0.0)).collect::<Vec<f64>>());
        let (bins, bin_s) = played_requests(bins, bin_s, &played);
        let span_s = bins.last()?.from_s + bin_s;
        let mut draw = Draw::named(name, 4);
        let fit = fitted(&bins, bin_s, mean_s, &draw);
        let at = arrivals(&bins, bin_s, &mut draw);
        let works = works(at.len(), mean_s, fit.spread, &mut draw);
        let pieces = at.into_iter().map(|it| it.min(span_s)).zip(works);
        let mut demand = Self::of(name, Pace::Open, Timeline::new(pieces, span_s)?);
        demand.host_s = fit.host_s;
        demand.assume_played(&played);
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
        let counts: Vec<f64> = rate.values().iter().map(|it| it.max(0.0) * bin_s).collect();
        let played = Played::of(&counts);
        let rates = played.taken(rate.values());
        let bin_s = bin_s * played.of_bin;
        let span_s = if played.is_all { busy.span_s() } else { bin_s * rates.len() as f64 };
        let mut pieces = Vec::new();
        let mut now = 0.0;
        let duty = busy.mean().clamp(0.0, 1.0);
        while now < span_s {
            let place = ((now / bin_s) as usize).min(rates.len().checked_sub(1)?);
            let per_second = rates[place];
            let cycle = if per_second > 0.0 { 1.0 / per_second } else { bin_s };
            if per_second > 0.0 {
                pieces.push((now, (duty * cycle).min(span_s - now)));
            }
            now += cycle;
        }
        let timeline = Timeline::new(pieces, span_s).filter(|it| !it.is_empty())?;
        let mut demand = Self::of(name, Pace::Closed, timeline);
        demand.assume_played(&played);
        Some(demand)
    }

    /// Bursts: spells that give the bins their busy fractions.
    fn of_bursts(name: &str, watched: &Watched<'_>) -> Option<Self> {
        let bins = &watched.busy;
        let length = watched
            .counted
            .unwrap_or_else(|| BurstLength::of(&bins.fractions, bins.window_s, bins.quantum));
        let mut is_all = true;
        let mut timeline = |burst_s: f64, purpose: u64| {
            let played = Played::of(&pieces_of(&bins.fractions, bins.step_s, burst_s));
            is_all &= played.is_all;
            let (fractions, step_s) = (played.taken(&bins.fractions), bins.step_s * played.of_bin);
            let found = spells(&fractions, step_s, burst_s, &mut Draw::named(name, purpose));
            Timeline::new(found, step_s * fractions.len() as f64)
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
            demand.timeline = Arc::new(Timeline::new([], bins.span_s())?);
            demand.doubts = None;
        } else if !is_all {
            demand.assume(Assumption::PartPlayed);
        }
        Some(demand)
    }

    fn assume_played(&mut self, played: &Played) {
        if !played.is_all {
            self.assume(Assumption::PartPlayed);
        }
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

/// The bins of requests that are played, one after the other, and their length in seconds.
fn played_requests(bins: Vec<ServiceBin>, bin_s: f64, played: &Played) -> (Vec<ServiceBin>, f64) {
    if played.is_all {
        return (bins, bin_s);
    }
    let length_s = bin_s * played.of_bin;
    let mut kept = played.taken(&bins);
    for (place, it) in kept.iter_mut().enumerate() {
        it.from_s = place as f64 * length_s;
        it.requests *= played.of_bin;
    }
    (kept, length_s)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colocation::stretches::MOST_PIECES;
    use crate::domain::ident::ProcessKey;
    use crate::domain::outline::Process;
    use crate::domain::series::Series;
    use crate::domain::time::Timestamp;

    const HOUR_US: i64 = 3_600_000_000;

    fn gpu() -> GpuId {
        GpuId::from_index(0)
    }

    fn tenant() -> TenantId {
        TenantId::new("a")
    }

    fn service() -> Subject {
        Subject::Tenant { gpu: Some(gpu()), tenant: tenant() }
    }

    fn put(part: &mut Recording, subject: Subject, metric: Metric, samples: &[(i64, f64)]) {
        let times = samples.iter().map(|it| Timestamp::from_micros(it.0)).collect();
        let values = samples.iter().map(|it| it.1).collect();
        let series = Series::new(Arc::new(times), values).expect("in order");
        part.traces.entry(subject).or_default().series.insert(metric, series);
    }

    fn every(step_us: i64, count: i64, value: impl Fn(i64) -> f64) -> Vec<(i64, f64)> {
        (0..count).map(|it| (it * step_us, value(it))).collect()
    }

    fn recorded(part: &Recording, is_alone: bool) -> Option<Demand> {
        let (gpu, tenant) = (gpu(), tenant());
        Demand::recorded(part, Sitting { gpu: &gpu, tenant: &tenant, is_alone, idle_w: None })
    }

    #[test]
    fn looks_that_are_years_apart_show_no_activity() {
        let mut part = Recording::default();
        let years = every(27_777 * HOUR_US, 100, |it| (it % 7) as f64 * 10.0);
        put(&mut part, Subject::device(&gpu()), Metric::GpuUtilization, &years);
        assert!(recorded(&part, true).is_none());
    }

    #[test]
    fn a_load_of_more_pieces_than_are_played_is_as_busy_in_the_part_that_is() {
        let mut part = Recording::default();
        // Bursts of some 10 ms in bins of 40 minutes, a year of them: a thousand million bursts.
        let year = every(40 * 60_000_000, 13_000, |it| (30 + it % 40) as f64);
        put(&mut part, Subject::device(&gpu()), Metric::GpuUtilization, &year);
        let found = recorded(&part, true).expect("activity");
        assert!(found.assumptions.contains(&Assumption::PartPlayed), "{:?}", found.assumptions);
        let low = &found.doubts.as_ref().expect("two ends")[0];
        for timeline in [&found.timeline, low] {
            assert!((timeline.len() as f64) < 1.1 * MOST_PIECES, "{}", timeline.len());
            assert!((timeline.busy_share() - 0.495).abs() < 0.03, "{}", timeline.busy_share());
        }
    }

    #[test]
    fn more_requests_than_are_played_keep_their_rate_and_their_work() {
        let mut part = Recording::default();
        // 2000 a second for six hours, in bins of a minute.
        let offered = every(60_000_000, 360, |it| 1500.0 + 1000.0 * (it % 2) as f64);
        put(&mut part, service(), Metric::OfferedLoad, &offered);
        let busy = every(1_000_000, 21_600, |it| 39.0 + (it % 3) as f64);
        put(&mut part, Subject::device(&gpu()), Metric::GpuUtilization, &busy);
        let found = recorded(&part, true).expect("requests");
        assert!(found.assumptions.contains(&Assumption::PartPlayed));
        assert!((found.timeline.len() as f64) < 1.01 * MOST_PIECES);
        let rate = found.timeline.len() as f64 / found.timeline.span_s();
        assert!((rate / 2000.0 - 1.0).abs() < 0.03, "{rate}");
        assert!(
            (found.timeline.busy_share() - 0.4).abs() < 0.02,
            "{}",
            found.timeline.busy_share()
        );
    }

    #[test]
    fn an_iteration_rate_beyond_all_sense_is_played_in_part() {
        let mut part = Recording::default();
        put(&mut part, service(), Metric::IterationRate, &every(60_000_000, 100, |_| 1e9));
        let busy = every(1_000_000, 6_000, |_| 50.0);
        put(&mut part, Subject::device(&gpu()), Metric::GpuUtilization, &busy);
        let found = recorded(&part, true).expect("iterations");
        assert!((found.timeline.len() as f64) < 1.01 * MOST_PIECES, "{}", found.timeline.len());
        assert!((found.timeline.busy_share() - 0.5).abs() < 0.02);
    }

    #[test]
    fn years_in_which_nobody_looked_cost_no_memory_and_a_minute_without_work_stays() {
        let mut part = Recording::default();
        let process = ProcessKey { pid: 7, started: None };
        let described = Process { gpu: gpu(), process, name: None, tenant: Some(tenant()) };
        part.outline.processes.push(described);
        let busy = every(100_000, 1_000, |_| 40.0);
        let minute = 160_000_000;
        let samples: Vec<(i64, f64)> = [0, minute, 300_000 * HOUR_US]
            .iter()
            .flat_map(|from| busy.iter().map(move |it| (from + it.0, it.1)))
            .collect();
        put(&mut part, Subject::Process { gpu: gpu(), process }, Metric::GpuUtilization, &samples);
        let found = recorded(&part, false).expect("activity");
        assert!((found.timeline.span_s() - 360.0).abs() < 1.0, "{}", found.timeline.span_s());
        assert!((found.timeline.busy_share() - 0.4 * 300.0 / 360.0).abs() < 0.01);
    }
}
