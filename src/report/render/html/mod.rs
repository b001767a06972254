//! A report as one HTML file: no network, no script, light and dark, screen and paper.

mod blocks;
mod card;
mod marks;
mod table;

use crate::report::Report;
use crate::report::block::Block;
use crate::report::plot::theme::style_variables;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Nothing may be loaded: a report can be opened anywhere and tells nobody.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

const STYLE: &str = include_str!("page.css");

/// The whole report as one self-contained page.
pub fn page(report: &Report) -> String {
    let sections = sections(&report.blocks);
    let page = html! {
        (DOCTYPE)
        html lang="en-GB" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (report.title) }
                style { (PreEscaped(style_variables())) (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#content" { "Skip to the verdict" }
                div.page {
                    (contents(&sections))
                    main #content {
                        header.top {
                            h1 { (report.title) }
                            p.subtitle { (report.subtitle) }
                        }
                        @for section in &sections { (one_section(section)) }
                    }
                }
            }
        }
    };
    page.into_string()
}

/// Blocks from one heading of level 2 to the next.
fn sections(blocks: &[Block]) -> Vec<&[Block]> {
    blocks.chunk_by(|_, next| !matches!(next, Block::Heading { level: 2, .. })).collect()
}

fn contents(sections: &[&[Block]]) -> Markup {
    html! {
        nav.contents aria-label="Contents" {
            ol {
                @for section in sections {
                    @if let Some(Block::Heading { anchor, text, .. }) = section.first() {
                        li { a href={ "#" (anchor) } { (text) } }
                    }
                }
            }
        }
    }
}

fn one_section(blocks: &[Block]) -> Markup {
    match blocks.split_first() {
        Some((Block::Heading { level: 2, anchor, text }, rest)) => html! {
            section aria-labelledby=(anchor) {
                h2 id=(anchor) { (text) }
                (blocks::all(rest))
            }
        },
        _ => blocks::all(blocks),
    }
}
