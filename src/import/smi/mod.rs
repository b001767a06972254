//! What `nvidia-smi` prints over time: csv of its queries, the text of `dmon` and `pmon`, and captures of its tables
//! and of `-q` in a row.

pub mod apps;
pub mod capture;
pub mod csv;
pub mod dmon;
pub mod fields;
pub mod log;
pub mod monitor;
pub mod pmon;
pub mod program;
pub mod query;
pub mod table;
pub mod unnamed_gpu;
pub mod xml;
