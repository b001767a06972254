//! A wall clock that is set and a host that sleeps, under every clock that a driver may stamp with.
//!
//! The recorder is given a clock that jumps. The simulated driver does not jump along; where a case
//! needs a driver that does, its stamps are moved on the way.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use cotenant::domain::blind_spot::BlindSpotKind;
use cotenant::domain::collector::Collector;
use cotenant::domain::ident::Subject;
use cotenant::domain::metric::Metric;
use cotenant::domain::recording::Recording;
use cotenant::domain::series::Series;
use cotenant::domain::source::SourceId;
use cotenant::sampler::clock::{Clock, HostClock, Moment};
use cotenant::sampler::nvml::Library;
use cotenant::sampler::source::{
    EventSource, FoundInstance, GpuHost, GpuSource, Identity, ListedProcess, Part, ProcessList,
    ProcessSample, Question, Refusal, Reply, Ring, RingSample,
};
use cotenant::sampler::tenants::{Resolver, Rules};
use cotenant::sampler::{Audience, Notice, Plan, Status, services};
use std::path::Path;
use std::sync::Arc;
use support::steps::{PROCESS_US, RING_US, trace};

const SECOND_US: i64 = 1_000_000;
/// The clocks jump so long after the begin.
const JUMP_AFTER_US: i64 = 2 * SECOND_US;
/// So long that nothing from before the jump is left in a ring of ten seconds.
const RECORDED_US: i64 = 13 * SECOND_US;
/// The recorder notices a jump after so long, and cannot tell on which side a sample in between was.
const LOOK_US: i64 = SECOND_US / 2;
/// A process that began shortly before, so that a clock that is set back puts its begin into the future.
const PID: u32 = 4242;

/// What happens to the clocks, by so many milliseconds.
#[derive(Debug, Clone, Copy)]
enum Jump {
    Set(i64),
    Sleep(i64),
}

impl Jump {
    fn by_us(self) -> i64 {
        let (Self::Set(by_ms) | Self::Sleep(by_ms)) = self;
        by_ms * 1000
    }

    fn words(self) -> String {
        let seconds = self.by_us() as f64 / 1e6;
        match self {
            Self::Set(_) => format!("the wall clock was set by {seconds:.1} s"),
            Self::Sleep(_) => format!("the host slept for {seconds:.1} s"),
        }
    }
}

/// The clocks of the host until they jump.
#[derive(Debug, Clone, Copy)]
struct JumpingClock {
    at: Moment,
    jump: Jump,
}

impl Clock for JumpingClock {
    fn now(&self) -> Moment {
        let now = HostClock.now();
        if now.monotonic_us < self.at.monotonic_us {
            return now;
        }
        let slept_us = if let Jump::Sleep(_) = self.jump { self.jump.by_us() } else { 0 };
        Moment {
            realtime_us: now.realtime_us + self.jump.by_us(),
            boottime_us: now.boottime_us + slept_us,
            ..now
        }
    }

    fn sleep_until(&self, monotonic_us: i64) {
        HostClock.sleep_until(monotonic_us);
    }
}

/// A driver whose clock jumps along: stamps from this one on are moved.
#[derive(Debug, Clone, Copy)]
struct Along {
    from_us: u64,
    by_us: i64,
}

impl Along {
    fn moved(self, stamp_us: u64) -> u64 {
        match stamp_us >= self.from_us {
            true => stamp_us.saturating_add_signed(self.by_us),
            false => stamp_us,
        }
    }
}

struct MovedHost {
    library: Library,
    along: Option<Along>,
}

impl GpuHost for MovedHost {
    fn driver(&self) -> Option<String> {
        self.library.driver()
    }

    fn open(&self, identity: &Identity) -> Result<Box<dyn GpuSource>, Refusal> {
        let source = self.library.open(identity)?;
        Ok(match self.along {
            Some(along) => Box::new(Moved { source, along }),
            None => source,
        })
    }
}

struct Moved {
    source: Box<dyn GpuSource>,
    along: Along,
}

impl GpuSource for Moved {
    fn identity(&self) -> &Identity {
        self.source.identity()
    }

    fn ask(&mut self, question: Question, replies: &mut Vec<Reply>) -> Result<(), Refusal> {
        self.source.ask(question, replies)
    }

    fn ring(
        &mut self,
        ring: Ring,
        after_us: u64,
        samples: &mut Vec<RingSample>,
    ) -> Result<(), Refusal> {
        let mut all = Vec::new();
        self.source.ring(ring, 0, &mut all)?;
        let moved = |it: RingSample| RingSample { stamp_us: self.along.moved(it.stamp_us), ..it };
        samples.extend(all.into_iter().map(moved).filter(|it| it.stamp_us > after_us));
        Ok(())
    }

    fn process_ring(
        &mut self,
        after_us: u64,
        samples: &mut Vec<ProcessSample>,
    ) -> Result<(), Refusal> {
        let mut all = Vec::new();
        self.source.process_ring(0, &mut all)?;
        let moved =
            |it: ProcessSample| ProcessSample { stamp_us: self.along.moved(it.stamp_us), ..it };
        samples.extend(all.into_iter().map(moved).filter(|it| it.stamp_us > after_us));
        Ok(())
    }

    fn processes(
        &mut self,
        list: ProcessList,
        found: &mut Vec<ListedProcess>,
    ) -> Result<(), Refusal> {
        self.source.processes(list, found)
    }

    fn instances(&mut self, found: &mut Vec<FoundInstance>) -> Result<(), Refusal> {
        self.source.instances(found)
    }

    fn counters(&mut self, part: Part, replies: &mut Vec<Reply>) -> Result<(), Refusal> {
        self.source.counters(part, replies)
    }

    fn forget_counters(&mut self, part: Part) {
        self.source.forget_counters(part);
    }

    fn events(&mut self) -> Result<Box<dyn EventSource>, Refusal> {
        self.source.events()
    }

    fn process_name(&mut self, pid: u32) -> Option<String> {
        self.source.process_name(pid)
    }

    fn is_persistent(&mut self) -> Result<bool, Refusal> {
        self.source.is_persistent()
    }
}

struct Nobody;

impl Audience for Nobody {
    fn notice(&mut self, _: &Notice) {}
    fn status(&mut self, _: &Status) {}
    fn is_over(&mut self) -> bool {
        false
    }
}

/// A driver, and what happens to the clocks of its host.
#[derive(Debug, Clone, Copy)]
struct Case {
    /// The clock that the driver stamps with.
    clock: &'static str,
    jump: Jump,
    /// Whether the driver's clock jumps along.
    is_along: bool,
    /// The clock that a blind spot names, where it is not the wall clock.
    assumed: Option<&'static str>,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    // No multiple of the time between two samples, so that no two of them share a stamp.
    for by_ms in [-3_600_000, -4_100, 4_100, 3_600_000] {
        let jump = Jump::Set(by_ms);
        let left = Some("a wall clock that did not jump along");
        cases.push(Case { clock: "wall", jump, is_along: true, assumed: None });
        cases.push(Case { clock: "wall", jump, is_along: false, assumed: left });
        cases.push(Case { clock: "monotonic", jump, is_along: false, assumed: Some("CLOCK_") });
        cases.push(Case { clock: "boottime", jump, is_along: false, assumed: Some("CLOCK_") });
    }
    for by_ms in [4_100, 60_000] {
        let jump = Jump::Sleep(by_ms);
        let (still, asleep) = (Some("CLOCK_MONOTONIC"), Some("CLOCK_BOOTTIME"));
        cases.push(Case { clock: "wall", jump, is_along: true, assumed: None });
        cases.push(Case { clock: "monotonic", jump, is_along: false, assumed: still });
        cases.push(Case { clock: "boottime", jump, is_along: true, assumed: asleep });
    }
    cases
}

/// A `/proc` in which the process began a hundred seconds ago.
fn make_proc(root: &Path, now: Moment) {
    let file = |name: &str, text: String| {
        let path = root.join("proc").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    file("stat", format!("cpu 1\nbtime {}\n", now.realtime_us / SECOND_US - 1000));
    file("2/comm", "kthreadd\n".to_owned());
    let rest = "0 ".repeat(18);
    file(&format!("{PID}/stat"), format!("{PID} (serve) S {rest}{} 0 0", 900 * 100));
}

/// What a case left: the recording, when the clocks jumped, and what they showed at the end.
fn play(case: Case, folder: &Path) -> (Recording, Moment, Moment) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("steps.csv"), trace()).unwrap();
    let plan = format!(
        "clock = \"{}\"\ntrace = \"steps.csv\"\nuntil_s = 20\n[[gpu]]\nboard = \"h100\"\n",
        case.clock
    );
    let staged = cotenant_nvml_sim::stage(folder, &plan).unwrap();
    let library = Library::open(Some(&staged.library)).unwrap();
    let plan = Plan {
        gpus: library.gpus.clone(),
        unreachable: Vec::new(),
        interval_us: 100_000,
        duration_us: Some(RECORDED_US),
        budget: 1.0,
        first_source: SourceId(0),
        root: folder.to_owned(),
        host_name: None,
    };
    let now = HostClock.now();
    make_proc(folder, now);
    let later = |us: i64| us + JUMP_AFTER_US;
    let at = Moment {
        monotonic_us: later(now.monotonic_us),
        boottime_us: later(now.boottime_us),
        realtime_us: later(now.realtime_us),
    };
    let stamped_us = if case.clock == "wall" { at.realtime_us } else { at.boottime_us };
    let along = Along { from_us: u64::try_from(stamped_us).unwrap(), by_us: case.jump.by_us() };
    let along = case.is_along.then_some(along);
    let host: Arc<dyn GpuHost> = Arc::new(MovedHost { library, along });
    let clock: Arc<dyn Clock> = Arc::new(JumpingClock { at, jump: case.jump });
    let mut tenants = Resolver::new(folder, Rules::default());
    let (_sender, services) = services::channel();
    let mut sink = Collector::new();
    let outcome = cotenant::sampler::run(
        &host,
        &clock,
        &plan,
        &mut tenants,
        &services,
        &mut sink,
        &mut Nobody,
    );
    outcome.unwrap();
    (sink.into_recording(), at, clock.now())
}

/// How far the stamp that is nearest to this moment is from it, seconds.
fn distance_s(series: &Series, moment: Moment) -> f64 {
    let distances = series.times().iter().map(|it| (it.as_micros() - moment.realtime_us).abs());
    distances.min().unwrap() as f64 / 1e6
}

/// Each numbered sample has the time at which it was taken, by the wall clock of then.
fn expect_numbers(own: &Series, at: Moment, by_us: i64) {
    let mut numbered: Vec<(i64, i64)> =
        own.values().iter().zip(own.times()).map(|(n, at)| (*n as i64, at.as_micros())).collect();
    numbered.sort_unstable();
    let (first, first_us) = numbered[0];
    for (number, us) in &numbered {
        let taken_us = first_us + (number - first) * PROCESS_US;
        let is_near = |expected_us: i64| (us - expected_us).abs() < 10_000;
        let passed_us = taken_us - at.realtime_us;
        let (was_before, was_after) = (passed_us < 0, passed_us >= -LOOK_US);
        assert!(
            (was_before && is_near(taken_us)) || (was_after && is_near(taken_us + by_us)),
            "sample {number}, {passed_us} us after the jump, is {} us off",
            us - taken_us
        );
    }
    let steps: Vec<i64> = numbered.windows(2).map(|it| it[1].0 - it[0].0).collect();
    assert!(!steps.contains(&0), "samples that came twice: {numbered:?}");
    let holes: Vec<i64> = steps.into_iter().filter(|it| *it > 1).collect();
    assert!(holes.len() <= 1 && holes.iter().all(|it| it * PROCESS_US < SECOND_US), "{numbered:?}");
    let last_us = first_us + (numbered[numbered.len() - 1].0 - first) * PROCESS_US;
    let seen_us = last_us - at.realtime_us;
    assert!(seen_us > RECORDED_US - JUMP_AFTER_US - SECOND_US, "nothing after {seen_us} us");
}

fn check(case: Case, recording: &Recording, at: Moment, end: Moment) {
    let spots = || recording.outline.blind_spots.iter();
    let said = || spots().map(|it| format!("\n{:?} {}", it.kind, it.detail)).collect::<String>();
    let has = |kind, part: &str| spots().any(|it| it.kind == kind && it.detail.contains(part));
    assert!(has(BlindSpotKind::Gap, &case.jump.words()), "{}", said());
    let assumed = case.assumed.unwrap_or("stamps its samples with");
    assert_eq!(has(BlindSpotKind::ClockAssumed, assumed), case.assumed.is_some(), "{}", said());
    let device = Subject::device(&recording.outline.devices[0].gpu);
    let (by_us, seconds) = (case.jump.by_us(), RECORDED_US / SECOND_US);
    for (metric, period_us) in [
        (Metric::SmClock, 100_000),
        (Metric::GpuUtilization, RING_US),
        (Metric::MemoryUtilization, RING_US),
    ] {
        let series = recording.series(&device, metric).unwrap();
        let is_at = |from_us: i64, until_us: i64| {
            move |us: i64| (from_us - SECOND_US..until_us + SECOND_US).contains(&us)
        };
        let before = is_at(at.realtime_us - JUMP_AFTER_US, at.realtime_us);
        let after = is_at(at.realtime_us + by_us, end.realtime_us);
        let astray = series.times().iter().map(|it| it.as_micros());
        let astray: Vec<i64> = astray.filter(|it| !before(*it) && !after(*it)).collect();
        assert!(astray.is_empty(), "{}: {astray:?}", metric.key());
        assert!(distance_s(series, end) < 1.0, "{}: {}", metric.key(), distance_s(series, end));
        // A second may go with the jump, and some looks with a busy machine; none may be there twice.
        let most = seconds * SECOND_US / period_us + 3;
        let count = i64::try_from(series.len()).unwrap();
        assert!((most * 3 / 4..=most).contains(&count), "{}: {count} of {most}", metric.key());
    }
    let is_process = |it: &&Subject| matches!(it, Subject::Process { .. });
    let processes: Vec<&Subject> = recording.traces.keys().filter(is_process).collect();
    let [Subject::Process { process, .. }] = processes[..] else { panic!("{processes:?}") };
    assert!(process.pid == PID && process.started.is_some(), "{process:?}");
    let own = recording.series(processes[0], Metric::GpuUtilization).unwrap();
    expect_numbers(own, at, by_us);
}

/// All cases at once, for they mostly wait.
#[test]
fn clock_jumps() {
    let root = tempfile::tempdir().unwrap();
    let cases = cases();
    let failed: Vec<Case> = std::thread::scope(|scope| {
        let begin = |(place, case): (usize, &Case)| {
            let (case, folder) = (*case, root.path().join(place.to_string()));
            let judged = move || {
                let (recording, at, end) = play(case, &folder);
                check(case, &recording, at, end);
            };
            (case, scope.spawn(judged))
        };
        let threads: Vec<_> = cases.iter().enumerate().map(begin).collect();
        threads.into_iter().filter_map(|(case, it)| it.join().is_err().then_some(case)).collect()
    });
    assert!(failed.is_empty(), "cases that failed: {failed:#?}");
}
