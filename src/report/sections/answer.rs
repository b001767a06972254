//! The answer: what to do with each device, what that disturbs, how sure it is, and what happened.

use crate::domain::metric::Metric;
use crate::domain::time::TimeSpan;
use crate::recommender::mechanism::DisruptionLevel;
use crate::recommender::verdict::{Outcome, Verdict};
use crate::report::ReportInput;
use crate::report::block::{Block, Cell, Mark, Table, VerdictCard};
use crate::report::cells::{bytes_or, missing, numbers, words};
use crate::report::figure::Figure;
use crate::report::recommend::lead::{disturbs, long_what, next_step, what};
use crate::report::sections::incidents::incidents;
use crate::report::sections::timeline::own_row;
use crate::report::sections::{Section, title};
use crate::report::view::{DeviceView, devices, level, profile, why_no_profile};
use crate::report::wording::{
    capitalised, chance, count, percent, sentence, some, stopped, times_at_most,
};

/// So many devices have a card each; more stand in a table, so that the answer fits a screen.
const MOST_CARDS: usize = 2;
/// More rows than this and devices with the same answer share one.
const MOST_ROWS: usize = 10;
/// So many sentences on the disruption stand in a card, and so many on what lowered the confidence.
const MOST_SENTENCES: usize = 2;

/// What to do.
pub(super) struct Answer;

impl Section for Answer {
    fn id(&self) -> &'static str {
        "answer"
    }

    fn build(&self, input: &ReportInput<'_>) -> Vec<Block> {
        let answered = answered(input);
        let mut blocks = vec![title(self, "What to do")];
        blocks.push(Block::Lead(input.recommendation.decision()));
        blocks.extend(incidents(input));
        match answered.len() {
            0 => {}
            1..=MOST_CARDS => {
                blocks.extend(answered.iter().map(|it| Block::Verdict(card(it))));
            }
            _ => blocks.extend(tables(&answered)),
        }
        blocks.extend(apply(input));
        blocks
    }
}

/// A device with the one verdict on it.
struct Answered<'a> {
    view: DeviceView<'a>,
    verdict: &'a Verdict,
}

/// Every device that has a verdict, in the order of the devices.
fn answered<'a>(input: &ReportInput<'a>) -> Vec<Answered<'a>> {
    let verdicts = input.recommendation.verdicts;
    let found = devices(input).into_iter().zip(&input.findings.devices);
    found
        .filter_map(|(view, device)| {
            let verdict = verdicts.iter().find(|it| it.gpu == device.gpu)?;
            Some(Answered { view, verdict })
        })
        .collect()
}

/// How the answer is marked: shared, left alone, kept apart, or not known.
pub(super) fn mark(verdict: &Verdict) -> Mark {
    match verdict.outcome {
        Outcome::Nobody => Mark::Absent,
        _ if verdict.current.is_anonymous => Mark::Unknown,
        Outcome::Share => Mark::Fine,
        Outcome::Exclusive if verdict.current.tenants < 2 => Mark::Fine,
        Outcome::Exclusive => Mark::Firm,
        Outcome::NotEnoughEvidence => Mark::Unknown,
    }
}

fn card(it: &Answered<'_>) -> VerdictCard {
    let verdict = it.verdict;
    VerdictCard {
        anchor: it.view.slug.clone(),
        name: it.view.name.clone(),
        model: it.view.model.clone(),
        action: capitalised(&long_what(verdict)),
        mark: mark(verdict),
        confidence: confidence(verdict),
        reasons: reasons(verdict),
        caveats: caveats(verdict),
        glance: glance(&it.view),
        facts: facts(it),
    }
}

/// The confidence of a proposal; `None` where nothing is proposed.
fn confidence(verdict: &Verdict) -> Option<f64> {
    let is_proposed = matches!(verdict.outcome, Outcome::Share | Outcome::Exclusive);
    is_proposed.then(|| verdict.confidence.value())
}

/// The decisive reason, then what it takes to get there.
fn reasons(verdict: &Verdict) -> Vec<String> {
    let decisive = verdict.decisive.iter().map(|it| &it.sentence);
    let or = verdict.apart.iter().map(|it| &it.sentence);
    let or = or.chain(verdict.fitting.iter().map(|it| &it.sentence));
    let disruption = verdict.disruption.iter().flat_map(|it| &it.sentences).take(MOST_SENTENCES);
    decisive.chain(or).chain(disruption).map(|it| said(it)).collect()
}

/// A sentence for a card or a table, where names stand without marks.
fn said(text: &str) -> String {
    stopped(&plain(&capitalised(text)))
}

fn plain(text: &str) -> String {
    sentence(text).replace('`', "")
}

/// What lowered the confidence the most, and what would settle what is open.
fn caveats(verdict: &Verdict) -> Vec<String> {
    let is_proposed = confidence(verdict).is_some();
    let lowered = verdict.lowered_by.iter().filter(|_| is_proposed).take(MOST_SENTENCES);
    let lowered = lowered.map(|it| format!("Less sure: {}", stopped(&plain(&it.sentence))));
    lowered.chain(next_step(verdict).map(|it| plain(&it))).collect()
}

fn glance(device: &DeviceView<'_>) -> Option<Figure> {
    let row = own_row(device.own?)?;
    let series = row.series.into_iter().next()?;
    let last = series.bins.last()?.at.plus_micros((series.bin_s.max(0.0) * 1e6) as i64);
    let span = TimeSpan::covering(series.bins.first()?.at, last);
    Some(Figure::Strip { span, series })
}

/// What it takes and what it brings, where something is proposed; then how full the device is.
fn facts(it: &Answered<'_>) -> Vec<(String, Cell)> {
    let verdict = it.verdict;
    let proposed = [
        ("disruption", disruption(verdict)),
        ("worst p99 over that alone", worst(verdict)),
        ("chance of running out of memory in a day", runs_out(verdict)),
    ];
    let seen =
        [("of the time at 95 % or more", full(&it.view)), ("memory peak", memory_peak(&it.view))];
    let proposed = proposed.into_iter().filter(|_| verdict.chosen.is_some());
    proposed.chain(seen).map(|(name, value)| (name.to_owned(), value)).collect()
}

fn disruption(verdict: &Verdict) -> Cell {
    disturbs(verdict).map_or_else(|| missing("nothing is proposed"), |it| Cell::Text(it.to_owned()))
}

fn worst(verdict: &Verdict) -> Cell {
    match verdict.worst_p99_factor() {
        Some(it) => Cell::Quantity(times_at_most(it)),
        None if verdict.chosen.is_none() => missing("nothing is proposed"),
        None => missing("it was not predicted for every tenant"),
    }
}

fn runs_out(verdict: &Verdict) -> Cell {
    let cost = verdict.chosen.as_ref().and_then(|it| it.cost);
    match cost.and_then(|it| it.out_of_memory_day_ratio) {
        Some(it) => Cell::Quantity(chance(it)),
        None if verdict.chosen.is_none() => missing("nothing is proposed"),
        None => missing("memory was not recorded, or not often enough"),
    }
}

fn full(device: &DeviceView<'_>) -> Cell {
    match device.own.and_then(profile) {
        Some(it) => Cell::Quantity(percent(it.duty.at_95_pct)),
        None => missing(why_no_profile(device.own.and_then(|it| it.whole()))),
    }
}

fn memory_peak(device: &DeviceView<'_>) -> Cell {
    let peak = device.own.and_then(|it| level(it, Metric::FramebufferUsed)).map(|it| it.max);
    bytes_or(peak, "the memory in use was not recorded")
}

/// One row for each device, or for all devices with one answer where there are many; the rest is folded.
fn tables(answered: &[Answered<'_>]) -> Vec<Block> {
    if answered.len() <= MOST_ROWS {
        return vec![Block::Table(by_device(answered))];
    }
    let each = Block::Table(by_device(answered));
    let summary = format!("Each of the {}", count(answered.len(), "GPU", "GPUs"));
    vec![Block::Table(by_answer(answered)), Block::Details { summary, blocks: vec![each] }]
}

fn by_device(answered: &[Answered<'_>]) -> Table {
    let row = |it: &Answered<'_>| {
        vec![
            Cell::Name(it.view.name.clone()),
            Cell::Marked(mark(it.verdict), what(it.verdict)),
            because(it.verdict),
            disruption(it.verdict),
            worst(it.verdict),
            runs_out(it.verdict),
            sureness(it.verdict),
        ]
    };
    Table {
        caption: "What to do with each GPU".to_owned(),
        columns: vec![
            words("GPU"),
            words("Do"),
            words("Because"),
            words("Disruption"),
            numbers("Worst p99"),
            numbers("Out of memory in a day"),
            numbers("Confidence"),
        ],
        rows: answered.iter().map(row).collect(),
    }
}

fn because(verdict: &Verdict) -> Cell {
    match &verdict.decisive {
        Some(it) => Cell::Text(plain(&capitalised(&it.sentence))),
        None => missing("nobody works on it"),
    }
}

fn sureness(verdict: &Verdict) -> Cell {
    confidence(verdict).map_or_else(|| missing("nothing is proposed"), Cell::Confidence)
}

/// Devices with the same answer and disruption in one row, the most devices first.
fn by_answer(answered: &[Answered<'_>]) -> Table {
    let mut groups: Vec<(String, Option<DisruptionLevel>, Vec<&Answered<'_>>)> = Vec::new();
    for it in answered {
        let key = (what(it.verdict), it.verdict.disruption.as_ref().map(|it| it.level));
        match groups.iter_mut().find(|group| group.0 == key.0 && group.1 == key.1) {
            Some(group) => group.2.push(it),
            None => groups.push((key.0, key.1, vec![it])),
        }
    }
    groups.sort_by_key(|it| std::cmp::Reverse(it.2.len()));
    let rest = groups.split_off(groups.len().min(MOST_ROWS));
    let mut rows: Vec<Vec<Cell>> = groups.iter().map(|it| group_row(&it.0, &it.2)).collect();
    if !rest.is_empty() {
        let others: Vec<&Answered<'_>> = rest.iter().flat_map(|it| it.2.iter().copied()).collect();
        rows.push(group_row(&count(rest.len(), "other answer", "other answers"), &others));
    }
    Table {
        caption: "What to do, and with how many GPUs".to_owned(),
        columns: vec![
            words("Do"),
            numbers("GPUs"),
            words("Which"),
            words("Disruption"),
            numbers("Least confidence"),
        ],
        rows,
    }
}

fn group_row(what: &str, devices: &[&Answered<'_>]) -> Vec<Cell> {
    let names: Vec<String> = devices.iter().map(|it| it.view.name.clone()).collect();
    let least = devices.iter().filter_map(|it| confidence(it.verdict)).reduce(f64::min);
    let mut disturbed: Vec<&str> = devices.iter().filter_map(|it| disturbs(it.verdict)).collect();
    disturbed.dedup();
    vec![
        Cell::Text(what.to_owned()),
        Cell::Number { value: devices.len() as f64, unit: "", decimals: 0 },
        Cell::Text(some(&names)),
        match disturbed.as_slice() {
            [] => missing("nothing is proposed"),
            [one] => Cell::Text((*one).to_owned()),
            _ => Cell::Text("differs".to_owned()),
        },
        least.map_or_else(|| missing("nothing is proposed"), Cell::Confidence),
    ]
}

/// Where the files are that make it so; `None` where no verdict asks for a change.
fn apply(input: &ReportInput<'_>) -> Option<Block> {
    let files = input.recommendation.configuration.files.len();
    (files > 0).then(|| {
        Block::Text(format!(
            "Nothing is changed by cotenant. `cotenant recommend` with the same input and `--config FOLDER` writes {} that would make it so.",
            count(files, "file", "files")
        ))
    })
}
