//! Files that stand under their name once they are whole: what ends early leaves what was there before.

use crate::cli::error::CliError;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A file under another name beside its own, removed unless it is finished.
#[derive(Debug)]
pub(crate) struct WholeFile {
    file: File,
    path: PathBuf,
    /// `None` where it is written in place: a device, a pipe, a folder that takes no other file.
    unfinished: Option<PathBuf>,
}

impl WholeFile {
    /// Begins a file.
    ///
    /// Errors: there is no such folder, or one must not write there.
    pub(crate) fn create(path: &Path) -> Result<Self, CliError> {
        let failed = |it: io::Error| CliError::file(path, "creating", &it);
        let standing = std::fs::metadata(path).ok();
        let mut permissions = None;
        if let Some(it) = &standing {
            // What may not be written must not be replaced either.
            let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
            if !it.is_file() {
                return Ok(Self { file, path: path.to_owned(), unfinished: None });
            }
            permissions = Some(it.permissions());
        }
        let own = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let unfinished = beside(&own);
        match begun(&unfinished, permissions) {
            Ok(file) => Ok(Self { file, path: own, unfinished: Some(unfinished) }),
            Err(_) => {
                let file = File::create(path).map_err(failed)?;
                Ok(Self { file, path: path.to_owned(), unfinished: None })
            }
        }
    }

    /// Gives the file its name.
    ///
    /// Errors: the folder no longer takes it.
    pub(crate) fn finish(mut self) -> Result<(), CliError> {
        match self.unfinished.take() {
            Some(from) => std::fs::rename(&from, &self.path).map_err(|it| {
                let _ = std::fs::remove_file(&from);
                CliError::file(&self.path, "writing", &it)
            }),
            None => Ok(()),
        }
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some(it) = &self.unfinished {
            let _ = std::fs::remove_file(it);
        }
    }
}

/// A name that nobody chose: hidden, and of this process.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.part", std::process::id()))
}

fn begun(path: &Path, permissions: Option<Permissions>) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    if let Some(it) = permissions {
        file.set_permissions(it)?;
    }
    Ok(file)
}

/// Writes until somebody asks the program to end.
pub(crate) struct Stoppable<W> {
    inner: W,
    is_over: Arc<AtomicBool>,
}

impl<W> Stoppable<W> {
    /// Heeds a flag of [`ends_on_signals`](crate::cli::record::ends_on_signals).
    pub(crate) fn new(inner: W, is_over: Arc<AtomicBool>) -> Self {
        Self { inner, is_over }
    }

    /// What is written to.
    pub(crate) fn into_inner(self) -> W {
        self.inner
    }
}

impl<W: Write> Write for Stoppable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.is_over.load(Ordering::Relaxed) {
            // Not `Interrupted`, which writers try again.
            true => Err(io::Error::other("interrupted")),
            false => self.inner.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).expect("a folder").flatten();
        entries.map(|it| it.file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn what_ends_early_leaves_the_file_that_was_there_and_nothing_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.csv");
        std::fs::write(&path, "old").expect("a file");
        let mut file = WholeFile::create(&path).expect("a file");
        file.write_all(b"half").expect("room");
        drop(file);
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), "old");
        assert_eq!(names(folder.path()), ["out.csv"]);

        let is_over = Arc::new(AtomicBool::new(false));
        let mut out =
            Stoppable::new(WholeFile::create(&path).expect("a file"), Arc::clone(&is_over));
        out.write_all(b"half").expect("nobody stopped it");
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(out.write_all(b"more").expect_err("stopped").to_string(), "interrupted");
    }

    #[test]
    fn what_is_whole_takes_its_name_and_keeps_the_permissions() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.csv");
        std::fs::write(&path, "old").expect("a file");
        std::fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("ours");
        let link = folder.path().join("link.csv");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        let mut file = WholeFile::create(&link).expect("a file");
        file.write_all(b"new").expect("room");
        file.finish().expect("a name");
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), "new");
        assert!(std::fs::symlink_metadata(&link).expect("a link").is_symlink());
        let mode = std::fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
    }

    #[test]
    fn a_device_is_written_in_place() {
        let mut file = WholeFile::create(Path::new("/dev/null")).expect("a device");
        file.write_all(b"gone").expect("it takes all");
        file.finish().expect("nothing to do");
        assert!(!Path::new("/dev/null").is_file());
    }
}
