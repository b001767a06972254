//! Who slows whom on a GPU: every tenant against every other, look-alikes first.

mod cast;
pub mod findings;
mod grid;
pub mod ladder;
pub mod trial;
