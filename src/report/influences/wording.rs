//! What was shown about two tenants, in one sentence with its numbers.

use crate::analysis::findings::Scope;
use crate::analysis::influence::findings::{Channel, Influence, InfluenceVerdict};
use crate::report::block::{Cell, Mark};
use crate::report::influences::quantities::{chance, change, effect, finite, hidden, lag};
use crate::report::wording::{clean, name, sentence, shorten};

/// Whether an influence was shown, firmly or as likely.
pub(crate) fn is_shown(verdict: InfluenceVerdict) -> bool {
    verdict <= InfluenceVerdict::Likely
}

/// How firm a verdict is.
pub(crate) fn mark(verdict: InfluenceVerdict) -> Mark {
    match verdict {
        InfluenceVerdict::Confirmed => Mark::Firm,
        InfluenceVerdict::Through => Mark::Indirect,
        InfluenceVerdict::Likely => Mark::Probable,
        InfluenceVerdict::NotShown => Mark::Absent,
        InfluenceVerdict::CannotTell => Mark::Unknown,
    }
}

/// The verdict in a few words.
pub(crate) fn verdict_words(it: &Influence) -> String {
    match it.verdict {
        InfluenceVerdict::Confirmed => "confirmed".to_owned(),
        InfluenceVerdict::Through => format!("through {}", channel(it.through)),
        InfluenceVerdict::Likely => "likely".to_owned(),
        InfluenceVerdict::NotShown => "not shown".to_owned(),
        InfluenceVerdict::CannotTell => "cannot tell".to_owned(),
    }
}

/// The verdict as a cell.
pub(crate) fn verdict_cell(it: &Influence) -> Cell {
    Cell::Marked(mark(it.verdict), verdict_words(it))
}

/// The way by which an influence acts.
pub(crate) fn channel(through: Option<Channel>) -> &'static str {
    match through {
        Some(Channel::PowerCap) => "the power cap",
        Some(Channel::Heat) => "heat",
        Some(Channel::Clock) => "the clock",
        Some(Channel::Pcie) => "the PCIe link",
        None => "the whole board",
    }
}

/// A name within a sentence; it cannot end the marks around it.
pub(crate) fn quoted(label: &str) -> String {
    format!("`{}`", name(label).replace('`', "'"))
}

/// The part of the time as the end of a sentence; empty for the whole.
pub(crate) fn within(scope: &Scope) -> String {
    match scope {
        Scope::Whole => String::new(),
        Scope::Phase { label } => format!(" in phase {}", quoted(label)),
        window @ Scope::Window { .. } => format!(" in a {window}"),
    }
}

/// What was shown, in one sentence without a full stop.
pub(crate) fn in_words(it: &Influence) -> String {
    let (suspect, victim) = (quoted(&it.suspect), quoted(&it.victim));
    let (metric, part) = (it.metric.in_words(), within(&it.scope));
    match it.verdict {
        InfluenceVerdict::Confirmed => {
            format!("{suspect} slows {victim}{part}: {}; confirmed{}", size(it), sureness(it))
        }
        InfluenceVerdict::Through => {
            let way = channel(it.through);
            format!(
                "{suspect} slows {victim} through {way}{part}: {}; shown{}",
                size(it),
                sureness(it)
            )
        }
        InfluenceVerdict::Likely => {
            format!("{suspect} probably slows {victim}{part}: {}; likely{}", size(it), sureness(it))
        }
        InfluenceVerdict::NotShown => {
            format!("not shown that {suspect} slows {victim}{part}: {metric} {}", hidden(it))
        }
        InfluenceVerdict::CannotTell => {
            format!(
                "cannot tell whether {suspect} slows {victim} in {metric}{part}: {}",
                reasons(it)
            )
        }
    }
}

/// The size with its interval, and when: `p99 +84 % (62 to 109) while it bursts, within 1 s`.
pub(crate) fn size(it: &Influence) -> String {
    let metric = it.metric.in_words();
    let after = lag(it).map_or_else(String::new, |it| format!(", {it}"));
    match effect(it) {
        Some(effect) => format!("{metric} {effect} while it bursts{after}"),
        None => format!("{metric}{after}, by how much cannot be said"),
    }
}

fn sureness(it: &Influence) -> String {
    finite(it.q).map_or_else(String::new, |q| format!(" (q\u{a0}{})", chance(q)))
}

/// The reasons as prose, without their codes.
pub(crate) fn reasons(it: &Influence) -> String {
    let prose: Vec<String> = it.reasons.iter().map(|it| without_code(it).to_owned()).collect();
    match prose.is_empty() {
        true => "no reason was given".to_owned(),
        false => sentence(&prose.join("; ")),
    }
}

/// The reason without its code in kebab case.
pub(crate) fn without_code(reason: &str) -> &str {
    let is_code = |it: &str| {
        !it.is_empty()
            && it.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-')
    };
    match reason.split_once(": ") {
        Some((code, rest)) if is_code(code) && !rest.trim().is_empty() => rest,
        _ => reason,
    }
}

/// Longest name of a tenant in a row, in characters.
const LONGEST_NAME: usize = 22;

/// Suspect and victim as one name for a row: `batch → chat`.
pub(crate) fn pair(it: &Influence) -> String {
    let short = |it: &str| shorten(&clean(it), LONGEST_NAME);
    format!("{} → {}", short(&it.suspect), short(&it.victim))
}

/// How the effect follows the suspect's activity within bursts; `None` without thirds.
pub(crate) fn dose(it: &Influence) -> Option<String> {
    let thirds: Vec<f64> = it.dose_ratios.iter().copied().filter(|it| it.is_finite()).collect();
    if thirds.len() < 2 || thirds.len() != it.dose_ratios.len() {
        return None;
    }
    let told: Vec<String> = thirds.iter().map(|ratio| change(it.metric, *ratio)).collect();
    let rises = thirds.windows(2).all(|it| it[0] < it[1]);
    let how = if rises { "the busier, the worse" } else { "by growing activity" };
    Some(format!("{how}: {}", told.join(", ")))
}
