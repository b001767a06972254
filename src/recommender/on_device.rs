//! What was found about a device, by the tenant that it belongs to: found at once, however many there are.

use crate::analysis::findings::{BurstProfile, DeviceFindings, Scope, SubjectFindings};
use crate::analysis::memory_findings::{MemoryFindings, MemoryResident};
use crate::domain::ident::Subject;
use crate::domain::outline::Outline;
use crate::recommender::seen::SeenTenant;
use crate::recommender::suitability::Suitability;
use std::collections::{BTreeMap, BTreeSet};

/// Why a subject counts as a tenant's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tie {
    /// The recording says whose process, or whose instance, it is.
    Said,
    /// It is the tenant's own series.
    Itself,
    /// It is a process of nobody, called as the tenant is.
    Called,
}

/// Findings of one device.
#[derive(Debug)]
pub(crate) struct OnDevice<'a> {
    findings: &'a DeviceFindings,
    /// Places of the device itself among its subjects.
    device: Vec<usize>,
    /// Places of the subjects of each tenant, in order.
    owned: BTreeMap<&'a str, BTreeSet<(usize, Tie)>>,
    residents: BTreeMap<&'a str, (&'a MemoryFindings, &'a MemoryResident)>,
    /// Words on whole recordings.
    words: BTreeMap<&'a Subject, &'a Suitability>,
}

impl<'a> OnDevice<'a> {
    pub(crate) fn new(
        outline: &'a Outline,
        words: &'a [Suitability],
        findings: &'a DeviceFindings,
    ) -> Self {
        let mut instances = BTreeMap::new();
        for it in &outline.mig_instances {
            if let [only] = it.tenants.as_slice() {
                instances.entry(&it.instance).or_insert_with(BTreeSet::new).insert(only.as_str());
            }
        }
        let mut device = Vec::new();
        let mut owned: BTreeMap<&str, BTreeSet<(usize, Tie)>> = BTreeMap::new();
        let mut own = |name: &'a str, place: usize, tie: Tie| {
            owned.entry(name).or_default().insert((place, tie));
        };
        for (place, it) in findings.subjects.iter().enumerate() {
            match &it.subject {
                Subject::Device { .. } => device.push(place),
                Subject::Process { gpu, process } => {
                    let said = outline.processes.all_of(gpu, *process);
                    let tenants = said.clone().filter_map(|it| it.tenant.as_ref());
                    tenants.for_each(|it| own(it.as_str(), place, Tie::Said));
                    if said.into_iter().next().is_none_or(|it| it.tenant.is_none()) {
                        own(&it.label, place, Tie::Called);
                    }
                }
                Subject::Tenant { tenant, .. } => own(tenant.as_str(), place, Tie::Itself),
                Subject::MigInstance { instance } => {
                    for tenant in instances.get(instance).into_iter().flatten() {
                        own(tenant, place, Tie::Said);
                    }
                }
            }
        }
        let mut residents = BTreeMap::new();
        for (space, it) in
            findings.memory.iter().flat_map(|it| it.residents.iter().map(move |r| (it, r)))
        {
            let name = match &it.subject {
                Subject::Tenant { tenant, .. } => tenant.as_str(),
                _ => it.label.as_str(),
            };
            residents.entry(name).or_insert((space, it));
        }
        let mut of_whole = BTreeMap::new();
        for it in words.iter().filter(|it| it.scope == Scope::Whole) {
            of_whole.entry(&it.subject).or_insert(it);
        }
        Self { findings, device, owned, residents, words: of_whole }
    }

    /// What a tenant held, and in whose memory; `None` where nothing was seen of it.
    pub(crate) fn resident(
        &self,
        seen: &SeenTenant,
    ) -> Option<(&'a MemoryFindings, &'a MemoryResident)> {
        self.residents.get(seen.tenant.as_str()).copied()
    }

    /// Subjects that show what a tenant held: its processes, its own series, the device where it is all of it.
    pub(crate) fn holders(&self, seen: &SeenTenant) -> impl Iterator<Item = &'a SubjectFindings> {
        let is_holder = |it: &SubjectFindings| !matches!(it.subject, Subject::MigInstance { .. });
        self.of(seen, |_| true).into_iter().filter(move |it| is_holder(it))
    }

    /// The bursts of the one subject that shows a tenant at work; `None` where none does, or several.
    pub(crate) fn profile(&self, seen: &SeenTenant) -> Option<(&'a BurstProfile, &'a Suitability)> {
        let own = self.of(seen, |tie| tie == Tie::Said).into_iter();
        let mut profiles = own.filter_map(|it| Some((&it.subject, it.whole()?.profile.as_ref()?)));
        let (subject, profile) = profiles.next()?;
        if profiles.next().is_some() {
            return None;
        }
        Some((profile, self.words.get(subject)?))
    }

    fn of(&self, seen: &SeenTenant, counts: impl Fn(Tie) -> bool) -> Vec<&'a SubjectFindings> {
        let owned = self.owned.get(seen.tenant.as_str()).into_iter().flatten();
        let mut places: BTreeSet<usize> = owned.filter(|it| counts(it.1)).map(|it| it.0).collect();
        places.extend(self.device.iter().filter(|_| seen.is_whole_gpu));
        places.into_iter().map(|it| &self.findings.subjects[it]).collect()
    }
}
