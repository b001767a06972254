//! Which metric stands for a subject's activity, as a busy fraction, and over which window it averages.

use crate::domain::metric::{Metric, Unit};
use crate::domain::recording::Trace;
use crate::domain::series::Series;
use crate::domain::source::{Reading, Source};
use crate::domain::time::{SampleInterval, TimeSpan, Timestamp};
use std::borrow::Cow;
use std::ops::Range;

/// Metrics that can stand for activity, the best first.
///
/// A busy fraction of time comes first: only it is 0 or 1 at an instant, which the blur index needs.
const ACTIVITY_METRICS: [Metric; 3] =
    [Metric::GpuUtilization, Metric::GraphicsEngineActive, Metric::SmActive];

/// Window of the driver's utilisation counters, in seconds, where the source does not state it.
///
/// NVIDIA's reference says "between 1 second and 1/6 second, depending on the product".
const DRIVER_WINDOW_S: (f64, f64) = (1.0 / 6.0, 1.0);

/// A step longer than this many typical ones is a hole.
const HOLE_STEPS: f64 = 2.5;

/// Activity of one subject: busy fractions from 0 to 1 and how they were sampled.
#[derive(Debug)]
pub(crate) struct Activity<'a> {
    pub(crate) metric: Metric,
    pub(crate) series: &'a Series,
    pub(crate) values: Vec<f64>,
    pub(crate) stride_s: f64,
    pub(crate) window_s: f64,
    pub(crate) window_is_stated: bool,
    /// Whether a reading covers the time since the one before.
    pub(crate) is_since_before: bool,
    /// Step between the values that the source can print, 0 when it is continuous.
    pub(crate) quantum: f64,
}

impl<'a> Activity<'a> {
    /// The activity of a subject; `None` when no activity metric has two samples.
    pub(crate) fn of(trace: &'a Trace, sources: &[Source]) -> Option<Self> {
        let most =
            ACTIVITY_METRICS.iter().filter_map(|it| trace.get(*it)).map(Series::len).max()?;
        let (metric, series) = ACTIVITY_METRICS
            .iter()
            .filter_map(|it| trace.get(*it).map(|series| (*it, series)))
            .find(|(_, series)| 2 * series.len() >= most)?;
        let stride_s = series.typical_interval()?.as_seconds();
        let full = full_use(metric)?;
        let mut values = Vec::with_capacity(series.len());
        let mut is_whole = true;
        series.each(0..series.len(), |it| {
            values.push(it / full);
            is_whole &= it.fract() == 0.0;
        });
        let quantum = if full > 1.0 && is_whole { 1.0 / full } else { 0.0 };
        let own: Vec<&Source> =
            sources.iter().filter(|it| trace.sources.contains(&it.id)).collect();
        let stated = stated_window(metric, &own);
        let is_since_before = stated == Some(None);
        let stated_s = stated.map(|it| it.map_or(stride_s, SampleInterval::as_seconds));
        let window_s = stated_s.unwrap_or_else(|| usual_window(metric, stride_s));
        let window_is_stated = stated.is_some();
        Some(Self {
            metric,
            series,
            values,
            stride_s,
            window_s,
            window_is_stated,
            is_since_before,
            quantum,
        })
    }

    /// Stretches of even sampling inside the spans, as positions.
    pub(crate) fn segments(&self, spans: &[TimeSpan]) -> Vec<Range<usize>> {
        let micros = (self.stride_s * HOLE_STEPS * 1e6).round().max(1.0) as u64;
        let Some(longest) = SampleInterval::from_micros(micros) else { return Vec::new() };
        let mut segments = Vec::new();
        for whole in self.series.segments(longest) {
            for span in spans {
                let inside = self.series.positions(*span);
                let (first, end) = (whole.start.max(inside.start), whole.end.min(inside.end));
                if first < end {
                    segments.push(first..end);
                }
            }
        }
        segments
    }

    /// The values of these stretches, one after the other; copied only where they are several.
    pub(crate) fn joined(&self, segments: &[Range<usize>]) -> Cow<'_, [f64]> {
        match segments {
            [only] => Cow::Borrowed(&self.values[only.clone()]),
            several => {
                several.iter().flat_map(|it| self.values[it.clone()].iter().copied()).collect()
            }
        }
    }

    /// Stamp of a sample.
    pub(crate) fn at(&self, position: usize) -> Timestamp {
        self.series.times()[position]
    }
}

/// The value that means full use; `None` for metrics without one.
pub(crate) fn full_use(metric: Metric) -> Option<f64> {
    match metric.spec().unit {
        Unit::Percent => Some(100.0),
        Unit::Ratio => Some(1.0),
        _ => None,
    }
}

/// The window that a source states; `Some(None)` lasts from the sample before.
fn stated_window(metric: Metric, sources: &[&Source]) -> Option<Option<SampleInterval>> {
    sources.iter().find_map(|it| match it.readings.get(&metric) {
        Some(Reading::WindowAverage { window }) => Some(*window),
        _ => None,
    })
}

/// Profiling counters average since the sample before; the driver's own have a window of their own.
fn usual_window(metric: Metric, stride_s: f64) -> f64 {
    match metric {
        Metric::GpuUtilization => stride_s.clamp(DRIVER_WINDOW_S.0, DRIVER_WINDOW_S.1),
        _ => stride_s,
    }
}
