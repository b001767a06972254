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
use crate::stats::quantile::quantiles;
use std::collections::BTreeMap;

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
    let gathered: Vec<f64>;
    let values = match spans {
        [span] => &series.values()[series.positions(*span)],
        _ => {
            gathered = spans
                .iter()
                .flat_map(|it| series.values()[series.positions(*it)].iter().copied())
                .collect();
            &gathered
        }
    };
    let moments = Moments::of(values);
    let middle = quantiles(values, &[0.5, 0.95])?;
    let saturated = full_use(metric).and_then(|full| duty(values, FULL * full));
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
