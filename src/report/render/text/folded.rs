//! What is folded away, told in one line.

use crate::report::block::Block;
use crate::report::render::text::style::{Pen, Style};
use crate::report::wording::{count, shorten};

/// So many folds that follow each other are named.
const MOST_NAMED: usize = 4;
/// Longest name of a fold, in characters.
const LONGEST_NAME: usize = 72;

/// Folds and terms that follow each other and wait to be told together.
#[derive(Debug, Default)]
pub(super) struct Fold {
    names: Vec<String>,
    tables: usize,
    pictures: usize,
    terms: Vec<String>,
}

impl Fold {
    /// Whether the block is one that is folded away; then it is told later.
    pub(super) fn takes(&mut self, block: &Block) -> bool {
        match block {
            Block::Details { summary, blocks } => {
                self.names.push(shorten(summary, LONGEST_NAME));
                self.count(blocks);
            }
            Block::Term { term, .. } => self.terms.push(term.clone()),
            _ => return false,
        }
        true
    }

    fn count(&mut self, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::Table(_) => self.tables += 1,
                Block::Figure { .. } => self.pictures += 1,
                Block::Details { blocks, .. } => self.count(blocks),
                _ => {}
            }
        }
    }

    /// Tells what was folded away since the last time.
    pub(super) fn told(&mut self, pen: &mut Pen) {
        let it = std::mem::take(self);
        if !it.names.is_empty() {
            pen.gap();
            pen.hanging("  … ", Style::Faint, "    ", &it.line(), Style::Faint);
        }
        if !it.terms.is_empty() {
            let line = format!("{}; `cotenant explain TERM` tells", it.terms.join(", "));
            pen.hanging("  … ", Style::Faint, "    ", &line, Style::Faint);
        }
    }

    fn line(&self) -> String {
        let mut parts = Vec::new();
        for (number, one, many) in
            [(self.tables, "table", "tables"), (self.pictures, "picture", "pictures")]
        {
            if number > 0 {
                parts.push(count(number, one, many));
            }
        }
        let what = if parts.is_empty() { String::new() } else { format!("{}; ", parts.join(", ")) };
        let mut names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        names.truncate(MOST_NAMED);
        let more = match self.names.len().saturating_sub(names.len()) {
            0 => String::new(),
            more => format!("; {more} more"),
        };
        format!("{}{more} ({what}--full shows all)", names.join("; "))
    }
}
