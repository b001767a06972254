//! Terms of the glossary where they are used: the first time in each section.

use crate::report::block::Block;
use crate::report::wording::slug;
use maud::{Markup, html};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// What the text of a page is marked with; knows which terms its section has used.
pub(super) struct Terms<'a> {
    known: Vec<Term<'a>>,
    used: RefCell<BTreeSet<usize>>,
}

struct Term<'a> {
    lower: String,
    meaning: &'a str,
}

impl<'a> Terms<'a> {
    /// Those that the glossary of these blocks explains.
    pub(super) fn of(blocks: &'a [Block]) -> Self {
        let term = |it: &'a Block| match it {
            Block::Term { term, meaning } => {
                Some(Term { lower: term.to_ascii_lowercase(), meaning })
            }
            _ => None,
        };
        Self { known: blocks.iter().filter_map(term).collect(), used: RefCell::default() }
    }

    /// A section begins: every term is new again.
    pub(super) fn begin(&self) {
        self.used.borrow_mut().clear();
    }

    /// The text, with a link to the glossary at each term that is new in this section.
    pub(super) fn marked(&self, text: &str) -> Markup {
        let lower = text.to_ascii_lowercase();
        let mut pieces = Vec::new();
        let mut done = 0;
        while let Some((start, end, position)) = self.next(text, &lower, done) {
            pieces.push((&text[done..start], None));
            pieces.push((&text[start..end], self.known.get(position)));
            self.used.borrow_mut().insert(position);
            done = end;
        }
        pieces.push((&text[done..], None));
        html! {
            @for (words, term) in pieces {
                @match term {
                    Some(it) => { a.term href={ "#" (anchor(&it.lower)) } title=(it.meaning) { (words) } }
                    None => { (words) }
                }
            }
        }
    }

    /// Where the next new term stands, and which it is; of two at one place the longer one.
    fn next(&self, text: &str, lower: &str, from: usize) -> Option<(usize, usize, usize)> {
        let used = self.used.borrow();
        let fresh = self.known.iter().enumerate().filter(|it| !used.contains(&it.0));
        let found = fresh.filter_map(|(position, term)| {
            let (start, end) = place(text, lower, &term.lower, from)?;
            Some((start, end, position))
        });
        found.min_by_key(|it| (it.0, std::cmp::Reverse(it.1)))
    }
}

/// Where a term stands in the glossary.
pub(super) fn anchor(term: &str) -> String {
    format!("term-{}", slug(term))
}

/// The first place of a term as words of its own, in the singular or the plural; a part of a name
/// such as `burst-job` is none.
fn place(text: &str, lower: &str, term: &str, from: usize) -> Option<(usize, usize)> {
    // A single letter means something only as it is written.
    let inside = if term.len() == 1 { text } else { lower };
    let places = inside.get(from..)?.match_indices(term);
    places
        .filter_map(|(at, _)| {
            let start = from + at;
            let rest = lower.get(start + term.len()..)?;
            let plural = usize::from(rest.starts_with('s') && term.len() > 1);
            let is_open = |it: &str| is_end(it.chars().next(), it.chars().nth(1));
            let is_begun = is_begin(lower.get(..start)?.chars().next_back());
            let length = [0, plural].into_iter().find(|it| rest.get(*it..).is_some_and(is_open))?;
            is_begun.then_some((start, start + term.len() + length))
        })
        .next()
}

fn is_begin(before: Option<char>) -> bool {
    before.is_none_or(|it| it.is_whitespace() || matches!(it, '(' | '"' | '“' | '≥' | '±'))
}

fn is_end(after: Option<char>, next: Option<char>) -> bool {
    let is_stop = |it: char| it.is_whitespace() || matches!(it, ')' | '"' | '”' | '?' | '!' | ';');
    match after {
        None => true,
        Some('.' | ',' | ':') => next.is_none_or(is_stop),
        Some(it) => is_stop(it),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glossary() -> Vec<Block> {
        [("Burst", "on"), ("Blur index", "how blurred"), ("q", "false share")]
            .map(|it| Block::Term { term: it.0.to_owned(), meaning: it.1.to_owned() })
            .to_vec()
    }

    #[test]
    fn a_term_explains_itself_once_in_each_section() {
        let blocks = glossary();
        let terms = Terms::of(&blocks);
        let first = terms.marked("214 bursts, a burst.").into_string();
        assert_eq!(
            first,
            "214 <a class=\"term\" href=\"#term-burst\" title=\"on\">bursts</a>, a burst."
        );
        assert_eq!(terms.marked("Burst").into_string(), "Burst");
        terms.begin();
        assert!(terms.marked("Burst").into_string().contains("href"));
    }

    #[test]
    fn a_part_of_a_name_or_of_a_word_is_no_term() {
        let blocks = glossary();
        let terms = Terms::of(&blocks);
        for text in ["burst-job", "my-burst", "bursty", "burst.example.org", "Q", "q2", "/burst"] {
            assert_eq!(terms.marked(text).into_string(), text);
        }
        assert!(terms.marked("blur index (q 0.04)").into_string().matches("href").count() == 2);
    }

    #[test]
    fn what_stands_around_a_term_is_still_escaped() {
        let blocks = glossary();
        let html = Terms::of(&blocks).marked("<i> burst ü <b>").into_string();
        assert!(html.starts_with("&lt;i&gt; <a ") && html.ends_with("</a> ü &lt;b&gt;"), "{html}");
    }
}
