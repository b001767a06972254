//! Whether two tenants of one GPU burst together more often than chance would have it.

use crate::analysis::activity::Activity;
use crate::analysis::findings::{CoActivation, SubjectFindings};
use crate::domain::ident::Subject;
use crate::domain::recording::Trace;
use crate::domain::source::Source;
use crate::stats::bursts::thresholds;
use crate::stats::coactivation::{lift, shift_test};
use std::borrow::Cow;

/// Tenants that are compared with each other at most: the busiest.
const BUSIEST: usize = 16;
/// Fewer common samples than this say nothing.
const FEWEST_SAMPLES: usize = 80;

/// Who is on at which step of a common grid.
struct Presence {
    subject: Subject,
    first_step: i64,
    steps: Vec<Option<bool>>,
}

/// Every pair of tenants whose bursts were seen, most surprising first.
pub(crate) fn co_activations(
    seen: &[(&SubjectFindings, Cow<'_, Trace>)],
    sources: &[Source],
) -> Vec<CoActivation> {
    let mut bursting: Vec<_> = seen
        .iter()
        .filter(|it| !it.0.subject.is_device())
        .filter_map(|it| {
            let profile = it.0.whole()?.profile.as_ref()?;
            profile.bursts.as_ref()?;
            Some((profile.mean_ratio, Activity::of(&it.1, sources)?, &it.0.subject))
        })
        .collect();
    bursting.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.2.cmp(b.2)));
    bursting.truncate(BUSIEST);
    let mut pairs = Vec::new();
    for (position, first) in bursting.iter().enumerate() {
        pairs.extend(bursting[position + 1..].iter().filter_map(|second| {
            let grid_s = first.1.stride_s.max(second.1.stride_s);
            let present = |it: &(f64, Activity<'_>, &Subject)| presence(it.2, &it.1, grid_s);
            pair(&present(first)?, &present(second)?, grid_s)
        }));
    }
    pairs.sort_by(|a, b| a.p_value.unwrap_or(1.0).total_cmp(&b.p_value.unwrap_or(1.0)));
    pairs
}

/// On or off at every step of the grid; `None` where no sample covers the step.
fn presence(subject: &Subject, activity: &Activity<'_>, grid_s: f64) -> Option<Presence> {
    let limits = thresholds(&activity.values)?;
    let step_of = |position: usize| {
        (activity.at(position).as_micros() as f64 / (grid_s * 1e6)).round() as i64
    };
    let last = activity.values.len().checked_sub(1)?;
    let first_step = step_of(0);
    let length = usize::try_from(step_of(last) - first_step + 1).ok()?;
    let mut steps: Vec<Option<bool>> = vec![None; length];
    for (position, value) in activity.values.iter().enumerate() {
        let place = usize::try_from(step_of(position) - first_step).ok()?;
        let is_on = *value >= limits.on;
        let step = steps.get_mut(place)?;
        *step = Some(step.unwrap_or(false) || is_on);
    }
    Some(Presence { subject: subject.clone(), first_step, steps })
}

fn pair(first: &Presence, second: &Presence, grid_s: f64) -> Option<CoActivation> {
    let from = first.first_step.max(second.first_step);
    let at = |it: &Presence, step: i64| {
        usize::try_from(step - it.first_step).ok().and_then(|place| *it.steps.get(place)?)
    };
    let until = (first.first_step + first.steps.len() as i64)
        .min(second.first_step + second.steps.len() as i64);
    let both: Vec<(bool, bool)> =
        (from..until).filter_map(|step| Some((at(first, step)?, at(second, step)?))).collect();
    if both.len() < FEWEST_SAMPLES {
        return None;
    }
    let (on_first, on_second): (Vec<bool>, Vec<bool>) = both.iter().copied().unzip();
    let share = |on: &[bool]| on.iter().filter(|it| **it).count() as f64 / on.len() as f64;
    let together = both.iter().filter(|it| it.0 && it.1).count() as f64 * grid_s;
    let numbers =
        |on: &[bool]| -> Vec<f64> { on.iter().map(|it| f64::from(u8::from(*it))).collect() };
    let tested = shift_test(&numbers(&on_first), &numbers(&on_second), 0);
    Some(CoActivation {
        first: first.subject.clone(),
        second: second.subject.clone(),
        samples: both.len() as u64,
        overlap_s: together,
        expected_overlap_s: share(&on_first) * share(&on_second) * both.len() as f64 * grid_s,
        lift: lift(&on_first, &on_second),
        p_value: tested.map(|it| it.p_value),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ident::TenantId;

    fn presence_of(name: &str, is_on: impl Fn(usize) -> bool) -> Presence {
        let subject = Subject::Tenant { gpu: None, tenant: TenantId::new(name) };
        Presence { subject, first_step: 0, steps: (0..600).map(|it| Some(is_on(it))).collect() }
    }

    /// Bursts of ten steps at places that no rhythm explains.
    fn random_bursts(step: usize, seed: u64) -> bool {
        let block = (step / 10) as u64 + seed;
        block
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(31)
            .wrapping_mul(0x94d0_49bb_1331_11eb)
            >> 62
            == 0
    }

    #[test]
    fn tenants_that_follow_one_trigger_are_on_together_more_often_than_chance() {
        let first = presence_of("a", |it| random_bursts(it, 1));
        let second = presence_of("b", |it| random_bursts(it, 1));
        let found = pair(&first, &second, 1.0).unwrap();
        assert!(found.lift.unwrap() > 2.0 && found.p_value.unwrap() < 0.01, "{found:?}");
        assert!(found.overlap_s > 2.0 * found.expected_overlap_s);
    }

    #[test]
    fn tenants_that_know_nothing_of_each_other_overlap_as_chance_has_it() {
        let first = presence_of("a", |it| random_bursts(it, 1));
        let second = presence_of("b", |it| random_bursts(it, 7_000));
        let found = pair(&first, &second, 1.0).unwrap();
        assert!(found.p_value.unwrap() > 0.05, "{found:?}");
    }
}
