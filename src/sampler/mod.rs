//! A live GPU, and who uses it: what a recorder reads while it runs.
//!
//! Floor 2. Imports `domain` only; reads `/proc` and the network.

pub mod secrets;
pub mod services;
pub mod tenants;
