//! What all foreign text has in common: packing, lines, cells, and when a row was.

pub mod cells;
pub mod clock;
pub mod decompress;
pub mod lines;
pub mod stamp;
pub(crate) mod words;
