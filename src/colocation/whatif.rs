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
/// Events to replay for those who had fewer: only their throughput is told.
const FEW_EVENTS: u64 = 2000;
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
    let mut cast: Vec<(usize, String)> =
        seats.iter().map(|it| it.demand.name.clone()).enumerate().collect();
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
fn timeline(demand: &Demand, end: End) -> &Timeline {
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
    let events = if fewest_bursts(active) < LEAST_BURSTS { FEW_EVENTS } else { budget.events };
    let budget = Budget { events: events.min(budget.events), ..budget };
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
    let fewest = fewest_bursts(active);
    (fewest < LEAST_BURSTS).then_some(Refusal::TooFewBursts { seen: fewest })
}

fn fewest_bursts(active: &[Seat<'_>]) -> usize {
    active.iter().map(|it| it.demand.bursts_seen).min().unwrap_or(0)
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
    let mixed =
        |waiting: f64| waiting.powf(WAITING_SHARE) * hidden.max(waiting).powf(1.0 - WAITING_SHARE);
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
            let sms =
                pipelined_slowdown(active.iter().map(|it| busy(it) * it.demand.width.expected));
            let memory =
                active.iter().map(|it| busy(it) * it.demand.bandwidth.expected / attainable);
            sms.max(pipelined_slowdown(memory))
        }
        Mechanism::Exclusive | Mechanism::Mig => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colocation::demand::Spread;
    use proptest::prelude::*;

    const SPAN_S: f64 = 3600.0;

    fn fair() -> Mechanism {
        Mechanism::Mps { floor: Range::exact(0.0) }
    }

    fn turns() -> Mechanism {
        Mechanism::TimeSlicing { quantum_s: Range::exact(2e-3), switch_s: Range::exact(0.2e-3) }
    }

    fn server(per_second: f64, service_s: f64) -> Demand {
        Demand::requests("server", per_second, (service_s, Spread::Fixed), SPAN_S).unwrap()
    }

    fn bursts(duty: f64, burst_s: f64, spread: Spread) -> Demand {
        Demand::bursts("other", duty, (burst_s, spread), SPAN_S).unwrap()
    }

    fn victim(demands: [&Demand; 2], mechanism: Mechanism) -> TenantPrediction {
        predict(&demands.map(Seat::of), mechanism, &Options::default()).tenants.swap_remove(0)
    }

    fn slowdown(demands: [&Demand; 2], mechanism: Mechanism) -> Quantiles<f64> {
        victim(demands, mechanism).slowdown.unwrap().map(|it| it.expected)
    }

    #[test]
    fn long_bursts_give_a_quantile_either_all_of_the_slowdown_or_none() {
        // Rare requests, so that no queue adds to it: busy 30 % of the time, p50 sees nothing and p99 everything.
        let rare = server(0.5, 0.02);
        for burst_s in [0.5, 3.0, 15.0] {
            let found = slowdown([&rare, &bursts(0.3, burst_s, Spread::Exponential)], fair());
            assert!((found.p50 - 1.0).abs() < 0.01, "{burst_s}: {found:?}");
            assert!(
                (found.p95 - 2.0).abs() < 0.02 && (found.p99 - 2.0).abs() < 0.02,
                "{burst_s}: {found:?}"
            );
        }
    }

    #[test]
    fn bursts_much_shorter_than_a_request_slow_every_quantile_alike() {
        // Evenly spaced, so that no queue adds to it.
        let evenly = (0..720).map(|it| (5.0 * f64::from(it), 0.4));
        let slow = Demand::of("server", Pace::Open, Timeline::new(evenly, SPAN_S).unwrap());
        let found = slowdown([&slow, &bursts(0.3, 0.001, Spread::Fixed)], fair());
        for it in [found.p50, found.p95, found.p99] {
            assert!((it - 1.3).abs() < 0.03, "{found:?}");
        }
    }

    #[test]
    fn equal_loads_of_other_bursts_differ_in_their_p99() {
        let victim = server(5.0, 0.02);
        // p50 and p99 of the design's own simulation; its 2.24 at 3 s was one draw around the exact 2.00 and is not asked for.
        let rows = [
            (0.003, 1.33, 1.40),
            (0.03, 1.16, 1.69),
            (0.3, 1.01, 1.96),
            (3.0, 1.01, 2.0),
            (15.0, 1.0, 2.05),
        ];
        for (burst_s, p50, p99) in rows {
            let found = slowdown([&victim, &bursts(0.3, burst_s, Spread::Lognormal(0.5))], fair());
            assert!((found.p50 / p50 - 1.0).abs() < 0.05, "{burst_s}: {found:?}");
            assert!((found.p99 / p99 - 1.0).abs() < 0.05, "{burst_s}: {found:?}");
        }
    }

    #[test]
    fn busy_tenants_in_turns_are_slowed_by_their_number_and_the_switches() {
        for count in [3, 5, 7] {
            let pods: Vec<Demand> = (0..count)
                .map(|it| {
                    Demand::bursts(&format!("pod {it}"), 1.0, (0.088, Spread::Fixed), 60.0).unwrap()
                })
                .collect();
            let mechanism = Mechanism::TimeSlicing {
                quantum_s: Range::exact(2e-3),
                switch_s: Range::exact(0.22e-3),
            };
            let seats: Vec<Seat<'_>> = pods.iter().map(Seat::of).collect();
            for it in predict(&seats, mechanism, &Options::default()).tenants {
                let expected = f64::from(count) * 1.11;
                assert!(
                    (it.slowdown.unwrap().p50.expected / expected - 1.0).abs() < 0.02,
                    "{count}"
                );
            }
        }
    }

    #[test]
    fn a_tenant_alone_is_undisturbed_under_every_mechanism() {
        let alone = server(5.0, 0.02).wide(0.3, 0.2);
        let slice = Some(Slice { compute_slices: 3, memory_slices: 4 });
        for mechanism in [fair(), Mechanism::mps(), turns(), Mechanism::Exclusive, Mechanism::Mig] {
            let seat = Seat { slice, ..Seat::of(&alone) };
            let found = predict(&[seat], mechanism, &Options::default()).tenants.swap_remove(0);
            let p99 = found.slowdown.unwrap().p99.expected;
            assert!((p99 - 1.0).abs() < 1e-6, "{mechanism:?}: {p99}");
        }
    }

    #[test]
    fn what_cannot_be_told_is_refused_with_what_would_settle_it() {
        let idle = Demand::of("idle", Pace::Closed, Timeline::new([], 60.0).unwrap());
        let other = bursts(0.5, 1.0, Spread::Fixed);
        assert_eq!(victim([&idle, &other], fair()).refusal, Some(Refusal::NeverActive));
        let full = server(50.0, 0.0195);
        assert!(matches!(
            victim([&full, &other], fair()).refusal,
            Some(Refusal::SaturatedAlone { .. })
        ));
        let much = server(40.0, 0.02);
        let busy = bursts(0.9, 5.0, Spread::Fixed);
        let found = victim([&much, &busy], fair());
        assert!(matches!(found.refusal, Some(Refusal::QueueGrows { .. })), "{found:?}");
        let few = Demand::of("few", Pace::Closed, Timeline::new([(10.0, 5.0)], 60.0).unwrap());
        let found = victim([&server(5.0, 0.02), &few], fair());
        assert_eq!(found.refusal, Some(Refusal::TooFewBursts { seen: 1 }));
        assert_eq!(victim([&much, &busy], Mechanism::Mig).refusal, Some(Refusal::NoSlice));
        assert!(!found.refusal.unwrap().remedy().is_empty());
    }

    #[test]
    fn bursts_that_always_meet_are_worse_than_bursts_that_meet_by_chance() {
        let beat = |name: &str| {
            let pieces = (0..600).map(|it| (6.0 * f64::from(it), 1.0));
            Demand::of(name, Pace::Closed, Timeline::new(pieces, SPAN_S).unwrap())
        };
        let (one, other) = (beat("one"), beat("two"));
        let p50 = |meeting| {
            let options = Options { meeting, ..Options::default() };
            let found = predict(&[Seat::of(&one), Seat::of(&other)], fair(), &options);
            found.tenants[0].slowdown.unwrap().p50.expected
        };
        assert!((p50(Meeting::AsRecorded) - 2.0).abs() < 0.01);
        assert!(p50(Meeting::AnyPhase) < 1.8);
    }

    #[test]
    fn a_power_cap_slows_even_separate_slices() {
        let hot = |name: &str| {
            let it = Demand::bursts(name, 0.8, (0.5, Spread::Fixed), SPAN_S).unwrap();
            it.wide(0.4, 0.0).powered(300.0)
        };
        let (one, other) = (hot("one"), hot("two"));
        let slice = Some(Slice { compute_slices: 3, memory_slices: 4 });
        let seats = [&one, &other].map(|it| Seat { slice, ..Seat::of(it) });
        let p99 = |power| {
            let options = Options { power, ..Options::default() };
            predict(&seats, Mechanism::Mig, &options).tenants[0].slowdown.unwrap().p99.expected
        };
        assert!((p99(None) - 1.0).abs() < 1e-6);
        let capped = p99(Some(PowerCap::new(70.0, 500.0)));
        assert!((1.03..1.12).contains(&capped), "{capped}");
    }

    #[test]
    fn the_number_of_threads_does_not_matter() {
        let (one, other) = (server(5.0, 0.02), bursts(0.3, 0.3, Spread::Exponential));
        let line_ups = vec![vec![Seat::of(&one), Seat::of(&other)]; 8];
        let all = predict_all(&line_ups, turns(), &Options::default());
        let own = predict(&line_ups[0], turns(), &Options::default());
        assert!(all.iter().all(|it| *it == own));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn order_and_idle_tenants_change_nothing_and_company_never_helps(
            per_second in 1.0..20.0_f64, load in 0.05..0.3_f64, duty in 0.05..0.6_f64,
            burst_s in 0.005..5.0_f64, width in 0.2..1.0_f64, which in 0..3_usize,
        ) {
            let one = Demand::requests("a", per_second, (load / per_second, Spread::Exponential), 600.0).unwrap().wide(width, 0.3);
            let other = Demand::bursts("b", duty, (burst_s, Spread::Exponential), 600.0).unwrap().wide(width, 0.5);
            let idle = Demand::of("c", Pace::Closed, Timeline::new([], 60.0).unwrap());
            let mechanism = [Mechanism::mps(), turns(), Mechanism::Exclusive][which];
            let budget = Budget { events: 20_000, ..Budget::default() };
            let options = Options { budget, ..Options::default() };
            let seats = |all: &[&Demand]| predict(&all.iter().map(|it| Seat::of(it)).collect::<Vec<_>>(), mechanism, &options).tenants;
            let found = seats(&[&one, &other]);
            prop_assert_eq!(&seats(&[&other, &one])[1], &found[0]);
            prop_assert_eq!(&seats(&[&one, &idle, &other])[0], &found[0]);
            for it in &found {
                let told = it.slowdown.map(|it| [it.p50, it.p95, it.p99]);
                prop_assert!(told.is_none_or(|it| it.iter().all(|range| range.low >= 1.0 && range.low <= range.expected && range.expected <= range.high)));
                prop_assert!(it.throughput_ratio.is_some_and(|it| 0.0 <= it.low && it.high <= 1.0));
            }
        }
    }
}
