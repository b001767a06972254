//! What an audit says: findings, with what they rest on and what to do.

use serde::Serialize;

/// How much a finding weighs; the weightiest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Something is wrong: it breaks the policy, the plan, or somebody's work.
    Problem,
    /// Something will go wrong sooner or later, or cannot be defended.
    Warning,
    /// Worth knowing; nothing has to be done.
    Note,
    /// It could not be looked at.
    NotChecked,
}

impl Severity {
    /// Every severity, the weightiest first.
    pub const ALL: [Self; 4] = [Self::Problem, Self::Warning, Self::Note, Self::NotChecked];

    /// Its key in JSON and CSV.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Problem => "problem",
            Self::Warning => "warning",
            Self::Note => "note",
            Self::NotChecked => "not_checked",
        }
    }
}

/// What kind of thing a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AboutKind {
    /// A GPU.
    Gpu,
    /// A MIG instance.
    Instance,
    /// A pod, or a tenant of a recording.
    Tenant,
    /// A process.
    Process,
    /// A node.
    Node,
    /// A file.
    File,
    /// The set-up as a whole.
    Setup,
}

impl AboutKind {
    /// Its key in JSON and CSV.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::Instance => "instance",
            Self::Tenant => "tenant",
            Self::Process => "process",
            Self::Node => "node",
            Self::File => "file",
            Self::Setup => "setup",
        }
    }
}

/// What a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct About {
    /// What kind of thing.
    pub kind: AboutKind,
    /// Its name, as the files say it; empty for the set-up as a whole.
    pub name: String,
}

impl About {
    /// A thing of a kind by its name.
    pub fn new(kind: AboutKind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into() }
    }

    /// The set-up as a whole.
    pub fn setup() -> Self {
        Self::new(AboutKind::Setup, "")
    }
}

/// Something that a check found, or could not look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditFinding {
    /// The check.
    pub check: &'static str,
    /// How much it weighs.
    pub severity: Severity,
    /// What is the matter, in one sentence without a full stop.
    pub title: String,
    /// What it is about.
    pub about: About,
    /// What it rests on, each with the file and, where known, the line that says it.
    pub evidence: Vec<String>,
    /// What to do: a command, a line of a configuration, or the file to add.
    pub remedy: String,
}

impl AuditFinding {
    fn new(severity: Severity, about: About, title: impl Into<String>) -> Self {
        let (evidence, remedy) = (Vec::new(), String::new());
        Self { check: "", severity, title: title.into(), about, evidence, remedy }
    }

    /// Something is wrong.
    pub(super) fn problem(about: About, title: impl Into<String>) -> Self {
        Self::new(Severity::Problem, about, title)
    }

    /// Something will go wrong.
    pub(super) fn warning(about: About, title: impl Into<String>) -> Self {
        Self::new(Severity::Warning, about, title)
    }

    /// Worth knowing.
    pub(super) fn note(about: About, title: impl Into<String>) -> Self {
        Self::new(Severity::Note, about, title)
    }

    /// Something that could not be looked at, with what would let it be seen.
    pub(super) fn unseen(title: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(Severity::NotChecked, About::setup(), title).remedy(remedy)
    }

    /// The same about something else.
    pub(super) fn about(mut self, about: About) -> Self {
        self.about = about;
        self
    }

    /// The same, resting on one thing more.
    pub(super) fn because(mut self, evidence: impl Into<String>) -> Self {
        self.evidence.push(evidence.into());
        self
    }

    /// The same, resting on several things more.
    pub(super) fn because_of(mut self, evidence: impl IntoIterator<Item = String>) -> Self {
        self.evidence.extend(evidence);
        self
    }

    /// The same, with what to do.
    pub(super) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }
}

/// What a check answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// What was looked at and is in order, each in a sentence without a full stop.
    pub(super) fine: Vec<String>,
    /// What was found, and what could not be looked at.
    pub(super) findings: Vec<AuditFinding>,
}

impl Answer {
    /// Nothing of the kind is there, or all of it is in order.
    pub(super) fn fine(sentence: impl Into<String>) -> Self {
        Self { fine: vec![sentence.into()], findings: Vec::new() }
    }

    /// Nothing could be looked at.
    pub(super) fn unseen(title: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { fine: Vec::new(), findings: vec![AuditFinding::unseen(title, remedy)] }
    }

    /// Adds something that is in order.
    pub(super) fn add_fine(&mut self, sentence: impl Into<String>) {
        self.fine.push(sentence.into());
    }

    /// Adds a finding.
    pub(super) fn add(&mut self, finding: AuditFinding) {
        self.findings.push(finding);
    }
}
