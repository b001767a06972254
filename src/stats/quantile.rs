//! Quantiles by selection: linear time, no sorted input needed.

/// The value below which a share `q` of the sample lies, interpolated between order statistics.
///
/// With x₍₀₎ ≤ … ≤ x₍ₙ₋₁₎ and h = (n−1)q: x₍⌊h⌋₎ + (h−⌊h⌋)(x₍⌊h⌋₊₁₎ − x₍⌊h⌋₎), the default of
/// numpy. `None` for an empty sample or a `q` outside 0..=1. Time: O(n), one copy.
///
/// Source: R. J. Hyndman and Y. Fan, The American Statistician 50 (1996), 361–365, type 7.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let rank = Rank::of(q, values.len())?;
    Some(rank.select(&mut values.to_vec()))
}

/// Several quantiles of one sample, in the order in which they were asked for.
///
/// The same numbers as [`quantile`] gives one by one, for a single copy of the sample.
/// `None` for an empty sample or if any `q` lies outside 0..=1.
pub fn quantiles(values: &[f64], qs: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() {
        return None;
    }
    let mut ranks = Vec::with_capacity(qs.len());
    for (index, &q) in qs.iter().enumerate() {
        ranks.push((Rank::of(q, values.len())?, index));
    }
    ranks.sort_by_key(|(rank, _)| rank.below);
    let mut copy = values.to_vec();
    let mut found = vec![0.0; qs.len()];
    let mut start = 0;
    for (rank, index) in ranks {
        let rest = Rank { below: rank.below - start, ..rank };
        found[index] = rest.select(&mut copy[start..]);
        // Selection left everything smaller to the left, so the next rank need not look there.
        start = rank.below;
    }
    Some(found)
}

/// [`quantile`] of a sample that is already in ascending order, in constant time.
///
/// `None` for an empty sample or a `q` outside 0..=1. An unsorted slice gives a meaningless number.
pub fn quantile_of_sorted(sorted: &[f64], q: f64) -> Option<f64> {
    let rank = Rank::of(q, sorted.len())?;
    let above = sorted.get(rank.below + 1).copied();
    Some(rank.between(sorted[rank.below], above))
}

/// A place between two neighbouring order statistics.
#[derive(Debug, Clone, Copy)]
struct Rank {
    below: usize,
    beyond: f64,
}

impl Rank {
    fn of(q: f64, count: usize) -> Option<Self> {
        if count == 0 || !(0.0..=1.0).contains(&q) {
            return None;
        }
        let place = (count - 1) as f64 * q;
        let below = (place.floor() as usize).min(count - 1);
        Some(Self { below, beyond: place - below as f64 })
    }

    fn select(self, values: &mut [f64]) -> f64 {
        let (_, &mut lower, rest) = values.select_nth_unstable_by(self.below, f64::total_cmp);
        self.between(lower, rest.iter().copied().min_by(f64::total_cmp))
    }

    fn between(self, lower: f64, upper: Option<f64>) -> f64 {
        upper.map_or(lower, |upper| lower + self.beyond * (upper - lower))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::expected::{case, close, numbers};
    use proptest::prelude::*;

    #[test]
    fn numpy_finds_the_same_quantiles() {
        for case in case("quantiles") {
            let (values, qs) = (numbers(case, "x"), numbers(case, "q"));
            let together = quantiles(&values, &qs).unwrap();
            for ((&q, expected), found) in qs.iter().zip(numbers(case, "expected")).zip(together) {
                close(quantile(&values, q), expected, 1e-12);
                close(Some(found), expected, 1e-12);
            }
        }
    }

    #[test]
    fn the_median_of_an_even_sample_lies_half_way() {
        assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.5), Some(2.5));
    }

    #[test]
    fn nothing_has_no_quantile_and_no_quantile_lies_outside_zero_to_one() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantiles(&[], &[]), None);
        assert_eq!(quantile(&[1.0], 1.01), None);
        assert_eq!(quantile(&[1.0], f64::NAN), None);
        assert_eq!(quantiles(&[1.0], &[0.5, -0.1]), None);
    }

    proptest! {
        #[test]
        fn selecting_equals_sorting_and_quantiles_rise_with_q(
            values in prop::collection::vec(-1.0..1.0_f64, 1..100),
            mut qs in prop::collection::vec(0.0..=1.0_f64, 1..8),
        ) {
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let by_sorting: Vec<f64> =
                qs.iter().map(|&q| quantile_of_sorted(&sorted, q).unwrap()).collect();
            prop_assert_eq!(quantiles(&values, &qs).unwrap(), by_sorting);
            qs.sort_by(f64::total_cmp);
            let rising = quantiles(&values, &qs).unwrap();
            prop_assert!(rising.windows(2).all(|pair| pair[0] <= pair[1]));
        }
    }
}
