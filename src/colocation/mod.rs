//! What if they shared? Loads seen alone, and a mechanism: what it would do to them.
//!
//! Floor 2: pure, numbers in and numbers out.

pub mod memory;
