//! Cells and rows that could not be read: all counted, the first few kept.

use crate::domain::invisible::harmless;

/// How many are kept word by word.
const KEPT: usize = 5;
/// Longest quotation of an offending text, in characters.
const LONGEST_QUOTE: usize = 40;

/// A cell or row that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// File name.
    pub file: String,
    /// Line, from 1.
    pub line: u64,
    /// Name of the column; empty when the whole row is meant.
    pub column: String,
    /// What was expected.
    pub expected: String,
    /// The offending text, cut short.
    pub found: String,
}

impl std::fmt::Display for Rejection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: ", self.file, self.line)?;
        if !self.column.is_empty() {
            write!(f, "column `{}`: ", self.column)?;
        }
        write!(f, "expected {}, found `{}`", self.expected, self.found)
    }
}

/// All rejections of one import.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rejections {
    count: u64,
    first: Vec<Rejection>,
}

impl Rejections {
    /// Counts a rejection and keeps it if it is among the first.
    pub fn add(&mut self, rejection: Rejection) {
        self.count += 1;
        if self.first.len() < KEPT {
            self.first.push(rejection);
        }
    }

    /// How many cells and rows were rejected.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The first few.
    pub fn first(&self) -> &[Rejection] {
        &self.first
    }
}

/// A text as it may be quoted in a message: short, on one line, without control characters.
pub fn quoted(text: &str) -> String {
    let mut short: String = harmless(text, '\u{fffd}').chars().take(LONGEST_QUOTE).collect();
    if text.chars().nth(LONGEST_QUOTE).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rejection_counts_but_only_the_first_five_are_kept() {
        let mut all = Rejections::default();
        for line in 1..=9 {
            let (file, column) = ("a.csv".to_owned(), "sm".to_owned());
            let (expected, found) = ("a number".to_owned(), "x".to_owned());
            all.add(Rejection { file, line, column, expected, found });
        }
        assert_eq!((all.count(), all.first().len()), (9, 5));
        assert_eq!(
            all.first()[0].to_string(),
            "a.csv:1: column `sm`: expected a number, found `x`"
        );
    }

    #[test]
    fn a_quotation_cannot_steer_a_terminal() {
        assert_eq!(quoted("a\u{1b}[31mb"), "a\u{fffd}[31mb");
        assert_eq!(quoted(&"x".repeat(100)).chars().count(), 41);
    }
}
