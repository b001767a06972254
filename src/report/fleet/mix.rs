//! What the plan needs when the mix of workloads changes.

use crate::fleet::plan::FleetPlan;
use crate::fleet::sensitivity::Sensitivity;
use crate::report::block::{Block, Cell, Table};
use crate::report::cells::{numbers, words};
use crate::report::figure::{Figure, GpuBar, GpuBarsFigure};
use crate::report::wording::{capitalised, count};

pub(super) fn blocks(plan: &FleetPlan) -> Vec<Block> {
    if plan.sensitivity.is_empty() {
        return vec![Block::Text("Nothing was played.".to_owned())];
    }
    let number = |it: f64| Cell::Number { value: it, unit: "", decimals: 0 };
    let row = |it: &Sensitivity| {
        vec![
            Cell::Text(capitalised(&it.change)),
            number(it.gpus_after as f64),
            number(it.gpus_more as f64),
            number(it.gpus_changed as f64),
            number(it.tenants_moved as f64),
            number(it.tenants_added as f64),
        ]
    };
    vec![
        Block::Text("The plan stays as far as it holds; whoever no longer fits moves into what others have left, or onto further GPUs.".to_owned()),
        Block::Figure {
            id: "mix".to_owned(),
            caption: "GPUs that the plan takes when the mix changes".to_owned(),
            key: "Blue is the plan, orange what comes on top.".to_owned(),
            alt: alt(plan),
            figure: Figure::GpuBars(figure(plan)),
        },
        Block::Table(Table {
            caption: "What a change of the mix takes".to_owned(),
            columns: vec![
                words("Change"),
                numbers("GPUs"),
                numbers("More"),
                numbers("Laid out anew"),
                numbers("Tenants move"),
                numbers("Tenants come"),
            ],
            rows: plan.sensitivity.iter().map(row).collect(),
        }),
    ]
}

fn alt(plan: &FleetPlan) -> String {
    let told: Vec<String> = plan
        .sensitivity
        .iter()
        .map(|it| format!("{}: {} GPUs", it.change, it.gpus_after))
        .collect();
    told.join("; ")
}

fn figure(plan: &FleetPlan) -> GpuBarsFigure {
    let base = plan.summary.gpus_used_then;
    let first = GpuBar {
        name: "The plan".to_owned(),
        base: base as f64,
        more: 0.0,
        note: base.to_string(),
    };
    let bar = |it: &Sensitivity| {
        let less = it.gpus_after.min(it.gpus_before);
        GpuBar {
            name: capitalised(&it.change),
            base: less as f64,
            more: it.gpus_after.saturating_sub(less) as f64,
            note: format!(
                "{}, {} laid out anew",
                it.gpus_after,
                count(it.gpus_changed, "GPU", "GPUs")
            ),
        }
    };
    let limit = (!plan.is_for_stated_hardware)
        .then(|| (plan.summary.gpus_used_now as f64, "in use now".to_owned()));
    GpuBarsFigure {
        rows: std::iter::once(first).chain(plan.sensitivity.iter().map(bar)).collect(),
        limit,
    }
}
