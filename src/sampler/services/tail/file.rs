//! A file that grows, is cut short, or makes room for a new one of its name.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Bytes that are read at once.
const AT_ONCE: usize = 64 << 10;

/// Bytes that are read before others get their turn.
const AT_MOST: usize = 4 << 20;

/// A longer line is none.
const LONGEST_LINE: usize = 64 << 10;

/// What a look at the file found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// The first line of the file, which may be a header; it is older than us unless `is_new`.
    First { line: String, is_new: bool },
    /// Another line.
    Line(String),
    /// A line without end.
    TooLong,
    /// The file was cut short, or another one took its place.
    BeganAnew,
}

/// Follows one path.
#[derive(Debug)]
pub(crate) struct Follower {
    path: PathBuf,
    open: Option<Open>,
    /// Whether the file was there, or missing, before.
    was_missing: bool,
    /// Whether the path leads nowhere, although it led to the file that is followed.
    pub(crate) is_gone: bool,
}

#[derive(Debug)]
struct Open {
    file: File,
    position: u64,
    identity: (u64, u64),
    /// The line that has not ended yet.
    partial: Vec<u8>,
    /// Whether the line that has not ended yet is thrown away.
    is_skipping: bool,
    /// Whether the next line is the first one of the file.
    is_at_start: bool,
}

impl Follower {
    /// Follows a path; what stands in it now is older than us, but for its first line.
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), open: None, was_missing: false, is_gone: false }
    }

    /// Looks for new lines; `Err` says why the file cannot be read.
    pub(crate) fn look(&mut self, each: &mut dyn FnMut(Found)) -> std::io::Result<()> {
        if self.open.is_none() {
            let opened = Open::at(&self.path);
            self.was_missing |= opened.is_err();
            let mut open = opened?;
            if !self.was_missing {
                open.skip_to_end(each)?;
            }
            self.open = Some(open);
        }
        if let Some(open) = &mut self.open {
            open.read(each)?;
        }
        self.follow_rotation(each)
    }

    /// Looks whether the path leads to another file by now, or to a shorter one.
    fn follow_rotation(&mut self, each: &mut dyn FnMut(Found)) -> std::io::Result<()> {
        // While there is no file of the name, the old one may still be written.
        let there = std::fs::metadata(&self.path);
        self.is_gone = there.is_err();
        let Ok(there) = there else { return Ok(()) };
        let Some(open) = &mut self.open else { return Ok(()) };
        let is_other = (there.dev(), there.ino()) != open.identity;
        if !is_other && there.len() >= open.position {
            return Ok(());
        }
        if is_other {
            // What was written between our look and the renaming.
            while !open.read(each)? {}
        }
        each(Found::BeganAnew);
        let mut open = Open::at(&self.path)?;
        open.read(each)?;
        self.open = Some(open);
        Ok(())
    }
}

impl Open {
    fn at(path: &Path) -> std::io::Result<Self> {
        // Opening a pipe would wait for somebody to write.
        if !std::fs::metadata(path)?.is_file() {
            return Err(std::io::Error::other("it is no plain file"));
        }
        let file = File::open(path)?;
        let facts = file.metadata()?;
        let identity = (facts.dev(), facts.ino());
        let partial = Vec::new();
        Ok(Self { file, position: 0, identity, partial, is_skipping: false, is_at_start: true })
    }

    /// Gives the first line and goes to the end; a file whose first line has not ended stays.
    fn skip_to_end(&mut self, each: &mut dyn FnMut(Found)) -> std::io::Result<()> {
        let mut head = Vec::new();
        (&mut self.file).take(LONGEST_LINE as u64).read_to_end(&mut head)?;
        let Some(end) = head.iter().position(|it| *it == b'\n') else {
            self.file.seek(SeekFrom::Start(0))?;
            return Ok(());
        };
        each(Found::First { line: text(&head[..end]), is_new: false });
        self.is_at_start = false;
        let length = self.file.seek(SeekFrom::End(0))?;
        self.position = length;
        // Half a line at the end is not ours either.
        self.file.seek(SeekFrom::Start(length.saturating_sub(1)))?;
        let mut last = [0];
        let is_whole = self.file.read(&mut last)? == 0 || last == [b'\n'];
        self.is_skipping = !is_whole;
        Ok(())
    }

    /// Reads what is new, up to a limit; says whether that was all.
    fn read(&mut self, each: &mut dyn FnMut(Found)) -> std::io::Result<bool> {
        let mut buffer = vec![0; AT_ONCE];
        let mut read = 0;
        while read < AT_MOST {
            let length = self.file.read(&mut buffer)?;
            if length == 0 {
                return Ok(true);
            }
            read += length;
            self.position += length as u64;
            self.take(&buffer[..length], each);
        }
        Ok(false)
    }

    fn take(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(Found)) {
        while let Some(end) = bytes.iter().position(|it| *it == b'\n') {
            let (line, rest) = bytes.split_at(end);
            self.partial.extend_from_slice(line);
            let whole = std::mem::take(&mut self.partial);
            if !std::mem::take(&mut self.is_skipping) {
                each(self.found(&whole));
            }
            bytes = &rest[1..];
        }
        if self.is_skipping {
            return;
        }
        self.partial.extend_from_slice(bytes);
        if self.partial.len() > LONGEST_LINE {
            self.partial.clear();
            self.is_skipping = true;
            each(Found::TooLong);
        }
    }

    fn found(&mut self, line: &[u8]) -> Found {
        if line.len() > LONGEST_LINE {
            return Found::TooLong;
        }
        match std::mem::take(&mut self.is_at_start) {
            true => Found::First { line: text(line), is_new: true },
            false => Found::Line(text(line)),
        }
    }
}

fn text(line: &[u8]) -> String {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn append(path: &Path, text: &str) {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn look(follower: &mut Follower) -> Vec<Found> {
        let mut all = Vec::new();
        follower.look(&mut |it| all.push(it)).unwrap();
        all
    }

    fn lines(texts: &[&str]) -> Vec<Found> {
        texts.iter().map(|it| Found::Line((*it).to_owned())).collect()
    }

    fn first(line: &str, is_new: bool) -> Found {
        Found::First { line: line.to_owned(), is_new }
    }

    #[test]
    fn only_the_header_of_what_was_there_before_is_read_and_half_lines_wait() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        append(&path, "time,rps\n1,2\n3,");
        let mut follower = Follower::new(&path);
        assert_eq!(look(&mut follower), [first("time,rps", false)]);
        append(&path, "4\n5,6\n7,");
        assert_eq!(look(&mut follower), lines(&["5,6"]));
        append(&path, "8\r\n");
        assert_eq!(look(&mut follower), lines(&["7,8"]));
        assert_eq!(look(&mut follower), []);
    }

    #[test]
    fn a_file_that_comes_later_is_read_from_its_start() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let mut follower = Follower::new(&path);
        assert!(follower.look(&mut |_| {}).is_err());
        append(&path, "time,rps\n1,2\n");
        let mut expected = vec![first("time,rps", true)];
        expected.extend(lines(&["1,2"]));
        assert_eq!(look(&mut follower), expected);
    }

    #[test]
    fn rotation_and_truncation_lose_no_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        append(&path, "time,rps\n");
        let mut follower = Follower::new(&path);
        look(&mut follower);
        append(&path, "1,2\n");
        std::fs::rename(&path, folder.path().join("a.csv.1")).unwrap();
        assert_eq!(look(&mut follower), lines(&["1,2"]), "no new file yet");
        append(&folder.path().join("a.csv.1"), "3,4\n");
        append(&path, "time,rps,p99_ms\n5,6,7\n");
        let mut expected = lines(&["3,4"]);
        expected.extend([Found::BeganAnew, first("time,rps,p99_ms", true)]);
        expected.extend(lines(&["5,6,7"]));
        assert_eq!(look(&mut follower), expected);
        std::fs::write(&path, "t\n1\n").unwrap();
        let mut expected = vec![Found::BeganAnew, first("t", true)];
        expected.extend(lines(&["1"]));
        assert_eq!(look(&mut follower), expected);
    }

    #[test]
    fn a_line_without_end_is_told_once_and_the_next_one_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        append(&path, "t\n");
        let mut follower = Follower::new(&path);
        look(&mut follower);
        append(&path, &"x".repeat(3 * LONGEST_LINE));
        assert_eq!(look(&mut follower), [Found::TooLong]);
        append(&path, "x\n1\n");
        assert_eq!(look(&mut follower), lines(&["1"]));
    }

    #[test]
    fn a_folder_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Follower::new(folder.path()).look(&mut |_| {}).is_err());
    }
}
