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
                let known = outline.processes.of(gpu, *process);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ident::{MigInstanceId, TenantId};
    use crate::domain::outline::MigInstance;

    fn subject(subject: Subject) -> SubjectFindings {
        SubjectFindings {
            label: subject.to_string(),
            subject,
            scopes: Vec::new(),
            timelines: Vec::new(),
        }
    }

    #[test]
    fn a_tenant_its_service_and_its_instance_are_one_load_and_an_instance_alone_is_none() {
        let gpu = GpuId::from_index(0);
        let instance = |number: u32| MigInstanceId {
            gpu: gpu.clone(),
            gpu_instance: number,
            compute_instance: None,
            generation: 0,
        };
        let chat = TenantId::new("chat");
        let outline = Outline {
            mig_instances: vec![MigInstance {
                instance: instance(1),
                profile: None,
                tenants: vec![chat.clone()],
            }],
            ..Outline::default()
        };
        let all = [
            subject(Subject::device(&gpu)),
            subject(Subject::MigInstance { instance: instance(1) }),
            subject(Subject::MigInstance { instance: instance(2) }),
            subject(Subject::Tenant { gpu: Some(gpu.clone()), tenant: chat.clone() }),
            subject(Subject::Tenant { gpu: None, tenant: chat }),
        ];
        assert_eq!(in_words(&outline, all.iter(), 1), "1 load on it");
        let alone = Outline::default();
        let places = || all.iter().take(3);
        assert_eq!(
            in_words(&alone, places(), 1),
            "nobody knows who was on it: no process was recorded"
        );
        assert!(in_words(&alone, places(), 2).starts_with("nobody knows who was on them"));
    }
}
