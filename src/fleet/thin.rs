//! Less of a long record, so that what it says stays: stretches from all of its time, and fewer levels.

use crate::colocation::demand::Timeline;
use crate::colocation::stretches::stretches;
use crate::stats::staircase::{Rise, Staircase};
use std::collections::BTreeMap;

/// Work in stretches of its time that hold at most so many pieces; time runs on where one stretch follows another.
///
/// What crosses the end of a stretch is cut there, so that the busy share stays that of the stretches.
pub fn thinned(timeline: &Timeline, most: usize) -> Timeline {
    if timeline.len() <= most {
        return timeline.clone();
    }
    let span_s = timeline.span_s();
    let mut share = most as f64 / timeline.len() as f64;
    let mut thin = timeline.clone();
    // Stretches may hold more pieces than others of their length.
    while thin.len() > most && share > 1e-9 {
        share *= 0.95;
        thin = cut(timeline, &stretches(span_s, share)).unwrap_or(thin);
    }
    thin
}

/// The work inside of stretches, one after the other; `None` where they hold no time.
pub fn cut(timeline: &Timeline, stretches: &[(f64, f64)]) -> Option<Timeline> {
    let mut pieces = Vec::new();
    let mut gone_s = 0.0;
    for (from, until) in stretches {
        let first = timeline.at_s().partition_point(|it| it < from);
        // A piece that began before and lasts into the stretch.
        let before = first.checked_sub(1).map(|it| (timeline.at_s()[it], timeline.work_s()[it]));
        if let Some((at, work)) = before.filter(|it| it.0 + it.1 > *from) {
            pieces.push((gone_s, (at + work - from).min(until - from)));
        }
        for at in first..timeline.len() {
            let (begin, work) = (timeline.at_s()[at], timeline.work_s()[at]);
            if begin >= *until {
                break;
            }
            pieces.push((gone_s + begin - from, work.min(until - begin)));
        }
        gone_s += until - from;
    }
    Timeline::new(pieces, gone_s)
}

/// Two stretches of work as one: the second follows the first.
pub fn joined(one: &Timeline, other: &Timeline) -> Option<Timeline> {
    let first = one.at_s().iter().copied().zip(one.work_s().iter().copied());
    let second = other.at_s().iter().map(|it| it + one.span_s());
    let second = second.zip(other.work_s().iter().copied());
    Timeline::new(first.chain(second), one.span_s() + other.span_s())
}

/// Stairs of few levels: more are rounded up to the next of even steps, so that a peak is never made smaller.
pub fn thinned_stairs(stairs: &Staircase, most: usize) -> Staircase {
    let low = stairs.levels.first().copied().unwrap_or(0.0);
    let high = stairs.peak();
    if stairs.levels.len() <= most || most < 2 || high <= low {
        return stairs.clone();
    }
    let step = (high - low) / (most - 1) as f64;
    let up = |level: f64| {
        let place = ((level - low) / step - 1e-9).ceil().max(0.0);
        if place as usize >= most - 1 { high } else { low + place * step }
    };
    regrouped(&[(stairs, 1.0)], up)
}

/// Two stairs of one quantity as one, each weighed by its samples.
pub fn joined_stairs(one: &Staircase, other: &Staircase) -> Staircase {
    let (first, second) = (one.samples.max(1) as f64, other.samples.max(1) as f64);
    let all = first + second;
    let mut joined = regrouped(&[(one, first / all), (other, second / all)], |it| it);
    joined.samples = one.samples + other.samples;
    joined
}

/// Stairs whose levels become others; shares and rates add up, and rises within a level are none.
fn regrouped(parts: &[(&Staircase, f64)], becomes: impl Fn(f64) -> f64) -> Staircase {
    let mut levels: Vec<f64> =
        parts.iter().flat_map(|it| it.0.levels.iter().map(|it| becomes(*it))).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let place = |level: f64| {
        let level = becomes(level);
        levels.partition_point(|it| *it < level).min(levels.len().saturating_sub(1))
    };
    let mut shares = vec![0.0; levels.len()];
    let mut rises: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for (stairs, weight) in parts {
        for (level, share) in stairs.levels.iter().zip(&stairs.shares) {
            shares[place(*level)] += share * weight;
        }
        for rise in &stairs.rises {
            let (from, to) = (place(stairs.levels[rise.from]), place(stairs.levels[rise.to]));
            if from < to {
                *rises.entry((from, to)).or_default() += rise.rate * weight;
            }
        }
    }
    let rises = rises.into_iter().map(|((from, to), rate)| Rise { from, to, rate });
    let samples = parts.first().map_or(0, |it| it.0.samples);
    Staircase { shares, rises: rises.collect(), levels, samples }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colocation::demand::{Demand, Spread};
    use proptest::prelude::*;

    fn work(duty: f64, span_s: f64) -> Timeline {
        let demand = Demand::bursts("a", duty, (0.3, Spread::Exponential), span_s).unwrap();
        Timeline::clone(&demand.timeline)
    }

    #[test]
    fn a_thinned_record_is_as_busy_as_the_whole() {
        for duty in [0.02, 0.3, 0.9] {
            let whole = work(duty, 400_000.0);
            let thin = thinned(&whole, 4_000);
            assert!((3_500..=4_000).contains(&thin.len()), "{}", thin.len());
            let error = thin.busy_share() / whole.busy_share() - 1.0;
            assert!(error.abs() < 0.1, "{duty}: {error}");
        }
    }

    #[test]
    fn a_rhythm_of_a_day_is_met_at_all_hours() {
        // Busy for one hour of each of 24 days: 1/24 of the time.
        let pieces = (0..24).map(|day| (day as f64 * 86_400.0 + 36_000.0, 3_600.0));
        let days = Timeline::new(pieces, 24.0 * 86_400.0).unwrap();
        let thin = cut(&days, &stretches(days.span_s(), 0.2)).unwrap();
        let ratio = thin.busy_share() / days.busy_share();
        assert!((0.5..2.0).contains(&ratio), "{ratio}");
    }

    proptest! {
        #[test]
        fn joined_halves_are_the_whole(duty in 0.05_f64..0.95, at in 0.1_f64..0.9) {
            let whole = work(duty, 600.0);
            let middle = at * 600.0;
            let (one, other) = (cut(&whole, &[(0.0, middle)]).unwrap(), cut(&whole, &[(middle, 600.0)]).unwrap());
            let again = joined(&one, &other).unwrap();
            prop_assert!((again.busy_share() - whole.busy_share()).abs() < 1e-9);
            prop_assert!((again.span_s() - 600.0).abs() < 1e-9);
        }

        #[test]
        fn stairs_keep_their_peak_their_time_and_never_sink(
            values in prop::collection::vec(0.0_f64..1e10, 2..400), most in 2_usize..40,
        ) {
            let stairs = Staircase::of(&[&values]).unwrap();
            let thin = thinned_stairs(&stairs, most);
            prop_assert!(thin.levels.len() <= most.max(stairs.levels.len().min(most)));
            prop_assert_eq!(thin.peak(), stairs.peak());
            prop_assert!((thin.shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            prop_assert!(thin.mean() >= stairs.mean() - 1e-3);
        }

        #[test]
        fn stairs_of_two_parts_are_those_of_the_whole(
            one in prop::collection::vec(0_u8..6, 1..60), other in prop::collection::vec(0_u8..6, 1..60),
        ) {
            let of = |it: &[u8]| -> Vec<f64> { it.iter().map(|it| f64::from(*it)).collect() };
            let (one, other) = (of(&one), of(&other));
            let whole = Staircase::of(&[&one, &other]).unwrap();
            let parts = joined_stairs(&Staircase::of(&[&one]).unwrap(), &Staircase::of(&[&other]).unwrap());
            prop_assert_eq!(&parts.levels, &whole.levels);
            prop_assert_eq!(parts.samples, whole.samples);
            for (part, all) in parts.shares.iter().zip(&whole.shares) {
                prop_assert!((part - all).abs() < 1e-9);
            }
            for level in [0.5, 2.5, 4.5] {
                prop_assert!((parts.rises_above(level) - whole.rises_above(level)).abs() < 1e-9);
            }
        }
    }
}
