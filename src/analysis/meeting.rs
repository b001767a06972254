//! Whether two series are high at the same time: overlap, lift, peaks that coincide, phases that are locked.

use crate::analysis::memory_findings::{CoActivation, PhaseRelation};
use crate::domain::ident::Subject;
use crate::stats::coactivation::{lift, shift_test};
use crate::stats::multiple::false_discovery_rates;
use crate::stats::phase::{PhaseLock, phase_lock};
use crate::stats::quantile::quantiles;

/// Fewer common samples than this say nothing.
const FEWEST_SAMPLES: usize = 80;
/// Longest pair that is tested as it is; a longer one is joined to steps of its greatest values.
const MOST_SAMPLES: usize = 100_000;
/// Share of false alarms among the pairs that are called tied together.
const FALSE_ALARMS: f64 = 0.05;
/// A place in the cycle that is kept this firmly is fixed: a spread of about 7 % of the cycle.
const LOCKED: f64 = 0.9;

/// One side of a pair on the grid that both share.
pub(crate) struct Side<'a> {
    /// Whose it is.
    pub(crate) subject: &'a Subject,
    /// What was seen at each common step, in any unit.
    pub(crate) values: Vec<f64>,
    /// Whether it was in a burst, or near its peak.
    pub(crate) is_on: Vec<bool>,
}

/// What two series have in common; `None` with fewer than 80 common samples.
///
/// The probabilities of this pair alone; [`settled`] pays for the search over all pairs.
pub(crate) fn meeting(first: &Side<'_>, second: &Side<'_>, step_s: f64) -> Option<CoActivation> {
    let samples = first.values.len();
    if samples != second.values.len() || samples < FEWEST_SAMPLES {
        return None;
    }
    let sides = [first, second];
    let share = |on: &[bool]| on.iter().filter(|it| **it).count() as f64 / on.len() as f64;
    let both = |a: &[bool], b: &[bool]| a.iter().zip(b).filter(|it| *it.0 && *it.1).count() as f64;
    let (on, high) = ([&first.is_on, &second.is_on], sides.map(|it| high(&it.values)));
    let expected = |a: f64, b: f64| a * b * samples as f64 * step_s;
    let width = samples.div_ceil(MOST_SAMPLES);
    let numbers = on.map(|it| joined(it, width));
    let tested = shift_test(&numbers[0], &numbers[1], 0);
    let starts = on.map(|it| starts(it));
    let lock = locked(&starts);
    Some(CoActivation {
        first: first.subject.clone(),
        second: second.subject.clone(),
        samples: samples as u64,
        overlap_s: both(on[0], on[1]) * step_s,
        expected_overlap_s: expected(share(on[0]), share(on[1])),
        lift: lift(on[0], on[1]),
        p_value: tested.map(|it| it.p_value),
        q_value: None,
        coincidence_ratio: coincidence(&first.values, &second.values),
        joint_high_s: both(&high[0], &high[1]) * step_s,
        expected_joint_high_s: expected(share(&high[0]), share(&high[1])),
        phase: PhaseRelation::Unknown,
        phase_concentration_ratio: lock.map(|it| it.concentration),
        phase_q_value: lock.map(|it| it.p_value),
    })
}

/// All pairs of one GPU, the most surprising first, with the search over them paid for.
pub(crate) fn settled(mut pairs: Vec<CoActivation>) -> Vec<CoActivation> {
    let settle = |pairs: &mut [CoActivation],
                  get: fn(&CoActivation) -> Option<f64>,
                  set: fn(&mut CoActivation, Option<f64>)| {
        let known: Vec<f64> = pairs.iter().filter_map(get).collect();
        let mut rates = false_discovery_rates(&known).into_iter();
        for pair in pairs.iter_mut() {
            let rate = get(pair).and_then(|_| rates.next());
            set(pair, rate);
        }
    };
    settle(&mut pairs, |it| it.p_value, |it, rate| it.q_value = rate);
    settle(&mut pairs, |it| it.phase_q_value, |it, rate| it.phase_q_value = rate);
    pairs.iter_mut().for_each(|it| it.phase = relation(it));
    pairs.sort_by(|a, b| a.p_value.unwrap_or(1.0).total_cmp(&b.p_value.unwrap_or(1.0)));
    pairs
}

fn relation(pair: &CoActivation) -> PhaseRelation {
    let is_rare = |it: Option<f64>| it.is_some_and(|it| it <= FALSE_ALARMS);
    let is_fixed = is_rare(pair.phase_q_value)
        && pair.phase_concentration_ratio.is_some_and(|it| it >= LOCKED);
    match pair.lift {
        Some(lift) if lift > 1.0 && (is_rare(pair.q_value) || is_fixed) => PhaseRelation::Together,
        Some(_) if is_fixed => PhaseRelation::TakingTurns,
        Some(_) if pair.phase_concentration_ratio.is_some() => PhaseRelation::Independent,
        _ => PhaseRelation::Unknown,
    }
}

/// The firmer of the two ways to look at it: one in the cycles of the other.
fn locked(starts: &[Vec<f64>; 2]) -> Option<PhaseLock> {
    let ways = [phase_lock(&starts[0], &starts[1]), phase_lock(&starts[1], &starts[0])];
    let firmer = |a: PhaseLock, b: PhaseLock| if b.concentration > a.concentration { b } else { a };
    // Both ways were tried, so each probability counts twice.
    let paid = |it: PhaseLock| PhaseLock { p_value: (2.0 * it.p_value).min(1.0), ..it };
    ways.into_iter().flatten().reduce(firmer).map(paid)
}

/// Steps at which a burst begins.
fn starts(on: &[bool]) -> Vec<f64> {
    let begins = |it: &usize| on[*it] && *it > 0 && !on[*it - 1];
    (0..on.len()).filter(begins).map(|it| it as f64).collect()
}

/// Whether each sample is at or above the series' own 95th percentile, where that is more than its median.
fn high(values: &[f64]) -> Vec<bool> {
    let limits = quantiles(values, &[0.5, 0.95]).unwrap_or_else(|| vec![0.0, 0.0]);
    let is_high = |it: &f64| *it > limits[1] || (*it == limits[1] && limits[1] > limits[0]);
    values.iter().map(is_high).collect()
}

/// Peak of the sum over sum of the peaks; `None` when both peaks are zero.
pub(crate) fn coincidence(first: &[f64], second: &[f64]) -> Option<f64> {
    let peak = |it: &[f64]| it.iter().copied().fold(0.0, f64::max);
    let peaks = peak(first) + peak(second);
    let joint = first.iter().zip(second).map(|it| it.0 + it.1).fold(0.0, f64::max);
    (peaks > 0.0).then(|| joint / peaks)
}

fn joined(on: &[bool], width: usize) -> Vec<f64> {
    on.chunks(width).map(|it| f64::from(u8::from(it.contains(&true)))).collect()
}
