//! Findings and what owners say become verdicts, by the thresholds of one policy.
//!
//! Floor 3.

mod apart;
pub mod audit;
pub mod candidates;
mod confidence;
pub mod configuration;
pub mod decide;
pub mod fitting;
mod glimpse;
pub mod grouping;
pub mod layout;
pub mod manifest;
pub mod mechanism;
pub mod memory_risk;
mod on_device;
mod open_answers;
pub mod played;
pub mod policy;
pub mod ran_out;
pub mod reason;
pub mod seen;
mod settling;
pub mod shape;
pub mod situation;
pub mod suitability;
pub mod tenant_policy;
pub mod together;
pub mod told;
pub mod vendor;
pub mod verdict;
