//! The parts of a report, in reading order.

use crate::report::ReportInput;
use crate::report::block::Block;

/// A part of a report.
pub trait Section: Sync {
    /// Name in kebab case; anchor of its heading.
    fn id(&self) -> &'static str;
    /// Its blocks; empty when there is nothing to say.
    fn build(&self, input: &ReportInput<'_>) -> Vec<Block>;
}

/// Every section, in reading order.
pub const SECTIONS: &[&dyn Section] = &[];
