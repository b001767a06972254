//! Which answers that the policy leaves open would change the verdict, found by deciding again with each of them.

use crate::recommender::decide::Choice;
use crate::recommender::mechanism::{MechanismId, mechanism};
use crate::recommender::played::Played;
use crate::recommender::policy::Policy;
use crate::recommender::reason::Names;
use crate::recommender::situation::{Situation, Tenant};
use crate::recommender::tenant_policy::{Class, TenantPolicy};
use crate::recommender::verdict::{Answer, Outcome};

/// More tenants than this are asked about together only.
const MOST_ASKED_ALONE: usize = 8;
/// So many answers are listed at most.
const MOST_ANSWERS: usize = 8;
/// Name of the one trust domain that is tried.
const ONE_DOMAIN: &str = "one";

/// A question that is open for some tenants, with one of its answers.
struct Trial {
    key: &'static str,
    answer: String,
    /// Places of the tenants; all that left it open.
    places: Vec<usize>,
    give: fn(&mut TenantPolicy, Option<Class>),
    class: Option<Class>,
}

/// Answers that would change what is proposed, or on how many devices; the greatest change first.
pub(crate) fn open_answers(
    situation: &Situation,
    played: &Played,
    policy: &Policy,
    now: &Choice,
) -> Vec<Answer> {
    let mechanism_now = now.picked().map(|it| it.mechanism);
    let mut found: Vec<Answer> = trials(situation)
        .into_iter()
        .filter_map(|trial| {
            let mut asked = situation.clone();
            for place in &trial.places {
                (trial.give)(&mut asked.tenants[*place].policy, trial.class);
            }
            let then = Choice::of(&asked, played, policy);
            let mechanism_then = then.picked().map(|it| it.mechanism);
            if mechanism_then == mechanism_now && then.devices() == now.devices() {
                return None;
            }
            let devices_change = now
                .devices()
                .zip(then.devices())
                .map(|(now, then)| i64::from(then) - i64::from(now));
            Some(answer(situation, &trial, then.outcome(), mechanism_then, devices_change))
        })
        .collect();
    let weight = |it: &Answer| std::cmp::Reverse(it.devices_change.map_or(0, i64::abs));
    found.sort_by_key(|it| (weight(it), !it.tenants.is_empty(), it.key.matches('+').count()));
    found.truncate(MOST_ANSWERS);
    found
}

fn answer(
    situation: &Situation,
    trial: &Trial,
    outcome: Outcome,
    then: Option<MechanismId>,
    devices_change: Option<i64>,
) -> Answer {
    let is_everybody = trial.places.len() == situation.tenants.len();
    let names: Vec<&str> =
        trial.places.iter().map(|it| situation.tenants[*it].name.as_str()).collect();
    let whom = if is_everybody { "all tenants".to_owned() } else { Names(&names).to_string() };
    let what = then.map_or(outcome.as_words(), |it| mechanism(it).title());
    let devices = match devices_change {
        Some(it) if it < 0 => format!(", on {} devices fewer", -it),
        Some(it) if it > 0 => format!(", on {it} devices more"),
        _ => String::new(),
    };
    let change = match outcome {
        Outcome::NotEnoughEvidence => "leave it open".to_owned(),
        _ => format!("make it {what}{devices}"),
    };
    Answer {
        key: trial.key.to_owned(),
        sentence: format!("`{}` for {whom} would {change}", trial.answer),
        tenants: if is_everybody {
            Vec::new()
        } else {
            names.iter().map(|it| (*it).to_owned()).collect()
        },
        answer: trial.answer.clone(),
        outcome,
        mechanism: then,
        devices_change,
    }
}

fn trials(situation: &Situation) -> Vec<Trial> {
    let tenants = &situation.tenants;
    let open = |is_open: fn(&Tenant) -> bool| -> Vec<usize> {
        (0..tenants.len()).filter(|it| is_open(&tenants[*it])).collect()
    };
    let undomained = open(|it| it.policy.trust_domain.is_none());
    let unclassed = open(|it| it.policy.class.is_none());
    let untold = open(|it| it.policy.may_stall.is_none() || it.policy.may_crash.is_none());
    let unlimited = open(|it| it.policy.whole_device.is_none());
    let asks_trust = !undomained.is_empty() && tenants.len() > 1;
    let mut trials = Vec::new();
    if asks_trust {
        trials.push(Trial {
            key: "trust_domain",
            answer: format!("trust_domain = \"{ONE_DOMAIN}\""),
            places: undomained.clone(),
            give: trust,
            class: None,
        });
    }
    trials.extend(classes(&unclassed, asks_trust && unclassed == undomained));
    if !untold.is_empty() && tenants.len() > 1 {
        trials.push(Trial {
            key: "may_stall + may_crash",
            answer: "may_stall = true, may_crash = true".to_owned(),
            places: untold,
            give: tolerate,
            class: None,
        });
    }
    if !unlimited.is_empty() {
        trials.push(Trial {
            key: "whole_device",
            answer: "whole_device = false".to_owned(),
            places: unlimited,
            give: share,
            class: None,
        });
    }
    trials
}

/// Every class for those that have none: all of them, each of few, and all of them with one trust domain.
fn classes(unclassed: &[usize], with_trust: bool) -> Vec<Trial> {
    if unclassed.is_empty() {
        return Vec::new();
    }
    let mut trials = Vec::new();
    for (class, word) in Class::ALL {
        let of = |places: Vec<usize>| Trial {
            key: "class",
            answer: format!("class = \"{word}\""),
            places,
            give: classify,
            class: Some(class),
        };
        trials.push(of(unclassed.to_vec()));
        if (2..=MOST_ASKED_ALONE).contains(&unclassed.len()) {
            trials.extend(unclassed.iter().map(|it| of(vec![*it])));
        }
        if with_trust {
            trials.push(Trial {
                key: "trust_domain + class",
                answer: format!("trust_domain = \"{ONE_DOMAIN}\", class = \"{word}\""),
                give: trust_and_classify,
                ..of(unclassed.to_vec())
            });
        }
    }
    trials
}

fn trust(policy: &mut TenantPolicy, _class: Option<Class>) {
    policy.trust_domain = Some(ONE_DOMAIN.to_owned());
}

fn classify(policy: &mut TenantPolicy, class: Option<Class>) {
    policy.class = class;
}

fn trust_and_classify(policy: &mut TenantPolicy, class: Option<Class>) {
    trust(policy, class);
    classify(policy, class);
}

fn tolerate(policy: &mut TenantPolicy, _class: Option<Class>) {
    policy.may_stall = policy.may_stall.or(Some(true));
    policy.may_crash = policy.may_crash.or(Some(true));
}

fn share(policy: &mut TenantPolicy, _class: Option<Class>) {
    policy.whole_device = Some(false);
}
