//! Findings become verdicts, by the thresholds of one policy.
//!
//! Floor 3.

pub mod grouping;
pub mod layout;
pub mod memory_risk;
pub mod policy;
pub mod suitability;
