//! Where the events of one rhythm fall in the cycles of another, and how high two series stand at every phase.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Fewer events than this fix no phase.
pub const FEWEST_EVENTS: usize = 8;
/// Sums that are tried at most; longer series are tried at fewer phases.
const MOST_WORK: usize = 40_000_000;

/// How firmly the events of one rhythm keep their place in the cycles of another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PhaseLock {
    /// Length of the mean direction, 0 (everywhere) to 1 (always the same place).
    pub concentration: f64,
    /// Chance of such a concentration when every place is equally likely.
    pub p_value: f64,
    /// The usual place in the cycle, 0 to 1.
    pub place: f64,
    /// Events that fell into a cycle.
    pub events: usize,
}

/// Tests whether `events` keep a place in the cycles that `starts` begin.
///
/// Each event's place is the part of its cycle that has passed, 0 to 1; R is the length of the mean
/// of e^{2πi place}. p by Rayleigh's test: e^{−nR²} with the correction of Greenwood and Durand.
/// Both lists ascend. `None` with fewer than eight events inside cycles.
///
/// Source: N. I. Fisher, Statistical Analysis of Circular Data (1993), section 4.3.
pub fn phase_lock(starts: &[f64], events: &[f64]) -> Option<PhaseLock> {
    let (mut cosines, mut sines, mut count) = (0.0, 0.0, 0_usize);
    for event in events {
        let next = starts.partition_point(|it| it <= event);
        if next == 0 || next == starts.len() {
            continue;
        }
        let place = (event - starts[next - 1]) / (starts[next] - starts[next - 1]);
        let angle = std::f64::consts::TAU * place;
        cosines += angle.cos();
        sines += angle.sin();
        count += 1;
    }
    if count < FEWEST_EVENTS {
        return None;
    }
    let n = count as f64;
    let concentration = (cosines.hypot(sines) / n).min(1.0);
    let z = n * concentration * concentration;
    let correction = 1.0 + (2.0 * z - z * z) / (4.0 * n)
        - (24.0 * z - 132.0 * z.powi(2) + 76.0 * z.powi(3) - 9.0 * z.powi(4)) / (288.0 * n * n);
    let p_value = ((-z).exp() * correction).clamp(0.0, 1.0);
    let place = (sines.atan2(cosines) / std::f64::consts::TAU).rem_euclid(1.0);
    Some(PhaseLock { concentration, p_value, place, events: count })
}

/// The greatest joint value at many relative phases.
#[derive(Debug, Clone, PartialEq)]
pub struct PhasePeaks {
    /// Phases that were tried.
    pub phases: usize,
    /// Share of them at which the sum exceeds the limit at some time.
    pub over_ratio: f64,
    /// Greatest sums, one for each phase at which it exceeds the limit, ascending.
    pub peaks: Vec<f64>,
}

/// The greatest value of the sum of series, each turned around the ring, wherever it exceeds a limit.
///
/// M(s) = max_t Σ_i x_i(t + s_i). Two series are tried at every rotation, exactly, as long as that
/// takes no more than forty million sums; longer ones at evenly chosen rotations, and three or more
/// at `phases` drawn from `seed`. Only instants at which the tenant with the fewest high samples
/// stands above the limit less the peaks of all others can exceed it. `None` unless there are two
/// series or more, equally long and not empty.
pub fn peaks_over_phase(
    series: &[&[f64]],
    limit: f64,
    phases: usize,
    seed: u64,
) -> Option<PhasePeaks> {
    let samples = series.first()?.len();
    if series.len() < 2 || samples == 0 || series.iter().any(|it| it.len() != samples) {
        return None;
    }
    let peak = |it: &&[f64]| it.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let all: f64 = series.iter().map(peak).sum();
    let high = |it: &[f64]| -> Vec<usize> {
        let least = limit - (all - peak(&it));
        (0..samples).filter(|at| it[*at] > least).collect()
    };
    let candidates: Vec<Vec<usize>> = series.iter().map(|it| high(it)).collect();
    let anchor = (0..series.len()).min_by_key(|it| candidates[*it].len())?;
    let instants = &candidates[anchor];
    let affordable = (MOST_WORK / (instants.len().max(1) * (series.len() - 1))).max(1);
    let mut dice = ChaCha8Rng::seed_from_u64(seed);
    let tried = if series.len() == 2 { samples.min(affordable) } else { phases.min(affordable) };
    let mut peaks = Vec::new();
    for phase in 0..tried {
        let even = (phase as u128 * samples as u128 / tried as u128) as usize;
        let shifts: Vec<usize> = (0..series.len())
            .map(|it| match it {
                it if it == anchor => 0,
                _ if series.len() == 2 => even,
                _ => dice.random_range(0..samples),
            })
            .collect();
        let sum = |at: &usize| {
            let turned = |(it, shift): (&&[f64], &usize)| it[(at + shift) % samples];
            series.iter().zip(&shifts).map(turned).sum::<f64>()
        };
        let greatest = instants.iter().map(sum).fold(f64::NEG_INFINITY, f64::max);
        if greatest > limit {
            peaks.push(greatest);
        }
    }
    peaks.sort_by(f64::total_cmp);
    Some(PhasePeaks { phases: tried, over_ratio: peaks.len() as f64 / tried as f64, peaks })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};

    #[test]
    fn two_crons_that_take_turns_are_locked_and_free_rhythms_are_not() {
        let cron: Vec<f64> = (0..40).map(|it| 60.0 * f64::from(it)).collect();
        let other: Vec<f64> =
            cron.iter().enumerate().map(|(it, at)| at + 30.0 + f64::from(it as u8 % 3)).collect();
        let found = phase_lock(&cron, &other).unwrap();
        assert!(found.concentration > 0.98 && found.p_value < 1e-9, "{found:?}");
        assert!((found.place - 0.517).abs() < 0.01);
        let free: Vec<f64> = (0..60).map(|it| 37.7 * f64::from(it)).collect();
        let found = phase_lock(&cron, &free).unwrap();
        assert!(found.concentration < 0.2 && found.p_value > 0.1, "{found:?}");
        assert_eq!(phase_lock(&cron[..5], &other), None);
    }

    #[test]
    fn luck_convicts_no_more_often_than_it_says() {
        let mut dice = ChaCha8Rng::seed_from_u64(5);
        let mut convicted = 0;
        for _ in 0..2000 {
            let mut draw = |mean: f64| -> Vec<f64> {
                let mut at = 0.0;
                let gap = |dice: &mut ChaCha8Rng| -mean * dice.random::<f64>().max(1e-12).ln();
                (0..30)
                    .map(|_| {
                        at += gap(&mut dice);
                        at
                    })
                    .collect()
            };
            let (starts, events) = (draw(10.0), draw(10.0));
            convicted +=
                u32::from(phase_lock(&starts, &events).is_some_and(|it| it.p_value < 0.05));
        }
        assert!((40..160).contains(&convicted), "{convicted} of 2000 at 5 %");
    }

    proptest! {
        #[test]
        fn peaks_are_those_of_brute_force(
            a in prop::collection::vec(0.0..10.0_f64, 40),
            b in prop::collection::vec(0.0..10.0_f64, 40),
            limit in 0.0..20.0_f64,
        ) {
            let mut forced: Vec<f64> = (0..40)
                .map(|s| (0..40).map(|t| a[t] + b[(t + s) % 40]).fold(0.0, f64::max))
                .filter(|it| *it > limit)
                .collect();
            forced.sort_by(f64::total_cmp);
            let found = peaks_over_phase(&[&a, &b], limit, 0, 0).unwrap();
            prop_assert_eq!(found.phases, 40);
            prop_assert_eq!(found.peaks.len(), forced.len());
            for (found, forced) in found.peaks.iter().zip(&forced) {
                prop_assert!((found - forced).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn three_series_are_tried_at_phases_drawn_by_lot() {
        let spike: Vec<f64> = (0..100).map(|it| if it < 10 { 5.0 } else { 1.0 }).collect();
        let found = peaks_over_phase(&[&spike, &spike, &spike], 10.0, 4000, 1).unwrap();
        // Two of three must meet: near 1 − (1 − 0.19)(1 − 0.19 − …), at least a third of the phases.
        assert!((0.3..0.6).contains(&found.over_ratio), "{}", found.over_ratio);
        assert!(found.peaks.iter().all(|it| *it == 11.0 || *it == 15.0));
        assert_eq!(peaks_over_phase(&[&spike], 1.0, 10, 1), None);
    }
}
