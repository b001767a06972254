//! Does more of the cause go with more of the effect?

use crate::stats::quantile::quantiles;

/// Spread of activity within bursts below which there is only one dose.
const ONE_DOSE: f64 = 0.05;
/// Fewest bins of a dose.
const FEWEST_BINS: usize = 10;
/// Neighbouring bins resemble each other: so many count as one.
const BINS_AS_ONE: f64 = 5.0;
/// Standard errors by which a lower dose must exceed the highest to contradict.
const CONTRADICTION: f64 = 2.0;
/// Share of the greatest effect that the highest dose must have.
const LEAST_SHARE: f64 = 0.5;

/// Effects by dose.
#[derive(Debug, Clone, PartialEq)]
pub struct DoseResponse {
    /// Mean of the residual over that of the gaps, for the lower, middle and upper third of activity within bursts.
    ///
    /// A single value where all bursts are equally high; a third of fewer than ten bins, as ties may leave it, is left out.
    pub effects: Vec<f64>,
    /// Whether the doses are in line with a cause: rising, or flat. False only when the highest dose does clearly less than a lower one.
    pub is_plausible: bool,
}

/// Effects of a burst by its height.
///
/// - `matched`: the residual within its stratum, 0 where it is missing.
/// - `activity`: the suspect, NaN where it is missing; `on` its bursts; the victim follows by `lag` bins.
///
/// A flat dose is legal: antagonists of memory bandwidth slow a victim by the same factor at every intensity.
/// `None` without ten bins on either side, or if the slices differ in length.
pub fn dose_response(
    matched: &[f64],
    activity: &[f64],
    on: &[Option<bool>],
    lag: usize,
) -> Option<DoseResponse> {
    if activity.len() != matched.len() || on.len() != matched.len() {
        return None;
    }
    let rows = || (lag..matched.len()).filter(|row| matched[*row] != 0.0);
    let off: Vec<f64> =
        rows().filter(|row| on[row - lag] == Some(false)).map(|row| matched[row]).collect();
    let in_burst: Vec<(f64, f64)> = rows()
        .filter(|row| on[row - lag] == Some(true))
        .map(|row| (activity[row - lag], matched[row]))
        .filter(|it| it.0.is_finite())
        .collect();
    if off.len() < FEWEST_BINS || in_burst.len() < FEWEST_BINS {
        return None;
    }
    let heights: Vec<f64> = in_burst.iter().map(|it| it.0).collect();
    let marks = quantiles(&heights, &[0.1, 1.0 / 3.0, 2.0 / 3.0, 0.9])?;
    let floor = off.iter().sum::<f64>() / off.len() as f64;
    let is_one = marks[3] - marks[0] < ONE_DOSE || in_burst.len() < 3 * FEWEST_BINS;
    let doses: Vec<Vec<f64>> = if is_one {
        vec![in_burst.iter().map(|it| it.1).collect()]
    } else {
        let third = |from: f64, until: f64| {
            in_burst.iter().filter(|it| it.0 > from && it.0 <= until).map(|it| it.1).collect()
        };
        vec![
            third(f64::NEG_INFINITY, marks[1]),
            third(marks[1], marks[2]),
            third(marks[2], f64::INFINITY),
        ]
    };
    let doses: Vec<Vec<f64>> = doses.into_iter().filter(|it| it.len() >= FEWEST_BINS).collect();
    let means: Vec<(f64, f64)> = doses.iter().map(|it| mean_and_error(it)).collect();
    let effects: Vec<f64> = means.iter().map(|it| it.0 - floor).collect();
    let highest = *means.last()?;
    let is_plausible = means.iter().all(|it| {
        let excess = it.0 - highest.0;
        excess <= CONTRADICTION * it.1.hypot(highest.1)
            || highest.0 - floor >= LEAST_SHARE * (it.0 - floor)
    });
    Some(DoseResponse { effects, is_plausible })
}

fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let square: f64 = values.iter().map(|it| (it - mean).powi(2)).sum();
    (mean, (square / count / (count / BINS_AS_ONE).max(1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::expected::{answers, case, close, numbers, value};
    use proptest::prelude::*;

    #[test]
    fn a_plain_loop_finds_the_same_doses() {
        for case in case("dose_response") {
            let (matched, activity) = (numbers(case, "matched"), numbers(case, "activity"));
            let lag = value(case, "lag") as usize;
            let found = dose_response(&matched, &activity, &answers(case, "on"), lag).unwrap();
            let expected = numbers(case, "effects");
            assert_eq!(found.effects.len(), expected.len());
            for (found, expected) in found.effects.iter().zip(expected) {
                close(Some(*found), expected, 1e-9);
            }
            assert_eq!(Some(found.is_plausible), case["is_plausible"].as_bool());
        }
    }

    #[test]
    fn slices_that_differ_in_length_have_no_doses() {
        let (matched, activity, on) = world(|it| it);
        assert_eq!(dose_response(&matched, &activity[1..], &on, 0), None);
        assert_eq!(dose_response(&matched, &activity, &on[1..], 0), None);
        assert_eq!(dose_response(&matched, &activity, &on, 5000), None);
    }

    proptest! {
        #[test]
        fn no_series_breaks_it(
            bins in prop::collection::vec(
                (-1.0..1.0_f64, prop_oneof![0.0..1.0_f64, Just(f64::NAN), Just(0.5)], any::<Option<bool>>()),
                0..200,
            ),
            lag in 0..10_usize,
        ) {
            let matched: Vec<f64> = bins.iter().map(|it| it.0).collect();
            let activity: Vec<f64> = bins.iter().map(|it| it.1).collect();
            let on: Vec<Option<bool>> = bins.iter().map(|it| it.2).collect();
            let found = dose_response(&matched, &activity, &on, lag);
            prop_assert!(found.is_none_or(|it| it.effects.iter().all(|it| it.is_finite())));
        }
    }

    /// Bursts of ten bins in turn at three heights; `effect` gives what each height does.
    fn world(effect: impl Fn(f64) -> f64) -> (Vec<f64>, Vec<f64>, Vec<Option<bool>>) {
        let height = |bin: usize| match (bin / 10) % 6 {
            1 => 0.5,
            3 => 0.7,
            5 => 0.9,
            _ => 0.0,
        };
        let activity: Vec<f64> = (0..1200).map(height).collect();
        let noise = |bin: usize| 0.01 * ((bin * 37 % 11) as f64 - 5.0) + 1e-6;
        let matched = activity.iter().enumerate().map(|(bin, it)| effect(*it) + noise(bin));
        let on = activity.iter().map(|it| Some(*it > 0.25)).collect();
        (matched.collect(), activity, on)
    }

    #[test]
    fn a_rising_and_a_flat_dose_are_plausible() {
        let (matched, activity, on) = world(|it| it * 0.2);
        let found = dose_response(&matched, &activity, &on, 0).unwrap();
        assert!(found.is_plausible && found.effects.len() == 3);
        assert!(found.effects.windows(2).all(|it| it[0] < it[1]), "{found:?}");
        let (matched, activity, on) = world(|it| if it > 0.0 { 0.2 } else { 0.0 });
        assert!(dose_response(&matched, &activity, &on, 0).unwrap().is_plausible);
    }

    #[test]
    fn an_effect_that_vanishes_at_the_highest_dose_contradicts_a_cause() {
        let (matched, activity, on) = world(|it| if it > 0.8 || it == 0.0 { 0.0 } else { 0.2 });
        assert!(!dose_response(&matched, &activity, &on, 0).unwrap().is_plausible);
    }
}
