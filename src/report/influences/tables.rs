//! All influences of one device in numbers.

use crate::analysis::findings::Scope;
use crate::analysis::influence::findings::{
    ClockOffset, ClockOffsetOrigin, Influence, InfluenceVerdict,
};
use crate::report::block::{Block, Cell, Table};
use crate::report::cells::{
    count as number_of, measure, missing, number_or, numbers, percent_or, words,
};
use crate::report::influences::quantities::{chance, effect, finite, hidden, lag, share};
use crate::report::influences::wording::{dose, pair, reasons, verdict_cell};
use crate::report::wording::{clean, count, list, name, sentence};

/// More rows than this are folded away.
const UNFOLDED: usize = 12;
/// So many rows are shown at most.
const MOST: usize = 200;

/// Every influence: first what was shown, then, folded, how.
pub(crate) fn blocks(pairs: &[Influence], name: &str) -> Vec<Block> {
    if pairs.is_empty() {
        return Vec::new();
    }
    let shown = pairs.get(..pairs.len().min(MOST)).unwrap_or(pairs);
    let left_out = pairs.len() - shown.len();
    let results = results(shown, &format!("{name}: what was shown about every pair"));
    let mut blocks = match shown.len() > UNFOLDED {
        false => vec![Block::Table(results)],
        true => vec![Block::Details {
            summary: format!("{name}: all {}", count(shown.len(), "pair", "pairs")),
            blocks: vec![Block::Table(results)],
        }],
    };
    blocks.push(tests(shown, name));
    if left_out > 0 {
        blocks.push(Block::Text(format!(
            "{} more {} in the JSON and the CSV.",
            left_out,
            if left_out == 1 { "pair stands" } else { "pairs stand" }
        )));
    }
    blocks
}

/// How each pair was tested, folded away.
pub(crate) fn tests(pairs: &[Influence], name: &str) -> Block {
    Block::Details {
        summary: format!("{name}: how each pair was tested"),
        blocks: vec![Block::Table(evidence(pairs, &format!("{name}: the tests behind it")))],
    }
}

/// Suspect, victim, metric and part of the time: what a row is about.
fn about(it: &Influence) -> Cell {
    let row = format!("{}, {}", pair(it), it.metric.in_words());
    Cell::Text(match &it.scope {
        Scope::Whole => row,
        part => format!("{row}, {}", name(&part.to_string())),
    })
}

fn results(pairs: &[Influence], caption: &str) -> Table {
    let row = |it: &Influence| {
        vec![
            about(it),
            verdict_cell(it),
            effect(it).map_or_else(
                || missing("bursts and gaps of the suspect could not be compared"),
                |text| measure(text, it.effect_ratio.unwrap_or(f64::NAN)),
            ),
            lag(it).map_or_else(
                || missing("no lag was found"),
                |text| measure(text, it.lag_seconds.unwrap_or(f64::NAN)),
            ),
            chance_or(it.q),
            Cell::Text(meaning(it)),
        ]
    };
    Table {
        caption: caption.to_owned(),
        columns: vec![
            words("Suspect → victim, metric"),
            words("Verdict"),
            numbers("Effect"),
            numbers("Lag"),
            numbers("q"),
            words("What that means"),
        ],
        rows: pairs.iter().map(row).collect(),
    }
}

fn meaning(it: &Influence) -> String {
    match it.verdict {
        InfluenceVerdict::NotShown => hidden(it),
        InfluenceVerdict::CannotTell => reasons(it),
        _ => dose(it).unwrap_or_else(|| match it.reasons.is_empty() {
            true => "the tests agree".to_owned(),
            false => reasons(it),
        }),
    }
}

fn evidence(pairs: &[Influence], caption: &str) -> Table {
    let row = |it: &Influence| {
        let held: Vec<String> = it.held_fixed.iter().map(|it| clean(it)).collect();
        vec![
            about(it),
            chance_or(it.p_granger),
            chance_or(it.p_event),
            chance_or(it.q_any_dependence),
            share_or(it.mde_ratio, "cannot be computed from this recording"),
            share_or(it.importance_ratio, "not part of the common regression"),
            number_or(finite(it.cpi2_score), 2, "the two hardly vary together, or one is constant"),
            number_of(it.bins),
            number_of(it.bursts),
            percent_or(finite(it.on_ratio_of_time), "bursts cannot be told from gaps"),
            if held.is_empty() {
                Cell::Text("nothing".to_owned())
            } else {
                Cell::Text(list(&held))
            },
            Cell::Text(codes(it)),
        ]
    };
    Table {
        caption: caption.to_owned(),
        columns: vec![
            words("Suspect → victim, metric"),
            numbers("p, Granger"),
            numbers("p, event contrast"),
            numbers("q, any dependence"),
            numbers("Minimum detectable effect"),
            numbers("Importance"),
            numbers("CPI2"),
            numbers("Bins"),
            numbers("Bursts"),
            numbers("On"),
            words("Held fixed"),
            words("Reasons"),
        ],
        rows: pairs.iter().map(row).collect(),
    }
}

fn codes(it: &Influence) -> String {
    match it.reasons.is_empty() {
        true => "none given".to_owned(),
        false => sentence(&it.reasons.join("; ")),
    }
}

fn chance_or(value: Option<f64>) -> Cell {
    match finite(value) {
        Some(it) => measure(chance(it), it),
        None => missing("the test could not be made"),
    }
}

fn share_or(value: Option<f64>, reason: &str) -> Cell {
    finite(value).map_or_else(|| missing(reason), |it| measure(share(it), it))
}

/// How far the clocks of services are from the GPU's; empty when that is nowhere known.
pub(crate) fn clocks(offsets: &[ClockOffset], name: &str) -> Vec<Block> {
    if offsets.is_empty() {
        return Vec::new();
    }
    let row = |it: &ClockOffset| {
        vec![Cell::Name(clean(&it.tenant)), offset_cell(it), Cell::Text(sentence(&it.sentence))]
    };
    vec![Block::Table(Table {
        caption: format!("{name}: clocks of the services against the clock of the GPU"),
        columns: vec![words("Service"), words("Its clock"), words("How it is known")],
        rows: offsets.iter().map(row).collect(),
    })]
}

/// The offset in words: an assumed one is no measured zero.
pub(crate) fn offset_words(it: &ClockOffset) -> String {
    let amount = match it.offset_s {
        it if !it.is_finite() => return "unknown".to_owned(),
        0.0 => "agrees".to_owned(),
        late if late > 0.0 => {
            format!("{} late", crate::report::influences::quantities::length(late))
        }
        early => format!("{} early", crate::report::influences::quantities::length(-early)),
    };
    match it.origin {
        ClockOffsetOrigin::Given => format!("{amount}, given"),
        ClockOffsetOrigin::Estimated => format!("{amount}, estimated"),
        ClockOffsetOrigin::SameClock => "the same clock".to_owned(),
        ClockOffsetOrigin::Assumed => "taken to agree".to_owned(),
    }
}

fn offset_cell(it: &ClockOffset) -> Cell {
    match it.offset_s.is_finite() {
        true => Cell::Text(offset_words(it)),
        false => missing("the offset is not a finite number"),
    }
}
