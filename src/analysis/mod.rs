//! A recording becomes findings: pure, parallel, and unable to fail.
//!
//! Floor 2. Thin data gives `None` and a blind spot, not an error and not a zero.

pub mod evidence;
pub mod findings;
