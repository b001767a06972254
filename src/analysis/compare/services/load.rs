//! A tenant's own load: whether it changed too, and what is left of a change without it.

use crate::analysis::compare::findings::LoadChange;
use crate::analysis::compare::services::{Record, measured};
use crate::analysis::influence::cast::Member;
use crate::analysis::influence::signal::is_time;
use crate::domain::metric::Metric;
use crate::stats::before_after::{Change, Level, adjusted};
use crate::stats::correlate::lagged_pearson;

/// Correlation of rate and time from which clients wait for answers before they ask again.
const CLOSED_LOOP: f64 = -0.5;
/// Change of the load from which it may explain a change of the service, however sure it is.
const MOVED: f64 = 0.10;
/// The same where it is sure.
const SURELY_MOVED: f64 = 0.03;

/// The load of a tenant on both sides, in the bins of the metric.
pub(super) enum Loads {
    /// Nothing was recorded that could stand for it, or the metric is the load.
    Unknown,
    /// Rates of answers follow the latency, so they are no load.
    ClosedLoop,
    /// Before and after, in requests per second; NaN where not seen.
    Known { name: &'static str, sides: [Vec<f64>; 2] },
}

impl Loads {
    /// What has to be said about it.
    pub(super) fn told(&self) -> Option<String> {
        matches!(self, Self::ClosedLoop).then(|| {
            "clients wait for answers before they ask again, so the rate is no load that could be held fixed"
                .to_owned()
        })
    }
}

/// What stands for the load: arrivals; else answers, unless clients wait for them.
pub(super) fn loads(
    metric: Metric,
    (before, after): (&Member<'_>, &Member<'_>),
    (mine, other): (&Record, &Record),
) -> Loads {
    let both = |it: Metric| measured(before, it) && measured(after, it);
    let (load, name) = match () {
        () if metric == Metric::OfferedLoad => return Loads::Unknown,
        () if both(Metric::OfferedLoad) => (Metric::OfferedLoad, "offered load"),
        () if both(Metric::Throughput) && is_time(metric) => {
            (Metric::Throughput, "requests answered")
        }
        () => return Loads::Unknown,
    };
    let of = |member: &Member<'_>, record: &Record| {
        member.measured(load).map(|it| record.grid.means(it, None, 0, |it| it))
    };
    let (Some(first), Some(second)) = (of(before, mine), of(after, other)) else {
        return Loads::Unknown;
    };
    let is_closed = |load: &[f64], record: &Record| {
        let pairs =
            load.iter().zip(&record.values).filter(|it| it.0.is_finite() && it.1.is_finite());
        let (x, y): (Vec<f64>, Vec<f64>) = pairs.map(|it| (*it.0, *it.1)).unzip();
        lagged_pearson(&x, &y, 0).is_some_and(|it| it <= CLOSED_LOOP)
    };
    if load == Metric::Throughput && (is_closed(&first, mine) || is_closed(&second, other)) {
        return Loads::ClosedLoop;
    }
    Loads::Known { name, sides: [first, second] }
}

/// How the load changed, and the change of the metric at equal load.
pub(super) fn load_change(
    metric: Metric,
    loads: &Loads,
    (mine, other): (&Record, &Record),
) -> Option<LoadChange> {
    let Loads::Known { name, sides: [first, second] } = loads else { return None };
    let level = |it: &[f64]| Level::of(it).ok()?.in_logarithms();
    let (before, after) = (level(first)?, level(second)?);
    let change = Change::between(&before, &after);
    let (low, high) = change.interval(0.95);
    let ratio = change.difference.exp_m1();
    let is_sure = (low > 0.0 || high < 0.0) && ratio.abs() >= SURELY_MOVED;
    // Relative to what it was before, so that both sides have one unit.
    let unit = before.mean.exp();
    let relative = |it: &[f64]| it.iter().map(|it| it / unit - 1.0).collect::<Vec<f64>>();
    let scale = if is_time(metric) { 1.0 } else { typical(&mine.values) };
    let scaled = |it: &Record| it.values.iter().map(|it| it / scale).collect::<Vec<f64>>();
    let found = adjusted((&scaled(mine), &relative(first)), (&scaled(other), &relative(second)));
    let back = |it: f64| if is_time(metric) { it.exp_m1() } else { it };
    let ends = found.map(|it| it.change.interval(0.95));
    Some(LoadChange {
        name,
        change_ratio: ratio,
        change_low: low.exp_m1(),
        change_high: high.exp_m1(),
        has_moved: is_sure || ratio.abs() >= MOVED,
        adjusted_ratio: found.map(|it| back(it.change.difference)),
        adjusted_low: ends.map(|it| back(it.0)),
        adjusted_high: ends.map(|it| back(it.1)),
        distance: found.map(|it| it.distance),
    })
}

fn typical(values: &[f64]) -> f64 {
    let seen: Vec<f64> = values.iter().copied().filter(|it| it.is_finite()).collect();
    let mean = seen.iter().sum::<f64>() / seen.len().max(1) as f64;
    if mean > 0.0 { mean } else { 1.0 }
}
