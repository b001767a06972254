//! Findings as statements, and what could not be looked at.

use crate::recommender::audit::{Audit, AuditFinding, CheckState, Severity};
use crate::report::block::{Block, Caveat, Mark, Statement};
use crate::report::wording::{capitalised, count, name, sentence, stopped};
use std::collections::BTreeMap;

/// Pieces of evidence of one finding that are shown; JSON has all of them.
const MOST_EVIDENCE: usize = 6;
/// Sentences on what is in order that are shown for each check.
const MOST_FINE: usize = 6;

/// Every finding of one weight.
pub(super) fn statements(audit: &Audit, severity: Severity) -> Vec<Block> {
    let found = audit.findings.iter().filter(|it| it.severity == severity);
    found.map(|it| Block::Statement(statement(it))).collect()
}

fn statement(it: &AuditFinding) -> Statement {
    let mut notes = shortened(&it.evidence, MOST_EVIDENCE, "line");
    if !it.remedy.is_empty() {
        notes.push(format!("To do: {}", stopped(&sentence(&it.remedy))));
    }
    let mark = match it.severity {
        Severity::Problem => Mark::Firm,
        Severity::Warning => Mark::Probable,
        Severity::Note => Mark::Absent,
        Severity::NotChecked => Mark::Unknown,
    };
    let text = stopped(&capitalised(&sentence(&it.title)));
    Statement { mark, tag: it.check.to_owned(), text, notes }
}

/// The first of some texts, cleaned, and how many more there are.
fn shortened(texts: &[String], most: usize, what: &str) -> Vec<String> {
    let mut shown: Vec<String> = texts.iter().take(most).map(|it| sentence(it)).collect();
    let more = texts.len().saturating_sub(most);
    if more > 0 {
        shown.push(count(more, &format!("{what} more"), &format!("{what}s more")));
    }
    shown
}

/// What each check found in order.
pub(super) fn fine(audit: &Audit) -> Vec<Block> {
    let checks = audit.checks.iter().filter(|it| !it.fine.is_empty());
    checks
        .map(|it| {
            Block::Statement(Statement {
                mark: match it.state {
                    CheckState::Partly => Mark::Unknown,
                    _ => Mark::Fine,
                },
                tag: it.check.to_owned(),
                text: match it.state {
                    CheckState::Found => "Besides what was found:".to_owned(),
                    CheckState::Partly => format!("{} Only this could be seen:", it.question),
                    _ => it.question.to_owned(),
                },
                notes: shortened(&it.fine, MOST_FINE, "sentence")
                    .iter()
                    .map(|it| stopped(&capitalised(it)))
                    .collect(),
            })
        })
        .collect()
}

/// What could not be looked at, grouped by what would let it be seen.
pub(super) fn open(audit: &Audit) -> Vec<Block> {
    let mut groups: Vec<(&str, Vec<&AuditFinding>)> = Vec::new();
    for it in audit.findings.iter().filter(|it| it.severity == Severity::NotChecked) {
        match groups.iter_mut().find(|group| group.0 == it.remedy) {
            Some(group) => group.1.push(it),
            None => groups.push((&it.remedy, vec![it])),
        }
    }
    // What settles most stands first.
    groups.sort_by_key(|it| std::cmp::Reverse(it.1.len()));
    groups.into_iter().map(|(remedy, all)| Block::Caveat(caveat(remedy, &all))).collect()
}

fn caveat(remedy: &str, all: &[&AuditFinding]) -> Caveat {
    let mut checks: BTreeMap<&str, usize> = BTreeMap::new();
    for it in all {
        *checks.entry(it.check).or_default() += 1;
    }
    let checks: Vec<&str> = checks.into_keys().collect();
    let titles: Vec<String> = all.iter().map(|it| it.title.clone()).collect();
    let detail: Vec<String> = shortened(&titles, MOST_EVIDENCE, "detail")
        .iter()
        .map(|it| stopped(&capitalised(it)))
        .collect();
    Caveat {
        kind: "not checked".to_owned(),
        about: name(&checks.join(", ")),
        detail: detail.join(" "),
        remedy: capitalised(&stopped(&sentence(remedy))),
    }
}
