//! What the fuzz targets share: bytes that become choices, a folder to work in, and what a command printed.

mod choices;
mod folder;
mod small;
mod spoken;

pub use crate::choices::Choices;
pub use crate::folder::{folder, inside};
pub use crate::small::{START_US, write_names, write_small};
pub use crate::spoken::{Answer, DOCUMENTED_CODES, command};
