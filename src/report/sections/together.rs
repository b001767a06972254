//! Tenants that work at the same time: bursts that coincide more often than chance would have it, and what an exporter counted.

use crate::analysis::counted_together::CountedTogether;
use crate::analysis::findings::DeviceFindings;
use crate::analysis::memory_findings::{CoActivation, PhaseRelation};
use crate::domain::ident::Subject;
use crate::domain::units::Seconds;
use crate::report::ReportInput;
use crate::report::block::{Block, Cell, Table};
use crate::report::cells::{measure, missing, number_or, numbers, seconds_or, words};
use crate::report::sections::memory_peaks::meaning;
use crate::report::sections::{Section, title};
use crate::report::wording::{clean, percent, span};

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
        let devices = &input.findings.devices;
        let sampled: Vec<Block> = devices
            .iter()
            .filter(|it| !it.co_activations.is_empty())
            .map(|it| Block::Table(table(it)))
            .collect();
        let counted: Vec<&DeviceFindings> =
            devices.iter().filter(|it| !it.counted_together.is_empty()).collect();
        let mut blocks = Vec::new();
        if !sampled.is_empty() {
            blocks.push(title(self, "Do bursts come together?"));
            blocks.push(Block::Text(
                "Time in which two loads were in a burst at once, against the time that chance \
                 alone would give. Each pair is tested by itself: of a hundred pairs that know \
                 nothing of each other, one is expected below a chance of 0.01."
                    .to_owned(),
            ));
            blocks.extend(sampled);
        } else if !counted.is_empty() {
            blocks.push(title(self, "Who works at the same time?"));
        }
        if !counted.is_empty() {
            blocks.push(Block::Text(how_counted(&counted)));
            blocks.extend(counted.into_iter().map(|it| Block::Table(counted_table(it))));
        }
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

fn name(device: &DeviceFindings, subject: &Subject) -> Cell {
    let found = device.subjects.iter().find(|it| it.subject == *subject);
    let label = match (found, subject) {
        (Some(it), _) => clean(&it.label),
        (None, Subject::Tenant { tenant, .. }) => clean(tenant.as_str()),
        (None, other) => clean(&other.to_string()),
    };
    Cell::Name(label)
}

fn row(device: &DeviceFindings, pair: &CoActivation) -> Vec<Cell> {
    let too_few = "too few samples in which both were seen";
    let is_more =
        pair.p_value.is_some_and(|it| it < RARE) && pair.lift.is_some_and(|it| it > STRONG);
    let phase = match pair.phase {
        PhaseRelation::TakingTurns => PhaseRelation::TakingTurns,
        _ if is_more => PhaseRelation::Together,
        _ => PhaseRelation::Independent,
    };
    vec![
        name(device, &pair.first),
        name(device, &pair.second),
        seconds_or(Some(pair.overlap_s), ""),
        seconds_or(Some(pair.expected_overlap_s), ""),
        number_or(pair.lift, 2, too_few),
        number_or(pair.p_value, 3, too_few),
        number_or(pair.coincidence_ratio, 2, "both peaks are zero"),
        Cell::Text(meaning(phase).to_owned()),
    ]
}

/// How the counts came to be, over how long, and what they cannot say.
fn how_counted(devices: &[&DeviceFindings]) -> String {
    let all = || devices.iter().flat_map(|it| &it.counted_together);
    let longest_s = all().map(|it| it.interval_s).fold(0.0, f64::max);
    let whole = all().map(|it| it.span).reduce(|one, other| one.hull(other));
    let when = whole.map_or_else(String::new, |it| format!(" ({})", span(it)));
    let sample_s = all().filter_map(|it| it.sample_s).fold(0.0, f64::max);
    let whole_samples = if sample_s > 0.0 {
        format!(
            " Tenants were sampled about every {}, and a sample counts whole: shorter bursts count longer than they are.",
            Seconds(sample_s)
        )
    } else {
        String::new()
    };
    let left_s = all().map(|it| it.left_to_samples_s).fold(0.0, f64::max);
    let samples = if left_s > 0.0 {
        format!(
            " Up to {} are left out here because samples of both tenants were recorded in that time: they lead, since they \
             can be tested against chance.",
            Seconds(left_s)
        )
    } else {
        String::new()
    };
    format!(
        "Counted by `cotenant serve` as it looked{when}: time in which both tenants were busy at 5 % or more, and how much of \
         all busy time of each that is. \"Spread evenly\" is what their busy times alone would give. When within a scrape \
         interval (up to {}) they met was not kept, so that there is no test against chance.{whole_samples}{samples}",
        Seconds(longest_s)
    )
}

fn counted_table(device: &DeviceFindings) -> Table {
    let shown = device.counted_together.iter().take(MOST_PAIRS);
    let more = device.counted_together.len().saturating_sub(MOST_PAIRS);
    let rest = if more > 0 { format!("; {more} more pairs in JSON") } else { String::new() };
    Table {
        caption: format!("Busy at the same time on {}{rest}", clean(&device.label)),
        columns: vec![
            words("One tenant"),
            words("Another"),
            numbers("Both busy"),
            numbers("Spread evenly"),
            numbers("Of the one"),
            numbers("Of the other"),
            numbers("Time seen"),
        ],
        rows: shown.map(|it| counted_row(device, it)).collect(),
    }
}

fn counted_row(device: &DeviceFindings, pair: &CountedTogether) -> Vec<Cell> {
    let unknown = "how long it was busy was not counted";
    let share =
        |it: Option<f64>| it.map_or_else(|| missing(unknown), |it| measure(percent(it), it));
    let (first, second) = match pair.is_rest {
        true => (Cell::Text("all other pairs".to_owned()), Cell::Text("added up".to_owned())),
        false => (name(device, &pair.first), name(device, &pair.second)),
    };
    vec![
        first,
        second,
        seconds_or(Some(pair.together_s), ""),
        seconds_or(pair.expected_s, unknown),
        share(pair.of_first_ratio),
        share(pair.of_second_ratio),
        seconds_or(Some(pair.seen_s), ""),
    ]
}
