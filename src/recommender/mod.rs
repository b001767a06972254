//! Findings become verdicts, by the thresholds of one policy.
//!
//! Floor 3.

pub mod manifest;
pub mod memory_risk;
pub mod policy;
pub mod suitability;
