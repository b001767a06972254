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
/// Values that are compared before it is asked whether too many differ.
const ALIKE_AT_ONCE: usize = 256;
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
    let all: Vec<Option<Candidate<'_>>> =
        activities.iter().map(|it| it.as_ref().map(Candidate::of)).collect();
    for (first, second) in mirrored(&all, &found.activity) {
        let reason = format!(
            "mirrored: the activities of `{}` and `{}` are the same series",
            cast[first].label, cast[second].label
        );
        found.activity.entry(first).or_insert_with(|| reason.clone());
        found.activity.entry(second).or_insert(reason);
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
        let candidates: Vec<Option<Candidate<'_>>> = all
            .iter()
            .map(|it| {
                it.as_ref().map(|it| Candidate { metric: Some(it.0), ..Candidate::of(&it.1) })
            })
            .collect();
        for (first, second) in mirrored(&candidates, &self.service) {
            let reason = format!(
                "mirrored: `{}` and `{}` report the same measurements, so it is not known whose they are",
                cast[first].label, cast[second].label
            );
            self.service.entry(first).or_insert_with(|| reason.clone());
            self.service.entry(second).or_insert(reason);
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

/// A series that may be a copy.
struct Candidate<'a> {
    values: &'a [f64],
    /// Only the same metric is compared.
    metric: Option<Metric>,
    /// Where so many different values were seen that it can be a copy; `None` where there are fewer.
    varied_at: Option<usize>,
}

impl<'a> Candidate<'a> {
    fn of(series: &'a Series) -> Self {
        let values = series.values();
        Self { values, metric: None, varied_at: varied_at(values) }
    }

    /// Whether both hold the same values in the same order.
    fn is_copy(&self, other: &Candidate<'_>) -> bool {
        let (a, b) = (self.values, other.values);
        let count = a.len().min(b.len());
        let is_as_long =
            (a.len().abs_diff(b.len()) as f64) <= LENGTHS * a.len().max(b.len()) as f64;
        let is_varied = self.varied_at.is_some_and(|it| it < count);
        if count < LEAST_VALUES || !is_as_long || !is_varied || self.metric != other.metric {
            return false;
        }
        // Most pairs differ from the beginning.
        let mut unlike = 0;
        for (a, b) in a[..count].chunks(ALIKE_AT_ONCE).zip(b[..count].chunks(ALIKE_AT_ONCE)) {
            unlike += a.iter().zip(b).filter(|it| it.0 != it.1).count();
            if ((count - unlike) as f64) < ALIKE * count as f64 {
                return false;
            }
        }
        true
    }
}

/// Pairs of copies in order, but for those of whom a reason is known already, of both.
fn mirrored(all: &[Option<Candidate<'_>>], known: &BTreeMap<usize, String>) -> Vec<(usize, usize)> {
    let mut is_known: Vec<bool> = (0..all.len()).map(|it| known.contains_key(&it)).collect();
    let mut unknown: Vec<usize> = (0..all.len()).filter(|it| !is_known[*it]).collect();
    let mut pairs = Vec::new();
    for (first, mine) in all.iter().enumerate() {
        let Some(mine) = mine.as_ref().filter(|it| it.varied_at.is_some()) else { continue };
        let is_pair = |it: &usize| {
            *it > first && all[*it].as_ref().is_some_and(|theirs| mine.is_copy(theirs))
        };
        let others: Vec<usize> = match is_known[first] {
            true => unknown.iter().copied().filter(is_pair).collect(),
            false => (first + 1..all.len()).filter(is_pair).collect(),
        };
        if others.is_empty() {
            continue;
        }
        for second in others {
            pairs.push((first, second));
            is_known[second] = true;
        }
        is_known[first] = true;
        unknown.retain(|it| !is_known[*it]);
    }
    pairs
}

/// Whether each value of a tenant is the last one, or the one before, of the whole device in percent.
fn is_replay(tenant: &Series, whole: &Series) -> bool {
    if tenant.len() < LEAST_VALUES || varied_at(tenant.values()).is_none() {
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

/// Where the last of the different values was seen that a copy needs; `None` where there are fewer.
fn varied_at(values: &[f64]) -> Option<usize> {
    let mut different: Vec<f64> = Vec::with_capacity(LEAST_DIFFERENT);
    values.iter().position(|value| {
        if !different.contains(value) {
            different.push(*value);
        }
        different.len() >= LEAST_DIFFERENT
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Timestamp;
    use std::sync::Arc;

    fn series(values: &[f64]) -> Series {
        let times = (0..values.len() as i64).map(|it| Timestamp::from_micros(it * 1_000_000));
        Series::new(Arc::new(times.collect()), values.to_vec()).unwrap()
    }

    /// The pairs as comparing everybody with everybody finds them, each sorted through.
    fn plainly(all: &[Vec<f64>]) -> Vec<(usize, usize)> {
        let is_copy = |a: &[f64], b: &[f64]| {
            let count = a.len().min(b.len());
            let mut sorted = a[..count].to_vec();
            sorted.sort_by(f64::total_cmp);
            sorted.dedup();
            let longer = a.len().max(b.len()) as f64;
            let alike = a.iter().zip(b).filter(|it| it.0 == it.1).count() as f64;
            count >= LEAST_VALUES
                && a.len().abs_diff(b.len()) as f64 <= LENGTHS * longer
                && sorted.len() >= LEAST_DIFFERENT
                && alike >= ALIKE * count as f64
        };
        let pairs = (0..all.len()).flat_map(|it| (it + 1..all.len()).map(move |other| (it, other)));
        pairs.filter(|it| is_copy(&all[it.0], &all[it.1])).collect()
    }

    #[test]
    fn everybody_gets_the_reason_that_comparing_all_pairs_gives() {
        let wave = |step: usize, length: usize| -> Vec<f64> {
            (0..length).map(|it| (it * step % 11) as f64).collect()
        };
        let mut nearly = wave(3, 1000);
        nearly[..30].iter_mut().for_each(|it| *it += 0.5);
        let mut hardly = wave(3, 1000);
        hardly[..31].iter_mut().for_each(|it| *it += 0.5);
        let late: Vec<f64> = (0..1000).map(|it| if it < 995 { 1.0 } else { it as f64 }).collect();
        let all: Vec<Vec<f64>> = vec![
            wave(3, 1000),
            wave(4, 1000),
            nearly,
            hardly,
            wave(4, 980),
            wave(4, 960),
            vec![1.0; 1000],
            vec![1.0; 1000],
            late.clone(),
            late[..994].to_vec(),
            late,
            wave(5, 29),
            wave(5, 29),
            wave(4, 1000),
        ];
        let held: Vec<Series> = all.iter().map(|it| series(it)).collect();
        let candidates: Vec<_> = held.iter().map(|it| Some(Candidate::of(it))).collect();
        let reasons = |pairs: Vec<(usize, usize)>| {
            let mut reasons = BTreeMap::new();
            for pair in pairs {
                reasons.entry(pair.0).or_insert(pair);
                reasons.entry(pair.1).or_insert(pair);
            }
            reasons
        };
        let expected = reasons(plainly(&all));
        assert_eq!(expected.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 8, 10, 13]);
        assert_eq!(reasons(mirrored(&candidates, &BTreeMap::new())), expected);
    }
}
