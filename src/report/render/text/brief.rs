//! A report of a recording on one or two screens: what to do, what is not known and what happened;
//! every other part in one line that names what it holds and how to see it.

use crate::report::Report;
use crate::report::block::{Block, Mark};
use crate::report::render::text::look::Look;
use crate::report::render::text::sparks::Sparks;
use crate::report::render::text::style::{Pen, Style};
use crate::report::render::text::{begun, blocks, heading, sheet};
use crate::report::wording::count;

/// How much of a section is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    /// What stands before its first device or picture.
    Head,
    /// Everything where one of its statements is bad news, else nothing.
    IfBad,
    /// Nothing.
    Away,
}

/// Sections that are not told as a whole; all others are.
const TOLD: &[(&str, Told)] = &[
    ("shape", Told::Head),
    ("who-slows-whom", Told::Away),
    ("memory-together", Told::IfBad),
    ("ways", Told::Away),
    ("rejected", Told::Away),
    ("proof", Told::Away),
    ("provenance", Told::Away),
    ("glossary", Told::Away),
];

/// So many folds inside a part are named.
const MOST_NAMED: usize = 3;

/// The report in brief, or as a whole where the reader wants everything.
pub fn brief(report: &Report, look: Look) -> String {
    if look.is_full {
        return sheet(report, look);
    }
    let mut pen = begun(report, look);
    let sparks = Sparks::of(&report.blocks);
    let mut more = Vec::new();
    for section in
        report.blocks.chunk_by(|_, next| !matches!(next, Block::Heading { level: 2, .. }))
    {
        let shown = shown(section);
        if shown > 0 {
            let shown: Vec<&Block> = section.iter().take(shown).collect();
            blocks(&mut pen, &shown, &sparks);
        }
        more.extend(Rest::of(section, shown));
    }
    if !more.is_empty() {
        heading(&mut pen, 2, "More");
        more.iter().for_each(|it| it.tell(&mut pen));
        let how = "--full tells all of it; `cotenant report` makes a page of it, and with --figure NAME one picture";
        pen.paragraph("  ", how, Style::Faint);
    }
    pen.into_text()
}

/// How many of the first blocks of a section are told; none where its heading would stand alone.
fn shown(section: &[Block]) -> usize {
    let Some(Block::Heading { level: 2, anchor, .. }) = section.first() else {
        return section.len();
    };
    let told = TOLD.iter().find(|it| it.0 == anchor).map(|it| it.1);
    let is_head = |it: &&Block| {
        !matches!(
            it,
            Block::Heading { level: 3.., .. } | Block::Figure { .. } | Block::Details { .. }
        )
    };
    match told {
        None => section.len(),
        Some(Told::IfBad) if section.iter().any(is_bad) => section.len(),
        Some(Told::Head) => match section.iter().skip(1).take_while(is_head).count() {
            0 => 0,
            more => 1 + more,
        },
        Some(Told::IfBad | Told::Away) => 0,
    }
}

fn is_bad(block: &Block) -> bool {
    match block {
        Block::Statement(it) => matches!(it.mark, Mark::Firm | Mark::Indirect | Mark::Probable),
        Block::Details { blocks, .. } => blocks.iter().any(is_bad),
        _ => false,
    }
}

/// What of a section is not told.
#[derive(Debug, Default)]
struct Rest<'a> {
    title: &'a str,
    folds: Vec<&'a str>,
    statements: usize,
    tables: usize,
    kinds: Vec<&'static str>,
    pictures: usize,
    terms: usize,
}

impl<'a> Rest<'a> {
    /// What stands behind the first `shown` blocks; `None` where that is nothing.
    fn of(section: &'a [Block], shown: usize) -> Option<Self> {
        let Some(Block::Heading { text, .. }) = section.first() else { return None };
        let mut rest = Self { title: text, ..Self::default() };
        let left = section.get(shown..).filter(|it| !it.is_empty())?;
        left.iter().for_each(|it| rest.add(it));
        for block in left {
            let Block::Details { summary, .. } = block else { continue };
            // What is folded for each device is named once.
            let name = summary.split_once(": ").map_or(summary.as_str(), |it| it.1);
            if !rest.folds.contains(&name) {
                rest.folds.push(name);
            }
        }
        Some(rest)
    }

    fn add(&mut self, block: &'a Block) {
        match block {
            Block::Statement(_) => self.statements += 1,
            Block::Table(_) => self.tables += 1,
            Block::Term { .. } => self.terms += 1,
            Block::Figure { figure, .. } => {
                self.pictures += 1;
                if !self.kinds.contains(&figure.kind()) {
                    self.kinds.push(figure.kind());
                }
            }
            Block::Details { blocks, .. } => blocks.iter().for_each(|it| self.add(it)),
            _ => {}
        }
    }

    fn tell(&self, pen: &mut Pen) {
        let mut parts: Vec<String> =
            self.folds.iter().take(MOST_NAMED).map(|it| (*it).to_owned()).collect();
        match self.folds.len().saturating_sub(MOST_NAMED) {
            0 => {}
            left => parts.push(count(left, "more part", "more parts")),
        }
        for (number, one, many) in [
            (self.statements, "statement", "statements"),
            (self.tables, "table", "tables"),
            (self.terms, "word (`cotenant explain TERM`)", "words (`cotenant explain TERM`)"),
        ] {
            if number > 0 {
                parts.push(count(number, one, many));
            }
        }
        if self.pictures > 0 {
            let names = self.kinds.join(", ");
            parts.push(format!(
                "{} (--figure {names})",
                count(self.pictures, "picture", "pictures")
            ));
        }
        let between = match (self.title.ends_with('?'), parts.is_empty()) {
            (_, true) => "",
            (true, false) => " ",
            (false, false) => ": ",
        };
        let text = format!("{}{between}{}", self.title, parts.join("; "));
        pen.hanging("  … ", Style::Faint, "    ", &text, Style::Faint);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::plot::figures;
    use crate::report::sections::SECTIONS;
    use crate::report::specimen::{crowd, specimen};

    fn flat(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_section_that_is_told_in_part_exists() {
        for (id, _) in TOLD {
            assert!(SECTIONS.iter().any(|it| it.id() == *id), "{id}");
        }
    }

    #[test]
    fn every_part_is_named_with_its_pictures_and_comes_back_in_full() {
        for report in [specimen().report(), crowd(3, 4).report()] {
            let short = brief(&report, Look::plain(80).folded());
            let words = flat(&short);
            for block in &report.blocks {
                if let Block::Heading { level: 2, text, .. } = block {
                    assert!(words.contains(&flat(text)), "{text}:\n{short}");
                }
            }
            for it in figures(&report) {
                let is_drawn = words.contains(&flat(it.caption));
                assert!(is_drawn || words.contains(it.figure.kind()), "{}:\n{short}", it.id);
            }
            assert!(words.contains("--full tells all of it"));
            assert_eq!(brief(&report, Look::plain(80)), sheet(&report, Look::plain(80)));
        }
    }

    #[test]
    fn a_section_with_bad_news_is_never_folded() {
        let statement = |mark| {
            Block::Statement(crate::report::block::Statement {
                mark,
                tag: String::new(),
                text: "said".to_owned(),
                notes: Vec::new(),
            })
        };
        let heading = Block::Heading {
            level: 2,
            anchor: "memory-together".to_owned(),
            text: "Do they run out of memory together?".to_owned(),
        };
        assert_eq!(shown(&[heading.clone(), statement(Mark::Fine)]), 0);
        for mark in [Mark::Firm, Mark::Indirect, Mark::Probable] {
            assert_eq!(shown(&[heading.clone(), statement(Mark::Fine), statement(mark)]), 3);
        }
    }
}
