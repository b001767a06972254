//! The parts of a report, in reading order: verdict, why, what could not be seen, how we know.

pub(crate) mod blind_spots;
mod evidence;
pub(crate) mod glossary;
mod headline;
mod influence;
mod memory;
pub(crate) mod memory_peaks;
mod phases;
mod provenance;
mod services;
mod shape;
mod summary;
mod timeline;
mod together;
mod trap;

use crate::report::ReportInput;
use crate::report::block::Block;
use crate::report::view::UNFOLDED_DEVICES;

/// A part of a report.
pub trait Section: Sync {
    /// Name in kebab case; anchor of its heading.
    fn id(&self) -> &'static str;
    /// Its blocks; empty when there is nothing to say.
    fn build(&self, input: &ReportInput<'_>) -> Vec<Block>;
}

/// Every section, in reading order.
pub const SECTIONS: &[&dyn Section] = &[
    &summary::Summary,
    &influence::Influences,
    &timeline::Timelines,
    &shape::Shape,
    &services::Services,
    &together::Together,
    &trap::Trap,
    &memory::Memory,
    &memory_peaks::MemoryPeaks,
    &phases::Phases,
    &blind_spots::BlindSpots,
    &evidence::EvidenceTable,
    &provenance::Provenance,
    &glossary::Glossary,
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

/// The blocks as they are, or folded away when so many devices came before.
fn folded_after_many(position: usize, summary: &str, blocks: Vec<Block>) -> Vec<Block> {
    if position < UNFOLDED_DEVICES || blocks.is_empty() {
        return blocks;
    }
    vec![Block::Details { summary: summary.to_owned(), blocks }]
}
