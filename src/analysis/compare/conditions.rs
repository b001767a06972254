//! What else changed on the devices: activity, saturation, power, clock and temperature.

use crate::analysis::activity::Activity;
use crate::analysis::compare::findings::{ChangeVerdict, Condition, ConditionChange};
use crate::analysis::compare::matching::Matched;
use crate::analysis::compare::services::SAME_WINDOW;
use crate::analysis::compare::{ComparedSide, ERROR_RATE};
use crate::analysis::influence::grid::Grid;
use crate::domain::ident::{GpuId, Subject};
use crate::domain::metric::Metric;
use crate::domain::series::Series;
use crate::stats::before_after::{Change, Level};
use crate::stats::multiple::family_wise;

/// Bins are at least this long, in seconds.
const LEAST_BIN_S: f64 = 1.0;
/// Activity from which a device counts as saturated, 0 to 1.
const SATURATED: f64 = 0.95;

const CONDITIONS: [Condition; 5] = [
    Condition::ActivityRatio,
    Condition::SaturatedRatio,
    Condition::PowerMw,
    Condition::SmClockMhz,
    Condition::GpuTemperatureCelsius,
];

/// Every condition of every device that is in both recordings.
pub(super) fn changes(
    before: &ComparedSide<'_>,
    after: &ComparedSide<'_>,
    devices: &Matched,
    remarks: &mut Vec<String>,
) -> Vec<ConditionChange> {
    let mut all: Vec<ConditionChange> = devices
        .pairs
        .iter()
        .flat_map(|pair| {
            let name = before.outline.label(&Subject::device(&pair.0));
            remarks.extend(other_metric(&name, (before, &pair.0), (after, &pair.1)));
            CONDITIONS.map(|it| change(&name, it, (before, &pair.0), (after, &pair.1)))
        })
        .filter(|it| it.before.is_some() || it.after.is_some())
        .collect();
    let p: Vec<f64> = all.iter().filter_map(|it| it.p).collect();
    let mut chances = family_wise(&p).into_iter();
    for it in all.iter_mut().filter(|it| it.p.is_some()) {
        it.p_of_all = chances.next();
        let is_shown = it.p_of_all.is_some_and(|it| it <= ERROR_RATE);
        it.verdict = if is_shown { ChangeVerdict::Different } else { ChangeVerdict::NotShown };
    }
    all
}

/// One condition of one device on one side: a series, and the window that its samples are averages over.
struct Seen {
    metric: Metric,
    series: Series,
    step_s: f64,
    window_s: f64,
}

impl Seen {
    fn of((side, gpu): (&ComparedSide<'_>, &GpuId), condition: Condition) -> Option<Self> {
        let trace = side.recording.traces.get(&Subject::device(gpu))?;
        let plain = |metric: Metric| {
            let series = trace.get(metric)?.clone();
            let step_s = series.typical_interval()?.as_seconds();
            Some(Self { metric, series, step_s, window_s: step_s })
        };
        match condition {
            Condition::PowerMw => plain(Metric::Power),
            Condition::SmClockMhz => plain(Metric::SmClock),
            Condition::GpuTemperatureCelsius => plain(Metric::GpuTemperature),
            Condition::ActivityRatio | Condition::SaturatedRatio => {
                let activity = Activity::of(trace, &side.outline.sources)?;
                let is_share = condition == Condition::SaturatedRatio;
                let full =
                    |it: &f64| if is_share { f64::from(u8::from(*it >= SATURATED)) } else { *it };
                let values = activity.values.iter().map(full).collect();
                let series = Series::new(activity.series.shared_times(), values)?;
                let (step_s, window_s) = (activity.stride_s, activity.window_s);
                Some(Self { metric: activity.metric, series, step_s, window_s })
            }
        }
    }

    fn bins(&self, step_s: f64) -> Option<Vec<f64>> {
        let grid = Grid::over(self.series.span()?, step_s);
        Some(grid.means(&self.series, None, 0, |it| it))
    }
}

/// That the activity of a device is measured by another metric after the change; `None` where it is not.
fn other_metric(
    name: &str,
    before: (&ComparedSide<'_>, &GpuId),
    after: (&ComparedSide<'_>, &GpuId),
) -> Option<String> {
    let metric = |side| Seen::of(side, Condition::ActivityRatio).map(|it| it.metric);
    let (mine, other) = (metric(before)?, metric(after)?);
    (mine != other).then(|| {
        format!(
            "the activity of {name} is {} before and {} after, which are not compared",
            mine.in_words(),
            other.in_words()
        )
    })
}

fn change(
    name: &str,
    condition: Condition,
    before: (&ComparedSide<'_>, &GpuId),
    after: (&ComparedSide<'_>, &GpuId),
) -> ConditionChange {
    let sides = [Seen::of(before, condition), Seen::of(after, condition)];
    // Levels of two metrics side by side would be read as a change.
    let sides = match sides {
        [Some(mine), Some(other)] if mine.metric != other.metric => [None, None],
        sides => sides,
    };
    let mean = |it: &Option<Seen>| {
        let values = it.as_ref()?.series.values();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let mut found = ConditionChange {
        device: name.to_owned(),
        condition,
        verdict: ChangeVerdict::CannotTell,
        before: mean(&sides[0]),
        after: mean(&sides[1]),
        difference: None,
        difference_low: None,
        difference_high: None,
        p: None,
        p_of_all: None,
    };
    if let [Some(mine), Some(other)] = &sides
        && let Some(change) = tested(condition, mine, other)
    {
        let (low, high) = change.interval(0.95);
        found.difference = Some(change.difference);
        (found.difference_low, found.difference_high) = (Some(low), Some(high));
        found.p = Some(change.p_value());
    }
    found
}

/// `None` where the windows forbid it, or where a mean cannot be told.
fn tested(condition: Condition, mine: &Seen, other: &Seen) -> Option<Change> {
    let windows = (mine.window_s.min(other.window_s), mine.window_s.max(other.window_s));
    if condition == Condition::SaturatedRatio && windows.1 > SAME_WINDOW * windows.0 {
        return None;
    }
    let step_s = mine.step_s.max(other.step_s).max(LEAST_BIN_S);
    let level = |it: &Seen| Level::of(&it.bins(step_s)?).ok();
    Some(Change::between(&level(mine)?, &level(other)?))
}
