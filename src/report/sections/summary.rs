//! The verdicts: who slows whom where that was shown, then sharing, first in one sentence, then device by device, then who lives on them.

use crate::analysis::findings::{BurstProfile, SubjectFindings};
use crate::domain::metric::Metric;
use crate::domain::time::TimeSpan;
use crate::domain::units::Seconds;
use crate::recommender::suitability::{SharingWord, Suitability};
use crate::report::ReportInput;
use crate::report::block::{Block, Cell, Table, VerdictCard};
use crate::report::cells::{bytes_or, missing, numbers, seconds_or, words};
use crate::report::figure::Figure;
use crate::report::sections::headline::headline;
use crate::report::sections::timeline::own_row;
use crate::report::sections::{Section, title};
use crate::report::view::{
    DeviceView, UNFOLDED_DEVICES, devices, estimated_burst, level, profile, verdict, why_no_bursts,
    why_no_profile,
};
use crate::report::wording::{capitalised, clean, count, list, percent, sentence};

/// More rows than this are folded away.
const UNFOLDED_RESIDENTS: usize = 16;

/// The verdicts.
pub(super) struct Summary;

impl Section for Summary {
    fn id(&self) -> &'static str {
        "summary"
    }

    fn build(&self, input: &ReportInput<'_>) -> Vec<Block> {
        let devices = devices(input);
        let influences = headline(input);
        let mut blocks = vec![title(self, "Verdict")];
        blocks.extend(influences.before);
        blocks.push(Block::Lead(lead(&devices)));
        blocks.extend(influences.after);
        if devices.len() > 1 {
            blocks.push(Block::Tally(tally(&devices)));
        }
        if devices.len() > UNFOLDED_DEVICES {
            blocks.push(Block::Table(device_table(&devices)));
        } else {
            blocks.extend(devices.iter().map(|it| Block::Verdict(card(it))));
        }
        blocks.extend(residents(input, &devices));
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

/// The sentence to remember.
fn lead(devices: &[DeviceView<'_>]) -> String {
    match devices {
        [] => "No GPU was found in this recording.".to_owned(),
        [only] => format!("{} {}.", only.name, predicate(word(only), 1)),
        several => {
            let mut parts: Vec<String> = tally(several)
                .into_iter()
                .map(|(word, number)| format!("{number} {}", predicate(Some(word), number)))
                .collect();
            let unjudged = several.iter().filter(|it| it.verdict.is_none()).count();
            if unjudged > 0 {
                parts.push(format!("{unjudged} {}", predicate(None, unjudged)));
            }
            format!("Of {} GPUs, {}.", several.len(), list(&parts))
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

fn card(device: &DeviceView<'_>) -> VerdictCard {
    let verdict = device.verdict;
    let texts = |of: fn(&Suitability) -> &Vec<String>| -> Vec<String> {
        verdict.map_or_else(Vec::new, |it| of(it).iter().map(|it| said(it)).collect())
    };
    let mut caveats = texts(|it| &it.caveats);
    let untold = verdict.filter(|it| it.word == SharingWord::CannotTell);
    if let Some(interval) = untold.and_then(|it| it.needed_interval_s) {
        caveats.push(format!("Sampling every {} would settle it.", Seconds(interval)));
    }
    VerdictCard {
        anchor: device.slug.clone(),
        name: device.name.clone(),
        model: device.model.clone(),
        word: word(device),
        confidence: verdict
            .filter(|it| it.word != SharingWord::CannotTell)
            .map(|it| it.confidence.value()),
        reasons: texts(|it| &it.reasons),
        caveats,
        glance: device.own.and_then(glance),
        facts: facts(device),
    }
}

fn glance(subject: &SubjectFindings) -> Option<Figure> {
    let row = own_row(subject)?;
    let series = row.series.into_iter().next()?;
    let last = series.bins.last()?.at.plus_micros((series.bin_s.max(0.0) * 1e6) as i64);
    let span = TimeSpan::covering(series.bins.first()?.at, last);
    Some(Figure::Strip { span, series })
}

fn said(text: &str) -> String {
    capitalised(&sentence(text))
}

fn facts(device: &DeviceView<'_>) -> Vec<(String, Cell)> {
    let profile = device.own.and_then(profile);
    let mean = match profile {
        Some(it) => format!("mean {}", it.metric.spec().label),
        None => "mean activity".to_owned(),
    };
    vec![
        (mean, share(device, |it| it.mean_ratio)),
        ("of the time at 95 % or more".to_owned(), share(device, |it| it.duty.at_95_pct)),
        ("typical burst".to_owned(), typical_burst(device)),
        ("memory peak".to_owned(), memory_peak(device)),
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
        (_, Some(estimate)) => Cell::Quantity(format!("≈ {}", Seconds(estimate.about_s))),
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

/// One row for each device, when there are too many for cards.
fn device_table(devices: &[DeviceView<'_>]) -> Table {
    let row = |device: &DeviceView<'_>| {
        let mut row = vec![
            Cell::Name(device.name.clone()),
            device.verdict.map_or_else(|| missing("not judged"), |it| Cell::Word(it.word)),
            first_reason(device.verdict),
        ];
        row.extend(facts(device).into_iter().map(|it| it.1));
        row.push(confidence(device.verdict));
        row
    };
    Table {
        caption: "Every GPU".to_owned(),
        columns: vec![
            words("GPU"),
            words("Verdict"),
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
fn residents(input: &ReportInput<'_>, devices: &[DeviceView<'_>]) -> Vec<Block> {
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
    if rows.is_empty() {
        return Vec::new();
    }
    let summary = count(rows.len(), "verdict on a load", "verdicts on single loads");
    let many = rows.len() > UNFOLDED_RESIDENTS;
    let table = Block::Table(Table {
        caption: "Each load by itself: would a neighbour notice it?".to_owned(),
        columns: vec![
            words("Load"),
            words("On"),
            words("Verdict"),
            words("First reason"),
            numbers("Confidence"),
        ],
        rows,
    });
    if many { vec![Block::Details { summary, blocks: vec![table] }] } else { vec![table] }
}
