//! Who sits where, as a table.

use crate::recommender::audit::facts::Facts;
use crate::recommender::audit::place::Place;
use crate::recommender::audit::residents::Resident;
use serde::Serialize;

/// A GPU without MIG, or a GPU instance, with who is on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Seat {
    /// Its name for people.
    pub place: String,
    /// Its MIG profile; `None` for a whole GPU, or if no file says it.
    pub profile: Option<String>,
    /// Its memory, MiB; `None` if no file says it.
    pub memory_total_mib: Option<u64>,
    /// Memory in use when the files were written, MiB.
    pub memory_used_mib: Option<u64>,
    /// Pods that were given it, and recorded tenants.
    pub tenants: Vec<String>,
    /// Processes on it: id, program, and memory in MiB.
    pub processes: Vec<SeatedProcess>,
}

/// A process on a seat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SeatedProcess {
    /// Process id, as nvidia-smi says it.
    pub pid: u32,
    /// Program, maybe cut by nvidia-smi.
    pub name: Option<String>,
    /// Memory that it holds, MiB.
    pub memory_mib: Option<u64>,
}

/// Every place of the node, in the order of GPUs and instances, then devices that no file lists.
pub(super) fn seats(facts: &Facts<'_>) -> Vec<Seat> {
    let mut places = facts.atlas.places();
    let taken = facts.residents.iter().filter_map(|it| it.place.clone());
    let used = facts.words.processes.iter().filter_map(|it| facts.atlas.of_process(it));
    for place in taken.chain(used) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places.sort_by_key(|it| (facts.atlas.gpu_of(it).unwrap_or(usize::MAX), it.clone()));
    places.into_iter().map(|it| seat(facts, &it)).collect()
}

fn seat(facts: &Facts<'_>, place: &Place) -> Seat {
    let device = facts.atlas.device(place);
    let here = |it: &&Resident<'_>| it.place.as_ref() == Some(place);
    let mut tenants: Vec<String> =
        facts.residents.iter().filter(here).map(|it| it.label.clone()).collect();
    tenants.dedup();
    let on_it = facts
        .words
        .processes
        .iter()
        .filter(|it| facts.atlas.of_process(it).as_ref() == Some(place));
    let used = match place {
        Place::Gpu(gpu) => facts.atlas.facts(*gpu).and_then(|it| it.memory_used_mib),
        _ => device.and_then(|it| it.memory_used_mib),
    };
    Seat {
        place: facts.atlas.label(place),
        profile: profile(facts, place).map(str::to_owned),
        memory_total_mib: facts.atlas.memory(place).map(|it| it.0),
        memory_used_mib: used,
        tenants,
        processes: on_it
            .map(|it| SeatedProcess {
                pid: it.pid,
                name: it.name.clone(),
                memory_mib: it.memory_mib,
            })
            .collect(),
    }
}

fn profile<'a>(facts: &Facts<'a>, place: &Place) -> Option<&'a str> {
    let gpu = facts.atlas.gpu_of(place)?;
    facts.atlas.likely_profile(gpu, facts.atlas.device(place)?)
}
