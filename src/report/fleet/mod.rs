//! A plan for a fleet as a report: what to do and what it frees, what it costs in freedom, who shares with whom, and what was not seen.

mod classes;
mod devices;
mod freedom;
mod lead;
mod mix;

use crate::domain::time::{TimeSpan, Timestamp};
use crate::fleet::plan::{FleetPlan, Unseen};
use crate::report::Report;
use crate::report::block::{Block, Caveat, Mark};
use crate::report::pieces::{heading, statement};
use crate::report::wording;
use crate::report::wording::{capitalised, count, name, sentence, stopped};

/// Everything that the report is made from.
#[derive(Debug, Clone, Copy)]
pub struct FleetInput<'a> {
    /// Heading: name of the recordings.
    pub title: &'a str,
    /// The plan.
    pub plan: &'a FleetPlan,
    /// What was done to the input, each in a sentence.
    pub notes: &'a [String],
    /// Version of cotenant.
    pub tool_version: &'a str,
    /// The command line without secrets; may be empty.
    pub command: &'a str,
}

/// The plan as neutral blocks, in reading order.
pub fn report(input: &FleetInput<'_>) -> Report {
    let plan = input.plan;
    let mut blocks = vec![heading(2, "answer", "What to do")];
    blocks.extend(lead::blocks(plan));
    if plan.summary.tenants > 0 {
        blocks.push(heading(2, "freedom", "What it costs in freedom"));
        blocks.extend(freedom::blocks(plan));
        blocks.push(heading(2, "mix", "If the mix changes"));
        blocks.extend(mix::blocks(plan));
        blocks.push(heading(2, "gpus", "GPU by GPU"));
        blocks.extend(devices::blocks(plan));
        blocks.push(heading(2, "classes", "Who may share with whom"));
        blocks.extend(classes::blocks(plan));
    }
    blocks.push(heading(2, "unseen", "What was not seen"));
    blocks.extend(unseen(plan));
    blocks.push(heading(2, "made", "How it was made"));
    blocks.push(Block::Text(
        "Every GPU of the plan was decided about as a whole, by the rules of `cotenant recommend`: nothing stands here that a verdict on the GPU alone would refuse. docs/PLAN.md says how a plan is made.".to_owned(),
    ));
    blocks.extend(input.notes.iter().map(|it| Block::Text(stopped(&capitalised(&sentence(it))))));
    blocks.push(Block::Text(format!("Made by cotenant {}.", sentence(input.tool_version))));
    if !input.command.trim().is_empty() {
        blocks.push(Block::Code(sentence(input.command)));
    }
    let title = match input.title {
        "" => "A plan for the fleet".to_owned(),
        title => format!("Fleet plan: {}", name(title)),
    };
    Report { title, subtitle: subtitle(plan), blocks }
}

fn subtitle(plan: &FleetPlan) -> String {
    let summary = &plan.summary;
    let mut parts = Vec::new();
    if let (Some(from), Some(until)) = (plan.from_us, plan.until_us) {
        let span = TimeSpan::new(Timestamp::from_micros(from), Timestamp::from_micros(until));
        parts.extend(span.map(wording::span));
    }
    parts.extend(summary.hosts.map(|it| count(it, "host", "hosts")));
    parts.push(count(summary.gpus, "GPU", "GPUs"));
    parts.push(count(summary.tenants, "tenant", "tenants"));
    parts.join(" · ")
}

/// What a reader has to know before it decides, then what could not be seen, by how many GPUs it is about.
fn unseen(plan: &FleetPlan) -> Vec<Block> {
    let told = |it: &String| statement(Mark::Unknown, "", it, Vec::new());
    let mut blocks: Vec<Block> = plan.caveats.iter().map(told).collect();
    let caveat = |it: &Unseen| {
        Block::Caveat(Caveat {
            kind: count(it.gpus, "GPU", "GPUs"),
            about: String::new(),
            detail: stopped(&capitalised(&sentence(&it.sentence))),
            remedy: String::new(),
        })
    };
    let all: Vec<Block> = plan.unseen.iter().map(caveat).collect();
    if !all.is_empty() {
        blocks.push(Block::Details {
            summary: format!("What recordings and verdicts left open ({})", all.len()),
            blocks: all,
        });
    }
    blocks
}
