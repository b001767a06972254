//! Who on a device has series of memory: one account for each tenant, or process of none.

use crate::analysis::memory_ledger::MOST_MEMBERS;
use crate::domain::ident::{GpuId, Subject, TenantId};
use crate::domain::metric::Metric;
use crate::domain::outline::Outline;
use crate::domain::recording::Recording;
use crate::domain::series::Series;
use std::collections::BTreeMap;

/// One member and its series.
pub(crate) type Account<'a> = (Subject, Vec<&'a Series>);

/// Accounts by name.
pub(crate) type Accounts<'a> = BTreeMap<String, Account<'a>>;

/// Memory series by tenant: of its processes, or its own where no process of it was seen.
pub(crate) fn accounts<'a>(
    gpu: &GpuId,
    part: &'a Recording,
    is_here: impl Fn(String) -> bool,
) -> Accounts<'a> {
    let outline = &part.outline;
    let mut accounts: Accounts<'a> = BTreeMap::new();
    let held = part.traces.iter().filter(|it| it.0.gpu() == Some(gpu));
    let held = held.filter_map(|it| Some((it.0, it.1.get(Metric::FramebufferUsed)?)));
    let held: Vec<(&Subject, &Series)> = held.filter(|it| !it.1.is_empty()).collect();
    for (subject, series) in &held {
        let Subject::Process { process, .. } = subject else { continue };
        let tenant = outline.processes.of(gpu, *process).and_then(|it| it.tenant.clone());
        let owner = match tenant {
            Some(tenant) => Subject::Tenant { gpu: Some(gpu.clone()), tenant },
            None => (*subject).clone(),
        };
        let account = accounts.entry(outline.label(&owner)).or_insert((owner, Vec::new()));
        account.1.push(series);
    }
    for (subject, series) in held {
        if matches!(subject, Subject::Tenant { .. }) {
            accounts
                .entry(outline.label(subject))
                .or_insert_with(|| (subject.clone(), vec![series]));
        }
    }
    accounts.retain(|label, _| is_here(label.clone()));
    accounts
}

/// Tenants of an instance, by name.
pub(crate) fn tenants_of(space: &Subject, outline: &Outline) -> Vec<String> {
    let Subject::MigInstance { instance } = space else { return Vec::new() };
    let own = outline.mig_instances.iter().filter(|it| it.instance == *instance);
    own.flat_map(|it| it.tenants.iter().map(|it| it.as_str().to_owned())).collect()
}

/// The accounts with the highest samples, and all others as one.
pub(crate) fn largest<'a>(accounts: Accounts<'a>, space: &Subject) -> Accounts<'a> {
    if accounts.len() <= MOST_MEMBERS {
        return accounts;
    }
    let peak = |all: &[&Series]| all.iter().filter_map(|it| it.highest()).fold(0.0, f64::max);
    let mut ranked: Vec<(f64, String, Account<'a>)> =
        accounts.into_iter().map(|(label, account)| (peak(&account.1), label, account)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let rest = ranked.split_off(MOST_MEMBERS - 1);
    let (label, subject) = others(rest.len(), space);
    let series = rest.into_iter().flat_map(|it| it.2.1).collect();
    let kept = ranked.into_iter().map(|it| (it.1, it.2));
    kept.chain([(label, (subject, series))]).collect()
}

/// What so many small members are called together.
pub(crate) fn others(count: usize, space: &Subject) -> (String, Subject) {
    let label = format!("{count} others");
    let tenant = TenantId::new(label.clone());
    (label, Subject::Tenant { gpu: space.gpu().cloned(), tenant })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Timestamp;
    use std::sync::Arc;

    #[test]
    fn the_largest_stay_apart_and_no_series_of_the_others_is_lost() {
        let times = Arc::new(vec![Timestamp::from_micros(0)]);
        let held = |bytes: usize| Series::new(Arc::clone(&times), vec![bytes as f64]).unwrap();
        let all: Vec<Series> = (0..40).map(held).collect();
        let space = Subject::device(&GpuId::from_index(0));
        let account = |(place, it)| (format!("t{place:02}"), (space.clone(), vec![it]));
        let accounts: Accounts<'_> = all.iter().enumerate().map(account).collect();
        let kept = largest(accounts, &space);
        assert_eq!(kept.len(), MOST_MEMBERS);
        assert!(kept.contains_key("t17") && !kept.contains_key("t16"), "{:?}", kept.keys());
        let rest = &kept["17 others"].1;
        assert_eq!(rest.iter().filter_map(|it| it.highest()).fold(0.0, f64::max), 16.0);
        assert_eq!(rest.len(), 17);
    }
}
