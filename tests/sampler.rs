//! `cotenant record` on the simulated driver: what was played is what the recording holds, whatever goes wrong.
//!
//! `docs/SAMPLER.md` lists every case and what is expected of it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::too_many_lines, reason = "the cases of one kind stand together")]

mod support;

use cotenant::domain::blind_spot::{BlindSpot, BlindSpotKind};
use cotenant::domain::ident::{GpuId, Subject, TenantId};
use cotenant::domain::metric::Metric;
use cotenant::domain::recording::Recording;
use cotenant::domain::series::Series;
use cotenant::storage::{Selection, StoredRecording};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use support::recorder::endless;
use support::steps::{PROCESS_US, RING_US, trace};

/// A fault or a scene, how long it is recorded, and what must hold afterwards.
struct Case {
    name: &'static str,
    plan: &'static str,
    arguments: &'static [&'static str],
    seconds: u32,
    check: fn(&Recorded),
}

/// What a case left behind.
struct Recorded {
    recording: Option<Recording>,
    stderr: String,
    code: i32,
    calls: Option<serde_json::Value>,
    took: Duration,
}

impl Recorded {
    fn recording(&self) -> &Recording {
        self.recording.as_ref().unwrap_or_else(|| panic!("nothing was recorded: {}", self.stderr))
    }

    fn gpu(&self, index: u32) -> GpuId {
        let devices = &self.recording().outline.devices;
        let found = devices.iter().find(|it| it.index == Some(index));
        found.unwrap_or_else(|| panic!("no GPU {index}")).gpu.clone()
    }

    fn series(&self, index: u32, metric: Metric) -> Option<&Series> {
        self.recording().series(&Subject::device(&self.gpu(index)), metric)
    }

    fn device(&self, index: u32, metric: Metric) -> &Series {
        let series = self.series(index, metric);
        series.unwrap_or_else(|| panic!("GPU {index} has no {}: {}", metric.key(), self.spots()))
    }

    fn processes(&self, metric: Metric) -> Vec<(u32, Option<i64>, &Series)> {
        let traces = self.recording().traces.iter();
        let of_process = traces.filter_map(|(subject, trace)| match subject {
            Subject::Process { process, .. } => {
                let started = process.started.map(|it| it.as_micros());
                Some((process.pid, started, trace.get(metric)?))
            }
            _ => None,
        });
        of_process.collect()
    }

    fn instances(&self, metric: Metric) -> Vec<(u32, u32, &Series)> {
        let traces = self.recording().traces.iter();
        let of_instance = traces.filter_map(|(subject, trace)| match subject {
            Subject::MigInstance { instance } => {
                Some((instance.gpu_instance, instance.generation, trace.get(metric)?))
            }
            _ => None,
        });
        of_instance.collect()
    }

    fn spot(&self, kind: BlindSpotKind, part: &str) -> &BlindSpot {
        let spots = &self.recording().outline.blind_spots;
        let found = spots.iter().find(|it| it.kind == kind && it.detail.contains(part));
        found.unwrap_or_else(|| panic!("no blind spot {kind:?} `{part}` in: {}", self.spots()))
    }

    fn spots(&self) -> String {
        let spots = self.recording().outline.blind_spots.iter();
        spots.map(|it| format!("\n{:?} {:?} {}", it.kind, it.metric, it.detail)).collect()
    }

    fn says(&self, part: &str) {
        assert!(self.stderr.contains(part), "`{part}` is not in: {}", self.stderr);
    }
}

/// Steps between neighbouring stamps, microseconds.
fn steps(series: &Series) -> Vec<i64> {
    series.times().windows(2).map(|it| it[1].micros_since(it[0])).collect()
}

/// Every entry of the ring is there once, with the stamp that the driver gave it.
fn each_once(series: &Series, seconds: i64) {
    let wrong: Vec<i64> = steps(series).into_iter().filter(|it| (it - RING_US).abs() > 2).collect();
    assert!(wrong.is_empty(), "steps that are not {RING_US}: {wrong:?}");
    let expected = seconds * 1_000_000 / RING_US;
    let count = i64::try_from(series.len()).unwrap();
    assert!((expected - 4..=expected + 4).contains(&count), "{count} entries, not {expected}");
}

/// The heights that a trace steps through, each as often as the ring saw it.
fn heights(series: &Series) -> Vec<i64> {
    let mut heights: Vec<i64> = series.values().iter().map(|it| it.round() as i64).collect();
    heights.dedup();
    heights
}

const TRACE: &str = "trace = \"steps.csv\"\nuntil_s = 20\n[[gpu]]\nboard = \"h100\"\n";
const TWO: &str = "scenario = \"steady-30\"\nuntil_s = 20\n[[gpu]]\n[[gpu]]\n";
const MIG: &str = "scenario = \"mig-two-slices\"\nuntil_s = 20\n";

fn ring_is_whole(it: &Recorded) {
    let series = it.device(0, Metric::GpuUtilization);
    each_once(series, 3);
    let seen = heights(series);
    let expected = [10, 40, 70];
    let climbs = expected.iter().all(|height| seen.iter().any(|it| (it - height).abs() <= 1));
    assert!(climbs && seen.is_sorted(), "{seen:?}");
    let processes = it.processes(Metric::GpuUtilization);
    let [(4242, _, own)] = processes[..] else { panic!("processes: {}", processes.len()) };
    // Each sample of the process has a number of its own.
    let numbers: Vec<i64> = own.values().iter().map(|it| *it as i64).collect();
    let expected: Vec<i64> = (numbers[0]..numbers[0] + numbers.len() as i64).collect();
    assert_eq!(numbers, expected, "each once, in order");
    assert!(numbers.len() >= 17, "{} samples", numbers.len());
    assert!(steps(own).iter().all(|it| (it - PROCESS_US).abs() <= 2), "with their own stamps");
}

fn fault(text: &str, scene: &'static str) -> &'static str {
    Box::leak(format!("{scene}\n{text}").into_boxed_str())
}

fn clock(text: &str) -> &'static str {
    Box::leak(format!("{text}\n{TRACE}").into_boxed_str())
}

fn case(name: &'static str, plan: &'static str, seconds: u32, check: fn(&Recorded)) -> Case {
    Case { name, plan, arguments: &[], seconds, check }
}

/// What the driver answers well.
fn scenes() -> Vec<Case> {
    vec![
        case("each-sample-once", TRACE, 3, |it| {
            ring_is_whole(it);
            let clocks = it.device(0, Metric::SmClock);
            assert!(clocks.len() >= 25, "{} looks", clocks.len());
            let memory = it.processes(Metric::FramebufferUsed);
            assert_eq!(memory[0].2.values()[0], 1e9);
            assert!(it.recording().series(&own(), Metric::ObserverMemory).is_some());
            it.device(0, Metric::ObserverInterval);
        }),
        case("monotonic-clock", clock("clock = \"monotonic\""), 3, |it| {
            ring_is_whole(it);
            stands_beside_the_looks(it);
        }),
        case("boottime-clock", clock("clock = \"boottime\""), 3, |it| {
            ring_is_whole(it);
            stands_beside_the_looks(it);
        }),
        case("unknown-clock", clock("clock_offset_ms = 90000000"), 3, |it| {
            it.spot(BlindSpotKind::ClockAssumed, "an unknown clock");
            ring_is_whole(it);
            stands_beside_the_looks(it);
        }),
        case("idle-and-dry", "[[gpu]]\nboard = \"gb10\"\n", 2, |it| {
            let idle = it.device(0, Metric::GpuUtilization);
            assert!(idle.len() >= 2 && idle.values().iter().all(|it| *it == 0.0));
        }),
        case("performance-counters", clock("calls_file = \"calls.json\""), 3, |it| {
            let active = it.device(0, Metric::SmActive);
            assert!(active.len() >= 15, "{}", active.len());
            let close = it.calls.as_ref().and_then(|it| it.get("close_gpm_samples")).cloned();
            assert_eq!(close, Some(serde_json::json!(0)), "{:?}", it.calls);
        }),
        case(
            "announced-error",
            fault("[[event]]\nat_s = 1\nkind = \"xid\"\ndata = 79\n", TRACE),
            3,
            |it| {
                assert_eq!(it.device(0, Metric::Xid).values(), [79.0]);
                it.says("Xid 79");
            },
        ),
        case("instances", MIG, 3, |it| {
            assert!(it.series(0, Metric::GpuUtilization).is_none(), "hidden is not zero");
            it.spot(BlindSpotKind::HiddenByMig, "NVML code 3");
            let active = it.instances(Metric::SmActive);
            assert!(active.len() >= 2, "{} instances", active.len());
            assert!(!it.instances(Metric::FramebufferUsed).is_empty());
        }),
    ]
}

fn own() -> Subject {
    let tenant = cotenant::domain::ident::TenantId::new("cotenant");
    Subject::Tenant { gpu: None, tenant }
}

/// Stamps of rings and of looks are of the same time.
fn stands_beside_the_looks(it: &Recorded) {
    let ring = *it.device(0, Metric::GpuUtilization).times().last().unwrap();
    let look = *it.device(0, Metric::SmClock).times().last().unwrap();
    assert!(look.micros_since(ring).abs() < 1_000_000, "{look:?} {ring:?}");
}

/// What rings do wrong.
fn broken_rings() -> Vec<Case> {
    vec![
        case(
            "unsorted-rows",
            fault("[[fault]]\nkind = \"unsorted_rows\"", TRACE),
            3,
            ring_is_whole,
        ),
        case(
            "repeated-rows",
            fault("[[fault]]\nkind = \"duplicate_rows\"", TRACE),
            3,
            ring_is_whole,
        ),
        case("stale-rows", fault("[[fault]]\nkind = \"stale_rows\"", TRACE), 3, ring_is_whole),
        case("zombie-rows", fault("[[fault]]\nkind = \"zombie_rows\"", TRACE), 3, |it| {
            ring_is_whole(it);
            it.spot(BlindSpotKind::Rejected, "more than 100 %");
            let dropped = it.device(0, Metric::ObserverDropped).values();
            assert!(*dropped.last().unwrap() >= 9.0, "{dropped:?}");
        }),
        case(
            "no-rings",
            fault("[[fault]]\ncall = \"nvmlDeviceGetSamples\"\ncode = \"NOT_SUPPORTED\"", TRACE),
            3,
            |it| assert!(it.device(0, Metric::GpuUtilization).len() >= 25, "polled instead"),
        ),
        case(
            "late-drain",
            fault(
                "[[fault]]\ncall = \"nvmlDeviceGetSamples\"\nfrom_s = 1\nuntil_s = 11.5\ncode = 999",
                TRACE,
            ),
            13,
            |it| {
                it.spot(BlindSpotKind::Gap, "wrapped around");
                let steps = steps(it.device(0, Metric::GpuUtilization));
                assert!(steps.iter().filter(|it| (**it - RING_US).abs() > 2).count() <= 2);
            },
        ),
    ]
}

/// What is refused, for good or in passing.
fn refusals() -> Vec<Case> {
    vec![
        case(
            "not-supported",
            fault(
                "[[fault]]\ncall = \"nvmlDeviceGetTemperature\"\ncode = \"NOT_SUPPORTED\"",
                TRACE,
            ),
            2,
            |it| {
                assert!(it.series(0, Metric::GpuTemperature).is_none(), "never zero");
                let spot = it.spot(BlindSpotKind::NotReported, "nvmlDeviceGetTemperature");
                assert_eq!(spot.metric, Some(Metric::GpuTemperature));
            },
        ),
        case(
            "no-permission",
            fault("[[fault]]\ncall = \"nvmlDeviceGetCompute*\"\ncode = \"NO_PERMISSION\"", TRACE),
            2,
            |it| {
                let spot = it.spot(BlindSpotKind::NotReported, "who is on the device is not seen");
                assert!(spot.remedy.contains("root"), "{}", spot.remedy);
            },
        ),
        case(
            "unknown-error",
            fault(
                "[[fault]]\ncall = \"nvmlDeviceGetClockInfo\"\ncode = \"UNKNOWN\"\nfrom_s = 1\nuntil_s = 2",
                TRACE,
            ),
            4,
            |it| {
                let spot = it.spot(BlindSpotKind::Gap, "nvmlDeviceGetClockInfo failed for a while");
                assert!(spot.span.is_some_and(|it| (0.5..2.5).contains(&it.seconds())));
                assert!(it.device(0, Metric::SmClock).len() >= 15);
                assert!(it.device(0, Metric::FramebufferUsed).len() >= 35, "the others go on");
            },
        ),
        case(
            "unheard-of-code",
            fault("[[fault]]\ncall = \"nvmlDeviceGetBAR1MemoryInfo\"\ncode = 4711", TRACE),
            2,
            |it| {
                it.spot(BlindSpotKind::Gap, "NVML code 4711");
            },
        ),
        case(
            "sentinels",
            fault(
                "[[fault]]\nkind = \"sentinels\"\n[[fault]]\nkind = \"sentinels\"\ncall = \"nvmlDeviceGetClockInfo\"",
                TRACE,
            ),
            2,
            |it| {
                assert!(it.processes(Metric::FramebufferUsed).is_empty(), "all ones are no bytes");
                assert!(it.series(0, Metric::SmClock).is_none());
                it.spot(BlindSpotKind::Rejected, "not available");
            },
        ),
        case("size-race", fault("[[fault]]\nkind = \"insufficient_size_race\"", TRACE), 3, |it| {
            it.spot(BlindSpotKind::Gap, "NVML code 7");
            let looks = it.device(0, Metric::SmClock).len();
            assert!(looks >= 25, "{looks}: the rest goes on: {} {}", it.stderr, it.spots());
        }),
        case("old-driver", clock("driver = \"470.256.02\""), 3, |it| {
            ring_is_whole(it);
            assert!(
                it.device(0, Metric::FramebufferUsed).values()[0] > 0.0,
                "by the older function"
            );
            it.device(0, Metric::ThrottleReasons);
            it.spot(BlindSpotKind::NotReported, "lacks the function");
        }),
        Case {
            arguments: &["--budget", "1%"],
            ..case(
                "dear-call",
                clock("latency_us = { nvmlDeviceGetGraphicsRunningProcesses_v3 = 200000 }"),
                7,
                |it| {
                    it.says("nvmlDeviceGetGraphicsRunningProcesses takes 20");
                    it.spot(BlindSpotKind::TooCoarse, "instead of every 2.00 s");
                    // With the list in every look there would be 23.
                    let looks = it.device(0, Metric::SmClock).len();
                    assert!(looks >= 30, "{looks}: the rest goes on: {} {}", it.stderr, it.spots());
                },
            )
        },
    ]
}

/// What disappears, and what comes back.
fn losses() -> Vec<Case> {
    vec![
        case(
            "gpu-lost",
            fault("[[fault]]\nkind = \"gpu_lost\"\ngpu = 0\nfrom_s = 1\nuntil_s = 2.5", TWO),
            5,
            |it| {
                it.says("the GPU is lost (NVML code 15)");
                it.says("seen again");
                let spot = it.spot(BlindSpotKind::Gap, "the GPU is lost");
                assert!(spot.span.is_some_and(|it| (1.0..3.5).contains(&it.seconds())));
                let longest = |gpu| *steps(it.device(gpu, Metric::SmClock)).iter().max().unwrap();
                assert!(longest(0) > 1_000_000, "{}", longest(0));
                assert!(longest(1) < 1_000_000, "the other goes on: {}", longest(1));
            },
        ),
        case(
            "lost-at-first",
            fault("[[fault]]\nkind = \"gpu_lost\"\ngpu = 0\nuntil_s = 2.5", TWO),
            6,
            |it| {
                it.says("GPU 0: cannot be opened: the GPU is lost");
                assert!(it.device(0, Metric::SmClock).len() > 5, "it came back");
                assert!(
                    it.device(1, Metric::SmClock).len() > 30,
                    "the other is seen from the start"
                );
            },
        ),
        case(
            "driver-replaced",
            fault("[[fault]]\ncall = \"nvmlDevice*\"\ncode = 18\nfrom_s = 1.5", TRACE),
            3,
            |it| {
                assert_eq!(it.code, 0, "{}", it.stderr);
                it.says("different versions (NVML code 18)");
                assert!(it.device(0, Metric::SmClock).len() >= 10, "what was seen stays");
                let spot = it.spot(BlindSpotKind::Gap, "NVML code 18");
                assert!(spot.remedy.contains("reboot"));
            },
        ),
        case(
            "hang",
            fault(
                "[[fault]]\ncall = \"nvmlDeviceGetTemperature\"\ngpu = 0\nhang = true\nfrom_s = 1\nuntil_s = 4",
                TWO,
            ),
            6,
            |it| {
                it.says("has not answered for 2 s; the other GPUs go on");
                let spot = it.spot(BlindSpotKind::Gap, "hung for");
                assert!(spot.span.is_some_and(|it| (1.5..3.6).contains(&it.seconds())));
                let times = it.device(0, Metric::SmClock).times();
                let end = it.device(1, Metric::SmClock).times().last().unwrap();
                assert!(end.micros_since(*times.last().unwrap()) < 500_000, "it is seen again");
                let longest = *steps(it.device(1, Metric::SmClock)).iter().max().unwrap();
                assert!(longest < 1_000_000, "the other goes on: {longest}");
            },
        ),
        case(
            "hang-to-the-end",
            fault(
                "[[fault]]\ncall = \"nvmlDeviceGetTemperature\"\ngpu = 0\nhang = true\nfrom_s = 1\nuntil_s = 1000",
                TWO,
            ),
            4,
            |it| {
                assert_eq!(it.code, 0, "{}", it.stderr);
                it.spot(BlindSpotKind::Gap, "hung to the end");
                assert!(it.device(1, Metric::SmClock).len() >= 35);
                assert!(it.took < Duration::from_secs(12), "{:?}", it.took);
            },
        ),
        case(
            "instance-made-again",
            fault(
                "[[fault]]\nkind = \"mig_recreate\"\ngpu = 0\ngi = 1\nfrom_s = 1.5\ngone_s = 1",
                MIG,
            ),
            6,
            |it| {
                let first = it.instances(Metric::SmActive);
                let generations: Vec<u32> =
                    first.iter().filter(|it| it.0 == 1).map(|it| it.1).collect();
                assert_eq!(generations, [0, 1], "{}", it.stderr);
            },
        ),
        case(
            "process-ends",
            fault(
                "[[process]]\nname = \"x\"\npid = 777\nmemory_mib = 100\n[[fault]]\nkind = \"process_exit\"\nprocess = \"x\"\nfrom_s = 1\nafter_calls = 1",
                TRACE,
            ),
            6,
            |it| {
                let memory = it.processes(Metric::FramebufferUsed);
                let of = |pid| memory.iter().find(|it| it.0 == pid).expect("listed").2;
                let end = of(4242).times().last().unwrap();
                assert!(end.micros_since(*of(777).times().last().unwrap()) > 1_000_000);
            },
        ),
        case(
            "ghost",
            fault(
                "[[process]]\nname = \"x\"\npid = 777\nmemory_mib = 900\n[[fault]]\nkind = \"process_exit\"\nprocess = \"x\"\nfrom_s = 1\nkeeps_memory = true",
                TRACE,
            ),
            8,
            |it| {
                let tenant = TenantId::new("ghost");
                let subject = Subject::Tenant { gpu: Some(it.gpu(0)), tenant };
                let held = it.recording().series(&subject, Metric::FramebufferUsed);
                let held = held.expect("the memory that nobody visible holds").values();
                // The trace has 2 GB in use, of which the process that stays holds one.
                assert_eq!(held.last(), Some(&1e9), "{held:?}");
            },
        ),
        case(
            "id-used-again",
            fault(
                "[[process]]\nname = \"x\"\npid = 777\nmemory_mib = 100\n[[fault]]\nkind = \"pid_reuse\"\nprocess = \"x\"\nfrom_s = 1\ngone_s = 2.5\nname = \"y\"\nmemory_mib = 300",
                TRACE,
            ),
            7,
            |it| {
                let memory = it.processes(Metric::FramebufferUsed);
                let same: Vec<f64> =
                    memory.iter().filter(|it| it.0 == 777).map(|it| it.2.values()[0]).collect();
                assert_eq!(same, [100.0 * 1_048_576.0, 300.0 * 1_048_576.0]);
            },
        ),
    ]
}

/// What keeps a recording from beginning.
fn closed_doors() -> Vec<Case> {
    let closed = |name, plan, check| case(name, plan, 1, check);
    vec![
        closed(
            "no-driver",
            "[[gpu]]\n[[fault]]\ncall = \"nvmlInit*\"\ncode = \"DRIVER_NOT_LOADED\"",
            |it| {
                assert_eq!(it.code, 5, "{}", it.stderr);
                it.says("help: load the driver");
            },
        ),
        closed("replaced-before", "[[gpu]]\n[[fault]]\ncall = \"nvmlInit*\"\ncode = 18", |it| {
            assert_eq!(it.code, 5, "{}", it.stderr);
            it.says("help: the driver was updated: reboot");
        }),
        closed("gpu-closed", "[[gpu]]\n[[gpu]]\n[[fault]]\nkind = \"gpu_lost\"\ngpu = 0", |it| {
            assert_eq!(it.code, 0, "{}", it.stderr);
            it.says("GPU 0: cannot be opened: the GPU is lost");
            it.device(1, Metric::SmClock);
        }),
    ]
}

fn cases() -> Vec<Case> {
    [scenes(), broken_rings(), refusals(), losses(), closed_doors()].into_iter().flatten().collect()
}

/// A recording under way.
struct Running<'a> {
    case: &'a Case,
    folder: PathBuf,
    child: Child,
    began: Instant,
}

fn record(folder: &Path, library: &Path, plan: &Path, arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_cotenant"))
        .args(["record", "-o", "r", "--nvml-library"])
        .arg(library)
        .args(arguments)
        .current_dir(folder)
        .env("COTENANT_NVML_SIM", plan)
        .env("NO_COLOR", "1")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

fn begin<'a>(case: &'a Case, root: &Path) -> Running<'a> {
    let folder = root.join(case.name);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("steps.csv"), trace()).expect("a trace");
    let staged = cotenant_nvml_sim::stage(&folder, case.plan);
    let staged = staged
        .unwrap_or_else(|it| panic!("{}: {it}: {:?}", case.name, std::error::Error::source(&it)));
    let duration = format!("{}s", case.seconds);
    let mut arguments = vec!["--duration", &duration];
    if case.arguments.is_empty() {
        arguments.extend(["--budget", "100%"]);
    }
    arguments.extend(case.arguments);
    let child = record(&folder, &staged.library, &staged.plan, &arguments);
    Running { case, folder, child, began: Instant::now() }
}

fn end(running: Running<'_>) -> (&Case, Recorded) {
    let output: Output = running.child.wait_with_output().expect("it ends");
    let took = running.began.elapsed();
    let path = running.folder.join("r");
    let recording = StoredRecording::open(&path).ok();
    let recording = recording.map(|it| it.load(&Selection::default()).expect("readable"));
    let calls = std::fs::read_to_string(running.folder.join("calls.json")).ok();
    let recorded = Recorded {
        recording,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code().unwrap_or(-1),
        calls: calls.and_then(|it| serde_json::from_str(&it).ok()),
        took,
    };
    (running.case, recorded)
}

/// All cases at once, for they mostly wait; each recording is a program of its own.
#[test]
fn every_scene_and_fault_is_recorded_as_the_page_on_the_sampler_says() {
    let root = tempfile::tempdir().expect("a folder");
    let cases = cases();
    let mut failures = Vec::new();
    for batch in cases.chunks(12) {
        let running: Vec<Running<'_>> = batch.iter().map(|it| begin(it, root.path())).collect();
        for (case, recorded) in running.into_iter().map(end) {
            let checked =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (case.check)(&recorded)));
            if checked.is_err() {
                failures.push(case.name);
            }
        }
    }
    assert!(failures.is_empty(), "cases that failed: {failures:?}");
}

#[test]
fn the_page_on_the_sampler_lists_every_case() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/SAMPLER.md");
    let page = std::fs::read_to_string(page).expect("docs/SAMPLER.md is there");
    let cases = cases();
    let missing: Vec<&str> = cases
        .iter()
        .map(|it| it.name)
        .filter(|it| !page.contains(&format!("| `{it}` |")))
        .collect();
    assert!(missing.is_empty(), "docs/SAMPLER.md lacks {missing:?}");
    assert!(cases.len() >= 20);
}

#[test]
fn old_segments_go_and_each_that_stays_can_be_read_alone() {
    let root = tempfile::tempdir().expect("a folder");
    let arguments = ["--rotate-age", "1s", "--keep", "2", "--duration", "6s"];
    let output = endless(root.path(), &arguments).wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let entries = std::fs::read_dir(root.path().join("r")).expect("a recording").flatten();
    let mut segments: Vec<PathBuf> = entries.map(|it| it.path()).collect();
    segments.sort();
    assert_eq!(segments.len(), 2, "{segments:?}");
    assert!(!segments[0].ends_with("segment-000000.parquet"), "the first is gone");
    for segment in segments {
        let outline = StoredRecording::open(&segment).expect("readable").outline().clone();
        assert_eq!(outline.devices.len(), 2, "{outline:?}");
        assert!(outline.devices[0].model.is_some() && outline.sources.len() == 4);
    }
}

#[test]
fn what_cannot_be_recorded_or_written_is_said_with_the_remedy() {
    let bench = support::Workbench::new();
    bench.file("notes.txt", "hello");
    let closed = bench.run(&["record", "--nvml-library", "nowhere.so", "--duration", "1s"]);
    closed.expect_code(5).expect_stderr("cannot load the driver's library nowhere.so");
    closed.expect_stderr("help: install the NVIDIA driver");
    for (option, value, part) in [
        ("--interval", "1ms", "from 20ms to 1m"),
        ("--budget", "2", "no share above 0%"),
        ("--rotate-size", "1GB", "no size from 64KB to 256MB"),
        ("--duration", "soon", "no length of time"),
    ] {
        bench.run(&["record", option, value]).expect_code(2).expect_stderr(part);
    }
    let plan = bench.file("plan.toml", "scenario = \"steady-30\"\nuntil_s = 9\n");
    let library = cotenant_nvml_sim::library().expect("built");
    let blocked = record(bench.path(".").as_path(), &library, &plan, &["-o", "notes.txt/r"]);
    let blocked = blocked.wait_with_output().expect("it ends");
    assert_eq!(blocked.status.code(), Some(2), "-o twice is wrong usage");
    let output = Command::new(env!("CARGO_BIN_EXE_cotenant"))
        .args(["record", "-o", "notes.txt/r", "--gpu", "0", "--nvml-library"])
        .arg(&library)
        .current_dir(bench.path("."))
        .env("COTENANT_NVML_SIM", &plan)
        .output()
        .expect("the program starts");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("notes.txt/r: creating the folder failed"), "{stderr}");
}

#[test]
fn a_gpu_is_named_by_how_its_uuid_begins_where_that_means_one() {
    let root = tempfile::tempdir().expect("a folder");
    let two = "scenario = \"steady-30\"\nuntil_s = 9\n[[gpu]]\nuuid = \"GPU-aa1\"\n[[gpu]]\nuuid = \"GPU-ab2\"\n";
    std::fs::write(root.path().join("plan.toml"), two).expect("a plan");
    let end = |name: &str| {
        let arguments = ["--gpu", name, "--duration", "1s"];
        let output = endless(root.path(), &arguments).wait_with_output().expect("it ends");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, stderr) = end("gpu-a");
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("2 GPUs are called `gpu-a...`"), "{stderr}");
    assert!(stderr.contains("help: GPUs of this host: 0 (GPU-aa1), 1 (GPU-ab2)"), "{stderr}");
    let (code, stderr) = end("gpu-ab");
    assert_eq!(code, Some(0), "{stderr}");
    let recorded = StoredRecording::open(&root.path().join("r")).expect("readable");
    let devices = &recorded.outline().devices;
    assert_eq!(devices.len(), 1);
    assert_eq!(devices[0].gpu, GpuId::new("GPU-ab2"));
}

#[test]
fn the_doctor_names_each_check_and_its_fix() {
    let root = tempfile::tempdir().expect("a folder");
    let examine = |plan: &str| -> (Option<i32>, serde_json::Value) {
        let path = root.path().join("plan.toml");
        std::fs::write(&path, plan).expect("a plan");
        let output = Command::new(env!("CARGO_BIN_EXE_cotenant"))
            .args(["doctor", "-o", "json", "--nvml-library"])
            .arg(cotenant_nvml_sim::library().expect("built"))
            .env("COTENANT_NVML_SIM", &path)
            .output()
            .expect("the program starts");
        let document = serde_json::from_slice(&output.stdout).expect("JSON");
        (output.status.code(), document)
    };
    let verdict = |document: &serde_json::Value, id: &str| -> String {
        let checks = document["checks"].as_array().expect("a list");
        let found = checks.iter().find(|it| it["id"] == id);
        found
            .map_or("absent".to_owned(), |it| it["verdict"].as_str().unwrap_or_default().to_owned())
    };
    let (_, fine) = examine("[[gpu]]\nboard = \"h100\"\n");
    for id in ["library", "devices", "process-list", "process-utilisation", "performance-counters"]
    {
        assert_eq!(verdict(&fine, id), "ok", "{id}: {fine}");
    }
    let (code, old) = examine("[[gpu]]\nboard = \"a100-40\"\nmig = [\"3g.20gb\"]\n");
    assert_eq!(code, Some(1), "{old}");
    for id in ["performance-counters", "mig", "process-utilisation"] {
        assert_eq!(verdict(&old, id), "warn", "{id}: {old}");
    }
    let (code, gone) = examine("[[gpu]]\n[[fault]]\ncall = \"nvmlInit*\"\ncode = 18\n");
    assert_eq!((code, verdict(&gone, "library").as_str()), (Some(2), "fail"), "{gone}");
    assert!(gone["checks"][0]["fix"].as_str().is_some_and(|it| it.contains("reboot")));
}
