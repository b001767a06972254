//! The GPU that would be shared, and every way to share it that was asked about.

use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::progress::during;
use crate::cli::whatif_args::{SharingArgs, Way, WhatIfArgs};
use crate::cli::whatif_memory::{Needs, Room};
use crate::cli::whatif_tenants::Found;
use crate::colocation::demand::Demand;
use crate::colocation::memory::MeasuredPhase;
use crate::colocation::models::{KnownModel, recognised};
use crate::colocation::phases::Meeting;
use crate::colocation::power::PowerCap;
use crate::colocation::range::Range;
use crate::colocation::refusal::Refusal;
use crate::colocation::share::{Mechanism, Slice};
use crate::colocation::slices::{best_split, fit_together, holds, name_of};
use crate::colocation::whatif::{Options, Prediction, Seat, TenantPrediction, predict};
use crate::domain::mig_geometry::MigBoard;
use crate::domain::mig_geometry::by_product_name;
use crate::domain::shares;
use crate::domain::spelling::suggestion;
use crate::domain::units::MemoryBytes;
use crate::recommender::policy::Policy;
use crate::report::whatif::{Scene, Terms, Tuning};
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};

/// Bytes of a MiB.
const MIB: f64 = 1_048_576.0;
/// Loss at a change as a share of the turn, where only the turn was measured: see [`Mechanism::time_slicing`].
const SWITCH_SHARE: Range = Range { expected: 0.11, low: 0.02, high: 0.2 };

/// The GPU that would be shared.
pub(crate) struct Board {
    pub(crate) name: String,
    pub(crate) capacity_bytes: Option<f64>,
    /// What the driver keeps of it for itself, bytes.
    pub(crate) reserved_bytes: Option<f64>,
    pub(crate) notes: Vec<String>,
    /// Whether it can be cut into instances; `None` where that is not known.
    has_mig: Option<bool>,
    /// Its instances; `None` where they are not known.
    mig: Option<&'static MigBoard>,
}

/// The GPU that was named, or that of the first recorded tenant; moves every demand there.
pub(crate) fn board(found: &mut [Found], arguments: &WhatIfArgs) -> Result<Board, CliError> {
    let model_of = |it: &Found| it.party.gpu_model.as_deref().and_then(recognised);
    let first = found.iter().find(|it| it.span.is_some());
    let target = arguments.gpu_model.or_else(|| first.and_then(model_of));
    let own_capacity = first.and_then(|it| it.capacity_bytes);
    let name = match (&arguments.gpu_model, first.and_then(|it| it.party.gpu_model.clone())) {
        (Some(model), _) => model.name.to_owned(),
        (None, Some(recorded)) => recorded,
        (None, None) => "a GPU of unknown model".to_owned(),
    };
    let capacity_bytes = match arguments.gpu_model {
        Some(model) => model.memory_mib.map(|it| it * MIB),
        None => own_capacity,
    };
    let reserved_bytes = match arguments.gpu_model {
        Some(_) => None,
        None => first.and_then(|it| it.reserved_bytes),
    };
    let mut notes = Vec::new();
    let share = Policy::default().memory_reserve_ratio;
    let assumed = capacity_bytes.filter(|_| reserved_bytes.is_none()).map(|it| it * share);
    if assumed.is_some() && found.iter().any(|it| it.party.demand.memory_bytes.is_some()) {
        notes.push(format!(
            "what the driver keeps of the memory was not recorded: {} is taken off for it",
            shares::share(share)
        ));
    }
    for it in found.iter_mut().filter(|it| it.span.is_some()) {
        let from = model_of(it);
        let Some(note) = moved(it, from, target, arguments.gpu_model.is_some())? else { continue };
        notes.push(note);
    }
    for it in found.iter() {
        if let Some(instance) = &it.party.instance {
            notes.push(format!(
                "{} was recorded in {instance}: its SMs and bandwidth count as that part of the GPU; whether it would use more of a whole one was not seen",
                it.party.name
            ));
        }
    }
    let has_mig = target.map(|it| it.has_mig);
    let memory = capacity_bytes.map(|it| it as u64);
    let mig = target.and_then(|it| it.board());
    let mig = mig.filter(|_| arguments.gpu_model.is_some()).or(by_product_name(&name, memory));
    let reserved_bytes = reserved_bytes.or(assumed);
    Ok(Board { name, capacity_bytes, reserved_bytes, notes, has_mig, mig })
}

/// Moves a demand to another model; says so where it could not.
fn moved(
    it: &mut Found,
    from: Option<KnownModel>,
    target: Option<KnownModel>,
    is_asked: bool,
) -> Result<Option<String>, CliError> {
    let Some(target) = target else { return Ok(None) };
    let name = &it.party.name;
    let recorded = it.party.gpu_model.as_deref().unwrap_or("a GPU of unknown model");
    match from {
        Some(from) if from == target => Ok(None),
        Some(from) => {
            let attainable = Options::default().attainable_bandwidth;
            let demand = it.party.demand.on_another(from.model, target.model, attainable);
            it.party.demand = demand.unwrap_or_else(|| it.party.demand.clone());
            Ok(Some(format!("{name} was recorded on {recorded} and is scaled to {}", target.name)))
        }
        None if is_asked => Err(CliError::usage(
            format!("`{name}` was recorded on {recorded}, which cannot be scaled to another"),
            "leave --gpu-model out, or record on a model that it knows",
        )),
        None => Ok(Some(format!(
            "{name} was recorded on {recorded}, which is taken as alike to {}",
            target.name
        ))),
    }
}

/// What is known about the GPU besides its model.
pub(crate) fn options(arguments: &WhatIfArgs) -> Result<Options, CliError> {
    let SharingArgs { power_cap, idle_power, .. } = arguments.settings;
    let power = match power_cap.zip(idle_power) {
        Some((cap, idle)) if cap <= idle => {
            return Err(CliError::usage(
                format!("the power cap, {cap} W, is not above the idle power, {idle} W"),
                "give --power-cap as the driver enforces it (nvidia-smi -q -d POWER)",
            ));
        }
        Some((cap, idle)) => Some(PowerCap::new(idle, cap)),
        None => None,
    };
    let meeting = if arguments.as_recorded { Meeting::AsRecorded } else { Meeting::AnyPhase };
    Ok(Options { power, meeting, ..Options::default() })
}

/// Every way that was asked about, played.
pub(crate) fn scenes(
    found: &[Found],
    (board, measured): (&Board, Option<MeasuredPhase>),
    arguments: &WhatIfArgs,
    options: &Options,
) -> Result<Vec<Scene>, CliError> {
    let settings = &arguments.settings;
    let shares = by_name(found, &settings.mps_percentage, "--mps-percentage")?;
    let slices = by_name(found, &settings.slice, "--slice")?;
    check_slices(&slices)?;
    let ways = ways(arguments, board, found.len())?;
    let demands: Vec<Demand> = found.iter().map(|it| it.party.demand.clone()).collect();
    let limits = by_name(found, &settings.memory_limit, "--memory-limit")?;
    for (it, limit) in found.iter().zip(&limits) {
        let peak = it.memory.as_ref().map(|it| it.stairs.peak());
        let shown =
            |bytes: f64| MemoryBytes::from_f64(bytes).map_or_else(String::new, |it| it.to_string());
        if let Some((limit, peak)) = limit.zip(peak).filter(|it| it.0 < it.1) {
            output::warning(&format!(
                "--memory-limit of `{}`, {}, lies below the {} that it was seen to hold: it counts with what was seen",
                it.party.name,
                shown(limit),
                shown(peak)
            ));
        }
    }
    let caps = by_name(found, &settings.mps_memory, "--mps-memory")?;
    let room = Room {
        capacity_bytes: board.capacity_bytes,
        reserved_bytes: board.reserved_bytes,
        board: board.mig,
    };
    let needs = Needs { measured, ..Needs::of(found, &limits, caps) };
    let terms = Given { shares, slices, room, needs, has_mig: board.has_mig };
    Ok(during("replaying", || {
        ways.par_iter().map(|way| scene(*way, &demands, &terms, settings, options)).collect()
    }))
}

/// What was given to each tenant.
struct Given {
    shares: Vec<Option<f64>>,
    slices: Vec<Option<Slice>>,
    room: Room,
    needs: Needs,
    has_mig: Option<bool>,
}

fn scene(
    way: Way,
    demands: &[Demand],
    given: &Given,
    settings: &SharingArgs,
    options: &Options,
) -> Scene {
    let (mechanism, tuning) = mechanism(way, settings);
    let mut terms = vec![Terms::default(); demands.len()];
    let mut is_possible = true;
    if way == Way::Mps {
        terms.iter_mut().zip(&given.shares).for_each(|(it, share)| it.thread_share = *share);
    }
    let mut notes = Vec::new();
    if way == Way::Mig {
        if given.has_mig.is_none() {
            notes.push("whether this GPU can be cut into MIG instances is not known".to_owned());
        }
        let memory = |it: Slice| given.room.of_slice(it);
        match best_split(demands, &given.slices, &memory, options) {
            Some(split) => {
                terms.iter_mut().zip(split).for_each(|(it, slice)| it.slice = Some(slice));
            }
            None => is_possible = false,
        }
        for (it, demand) in terms.iter().zip(demands) {
            if let Some(slice) = it.slice.filter(|it| !holds(demand, memory(*it))) {
                let slice = name_of(slice).unwrap_or("its slice");
                notes.push(format!("the memory of {} does not fit into {slice}", demand.name));
            }
        }
    }
    let seat = |(demand, it): (&'_ Demand, &Terms)| (demand.clone(), *it);
    let seated: Vec<(Demand, Terms)> = demands.iter().zip(&terms).map(seat).collect();
    let prediction = match is_possible {
        true => {
            let seats: Vec<Seat<'_>> = seated
                .iter()
                .map(|(demand, it)| Seat { demand, thread_share: it.thread_share, slice: it.slice })
                .collect();
            predict(&seats, mechanism, options)
        }
        false => impossible(demands, mechanism),
    };
    let is_chosen = way == Way::Mig && given.slices.iter().any(Option::is_none);
    let memory = given.needs.under(&mechanism, &terms, given.room);
    Scene { mechanism, tuning, terms, is_chosen, notes, memory, prediction }
}

fn impossible(demands: &[Demand], mechanism: Mechanism) -> Prediction {
    let refused = |demand: &Demand| TenantPrediction {
        name: demand.name.clone(),
        slowdown: None,
        latency_s: None,
        throughput_ratio: None,
        is_at_least: false,
        refusal: Some(Refusal::NoSplit),
        assumptions: demand.assumptions.clone(),
    };
    Prediction { mechanism, tenants: demands.iter().map(refused).collect() }
}

fn mechanism(way: Way, settings: &SharingArgs) -> (Mechanism, Tuning) {
    let is_measured = settings.quantum.is_some() || settings.switch.is_some();
    match way {
        Way::Exclusive => (Mechanism::Exclusive, Tuning::Usual),
        Way::Mps => (Mechanism::mps(), Tuning::Usual),
        Way::Mig => (Mechanism::Mig, Tuning::Usual),
        Way::TimeSlicing => {
            let mut it = Mechanism::time_slicing();
            if let Mechanism::TimeSlicing { quantum_s, switch_s } = &mut it {
                if let Some(turn) = settings.quantum {
                    let Range { expected, low, high } = SWITCH_SHARE;
                    *quantum_s = Range::exact(turn);
                    *switch_s = Range::new(expected * turn, low * turn, high * turn);
                }
                if let Some(loss) = settings.switch {
                    *switch_s = Range::exact(loss);
                }
            }
            (it, if is_measured { Tuning::Given } else { Tuning::Usual })
        }
    }
}

/// The ways that were named, each once and in a fixed order; else those that can be answered.
fn ways(arguments: &WhatIfArgs, board: &Board, tenants: usize) -> Result<Vec<Way>, CliError> {
    let all = [Way::Exclusive, Way::TimeSlicing, Way::Mps, Way::Mig];
    let is_named = !arguments.mechanism.is_empty();
    let wants_mig = arguments.mechanism.contains(&Way::Mig) || !arguments.settings.slice.is_empty();
    if board.has_mig == Some(false) && wants_mig {
        return Err(CliError::usage(
            format!("{} cannot be cut into MIG instances", board.name),
            "ask about another --mechanism, or another --gpu-model",
        ));
    }
    let can_mig = board.has_mig != Some(false) && tenants <= 7;
    let mut chosen: Vec<Way> = match is_named {
        true => arguments.mechanism.clone(),
        false => all.into_iter().filter(|it| *it != Way::Mig || can_mig).collect(),
    };
    chosen.sort();
    chosen.dedup();
    let settings = &arguments.settings;
    let unused = [
        ("--quantum or --switch", settings.quantum.or(settings.switch).is_some(), Way::TimeSlicing),
        ("--mps-percentage", !settings.mps_percentage.is_empty(), Way::Mps),
        ("--mps-memory", !settings.mps_memory.is_empty(), Way::Mps),
        ("--slice", !settings.slice.is_empty(), Way::Mig),
    ];
    for (option, is_given, way) in unused {
        if is_given && !chosen.contains(&way) {
            output::warning(&format!(
                "{option} changes nothing about the ways that were asked about"
            ));
        }
    }
    Ok(chosen)
}

/// What was given by name, in the order of the tenants.
fn by_name<T: Copy>(
    found: &[Found],
    given: &[(String, T)],
    option: &str,
) -> Result<Vec<Option<T>>, CliError> {
    let mut all: Vec<Option<T>> = vec![None; found.len()];
    for (name, value) in given {
        let exact: Vec<usize> = places(found, |it| it.party.name == *name);
        let meant = if exact.is_empty() { places(found, |it| it.own_name == *name) } else { exact };
        let place = match meant.as_slice() {
            [place] => *place,
            [] => {
                let known: Vec<&str> = found.iter().map(|it| it.party.name.as_str()).collect();
                let message = format!("{option}: no tenant is called `{name}`");
                return Err(CliError::usage(message, suggestion(name, &known)));
            }
            several => {
                let names: Vec<&str> =
                    several.iter().map(|it| found[*it].party.name.as_str()).collect();
                let message = format!("{option}: {} tenants are called `{name}`", several.len());
                return Err(CliError::usage(message, format!("name one of {}", names.join(", "))));
            }
        };
        if all[place].replace(*value).is_some() {
            let message = format!("{option} names `{name}` twice");
            return Err(CliError::usage(message, "give one value for each tenant"));
        }
    }
    Ok(all)
}

fn places(found: &[Found], is_it: impl Fn(&Found) -> bool) -> Vec<usize> {
    (0..found.len()).filter(|it| is_it(&found[*it])).collect()
}

fn check_slices(slices: &[Option<Slice>]) -> Result<(), CliError> {
    let named: Vec<Slice> = slices.iter().flatten().copied().collect();
    if fit_together(&named) {
        return Ok(());
    }
    let names: Vec<&str> = named.iter().filter_map(|it| name_of(*it)).collect();
    Err(CliError::usage(
        format!("the slices {} cannot stand beside each other on one GPU", names.join(", ")),
        "a GPU has 7 compute slices and 8 memory slices; 3g and 4g take 4 of memory each, 7g all",
    ))
}
