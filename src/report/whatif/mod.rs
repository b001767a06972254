//! The answer to a what-if as a report: which way to share costs what, for whom, and on what it rests.

mod assumed;
mod lead;
mod made;
mod memory;
mod picture;
mod tables;
#[cfg(test)]
mod tests;

pub use picture::picture;

use crate::colocation::demand::Demand;
use crate::colocation::memory::outlook::MemoryOutlook;
use crate::colocation::objective::{Keeping, Objective};
use crate::colocation::range::Range;
use crate::colocation::share::{Mechanism, Slice};
use crate::colocation::whatif::{Options, Prediction, TenantPrediction};
use crate::report::Report;
use crate::report::block::{Block, without_unused_terms};
use crate::report::sections::glossary;
use crate::report::wording::{name, sentence, some};

/// A tenant, and where its demand comes from.
#[derive(Debug, Clone)]
pub struct Party {
    /// Name, unique among them.
    pub name: String,
    /// The recording or the file that it stands in.
    pub source: String,
    /// Model of the GPU that it was recorded on; `None` when not known.
    pub gpu_model: Option<String>,
    /// Whether nobody else worked on its GPU; `None` when it was never recorded.
    pub was_alone: Option<bool>,
    /// The MIG instance that it was recorded in.
    pub instance: Option<String>,
    /// What it asks for.
    pub demand: Demand,
}

/// What a tenant gets under one way to share.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Terms {
    /// Its active thread percentage as a share, 0 to 1.
    pub thread_share: Option<f64>,
    /// Its MIG instance.
    pub slice: Option<Slice>,
}

/// Where the numbers of a mechanism come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tuning {
    /// Published measurements of other hosts.
    Usual,
    /// The user.
    Given,
}

/// One way to share, played.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// How they would share.
    pub mechanism: Mechanism,
    /// Where its numbers come from.
    pub tuning: Tuning,
    /// What each tenant gets, in their order.
    pub terms: Vec<Terms>,
    /// Whether slices were chosen here, and not given.
    pub is_chosen: bool,
    /// What does not fit.
    pub notes: Vec<String>,
    /// What becomes of memory.
    pub memory: MemoryOutlook,
    /// What would happen.
    pub prediction: Prediction,
}

/// One pair of tenants of which measured co-locations say something.
#[derive(Debug, Clone, PartialEq)]
pub struct Learned {
    /// How they shared.
    pub mechanism: Mechanism,
    /// Who is slowed.
    pub tenant: String,
    /// Who is beside it.
    pub other: String,
    /// Time per work over that alone, with the interval that holds nine of ten.
    pub slowdown: Range,
    /// How many of the two had been seen in co-locations.
    pub tenants_known: usize,
    /// Rows that were learned from.
    pub observations: usize,
    /// Work done over that alone as replayed, for this pair.
    pub throughput_ratio: Option<Range>,
}

/// Everything that the answer is made from.
#[derive(Debug, Clone, Copy)]
pub struct WhatIf<'a> {
    /// The tenants.
    pub parties: &'a [Party],
    /// The ways to share.
    pub scenes: &'a [Scene],
    /// What tenants with requests must keep.
    pub slo: Option<Objective>,
    /// What is known about the GPU besides.
    pub options: &'a Options,
    /// Name of the GPU that would be shared.
    pub gpu: &'a str,
    /// Its memory, bytes; `None` when not known.
    pub capacity_bytes: Option<f64>,
    /// What measured co-locations say.
    pub learned: &'a [Learned],
    /// What was done to the demands.
    pub notes: &'a [String],
    /// Version of cotenant.
    pub tool_version: &'a str,
    /// The command line without secrets; may be empty.
    pub command: &'a str,
}

/// One tenant under one way to share.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// The way to share.
    pub scene: &'a Scene,
    /// The tenant.
    pub party: &'a Party,
    /// What it gets.
    pub terms: Terms,
    /// What would happen to it.
    pub found: &'a TenantPrediction,
    /// Whether it keeps the objective; `None` without one, or without requests.
    pub keeping: Option<Keeping>,
    /// Chance that memory runs out for it within a day, 0 to 1; `None` when it cannot be told.
    pub out_of_memory_ratio: Option<f64>,
}

impl<'a> WhatIf<'a> {
    /// Every tenant under every way to share, way by way.
    pub fn rows(&self) -> Vec<Row<'a>> {
        self.scenes.iter().flat_map(|it| self.rows_of(it)).collect()
    }

    /// Every tenant under one way to share.
    pub(crate) fn rows_of(&self, scene: &'a Scene) -> Vec<Row<'a>> {
        let parts = self.parties.iter().zip(&scene.terms).zip(&scene.prediction.tenants);
        parts
            .enumerate()
            .map(|(place, ((party, terms), found))| Row {
                out_of_memory_ratio: scene.memory.risk_per_day(place, &party.name),
                scene,
                party,
                terms: *terms,
                found,
                keeping: self.slo.and_then(|it| it.kept(&party.demand, found)),
            })
            .collect()
    }

    /// The objective under one way to share: the worst of those whom it concerns.
    pub(crate) fn kept_by(&self, scene: &'a Scene) -> Option<Keeping> {
        self.rows_of(scene).iter().filter_map(|it| it.keeping).max()
    }

    /// The one sentence that answers the question.
    pub fn headline(&self) -> String {
        format!("{}{}", lead::headline(self), memory::addition(self))
    }

    /// Most memory that all hold together, bytes; `None` when it is not known of somebody.
    pub fn together_bytes(&self) -> Option<f64> {
        self.parties.iter().map(|it| it.demand.memory_bytes).sum()
    }

    /// How it was made, one sentence each.
    pub fn made(&self) -> Vec<String> {
        made::sentences(self)
    }
}

/// The name of a way to share, for people.
pub(crate) fn way(mechanism: &Mechanism) -> &'static str {
    match mechanism {
        Mechanism::Exclusive => "exclusive",
        Mechanism::TimeSlicing { .. } => "time slicing",
        Mechanism::Mps { .. } => "MPS",
        Mechanism::Mig => "MIG",
    }
}

/// The key of a way to share, for programs.
pub(crate) fn way_key(mechanism: &Mechanism) -> &'static str {
    match mechanism {
        Mechanism::Exclusive => "exclusive",
        Mechanism::TimeSlicing { .. } => "time_slicing",
        Mechanism::Mps { .. } => "mps",
        Mechanism::Mig => "mig",
    }
}

/// A slowdown: two digits after the point for small ones, fewer for large ones.
pub(crate) fn factor(value: f64) -> String {
    match value {
        it if it >= 99.5 => format!("{it:.0}"),
        it if it >= 9.95 => format!("{it:.1}"),
        it => format!("{it:.2}"),
    }
}

/// The answer as neutral blocks, in reading order.
pub fn report(input: &WhatIf<'_>) -> Report {
    let mut blocks = vec![heading("answer", "The answer"), Block::Lead(input.headline())];
    blocks.push(tables::slowdowns(input));
    blocks.push(heading("slower", "Why: how much slower under each way"));
    blocks.push(picture::block(input));
    blocks.push(heading("memory", "Memory together"));
    blocks.extend(memory::blocks(input));
    let refusals = tables::refusals(input);
    if !refusals.is_empty() {
        blocks.push(heading("refused", "What has no number"));
        blocks.extend(refusals);
    }
    blocks.push(heading("assumed", "What could not be seen and had to be assumed"));
    blocks.extend(assumed::blocks(input));
    blocks.push(heading("latency", "Evidence: latency and work done"));
    blocks.push(tables::work(input));
    if !input.learned.is_empty() {
        blocks.push(heading("learned", "Evidence: what measured co-locations say"));
        blocks.extend(tables::learned(input));
    }
    blocks.push(heading("made", "How it was made"));
    blocks.push(tables::parties(input));
    blocks.extend(made::sentences(input).into_iter().map(Block::Text));
    blocks.extend(provenance(input));
    blocks.push(heading("glossary", "Terms"));
    blocks.extend(glossary::terms());
    Report {
        title: "What if they shared a GPU".to_owned(),
        subtitle: subtitle(input),
        blocks: without_unused_terms(blocks),
    }
}

fn heading(anchor: &str, text: &str) -> Block {
    Block::Heading { level: 2, anchor: anchor.to_owned(), text: text.to_owned() }
}

fn subtitle(input: &WhatIf<'_>) -> String {
    let names: Vec<String> = input.parties.iter().map(|it| name(&it.name)).collect();
    let shown = some(&names);
    format!("{shown} on {}", name(input.gpu))
}

fn provenance(input: &WhatIf<'_>) -> Vec<Block> {
    let mut blocks =
        vec![Block::Text(format!("Made by cotenant {}.", sentence(input.tool_version)))];
    if !input.command.trim().is_empty() {
        blocks.push(Block::Code(sentence(input.command)));
    }
    blocks
}
