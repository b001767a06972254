//! Checks of a running set-up: what its files and a recording say, against policy and plan.
//!
//! Each check is a file here and a line in [`CHECKS`]. A check never guesses: what its files do not show
//! becomes a finding of [`Severity::NotChecked`] that names the file to add.

mod config;
mod facts;
mod finding;
mod layout;
mod measured;
mod modes;
mod mps;
mod place;
mod profiles;
mod residents;
mod seating;
mod seats;
mod shares;
mod sharing;
mod slices;
mod stalls;
mod trust;
mod unrequested;

pub use finding::{About, AboutKind, AuditFinding, Severity};
pub use seating::Seat;

use crate::analysis::findings::Findings;
use crate::cluster::config::facts::MigPartedConfig;
use crate::cluster::facts::NodeWords;
use crate::domain::outline::Outline;
use crate::recommender::audit::facts::Facts;
use crate::recommender::audit::finding::Answer;
use crate::recommender::policy::Policy;
use crate::recommender::tenant_policy::TenantPolicies;
use serde::Serialize;

/// What is checked, and against what.
#[derive(Debug, Clone, Copy)]
pub struct AuditInput<'a> {
    /// What the files of one node, and of the cluster around it, say.
    pub words: &'a NodeWords,
    /// What a recording of the node holds; `None` without one.
    pub outline: Option<&'a Outline>,
    /// What the recording means; `None` without one.
    pub findings: Option<&'a Findings>,
    /// What owners say about their tenants.
    pub tenants: &'a TenantPolicies,
    /// Thresholds.
    pub policy: &'a Policy,
    /// The layout that was planned; `None` takes the one that the label of the node names.
    pub expected: Option<&'a MigPartedConfig>,
}

/// A check of the set-up.
#[derive(Debug)]
pub struct Check {
    /// Name in JSON and CSV, in kebab case.
    pub id: &'static str,
    /// What it asks, as a person would.
    pub question: &'static str,
    /// The files and options that it needs.
    pub needs: &'static str,
    /// What to do about its findings, in general.
    pub remedy: &'static str,
    run: fn(&Facts<'_>) -> Answer,
}

/// Every check, in the order of the report; the page `docs/AUDIT.md` lists them.
pub const CHECKS: &[Check] = &[
    trust::CHECK,
    profiles::CHECK,
    stalls::CHECK,
    slices::CHECK,
    seats::CHECK,
    modes::CHECK,
    unrequested::CHECK,
    shares::CHECK,
    mps::CHECK,
    layout::CHECK,
    config::CHECK,
];

/// What became of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// It found something.
    Found,
    /// It looked, and all is in order.
    Fine,
    /// What it could look at is in order, and the rest it could not see.
    Partly,
    /// It could not look at anything.
    NotChecked,
}

/// What became of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckOutcome {
    /// The check.
    pub check: &'static str,
    /// What it asks.
    pub question: &'static str,
    /// What became of it.
    pub state: CheckState,
    /// What it looked at and found in order, each in a sentence without a full stop.
    pub fine: Vec<String>,
}

/// The result of an audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    /// Everything that was found or not looked at, the weightiest first, then in the order of the checks.
    pub findings: Vec<AuditFinding>,
    /// What became of every check, in their order.
    pub checks: Vec<CheckOutcome>,
    /// Who sits where, in the order of GPUs and instances.
    pub seats: Vec<Seat>,
}

impl Audit {
    /// How many findings weigh so much.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|it| it.severity == severity).count()
    }

    /// How many checks could look at nothing.
    pub fn not_made(&self) -> usize {
        self.checks.iter().filter(|it| it.state == CheckState::NotChecked).count()
    }
}

/// Runs every check.
pub fn audit(input: &AuditInput<'_>) -> Audit {
    let facts = Facts::of(input);
    let mut findings = Vec::new();
    let mut checks = Vec::with_capacity(CHECKS.len());
    for check in CHECKS {
        let answer = (check.run)(&facts);
        let has_found = answer.findings.iter().any(|it| it.severity != Severity::NotChecked);
        let has_open = answer.findings.iter().any(|it| it.severity == Severity::NotChecked);
        let state = match (has_found, answer.fine.is_empty(), has_open) {
            (true, ..) => CheckState::Found,
            (false, false, false) => CheckState::Fine,
            (false, false, true) => CheckState::Partly,
            (false, true, _) => CheckState::NotChecked,
        };
        findings
            .extend(answer.findings.into_iter().map(|it| AuditFinding { check: check.id, ..it }));
        checks.push(CheckOutcome {
            check: check.id,
            question: check.question,
            state,
            fine: answer.fine,
        });
    }
    // Stable, so that findings of one weight stay in the order of the checks.
    findings.sort_by_key(|it| it.severity);
    Audit { findings, checks, seats: seating::seats(&facts) }
}
