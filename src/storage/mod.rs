//! A recording on disk: a folder of Parquet segments that any Parquet reader opens.
//!
//! Floor 2, and the only user of polars and its Arrow. `docs/RECORDING.md` describes the form.

pub mod arrow;
pub mod error;
pub mod findings;
mod frame;
mod gathered;
mod journal;
mod lanes;
mod live;
mod lock;
mod reader;
mod replacement;
mod rows;
mod seal;
mod segment;
mod stored_segment;
mod succession;
mod writer;

pub use live::{LiveWriter, Rotation};
pub use lock::{Writer, writer};
pub use reader::{Selection, StoredRecording};
pub use succession::with_processes_in_line;
pub use writer::{Mode, RecordingWriter};

#[cfg(test)]
mod tests;
