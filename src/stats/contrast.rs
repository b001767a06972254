//! The victim during a suspect's bursts against the victim between them.

use crate::stats::bursts::thresholds;
use crate::stats::drift::stretches;
use crate::stats::quantile::{quantile, quantiles};
use crate::stats::ring::{Ring, decorrelation_lag, sliding_maxima};
use crate::stats::strata::Strata;
use nalgebra::DMatrix;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Shortest rotation that counts as independent of the true alignment, in bins.
const LEAST_GUARD: usize = 30;
/// Fewest rotations from which a probability is reported; fewer could never show 5 %.
const FEWEST_ROTATIONS: usize = 20;
/// Rounding of the transform must not decide between rotations that are equal on paper.
const TIE: f64 = 1e-9;
/// Share of its fit onto itself from which a rotated rhythm is the same rhythm.
const ONTO_ITSELF: f64 = 0.95;
/// Standard deviations beyond which a residual counts as this far out.
const CLIP: f64 = 3.0;
/// Greatest memory that is filtered out.
const MOST_MEMORY: f64 = 0.9;
/// Median size of a standard normal number.
const NORMAL_MEDIAN: f64 = 0.674_489_750_196_081_7;
/// Fewest cycles of burst and gap that are drawn from.
const FEWEST_CYCLES: usize = 5;
/// Most parts of a record that are drawn from; with more cycles, neighbours are drawn together.
const MOST_PARTS: usize = 500;
/// A sum of squares below this share of what went in is rounding.
const DUST: f64 = 1e-20;

/// A suspect's activity as bursts and gaps: on, off, or not seen; NaN is not seen, and what follows it begins as a gap.
///
/// `None` if the activity is flat: see [`thresholds`].
pub fn presence(activity: &[f64]) -> Option<Vec<Option<bool>>> {
    let seen: Vec<f64> = activity.iter().copied().filter(|it| it.is_finite()).collect();
    let limits = thresholds(&seen)?;
    let mut was_on = false;
    let step = |value: &f64| {
        let limit = if was_on { limits.off } else { limits.on };
        let is_on = value.is_finite().then_some(*value >= limit);
        was_on = is_on == Some(true);
        is_on
    };
    Some(activity.iter().map(step).collect())
}

/// Matched comparison of bins with and without a burst.
#[derive(Debug, Clone, PartialEq)]
pub struct Contrast {
    /// Difference within strata, in the unit of the residual.
    pub effect: f64,
    /// Lag at which bursts and residual fit best, in bins: the victim follows.
    pub lag: usize,
    /// Share of rotations that fit at least as well, one-sided; the search over lags is paid for.
    pub p_value: f64,
    /// Least probability that a suspect of this rhythm could reach: large when it repeats itself exactly.
    pub least_p: f64,
    /// Residual within its stratum, far outliers drawn in, 0 where it is missing.
    matched: Vec<f64>,
    /// Burst of `lag` bins ago within its stratum and without drift, 0 where it is missing.
    bursts: Vec<f64>,
    /// Where a cycle begins: the first bin of each burst, shifted by the lag.
    cycles: Vec<usize>,
}

/// Compares a residual in bursts and between them, within blocks of 150 bins and fifths of the load.
///
/// With e the residual less the mean of its stratum and o the bursts, likewise and without drift: effect =
/// Σeo/Σo², the difference within strata weighted by n_on n_off/(n_on+n_off), where what lies three standard deviations
/// beyond it is drawn in. The lag is the one of 0..=`max_lag` with the greatest mean of e(t)o(t−l), where e is drawn in and filtered by
/// its own memory and o is less its overall mean only; its null is every rotation of the bursts around the ring, each with its own best
/// lag, except within a guard: the largest of 30 bins, `max_lag` and three decorrelation lags of the side that forgets faster, but a
/// quarter of the record at most. Only the time from the first burst to the last counts. Deterministic; time O(n log n).
///
/// `None` if the series differ in length or have fewer than 80 bins, `max_lag` is longer than a quarter of them, or a side is
/// constant.
///
/// Source: recipe; rotations as discussed by K. D. Harris, bioRxiv 2020.11.29.402719; filter: D. Cochrane and G. H. Orcutt,
/// J. Am. Stat. Assoc. 44 (1949), 32–61.
pub fn contrast(
    residual: &[f64],
    load: Option<&[f64]>,
    on: &[Option<bool>],
    max_lag: usize,
) -> Option<Contrast> {
    if load.is_some_and(|it| it.len() != residual.len()) {
        return None;
    }
    let is_seen: Vec<bool> = residual.iter().map(|it| it.is_finite()).collect();
    contrast_within(residual, &Strata::of(&is_seen, load), on, max_lag)
}

/// [`contrast`] within strata that are known already; `None` also where these are not as many.
pub fn contrast_within(
    residual: &[f64],
    strata: &Strata,
    on: &[Option<bool>],
    max_lag: usize,
) -> Option<Contrast> {
    let n = residual.len();
    if on.len() != n || strata.numbers().len() != n {
        return None;
    }
    if n < 2 * LEAST_GUARD + FEWEST_ROTATIONS || max_lag > n / 4 {
        return None;
    }
    let on = &between_first_and_last(on);
    let matched = strata.matched(residual);
    let seen = residual.iter().filter(|it| it.is_finite());
    if squares(&matched) <= DUST * squares(seen) {
        return None;
    }
    let rotated = Rotations::of(on, &whitened(&clipped(&matched, strata), strata), strata);
    let guard = LEAST_GUARD.max(max_lag).max(rotated.memory.saturating_mul(3)).min(n / 4);
    let rotations = n.checked_sub(2 * guard).filter(|it| *it >= FEWEST_ROTATIONS)?;
    let Rotations { fit, itself, scale, .. } = rotated;
    if !(scale > 0.0 && scale.is_finite()) {
        return None;
    }
    let first = &fit[..=max_lag];
    let best = first.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lag = first.iter().position(|it| *it >= best - TIE * scale)?;
    let share = |products: &[f64], limit: f64| {
        let maxima = sliding_maxima(&products[guard..n - guard + max_lag], max_lag + 1);
        let as_good = maxima.iter().filter(|it| **it >= limit).count();
        (1 + as_good) as f64 / (1 + rotations) as f64
    };
    let p_value = share(&fit, best - TIE * scale);
    // A rotation onto itself fits as well as the truth does, whatever the victim did.
    let least_p = share(&itself, ONTO_ITSELF * itself[0]);
    let bursts = settled(on, lag, residual, strata);
    if squares(&bursts) <= DUST * n as f64 {
        return None;
    }
    let plain = effect(&matched, &bursts)?;
    let beyond: Vec<f64> = matched.iter().zip(&bursts).map(|(e, o)| e - plain * o).collect();
    let beyond = clipped(&beyond, strata);
    let matched: Vec<f64> = beyond.iter().zip(&bursts).map(|(e, o)| e + plain * o).collect();
    let effect = effect(&matched, &bursts)?;
    let cycles = (lag + 1..n)
        .filter(|it| on[it - lag] == Some(true) && on[it - lag - 1] == Some(false))
        .collect();
    Some(Contrast { effect, lag, p_value, least_p, matched, bursts, cycles })
}

/// Bursts turned against a residual, and against themselves.
struct Rotations {
    /// Mean product with the residual, for every rotation.
    fit: Vec<f64>,
    /// Mean product with the bursts.
    itself: Vec<f64>,
    /// What a perfect fit would be.
    scale: f64,
    /// Decorrelation lag of the side that forgets faster.
    memory: usize,
}

impl Rotations {
    fn of(on: &[Option<bool>], residual: &[f64], strata: &Strata) -> Self {
        let n = residual.len();
        let ring = Ring::of(n);
        let is_seen: Vec<bool> = on.iter().map(Option::is_some).collect();
        let is_known: Vec<bool> = strata.numbers().iter().map(Option::is_some).collect();
        let (x, y) = (ring.transform(&centred(on)), ring.transform(residual));
        let x_acf = ring.products(&x, &x);
        let memory = ring.decorrelation_lag(residual, decorrelation_lag(&x_acf));
        // Holes that both share make the true alignment richer in pairs than any rotation, so means are compared and not sums.
        let fit = means(ring.products(&x, &y), &ring.overlaps(&is_seen, &is_known));
        let itself = means(x_acf, &ring.overlaps(&is_seen, &is_seen));
        let scale = (itself[0] * squares(residual) / n as f64).sqrt();
        Self { fit, itself, scale, memory }
    }
}

impl Contrast {
    /// 95 % interval of the effect, by drawing whole cycles of burst and gap; `None` with fewer than five.
    ///
    /// A record of more than 500 cycles is cut into 500 parts of so many whole cycles: longer blocks keep more of its memory.
    ///
    /// Source: moving blocks of H. R. Künsch, Ann. Stat. 17 (1989), 1217–1241, cut where bursts begin.
    pub fn interval(&self, draws: usize, seed: u64) -> Option<(f64, f64)> {
        let edges = std::iter::once(0).chain(self.cycles.iter().copied());
        let ends = self.cycles.iter().copied().chain([self.matched.len()]);
        let sums: Vec<[f64; 2]> = edges
            .zip(ends)
            .map(|(from, until)| {
                let both = self.matched[from..until].iter().zip(&self.bursts[from..until]);
                both.fold([0.0; 2], |sum, (e, o)| [sum[0] + e * o, sum[1] + o * o])
            })
            .filter(|it| it[1] > 0.0)
            .collect();
        if sums.len() < FEWEST_CYCLES {
            return None;
        }
        let parts = sums.len().min(MOST_PARTS);
        let part = |it: usize| &sums[sums.len() * it / parts..sums.len() * (it + 1) / parts];
        let sums: Vec<[f64; 2]> = (0..parts).map(|it| total(part(it).iter().copied())).collect();
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let drawn: Vec<f64> = (0..draws)
            .filter_map(|_| {
                ratio((0..sums.len()).map(|_| sums[random.random_range(0..sums.len())]))
            })
            .collect();
        let ends = quantiles(&drawn, &[0.025, 0.975])?;
        Some((ends[0], ends[1]))
    }

    /// Residual within its stratum, 0 where it is missing.
    pub fn matched(&self) -> &[f64] {
        &self.matched
    }
}

/// Bursts and gaps from the first burst to the last; what lies outside is not seen.
///
/// Before a tenant came and after it left much else may have been different too.
fn between_first_and_last(on: &[Option<bool>]) -> Vec<Option<bool>> {
    let is_burst = |it: &Option<bool>| *it == Some(true);
    let first = on.iter().position(is_burst).unwrap_or(on.len());
    let end = on.iter().rposition(is_burst).map_or(0, |it| it + 1);
    on.iter().enumerate().map(|(bin, it)| it.filter(|_| (first..end).contains(&bin))).collect()
}

/// Values within three standard deviations, as the median deviation tells it; a few freak requests must not decide.
fn clipped(matched: &[f64], strata: &Strata) -> Vec<f64> {
    let both = matched.iter().zip(strata.numbers());
    let sizes: Vec<f64> = both.filter(|it| it.1.is_some()).map(|it| it.0.abs()).collect();
    let limit = quantile(&sizes, 0.5).map_or(0.0, |it| CLIP * it / NORMAL_MEDIAN);
    if limit <= 0.0 {
        return matched.to_vec();
    }
    matched.iter().map(|it| it.clamp(-limit, limit)).collect()
}

/// Values filtered forwards and backwards by the residual's own memory, 0 where there is none.
///
/// (1−φB)(1−φF) with φ the correlation of neighbours: a sum of products with it is that of two series that both forgot their past,
/// so what is left fluctuates freely and bursts stand out.
fn whitened(values: &[f64], strata: &Strata) -> Vec<f64> {
    let products: f64 = values.windows(2).map(|it| it[0] * it[1]).sum();
    let squares: f64 = values.iter().map(|it| it * it).sum();
    let memory = if squares > 0.0 { (products / squares).clamp(0.0, MOST_MEMORY) } else { 0.0 };
    let at = |bin: Option<usize>| bin.and_then(|it| values.get(it)).copied().unwrap_or(0.0);
    let filtered = |bin: usize| {
        let beside = at(bin.checked_sub(1)) + at(bin.checked_add(1));
        (1.0 + memory * memory) * values[bin] - memory * beside
    };
    let all = strata.numbers().iter().enumerate();
    all.map(|(bin, it)| it.map_or(0.0, |_| filtered(bin))).collect()
}

/// Sums over pairs as means; few pairs count as many, so that chance does not look like fit.
fn means(sums: Vec<f64>, pairs: &[f64]) -> Vec<f64> {
    let least = 0.5 * pairs.first().copied().unwrap_or(1.0).max(1.0);
    sums.into_iter().zip(pairs).map(|(sum, pairs)| sum / pairs.max(least)).collect()
}

/// Σeo/Σo².
fn effect(residual: &[f64], bursts: &[f64]) -> Option<f64> {
    ratio(residual.iter().zip(bursts).map(|(e, o)| [e * o, o * o]))
}

fn squares<'a>(values: impl IntoIterator<Item = &'a f64>) -> f64 {
    values.into_iter().map(|it| it * it).sum()
}

fn ratio(sums: impl Iterator<Item = [f64; 2]>) -> Option<f64> {
    let total = total(sums);
    (total[1] > 0.0).then(|| total[0] / total[1])
}

fn total(sums: impl Iterator<Item = [f64; 2]>) -> [f64; 2] {
    sums.fold([0.0; 2], |total, it| [total[0] + it[0], total[1] + it[1]])
}

/// Bursts less their mean, 0 where they were not seen.
fn centred(on: &[Option<bool>]) -> Vec<f64> {
    let seen = on.iter().flatten().count().max(1) as f64;
    let share = on.iter().flatten().filter(|it| **it).count() as f64 / seen;
    on.iter().map(|it| it.map_or(0.0, |it| f64::from(u8::from(it)) - share)).collect()
}

/// Bursts of `lag` bins ago, treated as the residual was: without drift, within strata.
fn settled(on: &[Option<bool>], lag: usize, residual: &[f64], strata: &Strata) -> Vec<f64> {
    let mut bursts = vec![f64::NAN; on.len()];
    for drift in stretches(on.len()) {
        let is_seen = |row: &usize| {
            *row >= lag
                && residual[*row].is_finite()
                && strata.numbers()[*row].is_some()
                && on[row - lag].is_some()
        };
        let rows: Vec<usize> = drift.bins.clone().filter(is_seen).collect();
        let mut column = DMatrix::from_fn(rows.len(), 1, |place, _| {
            f64::from(u8::from(on[rows[place] - lag] == Some(true)))
        });
        drift.remove(&rows, &mut column);
        rows.iter().zip(column.iter()).for_each(|(row, value)| bursts[*row] = *value);
    }
    strata.matched(&bursts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::expected::{answers, case, close, holed, numbers, value};
    use crate::stats::specimen::{Noise, Windows};
    use proptest::prelude::*;

    #[test]
    fn brute_force_over_all_rotations_finds_the_same_contrast() {
        for case in case("contrast") {
            let (residual, on) = (holed(case, "residual"), answers(case, "on"));
            let load = (!case["load"].is_null()).then(|| holed(case, "load"));
            let top = value(case, "max_lag") as usize;
            let found = contrast(&residual, load.as_deref(), &on, top).unwrap();
            assert_eq!(found.lag, value(case, "lag") as usize);
            close(Some(found.effect), value(case, "effect"), 1e-10);
            close(Some(found.p_value), value(case, "p_value"), 1e-12);
            close(Some(found.least_p), value(case, "least_p"), 1e-12);
            // Drawn by another generator: ends agree to a few hundredths of the width.
            let (ends, expected) = (found.interval(20_000, 1).unwrap(), numbers(case, "interval"));
            let width = expected[1] - expected[0];
            assert!((ends.0 - expected[0]).abs() < 0.03 * width, "{ends:?} {expected:?}");
            assert!((ends.1 - expected[1]).abs() < 0.03 * width, "{ends:?} {expected:?}");
        }
    }

    #[test]
    fn a_plain_loop_finds_the_same_bursts_around_holes() {
        for case in case("presence") {
            assert_eq!(presence(&holed(case, "x")), Some(answers(case, "expected")));
        }
    }

    /// Bursts, and a residual without drift that has memory and follows them by two bins.
    fn world(bins: usize, effect: f64, seed: u64) -> (Vec<f64>, Vec<Option<bool>>) {
        let windows = Windows { width: 1.0, stride: 1.0, count: bins };
        let on = presence(&windows.telegraph(8.0, 20.0, seed)).unwrap();
        let noise = Noise::new(seed + 1).autoregression(0.5, bins);
        let mut residual = noise;
        for bin in 0..bins {
            let is_on = bin >= 2 && on[bin - 2] == Some(true);
            residual[bin] = 0.1 * residual[bin] + if is_on { effect } else { 0.0 };
        }
        for drift in stretches(bins) {
            let rows: Vec<usize> = drift.bins.clone().collect();
            let mut column = DMatrix::from_fn(rows.len(), 1, |row, _| residual[rows[row]]);
            drift.remove(&rows, &mut column);
            rows.iter().zip(column.iter()).for_each(|(row, value)| residual[*row] = *value);
        }
        (residual, on)
    }

    #[test]
    fn the_interval_covers_the_truth_in_about_nineteen_of_twenty_worlds() {
        let covers = |seed: u64| {
            let (residual, on) = world(600, 0.15, 100 * seed);
            let found = contrast(&residual, None, &on, 5).unwrap();
            let (low, high) = found.interval(300, seed).unwrap();
            (low..=high).contains(&0.15)
        };
        let covered = (0..200).filter(|it| covers(*it)).count();
        assert!((170..=198).contains(&covered), "{covered} of 200");
    }

    #[test]
    fn the_innocent_are_blamed_about_one_time_in_twenty_and_the_lag_of_the_guilty_is_found() {
        let of = |effect: f64, seed: u64| {
            let (residual, on) = world(300, effect, 100 * seed);
            contrast(&residual, None, &on, 5).unwrap()
        };
        let innocent = (0..200).filter(|it| of(0.0, *it).p_value <= 0.05).count();
        assert!((3..=20).contains(&innocent), "{innocent} of 200");
        let guilty = (0..100).filter(|it| of(0.2, *it).p_value <= 0.05).count();
        let right = (0..100).filter(|it| of(0.2, *it).lag == 2).count();
        assert!(guilty >= 95 && right >= 95, "{guilty} found, {right} at their lag");
    }

    #[test]
    fn a_suspect_that_repeats_itself_exactly_cannot_be_convicted() {
        let (residual, _) = world(600, 0.0, 5);
        let on: Vec<Option<bool>> = (0..600).map(|it| Some(it % 30 < 9)).collect();
        let found = contrast(&residual, None, &on, 5).unwrap();
        assert!(found.least_p > 0.1 && found.p_value >= found.least_p, "{found:?}");
    }

    #[test]
    fn what_never_changes_and_what_does_not_fit_have_no_contrast() {
        let (residual, on) = world(300, 0.2, 3);
        assert!(contrast(&[0.1; 300], None, &on, 5).is_none());
        assert!(contrast(&residual, None, &[Some(true); 300], 5).is_none());
        assert!(contrast(&residual, None, &[None; 300], 5).is_none());
        assert!(contrast(&[f64::NAN; 300], None, &on, 5).is_none());
        assert!(contrast(&residual, None, &on[1..], 5).is_none());
        assert!(contrast(&residual, Some(&residual[1..]), &on, 5).is_none());
        assert!(contrast(&residual, Some(&[f64::NAN; 300]), &on, 5).is_none());
        assert!(contrast(&residual, None, &on, 76).is_none());
        assert!(contrast(&residual, None, &on, 75).is_some());
        assert!(contrast(&residual[..79], None, &on[..79], 0).is_none());
        assert_eq!(presence(&[0.4; 50]), None);
        assert_eq!(presence(&[f64::NAN; 50]), None);
        assert_eq!(presence(&[]), None);
    }

    #[test]
    fn the_same_seed_draws_the_same_interval_and_four_bursts_draw_none() {
        let (residual, on) = world(300, 0.2, 3);
        let found = contrast(&residual, None, &on, 5).unwrap();
        assert_eq!(found.interval(500, 7), found.interval(500, 7));
        assert_ne!(found.interval(500, 7), found.interval(500, 8));
        assert_eq!(found.interval(0, 7), None);
        let few: Vec<Option<bool>> = (0..300).map(|it| Some(it % 100 > 70)).collect();
        assert_eq!(contrast(&residual, None, &few, 5).unwrap().interval(500, 7), None);
    }

    proptest! {
        #[test]
        fn the_unit_of_the_residual_does_not_matter(
            seed in 0..1000_u64,
            scale in 1e-6..1e6_f64,
            effect in -0.2..0.2_f64,
        ) {
            let (residual, on) = world(200, effect, seed);
            let scaled: Vec<f64> = residual.iter().map(|it| it * scale).collect();
            let (Some(plain), Some(found)) =
                (contrast(&residual, None, &on, 5), contrast(&scaled, None, &on, 5))
            else {
                return Ok(());
            };
            prop_assert_eq!((found.p_value, found.lag), (plain.p_value, plain.lag));
            prop_assert!(found.p_value > 0.0 && found.p_value <= 1.0);
            prop_assert!((found.effect / scale - plain.effect).abs() < 1e-9);
        }

        #[test]
        fn no_series_breaks_it(
            bins in prop::collection::vec(
                (
                    prop_oneof![8 => -1.0..1.0_f64, 1 => Just(f64::NAN), 2 => Just(0.5), 1 => prop_oneof![Just(1e200), Just(1e-200), Just(f64::INFINITY)]],
                    prop_oneof![9 => 0.0..1.0_f64, 1 => Just(f64::NAN)],
                    any::<Option<bool>>(),
                ),
                0..200,
            ),
            max_lag in 0..60_usize,
            has_load in any::<bool>(),
        ) {
            let residual: Vec<f64> = bins.iter().map(|it| it.0).collect();
            let load: Vec<f64> = bins.iter().map(|it| it.1).collect();
            let on: Vec<Option<bool>> = bins.iter().map(|it| it.2).collect();
            let found = contrast(&residual, has_load.then_some(load.as_slice()), &on, max_lag);
            let Some(found) = found else { return Ok(()) };
            for p in [found.p_value, found.least_p] {
                prop_assert!(p > 0.0 && p <= 1.0);
            }
            prop_assert!(found.effect.is_finite() && found.lag <= max_lag);
            prop_assert_eq!(found.matched().len(), residual.len());
            prop_assert!(found.interval(20, 1).is_none_or(|it| it.0 <= it.1));
        }

        #[test]
        fn nobody_is_on_where_nobody_was_seen(
            activity in prop::collection::vec(prop_oneof![3 => 0.0..1.0_f64, 1 => Just(f64::NAN)], 0..200),
        ) {
            let Some(on) = presence(&activity) else { return Ok(()) };
            prop_assert_eq!(on.len(), activity.len());
            prop_assert!(activity.iter().zip(on).all(|(value, it)| value.is_nan() == it.is_none()));
        }
    }
}
