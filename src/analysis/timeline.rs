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
    let range = series.positions(span);
    let times = &series.times()[..range.end];
    let mut first = range.start;
    while let Some(at) = times.get(first) {
        let offset = at.micros_since(span.from());
        let start = span.from().plus_micros(offset / bin_micros * bin_micros);
        let until = start.plus_micros(bin_micros);
        // Where all of time is one bin, its end is its last sample.
        let end = first + times[first..].partition_point(|it| *it < until).max(1);
        let base = series.value(first);
        let (mut low, mut high, mut over) = (base, base, 0.0);
        series.each(first..end, |value| {
            low = if value < low { value } else { low };
            high = if value > high { value } else { high };
            over += value - base;
        });
        let mean = base + over / (end - first) as f64;
        bins.push(TimelineBin { at: start, low, mean, high });
        first = end;
    }
    Timeline { metric, bins, bin_s: bin_micros as f64 / 1e6 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Timestamp;
    use std::sync::Arc;

    /// The same bins, sample by sample.
    fn plainly(series: &Series, span: TimeSpan, bin_micros: i64) -> Vec<TimelineBin> {
        let mut bins: Vec<(TimelineBin, f64)> = Vec::new();
        for (at, value) in series.times().iter().zip(series.values()) {
            if !span.contains(*at) {
                continue;
            }
            let offset = at.micros_since(span.from()) / bin_micros * bin_micros;
            let start = span.from().plus_micros(offset);
            match bins.last_mut().filter(|it| it.0.at == start) {
                Some((bin, count)) => {
                    *count += 1.0;
                    bin.low = bin.low.min(*value);
                    bin.high = bin.high.max(*value);
                    bin.mean += value;
                }
                None => {
                    let (low, mean, high) = (*value, *value, *value);
                    bins.push((TimelineBin { at: start, low, mean, high }, 1.0));
                }
            }
        }
        bins.into_iter().map(|(bin, count)| TimelineBin { mean: bin.mean / count, ..bin }).collect()
    }

    #[test]
    fn bins_hold_what_taking_the_samples_one_by_one_gives_and_gaps_have_none() {
        // Four hours at ten hertz with an hour that nobody saw, and uneven steps.
        let times: Vec<Timestamp> = (0..144_000_i64)
            .filter(|it| !(40_000..76_000).contains(it))
            .map(|it| Timestamp::from_micros(it * 100_000 + it % 7 * 1000))
            .collect();
        let values = (0..times.len()).map(|it| (it * it % 101) as f64).collect();
        let series = Series::new(Arc::new(times), values).unwrap();
        let all = series.span().unwrap();
        let part = TimeSpan::covering(
            all.from().plus_micros(1_234_567),
            all.from().plus_micros(9_000_000_000),
        );
        for span in [all, part] {
            let found = timeline(Metric::GpuUtilization, &series, span);
            let expected = plainly(&series, span, (found.bin_s * 1e6).round() as i64);
            assert!(found.bins.len() <= 901 && found.bins.len() > 300, "{}", found.bins.len());
            assert_eq!(found.bins.len(), expected.len());
            for (found, expected) in found.bins.iter().zip(&expected) {
                assert_eq!(
                    (found.at, found.low, found.high),
                    (expected.at, expected.low, expected.high)
                );
                assert!((found.mean - expected.mean).abs() < 1e-9);
            }
        }
    }
}
