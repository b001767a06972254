//! One line becomes its cells without an allocation; quotes are undone where there are any.

use crate::import::mapping::decimal::plain_decimal;
use crate::import::text::words::{EACH, zero_bytes};
use std::ops::Range;

/// Splits lines, and lends its memory from one to the next.
#[derive(Debug, Default)]
pub(crate) struct Splitter {
    ranges: Vec<Range<usize>>,
    unquoted: String,
}

/// The cells of one line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cells<'a> {
    text: &'a str,
    ranges: &'a [Range<usize>],
}

impl<'a> Cells<'a> {
    /// A cell without blanks around it; empty where the line is too short.
    pub(crate) fn get(&self, position: usize) -> &'a str {
        let cell = self.ranges.get(position).map_or("", |it| &self.text[it.clone()]);
        cell.trim_ascii()
    }

    /// A cell that holds a plain decimal; `None` for every other cell.
    pub(crate) fn decimal(&self, position: usize) -> Option<f64> {
        let range = self.ranges.get(position)?;
        let text = self.text.as_bytes();
        match text.get(range.start) {
            // Blanks stand in front of a cell where lines are joined by `, `.
            Some(b' ') => {
                let cell = self.get(position).as_bytes();
                plain_decimal(cell, 0)
            }
            _ => plain_decimal(text.get(..range.end)?, range.start),
        }
    }

    /// Number of cells.
    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }
}

impl Splitter {
    /// The cells of a line. A run of blanks separates once if the delimiter is a blank.
    ///
    /// A quoted cell ends with its line, so a quote that is never closed costs one line.
    pub(crate) fn split<'a>(&'a mut self, line: &'a str, delimiter: u8) -> Cells<'a> {
        self.ranges.clear();
        if delimiter == b' ' && !line.contains('"') {
            let start = line.as_ptr() as usize;
            let cells = line.split_ascii_whitespace();
            let range = |cell: &str| {
                let from = cell.as_ptr() as usize - start;
                from..from + cell.len()
            };
            self.ranges.extend(cells.map(range));
            return Cells { text: line, ranges: &self.ranges };
        }
        if delimiter != b' ' && self.split_plain(line.as_bytes(), delimiter) {
            return Cells { text: line, ranges: &self.ranges };
        }
        self.ranges.clear();
        self.split_quoted(line, delimiter);
        Cells { text: &self.unquoted, ranges: &self.ranges }
    }

    /// Splits a line without quotes, eight letters at a time; `false` when there is a quote.
    fn split_plain(&mut self, line: &[u8], delimiter: u8) -> bool {
        let (delimiters, quotes) = (EACH * u64::from(delimiter), EACH * u64::from(b'"'));
        let (words, rest) = line.as_chunks::<8>();
        let mut from = 0;
        for (number, letters) in words.iter().enumerate() {
            let word = u64::from_le_bytes(*letters);
            if zero_bytes(word ^ quotes) != 0 {
                return false;
            }
            let mut found = zero_bytes(word ^ delimiters);
            while found != 0 {
                let position = number * 8 + found.trailing_zeros() as usize / 8;
                self.ranges.push(from..position);
                from = position + 1;
                found &= found - 1;
            }
        }
        for (letter, position) in rest.iter().zip(words.len() * 8..) {
            if *letter == delimiter {
                self.ranges.push(from..position);
                from = position + 1;
            } else if *letter == b'"' {
                return false;
            }
        }
        self.ranges.push(from..line.len());
        true
    }

    fn split_quoted(&mut self, line: &str, delimiter: u8) {
        self.unquoted.clear();
        let delimiter = char::from(delimiter);
        let mut letters = line.chars().peekable();
        let (mut from, mut is_quoted) = (0, false);
        while let Some(letter) = letters.next() {
            match letter {
                '"' if is_quoted && letters.peek() == Some(&'"') => {
                    letters.next();
                    self.unquoted.push('"');
                }
                '"' if is_quoted => is_quoted = false,
                '"' if self.unquoted[from..].trim_ascii().is_empty() => is_quoted = true,
                _ if letter == delimiter && !is_quoted => {
                    let is_run = delimiter == ' ' && self.unquoted.len() == from;
                    if !is_run {
                        self.ranges.push(from..self.unquoted.len());
                        from = self.unquoted.len();
                    }
                }
                _ => self.unquoted.push(letter),
            }
        }
        self.ranges.push(from..self.unquoted.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cells(line: &str, delimiter: u8) -> Vec<String> {
        let mut splitter = Splitter::default();
        let cells = splitter.split(line, delimiter);
        (0..cells.len()).map(|it| cells.get(it).to_owned()).collect()
    }

    #[test]
    fn cells_lose_the_blanks_around_them_and_nothing_else() {
        assert_eq!(cells("a, b c ,,d", b','), ["a", "b c", "", "d"]);
        assert_eq!(cells("a,", b','), ["a", ""]);
        assert_eq!(cells("  1   2 3", b' '), ["1", "2", "3"]);
        assert_eq!(cells("a\tb", b'\t'), ["a", "b"]);
    }

    #[test]
    fn a_quoted_cell_may_hold_the_delimiter_and_quotes() {
        assert_eq!(cells("1,\"a,b\",\"say \"\"hi\"\"\",2", b','), ["1", "a,b", "say \"hi\"", "2"]);
        assert_eq!(cells("1, \"a,b\" ,2", b','), ["1", "a,b", "2"]);
        assert_eq!(cells("\"é\";x", b';'), ["é", "x"]);
        assert_eq!(cells("5\" pipe,2", b','), ["5\" pipe", "2"]);
    }

    #[test]
    fn a_quote_that_is_never_closed_takes_the_rest_of_its_line_only() {
        assert_eq!(cells("1,\"a,b", b','), ["1", "a,b"]);
    }

    proptest! {
        #[test]
        fn eight_letters_at_a_time_split_as_one_does(line in "[a,é ]{0,40}") {
            let expected: Vec<&str> = line.split(',').map(str::trim_ascii).collect();
            prop_assert_eq!(cells(&line, b','), expected);
        }

        #[test]
        fn no_line_makes_the_splitter_panic(line in "[a,\" ;é\t]{0,30}") {
            for delimiter in [b',', b' ', b'\t', b';'] {
                let _ = cells(&line, delimiter);
            }
        }
    }
}
