//! How much memory is in use, at most and typically, and how much is left.

use crate::analysis::findings::{Level, SubjectFindings};
use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::units::MemoryBytes;
use crate::report::ReportInput;
use crate::report::block::{Block, Cell, Table};
use crate::report::cells::{bytes_or, missing, number, numbers, quantities, words};
use crate::report::sections::{Section, title};
use crate::report::view::{DeviceView, devices, kind, level};
use crate::report::wording::{clean, count};

/// More rows than this are folded away.
const UNFOLDED_ROWS: usize = 40;

/// Memory.
pub(super) struct Memory;

impl Section for Memory {
    fn id(&self) -> &'static str {
        "memory"
    }

    fn build(&self, input: &ReportInput<'_>) -> Vec<Block> {
        let devices = devices(input);
        if devices.is_empty() {
            return Vec::new();
        }
        let mut blocks = vec![title(self, "Memory and head room")];
        blocks.extend(devices.iter().filter_map(joint_peaks).map(Block::Text));
        let rows: Vec<Vec<Cell>> = devices.iter().flat_map(rows).collect();
        let summary = count(rows.len(), "row", "rows of memory use");
        let many = rows.len() > UNFOLDED_ROWS;
        let table = Block::Table(Table {
            caption: "Framebuffer in use".to_owned(),
            columns: vec![
                words("Load"),
                words("Kind"),
                words("On"),
                quantities("Median"),
                quantities("95th pct"),
                quantities("Peak"),
                quantities("Total"),
                quantities("Head room"),
                numbers("Head room", "%"),
            ],
            rows,
        });
        blocks.push(if many { Block::Details { summary, blocks: vec![table] } } else { table });
        blocks
    }
}

/// Whether the peaks of all residents would fit at once; `None` unless all are known.
fn joint_peaks(device: &DeviceView<'_>) -> Option<String> {
    let total = device.own.and_then(|it| level(it, Metric::FramebufferTotal))?.max;
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

fn rows(device: &DeviceView<'_>) -> Vec<Vec<Cell>> {
    device.everyone().map(|it| row(it, &device.name)).collect()
}

fn row(subject: &SubjectFindings, device: &str) -> Vec<Cell> {
    let used = level(subject, Metric::FramebufferUsed);
    let total = level(subject, Metric::FramebufferTotal).map(|it| it.max);
    let part = |of: fn(Level) -> f64| bytes_or(used.map(of), "its memory use was not recorded");
    let is_load = matches!(subject.subject, Subject::Process { .. } | Subject::Tenant { .. });
    let why = match (is_load, used) {
        (true, _) => "a load has no memory of its own; see its GPU",
        (false, None) => "its memory use was not recorded",
        (false, Some(_)) => "the total was not recorded",
    };
    let left = total.and_then(|it| Some((it, it - used?.max)));
    vec![
        Cell::Name(clean(&subject.label)),
        Cell::Text(kind(&subject.subject).to_owned()),
        Cell::Name(device.to_owned()),
        part(|it| it.p50),
        part(|it| it.p95),
        part(|it| it.max),
        bytes_or(total, if is_load { why } else { "the total was not recorded" }),
        bytes_or(left.map(|it| it.1.max(0.0)), why),
        match left {
            Some((total, left)) if total > 0.0 => number(100.0 * left / total, "%", 0),
            _ => missing(why),
        },
    ]
}
