//! `cotenant whatif`: if these workloads shared a GPU, what would their p99 be?

use crate::cli::diagnose_forms::deliver;
use crate::cli::error::{CliError, FINDINGS, NOT_ENOUGH_DATA};
use crate::cli::figures;
use crate::cli::overwrite::Protected;
use crate::cli::progress::during;
use crate::cli::whatif_args::{Broken, WhatIfArgs};
use crate::cli::whatif_forms;
use crate::cli::whatif_learn::{learned, observed};
use crate::cli::whatif_tenants::{Found, Gathered, gather};
use crate::cli::whatif_ways::{Board, board, options, scenes};
use crate::colocation::demand::Assumption;
use crate::colocation::objective::Keeping;
use crate::report::whatif::{Party, WhatIf, report};
use std::path::{Path, PathBuf};

/// Share of the longer recording that both must have in common for their phases to mean something.
const SAME_TIME: f64 = 0.9;

pub(crate) fn run(arguments: &WhatIfArgs, command: &str) -> Result<u8, CliError> {
    check_places(arguments)?;
    let form = whatif_forms::form(arguments)?;
    let observations = observed(&arguments.learn)?;
    let Gathered { mut found, measured } = gather(arguments)?;
    if arguments.as_recorded {
        check_phases(&found)?;
    }
    let board: Board = board(&mut found, arguments)?;
    let parties: Vec<Party> = found.iter().map(|it| it.party.clone()).collect();
    let options = options(arguments)?;
    let scenes = scenes(&found, (&board, measured), arguments, &options)?;
    let learned = during("replaying pairs", || learned(&parties, &scenes, &observations, &options));
    let result = WhatIf {
        parties: &parties,
        scenes: &scenes,
        slo: arguments.slo,
        options: &options,
        gpu: &board.name,
        capacity_bytes: board.capacity_bytes,
        learned: &learned,
        notes: &board.notes,
        tool_version: env!("CARGO_PKG_VERSION"),
        command,
    };
    let figures = &arguments.figures;
    if !figures.figure.is_empty() {
        figures::write(&report(&result), figures)?;
    }
    if figures.leaves_result(arguments.out.is_some() || arguments.output.is_some()) {
        let bytes = whatif_forms::bytes(&result, form)?;
        deliver(&bytes, arguments.out.as_deref())?;
    }
    Ok(exit_code(&result, arguments.fail_on))
}

/// Refuses places of output that are inputs.
fn check_places(arguments: &WhatIfArgs) -> Result<(), CliError> {
    let inputs: Vec<PathBuf> = arguments
        .tenants
        .iter()
        .flat_map(|text| {
            let ends = text.match_indices('#').map(|it| it.0).chain([text.len()]);
            ends.map(|end| PathBuf::from(&text[..end])).collect::<Vec<_>>()
        })
        .collect();
    let mut protected = Protected::inputs(&inputs, &arguments.foreign);
    protected.add(arguments.profiles.as_deref());
    protected.add(arguments.learn.iter().map(PathBuf::as_path));
    figures::check_place(&arguments.figures, &protected)?;
    arguments.out.as_deref().map_or(Ok(()), |it: &Path| protected.check_file(it))
}

/// Demands that keep no phase: why, behind the name of the tenant, and what to do.
const WITHOUT_PHASE: [(Assumption, &str, &str); 2] = [
    (
        Assumption::OrderDrawn,
        "was counted by an exporter, which kept nothing of when it was busy between two scrapes",
        "leave --as-recorded out, or record with `cotenant record`",
    ),
    (
        Assumption::PartPlayed,
        "did so much that only stretches of it are played",
        "leave --as-recorded out, or take a shorter window with --from and --to",
    ),
];

/// Errors: tenants that were not recorded at the same time have no phase to keep.
fn check_phases(found: &[Found]) -> Result<(), CliError> {
    let refuse = |message: String| {
        let remedy = "record them together, or leave --as-recorded out";
        Err(CliError::usage(message, remedy))
    };
    let mut spans = Vec::new();
    for it in found {
        let assumed = &it.party.demand.assumptions;
        let without_phase = WITHOUT_PHASE.iter().find(|known| assumed.contains(&known.0));
        if let Some((_, why, remedy)) = without_phase {
            let message = format!("`{}` {why}, so it has no phase", it.party.name);
            return Err(CliError::usage(message, *remedy));
        }
        match it.span {
            Some(span) => spans.push((span, &it.party.name)),
            None => {
                let name = &it.party.name;
                return refuse(format!("`{name}` was never recorded, so it has no phase to keep"));
            }
        }
    }
    let Some((first, first_name)) = spans.first() else { return Ok(()) };
    for (span, name) in &spans[1..] {
        let longer = first.seconds().max(span.seconds());
        let common = first.overlap(*span).map_or(0.0, |it| it.seconds());
        if common < SAME_TIME * longer {
            return refuse(format!(
                "`{first_name}` and `{name}` were not recorded at the same time"
            ));
        }
    }
    Ok(())
}

/// 4 when the SLO is missed and that was asked about; 3 when nobody got a number.
fn exit_code(result: &WhatIf<'_>, fail_on: Option<Broken>) -> u8 {
    let rows = result.rows();
    let is_missed = rows.iter().any(|it| it.keeping == Some(Keeping::Missed));
    let has_numbers = rows.iter().any(|it| it.found.slowdown.is_some());
    match fail_on {
        Some(Broken::Missed) if is_missed => FINDINGS,
        _ if !has_numbers => NOT_ENOUGH_DATA,
        _ => 0,
    }
}
