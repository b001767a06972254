//! The words of the program: what was seen on a shared GPU, and what could not be seen.
//!
//! Floor 1. No IO, no clock, and no foreign crate but serde.

pub mod blind_spot;
pub mod collector;
pub mod column;
pub mod contended;
pub(crate) mod endpoint;
pub mod glob;
pub(crate) mod histogram;
pub mod ident;
pub mod invisible;
pub mod metric;
pub mod metric_table;
pub mod mig_geometry;
pub mod outline;
pub mod processes;
pub mod recording;
pub mod secrets;
pub mod series;
pub mod service_table;
pub mod shape;
pub mod shape_families;
pub mod shares;
pub mod sink;
pub mod source;
pub mod spelling;
pub mod time;
pub mod units;
