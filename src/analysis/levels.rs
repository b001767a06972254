//! How high each metric stood.

use crate::analysis::activity::full_use;
use crate::analysis::findings::Level;
use crate::domain::metric::{Metric, Unit};
use crate::domain::recording::Trace;
use crate::domain::series::Series;
use crate::domain::shares::FULL;
use crate::domain::source::Reading;
use crate::domain::time::TimeSpan;
use crate::stats::dispersion::duty;
use crate::stats::moments::Moments;
use crate::stats::quantile::{quantiles, quantiles_of_counts, quantiles_of_owned};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// Levels of every metric inside the spans; counters, events, masks and codes have none, and are left out.
pub(crate) fn levels(trace: &Trace, spans: &[TimeSpan]) -> BTreeMap<Metric, Level> {
    let mut levels = BTreeMap::new();
    for (metric, series) in &trace.series {
        let spec = metric.spec();
        let has_level = !matches!(spec.reading, Reading::Counter | Reading::LastEvent)
            && !matches!(spec.unit, Unit::Bitmask | Unit::Code);
        if let (true, Some(level)) = (has_level, level(*metric, series, spans)) {
            levels.insert(*metric, level);
        }
    }
    levels
}

/// The level of one metric inside the spans; `None` without samples there.
pub(crate) fn level(metric: Metric, series: &Series, spans: &[TimeSpan]) -> Option<Level> {
    let ranges: Vec<Range<usize>> = spans.iter().map(|it| series.positions(*it)).collect();
    let seen = Seen::of(series, &ranges);
    let moments = seen.moments();
    let saturated = full_use(metric).and_then(|full| seen.share_at_least(FULL * full));
    let middle = seen.into_quantiles(&[0.5, 0.95])?;
    Some(Level {
        samples: moments.count(),
        mean: moments.mean()?,
        standard_deviation: moments.variance()?.sqrt(),
        min: moments.min()?,
        p50: middle[0],
        p95: middle[1],
        max: moments.max()?,
        saturated_ratio: saturated,
    })
}

/// The values of one metric at some positions.
enum Seen<'a> {
    /// Few different ones: each with how often it is there.
    Counted(Vec<(f64, u64)>),
    Listed(Cow<'a, [f64]>),
}

impl<'a> Seen<'a> {
    fn of(series: &'a Series, ranges: &[Range<usize>]) -> Self {
        let counts: Option<Vec<_>> = ranges.iter().map(|it| series.counts(it.clone())).collect();
        match (counts, ranges) {
            (Some(counts), _) => Self::Counted(counts.concat()),
            (None, [only]) => Self::Listed(series.part(only.clone())),
            (None, several) => {
                let mut listed = Vec::new();
                several.iter().for_each(|it| series.each(it.clone(), |it| listed.push(it)));
                Self::Listed(listed.into())
            }
        }
    }

    fn into_quantiles(self, qs: &[f64]) -> Option<Vec<f64>> {
        match self {
            Self::Counted(counts) => quantiles_of_counts(&counts, qs),
            Self::Listed(Cow::Borrowed(values)) => quantiles(values, qs),
            Self::Listed(Cow::Owned(values)) => quantiles_of_owned(values, qs),
        }
    }

    fn moments(&self) -> Moments {
        match self {
            Self::Counted(counts) => Moments::of_counts(counts),
            Self::Listed(values) => Moments::of(values),
        }
    }

    fn share_at_least(&self, level: f64) -> Option<f64> {
        match self {
            Self::Counted(counts) => {
                let all: u64 = counts.iter().map(|it| it.1).sum();
                let above: u64 = counts.iter().filter(|it| it.0 >= level).map(|it| it.1).sum();
                (all > 0).then(|| above as f64 / all as f64)
            }
            Self::Listed(values) => duty(values, level),
        }
    }
}
