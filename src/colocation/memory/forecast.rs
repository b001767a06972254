//! From demands and room to chances.

use crate::colocation::memory::words::{caveats, sentence};
use crate::colocation::memory::{
    BeyondCap, ForecastBasis, MeasuredPhase, MemoryDemand, MemoryForecast, MemoryQuestion,
    MemoryRisk, Phases,
};
use crate::stats::phase::{PhasePeaks, peaks_over_phase};
use crate::stats::staircase::{Distribution, Staircase, crossing_rate};

/// Samples further apart than this say nothing of spikes that they did not hit, in seconds.
const BLIND_S: f64 = 5.0;
/// Samples further apart than this miss spikes, where those that were seen lasted one sample, in seconds.
const COARSE_S: f64 = 1.0;
/// A stretch near the peak that lasts fewer samples than this is as short as can be seen.
const SHORTEST_RUN: f64 = 1.5;
/// Sampling that shows the memory of a request, in seconds.
const FINE_S: f64 = 0.1;
/// Upper 95 % limit of a count of nothing (rule of three).
const OF_NOTHING: f64 = 3.0;
/// Phases that are tried for three tenants and more.
const PHASES: usize = 2_000;
/// Seed of those phases.
const SEED: u64 = 7;

/// How likely tenants run out of the memory that they share; `None` without tenants.
///
/// Independent, stationary phases: ν = Σ_i Σ_rises rate(v → v+j) P(C−v−j < Σ others ≤ C−v) and
/// P(T) = 1 − (1 − P(over)) e^{−νT}. In the measured phase ν is the crossings over the time seen. Fixed phases
/// count as measured; phases that are tied together, or that cannot be judged, with the worse of both.
pub fn forecast(question: &MemoryQuestion<'_>) -> Option<MemoryForecast> {
    if question.demands.is_empty() {
        return None;
    }
    let room = question.room.bytes();
    let seen: Vec<Staircase> = question.demands.iter().map(as_seen).collect();
    let now = Chances::of(&seen, question.demands, room);
    let grown: Vec<Staircase> = question.demands.iter().map(at_limit).collect();
    let has_limit = question.demands.iter().any(|it| it.limit_bytes.is_some());
    let then = has_limit.then(|| Chances::of(&grown, question.demands, room));
    let peaks: f64 = seen.iter().map(Staircase::peak).sum();
    let limits: f64 = grown.iter().map(Staircase::peak).sum();
    let is_blind = question.demands.iter().any(is_blind) && !has_hard_caps(question, room);
    let phases = question.measured.map(|it| it.phases);
    let risks: Vec<MemoryRisk> = question
        .horizons_s
        .iter()
        .map(|it| risk(*it, question.measured, &now, then.as_ref(), is_blind))
        .collect();
    let basis = match phases {
        _ if is_blind => ForecastBasis::Blind,
        _ if then.as_ref().is_some_and(|it| it.is_worse_than(&now)) => ForecastBasis::Limits,
        _ if peaks <= room => ForecastBasis::AlwaysFits,
        Some(Phases::Fixed) => ForecastBasis::MeasuredPhase,
        Some(Phases::Together | Phases::Unknown) => ForecastBasis::WorseOfBoth,
        Some(Phases::Independent) | None => ForecastBasis::IndependentPhases,
    };
    let mut found = MemoryForecast {
        room_bytes: room,
        room_is_upper_limit: question.room.is_upper_limit(),
        sum_of_means_bytes: seen.iter().map(Staircase::mean).sum(),
        sum_p99_bytes: now.sum.quantile(0.99),
        sum_of_peaks_bytes: peaks,
        over_ratio: now.over,
        crossings_per_h: 3600.0 * now.per_s,
        measured_crossings_per_h: question.measured.and_then(|it| Some(3600.0 * rate(&it)?)),
        phases,
        basis,
        risks,
        fits_at_limits: has_limit.then_some(limits <= room),
        beyond_own_cap: question.demands.iter().filter_map(beyond_cap).collect(),
        needed_interval_s: is_blind.then(|| needed_interval(question.demands)),
        sentence: String::new(),
        caveats: Vec::new(),
        is_lower_limit: question.demands.iter().any(is_unresolved),
    };
    found.sentence = sentence(question, &found);
    found.caveats = caveats(question, &found);
    Some(found)
}

/// Chances that any of several slices runs out: each has a capacity and tenants of its own (MIG).
///
/// For each horizon of the first question; `None` where one slice cannot be judged.
pub fn slices(questions: &[MemoryQuestion<'_>]) -> Vec<(f64, Option<f64>)> {
    let forecasts: Vec<MemoryForecast> = questions.iter().filter_map(forecast).collect();
    let Some(first) = forecasts.first() else { return Vec::new() };
    let any = |place: usize| {
        let none = forecasts.iter().map(|it| it.risks.get(place)?.risk_ratio.map(|it| 1.0 - it));
        none.collect::<Option<Vec<f64>>>().map(|it| 1.0 - it.iter().product::<f64>())
    };
    first.risks.iter().enumerate().map(|(place, it)| (it.horizon_s, any(place))).collect()
}

/// Greatest sums over random relative phases, wherever they exceed the room; equally long samples, in bytes.
///
/// The share of phases is the exact chance within the length of the samples, whatever the rhythm:
/// crossings that come in clumps, as those of equal periods do, count once. `None` for fewer than two.
pub fn phase_peaks(samples: &[&[f64]], room_bytes: f64) -> Option<PhasePeaks> {
    peaks_over_phase(samples, room_bytes, PHASES, SEED)
}

/// Whether tenants hold more than there is for most of the time, without any rise: a crossing was before the first sample.
pub(super) fn is_too_much(crossings: f64, over_ratio: f64) -> bool {
    crossings == 0.0 && over_ratio >= 0.5
}

/// What independent phases bring.
struct Chances {
    per_s: f64,
    over: f64,
    sum: Distribution,
}

impl Chances {
    fn of(stairs: &[Staircase], demands: &[MemoryDemand], room: f64) -> Self {
        // Rates are per sample: stairs of different samples are brought to seconds.
        let per_second: Vec<Staircase> = stairs
            .iter()
            .zip(demands)
            .map(|(it, demand)| {
                let mut it = it.clone();
                it.rises.iter_mut().for_each(|rise| rise.rate /= demand.step_s);
                it
            })
            .collect();
        let all: Vec<&Staircase> = per_second.iter().collect();
        let sum = Distribution::of_sum(all.iter().copied());
        Self { per_s: crossing_rate(&all, room), over: sum.share_above(room), sum }
    }

    fn within(&self, horizon_s: f64) -> f64 {
        if is_too_much(self.per_s, self.over) {
            return 1.0;
        }
        1.0 - (1.0 - self.over) * (-self.per_s * horizon_s).exp()
    }

    fn is_worse_than(&self, other: &Chances) -> bool {
        self.within(3600.0) > other.within(3600.0) + 1e-9
    }
}

fn as_seen(demand: &MemoryDemand) -> Staircase {
    let stairs = match demand.keeps_what_it_takes {
        true => Staircase::constant(demand.stairs.peak()),
        false => demand.stairs.clone(),
    };
    demand.cap_bytes.map_or(stairs.clone(), |it| stairs.capped(it))
}

fn at_limit(demand: &MemoryDemand) -> Staircase {
    match demand.limit_bytes {
        Some(limit) => {
            let peak = limit.max(demand.stairs.peak());
            Staircase::constant(demand.cap_bytes.map_or(peak, |it| peak.min(it)))
        }
        None => as_seen(demand),
    }
}

/// Whether hard caps alone make it fit, so that nothing needs to be seen.
fn has_hard_caps(question: &MemoryQuestion<'_>, room: f64) -> bool {
    let caps: Option<f64> = question.demands.iter().map(|it| it.cap_bytes).sum();
    caps.is_some_and(|it| it <= room)
}

/// Whether peaks between samples may be anything.
fn is_blind(demand: &MemoryDemand) -> bool {
    demand.interval_s > BLIND_S || (demand.interval_s > COARSE_S && is_unresolved(demand))
}

/// Whether its peaks last no longer than can be seen, so that some were missed.
fn is_unresolved(demand: &MemoryDemand) -> bool {
    run_at_peak(demand).is_some_and(|it| it < SHORTEST_RUN * demand.interval_s)
}

/// Mean time near the peak, in seconds; `None` for a tenant that does not swing.
fn run_at_peak(demand: &MemoryDemand) -> Option<f64> {
    let stairs = &demand.stairs;
    let sum = Distribution::of_sum([stairs]);
    let (middle, peak) = (sum.quantile(0.5), stairs.peak());
    if peak - middle < 0.02 * peak {
        return None;
    }
    let level = 0.5 * (middle + peak);
    let rises = stairs.rises_above(level);
    (rises > 0.0).then(|| sum.share_above(level) / rises * demand.step_s)
}

/// A third of the shortest stay near a peak, where those are resolved; else what shows a request's memory.
fn needed_interval(demands: &[MemoryDemand]) -> f64 {
    let resolved = demands.iter().filter(|it| !is_blind(it)).filter_map(run_at_peak);
    resolved.map(|it| it / 3.0).fold(FINE_S, f64::min).max(0.01)
}

fn rate(measured: &MeasuredPhase) -> Option<f64> {
    (measured.seen_s > 0.0).then(|| measured.crossings as f64 / measured.seen_s)
}

fn risk(
    horizon_s: f64,
    measured: Option<MeasuredPhase>,
    now: &Chances,
    then: Option<&Chances>,
    is_blind: bool,
) -> MemoryRisk {
    let independent = now.within(horizon_s);
    let within = |rate: f64| 1.0 - (-rate * horizon_s).exp();
    let measured_ratio = measured.and_then(|it| rate(&it)).map(within);
    let high = measured.filter(|it| it.seen_s > 0.0).map(|it| {
        let count = it.crossings as f64;
        // Above a count of nothing the upper limit of a Poisson mean, to a few percent.
        let most =
            if it.crossings == 0 { OF_NOTHING } else { count + 1.92 + 1.96 * (count + 1.0).sqrt() };
        within(most / it.seen_s)
    });
    let seen = match measured.map(|it| it.phases) {
        Some(Phases::Fixed) => measured_ratio.unwrap_or(independent),
        Some(Phases::Together | Phases::Unknown) => independent.max(measured_ratio.unwrap_or(0.0)),
        Some(Phases::Independent) | None => independent,
    };
    let worst = then.map_or(seen, |it| seen.max(it.within(horizon_s)));
    MemoryRisk {
        horizon_s,
        independent_ratio: independent,
        measured_ratio,
        measured_high_ratio: high,
        risk_ratio: (!is_blind).then_some(worst),
    }
}

fn beyond_cap(demand: &MemoryDemand) -> Option<BeyondCap> {
    let per_h = 3600.0 * demand.stairs.rises_above(demand.cap_bytes?) / demand.step_s;
    (per_h > 0.0).then(|| BeyondCap { label: demand.label.clone(), per_h })
}
