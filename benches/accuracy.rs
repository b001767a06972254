//! How often each method accuses the innocent and finds the guilty.
//!
//! `cargo bench --bench accuracy` prints every table and writes `reports/accuracy.md`;
//! `-- --runs N` sets the runs of each world (500), `-- --only TABLE` plays one table and writes nothing.

#[path = "accuracy/methods.rs"]
mod methods;
#[path = "accuracy/worlds.rs"]
mod worlds;

use crate::methods::{Answers, METHODS, ask, normal_alarm_line, rank};
use crate::worlds::{
    HARD_NULLS, HARD_TRUTHS, NULLS, TRUTHS, World, five_suspects, hard_world, world,
};
use rayon::prelude::{IntoParallelIterator, ParallelIterator};
use std::fmt::Write;
use std::io::Write as _;

/// First seed; the seeds of runs follow it.
const SEED: u64 = 20_261_129;

/// A table: its name, its heading, and the worlds of its rows.
struct Table {
    name: &'static str,
    heading: String,
    bin_s: f64,
    rows: Vec<Row>,
    runs: u64,
}

/// A row: what it is called and how a run of it is made.
type Row = (String, Box<dyn Fn(u64) -> World + Sync>);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let after = |flag: &str| {
        let place = arguments.iter().position(|it| it == flag)?;
        arguments.get(place + 1).cloned()
    };
    let runs: u64 = after("--runs").and_then(|it| it.parse().ok()).unwrap_or(500);
    let only = after("--only");
    let mut report = String::from(
        "# Accuracy\n\nHow often each method accuses an innocent suspect (worlds without influence: lower is better, 0.05 is the level of every single \
         test) and finds a guilty one (worlds with influence: higher is better). Made by `cargo bench --bench accuracy`.\n",
    );
    for table in tables(runs) {
        if only.as_deref().is_none_or(|it| it == table.name) {
            let text = play(&table);
            print(&text);
            report.push_str(&text);
        }
    }
    if only.as_deref().is_none_or(|it| it == "ranking") {
        let text = ranking(runs.min(400));
        print(&text);
        report.push_str(&text);
    }
    if only.is_none() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/reports/accuracy.md");
        std::fs::write(path, report).expect("reports/ can be written");
    }
}

fn print(text: &str) {
    std::io::stdout().write_all(text.as_bytes()).expect("stdout takes it");
}

fn tables(runs: u64) -> Vec<Table> {
    let table = |name, heading: &str, bin_s, rows, runs| Table {
        name,
        heading: heading.to_owned(),
        bin_s,
        rows,
        runs,
    };
    let few = runs.div_ceil(2);
    let coarse = |seconds: usize| changed(both(600 * seconds), move |it, _| it.seen_every(seconds));
    let holes = changed(both(300), |it, seed| it.with_holes(0.05, seed));
    vec![
        table("n600", "Ten minutes at 1 Hz", 1.0, both(600), runs),
        table("n3600", "An hour at 1 Hz", 1.0, both(3600), few),
        table("holes", "Five minutes at 1 Hz with 5 % of the time lost in holes", 1.0, holes, runs),
        table("5s", "600 bins of 5 s", 5.0, coarse(5), few),
        table("15s", "600 bins of 15 s", 15.0, coarse(15), few),
        table("hard600", "Harder worlds, ten minutes at 1 Hz", 1.0, hard(600), runs),
        table("hard3600", "Harder worlds, an hour at 1 Hz", 1.0, hard(3600), few),
    ]
}

/// The seven worlds without influence and the eight with one.
fn both(bins: usize) -> Vec<Row> {
    let row = |name: String, kind: &'static str| -> Row {
        (name, Box::new(move |seed| world(kind, bins, seed)))
    };
    let nulls = NULLS.iter().map(|it| row(format!("no influence: {it}"), it));
    let truths = TRUTHS.iter().map(|it| row(format!("influence: {it}"), it));
    nulls.chain(truths).collect()
}

/// The harder worlds.
fn hard(bins: usize) -> Vec<Row> {
    let row = |name: String, kind: &'static str, slowdown: f64| -> Row {
        (name, Box::new(move |seed| hard_world(kind, slowdown, bins, seed)))
    };
    let nulls = HARD_NULLS.iter().map(|it| row(format!("no influence: {it}"), it, 0.0));
    let truths = HARD_TRUTHS.iter().map(|it| row(format!("influence +10 %: {it}"), it, 0.1));
    nulls.chain(truths).collect()
}

/// The same worlds, seen otherwise.
fn changed(
    rows: Vec<Row>,
    change: impl Fn(World, u64) -> World + Sync + Copy + 'static,
) -> Vec<Row> {
    rows.into_iter()
        .map(|(name, make)| -> Row { (name, Box::new(move |seed| change(make(seed), seed))) })
        .collect()
}

fn play(table: &Table) -> String {
    let line = normal_alarm_line(table.bin_s);
    let mut text = format!("\n## {} ({} runs a row)\n\n| world |", table.heading, table.runs);
    for method in METHODS {
        let _ = write!(text, " {method} |");
    }
    text.push_str(" at least likely | effect | 95 % interval holds truth |\n|---|");
    text.push_str(&"---|".repeat(METHODS.len() + 3));
    text.push('\n');
    for (name, make) in &table.rows {
        let answers: Vec<_> = (0..table.runs)
            .into_par_iter()
            .map(|it| ask(&make(SEED + it), table.bin_s, line))
            .collect();
        let runs = answers.len() as f64;
        let _ = write!(text, "| {name} |");
        for method in 0..METHODS.len() {
            let share = answers.iter().filter(|it| it.accuses[method]).count() as f64 / runs;
            let _ = write!(text, " {share:.3} |");
        }
        let likely = answers.iter().filter(|it| it.is_likely).count() as f64 / runs;
        let effects: Vec<f64> = answers.iter().filter_map(|it| it.trial.effect).collect();
        let mean = effects.iter().sum::<f64>() / effects.len().max(1) as f64;
        let _ = write!(text, " {likely:.3} | {:+.1} % |", 100.0 * mean);
        match slowdown(name) {
            Some(slowdown) => {
                let holds = |it: &Answers| {
                    let (low, high) = it.trial.interval?;
                    let truth = it.truth(slowdown);
                    Some(f64::from(u8::from(low <= truth && truth <= high)))
                };
                let held: Vec<f64> = answers.iter().filter_map(holds).collect();
                let _ =
                    writeln!(text, " {:.3} |", held.iter().sum::<f64>() / held.len().max(1) as f64);
            }
            None => text.push_str(" – |\n"),
        }
    }
    text
}

/// Slowdown at full activity, where it is the same in every bin.
fn slowdown(name: &str) -> Option<f64> {
    match name {
        _ if name.starts_with("no influence") => Some(0.0),
        "influence: +5 %" => Some(0.05),
        "influence: +10 %" => Some(0.10),
        "influence: +20 %" => Some(0.20),
        _ => None,
    }
}

fn ranking(runs: u64) -> String {
    let line = normal_alarm_line(1.0);
    let mut text = format!(
        "\n## The guilty one first, among five suspects ({runs} runs a row, ten minutes at 1 Hz)\n\n| world | Pearson r | CPI2 score | joint test | joint coefficient |\n|---|---|---|---|---|\n"
    );
    for (name, is_common) in [("decoy", false), ("common driver", true)] {
        for slowdown in [0.05, 0.10, 0.20] {
            let first: Vec<[usize; 4]> = (0..runs)
                .into_par_iter()
                .map(|it| rank(&five_suspects(slowdown, is_common, 600, SEED + it), line))
                .collect();
            let share = |way: usize| {
                first.iter().filter(|it| it[way] == 0).count() as f64 / first.len() as f64
            };
            let _ = writeln!(
                text,
                "| {name}, {:+.0} % | {:.3} | {:.3} | {:.3} | {:.3} |",
                100.0 * slowdown,
                share(0),
                share(1),
                share(2),
                share(3)
            );
        }
    }
    text
}
