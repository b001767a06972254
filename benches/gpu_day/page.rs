//! Tables of what was expected and what was found, and what became of each claim.

use std::fmt::Write as _;

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It holds.
    Kept,
    /// It does not.
    Missed,
    /// The data do not say.
    CannotTell,
}

impl Outcome {
    /// Kept or missed.
    pub(crate) fn of(is_kept: bool) -> Self {
        if is_kept { Self::Kept } else { Self::Missed }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Missed => "**missed**",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// A table of one question.
#[derive(Debug)]
pub(crate) struct Part {
    /// Its heading.
    pub(crate) title: &'static str,
    /// What the columns mean, and what counts as kept.
    pub(crate) note: String,
    columns: &'static [&'static str],
    rows: Vec<Vec<String>>,
    /// Arm and outcome of each claim.
    pub(crate) claims: Vec<(String, Outcome)>,
}

impl Part {
    /// A table without rows; the first column is the arm, the last one the outcome.
    pub(crate) fn new(title: &'static str, note: &str, columns: &'static [&'static str]) -> Self {
        let (rows, claims) = (Vec::new(), Vec::new());
        Self { title, note: note.to_owned(), columns, rows, claims }
    }

    /// A row that claims nothing.
    pub(crate) fn row(&mut self, arm: &str, cells: Vec<String>) {
        self.rows.push([vec![arm.to_owned()], cells, vec![String::new()]].concat());
    }

    /// A row with a claim.
    pub(crate) fn claim(&mut self, arm: &str, cells: Vec<String>, outcome: Outcome) {
        self.rows.push([vec![arm.to_owned()], cells, vec![outcome.word().to_owned()]].concat());
        self.claims.push((arm.to_owned(), outcome));
    }

    /// As Markdown.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("## {}\n\n{}\n\n", self.title, self.note);
        if self.rows.is_empty() {
            return text + "Nothing was played for this.\n\n";
        }
        let head = [&["arm"], self.columns, &["claim"]].concat();
        let line = |cells: &[&str]| format!("| {} |\n", cells.join(" | "));
        text += &line(&head);
        text += &line(&vec!["---"; head.len()]);
        for row in &self.rows {
            text += &line(&row.iter().map(String::as_str).collect::<Vec<_>>());
        }
        text + "\n"
    }
}

/// All tables under one count of what was kept.
pub(crate) fn text_of(parts: &[Part], what: &str) -> String {
    let all: Vec<(&Part, &(String, Outcome))> =
        parts.iter().flat_map(|part| part.claims.iter().map(move |it| (part, it))).collect();
    let count = |outcome| all.iter().filter(|it| it.1.1 == outcome).count();
    let mut text = format!(
        "# The GPU day: told and measured\n\n{what}\n\n{} claims: {} kept, {} missed, {} cannot tell.\n\n",
        all.len(),
        count(Outcome::Kept),
        count(Outcome::Missed),
        count(Outcome::CannotTell)
    );
    for (part, (arm, outcome)) in all.iter().filter(|it| it.1.1 != Outcome::Kept) {
        let _ = writeln!(text, "- {}: {arm}: {}", part.title, outcome.word());
    }
    let tables: String = parts.iter().map(Part::text).collect();
    text + "\n" + &tables
}
