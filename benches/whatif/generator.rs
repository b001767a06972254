//! Pairs of which the generator knows the truth: recorded alone, predicted, and then played together.

use cotenant::colocation::demand::{Demand, Spread};
use cotenant::colocation::observed::Sitting;
use cotenant::colocation::power::PowerCap;
use cotenant::colocation::range::Range;
use cotenant::colocation::share::{Mechanism, Slice};
use cotenant::colocation::whatif::{Options, Seat, TenantPrediction, predict};
use cotenant::domain::collector::Collector;
use cotenant::domain::ident::{GpuId, Subject, TenantId};
use cotenant::domain::metric::Metric;
use cotenant::domain::recording::Recording;
use cotenant::domain::sink::{Fact, Sink};
use cotenant::domain::source::{Reading, Source, SourceId};
use cotenant::domain::time::{SampleInterval, Timestamp};
use cotenant_scenario::{Quantity, Row, RowSubject, Scenario, generate};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt::Write;

/// Length of every recording and play, seconds.
const SECONDS: f64 = 900.0;
/// Power of a board on which nothing runs, W.
const IDLE_W: f64 = 70.0;

/// The mechanisms that are played.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Mps,
    TimeSlicing,
    Mig,
}

/// A pair: the text of a scenario without its board and with, and what a person would know of the board.
pub(crate) struct World {
    kind: Kind,
    seed: u64,
    /// Tenant tables of the text, the victim first.
    tenants: [String; 2],
    names: [&'static str; 2],
    sharing: String,
    mechanism: Mechanism,
    slices: [Option<Slice>; 2],
    cap_w: f64,
    /// Whether the recorder has performance counters.
    is_profiled: bool,
}

/// A prediction beside what was played.
pub(crate) struct Trial {
    pub(crate) predicted: TenantPrediction,
    pub(crate) played_p99: f64,
    pub(crate) is_profiled: bool,
    /// What one would say without a model: 1, u₁+u₂, 1+u₂.
    pub(crate) simple: [f64; 3],
}

impl World {
    /// A random pair: the victim answers requests, the other is a burst job, a stream, a trainer or a server.
    pub(crate) fn random(kind: Kind, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed.wrapping_mul(31) + kind as u64);
        let (tenants, powers_w) = loads(&mut rng);
        let is_capped = rng.random_bool(0.25);
        let cap_w = if is_capped { IDLE_W + 0.8 * (powers_w[0] + powers_w[1]) } else { 1_000.0 };
        let is_profiled = rng.random_bool(0.7);
        let (sharing, mechanism, slices) = shared(kind, &mut rng);
        World {
            kind,
            seed,
            tenants,
            names: ["victim", "other"],
            sharing,
            mechanism,
            slices,
            cap_w,
            is_profiled,
        }
    }

    /// One of the rows of the table of burst lengths: 20 ms requests, 5 a second, beside one that is busy 30 % of the time.
    pub(crate) fn burst_row(kind: Kind, on_ms: f64, seed: u64) -> Self {
        let mut world = Self::random(kind, seed);
        let body =
            |load: String| format!("width = 1.0\nbandwidth = 0.1\npower_w = 100\nload = {load}\n");
        world.tenants = [
            body("{ server = { per_second = 5, work_ms = 20, vary = \"fixed\" } }".to_owned()),
            body(format!(
                "{{ on-off = {{ on_ms = {on_ms}, off_ms = {}, vary = \"exponential\" }} }}",
                on_ms * 7.0 / 3.0
            )),
        ];
        (world.cap_w, world.is_profiled) = (1_000.0, true);
        match kind {
            Kind::Mps => {
                world.sharing = "{ mps = { floor = 0.0 } }".to_owned();
                world.mechanism = Mechanism::Mps { floor: Range::exact(0.0) };
            }
            _ => {
                world.sharing = "{ time-slicing = { quantum_ms = 2, switch_ms = 0.2 } }".to_owned();
                world.mechanism = Mechanism::TimeSlicing {
                    quantum_s: Range::exact(2e-3),
                    switch_s: Range::exact(0.2e-3),
                };
            }
        }
        world
    }

    fn scenario(&self, sharing: &str, who: &[usize], observe: &str, seconds: f64) -> Scenario {
        let mut text = format!(
            "name = \"pair\"\ndescription = \"A random pair.\"\nseed = {}\nduration_s = {seconds}\ncounterfactuals = false\n{observe}\n\
             [[devices]]\nname = \"NVIDIA H100 80GB HBM3\"\nsms = 132\nmemory_mib = 81559\nidle_w = {IDLE_W}\ncap_w = {}\n\
             sm_clock_mhz = 1980\nmem_clock_mhz = 2619\nprofiling = {}\nsharing = {sharing}\n",
            self.seed, self.cap_w, self.is_profiled
        );
        for place in who {
            let instance = match self.kind == Kind::Mig && sharing.contains("mig") {
                true => format!("instance = {place}\n"),
                false => String::new(),
            };
            write!(
                text,
                "[[tenants]]\nname = \"{}\"\ndevice = 0\n{instance}{}",
                self.names[*place], self.tenants[*place]
            )
            .expect("a string takes it");
        }
        Scenario::from_toml(&text).unwrap_or_else(|it| panic!("{it}\n{text}"))
    }

    /// The tenants of [`World::burst_row`] from plain numbers.
    pub(crate) fn stated(on_ms: f64) -> [Demand; 2] {
        let victim = Demand::requests("victim", 5.0, (0.02, Spread::Fixed), 3600.0);
        let other = Demand::bursts("other", 0.3, (on_ms / 1e3, Spread::Exponential), 3600.0);
        [victim, other].map(|it| it.expect("the numbers are positive").wide(1.0, 0.1))
    }

    /// A tenant recorded alone at 10 Hz, with a service that counts by the second.
    pub(crate) fn recorded(&self, place: usize) -> Demand {
        let observe = "[observe]\nstride_ms = 100\nwindow_ms = 100\nprocesses = false\n";
        let scenario = self.scenario("\"exclusive\"", &[place], observe, SECONDS);
        let recording = recording(&scenario);
        let gpu = GpuId::from_index(0);
        let tenant = TenantId::new(self.names[place]);
        let sitting = Sitting { gpu: &gpu, tenant: &tenant, is_alone: true, idle_w: Some(IDLE_W) };
        Demand::recorded(&recording, sitting).expect("the GPU was watched")
    }

    /// The p99 of the victim's requests over a whole play, seconds.
    fn played_p99(&self, sharing: &str, who: &[usize], seconds: f64) -> f64 {
        let observe = format!(
            "[observe]\nstride_ms = 1000\nwindow_ms = 1000\nprocesses = false\nservice_bin_ms = {}\n",
            seconds * 1e3
        );
        let mut p99 = f64::NAN;
        let scenario = self.scenario(sharing, who, &observe, seconds);
        generate(&scenario, &mut |row: &Row| {
            let is_victim = matches!(row.subject, RowSubject::Tenant { tenant: 0, .. });
            if let (true, Some(it)) = (is_victim, row.get(Quantity::LatencyP99Seconds)) {
                p99 = it;
            }
        })
        .expect("the scenario was checked");
        p99
    }

    /// Slowdown of the victim's p99 when both are played.
    pub(crate) fn played(&self, seconds: f64) -> f64 {
        self.played_p99(&self.sharing, &[0, 1], seconds)
            / self.played_p99("\"exclusive\"", &[0], seconds)
    }

    pub(crate) fn predicted(&self, demands: &[Demand; 2]) -> TenantPrediction {
        let seat = |place: usize| Seat { slice: self.slices[place], ..Seat::of(&demands[place]) };
        let power = (self.cap_w < 900.0).then(|| PowerCap::new(IDLE_W, self.cap_w));
        // Under MIG the generator gives out the whole peak by slices; of a real device this would be measured.
        let attainable_bandwidth = if self.kind == Kind::Mig { 1.0 } else { 0.9 };
        let options = Options { power, attainable_bandwidth, ..Options::default() };
        let mut prediction = predict(&[seat(0), seat(1)], self.mechanism, &options);
        prediction.tenants.swap_remove(0)
    }

    /// Recorded alone, predicted, played together.
    pub(crate) fn trial(&self) -> Trial {
        let demands = [self.recorded(0), self.recorded(1)];
        let [own, other] = [demands[0].busy_share(), demands[1].busy_share()];
        Trial {
            predicted: self.predicted(&demands),
            played_p99: self.played(SECONDS),
            is_profiled: self.is_profiled,
            simple: [1.0, (own + other).max(1.0), 1.0 + other],
        }
    }
}

/// Tables of a random server and of a random neighbour, and the power of both over idle, W.
fn loads(rng: &mut ChaCha8Rng) -> ([String; 2], [f64; 2]) {
    let mut log = |low: f64, high: f64| (rng.random_range(low.ln()..high.ln())).exp();
    let work_ms = log(3.0, 60.0);
    let per_second = (log(0.05, 0.4) * 1e3 / work_ms).min(80.0);
    let (on_ms, busy_ms, compute_ms) = (log(3.0, 5_000.0), log(1.0, 10.0), log(20.0, 400.0));
    let other_work_ms = log(3.0, 60.0);
    let spread = rng.random_range(0.0..0.6);
    let host_ms = rng.random_range(0.0..10.0);
    let body = |load: String, rng: &mut ChaCha8Rng| {
        let (width, bandwidth) = (rng.random_range(0.3..1.0), rng.random_range(0.1..0.7));
        let power = rng.random_range(100.0..330.0);
        (
            format!("width = {width}\nbandwidth = {bandwidth}\npower_w = {power}\nload = {load}\n"),
            power,
        )
    };
    let victim = format!(
        "{{ server = {{ per_second = {per_second}, work_ms = {work_ms}, vary = {{ lognormal = {spread} }}, host_ms = {host_ms} }} }}"
    );
    let (victim, victim_w) = body(victim, rng);
    let duty = rng.random_range(0.1..0.6);
    let vary = ["\"fixed\"", "\"exponential\"", "{ lognormal = 0.5 }"][rng.random_range(0..3)];
    let load = match rng.random_range(0..6) {
        0 => {
            format!("{{ steady = {{ busy_ms = {busy_ms}, period_ms = {} }} }}", busy_ms / duty)
        }
        1 => format!(
            "{{ trainer = {{ compute_ms = {compute_ms}, pause_ms = {}, vary = {{ jitter = 0.1 }} }} }}",
            compute_ms * rng.random_range(0.05..0.6)
        ),
        2 => format!(
            "{{ server = {{ per_second = {}, work_ms = {other_work_ms}, vary = {{ lognormal = 0.3 }} }} }}",
            duty * 1e3 / other_work_ms * 0.7
        ),
        _ => format!(
            "{{ on-off = {{ on_ms = {on_ms}, off_ms = {}, vary = {vary} }} }}",
            on_ms * (1.0 - duty) / duty
        ),
    };
    let (other, other_w) = body(load, rng);
    ([victim, other], [victim_w, other_w])
}

/// A random board of a kind: its text, what a person would know of it, and the slices.
fn shared(kind: Kind, rng: &mut ChaCha8Rng) -> (String, Mechanism, [Option<Slice>; 2]) {
    let floor = rng.random_range(0.05..0.13);
    let quantum_ms: f64 = [1.0, 2.0, 4.0][rng.random_range(0..3)];
    let switch_ms = quantum_ms * rng.random_range(0.05..0.15);
    let layout =
        [[(4, 4), (3, 4)], [(3, 4), (4, 4)], [(3, 4), (3, 4)], [(4, 4), (2, 2)], [(2, 2), (4, 4)]]
            [rng.random_range(0..5)];
    match kind {
        Kind::Mps => (format!("{{ mps = {{ floor = {floor} }} }}"), Mechanism::mps(), [None; 2]),
        Kind::TimeSlicing => (
            format!(
                "{{ time-slicing = {{ quantum_ms = {quantum_ms}, switch_ms = {switch_ms} }} }}"
            ),
            Mechanism::TimeSlicing {
                quantum_s: Range::exact(quantum_ms / 1e3),
                switch_s: Range::exact(switch_ms / 1e3),
            },
            [None; 2],
        ),
        Kind::Mig => {
            let instance = |(g, m): (u32, u32)| {
                format!(
                    "{{ profile = \"{g}g\", compute_slices = {g}, memory_slices = {m}, memory_mib = 20000 }}"
                )
            };
            let slice =
                |(compute_slices, memory_slices)| Some(Slice { compute_slices, memory_slices });
            (
                format!(
                    "{{ mig = {{ instances = [{}, {}] }} }}",
                    instance(layout[0]),
                    instance(layout[1])
                ),
                Mechanism::Mig,
                layout.map(slice),
            )
        }
    }
}

/// A played scenario as a recording: what a sampler would have written.
fn recording(scenario: &Scenario) -> Recording {
    let mut collector = Collector::new();
    let window = SampleInterval::from_micros((scenario.observe.window_ms * 1e3) as u64);
    let averaged =
        [Metric::GpuUtilization, Metric::MemoryUtilization, Metric::SmActive, Metric::DramActive];
    let source = Source {
        id: SourceId(0),
        format: "scenario".to_owned(),
        tool: "cotenant-scenario".to_owned(),
        tool_version: None,
        file: None,
        asked_interval: window,
        clock: "UTC".to_owned(),
        readings: averaged.into_iter().map(|it| (it, Reading::WindowAverage { window })).collect(),
    };
    collector.fact(Fact::Source(source)).expect("memory takes it");
    let gpu = GpuId::from_index(0);
    let mut readings = Vec::new();
    generate(scenario, &mut |row: &Row| {
        let subject = match row.subject {
            RowSubject::Device { .. } => Subject::device(&gpu),
            RowSubject::Tenant { tenant, .. } => Subject::Tenant {
                gpu: Some(gpu.clone()),
                tenant: TenantId::new(scenario.tenants[tenant].name.clone()),
            },
            _ => return,
        };
        readings.clear();
        readings.extend(
            row.values.iter().filter_map(|(quantity, value)| Some((metric(*quantity)?, *value))),
        );
        let at = Timestamp::from_micros(row.time_us);
        collector.row(at, &subject, SourceId(0), &readings).expect("memory takes it");
    })
    .expect("the scenario was checked");
    collector.into_recording()
}

fn metric(quantity: Quantity) -> Option<Metric> {
    Some(match quantity {
        Quantity::GpuUtilPercent => Metric::GpuUtilization,
        Quantity::MemUtilPercent => Metric::MemoryUtilization,
        Quantity::SmActiveRatio => Metric::SmActive,
        Quantity::DramActiveRatio => Metric::DramActive,
        Quantity::FbUsedBytes => Metric::FramebufferUsed,
        Quantity::PowerMilliwatts => Metric::Power,
        Quantity::LatencyMeanSeconds => Metric::LatencyMean,
        Quantity::LatencyP50Seconds => Metric::LatencyP50,
        Quantity::LatencyP95Seconds => Metric::LatencyP95,
        Quantity::LatencyP99Seconds => Metric::LatencyP99,
        Quantity::RequestsPerSecond => Metric::Throughput,
        Quantity::OfferedRequestsPerSecond => Metric::OfferedLoad,
        Quantity::IterationsPerSecond => Metric::IterationRate,
        _ => return None,
    })
}
