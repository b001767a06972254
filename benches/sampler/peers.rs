//! Other recorders on the same simulated driver.

use crate::scene::{H100, PROCESSES, Programs, put};
use crate::shared::Table;
use crate::watched::watch;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Time to start, with an interpreter and its libraries.
const STARTS: Duration = Duration::from_secs(8);

/// Watches every peer that is there.
pub(crate) fn beside(table: &mut Table, folder: &Path, seconds: u64) {
    let folder = folder.join("peers");
    let _ = std::fs::remove_dir_all(&folder);
    let programs = Programs::start(8 * PROCESSES);
    put(&folder, H100, 8, &programs.ids(), 600.0);
    let python = std::env::var("COTENANT_BENCH_PYTHON").unwrap_or("python3".to_owned());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/watch_nvitop.py");
    let script = script.display().to_string();
    let all_smi = std::env::var("COTENANT_BENCH_ALL_SMI").unwrap_or("all-smi".to_owned());
    let runs: [(&str, &str, Vec<&str>); 5] = [
        ("nvitop, ResourceMetricCollector, 1 Hz", &python, vec![&script, "collector", "1"]),
        ("nvitop, snapshots of GPUs, 10 Hz", &python, vec![&script, "devices", "0.1"]),
        ("nvitop, GPUs and processes, 10 Hz", &python, vec![&script, "all", "0.1"]),
        ("all-smi api, 1 Hz", &all_smi, vec!["api", "--port", "0", "--interval", "1"]),
        (
            "all-smi api, processes too, 1 Hz",
            &all_smi,
            vec!["api", "--port", "0", "--interval", "1", "--processes"],
        ),
    ];
    for (what, program, arguments) in runs {
        peer(table, &folder, what, program, &arguments, seconds);
    }
}

fn peer(
    table: &mut Table,
    folder: &Path,
    what: &str,
    program: &str,
    arguments: &[&str],
    seconds: u64,
) {
    let child = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("LD_LIBRARY_PATH", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        println!("skipped: {what}: {program} is not here");
        return;
    };
    std::thread::sleep(STARTS);
    if let Ok(Some(status)) = child.try_wait() {
        let stderr = std::io::read_to_string(child.stderr.take().unwrap()).unwrap_or_default();
        println!("skipped: {what}: {status}: {}", stderr.lines().last().unwrap_or_default());
        return;
    }
    let watched = watch(&child, Duration::ZERO, Duration::from_secs(seconds));
    child.kill().unwrap();
    child.wait().unwrap();
    let note = format!("{:.2} % of a core; {:.0} MiB", 100.0 * watched.share, watched.end.peak);
    table.row(what, watched.seconds, "itself", None, &note);
}
