//! Whether two series are active together more often than their own rhythms explain.

use crate::stats::correlate::centred;
use crate::stats::ring::{Ring, decorrelation_lag, sliding_maxima};

/// Shortest rotation that counts as independent of the true alignment.
const LEAST_GUARD: usize = 30;
/// Fewest rotations from which a probability is reported; fewer could never show 5 %.
const FEWEST_ROTATIONS: usize = 20;
/// Rounding of the transform must not decide between rotations that are equal on paper.
const TIE: f64 = 1e-9;

/// How much more often two are active together than by chance.
///
/// P(a and b) / (P(a) P(b)): 1 by chance, above 1 together, 0 never together.
/// `None` if the slices differ in length or either is never active.
///
/// Source: "interest" of S. Brin et al., Proc. ACM SIGMOD (1997), 255–264.
pub fn lift(a: &[bool], b: &[bool]) -> Option<f64> {
    if a.len() != b.len() {
        return None;
    }
    let active = |side: &[bool]| side.iter().filter(|on| **on).count() as f64;
    let both = a.iter().zip(b).filter(|(a, b)| **a && **b).count() as f64;
    let by_chance = active(a) * active(b);
    (by_chance > 0.0).then(|| both * a.len() as f64 / by_chance)
}

/// The best correlation over a range of lags, judged against all rotations of one series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShiftTest {
    /// Correlation of `x[t − lag]` and `y[t]` at the best lag, −1 to 1.
    pub statistic: f64,
    /// Share of rotations that do at least as well, one-sided; the search over lags is paid for.
    pub p_value: f64,
    /// The best lag in samples: y follows x.
    pub lag: usize,
}

/// Tests whether y follows x within `max_lag` samples more closely than a rotated x would.
///
/// Standardised to mean 0 and variance 1, c(s) = (1/n) Σ_t x(t−s) y(t) with t−s taken around the
/// ring, M(s) = max over l = 0..=`max_lag` of c(s+l), and p = (1 + #{s ∈ \[g, n−g): M(s) ≥ M(0)}) /
/// (1 + #\[g, n−g)). The guard g is the largest of 30, `max_lag` and three times the decorrelation
/// lag, where the circular autocorrelation of either series is below 1/e for the first time. Only
/// positive dependence counts. At least one series must be stationary: take trends out first.
/// Deterministic; time O(n log n). `None` if the series differ in length, either is constant, or
/// fewer than 20 rotations are left.
///
/// Source: recipe from circular shifts as discussed by K. D. Harris, "Nonsense correlations in
/// neuroscience", bioRxiv 2020.11.29.402719.
pub fn shift_test(x: &[f64], y: &[f64], max_lag: usize) -> Option<ShiftTest> {
    let n = x.len();
    if n != y.len() || n < 2 * LEAST_GUARD + FEWEST_ROTATIONS {
        return None;
    }
    let ring = Ring::of(n);
    let (x, y) = (ring.transform(&centred(x)?), ring.transform(&centred(y)?));
    let (x_acf, y_acf) = (ring.products(&x, &x), ring.products(&y, &y));
    let decorrelation = decorrelation_lag(&x_acf).max(decorrelation_lag(&y_acf));
    let guard = LEAST_GUARD.max(max_lag).max(decorrelation.saturating_mul(3));
    let rotations = n.checked_sub(guard.checked_mul(2)?)?;
    if rotations < FEWEST_ROTATIONS {
        return None;
    }
    let mut c = ring.products(&x, &y);
    let scale = 1.0 / (x_acf[0] * y_acf[0]).sqrt();
    c.iter_mut().for_each(|product| *product *= scale);
    let first = &c[..=max_lag];
    let statistic = first.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lag = first.iter().position(|it| *it >= statistic - TIE)?;
    let maxima = sliding_maxima(&c[guard..n - guard + max_lag], max_lag + 1);
    let as_good = maxima.iter().filter(|&&it| it >= statistic - TIE).count();
    let p_value = (1 + as_good) as f64 / (1 + rotations) as f64;
    Some(ShiftTest { statistic: statistic.clamp(-1.0, 1.0), p_value, lag })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::expected::{case, close, numbers, value};
    use crate::stats::specimen::{Noise, Windows};
    use proptest::prelude::*;

    #[test]
    fn brute_force_finds_the_same_test() {
        for case in case("shift_test") {
            let (x, y) = (numbers(case, "x"), numbers(case, "y"));
            let found = shift_test(&x, &y, value(case, "max_lag") as usize).unwrap();
            close(Some(found.statistic), value(case, "statistic"), 1e-9);
            close(Some(found.p_value), value(case, "p_value"), 1e-12);
            assert_eq!(found.lag, value(case, "lag") as usize);
        }
    }

    #[test]
    fn two_that_always_meet_have_lift_and_two_that_take_turns_have_none() {
        let a = [true, true, false, false];
        assert_eq!(lift(&a, &a), Some(2.0));
        assert_eq!(lift(&a, &[false, false, true, true]), Some(0.0));
        assert_eq!(lift(&a, &[true, false, true, false]), Some(1.0));
        assert_eq!(lift(&a, &[false; 4]), None);
        assert_eq!(lift(&a, &[true; 3]), None);
        assert_eq!(lift(&[], &[]), None);
    }

    #[test]
    fn an_effect_three_samples_later_is_found_at_lag_three() {
        let x = Windows { width: 1.0, stride: 1.0, count: 600 }.telegraph(8.0, 20.0, 1);
        let mut noise = Noise::new(2);
        let y: Vec<f64> =
            (0..600).map(|t| 0.5 * x[usize::saturating_sub(t, 3)] + 0.3 * noise.normal()).collect();
        let found = shift_test(&x, &y, 5).unwrap();
        assert_eq!(found.lag, 3);
        assert!(found.p_value < 0.01, "{found:?}");
    }

    #[test]
    fn unrelated_bursts_are_called_related_about_one_time_in_twenty() {
        let windows = Windows { width: 1.0, stride: 1.0, count: 600 };
        let alarms = (0..400_u64)
            .filter(|seed| {
                let x = windows.telegraph(8.0, 20.0, 2 * seed);
                let y = windows.telegraph(8.0, 20.0, 2 * seed + 1);
                shift_test(&x, &y, 5).unwrap().p_value <= 0.05
            })
            .count();
        assert!((4..=36).contains(&alarms), "{alarms} of 400");
    }

    #[test]
    fn two_periodic_loads_in_step_do_not_convince() {
        let x = Windows { width: 1.0, stride: 1.0, count: 600 }.periodic(5.0, 15.0);
        let found = shift_test(&x, &x, 0).unwrap();
        assert!(found.p_value > 0.04, "every twentieth rotation does as well: {found:?}");
    }

    #[test]
    fn without_enough_independent_rotations_there_is_no_test() {
        let ramp: Vec<f64> = (0..600).map(f64::from).collect();
        assert_eq!(shift_test(&ramp, &[0.3; 600], 5), None);
        assert_eq!(shift_test(&ramp[..79], &ramp[..79], 0), None);
        assert_eq!(shift_test(&ramp, &ramp[..599], 0), None);
        let noise = Noise::new(3).autoregression(0.0, 600);
        assert_eq!(shift_test(&noise, &noise, usize::MAX), None);
        assert!(shift_test(&noise, &noise, 290).is_some());
        assert_eq!(shift_test(&noise, &noise, 295), None);
    }

    proptest! {
        #[test]
        fn sliding_maxima_are_the_maxima_of_all_stretches(
            values in prop::collection::vec(-1.0..1.0_f64, 1..60), width in 1..10_usize,
        ) {
            let by_hand: Vec<f64> = values
                .windows(width)
                .map(|it| it.iter().copied().fold(f64::NEG_INFINITY, f64::max))
                .collect();
            prop_assert_eq!(sliding_maxima(&values, width), by_hand);
        }
    }
}
