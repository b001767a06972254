//! Each block as HTML; neighbours of one kind stand together.

use crate::report::block::{Block, Caveat, Statement};
use crate::report::figure::Figure;
use crate::report::plot::embedded_svg;
use crate::report::render::html::{card, marks, table};
use crate::report::render::mark_key;
use crate::report::wording::glued;
use maud::{Markup, PreEscaped, html};

/// Pictures narrower than this stand two in a row, in pixels.
const WIDE: u32 = 600;

/// So many cards stand one below the other; more stand two in a row.
const MOST_WIDE_CARDS: usize = 3;

/// All blocks in order.
pub(super) fn all(blocks: &[Block]) -> Markup {
    let groups = blocks.chunk_by(|a, b| group(a) != Group::Alone && group(a) == group(b));
    html! { @for neighbours in groups { (together(neighbours)) } }
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

fn together(blocks: &[Block]) -> Markup {
    let each = html! { @for block in blocks { (one(block)) } };
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

fn one(block: &Block) -> Markup {
    match block {
        Block::Heading { level, anchor, text } => heading(*level, anchor, text),
        Block::Lead(text) => html! { p.lead { (with_code(text)) } },
        Block::Text(text) => html! { p { (with_code(text)) } },
        Block::Tally(tally) => card::tally(tally),
        Block::Verdict(it) => card::verdict(it),
        Block::Table(it) => table::table(it),
        Block::Figure { id, figure, caption, key, alt } => picture(id, figure, (caption, key), alt),
        Block::Statement(it) => statement(it),
        Block::Caveat(it) => caveat(it),
        Block::Steps(steps) => html! { ol.steps { @for it in steps { li { (with_code(it)) } } } },
        Block::Details { summary, blocks } => html! {
            details { summary { (summary) } (all(blocks)) }
        },
        Block::Code(text) => html! { pre tabindex="0" { code { (text) } } },
        Block::Term { term, meaning } => html! { dt { (term) } dd { (meaning) } },
    }
}

/// What stands between two backticks is code.
fn with_code(text: &str) -> Markup {
    let text = glued(text);
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return html! { (text) };
    }
    html! {
        @for (position, part) in parts.iter().enumerate() {
            @if position % 2 == 1 { code { (part) } } @else { (part) }
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

fn picture(id: &str, figure: &Figure, (caption, key): (&str, &str), alt: &str) -> Markup {
    let class = if figure.content_size().0 < WIDE { "narrow" } else { "wide" };
    html! {
        figure id=(id) class=(class) {
            // A picture that cannot be drawn is told in words.
            @match embedded_svg(figure, id, alt) {
                Ok(svg) => { div.picture tabindex="0" role="group" aria-label="picture, scrolls sideways" { (PreEscaped(svg)) } }
                Err(_) => { p { (alt) } }
            }
            figcaption {
                p { (glued(caption)) }
                @if !key.is_empty() { p.key { (glued(key)) } }
            }
        }
    }
}

fn statement(it: &Statement) -> Markup {
    html! {
        li class=(mark_key(it.mark)) {
            (marks::mark(it.mark))
            div {
                @if !it.tag.is_empty() { p.tag { (it.tag) } }
                p { (with_code(&it.text)) }
                @for note in &it.notes { p.note { (with_code(note)) } }
            }
        }
    }
}

fn caveat(caveat: &Caveat) -> Markup {
    html! {
        li {
            p.what {
                strong { (caveat.kind) }
                @if !caveat.about.is_empty() { " · " span.about { (caveat.about) } }
            }
            p { (with_code(&caveat.detail)) }
            @if !caveat.remedy.is_empty() { p.remedy { span { "What would show it: " } (with_code(&caveat.remedy)) } }
        }
    }
}
