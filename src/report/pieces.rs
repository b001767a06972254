//! Blocks that every answer is built from.

use crate::report::block::{Block, Mark, Statement};
use crate::report::wording::{capitalised, sentence, stopped};

/// A heading; the anchor is unique in the report, in kebab case.
pub(crate) fn heading(level: u8, anchor: &str, text: &str) -> Block {
    Block::Heading { level, anchor: anchor.to_owned(), text: text.to_owned() }
}

/// A sentence with a mark, and what belongs below it.
pub(crate) fn statement(mark: Mark, tag: &str, text: &str, notes: Vec<String>) -> Block {
    Block::Statement(Statement {
        mark,
        tag: tag.to_owned(),
        text: stopped(&capitalised(&sentence(text))),
        notes: notes.iter().map(|it| stopped(&capitalised(&sentence(it)))).collect(),
    })
}
