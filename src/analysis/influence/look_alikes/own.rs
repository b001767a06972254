//! What a victim does to itself: its own load, a full cache, a slow start, slowness throughout.

use crate::analysis::influence::cast::Member;
use crate::analysis::influence::findings::{LookAlike, LookAlikeKind, LookAlikeState};
use crate::analysis::influence::grid::Grid;
use crate::analysis::influence::look_alikes::{INFERRED, REPORTED, by_presence, look_alike, spans};
use crate::domain::metric::Metric;
use crate::domain::shares::share;
use crate::stats::quantile::quantiles;

/// Load over its median from which it counts as high.
const HIGH_LOAD: f64 = 1.3;
/// A rush hour lasts longer than this, in seconds.
const SUSTAINED_S: f64 = 15.0;
/// Part of the key-value cache in use from which it counts as full.
const FULL_CACHE: f64 = 0.95;
/// Spread of log latency from the 5th to the median below which nothing ever was fast.
const NEVER_FAST: f64 = 0.15;
/// Share of the bins of a slow start that must lie over the upper quarter of the rest.
const SLOW_SHARE: f64 = 0.8;
/// Slowness of a slow start that matters, in logarithms.
const SLOW_START: f64 = 0.10;
/// Fewest bins of a slow start.
const LEAST_START: usize = 10;
/// Greatest part of the record that can be a slow start.
const LONGEST_START: f64 = 0.4;

/// The victim's own load and cache.
pub(crate) fn queue(
    member: &Member<'_>,
    load: Option<&[f64]>,
    harm: &[f64],
    grid: &Grid,
    late_us: i64,
) -> LookAlike {
    let kind = LookAlikeKind::OwnQueue;
    let cache =
        member.measured(Metric::KvCacheUsed).map(|it| grid.means(it, None, late_us, |it| it));
    if let Some(cache) = &cache {
        let full: Vec<Option<bool>> =
            cache.iter().map(|it| it.is_finite().then_some(*it >= FULL_CACHE)).collect();
        let found =
            by_presence(kind, ("its own key-value cache was full", REPORTED), &full, harm, grid);
        if found.state == LookAlikeState::Found {
            return found;
        }
    }
    let Some(load) = load else {
        let sentence = "its offered load was not recorded, so its own rush hours cannot be told from a neighbour's".to_owned();
        return look_alike(kind, LookAlikeState::Unseen, sentence);
    };
    // Single bins with a few requests more are chance, not a rush hour.
    let load = smoothed(load, (SUSTAINED_S / grid.step_s()).ceil() as usize);
    let seen: Vec<f64> = load.iter().copied().filter(|it| it.is_finite()).collect();
    let middle = quantiles(&seen, &[0.5]).map_or(0.0, |it| it[0] + 1.0);
    let is_high = |it: &f64| it.is_finite().then_some(it + 1.0 >= HIGH_LOAD * middle);
    let high: Vec<Option<bool>> = load.iter().map(is_high).collect();
    by_presence(
        kind,
        ("its own load stood 30 % or more over its median", INFERRED),
        &high,
        harm,
        grid,
    )
}

/// Mean over a window of bins around each; NaN where less than half of it was seen.
fn smoothed(values: &[f64], width: usize) -> Vec<f64> {
    let reach = width / 2;
    (0..values.len())
        .map(|bin| {
            let window = &values[bin.saturating_sub(reach)..(bin + reach + 1).min(values.len())];
            let seen: Vec<f64> = window.iter().copied().filter(|it| it.is_finite()).collect();
            if 2 * seen.len() < window.len() {
                return f64::NAN;
            }
            seen.iter().sum::<f64>() / seen.len() as f64
        })
        .collect()
}

/// Whether the victim ever was fast.
pub(crate) fn throughout(harm: &[f64]) -> LookAlike {
    let kind = LookAlikeKind::SlowThroughout;
    let seen: Vec<f64> = harm.iter().copied().filter(|it| it.is_finite()).collect();
    let Some(levels) = quantiles(&seen, &[0.05, 0.5, 0.95]).filter(|_| seen.len() >= 20) else {
        return look_alike(kind, LookAlikeState::Unseen, "the victim was hardly seen".to_owned());
    };
    let (fast, slow) = (levels[1] - levels[0], levels[2] - levels[1]);
    if fast.max(slow) < NEVER_FAST {
        let sentence = format!(
            "nine of ten bins lie within {} of the median: if that is too slow, it is so with and without neighbours",
            share(fast.max(slow).exp_m1())
        );
        return look_alike(kind, LookAlikeState::Found, sentence);
    }
    let sentence = format!(
        "the slowest twentieth is {} slower than the median, the fastest {} faster",
        share(slow.exp_m1()),
        share(-(-fast).exp_m1()),
    );
    look_alike(kind, LookAlikeState::RuledOut, sentence)
}

/// A slow start, and how many bins from the start of the record it takes.
pub(crate) fn warm_up(harm: &[f64], grid: &Grid) -> (LookAlike, usize) {
    let kind = LookAlikeKind::WarmUp;
    let seen: Vec<usize> = (0..harm.len()).filter(|it| harm[*it].is_finite()).collect();
    let none =
        |sentence: &str| (look_alike(kind, LookAlikeState::RuledOut, sentence.to_owned()), 0);
    let longest = (LONGEST_START * seen.len() as f64) as usize;
    if longest < LEAST_START {
        let sentence = "the victim was hardly seen".to_owned();
        return (look_alike(kind, LookAlikeState::Unseen, sentence), 0);
    }
    let rest: Vec<f64> = seen[longest..].iter().map(|it| harm[*it]).collect();
    let Some(levels) = quantiles(&rest, &[0.5, 0.75]) else {
        return none("the victim was hardly seen");
    };
    // The longest beginning that is slow nearly throughout, and slow at its end.
    let (mut slow, mut best) = (0_usize, None);
    for (place, bin) in seen[..longest].iter().enumerate() {
        let is_slow = harm[*bin] > levels[1];
        slow += usize::from(is_slow);
        if is_slow && place + 1 >= LEAST_START && slow as f64 >= SLOW_SHARE * (place + 1) as f64 {
            best = Some(place + 1);
        }
    }
    let Some(count) = best else { return none("its first minutes were no slower than the rest") };
    let mean = seen[..count].iter().map(|it| harm[*it]).sum::<f64>() / count as f64;
    if mean - levels[0] < SLOW_START {
        return none("its first minutes were hardly slower than the rest");
    }
    let end = seen[count - 1] + 1;
    let flags: Vec<Option<bool>> = (0..harm.len()).map(|it| Some(it < end)).collect();
    let effect = (mean - levels[0]).exp_m1();
    let sentence = format!(
        "its first {:.0} s were {} slower than the rest and are left out of every comparison: before and after a neighbour came do not compare",
        end as f64 * grid.step_s(),
        share(effect)
    );
    let found = LookAlike {
        effect_ratio: Some(effect),
        share_of_time: Some(end as f64 / harm.len() as f64),
        spans: spans(&flags, grid),
        ..look_alike(kind, LookAlikeState::Found, sentence)
    };
    (found, end)
}
