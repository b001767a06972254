//! Influences of one suspect on one victim belong together, whatever the metric.

use crate::analysis::findings::Scope;
use crate::analysis::influence::findings::{Influence, InfluenceVerdict};
use crate::domain::ident::Subject;
use crate::report::influences::quantities::finite;
use crate::report::influences::wording::is_shown;
use std::cmp::Ordering;

/// Everything about one suspect and one victim in one part of the time.
#[derive(Debug, Clone)]
pub(crate) struct Group<'a> {
    /// The one to be told: the firmest verdict, and among those the worst metric.
    pub head: &'a Influence,
    /// The other metrics, in the order of the findings.
    pub others: Vec<&'a Influence>,
}

/// The influences by suspect, victim and part of the time; the firmest first, then the largest.
pub(crate) fn grouped(pairs: &[Influence]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for it in pairs {
        match groups.iter_mut().find(|group| is_same(group.head, it)) {
            Some(group) if worse(it, group.head) == Ordering::Less => {
                let former = std::mem::replace(&mut group.head, it);
                group.others.insert(0, former);
            }
            Some(group) => group.others.push(it),
            None => groups.push(Group { head: it, others: Vec::new() }),
        }
    }
    groups.sort_by(|a, b| is_part(a).cmp(&is_part(b)).then_with(|| worse(a.head, b.head)));
    groups
}

/// Those that were shown.
pub(crate) fn shown(pairs: &[Influence]) -> Vec<Group<'_>> {
    let mut groups = grouped(pairs);
    groups.retain(|it| is_shown(it.head.verdict));
    groups
}

/// Whether the opposite influence is among these groups, so that both slow each other.
pub(crate) fn has_opposite(groups: &[Group<'_>], group: &Group<'_>) -> bool {
    let (suspect, victim) = ends(group.head);
    groups.iter().any(|it| {
        ends(it.head) == (victim, suspect)
            && it.head.scope == group.head.scope
            && is_shown(it.head.verdict)
    })
}

/// The two ends of an influence.
pub(crate) fn ends(it: &Influence) -> (&Subject, &Subject) {
    (&it.suspect_subject, &it.victim_subject)
}

fn is_part(group: &Group<'_>) -> bool {
    group.head.scope != Scope::Whole
}

fn is_same(a: &Influence, b: &Influence) -> bool {
    ends(a) == ends(b) && a.scope == b.scope
}

/// Which is told first: the firmer one, then the worse one.
fn worse(a: &Influence, b: &Influence) -> Ordering {
    // What was not shown is told by what it could hide; unknown is the most.
    let weight = |it: &Influence| match it.verdict {
        InfluenceVerdict::NotShown => finite(it.mde_ratio).unwrap_or(f64::MAX),
        _ => finite(it.effect_ratio).unwrap_or(f64::MIN),
    };
    a.verdict.cmp(&b.verdict).then_with(|| weight(b).total_cmp(&weight(a)))
}
