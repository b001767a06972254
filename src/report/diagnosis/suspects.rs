//! Everybody who may have done it, the most suspicious first.

use crate::analysis::diagnosis_findings::{Diagnosis, Suspicion};
use crate::analysis::influence::findings::InfluenceVerdict;
use crate::report::block::{Block, Mark, Statement};
use crate::report::diagnosis::{place, said};
use crate::report::influences::quantities::{chance, change, effect, finite, hidden, lag};
use crate::report::influences::tables;
use crate::report::influences::wording::{mark, quoted, reasons, verdict_words};
use crate::report::wording::{capitalised, name, percent, sentence, stopped};

/// So many suspects are told in sentences; all stand in the table.
const MOST_TOLD: usize = 10;

/// A statement on each suspect.
pub(super) fn blocks(it: &Diagnosis) -> Vec<Block> {
    if it.suspects.is_empty() {
        let nobody = format!(
            "There is nobody to suspect: no other tenant was seen beside {}.",
            quoted(&it.victim)
        );
        return vec![Block::Text(nobody)];
    }
    it.suspects
        .iter()
        .take(MOST_TOLD)
        .map(|suspicion| Block::Statement(statement(it, suspicion)))
        .collect()
}

/// The tests behind the statements; empty without suspects.
pub(super) fn proof(it: &Diagnosis) -> Vec<Block> {
    if it.suspects.is_empty() {
        return Vec::new();
    }
    let pairs: Vec<_> = it.suspects.iter().map(|it| it.influence.clone()).collect();
    vec![tables::tests(&pairs, "Suspects")]
}

fn statement(diagnosis: &Diagnosis, it: &Suspicion) -> Statement {
    let influence = &it.influence;
    let mut notes = Vec::new();
    notes.extend(activity(it, place(diagnosis)));
    if let Some(ratio) = finite(it.explained_ratio) {
        let (metric, change) = (diagnosis.metric.in_words(), change(diagnosis.metric, ratio));
        if !it.is_idle_in_window {
            notes.push(format!("Its activity explains {metric} {change} {}.", place(diagnosis)));
        }
    }
    notes.extend(overall(it));
    match influence.verdict {
        InfluenceVerdict::NotShown => {
            notes.push(format!("{} {}.", influence.metric.first_in_words(), hidden(influence)));
        }
        InfluenceVerdict::CannotTell => {
            notes.push(stopped(&capitalised(&reasons(influence))));
        }
        _ => {}
    }
    if let Some(remedy) = influence.remedy.as_deref().filter(|it| !it.trim().is_empty()) {
        let what = match influence.verdict <= InfluenceVerdict::Likely {
            true => "What would prove it",
            false => "What would show it",
        };
        notes.push(format!("{what}: {}", stopped(&sentence(remedy))));
    }
    Statement {
        mark: if it.is_idle_in_window { Mark::Absent } else { mark(influence.verdict) },
        tag: match it.is_idle_in_window {
            true => format!(
                "{}. {}, not in this window ({} over the whole recording)",
                it.rank,
                name(&it.suspect),
                verdict_words(influence)
            ),
            false => format!("{}. {}, {}", it.rank, name(&it.suspect), verdict_words(influence)),
        },
        text: said(&it.sentence),
        notes,
    }
}

/// How active the suspect was in the window and otherwise: means from its first sign to its last, as in every report.
fn activity(it: &Suspicion, place: &str) -> Option<String> {
    match (finite(it.window_activity_ratio), finite(it.normal_activity_ratio)) {
        (Some(window), Some(normal)) => Some(format!(
            "Mean activity from its first sign to its last: {} {place}, {} otherwise.",
            percent(window),
            percent(normal)
        )),
        (Some(window), None) => Some(format!(
            "Mean activity from its first sign to its last: {} {place}.",
            percent(window)
        )),
        (None, Some(normal)) => Some(format!(
            "Not there in the window; mean activity from its first sign to its last otherwise: {}.",
            percent(normal)
        )),
        (None, None) => Some("Its activity was not seen.".to_owned()),
    }
}

/// What was shown over the whole recording, in numbers.
fn overall(it: &Suspicion) -> Option<String> {
    let influence = &it.influence;
    let effect = effect(influence)?;
    let q = finite(influence.q).map_or_else(String::new, |q| format!(", q\u{a0}{}", chance(q)));
    let lag = lag(influence).map_or_else(String::new, |it| format!(", {it}"));
    Some(format!(
        "Over the whole recording: {} {effect} in its bursts{lag}{q}.",
        influence.metric.in_words()
    ))
}
