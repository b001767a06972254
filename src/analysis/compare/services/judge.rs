//! From a tested change to a verdict, and how sure it is.

use crate::analysis::compare::findings::{Certainty, ChangeVerdict, LoadChange, ServiceChange};
use crate::analysis::influence::signal::is_time;
use crate::domain::metric::Metric;
pub(in crate::analysis::compare) use crate::domain::shares::change as percent;
use crate::stats::before_after::FURTHEST_DEVIATIONS;

/// Changes below this are told as small, and fail no gate: the least effect that the ladder of influences confirms.
const MATTERS: f64 = 0.05;

/// Gives a change its verdict; `tests` is the number of tests that share the error.
pub(super) fn judge(it: &mut ServiceChange, tests: usize, error_rate: f64) {
    let (Some(ratio), Some(p), Some(p_of_all)) = (it.change_ratio, it.p, it.p_of_all) else {
        return;
    };
    it.is_small = ratio.abs() < MATTERS;
    if p_of_all > error_rate {
        it.verdict = ChangeVerdict::NotShown;
        if p <= error_rate {
            it.reasons.push(format!(
                "by itself it would count (p {p:.3}), among {tests} tests it does not"
            ));
        }
        it.reasons.extend(hidden(it));
        return;
    }
    it.verdict = match direction(it.metric, ratio, it.load.is_some()) {
        _ if follows_load(it) => ChangeVerdict::Different,
        plain => plain,
    };
    if it.verdict == ChangeVerdict::Different {
        it.certainty = Some(Certainty::Confirmed);
        return;
    }
    let (certainty, reason) = by_load(it, ratio);
    it.certainty = Some(certainty);
    it.reasons.extend(reason);
}

/// Whether answers only follow questions: a rate of whose change nothing that matters is left at equal load.
fn follows_load(it: &ServiceChange) -> bool {
    let Some(load) = it.load.as_ref().filter(|it| it.has_moved) else { return false };
    let ends = load.adjusted_low.zip(load.adjusted_high);
    let is_gone = ends.is_none_or(|it| it.0 <= 0.0 && it.1 >= 0.0);
    let is_small = load.adjusted_ratio.is_some_and(|it| it.abs() < MATTERS);
    !is_time(it.metric) && (is_gone || is_small)
}

/// What a change of this metric in this direction means.
fn direction(metric: Metric, ratio: f64, has_load: bool) -> ChangeVerdict {
    let is_gain = match metric {
        it if is_time(it) => ratio < 0.0,
        Metric::IterationRate => ratio > 0.0,
        // Who was asked for less answers less: only where arrivals are known is it told apart.
        Metric::Throughput | Metric::TokenThroughput if has_load => ratio > 0.0,
        _ => return ChangeVerdict::Different,
    };
    if is_gain { ChangeVerdict::Better } else { ChangeVerdict::Worse }
}

/// How sure a change is, seen beside the tenant's own load.
fn by_load(it: &ServiceChange, ratio: f64) -> (Certainty, Option<String>) {
    let Some(load) = &it.load else {
        // Who works through a list of its own is asked for nothing.
        if matches!(it.metric, Metric::IterationTime | Metric::IterationRate) {
            return (Certainty::Confirmed, None);
        }
        let told = "how much the tenant was asked for is not known, so it may explain the change";
        return (Certainty::Likely, Some(told.to_owned()));
    };
    if !load.has_moved {
        return (Certainty::Confirmed, None);
    }
    let moved = format!("its {} changed by {}", load.name, percent(load.change_ratio));
    let (Some(rest), Some(low), Some(high)) =
        (load.adjusted_ratio, load.adjusted_low, load.adjusted_high)
    else {
        let told = format!("{moved}, which may explain it: it cannot be held fixed");
        return (Certainty::Likely, Some(told));
    };
    let left =
        format!("{} ({} to {}) is left at equal load", percent(rest), percent(low), percent(high));
    let is_left = (low > 0.0 || high < 0.0) && rest.signum() == ratio.signum();
    match (is_left, is_far(load)) {
        (true, false) => (Certainty::Confirmed, Some(format!("{moved}; {left}"))),
        (true, true) => (
            Certainty::Likely,
            Some(format!(
                "{moved}, further than it varied within a recording; {left}, if that goes on in a line"
            )),
        ),
        (false, _) => {
            (Certainty::Likely, Some(format!("{moved}, which may explain all of it: {left}")))
        }
    }
}

fn is_far(load: &LoadChange) -> bool {
    load.distance.is_none_or(|it| it > FURTHEST_DEVIATIONS)
}

/// A change at equal load that the plain one hides.
fn hidden(it: &ServiceChange) -> Option<String> {
    let load = it.load.as_ref().filter(|it| it.has_moved)?;
    let (rest, low, high) = (load.adjusted_ratio?, load.adjusted_low?, load.adjusted_high?);
    let is_there = (low > 0.0 || high < 0.0) && !is_far(load);
    is_there.then(|| {
        format!(
            "its {} changed by {}; at equal load it would be {} ({} to {}), not counted among the tests",
            load.name,
            percent(load.change_ratio),
            percent(rest),
            percent(low),
            percent(high)
        )
    })
}
