//! Series that are copies of each other or never change: nobody can be told apart by them.

use crate::analysis::influence::cast::Member;
use crate::analysis::influence::findings::{LookAlike, LookAlikeKind, LookAlikeState};
use crate::analysis::influence::look_alikes::look_alike;
use crate::analysis::influence::signal::metrics_of;
use crate::domain::metric::Metric;
use crate::domain::recording::Trace;
use crate::domain::series::Series;
use std::collections::BTreeMap;

/// Share of equal values from which one series is a copy of the other.
const ALIKE: f64 = 0.97;
/// Fewest values for such a claim.
const LEAST_VALUES: usize = 30;
/// Fewest different values among them: two idle tenants are not copies.
const LEAST_DIFFERENT: usize = 5;
/// Values that never change, this many in a row, are frozen.
const FROZEN_VALUES: usize = 60;
/// Lengths of copies may differ by this share.
const LENGTHS: f64 = 0.03;

/// Why a member cannot be judged by its activity, or by its own measurements, by its place in the cast.
#[derive(Debug, Clone, Default)]
pub(crate) struct Copies {
    pub(crate) activity: BTreeMap<usize, String>,
    pub(crate) service: BTreeMap<usize, String>,
    pub(crate) look_alikes: Vec<LookAlike>,
}

/// Looks for copies among everybody's activity, the device's included, and among services.
pub(crate) fn copies(cast: &[Member<'_>], device: Option<&Trace>) -> Copies {
    let mut found = Copies::default();
    let activity = |it: &Member<'_>| it.activities.first().map(|it| it.series.clone());
    let activities: Vec<Option<Series>> = cast.iter().map(activity).collect();
    let whole = device.and_then(|it| it.get(Metric::GpuUtilization));
    let replays: Vec<usize> = (0..cast.len())
        .filter(|it| activities[*it].as_ref().zip(whole).is_some_and(|it| is_replay(it.0, it.1)))
        .collect();
    // One tenant alone on a GPU rightly shows the GPU's own utilisation; two cannot.
    if replays.len() > 1 {
        for place in replays {
            let reason = format!(
                "mirrored: the activity of `{}` repeats that of the whole GPU, and so does another's",
                cast[place].label
            );
            found.activity.insert(place, reason);
        }
    }
    for first in 0..cast.len() {
        let Some(mine) = &activities[first] else { continue };
        for second in first + 1..cast.len() {
            if activities[second].as_ref().is_some_and(|it| is_copy(mine, it)) {
                let reason = format!(
                    "mirrored: the activities of `{}` and `{}` are the same series",
                    cast[first].label, cast[second].label
                );
                found.activity.entry(first).or_insert_with(|| reason.clone());
                found.activity.entry(second).or_insert(reason);
            }
        }
    }
    found.take_services(cast);
    found.take_frozen(cast, &activities);
    found.report();
    found
}

impl Copies {
    fn take_services(&mut self, cast: &[Member<'_>]) {
        let measured = |it: &Member<'_>| -> Option<(Metric, Series)> {
            let metric = *metrics_of(it).first()?;
            Some((metric, it.measured(metric)?.clone()))
        };
        let all: Vec<Option<(Metric, Series)>> = cast.iter().map(measured).collect();
        for first in 0..cast.len() {
            for second in first + 1..cast.len() {
                let (Some(mine), Some(theirs)) = (&all[first], &all[second]) else { continue };
                if mine.0 == theirs.0 && is_copy(&mine.1, &theirs.1) {
                    let reason = format!(
                        "mirrored: `{}` and `{}` report the same measurements, so it is not known whose they are",
                        cast[first].label, cast[second].label
                    );
                    self.service.entry(first).or_insert_with(|| reason.clone());
                    self.service.entry(second).or_insert(reason);
                }
            }
        }
        for (place, measured) in all.iter().enumerate() {
            if let Some((metric, series)) = measured
                && is_frozen(series)
            {
                let reason = format!(
                    "frozen: {} of `{}` never changes",
                    metric.spec().label,
                    cast[place].label
                );
                self.service.entry(place).or_insert(reason);
            }
        }
    }

    fn take_frozen(&mut self, cast: &[Member<'_>], activities: &[Option<Series>]) {
        for (place, series) in activities.iter().enumerate() {
            let is_at_rest = |it: &Series| it.values().iter().all(|it| *it == 0.0 || *it == 1.0);
            // A process is listed only while it is busy: its silence is the change.
            if let Some(series) = series
                && !cast[place].has_process()
                && is_frozen(series)
                && !is_at_rest(series)
            {
                let reason =
                    format!("frozen: the activity of `{}` never changes", cast[place].label);
                self.activity.entry(place).or_insert(reason);
            }
        }
    }

    fn report(&mut self) {
        let mut reasons: Vec<&String> =
            self.activity.values().chain(self.service.values()).collect();
        reasons.sort();
        reasons.dedup();
        for reason in reasons {
            let (code, sentence) = reason.split_once(": ").unwrap_or(("", reason));
            let kind = if code == "frozen" {
                LookAlikeKind::FrozenSeries
            } else {
                LookAlikeKind::MirroredSeries
            };
            let found = look_alike(kind, LookAlikeState::Found, sentence.to_owned());
            self.look_alikes.push(found);
        }
        for (kind, sentence) in [
            (LookAlikeKind::MirroredSeries, "no two series are the same"),
            (LookAlikeKind::FrozenSeries, "every series changes"),
        ] {
            if !self.look_alikes.iter().any(|it| it.kind == kind) {
                let ruled_out = look_alike(kind, LookAlikeState::RuledOut, sentence.to_owned());
                self.look_alikes.push(ruled_out);
            }
        }
    }
}

/// Whether two series hold the same values in the same order.
fn is_copy(first: &Series, second: &Series) -> bool {
    let (a, b) = (first.values(), second.values());
    let count = a.len().min(b.len());
    let is_as_long = (a.len().abs_diff(b.len()) as f64) <= LENGTHS * a.len().max(b.len()) as f64;
    if count < LEAST_VALUES || !is_as_long || different(&a[..count]) < LEAST_DIFFERENT {
        return false;
    }
    let alike = a.iter().zip(b).filter(|it| it.0 == it.1).count();
    alike as f64 >= ALIKE * count as f64
}

/// Whether each value of a tenant is the last one, or the one before, of the whole device in percent.
fn is_replay(tenant: &Series, whole: &Series) -> bool {
    if tenant.len() < LEAST_VALUES || different(tenant.values()) < LEAST_DIFFERENT {
        return false;
    }
    let is_same = |at: &crate::domain::time::Timestamp, value: f64| {
        let next = whole.times().partition_point(|it| it <= at);
        (next.saturating_sub(2)..(next + 1).min(whole.len()))
            .any(|it| (whole.values()[it] / 100.0 - value).abs() < 1e-9)
    };
    let alike =
        tenant.times().iter().zip(tenant.values()).filter(|it| is_same(it.0, *it.1)).count();
    alike as f64 >= ALIKE * tenant.len() as f64
}

fn is_frozen(series: &Series) -> bool {
    series.len() >= FROZEN_VALUES && series.values().iter().all(|it| *it == series.values()[0])
}

fn different(values: &[f64]) -> usize {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.dedup();
    sorted.len()
}
