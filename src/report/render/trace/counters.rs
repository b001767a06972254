//! Metrics as counters: which, how they are called, and how many values stay.

use crate::domain::metric::{Metric, Unit};
use crate::domain::series::Series;
use crate::domain::source::Reading;

/// Whether a metric is drawn: one that has a height at an instant and is about the GPU or a service.
///
/// Totals only rise, codes of errors and masks of reasons are events, and what the recorder says of
/// itself belongs to nobody's workload.
pub(crate) fn is_drawn(metric: Metric) -> bool {
    let spec = metric.spec();
    !matches!(spec.reading, Reading::Counter | Reading::LastEvent)
        && spec.unit != Unit::Bitmask
        && !spec.key.starts_with("observer_")
}

/// Positions of the values that a step line needs, at most about `most` of them.
///
/// A value that repeats the one before and after it is left out, which changes nothing. If more
/// than `most` are left, they are cut into stretches of equal number, and each keeps its least and
/// its greatest value where they stand: peaks and dips stay, and nothing is averaged.
pub(crate) fn kept(series: &Series, most: Option<usize>) -> Vec<usize> {
    let values = series.part(0..series.len());
    let repeats = |it: usize| {
        it > 0
            && it + 1 < values.len()
            && values[it - 1] == values[it]
            && values[it + 1] == values[it]
    };
    let needed: Vec<usize> = (0..values.len()).filter(|it| !repeats(*it)).collect();
    let Some(most) = most.filter(|it| needed.len() > *it) else { return needed };
    let stretch = needed.len().div_ceil((most / 2).max(1));
    let mut kept = Vec::with_capacity(most);
    for stretch in needed.chunks(stretch) {
        let by_value = |a: &&usize, b: &&usize| values[**a].total_cmp(&values[**b]);
        let (least, greatest) = (stretch.iter().min_by(by_value), stretch.iter().max_by(by_value));
        let (Some(least), Some(greatest)) = (least, greatest) else { continue };
        kept.push(*least.min(greatest));
        if least != greatest {
            kept.push(*least.max(greatest));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Timestamp;
    use proptest::prelude::*;
    use std::sync::Arc;

    fn series(values: Vec<f64>) -> Series {
        let times = (0..values.len() as i64).map(Timestamp::from_micros).collect();
        Series::new(Arc::new(times), values).unwrap()
    }

    #[test]
    fn a_plateau_keeps_its_ends_and_a_peak_of_one_sample_survives_any_thinning() {
        assert_eq!(kept(&series(vec![1.0, 1.0, 1.0, 1.0, 2.0]), None), [0, 3, 4]);
        let mut values: Vec<f64> = (0..10_000).map(|it| f64::from(it % 7)).collect();
        (values[4321], values[777]) = (99.0, -5.0);
        let thin = kept(&series(values), Some(20));
        assert!(thin.len() <= 20 && thin.contains(&4321) && thin.contains(&777), "{thin:?}");
    }

    proptest! {
        #[test]
        fn thinning_keeps_order_extremes_and_the_bound(
            values in prop::collection::vec(-100..100_i32, 1..400), most in 2_usize..50,
        ) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let all = series(values.clone());
            let thin = kept(&all, Some(most));
            prop_assert!(thin.windows(2).all(|it| it[0] < it[1]));
            prop_assert!(thin.len() <= most.max(2), "{} of {}", thin.len(), most);
            let range = |it: &mut dyn Iterator<Item = f64>| {
                it.fold((f64::INFINITY, f64::NEG_INFINITY), |r, it| (r.0.min(it), r.1.max(it)))
            };
            let seen = range(&mut thin.iter().map(|it| values[*it]));
            prop_assert_eq!(seen, range(&mut values.iter().copied()));
            // Without a bound the step line is the same at every sample.
            let exact = kept(&all, None);
            for (position, value) in values.iter().enumerate() {
                let last = exact.iter().rfind(|it| **it <= position).copied().unwrap();
                prop_assert_eq!(values[last], *value);
            }
        }
    }
}
