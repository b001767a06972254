//! Numbers about influences: changes for the worse, chances, lags and values of a service.

use crate::analysis::influence::findings::Influence;
use crate::domain::metric::{Metric, Unit};
use crate::domain::units::Seconds;

/// Below this chance only an upper limit is shown.
const LEAST_CHANCE: f64 = 0.000_1;

/// Whether more of the metric is better, so that a change for the worse is a loss.
pub(crate) fn is_gain(metric: Metric) -> bool {
    matches!(metric, Metric::Throughput | Metric::TokenThroughput | Metric::IterationRate)
}

/// A number that may be shown.
pub(crate) fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|it| it.is_finite())
}

/// A change for the worse as the metric shows it: `+84 %` for a latency, `−18 %` for a throughput.
pub(crate) fn change(metric: Metric, worse_ratio: f64) -> String {
    let percent = if is_gain(metric) { -100.0 * worse_ratio } else { 100.0 * worse_ratio };
    if percent != 0.0 && percent.abs() < 0.05 {
        return "under ±0.1 %".to_owned();
    }
    format!("{} %", signed(percent, decimals(percent)))
}

/// The effect with its interval, as the metric shows it: `+84 % (62 to 109)`; `None` without one.
pub(crate) fn effect(it: &Influence) -> Option<String> {
    effect_of(it.metric, it.effect_ratio, (it.effect_low, it.effect_high))
}

/// A change for the worse with its interval; `None` without one.
pub(crate) fn effect_of(
    metric: Metric,
    ratio: Option<f64>,
    ends: (Option<f64>, Option<f64>),
) -> Option<String> {
    let ratio = finite(ratio)?;
    let shown = change(metric, ratio);
    let (Some(low), Some(high)) = (finite(ends.0), finite(ends.1)) else { return Some(shown) };
    let places = decimals(100.0 * ratio);
    let is_one_sided = (low > 0.0 && ratio > 0.0) || (high < 0.0 && ratio < 0.0);
    let sign = if is_gain(metric) { -100.0 } else { 100.0 };
    let (first, last) = match is_one_sided {
        // Amounts, as the sign stands in front already.
        true => (low.abs().min(high.abs()), low.abs().max(high.abs())),
        false => ((sign * low).min(sign * high), (sign * low).max(sign * high)),
    };
    let end = |it: f64| match is_one_sided {
        true => format!("{:.places$}", 100.0 * it),
        false => signed(it, places),
    };
    Some(format!("{shown} ({} to {})", end(first), end(last)))
}

fn decimals(percent: f64) -> usize {
    usize::from(percent.abs() < 9.95)
}

fn signed(value: f64, places: usize) -> String {
    let digits = format!("{:.places$}", value.abs());
    let is_nothing = digits.chars().all(|it| matches!(it, '0' | '.'));
    match value {
        _ if is_nothing => digits,
        it if it < 0.0 => format!("−{digits}"),
        _ => format!("+{digits}"),
    }
}

/// How large an effect could have hidden: `could hide up to 6.0 %`.
pub(crate) fn hidden(it: &Influence) -> String {
    match finite(it.mde_ratio).filter(|it| *it >= 0.0) {
        Some(ratio) => format!("could hide up to {}", share(ratio)),
        None => "could hide an effect of any size".to_owned(),
    }
}

/// A ratio in percent, of the precision that effects have.
pub(crate) fn share(ratio: f64) -> String {
    let percent = 100.0 * ratio;
    if percent != 0.0 && percent.abs() < 0.05 {
        return "0.1 %".to_owned();
    }
    format!("{percent:.*} %", decimals(percent)).replace('-', "−")
}

/// A chance from 0 to 1; a small one is not rounded to nothing.
pub(crate) fn chance(value: f64) -> String {
    match value {
        it if it < LEAST_CHANCE => "< 0.0001".to_owned(),
        it if it < 0.001 => format!("{it:.4}"),
        it if it < 0.1 => format!("{it:.3}"),
        it => format!("{it:.2}"),
    }
}

/// How long the victim follows; `None` when that is not known.
pub(crate) fn lag(it: &Influence) -> Option<String> {
    let (lag, bin) = (finite(it.lag_seconds)?, it.bin_s);
    let is_same_bin = lag.abs() < 0.5 * bin || lag == 0.0;
    Some(match is_same_bin {
        true if bin.is_finite() && bin > 0.0 => format!("within {}", length(bin)),
        true => "at once".to_owned(),
        false if lag < 0.0 => format!("{} earlier", length(-lag)),
        false => format!("{} later", length(lag)),
    })
}

/// A length of time without digits that say nothing: `1 s`, `2.5 s`, `250 ms`.
pub(crate) fn length(seconds: f64) -> String {
    let text = Seconds(seconds).to_string();
    let Some((number, unit)) = text.split_once(' ') else { return text };
    let number = match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    };
    format!("{number} {unit}")
}

/// A value of a service's metric with the unit that suits its size.
pub(crate) fn quantity(metric: Metric, value: f64) -> String {
    match metric.spec().unit {
        Unit::Seconds => Seconds(value).to_string(),
        Unit::PerSecond => {
            let places = match value.abs() {
                it if it >= 100.0 => 0,
                it if it >= 10.0 => 1,
                _ => 2,
            };
            format!("{value:.places$} /s")
        }
        unit => format!("{value:.3} {}", unit.symbol()),
    }
}
