//! How much memory is in use, at most and typically, and how much is left.

use crate::analysis::findings::{Level, SubjectFindings};
use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::units::MemoryBytes;
use crate::report::ReportInput;
use crate::report::block::{Block, Cell, Table};
use crate::report::cells::{bytes_or, missing, number, numbers, words};
use crate::report::figure::{Figure, MemoryBar, SeriesColour};
use crate::report::sections::{Section, title};
use crate::report::view::{DeviceView, UNFOLDED_DEVICES, is_service_only, kind, level, places};
use crate::report::wording::{clean, count, name};

/// So many loads are drawn for each device.
const MOST_BARS: usize = 5;
/// More rows than this are folded away.
const UNFOLDED_ROWS: usize = 40;

/// Memory.
pub(super) struct Memory;

impl Section for Memory {
    fn id(&self) -> &'static str {
        "memory"
    }

    fn build(&self, input: &ReportInput<'_>) -> Vec<Block> {
        let devices = places(input);
        if devices.is_empty() {
            return Vec::new();
        }
        let mut blocks = vec![title(self, "Memory and head room")];
        blocks.extend(devices.iter().filter_map(joint_peaks).map(Block::Text));
        blocks.extend(devices.iter().take(UNFOLDED_DEVICES).filter_map(bars));
        blocks.push(Block::Table(of_devices(&devices)));
        let loads = of_loads(&devices);
        let summary = count(loads.rows.len(), "load", "loads");
        match loads.rows.len() {
            0 => {}
            1..=UNFOLDED_ROWS => blocks.push(Block::Table(loads)),
            _ => blocks.push(Block::Details { summary, blocks: vec![Block::Table(loads)] }),
        }
        blocks
    }
}

/// Whether the peaks of all residents would fit at once; `None` unless all are known.
fn joint_peaks(device: &DeviceView<'_>) -> Option<String> {
    let total = total(device)?;
    let processes = || of_kind(device, |it| matches!(it, Subject::Process { .. }));
    let tenants = || of_kind(device, |it| matches!(it, Subject::Tenant { .. }));
    // Processes belong to tenants, so the two kinds are never added up.
    let loads = if processes().len() > 1 { processes() } else { tenants() };
    if loads.len() < 2 {
        return None;
    }
    let peaks: Option<Vec<f64>> =
        loads.iter().map(|it| level(it, Metric::FramebufferUsed).map(|it| it.max)).collect();
    let sum: f64 = peaks?.iter().sum();
    let (sum_shown, total_shown) = (MemoryBytes::from_f64(sum)?, MemoryBytes::from_f64(total)?);
    let meaning = if sum <= total {
        "they fit even if all of them peak at once"
    } else {
        "if all of them peak at once, the one that asks last runs out of memory"
    };
    Some(format!(
        "{}: the peaks of {} add up to {sum_shown} of {total_shown}; {meaning}.",
        device.name,
        count(loads.len(), "load", "loads")
    ))
}

fn of_kind<'a>(device: &DeviceView<'a>, is: fn(&Subject) -> bool) -> Vec<&'a SubjectFindings> {
    device.residents.iter().copied().filter(|it| is(&it.subject)).collect()
}

/// The device and its loads as bars; `None` when nothing is known of either.
fn bars(device: &DeviceView<'_>) -> Option<Block> {
    let bar = |(subject, colour): (&SubjectFindings, SeriesColour)| {
        let used = level(subject, Metric::FramebufferUsed)?;
        Some(MemoryBar {
            name: clean(&subject.label),
            colour,
            median_bytes: used.p50,
            peak_bytes: used.max,
        })
    };
    let own = device.own.and_then(|it| bar((it, SeriesColour::Device)));
    let ranked = device.residents.iter().enumerate();
    let mut loads: Vec<MemoryBar> =
        ranked.filter_map(|(rank, it)| bar((it, SeriesColour::Resident(rank)))).collect();
    loads.sort_by(|a, b| b.peak_bytes.total_cmp(&a.peak_bytes));
    loads.truncate(MOST_BARS);
    let is_of_device = own.is_some();
    let bars: Vec<MemoryBar> = own.into_iter().chain(loads).collect();
    let first = bars.first()?;
    let total_bytes = total(device);
    let peak = MemoryBytes::from_f64(first.peak_bytes)?;
    let left = total_bytes.and_then(|it| MemoryBytes::from_f64((it - first.peak_bytes).max(0.0)));
    let see = match left {
        _ if !is_of_device => format!(
            "{} peaks at {peak}; how much the GPU itself had in use was not recorded.",
            name(&first.name)
        ),
        Some(left) => format!("{} peaks at {peak} and leaves {left}.", name(&first.name)),
        None => {
            format!("{} peaks at {peak}; how much there is was not recorded.", name(&first.name))
        }
    };
    Some(Block::Figure {
        id: format!("memory-{}", device.slug),
        alt: format!("Bars of memory use on {}. {see}", device.name),
        caption: see,
        key: "Full bar: median. Pale bar: peak.".to_owned(),
        figure: Figure::MemoryBars { bars, total_bytes },
    })
}

fn total(device: &DeviceView<'_>) -> Option<f64> {
    device.own.and_then(|it| level(it, Metric::FramebufferTotal)).map(|it| it.max)
}

const NOT_USED: &str = "its memory use was not recorded";
const NO_TOTAL: &str = "the total was not recorded";

fn in_use(subject: &SubjectFindings) -> [Cell; 3] {
    let used = level(subject, Metric::FramebufferUsed);
    let part = |of: fn(Level) -> f64| bytes_or(used.map(of), NOT_USED);
    [part(|it| it.p50), part(|it| it.p95), part(|it| it.max)]
}

/// A part of a whole in percent, or why there is none.
fn part_of(part: Option<f64>, whole: Option<f64>) -> Cell {
    match (part, whole) {
        (Some(part), Some(whole)) if whole > 0.0 => number(100.0 * part / whole, "%", 0),
        (None, _) => missing(NOT_USED),
        _ => missing(NO_TOTAL),
    }
}

/// Devices and instances: what has memory of its own.
fn of_devices(devices: &[DeviceView<'_>]) -> Table {
    let owns = |it: &&SubjectFindings| {
        matches!(it.subject, Subject::Device { .. } | Subject::MigInstance { .. })
    };
    let row = |subject: &SubjectFindings| {
        let peak = level(subject, Metric::FramebufferUsed).map(|it| it.max);
        let total = level(subject, Metric::FramebufferTotal).map(|it| it.max);
        let left = peak.and_then(|it| Some((total? - it).max(0.0)));
        let why = if peak.is_some() { NO_TOTAL } else { NOT_USED };
        let mut row = vec![Cell::Name(clean(&subject.label))];
        row.extend(in_use(subject));
        row.push(bytes_or(total, NO_TOTAL));
        row.push(bytes_or(left, why));
        row.push(part_of(left, total));
        row
    };
    Table {
        caption: "Framebuffer in use and head room at the peak".to_owned(),
        columns: vec![
            words("GPU"),
            numbers("Median"),
            numbers("95th pct"),
            numbers("Peak"),
            numbers("Total"),
            numbers("Head room"),
            numbers("Head room, share"),
        ],
        rows: devices.iter().flat_map(DeviceView::everyone).filter(owns).map(row).collect(),
    }
}

/// Processes and tenants: what uses the memory of a device.
fn of_loads(devices: &[DeviceView<'_>]) -> Table {
    let rows = devices.iter().flat_map(|device| {
        let is_load = |it: &&SubjectFindings| {
            matches!(it.subject, Subject::Process { .. } | Subject::Tenant { .. })
                && !is_service_only(it)
        };
        device.everyone().filter(is_load).map(|subject| {
            let peak = level(subject, Metric::FramebufferUsed).map(|it| it.max);
            let mut row = vec![
                Cell::Name(clean(&subject.label)),
                Cell::Text(kind(&subject.subject).to_owned()),
                Cell::Name(device.name.clone()),
            ];
            row.extend(in_use(subject));
            row.push(part_of(peak, total(device)));
            row
        })
    });
    Table {
        caption: "Framebuffer in use by each load".to_owned(),
        columns: vec![
            words("Load"),
            words("Kind"),
            words("On"),
            numbers("Median"),
            numbers("95th pct"),
            numbers("Peak"),
            numbers("Peak, share of GPU"),
        ],
        rows: rows.collect(),
    }
}
