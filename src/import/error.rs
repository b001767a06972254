//! Why a foreign file as a whole could not become a recording.

use crate::domain::sink::SinkError;

/// Why a foreign file as a whole could not become a recording; single cells are rejected instead.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The reader failed.
    #[error("{file}:{line}: cannot read")]
    Read {
        /// File name.
        file: String,
        /// Line that was being read, from 1.
        line: u64,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is nothing in the file.
    #[error("{file}: holds no samples")]
    Empty {
        /// File name.
        file: String,
    },
    /// Not one row of the file could be read.
    #[error(
        "{file}: nothing could be read; {count} cells or rows were left out, the first at {first}"
    )]
    Unreadable {
        /// File name.
        file: String,
        /// Cells and rows that were left out.
        count: u64,
        /// The first of them.
        first: String,
    },
    /// The file's structure is not the format's.
    #[error("{file}:{line}: expected {expected}, found `{found}`")]
    Structure {
        /// File name.
        file: String,
        /// Line, from 1.
        line: u64,
        /// What the format asks for.
        expected: String,
        /// The offending text, cut short.
        found: String,
        /// What to do now.
        remedy: String,
    },
    /// Several GPUs, and nothing that tells them apart.
    #[error("{file}:{line}: {rows} rows carry the stamp `{stamp}`, and no column names the GPU")]
    AmbiguousGpu {
        /// File name.
        file: String,
        /// Line of the last of these rows, from 1.
        line: u64,
        /// Rows with this stamp.
        rows: usize,
        /// The stamp.
        stamp: String,
        /// What to do now.
        remedy: String,
    },
    /// No stamps in the file, and none made up by the user.
    #[error("{file}: has no time stamps")]
    NoStamps {
        /// File name.
        file: String,
    },
    /// The sink could not take a row.
    #[error(transparent)]
    Sink(#[from] SinkError),
}

impl ImportError {
    /// What the user can do about it; printed after `help:`.
    pub fn remedy(&self) -> String {
        match self {
            Self::Read { .. } => "check that the file is complete; what was read before is kept",
            Self::Empty { .. } => {
                "record again; the tool that wrote it saw no GPU or no process, or was stopped early"
            }
            Self::Unreadable { .. } => {
                "look at that place: a unit or a format of stamps that is not the expected one spoils every row; a mapping file can name it"
            }
            Self::Structure { remedy, .. } | Self::AmbiguousGpu { remedy, .. } => remedy,
            Self::NoStamps { .. } => {
                "give the stamps: --start 2026-01-31T12:00:00Z --interval 1s (rows that carry a time of day need the start only)"
            }
            Self::Sink(it) => &it.remedy,
        }
        .to_owned()
    }
}
