//! Whether memory holds out under each way to share.

use crate::colocation::memory::outlook::SpaceOutlook;
use crate::colocation::share::Mechanism;
use crate::domain::units::MemoryBytes;
use crate::report::block::{Block, Cell, Mark, Statement, Table};
use crate::report::cells::{missing, numbers, words};
use crate::report::whatif::{Scene, WhatIf, way};
use crate::report::wording::{capitalised, chance, list, name, shorten, some, stopped};

/// Longest name in the table.
const LONGEST_NAME: usize = 20;
/// Tenants of which every way is listed, also one of which nothing is known.
const FEW: usize = 8;
/// Chance within a day from which the answer speaks of memory: once in three years.
const WORTH_SAYING: f64 = 1e-3;

/// Peaks together against what there is, then the chances way by way.
pub(super) fn blocks(input: &WhatIf<'_>) -> Vec<Block> {
    let (shown, empty): (Vec<&Scene>, Vec<&Scene>) =
        input.scenes.iter().partition(|it| input.parties.len() <= FEW || has_forecast(input, it));
    let mut blocks = vec![Block::Text(together(input))];
    if !shown.is_empty() {
        blocks.push(table(input, &shown));
    }
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for scene in empty {
        let (reason, way) = (why(input, scene, scene.memory.of_tenant(0)), way(&scene.mechanism));
        match reasons.iter_mut().find(|it| it.0 == reason) {
            Some(it) => it.1.push(way.to_owned()),
            None => reasons.push((reason, vec![way.to_owned()])),
        }
    }
    let told_once = |(reason, ways): (String, Vec<String>)| {
        Block::Text(format!("Nothing for anybody under {}: {reason}.", list(&ways)))
    };
    blocks.extend(reasons.into_iter().map(told_once));
    blocks.extend(told(input));
    blocks
}

/// What the one sentence has to add about memory; empty when it holds out for sure.
pub(super) fn addition(input: &WhatIf<'_>) -> String {
    let worst = |scene: &Scene| {
        let rows = input.rows_of(scene);
        rows.iter().filter_map(|it| it.out_of_memory_ratio).reduce(f64::max)
    };
    let risky: Vec<(f64, &'static str)> = input
        .scenes
        .iter()
        .filter_map(|it| Some((worst(it)?, way(&it.mechanism))))
        .filter(|it| it.0 >= WORTH_SAYING)
        .collect();
    let Some(most) = risky.iter().map(|it| it.0).reduce(f64::max) else { return String::new() };
    let ways: Vec<String> = risky.iter().map(|it| it.1.to_owned()).collect();
    let is_nearly_sure = most > 0.999;
    let how_likely = match (is_nearly_sure, risky.len()) {
        (true, _) => "above 99.9 %".to_owned(),
        (false, 1) => format!("of {}", chance(most)),
        (false, _) => format!("of up to {}", chance(most)),
    };
    format!(" But memory runs out under {} within a day, with a chance {how_likely}.", list(&ways))
}

fn together(input: &WhatIf<'_>) -> String {
    let shown =
        |bytes: f64| MemoryBytes::from_f64(bytes).map_or_else(String::new, |it| it.to_string());
    let known: f64 = input.parties.iter().filter_map(|it| it.demand.memory_bytes).sum();
    let unknown: Vec<String> = input
        .parties
        .iter()
        .filter(|it| it.demand.memory_bytes.is_none())
        .map(|it| name(&it.name))
        .collect();
    let peaks = match (unknown.len() == input.parties.len(), unknown.is_empty()) {
        (true, _) => "How much memory they hold is not known".to_owned(),
        (_, true) => format!("Their peaks add up to {}", shown(known)),
        _ => format!("The peaks of all but {} add up to {}", some(&unknown), shown(known)),
    };
    let against = match (input.capacity_bytes, unknown.is_empty()) {
        (None, true) => "; how much the GPU has is not known".to_owned(),
        (None, false) => "; how much the GPU has is not known either".to_owned(),
        (Some(have), _) if known > have => format!(
            ", more than the {} of the GPU: whoever asks last is refused when they coincide",
            shown(have)
        ),
        (Some(have), _) => format!(", of {} that the GPU has", shown(have)),
    };
    format!("{peaks}{against}.")
}

/// Whether a way tells anything about anybody's memory.
fn has_forecast(input: &WhatIf<'_>, scene: &Scene) -> bool {
    (0..input.parties.len())
        .any(|it| scene.memory.of_tenant(it).is_some_and(|it| it.forecast.is_some()))
}

/// The chance for each tenant, and what it has and needs.
fn table(input: &WhatIf<'_>, scenes: &[&Scene]) -> Block {
    let mut rows = Vec::new();
    for scene in scenes.iter().copied() {
        for (place, row) in input.rows_of(scene).iter().enumerate() {
            let space = scene.memory.of_tenant(place);
            let forecast = space.and_then(|it| it.forecast.as_ref());
            let bytes = |value: Option<f64>| match value
                .and_then(|it| MemoryBytes::from_f64(it.max(0.0)))
            {
                Some(it) => Cell::Quantity(it.to_string()),
                None => missing(&why(input, scene, space)),
            };
            rows.push(vec![
                Cell::Text(way(&scene.mechanism).to_owned()),
                Cell::Name(shorten(&name(&row.party.name), LONGEST_NAME)),
                bytes(forecast.map(|it| it.sum_of_peaks_bytes)),
                bytes(forecast.map(|it| it.room_bytes)),
                match row.out_of_memory_ratio {
                    Some(it) => Cell::Quantity(chance(it)),
                    None => missing(&why(input, scene, space)),
                },
            ]);
        }
    }
    Block::Table(Table {
        caption: "Memory that is shared with others, or of an instance: peaks of all in it, room, and chance of running out within a day".to_owned(),
        columns: vec![
            words("Way"),
            words("Tenant"),
            numbers("Peaks"),
            numbers("Room"),
            numbers("Runs out"),
        ],
        rows,
    })
}

fn why(input: &WhatIf<'_>, scene: &Scene, space: Option<&SpaceOutlook>) -> String {
    let Some(space) = space else { return "nothing is known of memory".to_owned() };
    if space.forecast.is_some() {
        return "memory was sampled too sparsely to tell".to_owned();
    }
    let unknown: Vec<String> = space
        .unknown
        .iter()
        .filter_map(|it| input.parties.get(*it))
        .map(|it| name(&it.name))
        .collect();
    let is_split = scene.terms.iter().any(|it| it.slice.is_some());
    match unknown.is_empty() {
        true if scene.mechanism == Mechanism::Mig && !is_split => {
            "no set of MIG instances holds all tenants".to_owned()
        }
        true => "how much memory there is, is not known".to_owned(),
        false => format!("the memory of {} was not recorded", some(&unknown)),
    }
}

/// Every forecast that is not plain, once, with the ways that it concerns.
fn told(input: &WhatIf<'_>) -> Vec<Block> {
    let mut told: Vec<(String, Vec<String>, Vec<String>, bool)> = Vec::new();
    for scene in input.scenes {
        for space in &scene.memory.spaces {
            let Some(found) = &space.forecast else { continue };
            let ratio = found.risks.last().map(|it| it.risk_ratio);
            let is_calm = ratio == Some(Some(0.0)) && found.beyond_own_cap.is_empty();
            if is_calm && space.tenants.len() < 2 {
                continue;
            }
            let whom: Vec<String> = match space.tenants.as_slice() {
                [one] => input.parties.get(*one).map(|it| name(&it.name)).into_iter().collect(),
                _ => Vec::new(),
            };
            let place = match whom.first() {
                Some(it) => format!("{} for {it}", way(&scene.mechanism)),
                None => way(&scene.mechanism).to_owned(),
            };
            match told.iter_mut().find(|it| it.0 == found.sentence) {
                Some(it) => it.1.push(place),
                None => {
                    told.push((found.sentence.clone(), vec![place], found.caveats.clone(), is_calm))
                }
            }
        }
    }
    let statement =
        |(sentence, places, caveats, is_calm): (String, Vec<String>, Vec<String>, bool)| {
            Block::Statement(Statement {
                mark: if is_calm { Mark::Fine } else { Mark::Firm },
                tag: String::new(),
                text: stopped(&format!("{}: {sentence}", capitalised(&list(&places)))),
                notes: caveats.iter().map(|it| stopped(&capitalised(it))).collect(),
            })
        };
    told.into_iter().map(statement).collect()
}
