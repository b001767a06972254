//! What all benches of speed share: the table, its place in the report, time, memory and peers.
#![allow(dead_code, reason = "each bench uses a part of it")]

use polars::prelude::{ParquetReader, SerReader};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// First lines of the report.
const HEAD: &str = "# Speed\n\nRatios within one run; smaller is better.\n";

/// Rows of one bench, printed as they come.
pub(crate) struct Table {
    text: String,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new() -> Self {
        let text = "| what | time | against | ratio | note |\n|---|---|---|---|---|\n".to_owned();
        Self { text }
    }

    /// Prints and keeps a row.
    pub(crate) fn row(
        &mut self,
        what: &str,
        seconds: f64,
        against: &str,
        ratio: Option<f64>,
        note: &str,
    ) {
        let digits = if ratio.is_some_and(|it| it < 0.1) { 4 } else { 2 };
        let ratio = ratio.map_or("—".to_owned(), |it| format!("{it:.digits$}"));
        let line = format!("| {what} | {seconds:.3} s | {against} | {ratio} | {note} |");
        println!("{line}");
        writeln!(self.text, "{line}").unwrap();
    }

    /// Puts the table under its heading in `reports/bench.md`; what stands under other headings stays.
    pub(crate) fn write(&self, heading: &str, command: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("reports/bench.md");
        let old = std::fs::read_to_string(&path).unwrap_or_default();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let others = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let others = others.split(' ').next().unwrap_or("unknown");
        let own = format!(
            "{heading}\n\nMade by `{command}` on {cores} cores, load average at the end {others}.\n\n{}",
            self.text
        );
        let mut sections: Vec<String> =
            old.split("\n## ").skip(1).map(|it| it.trim_end().to_owned() + "\n").collect();
        let is_own = |it: &String| it.lines().next() == Some(heading);
        match sections.iter_mut().find(|it| is_own(it)) {
            Some(place) => *place = own,
            None => sections.push(own),
        }
        let body: String = sections.iter().map(|it| format!("\n## {it}")).collect();
        std::fs::write(path, HEAD.to_owned() + &body).unwrap();
    }
}

/// Shortest of several runs, in seconds.
pub(crate) fn best(times: usize, mut work: impl FnMut()) -> f64 {
    let run = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..times).map(run).fold(f64::INFINITY, f64::min)
}

/// Name, version and seconds of what a peer script measured; says so when there is no Python or library.
pub(crate) fn peers(script: &str, path: &Path) -> Vec<(String, String, f64)> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers").join(script);
    let output = Command::new("python3").arg(&script).arg(path).output();
    let text = output.map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
    let measured: Vec<_> = text
        .unwrap_or_default()
        .lines()
        .filter_map(|it| {
            let mut cells = it.split('\t');
            let (name, version) = (cells.next()?, cells.next()?);
            Some((name.to_owned(), version.to_owned(), cells.next()?.parse().ok()?))
        })
        .collect();
    if measured.is_empty() {
        println!("skipped: {} found no library to compare with", script.display());
    }
    measured
}

/// Begins a new count of the peak; where the system does not allow it the peak is that of the whole run.
pub(crate) fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Greatest memory of this process since then.
pub(crate) fn peak_mebibytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|it| it.starts_with("VmHWM:")).unwrap_or_default();
    let kibibytes: Option<f64> = line.split_whitespace().nth(1).and_then(|it| it.parse().ok());
    kibibytes.unwrap_or(f64::NAN) / 1024.0
}

/// Processor time of this process so far, all threads together, in seconds; not stretched by others on the same cores.
pub(crate) fn processor_seconds() -> f64 {
    let status = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = status.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    ticks.map(|it| it.parse::<f64>().unwrap_or(f64::NAN)).sum::<f64>() / 100.0
}

/// Eight GPUs at ten hertz for so many hours, from the generator; made once and kept.
pub(crate) fn bulk(folder: &Path, hours: f64) -> PathBuf {
    let shipped = cotenant_scenario::SCENARIOS.iter().find(|it| it.0 == "bulk").unwrap().1;
    let text = shipped.replace("duration_s = 86400", &format!("duration_s = {}", hours * 3600.0));
    made(folder, &format!("bulk-{hours}h"), &text)
}

/// The recording of a scenario; made once and kept.
pub(crate) fn made(folder: &Path, name: &str, scenario: &str) -> PathBuf {
    let place = folder.join(name);
    if !place.join("truth.json").exists() {
        let file = folder.join(format!("{name}.toml"));
        std::fs::write(&file, scenario).unwrap();
        let start = Instant::now();
        let status = Command::new(env!("CARGO_BIN_EXE_cotenant"))
            .args(["demo", "--recording-only", "--scenario"])
            .arg(&file)
            .arg("-o")
            .arg(&place)
            .status()
            .unwrap();
        assert!(status.success());
        println!("made {} in {:.1} s", place.display(), start.elapsed().as_secs_f64());
    }
    place.join("recording")
}

/// Reads all of a recording as a plain program with polars would: the decode floor.
pub(crate) fn decoded(recording: &Path) {
    for file in files(recording) {
        let reader = ParquetReader::new(std::fs::File::open(file).unwrap());
        std::hint::black_box(reader.finish().unwrap());
    }
}

/// The files of a folder, in order.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    files.sort();
    files
}
