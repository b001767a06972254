//! The files of a host that say who a process is, below a root; nothing is read without bound.

use crate::domain::invisible::harmless;
use crate::domain::time::Timestamp;
use std::io::Read;
use std::path::{Path, PathBuf};

/// More of a small file is not read: an environment or a command line may be long, on purpose.
const MOST_BYTES: u64 = 256 << 10;

/// Ticks of the process clock in a second: `USER_HZ`, which is 100 on every architecture with a GPU.
const TICKS_PER_S: u64 = 100;

/// Letters of a text that somebody else chose, at most.
const MOST_LETTERS: usize = 200;

/// Why a file of a process could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    /// There is no such file, or the process ended while it was read.
    Missing,
    /// There is one, and it is not for us.
    Forbidden,
}

/// What `/proc/PID/stat` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Life {
    /// Name that the kernel keeps, 15 letters at most.
    pub(crate) name: String,
    /// Ticks from boot to the start of the process.
    pub(crate) start_ticks: u64,
}

/// A host, by the folder that its root is seen in.
#[derive(Debug)]
pub(crate) struct Host {
    root: PathBuf,
    boot: Option<Timestamp>,
}

impl Host {
    /// The host whose root is this folder.
    pub(crate) fn new(root: &Path) -> Self {
        let mut host = Self { root: root.to_owned(), boot: None };
        host.boot = host.text("proc/stat").ok().as_deref().and_then(boot);
        host
    }

    /// A file below the root.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }

    /// The text of a file, cut where it is too long.
    pub(crate) fn text(&self, below: &str) -> Result<String, Unread> {
        self.bytes(below).map(|it| String::from_utf8_lossy(&it).into_owned())
    }

    fn bytes(&self, below: &str) -> Result<Vec<u8>, Unread> {
        let refused = |it: std::io::Error| match it.kind() {
            std::io::ErrorKind::PermissionDenied => Unread::Forbidden,
            _ => Unread::Missing,
        };
        let file = std::fs::File::open(self.path(below)).map_err(refused)?;
        // Room for most of them, so that they are read at once.
        let mut bytes = Vec::with_capacity(512);
        file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(refused)?;
        Ok(bytes)
    }

    /// Names in a folder, in order; none where it cannot be read.
    pub(crate) fn names_in(&self, below: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(below)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|it| it.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Where a link points.
    pub(crate) fn link(&self, below: &str) -> Option<String> {
        let target = std::fs::read_link(self.path(below)).ok()?;
        Some(target.to_string_lossy().into_owned())
    }

    /// Name and start of a process.
    pub(crate) fn life(&self, pid: u32) -> Result<Life, Unread> {
        life(&self.text(&format!("proc/{pid}/stat"))?).ok_or(Unread::Missing)
    }

    /// When a process with this start began; `None` where the host does not say when it booted.
    pub(crate) fn instant(&self, start_ticks: u64) -> Option<Timestamp> {
        let micros = start_ticks.checked_mul(1_000_000 / TICKS_PER_S)?;
        Some(self.boot?.plus_micros(i64::try_from(micros).ok()?))
    }

    /// Program and arguments; empty for a kernel thread, and where they cannot be read.
    pub(crate) fn arguments(&self, pid: u32) -> Vec<String> {
        parts(&self.bytes(&format!("proc/{pid}/cmdline")).unwrap_or_default())
    }

    /// `KEY=value` of a process.
    pub(crate) fn environment(&self, pid: u32) -> Result<Vec<String>, Unread> {
        Ok(parts(&self.bytes(&format!("proc/{pid}/environ"))?))
    }

    /// The user that a process runs as.
    pub(crate) fn user(&self, pid: u32) -> Option<u32> {
        let status = self.text(&format!("proc/{pid}/status")).ok()?;
        field(&status, "Uid:")?.split_whitespace().next()?.parse().ok()
    }

    /// The pids of a process, from the namespace of this `/proc` to its own.
    pub(crate) fn namespace_pids(&self, pid: &str) -> Vec<u32> {
        let status = self.text(&format!("proc/{pid}/status")).unwrap_or_default();
        let pids = field(&status, "NSpid:").unwrap_or_default();
        pids.split_whitespace().filter_map(|it| it.parse().ok()).collect()
    }
}

/// The rest of the line that begins with this word.
fn field<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    text.lines().find_map(|it| it.strip_prefix(word))
}

/// Texts that a zero byte ends.
fn parts(bytes: &[u8]) -> Vec<String> {
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    bytes.split(|it| *it == 0).map(|it| String::from_utf8_lossy(it).into_owned()).collect()
}

fn boot(stat: &str) -> Option<Timestamp> {
    let seconds: i64 = field(stat, "btime ")?.trim().parse().ok()?;
    Some(Timestamp::from_micros(seconds.checked_mul(1_000_000)?))
}

/// Name in brackets, which may hold brackets, blanks and line ends itself; the start is field 22.
fn life(stat: &str) -> Option<Life> {
    let (begin, end) = (stat.find('(')?, stat.rfind(')')?);
    let name = stat.get(begin + 1..end)?.to_owned();
    let start_ticks = stat.get(end + 1..)?.split_whitespace().nth(19)?.parse().ok()?;
    Some(Life { name, start_ticks })
}

/// A text that somebody else chose, without what would upset a terminal or a table.
pub(crate) fn plain(text: &str) -> String {
    harmless(text.trim(), '\u{fffd}').chars().take(MOST_LETTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_that_looks_like_the_rest_of_the_line_does_not_move_the_start() {
        let fields = "S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4242 0 0";
        for name in ["python", "a) S 1 (b", "two\nlines", "()"] {
            let found = life(&format!("7 ({name}) {fields}")).unwrap();
            assert_eq!(found, Life { name: name.to_owned(), start_ticks: 4242 });
        }
        assert_eq!(life("7 (python) S 1"), None);
        assert_eq!(life(""), None);
    }

    #[test]
    fn names_cannot_steer_a_terminal() {
        assert_eq!(plain("a\x1b[31mb\n\u{202e}c"), "a\u{fffd}[31mb\u{fffd}\u{fffd}c");
        assert_eq!(plain(&"x".repeat(5000)).len(), MOST_LETTERS);
    }

    proptest! {
        #[test]
        fn no_line_makes_the_reader_panic(text in ".{0,60}", bytes in prop::collection::vec(0_u8..4, 0..20)) {
            let _ = (life(&text), boot(&text), parts(&bytes));
        }
    }
}
