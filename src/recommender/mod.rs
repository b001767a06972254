//! Findings become verdicts, by the thresholds of one policy.
//!
//! Floor 3.

pub mod memory_risk;
pub mod policy;
pub mod reason;
pub mod suitability;
pub mod tenant_policy;
