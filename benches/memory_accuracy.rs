//! How well memory that runs out is foretold, and how often the right tenant is named when it has.
//!
//! `cargo bench --bench memory_accuracy` prints every table and writes `reports/memory.md`;
//! `-- --worlds N` sets the number of worlds (500).

#[path = "memory_accuracy/judge.rs"]
mod judge;
#[path = "memory_accuracy/worlds.rs"]
mod worlds;

use crate::judge::{Foretold, Outlook, Score, explained, of_crons, outlook};
use crate::worlds::{FINE, Look, world};
use cotenant::stats::staircase::{Distribution, Staircase, crossing_rate, crossings};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt::Write;
use std::io::Write as _;

/// First seed; the seeds of worlds follow it.
const SEED: u64 = 20_261_129;
/// Ends of the classes of the reliability table.
const CLASSES: [f64; 8] = [0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.000_001];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let place = arguments.iter().position(|it| it == "--worlds");
    let given = place.and_then(|it| arguments.get(it + 1)?.parse().ok());
    let count: u64 = given.unwrap_or(500);
    let mut report = String::from(
        "# Memory\n\nHow well memory that runs out is foretold, and how often the right tenant is named when it has. \
         Made by `cargo bench --bench memory_accuracy`.\n",
    );
    for text in [calibration(count), attribution(count.min(300)), crossing(), rhythms(40)] {
        std::io::stdout().write_all(text.as_bytes()).expect("stdout takes it");
        report.push_str(&text);
    }
    if given.is_none() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/reports/memory.md");
        std::fs::write(path, report).expect("reports/ can be written");
    }
}

/// Each seed on one of a few plain threads, in order: the analysis needs the pool of workers for itself.
fn side_by_side<R: Send>(count: u64, work: impl Fn(u64) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let own = |first: u64| -> Vec<(u64, R)> {
        (first..count).step_by(threads as usize).map(|it| (it, work(it))).collect()
    };
    let mut done: Vec<(u64, R)> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|it| {
                scope.spawn({
                    let own = &own;
                    move || own(it)
                })
            })
            .collect();
        running.into_iter().flat_map(|it| it.join().expect("no world panics")).collect()
    });
    done.sort_by_key(|it| it.0);
    done.into_iter().map(|it| it.1).collect()
}

fn calibration(count: u64) -> String {
    let outlooks: Vec<Outlook> = side_by_side(count, |it| outlook(&world(SEED + it), SEED + it));
    let mut text = format!(
        "\n## Foretold from half an hour with room for all ({count} worlds)\n\n\
         Two to four tenants of random bases, spikes and rhythms; the truth is another play of the same tenants, with other dice, on a board \
         on which at least two spikes have to meet to fill it. The reference always tells the share of worlds in which it happened.\n\n\
         | horizon | happened | Brier score | reference |\n|---|---|---|---|\n"
    );
    let of =
        |place: usize| -> Vec<Foretold> { outlooks.iter().map(|it| it.horizons[place]).collect() };
    for (place, name) in [(0, "10 min"), (1, "1 min")] {
        let told = of(place);
        let (rate, score) = brier(&told);
        let _ = writeln!(text, "| {name} | {rate:.3} | {score:.4} | {:.4} |", rate * (1.0 - rate));
    }
    text.push_str(
        "\n| chance told | horizon | worlds | mean chance | happened |\n|---|---|---|---|---|\n",
    );
    for (place, name) in [(0, "10 min"), (1, "1 min")] {
        for ends in CLASSES.windows(2) {
            let class: Vec<Foretold> = of(place)
                .into_iter()
                .filter(|it| (ends[0]..ends[1]).contains(&it.chance))
                .collect();
            if class.is_empty() {
                continue;
            }
            let mean = class.iter().map(|it| it.chance).sum::<f64>() / class.len() as f64;
            let (rate, _) = brier(&class);
            let _ = writeln!(
                text,
                "| {:.2} to {:.2} | {name} | {} | {mean:.3} | {rate:.3} |",
                ends[0],
                ends[1].min(1.0),
                class.len()
            );
        }
    }
    let pairs: usize = outlooks.iter().map(|it| it.pairs).sum();
    let tied: usize = outlooks.iter().map(|it| it.tied).sum();
    let _ = writeln!(
        text,
        "\nOf {pairs} pairs that know nothing of each other {tied} were called tied together ({:.3}; the limit is 0.05).",
        tied as f64 / pairs.max(1) as f64
    );
    text
}

fn brier(told: &[Foretold]) -> (f64, f64) {
    let count = told.len().max(1) as f64;
    let truth = |it: &Foretold| f64::from(u8::from(it.happened));
    let rate = told.iter().map(truth).sum::<f64>() / count;
    (rate, told.iter().map(|it| (it.chance - truth(it)).powi(2)).sum::<f64>() / count)
}

fn attribution(count: u64) -> String {
    let mut text = format!(
        "\n## Who had taken it ({count} worlds a row, a quarter of an hour each)\n\n\
         Right is the tenant that stood most above its base when the request was refused, or the request itself when nobody did. \
         Sure are those told with a confidence of 0.7 and more.\n\n\
         | sampling | refused | found | invented | right | sure | right when sure | the dead one had grown most | the largest had grown most |\n\
         |---|---|---|---|---|---|---|---|---|\n"
    );
    for (name, look) in [
        ("all at 10 Hz", FINE),
        ("device at 10 Hz, tenants at 1 Hz", Look { device_ms: 100.0, tenants_ms: 1_000.0 }),
        ("all at 1 Hz", Look { device_ms: 1_000.0, tenants_ms: 1_000.0 }),
        ("all every 15 s", Look { device_ms: 15_000.0, tenants_ms: 15_000.0 }),
    ] {
        let scores: Vec<Score> =
            side_by_side(count, |it| explained(&world(SEED + it), look, SEED + it));
        let mut all = Score::default();
        scores.into_iter().for_each(|it| all.add(it));
        let of = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
        let _ = writeln!(
            text,
            "| {name} | {} | {:.3} | {} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} |",
            all.refused,
            of(all.found, all.refused),
            all.invented,
            of(all.right, all.found),
            of(all.sure, all.found),
            of(all.sure_and_right, all.sure),
            of(all.dead_is_right, all.found),
            of(all.largest_is_right, all.found),
        );
    }
    text
}

/// The formula against every rotation of one series against the other.
fn crossing() -> String {
    let mut text = String::from(
        "\n## Crossings by formula and by brute force over all rotations\n\n| world | crossings an hour, formula | brute force | share of time, convolution | brute force |\n|---|---|---|---|---|\n",
    );
    for seed in 0..6 {
        let mut dice = ChaCha8Rng::seed_from_u64(SEED + seed);
        let mut draw = |hold: f64, gap: f64| -> Vec<f64> {
            let mut values = Vec::new();
            while values.len() < 12_000 {
                let wait = -gap * dice.random::<f64>().max(1e-9).ln();
                values.extend(std::iter::repeat_n(18.0, (10.0 * wait) as usize + 1));
                let length = (10.0 * hold * (0.5 + dice.random::<f64>())) as usize + 1;
                values.extend(std::iter::repeat_n(30.0 + 4.0 * dice.random::<f64>(), length));
            }
            values.truncate(12_000);
            values
        };
        let (a, b) = (draw(2.0 + seed as f64, 20.0), draw(3.0, 40.0));
        let (mut crossed, mut over) = (0, 0);
        for shift in 0..a.len() {
            let sum: Vec<f64> = (0..a.len()).map(|it| a[it] + b[(it + shift) % b.len()]).collect();
            let found = crossings(&[&sum], 60.0);
            crossed += found.0;
            over += found.1;
        }
        let all = (a.len() * a.len()) as f64;
        let stairs = [Staircase::of(&[&a]), Staircase::of(&[&b])].map(|it| it.expect("samples"));
        let per_hour = 36_000.0;
        let _ = writeln!(
            text,
            "| {} | {:.3} | {:.3} | {:.6} | {:.6} |",
            seed + 1,
            per_hour * crossing_rate(&[&stairs[0], &stairs[1]], 60.0),
            per_hour * crossed as f64 / all,
            Distribution::of_sum(&stairs).share_above(60.0),
            over as f64 / all
        );
    }
    text
}

fn rhythms(count: u64) -> String {
    let mut text = format!(
        "\n## Crons of one period ({count} recordings of two hours a row)\n\n\
         Two crons every 5 min, each up to 5 s late, 30 GiB for 20 s on 50 GiB. Apart by 150 s they never meet; apart by 8 s they always do.\n\n\
         | apart | called | mean chance a day | mean chance at random phases | truth |\n|---|---|---|---|---|\n"
    );
    for (offset, truth) in [(150.0, 0.0), (60.0, 0.0), (8.0, 1.0)] {
        let all: Vec<_> = side_by_side(count, |it| of_crons(offset, SEED + it));
        let mean = |get: fn(&(Option<_>, f64, f64)) -> f64| {
            all.iter().map(get).sum::<f64>() / all.len().max(1) as f64
        };
        let mut called: Vec<String> = all
            .iter()
            .map(|it| it.0.map_or("no pair".to_owned(), |it| format!("{it:?}")))
            .collect();
        called.sort();
        called.dedup();
        let _ = writeln!(
            text,
            "| {offset:.0} s | {} | {:.3} | {:.3} | {truth} |",
            called.join(", "),
            mean(|it| it.1),
            mean(|it| it.2)
        );
    }
    text
}
