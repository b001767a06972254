//! The question itself: tenants and a way to share in, a prediction for each of them out.

use crate::colocation::demand::{Assumption, Coupling, Demand, Pace, Timeline};
use crate::colocation::partition::slice_slowdown;
use crate::colocation::phases::{Budget, Meeting, Outcome, Part, over_phases};
use crate::colocation::power::{PowerCap, Regulator};
use crate::colocation::range::{End, Quantiles, Range};
use crate::colocation::refusal::Refusal;
use crate::colocation::replay::{MOST_TENANTS, Sharing};
use crate::colocation::share::{Claim, Mechanism, Slice, Speeds, pipelined_slowdown, slice_speed};
use crate::colocation::turns::Turns;
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};
use serde::Serialize;

/// Weight of waiting for tenants of which it is not known whether they wait or queue ahead.
///
/// Source: training pairs of the Lucid artifact lie between both, near the pipelined end (0.1 to 0.2).
const WAITING_SHARE: f64 = 0.15;
/// Busy share alone from which on a server counts as saturated.
const SATURATED: f64 = 0.95;
/// Share of requests that are never done from which on a queue counts as growing.
const NEVER_DONE: f64 = 0.01;
/// Bursts that a trace must show before its p99 is believed.
const LEAST_BURSTS: usize = 3;
/// Widening, as a share, for a tenant that was not recorded alone.
const CO_PROFILED: f64 = 0.10;

/// Power by which the ends of an interval move away for a tenant that was recorded on another model of GPU.
const OTHER_GPU: f64 = 2.0;

/// A tenant and what it gets.
#[derive(Debug, Clone, Copy)]
pub struct Seat<'a> {
    /// What it asks for.
    pub demand: &'a Demand,
    /// Its active thread percentage under MPS as a share, 0 to 1; `None` for no limit.
    pub thread_share: Option<f64>,
    /// Its MIG instance; `None` without MIG.
    pub slice: Option<Slice>,
}

impl<'a> Seat<'a> {
    /// A seat without limits.
    pub fn of(demand: &'a Demand) -> Self {
        Self { demand, thread_share: None, slice: None }
    }
}

/// What is known about the GPU that would be shared, and how much the answer may cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Share of the peak memory bandwidth that can be had; 0.9 where nobody measured it.
    pub attainable_bandwidth: f64,
    /// The power cap; `None` leaves it out.
    pub power: Option<PowerCap>,
    /// Whether the phases of the recordings are kept.
    pub meeting: Meeting,
    /// How much the answer may cost.
    pub budget: Budget,
}

impl Default for Options {
    /// Bandwidth up to 0.9, no power cap, any relative phase, the usual budget.
    fn default() -> Self {
        Self {
            attainable_bandwidth: 0.9,
            power: None,
            meeting: Meeting::AnyPhase,
            budget: Budget::default(),
        }
    }
}

/// What would happen to one tenant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TenantPrediction {
    /// Name of the tenant.
    pub name: String,
    /// Latency (of other tenants than servers: time of a burst) over that alone, quantile by quantile; `None` when refused.
    pub slowdown: Option<Quantiles<Range>>,
    /// Latency, seconds, host included; `None` when refused.
    pub latency_s: Option<Quantiles<Range>>,
    /// Work done per time over that alone, 0 to 1; `None` when it has no work.
    pub throughput_ratio: Option<Range>,
    /// Whether the slowdown is a lower limit only.
    pub is_at_least: bool,
    /// Why there is no slowdown.
    pub refusal: Option<Refusal>,
    /// What had to be assumed about it.
    pub assumptions: Vec<Assumption>,
}

/// What would happen to all of them, in the order in which they were given.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// How they would share.
    pub mechanism: Mechanism,
    /// One for each tenant.
    pub tenants: Vec<TenantPrediction>,
}

/// What would happen if these tenants shared a GPU in this way.
///
/// Depends on names only as seeds of the phases; two tenants of one name are told apart by their place.
/// A tenant that never works changes nothing for the others.
pub fn predict(seats: &[Seat<'_>], mechanism: Mechanism, options: &Options) -> Prediction {
    let mut cast: Vec<(usize, String)> = seats.iter().map(|it| it.demand.name.clone()).enumerate().collect();
    cast.sort_by(|a, b| a.1.cmp(&b.1));
    for place in 1..cast.len() {
        if cast[place].1 == cast[place - 1].1 {
            cast[place].1.push('\'');
        }
    }
    cast.retain(|it| !seats[it.0].demand.is_idle());
    let names: Vec<&str> = cast.iter().map(|it| it.1.as_str()).collect();
    let active: Vec<Seat<'_>> = cast.iter().map(|it| seats[it.0]).collect();
    let blocked = blocked(&active, &mechanism);
    let ends: &[End] = match blocked.is_none() && is_doubtful(&active, &mechanism, options) {
        true => &[End::Expected, End::Benign, End::Adverse],
        false => &[End::Expected],
    };
    let played: Vec<Vec<Option<Outcome>>> = match blocked {
        Some(_) => Vec::new(),
        None => ends.iter().map(|it| play(&active, &names, &mechanism, options, *it)).collect(),
    };
    let mut tenants: Vec<TenantPrediction> = seats.iter().map(|it| idle(it.demand)).collect();
    for (place, (seat, original)) in active.iter().zip(cast.iter().map(|it| it.0)).enumerate() {
        let outcomes: Vec<Outcome> = played.iter().filter_map(|it| it[place]).collect();
        tenants[original] = match blocked {
            Some(refusal) => refused(seat.demand, refusal),
            None => told(seat, &active, &outcomes, &mechanism, options),
        };
    }
    Prediction { mechanism, tenants }
}

/// [`predict`] for many line-ups at once, in their order.
pub fn predict_all(
    line_ups: &[Vec<Seat<'_>>],
    mechanism: Mechanism,
    options: &Options,
) -> Vec<Prediction> {
    line_ups.par_iter().map(|seats| predict(seats, mechanism, options)).collect()
}

/// Why nothing can be said about anybody.
fn blocked(active: &[Seat<'_>], mechanism: &Mechanism) -> Option<Refusal> {
    if active.len() > MOST_TENANTS {
        return Some(Refusal::TooManyTenants { most: MOST_TENANTS });
    }
    let is_mig = matches!(mechanism, Mechanism::Mig);
    (is_mig && active.iter().any(|it| it.slice.is_none())).then_some(Refusal::NoSlice)
}

fn is_doubtful(active: &[Seat<'_>], mechanism: &Mechanism, options: &Options) -> bool {
    let of_mechanism = match mechanism {
        Mechanism::TimeSlicing { quantum_s, switch_s } => {
            !(quantum_s.is_exact() && switch_s.is_exact())
        }
        Mechanism::Mps { floor } => !floor.is_exact(),
        Mechanism::Exclusive | Mechanism::Mig => false,
    };
    let of_power = options.power.is_some_and(|it| !it.sensitivity.is_exact());
    let of_demand = |it: &Seat<'_>| {
        let demand = it.demand;
        !(demand.width.is_exact() && demand.bandwidth.is_exact()) || demand.doubts.is_some()
    };
    of_mechanism || of_power || active.iter().any(of_demand)
}

/// The timeline that is played at an end: shorter bursts are benign.
fn timeline<'a>(demand: &'a Demand, end: End) -> &'a Timeline {
    match (&demand.doubts, end) {
        (Some([short, _]), End::Benign) => short,
        (Some([_, long]), End::Adverse) => long,
        _ => &demand.timeline,
    }
}

fn play<'a>(
    active: &[Seat<'a>],
    names: &[&'a str],
    mechanism: &Mechanism,
    options: &Options,
    end: End,
) -> Vec<Option<Outcome>> {
    let part = |(seat, name): (&Seat<'a>, &&'a str)| {
        let demand: &'a Demand = seat.demand;
        Part { name, timeline: timeline(demand, end), pace: demand.pace, host_s: demand.host_s }
    };
    let parts: Vec<Part<'a>> = active.iter().zip(names).map(part).collect();
    let sharing = sharing(active, mechanism, options, end);
    let regulator = options.power.and_then(|cap| {
        let of = |it: &Seat<'_>| (it.demand.power_w.unwrap_or(0.0), it.demand.bandwidth.at(end));
        let tenants: Vec<(f64, f64)> = active.iter().map(of).collect();
        let attainable = options.attainable_bandwidth;
        let on_its_own = matches!(mechanism, Mechanism::Exclusive);
        let regulator = Regulator::new(cap, cap.sensitivity.at(end), &tenants, attainable);
        regulator.filter(|_| !on_its_own)
    });
    let budget = match end {
        End::Expected => options.budget,
        End::Benign | End::Adverse => options.budget.halved(),
    };
    over_phases(&parts, &sharing, regulator.as_ref(), options.meeting, budget)
}

fn sharing(active: &[Seat<'_>], mechanism: &Mechanism, options: &Options, end: End) -> Sharing {
    let attainable = options.attainable_bandwidth;
    match mechanism {
        Mechanism::Exclusive => Sharing::Together(Speeds::own(vec![1.0; active.len()])),
        Mechanism::TimeSlicing { quantum_s, switch_s } => {
            Sharing::InTurns(Turns::new(quantum_s.at(end), switch_s.at(end)))
        }
        Mechanism::Mps { floor } => {
            let claim = |it: &Seat<'_>| {
                let width = it.demand.width.at(end);
                let limit = it.thread_share.map_or(1.0, |share| (share / width.max(1e-6)).min(1.0));
                Claim { width, bandwidth: it.demand.bandwidth.at(end), limit }
            };
            let claims = active.iter().map(claim).collect();
            Sharing::Together(Speeds::filling(claims, attainable, floor.at(end)))
        }
        Mechanism::Mig => {
            let speed = |it: &Seat<'_>| {
                let Some(slice) = it.slice else { return 1.0 };
                let (width, bandwidth) = (it.demand.width.at(end), it.demand.bandwidth.at(end));
                let by_slice = slice_speed(width, bandwidth, slice, attainable);
                match (measured_by_driver(it.demand, slice), end) {
                    (None, _) => by_slice,
                    (Some(slowdown), End::Expected) => 1.0 / slowdown.expected,
                    (Some(slowdown), End::Benign) => by_slice.max(1.0 / slowdown.low),
                    (Some(slowdown), End::Adverse) => by_slice.min(1.0 / slowdown.high),
                }
            };
            Sharing::Together(Speeds::own(active.iter().map(speed).collect()))
        }
    }
}

/// Slowdown of a slice by the driver's counters, where there are no better ones.
fn measured_by_driver(demand: &Demand, slice: Slice) -> Option<Range> {
    let is_blind = demand.assumptions.contains(&Assumption::WidthUnknown);
    if is_blind { slice_slowdown(demand.driver?, slice) } else { None }
}

fn idle(demand: &Demand) -> TenantPrediction {
    TenantPrediction {
        name: demand.name.clone(),
        slowdown: None,
        latency_s: None,
        throughput_ratio: None,
        is_at_least: false,
        refusal: Some(Refusal::NeverActive),
        assumptions: demand.assumptions.clone(),
    }
}

fn refused(demand: &Demand, refusal: Refusal) -> TenantPrediction {
    TenantPrediction { refusal: Some(refusal), ..idle(demand) }
}

/// A prediction from what was played at each end, the expected one first.
fn told(
    seat: &Seat<'_>,
    active: &[Seat<'_>],
    outcomes: &[Outcome],
    mechanism: &Mechanism,
    options: &Options,
) -> TenantPrediction {
    let demand = seat.demand;
    let Some(first) = outcomes.first() else {
        return refused(demand, Refusal::TooFewBursts { seen: demand.bursts_seen });
    };
    let widening = match demand.assumptions.contains(&Assumption::CoProfiled) {
        true => 1.0 + CO_PROFILED,
        false => 1.0,
    };
    let is_scaled = active.iter().any(|it| it.demand.assumptions.contains(&Assumption::OtherGpu));
    let power = if is_scaled { OTHER_GPU } else { 1.0 };
    let mut slowdown = first.slowdown.zip(first.spread).map(|(it, spread)| around(it, spread));
    for other in &outcomes[1..] {
        let ends = other.slowdown.zip(other.spread).map(|(it, spread)| around(it, spread));
        slowdown = slowdown.zip(ends).map(|(one, more)| one.hull(more));
    }
    let slowdown = slowdown.map(|it| {
        let end = |value: f64| it.expected * (value / it.expected).powf(power);
        Range { low: end(it.low) / widening, high: end(it.high) * widening, ..it }.at_least(1.0)
    });
    let latency_s = first.shared_s.zip(slowdown).map(|(shared, it)| {
        let scale = shared / it.expected;
        Range { expected: shared, low: it.low * scale, high: it.high * scale }
    });
    let refusal = refusal(demand, active, outcomes);
    let is_answered = refusal.is_none();
    TenantPrediction {
        slowdown: is_answered.then_some(slowdown),
        latency_s: is_answered.then_some(latency_s),
        throughput_ratio: Some(throughput(demand, active, outcomes, mechanism, options)),
        is_at_least: is_answered && seat.slice.is_some_and(|it| it.compute_slices == 1),
        refusal,
        ..idle(demand)
    }
}

fn around(value: f64, spread: f64) -> Range {
    Range { expected: value, low: value * (-spread).exp(), high: value * spread.exp() }
}

/// Why a tenant that was played gets no p99 all the same.
fn refusal(demand: &Demand, active: &[Seat<'_>], outcomes: &[Outcome]) -> Option<Refusal> {
    let busy_share = demand.busy_share();
    let is_open = demand.pace == Pace::Open;
    if is_open && busy_share >= SATURATED {
        return Some(Refusal::SaturatedAlone { busy_share });
    }
    if is_open && outcomes[0].unfinished > NEVER_DONE {
        return Some(Refusal::QueueGrows { never_done: outcomes[0].unfinished });
    }
    let fewest = active.iter().map(|it| it.demand.bursts_seen).min().unwrap_or(0);
    (fewest < LEAST_BURSTS).then_some(Refusal::TooFewBursts { seen: fewest })
}

/// Work done per time over that alone.
fn throughput(
    demand: &Demand,
    active: &[Seat<'_>],
    outcomes: &[Outcome],
    mechanism: &Mechanism,
    options: &Options,
) -> Range {
    let played = |it: &Outcome| (it.progress * (1.0 - it.unfinished)).clamp(0.0, 1.0);
    let all: Vec<f64> = outcomes.iter().map(played).collect();
    let low = all.iter().copied().fold(1.0, f64::min);
    let high = all.iter().copied().fold(0.0, f64::max);
    let waiting = Range::new(all[0], low, high);
    if demand.coupling == Coupling::Waits || demand.pace == Pace::Open {
        return waiting;
    }
    let hidden = 1.0 / pipelined(active, mechanism, options);
    let mixed = |waiting: f64| waiting.powf(WAITING_SHARE) * hidden.max(waiting).powf(1.0 - WAITING_SHARE);
    match demand.coupling {
        Coupling::Pipelined => Range::new(mixed(all[0]), mixed(low), mixed(high).max(hidden)),
        _ => Range::new(mixed(all[0]), low, high.max(hidden)),
    }
}

/// Slowdown of work that is queued ahead: only what there is not enough of for all.
fn pipelined(active: &[Seat<'_>], mechanism: &Mechanism, options: &Options) -> f64 {
    let busy = |it: &Seat<'_>| it.demand.busy_share();
    match mechanism {
        Mechanism::TimeSlicing { quantum_s, switch_s } => {
            let cost = 1.0 + switch_s.expected / quantum_s.expected.max(1e-9);
            let plain = pipelined_slowdown(active.iter().map(busy));
            if active.len() > 1 && plain > 1.0 { plain * cost } else { plain }
        }
        Mechanism::Mps { .. } => {
            let attainable = options.attainable_bandwidth.max(1e-6);
            let sms = pipelined_slowdown(active.iter().map(|it| busy(it) * it.demand.width.expected));
            let memory = active.iter().map(|it| busy(it) * it.demand.bandwidth.expected / attainable);
            sms.max(pipelined_slowdown(memory))
        }
        Mechanism::Exclusive | Mechanism::Mig => 1.0,
    }
}
