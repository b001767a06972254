//! What `nvidia-smi` prints over time: csv of its queries, and the text of `dmon` and `pmon`.

pub mod apps;
pub mod csv;
pub mod dmon;
pub mod fields;
pub mod monitor;
pub mod pmon;
pub mod program;
pub mod query;
pub mod unnamed_gpu;
