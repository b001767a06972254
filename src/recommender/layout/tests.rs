//! The published counts, the brute force on every board, and the worked cases of the field.

use super::*;
use crate::domain::mig_geometry::BOARDS;

fn board(name: &str) -> &'static MigBoard {
    BOARDS.iter().find(|it| it.name == name).unwrap()
}

fn h100() -> &'static MigBoard {
    board("H100-SXM5-80GB")
}

fn of(name: &str) -> usize {
    h100().profile_named(name).unwrap()
}

fn at(name: &str, start: u32) -> Instance {
    Instance { start, profile: of(name) }
}

fn h100_layout(instances: &[(&str, u32)]) -> Layout {
    Layout::of(h100(), instances.iter().map(|it| at(it.0, it.1)).collect()).unwrap()
}

/// Plain profiles; those with double memory are asked for.
fn family(board: &MigBoard, with_double: bool) -> Vec<usize> {
    let is_in = |it: &usize| {
        let profile = &board.profiles[*it];
        let is_double = profile.compute_slices == 1 && profile.memory_slices == 2;
        profile.is_plain() && (with_double || !is_double)
    };
    (0..board.profiles.len()).filter(is_in).collect()
}

/// Sets of profiles as `4g+2g+1g`, largest first.
fn texts(board: &MigBoard, sets: &[Vec<usize>]) -> Vec<String> {
    let text = |set: &Vec<usize>| {
        let short = |it: &usize| board.profiles[*it].short_name();
        let mut names: Vec<String> = set.iter().map(short).collect();
        names.sort();
        names.reverse();
        names.join("+")
    };
    sets.iter().map(text).collect()
}

/// A stream of numbers for tests, from the published constants of SplitMix64.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = self.0;
        it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((it ^ (it >> 31)) % end as u64) as usize
    }
}

#[test]
fn seven_slice_boards_take_37_sets_of_which_these_12_are_maximal() {
    let expected = [
        "7g",
        "4g+3g",
        "3g+3g",
        "4g+2g+1g",
        "4g+1g+1g+1g",
        "3g+2g+2g",
        "3g+2g+1g+1g",
        "3g+1g+1g+1g+1g",
        "2g+2g+2g+1g",
        "2g+2g+1g+1g+1g",
        "2g+1g+1g+1g+1g+1g",
        "1g+1g+1g+1g+1g+1g+1g",
    ];
    for board in BOARDS.iter().filter(|it| it.compute_slices == 7) {
        let plain = family(board, false);
        assert_eq!(feasible_sets(board, &plain).len(), 37, "{}", board.name);
        let mut maximal = texts(board, &maximal_sets(board, &plain));
        maximal.sort();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(maximal, expected, "{}", board.name);
        let all = family(board, true);
        assert_eq!(feasible_sets(board, &all).len(), 77, "{}", board.name);
        assert_eq!(maximal_sets(board, &all).len(), 28, "{}", board.name);
    }
}

#[test]
fn four_slice_boards_take_9_sets_of_which_4_are_maximal() {
    for name in ["A30", "RTX-PRO-6000-96GB"] {
        let plain = family(board(name), false);
        assert_eq!(feasible_sets(board(name), &plain).len(), 9, "{name}");
        let mut maximal = texts(board(name), &maximal_sets(board(name), &plain));
        maximal.sort();
        assert_eq!(maximal, ["1g+1g+1g+1g", "2g+1g+1g", "2g+2g", "4g"], "{name}");
    }
}

#[test]
fn every_board_agrees_with_brute_force_on_all_its_profiles() {
    for board in &BOARDS {
        let all: Vec<usize> = (0..board.profiles.len()).collect();
        let brute = brute_force::layouts(board);
        let sets: Vec<Vec<usize>> = brute.keys().cloned().collect();
        assert_eq!(feasible_sets(board, &all), sets, "{}", board.name);
        let maximal = brute_force::maximal(&brute, all.len());
        assert_eq!(maximal_sets(board, &all), maximal, "{}", board.name);
        for (set, layouts) in &brute {
            let ours: Vec<Vec<Instance>> =
                placements(board, set).into_iter().map(|it| it.instances).collect();
            assert_eq!(ours, layouts.iter().cloned().collect::<Vec<_>>(), "{} {set:?}", board.name);
            let placed = place(board, set).unwrap();
            assert!(layouts.contains(&placed.instances));
        }
    }
}

#[test]
fn a_single_small_instance_is_put_where_it_blocks_least() {
    assert_eq!(place(h100(), &[of("1g.10gb")]), Some(h100_layout(&[("1g.10gb", 6)])));
    let mixed = place(h100(), &[of("2g.20gb"), of("3g.40gb"), of("2g.20gb")]).unwrap();
    assert_eq!(mixed.text(h100()), "2g.20gb:0 + 2g.20gb:2 + 3g.40gb:4");
    assert_eq!(place(h100(), &[of("3g.40gb"), of("3g.40gb"), of("1g.10gb")]), None);
    assert_eq!(place(h100(), &[99]), None, "no such profile");
}

#[test]
fn changes_drain_as_few_as_brute_force_and_keep_what_they_can() {
    for board in &BOARDS {
        let brute = brute_force::layouts(board);
        let sets: Vec<&Vec<usize>> = brute.keys().collect();
        let mut numbers = Numbers(11);
        for _ in 0..60 {
            let from = sets[numbers.below(sets.len())];
            let layouts: Vec<&Vec<Instance>> = brute[from].iter().collect();
            let current: Vec<Standing> = layouts[numbers.below(layouts.len())]
                .iter()
                .map(|it| Standing { instance: *it, is_occupied: numbers.below(2) == 0 })
                .collect();
            let wanted = sets[numbers.below(sets.len())];
            let found = change(board, &current, wanted).unwrap();
            let gone = (found.drain.len(), found.destroy.len());
            let least = brute_force::least_destroyed(&brute, &current, wanted);
            assert_eq!(Some(gone), least, "{} {current:?} {wanted:?}", board.name);
            assert_eq!(found.layout.profiles(), *wanted);
            assert_eq!(found.moves.len() + found.without_successor.len(), found.drain.len());
            assert_eq!(found.keep.len() + found.destroy.len(), current.len());
            // The steps, done in their order, are possible and end in the layout.
            let mut room = Layout { instances: found.keep.clone() }.room(board).unwrap();
            assert!(found.create.iter().all(|it| room.put(it.profile, it.start)));
            let end = [found.keep.clone(), found.create.clone()].concat();
            assert_eq!(Layout::of(board, end), Some(found.layout));
        }
    }
}

#[test]
fn a_small_tenant_in_the_way_of_a_large_one_moves_and_the_other_stays() {
    let stands = |name, start, is_occupied| Standing { instance: at(name, start), is_occupied };
    let current =
        [stands("1g.10gb", 4, true), stands("2g.20gb", 0, true), stands("1g.10gb", 6, false)];
    let wanted = [of("3g.40gb"), of("2g.20gb"), of("1g.10gb")];
    let found = change(h100(), &current, &wanted).unwrap();
    assert_eq!(found.keep, [at("2g.20gb", 0)]);
    assert_eq!(found.destroy, [at("1g.10gb", 4), at("1g.10gb", 6)]);
    assert_eq!(found.drain, [at("1g.10gb", 4)]);
    assert_eq!(found.create[0], at("3g.40gb", 4), "largest first");
    assert_eq!(found.moves.len(), 1);
    assert_eq!(found.moves[0].to.profile, of("1g.10gb"));
    let nobody = change(h100(), &current, &[]).unwrap();
    assert_eq!(nobody.without_successor, [at("2g.20gb", 0), at("1g.10gb", 4)]);
    assert_eq!(change(h100(), &current, &[of("7g.80gb"), of("1g.10gb")]), None);
}

#[test]
fn two_threes_strand_a_compute_slice_and_seven_ones_a_memory_slice() {
    let threes = leftover(h100(), &h100_layout(&[("3g.40gb", 0), ("3g.40gb", 4)])).unwrap();
    assert_eq!((threes.stranded_compute_slices, threes.stranded_memory_slices), (1, 0));
    assert_eq!(threes.stranded_sms, Some(132 - 120));
    assert_eq!(threes.stranded_memory_mib, Some(81_152 - 2 * 40_448));
    assert_eq!((threes.largest_profile, threes.misplaced.len()), (None, 0));
    let ones: Vec<(&str, u32)> = (0..7).map(|it| ("1g.10gb", it)).collect();
    let ones = leftover(h100(), &h100_layout(&ones)).unwrap();
    assert_eq!((ones.stranded_compute_slices, ones.stranded_memory_slices), (0, 1));
    assert_eq!(ones.stranded_sms, Some(132 - 7 * 16));
    let empty = leftover(h100(), &Layout::default()).unwrap();
    assert_eq!((empty.stranded_compute_slices, empty.stranded_sms), (0, Some(0)));
    assert_eq!(empty.largest_profile, Some(of("7g.80gb")));
    assert_eq!(h100().sms_lost_to_mig(), Some(0));
    assert_eq!(board("A100-40GB").sms_lost_to_mig(), Some(10));
}

#[test]
fn room_in_the_wrong_place_is_named_with_what_stands_there() {
    let layout = h100_layout(&[("2g.20gb", 0), ("1g.10gb", 4)]);
    let found = leftover(h100(), &layout).unwrap();
    let blocked = found.misplaced.iter().find(|it| it.profile == of("3g.40gb")).unwrap();
    assert_eq!(blocked.in_the_way.len(), 1);
    assert!(fits(h100(), &[of("2g.20gb"), of("1g.10gb"), of("3g.40gb")]));
    assert_eq!(found.largest_profile.map(|it| h100().profiles[it].short_name()), Some("2g".into()));
    let whole = found.misplaced.iter().find(|it| it.profile == of("7g.80gb"));
    assert_eq!(
        whole, None,
        "nothing that could stand elsewhere keeps the whole GPU from being one"
    );
}

#[test]
fn leftovers_agree_with_brute_force_over_every_layout_of_a_board() {
    for name in ["A30", "H100-SXM5-80GB"] {
        let board = board(name);
        let brute = brute_force::layouts(board);
        let all: Vec<&Vec<Instance>> = brute.values().flatten().collect();
        let used = |it: &[Instance], what: fn(&crate::domain::mig_geometry::MigProfile) -> u64| {
            it.iter().map(|it| what(&board.profiles[it.profile])).sum::<u64>()
        };
        let mut numbers = Numbers(5);
        for _ in 0..40 {
            let layout = all[numbers.below(all.len())];
            let larger = || all.iter().filter(|it| layout.iter().all(|one| it.contains(one)));
            let most = |what| larger().map(|it| used(it, what)).max().unwrap();
            let found = leftover(board, &Layout { instances: layout.clone() }).unwrap();
            let compute = u64::from(board.compute_slices) - most(|it| u64::from(it.compute_slices));
            let memory = u64::from(board.memory_slices) - most(|it| u64::from(it.memory_slices));
            assert_eq!(u64::from(found.stranded_compute_slices), compute, "{layout:?}");
            assert_eq!(u64::from(found.stranded_memory_slices), memory, "{layout:?}");
            let whole = board.profiles[board.whole().unwrap()].memory_mib.unwrap();
            let mib = whole - most(|it| it.memory_mib.unwrap());
            assert_eq!(found.stranded_memory_mib, Some(mib), "{layout:?}");
            let is_full = larger().count() == 1;
            assert_eq!(found.largest_profile.is_none(), is_full, "{layout:?}");
        }
    }
}

#[test]
fn eighteen_gigabytes_do_not_fit_ten_and_waste_the_rest_of_forty() {
    let need = |gib: f64| Need { peak_mib: gib * 1024.0, reserve_mib: 512.0, min_sms: None };
    let found = fitting(h100(), &need(18.0));
    assert_eq!(found.smallest().map(|it| it.profile), Some(of("1g.20gb")), "double memory");
    let three = found.fits.iter().find(|it| it.profile == of("3g.40gb")).unwrap();
    assert_eq!(three.head_room_mib, 40_448.0 - 18.0 * 1024.0);
    assert_eq!(three.stranded_mib, 40_448.0 - 18.0 * 1024.0 - 512.0);
    assert!(found.fits.iter().all(|it| it.profile != of("1g.10gb")));
    let order: Vec<usize> = found.fits.iter().map(|it| it.profile).collect();
    assert_eq!(order, ["1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"].map(of));
}

#[test]
fn names_do_not_count_where_memory_is_known_and_the_unknown_is_said() {
    let h200 = board("H200-141GB");
    let need = Need { peak_mib: 17.0 * 1024.0, reserve_mib: 0.0, min_sms: None };
    let smallest = fitting(h200, &need).smallest().map(|it| it.profile);
    assert_eq!(smallest, h200.profile_named("1g.35gb"), "1g.18gb has 16 GiB");
    let wide = Need { min_sms: Some(60), ..need };
    let smallest = fitting(h200, &wide).smallest().map(|it| it.profile);
    assert_eq!(smallest, h200.profile_named("3g.71gb"));
    let h20 = board("H20-96GB");
    let found = fitting(h20, &need);
    assert_eq!((found.fits.len(), found.unknown.len()), (0, h20.profiles.len()));
    let nothing = Need { peak_mib: f64::NAN, ..need };
    assert_eq!(fitting(h200, &nothing).smallest(), None);
}

#[test]
fn assignments_cost_what_brute_force_finds() {
    for name in ["H100-SXM5-80GB", "A30", "RTX-PRO-6000-96GB"] {
        let board = board(name);
        let brute = brute_force::layouts(board);
        let mut numbers = Numbers(23);
        for round in 0..150 {
            let tenants = 1 + numbers.below(5);
            let applicants: Vec<Applicant> = (0..tenants)
                .map(|_| Applicant {
                    options: (0..board.profiles.len().min(7))
                        .filter_map(|it| {
                            // Few values, so that ties are common.
                            let cost =
                                1.0 + numbers.below(if round % 2 == 0 { 4 } else { 1000 }) as f64;
                            (numbers.below(3) > 0).then_some((it, cost))
                        })
                        .collect(),
                    seat: None,
                })
                .collect();
            let found = assign(board, &applicants, &[]);
            let cost = found.as_ref().map(|it| (it.worst_cost, it.total_cost));
            assert_eq!(cost, brute_force::least_cost(&brute, &applicants), "{name} {applicants:?}");
            let Some(found) = found else { continue };
            let paid: f64 = found
                .seats
                .iter()
                .zip(&applicants)
                .map(|(seat, it)| it.options.iter().find(|it| it.0 == seat.profile).unwrap().1)
                .sum();
            assert_eq!(paid, found.total_cost);
            assert!(Layout::of(board, found.seats).is_some());
        }
    }
}

#[test]
fn among_equals_nobody_moves() {
    let same = |seat| Applicant { options: vec![(of("2g.20gb"), 1.5), (of("1g.10gb"), 1.5)], seat };
    let seats = [at("2g.20gb", 2), at("1g.10gb", 5), at("2g.20gb", 0)];
    let standing = seats.map(|instance| Standing { instance, is_occupied: true });
    let found = assign(h100(), &seats.map(|it| same(Some(it))), &standing).unwrap();
    assert_eq!(found.seats, seats);
    assert!(found.moved.is_empty() && found.change.create.is_empty());
    let fresh = assign(h100(), &[same(None)], &[]).unwrap();
    assert_eq!(fresh.seats[0].profile, of("1g.10gb"), "the smaller of two that cost the same");
}

#[test]
fn whoever_is_worst_off_decides_and_too_many_are_refused() {
    let wide = Applicant { options: vec![(of("4g.40gb"), 1.2), (of("3g.40gb"), 1.6)], seat: None };
    let narrow =
        Applicant { options: vec![(of("4g.40gb"), 1.0), (of("3g.40gb"), 1.0)], seat: None };
    let found = assign(h100(), &[narrow.clone(), wide], &[]).unwrap();
    assert_eq!(found.seats, [at("3g.40gb", 4), at("4g.40gb", 0)]);
    assert_eq!((found.worst_cost, found.total_cost), (1.2, 2.2));
    assert_eq!(assign(h100(), &vec![narrow; 3], &[]), None);
    let refused = Applicant { options: vec![(of("7g.80gb"), f64::INFINITY)], seat: None };
    assert_eq!(assign(h100(), &[refused], &[]), None);
    let small = Applicant { options: vec![(of("1g.10gb"), 2.0)], seat: None };
    assert_eq!(assign(h100(), &vec![small; 7], &[]).map(|it| it.seats.len()), Some(7));
}
