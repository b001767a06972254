//! What a plan needs to know of a device and its tenants, and nothing else: small, mergeable, and the same for every source.
//!
//! A table of these takes the place of the recordings, which are looked at once. Names carry their unit, unknown is null.

use crate::colocation::demand::{Assumption, Coupling, Demand, DriverView, Pace, Timeline};
use crate::colocation::memory::{MeasuredPhase, MemoryDemand, Phases};
use crate::colocation::range::Range;
use crate::colocation::whatif::Options;
use crate::domain::ident::GpuId;
use crate::fleet::thin::{thinned, thinned_stairs};
use crate::recommender::seen::ability;
use crate::recommender::shape::LoadShape;
use crate::recommender::situation::{Current, DeviceFacts, Limits, MIB, Situation, Tenant};
use crate::recommender::tenant_policy::TenantPolicies;
use crate::stats::staircase::{Rise, Staircase};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Version of the table; raised when older programs could misread it, or would compute other numbers.
pub const FINDINGS_VERSION: u32 = 4;
/// Pieces of work that are kept of a demand: enough for a replay of twice the usual budget.
pub const MOST_PIECES: usize = 4_000;
/// Levels of memory that are kept; finer steps are rounded up to the next one.
pub const MOST_LEVELS: usize = 64;

/// One device in one window of time, with everybody on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceFinding {
    /// Host; `None` where the recording names none.
    pub host: Option<String>,
    /// The GPU, as the recording calls it.
    pub gpu: String,
    /// Index on its host; `None` where it was not recorded.
    pub index: Option<u32>,
    /// Product name; `None` where it was not recorded.
    pub model: Option<String>,
    /// Memory as the driver shows it, MiB; `None` where it was not recorded.
    pub total_mib: Option<f64>,
    /// What the driver keeps of it, MiB; `None` where it was not recorded.
    pub reserved_mib: Option<f64>,
    /// What contexts and hidden processes hold, MiB; `None` where it was not recorded.
    pub others_mib: Option<f64>,
    /// First sample, microseconds since the Unix epoch.
    pub from_us: i64,
    /// After the last sample, microseconds since the Unix epoch.
    pub until_us: i64,
    /// Time that was seen, without holes, seconds.
    pub seen_s: f64,
    /// Usual time between samples, seconds; `None` where nothing was sampled twice.
    pub interval_s: Option<f64>,
    /// Mean activity of the whole device, 0 to 1; `None` where it was not recorded.
    pub busy_mean_ratio: Option<f64>,
    /// Share of the time at or above 95 % of the device, 0 to 1; `None` where it was not recorded.
    pub busy_at_95_pct_ratio: Option<f64>,
    /// How it is shared now.
    pub now: Current,
    /// Whether the device as a whole was saturated, in a sentence; `None` where it was not, or was not seen.
    pub saturated: Option<String>,
    /// How the memory of all of them was seen to meet; `None` where they never ran beside each other.
    pub met: Option<MetFinding>,
    /// Who was on it.
    pub tenants: Vec<TenantFinding>,
    /// What could not be seen, each in a sentence.
    pub unseen: Vec<String>,
}

/// How the memory of all tenants of a device was seen to meet.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MetFinding {
    /// Time in which all were seen, seconds.
    pub seen_s: f64,
    /// How often their sum rose above the room, or one of them was lost.
    pub crossings: u64,
    /// How their rhythms lie to each other.
    pub phases: Phases,
}

/// One tenant of one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TenantFinding {
    /// Its name.
    pub name: String,
    /// Whether it stands for whatever runs on the device, since nobody was named.
    pub is_whole_gpu: bool,
    /// What it asks of a device; `None` where nothing shows when it was active.
    pub demand: Option<DemandFinding>,
    /// Its load's shape; `None` without a demand.
    pub shape: Option<LoadShape>,
    /// Its memory over time; `None` where only its peak is known, or nothing.
    pub memory: Option<MemoryFinding>,
    /// CUDA clients that it has, at least.
    pub clients: u32,
    /// MIG instance in which it was recorded; `None` without one.
    pub instance: Option<String>,
    /// Time from which its demand was drawn, seconds; 0 without a demand.
    pub seen_s: f64,
    /// Busy share of its busiest hour over that of all the time; `None` under two hours, or without a demand.
    pub busiest_hour_factor: Option<f64>,
}

/// What a tenant asks of a device that it has to itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DemandFinding {
    /// What begins its work.
    pub pace: Pace,
    /// What a delay does to its progress.
    pub coupling: Coupling,
    /// Its work, thinned to what a replay needs.
    pub work: Pieces,
    /// The same work in shorter and in longer bursts, where their length is in doubt.
    pub doubts: Option<[Pieces; 2]>,
    /// Latency outside of the GPU, seconds.
    pub host_s: f64,
    /// Share of the SMs while active.
    pub width: Range,
    /// Share of the peak memory bandwidth while active.
    pub bandwidth: Range,
    /// Power over idle while active, W; `None` when not measured.
    pub power_w: Option<f64>,
    /// Most memory held, bytes; `None` when not measured.
    pub memory_bytes: Option<f64>,
    /// What the driver's plain counters show; `None` when not measured.
    pub driver: Option<DriverView>,
    /// Bursts or busy periods that it was made from.
    pub bursts_seen: u64,
    /// What had to be assumed.
    pub assumptions: Vec<Assumption>,
}

/// Pieces of work in whole microseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pieces {
    /// Length of the time that they stand for, microseconds.
    pub span_us: u64,
    /// From the beginning of the piece before (the first: of the time) to that of each, microseconds.
    pub after_us: Vec<u64>,
    /// How long each takes, microseconds.
    pub work_us: Vec<u64>,
}

/// How long a tenant's memory stands at which height, and how often it rises.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryFinding {
    /// Heights, rising, bytes.
    pub levels_bytes: Vec<f64>,
    /// Share of the time at each.
    pub shares: Vec<f64>,
    /// Rises: place of the height before, place of the height after, how often per step.
    pub rises: Vec<(usize, usize, f64)>,
    /// Time that was seen, in steps.
    pub steps: u64,
    /// Length of a step, seconds.
    pub step_s: f64,
    /// Time between two readings, seconds.
    pub interval_s: f64,
    /// Whether it gives nothing back within a life.
    pub keeps_what_it_takes: bool,
}

impl DeviceFinding {
    /// What sets one device apart from all others: its host, where there is one, and its name.
    pub fn key(&self) -> (&str, &str) {
        (self.host.as_deref().unwrap_or_default(), &self.gpu)
    }

    /// Short name for people.
    pub fn label(&self) -> String {
        match (self.index, &self.host) {
            (Some(index), Some(host)) => format!("GPU {index} on {host}"),
            (Some(index), None) => format!("GPU {index}"),
            (None, Some(host)) if !self.gpu.starts_with(host.as_str()) => {
                format!("{} on {host}", self.gpu)
            }
            (None, _) => self.gpu.clone(),
        }
    }

    /// What is known about the device itself.
    pub fn facts(&self) -> DeviceFacts {
        DeviceFacts {
            model: self.model.clone(),
            total_mib: self.total_mib,
            reserved_mib: self.reserved_mib,
            others_mib: self.others_mib,
            mig: ability(self.model.as_deref(), self.total_mib.map(|it| it * MIB)),
        }
    }

    /// The situation of the device as it is now, with what owners say.
    pub fn situation(&self, said: &TenantPolicies, limits: Limits, options: Options) -> Situation {
        let met = self.met.map(|it| MeasuredPhase {
            seen_s: it.seen_s,
            crossings: it.crossings,
            phases: it.phases,
        });
        Situation {
            gpu: GpuId::new(&self.gpu),
            label: self.label(),
            device: self.facts(),
            now: self.now.clone(),
            tenants: self.tenants.iter().map(|it| it.tenant(said)).collect(),
            saturated: self.saturated.clone(),
            met,
            limits,
            options,
            unseen: self.unseen.clone(),
        }
    }
}

impl TenantFinding {
    /// The tenant with what its owner says.
    pub fn tenant(&self, said: &TenantPolicies) -> Tenant {
        Tenant {
            name: self.name.clone(),
            policy: said.of(&self.name),
            demand: self.demand.as_ref().and_then(|it| it.demand(&self.name)),
            shape: self.shape.clone(),
            memory: self.memory.as_ref().map(|it| it.demand(&self.name)),
            clients: self.clients,
            instance: self.instance.clone(),
        }
    }

    /// A finding of a tenant; its work is thinned to [`MOST_PIECES`] and its memory to [`MOST_LEVELS`].
    pub fn of(tenant: &Tenant, is_whole_gpu: bool) -> Self {
        let span = |it: &Demand| it.timeline.span_s();
        Self {
            name: tenant.name.clone(),
            is_whole_gpu,
            demand: tenant.demand.as_ref().map(DemandFinding::of),
            shape: tenant.shape.clone(),
            memory: tenant.memory.as_ref().map(MemoryFinding::of),
            clients: tenant.clients,
            instance: tenant.instance.clone(),
            seen_s: tenant.demand.as_ref().map_or(0.0, span),
            busiest_hour_factor: None,
        }
    }
}

impl DemandFinding {
    /// A demand as a finding.
    pub fn of(demand: &Demand) -> Self {
        let pieces = |it: &Timeline| Pieces::of(&thinned(it, MOST_PIECES));
        Self {
            pace: demand.pace,
            coupling: demand.coupling,
            work: pieces(&demand.timeline),
            doubts: demand.doubts.as_ref().map(|[short, long]| [pieces(short), pieces(long)]),
            host_s: demand.host_s,
            width: demand.width,
            bandwidth: demand.bandwidth,
            power_w: demand.power_w,
            memory_bytes: demand.memory_bytes,
            driver: demand.driver,
            bursts_seen: demand.bursts_seen as u64,
            assumptions: demand.assumptions.clone(),
        }
    }

    /// The demand again; `None` for pieces that are out of order, which only a damaged table has.
    pub fn demand(&self, name: &str) -> Option<Demand> {
        let doubts = match &self.doubts {
            Some([short, long]) => Some([Arc::new(short.timeline()?), Arc::new(long.timeline()?)]),
            None => None,
        };
        let work = self.work.timeline()?;
        Some(Demand {
            coupling: self.coupling,
            doubts,
            host_s: self.host_s,
            width: self.width,
            bandwidth: self.bandwidth,
            power_w: self.power_w,
            memory_bytes: self.memory_bytes,
            driver: self.driver,
            bursts_seen: usize::try_from(self.bursts_seen).unwrap_or(usize::MAX),
            assumptions: self.assumptions.clone(),
            ..Demand::of(name, self.pace, work)
        })
    }
}

impl Pieces {
    /// A timeline in whole microseconds; no piece becomes shorter than one.
    pub fn of(timeline: &Timeline) -> Self {
        let micros = |seconds: f64| (seconds * 1e6).round().max(0.0) as u64;
        let at: Vec<u64> = timeline.at_s().iter().map(|it| micros(*it)).collect();
        let before = std::iter::once(0).chain(at.iter().copied());
        Self {
            span_us: micros(timeline.span_s()).max(at.last().copied().unwrap_or(0)).max(1),
            after_us: at.iter().zip(before).map(|(at, before)| at - before).collect(),
            work_us: timeline.work_s().iter().map(|it| micros(*it).max(1)).collect(),
        }
    }

    /// The timeline again; `None` for pieces beyond the span.
    pub fn timeline(&self) -> Option<Timeline> {
        let mut at = 0_u64;
        let pieces = self.after_us.iter().zip(&self.work_us).map(|(after, work)| {
            at = at.saturating_add(*after);
            (at as f64 * 1e-6, *work as f64 * 1e-6)
        });
        let pieces: Vec<(f64, f64)> = pieces.collect();
        Timeline::new(pieces, self.span_us as f64 * 1e-6)
    }
}

impl MemoryFinding {
    /// A demand for memory as a finding.
    pub fn of(demand: &MemoryDemand) -> Self {
        let stairs = thinned_stairs(&demand.stairs, MOST_LEVELS);
        Self {
            rises: stairs.rises.iter().map(|it| (it.from, it.to, it.rate)).collect(),
            levels_bytes: stairs.levels,
            shares: stairs.shares,
            steps: stairs.samples,
            step_s: demand.step_s,
            interval_s: demand.interval_s,
            keeps_what_it_takes: demand.keeps_what_it_takes,
        }
    }

    /// The stairs again.
    pub fn stairs(&self) -> Staircase {
        let rise =
            |(from, to, rate): &(usize, usize, f64)| Rise { from: *from, to: *to, rate: *rate };
        Staircase {
            levels: self.levels_bytes.clone(),
            shares: self.shares.clone(),
            rises: self.rises.iter().map(rise).collect(),
            samples: self.steps,
        }
    }

    /// The demand again.
    pub fn demand(&self, label: &str) -> MemoryDemand {
        MemoryDemand {
            label: label.to_owned(),
            stairs: self.stairs(),
            step_s: self.step_s,
            interval_s: self.interval_s,
            keeps_what_it_takes: self.keeps_what_it_takes,
            limit_bytes: None,
            cap_bytes: None,
        }
    }
}
