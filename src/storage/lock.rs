//! One writer at a time: a file in the recording that is locked while somebody writes.

use crate::storage::error::StorageError;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// So often a lock that is held is asked for again.
const MOST_TRIES: u32 = 20;
/// Between two times.
const PAUSE: Duration = Duration::from_millis(1);
/// Name of the file.
pub(crate) const LOCK: &str = "writer.lock";

/// Whether somebody writes to a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    /// A program holds it.
    Alive,
    /// One held it and died before it could close it.
    Died,
    /// Nobody does; the last one closed it.
    Nobody,
}

/// Who writes to the recording in `folder`, as its lock says, which the system lets go with its program.
///
/// A lock that cannot be asked, as on some shared file systems, counts as held.
pub fn writer(folder: &Path) -> Writer {
    let path = folder.join(LOCK);
    let Ok(file) = File::open(&path) else {
        return if path.exists() { Writer::Alive } else { Writer::Nobody };
    };
    match file.try_lock_shared() {
        // Between opening and asking it may have been let go and removed.
        Ok(()) if stands_at(&file, &path) => Writer::Died,
        Ok(()) => Writer::Nobody,
        Err(_) => Writer::Alive,
    }
}

/// Holds a recording; let go when dropped, and by the system when the program dies.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    /// Takes the recording in `folder`, which exists.
    ///
    /// Errors: somebody else writes to it.
    pub(crate) fn take(folder: &Path) -> Result<Self, StorageError> {
        let path = folder.join(LOCK);
        let io = |doing| move |source| StorageError::Io { path: folder.join(LOCK), doing, source };
        let mut tries_left = MOST_TRIES;
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            let mut file = options.open(&path).map_err(io("creating"))?;
            match file.try_lock() {
                // Whoever only asks whether somebody writes holds it for an instant.
                Err(TryLockError::WouldBlock) if tries_left > 0 => {
                    tries_left -= 1;
                    std::thread::sleep(PAUSE);
                    continue;
                }
                Err(TryLockError::WouldBlock) => {
                    let mut pid = String::new();
                    let _ = file.read_to_string(&mut pid);
                    return Err(StorageError::InUse {
                        path: folder.to_owned(),
                        pid: pid.trim().to_owned(),
                    });
                }
                answer => answer.map_err(|it| io("locking")(it.into()))?,
            }
            // The one before may have removed the file between our opening and locking it.
            if stands_at(&file, &path) {
                let pid = std::process::id().to_string();
                let written = file
                    .set_len(0)
                    .and_then(|()| file.seek(SeekFrom::Start(0)))
                    .and_then(|_| file.write_all(pid.as_bytes()));
                let lock = Self { path, file };
                return written.map(|()| lock).map_err(io("writing"));
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Where the folder was removed meanwhile, another writer's lock may stand in its place.
        if stands_at(&self.file, &self.path) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Whether this is still the file of that name.
fn stands_at(file: &File, path: &Path) -> bool {
    let both = std::fs::metadata(path).ok().zip(file.metadata().ok());
    both.is_some_and(|(there, ours)| (there.dev(), there.ino()) == (ours.dev(), ours.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_that_died_is_told_from_one_that_writes_and_one_that_ended() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(writer(folder.path()), Writer::Nobody);
        let lock = Lock::take(folder.path()).unwrap();
        assert_eq!(writer(folder.path()), Writer::Alive);
        drop(lock);
        assert_eq!(writer(folder.path()), Writer::Nobody);
        std::fs::write(folder.path().join(LOCK), "1234").unwrap();
        assert_eq!(writer(folder.path()), Writer::Died);
        let next = Lock::take(folder.path()).unwrap();
        assert_eq!(writer(folder.path()), Writer::Alive, "the next one goes on where it stopped");
        drop(next);
    }
}
