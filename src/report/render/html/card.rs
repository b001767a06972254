//! Verdicts as HTML: cards, badges and the tally.

use crate::recommender::suitability::SharingWord;
use crate::report::block::{Cell, Mark, VerdictCard};
use crate::report::figure::Figure;
use crate::report::plot::embedded_svg;
use crate::report::render::html::terms::Terms;
use crate::report::render::{mark_key, word_key};
use crate::report::wording::{glued, shorten};
use maud::{Markup, PreEscaped, html};

/// Longest reason for a missing number in a card, in characters.
const LONGEST_REASON: usize = 110;

/// Longest name in the head of a card, in characters.
const LONGEST_NAME: usize = 48;

/// The verdict on one device.
pub(super) fn verdict(card: &VerdictCard, terms: &Terms<'_>) -> Markup {
    let (first, others) = match card.reasons.split_first() {
        Some((first, others)) => (Some(first), others),
        None => (None, [].as_slice()),
    };
    html! {
        article class={ "card " (mark_key(card.mark)) } {
            div.head {
                (mark(word_of(card.mark)))
                div.who {
                    p.word { (glued(&card.action)) }
                    h3 title=[long(&card.name)] {
                        (shorten(&card.name, LONGEST_NAME))
                        @if let Some(model) = &card.model { " " span.model { (model) } }
                    }
                }
                @if let Some(confidence) = card.confidence { (sureness(confidence)) }
            }
            @if let Some(first) = first { p.reason { (terms.marked(&glued(first))) } }
            @if !others.is_empty() { ul.reasons { @for it in others { li { (terms.marked(&glued(it))) } } } }
            @if let Some(glance) = &card.glance { (strip(card, glance)) }
            dl.facts { @for (name, value) in &card.facts { (fact(name, value, terms)) } }
            @if !card.caveats.is_empty() {
                ul.notes { @for it in &card.caveats { li { (glued(it)) } } }
            }
        }
    }
}

fn strip(card: &VerdictCard, figure: &Figure) -> Markup {
    let alt = format!("Activity of {} over the whole recording, from 0 to 100 %", card.name);
    let key = format!("glance-{}", card.anchor);
    match embedded_svg(figure, &key, &alt) {
        Ok(it) => html! {
            div.glance {
                (PreEscaped(&it.svg))
                div.ends aria-hidden="true" { span { "100 %" } span { "0" } }
            }
        },
        Err(_) => html! {},
    }
}

fn long(name: &str) -> Option<&str> {
    (name.chars().count() > LONGEST_NAME).then_some(name)
}

fn sureness(confidence: f64) -> Markup {
    html! {
        div.sure {
            span.number { (format!("{confidence:.2}")) }
            span.meter aria-hidden="true" {
                span style={ "width:" (format!("{:.0}", 100.0 * confidence)) "%" } {}
            }
            span.of { "confidence" }
        }
    }
}

fn fact(name: &str, value: &Cell, terms: &Terms<'_>) -> Markup {
    html! {
        div {
            dt { (terms.marked(name)) }
            @match value {
                Cell::Missing(reason) => { dd { span.none { "—" } } dd.why title=(reason) { (glued(&shorten(reason, LONGEST_REASON))) } }
                other => { dd { (other.plain()) } }
            }
        }
    }
}

/// The word as a small badge.
pub(super) fn badge(word: SharingWord) -> Markup {
    html! {
        span class={ "badge " (word_key(Some(word))) } { (mark(Some(word))) (word.as_words()) }
    }
}

/// The word on sharing whose mark an answer has.
fn word_of(mark: Mark) -> Option<SharingWord> {
    match mark {
        Mark::Firm | Mark::Indirect => Some(SharingWord::DoNotShare),
        Mark::Probable => Some(SharingWord::SharesWithCare),
        Mark::Fine => Some(SharingWord::SharesWell),
        Mark::Neutral | Mark::Absent | Mark::Unknown => None,
    }
}

/// A mark that differs in form, not only in colour.
fn mark(word: Option<SharingWord>) -> Markup {
    let strokes = match word {
        Some(SharingWord::SharesWell) => "M6.5 12.5l3.6 3.6 7.4-8.2",
        Some(SharingWord::SharesWithCare) => "M12 6.5v7M12 17v.6",
        Some(SharingWord::DoNotShare) => "M7.6 7.6l8.8 8.8M16.4 7.6l-8.8 8.8",
        Some(SharingWord::CannotTell) | None => {
            "M9.2 9.4a2.9 2.9 0 1 1 4.2 2.6c-1 .5-1.4 1.1-1.4 2.1M12 17.3v.5"
        }
    };
    html! {
        svg.mark viewBox="0 0 24 24" aria-hidden="true" {
            circle cx="12" cy="12" r="12" {}
            path d=(strokes) {}
        }
    }
}

/// How many devices got which word, as one bar and in numbers.
pub(super) fn tally(tally: &[(SharingWord, usize)]) -> Markup {
    html! {
        div.tally {
            div.bar aria-hidden="true" {
                @for (word, number) in tally {
                    span class=(word_key(Some(*word))) style={ "flex-grow:" (number) } {}
                }
            }
            ul {
                @for (word, number) in tally {
                    li class=(word_key(Some(*word))) { (mark(Some(*word))) b { (number) } " " (word.as_words()) }
                }
            }
        }
    }
}
