//! Whether two tenants of one GPU burst together more often than chance would have it.

use crate::analysis::activity::Activity;
use crate::analysis::findings::SubjectFindings;
use crate::analysis::meeting::{Side, meeting, settled};
use crate::analysis::memory_findings::CoActivation;
use crate::domain::ident::Subject;
use crate::domain::recording::Trace;
use crate::domain::source::Source;
use crate::stats::bursts::thresholds;
use std::borrow::Cow;

/// Tenants that are compared with each other at most: the busiest.
const BUSIEST: usize = 16;

/// How active somebody was at those steps of a common grid that samples cover, in order.
struct Presence {
    subject: Subject,
    steps: Vec<Step>,
}

/// One step of a grid.
struct Step {
    at: i64,
    /// Greatest activity in it.
    activity: f64,
    /// Whether it was in a burst.
    is_on: bool,
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
    settled(pairs)
}

/// Activity at the steps of the grid; as many as there are samples, however far apart they lie.
fn presence(subject: &Subject, activity: &Activity<'_>, grid_s: f64) -> Option<Presence> {
    let limits = thresholds(&activity.values)?;
    let mut steps: Vec<Step> = Vec::new();
    for (position, value) in activity.values.iter().enumerate() {
        let at = (activity.at(position).as_micros() as f64 / (grid_s * 1e6)).round() as i64;
        let is_on = *value >= limits.on;
        match steps.last_mut() {
            Some(last) if last.at == at => {
                last.activity = last.activity.max(*value);
                last.is_on |= is_on;
            }
            _ => steps.push(Step { at, activity: value.max(0.0), is_on }),
        }
    }
    Some(Presence { subject: subject.clone(), steps })
}

fn pair(first: &Presence, second: &Presence, grid_s: f64) -> Option<CoActivation> {
    let (mut one, mut other) = (side(first), side(second));
    let mut there = second.steps.iter().peekable();
    for step in &first.steps {
        while there.next_if(|it| it.at < step.at).is_some() {}
        if let Some(it) = there.next_if(|it| it.at == step.at) {
            one.values.push(step.activity);
            one.is_on.push(step.is_on);
            other.values.push(it.activity);
            other.is_on.push(it.is_on);
        }
    }
    meeting(&one, &other, grid_s)
}

fn side(presence: &Presence) -> Side<'_> {
    Side { subject: &presence.subject, values: Vec::new(), is_on: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::memory_findings::PhaseRelation;
    use crate::domain::ident::TenantId;

    fn presence_of(name: &str, is_on: impl Fn(usize) -> bool) -> Presence {
        let subject = Subject::Tenant { gpu: None, tenant: TenantId::new(name) };
        let step = |it: usize| {
            let activity = if is_on(it) { 0.9 } else { 0.1 };
            Step { at: it as i64, activity, is_on: is_on(it) }
        };
        Presence { subject, steps: (0..600).map(step).collect() }
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

    fn settled_pair(first: &Presence, second: &Presence) -> CoActivation {
        settled(pair(first, second, 1.0).into_iter().collect()).remove(0)
    }

    #[test]
    fn tenants_that_follow_one_trigger_are_on_together_more_often_than_chance() {
        let first = presence_of("a", |it| random_bursts(it, 1));
        let second = presence_of("b", |it| random_bursts(it, 1));
        let found = settled_pair(&first, &second);
        assert!(found.lift.unwrap() > 2.0 && found.p_value.unwrap() < 0.01, "{found:?}");
        assert!(found.overlap_s > 2.0 * found.expected_overlap_s);
        assert_eq!(found.coincidence_ratio, Some(1.0));
        assert_eq!(found.phase, PhaseRelation::Together);
        assert!(found.joint_high_s > 2.0 * found.expected_joint_high_s, "{found:?}");
    }

    #[test]
    fn tenants_that_know_nothing_of_each_other_overlap_as_chance_has_it() {
        let first = presence_of("a", |it| random_bursts(it, 1));
        let second = presence_of("b", |it| random_bursts(it, 7_000));
        let found = settled_pair(&first, &second);
        assert!(found.p_value.unwrap() > 0.05, "{found:?}");
        assert_eq!(found.phase, PhaseRelation::Independent);
    }

    #[test]
    fn staggered_crons_take_turns() {
        let first = presence_of("a", |it| it % 60 < 6);
        let second = presence_of("b", |it| (it + 30 + it / 60 % 2) % 60 < 6);
        let found = settled_pair(&first, &second);
        assert_eq!((found.overlap_s, found.phase), (0.0, PhaseRelation::TakingTurns), "{found:?}");
        assert!((found.coincidence_ratio.unwrap() - 1.0 / 1.8).abs() < 1e-9);
    }
}
