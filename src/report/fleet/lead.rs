//! The first screen: the answer, GPUs now and then, money, risk and confidence, and the fleet as tiles.

use crate::fleet::plan::{DeviceState, FleetCost, FleetPlan, PlannedDevice, PoolSummary};
use crate::recommender::mechanism::MechanismId;
use crate::report::block::{Block, Cell, Mark, Table};
use crate::report::cells::{missing, numbers, percent_or, words};
use crate::report::figure::{Figure, Tile, TileKind, TilePanel, TilesFigure};
use crate::report::pieces::statement;
use crate::report::wording::{capitalised, chance, count, list, name, sentence, stopped};

/// GPUs that are shared against the rules and named at most.
const MOST_REFUSED: usize = 8;

pub(super) fn blocks(plan: &FleetPlan) -> Vec<Block> {
    let mut blocks = vec![Block::Lead(stopped(&capitalised(&sentence(&plan.summary.sentence))))];
    if plan.summary.tenants == 0 {
        return blocks;
    }
    blocks.push(Block::Figure {
        id: "fleet".to_owned(),
        caption: "Every GPU now, and with the plan".to_owned(),
        key: "One tile for each GPU, with its number of tenants where there are several."
            .to_owned(),
        alt: plan.summary.sentence.clone(),
        figure: Figure::Tiles(tiles(plan)),
    });
    blocks.push(before_and_after(plan));
    blocks.extend(pools(plan));
    blocks.extend(mind(plan));
    blocks
}

fn pair(key: &str, now: Cell, then: Cell) -> Vec<Cell> {
    vec![Cell::Text(key.to_owned()), now, then]
}

fn number(value: usize) -> Cell {
    Cell::Number { value: value as f64, unit: "", decimals: 0 }
}

/// What has no counterpart in what there is.
fn of_plan() -> Cell {
    missing("it is said of the plan only")
}

fn before_and_after(plan: &FleetPlan) -> Block {
    let it = &plan.summary;
    let alone = || missing("nobody shares a GPU, or it was not predicted");
    let stated = || missing("the hardware is stated, not there");
    let mut rows = vec![
        pair("GPUs in use", number(it.gpus_used_now), number(it.gpus_used_then)),
        pair("At least needed under these rules", of_plan(), number(it.gpus_at_least)),
        pair(
            "Mean activity of GPUs in use",
            percent_or(it.busy_now_ratio, "it was not recorded"),
            percent_or(it.busy_then_ratio, "it was not recorded"),
        ),
        pair("Tenants that share a GPU", sharing_now(plan), number(it.tenants_sharing)),
        pair("Tenants that move", of_plan(), it.tenants_moved.map_or_else(stated, number)),
        pair(
            "Tenants that fall with one fault, at most",
            of_plan(),
            number(it.largest_fault_domain),
        ),
        pair(
            "Worst p99 over that alone, upper end",
            of_plan(),
            it.worst_p99_factor.map_or_else(alone, |it| Cell::Quantity(format!("{it:.2}"))),
        ),
        pair(
            "Chance that any shared GPU runs out of memory in a day",
            of_plan(),
            it.out_of_memory_day_ratio.map_or_else(alone, |it| Cell::Quantity(chance(it))),
        ),
        pair(
            "Confidence in the shared GPUs",
            of_plan(),
            it.confidence.map_or_else(alone, Cell::Confidence),
        ),
    ];
    if let Some(cost) = &it.cost {
        rows.extend(money(cost));
    }
    Block::Table(Table {
        caption: "Now, and with the plan".to_owned(),
        columns: vec![words(""), numbers("Now"), numbers("Plan")],
        rows,
    })
}

fn sharing_now(plan: &FleetPlan) -> Cell {
    if plan.is_for_stated_hardware {
        return missing("the hardware is stated, not there");
    }
    let now = plan.devices.iter().map(|it| it.tenants_now).filter(|it| *it > 1).sum();
    number(now)
}

fn money(cost: &FleetCost) -> [Vec<Cell>; 2] {
    let unit = match cost.currency.as_str() {
        "" => String::new(),
        it => format!(" {}", name(it)),
    };
    let amount = |it: Option<f64>| match it {
        Some(it) => Cell::Quantity(format!("{it:.2}{unit}")),
        None => missing("the price of one of these GPUs is not stated"),
    };
    [
        pair("Price per hour", amount(cost.now_per_hour), amount(cost.then_per_hour)),
        pair("Saved in 30 days", of_plan(), amount(cost.saved_per_30_days)),
    ]
}

/// Kind by kind, where there are several.
fn pools(plan: &FleetPlan) -> Option<Block> {
    if plan.pools.len() < 2 {
        return None;
    }
    let row = |it: &PoolSummary| {
        let by = &it.shared_by;
        let ways = [(by.mig, "MIG"), (by.mps, "MPS"), (by.time_slicing, "in turns")];
        let ways: Vec<String> =
            ways.iter().filter(|it| it.0 > 0).map(|it| format!("{} {}", it.0, it.1)).collect();
        vec![
            Cell::Name(name(&it.pool)),
            number(it.gpus),
            it.gpus_used_now.map_or_else(|| missing("the hardware is stated, not there"), number),
            number(it.gpus_used_then),
            number(it.gpus_at_least),
            Cell::Text(if ways.is_empty() { "none".to_owned() } else { ways.join(", ") }),
        ]
    };
    Some(Block::Table(Table {
        caption: "Each kind of GPU".to_owned(),
        columns: vec![
            words("Kind"),
            numbers("There"),
            numbers("Used now"),
            numbers("Plan"),
            numbers("At least"),
            words("Shared"),
        ],
        rows: plan.pools.iter().map(row).collect(),
    }))
}

/// What has to be known before anybody decides.
fn mind(plan: &FleetPlan) -> Vec<Block> {
    let it = &plan.summary;
    let mut blocks = Vec::new();
    for refused in plan.refused_now.iter().take(MOST_REFUSED) {
        let names: Vec<String> = refused.tenants.iter().map(|it| format!("`{it}`")).collect();
        let text = format!("{} is shared now and must not be: {}", refused.label, refused.reason);
        blocks.push(statement(Mark::Firm, "now", &text, vec![list(&names)]));
    }
    if plan.refused_now.len() > MOST_REFUSED {
        let more = plan.refused_now.len() - MOST_REFUSED;
        blocks.push(Block::Text(format!(
            "{more} more GPUs are shared in a way that is refused; `-o json` lists them."
        )));
    }
    if !plan.unplaced.is_empty() {
        let names: Vec<String> = plan.unplaced.iter().take(6).map(|it| format!("`{it}`")).collect();
        let text = format!(
            "{} no place on the stated hardware, among them {}",
            if plan.unplaced.len() == 1 {
                "one tenant finds".to_owned()
            } else {
                format!("{} tenants find", plan.unplaced.len())
            },
            list(&names)
        );
        blocks.push(statement(Mark::Firm, "no place", &text, Vec::new()));
    }
    blocks.extend(undecided(plan));
    if let Some(least) = it.least_confidence.filter(|it| *it < 0.5) {
        let text = format!("the least sure of the shared GPUs has a confidence of {least:.2}");
        blocks.push(statement(Mark::Probable, "confidence", &text, Vec::new()));
    }
    blocks
}

/// GPUs that several share and about which nothing can be decided yet, each with why, and then everybody who is not judged.
fn undecided(plan: &FleetPlan) -> Vec<Block> {
    let is_undecided = |it: &&PlannedDevice| it.state == DeviceState::AsItIs;
    let (shared, alone): (Vec<&PlannedDevice>, Vec<&PlannedDevice>) =
        plan.devices.iter().filter(is_undecided).partition(|it| it.tenants.len() > 1);
    let shown = shared.iter().take(MOST_REFUSED).map(|it| {
        let names: Vec<String> = it.tenants.iter().map(|it| format!("`{}`", it.name)).collect();
        let text = format!(
            "there is not enough evidence to decide about {}, which stays as it is: {}",
            it.label, it.reason
        );
        statement(Mark::Unknown, "not judged", &text, vec![list(&names)])
    });
    let mut blocks: Vec<Block> = shown.collect();
    if shared.len() > MOST_REFUSED {
        let more = shared.len() - MOST_REFUSED;
        blocks.push(Block::Text(format!(
            "{more} more shared GPUs cannot be decided about; `-o json` lists them."
        )));
    }
    if !alone.is_empty() {
        let text = format!(
            "{} not judged, and {} as {}: too little was seen",
            count(alone.len(), "tenant with a GPU to itself is", "tenants with a GPU each are"),
            if alone.len() == 1 { "stays" } else { "stay" },
            if alone.len() == 1 { "it is" } else { "they are" },
        );
        blocks.push(statement(Mark::Unknown, "not judged", &text, Vec::new()));
    }
    blocks
}

/// GPUs in the order of hosts, so that what becomes free is seen side by side.
fn tiles(plan: &FleetPlan) -> TilesFigure {
    let mut devices: Vec<&PlannedDevice> = plan.devices.iter().collect();
    devices.sort_by(|one, other| {
        (&one.pool, &one.host, &one.label).cmp(&(&other.pool, &other.host, &other.label))
    });
    let then = |it: &&PlannedDevice| Tile { kind: kind(it), tenants: it.tenants.len() };
    let now = |it: &&PlannedDevice| {
        let kind = match it.tenants_now {
            0 => TileKind::Free,
            1 => TileKind::Alone,
            _ => TileKind::Shared,
        };
        Tile { kind, tenants: it.tenants_now }
    };
    let is_there = |it: &&&PlannedDevice| it.state != DeviceState::Further;
    let used = |it: usize| count(it, "GPU in use", "GPUs in use");
    let plan_panel = TilePanel {
        name: format!("Plan: {}", used(plan.summary.gpus_used_then)),
        tiles: devices.iter().map(then).collect(),
    };
    if plan.is_for_stated_hardware {
        return TilesFigure { panels: vec![plan_panel] };
    }
    let now_panel = TilePanel {
        name: format!("Now: {}", used(plan.summary.gpus_used_now)),
        tiles: devices.iter().filter(is_there).map(now).collect(),
    };
    TilesFigure { panels: vec![now_panel, plan_panel] }
}

fn kind(it: &PlannedDevice) -> TileKind {
    match (it.state, it.mechanism) {
        (DeviceState::Shared, Some(MechanismId::Mig)) => TileKind::Partitioned,
        (DeviceState::Shared, _) => TileKind::Shared,
        (DeviceState::Alone, _) => TileKind::Alone,
        (DeviceState::AsItIs, _) => TileKind::Unknown,
        (DeviceState::Freed | DeviceState::Idle, _) => TileKind::Free,
        (DeviceState::Further, _) => TileKind::Further,
    }
}
