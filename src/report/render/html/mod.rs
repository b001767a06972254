//! A report as one HTML file: no network, light and dark, screen and paper; a script of our own that
//! it can do without.

mod blocks;
mod card;
mod marks;
mod readings;
mod table;
mod terms;

use crate::report::Report;
use crate::report::block::Block;
use crate::report::plot::theme::style_variables;
use crate::report::render::html::terms::Terms;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Nothing may be loaded, and nothing may run but our own script, which is told by its hash: a
/// report can be opened anywhere and tells nobody.
const POLICY: &str = concat!(
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; ",
    "form-action 'none'; script-src 'sha256-",
    "R2ucqn2RKe0wzHyiWfz0nTR1lf3dm1iE5hNqix+yvyM=",
    "'"
);

/// Reading values, zooming, sorting and explaining terms.
const SCRIPT: &str = include_str!("page.js");

const STYLE: &str = include_str!("page.css");

/// The whole report as one self-contained page.
pub fn page(report: &Report) -> String {
    let sections = sections(&report.blocks);
    let terms = Terms::of(&report.blocks);
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
                        @for section in &sections { (one_section(section, &terms)) }
                    }
                }
                script { (PreEscaped(SCRIPT)) }
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

fn one_section(blocks: &[Block], terms: &Terms<'_>) -> Markup {
    terms.begin();
    match blocks.split_first() {
        Some((Block::Heading { level: 2, anchor, text }, rest)) => html! {
            section aria-labelledby=(anchor) {
                h2 id=(anchor) { (text) }
                (blocks::all(rest, terms))
            }
        },
        _ => blocks::all(blocks, terms),
    }
}

/// The page without our own script, for tests which say that nothing else runs.
#[cfg(test)]
pub(crate) fn page_without_script(report: &Report) -> String {
    page(report).replacen(&format!("<script>{SCRIPT}</script>"), "", 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    /// RFC 4648, with padding.
    fn base64(bytes: &[u8]) -> String {
        const LETTERS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let group = |it: &[u8]| {
            let bits =
                it.iter().enumerate().map(|it| u32::from(*it.1) << (16 - 8 * it.0)).sum::<u32>();
            let letter =
                |place: usize| char::from(LETTERS[(bits >> (18 - 6 * place)) as usize & 63]);
            (0..4)
                .map(|place| if place <= it.len() { letter(place) } else { '=' })
                .collect::<String>()
        };
        bytes.chunks(3).map(group).collect()
    }

    #[test]
    fn the_policy_allows_our_script_and_no_other() {
        assert_eq!(base64(b"ab"), "YWI=");
        let hash = base64(&Sha256::digest(SCRIPT));
        assert!(POLICY.contains(&format!("script-src 'sha256-{hash}'")), "the hash is now {hash}");
        assert!(!POLICY.contains("script-src 'unsafe-inline'"));
    }

    #[test]
    fn the_script_is_small_and_cannot_end_before_its_end() {
        assert!(SCRIPT.len() < 20_000, "{}", SCRIPT.len());
        assert!(!SCRIPT.to_lowercase().contains("</script") && !SCRIPT.contains("<!--"));
    }
}
