//! Influences as people read them: sentences, numbers, tables and the matrix.

pub(crate) mod contention;
pub(crate) mod grouping;
pub(crate) mod look_alikes;
pub(crate) mod matrix;
pub(crate) mod quantities;
pub(crate) mod tables;
#[cfg(test)]
mod tests;
pub(crate) mod wording;
