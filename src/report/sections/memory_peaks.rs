//! Whether tenants run out of memory together, and who had taken it when they did.

use crate::analysis::findings::DeviceFindings;
use crate::analysis::memory_findings::{
    Blame, CoActivation, MemoryFindings, MemoryLayer, MemoryReporting, MemoryShare, OutOfMemory,
    OutOfMemoryKind, PhaseRelation,
};
use crate::colocation::memory::{ForecastBasis, MemoryForecast};
use crate::domain::ident::Subject;
use crate::domain::units::Seconds;
use crate::recommender::memory_risk::{SharedMemoryRisk, memory_risks};
use crate::report::ReportInput;
use crate::report::block::{Block, Caveat, Cell, Mark, Statement, Table};
use crate::report::cells::{bytes_or, missing, number_or, numbers, percent_or, seconds_or, words};
use crate::report::figure::{Figure, MemoryStackFigure, SeriesColour, StackLayer};
use crate::report::pieces::statement;
use crate::report::sections::{Section, device_heading, title};
use crate::report::view::{DeviceView, devices};
use crate::report::wording::{clean, count, sentence, stamp, stopped};
use std::collections::BTreeSet;

/// So many moments are told, and so many pairs.
const MOST_MOMENTS: usize = 4;
const MOST_PAIRS: usize = 8;
/// So many tenants are drawn apart; the smaller ones are one layer.
const MOST_LAYERS: usize = 7;

/// Memory that runs out.
pub(super) struct MemoryPeaks;

impl Section for MemoryPeaks {
    fn id(&self) -> &'static str {
        "memory-together"
    }

    fn build(&self, input: &ReportInput<'_>) -> Vec<Block> {
        let risks = memory_risks(input.findings);
        let views = devices(input);
        let mut blocks = Vec::new();
        for (view, device) in views.iter().zip(&input.findings.devices) {
            for (place, found) in device.memory.iter().enumerate().filter(|it| says(it.1)) {
                let slug =
                    if place == 0 { view.slug.clone() } else { format!("{}-{place}", view.slug) };
                let name = clean(&found.label);
                blocks.push(device_heading(self, &slug, &name));
                let risk = risks.iter().find(|it| it.space == found.space);
                blocks.extend(of_space(input, view, device, found, risk, &slug));
            }
        }
        if !blocks.is_empty() {
            blocks.insert(0, title(self, "Do they run out of memory together?"));
        }
        blocks
    }
}

/// Whether there is anything to say: two tenants, or a moment without memory, or one that hides what it holds.
fn says(found: &MemoryFindings) -> bool {
    let is_lost = |it: &OutOfMemory| it.kind != OutOfMemoryKind::FullOnly;
    found.residents.len() > 1
        || found.out_of_memory.iter().any(is_lost)
        || found.reporting == MemoryReporting::UnderReported
}

fn of_space(
    input: &ReportInput<'_>,
    view: &DeviceView<'_>,
    device: &DeviceFindings,
    found: &MemoryFindings,
    risk: Option<&SharedMemoryRisk>,
    slug: &str,
) -> Vec<Block> {
    let mut blocks = Vec::new();
    let fits = risk.is_some_and(|it| it.forecast.basis == ForecastBasis::AlwaysFits);
    if let Some(risk) = risk {
        let mark = if fits { Mark::Fine } else { Mark::Probable };
        blocks.push(statement(mark, "", &risk.forecast.sentence, caveats(risk)));
    }
    let is_calm = fits && !found.out_of_memory.iter().any(|it| is_told(&it));
    let drawn: Vec<Block> = picture(input, view, found, slug).into_iter().collect();
    let name = clean(&found.label);
    let mut numbers = Vec::new();
    match is_calm {
        true => numbers.extend(drawn),
        false => blocks.extend(drawn),
    }
    blocks.extend(moments(found));
    numbers.extend(moment_tables(found));
    if let Some(risk) = risk.filter(|_| !fits) {
        numbers.push(Block::Table(forecast_table(&name, &risk.forecast)));
    }
    if !found.pairs.is_empty() {
        numbers.push(Block::Table(pairs(device, found)));
    }
    if !numbers.is_empty() {
        let summary = format!("{name}: memory together in numbers");
        blocks.push(Block::Details { summary, blocks: numbers });
    }
    if found.reporting != MemoryReporting::Reported {
        blocks.extend(found.blind_spots.iter().take(1).map(|it| {
            Block::Caveat(Caveat {
                kind: "Cannot tell".to_owned(),
                about: clean(&found.label),
                detail: sentence(&it.detail),
                remedy: sentence(&it.remedy),
            })
        }));
    }
    blocks
}

fn caveats(risk: &SharedMemoryRisk) -> Vec<String> {
    risk.forecast.caveats.clone()
}

fn first_upper(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |it| it.to_uppercase().chain(letters).collect())
}

/// Tenants stacked over time below what there is; `None` when no instant shows all of them.
fn picture(
    input: &ReportInput<'_>,
    view: &DeviceView<'_>,
    found: &MemoryFindings,
    slug: &str,
) -> Option<Block> {
    let drawn = &found.picture;
    let is_seen = drawn.layers.first()?.bytes.iter().flatten().next().is_some();
    let (shown, rest) = drawn.layers.split_at(drawn.layers.len().min(MOST_LAYERS));
    let layer = |(place, it): (usize, &MemoryLayer)| StackLayer {
        name: clean(&it.label),
        colour: colour(input, view, &it.subject, place),
        bytes: it.bytes.clone(),
    };
    let mut layers: Vec<StackLayer> = shown.iter().enumerate().map(layer).collect();
    if !rest.is_empty() {
        let sum = |bin: usize| rest.iter().map(|it| it.bytes.get(bin).copied().flatten()).sum();
        layers.push(StackLayer {
            name: count(rest.len(), "smaller one", "smaller ones"),
            colour: SeriesColour::Resident(usize::MAX),
            bytes: (0..drawn.low_bytes.len()).map(sum).collect(),
        });
    }
    let moments: Vec<_> = found.out_of_memory.iter().filter(is_told).map(|it| it.at).collect();
    let peak = bytes_or(found.peak_of_sum_bytes, "").plain();
    let lost = count(moments.len(), "moment", "moments");
    let see = match moments.len() {
        0 => format!("At most {peak} are held together."),
        _ => format!("At most {peak} are held together; {lost} without memory."),
    };
    let key = match moments.len() {
        0 => {
            "Each column shows the instant at which most is held together; the line in it is the least."
        }
        _ => {
            "Each column shows the instant at which most is held together; the line in it is the least. Marks: memory ran out."
        }
    };
    is_seen.then(|| Block::Figure {
        id: format!("memory-stack-{slug}"),
        alt: format!("Memory of the tenants of {} stacked over time. {see}", clean(&found.label)),
        caption: see,
        key: key.to_owned(),
        figure: Figure::MemoryStack(MemoryStackFigure {
            from: drawn.from,
            bin_s: drawn.bin_s,
            layers,
            low_bytes: drawn.low_bytes.clone(),
            room_bytes: found.room_bytes,
            moments,
        }),
    })
}

/// The colour of the tenant's process or of the tenant itself in the other pictures.
fn colour(
    input: &ReportInput<'_>,
    view: &DeviceView<'_>,
    subject: &Subject,
    place: usize,
) -> SeriesColour {
    let tenant_of = |it: &Subject| match it {
        Subject::Process { gpu, process } => {
            input.outline.processes.of(gpu, *process).and_then(|it| it.tenant.clone())
        }
        Subject::Tenant { tenant, .. } => Some(tenant.clone()),
        _ => None,
    };
    let own = tenant_of(subject);
    let is_it = |it: &Subject| it == subject || (own.is_some() && tenant_of(it) == own);
    let rank = view.residents.iter().position(|it| is_it(&it.subject));
    SeriesColour::Resident(rank.unwrap_or(place))
}

/// Whether it is a loss, and not only a full device.
fn is_told(event: &&OutOfMemory) -> bool {
    event.kind != OutOfMemoryKind::FullOnly
}

/// Moments at which memory ran out, the surest first.
pub(super) fn surest_first(found: &MemoryFindings) -> Vec<&OutOfMemory> {
    let mut told: Vec<&OutOfMemory> = found.out_of_memory.iter().filter(is_told).collect();
    told.sort_by(|a, b| {
        b.confidence.value().total_cmp(&a.confidence.value()).then(a.at.cmp(&b.at))
    });
    told
}

/// Who was named how often, and who held what at the surest moment.
fn moment_tables(found: &MemoryFindings) -> Vec<Block> {
    let told = surest_first(found);
    let several = (told.len() > 1).then(|| Block::Table(named(&told)));
    let first = told.first().map(|it| Block::Table(shares(it)));
    several.into_iter().chain(first).collect()
}

/// The moments at which memory ran out, the surest first, in sentences.
fn moments(found: &MemoryFindings) -> Vec<Block> {
    let told = surest_first(found);
    let mut blocks = Vec::new();
    let mut noted: BTreeSet<&str> = BTreeSet::new();
    for event in told.iter().take(MOST_MOMENTS) {
        // What is said of the first need not be said of each.
        let notes = event.unseen.iter().filter(|it| noted.insert(it));
        blocks.push(Block::Statement(Statement {
            mark: mark(event),
            tag: format!("{} · confidence {:.2}", stamp(event.at), event.confidence.value()),
            text: stopped(&sentence(&first_upper(&event.sentence))),
            notes: notes.map(|it| stopped(&sentence(&first_upper(it)))).collect(),
        }));
    }
    if told.len() > MOST_MOMENTS {
        let rest = count(told.len() - MOST_MOMENTS, "more moment", "more moments");
        blocks.push(Block::Text(format!("{rest} of this kind; the JSON lists them.")));
    }
    blocks
}

pub(super) fn mark(event: &OutOfMemory) -> Mark {
    match (event.blame, event.confidence.value()) {
        (Blame::CannotTell, _) => Mark::Unknown,
        (_, sure) if sure >= 0.75 => Mark::Firm,
        (_, sure) if sure >= 0.4 => Mark::Probable,
        _ => Mark::Unknown,
    }
}

/// How often each tenant had taken the memory, and how often each was lost.
fn named(told: &[&OutOfMemory]) -> Table {
    let mut names: Vec<&String> =
        told.iter().flat_map(|it| it.named.iter().chain(&it.failed)).collect();
    names.sort();
    names.dedup();
    let row = |name: &&String| {
        let times = |is: &dyn Fn(&OutOfMemory) -> bool| {
            let times = told.iter().filter(|it| is(it)).count();
            number_or(Some(times as f64), 0, "")
        };
        vec![
            Cell::Name(clean(name)),
            times(&|it| it.named.contains(*name) && it.blame != Blame::OwnRequest),
            times(&|it| it.failed.as_ref() == Some(*name)),
            times(&|it| it.named.contains(*name) && it.blame == Blame::OwnRequest),
        ]
    };
    Table {
        caption: format!("{} at which memory ran out", count(told.len(), "moment", "moments")),
        columns: vec![
            words("Tenant"),
            numbers("Had taken it"),
            numbers("Was lost"),
            numbers("Asked for too much itself"),
        ],
        rows: names.iter().map(row).collect(),
    }
}

fn shares(event: &OutOfMemory) -> Table {
    let fits = "it would all have fitted, or it is not known what was asked for";
    let row = |it: &MemoryShare| {
        vec![
            Cell::Name(clean(&it.label)),
            bytes_or(Some(it.held_bytes), ""),
            bytes_or(Some(it.baseline_bytes), ""),
            percent_or(it.share_ratio, "nobody had grown"),
            percent_or(it.shapley_ratio, fits),
            seconds_or(it.grew_before_s, "it had not grown"),
            Cell::Text(remark(it)),
        ]
    };
    Table {
        caption: format!("Who held what at {}", stamp(event.at)),
        columns: vec![
            words("Tenant"),
            numbers("Held"),
            numbers("Usual"),
            numbers("Share of growth"),
            numbers("Shapley's share"),
            numbers("Began to grow before"),
            words("Remark"),
        ],
        rows: event.shares.iter().map(row).collect(),
    }
}

fn remark(share: &MemoryShare) -> String {
    let mut remarks = Vec::new();
    if share.has_failed {
        remarks.push("was lost");
    }
    if share.is_above_own_p99 {
        remarks.push("at or above its own p99");
    }
    if share.is_last_to_grow {
        remarks.push("grew last");
    }
    remarks.join(", ")
}

fn forecast_table(name: &str, forecast: &MemoryForecast) -> Table {
    let blind = "samples too far apart";
    let rows = forecast.risks.iter().map(|it| {
        vec![
            Cell::Text(Seconds(it.horizon_s).to_string()),
            percent_or(it.risk_ratio, blind),
            percent_or(Some(it.independent_ratio), ""),
            percent_or(it.measured_ratio, "never recorded together"),
            percent_or(it.measured_high_ratio, "never recorded together"),
        ]
    });
    Table {
        caption: format!("{name}: chance of running out of memory"),
        columns: vec![
            words("Within"),
            numbers("Chance"),
            numbers("At random phases"),
            numbers("In the phase seen"),
            numbers("At most, 95 %"),
        ],
        rows: rows.collect(),
    }
}

fn pairs(device: &DeviceFindings, found: &MemoryFindings) -> Table {
    let name = |subject: &Subject| {
        let own = found.residents.iter().find(|it| it.subject == *subject);
        Cell::Name(own.map_or_else(|| subject.to_string(), |it| clean(&it.label)))
    };
    let row = |it: &CoActivation| {
        vec![
            name(&it.first),
            name(&it.second),
            number_or(it.coincidence_ratio, 2, "both peaks are zero"),
            seconds_or(Some(it.overlap_s), ""),
            seconds_or(Some(it.expected_overlap_s), ""),
            number_or(it.lift, 2, "one of them never comes near its peak"),
            it.q_value.map_or_else(|| missing("too few samples"), |q| number_or(Some(q), 3, "")),
            Cell::Text(meaning(it.phase).to_owned()),
        ]
    };
    Table {
        caption: format!("{}: peaks of memory that meet", clean(&device.label)),
        columns: vec![
            words("One tenant"),
            words("Another"),
            numbers("Coincidence"),
            numbers("Near peak at once"),
            numbers("By chance"),
            numbers("Lift"),
            numbers("q"),
            words("Meaning"),
        ],
        rows: found.pairs.iter().take(MOST_PAIRS).map(row).collect(),
    }
}

/// What a relation of two rhythms means for memory.
pub(crate) fn meaning(phase: PhaseRelation) -> &'static str {
    match phase {
        PhaseRelation::Together => "more than chance: look for a common trigger",
        PhaseRelation::TakingTurns => "at a fixed distance: they take turns",
        PhaseRelation::Independent => "as by chance",
        PhaseRelation::Unknown => "too few bursts to tell",
    }
}
