//! Whether a series repeats itself, and after how many samples.
//!
//! With samples `s` apart nothing shorter than `2 s` can appear as a period: a faster rhythm
//! appears at its alias, or not at all if it divides `s`.

use crate::stats::correlate::bartlett;
use crate::stats::correlate::centred;
use crate::stats::correlate::spread_mean;
use crate::stats::fourier::lagged_products;
use crate::stats::lagged_blocks::lagged_products_in_blocks;
use crate::stats::moments::Moments;

pub use crate::stats::lomb_scargle::lomb_scargle;
pub use crate::stats::lomb_scargle::period_by_lomb_scargle;

/// Samples of which the products are taken by one transform; it takes 50 bytes for each.
const LONGEST_AT_ONCE: usize = 1 << 20;
/// Fewest periods that a record must hold before a rhythm is believed.
pub(crate) const FEWEST_PERIODS: usize = 4;
/// Least autocorrelation one period later.
const LEAST_HEIGHT: f64 = 0.3;
/// Twice the two-sided 5 % limit of a correlation, in units of 1/√N*.
const SIGNIFICANT: f64 = 2.0 * 1.96;
/// An earlier peak is the period unless a later one is higher by this ratio.
const FUNDAMENTAL: f64 = 0.6;

/// A rhythm and how much of the series follows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Period {
    /// Length in samples; never below 2, not always whole.
    pub samples: f64,
    /// Between 0 and 1: autocorrelation one period later, or share of variance at this frequency.
    pub strength: f64,
}

/// Autocorrelation at lags 0, 1, …, `max_lag`; the first entry is 1.
///
/// r(k) = Σ_t (x_t−x̄)(x_{t+k}−x̄) / Σ_t (x_t−x̄)², the biased estimate, which keeps |r| ≤ 1.
/// `None` if the series is constant or not longer than `max_lag`. Time: O(n log n).
///
/// Source: G. E. P. Box and G. M. Jenkins, Time Series Analysis (1970), chapter 2.
pub fn autocorrelation(values: &[f64], max_lag: usize) -> Option<Vec<f64>> {
    if values.len() <= max_lag {
        return None;
    }
    let mut acf = if values.len() > LONGEST_AT_ONCE {
        lagged_products_in_blocks(values, spread_mean(values)?, max_lag)
    } else {
        lagged_products(&centred(values)?, max_lag)
    };
    let scale = acf[0];
    if scale <= 0.0 {
        return None;
    }
    acf.iter_mut().for_each(|product| *product = (*product / scale).clamp(-1.0, 1.0));
    Some(acf)
}

/// Correlation of neighbouring samples over all segments, around one common mean.
///
/// r(1) = mean over pairs of (x_t−x̄)(x_{t+1}−x̄) / variance; pairs never cross a gap. Kept within
/// −1..=1. `None` without a pair or if all samples are equal.
///
/// Source: definition, as [`autocorrelation`] at lag 1 with each mean over its own number of terms.
pub fn lag1(segments: &[&[f64]]) -> Option<f64> {
    let mut moments = Moments::default();
    segments.iter().for_each(|segment| moments.merge(&Moments::of(segment)));
    let (mean, variance) = (moments.mean()?, moments.variance()?);
    let (mut sum, mut pairs) = (0.0, 0_u64);
    for pair in segments.iter().flat_map(|segment| segment.windows(2)) {
        sum += (pair[0] - mean) * (pair[1] - mean);
        pairs += 1;
    }
    if pairs == 0 || moments.min() == moments.max() || variance <= 0.0 {
        return None;
    }
    Some((sum / pairs as f64 / variance).clamp(-1.0, 1.0))
}

/// The period of an evenly sampled series, from its autocorrelation.
///
/// After the first zero crossing the autocorrelation rises again once per period. The period is the
/// top of the first such rise that is above 0.3, above 2·1.96/√N*, and at least 0.6 of the highest;
/// a parabola through the top refines it. N* is Bartlett's effective sample size of the series with
/// itself, summed up to the first zero crossing: beyond it a periodic series would have no N* at
/// all. `None` if there is no such rise within a quarter of the record, that is, at least four
/// periods must have been seen. Random telegraph noise has no such rise.
///
/// Sources: definition; M. S. Bartlett, Suppl. J. R. Stat. Soc. 8 (1946), 27–41, for N*.
pub fn period_by_acf(values: &[f64]) -> Option<Period> {
    let longest = values.len() / FEWEST_PERIODS;
    if longest < 2 {
        return None;
    }
    // One lag more, so that a top at the longest period has both neighbours.
    let acf = autocorrelation(values, longest + 1)?;
    let crossing = acf.iter().position(|r| *r <= 0.0)?;
    let squares = acf[..crossing].iter().map(|r| r * r);
    let limit = LEAST_HEIGHT.max(SIGNIFICANT / bartlett(squares, values.len()).sqrt());
    let tops = rises(&acf[..=longest], crossing);
    let highest = tops.iter().map(|&lag| acf[lag]).fold(limit, f64::max);
    let lag = tops
        .into_iter()
        .find(|&lag| lag >= 2 && acf[lag] > limit && acf[lag] >= FUNDAMENTAL * highest)?;
    let offset = top_of_parabola(acf[lag - 1], acf[lag], acf[lag + 1]);
    Some(Period { samples: (lag as f64 + offset).max(2.0), strength: acf[lag] })
}

/// Lag of the highest value of every stretch above zero after `from`.
fn rises(acf: &[f64], from: usize) -> Vec<usize> {
    let mut tops = Vec::new();
    let mut top: Option<usize> = None;
    for lag in from..acf.len() {
        if acf[lag] <= 0.0 {
            tops.extend(top.take());
        } else if top.is_none_or(|best| acf[lag] > acf[best]) {
            top = Some(lag);
        }
    }
    // A stretch that is still rising at the end has not shown its top.
    tops.extend(top.filter(|&best| best + 1 < acf.len()));
    tops
}

/// Where between two neighbours the parabola through three points has its top, from −½ to ½.
pub(crate) fn top_of_parabola(before: f64, at: f64, after: f64) -> f64 {
    let curvature = before - 2.0 * at + after;
    if curvature < 0.0 { (0.5 * (before - after) / curvature).clamp(-0.5, 0.5) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::expected::{case, close, numbers};
    use crate::stats::specimen::{Noise, Windows};
    use proptest::prelude::*;

    #[test]
    fn numpy_finds_the_same_autocorrelation() {
        for case in case("autocorrelation") {
            let expected = numbers(case, "expected");
            let found = autocorrelation(&numbers(case, "x"), expected.len() - 1).unwrap();
            for (found, expected) in found.into_iter().zip(expected) {
                close(Some(found), expected, 1e-9);
            }
        }
    }

    #[test]
    fn a_cron_job_every_forty_samples_has_period_forty() {
        for (on, off) in [(4.0, 36.0), (12.0, 28.0), (2.5, 37.5), (20.0, 20.0)] {
            let values = Windows { width: 1.0, stride: 1.0, count: 600 }.periodic(on, off);
            let period = period_by_acf(&values).unwrap();
            assert!((period.samples - 40.0).abs() < 0.3, "{period:?}");
            assert!(period.strength > 0.8);
        }
    }

    #[test]
    fn a_period_between_whole_samples_is_refined() {
        let values = Windows { width: 1.0, stride: 1.0, count: 900 }.periodic(3.1, 7.23);
        let period = period_by_acf(&values).unwrap();
        assert!((period.samples - 10.33).abs() < 0.2, "{period:?}");
    }

    #[test]
    fn a_rhythm_under_noise_of_its_own_size_is_found() {
        let mut noise = Noise::new(5);
        let clean = Windows { width: 1.0, stride: 1.0, count: 900 }.periodic(9.0, 16.0);
        let values: Vec<f64> = clean.iter().map(|x| x + 0.4 * noise.normal()).collect();
        let period = period_by_acf(&values).unwrap();
        assert!((period.samples - 25.0).abs() < 1.0, "{period:?}");
    }

    #[test]
    fn alternating_large_and_small_bursts_have_the_period_of_the_pair() {
        let values: Vec<f64> = (0..400)
            .map(|t| match t % 20 {
                0..3 => 1.0,
                10..13 => 0.4,
                _ => 0.0,
            })
            .collect();
        assert!((period_by_acf(&values).unwrap().samples - 20.0).abs() < 0.2);
    }

    #[test]
    fn less_than_four_periods_are_no_period() {
        let values = Windows { width: 1.0, stride: 1.0, count: 600 }.periodic(50.0, 120.0);
        assert_eq!(period_by_acf(&values), None);
        assert!(
            period_by_acf(&[values.clone(), values].concat()[..1000])
                .is_none_or(|it| it.samples < 250.0)
        );
        assert_eq!(period_by_acf(&[0.0, 1.0, 0.0]), None);
        assert_eq!(period_by_acf(&[0.5; 600]), None);
    }

    #[test]
    fn telegraph_noise_and_autoregressions_have_no_period() {
        let mut found = 0;
        for seed in 0..60 {
            for on in [0.03, 0.5, 3.0, 20.0] {
                let windows = Windows { width: 1.0, stride: 1.0, count: 600 };
                let values = windows.telegraph(on, on * 7.0 / 3.0, seed);
                found += usize::from(period_by_acf(&values).is_some());
            }
            for memory in [0.0, 0.5, 0.9, 0.98] {
                let values = Noise::new(1000 + seed).autoregression(memory, 300);
                found += usize::from(period_by_acf(&values).is_some());
            }
        }
        assert!(found <= 4, "{found} of 480");
    }

    #[test]
    fn pairs_of_neighbours_never_cross_a_gap() {
        let alternating = [0.0, 1.0, 0.0, 1.0];
        assert_eq!(lag1(&[&alternating]), Some(-1.0));
        assert_eq!(lag1(&[&[0.0, 0.0], &[1.0, 1.0]]), Some(1.0));
        assert_eq!(lag1(&[&[0.0], &[1.0]]), None);
        assert_eq!(lag1(&[&[0.3; 5]]), None);
        assert_eq!(lag1(&[]), None);
    }

    #[test]
    fn a_constant_has_no_autocorrelation() {
        assert_eq!(autocorrelation(&[0.3; 600], 10), None);
        assert_eq!(autocorrelation(&[0.0, 1.0], 2), None);
        assert_eq!(autocorrelation(&[], 0), None);
    }

    proptest! {
        #[test]
        fn autocorrelation_ignores_level_and_scale(
            values in prop::collection::vec(-1.0..1.0_f64, 4..100),
            level in -5.0..5.0_f64, scale in 0.1..10.0_f64,
        ) {
            let moved: Vec<f64> = values.iter().map(|x| level + scale * x).collect();
            let (a, b) = (autocorrelation(&values, 3), autocorrelation(&moved, 3));
            if let (Some(a), Some(b)) = (a, b) {
                prop_assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-6));
                prop_assert!(a.iter().all(|r| r.abs() <= 1.0));
            }
        }
    }
}
