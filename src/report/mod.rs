//! Results become bytes: a report as neutral blocks, then HTML, text and pictures of it.
//!
//! Floor 5. Reads no file, no clock and no environment: the same results give the same bytes.

#[cfg(test)]
mod answer_tests;
pub mod audit;
pub mod block;
mod cells;
pub mod compare;
pub mod diagnosis;
pub mod explain;
pub mod extent;
pub mod figure;
pub mod fleet;
mod influences;
mod loads;
mod pieces;
pub mod plot;
pub mod recommend;
pub mod render;
pub mod sections;
#[cfg(test)]
mod single_tests;
#[cfg(test)]
mod specimen;
#[cfg(test)]
mod tests;
mod view;
pub mod whatif;
mod wording;
#[cfg(test)]
mod words_tests;

use crate::analysis::findings::Findings;
use crate::domain::outline::Outline;
use crate::recommender::suitability::Suitability;
use crate::report::block::Block;
use crate::report::recommend::Recommendation;
use std::collections::BTreeSet;

/// Everything that a report is made from.
#[derive(Debug, Clone, Copy)]
pub struct ReportInput<'a> {
    /// Heading of the whole report.
    pub title: &'a str,
    /// What the recording holds.
    pub outline: &'a Outline,
    /// What the analyses found.
    pub findings: &'a Findings,
    /// Who suits sharing, for every subject and scope that was judged.
    pub suitability: &'a [Suitability],
    /// What to do with every device, as `recommend` says it.
    pub recommendation: &'a Recommendation<'a>,
    /// Name and value, with its unit, of every setting that shaped the result.
    pub settings: &'a [(String, String)],
    /// Version of cotenant.
    pub tool_version: &'a str,
    /// The command line without secrets; may be empty.
    pub command: &'a str,
}

/// A report as neutral blocks, in reading order: what to do, why, what was rejected, what could not be seen, evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Heading of the whole report.
    pub title: String,
    /// One line below it: what was recorded, when, and for how long.
    pub subtitle: String,
    /// Everything else.
    pub blocks: Vec<Block>,
}

impl Report {
    /// Lays out everything that is known, section by section.
    pub fn build(input: &ReportInput<'_>) -> Report {
        let blocks = sections::SECTIONS.iter().flat_map(|it| it.build(input)).collect();
        Report {
            title: title(input),
            subtitle: subtitle(input),
            blocks: block::without_unused_terms(blocks),
        }
    }
}

/// The name of the recording, with the part of it that this is about.
fn title(input: &ReportInput<'_>) -> String {
    let name = wording::sentence(input.title);
    match input.recommendation.extent {
        Some(it) => format!("{name}, {}", it.window()),
        None => name,
    }
}

/// What was recorded, when, and for how long.
fn subtitle(input: &ReportInput<'_>) -> String {
    let devices = input.findings.devices.len();
    let when = match input.recommendation.extent {
        Some(it) => format!("{}, {}", it.window(), it.part()),
        None => input.outline.span.map_or_else(|| "no samples".to_owned(), wording::span),
    };
    let mut parts = vec![
        when,
        wording::count(devices, "GPU", "GPUs"),
        loads::in_words(input.outline, input.findings.subjects(), devices),
    ];
    let tools: BTreeSet<String> =
        input.outline.sources.iter().map(|it| wording::clean(&it.tool)).collect();
    if !tools.is_empty() {
        let tools: Vec<String> = tools.into_iter().collect();
        parts.push(format!("read by {}", wording::list(&tools)));
    }
    parts.join(" · ")
}
