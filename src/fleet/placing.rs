//! Which group gets which GPU: whoever can stay does, and what becomes free lies on as few hosts as possible.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A GPU to be given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot<'a> {
    /// Its place in the findings.
    pub(crate) device: usize,
    /// Its host; GPUs without one count as one host.
    pub(crate) host: Option<&'a str>,
}

/// The slot of each group; `None` for groups beyond what there is.
///
/// `homes` are the devices on which the members of each group are now. A tenant that is alone and was alone stays. Of the
/// other GPUs those of the fullest hosts are used, and of these each goes to the group that has most members on it.
pub(crate) fn placed(slots: &[Slot<'_>], homes: &[Vec<Option<usize>>]) -> Vec<Option<usize>> {
    let mut given: Vec<Option<usize>> = vec![None; homes.len()];
    let mut is_taken = vec![false; slots.len()];
    let slot_of = |device: usize| slots.iter().position(|it| it.device == device);
    for (group, members) in homes.iter().enumerate().filter(|it| it.1.len() == 1) {
        let own = members.first().copied().flatten().and_then(slot_of);
        if let Some(slot) = own.filter(|it| !is_taken[*it]) {
            is_taken[slot] = true;
            given[group] = Some(slot);
        }
    }
    let waiting: Vec<usize> = (0..homes.len()).filter(|it| given[*it].is_none()).collect();
    let used = fullest(slots, &is_taken, &waiting, homes);
    let mut pairs: Vec<(Reverse<usize>, usize, usize)> = Vec::new();
    for group in &waiting {
        for slot in &used {
            let is_here = |it: &&Option<usize>| **it == Some(slots[*slot].device);
            let overlap = homes[*group].iter().filter(is_here).count();
            if overlap > 0 {
                pairs.push((Reverse(overlap), *group, *slot));
            }
        }
    }
    pairs.sort_unstable();
    for (_, group, slot) in pairs {
        if given[group].is_none() && !is_taken[slot] {
            given[group] = Some(slot);
            is_taken[slot] = true;
        }
    }
    for group in waiting {
        if given[group].is_none()
            && let Some(slot) = used.iter().copied().find(|it| !is_taken[*it])
        {
            given[group] = Some(slot);
            is_taken[slot] = true;
        }
    }
    given
}

/// As many free slots as groups wait, on the hosts that are fullest already; of equal ones where most of the waiting are.
fn fullest(
    slots: &[Slot<'_>],
    is_taken: &[bool],
    waiting: &[usize],
    homes: &[Vec<Option<usize>>],
) -> Vec<usize> {
    let mut at_home: BTreeMap<usize, usize> = BTreeMap::new();
    for device in waiting.iter().flat_map(|it| &homes[*it]).flatten() {
        *at_home.entry(*device).or_default() += 1;
    }
    // Host by host: taken, waiting tenants, GPUs.
    let mut hosts: BTreeMap<Option<&str>, (usize, usize, usize)> = BTreeMap::new();
    for (place, slot) in slots.iter().enumerate() {
        let host = hosts.entry(slot.host).or_default();
        host.0 += usize::from(is_taken[place]);
        host.1 += at_home.get(&slot.device).copied().unwrap_or(0);
        host.2 += 1;
    }
    let mut free: Vec<usize> = (0..slots.len()).filter(|it| !is_taken[*it]).collect();
    free.sort_by_key(|it| {
        let slot = &slots[*it];
        let (taken, waits, all) = hosts.get(&slot.host).copied().unwrap_or_default();
        // A host that cannot become free anyway comes first.
        let own = at_home.get(&slot.device).copied().unwrap_or(0);
        (Reverse(taken * 1000 / all.max(1)), Reverse(waits), slot.host, Reverse(own), slot.device)
    });
    free.truncate(waiting.len());
    free
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_alone_stays_and_whole_hosts_become_free() {
        // Two hosts of four; one tenant on each GPU; the first three of host b are to be alone.
        let slots: Vec<Slot<'_>> = (0..8)
            .map(|device| Slot { device, host: Some(if device < 4 { "a" } else { "b" }) })
            .collect();
        let homes = vec![
            vec![Some(4)],
            vec![Some(5)],
            vec![Some(6)],
            vec![Some(0), Some(1), Some(2), Some(3), Some(7)],
        ];
        let found = placed(&slots, &homes);
        assert_eq!(found, [Some(4), Some(5), Some(6), Some(7)]);
    }

    #[test]
    fn more_groups_than_gpus_leave_some_without_one() {
        let slots = [Slot { device: 3, host: None }];
        assert_eq!(placed(&slots, &[vec![None, None], vec![Some(3)]]), [None, Some(0)]);
    }
}
