//! Two recordings as a report: what changed and how sure that is, then the proof, then how it was made.

mod picture;
mod tables;
#[cfg(test)]
pub(crate) mod tests;

use crate::analysis::compare::findings::{
    Certainty, ChangeVerdict, Comparison, ComparisonAnswer, OneSided, OneSidedKind, ServiceChange,
    Side,
};
use crate::domain::units::Seconds;
use crate::recommender::suitability::Suitability;
use crate::report::Report;
use crate::report::block::{Block, Mark, without_unused_terms};
use crate::report::influences::quantities::{chance, share};
use crate::report::pieces::{heading, statement};
use crate::report::sections::glossary;
use crate::report::wording::{count, name, sentence, span, stopped};

/// Everything that the report of a comparison is made from.
#[derive(Debug, Clone, Copy)]
pub struct ComparisonInput<'a> {
    /// What differs.
    pub comparison: &'a Comparison,
    /// Who suited sharing before.
    pub suitability_before: &'a [Suitability],
    /// Who suits sharing after.
    pub suitability_after: &'a [Suitability],
    /// Version of cotenant.
    pub tool_version: &'a str,
    /// The command line without secrets; may be empty.
    pub command: &'a str,
}

/// The comparison as neutral blocks, in reading order.
pub fn report(input: &ComparisonInput<'_>) -> Report {
    let it = input.comparison;
    let mut blocks =
        vec![heading(2, "answer", answer(it)), Block::Lead(stopped(&sentence(&it.headline)))];
    if it.is_same {
        let text = "both are the same recording: whatever is shown below is the same twice";
        blocks.push(statement(Mark::Neutral, "note", text, Vec::new()));
    }
    blocks.extend(it.services.iter().filter(|it| is_shown(it)).map(told));
    blocks.extend(picture::changes(it));
    if !it.services.is_empty() {
        blocks.push(heading(2, "services", "Each service, before and after"));
        blocks.push(Block::Table(tables::services(it)));
        blocks.extend(it.services.iter().filter(|it| !is_shown(it)).filter_map(not_shown));
    }
    blocks.extend(tables::only(it));
    blocks.extend(tables::conditions(it));
    blocks.extend(picture::shapes(it));
    blocks.extend(tables::shapes(it));
    blocks.extend(tables::influences(it));
    blocks.extend(tables::words_blocks(input.suitability_before, input.suitability_after));
    blocks.extend(how(input));
    blocks.push(heading(2, "glossary", "Terms"));
    blocks.extend(terms());
    Report {
        title: sentence(&format!("{} against {}", it.before.name, it.after.name)),
        subtitle: subtitle(it),
        blocks: without_unused_terms(blocks),
    }
}

/// Words whose meaning is another one for a change than for an influence.
const OWN_TERMS: [(&str, &str); 4] = [
    (
        "Confirmed",
        "Of a change: the error over all tests is controlled, and the tenant's own load does not explain it. Of an influence: two independent tests agree, and few of all such findings together are false.",
    ),
    (
        "Likely",
        "Of a change: it is there, but the tenant's own load changed too, or is not known, and may explain it. Of an influence: one test is firm and the other does not object.",
    ),
    (
        "Not shown",
        "Nothing was found. That is no proof that nothing changed: what would have been noticed stands beside it.",
    ),
    (
        "At equal load",
        "What is left of a change when the tenant's own load is held fixed, by the line that both recordings show within themselves.",
    ),
];

/// The glossary, with those words in this page's sense.
fn terms() -> impl Iterator<Item = Block> {
    let is_own = |it: &Block| matches!(it, Block::Term { term, .. } if OWN_TERMS.iter().any(|own| own.0 == term));
    let own =
        OWN_TERMS.iter().map(|it| Block::Term { term: it.0.to_owned(), meaning: it.1.to_owned() });
    own.chain(glossary::terms().filter(move |it| !is_own(it)))
}

/// The kind of answer in a few words.
fn answer(it: &Comparison) -> &'static str {
    let has_changed = it.services.iter().any(|it| it.verdict == ChangeVerdict::Different);
    match it.answer {
        ComparisonAnswer::Worse => "Worse after the change",
        ComparisonAnswer::Better => "Better after the change",
        ComparisonAnswer::Mixed => "Some worse, some better after the change",
        ComparisonAnswer::NotShown if has_changed => "Neither better nor worse was shown",
        ComparisonAnswer::NotShown => "No change was shown",
        ComparisonAnswer::CannotTell => "Cannot tell",
    }
}

fn subtitle(it: &Comparison) -> String {
    let side = |it: &crate::analysis::compare::findings::SideSummary, when: &str| match it.span {
        Some(seen) => {
            let part = it
                .part_of_s
                .map_or_else(String::new, |it| format!(", part of a recording of {}", Seconds(it)));
            format!("{when} {}: {}{part}", name(&it.name), span(seen))
        }
        None => format!("{when} {}: no samples", name(&it.name)),
    };
    format!("{} · {}", side(&it.before, "before"), side(&it.after, "after"))
}

fn is_shown(it: &ServiceChange) -> bool {
    matches!(it.verdict, ChangeVerdict::Worse | ChangeVerdict::Better | ChangeVerdict::Different)
}

/// The picture of the changes.
#[cfg(test)]
pub(crate) fn figure_of(it: &Comparison) -> crate::report::figure::Figure {
    match picture::changes(it).pop() {
        Some(Block::Figure { figure, .. }) => figure,
        other => panic!("{other:?}"),
    }
}

/// How firm a change is.
fn mark(it: &ServiceChange) -> Mark {
    match (it.verdict, it.certainty) {
        (ChangeVerdict::NotShown, _) => Mark::Absent,
        (ChangeVerdict::CannotTell, _) => Mark::Unknown,
        (ChangeVerdict::Different, _) => Mark::Neutral,
        (ChangeVerdict::Better, Some(Certainty::Confirmed)) => Mark::Fine,
        (_, Some(Certainty::Confirmed)) => Mark::Firm,
        _ => Mark::Probable,
    }
}

/// The verdict in a few words.
fn verdict(it: &ServiceChange) -> &'static str {
    match (it.verdict, it.certainty) {
        (ChangeVerdict::NotShown, _) => "not shown",
        (ChangeVerdict::CannotTell, _) => "cannot tell",
        (ChangeVerdict::Different, _) => "changed",
        (ChangeVerdict::Worse, Some(Certainty::Confirmed)) => "worse, confirmed",
        (ChangeVerdict::Worse, _) => "worse, likely",
        (ChangeVerdict::Better, Some(Certainty::Confirmed)) => "better, confirmed",
        (ChangeVerdict::Better, _) => "better, likely",
    }
}

/// A change that was shown, as a statement.
fn told(it: &ServiceChange) -> Block {
    let change = tables::interval(it.change_ratio, it.change_low, it.change_high)
        .unwrap_or_else(|| "an unknown amount".to_owned());
    let small = if it.is_small { " (below 5 %, so small)" } else { "" };
    let text = format!("`{}`: {} changed by {change}{small}", quoted(it), it.metric.in_words());
    statement(mark(it), verdict(it), &text, it.reasons.clone())
}

/// The tenant's name within a sentence; it cannot end the marks around it.
fn quoted(it: &ServiceChange) -> String {
    name(&it.tenant).replace('`', "'")
}

/// What else is known about a change that was not shown; `None` where the table says it all.
fn not_shown(it: &ServiceChange) -> Option<Block> {
    if it.reasons.is_empty() {
        return None;
    }
    let text = format!("`{}`: {}", quoted(it), it.metric.in_words());
    Some(statement(mark(it), verdict(it), &text, it.reasons.clone()))
}

/// One thing that is in one recording only.
fn one_sided(it: &OneSided) -> String {
    let kind = match it.kind {
        OneSidedKind::Device => "GPU",
        OneSidedKind::Tenant => "tenant",
        OneSidedKind::Metric => "metric",
    };
    let side = match it.side {
        Side::Before => "only before",
        Side::After => "only after",
    };
    format!("{kind} `{}`: {side}", name(&it.name).replace('`', "'"))
}

/// How the numbers were made, and what they do not say.
fn how(input: &ComparisonInput<'_>) -> Vec<Block> {
    let it = input.comparison;
    let least = it.services.iter().filter(|it| is_shown(it)).filter_map(|it| it.p_of_all);
    let firmest = least
        .reduce(f64::min)
        .map_or_else(String::new, |it| format!("; that of the firmest change is {}", chance(it)));
    let family = match it.tests.services {
        0 => "No service could be tested.".to_owned(),
        1 => format!(
            "In the one test of a service a false change comes up with a chance of at most 5 %{firmest}."
        ),
        some => format!(
            "Over all {some} tests of services together a false change comes up with a chance of at most 5 % (Holm){firmest}."
        ),
    };
    let conditions = match it.tests.conditions {
        0 => String::new(),
        some => format!(
            " Conditions of the GPUs are a second family of {}.",
            count(some as usize, "test", "tests")
        ),
    };
    let mut blocks = vec![
        heading(2, "method", "How sure, and what this does not show"),
        Block::Text(format!(
            "Means are compared bin by bin: of logarithms for times, of the values for rates. Neighbouring bins resemble \
             each other, so the error of each mean comes from its slow movements (at most eight cosines), and intervals are \
             Student's t at 95 %. {family}{conditions}",
        )),
        Block::Text(
            "Two recordings are no experiment: whatever else differed between the two times, and was not recorded, may be \
             the cause. Load that was recorded is held fixed by a line; `cotenant diagnose --plan-experiment` plans blocks \
             by lot, which prove a cause."
                .to_owned(),
        ),
    ];
    blocks.extend(it.remarks.iter().map(|it| statement(Mark::Unknown, "note", it, Vec::new())));
    blocks.push(Block::Text(format!("Made by cotenant {}.", sentence(input.tool_version))));
    if !input.command.trim().is_empty() {
        blocks.push(Block::Code(sentence(input.command)));
    }
    blocks
}

/// Least change that would have been noticed.
fn noticed(it: &ServiceChange) -> Option<String> {
    it.mde_ratio.filter(|it| it.is_finite()).map(share)
}
