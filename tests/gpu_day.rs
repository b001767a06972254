//! Rehearses the GPU day: the same script with stand-ins on the CPU and the simulated driver, and the evaluation of what it left.
//!
//! What this cannot show: anything about a GPU. `fixtures/gpu-day/README.md` says what it can.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]
#![allow(clippy::disallowed_methods, reason = "programs on paper come first in the search path")]

#[path = "../benches/gpu_day/ask.rs"]
mod ask;
#[path = "../benches/gpu_day/blame.rs"]
mod blame;
#[path = "../benches/gpu_day/forecast.rs"]
mod forecast;
#[path = "../benches/gpu_day/observer.rs"]
mod observer;
#[path = "../benches/gpu_day/page.rs"]
mod page;
#[path = "../benches/gpu_day/results.rs"]
mod results;
#[path = "../benches/gpu_day/sample.rs"]
mod sample;

use crate::page::{Outcome, Part};
use crate::results::{Arm, Results, packs};
use crate::sample::Measured;
use cotenant::storage::StoredRecording;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files that come back at most, the log among them.
const MOST_FILES: usize = 8;
/// What is not a server writes other columns.
const SERVERS: [&str; 2] = ["victim", "peer"];

/// The script, on the simulated driver, with results in this folder.
fn script(out: &Path, arguments: &[&str]) -> Command {
    let script = fixture("run.sh");
    let mut command = Command::new("bash");
    command
        .arg(script)
        .args(arguments)
        .env("COTENANT", env!("CARGO_BIN_EXE_cotenant"))
        .env("NVML_LIBRARY", cotenant_nvml_sim::library().unwrap())
        .env("OUT", out)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/gpu-day").join(name)
}

/// Runs a script to its end; what it printed.
fn run(mut command: Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// Whether Python is here; without it the test says that it was skipped.
fn has_python() -> bool {
    let is_here = Command::new("python3").arg("--version").output().is_ok();
    if !is_here {
        eprintln!("skipped: python3 is not here, and the tenants of the GPU day are written in it");
    }
    is_here
}

/// An arm is whole: whoever has a part in it left a log, and whoever recorded left a recording.
///
/// How much stands in them is a matter of how busy this machine is; in the second of a probe it may be nothing.
fn is_whole(arm: &Arm) {
    let name = &arm.name;
    assert_eq!(arm.truth["problems"].as_array().map(Vec::len), Some(0), "{name}: {}", arm.truth);
    for role in arm.truth["parts"].as_object().unwrap().keys() {
        let rows = arm.rows(&format!("{role}.csv"));
        if name.starts_with("probe") {
            continue;
        }
        assert!(!rows.is_empty(), "{name}: {role} left no log");
        let is_serving =
            SERVERS.contains(&role.as_str()) && arm.part(role).unwrap()["do"] != "turns";
        if is_serving {
            let requests = arm.requests(role);
            assert!(requests.iter().all(|it| it.latency_s > 0.0002), "{name}: {role}");
        }
    }
    let is_recorded = arm.truth["interval_ms"].is_number();
    assert_eq!(arm.recording().is_some(), is_recorded, "{name}");
    if let Some(path) = arm.recording() {
        let outline = StoredRecording::open(&path).unwrap();
        let readings = outline.outline().readings;
        assert!(readings > 20, "{name}: {readings} readings");
    }
}

fn has_no_missed_claim(part: &Part) {
    assert!(!part.claims.is_empty(), "{}", part.text());
    let missed = part.claims.iter().filter(|it| it.1 == Outcome::Missed).count();
    assert_eq!(missed, 0, "{}", part.text());
}

#[test]
fn the_day_can_be_rehearsed_without_a_gpu_and_its_results_are_read() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let said = run(script(&out, &["--dry-run"]));
    assert_eq!(packs(&out).len(), 7, "{said}");
    assert!(std::fs::read_dir(&out).unwrap().count() <= MOST_FILES);

    let results = Results::unpacked(&out, &folder.path().join("raw")).unwrap();
    assert!(results.is_rehearsal());
    results.arms.iter().for_each(is_whole);

    // What was planned is seen, whatever the time of the stand-ins.
    has_no_missed_claim(&observer::calls(&results));
    has_no_missed_claim(&blame::memory(&results));
    let influences = blame::influences(&results);
    let innocent = influences.claims.iter().filter(|it| it.0 == "null-cpu");
    assert!(innocent.clone().count() > 0, "{}", influences.text());
    assert!(innocent.into_iter().all(|it| it.1 == Outcome::Kept), "{}", influences.text());
    // These are read and told; so short a rehearsal claims nothing about them.
    let turns = forecast::turns(&results).expect("turns were played");
    assert!(turns.count > 10 && (0.0005..0.05).contains(&turns.quantum_s), "{turns:?}");
    let others =
        [observer::overhead(&results), forecast::shapes(&results), forecast::slowdowns(&results)];
    for part in &others {
        assert!(!part.claims.is_empty(), "{}", part.text());
    }
    let page = page::text_of(&others, "A rehearsal.");
    assert!(page.contains("| sliced-300ms-compute | p99 | turns as measured |"), "{page}");
}

/// The code that needs a GPU, with PyTorch and the daemon of MPS on paper: its names fit, MPS is started and ended.
#[test]
fn tenants_for_a_gpu_run_on_paper_and_mps_is_ended_again() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    put("idle.toml", "[[gpu]]\nboard = \"h200\"\n");
    put("nvidia-smi", "#!/bin/sh\n");
    put(
        "nvidia-cuda-mps-control",
        "#!/bin/sh\n[ \"$1\" = -d ] && echo started >> \"$MPS_TOLD\" || cat >> \"$MPS_TOLD\"\n",
    );
    for name in ["nvidia-smi", "nvidia-cuda-mps-control"] {
        let made = Command::new("chmod").arg("+x").arg(folder.path().join(name)).status();
        assert!(made.unwrap().success());
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let told = folder.path().join("mps.txt");
    let out = folder.path().join("out");
    let mut command = script(&out, &["--short", "mps", "memory"]);
    command
        .env("PATH", format!("{}:{path}", folder.path().display()))
        .env("PYTHONPATH", fixture("paper"))
        .env("COTENANT_NVML_SIM", folder.path().join("idle.toml"))
        .env("MPS_TOLD", &told);
    let said = run(command);
    assert!(!said.contains(" said: "), "no tenant complains: {said}");
    assert_eq!(std::fs::read_to_string(&told).unwrap(), "started\nquit\n", "{said}");
    let results = Results::unpacked(&out, &folder.path().join("raw")).unwrap();
    assert!(!results.is_rehearsal());
    results.arms.iter().for_each(is_whole);
    assert_eq!(results.arms[0].truth["tenants"]["victim"]["torch"], "on paper");
    assert!(results.arms[0].spells().iter().all(|it| it.1 > it.0), "{said}");
}

#[test]
fn an_interval_of_a_quantile_is_as_wide_as_its_ranks_leave_it() {
    let values: Vec<f64> = (0..100).map(f64::from).collect();
    let median = Measured::quantile(&values, 0.5).unwrap();
    assert_eq!(median, Measured { value: 50.0, low: 40.0, high: 60.0 });
    // One in a hundred of a hundred: the largest is all that is known of the upper end.
    let tail = Measured::quantile(&values, 0.99).unwrap();
    assert_eq!(tail, Measured { value: 99.0, low: 97.0, high: 99.0 });
    assert_eq!(Measured::quantile(&[], 0.5), None);
    assert!(median.over(tail).low < median.over(tail).value);
    assert!(median.meets(60.0, 70.0) && !median.meets(61.0, 70.0));
}
