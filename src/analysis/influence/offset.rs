//! How far a service's clock is from the clock of the GPU's metrics.

use crate::analysis::influence::cast::Member;
use crate::analysis::influence::findings::{ClockOffset, ClockOffsetOrigin};
use crate::analysis::influence::grid::Grid;
use crate::domain::metric::Metric;
use crate::domain::time::TimeSpan;
use crate::stats::quantile::quantile;
use std::collections::BTreeMap;

/// Farthest offset that is looked for, in seconds.
const FARTHEST_S: f64 = 30.0;
/// Fit from which an offset is believed.
const LEAST_FIT: f64 = 0.25;
/// How much better the best offset must fit than any other.
const LEAST_LEAD: f64 = 0.08;
/// Offset below which the clocks agree, in bins.
const AGREES_BINS: f64 = 0.75;
/// Fewest bins for an estimate.
const LEAST_BINS: usize = 120;

/// The offset of a member's service clock: given, else none where one recorder stamped both, else estimated from its own requests and its own activity, else taken to be none.
pub(crate) fn offset(
    member: &Member<'_>,
    given: &BTreeMap<String, f64>,
    span: TimeSpan,
) -> ClockOffset {
    let tenant = member.label.clone();
    if let Some(offset_s) = given.get(&tenant) {
        let sentence = format!("{offset_s:+.2} s, as given");
        return ClockOffset {
            tenant,
            offset_s: *offset_s,
            origin: ClockOffsetOrigin::Given,
            sentence,
        };
    }
    if member.has_gpu_clock {
        return ClockOffset {
            tenant,
            offset_s: 0.0,
            origin: ClockOffsetOrigin::SameClock,
            sentence: "none: one recorder stamped the service and the GPU".to_owned(),
        };
    }
    match estimate(member, span) {
        Some((offset_s, fit)) => ClockOffset {
            sentence: if offset_s == 0.0 {
                format!("its requests and its own GPU activity fit best without an offset (correlation {fit:.2})")
            } else {
                format!("{offset_s:+.2} s: so its requests fit its own GPU activity best (correlation {fit:.2})")
            },
            tenant,
            offset_s,
            origin: ClockOffsetOrigin::Estimated,
        },
        None => ClockOffset {
            tenant,
            offset_s: 0.0,
            origin: ClockOffsetOrigin::Assumed,
            sentence: "taken to agree with the GPU's clock: nothing in the recording tells; give --clock-offset if it does not".to_owned(),
        },
    }
}

/// Service clock minus GPU clock in seconds, and the fit there.
fn estimate(member: &Member<'_>, span: TimeSpan) -> Option<(f64, f64)> {
    let requests =
        [Metric::Throughput, Metric::OfferedLoad].into_iter().find_map(|it| member.measured(it))?;
    let step_s = requests.typical_interval()?.as_seconds().max(member.stride_s()?).max(0.2);
    // Requests that last longer than a bin are counted when they end, not when they work.
    let latency =
        [Metric::LatencyMean, Metric::LatencyP50].iter().find_map(|it| member.measured(*it))?;
    if quantile(latency.values(), 0.5)? > step_s {
        return None;
    }
    let grid = Grid::over(span, step_s);
    let is_watched = vec![false; grid.bins];
    let busy = differences(&member.activity(&grid, &is_watched));
    let asked = differences(&grid.means(requests, None, 0, |it| it));
    let farthest = (FARTHEST_S / step_s).floor() as usize;
    if grid.bins < LEAST_BINS + farthest {
        return None;
    }
    // A positive shift sets the service back: its stamps are too late.
    let fits: Vec<(i64, f64)> = (-(farthest as i64)..=farthest as i64)
        .filter_map(|shift| Some((shift, fit(&busy, &asked, shift)?)))
        .collect();
    let best = *fits.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let rival =
        fits.iter().filter(|it| (it.0 - best.0).abs() > 2).map(|it| it.1).fold(0.0, f64::max);
    if best.1 < LEAST_FIT || best.1 - rival < LEAST_LEAD {
        return None;
    }
    let at = |shift: i64| fits.iter().find(|it| it.0 == shift).map(|it| it.1);
    let bins = match (at(best.0 - 1), at(best.0 + 1)) {
        (Some(before), Some(after)) => best.0 as f64 + vertex(before, best.1, after),
        _ => best.0 as f64,
    };
    Some((if bins.abs() < AGREES_BINS { 0.0 } else { bins * step_s }, best.1))
}

/// Place of the top of a parabola through three neighbours, from the middle one.
fn vertex(before: f64, middle: f64, after: f64) -> f64 {
    let bend = before - 2.0 * middle + after;
    if bend < 0.0 { (0.5 * (before - after) / bend).clamp(-0.5, 0.5) } else { 0.0 }
}

/// Values less the mean of their neighbours, so that slow common changes do not blur the fit.
fn differences(values: &[f64]) -> Vec<f64> {
    let mut fast = vec![f64::NAN; values.len()];
    for bin in 1..values.len().saturating_sub(1) {
        fast[bin] = values[bin] - 0.5 * (values[bin - 1] + values[bin + 1]);
    }
    fast
}

/// Pearson correlation of `busy[bin]` and `asked[bin + shift]`; both scatter around zero, so plain sums keep their digits.
fn fit(busy: &[f64], asked: &[f64], shift: i64) -> Option<f64> {
    let skip = |of_busy: bool| usize::try_from(if of_busy { -shift } else { shift }).unwrap_or(0);
    let (busy, asked) = (busy.get(skip(true)..)?, asked.get(skip(false)..)?);
    let [mut count, mut x, mut y, mut xx, mut yy, mut xy] = [0.0; 6];
    for (a, b) in busy.iter().zip(asked) {
        if a.is_finite() && b.is_finite() {
            count += 1.0;
            x += a;
            y += b;
            xx += a * a;
            yy += b * b;
            xy += a * b;
        }
    }
    let scale = ((xx - x * x / count) * (yy - y * y / count)).sqrt();
    (count >= LEAST_BINS as f64 && scale > 0.0).then(|| (xy - x * y / count) / scale)
}
