//! The score by which a well-known fleet names antagonists, as a second number that people know.

/// How much a suspect's use goes together with a victim's abnormal slowness, −1 to 1.
///
/// With c the victim's time per unit of work (latency), c* its alarm line and u the suspect's use as a
/// share of its sum: Σ u(1 − c*/c) over bins with c > c*, plus Σ u(c/c* − 1) over the others. The original acts from 0.35 on, which
/// needs c > 1.54 c*. There is no contrast in it: a victim that is slow throughout convicts everybody.
/// A bin that either series has not seen (NaN, or past its end) is left out, and so is a victim's value that is not positive. `None` without any use or with an alarm line that is not positive.
///
/// Source: X. Zhang et al., "CPI²: CPU performance isolation for shared compute clusters", EuroSys 2013.
pub fn cpi2_score(victim: &[f64], suspect: &[f64], alarm_line: f64) -> Option<f64> {
    let seen =
        || victim.iter().zip(suspect).filter(|(c, u)| c.is_finite() && **c > 0.0 && u.is_finite());
    let total: f64 = seen().map(|it| it.1).sum();
    if !(total > 0.0 && alarm_line > 0.0) {
        return None;
    }
    let weighted = seen().map(|(c, u)| {
        u / total * if *c > alarm_line { 1.0 - alarm_line / c } else { c / alarm_line - 1.0 }
    });
    Some(weighted.sum())
}

/// The alarm line: mean plus two standard deviations of what is normal. `None` with fewer than two values.
pub fn alarm_line(normal: &[f64]) -> Option<f64> {
    let seen: Vec<f64> = normal.iter().copied().filter(|it| it.is_finite()).collect();
    if seen.len() < 2 {
        return None;
    }
    let mean = seen.iter().sum::<f64>() / seen.len() as f64;
    let square = seen.iter().map(|it| (it - mean).powi(2)).sum::<f64>();
    Some(mean + 2.0 * (square / seen.len() as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::expected::{case, close, holed, numbers, value};

    #[test]
    fn a_plain_loop_finds_the_same_score_and_line() {
        for case in case("cpi2") {
            let line = value(case, "line");
            let found = cpi2_score(&holed(case, "victim"), &holed(case, "suspect"), line);
            close(found, value(case, "expected"), 1e-12);
            close(alarm_line(&numbers(case, "normal")), value(case, "alarm"), 1e-12);
        }
    }

    #[test]
    fn the_score_of_a_hand_calculation_is_found() {
        // Use 1/4 at c = 2 c* gives 1/8; use 3/4 at c = c*/2 gives −3/8.
        let score = cpi2_score(&[2.0, 0.5], &[1.0, 3.0], 1.0).unwrap();
        assert!((score + 0.25).abs() < 1e-12, "{score}");
    }

    #[test]
    fn a_victim_that_is_slow_throughout_convicts_whoever_is_there() {
        let score = cpi2_score(&[2.0; 50], &[0.3; 50], 1.0).unwrap();
        assert!(score > 0.35);
    }

    #[test]
    fn nobody_used_anything_is_no_score_and_missing_bins_do_not_count() {
        assert_eq!(cpi2_score(&[1.0, 2.0], &[0.0, 0.0], 1.0), None);
        let with_hole = cpi2_score(&[2.0, f64::NAN, 0.5], &[1.0, 9.0, 3.0], 1.0);
        assert_eq!(with_hole, cpi2_score(&[2.0, 0.5], &[1.0, 3.0], 1.0));
    }

    #[test]
    fn the_alarm_line_lies_two_deviations_over_the_mean() {
        assert_eq!(alarm_line(&[1.0, 3.0, f64::NAN]), Some(4.0));
        assert_eq!(alarm_line(&[1.0]), None);
    }
}
