//! Many tests at once: the error rate over all of them, and several probabilities joined into one.

use std::f64::consts::PI;

/// A probability of exactly 0 or 1 would outweigh all others.
const LEAST: f64 = 1e-15;

/// For each test the share of false findings among all that stand at least as firm.
///
/// q₍ᵢ₎ = min over j ≥ i of p₍ⱼ₎ m/j, kept within 1; in the order of the tests. Holds for independent
/// tests and for those that depend positively on each other.
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

fn step_up(p_values: &[f64], factor: f64) -> Vec<f64> {
    let count = p_values.len();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| p_values[*b].total_cmp(&p_values[*a]));
    let mut rates = vec![1.0; count];
    let mut least: f64 = 1.0;
    for (place, test) in order.into_iter().enumerate() {
        let rank = (count - place) as f64;
        least = least.min(p_values[test] * factor * count as f64 / rank);
        rates[test] = least;
    }
    rates
}

/// One probability from several, valid at small levels however they depend on each other.
///
/// T = mean of tan((½ − pᵢ)π), p = ½ − atan(T)/π. `None` without any.
///
/// Source: Y. Liu and J. Xie, J. Am. Stat. Assoc. 115 (2020), 393–402.
pub fn cauchy_combination(p_values: &[f64]) -> Option<f64> {
    if p_values.is_empty() {
        return None;
    }
    let angle = |p: &f64| ((0.5 - p.clamp(LEAST, 1.0 - LEAST)) * PI).tan();
    let mean = p_values.iter().map(angle).sum::<f64>() / p_values.len() as f64;
    // ½ − atan(T)/π loses all digits for large T; there it is 1/(πT).
    let p = if mean > 1e6 { 1.0 / (PI * mean) } else { 0.5 - mean.atan() / PI };
    Some(p.clamp(0.0, 1.0))
}
