//! The parts of a report, in reading order: what to do, why, what was rejected, what could not be seen, how we know.

mod answer;
pub(crate) mod blind_spots;
mod by_shape;
mod evidence;
pub(crate) mod glossary;
mod incidents;
mod influence;
mod memory;
pub(crate) mod memory_peaks;
mod phases;
mod proof;
mod provenance;
mod rejected;
mod services;
mod shape;
mod shape_numbers;
mod timeline;
mod together;
mod trap;
mod ways;

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
pub const SECTIONS: &[&dyn Section] = &[
    &answer::Answer,
    &shape::Shape,
    &trap::Trap,
    &influence::Influences,
    &memory_peaks::MemoryPeaks,
    &ways::Ways,
    &rejected::RejectedWays,
    &blind_spots::BlindSpots,
    &timeline::Timelines,
    &proof::Proof,
    &provenance::Provenance,
    &glossary::Glossary,
];

/// What stands behind the answer, folded away under one heading, in reading order.
pub const PROOFS: &[&dyn Section] = &[
    &influence::Tests,
    &influence::LookAlikes,
    &by_shape::ByShape,
    &shape_numbers::ShapeNumbers,
    &services::Services,
    &together::Together,
    &memory::Memory,
    &phases::Phases,
    &evidence::EvidenceTable,
];

/// The heading of a section.
fn title(section: &dyn Section, text: &str) -> Block {
    Block::Heading { level: 2, anchor: section.id().to_owned(), text: text.to_owned() }
}

/// The heading of a device inside a section.
fn device_heading(section: &dyn Section, slug: &str, name: &str) -> Block {
    let anchor = format!("{slug}-{}", section.id());
    Block::Heading { level: 3, anchor, text: name.to_owned() }
}

/// Summary and blocks of each device: the first `unfolded` as they are, the others each folded, and together once more.
fn gathered(parts: Vec<(String, Vec<Block>)>, unfolded: usize) -> Vec<Block> {
    let each = parts.into_iter().map(|(summary, blocks)| Part { devices: 1, summary, blocks });
    gathered_parts(each.collect(), unfolded)
}

/// What is said of one device, or once of several.
struct Part {
    devices: usize,
    summary: String,
    blocks: Vec<Block>,
}

/// The same where a part may stand for several devices.
fn gathered_parts(parts: Vec<Part>, unfolded: usize) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut rest = Vec::new();
    let mut more = 0;
    for (position, part) in parts.into_iter().enumerate() {
        if position < unfolded {
            blocks.extend(part.blocks);
        } else {
            more += part.devices;
            rest.push(Block::Details { summary: part.summary, blocks: part.blocks });
        }
    }
    match rest.len() {
        0 | 1 => blocks.extend(rest),
        _ => blocks.push(Block::Details { summary: format!("{more} more GPUs"), blocks: rest }),
    }
    blocks
}
