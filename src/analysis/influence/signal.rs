//! What a tenant measures about itself: which metrics show harm, and which show its own load.

use crate::analysis::influence::cast::Member;
use crate::analysis::influence::grid::Grid;
use crate::domain::metric::Metric;
use crate::domain::series::Series;
use crate::stats::correlate::lagged_pearson;
use crate::stats::quantile::quantile;

/// Metrics of a typical request, the best first.
const TYPICAL: [Metric; 2] = [Metric::LatencyMean, Metric::LatencyP50];
/// Metrics of the slowest requests, the best first.
const TAIL: [Metric; 3] = [Metric::LatencyP99, Metric::LatencyP95, Metric::LatencyP90];
/// Further times that a neighbour can stretch.
const TIMES: [Metric; 2] = [Metric::TimeToFirstToken, Metric::IterationTime];
/// Rates, for those who measure no time.
const RATES: [Metric; 3] = [Metric::IterationRate, Metric::TokenThroughput, Metric::Throughput];
/// Requests in a bin below which its latency says little.
const FEW_REQUESTS: f64 = 5.0;
/// Widest bin that few requests ask for, in seconds.
const WIDEST_S: f64 = 10.0;
/// Correlation of rate and time from which clients wait for answers before they ask again.
const CLOSED_LOOP: f64 = -0.5;
/// Share of the least variance of counts below which a load was averaged.
const SMOOTHER: f64 = 0.5;

/// Whether a tenant can measure harm in this metric.
pub(crate) fn is_measure_of_harm(metric: Metric) -> bool {
    is_time(metric) || RATES.contains(&metric)
}

/// Whether more of the metric is worse.
pub(crate) fn is_time(metric: Metric) -> bool {
    TYPICAL.contains(&metric)
        || TAIL.contains(&metric)
        || TIMES.contains(&metric)
        || metric == Metric::QueueTime
}

/// The metrics in which a tenant's harm is looked for: one of typical requests, one of slow ones, further times; rates
/// only where no time is measured.
pub(crate) fn metrics_of(member: &Member<'_>) -> Vec<Metric> {
    let has = |it: &&Metric| member.measured(**it).is_some();
    let first = |all: &[Metric]| all.iter().find(has).copied();
    let times: Vec<Metric> = first(&TYPICAL)
        .into_iter()
        .chain(first(&TAIL))
        .chain(TIMES.iter().filter(has).copied())
        .collect();
    if times.is_empty() { first(&RATES).into_iter().collect() } else { times }
}

/// Bins that a measurement needs, in seconds: as wide as its step, and wider where a bin would hold few requests.
pub(crate) fn bin_s(member: &Member<'_>, metric: Metric) -> Option<f64> {
    let step = member.measured(metric)?.typical_interval()?.as_seconds();
    let rate = member
        .measured(Metric::Throughput)
        .or_else(|| member.measured(Metric::OfferedLoad))
        .and_then(|it| quantile(it.values(), 0.5))
        .filter(|it| *it > 0.0);
    let wanted = rate.map_or(step, |it| FEW_REQUESTS / it);
    let times = (wanted.min(WIDEST_S) / step).ceil().max(1.0);
    Some(step * times)
}

/// A measurement bin by bin in logarithms, higher is worse; NaN where there is none.
///
/// A time that is not positive is no measurement. Of a rate r the worse is −ln(r·bin + ½).
pub(crate) fn harm(member: &Member<'_>, metric: Metric, grid: &Grid, late_us: i64) -> Vec<f64> {
    let Some(series) = member.measured(metric) else { return vec![f64::NAN; grid.bins] };
    if is_time(metric) {
        return grid.means(series, None, late_us, |it| if it > 0.0 { it.ln() } else { f64::NAN });
    }
    let step_s = grid.step_s();
    let mut rates = grid.means(series, None, late_us, |it| it);
    rates.iter_mut().for_each(|it| *it = -(*it * step_s + 0.5).ln());
    rates
}

/// The measurement's own unit back from logarithms.
pub(crate) fn in_own_unit(metric: Metric, harm: f64, bin_s: f64) -> f64 {
    if is_time(metric) { harm.exp() } else { (((-harm).exp() - 0.5) / bin_s).max(0.0) }
}

/// A tenant's own load, and what it is called.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    /// Over its mean, less 1; NaN where it is not known.
    pub(crate) relative: Vec<f64>,
    /// For people.
    pub(crate) name: &'static str,
    /// Whether it is an average over longer than a bin, so that what it misses may be somebody's doing.
    pub(crate) is_smoothed: bool,
}

/// What stands for the load that comes in: arrivals; else answers, unless clients wait for them; else nothing.
///
/// The tenant's own utilisation is no substitute: a neighbour stretches it.
pub(crate) fn load(
    member: &Member<'_>,
    harmed: Metric,
    harm: &[f64],
    grid: &Grid,
    late_us: i64,
) -> Option<Load> {
    let of = |metric: Metric| {
        let series = member.measured(metric).filter(|_| metric != harmed)?;
        relative(grid.means(series, None, late_us, |it| it))
    };
    // With clients that wait for answers a rate is the latency itself, whatever it is called.
    let is_open = |relative: &Vec<f64>| {
        let both: (Vec<f64>, Vec<f64>) = relative
            .iter()
            .zip(harm)
            .filter(|it| it.0.is_finite() && it.1.is_finite())
            .map(|it| (*it.0, *it.1))
            .unzip();
        lagged_pearson(&both.0, &both.1, 0).is_none_or(|it| it > CLOSED_LOOP)
    };
    let named = |metric: Metric, name: &'static str| {
        let relative = of(metric).filter(is_open)?;
        let mean_count = mean_rate(member, metric) * grid.step_s();
        Some(Load { is_smoothed: is_smoother_than_chance(&relative, mean_count), relative, name })
    };
    if member.measured(Metric::OfferedLoad).is_some() {
        return named(Metric::OfferedLoad, "offered load");
    }
    let answered = "requests answered, as arrivals are not known";
    named(Metric::Throughput, answered).filter(|_| is_time(harmed))
}

fn mean_rate(member: &Member<'_>, metric: Metric) -> f64 {
    let values = member.measured(metric).map(Series::values).unwrap_or_default();
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Whether neighbouring bins are more alike than counts of requests can be: then the load is an average over longer than a bin.
///
/// Counts that come by chance differ from bin to bin by a variance of 2 over their mean, relative to it, at least.
fn is_smoother_than_chance(relative: &[f64], mean_count: f64) -> bool {
    let steps = relative.windows(2).map(|it| it[1] - it[0]).filter(|it| it.is_finite());
    let squares: Vec<f64> = steps.map(|it| it * it).collect();
    let variance = squares.iter().sum::<f64>() / squares.len().max(1) as f64;
    mean_count > 0.0 && variance < SMOOTHER * 2.0 / mean_count
}

fn relative(mut values: Vec<f64>) -> Option<Vec<f64>> {
    let seen: Vec<f64> = values.iter().copied().filter(|it| it.is_finite()).collect();
    let mean = seen.iter().sum::<f64>() / seen.len().max(1) as f64;
    let varies = seen.iter().any(|it| *it != seen[0]);
    if !(mean > 0.0 && varies) {
        return None;
    }
    values.iter_mut().for_each(|it| *it = *it / mean - 1.0);
    Some(values)
}
