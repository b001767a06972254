//! Other recorders on the same simulated driver.

use crate::scene::{H100, PROCESSES, Programs, Story, put};
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
    put(&folder, H100, 8, &programs.ids(), 600.0, Story::Lifelike);
    let python = std::env::var("COTENANT_BENCH_PYTHON").unwrap_or("python3".to_owned());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/watch_nvitop.py");
    let script = script.display().to_string();
    let all_smi = std::env::var("COTENANT_BENCH_ALL_SMI").unwrap_or("all-smi".to_owned());
    let api = ["api", "--port", "19090", "--interval", "1", "--processes"];
    let version_of_nvitop = ["-c", "import nvitop; print('nvitop', nvitop.__version__)"];
    let runs: [(&str, &str, &[&str], Vec<&str>); 4] = [
        ("its collector, 1 Hz", &python, &version_of_nvitop, vec![&script, "collector", "1"]),
        ("GPUs and processes, 1 Hz", &python, &version_of_nvitop, vec![&script, "all", "1"]),
        ("GPUs only, 10 Hz", &python, &version_of_nvitop, vec![&script, "devices", "0.1"]),
        ("its API, processes too, 1 Hz", &all_smi, &["--version"], api.to_vec()),
    ];
    for (what, program, asks_version, arguments) in runs {
        let version = Command::new(program).args(asks_version).output();
        let version = version.map(|it| String::from_utf8_lossy(&it.stdout).trim().to_owned());
        let Some(version) = version.ok().filter(|it| !it.is_empty()) else {
            println!("skipped: {program}, {what}: it is not here");
            continue;
        };
        let what = format!("{version}, {what}");
        peer(table, &folder, &what, program, &arguments, seconds);
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
    let said = folder.join("said.txt");
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("LD_LIBRARY_PATH", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        // It may say much, and nobody reads it meanwhile.
        .stderr(std::fs::File::create(&said).unwrap())
        .spawn()
        .unwrap();
    std::thread::sleep(STARTS);
    if let Ok(Some(status)) = child.try_wait() {
        let said = std::fs::read_to_string(&said).unwrap_or_default();
        println!("skipped: {what}: {status}: {}", said.lines().last().unwrap_or_default());
        return;
    }
    let watched = watch(&child, Duration::ZERO, Duration::from_secs(seconds));
    child.kill().unwrap();
    child.wait().unwrap();
    let note = format!("{:.2} % of a core; {:.0} MiB", 100.0 * watched.share, watched.end.peak);
    table.row(what, watched.seconds, "itself", None, &note);
}
