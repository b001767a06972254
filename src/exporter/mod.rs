//! What a sampler sees, counted so that a scrape every 15 s keeps its shape.
//!
//! Floor 2. A sink like any other: rows go in, a page in the text format of Prometheus comes out.
//! Everything is a sum since the start, so that any two scrapes give by difference what happened
//! between them; `domain::shape` says which sums, and how `import` reads them back. No clock, no
//! network: the stamps of rows are the only time, and `cli::serve` answers requests.

mod card;
mod contention;
mod exposition;
mod gauges;
mod limits;
mod own;
mod runs;
mod tenant;
mod text;
mod track;

pub use crate::exporter::exposition::Exposition;
pub use crate::exporter::limits::Limits;
pub use crate::exporter::own::Own;
pub use crate::exporter::text::Format;
