//! Everybody of a fleet, each under a name of its own, with class and needs.

use crate::fleet::class::{ClassKey, WorkloadClass, letters};
use crate::fleet::findings::DeviceFinding;
use crate::fleet::plan::PlanQuestion;
use crate::fleet::yard::{Member, Need, Yard, need_of};
use crate::recommender::situation::Situation;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Everybody of a fleet.
#[derive(Debug)]
pub(crate) struct Roster {
    /// One situation for each device, in their order.
    pub(crate) situations: Vec<Situation>,
    /// All tenants, device by device.
    pub(crate) members: Vec<Member>,
    /// Short name of each class: `A` is the largest.
    pub(crate) names: BTreeMap<ClassKey, String>,
}

impl Roster {
    /// The tenants of all devices.
    pub(crate) fn of(question: &PlanQuestion<'_>) -> Self {
        let situation =
            |it: &DeviceFinding| it.situation(question.said, question.limits, question.options);
        let situations: Vec<Situation> = question.devices.iter().map(situation).collect();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for it in situations.iter().flat_map(|it| &it.tenants) {
            *counts.entry(&it.name).or_default() += 1;
        }
        let mut members = Vec::new();
        for (home, (situation, device)) in situations.iter().zip(question.devices).enumerate() {
            for (tenant, seen) in situation.tenants.iter().zip(&device.tenants) {
                let mut tenant = tenant.clone();
                if counts.get(tenant.name.as_str()).is_some_and(|it| *it > 1) {
                    tenant.name = format!("{} ({})", tenant.name, situation.label);
                }
                if let Some(demand) = &mut tenant.demand {
                    demand.name.clone_from(&tenant.name);
                }
                if let Some(memory) = &mut tenant.memory {
                    memory.label.clone_from(&tenant.name);
                }
                members.push(Member {
                    class: ClassKey::of(&tenant, question.policy),
                    need: need_of(&tenant, question.policy),
                    home: Some(home),
                    busiest_hour_factor: seen.busiest_hour_factor,
                    tenant,
                });
            }
        }
        let mut sizes: BTreeMap<ClassKey, usize> = BTreeMap::new();
        for it in &members {
            *sizes.entry(it.class).or_default() += 1;
        }
        let mut order: Vec<(Reverse<usize>, ClassKey)> =
            sizes.into_iter().map(|it| (Reverse(it.1), it.0)).collect();
        order.sort_unstable();
        let names = order.iter().enumerate().map(|(at, it)| (it.1, letters(at))).collect();
        Self { situations, members, names }
    }

    /// Every class with its members; `yards` tell who can share.
    pub(crate) fn classes(
        &self,
        question: &PlanQuestion<'_>,
        yards: &[&Yard<'_>],
    ) -> Vec<WorkloadClass> {
        let mut sharable: BTreeMap<ClassKey, usize> = BTreeMap::new();
        for yard in yards {
            for (member, applicant) in yard.members.iter().zip(&yard.applicants) {
                let can =
                    member.need == Need::Part && (applicant.is_soft || !applicant.seats.is_empty());
                *sharable.entry(member.class).or_default() += usize::from(can);
            }
        }
        let mut classes: Vec<(usize, WorkloadClass)> = Vec::new();
        for (key, id) in &self.names {
            let own: Vec<&Member> = self.members.iter().filter(|it| it.class == *key).collect();
            let busy = |it: &&Member| it.tenant.demand.as_ref().map(|it| it.busy_share());
            let memory = |it: &&Member| it.tenant.needed_mib(question.policy);
            classes.push((
                own.len(),
                WorkloadClass {
                    id: id.clone(),
                    name: key.name(),
                    tenants: own.len(),
                    // A sum of nothing is -0.
                    busy_gpus: own.iter().filter_map(busy).sum::<f64>() + 0.0,
                    needed_mib: own.iter().filter_map(memory).sum::<f64>() + 0.0,
                    sharable: sharable.get(key).copied().unwrap_or(0).min(own.len()),
                },
            ));
        }
        classes.sort_by(|one, other| {
            (Reverse(one.0), one.1.id.len(), &one.1.id).cmp(&(
                Reverse(other.0),
                other.1.id.len(),
                &other.1.id,
            ))
        });
        classes.into_iter().map(|it| it.1).collect()
    }
}
