//! Small measures that go with a trial: rhythm, pace, and what the board did in the suspect's bursts.

use crate::stats::contrast::contrast;
use crate::stats::correlate::pearson_where_seen;
use crate::stats::cpi2::{alarm_line, cpi2_score};
use crate::stats::quantile::quantiles;

/// Fewest times between bursts from which a rhythm is told.
const LEAST_GAPS: usize = 4;

/// The victim's time per unit of work, and its alarm line.
pub(crate) struct Pace {
    values: Vec<f64>,
    alarm_line: Option<f64>,
}

impl Pace {
    /// From the victim's measurement in logarithms.
    pub(crate) fn of(victim: &[f64]) -> Self {
        let values: Vec<f64> = victim.iter().map(|it| it.exp()).collect();
        Self { alarm_line: alarm_line(&values), values }
    }

    /// The CPI2 score of a suspect.
    pub(crate) fn score(&self, activity: &[f64]) -> Option<f64> {
        cpi2_score(&self.values, activity, self.alarm_line?)
    }
}

/// First bins of bursts.
pub(crate) fn begins(on: &[Option<bool>]) -> Vec<usize> {
    let is_first = |it: &usize| on[*it] == Some(true) && (*it == 0 || on[*it - 1] != Some(true));
    (0..on.len()).filter(is_first).collect()
}

/// Spread of the times between bursts: the middle half over the median; `None` with fewer than four.
pub(crate) fn rhythm_spread(begins: &[usize]) -> Option<f64> {
    let gaps: Vec<f64> = begins.windows(2).map(|it| (it[1] - it[0]) as f64).collect();
    let levels = quantiles(&gaps, &[0.25, 0.5, 0.75]).filter(|_| gaps.len() >= LEAST_GAPS)?;
    Some((levels[2] - levels[0]) / levels[1])
}

/// The greatest correlation in size of two series over lags in either direction.
pub(crate) fn together(x: &[f64], y: &[f64], reach: usize) -> Option<f64> {
    let at = |x: &[f64], y: &[f64], lag: usize| pearson_where_seen(x, y.get(lag..)?).map(f64::abs);
    (0..=reach).flat_map(|lag| [at(x, y, lag), at(y, x, lag)]).flatten().reduce(f64::max)
}

/// Mean of a series within bursts less that between them.
pub(crate) fn fall(series: &[f64], on: &[Option<bool>]) -> Option<f64> {
    let mean = |is_on: bool| {
        let side = series.iter().zip(on).filter(|it| *it.1 == Some(is_on) && it.0.is_finite());
        let side: Vec<f64> = side.map(|it| *it.0).collect();
        (!side.is_empty()).then(|| side.iter().sum::<f64>() / side.len() as f64)
    };
    Some(mean(true)? - mean(false)?)
}

/// Whether any of the conditions follows the suspect's bursts.
///
/// The first condition of the clock falls when it is held back, so its sign is turned by the caller.
pub(crate) fn drives(conditions: &[Vec<f64>], on: &[Option<bool>], reach: usize) -> bool {
    conditions.iter().any(|it| {
        contrast(it, None, on, reach).is_some_and(|it| it.p_value <= 0.05 && it.effect > 0.0)
    })
}
