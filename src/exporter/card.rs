//! One GPU as the exporter knows it: its own shape, those of its instances and tenants, and its gauges.

use crate::domain::contended::OTHERS;
use crate::domain::ident::ProcessKey;
use crate::domain::metric::Metric;
use crate::domain::outline::Device;
use crate::domain::source::Reading;
use crate::exporter::contention::Contention;
use crate::exporter::limits::Limits;
use crate::exporter::tenant::Tenant;
use crate::exporter::track::Track;
use std::collections::BTreeMap;

/// A tenant that gave no sign for so long makes room for another, microseconds.
const FORGOTTEN_US: i64 = 600_000_000;
/// A value older than this is no longer shown, microseconds; what is read rarely comes every 2 s.
const STALE_US: i64 = 15_000_000;

/// Metrics that can stand for activity, the best first.
const ACTIVITY: [Metric; 3] =
    [Metric::GpuUtilization, Metric::GraphicsEngineActive, Metric::SmActive];

/// What one reading stands for, by metric, as its source says.
pub(crate) type Readings = BTreeMap<Metric, Reading>;

/// A whole GPU or a MIG instance: one shape and some gauges.
#[derive(Debug, Default)]
pub(crate) struct Part {
    /// The metric that stands for activity, and its shape.
    pub(crate) activity: Option<(Metric, Track)>,
    /// Last value of each metric, with its stamp.
    pub(crate) last: BTreeMap<Metric, (i64, f64)>,
    /// Since when the activity is seen without a hole, microseconds.
    watched_us: Option<i64>,
}

impl Part {
    /// Takes a reading.
    pub(crate) fn take(&mut self, at_us: i64, metric: Metric, value: f64, readings: &Readings) {
        self.last.insert(metric, (at_us, value));
        if metric == Metric::FramebufferUsed
            && let Some(total) = self.total_bytes()
            && let Some((_, track)) = &mut self.activity
        {
            track.feed_memory(value / total);
        }
        let Some(rank) = ACTIVITY.iter().position(|it| *it == metric) else { return };
        let known = self.activity.as_ref().and_then(|it| ACTIVITY.iter().position(|m| *m == it.0));
        if known.is_none_or(|it| rank < it) {
            // A better witness: what the other one counted would not fit what this one counts.
            self.activity = Some((metric, track_of(metric, readings)));
            self.watched_us = None;
        }
        if let Some((is_it, track)) = &mut self.activity
            && *is_it == metric
        {
            let gone = track.interval_s().zip(track.last_us());
            let is_hole = gone.is_some_and(|(step, last)| (at_us - last) as f64 > 2.5e6 * step);
            if is_hole || self.watched_us.is_none() {
                self.watched_us = Some(at_us);
            }
            track.feed(at_us, value / full(metric));
        }
    }

    /// Memory of the device, bytes; `None` where it is not known.
    fn total_bytes(&self) -> Option<f64> {
        self.last.get(&Metric::FramebufferTotal).map(|it| it.1).filter(|it| *it > 0.0)
    }

    /// A value that is not stale.
    pub(crate) fn value(&self, metric: Metric, now_us: i64) -> Option<f64> {
        self.last.get(&metric).filter(|it| now_us - it.0 < STALE_US).map(|it| it.1)
    }
}

fn full(metric: Metric) -> f64 {
    if metric == Metric::GpuUtilization { 100.0 } else { 1.0 }
}

fn track_of(metric: Metric, readings: &Readings) -> Track {
    let stated = match readings.get(&metric) {
        Some(Reading::WindowAverage { window }) => Some(window.map(|it| it.as_seconds())),
        // Profiling counters average since the sample before; the driver's own have a window of their own.
        _ if metric == Metric::GpuUtilization => None,
        _ => Some(None),
    };
    let quantum = if metric == Metric::GpuUtilization { 0.01 } else { 0.0 };
    Track::new(stated, quantum)
}

/// One GPU.
#[derive(Debug)]
pub(crate) struct Card {
    pub(crate) device: Device,
    pub(crate) whole: Part,
    pub(crate) instances: BTreeMap<u32, (Option<String>, Part)>,
    pub(crate) tenants: BTreeMap<String, Tenant>,
    pub(crate) contention: Contention,
    /// Tenants that had no place of their own.
    pub(crate) folded: u64,
    limits: Limits,
    owners: BTreeMap<ProcessKey, String>,
    /// The newest stamp, microseconds.
    pub(crate) now_us: i64,
}

impl Card {
    pub(crate) fn new(device: Device, limits: Limits) -> Self {
        Self {
            device,
            whole: Part::default(),
            instances: BTreeMap::new(),
            tenants: BTreeMap::new(),
            contention: Contention::new(limits.pairs),
            folded: 0,
            limits,
            owners: BTreeMap::new(),
            now_us: 0,
        }
    }

    /// A process belongs to a tenant.
    pub(crate) fn own(&mut self, process: ProcessKey, tenant: String) {
        self.owners.insert(process, tenant);
    }

    /// Takes a reading about the whole GPU, and tells its tenants that time has passed.
    pub(crate) fn take(&mut self, at_us: i64, readings: &[(Metric, f64)], meant: &Readings) {
        self.now_us = self.now_us.max(at_us);
        let is_activity = readings.iter().any(|it| ACTIVITY.contains(&it.0));
        // The total first: a share of it is counted.
        for (metric, value) in readings.iter().filter(|it| it.0 == Metric::FramebufferTotal) {
            self.whole.take(at_us, *metric, *value, meant);
        }
        for (metric, value) in readings.iter().filter(|it| it.0 != Metric::FramebufferTotal) {
            self.whole.take(at_us, *metric, *value, meant);
        }
        if is_activity {
            let names: Vec<String> = self.tenants.keys().cloned().collect();
            for name in names {
                let watched = self.whole.watched_us;
                let Some(tenant) = self.tenants.get_mut(&name) else { continue };
                let busy = tenant.passed(at_us, watched);
                self.meet(&name, &busy);
            }
        }
    }

    /// Takes a reading about a process.
    pub(crate) fn take_process(
        &mut self,
        process: ProcessKey,
        at_us: i64,
        readings: &[(Metric, f64)],
    ) {
        self.now_us = self.now_us.max(at_us);
        let name = self.place_of(process, at_us);
        let (watched, total) = (self.whole.watched_us, self.whole.total_bytes());
        let Some(tenant) = self.tenants.get_mut(&name) else { return };
        let mut busy = Vec::new();
        for (metric, value) in readings {
            match metric {
                Metric::GpuUtilization => {
                    busy.extend(tenant.used(process, at_us, value / 100.0, watched));
                }
                Metric::FramebufferUsed => tenant.memory(process, at_us, *value, total),
                _ => {}
            }
        }
        self.meet(&name, &busy);
    }

    /// The name under which a process is counted; there is room for so many only.
    fn place_of(&mut self, process: ProcessKey, at_us: i64) -> String {
        let own = self.owners.get(&process).cloned().unwrap_or_else(|| nobody(process));
        if self.tenants.contains_key(&own) {
            return own;
        }
        if self.tenants.len() >= self.limits.tenants && own != OTHERS {
            let gone = self.tenants.iter().filter(|it| at_us - it.1.seen_us() > FORGOTTEN_US);
            match gone.min_by_key(|it| it.1.seen_us()).map(|it| it.0.clone()) {
                Some(name) => self.tenants.remove(&name),
                None => {
                    let before = self.owners.insert(process, OTHERS.to_owned());
                    self.folded += u64::from(before.as_deref() != Some(OTHERS));
                    let other = || Tenant::new(process_track(), at_us);
                    self.tenants.entry(OTHERS.to_owned()).or_insert_with(other);
                    return OTHERS.to_owned();
                }
            };
        }
        self.tenants.insert(own.clone(), Tenant::new(process_track(), at_us));
        own
    }

    fn meet(&mut self, name: &str, busy: &[(i64, i64)]) {
        for stretch in busy {
            for (other, tenant) in self.tenants.iter().filter(|it| it.0 != name) {
                self.contention.compare((name, other.as_str()), *stretch, &tenant.busy);
            }
        }
    }
}

/// Name of a process of which nothing is known but its number.
pub(crate) fn nobody(process: ProcessKey) -> String {
    format!("pid {}", process.pid)
}

/// Shares of processes average since the sample before, in whole percents.
fn process_track() -> Track {
    Track::new(Some(None), 0.01)
}
