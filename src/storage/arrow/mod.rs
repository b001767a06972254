//! Rows and tables as streams of Arrow, in the IPC form: one door for Spark, Ray, Dask, DuckDB and pipes.
//!
//! Rows of a device stand together. They are read batch by batch, so that no more than one device is held.
//! `docs/FINDINGS.md` describes both streams.

mod columns;
mod device;
mod frames;
mod stream;
mod table;

pub use columns::Cell;
pub use device::DeviceRows;
pub use stream::{DeviceKey, DeviceStream, RowSlice};
pub use table::TableStream;

/// Why a stream of Arrow could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The bytes do not begin with the schema of a stream.
    #[error("standard input is no Arrow stream: {0}")]
    NotArrow(String),
    /// The stream breaks off, or its frames are broken.
    #[error("the Arrow stream is broken after {rows} rows: {why}")]
    Broken {
        /// Rows that were read before.
        rows: u64,
        /// What was found.
        why: String,
    },
    /// A column that says whose a row is has a type that cannot.
    #[error("column `{column}` holds {found}: it says whose a row is, and has to hold {needed}")]
    Key {
        /// The column.
        column: String,
        /// Type of its cells.
        found: String,
        /// Types that it may have.
        needed: &'static str,
    },
    /// The result could not be written.
    #[error("writing the Arrow stream failed: {0}")]
    Write(String),
}

impl StreamError {
    /// What the user can do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::NotArrow(_) => {
                "write an Arrow IPC stream into it (pyarrow: `pyarrow.ipc.new_stream`), neither a file of Arrow nor Parquet"
            }
            Self::Broken { .. } => {
                "write the stream anew, to its end mark and without compression; what was found of devices before it is whole"
            }
            Self::Key { .. } => "cast the column before it is written",
            Self::Write(_) => "see that whoever reads the result reads it to its end",
        }
    }

    /// Whether what was given is at fault, and not the way to it.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::NotArrow(_) | Self::Key { .. })
    }
}
