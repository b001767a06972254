//! The answer in one sentence, device by device in one table, and who belongs together.

use crate::recommender::mechanism::{MechanismId, mechanism};
use crate::recommender::together::Together;
use crate::recommender::verdict::{Outcome, Verdict};
use crate::report::block::{Block, Cell, Mark, Table};
use crate::report::cells::{missing, numbers, words};
use crate::report::pieces::statement;
use crate::report::recommend::Recommendation;
use crate::report::wording::{capitalised, count, list, name, sentence};

pub(super) fn headline(input: &Recommendation<'_>) -> String {
    match input.verdicts {
        [] => "No GPU was found in this recording: nothing in it says on which GPU its tenants are. Give a mapping with a column for the GPU, or ask `whatif` about tenants that would share one.".to_owned(),
        [only] => one(only),
        several => all(several),
    }
}

/// What to do with a device, as a part of a sentence.
pub(super) fn what(verdict: &Verdict) -> String {
    match (verdict.outcome, &verdict.chosen) {
        (Outcome::Nobody, _) => "nobody works on it".to_owned(),
        (Outcome::NotEnoughEvidence, _) => "not enough evidence".to_owned(),
        (Outcome::Exclusive, _) if verdict.current.tenants < 2 => "as it is: one tenant".to_owned(),
        (Outcome::Exclusive, _) => match &verdict.fitting {
            Some(it) => format!("{} of {} share it, the others leave", it.tenants, it.of),
            None => "a device for each tenant".to_owned(),
        },
        (Outcome::Share, Some(chosen)) => match &chosen.layout {
            Some(layout) => format!("MIG, {layout}"),
            None => mechanism(chosen.mechanism).title().to_owned(),
        },
        (Outcome::Share, None) => "share".to_owned(),
    }
}

/// What to do with one device, in one sentence.
pub(super) fn one(verdict: &Verdict) -> String {
    let label = name(&verdict.label);
    let why = verdict
        .decisive
        .as_ref()
        .map_or_else(String::new, |it| format!(": {}", sentence(&it.sentence)));
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
            None => format!("Give each tenant of {label} a device of its own{why}."),
        },
        Outcome::NotEnoughEvidence => {
            let next = verdict.measurement.as_ref().map_or_else(String::new, |it| {
                format!(" To settle it: {}.", sentence(&it.measurement.sentence))
            });
            format!("Not enough evidence to decide about {label}{why}.{next}")
        }
    }
}

fn all(verdicts: &[Verdict]) -> String {
    let is = |verdict: &Verdict, wanted: MechanismId| {
        verdict.outcome == Outcome::Share && verdict.mechanism() == Some(wanted)
    };
    let shared = [MechanismId::Mig, MechanismId::Mps, MechanismId::TimeSlicing];
    let mut parts: Vec<String> = Vec::new();
    for wanted in shared {
        let number = verdicts.iter().filter(|it| is(it, wanted)).count();
        if number > 0 {
            let verb = if number == 1 { "is" } else { "are" };
            parts.push(format!("{number} {verb} to be shared by {}", mechanism(wanted).title()));
        }
    }
    let others = [
        (Outcome::Exclusive, "is to be left to one tenant", "are to be left to one tenant each"),
        (Outcome::NotEnoughEvidence, "cannot be decided about yet", "cannot be decided about yet"),
        (Outcome::Nobody, "is used by nobody", "are used by nobody"),
    ];
    for (outcome, singular, plural) in others {
        let number = verdicts.iter().filter(|it| it.outcome == outcome).count();
        if number > 0 {
            parts.push(format!("{number} {}", if number == 1 { singular } else { plural }));
        }
    }
    format!("Of {} GPUs, {}.", verdicts.len(), list(&parts))
}

/// All devices at a glance.
pub(super) fn table(input: &Recommendation<'_>) -> Block {
    let rows = input.verdicts.iter().map(|it| {
        vec![
            Cell::Name(name(&it.label)),
            Cell::Text(count(it.current.tenants, "tenant", "tenants")),
            Cell::Text(capitalised(&what(it))),
            match it.outcome {
                Outcome::Share | Outcome::Exclusive => Cell::Confidence(it.confidence.value()),
                Outcome::NotEnoughEvidence | Outcome::Nobody => missing("nothing is proposed"),
            },
        ]
    });
    Block::Table(Table {
        caption: "What to do with each GPU".to_owned(),
        columns: vec![words("GPU"), words("Now"), words("Proposed"), numbers("Confidence")],
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
                Some(it) => Cell::Quantity(format!("{it:.2}")),
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
