//! The answer in one sentence, device by device in one table, and who belongs together.

use crate::recommender::mechanism::{DisruptionLevel, MechanismId, mechanism};
use crate::recommender::reason::Measurement;
use crate::recommender::situation::NOBODY_KNOWS;
use crate::recommender::together::Together;
use crate::recommender::verdict::{Outcome, Verdict};
use crate::report::block::{Block, Cell, Mark, Table};
use crate::report::cells::{missing, numbers, words};
use crate::report::pieces::statement;
use crate::report::recommend::Recommendation;
use crate::report::wording::{capitalised, count, list, name, sentence, some, stopped, times};

/// The answer in one or two sentences.
pub(super) fn headline(input: &Recommendation<'_>) -> String {
    match input.verdicts {
        [only] => one(only),
        _ => decided(input),
    }
}

/// The answer where reasons stand below it.
pub(super) fn decided(input: &Recommendation<'_>) -> String {
    match input.verdicts {
        [] => "No GPU was found in this recording: nothing in it says on which GPU its tenants are. Give a mapping with a column for the GPU, or ask `whatif` about tenants that would share one.".to_owned(),
        [only] => decision(only),
        several => all(several),
    }
}

/// A way to share as a part of a sentence.
pub(crate) fn way(id: MechanismId) -> &'static str {
    match id {
        MechanismId::Exclusive => "a GPU for each",
        MechanismId::TimeSlicing => "time slicing",
        MechanismId::Mps => "MPS",
        MechanismId::Mig => "MIG",
    }
}

/// What to do with a device, as a part of a sentence.
pub(crate) fn what(verdict: &Verdict) -> String {
    match (verdict.outcome, &verdict.chosen) {
        (Outcome::Nobody, _) => "nothing: nobody works on it".to_owned(),
        (Outcome::NotEnoughEvidence, _) => "not enough evidence".to_owned(),
        (Outcome::Exclusive, _) if verdict.current.is_anonymous => {
            "as it is: nobody knows who was on it".to_owned()
        }
        (Outcome::Exclusive, _) if verdict.current.tenants < 2 => "as it is: one tenant".to_owned(),
        (Outcome::Exclusive, _) => match &verdict.fitting {
            Some(it) => format!("{} of {} share it, the others leave", it.tenants, it.of),
            None => format!("exclusive: a GPU for each of {} tenants", verdict.current.tenants),
        },
        (Outcome::Share, Some(chosen)) => match &chosen.layout {
            Some(layout) => format!("MIG, {layout}"),
            None => way(chosen.mechanism).to_owned(),
        },
        (Outcome::Share, None) => "share".to_owned(),
    }
}

/// The same for a place with more room: who gets which instance.
pub(crate) fn long_what(verdict: &Verdict) -> String {
    let short = what(verdict);
    let Some(chosen) = verdict.chosen.as_ref().filter(|_| verdict.outcome == Outcome::Share) else {
        return match verdict.outcome {
            Outcome::NotEnoughEvidence => "not enough evidence: leave it as it is".to_owned(),
            _ => short,
        };
    };
    let given: Vec<String> = chosen
        .assignments
        .iter()
        .filter_map(|it| Some(format!("{} for {}", it.profile.as_ref()?, name(&it.tenant))))
        .collect();
    match given.is_empty() {
        true => format!("share it by {short}"),
        false => format!("MIG: {}", some(&given)),
    }
}

/// What it takes to get there, in a few words; `None` where nothing is proposed.
pub(crate) fn disturbs(verdict: &Verdict) -> Option<&'static str> {
    let it = verdict.disruption.as_ref()?;
    Some(match (it.level, it.is_node_wide) {
        (DisruptionLevel::None, _) => "none",
        (DisruptionLevel::RestartClients, false) => "tenants restart",
        (DisruptionLevel::RestartClients, true) => "tenants of the node restart",
        (DisruptionLevel::DrainInstances, _) => "drain MIG instances",
        (DisruptionLevel::DrainDevice, false) => "drain the GPU",
        (DisruptionLevel::DrainDevice, true) => "drain the node",
        (DisruptionLevel::ResetDevice, false) => "drain and reset the GPU",
        (DisruptionLevel::ResetDevice, true) => "drain the node, reset the GPU",
    })
}

/// The cheapest measurement that could change the verdict, as a sentence; `None` where none could.
pub(crate) fn next_step(verdict: &Verdict) -> Option<String> {
    let it = &verdict.measurement.as_ref()?.measurement;
    Some(format!("To settle it: {}", uncapitalised(&to_measure(it))))
}

/// A measurement and how long it takes, as a sentence.
pub(crate) fn to_measure(it: &Measurement) -> String {
    format!("{}{}.", sentence(&it.sentence), about(it))
}

/// How long a measurement takes, for the end of its sentence; nothing for an answer or a look.
pub(crate) fn about(it: &Measurement) -> String {
    match it.about_s {
        some if some > 0.0 => format!(" (about {})", rough(some)),
        _ => String::new(),
    }
}

/// A length of time without digits that a guess does not have: `15 min`, `2.5 h`.
fn rough(seconds: f64) -> String {
    let (value, unit) = match seconds {
        it if it < 120.0 => (it, "s"),
        it if it < 7200.0 => (it / 60.0, "min"),
        it => (it / 3600.0, "h"),
    };
    let digits = if value < 9.95 { format!("{value:.1}") } else { format!("{value:.0}") };
    format!("{} {unit}", digits.trim_end_matches(".0"))
}

/// The text with a small first letter, unless it begins with a word in capitals.
fn uncapitalised(text: &str) -> String {
    let is_acronym = text.chars().take(2).all(|it| it.is_uppercase() || !it.is_alphabetic());
    let mut letters = text.chars();
    match letters.next().filter(|_| !is_acronym) {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => text.to_owned(),
    }
}

/// What to do with one device, in one sentence, with the reason and what would settle it.
pub(super) fn one(verdict: &Verdict) -> String {
    let why = reason(verdict).map_or_else(String::new, |it| format!(": {it}"));
    let next = next_step(verdict).map_or_else(String::new, |it| format!(" {it}"));
    told(verdict, &why, &next)
}

/// What to do with one device, where the reason stands beside it.
pub(super) fn decision(verdict: &Verdict) -> String {
    told(verdict, "", "")
}

/// The reason that decided about a device and what would settle it, as sentences; `None` where neither is known.
pub(super) fn grounds(verdict: &Verdict) -> Option<String> {
    let is_open = verdict.outcome == Outcome::NotEnoughEvidence || verdict.current.is_anonymous;
    let why = reason(verdict).map(|it| stopped(&capitalised(&it)));
    let parts: Vec<String> =
        why.into_iter().chain(next_step(verdict).filter(|_| is_open)).collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

fn reason(verdict: &Verdict) -> Option<String> {
    verdict.decisive.as_ref().map(|it| sentence(&it.sentence))
}

fn told(verdict: &Verdict, why: &str, next: &str) -> String {
    let label = name(&verdict.label);
    if verdict.current.is_anonymous {
        return nameless(verdict, &label, why, next);
    }
    match verdict.outcome {
        Outcome::Nobody => format!("Nobody works on {label}, so there is nothing to decide."),
        Outcome::Share if verdict.current.tenants < 2 => {
            format!("Give the one tenant of {label} a part of it by {}{why}.", what(verdict))
        }
        Outcome::Share => format!("Share {label} by {}{why}.", what(verdict)),
        Outcome::Exclusive if verdict.current.tenants < 2 => {
            format!("Leave {label} to its one tenant{why}.")
        }
        Outcome::Exclusive => match &verdict.fitting {
            Some(it) => format!(
                "{label} does not take all of its tenants: {}. {} such GPUs take them all.",
                sentence(&it.sentence),
                it.devices
            ),
            None => format!(
                "Do not share {label}: each of its {} tenants needs a GPU of its own{why}.",
                verdict.current.tenants
            ),
        },
        Outcome::NotEnoughEvidence => {
            format!("Not enough evidence to decide about {label}{why}.{next}")
        }
    }
}

/// The same where nobody knows who was on it: what follows stands on one tenant, and that is said.
fn nameless(verdict: &Verdict, label: &str, why: &str, next: &str) -> String {
    let who = NOBODY_KNOWS.replacen("on it", &format!("on {label}"), 1);
    let then = match verdict.outcome {
        Outcome::Share => {
            format!(
                "If its load is that of one tenant, give that a part by {}{why}.",
                what(verdict)
            )
        }
        Outcome::NotEnoughEvidence | Outcome::Nobody => {
            format!("There is not enough evidence to decide{why}.")
        }
        Outcome::Exclusive => format!("Leave it as it is{why}."),
    };
    format!("{}. {then}{next}", capitalised(&who))
}

fn all(verdicts: &[Verdict]) -> String {
    let is = |verdict: &Verdict, wanted: MechanismId, is_single: bool| {
        verdict.outcome == Outcome::Share
            && verdict.mechanism() == Some(wanted)
            && (verdict.current.tenants < 2) == is_single
            && !verdict.current.is_anonymous
    };
    let shared = [MechanismId::Mig, MechanismId::Mps, MechanismId::TimeSlicing];
    let mut parts: Vec<String> = Vec::new();
    for wanted in shared {
        let number = verdicts.iter().filter(|it| is(it, wanted, false)).count();
        if number > 0 {
            let verb = if number == 1 { "is" } else { "are" };
            parts.push(format!("{number} {verb} to be shared by {}", way(wanted)));
        }
        let number = verdicts.iter().filter(|it| is(it, wanted, true)).count();
        if number > 0 {
            let whose = if number == 1 { "gives its" } else { "give their" };
            parts.push(format!("{number} {whose} one tenant only a part by {}", way(wanted)));
        }
    }
    parts.extend(unnamed(verdicts));
    parts.extend(unshared(verdicts));
    let others = [
        (Outcome::NotEnoughEvidence, "cannot be decided about yet", "cannot be decided about yet"),
        (Outcome::Nobody, "is used by nobody", "are used by nobody"),
    ];
    for (outcome, singular, plural) in others {
        let number = verdicts.iter().filter(|it| it.outcome == outcome).count();
        if number > 0 {
            parts.push(format!("{number} {}", if number == 1 { singular } else { plural }));
        }
    }
    let nameless = verdicts.iter().filter(|it| it.current.is_anonymous).count();
    let nobody = match nameless {
        0 => String::new(),
        1 => format!(" {}.", capitalised(&NOBODY_KNOWS.replacen("on it", "on 1 of them", 1))),
        all if all == verdicts.len() => {
            format!(" {}.", capitalised(&NOBODY_KNOWS.replacen("on it", "on them", 1)))
        }
        some => {
            format!(
                " {}.",
                capitalised(&NOBODY_KNOWS.replacen("on it", &format!("on {some} of them"), 1))
            )
        }
    };
    format!("Of {} GPUs, {}.{nobody}", verdicts.len(), list(&parts))
}

/// GPUs of which nobody knows who was on them: what is said of one tenant holds only if it is one.
fn unnamed(verdicts: &[Verdict]) -> Vec<String> {
    let of = |outcome: Outcome| {
        verdicts.iter().filter(|it| it.current.is_anonymous && it.outcome == outcome).count()
    };
    let mut parts = Vec::new();
    match of(Outcome::Share) {
        0 => {}
        1 => parts.push("1 needs only a part by MIG if its load is that of one tenant".to_owned()),
        more => parts.push(format!(
            "{more} need only a part each by MIG if the load of each is that of one tenant"
        )),
    }
    match of(Outcome::Exclusive) {
        0 => {}
        1 => parts.push("1 stays as it is".to_owned()),
        more => parts.push(format!("{more} stay as they are")),
    }
    parts
}

/// GPUs that stay with one tenant, those that take only some of theirs, and those whose tenants need one each.
fn unshared(verdicts: &[Verdict]) -> Vec<String> {
    let is_it = |it: &&Verdict| it.outcome == Outcome::Exclusive && !it.current.is_anonymous;
    let exclusive = || verdicts.iter().filter(is_it);
    let single = exclusive().filter(|it| it.current.tenants < 2).count();
    let several: Vec<&Verdict> = exclusive().filter(|it| it.current.tenants >= 2).collect();
    let (some, none): (Vec<&Verdict>, Vec<&Verdict>) =
        several.into_iter().partition(|it| it.fitting.is_some());
    let mut parts = Vec::new();
    match single {
        0 => {}
        1 => parts.push("1 stays with its one tenant".to_owned()),
        more => parts.push(format!("{more} stay with their one tenant each")),
    }
    match some.len() {
        0 => {}
        1 => parts.push("1 takes only some of its tenants".to_owned()),
        more => parts.push(format!("{more} take only some of their tenants")),
    }
    let tenants: usize = none.iter().map(|it| it.current.tenants).sum();
    match none.len() {
        0 => {}
        1 => parts.push(format!("1 should not be shared (its {tenants} tenants need a GPU each)")),
        more => parts
            .push(format!("{more} should not be shared (their {tenants} tenants need a GPU each)")),
    }
    parts
}

/// All devices at a glance.
pub(super) fn table(input: &Recommendation<'_>) -> Block {
    let rows = input.verdicts.iter().map(|it| {
        vec![
            Cell::Name(name(&it.label)),
            match it.current.is_anonymous {
                true => missing("no process was recorded"),
                false => Cell::Text(count(it.current.tenants, "tenant", "tenants")),
            },
            Cell::Text(capitalised(&what(it))),
            disturbs(it)
                .map_or_else(|| missing("nothing is proposed"), |it| Cell::Text(capitalised(it))),
            match it.outcome {
                Outcome::Share | Outcome::Exclusive => Cell::Confidence(it.confidence.value()),
                Outcome::NotEnoughEvidence | Outcome::Nobody => missing("nothing is proposed"),
            },
        ]
    });
    Block::Table(Table {
        caption: "What to do with each GPU".to_owned(),
        columns: vec![
            words("GPU"),
            words("Now"),
            words("Proposed"),
            words("Disruption"),
            numbers("Confidence"),
        ],
        rows: rows.collect(),
    })
}

/// Who would share if tenants could move.
pub(super) fn together(found: &Together) -> Vec<Block> {
    let rows = found.groups.iter().map(|it| {
        vec![
            Cell::Text(list(&it.tenants.iter().map(|it| name(it)).collect::<Vec<_>>())),
            Cell::Text(capitalised(&it.mechanism.map_or_else(
                || "a device to itself".to_owned(),
                |it| mechanism(it).title().to_owned(),
            ))),
            match it.worst_p99_factor {
                Some(it) => Cell::Quantity(times(it)),
                None => missing("nothing was predicted"),
            },
        ]
    });
    let mut blocks = vec![
        Block::Text(sentence(&found.sentence)),
        Block::Table(Table {
            caption: "Groups for one device each, if tenants can move; worst p99 over that alone, upper end".to_owned(),
            columns: vec![words("Tenants"), words("Way"), numbers("Worst p99")],
            rows: rows.collect(),
        }),
    ];
    blocks.extend(found.caveats.iter().map(|it| statement(Mark::Unknown, "", it, Vec::new())));
    blocks
}
