//! How far predictions of sharing are off: on published measurements, and on a generator that knows the truth.
//!
//! `cargo bench --bench whatif_accuracy` prints every table and writes `reports/whatif.md`; `-- --pairs N` sets the random pairs of each
//! mechanism (200), `-- --only PART` makes one part and writes nothing. Published tables that do not lie at hand are skipped, visibly.

#[path = "whatif/generator.rs"]
mod generator;
#[path = "whatif/pairs.rs"]
mod pairs;
#[path = "whatif/partitions.rs"]
mod partitions;
#[path = "whatif/speed.rs"]
mod speed;
#[path = "whatif/table.rs"]
mod table;
#[path = "whatif/trials.rs"]
mod trials;

use std::io::Write;

/// A part of the report: its name, and how it is made.
type Part = (&'static str, Box<dyn Fn() -> String>);

const HEAD: &str = "# What if they shared: how far off\n\nErrors of every predictor beside simple ones. Made by `cargo bench --bench whatif_accuracy`; methods in [METHODS.md](../docs/METHODS.md#what-if-they-shared).\n";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|it| it == "--test") {
        return;
    }
    let after = |flag: &str| {
        let place = arguments.iter().position(|it| it == flag)?;
        arguments.get(place + 1).cloned()
    };
    let count: u64 = after("--pairs").and_then(|it| it.parse().ok()).unwrap_or(200);
    let only = after("--only");
    let parts: [Part; 9] = [
        ("generator", Box::new(move || trials::report(count))),
        ("bursts", Box::new(trials::bursts_report)),
        ("lucid", Box::new(pairs::lucid_report)),
        ("gavel", Box::new(pairs::gavel_report)),
        ("mps", Box::new(partitions::mps_report)),
        ("scaling", Box::new(partitions::scaling_report)),
        ("slices", Box::new(partitions::slice_report)),
        ("pods", Box::new(partitions::pods_report)),
        ("speed", Box::new(speed::report)),
    ];
    let mut report = HEAD.to_owned();
    for (name, part) in parts {
        if only.as_deref().is_none_or(|it| it == name) {
            let text = part();
            std::io::stdout().write_all(text.as_bytes()).expect("stdout takes it");
            report.push_str(&text);
        }
    }
    if only.is_none() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/reports/whatif.md");
        std::fs::write(path, report).expect("reports/ can be written");
    }
}
