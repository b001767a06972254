//! Random fleets against brute force, laws that hold for every fleet, and a large one.

use super::numbers::Numbers;
use super::*;

/// A fleet of which every cost is a number in a table.
struct Case {
    tenants: Vec<Tenant>,
    most_in_group: usize,
    pairs: Vec<Vec<f64>>,
}

/// What is scarce in a fleet.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Scarce {
    Memory,
    Patience,
    Trust,
    All,
}

const SCARCE: [Scarce; 4] = [Scarce::Memory, Scarce::Patience, Scarce::Trust, Scarce::All];

impl Case {
    /// Devices of 80 GB; aggressors and victims differ, so that costs have structure and noise.
    fn random(len: usize, scarce: Scarce, seed: u64) -> Self {
        let mut numbers = Numbers::new(seed);
        let mut unit = move || numbers.below(1_000_000) as f64 / 1e6;
        let is = |it: Scarce| scarce == it || scarce == Scarce::All;
        let tenants = (0..len)
            .map(|_| Tenant {
                peak_bytes: if is(Scarce::Memory) {
                    2e9 + 48e9 * unit()
                } else {
                    1e9 + 15e9 * unit()
                },
                most_cost: if is(Scarce::Patience) { 0.05 + 0.5 * unit() } else { 4.0 },
                realm: if is(Scarce::Trust) { (unit() * 3.0) as u32 } else { 0 },
            })
            .collect();
        let hurts: Vec<f64> = (0..len).map(|_| unit().powi(2)).collect();
        let mut pairs = vec![vec![0.0; len]; len];
        for one in 0..len {
            for other in one + 1..len {
                let cost = 0.4 * (hurts[one] + hurts[other]) * (0.5 + unit());
                let is_forbidden = is(Scarce::Trust) && unit() < 0.15;
                pairs[one][other] = if is_forbidden { f64::INFINITY } else { cost };
                pairs[other][one] = pairs[one][other];
            }
        }
        Self { tenants, most_in_group: 2 + (seed % 4) as usize, pairs }
    }

    fn solve(&self, effort: &Effort) -> Grouping {
        self.with(|fleet| group_with(fleet, effort))
    }

    fn with<T>(&self, use_it: impl FnOnce(&Fleet<'_>) -> T) -> T {
        use_it(&Fleet {
            tenants: &self.tenants,
            most_in_group: self.most_in_group,
            capacity_bytes: 80e9,
            pair_cost: &|one, other| self.pairs[one][other],
            group_peak_bytes: None,
            group_cost: None,
        })
    }

    /// Cost of a group, written out by its definition.
    fn cost(&self, group: &[usize]) -> Option<f64> {
        let mut cost = 0.0;
        for one in group {
            let others = group.iter().filter(|it| *it != one);
            let borne: f64 = others.clone().map(|it| self.pairs[*one][*it]).sum();
            let is_apart =
                others.clone().any(|it| self.tenants[*it].realm != self.tenants[*one].realm);
            if is_apart || borne > self.tenants[*one].most_cost {
                return None;
            }
            cost += borne / 2.0;
        }
        let peak: f64 = group.iter().map(|it| self.tenants[*it].peak_bytes).sum();
        (peak <= 80e9 && group.len() <= self.most_in_group).then_some(cost)
    }

    /// Fewest devices and least cost, by trying all groupings: each tenant joins a group or opens one.
    fn brute_force(&self) -> (usize, f64) {
        let mut best = (usize::MAX, f64::INFINITY);
        self.go_on(0, &mut Vec::new(), &mut best);
        best
    }

    fn go_on(&self, tenant: usize, groups: &mut Vec<Vec<usize>>, best: &mut (usize, f64)) {
        if groups.len() > best.0 {
            return;
        }
        if tenant == self.tenants.len() {
            let cost = groups.iter().map(|it| self.cost(it).unwrap()).sum();
            if (groups.len(), cost) < *best {
                *best = (groups.len(), cost);
            }
            return;
        }
        for at in 0..groups.len() {
            groups[at].push(tenant);
            if self.cost(&groups[at]).is_some() {
                self.go_on(tenant + 1, groups, best);
            }
            groups[at].pop();
        }
        groups.push(vec![tenant]);
        self.go_on(tenant + 1, groups, best);
        groups.pop();
    }

    /// That every tenant is in one group that may be, and the bounds are below what was found.
    fn assert_sound(&self, found: &Grouping) {
        let mut all: Vec<usize> = found.groups.concat();
        all.extend(&found.unplaceable);
        all.sort_unstable();
        assert_eq!(all, (0..self.tenants.len()).collect::<Vec<_>>());
        let cost: f64 = found.groups.iter().map(|it| self.cost(it).unwrap()).sum();
        assert!((cost - found.cost).abs() <= 1e-9 * (1.0 + cost));
        assert!(found.devices_at_least <= found.groups.len());
        assert!(found.cost_at_least.is_none_or(|it| it <= found.cost + 1e-9));
    }
}

/// Without the exact way, and with windows that hold a part of a small fleet only.
const HEURISTIC: Effort = Effort {
    exact_up_to: 0,
    window: 7,
    all_pairs_up_to: 1500,
    asks_all_pairs_for_bound: false,
    rounds: 12,
};

#[test]
fn small_fleets_get_the_best_groups_and_the_heuristic_comes_within_two_percent() {
    let (mut devices, mut least_devices, mut equal) = (0, 0, 0);
    for seed in 0..200_u64 {
        let case = Case::random(4 + (seed % 9) as usize, SCARCE[(seed / 9 % 4) as usize], seed);
        let best = case.brute_force();
        let exact = case.solve(&Effort::default());
        case.assert_sound(&exact);
        assert!(exact.is_exact);
        assert_eq!((exact.groups.len(), exact.devices_at_least), (best.0, best.0), "seed {seed}");
        assert!(
            (exact.cost - best.1).abs() <= 1e-9 * (1.0 + best.1),
            "seed {seed}: {exact:?} {best:?}"
        );
        let quick = case.solve(&HEURISTIC);
        case.assert_sound(&quick);
        assert!(!quick.is_exact);
        assert!(quick.devices_at_least <= best.0, "seed {seed}: a bound above the truth");
        assert_eq!(quick.groups.len(), best.0, "seed {seed}");
        assert!(quick.cost <= best.1 * 1.02 + 1e-9, "seed {seed}: {} {}", quick.cost, best.1);
        assert!(quick.cost_at_least.is_none_or(|it| it <= best.1 + 1e-9), "seed {seed}");
        devices += quick.groups.len();
        least_devices += quick.devices_at_least;
        equal += u32::from(quick.cost <= best.1 + 1e-9);
    }
    println!("heuristic: {equal} of 200 are the best; {devices} devices, bounds {least_devices}");
}

#[test]
fn the_same_fleet_gets_the_same_groups_again() {
    let case = Case::random(120, Scarce::All, 5);
    assert_eq!(case.solve(&Effort::default()), case.solve(&Effort::default()));
}

#[test]
fn larger_fleets_are_sound_and_near_their_bound() {
    for scarce in SCARCE {
        let case = Case::random(240, scarce, 9);
        let found = case.solve(&Effort::default());
        case.assert_sound(&found);
        println!(
            "{scarce:?}: {} devices, at least {}, cost {:.3}, at least {:?}",
            found.groups.len(),
            found.devices_at_least,
            found.cost,
            found.cost_at_least
        );
        let most = match scarce {
            Scarce::Memory | Scarce::Trust => 0.03,
            Scarce::Patience | Scarce::All => 0.15,
        };
        assert!(found.device_gap() <= most, "{scarce:?} {}", found.device_gap());
    }
}

#[test]
fn two_who_hurt_each_other_are_kept_apart_and_cheap_company_is_chosen() {
    let tenant = Tenant { peak_bytes: 10e9, most_cost: 1.0, realm: 0 };
    let cost = |one: usize, other: usize| match (one, other) {
        (0, 1) => f64::INFINITY,
        (0, 2) | (1, 3) => 0.1,
        _ => 0.6,
    };
    let fleet = Fleet {
        tenants: &[tenant; 4],
        most_in_group: 2,
        capacity_bytes: 80e9,
        pair_cost: &cost,
        group_peak_bytes: None,
        group_cost: None,
    };
    let found = group(&fleet);
    assert_eq!(found.groups, [vec![0, 2], vec![1, 3]]);
    assert!((found.cost - 0.2).abs() < 1e-12);
}

#[test]
fn realms_never_mix_and_whoever_fits_nowhere_is_named() {
    let tenant = |peak_bytes, realm| Tenant { peak_bytes, most_cost: f64::INFINITY, realm };
    let tenants =
        [tenant(1e9, 0), tenant(1e9, 1), tenant(90e9, 0), tenant(1e9, 0), tenant(f64::NAN, 0)];
    let fleet = Fleet {
        tenants: &tenants,
        most_in_group: 48,
        capacity_bytes: 80e9,
        pair_cost: &|_, _| 0.0,
        group_peak_bytes: None,
        group_cost: None,
    };
    let found = group(&fleet);
    assert_eq!(found.groups, [vec![0, 3], vec![1]]);
    assert_eq!(found.unplaceable, [2, 4]);
    let none = Fleet { tenants: &[], ..fleet };
    assert_eq!((group(&none).groups.len(), group(&none).device_gap()), (0, 0.0));
}

#[test]
fn peaks_that_do_not_meet_share_a_device_that_their_sum_would_not_fit() {
    let tenants = [Tenant { peak_bytes: 50e9, most_cost: f64::INFINITY, realm: 0 }; 4];
    let odd_and_even = |group: &[usize]| {
        let odd = group.iter().filter(|it| *it % 2 == 1).count();
        50e9 * odd.max(group.len() - odd) as f64
    };
    let fleet = Fleet {
        tenants: &tenants,
        most_in_group: 4,
        capacity_bytes: 80e9,
        pair_cost: &|_, _| 0.1,
        group_peak_bytes: Some(&odd_and_even),
        group_cost: None,
    };
    assert_eq!(group(&fleet).groups.len(), 2);
    assert_eq!(group_with(&fleet, &HEURISTIC).groups.len(), 2);
    let summed = Fleet { group_peak_bytes: None, ..fleet };
    assert_eq!(group(&summed).groups.len(), 4);
}

#[test]
fn a_cost_of_groups_that_is_no_sum_is_kept_to() {
    let case = Case::random(12, Scarce::Patience, 77);
    // The worst pair counts, and three of a kind are forbidden.
    let worst = |group: &[usize]| {
        let pairs = group.iter().flat_map(|one| group.iter().map(move |other| (*one, *other)));
        let costs = pairs.filter(|it| it.0 < it.1).map(|it| case.pairs[it.0][it.1]);
        (group.len() < 3 || group.iter().any(|it| it % 2 == 0)).then(|| costs.fold(0.0, f64::max))
    };
    let (exact, quick) = case.with(|fleet| {
        let fleet = Fleet { group_cost: Some(&worst), most_in_group: 4, ..fleet.clone() };
        (group(&fleet), group_with(&fleet, &HEURISTIC))
    });
    assert_eq!(exact.groups.len(), quick.groups.len());
    assert!(quick.cost <= exact.cost * 1.02 + 1e-9, "{} {}", quick.cost, exact.cost);
    for group in exact.groups.iter().chain(&quick.groups) {
        assert!(worst(group).is_some(), "{group:?}");
    }
}

#[test]
fn many_small_tenants_fill_large_groups() {
    let tenants = [Tenant { peak_bytes: 1e9, most_cost: 1.0, realm: 0 }; 200];
    let fleet = Fleet {
        tenants: &tenants,
        most_in_group: 48,
        capacity_bytes: 40e9,
        pair_cost: &|_, _| 0.01,
        group_peak_bytes: None,
        group_cost: None,
    };
    let found = group(&fleet);
    assert_eq!((found.groups.len(), found.devices_at_least), (5, 5));
}

#[test]
#[ignore = "takes as long as it takes: prints how long ten thousand tenants need"]
fn ten_thousand_tenants_are_grouped() {
    let mut numbers = Numbers::new(1);
    let mut unit = move || numbers.below(1_000_000) as f64 / 1e6;
    let tenants: Vec<Tenant> = (0..10_000)
        .map(|_| Tenant {
            peak_bytes: 2e9 + 40e9 * unit().powi(2),
            most_cost: 0.1 + unit(),
            realm: 0,
        })
        .collect();
    let hurts: Vec<f64> = tenants.iter().map(|_| unit().powi(3)).collect();
    let asked = std::cell::Cell::new(0_u64);
    let cost = |one: usize, other: usize| {
        asked.set(asked.get() + 1);
        let noise = (one * 7_919 + other * 104_729) % 1000;
        0.3 * (hurts[one] + hurts[other]) * (0.5 + noise as f64 / 1000.0)
    };
    let fleet = Fleet {
        tenants: &tenants,
        most_in_group: 8,
        capacity_bytes: 80e9,
        pair_cost: &cost,
        group_peak_bytes: None,
        group_cost: None,
    };
    let begin = std::time::Instant::now();
    let found = group(&fleet);
    println!(
        "10000 tenants: {:.1} s, {} devices, at least {}, cost {:.1}, {} pairs asked for",
        begin.elapsed().as_secs_f64(),
        found.groups.len(),
        found.devices_at_least,
        found.cost,
        asked.get()
    );
    assert!(begin.elapsed().as_secs() < 60);
}

#[test]
fn a_fleet_that_is_too_large_for_all_pairs_is_grouped_nearly_as_well() {
    let case = Case::random(240, Scarce::All, 9);
    let usual = case.solve(&Effort::default());
    let few = Effort { all_pairs_up_to: 20, ..Effort::default() };
    let sampled = case.solve(&few);
    case.assert_sound(&sampled);
    assert_eq!(sampled.cost_at_least, None, "not every pair was asked for");
    assert!(sampled.groups.len() as f64 <= 1.06 * usual.groups.len() as f64);
    let asking = case.solve(&Effort { asks_all_pairs_for_bound: true, ..few });
    assert!(asking.devices_at_least >= sampled.devices_at_least);
    assert_eq!(asking.groups, sampled.groups);
}
