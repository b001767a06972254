//! Whom a what-if is about: tenants of recordings, each recording opened once, and profiles.

use crate::cli::error::CliError;
use crate::cli::input::{Input, open};
use crate::cli::output;
use crate::cli::progress::during;
use crate::cli::spool::called;
use crate::cli::whatif_args::WhatIfArgs;
use crate::cli::whatif_memory::{steady, together};
use crate::cli::whatif_seen::{Seen, seen};
use crate::colocation::demand::Demand;
use crate::colocation::memory::{MeasuredPhase, MemoryDemand};
use crate::colocation::profiles::profiles;
use crate::domain::ident::GpuId;
use crate::domain::outline::Outline;
use crate::domain::spelling::distance;
use crate::domain::time::TimeSpan;
use crate::recommender::candidates::{Candidate, candidates};
use crate::report::whatif::Party;
use std::path::{Path, PathBuf};

/// So many names stand in a message.
const MOST_NAMED: usize = 12;

/// A tenant, and what else was found beside it.
pub(crate) struct Found {
    pub(crate) party: Party,
    /// Name in its recording, before tenants of one name were told apart.
    pub(crate) own_name: String,
    /// Memory of the GPU that it was recorded on, bytes.
    pub(crate) capacity_bytes: Option<f64>,
    /// What it needs of memory over time; `None` when that is not known.
    pub(crate) memory: Option<MemoryDemand>,
    /// What the driver keeps for itself on the GPU that it was recorded on, bytes.
    pub(crate) reserved_bytes: Option<f64>,
    /// Which of the inputs it stands in, and its GPU; `None` for a profile.
    pub(crate) place: Option<(usize, GpuId)>,
    /// When it was recorded; `None` for a profile.
    pub(crate) span: Option<TimeSpan>,
}

/// Everybody that the command line names, and what a recording of all of them at once shows of their memory.
pub(crate) struct Gathered {
    pub(crate) found: Vec<Found>,
    /// `None` when they were never recorded beside each other, and beside nobody else.
    pub(crate) measured: Option<MeasuredPhase>,
}

/// Everybody that the command line names, in its order, profiles last.
pub(crate) fn gather(arguments: &WhatIfArgs) -> Result<Gathered, CliError> {
    let mut opened: Vec<(PathBuf, Input)> = Vec::new();
    let mut found = Vec::new();
    for text in &arguments.tenants {
        let (path, name) = split(text);
        let place = match opened.iter().position(|it| it.0 == path) {
            Some(place) => place,
            None => {
                let input = open(std::slice::from_ref(&path), &arguments.foreign)?;
                opened.push((path.clone(), input));
                opened.len() - 1
            }
        };
        let mut own = of_recording(&opened[place].1, &path, name, arguments)?;
        for it in &mut own {
            it.place.iter_mut().for_each(|it| it.0 = place);
        }
        found.extend(own);
    }
    let measured = joint(&opened, &found)?;
    if let Some(path) = &arguments.profiles {
        found.extend(of_profiles(path)?);
    }
    tell_apart(&mut found);
    match found.as_slice() {
        [_, _, ..] => Ok(Gathered { found, measured }),
        few => {
            let who = few.first().map_or("nobody", |it| it.party.name.as_str());
            let message = format!("sharing takes two tenants, and only {who} was named");
            Err(CliError::usage(
                message,
                "name another INPUT or INPUT#NAME, or add --profiles FILE",
            ))
        }
    }
}

/// The phase of their memory, where all were recorded on one GPU at once.
fn joint(opened: &[(PathBuf, Input)], found: &[Found]) -> Result<Option<MeasuredPhase>, CliError> {
    let places: Vec<_> = found.iter().map(|it| it.place.as_ref()).collect();
    let [Some(first), rest @ ..] = places.as_slice() else { return Ok(None) };
    if rest.is_empty() || rest.iter().any(|it| it != &Some(*first)) {
        return Ok(None);
    }
    let Some((_, input)) = opened.get(first.0) else { return Ok(None) };
    let names: Vec<&str> = found.iter().map(|it| it.own_name.as_str()).collect();
    together(&input.recording, &first.1, &names)
}

/// The input and the name behind the first `#` before which a file or folder is called so.
fn split(text: &str) -> (PathBuf, Option<&str>) {
    let exists = |it: &str| it == "-" || Path::new(it).exists();
    if exists(text) {
        return (PathBuf::from(text), None);
    }
    let places = || text.match_indices('#').map(|it| it.0);
    match places().find(|it| exists(&text[..*it])).or_else(|| places().next()) {
        Some(place) => (PathBuf::from(&text[..place]), Some(&text[place + 1..])),
        None => (PathBuf::from(text), None),
    }
}

fn of_recording(
    input: &Input,
    path: &Path,
    name: Option<&str>,
    arguments: &WhatIfArgs,
) -> Result<Vec<Found>, CliError> {
    let recording = &input.recording;
    let outline = recording.outline();
    let file = called(path);
    let all = candidates(outline, &file);
    let chosen: Vec<&Candidate> = match name {
        Some(name) => vec![chosen(&all, outline, name, path)?],
        None => everybody(&all, outline, path)?,
    };
    let mut found = Vec::new();
    for candidate in chosen {
        let seen = during("reading", || seen(recording, candidate, None))?;
        match seen.demand(candidate, arguments.settings.idle_power) {
            Some(demand) => {
                found.push(as_found(demand, candidate, &seen, (outline, file.as_str())));
            }
            None if name.is_none() => output::warning(&format!(
                "{}: {}: nothing shows when it was active, so it is left out",
                path.display(),
                candidate.tenant
            )),
            None => return Err(never_seen(path, candidate)),
        }
    }
    if found.is_empty() {
        let message = format!("{}: nothing shows when anybody was active", path.display());
        return Err(CliError::not_enough_data(message, REMEDY));
    }
    Ok(found)
}

const REMEDY: &str = "record it again with utilisation of its GPU, or with that of each process";

fn never_seen(path: &Path, candidate: &Candidate) -> CliError {
    let message =
        format!("{}: nothing shows when `{}` was active", path.display(), candidate.tenant);
    CliError::not_enough_data(message, REMEDY)
}

fn as_found(
    demand: Demand,
    candidate: &Candidate,
    seen: &Seen,
    (outline, file): (&Outline, &str),
) -> Found {
    let own_name = candidate.tenant.as_str().to_owned();
    let held = seen.held(candidate);
    let party = Party {
        name: own_name.clone(),
        source: file.to_owned(),
        gpu_model: outline.device(&candidate.gpu).and_then(|it| it.model.clone()),
        was_alone: Some(seen.is_alone || seen.instance.is_some()),
        instance: seen.instance.clone(),
        demand,
    };
    Found {
        party,
        own_name,
        capacity_bytes: seen.capacity_bytes,
        memory: held.demand,
        reserved_bytes: held.reserved_bytes,
        place: Some((0, candidate.gpu.clone())),
        span: outline.span,
    }
}

/// Everybody in a recording, or an error where it knows several whole GPUs only.
fn everybody<'a>(
    all: &'a [Candidate],
    outline: &Outline,
    path: &Path,
) -> Result<Vec<&'a Candidate>, CliError> {
    let tenants: Vec<&Candidate> = all.iter().filter(|it| !it.is_whole_gpu).collect();
    if !tenants.is_empty() {
        return Ok(tenants);
    }
    let gpus: Vec<&Candidate> = all.iter().collect();
    match gpus.as_slice() {
        [] => {
            let message = format!("{}: holds no samples of a GPU or a tenant", path.display());
            Err(CliError::not_enough_data(message, "record again, or import another file"))
        }
        [_] => Ok(gpus),
        several => {
            let message =
                format!("{}: holds {} GPUs and names no tenants", path.display(), several.len());
            let names: Vec<String> = outline.devices.iter().map(|it| it.label()).collect();
            let shown = names.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
            Err(CliError::usage(message, format!("name one of them as INPUT#NAME: {shown}")))
        }
    }
}

/// The one of this name; exactly so, or in another case of letters.
fn chosen<'a>(
    all: &'a [Candidate],
    outline: &Outline,
    name: &str,
    path: &Path,
) -> Result<&'a Candidate, CliError> {
    let by = |is_it: &dyn Fn(&str) -> bool| -> Vec<&'a Candidate> {
        all.iter().filter(|it| it.names(outline).iter().any(|it| is_it(it))).collect()
    };
    let exact = by(&|it| it == name);
    let found = if exact.is_empty() { by(&|it| it.eq_ignore_ascii_case(name)) } else { exact };
    match found.as_slice() {
        [one] => Ok(one),
        [] => {
            let mut known: Vec<String> = all.iter().map(|it| it.shown(outline)).collect();
            known.sort_by_key(|it| (distance(name, it), it.clone()));
            known.dedup();
            let rest = known.len().saturating_sub(MOST_NAMED);
            known.truncate(MOST_NAMED);
            let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            let message = format!("{}: no tenant is called `{name}`", path.display());
            Err(CliError::usage(message, format!("tenants: {}{more}", known.join(", "))))
        }
        several => {
            let message = format!("{}: {} are called `{name}`", path.display(), several.len());
            let places: Vec<String> =
                several.iter().map(|it| format!("{}/{}", it.gpu, it.tenant)).collect();
            Err(CliError::usage(message, format!("name the GPU too: {}", places.join(", "))))
        }
    }
}

fn of_profiles(path: &Path) -> Result<Vec<Found>, CliError> {
    let text = std::fs::read_to_string(path).map_err(|it| {
        let message = format!("{}: the profiles cannot be read: {it}", path.display());
        CliError::usage(message, "give a text file (TOML) of tenants; docs/CLI.md shows one")
    })?;
    let demands = profiles(&text)
        .map_err(|it| CliError::usage(format!("{}: {it}", path.display()), it.remedy()))?;
    let source = called(path);
    let found = |demand: Demand| Found {
        own_name: demand.name.clone(),
        memory: demand.memory_bytes.and_then(|it| steady(&demand.name, it)),
        party: Party {
            name: demand.name.clone(),
            source: source.clone(),
            gpu_model: None,
            was_alone: None,
            instance: None,
            demand,
        },
        capacity_bytes: None,
        reserved_bytes: None,
        place: None,
        span: None,
    };
    Ok(demands.into_iter().map(found).collect())
}

/// Gives tenants of one name the name of their input, and those of one input a number.
fn tell_apart(found: &mut [Found]) {
    let repeats =
        |found: &[Found], name: &str| found.iter().filter(|it| it.party.name == name).count();
    let twins: Vec<bool> = found.iter().map(|it| repeats(found, &it.party.name) > 1).collect();
    for (it, is_twin) in found.iter_mut().zip(twins) {
        if is_twin && it.party.source != it.own_name {
            it.party.name = format!("{} ({})", it.own_name, it.party.source);
        }
    }
    for place in 0..found.len() {
        let name = found[place].party.name.clone();
        let later = found.iter_mut().skip(place + 1).filter(|it| it.party.name == name);
        for (number, it) in (2..).zip(later) {
            it.party.name = format!("{name} #{number}");
        }
    }
    for it in found.iter_mut() {
        it.party.demand.name.clone_from(&it.party.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_behind_the_input() {
        assert_eq!(split("nowhere#a#b"), (PathBuf::from("nowhere"), Some("a#b")));
        assert_eq!(split("-#chat"), (PathBuf::from("-"), Some("chat")));
        assert_eq!(split("Cargo.toml"), (PathBuf::from("Cargo.toml"), None));
    }
}
