//! Lines of a foreign text file, one at a time: any line end, any bytes, and no line without limit.

use crate::import::error::ImportError;
use crate::import::run::ImportRun;
use std::io::BufRead;

/// Longest line that is read, in bytes; a longer one is rejected as a whole.
pub const LONGEST_LINE: usize = 1 << 20;

/// What Windows PowerShell puts in front of the UTF-16 text that its `>` writes.
const UTF16_MARKS: [&[u8]; 2] = [&[0xff, 0xfe], &[0xfe, 0xff]];

/// Reads lines from a reader without holding more than one of them.
pub struct Lines<'a> {
    input: &'a mut dyn BufRead,
    bytes: Vec<u8>,
    text: String,
    is_first: bool,
}

impl<'a> Lines<'a> {
    /// The lines of a reader that stands at its start.
    pub fn new(input: &'a mut dyn BufRead) -> Self {
        Self { input, bytes: Vec::new(), text: String::new(), is_first: true }
    }

    /// The next line without its end, and the run's line number moved on to it; `None` at the end.
    ///
    /// A byte order mark is dropped, bytes that are no UTF-8 become `\u{fffd}`, and a line that is
    /// too long is rejected and left out. Errors: the reader failed, or the text is UTF-16.
    pub fn next(&mut self, run: &mut ImportRun<'_>) -> Result<Option<&str>, ImportError> {
        loop {
            self.bytes.clear();
            let Some(length) = self.read_line().map_err(|it| run.read_error(it))? else {
                return Ok(None);
            };
            run.line += 1;
            if std::mem::take(&mut self.is_first) {
                self.drop_byte_order_mark(run)?;
            }
            if length > LONGEST_LINE {
                let expected = format!("a line of at most {LONGEST_LINE} bytes");
                run.reject("", &expected, &String::from_utf8_lossy(&self.bytes[..100]));
                continue;
            }
            self.text.clear();
            self.text.push_str(&String::from_utf8_lossy(&self.bytes));
            return Ok(Some(self.text.trim_end_matches(['\r', '\n'])));
        }
    }

    /// Reads up to the next line end and keeps what fits; the true length, `None` at the end.
    fn read_line(&mut self) -> std::io::Result<Option<usize>> {
        let mut length = 0;
        loop {
            let chunk = match self.input.fill_buf() {
                Ok(chunk) => chunk,
                Err(it) if it.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(it) => return Err(it),
            };
            if chunk.is_empty() {
                return Ok((length > 0).then_some(length));
            }
            let end = chunk.iter().position(|it| *it == b'\n').map(|it| it + 1);
            let taken = end.unwrap_or(chunk.len());
            let room = (LONGEST_LINE + 1).saturating_sub(self.bytes.len());
            self.bytes.extend_from_slice(&chunk[..taken.min(room)]);
            length += taken;
            self.input.consume(taken);
            if end.is_some() {
                return Ok(Some(length));
            }
        }
    }

    fn drop_byte_order_mark(&mut self, run: &ImportRun<'_>) -> Result<(), ImportError> {
        if UTF16_MARKS.iter().any(|it| self.bytes.starts_with(it)) {
            let remedy = "write it as UTF-8; in PowerShell: … | Out-File -Encoding utf8 FILE";
            return Err(run.structure_error("text in UTF-8", "text in UTF-16", remedy));
        }
        if self.bytes.starts_with(b"\xef\xbb\xbf") {
            self.bytes.drain(..3);
        }
        Ok(())
    }
}

/// The lines at the start of a file, for recognition; one that the cut may have shortened is left out.
pub fn head_lines(head: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head));
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
    use crate::domain::collector::Collector;
    use crate::domain::source::SourceId;
    use crate::import::ImportOptions;

    fn lines_of(bytes: &[u8]) -> (Vec<(u64, String)>, u64) {
        let options = ImportOptions::default();
        let mut sink = Collector::new();
        let mut run = ImportRun::new("test", "a.csv", &options, SourceId(0), &mut sink);
        let mut input = std::io::BufReader::with_capacity(7, bytes);
        let mut lines = Lines::new(&mut input);
        let mut all = Vec::new();
        while let Some(line) = lines.next(&mut run).unwrap() {
            let line = line.to_owned();
            all.push((run.line, line));
        }
        (all, run.rejection_count())
    }

    #[test]
    fn line_ends_a_byte_order_mark_and_bad_bytes_do_not_matter() {
        let (lines, rejected) = lines_of(b"\xef\xbb\xbfone\r\n\ntw\xffo");
        let expected = [(1, "one"), (2, ""), (3, "tw\u{fffd}o")];
        assert_eq!(lines, expected.map(|it| (it.0, it.1.to_owned())));
        assert_eq!(rejected, 0);
    }

    #[test]
    fn an_endless_line_is_rejected_and_the_next_one_is_read() {
        let mut bytes = vec![b'x'; LONGEST_LINE + 5];
        bytes.extend_from_slice(b"\nnext\n");
        assert_eq!(lines_of(&bytes), (vec![(2, "next".to_owned())], 1));
    }

    #[test]
    fn text_in_utf_16_is_refused_with_what_to_do() {
        let options = ImportOptions::default();
        let mut sink = Collector::new();
        let mut run = ImportRun::new("test", "a.csv", &options, SourceId(0), &mut sink);
        let mut input: &[u8] = b"\xff\xfet\0i\0m\0e\0";
        let error = Lines::new(&mut input).next(&mut run).unwrap_err();
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
