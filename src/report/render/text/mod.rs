//! A report as plain text for a terminal: verdict first, never wider than asked for.

mod ascii;
mod brief;
mod changes;
mod figures;
mod fleet;
mod folded;
mod layout;
mod look;
mod slowdowns;
mod sparks;
mod style;
mod suspects;
mod table;
#[cfg(test)]
mod tests;

pub use brief::brief;
pub use look::Look;

use crate::domain::units::Seconds;
use crate::report::Report;
use crate::report::block::{Block, Caveat, Cell, Statement, VerdictCard};
use crate::report::figure::Figure;
use crate::report::render::text::folded::Fold;
use crate::report::render::text::sparks::Sparks;
use crate::report::render::text::style::{Pen, Style};
use crate::report::wording::shorten;
use unicode_width::UnicodeWidthStr;

/// Narrower than this no table can be read.
const NARROWEST: usize = 40;

/// Longest name in a heading, in characters.
const LONGEST_NAME: usize = 40;

/// Columns of a shape on a card.
const GLANCE: usize = 48;

/// The whole report in lines of at most `width` columns, but never fewer than 40.
///
/// `colour` adds ANSI styles; they take no columns.
#[cfg(test)]
pub(crate) fn text(report: &Report, width: usize, colour: bool) -> String {
    sheet(report, Look { has_colour: colour, ..Look::plain(width) })
}

/// The report for a place that is like this, in lines of never fewer than 40 columns.
pub fn sheet(report: &Report, look: Look) -> String {
    let mut pen = begun(report, look);
    let all: Vec<&Block> = report.blocks.iter().collect();
    blocks(&mut pen, &all, &Sparks::of(&report.blocks));
    pen.into_text()
}

/// A sheet with its title.
fn begun(report: &Report, look: Look) -> Pen {
    let mut pen = Pen::new(Look { width: look.width.max(NARROWEST), ..look });
    pen.paragraph("", &report.title, Style::Title);
    pen.paragraph("", &report.subtitle, Style::Faint);
    pen
}

fn blocks(pen: &mut Pen, blocks: &[&Block], sparks: &Sparks) {
    let mut fold = Fold::default();
    for (position, block) in blocks.iter().enumerate() {
        if !pen.is_full() && fold.takes(block) {
            continue;
        }
        fold.told(pen);
        let before = position.checked_sub(1).and_then(|it| blocks.get(it)).copied();
        one(pen, block, before, sparks);
    }
    fold.told(pen);
}

fn one(pen: &mut Pen, block: &Block, before: Option<&Block>, sparks: &Sparks) {
    match block {
        Block::Heading { level, text, .. } => heading(pen, *level, text),
        Block::Lead(text) | Block::Text(text) => {
            if let Some(Block::Statement(_) | Block::Table(_)) = before {
                pen.gap();
            }
            let is_lead = matches!(block, Block::Lead(_));
            pen.paragraph("", text, if is_lead { Style::Strong } else { Style::Plain });
        }
        // The lead says the same in words.
        Block::Tally(_) => {}
        Block::Verdict(card) => {
            pen.gap();
            verdict(pen, card);
        }
        Block::Table(it) => table::table(pen, it, sparks),
        Block::Figure { figure, caption, .. } => {
            pen.gap();
            figures::figure(pen, figure);
            pen.paragraph("  ", caption, Style::Faint);
        }
        Block::Statement(it) => statement(pen, it, before),
        Block::Caveat(it) => caveat(pen, it),
        Block::Steps(steps) => {
            for (position, step) in steps.iter().enumerate() {
                let start = format!("  {}. ", position + 1);
                let indent = " ".repeat(start.width());
                pen.hanging(&start, Style::Faint, &indent, step, Style::Plain);
            }
        }
        Block::Details { blocks: inside, .. } => {
            let inside: Vec<&Block> = inside.iter().collect();
            blocks(pen, &inside, sparks);
        }
        Block::Code(text) => {
            pen.gap();
            pen.paragraph("  $ ", text, Style::Plain);
        }
        Block::Term { term, meaning } => {
            if !matches!(before, Some(Block::Term { .. })) {
                pen.gap();
            }
            pen.hanging(&format!("  {term}: "), Style::Strong, "    ", meaning, Style::Plain);
        }
    }
}

fn heading(pen: &mut Pen, level: u8, text: &str) {
    pen.gap();
    if level <= 2 {
        pen.gap();
        if text.width() + 4 > pen.width() {
            let text = shorten(text, 3 * pen.width());
            pen.hanging("── ", Style::Faint, "   ", &text, Style::Title);
            return;
        }
        let rule = "─".repeat(pen.width().saturating_sub(text.width() + 4));
        pen.line(&[
            ("── ", Style::Faint),
            (text, Style::Title),
            (" ", Style::Plain),
            (&rule, Style::Faint),
        ]);
    } else {
        pen.paragraph("", &shorten(text, LONGEST_NAME), Style::Strong);
    }
}

fn verdict(pen: &mut Pen, card: &VerdictCard) {
    let sure = card.confidence.map_or_else(String::new, |it| format!(" (confidence {it:.2})"));
    let name = shorten(&card.name, LONGEST_NAME);
    let model = card.model.as_deref().map_or_else(String::new, |it| format!(", {it}"));
    let model = shorten(&model, LONGEST_NAME);
    let start = format!("{} {name}{model}: ", style::mark_sign(card.mark));
    let rest = format!("{}{sure}", card.action);
    pen.hanging(&start, Style::Strong, "    ", &rest, Style::of_mark(card.mark));
    for reason in &card.reasons {
        pen.hanging("    - ", Style::Plain, "      ", reason, Style::Plain);
    }
    if let Some(Figure::Strip { span, series }) = &card.glance {
        let columns = GLANCE.min(pen.width().saturating_sub(32)).max(8);
        let shape = sparks::spark(*span, series, 100.0, columns);
        let key = format!("  0 to 100 % over {}", Seconds(span.seconds()));
        if 4 + columns + key.width() <= pen.width() {
            pen.line(&[("    ", Style::Plain), (&shape, Style::Plain), (&key, Style::Faint)]);
        } else {
            pen.line(&[("    ", Style::Plain), (&shape, Style::Plain)]);
            pen.paragraph("    ", key.trim_start(), Style::Faint);
        }
    }
    let known = |it: &&(String, Cell)| !matches!(it.1, Cell::Missing(_));
    let fact = |(name, value): &(String, Cell)| match value {
        Cell::Text(words) => format!("{name}: {words}"),
        number => format!("{} {name}", number.plain()),
    };
    let facts: Vec<String> = card.facts.iter().filter(known).map(fact).collect();
    if !facts.is_empty() {
        pen.hanging("    ", Style::Plain, "    ", &facts.join(" · "), Style::Plain);
    }
    for (name, value) in &card.facts {
        if let Cell::Missing(reason) = value {
            let missing = format!("— {name}: {reason}");
            pen.hanging("    ", Style::Faint, "      ", &missing, Style::Faint);
        }
    }
    for note in &card.caveats {
        pen.hanging("    ! ", Style::Faint, "      ", note, Style::Faint);
    }
}

fn statement(pen: &mut Pen, it: &Statement, before: Option<&Block>) {
    if !matches!(before, Some(Block::Heading { .. } | Block::Statement(_))) {
        pen.gap();
    }
    let tag = if it.tag.is_empty() { String::new() } else { format!("{}: ", it.tag) };
    let start = format!("  {} {tag}", style::mark_sign(it.mark));
    pen.hanging(&start, Style::of_mark(it.mark), "    ", &it.text, Style::Plain);
    for note in &it.notes {
        pen.hanging("    - ", Style::Faint, "      ", note, Style::Faint);
    }
}

fn caveat(pen: &mut Pen, caveat: &Caveat) {
    pen.gap();
    let about = shorten(&caveat.about, 3 * LONGEST_NAME);
    let between = if about.is_empty() { "" } else { ": " };
    let start = format!("  {}{between}", caveat.kind);
    pen.hanging(&start, Style::Strong, "    ", &about, Style::Plain);
    pen.paragraph("    ", &caveat.detail, Style::Plain);
    if !caveat.remedy.is_empty() {
        pen.hanging("    → ", Style::Plain, "      ", &caveat.remedy, Style::Plain);
    }
}
