//! What an experiment proves whose blocks were dealt out by lot.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Most arrangements that are counted one by one.
const MOST_ARRANGEMENTS: u64 = 3_000_000;
/// Differences that are equal on paper must count as equal.
const TIE: f64 = 1e-9;

/// Difference of two groups of blocks, judged against every way to deal out the labels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LabelTest {
    /// Mean of the marked blocks minus mean of the others.
    pub difference: f64,
    /// Share of arrangements with at least that difference, one-sided; the one that was played counts.
    pub p_value: f64,
    /// How many arrangements there are.
    pub arrangements: u64,
    /// 95 % interval of the difference by Welch's t; `None` with a single block in either group.
    pub interval: Option<(f64, f64)>,
}

/// Exact test of whether marked blocks lie higher than the others.
///
/// Every choice of as many blocks is tried, in linear memory; sums that agree to nine digits of the largest value count as equal.
/// `None` when a group is empty, a value is not finite, the slices differ in length, or there are more than three million choices (24 blocks of which 12 are marked have 2.7 million).
///
/// Source: R. A. Fisher, The Design of Experiments (1935), chapter II; interval: B. L. Welch, Biometrika 34 (1947), 28–35.
pub fn label_test(values: &[f64], is_marked: &[bool]) -> Option<LabelTest> {
    if values.len() != is_marked.len() || !values.iter().all(|it| it.is_finite()) {
        return None;
    }
    let group = |mark: bool| -> Vec<f64> {
        values.iter().zip(is_marked).filter(|it| *it.1 == mark).map(|it| *it.0).collect()
    };
    let (with, without) = (group(true), group(false));
    if with.is_empty() || without.is_empty() {
        return None;
    }
    let arrangements = arrangements(values.len(), with.len())?;
    let total: f64 = values.iter().sum();
    let scale = values.iter().map(|it| it.abs()).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let limit = with.iter().sum::<f64>() - TIE * scale;
    let mut as_good = 0_u64;
    let mut chosen: Vec<usize> = (0..with.len()).collect();
    loop {
        as_good += u64::from(chosen.iter().map(|it| values[*it]).sum::<f64>() >= limit);
        if !advance(&mut chosen, values.len()) {
            break;
        }
    }
    let sum: f64 = with.iter().sum();
    let difference = sum / with.len() as f64 - (total - sum) / without.len() as f64;
    let p_value = as_good as f64 / arrangements as f64;
    Some(LabelTest { difference, p_value, arrangements, interval: welch(&with, &without) })
}

/// The next choice in lexicographic order; false after the last.
fn advance(chosen: &mut [usize], blocks: usize) -> bool {
    let count = chosen.len();
    let Some(place) = (0..count).rev().find(|it| chosen[*it] < blocks - count + it) else {
        return false;
    };
    chosen[place] += 1;
    for next in place + 1..count {
        chosen[next] = chosen[next - 1] + 1;
    }
    true
}

fn welch(with: &[f64], without: &[f64]) -> Option<(f64, f64)> {
    let spread = |group: &[f64]| {
        let count = group.len() as f64;
        let mean = group.iter().sum::<f64>() / count;
        let square: f64 = group.iter().map(|it| (it - mean).powi(2)).sum();
        (group.len() > 1).then(|| (mean, square / (count - 1.0) / count, count - 1.0))
    };
    let (a, b) = (spread(with)?, spread(without)?);
    let variance = a.1 + b.1;
    let freedom = variance.powi(2) / (a.1.powi(2) / a.2 + b.1.powi(2) / b.2);
    if !(variance > 0.0 && freedom.is_finite()) {
        return None;
    }
    let reach = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(0.975) * variance.sqrt();
    Some((a.0 - b.0 - reach, a.0 - b.0 + reach))
}

/// `blocks` labels of which `marked` are true, in an order drawn by lot from a seed.
pub fn dealt(blocks: usize, marked: usize, seed: u64) -> Vec<bool> {
    let mut labels: Vec<bool> = (0..blocks).map(|it| it < marked).collect();
    labels.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    labels
}

/// How many ways there are to mark `marked` of `blocks`; `None` beyond what is counted one by one.
pub fn arrangements(blocks: usize, marked: usize) -> Option<u64> {
    let mut count: u64 = 1;
    for step in 0..marked.min(blocks.checked_sub(marked)?) as u64 {
        count = count.checked_mul(blocks as u64 - step)? / (step + 1);
        if count > MOST_ARRANGEMENTS {
            return None;
        }
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::expected::{case, close, numbers, value};
    use proptest::prelude::*;

    #[test]
    fn scipy_finds_the_same_probability_and_interval() {
        for case in case("labels") {
            let marks: Vec<bool> = numbers(case, "marks").into_iter().map(|it| it == 1.0).collect();
            let found = label_test(&numbers(case, "values"), &marks).unwrap();
            close(Some(found.difference), value(case, "difference"), 1e-12);
            close(Some(found.p_value), value(case, "p_value"), 1e-12);
            match found.interval {
                None => assert!(case["interval"].is_null()),
                Some(ends) => {
                    let expected = numbers(case, "interval");
                    close(Some(ends.0), expected[0], 1e-9);
                    close(Some(ends.1), expected[1], 1e-9);
                }
            }
        }
    }

    #[test]
    fn a_block_without_a_value_is_no_test_and_a_single_one_has_no_interval() {
        assert_eq!(label_test(&[1.0, f64::NAN, 2.0], &[true, false, false]), None);
        let found = label_test(&[3.0, 1.0, 2.0], &[true, false, false]).unwrap();
        assert_eq!((found.arrangements, found.interval), (3, None));
        assert_eq!(label_test(&[], &[]), None);
    }

    proptest! {
        #[test]
        fn the_probability_counts_arrangements_and_ignores_scale_and_shift(
            blocks in prop::collection::vec(((-9..9_i32).prop_map(f64::from), any::<bool>()), 0..13),
            scale in 0.01..100.0_f64,
            shift in -10.0..10.0_f64,
        ) {
            let (values, marks): (Vec<f64>, Vec<bool>) = blocks.into_iter().unzip();
            let Some(found) = label_test(&values, &marks) else {
                let marked = marks.iter().filter(|it| **it).count();
                prop_assert!(marked == 0 || marked == marks.len());
                return Ok(());
            };
            let count = found.p_value * found.arrangements as f64;
            prop_assert!((count - count.round()).abs() < 1e-6 && count > 0.5 && found.p_value <= 1.0);
            let moved: Vec<f64> = values.iter().map(|it| it * scale + shift).collect();
            prop_assert_eq!(label_test(&moved, &marks).unwrap().p_value, found.p_value);
            prop_assert!(found.interval.is_none_or(|it| it.0 <= found.difference && found.difference <= it.1));
        }
    }

    #[test]
    fn six_blocks_can_prove_at_one_in_twenty_and_eight_at_one_in_seventy() {
        assert_eq!(arrangements(6, 3), Some(20));
        assert_eq!(arrangements(8, 4), Some(70));
        assert_eq!(arrangements(60, 30), None);
    }

    #[test]
    fn the_clearest_outcome_is_the_only_arrangement_of_its_kind() {
        let values = [5.0, 1.0, 6.0, 2.0, 7.0, 1.5, 5.5, 1.2];
        let marks = [true, false, true, false, true, false, true, false];
        let found = label_test(&values, &marks).unwrap();
        assert_eq!(found.arrangements, 70);
        assert!((found.p_value - 1.0 / 70.0).abs() < 1e-12);
        assert!((found.difference - (5.875 - 1.425)).abs() < 1e-12);
        assert!(found.interval.is_some_and(|it| it.0 > 0.0));
    }

    #[test]
    fn equal_blocks_prove_nothing_and_one_sided_groups_are_no_test() {
        assert_eq!(
            label_test(&[1.0; 6], &[true, false, true, false, true, false]).unwrap().p_value,
            1.0
        );
        assert_eq!(label_test(&[1.0; 3], &[true; 3]), None);
        assert_eq!(label_test(&[1.0], &[true, false]), None);
    }
}
