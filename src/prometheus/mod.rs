//! Asks a Prometheus, or whatever speaks like one, for the samples of a stretch of time, part by part.
//!
//! Thanos, Mimir and VictoriaMetrics answer the same questions. What the answers mean is not known
//! here: `import::prometheus_json` reads them, and the command line joins both.
//!
//! ```text
//! Order ─► download ─► Client::ask ─► Shelf::put      one answer at a time; what the shelf has is not asked for
//!             └ a part that is too much is halved, one that stays out is a hole
//! ```
//!
//! Floor 2. Network only; files, clocks and pauses belong to the [`Shelf`] that the caller gives.

pub mod client;
pub mod download;
pub mod problem;
pub mod query;
#[cfg(test)]
mod tests;

pub use crate::prometheus::client::{Client, Settings};
pub use crate::prometheus::download::{Outcome, Shelf, download, gives_raw_samples, names};
pub use crate::prometheus::problem::Problem;
pub use crate::prometheus::query::{MOST_POINTS, Order, Part, selected};
