//! Whether each GPU and each load suits sharing by its shape alone.

use crate::analysis::findings::BurstProfile;
use crate::domain::metric::Metric;
use crate::domain::units::Seconds;
use crate::recommender::suitability::{SharingWord, Suitability};
use crate::report::ReportInput;
use crate::report::block::{Block, Cell, Table};
use crate::report::cells::{bytes_or, measure, missing, numbers, seconds_or, words};
use crate::report::sections::{Section, title};
use crate::report::view::{
    DeviceView, devices, estimated_burst, level, profile, verdict, why_no_bursts, why_no_profile,
};
use crate::report::wording::{capitalised, clean, list, percent, sentence};

/// Words on shapes.
pub(super) struct ByShape;

impl Section for ByShape {
    fn id(&self) -> &'static str {
        "by-shape"
    }

    fn build(&self, input: &ReportInput<'_>) -> Vec<Block> {
        let devices = devices(input);
        if devices.is_empty() && input.findings.unplaced.is_empty() {
            return Vec::new();
        }
        let mut blocks =
            vec![title(self, "Would a neighbour notice it? Each load by its shape alone")];
        blocks.push(Block::Text(
            "The word is about the shape of a load over time and nothing else; what to do also weighs trust, memory, targets and every way to share."
                .to_owned(),
        ));
        if devices.len() > 1 {
            blocks.push(Block::Tally(tally(&devices)));
        }
        if !devices.is_empty() {
            blocks.push(Block::Table(device_table(&devices)));
        }
        blocks.extend(residents(input, &devices).map(Block::Table));
        blocks
    }
}

const WORDS: [SharingWord; 4] = [
    SharingWord::SharesWell,
    SharingWord::SharesWithCare,
    SharingWord::DoNotShare,
    SharingWord::CannotTell,
];

fn word(device: &DeviceView<'_>) -> Option<SharingWord> {
    device.verdict.map(|it| it.word)
}

fn tally(devices: &[DeviceView<'_>]) -> Vec<(SharingWord, usize)> {
    let number = |it: SharingWord| devices.iter().filter(|device| word(device) == Some(it)).count();
    WORDS.into_iter().map(|it| (it, number(it))).filter(|it| it.1 > 0).collect()
}

/// How many devices got which word, as a sentence; `None` without devices.
///
/// Loads without a GPU, which stand among the places of a report, are not counted.
pub(super) fn in_one_sentence(places: &[DeviceView<'_>]) -> Option<String> {
    let devices: Vec<&DeviceView<'_>> =
        places.iter().filter(|it| it.own.is_some() || it.verdict.is_some()).collect();
    let number =
        |wanted: Option<SharingWord>| devices.iter().filter(|it| word(it) == wanted).count();
    let all = WORDS.into_iter().map(Some).chain([None]).map(|it| (it, number(it)));
    let parts: Vec<String> = all
        .filter(|it| it.1 > 0)
        .map(|(word, number)| format!("{number} {}", predicate(word, number)))
        .collect();
    match devices.as_slice() {
        [] => None,
        [only] => Some(format!("By its shape alone, {} {}.", only.name, predicate(word(only), 1))),
        several => {
            Some(format!("By their shape alone, of {} GPUs {}.", several.len(), list(&parts)))
        }
    }
}

fn predicate(word: Option<SharingWord>, number: usize) -> &'static str {
    match (word, number) {
        (Some(SharingWord::SharesWell), 1) => "shares well",
        (Some(SharingWord::SharesWell), _) => "share well",
        (Some(SharingWord::SharesWithCare), 1) => "shares with care",
        (Some(SharingWord::SharesWithCare), _) => "share with care",
        (Some(SharingWord::DoNotShare), _) => "should not be shared",
        (Some(SharingWord::CannotTell), _) => "cannot be judged from this recording",
        (None, 1) => "was not judged",
        (None, _) => "were not judged",
    }
}

fn said(text: &str) -> String {
    capitalised(&sentence(text))
}

/// Mean, share of the time at full use, typical burst and memory peak.
fn facts(device: &DeviceView<'_>) -> [Cell; 4] {
    [
        share(device, |it| it.mean_ratio),
        share(device, |it| it.duty.at_95_pct),
        typical_burst(device),
        memory_peak(device),
    ]
}

fn share(device: &DeviceView<'_>, of: fn(&BurstProfile) -> f64) -> Cell {
    match device.own.and_then(profile) {
        Some(it) => Cell::Quantity(percent(of(it))),
        None => missing(why_no_profile(device.own.and_then(|it| it.whole()))),
    }
}

fn typical_burst(device: &DeviceView<'_>) -> Cell {
    let reason = || why_no_bursts(device.own.and_then(|it| it.whole()));
    let Some(profile) = device.own.and_then(profile) else { return missing(&reason()) };
    match (&profile.bursts, estimated_burst(profile)) {
        (_, Some(estimate)) => {
            measure(format!("≈ {}", Seconds(estimate.about_s)), estimate.about_s)
        }
        (Some(bursts), None) => {
            seconds_or(bursts.burst_lengths.p50_s, "all bursts are cut off by the recording's ends")
        }
        (None, None) => missing(&reason()),
    }
}

fn memory_peak(device: &DeviceView<'_>) -> Cell {
    let peak = device.own.and_then(|it| level(it, Metric::FramebufferUsed)).map(|it| it.max);
    bytes_or(peak, "the memory in use was not recorded")
}

/// One row for each device.
fn device_table(devices: &[DeviceView<'_>]) -> Table {
    let row = |device: &DeviceView<'_>| {
        let mut row = vec![
            Cell::Name(device.name.clone()),
            device.verdict.map_or_else(|| missing("not judged"), |it| Cell::Word(it.word)),
            first_reason(device.verdict),
        ];
        row.extend(facts(device));
        row.push(confidence(device.verdict));
        row
    };
    Table {
        caption: "Every GPU by its shape".to_owned(),
        columns: vec![
            words("GPU"),
            words("By shape"),
            words("First reason"),
            numbers("Mean"),
            numbers("At 95 % or more"),
            numbers("Typical burst"),
            numbers("Memory peak"),
            numbers("Confidence"),
        ],
        rows: devices.iter().map(row).collect(),
    }
}

fn first_reason(verdict: Option<&Suitability>) -> Cell {
    match verdict.and_then(|it| it.reasons.first()) {
        Some(reason) => Cell::Text(said(reason)),
        None => missing("no reason was given"),
    }
}

fn confidence(verdict: Option<&Suitability>) -> Cell {
    match verdict {
        Some(it) if it.word == SharingWord::CannotTell => missing("there is no word to be sure of"),
        Some(it) => Cell::Confidence(it.confidence.value()),
        None => missing("not judged"),
    }
}

/// The verdicts on what lives on the devices, as far as they were judged.
fn residents(input: &ReportInput<'_>, devices: &[DeviceView<'_>]) -> Option<Table> {
    let placed = devices
        .iter()
        .flat_map(|device| device.residents.iter().map(move |it| (*it, device.name.as_str())));
    let unplaced = input.findings.unplaced.iter().map(|it| (it, "no known GPU"));
    let rows: Vec<Vec<Cell>> = placed
        .chain(unplaced)
        .filter_map(|(subject, device)| {
            let verdict = verdict(input, &subject.subject)?;
            Some(vec![
                Cell::Name(clean(&subject.label)),
                Cell::Name(device.to_owned()),
                Cell::Word(verdict.word),
                first_reason(Some(verdict)),
                confidence(Some(verdict)),
            ])
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        caption: "Each load by itself: would a neighbour notice it?".to_owned(),
        columns: vec![
            words("Load"),
            words("On"),
            words("By shape"),
            words("First reason"),
            numbers("Confidence"),
        ],
        rows,
    })
}
