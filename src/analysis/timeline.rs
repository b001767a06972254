//! Pictures of metrics over time, in a bounded number of bins.

use crate::analysis::findings::{Timeline, TimelineBin};
use crate::domain::metric::Metric;
use crate::domain::recording::Trace;
use crate::domain::series::Series;
use crate::domain::time::TimeSpan;

/// Bins of a timeline at most: more than a screen has columns.
const BINS: i64 = 900;

/// Metrics that are drawn over time.
const DRAWN: [Metric; 9] = [
    Metric::GpuUtilization,
    Metric::GraphicsEngineActive,
    Metric::SmActive,
    Metric::DramActive,
    Metric::FramebufferUsed,
    Metric::FramebufferTotal,
    Metric::Power,
    Metric::LatencyP99,
    Metric::LatencyMean,
];

/// Timelines of the drawn metrics that a trace has, over the given span.
pub(crate) fn timelines(trace: &Trace, span: TimeSpan) -> Vec<Timeline> {
    DRAWN
        .iter()
        .filter_map(|metric| trace.get(*metric).map(|series| timeline(*metric, series, span)))
        .filter(|it| !it.bins.is_empty())
        .collect()
}

/// Least, mean and greatest value of each bin; a bin without samples is left out.
pub(crate) fn timeline(metric: Metric, series: &Series, span: TimeSpan) -> Timeline {
    let length = span.until().micros_since(span.from());
    let stride = series.typical_interval().map_or(1, |it| it.as_micros() as i64);
    let bin_micros = (length / BINS).max(stride).max(1);
    let mut bins: Vec<TimelineBin> = Vec::new();
    let mut count = 0.0;
    let mut end = span.from();
    let range = series.positions(span);
    let mut times = series.times()[range.clone()].iter();
    series.each(range, |value| {
        let Some(at) = times.next() else { return };
        match bins.last_mut().filter(|_| *at < end) {
            Some(bin) => {
                count += 1.0;
                bin.low = bin.low.min(value);
                bin.high = bin.high.max(value);
                bin.mean += (value - bin.mean) / count;
            }
            None => {
                let offset = at.micros_since(span.from());
                let start = span.from().plus_micros(offset / bin_micros * bin_micros);
                end = start.plus_micros(bin_micros);
                count = 1.0;
                bins.push(TimelineBin { at: start, low: value, mean: value, high: value });
            }
        }
    });
    Timeline { metric, bins, bin_s: bin_micros as f64 / 1e6 }
}
