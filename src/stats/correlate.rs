//! Linear dependence of two series, and how many samples such a number is really worth.

use crate::stats::moments::Moments;
use crate::stats::period::autocorrelation;

/// Pearson correlation between `cause[t]` and `effect[t + lag]`.
///
/// r = Σ(x−x̄)(y−ȳ) / √(Σ(x−x̄)² · Σ(y−ȳ)²), with both means taken over the overlap.
/// `None` if the overlap is shorter than three samples or either side is constant.
///
/// Source: K. Pearson, Proc. R. Soc. Lond. 58 (1895), 240–242.
pub fn lagged_pearson(cause: &[f64], effect: &[f64], lag: usize) -> Option<f64> {
    let effect = effect.get(lag..)?;
    let overlap = cause.len().min(effect.len());
    if overlap < 3 {
        return None;
    }
    pearson(&cause[..overlap], &effect[..overlap])
}

/// Pearson correlation of two equally long slices; `None` if either is constant.
pub(crate) fn pearson(x: &[f64], y: &[f64]) -> Option<f64> {
    let (x_mean, y_mean) = (spread_mean(x)?, spread_mean(y)?);
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (&a, &b) in x.iter().zip(y) {
        let (a, b) = (a - x_mean, b - y_mean);
        xx += a * a;
        yy += b * b;
        xy += a * b;
    }
    let scale = (xx * yy).sqrt();
    (scale > 0.0).then(|| (xy / scale).clamp(-1.0, 1.0))
}

/// Pearson correlation over those places where both are finite; `None` with fewer than three, or if either is constant there.
///
/// One pass, counted from the first pair, so that a constant has no spread at all.
pub(crate) fn pearson_where_seen(x: &[f64], y: &[f64]) -> Option<f64> {
    let mut seen = x.iter().zip(y).filter(|it| it.0.is_finite() && it.1.is_finite());
    let (x_first, y_first) = seen.next()?;
    let [mut count, mut sum_x, mut sum_y, mut xx, mut yy, mut xy] = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    for (a, b) in seen {
        let (a, b) = (a - x_first, b - y_first);
        count += 1.0;
        sum_x += a;
        sum_y += b;
        xx += a * a;
        yy += b * b;
        xy += a * b;
    }
    let scale = ((xx - sum_x * sum_x / count) * (yy - sum_y * sum_y / count)).sqrt();
    let is_told = count >= 3.0 && scale > 0.0;
    is_told.then(|| ((xy - sum_x * sum_y / count) / scale).clamp(-1.0, 1.0))
}

/// The series minus its mean; `None` if it is constant, also where rounding would hide that.
pub(crate) fn centred(values: &[f64]) -> Option<Vec<f64>> {
    let mean = spread_mean(values)?;
    Some(values.iter().map(|value| value - mean).collect())
}

/// The mean; `None` if the series is constant.
pub(crate) fn spread_mean(values: &[f64]) -> Option<f64> {
    let moments = Moments::of(values);
    (moments.min()? < moments.max()?).then(|| moments.mean()).flatten()
}

/// How many independent pairs a correlation of two autocorrelated series is worth.
///
/// N* = N / (1 + 2 Σ_{k=1..K} (1−k/N) r_x(k) r_y(k)), where the sum stops before the first
/// non-positive product and at K = N/2 at the latest; the result is kept within 3..=N.
/// `None` if the series differ in length, are shorter than three samples, or either is constant.
///
/// Source: M. S. Bartlett, Suppl. J. R. Stat. Soc. 8 (1946), 27–41. Time: O(n log n).
pub fn effective_sample_size(x: &[f64], y: &[f64]) -> Option<f64> {
    if x.len() != y.len() || x.len() < 3 {
        return None;
    }
    let max_lag = x.len() / 2;
    let (x_acf, y_acf) = (autocorrelation(x, max_lag)?, autocorrelation(y, max_lag)?);
    let products = x_acf.iter().zip(&y_acf).map(|(a, b)| a * b);
    Some(bartlett(products.take_while(|product| *product > 0.0), x.len()))
}

/// N* for products of autocorrelations at lags 0, 1, 2, …, of which the first is skipped.
pub(crate) fn bartlett(products: impl Iterator<Item = f64>, count: usize) -> f64 {
    let n = count as f64;
    let sum: f64 =
        products.enumerate().skip(1).map(|(lag, product)| (1.0 - lag as f64 / n) * product).sum();
    (n / (1.0 + 2.0 * sum)).clamp(3.0_f64.min(n), n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::expected::{case, close, numbers, value};
    use proptest::prelude::*;

    #[test]
    fn numpy_finds_the_same_correlation_at_every_lag() {
        for case in case("pearson") {
            let found = lagged_pearson(
                &numbers(case, "x"),
                &numbers(case, "y"),
                value(case, "lag") as usize,
            );
            close(found, value(case, "expected"), 1e-9);
        }
    }

    #[test]
    fn plain_sums_find_the_same_effective_sample_size() {
        for case in case("effective_sample_size") {
            let found = effective_sample_size(&numbers(case, "x"), &numbers(case, "y"));
            close(found, value(case, "expected"), 1e-9);
        }
    }

    #[test]
    fn an_effect_that_follows_its_cause_by_two_samples_is_found_at_lag_two() {
        let cause = [0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
        let effect = [5.0, 5.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0];
        assert_eq!(lagged_pearson(&cause, &effect, 2), Some(1.0));
    }

    #[test]
    fn a_constant_correlates_with_nothing_even_when_its_mean_is_rounded() {
        let ramp: Vec<f64> = (0..600).map(f64::from).collect();
        assert_eq!(lagged_pearson(&[0.3; 600], &ramp, 0), None);
        assert_eq!(effective_sample_size(&[0.3; 600], &ramp), None);
        assert_eq!(lagged_pearson(&ramp, &ramp, 598), None);
        assert_eq!(lagged_pearson(&ramp, &ramp, 601), None);
    }

    proptest! {
        #[test]
        fn what_was_not_seen_is_left_out(
            pairs in prop::collection::vec((-1.0..1.0_f64, -1.0..1.0_f64, 0..5), 8..100),
        ) {
            let hole = |it: &(f64, f64, i32), which: i32, value: f64| {
                if it.2 == which { f64::NAN } else { value }
            };
            let x: Vec<f64> = pairs.iter().map(|it| hole(it, 0, it.0)).collect();
            let y: Vec<f64> = pairs.iter().map(|it| hole(it, 1, it.1)).collect();
            let seen = pairs.iter().filter(|it| it.2 > 1);
            let (a, b): (Vec<f64>, Vec<f64>) = seen.map(|it| (it.0, it.1)).unzip();
            match (pearson_where_seen(&x, &y), lagged_pearson(&a, &b, 0)) {
                (Some(found), Some(expected)) => prop_assert!((found - expected).abs() < 1e-9),
                (found, expected) => prop_assert_eq!(found, expected),
            }
            prop_assert_eq!(pearson_where_seen(&vec![0.3; x.len()], &y), None);
        }

        #[test]
        fn correlation_stays_within_one_and_is_symmetric(
            pairs in prop::collection::vec((-1.0..1.0_f64, -1.0..1.0_f64), 3..100),
        ) {
            let (x, y): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let r = lagged_pearson(&x, &y, 0);
            prop_assert!(r.is_none_or(|r| (-1.0..=1.0).contains(&r)));
            prop_assert_eq!(r, lagged_pearson(&y, &x, 0));
            let size = effective_sample_size(&x, &y);
            prop_assert!(size.is_none_or(|size| (3.0..=x.len() as f64).contains(&size)));
        }
    }
}
