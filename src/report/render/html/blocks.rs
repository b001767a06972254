//! Each block as HTML; neighbours of one kind stand together.

use crate::report::block::{Block, Caveat, Statement};
use crate::report::figure::Figure;
use crate::report::plot::{Embedded, embedded_svg};
use crate::report::render::html::terms::{Terms, anchor};
use crate::report::render::html::{card, marks, readings, table};
use crate::report::render::mark_key;
use crate::report::wording::glued;
use maud::{Markup, PreEscaped, html};

/// Pictures narrower than this stand two in a row, in pixels.
const WIDE: u32 = 600;

/// So many cards stand one below the other; more stand two in a row.
const MOST_WIDE_CARDS: usize = 3;

/// All blocks in order.
pub(super) fn all(blocks: &[Block], terms: &Terms<'_>) -> Markup {
    let groups = blocks.chunk_by(|a, b| group(a) != Group::Alone && group(a) == group(b));
    html! { @for neighbours in groups { (together(neighbours, terms)) } }
}

/// Which neighbours a block stands together with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    Cards,
    NarrowFigures,
    Statements,
    Caveats,
    Terms,
    Alone,
}

fn group(block: &Block) -> Group {
    match block {
        Block::Verdict(_) => Group::Cards,
        Block::Figure { figure, .. } if figure.content_size().0 < WIDE => Group::NarrowFigures,
        Block::Statement(_) => Group::Statements,
        Block::Caveat(_) => Group::Caveats,
        Block::Term { .. } => Group::Terms,
        _ => Group::Alone,
    }
}

fn together(blocks: &[Block], terms: &Terms<'_>) -> Markup {
    let each = html! { @for block in blocks { (one(block, terms)) } };
    match blocks.first().map_or(Group::Alone, group) {
        Group::Cards if blocks.len() > MOST_WIDE_CARDS => html! { div.cards.many { (each) } },
        Group::Cards => html! { div.cards { (each) } },
        Group::NarrowFigures if blocks.len() == 1 => html! { div.beside { (each) } },
        Group::NarrowFigures => html! { div.pair { (each) } },
        Group::Statements => html! { ul.statements { (each) } },
        Group::Caveats => html! { ul.caveats { (each) } },
        Group::Terms => html! { dl.terms { (each) } },
        Group::Alone => each,
    }
}

fn one(block: &Block, terms: &Terms<'_>) -> Markup {
    let words = |text: &str| with_code(text, terms);
    match block {
        Block::Heading { level, anchor, text } => heading(*level, anchor, text),
        Block::Lead(text) => html! { p.lead { (words(text)) } },
        Block::Text(text) => html! { p { (words(text)) } },
        Block::Tally(tally) => card::tally(tally),
        Block::Verdict(it) => card::verdict(it, terms),
        Block::Table(it) => table::table(it, terms),
        Block::Figure { id, figure, caption, key, alt } => {
            picture(id, figure, (caption, key), alt, terms)
        }
        Block::Statement(it) => statement(it, terms),
        Block::Caveat(it) => caveat(it, terms),
        Block::Steps(steps) => html! { ol.steps { @for it in steps { li { (words(it)) } } } },
        Block::Details { summary, blocks } => html! {
            details { summary { (summary) } (all(blocks, terms)) }
        },
        Block::Code(text) => html! { pre tabindex="0" { code { (text) } } },
        Block::Term { term, meaning } => {
            html! { dt id=(anchor(term)) { (term) } dd { (meaning) } }
        }
    }
}

/// What stands between two backticks is code; elsewhere terms explain themselves.
pub(super) fn with_code(text: &str, terms: &Terms<'_>) -> Markup {
    let text = glued(text);
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return terms.marked(&text);
    }
    html! {
        @for (position, part) in parts.iter().enumerate() {
            @if position % 2 == 1 { code { (part) } } @else { (terms.marked(part)) }
        }
    }
}

fn heading(level: u8, anchor: &str, text: &str) -> Markup {
    match level {
        ..=2 => html! { h2 id=(anchor) { (text) } },
        3 => html! { h3 id=(anchor) { (text) } },
        _ => html! { h4 id=(anchor) { (text) } },
    }
}

fn picture(
    id: &str,
    figure: &Figure,
    (caption, key): (&str, &str),
    alt: &str,
    terms: &Terms<'_>,
) -> Markup {
    let class = if figure.content_size().0 < WIDE { "narrow" } else { "wide" };
    html! {
        figure id=(id) class=(class) {
            // A picture that cannot be drawn is told in words.
            @match embedded_svg(figure, id, alt) {
                Ok(it) => { (drawn(id, &it)) }
                Err(_) => { p { (alt) } }
            }
            figcaption {
                p { (terms.marked(&glued(caption))) }
                @if !key.is_empty() { p.key { (terms.marked(&glued(key))) } }
            }
        }
    }
}

/// The picture in a frame that scrolls sideways, with what it can be asked for.
fn drawn(id: &str, it: &Embedded) -> Markup {
    let chart = it.readings.chart.as_ref();
    let chart = chart.map(|chart| readings::chart(chart, axis_of(id), it.factor));
    let spots = &it.readings.spots;
    let spots = (!spots.is_empty()).then(|| readings::spots(spots, it.factor));
    html! {
        div.picture tabindex="0" role="group" aria-label="picture, scrolls sideways"
            data-chart=[chart] data-spots=[spots] { (PreEscaped(&it.svg)) }
    }
}

/// Which figures move together: those that are called alike but for their kind, as those of one
/// device are.
fn axis_of(id: &str) -> &str {
    ["timeline-", "memory-stack-"].iter().find_map(|it| id.strip_prefix(it)).unwrap_or(id)
}

fn statement(it: &Statement, terms: &Terms<'_>) -> Markup {
    html! {
        li class=(mark_key(it.mark)) {
            (marks::mark(it.mark))
            div {
                @if !it.tag.is_empty() { p.tag { (terms.marked(&it.tag)) } }
                p { (with_code(&it.text, terms)) }
                @for note in &it.notes { p.note { (with_code(note, terms)) } }
            }
        }
    }
}

fn caveat(caveat: &Caveat, terms: &Terms<'_>) -> Markup {
    html! {
        li {
            p.what {
                strong { (caveat.kind) }
                @if !caveat.about.is_empty() { " · " span.about { (caveat.about) } }
            }
            p { (with_code(&caveat.detail, terms)) }
            @if !caveat.remedy.is_empty() {
                p.remedy { span { "What would show it: " } (with_code(&caveat.remedy, terms)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_one_device_move_together_and_others_do_not() {
        assert_eq!(axis_of("timeline-gpu-0"), axis_of("memory-stack-gpu-0"));
        assert_ne!(axis_of("timeline-gpu-0"), axis_of("timeline-gpu-1"));
        assert_ne!(axis_of("suspects"), axis_of("timeline-gpu-1"));
    }
}
