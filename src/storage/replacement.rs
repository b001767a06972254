//! A recording that takes the place of an old one only once it is whole.

use crate::storage::error::StorageError;
use crate::storage::findings::is_kept;
use crate::storage::journal;
use crate::storage::lock::{LOCK, Lock};
use std::path::{Path, PathBuf};

/// A folder beside a recording, into which the next one is written.
///
/// Dropped before [`Replacement::swap`], it is removed and the old recording stays as it was.
#[derive(Debug)]
pub(crate) struct Replacement {
    old: PathBuf,
    new: PathBuf,
    retired: PathBuf,
}

impl Replacement {
    /// Prepares to replace the recording at `folder`, which may be absent.
    ///
    /// What an interrupted replacement left beside it is removed.
    /// Errors: something other than a recording stands there, or beside it under our names.
    pub(crate) fn of(folder: &Path) -> Result<Self, StorageError> {
        let mut old = folder.to_owned();
        if folder.exists() {
            old = folder.canonicalize().map_err(io(folder, "opening"))?;
            segments_only(&old)?;
            // Nobody may be writing to what is about to go.
            drop(Lock::take(&old)?);
        }
        let Some(name) = old.file_name().map(|it| it.to_string_lossy().into_owned()) else {
            let why = "the path ends without a name".to_owned();
            return Err(StorageError::NotARecording { path: folder.to_owned(), why });
        };
        let new = old.with_file_name(format!(".{name}.new"));
        let retired = old.with_file_name(format!(".{name}.old"));
        if new.exists() {
            remove(&new)?;
        }
        if retired.exists() && old.exists() {
            remove(&retired)?;
        }
        Ok(Self { old, new, retired })
    }

    /// Where the new recording is written.
    pub(crate) fn folder(&self) -> &Path {
        &self.new
    }

    /// Puts the new recording in the place of the old one; does nothing when nothing was written.
    pub(crate) fn swap(self) -> Result<(), StorageError> {
        if !self.new.exists() {
            return Ok(());
        }
        let has_old = self.old.exists();
        if has_old {
            std::fs::rename(&self.old, &self.retired).map_err(io(&self.old, "replacing"))?;
        }
        if let Err(error) = std::fs::rename(&self.new, &self.old) {
            if has_old {
                std::fs::rename(&self.retired, &self.old)
                    .map_err(io(&self.retired, "restoring"))?;
            }
            return Err(io(&self.old, "replacing")(error));
        }
        if has_old { remove(&self.retired) } else { Ok(()) }
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if self.new.exists() {
            let _ = remove(&self.new);
        }
    }
}

fn io(path: &Path, doing: &'static str) -> impl Fn(std::io::Error) -> StorageError {
    move |source| StorageError::Io { path: path.to_owned(), doing, source }
}

/// Removes a recording with its folder, and nothing else.
fn remove(folder: &Path) -> Result<(), StorageError> {
    for segment in segments_only(folder)? {
        std::fs::remove_file(&segment).map_err(io(&segment, "removing the segment"))?;
    }
    std::fs::remove_dir(folder).map_err(io(folder, "removing the folder"))
}

/// The segments in a folder that holds nothing else, with a table of findings if there is one.
pub(crate) fn segments_only(folder: &Path) -> Result<Vec<PathBuf>, StorageError> {
    let is_segment = |it: &Path| {
        let name = it.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
        let is_whole = name.starts_with("segment-")
            && (name.ends_with(".parquet") || name.ends_with(".parquet.tmp"));
        is_whole || name == LOCK || journal::number_of(it).is_some() || is_kept(it)
    };
    let mut segments = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(io(folder, "listing"))? {
        let path = entry.map_err(io(folder, "listing"))?.path();
        if !is_segment(&path) {
            let why = format!("it holds `{}`, which is no segment", path.display());
            return Err(StorageError::NotARecording { path: folder.to_owned(), why });
        }
        segments.push(path);
    }
    Ok(segments)
}
