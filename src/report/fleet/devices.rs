//! Who sits on which GPU, and who has one alone and why.

use crate::fleet::plan::{AloneReason, DeviceState, FleetPlan, PlannedDevice, PlannedTenant};
use crate::recommender::mechanism::mechanism;
use crate::report::block::{Block, Cell, Table};
use crate::report::cells::{missing, numbers, words};
use crate::report::wording::{capitalised, chance, count, list, name, percent, sentence, shorten};

/// GPUs that are shown unfolded.
const MOST_SHOWN: usize = 12;
/// GPUs that are listed at all; JSON and CSV list all.
const MOST_LISTED: usize = 200;
/// Longest name of a tenant.
const LONGEST: usize = 28;

pub(super) fn blocks(plan: &FleetPlan) -> Vec<Block> {
    let shared: Vec<&PlannedDevice> =
        plan.devices.iter().filter(|it| it.tenants.len() > 1).collect();
    let mut blocks = Vec::new();
    if shared.is_empty() {
        blocks.push(Block::Text("No GPU is shared in the plan.".to_owned()));
    } else {
        let (first, rest) = shared.split_at(shared.len().min(MOST_SHOWN));
        blocks.push(table("GPUs that are shared, those with most tenants first", first));
        if !rest.is_empty() {
            let listed = &rest[..rest.len().min(MOST_LISTED)];
            blocks.push(Block::Details {
                summary: format!("{} more shared GPUs", rest.len()),
                blocks: vec![table("GPUs that are shared", listed)],
            });
        }
    }
    blocks.extend(alone(plan));
    blocks.extend(freed(plan));
    blocks
}

fn table(caption: &str, devices: &[&PlannedDevice]) -> Block {
    Block::Table(Table {
        caption: caption.to_owned(),
        columns: vec![
            words("GPU"),
            words("Way"),
            words("Tenants"),
            numbers("Busy"),
            numbers("Worst p99"),
            numbers("Out of memory"),
            numbers("Sure"),
        ],
        rows: devices.iter().map(|it| row(it)).collect(),
    })
}

fn row(it: &PlannedDevice) -> Vec<Cell> {
    let unknown = || missing("it was not predicted");
    let way = match (&it.layout, it.mechanism, it.state) {
        (Some(layout), _, _) => format!("MIG {layout}"),
        (_, Some(way), _) => mechanism(way).title().to_owned(),
        (_, _, DeviceState::AsItIs) => "as it is".to_owned(),
        _ => "one tenant".to_owned(),
    };
    let tenant = |it: &PlannedTenant| {
        let moves = if it.moves_from.is_some() { "→" } else { "" };
        format!("{moves}{}", shorten(&name(&it.name), LONGEST))
    };
    let tenants: Vec<String> = it.tenants.iter().map(tenant).collect();
    vec![
        Cell::Name(name(&it.label)),
        Cell::Text(way),
        Cell::Text(list(&tenants)),
        it.busy_ratio.map_or_else(unknown, |it| Cell::Measure { text: percent(it), value: it }),
        it.worst_p99_factor
            .map_or_else(unknown, |it| Cell::Measure { text: format!("{it:.2}"), value: it }),
        it.out_of_memory_day_ratio
            .map_or_else(unknown, |it| Cell::Measure { text: chance(it), value: it }),
        it.confidence.map_or_else(unknown, Cell::Confidence),
    ]
}

/// Why tenants have a GPU to themselves.
fn alone(plan: &FleetPlan) -> Option<Block> {
    if plan.alone.is_empty() {
        return None;
    }
    let row = |it: &AloneReason| {
        let names: Vec<String> = it.names.iter().map(|it| shorten(&name(it), LONGEST)).collect();
        let more = it.tenants.saturating_sub(names.len());
        let names = match more {
            0 => list(&names),
            more => format!("{} and {more} more", names.join(", ")),
        };
        vec![
            Cell::Number { value: it.tenants as f64, unit: "", decimals: 0 },
            Cell::Text(capitalised(&sentence(&it.reason))),
            Cell::Text(names),
        ]
    };
    Some(Block::Table(Table {
        caption: "Why tenants are put beside nobody".to_owned(),
        columns: vec![numbers("Tenants"), words("Why"), words("Who")],
        rows: plan.alone.iter().map(row).collect(),
    }))
}

fn freed(plan: &FleetPlan) -> Option<Block> {
    let freed: Vec<String> = plan
        .devices
        .iter()
        .filter(|it| it.state == DeviceState::Freed)
        .map(|it| name(&it.label))
        .collect();
    if freed.is_empty() {
        return None;
    }
    let shown = &freed[..freed.len().min(MOST_LISTED)];
    Some(Block::Details {
        summary: format!("{} become free", count(freed.len(), "GPU", "GPUs")),
        blocks: vec![Block::Text(format!("{}.", list(shown)))],
    })
}
