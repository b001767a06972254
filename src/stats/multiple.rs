//! Many tests at once: the error rate over all of them, and several probabilities joined into one.

use std::f64::consts::PI;

/// Least probability that is told: a smaller one says nothing more.
pub const LEAST_CHANCE: f64 = 1e-12;
/// A probability of exactly 0 would outweigh all others, whatever they say.
const LEAST: f64 = 1e-300;
/// So would one of exactly 1; doubles just below 1 are no finer than this.
const MOST: f64 = 1.0 - 1e-15;

/// For each test the share of false findings among all that stand at least as firm.
///
/// q₍ᵢ₎ = min over j ≥ i of p₍ⱼ₎ m/j, kept within 1; in the order of the tests. Holds for independent
/// tests and for those that depend positively on each other. NaN counts as a test that found nothing.
///
/// Source: Y. Benjamini and Y. Hochberg, J. R. Stat. Soc. B 57 (1995), 289–300.
pub fn false_discovery_rates(p_values: &[f64]) -> Vec<f64> {
    step_up(p_values, 1.0)
}

/// The same for any dependence: larger by the factor 1 + 1/2 + … + 1/m.
///
/// Source: Y. Benjamini and D. Yekutieli, Ann. Stat. 29 (2001), 1165–1188.
pub fn false_discovery_rates_under_any_dependence(p_values: &[f64]) -> Vec<f64> {
    let factor: f64 = (1..=p_values.len()).map(|it| 1.0 / it as f64).sum();
    step_up(p_values, factor)
}

/// For each test the chance of any false finding among all that stand at least as firm.
///
/// p₍ᵢ₎ → max over j ≤ i of p₍ⱼ₎ (m − j + 1), kept within 1; in the order of the tests. Holds however the tests depend on each
/// other. NaN counts as a test that found nothing.
///
/// Source: S. Holm, Scand. J. Stat. 6 (1979), 65–70.
pub fn family_wise(p_values: &[f64]) -> Vec<f64> {
    let count = p_values.len();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut chances = vec![1.0; count];
    let mut most: f64 = 0.0;
    for (place, test) in order.into_iter().enumerate() {
        let p = if p_values[test].is_nan() { 1.0 } else { p_values[test] };
        most = most.max((p * (count - place) as f64).min(1.0));
        chances[test] = most;
    }
    chances
}

fn step_up(p_values: &[f64], factor: f64) -> Vec<f64> {
    let count = p_values.len();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| p_values[*b].total_cmp(&p_values[*a]));
    let mut rates = vec![1.0; count];
    let mut least: f64 = 1.0;
    for (place, test) in order.into_iter().enumerate() {
        let rank = (count - place) as f64;
        // The quotient is at least 1, also when rounded, so that no rate falls below its probability.
        least = least.min(p_values[test] * (factor * (count as f64 / rank)));
        rates[test] = least;
    }
    rates
}

/// One probability from several, valid at small levels however they depend on each other.
///
/// T = mean of tan((½ − pᵢ)π), p = ½ − atan(T)/π, to full relative precision at both ends. Each pᵢ is first
/// kept within 1e-300 and 1 − 1e-15; one very near 1 can therefore still outweigh a small one. `None` without any,
/// or if one is NaN.
///
/// Source: Y. Liu and J. Xie, J. Am. Stat. Assoc. 115 (2020), 393–402.
pub fn cauchy_combination(p_values: &[f64]) -> Option<f64> {
    if p_values.is_empty() || p_values.iter().any(|it| it.is_nan()) {
        return None;
    }
    // The cotangent of πp keeps the digits of a small p, which ½ − p would lose; likewise atan2 those of a large T.
    let cotangent = |p: f64| 1.0 / (PI * p).tan();
    let angle = |p: &f64| match p.clamp(LEAST, MOST) {
        p if p > 0.5 => -cotangent(1.0 - p),
        p => cotangent(p),
    };
    let mean = p_values.iter().map(angle).sum::<f64>() / p_values.len() as f64;
    Some(1.0_f64.atan2(mean) / PI)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::expected::{case, numbers, relatively_close, value};
    use proptest::prelude::*;

    #[test]
    fn statsmodels_finds_the_same_error_rates() {
        for case in case("error_rates") {
            let p = numbers(case, "p");
            let both = [
                (false_discovery_rates(&p), "bh"),
                (false_discovery_rates_under_any_dependence(&p), "by"),
                (family_wise(&p), "holm"),
            ];
            for (found, key) in both {
                for (found, expected) in found.into_iter().zip(numbers(case, key)) {
                    relatively_close(Some(found), expected, 1e-12);
                }
            }
        }
    }

    #[test]
    fn scipy_finds_the_same_combination_of_the_smallest_probabilities_too() {
        for case in case("cauchy") {
            relatively_close(
                cauchy_combination(&numbers(case, "p")),
                value(case, "expected"),
                1e-10,
            );
        }
    }

    #[test]
    fn nought_and_one_are_kept_off_the_ends_and_nothing_is_no_probability() {
        relatively_close(cauchy_combination(&[0.0]), LEAST, 1e-12);
        assert!(cauchy_combination(&[0.0, 1.0]).is_some_and(|it| it < 1e-290));
        assert!(cauchy_combination(&[1.0, 1.0]).is_some_and(|it| it > 0.999 && it <= 1.0));
        assert!(cauchy_combination(&[1e-10, 1.0]).is_some_and(|it| it > 0.999));
        assert_eq!(cauchy_combination(&[]), None);
        assert_eq!(cauchy_combination(&[0.1, f64::NAN]), None);
        assert!(false_discovery_rates(&[]).is_empty());
        assert_eq!(false_discovery_rates(&[f64::NAN, 0.01]), [1.0, 0.02]);
    }

    proptest! {
        #[test]
        fn rates_rise_with_probabilities_and_never_fall_below_them(
            p in prop::collection::vec(prop_oneof![0.0..=1.0_f64, Just(0.0), Just(1.0), 0.0..1e-9_f64], 1..60),
        ) {
            let (bh, by) = (false_discovery_rates(&p), false_discovery_rates_under_any_dependence(&p));
            for one in 0..p.len() {
                prop_assert!(p[one] <= bh[one] && bh[one] <= by[one] && by[one] <= 1.0);
                for other in 0..p.len() {
                    prop_assert!(p[one] > p[other] || bh[one] <= bh[other]);
                }
            }
        }

        #[test]
        fn the_order_of_the_tests_does_not_matter(
            (p, order) in prop::collection::vec(0.0..=1.0_f64, 1..40)
                .prop_flat_map(|p| { let count = p.len(); (Just(p), Just((0..count).collect::<Vec<_>>()).prop_shuffle()) }),
        ) {
            let shuffled: Vec<f64> = order.iter().map(|it| p[*it]).collect();
            let (straight, found) = (false_discovery_rates(&p), false_discovery_rates(&shuffled));
            prop_assert!(order.iter().zip(found).all(|(it, found)| found == straight[*it]));
        }

        #[test]
        fn a_combination_lies_between_its_parts(p in prop::collection::vec(0.001..0.999_f64, 1..10)) {
            let joined = cauchy_combination(&p).unwrap();
            let (least, most) = (p.iter().copied().fold(1.0, f64::min), p.iter().copied().fold(0.0, f64::max));
            prop_assert!(least * (1.0 - 1e-9) <= joined && joined <= most * (1.0 + 1e-9));
        }
    }
}
