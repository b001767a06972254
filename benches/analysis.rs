//! What a recording means, step by step, against what is physically needed and against what people use: ratios inside one run.
//!
//! `cargo bench --bench analysis` prints the table and writes its part of `reports/bench.md`. The recordings are made by the
//! generator and kept: eight GPUs for a day at ten hertz, and one GPU with 1 to 32 tenants for an hour.
//! `COTENANT_BENCH_HOURS=1` makes a smaller one and writes nothing.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a bench prints, reads its setting and stops at the first failure"
)]

mod shared;

use crate::shared::{Table, best, bulk, decoded, made, peers};
use cotenant::analysis::co_peaks::memory_findings;
use cotenant::analysis::{Question, compute, loads};
use cotenant::domain::ident::{GpuId, Subject};
use cotenant::domain::metric::Metric;
use cotenant::domain::outline::Outline;
use cotenant::domain::recording::{Recording, Trace};
use cotenant::storage::{Selection, StoredRecording};
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// A scenario of one GPU without tenants.
const ONE_GPU: &str = r#"name = "crowd"
description = "For speed."
seed = 5
duration_s = 3600
counterfactuals = false

[[devices]]
name = "NVIDIA A100-SXM4-80GB"
sms = 108
memory_mib = 81920
idle_w = 55
cap_w = 400
sm_clock_mhz = 1410
mem_clock_mhz = 1593
pcie_gb_s = 32
sharing = { mps = { floor = 0.0, bandwidth = 0.9 } }
"#;
/// Numbers of tenants of the growth curve.
const TENANTS: [usize; 6] = [1, 2, 4, 8, 16, 32];

fn main() {
    if std::env::args().any(|it| it == "--test") {
        return;
    }
    let mut table = Table::new();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench");
    std::fs::create_dir_all(&folder).unwrap();
    let asked = std::env::var("COTENANT_BENCH_HOURS").ok().and_then(|it| it.parse().ok());
    let hours: f64 = asked.unwrap_or(24.0);
    let recording = bulk(&folder, hours);
    let floor = best(3, || decoded(&recording));
    table.row("plain polars read (decode floor)", floor, "itself", None, "eight GPUs");
    steps(&mut table, &recording, floor);
    tenants_steps(&mut table, &folder);
    series(&mut table, &recording, &folder);
    commands(&mut table, &recording, &folder, floor);
    growth(&mut table, &folder, hours);
    if asked.is_none() {
        table.write("Analysis", "cargo bench --bench analysis");
    }
}

fn gpus(outline: &Outline) -> Vec<GpuId> {
    outline.devices.iter().map(|it| it.gpu.clone()).collect()
}

/// Reads every value of a part once.
fn touch(part: &Recording) -> f64 {
    let mut sum = 0.0;
    for series in part.traces.values().flat_map(|it| it.series.values()) {
        series.each(0..series.len(), |it| sum += it);
    }
    sum
}

/// The steps of the analysis on eight GPUs.
fn steps(table: &mut Table, recording: &Path, floor: f64) {
    let opened = StoredRecording::open(recording).unwrap();
    let gpus = gpus(opened.outline());
    let (mut touched, mut burst) = (0.0, 0.0);
    for gpu in &gpus {
        let part = opened.load(&Selection::gpu(gpu)).unwrap();
        touched += best(3, || {
            std::hint::black_box(touch(&part));
        });
        burst += best(3, || {
            // What a series keeps of itself once it was asked is part of the work, so that each time it is loaded anew.
            let fresh = opened.load(&Selection::gpu(gpu)).unwrap();
            std::hint::black_box(loads(gpu, &fresh));
        });
    }
    let readings = opened.outline().readings as f64 / 1e6;
    let size = format!("{readings:.0} million values");
    table.row("each value touched once, in one thread", touched, "itself", None, &size);
    let load = best(3, || {
        for gpu in &gpus {
            std::hint::black_box(opened.load(&Selection::gpu(gpu)).unwrap());
        }
    });
    table.row("load, GPU after GPU", load, "decode floor", Some(load / floor), "");
    let note = "levels of every metric, bursts of the activity, timelines";
    table.row(
        "load and burst analysis, GPU after GPU",
        burst,
        "decode floor",
        Some(burst / floor),
        note,
    );
    let alone = burst - load;
    table.row(
        "burst analysis alone",
        alone,
        "decode floor",
        Some(alone / floor),
        "the row above without the load",
    );
    table.row("burst analysis alone", alone, "each value touched once", Some(alone / touched), "");
    let whole = best(3, || {
        let found = compute(opened.outline(), &Question::default(), |gpu| match gpu {
            Some(gpu) => opened.load(&Selection::gpu(gpu)),
            None => Ok(Recording::default()),
        });
        std::hint::black_box(found.unwrap());
    });
    table.row(
        "the whole analysis, GPUs side by side",
        whole,
        "decode floor",
        Some(whole / floor),
        "",
    );
}

/// An hour of one GPU with so many tenants, processes and services of each.
fn crowd(folder: &Path, tenants: usize) -> std::path::PathBuf {
    let mut text = ONE_GPU.to_owned();
    for place in 0..tenants {
        let load = match place % 2 {
            0 => "{ server = { per_second = 10, work_ms = 6, vary = { lognormal = 0.3 }, host_ms = 4 } }".to_owned(),
            _ => format!("{{ on-off = {{ on_ms = {}, off_ms = {}, vary = {{ lognormal = 0.4 }} }} }}", 1000 + 130 * place, 9000 + 410 * place),
        };
        write!(
            text,
            "\n[[tenants]]\nname = \"tenant-{place}\"\ndevice = 0\npod = \"tenant-{place}-0\"\nwidth = 0.1\nbandwidth = 0.05\nmemory_mib = {}\npower_w = 20\nload = {load}\n",
            1200 + 30 * place
        )
        .unwrap();
    }
    made(folder, &format!("crowd-{tenants}"), &text)
}

/// The steps that need tenants, on one GPU with eight.
fn tenants_steps(table: &mut Table, folder: &Path) {
    let opened = StoredRecording::open(&crowd(folder, 8)).unwrap();
    let gpu = gpus(opened.outline()).remove(0);
    let part = opened.load(&Selection::gpu(&gpu)).unwrap();
    let touched = best(5, || {
        std::hint::black_box(touch(&part));
    });
    let readings = opened.outline().readings as f64 / 1e6;
    let note = format!("one GPU, eight tenants, {readings:.2} million values");
    let memory = best(3, || {
        std::hint::black_box(memory_findings(&gpu, &part, None));
    });
    table.row(
        "meeting peaks of memory",
        memory,
        "each value touched once",
        Some(memory / touched),
        &note,
    );
    let all = best(2, || {
        let found = compute(opened.outline(), &Question::default(), |gpu| match gpu {
            Some(gpu) => opened.load(&Selection::gpu(gpu)),
            None => Ok(Recording::default()),
        });
        std::hint::black_box(found.unwrap());
    });
    table.row(
        "the whole analysis, load and who slows whom included",
        all,
        "each value touched once",
        Some(all / touched),
        &note,
    );
}

/// The burst profile of one series in one thread, beside scripts that find the same.
fn series(table: &mut Table, recording: &Path, folder: &Path) {
    let opened = StoredRecording::open(recording).unwrap();
    let gpu = gpus(opened.outline()).remove(0);
    let subject = Subject::device(&gpu);
    let part = opened.load(&Selection::gpu(&gpu)).unwrap();
    let series = part.series(&subject, Metric::GpuUtilization).unwrap().clone();
    let file = folder.join("series.f64");
    let bytes: Vec<u8> = series.values().iter().flat_map(|it| (it / 100.0).to_le_bytes()).collect();
    std::fs::write(&file, bytes).unwrap();
    let count = series.len();
    let trace = Trace { series: [(Metric::GpuUtilization, series)].into(), ..Trace::default() };
    let outline = Outline { subjects: vec![subject.clone()], ..part.outline.clone() };
    let alone = Recording { outline, traces: [(subject, trace)].into() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let own = pool.install(|| {
        best(5, || {
            std::hint::black_box(loads(&gpu, &alone));
        })
    });
    let note = format!("{:.2} million values, one thread", count as f64 / 1e6);
    table.row("burst profile of one series", own, "itself", None, &note);
    for (name, version, seconds) in peers("bursts.py", &file) {
        let note = format!("{name} {version}: {seconds:.3} s");
        table.row("burst profile of one series", own, &name, Some(own / seconds), &note);
    }
}

/// Whole commands, as they are typed.
fn commands(table: &mut Table, recording: &Path, folder: &Path, floor: f64) {
    let page = folder.join("page.html");
    let text = [recording.to_str().unwrap(), page.to_str().unwrap()];
    let start = best(20, || run(&["--version"], 2));
    let nothing = best(20, || {
        Command::new("true").status().unwrap();
    });
    table.row("cotenant --version", start, "true", Some(start / nothing), "cold start; goal 30 ms");
    for (what, arguments) in [
        ("cotenant analyze", vec!["analyze", text[0]]),
        ("cotenant recommend", vec!["recommend", text[0]]),
        ("cotenant report", vec!["report", text[0], "-o", text[1]]),
        ("cotenant plan", vec!["plan", text[0]]),
    ] {
        let seconds = best(3, || run(&arguments, 2));
        let note = match what {
            "cotenant report" => {
                let size = std::fs::metadata(&page).unwrap().len() as f64 / 1e6;
                format!("eight GPUs, a page of {size:.2} MB")
            }
            "cotenant plan" => {
                "eight GPUs, whose findings were kept by the first of three runs".to_owned()
            }
            _ => "eight GPUs".to_owned(),
        };
        table.row(what, seconds, "decode floor", Some(seconds / floor), &note);
    }
}

/// How time grows with samples, threads and tenants.
fn growth(table: &mut Table, folder: &Path, hours: f64) {
    let mut base = None;
    for part in [1.0, 0.5, 0.25] {
        let recording = bulk(folder, hours * part);
        let seconds = best(3, || run(&["analyze", recording.to_str().unwrap()], 2));
        let whole = *base.get_or_insert(seconds);
        let what = format!("cotenant analyze, {} h of eight GPUs", hours * part);
        table.row(&what, seconds, "all hours", Some(seconds / whole), "two threads");
    }
    let recording = bulk(folder, hours);
    let one = best(2, || run(&["analyze", recording.to_str().unwrap()], 1));
    let whole = base.unwrap_or(f64::NAN);
    table.row("cotenant analyze, one thread", one, "two threads", Some(one / whole), "eight GPUs");
    let mut eight = None;
    for tenants in [8].into_iter().chain(TENANTS.into_iter().filter(|it| *it != 8)) {
        let recording = crowd(folder, tenants);
        let seconds = best(3, || run(&["analyze", recording.to_str().unwrap()], 2));
        let base = *eight.get_or_insert(seconds);
        let what = format!("cotenant analyze, an hour of one GPU, tenants {tenants}");
        table.row(&what, seconds, "tenants 8", Some(seconds / base), "");
    }
}

/// Runs a command; 3 means that there was too little for an answer, which is one.
fn run(arguments: &[&str], threads: usize) {
    let status = Command::new(env!("CARGO_BIN_EXE_cotenant"))
        .args(arguments)
        .env("RAYON_NUM_THREADS", threads.to_string())
        .env("POLARS_MAX_THREADS", threads.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(matches!(status.code(), Some(0 | 3)), "{arguments:?}: {status}");
}
