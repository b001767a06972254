//! What stands behind the answer, part by part, folded away.

use crate::report::ReportInput;
use crate::report::block::Block;
use crate::report::sections::{PROOFS, Section, title};

/// The proof.
pub(super) struct Proof;

impl Section for Proof {
    fn id(&self) -> &'static str {
        "proof"
    }

    fn build(&self, input: &ReportInput<'_>) -> Vec<Block> {
        let parts: Vec<Block> = PROOFS.iter().filter_map(|it| folded(it.build(input))).collect();
        if parts.is_empty() {
            return Vec::new();
        }
        let mut blocks = vec![title(self, "Evidence in numbers")];
        blocks.extend(parts);
        blocks
    }
}

/// A part under its own heading, which becomes what is seen of it; `None` where it has nothing to say.
fn folded(blocks: Vec<Block>) -> Option<Block> {
    let mut blocks = blocks.into_iter();
    match blocks.next()? {
        Block::Heading { text, .. } => {
            Some(Block::Details { summary: text, blocks: blocks.collect() })
        }
        other => Some(other),
    }
}
