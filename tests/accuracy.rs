//! The innocent are left alone and the guilty are found: a short form of `cargo bench --bench accuracy`.

#[path = "../benches/accuracy/methods.rs"]
#[allow(dead_code, reason = "the bench asks more")]
mod methods;
#[path = "../benches/accuracy/worlds.rs"]
#[allow(dead_code, reason = "the bench plays more")]
mod worlds;

use crate::methods::{Answers, METHODS, ask, normal_alarm_line, rank};
use crate::worlds::{NULLS, World, five_suspects, world};
use rayon::prelude::{IntoParallelIterator, ParallelIterator};

const RUNS: u64 = 40;

fn answers(make: impl Fn(u64) -> World + Sync) -> Vec<Answers> {
    let line = normal_alarm_line(1.0);
    (0..RUNS).into_par_iter().map(|it| ask(&make(7_000 + it), 1.0, line)).collect()
}

fn share(answers: &[Answers], method: &str) -> f64 {
    let place = METHODS.iter().position(|it| *it == method).expect("a method of the table");
    answers.iter().filter(|it| it.accuses[place]).count() as f64 / answers.len() as f64
}

#[test]
fn the_innocent_are_hardly_ever_accused_in_seven_worlds() {
    let (mut granger, mut contrast, mut confirmed) = (0.0, 0.0, 0.0);
    for kind in NULLS {
        let found = answers(|seed| world(kind, 600, seed));
        for (method, most) in [("Granger (R5)", 0.15), ("contrast (R6)", 0.20), ("confirmed", 0.05)]
        {
            let share = share(&found, method);
            assert!(share <= most, "{kind}: {method} accuses {share}");
        }
        granger += share(&found, "Granger (R5)") / NULLS.len() as f64;
        contrast += share(&found, "contrast (R6)") / NULLS.len() as f64;
        confirmed += share(&found, "confirmed") / NULLS.len() as f64;
        let holds = found.iter().filter_map(|it| it.trial.interval);
        let (inside, all) = holds
            .fold((0, 0), |sum, it| (sum.0 + u64::from(it.0 <= 0.0 && 0.0 <= it.1), sum.1 + 1));
        assert!(inside as f64 >= 0.75 * all as f64, "{kind}: {inside} of {all} intervals hold 0");
    }
    assert!(granger <= 0.075 && contrast <= 0.10, "{granger} {contrast}");
    assert!(confirmed <= 0.025, "{confirmed}");
}

#[test]
fn the_guilty_are_found_and_the_known_score_fails_as_it_is_known_to() {
    let ten = answers(|seed| world("+10 %", 600, seed));
    assert!(share(&ten, "Granger (R5)") >= 0.95 && share(&ten, "contrast (R6)") >= 0.88);
    assert!(share(&ten, "confirmed") >= 0.85, "{}", share(&ten, "confirmed"));
    let effects = ten.iter().filter_map(|it| it.trial.effect).sum::<f64>() / ten.len() as f64;
    assert!((effects - 0.09).abs() < 0.015, "{effects}");
    let twenty = answers(|seed| world("+20 %", 600, seed));
    assert!(share(&twenty, "confirmed") >= 0.97);
    assert_eq!(share(&twenty, "CPI2"), 0.0, "a slowdown of 20 % never reaches its threshold");
    let shift = answers(|seed| world("shift", 600, seed));
    assert!(share(&shift, "CPI2") >= 0.5, "a victim that is slow throughout convicts everybody");
}

#[test]
fn effects_of_the_size_that_could_hide_are_found_four_times_in_five() {
    let weak = answers(|seed| world("+5 %", 600, seed));
    let mde = weak.iter().filter_map(|it| it.trial.mde).sum::<f64>() / weak.len() as f64;
    let found = share(&weak, "near + far (C)");
    assert!((0.05..0.12).contains(&mde), "{mde}");
    assert!((0.4..0.95).contains(&found), "an effect below the least detectable one: {found}");
}

#[test]
fn the_guilty_one_comes_first_among_five() {
    for is_common in [false, true] {
        let first: Vec<[usize; 4]> = (0..RUNS)
            .into_par_iter()
            .map(|it| rank(&five_suspects(0.10, is_common, 600, 9_000 + it), 1.5))
            .collect();
        let share = first.iter().filter(|it| it[2] == 0).count() as f64 / first.len() as f64;
        assert!(share >= 0.90, "common driver {is_common}: {share}");
    }
}
