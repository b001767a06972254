//! Tenants that burst at the same time, more often than chance would have it or not.

use crate::analysis::findings::DeviceFindings;
use crate::analysis::memory_findings::{CoActivation, PhaseRelation};
use crate::domain::ident::Subject;
use crate::report::ReportInput;
use crate::report::block::{Block, Cell, Table};
use crate::report::cells::{number_or, numbers, seconds_or, words};
use crate::report::sections::memory_peaks::meaning;
use crate::report::sections::{Section, title};
use crate::report::wording::clean;

/// Below this chance, and above this lift, an overlap is called more than chance.
const RARE: f64 = 0.01;
/// Overlap over expected overlap from which it is worth a word.
const STRONG: f64 = 1.2;
/// So many pairs of a device are shown, the most surprising first.
const MOST_PAIRS: usize = 12;

/// Bursts that coincide.
pub(super) struct Together;

impl Section for Together {
    fn id(&self) -> &'static str {
        "bursts-together"
    }

    fn build(&self, input: &ReportInput<'_>) -> Vec<Block> {
        let tables: Vec<Block> = input
            .findings
            .devices
            .iter()
            .filter(|it| !it.co_activations.is_empty())
            .map(|it| Block::Table(table(it)))
            .collect();
        if tables.is_empty() {
            return Vec::new();
        }
        let mut blocks = vec![
            title(self, "Do bursts come together?"),
            Block::Text(
                "Time in which two loads were in a burst at once, against the time that chance \
                 alone would give. Each pair is tested by itself: of a hundred pairs that know \
                 nothing of each other, one is expected below a chance of 0.01."
                    .to_owned(),
            ),
        ];
        blocks.extend(tables);
        blocks
    }
}

fn table(device: &DeviceFindings) -> Table {
    let rows = device.co_activations.iter().take(MOST_PAIRS).map(|it| row(device, it)).collect();
    Table {
        caption: format!("Pairs on {}", clean(&device.label)),
        columns: vec![
            words("One load"),
            words("Another"),
            numbers("Together"),
            numbers("By chance"),
            numbers("Lift"),
            numbers("Chance of it"),
            numbers("Coincidence"),
            words("Meaning"),
        ],
        rows,
    }
}

fn row(device: &DeviceFindings, pair: &CoActivation) -> Vec<Cell> {
    let name = |subject: &Subject| {
        let found = device.subjects.iter().find(|it| it.subject == *subject);
        Cell::Name(found.map_or_else(|| subject.to_string(), |it| clean(&it.label)))
    };
    let too_few = "too few samples in which both were seen";
    let is_more =
        pair.p_value.is_some_and(|it| it < RARE) && pair.lift.is_some_and(|it| it > STRONG);
    let phase = match pair.phase {
        PhaseRelation::TakingTurns => PhaseRelation::TakingTurns,
        _ if is_more => PhaseRelation::Together,
        _ => PhaseRelation::Independent,
    };
    vec![
        name(&pair.first),
        name(&pair.second),
        seconds_or(Some(pair.overlap_s), ""),
        seconds_or(Some(pair.expected_overlap_s), ""),
        number_or(pair.lift, 2, too_few),
        number_or(pair.p_value, 3, too_few),
        number_or(pair.coincidence_ratio, 2, "both peaks are zero"),
        Cell::Text(meaning(phase).to_owned()),
    ]
}
