use super::*;
use crate::stats::expected::{case, holed, relatively_close, value};
use crate::stats::multiple::family_wise;
use crate::stats::quantile::quantile;
use crate::stats::specimen::Noise;

/// Logarithms of latency of a known spread and memory, the mean moved by `shift`.
fn record(noise: &mut Noise, memory: f64, count: usize, shift: f64) -> Vec<f64> {
    let scale = SPREAD * (1.0_f64 - memory * memory).sqrt();
    let all = noise.autoregression(memory, count + 300);
    all[300..].iter().map(|it| shift + scale * it).collect()
}

/// Standard deviation of the logarithm of a window's latency: 25 % from window to window.
const SPREAD: f64 = 0.25;

/// Shares of so many worlds: answered; false or true alarms among those answered; intervals that cover.
fn shares(memory: f64, count: usize, shift: f64, worlds: u64) -> [f64; 3] {
    let mut noise = Noise::new(7 + count as u64);
    let (mut answered, mut alarms, mut covered) = (0.0, 0.0, 0.0);
    for _ in 0..worlds {
        let before = Level::of(&record(&mut noise, memory, count, 0.0));
        let after = Level::of(&record(&mut noise, memory, count, shift));
        let (Ok(before), Ok(after)) = (before, after) else { continue };
        let change = Change::between(&before, &after);
        let (low, high) = change.interval(0.95);
        answered += 1.0;
        alarms += f64::from(u8::from(change.p_value() <= 0.05));
        covered += f64::from(u8::from(low <= shift && shift <= high));
    }
    let share = |it: f64| it / f64::max(answered, 1.0);
    [answered / worlds as f64, share(alarms), share(covered)]
}

#[test]
fn numpy_and_scipy_find_the_same_change_interval_and_probability() {
    for case in case("before_after") {
        let level = |key: &str| Level::of(&holed(case, key)).unwrap();
        let (before, after) = (level("before"), level("after"));
        for (found, key) in [(before, "before"), (after, "after")] {
            relatively_close(Some(found.variance), value(case, &format!("{key}_variance")), 1e-9);
            relatively_close(Some(found.freedom), value(case, &format!("{key}_freedom")), 1e-12);
        }
        let change = Change::between(&before, &after);
        relatively_close(Some(change.difference), value(case, "difference"), 1e-9);
        relatively_close(Some(change.interval(0.95).0), value(case, "low"), 1e-6);
        relatively_close(Some(change.interval(0.95).1), value(case, "high"), 1e-6);
        relatively_close(Some(change.p_value()), value(case, "p"), 1e-6);
    }
}

#[test]
fn an_interval_covers_and_no_change_is_shown_as_promised_whatever_the_memory() {
    for (memory, count) in [(0.0, 120), (0.5, 300), (0.9, 600), (0.9, 300)] {
        let [answered, alarms, covered] = shares(memory, count, 0.0, 1000);
        assert!(answered > 0.9, "{memory} {count}: {answered}");
        assert!((0.03..=0.075).contains(&alarms), "{memory} {count}: {alarms}");
        assert!((0.925..=0.97).contains(&covered), "{memory} {count}: {covered}");
    }
}

#[test]
fn a_change_of_a_fifth_is_found_and_a_short_record_with_a_long_memory_says_nothing() {
    assert!(shares(0.5, 600, 1.2_f64.ln(), 300)[1] > 0.98);
    assert!(shares(0.9, 600, 1.2_f64.ln(), 300)[1] > 0.7);
    assert!(shares(0.97, 120, 0.0, 300)[0] < 0.02);
    assert_eq!(Level::of(&[1.0; 119]), Err(Unclear::TooFew));
}

#[test]
fn what_would_have_been_found_four_times_of_five_is_found_so() {
    let mut noise = Noise::new(3);
    let change = |noise: &mut Noise, shift| {
        let level = |values: Vec<f64>| Level::of(&values).unwrap();
        let before = level(record(noise, 0.5, 600, 0.0));
        Change::between(&before, &level(record(noise, 0.5, 600, shift)))
    };
    let sizes: Vec<f64> = (0..200).map(|_| change(&mut noise, 0.0).detectable()).collect();
    let typical = quantile(&sizes, 0.5).unwrap();
    let found = (0..400).filter(|_| change(&mut noise, typical).p_value() <= 0.05).count();
    assert!((280..=350).contains(&found), "{found} of 400");
}

#[test]
fn a_load_that_fell_is_taken_off_and_one_far_away_is_told() {
    let mut noise = Noise::new(11);
    let side = |noise: &mut Noise, load: f64, shift: f64| -> (Vec<f64>, Vec<f64>) {
        let x: Vec<f64> = (0..600).map(|_| load + 0.1 * noise.normal()).collect();
        let y = x.iter().map(|it| shift + 0.5 * it + 0.05 * noise.normal()).collect();
        (y, x)
    };
    let (before, after) = (side(&mut noise, 0.0, 0.0), side(&mut noise, -0.15, 0.0));
    let found = adjusted((&before.0, &before.1), (&after.0, &after.1)).unwrap();
    assert!(found.change.p_value() > 0.01 && (found.slope - 0.5).abs() < 0.05, "{found:?}");
    assert!(found.distance < FURTHEST_DEVIATIONS);
    let worse = side(&mut noise, -0.15, 0.1);
    let found = adjusted((&before.0, &before.1), (&worse.0, &worse.1)).unwrap();
    let (low, high) = found.change.interval(0.95);
    assert!(low < 0.1 && 0.1 < high && low > 0.05, "{found:?}");
    let far = side(&mut noise, -0.6, 0.0);
    let found = adjusted((&before.0, &before.1), (&far.0, &far.1)).unwrap();
    assert!(found.distance > FURTHEST_DEVIATIONS, "{found:?}");
}

#[test]
fn a_constant_that_stays_has_not_changed_and_one_that_moves_has() {
    let level = |it: f64| Level::of(&[it; 200]).unwrap();
    assert_eq!(Change::between(&level(3.0), &level(3.0)).p_value(), 1.0);
    assert!(Change::between(&level(3.0), &level(2.0)).p_value() < 1e-9);
}

#[test]
fn over_many_tests_a_false_alarm_comes_up_in_one_world_of_twenty() {
    let mut noise = Noise::new(23);
    let world = |noise: &mut Noise| -> bool {
        let one = |noise: &mut Noise, memory: f64| {
            let level = |values: Vec<f64>| Level::of(&values).ok();
            let before = level(record(noise, memory, 600, 0.0))?;
            Some(Change::between(&before, &level(record(noise, memory, 600, 0.0))?).p_value())
        };
        let p: Vec<f64> =
            [0.0, 0.5, 0.8, 0.9, 0.5, 0.9].iter().filter_map(|it| one(noise, *it)).collect();
        family_wise(&p).iter().any(|it| *it <= 0.05)
    };
    let alarms = (0..400).filter(|_| world(&mut noise)).count();
    assert!((6..=32).contains(&alarms), "{alarms} of 400");
}

/// Percentiles of moving blocks of 2√n, 400 draws: the interval that is not used, to compare with.
fn moving_blocks(before: &[f64], after: &[f64], noise: &mut Noise) -> (f64, f64) {
    let block = (2.0 * (before.len() as f64).sqrt()) as usize;
    let mean = |values: &[f64], noise: &mut Noise| {
        let starts = values.len() - block + 1;
        let blocks = values.len() / block;
        let sum: f64 = (0..blocks)
            .map(|_| {
                let start = (noise.uniform() * starts as f64) as usize;
                values[start..start + block].iter().sum::<f64>()
            })
            .sum();
        sum / (blocks * block) as f64
    };
    let drawn: Vec<f64> = (0..400).map(|_| mean(after, noise) - mean(before, noise)).collect();
    (quantile(&drawn, 0.025).unwrap(), quantile(&drawn, 0.975).unwrap())
}

#[test]
#[ignore = "prints the table of docs/METHODS.md; takes minutes"]
fn the_table_of_before_and_after() {
    println!(
        "| memory | bins | answered | false alarms | coverage | moving blocks cover | power +10 % | power +20 % |"
    );
    for memory in [0.0, 0.5, 0.9, 0.95] {
        for count in [120, 300, 600, 3600] {
            let [answered, alarms, covered] = shares(memory, count, 0.0, 2000);
            let power = |factor: f64| shares(memory, count, factor.ln(), 1000)[1];
            let mut noise = Noise::new(5);
            let blocks = (0..300)
                .filter(|_| {
                    let sides = [0, 1].map(|_| record(&mut noise, memory, count, 0.0));
                    let (low, high) = moving_blocks(&sides[0], &sides[1], &mut noise);
                    low <= 0.0 && 0.0 <= high
                })
                .count() as f64
                / 300.0;
            let found = [power(1.1), power(1.2)];
            println!(
                "| {memory} | {count} | {answered:.2} | {alarms:.3} | {covered:.3} | {blocks:.2} | {:.2} | {:.2} |",
                found[0], found[1]
            );
        }
    }
}
