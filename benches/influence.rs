//! Who slows whom among eight tenants of each of eight GPUs over a day: time, growth, memory, and a peer.
//!
//! `cargo bench --bench influence` prints the table and writes its part of `reports/bench.md`;
//! `COTENANT_BENCH_HOURS=1` makes a shorter recording and writes nothing. Each case runs in a process of
//! its own, so that its threads and its memory are its own.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a bench prints, reads its setting and stops at the first failure"
)]

#[path = "influence/world.rs"]
mod world;

mod shared;

use crate::shared::{Table, forget_peak, peak_mebibytes, peers, processor_seconds};
use crate::world::{World, recording};
use cotenant::analysis::influence::trial::{Bins, reach, trials};
use cotenant::analysis::{Question, compute};
use cotenant::stats::granger::{Conditioned, Panel};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// A case: how much of what.
#[derive(Clone, Copy)]
struct Case {
    work: &'static str,
    gpus: usize,
    tenants: usize,
    hours: f64,
    threads: usize,
}

/// What a case took.
struct Cost {
    seconds: f64,
    processor_s: f64,
    mebibytes: f64,
    note: String,
}

impl Cost {
    fn described(&self) -> String {
        let Self { processor_s, mebibytes, note, .. } = self;
        format!("{note}; {processor_s:.1} s of processor time, peak memory {mebibytes:.0} MiB")
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|it| it == "--test") {
        return;
    }
    if let Some(place) = arguments.iter().position(|it| it == "--case") {
        return play(&arguments[place + 1..]);
    }
    let asked = std::env::var("COTENANT_BENCH_HOURS").ok().and_then(|it| it.parse().ok());
    let hours: f64 = asked.unwrap_or(24.0);
    let whole = Case { work: "compute", gpus: 8, tenants: 8, hours, threads: 2 };
    let one = Case { gpus: 1, ..whole };
    let mut table = Table::new();
    add(&mut table, "the whole analysis", whole, None);
    add(&mut table, "the same without what services measure", Case { work: "bare", ..whole }, None);
    let base = add(&mut table, "the whole analysis", one, None);
    for part in [0.25, 0.5] {
        add(&mut table, "the whole analysis", Case { hours: part * hours, ..one }, Some(base));
    }
    for tenants in [2, 4, 16, 32] {
        add(&mut table, "the whole analysis", Case { tenants, ..one }, Some(base));
    }
    add(&mut table, "the whole analysis", Case { threads: 1, ..one }, Some(base));
    peer(&mut table, Case { threads: 1, ..one });
    if asked.is_none() {
        table.write("Who slows whom", "cargo bench --bench influence");
    }
}

/// Runs a case, best of two, and adds its row; the time.
fn add(table: &mut Table, what: &str, case: Case, base: Option<f64>) -> f64 {
    let cost = best_of_two(case);
    let Case { gpus, tenants, hours, threads, .. } = case;
    let size = format!("{what}: GPUs {gpus}, tenants {tenants}, hours {hours}, threads {threads}");
    let against = if base.is_some() { "GPUs 1, tenants 8, all hours, threads 2" } else { "itself" };
    let note = cost.described();
    table.row(&size, cost.seconds, against, base.map(|it| cost.seconds / it), &note);
    cost.seconds
}

fn best_of_two(case: Case) -> Cost {
    let (first, second) = (run(case), run(case));
    if first.seconds < second.seconds { first } else { second }
}

/// Plays a case in a process of its own.
fn run(case: Case) -> Cost {
    let sizes = [case.gpus, case.tenants].map(|it| it.to_string());
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--case", case.work])
        .args(sizes)
        .arg(case.hours.to_string())
        .env("RAYON_NUM_THREADS", case.threads.to_string())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let cells: Vec<&str> = text.trim().split('\t').collect();
    Cost {
        seconds: cells[0].parse().unwrap(),
        processor_s: cells[1].parse().unwrap(),
        mebibytes: cells[2].parse().unwrap(),
        note: cells[3].to_owned(),
    }
}

/// The case itself; prints seconds, mebibytes and a note.
fn play(arguments: &[String]) {
    let size = |place: usize| arguments[place].parse::<usize>().unwrap();
    let (gpus, tenants) = (size(1), size(2));
    let bins = (arguments[3].parse::<f64>().unwrap() * 3600.0) as usize;
    let worlds: Vec<World> = (0..gpus).map(|gpu| World::new(tenants, bins, gpu as u64)).collect();
    if let "trials" | "granger" = arguments[0].as_str() {
        let all: Vec<Bins> = (0..tenants).map(|it| worlds[0].bins(it)).collect();
        let is_first_alone = arguments[0] == "granger";
        let watch = Watch::start();
        for bins in &all {
            if is_first_alone {
                first_witness(bins);
            } else {
                std::hint::black_box(trials(bins));
            }
        }
        let pairs = tenants * (tenants - 1);
        return watch.print(&format!("{pairs} pairs"));
    }
    let has_services = arguments[0] == "compute";
    let whole = recording(&worlds, has_services);
    drop(worlds);
    forget_peak();
    let watch = Watch::start();
    let found = compute(&whole.outline, &Question::default(), |gpu| {
        let mut part = whole.clone();
        part.traces.retain(|subject, _| subject.gpu() == gpu);
        Ok::<_, std::convert::Infallible>(part)
    });
    let found = found.unwrap();
    let mut verdicts: BTreeMap<String, usize> = BTreeMap::new();
    for pair in found.devices.iter().flat_map(|it| &it.influences.pairs) {
        *verdicts.entry(format!("{:?}", pair.verdict)).or_default() += 1;
    }
    let pairs: usize = verdicts.values().sum();
    let parts: Vec<String> = verdicts.iter().map(|it| format!("{} {}", it.1, it.0)).collect();
    watch.print(&format!("{pairs} pairs ({})", parts.join(", ")));
}

/// The regression of one victim and its test of every suspect.
fn first_witness(bins: &Bins) {
    let panel = Panel {
        victim: &bins.victim,
        load: bins.load.as_deref(),
        suspects: bins.suspects.iter().map(Vec::as_slice).collect(),
        conditions: Vec::new(),
    };
    let it = Conditioned::new(panel, reach(bins.bin_s)).unwrap();
    (0..bins.suspects.len()).for_each(|suspect| {
        std::hint::black_box(it.test(suspect));
    });
}

/// Time since a moment, on the wall and on the processors.
struct Watch(Instant, f64);

impl Watch {
    fn start() -> Self {
        Self(Instant::now(), processor_seconds())
    }

    fn print(self, note: &str) {
        let processor_s = processor_seconds() - self.1;
        println!("{}\t{processor_s}\t{}\t{note}", self.0.elapsed().as_secs_f64(), peak_mebibytes());
    }
}

/// Our witnesses against the first alone in Python, in processor time of one thread each.
fn peer(table: &mut Table, case: Case) {
    let pairs = (case.tenants * (case.tenants - 1)) as f64;
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("influence.f64");
    let bins = (case.hours * 3600.0) as usize;
    World::new(case.tenants, bins, 0).write(0, &file);
    let measured = peers("influence_statsmodels.py", &file);
    for (witnesses, work) in [("first witness alone", "granger"), ("both witnesses", "trials")] {
        let cost = best_of_two(Case { work, ..case });
        let own = cost.processor_s;
        let what = format!("{witnesses}: GPUs 1, tenants 8, hours {}, threads 1", case.hours);
        table.row(&what, own, "itself", None, &cost.described());
        for (name, version, seconds) in &measured {
            let times = seconds * pairs / own;
            let note = format!(
                "{name} {version}: first witness alone, {seconds:.2} s for each of two pairs, times {pairs}; {times:.0} times as long"
            );
            table.row(&what, own, name, Some(1.0 / times), &note);
        }
    }
}
