//! How many loads there were, and whether anybody knows.

use crate::analysis::findings::SubjectFindings;
use crate::domain::ident::{GpuId, Subject};
use crate::domain::outline::Outline;
use crate::recommender::situation::NOBODY_KNOWS;
use crate::report::wording::count;
use std::collections::BTreeSet;

/// A load: the tenant, or the process of no tenant, and the GPU where one is known.
type Load = (Option<GpuId>, String);

/// The loads behind some subjects, each once: a tenant with its processes, its service and its MIG instance is one.
///
/// A GPU and a MIG instance are places; whoever is known to live in an instance counts.
fn loads<'a>(
    outline: &Outline,
    subjects: impl Iterator<Item = &'a SubjectFindings>,
) -> BTreeSet<Load> {
    let mut found: BTreeSet<Load> = BTreeSet::new();
    for it in subjects {
        match &it.subject {
            Subject::Device { .. } => {}
            Subject::MigInstance { instance } => {
                let own = outline.mig_instances.iter().filter(|it| it.instance == *instance);
                let tenants = own.flat_map(|it| &it.tenants);
                found.extend(tenants.map(|it| (Some(instance.gpu.clone()), it.to_string())));
            }
            Subject::Process { gpu, process } => {
                let known =
                    outline.processes.iter().find(|it| it.gpu == *gpu && it.process == *process);
                let tenant = known.and_then(|it| it.tenant.as_ref()).map(ToString::to_string);
                found.insert((Some(gpu.clone()), tenant.unwrap_or_else(|| it.label.clone())));
            }
            Subject::Tenant { gpu, tenant } => {
                found.insert((gpu.clone(), tenant.to_string()));
            }
        }
    }
    let placed: BTreeSet<String> =
        found.iter().filter(|it| it.0.is_some()).map(|it| it.1.clone()).collect();
    found.retain(|it| it.0.is_some() || !placed.contains(&it.1));
    found
}

/// How many loads there are among some subjects.
pub(crate) fn number<'a>(
    outline: &Outline,
    subjects: impl Iterator<Item = &'a SubjectFindings>,
) -> usize {
    loads(outline, subjects).len()
}

/// How many loads so many devices carry, or that nobody knows: `7 loads on them`.
pub(crate) fn in_words<'a>(
    outline: &Outline,
    subjects: impl Iterator<Item = &'a SubjectFindings>,
    devices: usize,
) -> String {
    let place = if devices == 1 { "it" } else { "them" };
    match number(outline, subjects) {
        0 if devices == 0 => "no loads".to_owned(),
        0 if devices == 1 => NOBODY_KNOWS.to_owned(),
        0 => NOBODY_KNOWS.replace(" on it:", " on them:"),
        some => count(some, &format!("load on {place}"), &format!("loads on {place}")),
    }
}
