//! `cotenant record` on the simulated driver, started behind whatever a test puts in front of it,
//! and the checks that every recording has to pass.

#![allow(clippy::disallowed_methods, reason = "tests compare with the time of a kill")]

use cotenant::domain::ident::Subject;
use cotenant::domain::metric::Metric;
use cotenant::domain::recording::Recording;
use cotenant::storage::{Selection, StoredRecording};
use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Two GPUs for as long as a test takes.
pub(crate) const TWO_GPUS: &str = "scenario = \"steady-30\"\nuntil_s = 60\n[[gpu]]\n[[gpu]]\n";
/// Nothing that a test waits for takes longer, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program under test.
pub(crate) fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_cotenant"))
}

/// Words of a command, the first of which is a program.
pub(crate) fn command<I: AsRef<std::ffi::OsStr>>(words: impl IntoIterator<Item = I>) -> Command {
    let mut words = words.into_iter();
    let mut command = Command::new(words.next().expect("a program"));
    command.args(words).env("NO_COLOR", "1").stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A recorder of `plan.toml` in `folder`, two GPUs unless a test wrote another.
///
/// - `before`: what stands in front of the program, such as a shell that sets a limit.
pub(crate) fn recorder(folder: &Path, before: &[&str], arguments: &[&str]) -> Command {
    let plan = folder.join("plan.toml");
    if !plan.exists() {
        std::fs::write(&plan, TWO_GPUS).expect("a plan");
    }
    let words = before.iter().map(PathBuf::from).chain([program()]);
    let mut command = command(words);
    command.args(["record", "--budget", "100%", "--nvml-library"]);
    command.arg(cotenant_nvml_sim::library().expect("built")).args(arguments);
    command.current_dir(folder).env("COTENANT_NVML_SIM", plan);
    command
}

/// Starts a recorder that writes into `r` until it is ended.
pub(crate) fn endless(folder: &Path, arguments: &[&str]) -> Child {
    let arguments = [&["-o", "r"], arguments].concat();
    recorder(folder, &[], &arguments).spawn().expect("the program starts")
}

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Exit code; `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) at_us: i64,
}

impl Ended {
    pub(crate) fn expect_code(&self, code: i32) -> &Self {
        assert_eq!((self.code, self.signal), (Some(code), None), "{}", self.stderr);
        self
    }

    pub(crate) fn expect(&self, part: &str) -> &Self {
        assert!(self.stderr.contains(part), "`{part}` is not in: {}", self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }
}

/// Waits until a program ends by itself.
pub(crate) fn end(mut child: Child) -> Ended {
    let began = Instant::now();
    while child.try_wait().expect("its state is known").is_none() {
        if began.elapsed() > PATIENCE {
            let _ = child.kill();
            let output = child.wait_with_output().expect("it ends");
            panic!("it does not end: {}", String::from_utf8_lossy(&output.stderr));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let at_us = now_us();
    let output = child.wait_with_output().expect("it has ended");
    Ended {
        code: output.status.code(),
        signal: output.status.signal(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        at_us,
    }
}

/// Runs a program to its end.
pub(crate) fn run(mut command: Command) -> Ended {
    end(command.spawn().expect("the program starts"))
}

pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "it never came that {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until the recorder of `r` in this folder has written something.
pub(crate) fn wait_for_begin(folder: &Path) {
    let has_begun =
        || StoredRecording::open(&folder.join("r")).is_ok_and(|it| it.outline().readings > 0);
    wait_until("a recording has begun", has_begun);
}

pub(crate) fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(sent.expect("kill is there").success());
}

pub(crate) fn now_us() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(now.expect("after 1970").as_micros()).expect("before the year 294000")
}

/// Names of what stands in a folder, in order.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let names: BTreeSet<String> =
        entries.map(|it| it.file_name().to_string_lossy().into_owned()).collect();
    names.into_iter().collect()
}

/// Everything that a recording holds; fails unless each segment and journal can be read to its end.
pub(crate) fn whole(path: &Path) -> Recording {
    let stored =
        StoredRecording::open(path).unwrap_or_else(|it| panic!("{}: {it}", path.display()));
    let damaged: Vec<&str> = stored
        .outline()
        .blind_spots
        .iter()
        .map(|it| it.detail.as_str())
        .filter(|it| it.contains("segment-") || it.contains("journal-"))
        .collect();
    assert!(damaged.is_empty(), "{damaged:?}");
    let recording = stored.load(&Selection::default()).expect("every sample can be read");
    let held = recording.traces.values().flat_map(|it| it.series.values());
    assert!(held.map(|it| it.len() as u64).sum::<u64>() > 0, "it holds something");
    recording
}

/// Time between the last look at a GPU and this moment, the longest of all GPUs, seconds.
pub(crate) fn lost_s(recording: &Recording, until_us: i64) -> f64 {
    lost_of(recording, Metric::SmClock, i64::MIN, until_us)
}

/// The same of one metric, when nothing was recorded before `since_us`.
pub(crate) fn lost_of(recording: &Recording, metric: Metric, since_us: i64, until_us: i64) -> f64 {
    assert!(!recording.outline.devices.is_empty());
    let of_device = |gpu| {
        let series = recording.series(&Subject::device(gpu), metric);
        let last = series.and_then(|it| it.times().last()).map_or(since_us, |it| it.as_micros());
        until_us.saturating_sub(last.max(since_us)) as f64 / 1e6
    };
    let devices = recording.outline.devices.iter();
    devices.map(|it| of_device(&it.gpu)).fold(f64::NEG_INFINITY, f64::max)
}

/// Fails when something that a recording held once is not in it any more.
pub(crate) fn expect_nothing_lost(before: &Recording, after: &Recording) {
    for (subject, trace) in &before.traces {
        for (metric, series) in &trace.series {
            let now = after.series(subject, *metric);
            let now: BTreeSet<_> = now.iter().flat_map(|it| it.times()).collect();
            let gone = series.times().iter().filter(|it| !now.contains(it)).count();
            assert_eq!(gone, 0, "{gone} of {} of {subject:?} are gone", metric.key());
        }
    }
    for device in &before.outline.devices {
        assert!(after.outline.devices.contains(device), "{device:?} is gone");
    }
}
