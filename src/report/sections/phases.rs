//! Labelled phases and chosen windows, compared.

use crate::analysis::findings::{Scope, ScopeFindings, SubjectFindings};
use crate::report::ReportInput;
use crate::report::block::{Block, Cell, Table};
use crate::report::cells::{missing, numbers, percent, seconds_or, words};
use crate::report::sections::{Section, title};
use crate::report::view::{is_service_only, why_no_bursts, why_no_profile};
use crate::report::wording::{clean, count, span as in_words};
use std::collections::BTreeMap;

/// So many phases are shown, the longest ones.
const MOST_PHASES: usize = 12;

/// Phases.
pub(super) struct Phases;

impl Section for Phases {
    fn id(&self) -> &'static str {
        "phases"
    }

    fn build(&self, input: &ReportInput<'_>) -> Vec<Block> {
        let (shown, left_out) = longest(input);
        let rows_of = |is_device: bool| -> Vec<Vec<Cell>> {
            let subjects = input
                .findings
                .subjects()
                .filter(|it| it.subject.is_device() == is_device && !is_service_only(it));
            subjects.flat_map(|it| rows(input, it, &shown)).collect()
        };
        let (devices, residents) = (rows_of(true), rows_of(false));
        if devices.is_empty() && residents.is_empty() {
            return Vec::new();
        }
        let mut blocks = vec![title(self, "Phases and windows")];
        if left_out > 0 {
            blocks.push(Block::Text(format!(
                "The {MOST_PHASES} longest phases are shown; {left_out} shorter ones are left out."
            )));
        }
        let lives = count(residents.len(), "row", "rows");
        if !devices.is_empty() {
            blocks.push(Block::Table(table("GPUs by phase", devices)));
        }
        if !residents.is_empty() {
            blocks.push(Block::Details {
                summary: format!("Loads by phase ({lives})"),
                blocks: vec![Block::Table(table("Loads by phase", residents))],
            });
        }
        blocks
    }
}

/// Labels of the longest phases with their lengths in seconds, and how many are left out.
pub(super) fn longest(input: &ReportInput<'_>) -> (BTreeMap<String, f64>, usize) {
    let mut lengths: BTreeMap<String, f64> = BTreeMap::new();
    for phase in &input.outline.phases {
        *lengths.entry(phase.label.clone()).or_default() += phase.span.seconds();
    }
    let all = lengths.len();
    let mut by_length: Vec<(String, f64)> = lengths.into_iter().collect();
    by_length.sort_by(|a, b| b.1.total_cmp(&a.1));
    by_length.truncate(MOST_PHASES);
    (by_length.into_iter().collect(), all.saturating_sub(MOST_PHASES))
}

fn rows(
    input: &ReportInput<'_>,
    subject: &SubjectFindings,
    shown: &BTreeMap<String, f64>,
) -> Vec<Vec<Cell>> {
    let row = |scope: &ScopeFindings| {
        let (name, length) = match &scope.scope {
            Scope::Whole => return None,
            Scope::Phase { label } => (clean(label), shown.get(label).copied()?),
            Scope::Window { span } => (in_words(*span), span.seconds()),
        };
        let verdict = input
            .suitability
            .iter()
            .find(|it| it.subject == subject.subject && it.scope == scope.scope);
        let profile = scope.profile.as_ref();
        let bursts = profile.and_then(|it| it.bursts.as_ref());
        let share =
            |of: Option<f64>| of.map_or_else(|| missing(why_no_profile(Some(scope))), percent);
        Some(vec![
            Cell::Name(name),
            Cell::Name(clean(&subject.label)),
            seconds_or(Some(length), ""),
            share(profile.map(|it| it.mean_ratio)),
            share(profile.map(|it| it.duty.at_50_pct)),
            share(profile.map(|it| it.duty.at_95_pct)),
            seconds_or(bursts.and_then(|it| it.burst_lengths.p50_s), &why_no_bursts(Some(scope))),
            verdict.map_or_else(|| missing("not judged in this phase"), |it| Cell::Word(it.word)),
        ])
    };
    subject.scopes.iter().filter_map(row).collect()
}

fn table(caption: &str, rows: Vec<Vec<Cell>>) -> Table {
    Table {
        caption: caption.to_owned(),
        columns: vec![
            words("Phase"),
            words("Load"),
            numbers("Length"),
            numbers("Mean"),
            numbers("≥\u{a0}50\u{a0}%"),
            numbers("≥\u{a0}95\u{a0}%"),
            numbers("Median burst"),
            words("Verdict"),
        ],
        rows,
    }
}
