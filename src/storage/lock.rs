//! One writer at a time: a file in the recording that is locked while somebody writes.

use crate::storage::error::StorageError;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Name of the file.
pub(crate) const LOCK: &str = "writer.lock";

/// Whether somebody writes there, or died while writing.
pub fn has_writer(folder: &Path) -> bool {
    folder.join(LOCK).exists()
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
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            let mut file = options.open(&path).map_err(io("creating"))?;
            match file.try_lock() {
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
