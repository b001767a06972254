//! Lines of a foreign text, one at a time: any line end, any bytes, and no line without limit.

use crate::import::error::ImportError;
use crate::import::run::ImportRun;
use crate::import::text::words::position_of;
use std::borrow::Cow;
use std::io::{self, BufRead, Read};

/// Longest line that is read, in bytes and with its end; a longer one is no telemetry.
const LONGEST: usize = 1 << 20;

/// How much of a line that is too long is quoted, in bytes.
const QUOTED: usize = 100;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What Windows PowerShell puts in front of the UTF-16 text that its `>` writes.
const UTF16_MARKS: [&[u8]; 2] = [&[0xff, 0xfe], &[0xfe, 0xff]];

/// Lines of a text, one at a time.
///
/// Memory stays with the longest line, and a line that lies in the reader's buffer as a whole is
/// not copied.
pub struct Lines<'a> {
    input: &'a mut dyn BufRead,
    /// Bytes at the start of the reader's buffer that the line before was lent from.
    lent: usize,
    /// A line that did not lie in the buffer as a whole.
    held: Vec<u8>,
}

/// Where the next line is.
#[derive(Clone, Copy)]
enum Place {
    /// There is none.
    End,
    /// So many bytes at the start of the reader's buffer.
    Lent(usize),
    /// In `held`.
    Held,
    /// Skipped, but for a start in `held`.
    TooLong,
}

impl<'a> Lines<'a> {
    /// The lines of a reader that stands at its start.
    pub fn new(input: &'a mut dyn BufRead) -> Self {
        Self { input, lent: 0, held: Vec::new() }
    }

    /// The next line without its end, and the run's line number moved on to it; `None` at the end.
    ///
    /// A byte order mark is dropped, bytes that are no UTF-8 become U+FFFD, and a line of more than
    /// a mebibyte is rejected and left out. Errors: the reader failed, or the text is UTF-16; the
    /// lines before are not affected.
    pub fn next(&mut self, run: &mut ImportRun<'_>) -> Result<Option<Cow<'_, str>>, ImportError> {
        let is_first = run.line == 0;
        let place = loop {
            let place = self.advance().map_err(|it| run.read_error(it))?;
            if matches!(place, Place::End) {
                return Ok(None);
            }
            run.line += 1;
            if !matches!(place, Place::TooLong) {
                break place;
            }
            let start = String::from_utf8_lossy(&self.held);
            run.reject("", "a line of at most 1 MiB", &start);
        };
        let line = match place {
            Place::Lent(length) => {
                &self.input.fill_buf().map_err(|it| run.read_error(it))?[..length]
            }
            _ => &self.held,
        };
        if is_first {
            return without_mark(line, run).map(|it| Some(text(it)));
        }
        Ok(Some(text(line)))
    }

    /// Finds the next line.
    fn advance(&mut self) -> io::Result<Place> {
        self.input.consume(std::mem::take(&mut self.lent));
        let ready = filled(self.input)?;
        if ready.is_empty() {
            return Ok(Place::End);
        }
        match position_of(b'\n', ready) {
            Some(end) if end < LONGEST => {
                self.lent = end + 1;
                Ok(Place::Lent(end))
            }
            _ => self.advance_across(),
        }
    }

    /// Reads a line that goes on behind the reader's buffer.
    fn advance_across(&mut self) -> io::Result<Place> {
        self.held.clear();
        let mut length = self.read_on()?;
        if length < LONGEST || self.held.ends_with(b"\n") {
            return Ok(Place::Held);
        }
        while length > 0 && !self.held.ends_with(b"\n") {
            self.held.truncate(QUOTED);
            length = self.read_on()?;
        }
        self.held.truncate(QUOTED);
        Ok(Place::TooLong)
    }

    /// Reads on in a line, a mebibyte at most.
    fn read_on(&mut self) -> io::Result<usize> {
        Read::take(&mut *self.input, LONGEST as u64).read_until(b'\n', &mut self.held)
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

/// The first line without a byte order mark.
fn without_mark<'a>(line: &'a [u8], run: &ImportRun<'_>) -> Result<&'a [u8], ImportError> {
    if UTF16_MARKS.iter().any(|it| line.starts_with(it)) {
        let remedy = "write it as UTF-8; in PowerShell: … | Out-File -Encoding utf8 FILE";
        return Err(run.structure_error("text in UTF-8", "text in UTF-16", remedy));
    }
    Ok(line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line))
}

/// A line without its end as text.
fn text(line: &[u8]) -> Cow<'_, str> {
    let mut line = line;
    while let [rest @ .., b'\n' | b'\r'] = line {
        line = rest;
    }
    // Far faster than looking for broken letters where there are none.
    match std::str::from_utf8(line) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(line),
    }
}

/// The lines at the start of a file, for recognition; one that the cut may have shortened is left out.
pub fn head_lines(head: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head));
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let may_be_cut = head.len() >= 16 * 1024 && !text.ends_with('\n') && lines.len() > 1;
    if may_be_cut {
        lines.pop();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::ImportOptions;
    use crate::import::testing::in_run;

    /// Number and text of every line, and how many were rejected.
    fn lines_of(bytes: &[u8], buffer: usize) -> (Vec<(u64, String)>, u64) {
        let mut input = std::io::BufReader::with_capacity(buffer, bytes);
        let mut lines = Lines::new(&mut input);
        in_run(&ImportOptions::default(), |run| {
            let mut all = Vec::new();
            while let Some(line) = lines.next(run).unwrap() {
                let line = line.into_owned();
                all.push((run.line, line));
            }
            (all, run.rejection_count())
        })
    }

    #[test]
    fn line_ends_a_byte_order_mark_and_bad_bytes_do_not_matter() {
        let expected = [(1, "one"), (2, ""), (3, "tw\u{fffd}o")];
        for buffer in [1, 3, 7, 100] {
            let (lines, rejected) = lines_of(b"\xef\xbb\xbfone\r\n\ntw\xffo", buffer);
            assert_eq!(lines, expected.map(|it| (it.0, it.1.to_owned())), "{buffer}");
            assert_eq!(rejected, 0);
        }
    }

    #[test]
    fn a_line_without_end_costs_one_rejection_and_not_all_memory() {
        for length in [LONGEST, LONGEST + 5, 3 * LONGEST, 3 * LONGEST + 5] {
            let whole = format!("{}\nafter\n", "x".repeat(length));
            for buffer in [100, 8 * LONGEST] {
                let (lines, rejected) = lines_of(whole.as_bytes(), buffer);
                assert_eq!((lines, rejected), (vec![(2, "after".to_owned())], 1), "{length}");
            }
        }
        let longest = "x".repeat(LONGEST - 1);
        for buffer in [100, 8 * LONGEST] {
            let (lines, rejected) = lines_of(format!("{longest}\n").as_bytes(), buffer);
            assert!(lines.len() == 1 && lines[0].1 == longest && rejected == 0);
        }
    }

    #[test]
    fn a_line_in_the_readers_buffer_is_not_copied() {
        let mut input: &[u8] = b"one\ntwo\n";
        let mut lines = Lines::new(&mut input);
        in_run(&ImportOptions::default(), |run| {
            for expected in ["one", "two"] {
                assert!(matches!(lines.next(run), Ok(Some(Cow::Borrowed(it))) if it == expected));
            }
        });
    }

    #[test]
    fn text_in_utf_16_is_refused_with_what_to_do() {
        let mut input: &[u8] = b"\xff\xfet\0i\0m\0e\0";
        let mut lines = Lines::new(&mut input);
        let error = in_run(&ImportOptions::default(), |run| lines.next(run).unwrap_err());
        assert!(error.to_string().contains("UTF-16"), "{error}");
        assert!(error.remedy().contains("PowerShell"));
    }

    #[test]
    fn a_line_that_the_cut_of_the_head_shortened_is_left_out() {
        let mut head = vec![b'a'; 20_000];
        head[19_000] = b'\n';
        assert_eq!(head_lines(&head).len(), 1);
        assert_eq!(head_lines(b"a\nb"), ["a", "b"]);
    }
}
