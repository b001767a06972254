//! How GPUs should be shared, as a report: what to do, why, what it disturbs, what was rejected, and what to apply.

mod apply;
pub(crate) mod device;
pub(crate) mod lead;
pub(crate) mod predicted;

use crate::recommender::configuration::Configuration;
use crate::recommender::together::Together;
use crate::recommender::verdict::Verdict;
use crate::report::Report;
use crate::report::block::{Block, without_unused_terms};
use crate::report::extent::Extent;
use crate::report::pieces::heading;
use crate::report::sections::glossary;
use crate::report::wording::{capitalised, count, name, sentence, stopped};

/// Everything that the answer is made from.
#[derive(Debug, Clone, Copy)]
pub struct Recommendation<'a> {
    /// Heading: name of the recording.
    pub title: &'a str,
    /// One verdict for each device, in the order of the devices.
    pub verdicts: &'a [Verdict],
    /// Who would share if tenants could move between devices; `None` where they are on one device only.
    pub together: Option<&'a Together>,
    /// Files to apply.
    pub configuration: &'a Configuration,
    /// The part of the recording that this is about; `None` for all of it.
    pub extent: Option<Extent>,
    /// What was done to the input, each in a sentence.
    pub notes: &'a [String],
    /// Version of cotenant.
    pub tool_version: &'a str,
    /// The command line without secrets; may be empty.
    pub command: &'a str,
}

impl Recommendation<'_> {
    /// The one sentence that answers the question.
    pub fn headline(&self) -> String {
        self.within(lead::headline(self))
    }

    /// The same without reasons, where they stand below it.
    pub fn decision(&self) -> String {
        self.within(lead::decided(self))
    }

    fn within(&self, told: String) -> String {
        match &self.extent {
            Some(it) => format!("{told} {}", it.sentence()),
            None => told,
        }
    }
}

/// The answer as neutral blocks, in reading order.
pub fn report(input: &Recommendation<'_>) -> Report {
    let mut blocks = vec![heading(2, "answer", "What to do"), Block::Lead(input.decision())];
    match input.verdicts {
        [only] => blocks.extend(lead::grounds(only).map(Block::Text)),
        [] => {}
        _ => blocks.push(lead::table(input)),
    }
    for (place, verdict) in input.verdicts.iter().enumerate() {
        blocks.extend(device::blocks(verdict, place, input.verdicts.len() > 1));
    }
    if let Some(together) = input.together {
        blocks.push(heading(2, "together", "Who belongs together"));
        blocks.extend(lead::together(together));
    }
    blocks.push(heading(2, "apply", "What to apply"));
    blocks.extend(apply::blocks(input.configuration));
    blocks.push(heading(2, "made", "How it was made"));
    blocks.extend(input.extent.iter().map(|it| Block::Text(it.sentence())));
    let noted = |it: &String| Block::Text(stopped(&capitalised(&sentence(it))));
    blocks.extend(input.notes.iter().map(noted));
    blocks.push(Block::Text(format!("Made by cotenant {}.", sentence(input.tool_version))));
    if !input.command.trim().is_empty() {
        blocks.push(Block::Code(sentence(input.command)));
    }
    let subtitle = match input.verdicts {
        [] => "no GPU".to_owned(),
        [one] => name(&one.label),
        several => count(several.len(), "GPU", "GPUs"),
    };
    let title = match input.title {
        "" => "How the GPU should be shared".to_owned(),
        title => format!("How to share: {}", name(title)),
    };
    let (title, subtitle) = match &input.extent {
        Some(it) => (format!("{title}, {}", it.window()), format!("{subtitle} · {}", it.part())),
        None => (title, subtitle),
    };
    blocks.push(heading(2, "glossary", "Terms"));
    blocks.extend(glossary::terms());
    Report { title, subtitle, blocks: without_unused_terms(blocks) }
}
