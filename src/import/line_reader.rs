//! LineReader of a text, one at a time: memory stays with the longest line, not with the file.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

/// Longest line that is read, in bytes; a longer one is no telemetry.
const LONGEST: u64 = 1024 * 1024;

/// What the next line turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A line without its end; bytes that are no UTF-8 became U+FFFD.
    Text(Cow<'a, str>),
    /// A line of more than a mebibyte, which was skipped.
    TooLong,
    /// There is no further line.
    End,
}

/// LineReader of a text, one at a time.
pub struct LineReader<'a> {
    input: &'a mut dyn BufRead,
    line: Vec<u8>,
    number: u64,
}

impl<'a> LineReader<'a> {
    /// The lines of `input`, from where it stands.
    pub fn new(input: &'a mut dyn BufRead) -> Self {
        Self { input, line: Vec::new(), number: 0 }
    }

    /// Number of the line that was read last, from 1; 0 before the first.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Reads the next line.
    ///
    /// Errors: those of the reader; the lines before are not affected.
    pub fn read(&mut self) -> io::Result<Line<'_>> {
        self.line.clear();
        if Read::take(&mut *self.input, LONGEST).read_until(b'\n', &mut self.line)? == 0 {
            return Ok(Line::End);
        }
        self.number += 1;
        if self.line.len() as u64 == LONGEST && self.line.last() != Some(&b'\n') {
            self.skip_rest()?;
            return Ok(Line::TooLong);
        }
        while let Some(b'\n' | b'\r') = self.line.last() {
            self.line.pop();
        }
        Ok(Line::Text(match std::str::from_utf8(&self.line) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(&self.line),
        }))
    }

    fn skip_rest(&mut self) -> io::Result<()> {
        while self.line.last() != Some(&b'\n') {
            self.line.clear();
            if Read::take(&mut *self.input, LONGEST).read_until(b'\n', &mut self.line)? == 0 {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(it: &str) -> Line<'_> {
        Line::Text(Cow::Borrowed(it))
    }

    #[test]
    fn lines_end_as_unix_or_windows_ends_them_or_with_the_file() {
        let mut input: &[u8] = b"a\r\n\nb";
        let mut lines = LineReader::new(&mut input);
        for (number, expected) in [(1, "a"), (2, ""), (3, "b")] {
            assert_eq!(lines.read().unwrap(), text(expected));
            assert_eq!(lines.number(), number);
        }
        assert_eq!(lines.read().unwrap(), Line::End);
    }

    #[test]
    fn a_line_without_end_costs_one_line_and_not_all_memory() {
        let whole = format!("{}\nafter\n", "x".repeat(3 * LONGEST as usize + 5));
        let mut input = whole.as_bytes();
        let mut lines = LineReader::new(&mut input);
        assert_eq!(lines.read().unwrap(), Line::TooLong);
        assert_eq!(lines.read().unwrap(), text("after"));
        assert_eq!(lines.number(), 2);
    }

    #[test]
    fn bytes_that_are_no_text_do_not_end_the_reading() {
        let mut input: &[u8] = b"a\xffb\n";
        assert_eq!(LineReader::new(&mut input).read().unwrap(), text("a\u{fffd}b"));
    }
}
