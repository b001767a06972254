//! What recording costs on the simulated driver, above the raw calls that it makes: processor time, memory, bytes.
//!
//! `cargo bench --bench sampler` prints the table and writes `reports/bench.md`; it takes a quarter
//! of an hour. `-- --only PART` measures one part and writes nothing: `pace`, `growth`, `weeks`,
//! `bytes` or `peers`. `COTENANT_BENCH_SECONDS` is how long each program is watched (30).
//! Peers run where `COTENANT_BENCH_PYTHON` (`python3`) has nvitop, and `COTENANT_BENCH_ALL_SMI`
//! (`all-smi`) is that program.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a bench prints, reads its setting and stops at the first failure"
)]

#[path = "sampler/peers.rs"]
mod peers;
#[path = "sampler/scene.rs"]
mod scene;
mod shared;
#[path = "sampler/watched.rs"]
mod watched;

use crate::scene::{A100, H100, Model, PROCESSES, Programs, Story, put};
use crate::shared::Table;
use crate::watched::{Watched, watch};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Time to open the library, make its world and have the first look.
const STARTS: Duration = Duration::from_secs(6);
/// Functions that are called less often than this for each board are of the start, not of the loop.
const FEW_CALLS: f64 = 12.0;

/// What is recorded, and how.
struct Scene {
    model: Model,
    gpus: usize,
    processes: usize,
    interval_ms: u64,
    seconds: u64,
    arguments: Vec<&'static str>,
    story: Story,
}

impl Scene {
    fn of(model: Model, gpus: usize, interval_ms: u64, seconds: u64) -> Self {
        let (arguments, story) = (Vec::new(), Story::Lifelike);
        Self { model, gpus, processes: PROCESSES, interval_ms, seconds, arguments, story }
    }

    fn name(&self) -> String {
        let (gpus, model, hertz) = (self.gpus, self.model.name, 1000 / self.interval_ms);
        format!("{gpus} {model} x {} processes, {hertz} Hz", self.processes)
    }
}

/// A recording that was watched.
struct Recorded {
    watched: Watched,
    /// Calls of each function per second.
    calls: BTreeMap<String, f64>,
    /// Last line of the program: readings and missed looks.
    says: String,
    recording: PathBuf,
    seconds: f64,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|it| it == "floor") {
        return floor(&arguments[1..]);
    }
    if arguments.iter().any(|it| it == "--test") {
        return;
    }
    let only = arguments.iter().position(|it| it == "--only").map(|it| arguments[it + 1].clone());
    let is_asked = |part: &str| only.as_deref().is_none_or(|it| it == part);
    let seconds = std::env::var("COTENANT_BENCH_SECONDS").ok().and_then(|it| it.parse().ok());
    let seconds = seconds.unwrap_or(30);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sampler");
    let mut table = Table::new();
    if is_asked("pace") {
        for (model, interval_ms) in [(H100, 100), (H100, 20), (A100, 100), (A100, 20)] {
            above_the_floor(&mut table, &folder, &Scene::of(model, 8, interval_ms, seconds));
        }
    }
    if is_asked("growth") {
        for gpus in [1, 2, 4] {
            above_the_floor(&mut table, &folder, &Scene::of(H100, gpus, 100, seconds));
        }
    }
    if is_asked("weeks") {
        weeks(&mut table, &folder, 6 * seconds);
    }
    if is_asked("bytes") {
        bytes(&mut table, &folder, 6 * seconds);
    }
    if is_asked("peers") {
        peers::beside(&mut table, &folder, seconds);
    }
    if only.is_none() {
        table.write("Sampler", "cargo bench --bench sampler");
    }
}

/// The sampler beside a loop that makes the same calls as often.
fn above_the_floor(table: &mut Table, folder: &Path, scene: &Scene) {
    let recorded = record(&folder.join("record"), scene);
    let floor = least(&folder.join("record"), scene, &recorded.calls);
    let share = recorded.watched.share;
    let looks = scene.gpus as f64 * 1000.0 / scene.interval_ms as f64;
    let calls: f64 = recorded.calls.values().sum();
    let note = format!(
        "{:.2} % of a core, {:.2} % above the calls; {:.0} us a look, {calls:.0} calls/s; {:.0} MiB; {}",
        100.0 * share,
        100.0 * (share - floor.share),
        1e6 * share / looks,
        recorded.watched.end.peak,
        recorded.says,
    );
    let ratio = Some(recorded.watched.seconds / floor.seconds);
    table.row(&scene.name(), recorded.watched.seconds, "the same calls alone", ratio, &note);
    let note = format!("{:.2} % of a core; {:.0} MiB", 100.0 * floor.share, floor.end.peak);
    table.row(&format!("calls alone, {}", scene.name()), floor.seconds, "itself", None, &note);
}

/// Records a scene while its processor time and memory are watched.
fn record(folder: &Path, scene: &Scene) -> Recorded {
    let _ = std::fs::remove_dir_all(folder);
    let programs = Programs::start(scene.gpus * scene.processes);
    let lasts = STARTS.as_secs() + scene.seconds + 2;
    let plays = lasts as f64 + 10.0;
    let staged = put(folder, scene.model, scene.gpus, &programs.ids(), plays, scene.story);
    let child = Command::new(env!("CARGO_BIN_EXE_cotenant"))
        .args(["record", "-o", "r", "--budget", "100%", "--nvml-library"])
        .arg(&staged.library)
        .args(["--interval", &format!("{}ms", scene.interval_ms)])
        .args(["--duration", &format!("{lasts}s")])
        .args(&scene.arguments)
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let watched = watch(&child, STARTS, Duration::from_secs(scene.seconds));
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    let line = stderr.lines().rev().find_map(|it| Some(it.split_once("r: ")?.1)).unwrap_or(&stderr);
    let says = line.split(';').next().unwrap_or_default().to_owned();
    let calls = calls(&folder.join("calls.json"));
    let recording = folder.join("r");
    Recorded { watched, calls, says, recording, seconds: lasts as f64 }
}

/// Calls of each function per second, by what the simulator counted.
fn calls(path: &Path) -> BTreeMap<String, f64> {
    let text = std::fs::read_to_string(path).unwrap();
    let counted: serde_json::Value = serde_json::from_str(&text).unwrap();
    let seconds = counted["seconds"].as_f64().unwrap();
    let functions = counted["calls"].as_object().unwrap();
    let per_second = |it: &serde_json::Value| it["calls"].as_f64().unwrap() / seconds;
    functions.iter().map(|(name, it)| (name.clone(), per_second(it))).collect()
}

/// The same calls as often, by a program that does nothing else.
fn least(folder: &Path, scene: &Scene, calls: &BTreeMap<String, f64>) -> Watched {
    let lasts = STARTS.as_secs() + scene.seconds + 1;
    let path = folder.join("rates.json");
    std::fs::write(&path, serde_json::to_string(calls).unwrap()).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg("floor")
        .args([&folder.join("libcotenant_nvml_sim.so"), &path])
        .args([scene.interval_ms.to_string(), lasts.to_string()])
        .current_dir(folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let watched = watch(&child, STARTS, Duration::from_secs(scene.seconds));
    let made = made(&mut child);
    for (name, per_second) in calls {
        let wanted = per_second * lasts as f64;
        let is_made = made.get(name).is_some_and(|it| (it - wanted).abs() < 0.1 * wanted + 100.0);
        let is_rare = wanted / (scene.gpus as f64) < FEW_CALLS;
        assert!(is_made || is_rare, "{name}: {wanted:.0} calls, made {:?}", made.get(name));
    }
    watched
}

/// What the loop says that it called.
fn made(child: &mut Child) -> BTreeMap<String, f64> {
    let text = std::io::read_to_string(child.stdout.take().unwrap()).unwrap();
    assert!(child.wait().unwrap().success());
    serde_json::from_str(&text).unwrap()
}

/// The loop itself: library, calls per second, interval, seconds.
fn floor(arguments: &[String]) {
    let [library, rates, interval_ms, seconds] = arguments else { panic!("{arguments:?}") };
    let rates: BTreeMap<String, f64> =
        serde_json::from_str(&std::fs::read_to_string(rates).unwrap()).unwrap();
    let made = cotenant_nvml_sim::floor::keep_calling(
        Path::new(library),
        &rates,
        Duration::from_millis(interval_ms.parse().unwrap()),
        Duration::from_secs(seconds.parse().unwrap()),
    );
    println!("{}", serde_json::to_string(&made.unwrap()).unwrap());
}

/// Many small segments one after another, and those of the default size: memory must not grow.
fn weeks(table: &mut Table, folder: &Path, seconds: u64) {
    for (arguments, what) in
        [(vec!["--rotate-age", "7s"], "segments of 7 s"), (Vec::new(), "segments as by default")]
    {
        let scene = Scene { arguments, story: Story::Small, ..Scene::of(H100, 8, 100, seconds) };
        memory(table, folder, scene, what);
    }
}

fn memory(table: &mut Table, folder: &Path, scene: Scene, segments: &str) {
    let what = format!("{}, {segments}", scene.name());
    let recorded = record(&folder.join("record"), &scene);
    let memory = &recorded.watched.memory;
    let third = memory.len() / 3;
    let mean = |it: &[f64]| it.iter().sum::<f64>() / it.len() as f64;
    let (early, late) = (mean(&memory[third..2 * third]), mean(&memory[2 * third..]));
    let alone = least(&folder.join("record"), &Scene { seconds: 2, ..scene }, &recorded.calls);
    let note = format!(
        "{} segments; memory {early:.1} MiB in the second third, {late:.1} MiB in the last, {:.1} MiB at most, of which the calls alone take {:.1} MiB",
        files(&recorded.recording).len(),
        recorded.watched.end.peak,
        alone.end.peak,
    );
    table.row(&what, recorded.watched.seconds, "memory before", Some(late / early), &note);
}

/// Bytes of a recording, with the segments that it has by default.
fn bytes(table: &mut Table, folder: &Path, seconds: u64) {
    for (gpus, processes) in [(8, PROCESSES), (1, 2)] {
        let scene = Scene { processes, ..Scene::of(H100, gpus, 100, seconds) };
        let recorded = record(&folder.join("record"), &scene);
        let bytes: u64 =
            files(&recorded.recording).iter().map(|it| std::fs::metadata(it).unwrap().len()).sum();
        let hour = 3600.0 / recorded.seconds;
        let watched_hour = 3600.0 / (STARTS.as_secs() + seconds) as f64;
        let alone = least(&folder.join("record"), &Scene { seconds: 2, ..scene }, &recorded.calls);
        let note = format!(
            "{:.1} MB an hour in {} segments; {:.0} MB an hour written with the journal; {:.1} MiB at most, of which the calls alone take {:.1} MiB; {}",
            bytes as f64 * hour / 1e6,
            files(&recorded.recording).len(),
            recorded.watched.end.written * watched_hour / 1e6,
            recorded.watched.end.peak,
            alone.end.peak,
            recorded.says,
        );
        let what = format!("{gpus} H100 x {processes} processes, 10 Hz, bytes");
        table.row(&what, recorded.watched.seconds, "itself", None, &note);
    }
}

fn files(recording: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(recording).unwrap().map(|it| it.unwrap().path()).collect()
}
