//! An audit as a report: what is wrong, what is in order, and what could not be looked at.

mod findings;
mod seats;
#[cfg(test)]
mod tests;

use crate::recommender::audit::{Audit, CheckState, Severity};
use crate::report::Report;
use crate::report::block::Block;
use crate::report::wording::{capitalised, count, list, name, sentence};

/// A file that was read about the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFile {
    /// Its name, without folders.
    pub name: String,
    /// What it was taken for, in a few words.
    pub kind: &'static str,
}

/// Everything that the report is made from.
#[derive(Debug, Clone, Copy)]
pub struct AuditView<'a> {
    /// The result.
    pub audit: &'a Audit,
    /// The files about the node, in the order of the command line.
    pub files: &'a [NodeFile],
    /// The recording; `None` without one.
    pub recording: Option<&'a str>,
    /// The plan that the layout was compared with, as it was named; `None` without one.
    pub plan: Option<&'a str>,
    /// Version of cotenant.
    pub tool_version: &'a str,
    /// The command line without secrets; may be empty.
    pub command: &'a str,
}

impl AuditView<'_> {
    /// The one sentence that answers the question.
    pub fn headline(&self) -> String {
        let of = |severity: Severity, one: &str, many: &str| {
            let number = self.audit.count(severity);
            (number > 0).then(|| count(number, one, many))
        };
        let found: Vec<String> = [
            of(Severity::Problem, "problem", "problems"),
            of(Severity::Warning, "warning", "warnings"),
            of(Severity::Note, "note", "notes"),
        ]
        .into_iter()
        .flatten()
        .collect();
        let checks = self.audit.checks.len();
        let made = checks - self.audit.not_made();
        let open = match (self.audit.not_made(), self.audit.count(Severity::NotChecked)) {
            (0, 0) => String::new(),
            (0, some) => format!("; {} could not be looked at", count(some, "detail", "details")),
            (all, _) => format!("; {} could not be made", count(all, "check", "checks")),
        };
        match (made, found.is_empty()) {
            (0, _) => {
                format!("Nothing could be checked: none of {checks} checks found what it needs.")
            }
            (_, false) => format!("{}{open}.", capitalised(&list(&found))),
            (_, true) => format!("Nothing was found by {}{open}.", count(made, "check", "checks")),
        }
    }
}

/// The audit as neutral blocks, in reading order.
pub fn report(view: &AuditView<'_>) -> Report {
    let mut blocks = vec![heading("answer", "The answer"), Block::Lead(view.headline())];
    for (severity, anchor, title) in [
        (Severity::Problem, "problems", "Problems"),
        (Severity::Warning, "warnings", "Warnings"),
        (Severity::Note, "notes", "Notes"),
    ] {
        let found = findings::statements(view.audit, severity);
        if !found.is_empty() {
            blocks.push(heading(anchor, title));
            blocks.extend(found);
        }
    }
    if !view.audit.seats.is_empty() {
        blocks.push(heading("seats", "Who sits where"));
        blocks.push(seats::table(&view.audit.seats));
    }
    let fine = findings::fine(view.audit);
    if !fine.is_empty() {
        blocks.push(heading("fine", "Checked, and in order"));
        blocks.extend(fine);
    }
    let open = findings::open(view.audit);
    if !open.is_empty() {
        blocks.push(heading("open", "What could not be checked"));
        blocks.extend(open);
    }
    blocks.push(heading("made", "What was read"));
    blocks.extend(made(view));
    Report { title: "Audit of a node".to_owned(), subtitle: subtitle(view), blocks }
}

fn heading(anchor: &str, text: &str) -> Block {
    Block::Heading { level: 2, anchor: anchor.to_owned(), text: text.to_owned() }
}

fn subtitle(view: &AuditView<'_>) -> String {
    let mut parts = vec![count(view.files.len(), "file of the node", "files of the node")];
    parts.push(match view.recording {
        Some(it) => format!("recording {}", name(it)),
        None => "no recording".to_owned(),
    });
    if let Some(it) = view.plan {
        parts.push(format!("plan {}", name(it)));
    }
    parts.join(" · ")
}

fn made(view: &AuditView<'_>) -> Vec<Block> {
    let file = |it: &NodeFile| format!("{}: {}", name(&it.name), it.kind);
    let mut blocks = vec![Block::Steps(view.files.iter().map(file).collect())];
    let of = |state: CheckState| view.audit.checks.iter().filter(|it| it.state == state).count();
    blocks.push(Block::Text(format!(
        "{}: {} found something, {} found all in order, {} saw only a part, {} had nothing to look at.",
        count(view.audit.checks.len(), "check", "checks"),
        of(CheckState::Found),
        of(CheckState::Fine),
        of(CheckState::Partly),
        of(CheckState::NotChecked)
    )));
    blocks.push(Block::Text(format!("Made by cotenant {}.", sentence(view.tool_version))));
    if !view.command.trim().is_empty() {
        blocks.push(Block::Code(sentence(view.command)));
    }
    blocks
}
