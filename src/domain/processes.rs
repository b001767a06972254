//! What is known about the processes of a recording, found by process however many there were.

use crate::domain::ident::{GpuId, ProcessKey, TenantId};
use crate::domain::outline::Process;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Deref;

/// Processes in the order in which they were described, each with what all descriptions of it say that agree.
///
/// Reads as a slice. A source that changes its mind about a process leaves several descriptions of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Process>", into = "Vec<Process>")]
pub struct Processes {
    all: Vec<Process>,
    /// Places of each process in the list.
    places: BTreeMap<ProcessKey, Vec<usize>>,
    /// Places of the processes of each tenant in the list.
    owned: BTreeMap<TenantId, Vec<usize>>,
}

impl Processes {
    /// The first description of a process on a GPU; `None` when there is none.
    pub fn of(&self, gpu: &GpuId, process: ProcessKey) -> Option<&Process> {
        self.place(gpu, process).map(|it| &self.all[it])
    }

    /// Every process of a tenant on a GPU, in order, as often as it was described.
    pub fn of_tenant(&self, gpu: &GpuId, tenant: &TenantId) -> impl Iterator<Item = &Process> {
        let places = self.owned.get(tenant).map_or(&[][..], Vec::as_slice);
        places.iter().map(|it| &self.all[*it]).filter(move |it| it.gpu == *gpu)
    }

    /// Every description of a process on a GPU, in order.
    pub fn all_of(
        &self,
        gpu: &GpuId,
        process: ProcessKey,
    ) -> impl Iterator<Item = &Process> + Clone {
        let places = self.places.get(&process).map_or(&[][..], Vec::as_slice);
        places.iter().map(|it| &self.all[*it]).filter(move |it| it.gpu == *gpu)
    }

    /// Keeps those that fulfil a condition.
    pub(crate) fn retain(&mut self, is_kept: impl FnMut(&Process) -> bool) {
        let mut all = std::mem::take(&mut self.all);
        all.retain(is_kept);
        *self = all.into();
    }

    /// Takes in a description: it completes one that it agrees with, or else stands beside it.
    pub fn push(&mut self, it: Process) {
        let own = self.places.entry(it.process).or_default();
        let agrees = |place: &usize| {
            let known = &self.all[*place];
            known.gpu == it.gpu
                && agree(known.name.as_ref(), it.name.as_ref())
                && agree(known.tenant.as_ref(), it.tenant.as_ref())
        };
        let Some(place) = own.iter().copied().find(agrees) else {
            own.push(self.all.len());
            if let Some(tenant) = &it.tenant {
                self.owned.entry(tenant.clone()).or_default().push(self.all.len());
            }
            self.all.push(it);
            return;
        };
        let known = &mut self.all[place];
        known.name = known.name.take().or(it.name);
        if let (None, Some(tenant)) = (&known.tenant, it.tenant) {
            known.tenant = Some(tenant.clone());
            let own = self.owned.entry(tenant).or_default();
            own.insert(own.partition_point(|it| *it < place), place);
        }
    }

    /// Says whose a process is, which is described by it where nothing else did.
    pub fn assign(&mut self, gpu: &GpuId, process: ProcessKey, tenant: TenantId) {
        match self.place(gpu, process) {
            Some(place) => {
                let before = self.all[place].tenant.replace(tenant.clone());
                if let Some(own) = before.and_then(|it| self.owned.get_mut(&it)) {
                    own.retain(|it| *it != place);
                }
                let own = self.owned.entry(tenant).or_default();
                own.insert(own.partition_point(|it| *it < place), place);
            }
            None => {
                self.push(Process { gpu: gpu.clone(), process, name: None, tenant: Some(tenant) });
            }
        }
    }

    fn place(&self, gpu: &GpuId, process: ProcessKey) -> Option<usize> {
        self.places.get(&process)?.iter().copied().find(|it| self.all[*it].gpu == *gpu)
    }
}

/// Whether two sayings are the same, as far as both were said.
fn agree<T: PartialEq>(one: Option<&T>, other: Option<&T>) -> bool {
    one.zip(other).is_none_or(|it| it.0 == it.1)
}

/// How many processes stand under the name of one that they came after, for each such process.
///
/// A recording can name so many processes of a GPU only; see [`crate::domain::sink::Fact::Follower`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Followers>", into = "Vec<Followers>")]
pub struct Followed(BTreeMap<GpuId, BTreeMap<ProcessKey, u64>>);

/// How many processes stand under the name of one that they came after.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Followers {
    /// The GPU that all of them use.
    pub gpu: GpuId,
    /// The process under whose name they stand.
    pub process: ProcessKey,
    /// How many came after it.
    pub count: u64,
}

impl Followed {
    /// How many came after a process and stand under its name.
    pub fn after(&self, gpu: &GpuId, process: ProcessKey) -> u64 {
        self.0.get(gpu).and_then(|it| it.get(&process)).copied().unwrap_or_default()
    }

    /// Counts more of them.
    pub fn add(&mut self, it: Followers) {
        let count = self.0.entry(it.gpu).or_default().entry(it.process).or_default();
        *count = count.saturating_add(it.count);
    }

    /// Keeps those that fulfil a condition.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&GpuId, ProcessKey) -> bool) {
        for (gpu, all) in &mut self.0 {
            all.retain(|process, _| is_kept(gpu, *process));
        }
        self.0.retain(|_, all| !all.is_empty());
    }

    /// Whether every process has a name of its own.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every process that others came after, by GPU and process.
    pub fn iter(&self) -> impl Iterator<Item = Followers> {
        let of_gpu = |(gpu, all): (&'_ GpuId, &'_ BTreeMap<ProcessKey, u64>)| {
            let gpu = gpu.clone();
            let one = move |(process, count): (&ProcessKey, &u64)| Followers {
                gpu: gpu.clone(),
                process: *process,
                count: *count,
            };
            all.iter().map(one).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of_gpu)
    }
}

impl From<Vec<Followers>> for Followed {
    fn from(all: Vec<Followers>) -> Self {
        let mut made = Self::default();
        all.into_iter().for_each(|it| made.add(it));
        made
    }
}

impl From<Followed> for Vec<Followers> {
    fn from(it: Followed) -> Self {
        it.iter().collect()
    }
}

impl Deref for Processes {
    type Target = [Process];

    fn deref(&self) -> &[Process] {
        &self.all
    }
}

impl From<Vec<Process>> for Processes {
    fn from(all: Vec<Process>) -> Self {
        all.into_iter().collect()
    }
}

impl From<Processes> for Vec<Process> {
    fn from(it: Processes) -> Self {
        it.all
    }
}

impl FromIterator<Process> for Processes {
    fn from_iter<I: IntoIterator<Item = Process>>(all: I) -> Self {
        let mut made = Self::default();
        made.extend(all);
        made
    }
}

impl Extend<Process> for Processes {
    fn extend<I: IntoIterator<Item = Process>>(&mut self, all: I) {
        all.into_iter().for_each(|it| self.push(it));
    }
}

impl IntoIterator for Processes {
    type Item = Process;
    type IntoIter = std::vec::IntoIter<Process>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.into_iter()
    }
}

impl<'a> IntoIterator for &'a Processes {
    type Item = &'a Process;
    type IntoIter = std::slice::Iter<'a, Process>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(gpu: &str, pid: u32, name: Option<&str>) -> Process {
        Process {
            gpu: GpuId::new(gpu),
            process: ProcessKey { pid, started: None },
            name: name.map(str::to_owned),
            tenant: None,
        }
    }

    #[test]
    fn a_description_is_completed_by_later_ones_that_agree_and_by_no_other() {
        let whose = |name: Option<&str>, tenant: &str| Process {
            tenant: Some(TenantId::new(tenant)),
            ..described("a", 7, name)
        };
        let mut made = Processes::default();
        for it in [described("a", 7, None), described("a", 7, Some("x")), whose(None, "t")] {
            made.push(it);
        }
        assert_eq!(&*made, [whose(Some("x"), "t")]);
        assert_eq!(made.of_tenant(&GpuId::new("a"), &TenantId::new("t")).count(), 1);
        made.push(described("a", 7, None));
        made.push(described("a", 7, Some("y")));
        made.push(whose(None, "u"));
        assert_eq!(&*made, [whose(Some("x"), "t"), whose(Some("y"), "u")]);
    }

    #[test]
    fn a_process_on_two_gpus_is_two_and_the_first_description_leads() {
        let all = [
            described("a", 7, Some("first")),
            described("b", 7, None),
            described("a", 7, Some("second")),
            described("a", 7, Some("first")),
        ];
        let mut made: Processes = all.clone().into_iter().collect();
        assert_eq!(&*made, &all[..3]);
        let key = ProcessKey { pid: 7, started: None };
        assert_eq!(made.of(&GpuId::new("a"), key), Some(&all[0]));
        assert_eq!(made.of(&GpuId::new("c"), key), None);
        made.assign(&GpuId::new("b"), key, TenantId::new("t"));
        made.assign(&GpuId::new("c"), key, TenantId::new("t"));
        let whose = |gpu| made.of(&GpuId::new(gpu), key).and_then(|it| it.tenant.clone());
        assert_eq!(
            ["a", "b", "c"].map(whose),
            [None, Some(TenantId::new("t")), Some(TenantId::new("t"))]
        );
        let theirs = |gpu| made.of_tenant(&GpuId::new(gpu), &TenantId::new("t")).count();
        assert_eq!(["a", "b", "c"].map(theirs), [0, 1, 1]);
        made.assign(&GpuId::new("b"), key, TenantId::new("u"));
        let of = |name| made.of_tenant(&GpuId::new("b"), &TenantId::new(name)).count();
        assert_eq!(["t", "u"].map(of), [0, 1]);
        let text = serde_json::to_string(&made).unwrap();
        assert!(text.starts_with("[{\"gpu\":\"a\""), "{text}");
        assert_eq!(serde_json::from_str::<Processes>(&text).unwrap(), made);
    }
}
