//! The generator's pairs as tables: errors, coverage, and the table of burst lengths.

use crate::generator::{Kind, Trial, World};
use crate::table::{mean, quantile};
use cotenant::domain::units::Seconds;
use rayon::prelude::{IntoParallelIterator, ParallelIterator};
use std::fmt::Write;

const KINDS: [(&str, Kind); 3] =
    [("MPS", Kind::Mps), ("time slicing", Kind::TimeSlicing), ("MIG", Kind::Mig)];

/// Whether a pair belongs to a line of the table.
type Belongs = fn(&&Trial) -> bool;

/// Random pairs of each mechanism.
pub(crate) fn report(count: u64) -> String {
    let mut text = format!(
        "\n## Random pairs of which the generator knows the truth\n\n{count} pairs for each mechanism: a server and a second server, a job in bursts of 3 ms to 5 s, a train of kernels or a trainer. Each is recorded alone \
         for 15 minutes at 10 Hz, with a service that counts by the second; the p99 slowdown is predicted from these two recordings; then both are played together. \
         A quarter of the boards has a power cap that binds. MPS: its cost is drawn and not told. Time slicing: turns are as measured on the device. \
         *Counters*: SM and DRAM activity were recorded; *driver only*: they were not, so width is unknown.\n\n\
         | Mechanism | recorded with | pairs | refused | median error | p90 error | 90 % interval holds | its median width | always 1 | u₁+u₂ | 1+u₂ |\n|---|---|---|---|---|---|---|---|---|---|---|\n"
    );
    for (name, kind) in KINDS {
        let trials: Vec<Trial> = (0..count)
            .into_par_iter()
            .map(|seed| World::random(kind, seed + 1_000).trial())
            .collect();
        let groups: [(&str, Belongs); 3] = [
            ("all", |_| true),
            ("counters", |it| it.is_profiled),
            ("driver only", |it| !it.is_profiled),
        ];
        for (recorded, belongs) in groups {
            let own: Vec<&Trial> = trials.iter().filter(belongs).collect();
            text += &line(name, recorded, &own);
        }
    }
    text
}

fn line(name: &str, recorded: &str, trials: &[&Trial]) -> String {
    let told: Vec<_> =
        trials.iter().filter_map(|it| Some((it, it.predicted.slowdown?.p99))).collect();
    let errors: Vec<f64> =
        told.iter().map(|(it, p99)| (p99.expected / it.played_p99 - 1.0).abs()).collect();
    let holds = told.iter().map(|(it, p99)| f64::from(u8::from(p99.contains(it.played_p99))));
    let width = told.iter().map(|(_, p99)| p99.high / p99.low);
    let simple = |which: usize| {
        100.0
            * quantile(
                told.iter().map(|(it, _)| (it.simple[which] / it.played_p99 - 1.0).abs()),
                0.5,
            )
    };
    format!(
        "| {name} | {recorded} | {} | {} | {:.1} % | {:.1} % | {:.1} % | ×{:.2} | {:.0} % | {:.0} % | {:.0} % |\n",
        trials.len(),
        trials.len() - told.len(),
        100.0 * quantile(errors.clone(), 0.5),
        100.0 * quantile(errors, 0.9),
        100.0 * mean(holds),
        quantile(width, 0.5),
        simple(0),
        simple(1),
        simple(2),
    )
}

/// The table of burst lengths: 20 ms requests, five a second, beside somebody who is busy 30 % of the time.
pub(crate) fn bursts_report() -> String {
    let mut text = String::from(
        "\n## Equal load, other bursts\n\nA server with requests of 20 ms, five a second, beside somebody who is busy 30 % of the time, exponential bursts. Slowdown p50 / p99, predicted from \
         plain numbers; the generator plays p99 for four hours, turn by turn.\n\n\
         | burst | MPS | played | turns of 2 ms, 0.2 ms to switch | played |\n|---|---|---|---|---|\n",
    );
    for on_ms in [3.0, 30.0, 300.0, 3_000.0, 15_000.0] {
        write!(text, "| {} ", Seconds(on_ms / 1e3)).expect("a string takes it");
        for kind in [Kind::Mps, Kind::TimeSlicing] {
            let world = World::burst_row(kind, on_ms, 5);
            let demands = World::stated(on_ms);
            let found =
                world.predicted(&demands).slowdown.map(|it| (it.p50.expected, it.p99.expected));
            let (p50, p99) = found.unwrap_or((f64::NAN, f64::NAN));
            write!(text, "| {p50:.2} / {p99:.2} | {:.2} ", world.played(4.0 * 3600.0))
                .expect("a string takes it");
        }
        text.push_str("|\n");
    }
    text
}
