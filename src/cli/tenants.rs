//! The tenants of a recording by the names that users type.

use crate::cli::error::CliError;
use crate::domain::ident::Subject;
use crate::domain::outline::Outline;
use crate::domain::spelling::distance;
use std::collections::BTreeMap;

/// So many names stand in a message.
const MOST_NAMED: usize = 12;

/// Whoever can suffer or be suspected: tenants, processes and MIG instances that have samples.
fn everybody(outline: &Outline) -> impl Iterator<Item = &Subject> {
    outline.subjects.iter().filter(|it| !it.is_device())
}

/// Every subject of this name; exactly so, or in another case of letters, or by its program or
/// the tenant that it belongs to.
///
/// A name may carry its GPU in front: `gpu0/chat`.
pub(crate) fn called<'a>(outline: &'a Outline, name: &str) -> Vec<&'a Subject> {
    let found = |is_called: &dyn Fn(&Subject) -> bool| -> Vec<&'a Subject> {
        everybody(outline).filter(|it| is_called(it)).collect()
    };
    let is_own = |it: &Subject| names(outline, it).iter().any(|it| it == name);
    let is_alike = |it: &Subject| names(outline, it).iter().any(|it| it.eq_ignore_ascii_case(name));
    let is_other = |it: &Subject| other_names(outline, it).contains(&name);
    let tiers: [&dyn Fn(&Subject) -> bool; 3] = [&is_own, &is_alike, &is_other];
    tiers.into_iter().map(found).find(|it| !it.is_empty()).unwrap_or_default()
}

/// All names of a subject: its label, its own name, and both with the GPU in front.
fn names(outline: &Outline, subject: &Subject) -> Vec<String> {
    let label = outline.label(subject);
    let mut names = vec![label.clone(), subject.to_string()];
    if let Some(gpu) = subject.gpu() {
        names.extend([format!("{gpu}/{}", names[0]), format!("{gpu}/{}", names[1])]);
    }
    if let Subject::Process { gpu, process } = subject
        && let after @ 1.. = outline.followed.after(gpu, *process)
    {
        // How many came after it changes while a recording grows.
        let lasting = label.replace(&format!(" +{after})"), ")");
        names.extend([format!("{gpu}/{lasting}"), lasting]);
    }
    names
}

/// The program of a process, and the tenant that it belongs to.
fn other_names<'a>(outline: &'a Outline, subject: &Subject) -> Vec<&'a str> {
    let Subject::Process { gpu, process } = subject else { return Vec::new() };
    let described = outline.processes.all_of(gpu, *process);
    described
        .flat_map(|it| [it.name.as_deref(), it.tenant.as_ref().map(|it| it.as_str())])
        .flatten()
        .collect()
}

/// The error for a name that nobody has: the nearest one first.
pub(crate) fn unknown(outline: &Outline, role: &str, name: &str) -> CliError {
    let mut known: Vec<String> = everybody(outline).map(|it| outline.label(it)).collect();
    known.sort_by_key(|it| (distance(name, it), it.clone()));
    known.dedup();
    let nearest = known.first().filter(|it| distance(name, it) <= 1 + it.chars().count() / 3);
    let question = nearest.map_or_else(String::new, |it| format!("did you mean `{it}`? "));
    let list = match known.as_slice() {
        [] => "the recording knows whole GPUs only; a log of tenants or processes is needed".into(),
        all if all.len() <= MOST_NAMED => format!("tenants: {}", all.join(", ")),
        all => {
            format!("tenants: {} and {} more", all[..MOST_NAMED].join(", "), all.len() - MOST_NAMED)
        }
    };
    CliError::usage(format!("no {role} is called `{name}`"), format!("{question}{list}"))
}

/// The error for a name that several have.
pub(crate) fn ambiguous(role: &str, name: &str, subjects: &[&Subject]) -> CliError {
    let places: Vec<String> = subjects
        .iter()
        .map(|it| match it.gpu() {
            Some(gpu) => format!("{gpu}/{name}"),
            None => format!("{name} on no known GPU"),
        })
        .collect();
    CliError::usage(
        format!("{} are called `{name}`", count(subjects.len(), role)),
        format!("name the GPU too: {}", places.join(", ")),
    )
}

fn count(number: usize, role: &str) -> String {
    format!("{number} {role}s")
}

/// Clock offsets by tenant.
///
/// Errors: a tenant that nobody is called, or one that stands twice.
pub(crate) fn clock_offsets(
    outline: &Outline,
    given: &[(String, f64)],
) -> Result<BTreeMap<String, f64>, CliError> {
    let mut offsets = BTreeMap::new();
    for (name, seconds) in given {
        let Some(subject) = called(outline, name).first().copied() else {
            return Err(unknown(outline, "tenant", name));
        };
        if offsets.insert(outline.label(subject), *seconds).is_some() {
            return Err(CliError::usage(
                format!("--clock-offset names `{name}` twice"),
                "give one offset for each tenant",
            ));
        }
    }
    Ok(offsets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ident::{GpuId, TenantId};

    fn outline(names: &[(Option<u32>, &str)]) -> Outline {
        let subject = |(gpu, name): &(Option<u32>, &str)| Subject::Tenant {
            gpu: gpu.map(GpuId::from_index),
            tenant: TenantId::new(*name),
        };
        Outline { subjects: names.iter().map(subject).collect(), ..Outline::default() }
    }

    #[test]
    fn an_unknown_name_brings_the_nearest_one_first() {
        let world = outline(&[(Some(0), "batch"), (Some(0), "chat-api"), (None, "embed")]);
        let error = unknown(&world, "tenant", "chat-ap");
        assert_eq!(error.message(), "no tenant is called `chat-ap`");
        let remedy = error.remedy().unwrap();
        assert_eq!(remedy, "did you mean `chat-api`? tenants: chat-api, batch, embed");
        let far = unknown(&world, "tenant", "qqqqqqqqq");
        assert!(far.remedy().unwrap().starts_with("tenants: "), "{far:?}");
    }

    #[test]
    fn a_name_on_two_gpus_is_told_apart_by_its_gpu() {
        let world = outline(&[(Some(0), "chat"), (Some(1), "chat")]);
        assert_eq!(called(&world, "chat").len(), 2);
        assert_eq!(called(&world, "gpu1/chat").len(), 1);
        assert_eq!(called(&world, "CHAT").len(), 2);
    }

    #[test]
    fn a_clock_offset_of_nobody_is_refused() {
        let world = outline(&[(Some(0), "chat")]);
        let offsets = clock_offsets(&world, &[("chat".to_owned(), -0.25)]).unwrap();
        assert_eq!(offsets.get("chat"), Some(&-0.25));
        assert!(clock_offsets(&world, &[("chta".to_owned(), 1.0)]).is_err());
        let twice = [("chat".to_owned(), 1.0), ("chat".to_owned(), 2.0)];
        assert!(clock_offsets(&world, &twice).is_err());
    }
}
