//! What the fleet can then no longer do.

use crate::fleet::freedom::{Drain, Freedom};
use crate::fleet::plan::FleetPlan;
use crate::report::block::{Block, Cell, Mark, Table};
use crate::report::cells::{missing, numbers, words};
use crate::report::pieces::statement;
use crate::report::wording::{list, name, percent};

pub(super) fn blocks(plan: &FleetPlan) -> Vec<Block> {
    let change = &plan.freedom;
    let mut states: Vec<(&str, &Freedom)> = Vec::new();
    states.extend(change.now.as_ref().map(|it| ("Now", it)));
    states.push(("Plan, freed GPUs kept", &change.then));
    if change.now.is_some() {
        states.push(("Plan, freed GPUs handed back", &change.handed_back));
    }
    let row = |key: &str, of: &dyn Fn(&Freedom) -> Cell| {
        let cells = states.iter().map(|it| of(it.1));
        std::iter::once(Cell::Text(key.to_owned())).chain(cells).collect::<Vec<Cell>>()
    };
    let number = |it: usize| Cell::Number { value: it as f64, unit: "", decimals: 0 };
    let mut rows = vec![
        row("GPUs", &|it| number(it.gpus)),
        row("Whole GPUs free", &|it| number(it.whole_gpus_free)),
        row("Whole hosts free", &|it| number(it.whole_hosts_free)),
        row("Largest job on one host, GPUs", &|it| number(it.largest_job_on_one_host_gpus)),
        row("Largest job over hosts, GPUs", &|it| number(it.largest_job_over_hosts_gpus)),
    ];
    let mut sizes: Vec<usize> =
        states.iter().flat_map(|it| &it.1.drains).map(|it| it.gpus).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for size in sizes {
        let key = match size {
            1 => "Tenants to move for the next whole GPU".to_owned(),
            _ => format!("Tenants to move for {size} whole GPUs of one host"),
        };
        let of = |it: &Freedom| match it.drains.iter().find(|it| it.gpus == size) {
            Some(it) => number(it.tenants_to_move),
            None => missing("no host has so many"),
        };
        rows.push(row(&key, &of));
    }
    let columns = states.iter().map(|it| numbers(it.0));
    let mut blocks: Vec<Block> =
        change.sentences.iter().map(|it| statement(Mark::Indirect, "", it, Vec::new())).collect();
    blocks.push(Block::Table(Table {
        caption: "What the fleet can take".to_owned(),
        columns: std::iter::once(words("")).chain(columns).collect(),
        rows,
    }));
    blocks.extend(next_whole(plan));
    blocks.extend(parts(plan));
    blocks
}

/// Which GPU is the easiest to clear once the free ones are gone.
fn next_whole(plan: &FleetPlan) -> Option<Block> {
    let next: &Drain = plan.freedom.handed_back.drains.iter().find(|it| it.gpus == 1)?;
    let label = next.clear.first()?;
    let device = plan.devices.iter().find(|it| it.label == *label)?;
    let names: Vec<String> = device.tenants.iter().map(|it| format!("`{}`", it.name)).collect();
    let text = format!(
        "the next whole GPU would be {}: {} would have to move or end",
        name(label),
        list(&names)
    );
    Some(statement(Mark::Probable, "drain", &text, Vec::new()))
}

/// Capacity in parts that no single job can use.
fn parts(plan: &FleetPlan) -> Option<Block> {
    let parts = &plan.freedom.parts;
    if parts.gpus_cut == 0 {
        return None;
    }
    let gib = |mib: f64| Cell::Quantity(format!("{:.0} GiB", mib / 1024.0));
    let pair = |key: &str, value: Cell| vec![Cell::Text(key.to_owned()), value];
    let share = parts.free_as_gpus / parts.gpus_cut as f64;
    let largest: Vec<String> =
        parts.largest_free.iter().map(|it| format!("{} x {}", it.gpus, it.profile)).collect();
    Some(Block::Table(Table {
        caption: "Capacity in MIG parts that cannot be pooled".to_owned(),
        columns: vec![words(""), numbers("")],
        rows: vec![
            pair(
                "GPUs cut into parts",
                Cell::Number { value: parts.gpus_cut as f64, unit: "", decimals: 0 },
            ),
            pair(
                "Compute slices that no instance has",
                Cell::Quantity(format!(
                    "{} ({} of them all)",
                    parts.free_compute_slices,
                    percent(share)
                )),
            ),
            pair(
                "As whole GPUs, if they could be pooled",
                Cell::Quantity(format!("{:.1}", parts.free_as_gpus)),
            ),
            pair(
                "Compute slices that no further instance can use",
                Cell::Number {
                    value: f64::from(parts.stranded_compute_slices),
                    unit: "",
                    decimals: 0,
                },
            ),
            pair("Memory that no further instance can use", gib(parts.stranded_mib)),
            pair(
                "Memory of instances that their tenants do not use",
                gib(parts.unused_in_instances_mib),
            ),
            pair(
                "Largest instances that could still be made",
                Cell::Text(if largest.is_empty() { "none".to_owned() } else { largest.join(", ") }),
            ),
        ],
    }))
}
