//! What each tenant held at an instant between its samples, from what the device had in use.

use crate::analysis::memory_findings::MemoryResident;
use crate::analysis::memory_ledger::Ledger;
use crate::analysis::out_of_memory::attribution::{Account, Moment};
use crate::stats::quantile::quantiles;

/// Members whose rows before and after are tried in every combination, at most.
const MOST_TRIED: usize = 12;
/// Samples of the device before the moment that tell what is nobody's, at most.
const MOST_BEFORE: usize = 6_000;

/// Makes what members held agree with what the device had in use, where it was sampled more often.
pub(crate) fn reconcile(
    ledger: &Ledger,
    residents: &[MemoryResident],
    moment: &Moment,
    noise: f64,
    accounts: &mut [Account],
    unseen: &mut Vec<String>,
) {
    let Some(most) = ledger.used_at(moment.fullest_bin).filter(|_| ledger.is_device_finer()) else {
        return;
    };
    let target = most - nobodys(ledger, moment);
    let mut rest = fitted(ledger, moment, noise, target, accounts);
    if rest < -noise {
        // Rows of spikes that were over by then: the largest growth first.
        let mut order: Vec<usize> = (0..accounts.len()).collect();
        let growth = |it: &Account| it.held - it.baseline;
        order.sort_by(|a, b| growth(&accounts[*b]).total_cmp(&growth(&accounts[*a])));
        for place in order {
            let cut = growth(&accounts[place]).min(-rest).max(0.0);
            accounts[place].held -= cut;
            rest += cut;
        }
    }
    if rest <= noise {
        return;
    }
    let takers = takers(ledger, residents, moment, rest, accounts);
    for place in &takers {
        accounts[*place].held += rest / takers.len() as f64;
    }
    unseen.push(match takers.as_slice() {
        [only] => format!(
            "the growth of `{}` was seen on the device only, between two samples of the tenants",
            ledger.members[*only].label
        ),
        _ => "growth was seen on the device only, between two samples of the tenants, and more than one may have made it".to_owned(),
    });
}

/// Gives each member its row before or its row after, whichever together come nearest to what was in use.
///
/// Returns what is left: positive where the device had more in use.
fn fitted(
    ledger: &Ledger,
    moment: &Moment,
    noise: f64,
    target: f64,
    accounts: &mut [Account],
) -> f64 {
    let options: Vec<(f64, f64)> =
        (0..accounts.len()).map(|it| rows_around(ledger, it, moment)).collect();
    let mut open: Vec<usize> =
        (0..options.len()).filter(|it| (options[*it].0 - options[*it].1).abs() > noise).collect();
    open.truncate(MOST_TRIED);
    let before: f64 = options.iter().map(|it| it.0).sum();
    let changed = |set: u32| -> f64 {
        let chosen = open.iter().enumerate().filter(|it| set & (1 << it.0) != 0);
        chosen.map(|it| options[*it.1].1 - options[*it.1].0).sum()
    };
    let miss = |set: u32| (target - before - changed(set)).abs();
    // Of combinations that fit equally well the one that changes least.
    let best = (0..1_u32 << open.len()).min_by(|a, b| {
        let steps = |it: u32| (miss(it) / noise.max(1.0)).floor();
        steps(*a).total_cmp(&steps(*b)).then(a.count_ones().cmp(&b.count_ones()))
    });
    let best = best.unwrap_or(0);
    for (place, account) in accounts.iter_mut().enumerate() {
        let is_after =
            open.iter().position(|it| *it == place).is_some_and(|it| best & (1 << it) != 0);
        account.held = if is_after { options[place].1 } else { options[place].0 };
    }
    target - before - changed(best)
}

/// What a member held in its rows before and after the fullest instant; whoever was lost has only the one before.
fn rows_around(ledger: &Ledger, place: usize, moment: &Moment) -> (f64, f64) {
    let member = &ledger.members[place];
    let at = |bin: usize| member.bytes.get(bin).copied().filter(|it| it.is_finite());
    let before = at(moment.fullest_bin).unwrap_or(0.0);
    if moment.failed == Some(place) {
        let last = at(moment.last_bin).unwrap_or(before);
        return (last, last);
    }
    let reach = (member.interval_s / ledger.step_s()).ceil() as usize;
    (before, at(moment.fullest_bin + reach).unwrap_or(before))
}

/// What is usually in use beyond what members hold: the median difference over the samples before.
fn nobodys(ledger: &Ledger, moment: &Moment) -> f64 {
    let first = moment.fullest_bin.saturating_sub(MOST_BEFORE);
    let rest: Vec<f64> = (first..moment.fullest_bin)
        .filter_map(|it| {
            Some(ledger.used.get(it).copied().filter(|it| it.is_finite())? - ledger.sum(it)?)
        })
        .collect();
    quantiles(&rest, &[0.5]).map_or(0.0, |it| it[0].max(0.0))
}

/// Who may have made growth that only the device showed.
///
/// When the lost member's memory comes free, the device falls by what it held. A fall by no more
/// than it was seen to hold leaves the growth with those who live on.
fn takers(
    ledger: &Ledger,
    residents: &[MemoryResident],
    moment: &Moment,
    rest: f64,
    accounts: &[Account],
) -> Vec<usize> {
    let used = |bin: usize| ledger.used_at(bin);
    if let (Some(failed), Some(most)) = (moment.failed, used(moment.fullest_bin)) {
        let held = accounts[failed].held;
        let reach = (4.0 * ledger.members[failed].interval_s / ledger.step_s()).ceil() as usize;
        let bins = moment.fullest_bin + 1..moment.fullest_bin + 2 + reach;
        let fall = bins.filter_map(used).map(|it| most - it).find(|it| *it >= 0.5 * held);
        if fall.is_some_and(|it| it > held + 0.5 * rest) {
            return vec![failed];
        }
    }
    let alive = |it: &usize| Some(*it) != moment.failed && accounts[*it].held > 0.0;
    let survivors: Vec<usize> = (0..accounts.len()).filter(alive).collect();
    let can = |it: &&usize| {
        let label = &ledger.members[**it].label;
        let known = residents.iter().find(|it| it.label == *label);
        known.is_some_and(|it| it.largest_rise_bytes >= 0.6 * rest)
    };
    let able: Vec<usize> = survivors.iter().filter(can).copied().collect();
    if able.is_empty() { survivors } else { able }
}
