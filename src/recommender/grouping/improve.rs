//! Better groups: some of them are taken apart at a time and put together in the best way there is for them.
//!
//! First with the aim of giving groups up, then with that of lower cost. Which groups are taken together follows a list of
//! cheap companions for each tenant, and chance from a fixed seed.

use crate::recommender::grouping::Effort;
use crate::recommender::grouping::build::{Pick, build, weights};
use crate::recommender::grouping::numbers::Numbers;
use crate::recommender::grouping::partition::{Aim, partition};
use crate::recommender::grouping::view::View;

/// Tenants up to which all beginnings are improved, and the groups disturbed again and again.
const SMALL: usize = 40;
/// Beginnings of each kind, and how many of all are improved, in a fleet that is small, middling, or too large for all pairs.
const BEGINNINGS: [(u64, usize); 3] = [(2, 6), (4, 2), (1, 1)];
/// Regroupings without success after which a small fleet is left alone.
const PATIENCE: usize = 24;
/// Companions of a tenant that are kept in its list, of how many that are looked at.
const COMPANIONS: (usize, usize) = (6, 32);
/// Groups that are taken apart together at most.
const GROUPS_AT_A_TIME: usize = 5;
/// Least window: with fewer items nothing can change places.
const LEAST_WINDOW: usize = 4;
/// Disturbances in a row of a fleet that small after which nothing better was found.
const SHAKES: usize = 8;
/// Share of the cost that counts as an improvement.
const GAIN: f64 = 1e-9;

/// The best groups that were found; `least` devices are needed for certain.
pub(super) fn best(view: &View<'_>, effort: &Effort, least: usize) -> Vec<Vec<usize>> {
    let weights = weights(view);
    let companions = companions(view);
    let picks: &[Pick] = match view.has_all_pairs() {
        true => &[Pick::Thrifty, Pick::Cheapest, Pick::Heaviest],
        false => &[Pick::Thrifty, Pick::Cheapest],
    };
    let (of_each, improved) = match (view.len() <= SMALL, view.has_all_pairs()) {
        (true, _) => BEGINNINGS[0],
        (false, true) => BEGINNINGS[1],
        (false, false) => BEGINNINGS[2],
    };
    let mut beginnings: Vec<Vec<Vec<usize>>> = (0..of_each)
        .flat_map(|seed| picks.iter().map(move |it| (*it, seed)))
        .map(|(pick, seed)| build(view, &weights, pick, seed))
        .collect();
    beginnings.sort_by_key(Vec::len);
    let mut best: Option<(usize, f64, Vec<Vec<usize>>)> = None;
    for (seed, groups) in (7_u64..).zip(beginnings.into_iter().take(improved)) {
        let mut search = Search {
            view,
            weights: &weights,
            companions: &companions,
            window: effort.window.clamp(LEAST_WINDOW, 14),
            owner: vec![0; view.len()],
            numbers: Numbers::new(seed),
            groups,
        };
        search.note_owners();
        search.run(effort, least);
        if view.len() <= SMALL {
            search.shake(effort);
        }
        let found = search.worth();
        if best.as_ref().is_none_or(|it| found < (it.0, it.1)) {
            best = Some((found.0, found.1, search.groups));
        }
    }
    best.map(|it| it.2).unwrap_or_default()
}

/// Cheap companions of each tenant, cheapest first.
fn companions(view: &View<'_>) -> Vec<Vec<usize>> {
    let (kept, looked_at) = COMPANIONS;
    let mut numbers = Numbers::new(3);
    let of = |one: usize| {
        let all = view.has_all_pairs() || view.len() <= looked_at;
        let others: Vec<usize> = match all {
            true => (0..view.len()).collect(),
            false => (0..looked_at).map(|_| numbers.below(view.len())).collect(),
        };
        let costs = others.into_iter().filter(|it| *it != one).map(|it| (view.pair(one, it), it));
        let mut costs: Vec<(f64, usize)> = costs.filter(|it| it.0.is_finite()).collect();
        costs.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        costs.dedup();
        costs.into_iter().take(kept).map(|it| it.1).collect()
    };
    (0..view.len()).map(of).collect()
}

struct Search<'a> {
    view: &'a View<'a>,
    weights: &'a [f64],
    companions: &'a [Vec<usize>],
    window: usize,
    groups: Vec<Vec<usize>>,
    /// Group of each tenant.
    owner: Vec<usize>,
    numbers: Numbers,
}

impl Search<'_> {
    fn run(&mut self, effort: &Effort, least: usize) {
        let (view, weights) = (self.view, self.weights);
        for _ in 0..2 {
            let before = self.groups.len();
            if before > least {
                self.pass(effort.rounds, Aim::Packed(weights), least);
            }
            self.pass(effort.rounds, Aim::Cost, 0);
            if self.groups.len() == before || view.len() > SMALL {
                break;
            }
        }
    }

    /// Devices and cost.
    fn worth(&self) -> (usize, f64) {
        (self.groups.len(), self.value(&self.groups, Aim::Cost))
    }

    /// Spoils the groups here and there and improves them again, to get away from where no single step helps.
    fn shake(&mut self, effort: &Effort) {
        let mut in_vain = 0;
        while in_vain < SHAKES && self.groups.len() > 1 {
            let (before, groups) = (self.worth(), self.groups.clone());
            let chance: Vec<f64> =
                (0..self.view.len()).map(|_| self.numbers.below(1000) as f64).collect();
            let group = self.numbers.below(self.groups.len());
            let (chosen, items) = self.mixed(group);
            self.regroup(&chosen, &items, Aim::Packed(&chance));
            self.close_gaps();
            self.pass(effort.rounds, Aim::Cost, 0);
            in_vain += 1;
            let after = self.worth();
            if after.0 < before.0 || after.1 < before.1 - GAIN * (1.0 + before.1) {
                in_vain = 0;
            } else {
                self.groups = groups;
                self.note_owners();
            }
        }
    }

    /// Takes every group apart with others some times over; ends early when nothing gets better.
    fn pass(&mut self, rounds: usize, aim: Aim<'_>, least: usize) {
        let mut in_vain = 0;
        for _ in 0..rounds.max(PATIENCE.div_ceil(self.groups.len().max(1))) {
            let goes_on = self.round(aim, least, &mut in_vain);
            self.close_gaps();
            if !goes_on {
                return;
            }
        }
    }

    /// Takes every group apart once; whether it is worth while to go on.
    fn round(&mut self, aim: Aim<'_>, least: usize, in_vain: &mut usize) -> bool {
        let mut order: Vec<usize> = (0..self.groups.len()).collect();
        self.numbers.shuffle(&mut order);
        // Light groups are the likeliest to be given up.
        order.sort_by_key(|it| self.groups[*it].len());
        let mut used = self.groups.len();
        for (turn, group) in order.into_iter().enumerate() {
            if used <= least {
                return false;
            }
            if self.groups[group].is_empty() {
                continue;
            }
            let has_many = self.groups.len() > GROUPS_AT_A_TIME;
            let (chosen, items) = match aim {
                Aim::Cost if has_many && turn % 2 == 0 => self.dissolved(group),
                _ => self.mixed(group),
            };
            match self.regroup(&chosen, &items, aim) {
                Some(given_up) => {
                    *in_vain = 0;
                    used -= given_up;
                }
                None => *in_vain += 1,
            }
            if *in_vain > PATIENCE + 2 * self.groups.len() {
                return false;
            }
        }
        true
    }

    /// The members of a group one by one, and many other groups as they are, into which they might go.
    fn dissolved(&mut self, group: usize) -> (Vec<usize>, Vec<Vec<usize>>) {
        let mut members = self.groups[group].clone();
        let mut items = Vec::new();
        if members.len() > self.window / 2 {
            self.numbers.shuffle(&mut members);
            items.push(members.split_off(self.window / 2));
        }
        items.extend(members.into_iter().map(|it| vec![it]));
        let others = self.window - items.len();
        let mut chosen = vec![group];
        for _ in 0..2 * others {
            let other = self.neighbour(group);
            if chosen.len() <= others && !chosen.contains(&other) {
                chosen.push(other);
                items.push(self.groups[other].clone());
            }
        }
        (chosen, items)
    }

    /// The members of a few groups one by one; of large groups some, and the rest of them together.
    fn mixed(&mut self, group: usize) -> (Vec<usize>, Vec<Vec<usize>>) {
        let mut chosen = vec![group];
        let mut size = self.groups[group].len();
        for _ in 0..3 * GROUPS_AT_A_TIME {
            let is_full = chosen.len() > 1 && size >= self.window;
            if is_full || chosen.len() >= GROUPS_AT_A_TIME.min(self.groups.len()) {
                break;
            }
            let from = chosen[self.numbers.below(chosen.len())];
            let other = self.neighbour(from);
            let fits = chosen.len() < 2 || size + self.groups[other].len() <= self.window;
            if fits && !chosen.contains(&other) {
                size += self.groups[other].len();
                chosen.push(other);
            }
        }
        let items = self.items(&chosen);
        (chosen, items)
    }

    /// Another group, of a cheap companion of a member or by chance; the same group where there is none.
    fn neighbour(&mut self, group: usize) -> usize {
        let member = self.groups[group][self.numbers.below(self.groups[group].len())];
        let list = &self.companions[member];
        let other = match self.numbers.below(2) {
            0 if !list.is_empty() => self.owner[list[self.numbers.below(list.len())]],
            _ => self.numbers.below(self.groups.len()),
        };
        if self.groups[other].is_empty() { group } else { other }
    }

    /// Puts the tenants of some groups together anew; how many groups that gave up, `None` where nothing is better.
    fn regroup(&mut self, chosen: &[usize], items: &[Vec<usize>], aim: Aim<'_>) -> Option<usize> {
        let found = partition(self.view, items, aim)?;
        let old: Vec<Vec<usize>> = chosen.iter().map(|it| self.groups[*it].clone()).collect();
        let given_up = old.len().checked_sub(found.len())?;
        let (before, after) = (self.value(&old, aim), self.value(&found, aim));
        if given_up == 0 && after >= before - GAIN * (1.0 + before.abs()) {
            return None;
        }
        let mut found = found.into_iter();
        for group in chosen {
            self.groups[*group] = found.next().unwrap_or_default();
            for member in &self.groups[*group] {
                self.owner[*member] = *group;
            }
        }
        Some(given_up)
    }

    fn value(&self, groups: &[Vec<usize>], aim: Aim<'_>) -> f64 {
        let of = |group: &Vec<usize>| match aim {
            Aim::Cost => self.view.check(group).unwrap_or(f64::INFINITY),
            Aim::Packed(weights) => -group.iter().map(|it| weights[*it]).sum::<f64>().powi(2),
        };
        groups.iter().map(of).sum()
    }

    /// The tenants one by one where they are few; otherwise some of each group, and the rest of it together.
    fn items(&mut self, chosen: &[usize]) -> Vec<Vec<usize>> {
        let all: usize = chosen.iter().map(|it| self.groups[*it].len()).sum();
        let single = (self.window / chosen.len()).max(2) - 1;
        let mut items = Vec::new();
        for group in chosen {
            let mut members = self.groups[*group].clone();
            if all > self.window && members.len() > single + 1 {
                self.numbers.shuffle(&mut members);
                items.push(members.split_off(single));
            }
            items.extend(members.into_iter().map(|it| vec![it]));
        }
        items
    }

    /// Drops groups that were given up.
    fn close_gaps(&mut self) {
        self.groups.retain(|it| !it.is_empty());
        self.note_owners();
    }

    fn note_owners(&mut self) {
        for (group, members) in self.groups.iter().enumerate() {
            for member in members {
                self.owner[*member] = group;
            }
        }
    }
}
