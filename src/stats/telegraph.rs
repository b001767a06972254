//! What averaging over a window hides, and what the variance of the averages still tells about it.
//!
//! A load that is either busy or idle, seen as busy fractions of windows, loses variance when its
//! bursts are shorter than the window. How much it loses tells how short they are.

use crate::stats::moments::Moments;
use crate::stats::period::autocorrelation;
use crate::stats::period::period_by_acf;
use crate::stats::period::period_by_lomb_scargle;
use crate::stats::quantile::quantiles;

/// Below this range over the floor a series has no top to speak of.
const FLAT: f64 = 0.10;
/// How far p90 may lie under p99, as a share of the range p10 to p95, for both to be one plateau.
const PLATEAU_WIDTH: f64 = 0.08;
/// Shortest segment in which a period could show itself.
const SHORTEST_FOR_PERIOD: usize = 32;
/// Mean autocorrelation over a sixteenth of the record that still is no drift.
const MOST_DRIFT: f64 = 0.5;
/// How far that mean may lie above what the telegraph itself explains.
const UNEXPLAINED_DRIFT: f64 = 0.3;
/// Halvings of a logarithmic range of 21 decades, down to the last bit of a double.
const BISECTIONS: usize = 70;

/// Variance of a telegraph signal averaged over a window.
///
/// Var_W = p(1−p) (2τ/W) \[1 − (τ/W)(1 − e^{−W/τ})\] with duty p, correlation time τ, window W,
/// both times in one unit. Without a window it is p(1−p), without correlation it is zero.
///
/// Source: (2/W²) ∫₀^W (W−u) C(u) du of the telegraph autocovariance C(u) = p(1−p) e^{−u/τ}
/// (S. Machlup, J. Appl. Phys. 25 (1954), 341–343).
pub fn window_variance(duty: f64, correlation_time: f64, window: f64) -> f64 {
    duty * (1.0 - duty) * share_left(correlation_time, window)
}

fn share_left(correlation_time: f64, window: f64) -> f64 {
    if window <= 0.0 {
        return 1.0;
    }
    if correlation_time <= 0.0 {
        return 0.0;
    }
    let a = window / correlation_time;
    if a >= 1.0 {
        return 2.0 / a * (1.0 + (-a).exp_m1() / a);
    }
    // 2 Σ (−a)^k/(k+2)!: the closed form loses all digits when the window is short.
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..20 {
        term *= -a / f64::from(k + 2);
        sum += term;
    }
    sum
}

/// Share of the largest possible variance that is left after averaging, kept within 0..=1.
///
/// Q = Var/(p(1−p)). Near 1 the bursts are longer than the window, near 0 the load is steady or
/// faster than the window. `None` unless 0 < p < 1.
///
/// Source: R. Bhatia and C. Davis, Amer. Math. Monthly 107 (2000), 353–357, for the bound p(1−p).
pub fn blur_index(variance: f64, duty: f64) -> Option<f64> {
    let resolved = duty * (1.0 - duty);
    (resolved > 0.0).then(|| (variance / resolved).clamp(0.0, 1.0))
}

/// [`blur_index`] of a series of busy fractions, with the variance that rounding adds taken off.
///
/// Q = (Var − q²/12)/(p(1−p)), kept within 0..=1; q = `quantum` is the step of the values, 0.01 for
/// whole percent and 0 for continuous values. `None` if the mean is not between 0 and 1.
///
/// Source: W. F. Sheppard, Proc. Lond. Math. Soc. 29 (1898), 353–380, for the correction.
pub fn blur_index_of(values: &[f64], quantum: f64) -> Option<f64> {
    let moments = Moments::of(values);
    blur_index(moments.variance()? - quantum * quantum / 12.0, moments.mean()?)
}

/// A load that flips between busy and idle at random, told by its mean spells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Telegraph {
    /// Mean length of a busy spell, in the unit of the window.
    pub on: f64,
    /// Mean length of an idle spell, in the unit of the window.
    pub off: f64,
    /// 1/(1/on + 1/off).
    pub correlation_time: f64,
}

/// The telegraph signal whose window averages have the mean and variance of the series.
///
/// Solves [`window_variance`] for τ by bisection; on = τ/(1−p), off = τ/p. Uses no order of the
/// samples, so windows may lie far apart. If the load has a plateau below full, values are first
/// divided by [`plateau_height`]. The result means "about, within a factor of three": the spells
/// may not be exponential.
///
/// - `window`: length of one averaging window; the result has its unit.
/// - `quantum`: step of the values, 0.01 for whole percent, 0 for continuous ones.
/// - `None`: the mean is not between 0 and 1, the standard deviation is under half a quantum, or
///   the variance is zero or the largest possible.
///
/// The caller excludes periodic loads, for which the result is wrong; see
/// [`invert_unless_periodic`].
///
/// Source: method of moments on [`window_variance`].
pub fn invert(values: &[f64], window: f64, quantum: f64) -> Option<Telegraph> {
    let height = plateau_height(values).unwrap_or(1.0);
    let mut moments = Moments::default();
    values.iter().for_each(|value| moments.insert((value / height).min(1.0)));
    invert_moments(moments.mean()?, moments.variance()?, window, quantum / height)
}

/// [`invert`] of a mean and a variance, where nothing else was kept of the series.
///
/// - `duty`, `variance`: of the busy fractions, divided by the height of their plateau if there is one.
/// - `window`, `quantum`: as for [`invert`]; the quantum is divided by that height too.
///
/// Source: method of moments on [`window_variance`].
pub fn invert_moments(duty: f64, variance: f64, window: f64, quantum: f64) -> Option<Telegraph> {
    // Under half a step of spread, rounding follows the values and no longer adds a known variance.
    if variance < 0.25 * quantum * quantum {
        return None;
    }
    let share = blur_index(variance - quantum * quantum / 12.0, duty)?;
    if share <= 0.0 || share >= 1.0 || window <= 0.0 {
        return None;
    }
    let correlation_time = window * correlation_time_in_windows(share);
    Some(Telegraph {
        on: correlation_time / (1.0 - duty),
        off: correlation_time / duty,
        correlation_time,
    })
}

/// [`invert_moments`] of a mean and a variance that are first divided by the height of their plateau, if there is one.
///
/// - `percentiles`: the 10th, 90th, 95th and 99th of the busy fractions, as for [`plateau_of`].
/// - `window` and `quantum`: as for [`invert`].
///
/// Source: method of moments on [`window_variance`].
pub fn invert_plateau(
    mean: f64,
    variance: f64,
    percentiles: [f64; 4],
    (window, quantum): (f64, f64),
) -> Option<Telegraph> {
    let height = plateau_of(percentiles).unwrap_or(1.0);
    invert_moments(mean / height, variance / (height * height), window, quantum / height)
}

/// Inverts [`share_left`], which rises with the correlation time.
fn correlation_time_in_windows(share: f64) -> f64 {
    let (mut low, mut high) = (1e-12_f64.ln(), 1e9_f64.ln());
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        if share_left(middle.exp(), 1.0) < share { low = middle } else { high = middle }
    }
    (0.5 * (low + high)).exp()
}

/// [`invert`] over all segments together, unless their order shows a load that is no telegraph.
///
/// A periodic load keeps a variance that has nothing to do with its burst length, and so does one
/// that merely drifts. `None` also if the longest segment
///
/// - is shorter than 32 samples, so that a period cannot be excluded,
/// - has a period, by autocorrelation or by a line in its spectrum; of a period shorter than the
///   window that is the alias, which is as telling,
/// - or drifts: its autocorrelation, averaged up to a sixteenth of the segment, is above 0.5 and
///   0.3 above that of the telegraph found; an alias longer than a quarter of the segment looks
///   like that. Overlapping windows drift too in a segment shorter than about 32 windows.
///
/// A period that divides the sample interval leaves no trace at all except a variance of zero.
///
/// Source: definition.
pub fn invert_unless_periodic(segments: &[&[f64]], window: f64, quantum: f64) -> Option<Telegraph> {
    let longest = segments.iter().copied().max_by_key(|segment| segment.len())?;
    if longest.len() < SHORTEST_FOR_PERIOD || is_periodic(longest) {
        return None;
    }
    let found = match segments {
        [only] => invert(only, window, quantum)?,
        several => invert(&several.concat(), window, quantum)?,
    };
    (!drifts(longest, found.correlation_time / window)).then_some(found)
}

fn is_periodic(values: &[f64]) -> bool {
    if period_by_acf(values).is_some() {
        return true;
    }
    let times: Vec<f64> = (0..values.len()).map(|index| index as f64).collect();
    period_by_lomb_scargle(&times, values).is_some()
}

fn drifts(values: &[f64], correlation_time: f64) -> bool {
    let lags = values.len() / 16;
    let Some(acf) = autocorrelation(values, lags) else { return false };
    let seen = acf[1..].iter().sum::<f64>() / lags as f64;
    // Windows that follow each other correlate as (τ/W)² (1−e^{−W/τ})² e^{−(k−1)W/τ} / (Var_W /
    // p(1−p)).
    let kept = (-1.0 / correlation_time).exp();
    let first = (correlation_time * (1.0 - kept)).powi(2) / share_left(correlation_time, 1.0);
    let series = (1.0 - kept.powi(lags as i32)) / (1.0 - kept);
    let explained = first * series / lags as f64;
    seen > MOST_DRIFT && seen > explained + UNEXPLAINED_DRIFT
}

/// Level of a plateau on which a load that never reaches 1 spends more than a tenth of its time.
///
/// The 95th percentile, if p99 − p90 ≤ 0.08 (p95 − p10): over 10 % of the samples then sit within a
/// sliver under the top, which a blurred load without plateau does not do. p99 instead of the
/// maximum, so that single spikes do not matter. `None` if there is no such plateau, if it is at 1
/// or above, or if the series is flat (p95 − p10 < 0.10).
///
/// Source: definition.
pub fn plateau_height(values: &[f64]) -> Option<f64> {
    let levels = quantiles(values, &[0.10, 0.90, 0.95, 0.99])?;
    plateau_of([levels[0], levels[1], levels[2], levels[3]])
}

/// [`plateau_height`] of the 10th, 90th, 95th and 99th percentile.
///
/// Source: definition.
pub fn plateau_of(percentiles: [f64; 4]) -> Option<f64> {
    let [p10, p90, p95, p99] = percentiles;
    let range = p95 - p10;
    let narrow = p99 - p90 <= PLATEAU_WIDTH * range;
    (range >= FLAT && narrow && p95 < 1.0).then_some(p95)
}

/// Probability that windows taken at intervals miss a burst entirely.
///
/// max(0, 1 − (L+W)/s) for burst length L, window W and stride s at random phase; 0 without a
/// stride.
///
/// Source: definition (a window that starts within L+W before the burst's end sees some of it).
pub fn miss_probability(burst: f64, window: f64, stride: f64) -> f64 {
    if stride > 0.0 { (1.0 - (burst + window) / stride).clamp(0.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::expected::{case, close, value};
    use crate::stats::specimen::{Noise, Windows, in_percent, median};
    use proptest::prelude::*;

    const MINUTES: Windows = Windows { width: 1.0, stride: 1.0, count: 600 };
    const SCRAPES: Windows = Windows { width: 1.0, stride: 15.0, count: 240 };

    /// Busy spells that a list of seeds makes us believe in; every seed must give an answer.
    fn estimates(load: impl Fn(u64) -> Vec<f64>) -> Vec<f64> {
        (1..=40)
            .map(|seed| {
                let values = in_percent(&load(seed));
                invert_unless_periodic(&[&values], 1.0, 0.01).expect("a random load").on
            })
            .collect()
    }

    #[test]
    fn integrating_the_autocovariance_gives_the_same_variance() {
        for case in case("window_variance") {
            let found = window_variance(value(case, "p"), value(case, "tau"), value(case, "w"));
            let expected = value(case, "expected");
            assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
        }
    }

    #[test]
    fn the_formula_holds_at_both_ends_of_the_scale() {
        assert_eq!(window_variance(0.5, 1.0, 0.0), 0.25);
        assert_eq!(window_variance(0.5, 0.0, 1.0), 0.0);
        assert_eq!(window_variance(0.5, f64::INFINITY, 1.0), 0.25);
        close(Some(window_variance(0.5, 1e-200, 1.0) / 0.5e-200), 1.0, 1e-12);
        close(Some(window_variance(0.5, 1e12, 1.0)), 0.25, 1e-12);
        close(Some(share_left(1.0 + 1e-9, 1.0)), share_left(1.0 - 1e-9, 1.0), 1e-8);
    }

    #[test]
    fn solving_for_the_correlation_time_undoes_the_formula() {
        for tau in [1e-9, 1e-3, 0.5, 1.0, 30.0, 1e4] {
            let found = correlation_time_in_windows(share_left(tau, 1.0));
            assert!((found / tau - 1.0).abs() < 1e-6, "{found} {tau}");
        }
    }

    #[test]
    fn a_burst_of_30_ms_is_found_in_windows_of_one_second() {
        let found = median(&estimates(|seed| MINUTES.telegraph(0.03, 0.07, seed)));
        assert!((found / 0.03 - 1.0).abs() < 0.10, "{found}");
    }

    #[test]
    fn a_burst_of_30_ms_is_found_in_one_second_of_every_fifteen() {
        let found = median(&estimates(|seed| SCRAPES.telegraph(0.03, 0.07, seed)));
        assert!((found / 0.03 - 1.0).abs() < 0.10, "{found}");
        let found = median(&estimates(|seed| SCRAPES.telegraph(3.0, 7.0, seed)));
        assert!((found / 3.0 - 1.0).abs() < 0.15, "{found}");
    }

    #[test]
    fn spells_that_are_not_exponential_cost_no_more_than_a_factor_of_three() {
        let lognormal = |noise: &mut Noise, mean: f64| mean * (noise.normal() - 0.5).exp();
        let fixed_on = estimates(|seed| {
            let mut noise = Noise::new(seed);
            MINUTES.average(|busy| if busy { 0.3 } else { noise.exponential(0.7) })
        });
        let lognormal = estimates(|seed| {
            let mut noise = Noise::new(seed);
            MINUTES.average(|busy| lognormal(&mut noise, if busy { 0.3 } else { 0.7 }))
        });
        let heavy_tail = estimates(|seed| {
            let mut noise = Noise::new(seed);
            MINUTES.average(|busy| {
                if busy {
                    return noise.exponential(0.3);
                }
                // Pareto with exponent 1.8 and mean 0.7.
                0.7 * 0.8 / 1.8 * noise.uniform().powf(-1.0 / 1.8)
            })
        });
        for (name, found) in [("fixed", fixed_on), ("lognormal", lognormal), ("heavy", heavy_tail)]
        {
            assert!(found.iter().all(|on| (0.1..=0.9).contains(on)), "{name}: {found:?}");
        }
    }

    #[test]
    fn a_periodic_load_is_refused_whether_or_not_windows_hold_whole_periods() {
        let refused = |width: f64, stride: f64, on: f64, off: f64, count: usize| {
            let values = Windows { width, stride, count }.periodic(on, off);
            for values in [in_percent(&values), values] {
                let found = invert_unless_periodic(&[&values], width, 0.01);
                assert_eq!(found, None, "W {width} every {stride}, {on}+{off}");
            }
        };
        for width in [1.0, 1.0001, 1.001, 1.013, 1.0371, 0.97, 1.05, 1.0618, 1.0 / 6.0] {
            refused(width, width, 0.03, 0.07, 600);
            refused(width, width, 0.03, 0.077, 600);
        }
        for stride in [15.0, 15.013, 15.04, 14.966] {
            refused(1.037, stride, 0.03, 0.07, 240);
        }
        refused(1.0, 1.0, 3.0, 7.0, 600);
        refused(1.0, 1.0, 3.1, 7.23, 600);
        refused(1.0, 1.0, 0.4, 0.93, 600);
        refused(0.388, 0.388, 0.25 * 0.3855, 0.75 * 0.3855, 600);
        refused(1.26, 15.026, 0.39 * 7.547, 0.61 * 7.547, 240);
    }

    #[test]
    fn a_load_that_only_drifts_is_refused_and_a_slow_telegraph_is_not() {
        let drift: Vec<f64> = (0..600).map(|t| 0.3 + 0.1 * (f64::from(t) / 150.0).sin()).collect();
        assert_eq!(invert_unless_periodic(&[&drift], 1.0, 0.0), None);
        let slow = MINUTES.telegraph(60.0, 60.0, 2);
        let found = invert_unless_periodic(&[&slow], 1.0, 0.0).unwrap();
        assert!((20.0..180.0).contains(&found.on), "{found:?}");
    }

    #[test]
    fn a_segment_too_short_to_exclude_a_period_is_refused() {
        let values = MINUTES.telegraph(0.03, 0.07, 3);
        let short: Vec<&[f64]> = values.chunks(20).collect();
        assert_eq!(invert_unless_periodic(&short, 1.0, 0.0), None);
        let long: Vec<&[f64]> = values.chunks(150).collect();
        assert_eq!(invert_unless_periodic(&long, 1.0, 0.0), invert(&values, 1.0, 0.0));
        assert_eq!(invert_unless_periodic(&[], 1.0, 0.0), None);
    }

    #[test]
    fn bursts_of_half_height_are_measured_against_their_plateau() {
        for (width, count, low, high) in [(1.0 / 6.0, 3600, 0.5, 4.0), (1.0, 600, 1.0, 4.0)] {
            let windows = Windows { width, stride: width, count };
            let found = |seed| {
                let mut values = windows.telegraph(3.0, 7.0, seed);
                values.iter_mut().for_each(|value| *value *= 0.6);
                assert_eq!(plateau_height(&values), Some(0.6));
                invert(&in_percent(&values), width, 0.01).unwrap().on
            };
            let found = median(&(1..20).map(found).collect::<Vec<_>>());
            assert!((low..high).contains(&found), "{found}");
        }
    }

    #[test]
    fn a_blurred_load_has_no_plateau_and_a_full_one_needs_none() {
        for seed in 0..40 {
            assert_eq!(plateau_height(&in_percent(&MINUTES.telegraph(0.03, 0.07, seed))), None);
        }
        assert_eq!(plateau_height(&MINUTES.telegraph(30.0, 70.0, 1)), None);
        assert_eq!(plateau_height(&[0.3; 100]), None);
        assert_eq!(plateau_height(&[]), None);
    }

    #[test]
    fn without_idle_or_without_busy_time_there_is_nothing_to_invert() {
        assert_eq!(invert(&[0.0; 10], 1.0, 0.01), None);
        assert_eq!(invert(&[1.0; 10], 1.0, 0.01), None);
        assert_eq!(invert(&[0.3; 10], 1.0, 0.01), None);
        assert_eq!(invert(&[0.0, 1.0, 0.0], 1.0, 0.0), None);
        assert_eq!(invert(&[], 1.0, 0.0), None);
        close(blur_index_of(&[0.30, 0.31], 0.01), (0.000_025 - 1e-4 / 12.0) / 0.211_975, 1e-9);
        assert_eq!(blur_index(0.1, 1.0), None);
    }

    #[test]
    fn a_burst_shorter_than_the_stride_is_missed_in_proportion() {
        assert_eq!(miss_probability(2.0, 1.0, 15.0), 0.8);
        assert_eq!(miss_probability(20.0, 1.0, 15.0), 0.0);
        assert_eq!(miss_probability(1.0, 1.0, 0.0), 0.0);
    }

    fn averages(values: &[f64], width: usize) -> Vec<f64> {
        values.chunks_exact(width).map(|it| it.iter().sum::<f64>() / width as f64).collect()
    }

    proptest! {
        #[test]
        fn averaging_over_a_multiple_of_a_scale_only_loses_variance(
            states in prop::collection::vec(any::<bool>(), 8..400),
            short in 1..6_usize, times in 1..6_usize,
        ) {
            let long = short * times;
            let whole = states.len() / long * long;
            prop_assume!(whole > 0);
            let states = &states[..whole];
            let busy: Vec<f64> = states.iter().map(|&on| f64::from(u8::from(on))).collect();
            let variance = |width| Moments::of(&averages(&busy, width)).variance().unwrap();
            let p = Moments::of(&busy).mean().unwrap();
            prop_assert!(variance(long) <= variance(short) + 1e-12);
            prop_assert!(variance(short) <= p * (1.0 - p) + 1e-12);
        }

        #[test]
        fn the_formula_keeps_within_the_same_bracket(
            p in 0.01..0.99_f64, tau in 1e-6..1e6_f64, short in 1e-6..1e6_f64, times in 1..50_u32,
        ) {
            let (long, short) = (short * f64::from(times), short);
            let bound = p * (1.0 - p) * (1.0 + 1e-12);
            let of_long = window_variance(p, tau, long);
            let of_short = window_variance(p, tau, short);
            prop_assert!(of_long <= of_short * (1.0 + 1e-12) && of_short <= bound);
            prop_assert!(of_long >= 0.0);
        }
    }
}
