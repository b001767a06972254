//! How many pairs of one-hour traces are predicted per second and core.

use cotenant::colocation::demand::{Demand, Spread};
use cotenant::colocation::range::Range;
use cotenant::colocation::share::{Mechanism, Slice};
use cotenant::colocation::whatif::{Options, Seat, predict, predict_all};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt::Write;
use std::time::Instant;

/// An hour of a tenant: a server, a job in bursts, or a train of kernels.
fn tenants() -> Vec<Demand> {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut log = |low: f64, high: f64| rng.random_range(low.ln()..high.ln()).exp();
    let mut found = Vec::new();
    for place in 0..48 {
        let name = format!("tenant {place}");
        let duty = log(0.05, 0.5);
        let demand = if place % 2 == 0 {
            let work_s = log(0.003, 0.06);
            Demand::requests(
                &name,
                (duty / work_s).min(100.0),
                (work_s, Spread::Lognormal(0.3)),
                3600.0,
            )
        } else {
            Demand::bursts(&name, duty, (log(0.003, 10.0), Spread::Exponential), 3600.0)
        };
        found.extend(demand.map(|it| it.wide(log(0.3, 1.0), log(0.1, 0.7))));
    }
    found
}

/// Processor time of this process so far, seconds.
fn processor_seconds() -> f64 {
    let status = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = status.rsplit(')').next().unwrap_or_default().to_owned();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    ticks.map(|it| it.parse::<f64>().unwrap_or(f64::NAN)).sum::<f64>() / 100.0
}

/// The line of the report.
pub(crate) fn report() -> String {
    let mut text = String::from(
        "\n## Speed\n\nPairs of one-hour traces, half of the tenants servers, half in bursts of 3 ms to 10 s; inputs exact, so that each pair is replayed once.\nInputs in doubt are replayed at both ends too, at half the budget each: twice the time.\n\n| Mechanism | processor time of a pair | pairs per second and core | 10,000 pairs by the clock |\n|---|---|---|---|\n",
    );
    let demands = tenants();
    let slice = Some(Slice { compute_slices: 3, memory_slices: 4 });
    let exact = Range::exact;
    let mechanisms = [
        ("MPS", Mechanism::Mps { floor: exact(0.09) }),
        (
            "time slicing",
            Mechanism::TimeSlicing { quantum_s: exact(2e-3), switch_s: exact(0.2e-3) },
        ),
        ("MIG", Mechanism::Mig),
    ];
    for (name, mechanism) in mechanisms {
        let seat = |place: usize| Seat { slice, ..Seat::of(&demands[place]) };
        let pairs: Vec<Vec<Seat<'_>>> = (0..demands.len())
            .flat_map(|one| (one + 1..demands.len()).map(move |other| (one, other)))
            .map(|(one, other)| vec![seat(one), seat(other)])
            .collect();
        let options = Options::default();
        let few: Vec<&Vec<Seat<'_>>> = pairs.iter().step_by(11).collect();
        let begin = processor_seconds();
        for pair in &few {
            predict(pair, mechanism, &options);
        }
        let single_s = (processor_seconds() - begin) / few.len() as f64;
        let begin = Instant::now();
        predict_all(&pairs, mechanism, &options);
        let all_s = begin.elapsed().as_secs_f64() * 10_000.0 / pairs.len() as f64;
        writeln!(
            text,
            "| {name} | {:.1} ms | {:.0} | {all_s:.0} s |",
            1e3 * single_s,
            1.0 / single_s
        )
        .expect("a string takes it");
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown").to_owned();
    writeln!(text, "\n{cores} cores; load average at the end {load}, other work included.")
        .expect("a string takes it");
    text
}
