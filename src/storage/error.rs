//! Why a recording could not be read or written.

use std::path::PathBuf;

/// Why a recording could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The system refused.
    #[error("{path}: {doing} failed")]
    Io {
        /// File or folder.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// Something stands where the recording should go.
    #[error("{path}: exists already")]
    Exists {
        /// The place.
        path: PathBuf,
    },
    /// The recording was removed or moved while it was written.
    #[error("{path}: was removed or moved while the recording was written")]
    Removed {
        /// What is gone.
        path: PathBuf,
    },
    /// Somebody else writes to the recording.
    #[error("{path}: is being written by another program (pid {pid})")]
    InUse {
        /// The recording.
        path: PathBuf,
        /// Process id of the other, as its lock file says.
        pid: String,
    },
    /// The place holds no recording.
    #[error("{path}: is not a cotenant recording: {why}")]
    NotARecording {
        /// The place.
        path: PathBuf,
        /// What is missing.
        why: String,
    },
    /// The recording was written by a later version.
    #[error("{path}: has schema version {found}, this program reads up to {known}")]
    TooNew {
        /// The segment.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The latest that is known here.
        known: u32,
    },
    /// A segment does not hold what it promises.
    #[error("{path}: damaged segment: {why}")]
    Damaged {
        /// The segment.
        path: PathBuf,
        /// What was found.
        why: String,
    },
}

impl StorageError {
    /// What the user can do about it; printed after `help:`.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => {
                "free some space, or bound the recording with --rotate-size and --keep; what was recorded so far stays readable"
            }
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::QuotaExceeded => {
                "raise the quota, or bound the recording with --rotate-size and --keep; what was recorded so far stays readable"
            }
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::FileTooLarge => {
                "raise the limit on the size of a file (`ulimit -f`), or keep segments below it with --rotate-size; what was recorded so far stays readable"
            }
            Self::Removed { .. } => {
                "what was recorded there went with it; record again, and leave the folder in its place meanwhile"
            }
            Self::Io { .. } => "check the path, its permissions and the free space",
            Self::Exists { .. } => "choose another name with -o, or overwrite it with --force",
            Self::InUse { .. } => "end the other program, or choose another folder with -o",
            Self::NotARecording { .. } => {
                "give a folder that `cotenant import` wrote, or a foreign log"
            }
            Self::TooNew { .. } => "update cotenant",
            Self::Damaged { .. } => "remove this segment; the others stay readable",
        }
    }
}
