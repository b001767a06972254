//! Published partitions: MPS percentages (iGniter), MIG slices (MISO), identical pods (nos).

use crate::table::{HELD_IGNITER, Table, is_held, mean, quantile};
use cotenant::colocation::demand::{Demand, DriverView, Spread};
use cotenant::colocation::partition::{MpsModel, MpsPair, Scaling, slice_features};
use cotenant::colocation::range::Range;
use cotenant::colocation::share::{Mechanism, waiting_slowdown};
use cotenant::colocation::whatif::{Options, Seat, predict};
use cotenant::stats::ridge::ridge;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt::Write;

const SKIPPED: &str = "**skipped**: the table does not lie at hand\n";

/// A side of a pair under MPS percentages.
struct MpsSide {
    own: String,
    other: String,
    pair: MpsPair,
    slowdown: f64,
    row: usize,
}

fn mps_sides(table: &Table) -> Vec<MpsSide> {
    let side = |row: usize, own: char, other: char| {
        let value = |column: &str, which: char| table.value(row, &format!("{column}{which}"));
        MpsSide {
            own: table.text(row, &format!("model{own}")).to_owned(),
            other: table.text(row, &format!("model{other}")).to_owned(),
            pair: MpsPair {
                other_l2: value("l2_util", other) / 100.0,
                other_dram: value("dram_util", other) / 100.0,
                own_ms: value("solo_ms", own),
                own_share: value("mps_pct", own) / 100.0,
            },
            slowdown: value("slowdown", own),
            row,
        }
    };
    (0..table.len()).flat_map(|row| [side(row, '1', '2'), side(row, '2', '1')]).collect()
}

/// Mean relative error, our model and a constant, when each side of `out` is predicted from the sides that `fits` lets in.
fn mps_error(
    out: &[&MpsSide],
    fits: impl Fn(&MpsSide, &MpsSide) -> bool,
    all: &[&MpsSide],
) -> [f64; 2] {
    let mut models: BTreeMap<(String, String, usize), (MpsModel, f64)> = BTreeMap::new();
    let mut errors = [Vec::new(), Vec::new()];
    for side in out {
        let key = (side.own.clone(), side.other.clone(), side.row % 5);
        let (model, constant) = models.entry(key).or_insert_with(|| {
            let fit: Vec<(MpsPair, f64)> =
                all.iter().filter(|it| fits(it, side)).map(|it| (it.pair, it.slowdown)).collect();
            let constant = mean(fit.iter().map(|it| it.1.ln())).exp();
            (MpsModel::learned(&fit).expect("there are pairs"), constant)
        });
        errors[0].push((model.slowdown(side.pair) / side.slowdown - 1.0).abs());
        errors[1].push((*constant / side.slowdown - 1.0).abs());
    }
    errors.map(|it| 100.0 * mean(it))
}

/// iGniter: pairs under MPS percentages.
pub(crate) fn mps_report() -> String {
    let mut text = String::from(
        "\n## MPS with thread percentages (iGniter, V100)\n\nMean relative error of latency; the fifth that was held out is in the last line only.\n\n| Left out | none at all | constant | constant + linear |\n|---|---|---|---|\n",
    );
    let Some(table) = Table::read("t03_igniter_mps_pairs_v100.csv") else { return text + SKIPPED };
    let sides = mps_sides(&table);
    let (held, tuned): (Vec<&MpsSide>, Vec<&MpsSide>) =
        sides.iter().partition(|it| is_held(HELD_IGNITER, it.row));
    let fine = |of: &[&MpsSide]| 100.0 * mean(of.iter().map(|it| (1.0 / it.slowdown - 1.0).abs()));
    let mut add = |name: &str, of: &[&MpsSide], found: [f64; 2]| {
        writeln!(text, "| {name} | {:.2} % | {:.2} % | {:.2} % |", fine(of), found[1], found[0])
            .expect("a string takes it");
    };
    add(
        "a fifth of the rows",
        &tuned,
        mps_error(&tuned, |it, out| it.row % 5 != out.row % 5, &tuned),
    );
    let same = |it: &MpsSide, out: &MpsSide| {
        (it.own == out.own && it.other == out.other) || (it.own == out.other && it.other == out.own)
    };
    add("the pair of models", &tuned, mps_error(&tuned, |it, out| !same(it, out), &tuned));
    add(
        "the model, wherever it takes part",
        &tuned,
        mps_error(&tuned, |it, out| it.own != out.own && it.other != out.own, &tuned),
    );
    add("held-out rows", &held, mps_error(&held, |_, _| true, &tuned));
    text
}

/// iGniter: one model on shares of the SMs.
pub(crate) fn scaling_report() -> String {
    let mut text = String::from("\n## A share of the SMs (iGniter, V100)\n\n");
    let Some(table) = Table::read("t04_igniter_mps_partition_scaling_v100.csv") else {
        return text + SKIPPED;
    };
    let mut jobs: BTreeMap<(String, String), BTreeMap<u32, f64>> = BTreeMap::new();
    for row in 0..table.len() {
        let job = (table.text(row, "model").to_owned(), table.text(row, "batch").to_owned());
        let share = table.value(row, "mps_pct") as u32;
        jobs.entry(job).or_default().insert(share, table.value(row, "solo_ms"));
    }
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    for times in jobs.values() {
        let (Some(low), Some(high)) = (times.get(&20), times.get(&80)) else { continue };
        let Some(scaling) = Scaling::through((0.2, *low), (0.8, *high)) else { continue };
        for share in [40, 50, 60] {
            let Some(truth) = times.get(&share) else { continue };
            let part = f64::from(share) / 100.0;
            ours.push((scaling.time(part) / truth - 1.0).abs());
            plain.push((high * 0.8 / part / truth - 1.0).abs());
        }
    }
    writeln!(
        text,
        "Times at 40, 50 and 60 % from those at 20 and 80 %: fixed + divisible/p errs by {:.1} % in the mean, {:.1} % at worst; 1/p by {:.1} % ({} times).",
        100.0 * mean(ours.clone()),
        100.0 * quantile(ours.clone(), 1.0),
        100.0 * mean(plain),
        ours.len()
    )
    .expect("a string takes it");
    text
}

/// MISO: slices of an A100.
pub(crate) fn slice_report() -> String {
    let mut text = String::from(
        "\n## MIG slices (MISO, A100-40GB)\n\nEach model from the others; the form of the line was chosen on these jobs.\n\n| Slice | jobs | 7/g | ours, model left out | p90 |\n|---|---|---|---|---|\n",
    );
    let Some(table) = Table::read("t05_miso_mig_slowdown_a100_40gb.csv") else {
        return text + SKIPPED;
    };
    for (slice, column) in [(4.0, "4g.20gb"), (3.0, "3g.20gb"), (2.0, "2g.10gb"), (1.0, "1g.5gb")] {
        let job = |row: usize| {
            let view = DriverView {
                utilisation: table.value(row, "sm_util") / 100.0,
                memory_utilisation: table.value(row, "mem_util") / 100.0,
                power_w: table.number(row, "power_w"),
            };
            let slowdown = table.number(row, &format!("slowdown_{column}"))?;
            Some((table.text(row, "model").to_owned(), slice_features(view)?.to_vec(), slowdown))
        };
        let jobs: Vec<(String, Vec<f64>, f64)> = (0..table.len()).filter_map(job).collect();
        let models: BTreeSet<&String> = jobs.iter().map(|it| &it.0).collect();
        let mut errors = Vec::new();
        for model in models {
            let fit: Vec<&(String, Vec<f64>, f64)> =
                jobs.iter().filter(|it| it.0 != *model).collect();
            let rows: Vec<Vec<f64>> = fit.iter().map(|it| it.1.clone()).collect();
            let targets: Vec<f64> = fit.iter().map(|it| it.2).collect();
            let weights: Vec<f64> = targets.iter().map(|it| it.powi(-2)).collect();
            let line = ridge(&rows, &targets, &weights, 0.0).expect("there are jobs");
            for (_, features, truth) in jobs.iter().filter(|it| it.0 == *model) {
                let found: f64 = features.iter().zip(&line).map(|(x, b)| x * b).sum();
                errors.push((found.max(1.0) / truth - 1.0).abs());
            }
        }
        let plain = mean(jobs.iter().map(|it| (7.0 / slice / it.2 - 1.0).abs()));
        writeln!(
            text,
            "| {column} | {} | {:.0} % | {:.1} % | {:.1} % |",
            jobs.len(),
            100.0 * plain,
            100.0 * mean(errors.clone()),
            100.0 * quantile(errors, 0.9)
        )
        .expect("a string takes it");
    }
    text + "\nA 1g slice is told as a lower limit only.\n"
}

/// nos: pods that infer back to back.
pub(crate) fn pods_report() -> String {
    let mut text = String::from(
        "\n## Identical pods, back to back (nos)\n\nTime slicing by replay with a switch of 0.11 of a turn; MPS by the sum over pairs, the pair's slowdown taken from three pods.\n\n| Mechanism | pods | published | ours | error |\n|---|---|---|---|---|\n",
    );
    let Some(table) = Table::read("t08_nos_yolos_ts_mps_mig.csv") else { return text + SKIPPED };
    let published = |mechanism: &str, pods: u32| {
        let is_it = |row: &usize| {
            table.text(*row, "mechanism") == mechanism
                && table.text(*row, "pods") == pods.to_string()
        };
        (0..table.len())
            .find(is_it)
            .map_or(f64::NAN, |row| table.value(row, "slowdown_vs_1pod_exclusive"))
    };
    let pair = 1.0 + (published("MPS", 3) - 1.0) / 2.0;
    for pods in [3, 5, 7] {
        let demands: Vec<Demand> = (0..pods)
            .filter_map(|it| {
                Demand::bursts(&format!("pod {it}"), 1.0, (0.088, Spread::Fixed), 60.0)
            })
            .collect();
        let seats: Vec<Seat<'_>> = demands.iter().map(Seat::of).collect();
        let mechanism = Mechanism::TimeSlicing {
            quantum_s: Range::exact(2e-3),
            switch_s: Range::exact(0.22e-3),
        };
        let found = predict(&seats, mechanism, &Options::default());
        let turns = found.tenants[0].slowdown.map_or(f64::NAN, |it| it.p50.expected);
        for (name, found) in
            [("time-slicing", turns), ("MPS", waiting_slowdown((1..pods).map(|_| (1.0, pair))))]
        {
            let truth = published(name, pods);
            writeln!(
                text,
                "| {name} | {pods} | {truth:.2} | {found:.2} | {:.1} % |",
                100.0 * (found / truth - 1.0).abs()
            )
            .expect("a string takes it");
        }
    }
    text
}
