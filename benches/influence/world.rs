//! Tenants of one GPU: bursts, requests, and a latency that two of the others slow down.

use cotenant::analysis::influence::trial::Bins;
use cotenant::domain::ident::{GpuId, ProcessKey, Subject, TenantId};
use cotenant::domain::metric::Metric;
use cotenant::domain::outline::{Device, Process};
use cotenant::domain::recording::{Recording, Trace};
use cotenant::domain::series::Series;
use cotenant::domain::time::{TimeSpan, Timestamp};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1, StandardNormal};
use std::path::Path;
use std::sync::Arc;

/// First stamp, in seconds.
const START_S: i64 = 1_800_000_000;

/// What the tenants of one GPU do, second by second.
pub(crate) struct World {
    /// Active share of each tenant, 0 to 1, in whole percent.
    activity: Vec<Vec<f64>>,
    /// Requests of each tenant.
    load: Vec<Vec<f64>>,
    /// Mean latency of each tenant, in seconds.
    latency: Vec<Vec<f64>>,
    /// Clock of the GPU, in MHz.
    clock: Vec<f64>,
}

impl World {
    /// Tenants of bursts of 4 to 11 s and gaps three times as long; each slows the next one by a tenth.
    pub(crate) fn new(tenants: usize, bins: usize, seed: u64) -> Self {
        let mut dice = ChaCha8Rng::seed_from_u64(seed);
        let activity: Vec<Vec<f64>> =
            (0..tenants).map(|it| bursts(&mut dice, bins, 4.0 + it as f64)).collect();
        let load: Vec<Vec<f64>> = (0..tenants).map(|_| requests(&mut dice, bins)).collect();
        let latency = (0..tenants)
            .map(|victim| {
                let guilty = &activity[(victim + 1) % tenants];
                let mut error = 0.0;
                (0..bins)
                    .map(|bin| {
                        error = 0.8 * error + 0.06 * normal(&mut dice);
                        let own = 0.4 * (load[victim][bin] / 20.0 - 1.0);
                        let noise = 0.05 * normal(&mut dice);
                        0.05 * (own + error + noise + 0.095 * guilty[bin]).exp()
                    })
                    .collect()
            })
            .collect();
        let clock = (0..bins).map(|_| 1900.0 + (10.0 * normal(&mut dice)).round()).collect();
        Self { activity, load, latency, clock }
    }

    /// One victim against all others.
    pub(crate) fn bins(&self, victim: usize) -> Bins {
        let log = |it: &f64| it.ln();
        Bins {
            bin_s: 1.0,
            victim: self.latency[victim].iter().map(log).collect(),
            load: Some(self.load[victim].iter().map(|it| it / 20.0 - 1.0).collect()),
            suspects: self.others(victim),
            clock: vec![self.clock.iter().map(|it| (1930.0 / it).ln().max(0.0)).collect()],
            link: Vec::new(),
        }
    }

    fn others(&self, victim: usize) -> Vec<Vec<f64>> {
        let all = self.activity.iter().enumerate();
        all.filter(|it| it.0 != victim).map(|it| it.1.clone()).collect()
    }

    /// The number of series, then victim, load and suspects one after the other, as numbers of eight bytes.
    pub(crate) fn write(&self, victim: usize, file: &Path) {
        let Bins { victim, load, suspects, .. } = self.bins(victim);
        let series: Vec<Vec<f64>> = [victim].into_iter().chain(load).chain(suspects).collect();
        let numbers = std::iter::once(series.len() as f64).chain(series.into_iter().flatten());
        let bytes: Vec<u8> = numbers.flat_map(f64::to_le_bytes).collect();
        std::fs::write(file, bytes).unwrap();
    }
}

/// GPUs with a world each, as they would be recorded: a device, processes that belong to tenants, and what these measure.
pub(crate) fn recording(worlds: &[World], has_services: bool) -> Recording {
    let mut whole = Recording::default();
    for (index, world) in worlds.iter().enumerate() {
        let gpu = GpuId::from_index(index as u32);
        let bins = world.clock.len();
        let at = |bin: usize| Timestamp::from_micros((START_S + bin as i64 + 1) * 1_000_000);
        let times: Arc<Vec<Timestamp>> = Arc::new((0..bins).map(at).collect());
        let trace = |all: Vec<(Metric, Vec<f64>)>| Trace {
            series: all
                .into_iter()
                .map(|it| (it.0, Series::new(Arc::clone(&times), it.1).unwrap()))
                .collect(),
            ..Trace::default()
        };
        let busy = |bin: usize| {
            let idle: f64 = world.activity.iter().map(|it| 1.0 - it[bin]).product();
            (100.0 * (1.0 - idle)).round()
        };
        let device = [
            (Metric::GpuUtilization, (0..bins).map(busy).collect()),
            (Metric::SmClock, world.clock.clone()),
        ];
        whole
            .outline
            .devices
            .push(Device { index: Some(index as u32), ..Device::named(gpu.clone()) });
        whole.traces.insert(Subject::device(&gpu), trace(device.into()));
        for (place, activity) in world.activity.iter().enumerate() {
            let tenant = TenantId::new(format!("tenant-{place}"));
            let process = ProcessKey { pid: 1000 + place as u32, started: None };
            whole.outline.processes.push(Process {
                gpu: gpu.clone(),
                process,
                name: None,
                tenant: Some(tenant.clone()),
            });
            let percent = activity.iter().map(|it| 100.0 * it).collect();
            whole.traces.insert(
                Subject::Process { gpu: gpu.clone(), process },
                trace(vec![(Metric::GpuUtilization, percent)]),
            );
            if has_services {
                let measured = vec![
                    (Metric::LatencyMean, world.latency[place].clone()),
                    (Metric::OfferedLoad, world.load[place].clone()),
                ];
                let subject = Subject::Tenant { gpu: Some(gpu.clone()), tenant };
                whole.traces.insert(subject, trace(measured));
            }
        }
    }
    describe(&mut whole);
    whole
}

fn describe(whole: &mut Recording) {
    let Recording { outline, traces } = whole;
    outline.subjects = traces.keys().cloned().collect();
    let series = || traces.values().flat_map(|it| it.series.values());
    outline.readings = series().map(|it| it.len() as u64).sum();
    outline.span = series().filter_map(Series::span).reduce(TimeSpan::hull);
}

fn normal(dice: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(dice)
}

fn bursts(dice: &mut ChaCha8Rng, bins: usize, on_s: f64) -> Vec<f64> {
    let mut busy = vec![0.0; bins];
    let (mut at, mut is_on) = (0.0, false);
    while at < bins as f64 {
        let unit: f64 = Exp1.sample(dice);
        let end = at + unit * if is_on { on_s } else { 3.0 * on_s };
        if is_on {
            let (first, last) = (at as usize, (end as usize).min(bins - 1));
            for (bin, busy) in busy.iter_mut().enumerate().take(last + 1).skip(first) {
                *busy += 0.9 * (end.min(bin as f64 + 1.0) - at.max(bin as f64)).max(0.0);
            }
        }
        (at, is_on) = (end, !is_on);
    }
    busy.iter().map(|it| (100.0 * it).round() / 100.0).collect()
}

fn requests(dice: &mut ChaCha8Rng, bins: usize) -> Vec<f64> {
    let mut trend = 0.0;
    (0..bins)
        .map(|_| {
            trend = 0.9 * trend + 0.07 * normal(dice);
            (20.0 * f64::exp(trend) + 4.0 * normal(dice)).round().max(0.0)
        })
        .collect()
}
