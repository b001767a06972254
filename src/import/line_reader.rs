//! Lines of a text, one at a time: memory stays with the longest line, not with the file.

use crate::import::words::position_of;
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

/// Lines of a text, one at a time.
///
/// A line that lies in the reader's buffer as a whole is not copied.
pub struct LineReader<'a> {
    input: &'a mut dyn BufRead,
    lent: usize,
    line: Vec<u8>,
    number: u64,
}

impl<'a> LineReader<'a> {
    /// The lines of `input`, from where it stands.
    pub fn new(input: &'a mut dyn BufRead) -> Self {
        Self { input, lent: 0, line: Vec::new(), number: 0 }
    }

    /// Number of the line that was read last, from 1; 0 before the first.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Reads the next line.
    ///
    /// Errors: those of the reader; the lines before are not affected.
    pub fn read(&mut self) -> io::Result<Line<'_>> {
        self.input.consume(std::mem::take(&mut self.lent));
        let ready = filled(self.input)?;
        if ready.is_empty() {
            return Ok(Line::End);
        }
        self.number += 1;
        let Some(end) = position_of(b'\n', ready) else { return self.read_across() };
        self.lent = end + 1;
        if end as u64 >= LONGEST {
            return Ok(Line::TooLong);
        }
        Ok(Line::Text(text(&self.input.fill_buf()?[..end])))
    }

    /// Reads a line that goes on behind the reader's buffer.
    fn read_across(&mut self) -> io::Result<Line<'_>> {
        self.line.clear();
        Read::take(&mut *self.input, LONGEST).read_until(b'\n', &mut self.line)?;
        if self.line.len() as u64 == LONGEST && self.line.last() != Some(&b'\n') {
            self.skip_rest()?;
            return Ok(Line::TooLong);
        }
        Ok(Line::Text(text(&self.line)))
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

/// What the reader has ready, which is nothing only at the end.
fn filled(input: &mut dyn BufRead) -> io::Result<&[u8]> {
    while let Err(error) = input.fill_buf() {
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    input.fill_buf()
}

/// A line without its end as text.
fn text(line: &[u8]) -> Cow<'_, str> {
    let mut line = line;
    while let [rest @ .., b'\n' | b'\r'] = line {
        line = rest;
    }
    match std::str::from_utf8(line) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(it: &str) -> Line<'_> {
        Line::Text(Cow::Borrowed(it))
    }

    #[test]
    fn lines_end_as_unix_or_windows_ends_them_or_with_the_file() {
        let mut input: &[u8] = b"a\r\n\nb";
        let mut lines = LineReader::new(&mut input);
        for (number, expected) in [(1, "a"), (2, ""), (3, "b")] {
            assert_eq!(lines.read().unwrap(), plain(expected));
            assert_eq!(lines.number(), number);
        }
        assert_eq!(lines.read().unwrap(), Line::End);
    }

    #[test]
    fn a_line_without_end_costs_one_line_and_not_all_memory() {
        let whole = format!("{}\nafter\n", "x".repeat(3 * LONGEST as usize + 5));
        let mut input = whole.as_bytes();
        let mut lines = LineReader::new(&mut input);
        assert!(lines.read().unwrap() == Line::TooLong);
        assert!(lines.read().unwrap() == plain("after"));
        assert_eq!(lines.number(), 2);
        let mut buffered = std::io::BufReader::with_capacity(100, whole.as_bytes());
        let mut lines = LineReader::new(&mut buffered);
        assert!(lines.read().unwrap() == Line::TooLong);
        assert!(lines.read().unwrap() == plain("after"));
        assert!(lines.read().unwrap() == Line::End);
    }

    #[test]
    fn bytes_that_are_no_text_do_not_end_the_reading() {
        let mut input: &[u8] = b"a\xffb\n";
        assert_eq!(LineReader::new(&mut input).read().unwrap(), plain("a\u{fffd}b"));
    }
}
