//! Measured co-locations beside the replay: what was learned from them about each pair.

use crate::cli::error::CliError;
use crate::colocation::observation::{Observation, Side, observations};
use crate::colocation::predictor::Predictor;
use crate::colocation::share::Mechanism;
use crate::colocation::whatif::{Options, Seat, predict};
use crate::report::whatif::{Learned, Party, Scene};
use std::path::PathBuf;

/// Reads every table of co-locations.
pub(crate) fn observed(paths: &[PathBuf]) -> Result<Vec<Observation>, CliError> {
    let mut all = Vec::new();
    for path in paths {
        let refuse = |what: String| {
            CliError::usage(
                format!("{}: {what}", path.display()),
                "docs/CLI.md gives the columns of measured co-locations",
            )
        };
        let text = std::fs::read_to_string(path)
            .map_err(|it| refuse(format!("the co-locations cannot be read: {it}")))?;
        all.extend(observations(&text).map_err(|it| refuse(it.to_string()))?);
    }
    Ok(all)
}

/// Name of a way to share in a table of co-locations.
fn table_name(mechanism: &Mechanism) -> &'static str {
    match mechanism {
        Mechanism::Exclusive => "exclusive",
        Mechanism::TimeSlicing { .. } => "time-slicing",
        Mechanism::Mps { .. } => "mps",
        Mechanism::Mig => "mig",
    }
}

/// Every ordered pair of tenants that stand in the tables, learned and replayed.
pub(crate) fn learned(
    parties: &[Party],
    scenes: &[Scene],
    observations: &[Observation],
    options: &Options,
) -> Vec<Learned> {
    let mut found = Vec::new();
    for scene in scenes {
        let name = table_name(&scene.mechanism);
        let own: Vec<Observation> =
            observations.iter().filter(|it| it.mechanism == name).cloned().collect();
        let is_known = |party: &Party| {
            let name = &party.name;
            own.iter().any(|it| it.own.tenant == *name || it.other.tenant == *name)
        };
        if own.is_empty() {
            continue;
        }
        let predictor = Predictor::learned(&own);
        for (first, one) in parties.iter().enumerate() {
            for (second, other) in parties.iter().enumerate() {
                if first == second || !is_known(one) || !is_known(other) {
                    continue;
                }
                let learned = predictor.slowdown(&side(one), &side(other));
                let seat = |place: usize| Seat {
                    demand: &parties[place].demand,
                    thread_share: scene.terms[place].thread_share,
                    slice: scene.terms[place].slice,
                };
                let replay = predict(&[seat(first), seat(second)], scene.mechanism, options);
                found.push(Learned {
                    mechanism: scene.mechanism,
                    tenant: one.name.clone(),
                    other: other.name.clone(),
                    slowdown: learned.slowdown,
                    tenants_known: learned.tenants_known,
                    observations: own.len(),
                    throughput_ratio: replay.tenants.first().and_then(|it| it.throughput_ratio),
                });
            }
        }
    }
    found
}

/// What the driver shows of a tenant alone.
fn side(party: &Party) -> Side {
    let view = party.demand.driver.map(|it| (it.utilisation, it.memory_utilisation));
    Side { tenant: party.name.clone(), utilisation: view }
}
