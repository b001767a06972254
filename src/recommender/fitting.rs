//! How many of many tenants one device takes, where it does not take them all.

use crate::recommender::decide::Choice;
use crate::recommender::mechanism::{MechanismId, mechanism};
use crate::recommender::played::{Solo, weigh};
use crate::recommender::policy::Policy;
use crate::recommender::reason::ReasonKind;
use crate::recommender::situation::Situation;
use crate::recommender::verdict::Outcome;
use serde::Serialize;

/// Fewer tenants than this are not counted out: whoever leaves is named instead.
const FEWEST: usize = 3;
/// Events to replay for each count that is tried.
const EVENTS: u64 = 20_000;

/// So many of them share one device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fitting {
    /// How many.
    pub tenants: u32,
    /// Of how many.
    pub of: u32,
    /// How these share.
    pub mechanism: MechanismId,
    /// What keeps the next one out: `memory`, `clients`, `p99`, `time`, `instances` or a kind of reason.
    pub bound_by: &'static str,
    /// Who fits, in the order in which they were taken: by priority, then those that need least memory.
    pub names: Vec<String>,
    /// Devices that all take if further ones take as many.
    pub devices: u32,
    /// All of it in a sentence.
    pub sentence: String,
}

/// The most tenants that share the device, taken by priority and then from those that need least; `None` for fewer than two.
pub(crate) fn fitting(situation: &Situation, solos: &[Solo], policy: &Policy) -> Option<Fitting> {
    let of = situation.tenants.len();
    if of < FEWEST {
        return None;
    }
    let mut order: Vec<usize> = (0..of).collect();
    let tenants = &situation.tenants;
    let need = |it: usize| tenants[it].needed_mib(policy).unwrap_or(f64::INFINITY);
    order.sort_by(|one, other| {
        let priority = |it: usize| std::cmp::Reverse(tenants[it].policy.priority.unwrap_or(0));
        let by_memory = need(*one).total_cmp(&need(*other));
        priority(*one).cmp(&priority(*other)).then(by_memory).then(one.cmp(other))
    });
    // Where only what was seen of all of them keeps them apart, nothing says how many fewer would be apart too.
    if of_first(situation, solos, &order, policy).outcome() == Outcome::Share {
        return None;
    }
    let (mut count, choice) = most(situation, solos, &order, policy)?;
    let picked = choice.picked()?;
    let next = of_first(situation, solos, &order[..count + 1], policy);
    let against = next.against(picked.mechanism);
    let mut bound_by = against.map_or("evidence", |it| binding(it.kind));
    let mut why =
        against.map_or_else(String::new, |it| format!(": with one more, {}", it.sentence));
    // A margin that a decision about these few may do without counts where devices are filled.
    if let Some(it) = picked.capacity.as_ref().filter(|it| (2..count as u32).contains(&it.tenants))
    {
        count = it.tenants as usize;
        bound_by = match it.binding() {
            "memory" => "memory",
            "load" => "time",
            _ => "clients",
        };
        why.clear();
    }
    let picked = picked.mechanism;
    let names: Vec<String> = order[..count].iter().map(|it| tenants[*it].name.clone()).collect();
    let devices = of.div_ceil(count) as u32;
    let sentence = format!(
        "{count} of {of} fit under {}, and {}{why}",
        match picked {
            MechanismId::TimeSlicing => "time slicing",
            it => mechanism(it).title(),
        },
        binds(bound_by)
    );
    let (tenants, of) = (count as u32, of as u32);
    Some(Fitting { tenants, of, mechanism: picked, bound_by, names, devices, sentence })
}

/// The longest start of an order that shares a device, with how; `None` where not even two do.
pub(crate) fn most(
    situation: &Situation,
    solos: &[Solo],
    order: &[usize],
    policy: &Policy,
) -> Option<(usize, Choice)> {
    let of = |count: usize| {
        let choice = of_first(situation, solos, &order[..count], policy);
        (choice.outcome() == Outcome::Share).then_some(choice)
    };
    let (mut count, mut best) = (2, of(2)?);
    let mut too_many = order.len();
    while too_many - count > 1 {
        let middle = usize::midpoint(count, too_many);
        match of(middle) {
            Some(it) => (count, best) = (middle, it),
            None => too_many = middle,
        }
    }
    Some((count, best))
}

/// The decision about some of the tenants.
fn of_first(situation: &Situation, solos: &[Solo], places: &[usize], policy: &Policy) -> Choice {
    let mut some = situation.with_some(places.iter().copied());
    some.options.budget.events = some.options.budget.events.min(EVENTS);
    let solos: Vec<&Solo> = places.iter().map(|it| &solos[*it]).collect();
    weigh(&some, &solos, policy)
}

/// What binds, as a part of a sentence.
fn binds(word: &str) -> String {
    match word {
        "p99" => "the p99 of somebody binds".to_owned(),
        "time" => "the time that they take binds".to_owned(),
        "clients" => "the number of clients binds".to_owned(),
        "instances" => "the number of instances binds".to_owned(),
        it => format!("{it} binds"),
    }
}

/// What binds, in a word.
fn binding(kind: ReasonKind) -> &'static str {
    match kind {
        ReasonKind::Memory | ReasonKind::PeaksCoincide => "memory",
        ReasonKind::Clients | ReasonKind::Plugin => "clients",
        ReasonKind::Duty | ReasonKind::Saturated => "time",
        ReasonKind::Target
        | ReasonKind::Slowdown
        | ReasonKind::Bursts
        | ReasonKind::TargetBesideBursts => "p99",
        ReasonKind::Profile | ReasonKind::NoMig => "instances",
        other => other.word(),
    }
}
