//! Import, storage and burst analysis against what is physically needed: ratios inside one run.
//!
//! `cargo bench --bench recordings` prints the table and writes `reports/bench.md`. The recording is
//! eight GPUs for a day at ten hertz, made by the generator and kept under `target/bench/`;
//! `COTENANT_BENCH_HOURS=1` makes a smaller one.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a bench prints, reads its setting and stops at the first failure"
)]

mod shared;

use crate::shared::{Table, best, bulk, decoded, files, forget_peak, peak_mebibytes, peers};
use cotenant::analysis::{Question, compute};
use cotenant::domain::ident::GpuId;
use cotenant::domain::metric::Metric;
use cotenant::storage::{Selection, StoredRecording};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

fn main() {
    if std::env::args().any(|it| it == "--test") {
        return;
    }
    let mut table = Table::new();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench");
    std::fs::create_dir_all(&folder).unwrap();
    let hours = std::env::var("COTENANT_BENCH_HOURS").ok().and_then(|it| it.parse().ok());
    let recording = bulk(&folder, hours.unwrap_or(24.0));
    import(&mut table, &folder, &recording);
    storage_and_analysis(&mut table, &recording);
    table.write("Recordings", "cargo bench --bench recordings");
}

/// Import of a CSV file, in rows like those of a sampler, beside the same file read by pandas.
fn import(table: &mut Table, folder: &Path, recording: &Path) {
    let file = folder.join("smi.csv");
    if !file.exists() {
        smi_csv(recording, &file);
    }
    let bytes = std::fs::metadata(&file).unwrap().len() as f64 / 1e6;
    let out = folder.join("imported");
    let seconds = best(3, || {
        let status = Command::new(env!("CARGO_BIN_EXE_cotenant"))
            .arg("import")
            .arg(&file)
            .args(["--force", "-o"])
            .arg(&out)
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap();
        assert!(status.success());
    });
    let rate = bytes / seconds;
    let peers = peers("read_csv.py", &file);
    let note = format!("{bytes:.1} MB, {rate:.0} MB/s; parses, checks, compresses and writes");
    table.row("import of nvidia-smi CSV", seconds, "itself", None, &note);
    for (name, version, peer) in peers {
        let note = format!("{name} {version}: {:.0} MB/s, only parses", bytes / peer);
        table.row("import of nvidia-smi CSV", seconds, &name, Some(seconds / peer), &note);
    }
}

/// An hour of the recording as `nvidia-smi --query-gpu --format=csv` would have printed it.
fn smi_csv(recording: &Path, file: &Path) {
    let opened = StoredRecording::open(recording).unwrap();
    let mut text = String::from(
        "timestamp, index, utilization.gpu [%], utilization.memory [%], memory.used [MiB], memory.total [MiB], power.draw [W], clocks.sm [MHz], temperature.gpu\n",
    );
    let metrics = [
        (Metric::GpuUtilization, 1.0),
        (Metric::MemoryUtilization, 1.0),
        (Metric::FramebufferUsed, 1_048_576.0),
        (Metric::FramebufferTotal, 1_048_576.0),
        (Metric::Power, 1000.0),
        (Metric::SmClock, 1.0),
        (Metric::GpuTemperature, 1.0),
    ];
    for device in opened.outline().devices.clone().iter().take(1) {
        let part = opened.load(&Selection::gpu(&device.gpu)).unwrap();
        let trace = part.traces.values().next().unwrap();
        let series: Vec<_> = metrics.iter().map(|it| (trace.get(it.0).unwrap(), it.1)).collect();
        for row in 0..series[0].0.len().min(400_000) {
            let at = series[0].0.times()[row].as_micros() / 1000;
            let (seconds, millis) = (at / 1000, at % 1000);
            let (day, rest) = (seconds / 86_400 % 28 + 1, seconds % 86_400);
            let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
            write!(text, "2026/01/{day:02} {hour:02}:{minute:02}:{second:02}.{millis:03}, 0")
                .unwrap();
            for (series, unit) in &series {
                write!(text, ", {}", series.values()[row] / unit).unwrap();
            }
            text.push('\n');
        }
    }
    std::fs::write(file, text).unwrap();
}

fn storage_and_analysis(table: &mut Table, recording: &Path) {
    let opened = StoredRecording::open(recording).unwrap();
    let outline = opened.outline().clone();
    let readings = outline.readings as f64;
    let bytes: u64 = files(recording).iter().map(|it| std::fs::metadata(it).unwrap().len()).sum();
    let floor = best(3, || decoded(recording));
    let size =
        format!("{:.1} million values, {:.2} bytes each", readings / 1e6, bytes as f64 / readings);
    table.row("plain polars read (decode floor)", floor, "itself", None, &size);
    for (name, version, peer) in peers("scan_parquet.py", recording) {
        let note = format!("{name} {version}, from Python");
        table.row("plain polars read (decode floor)", floor, &name, Some(floor / peer), &note);
    }
    let gpus: Vec<GpuId> = outline.devices.iter().map(|it| it.gpu.clone()).collect();
    let load = best(3, || {
        for gpu in &gpus {
            std::hint::black_box(opened.load(&Selection::gpu(gpu)).unwrap());
        }
    });
    table.row("storage: load, GPU after GPU", load, "decode floor", Some(load / floor), "");
    for count in [1, 2, 4, 8] {
        let mut part = outline.clone();
        part.devices.truncate(count);
        part.subjects.retain(|it| it.gpu().is_some_and(|gpu| gpus[..count].contains(gpu)));
        forget_peak();
        let seconds = best(2, || {
            let question = Question::default();
            let found = compute(&part, &question, |gpu| match gpu {
                Some(gpu) => opened.load(&Selection::gpu(gpu)),
                None => Ok(cotenant::domain::recording::Recording::default()),
            });
            std::hint::black_box(found.unwrap());
        });
        let share = floor * count as f64 / gpus.len() as f64;
        let note = format!("peak memory {:.0} MiB", peak_mebibytes());
        let what = format!("load and whole analysis, {count} GPUs");
        table.row(&what, seconds, "decode floor of the same part", Some(seconds / share), &note);
    }
}
