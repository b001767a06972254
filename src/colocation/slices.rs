//! MIG instances that can stand beside each other, and the best of them for given tenants.

use crate::colocation::demand::Demand;
use crate::colocation::phases::Budget;
use crate::colocation::share::{Mechanism, Slice};
use crate::colocation::whatif::{Options, Seat, predict};
use crate::domain::mig_geometry::MigBoard;
use crate::domain::mig_geometry::MigProfile;

/// Profiles of the boards with seven compute slices by their short names; 1g with double memory is left out.
///
/// A test holds them to the table of `domain::mig_geometry`, which has its sources.
pub const PROFILES: [(&str, Slice); 5] = [
    ("1g", Slice { compute_slices: 1, memory_slices: 1 }),
    ("2g", Slice { compute_slices: 2, memory_slices: 2 }),
    ("3g", Slice { compute_slices: 3, memory_slices: 4 }),
    ("4g", Slice { compute_slices: 4, memory_slices: 4 }),
    ("7g", Slice { compute_slices: 7, memory_slices: 8 }),
];
/// Compute slices of a GPU.
pub const COMPUTE_SLICES: u32 = 7;
/// Memory slices of a GPU.
pub const MEMORY_SLICES: u32 = 8;

/// Bytes of a MiB.
const MIB: f64 = 1_048_576.0;
/// Events to replay for each slice that a tenant might get.
const CHOICE_EVENTS: u64 = 40_000;

/// Short name of a slice.
pub fn name_of(slice: Slice) -> Option<&'static str> {
    PROFILES.iter().find(|it| it.1 == slice).map(|it| it.0)
}

/// Whether these instances can stand beside each other on one GPU.
///
/// For [`PROFILES`] the sums decide: whatever they allow has a placement, which a test shows for every set.
pub fn fit_together(slices: &[Slice]) -> bool {
    slices.iter().map(|it| it.compute_slices).sum::<u32>() <= COMPUTE_SLICES
        && slices.iter().map(|it| it.memory_slices).sum::<u32>() <= MEMORY_SLICES
}

/// Memory of an instance, bytes: as the board has it, else eighths of the whole; `None` where neither is known.
pub fn memory_bytes(
    slice: Slice,
    board: Option<&MigBoard>,
    capacity_bytes: Option<f64>,
) -> Option<f64> {
    let is_it = |it: &&MigProfile| {
        let sizes = (it.compute_slices, it.memory_slices);
        it.is_plain() && sizes == (slice.compute_slices, slice.memory_slices)
    };
    let known = board.and_then(|it| it.profiles.iter().find(is_it)?.memory_mib);
    let eighths = capacity_bytes.map(|it| it * slice.bandwidth());
    known.map(|it| it as f64 * MIB).or(eighths)
}

/// Whether the memory of a tenant fits into an instance with so much; what is not known fits.
pub fn holds(demand: &Demand, memory_bytes: Option<f64>) -> bool {
    demand.memory_bytes.zip(memory_bytes).is_none_or(|(need, have)| need <= have)
}

/// The instances, one for each tenant, with the lowest worst p99 slowdown; those that were named stay.
///
/// `memory_bytes` is what an instance has. Of equally good ones that with the lower sum. The power cap is left out of the choice. `None` when no set of instances holds them all.
pub fn best_split(
    demands: &[Demand],
    named: &[Option<Slice>],
    memory_bytes: &dyn Fn(Slice) -> Option<f64>,
    options: &Options,
) -> Option<Vec<Slice>> {
    if demands.len() > COMPUTE_SLICES as usize {
        return None;
    }
    let budget = Budget { events: CHOICE_EVENTS, ..options.budget };
    let alone = Options { power: None, budget, ..*options };
    let choices: Vec<Vec<(Slice, f64)>> = demands
        .iter()
        .zip(named)
        .map(|(demand, named)| {
            let all = PROFILES.iter().map(|it| it.1);
            let open = all.filter(|it| named.is_none_or(|named| named == *it));
            open.filter(|it| named.is_some() || holds(demand, memory_bytes(*it)))
                .map(|slice| (slice, cost(demand, slice, &alone)))
                .collect()
        })
        .collect();
    let mut best: Option<(f64, f64, Vec<Slice>)> = None;
    search(&choices, &mut Vec::new(), (1.0, 0.0), &mut best);
    best.map(|it| it.2)
}

/// Worst p99 of a tenant in a slice; a refusal counts as worse than any number.
fn cost(demand: &Demand, slice: Slice, options: &Options) -> f64 {
    let seat = Seat { slice: Some(slice), ..Seat::of(demand) };
    let found = predict(&[seat], Mechanism::Mig, options);
    let slowdown = found.tenants.first().and_then(|it| it.slowdown);
    slowdown.map_or(1e6, |it| it.p99.expected)
}

/// Goes through every set that fits; `so_far` is the worst slowdown and the sum of all.
fn search(
    choices: &[Vec<(Slice, f64)>],
    chosen: &mut Vec<Slice>,
    so_far: (f64, f64),
    best: &mut Option<(f64, f64, Vec<Slice>)>,
) {
    let Some(here) = choices.get(chosen.len()) else {
        let is_better = best.as_ref().is_none_or(|it| so_far < (it.0, it.1));
        if is_better {
            *best = Some((so_far.0, so_far.1, chosen.clone()));
        }
        return;
    };
    for (slice, cost) in here {
        chosen.push(*slice);
        if fit_together(chosen) {
            search(choices, chosen, (so_far.0.max(*cost), so_far.1 + cost), best);
        }
        chosen.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colocation::demand::Spread;
    use crate::domain::mig_geometry::BOARDS;
    use crate::domain::mig_geometry::Room;

    fn profile(name: &str) -> Slice {
        PROFILES.iter().find(|it| it.0 == name).unwrap().1
    }

    #[test]
    fn two_halves_fit_and_three_do_not() {
        let three = profile("3g");
        assert!(fit_together(&[three, three]) && !fit_together(&[three, three, profile("1g")]));
        assert!(fit_together(&[profile("4g"), three]) && !fit_together(&[profile("4g"); 2]));
        assert_eq!(name_of(three), Some("3g"));
    }

    #[test]
    fn profiles_and_what_fits_are_those_of_every_board_with_seven_slices() {
        for board in BOARDS.iter().filter(|it| it.compute_slices == COMPUTE_SLICES) {
            assert_eq!(board.memory_slices, MEMORY_SLICES, "{}", board.name);
            let index = |(name, slice): (&str, Slice)| {
                let is_it = |it: &MigProfile| {
                    let sizes = (it.compute_slices, it.memory_slices);
                    it.is_plain() && sizes == (slice.compute_slices, slice.memory_slices)
                };
                let at = board.profiles.iter().position(is_it).unwrap();
                assert_eq!(board.profiles[at].short_name(), name);
                at
            };
            let indices = PROFILES.map(index);
            let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
            let mut feasible = 0;
            while let Some(set) = sets.pop() {
                let slices: Vec<Slice> = set.iter().map(|it| PROFILES[*it].1).collect();
                let placed: Vec<usize> = set.iter().rev().map(|it| indices[*it]).collect();
                let fits = Room::empty(board).has_room_for(&placed);
                assert_eq!(fit_together(&slices), fits, "{} {set:?}", board.name);
                if fits {
                    feasible += 1;
                    let from = set.last().copied().unwrap_or(0);
                    sets.extend((from..5).map(|it| [set.as_slice(), &[it]].concat()));
                }
            }
            assert_eq!(feasible, 38, "{}: 37 and the empty one", board.name);
        }
    }

    #[test]
    fn who_needs_more_gets_more_and_a_named_slice_stays() {
        let wide =
            Demand::bursts("wide", 0.3, (0.05, Spread::Fixed), 100.0).unwrap().wide(0.9, 0.0);
        let thin =
            Demand::bursts("thin", 0.3, (0.05, Spread::Fixed), 100.0).unwrap().wide(0.2, 0.0);
        let both = [wide, thin];
        let split =
            |named: &[Option<Slice>]| best_split(&both, named, &|_| None, &Options::default());
        assert_eq!(split(&[None, None]).unwrap()[0], profile("4g"));
        assert_eq!(split(&[Some(profile("2g")), None]).unwrap()[0], profile("2g"));
        assert_eq!(split(&[Some(profile("7g")), None]), None);
    }

    #[test]
    fn who_was_recorded_in_an_instance_keeps_its_speed_in_such_a_one() {
        let bursts =
            || Demand::bursts("half", 0.6, (0.5, Spread::Fixed), 200.0).unwrap().wide(1.0, 0.4);
        let half = profile("3g");
        let options = Options::default();
        assert!(cost(&bursts(), half, &options) > 1.5, "the whole GPU was its own");
        let inside = cost(&bursts().inside(half), half, &options);
        assert!(inside < 1.1, "{inside}");
    }

    #[test]
    fn a_tenant_that_needs_more_memory_than_a_slice_has_gets_a_larger_one() {
        let mut big =
            Demand::bursts("big", 0.3, (0.05, Spread::Fixed), 100.0).unwrap().wide(0.1, 0.0);
        big.memory_bytes = Some(30e9);
        let eighths = |it: Slice| memory_bytes(it, None, Some(80e9));
        let split = best_split(&[big], &[None], &eighths, &Options::default()).unwrap();
        assert!(split[0].memory_slices >= 4, "{split:?}");
    }

    #[test]
    fn an_instance_has_the_memory_of_its_board_and_not_an_eighth_of_it() {
        let h100 = BOARDS.iter().find(|it| it.name == "H100-SXM5-80GB").unwrap();
        let whole = Some(81_559.0 * MIB);
        let of = |board| memory_bytes(profile("1g"), board, whole).map(|it| (it / MIB).round());
        assert_eq!((of(Some(h100)), of(None)), (Some(9_984.0), Some(10_195.0)));
    }
}
