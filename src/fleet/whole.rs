//! The whole plan from its pools: sums, money, freedom, sensitivity, and what has to be said with it.

use crate::fleet::assemble::{Names, PoolPlan, cost, counted, soft_tenants, unseen};
use crate::fleet::findings::DeviceFinding;
use crate::fleet::freedom::{Freedom, PartCapacity, Seated, freedom, part_capacity};
use crate::fleet::packing::Shared;
use crate::fleet::plan::{
    DeviceState, FleetPlan, FreedomChange, PLAN_VERSION, PlanQuestion, PlannedDevice, PoolSummary,
    RefusedNow, Summary,
};
use crate::fleet::roster::Roster;
use crate::fleet::sensitivity::{Planned, sensitivities};
use crate::fleet::yard::Yard;
use crate::recommender::mechanism::MechanismId;
use std::collections::{BTreeMap, BTreeSet};

/// Everything that a plan is drawn from.
pub(crate) struct Drawn<'a> {
    pub(crate) pools: Vec<PoolPlan<'a>>,
    pub(crate) refused_now: Vec<RefusedNow>,
    pub(crate) unplaced: Vec<String>,
    pub(crate) caveats: Vec<String>,
}

/// The plan.
pub(crate) fn drawn(question: &PlanQuestion<'_>, roster: &Roster, it: Drawn<'_>) -> FleetPlan {
    let Drawn { pools, refused_now, unplaced, caveats: told } = it;
    let is_stated = question.hardware.is_some();
    let labels: Vec<String> = question.devices.iter().map(|it| it.label()).collect();
    let names = Names { classes: &roster.names, devices: &labels };
    let mut devices: Vec<PlannedDevice> = pools.iter().flat_map(|it| it.devices(&names)).collect();
    devices.sort_by(|one, other| {
        let key = |it: &PlannedDevice| (it.state, std::cmp::Reverse(it.tenants.len()));
        key(one)
            .cmp(&key(other))
            .then_with(|| (&one.pool, &one.label).cmp(&(&other.pool, &other.label)))
    });
    let price = |pool: &str| question.price_of(Some(pool));
    let pool_summaries: Vec<PoolSummary> =
        pools.iter().map(|it| it.summary(price(&it.yard.pool.name), is_stated)).collect();
    let yards: Vec<&Yard<'_>> = pools.iter().map(|it| &it.yard).collect();
    let unchanged = pools.iter().map(|it| it.as_it_is.len()).sum();
    let planned: Vec<Planned<'_, '_>> =
        pools.iter().map(|it| Planned { yard: &it.yard, groups: &it.packing.groups }).collect();
    let freedom = freedom_change(question, roster, &pools, &devices);
    FleetPlan {
        schema_version: PLAN_VERSION,
        from_us: question.devices.iter().map(|it| it.from_us).min(),
        until_us: question.devices.iter().map(|it| it.until_us).max(),
        is_for_stated_hardware: is_stated,
        summary: summary(question, roster, &devices, &pool_summaries, unplaced.len()),
        classes: roster.classes(question, &yards),
        compatibility: pools.iter().flat_map(|it| it.compatibility.iter().cloned()).collect(),
        sensitivity: sensitivities(&planned, unchanged, &roster.names),
        alone: counted(pools.iter().flat_map(PoolPlan::alone).collect()),
        caveats: caveats(question, &pools, told),
        unseen: unseen(question, &pools),
        pools: pool_summaries,
        freedom,
        devices,
        refused_now,
        unplaced,
    }
}

/// Devices with somebody on them now.
fn used_now<'a>(
    question: &'a PlanQuestion<'_>,
    roster: &'a Roster,
) -> impl Iterator<Item = usize> + 'a {
    (0..question.devices.len()).filter(|it| !roster.situations[*it].tenants.is_empty())
}

fn summary(
    question: &PlanQuestion<'_>,
    roster: &Roster,
    devices: &[PlannedDevice],
    pools: &[PoolSummary],
    unplaced: usize,
) -> Summary {
    let now: Vec<usize> = used_now(question, roster).collect();
    let is_used = |it: &&PlannedDevice| !it.tenants.is_empty();
    let then = devices.iter().filter(is_used).count();
    let shared: Vec<&PlannedDevice> =
        devices.iter().filter(|it| it.mechanism.is_some() && it.tenants.len() > 1).collect();
    let hosts: BTreeSet<&str> =
        question.devices.iter().filter_map(|it| it.host.as_deref()).collect();
    let busy: Vec<f64> =
        now.iter().filter_map(|it| question.devices[*it].busy_mean_ratio).collect();
    let busy_now = (!busy.is_empty()).then(|| busy.iter().sum::<f64>() / busy.len() as f64);
    let confidences: Vec<f64> = shared.iter().filter_map(|it| it.confidence).collect();
    let at_least: usize = pools.iter().map(|it| it.gpus_at_least).sum();
    let moves = devices.iter().flat_map(|it| &it.tenants).filter(|it| it.moves_from.is_some());
    let risk: Option<Vec<f64>> = shared.iter().map(|it| it.out_of_memory_day_ratio).collect();
    let models: BTreeMap<String, Option<f64>> =
        pools.iter().map(|it| (it.pool.clone(), it.price_per_hour)).collect();
    let price_now: Vec<Option<f64>> =
        now.iter().map(|it| question.price_of(question.devices[*it].model.as_deref())).collect();
    let mut found = Summary {
        sentence: String::new(),
        hosts: (!hosts.is_empty()).then_some(hosts.len()),
        gpus: question.devices.len(),
        gpus_used_now: now.len(),
        gpus_used_then: then,
        gpus_freed: now.len() as i64 - then as i64,
        gpus_at_least: at_least,
        gap_ratio: if then == 0 { 0.0 } else { then.saturating_sub(at_least) as f64 / then as f64 },
        tenants: roster.members.len(),
        tenants_sharing: devices
            .iter()
            .filter(|it| it.mechanism.is_some() || it.state == DeviceState::AsItIs)
            .map(|it| it.tenants.len())
            .filter(|it| *it > 1)
            .sum(),
        tenants_moved: question.hardware.is_none().then(|| moves.count()),
        tenants_not_judged: devices
            .iter()
            .filter(|it| it.state == DeviceState::AsItIs)
            .map(|it| it.tenants.len())
            .sum(),
        busy_now_ratio: busy_now,
        busy_then_ratio: busy_now
            .filter(|_| then > 0)
            .map(|it| (it * now.len() as f64 / then as f64).min(1.0)),
        worst_p99_factor: shared.iter().filter_map(|it| it.worst_p99_factor).reduce(f64::max),
        out_of_memory_day_ratio: risk
            .filter(|it| !it.is_empty())
            .map(|it| 1.0 - it.iter().map(|it| 1.0 - it).product::<f64>()),
        largest_fault_domain: soft_tenants(devices),
        confidence: (!confidences.is_empty())
            .then(|| confidences.iter().sum::<f64>() / confidences.len() as f64),
        least_confidence: confidences.iter().copied().reduce(f64::min),
        cost: cost(question, devices, &models, &price_now),
    };
    let further = devices.iter().filter(|it| it.state == DeviceState::Further).count();
    let put = shared.iter().map(|it| it.tenants.len()).sum();
    let undecided = devices.iter().filter(|it| it.state == DeviceState::AsItIs).count();
    found.sentence = sentence(&found, unplaced, (further, undecided), put);
    found
}

fn gpus(count: usize) -> String {
    format!("{count} {}", if count == 1 { "GPU" } else { "GPUs" })
}

/// What to do, in one sentence.
///
/// - `further`: GPUs that are not there yet; `undecided`: those about which there is not enough evidence.
/// - `put`: tenants that a verdict puts together.
fn sentence(
    it: &Summary,
    unplaced: usize,
    (further, undecided): (usize, usize),
    put: usize,
) -> String {
    if unplaced > 0 {
        return format!(
            "the stated hardware has no place for {unplaced} of {} tenants",
            it.tenants
        );
    }
    if it.tenants > 0 && it.tenants_not_judged == it.tenants {
        return format!(
            "nothing can be planned yet: there is not enough evidence about {}, so that {} as {}",
            match it.tenants {
                1 => "the only tenant".to_owned(),
                several => format!("any of {several} tenants"),
            },
            if undecided == 1 {
                "the GPU stays".to_owned()
            } else {
                format!("{} stay", gpus(undecided))
            },
            if undecided == 1 { "it is" } else { "they are" },
        );
    }
    let is_best = bound(it, undecided);
    match (it.tenants, it.gpus_freed) {
        (0, _) => "nobody was seen on any of the GPUs".to_owned(),
        (_, 0) if further > 0 => format!(
            "{} more {} needed and as many become free: what shares now must not{is_best}",
            gpus(further),
            if further == 1 { "is" } else { "are" }
        ),
        (_, 0) => format!(
            "nothing is to be gained: {} {} in use{is_best}",
            gpus(it.gpus_used_then),
            if it.gpus_used_then == 1 { "stays" } else { "stay" }
        ),
        (_, more) if more < 0 => format!(
            "{} more {} needed: what shares now must not{is_best}",
            gpus(more.unsigned_abs() as usize),
            if more == -1 { "is" } else { "are" }
        ),
        (_, freed) => format!(
            "put {} of {} tenants together: {} instead of {}, which frees {freed}{is_best}",
            put,
            it.tenants,
            gpus(it.gpus_used_then),
            it.gpus_used_now
        ),
    }
}

/// How far from the best it is, as the end of a sentence.
fn bound(it: &Summary, undecided: usize) -> String {
    match it.gpus_used_then.saturating_sub(it.gpus_at_least) {
        0 if undecided > 0 => format!(
            "; {} as {} for want of evidence, and fewer are impossible for the rest under these rules",
            match undecided {
                1 => "1 GPU stays".to_owned(),
                several => format!("{several} GPUs stay"),
            },
            if undecided == 1 { "it is" } else { "they are" },
        ),
        0 => "; fewer are impossible under these rules".to_owned(),
        gap => format!(
            "; {} at least are needed, so a better plan saves {gap} at most",
            it.gpus_at_least
        ),
    }
}

fn freedom_change(
    question: &PlanQuestion<'_>,
    roster: &Roster,
    pools: &[PoolPlan<'_>],
    devices: &[PlannedDevice],
) -> FreedomChange {
    let mut pool_of: BTreeMap<usize, &str> = BTreeMap::new();
    for pool in pools {
        let slots = pool.slots.iter().chain(pool.as_it_is.iter().map(|it| &it.0));
        pool_of.extend(slots.filter_map(|it| Some((it.device?, pool.yard.pool.name.as_str()))));
    }
    let now = question.hardware.is_none().then(|| {
        let seat = |(place, it): (usize, &DeviceFinding)| Seated {
            host: it.host.clone(),
            pool: pool_of.get(&place).map(|it| (*it).to_owned()).unwrap_or_default(),
            label: it.label(),
            tenants: roster.situations[place].tenants.iter().map(|it| it.name.clone()).collect(),
        };
        let seats: Vec<Seated> = question.devices.iter().enumerate().map(seat).collect();
        freedom(&seats)
    });
    let seat = |it: &PlannedDevice| Seated {
        host: it.host.clone(),
        pool: it.pool.clone(),
        label: it.label.clone(),
        tenants: it.tenants.iter().map(|it| it.name.clone()).collect(),
    };
    let all: Vec<Seated> = devices.iter().map(seat).collect();
    let is_kept = |it: &&PlannedDevice| it.state != DeviceState::Freed;
    let kept: Vec<Seated> = devices.iter().filter(is_kept).map(seat).collect();
    let layouts = pools.iter().flat_map(|pool| {
        let board = pool.yard.board();
        let of = move |it: &'_ Shared| {
            let is_mig = it.chosen.mechanism == MechanismId::Mig;
            let unused: f64 = it.chosen.assignments.iter().filter_map(|it| it.stranded_mib).sum();
            let layout = it.chosen.change.as_ref().map(|it| it.layout.clone());
            board.filter(|_| is_mig).zip(layout).map(|(board, layout)| (board, layout, unused))
        };
        pool.packing.groups.iter().filter_map(|it| it.shared.as_ref()).filter_map(of)
    });
    let layouts: Vec<_> = layouts.collect();
    let parts = part_capacity(layouts.iter().map(|it| (it.0, &it.1, it.2)));
    let mut found = FreedomChange {
        now,
        then: freedom(&all),
        handed_back: freedom(&kept),
        parts,
        sentences: Vec::new(),
    };
    found.sentences = freedom_sentences(&found);
    found
}

fn freedom_sentences(it: &FreedomChange) -> Vec<String> {
    let mut found = Vec::new();
    let before = |of: fn(&Freedom) -> usize| {
        it.now.as_ref().map_or_else(String::new, |now| format!(" (now {})", of(now)))
    };
    found.push(format!(
        "without moving anybody, the largest job on one host takes {}{} and over all hosts {}{}",
        gpus(it.then.largest_job_on_one_host_gpus),
        before(|it| it.largest_job_on_one_host_gpus),
        gpus(it.then.largest_job_over_hosts_gpus),
        before(|it| it.largest_job_over_hosts_gpus),
    ));
    let moves = |of: &Freedom, size: usize| {
        of.drains.iter().find(|it| it.gpus == size).map(|it| it.tenants_to_move)
    };
    // Nothing of stated hardware was there before, so that nothing of it is freed.
    let is_freed = it.now.is_some() && it.handed_back.gpus < it.then.gpus;
    let sizes: &[usize] = if is_freed { &[1, 8] } else { &[] };
    for size in sizes.iter().copied() {
        let Some(then) = moves(&it.handed_back, size) else { continue };
        let now = it.now.as_ref().and_then(|it| moves(it, size));
        let now = now.map_or_else(String::new, |it| format!(", where it takes {it} now"));
        found.push(format!(
            "if the freed GPUs are handed back, {} on one host {} moving {then} {}{now}",
            if size == 1 { "a whole GPU".to_owned() } else { format!("{size} whole GPUs") },
            if size == 1 { "takes" } else { "take" },
            if then == 1 { "tenant" } else { "tenants" },
        ));
    }
    found.extend(parts_sentence(&it.parts));
    found
}

fn parts_sentence(parts: &PartCapacity) -> Option<String> {
    if parts.gpus_cut == 0 {
        return None;
    }
    let largest = parts.largest_free.iter().max_by_key(|it| it.gpus);
    let largest = largest.map_or_else(
        || "nothing fits into it".to_owned(),
        |it| format!("most often at most a {} fits in", it.profile),
    );
    Some(format!(
        "{} cut into MIG instances {} {} compute {} unused, as much as {:.1} GPUs: they cannot be pooled for one job, and {largest}; getting one whole takes draining it",
        gpus(parts.gpus_cut),
        if parts.gpus_cut == 1 { "leaves" } else { "leave" },
        parts.free_compute_slices,
        if parts.free_compute_slices == 1 { "slice" } else { "slices" },
        parts.free_as_gpus,
    ))
}

/// One GPU that was seen on two hosts at one time: a copy of a recording, or host names that differ.
fn twice(devices: &[DeviceFinding]) -> Option<String> {
    let has_uuid = |it: &&DeviceFinding| it.gpu.starts_with("GPU-");
    let mut seen: Vec<&DeviceFinding> = devices.iter().filter(has_uuid).collect();
    seen.sort_by(|one, other| (&one.gpu, one.from_us).cmp(&(&other.gpu, other.from_us)));
    let is_twice = |it: &&[&DeviceFinding]| {
        it[0].gpu == it[1].gpu && it[0].host != it[1].host && it[1].from_us < it[0].until_us
    };
    let first = seen.windows(2).find(is_twice)?;
    let count = seen.windows(2).filter(is_twice).count();
    Some(format!(
        "{} counted more than once: `{}` was seen as {} and as {} at the same time; give each recording once, under one host name",
        if count == 1 { "a GPU is".to_owned() } else { format!("{count} GPUs are") },
        first[0].gpu,
        first[0].label(),
        first[1].label(),
    ))
}

/// What a reader has to know before it decides.
fn caveats(question: &PlanQuestion<'_>, pools: &[PoolPlan<'_>], told: Vec<String>) -> Vec<String> {
    let mut found = told;
    let seen: Vec<f64> = question.devices.iter().map(|it| it.seen_s).collect();
    if let Some(least) = seen.iter().copied().reduce(f64::min) {
        let hours = least / 3600.0;
        found.push(format!(
            "the plan stands on the load that was recorded, {hours:.1} h of the GPU that was seen least: a weekly peak outside of it is not in it"
        ));
    }
    let coarse: Vec<f64> = question.devices.iter().filter_map(|it| it.interval_s).collect();
    if let Some(worst) = coarse.into_iter().reduce(f64::max).filter(|it| *it > 5.0) {
        found.push(format!(
            "samples lie up to {worst:.0} s apart: bursts and peaks of memory between them were not seen, and a tenant without a stated `memory_limit_mib` is not put beside others"
        ));
    }
    found.extend(twice(question.devices));
    if question.hardware.is_none() {
        found.push("tenants stay on the model of GPU on which they were recorded; `--hardware FILE` plans for another mix".to_owned());
    }
    if pools.iter().any(|it| it.packing.refused > 0) {
        found.push(
            "some groups did well in pairs and were refused as a whole; they were taken apart"
                .to_owned(),
        );
    }
    found.push("growth of demand is played with the memory that was seen: a larger load that needs more memory is not in it".to_owned());
    found
}
