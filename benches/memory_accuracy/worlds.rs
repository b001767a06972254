//! Tenants whose memory spikes, played on a board of known size; what a recording shows of them, and the truth.

use cotenant::domain::collector::Collector;
use cotenant::domain::ident::{GpuId, ProcessKey, Subject, TenantId};
use cotenant::domain::metric::Metric;
use cotenant::domain::outline::{Device, Process};
use cotenant::domain::recording::Recording;
use cotenant::domain::sink::{Fact, Sink};
use cotenant::domain::source::SourceId;
use cotenant::domain::time::Timestamp;
use cotenant_scenario::{OutOfMemory, Quantity, RowSubject, Scenario, Summary};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt::Write;

/// Bytes of a mebibyte.
pub(crate) const MIB: f64 = 1_048_576.0;

/// One tenant: a base, and spikes on a clock of its own.
#[derive(Debug, Clone)]
pub(crate) struct Spiker {
    /// Always held, MiB.
    pub(crate) base_mib: f64,
    /// On top now and then, MiB.
    pub(crate) spike_mib: f64,
    hold_s: f64,
    every_s: f64,
    vary: &'static str,
}

/// Tenants and the board that they share.
#[derive(Debug, Clone)]
pub(crate) struct World {
    /// The tenants, `t0` first.
    pub(crate) tenants: Vec<Spiker>,
    /// Memory of the board, MiB.
    pub(crate) room_mib: f64,
}

/// How a board is looked at: time between two looks at the device and at its tenants, ms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    /// At the device.
    pub(crate) device_ms: f64,
    /// At its tenants.
    pub(crate) tenants_ms: f64,
}

/// Ten looks a second at everything.
pub(crate) const FINE: Look = Look { device_ms: 100.0, tenants_ms: 100.0 };

/// Two to four tenants and a board on which at least two spikes have to meet to fill it.
pub(crate) fn world(seed: u64) -> World {
    let mut dice = ChaCha8Rng::seed_from_u64(seed);
    let count = dice.random_range(2..=4);
    let mut tenants: Vec<Spiker> = (0..count)
        .map(|_| Spiker {
            base_mib: dice.random_range(2_000.0_f64..14_000.0).round(),
            spike_mib: dice.random_range(4_000.0_f64..16_000.0).round(),
            hold_s: 0.5 * 20.0_f64.powf(dice.random()),
            every_s: 15.0 * 20.0_f64.powf(dice.random()),
            vary: [
                "{ jitter = 0.1 }",
                "{ jitter = 0.5 }",
                "\"exponential\"",
                "{ lognormal = 0.5 }",
            ][dice.random_range(0..4)],
        })
        .collect();
    if dice.random_bool(0.5) {
        // A large model that never grows: whoever holds most is not whoever took the rest.
        let base_mib = dice.random_range(20_000.0_f64..40_000.0).round();
        let still = Spiker { base_mib, spike_mib: 0.0, hold_s: 1.0, every_s: 1.0, vary: "" };
        tenants.insert(dice.random_range(0..=tenants.len()), still);
    }
    let bases: f64 = tenants.iter().map(|it| it.base_mib).sum();
    let largest = tenants.iter().map(|it| it.spike_mib).fold(0.0, f64::max);
    let spikes: f64 = tenants.iter().map(|it| it.spike_mib).sum();
    let room_mib = bases + dice.random_range(largest * 1.02..spikes * 0.995);
    World { tenants, room_mib: room_mib.round() }
}

impl World {
    /// The tenants on a board of this size.
    pub(crate) fn scenario(&self, room_mib: f64, length_s: f64, look: Look, seed: u64) -> Scenario {
        let mut text = format!(
            "name = \"memory\"\ndescription = \"spikes\"\nseed = {seed}\nduration_s = {length_s}\ncounterfactuals = false\n\
             [observe]\nstride_ms = {}\nwindow_ms = {}\nmemory_period_ms = {}\nservices = false\n\
             [[devices]]\nname = \"board\"\nsms = 100\nmemory_mib = {room_mib}\nidle_w = 70\ncap_w = 700\nsm_clock_mhz = 1980\nmem_clock_mhz = 2619\nsharing = {{ mps = {{}} }}\n",
            look.device_ms, look.device_ms, look.tenants_ms
        );
        for (place, it) in self.tenants.iter().enumerate() {
            let _ = write!(
                text,
                "[[tenants]]\nname = \"t{place}\"\ndevice = 0\nmemory_mib = {}\nrestart_s = 20\nload = \"idle-resident\"\n",
                it.base_mib
            );
            if it.spike_mib > 0.0 {
                let _ = writeln!(
                    text,
                    "spikes = {{ timed = {{ mib = {}, hold_s = {}, every_s = {}, vary = {} }} }}",
                    it.spike_mib, it.hold_s, it.every_s, it.vary
                );
            }
        }
        Scenario::from_toml(&text).unwrap_or_else(|it| panic!("{it}\n{text}"))
    }

    /// A recording of the tenants on a board with room for all of them.
    pub(crate) fn recorded_with_room(&self, length_s: f64, look: Look, seed: u64) -> Recording {
        let peaks: f64 = self.tenants.iter().map(|it| it.base_mib + it.spike_mib).sum();
        played(&self.scenario((1.2 * peaks).round(), length_s, look, seed)).0
    }

    /// What happened on the board itself, with a recording of it.
    pub(crate) fn shared(
        &self,
        length_s: f64,
        look: Look,
        seed: u64,
    ) -> (Recording, Vec<OutOfMemory>) {
        let (recording, summary) = played(&self.scenario(self.room_mib, length_s, look, seed));
        (recording, summary.truth.devices[0].out_of_memory.clone())
    }

    /// Those who had grown when a request was refused, the most first, with how much, MiB.
    pub(crate) fn grown(&self, refusal: &OutOfMemory) -> Vec<(usize, f64)> {
        let mut grown: Vec<(usize, f64)> = refusal
            .held_bytes
            .iter()
            .map(|it| (it.0, it.1 as f64 / MIB - self.tenants[it.0].base_mib))
            .filter(|it| it.1 > 1.0)
            .collect();
        grown.sort_by(|a, b| b.1.total_cmp(&a.1));
        grown
    }
}

/// The board of every world.
pub(crate) fn board() -> GpuId {
    GpuId::from_index(0)
}

/// Memory rows of a played scenario; the driver keeps nothing for itself.
fn played(scenario: &Scenario) -> (Recording, Summary) {
    let mut sink = Collector::new();
    let device = Device { index: Some(0), ..Device::named(board()) };
    sink.fact(Fact::Device(device)).expect("a collector takes everything");
    let process = |pid| ProcessKey { pid, started: None };
    for tenant in scenario.tenant_infos() {
        let described = Process {
            gpu: board(),
            process: process(tenant.pid),
            name: Some(tenant.name.clone()),
            tenant: Some(TenantId::new(tenant.name)),
        };
        sink.fact(Fact::Process(described)).expect("a collector takes everything");
    }
    let summary = cotenant_scenario::generate(scenario, &mut |row| {
        let subject = match row.subject {
            RowSubject::Device { .. } => Subject::device(&board()),
            RowSubject::Process { pid, .. } => {
                Subject::Process { gpu: board(), process: process(pid) }
            }
            _ => return,
        };
        let metric = |it: Quantity| match it {
            Quantity::FbUsedBytes | Quantity::ProcessFbUsedBytes => Some(Metric::FramebufferUsed),
            Quantity::FbTotalBytes => Some(Metric::FramebufferTotal),
            _ => None,
        };
        let mut readings: Vec<(Metric, f64)> =
            row.values.iter().filter_map(|it| Some((metric(it.0)?, it.1))).collect();
        if subject.is_device() {
            readings.push((Metric::FramebufferReserved, 0.0));
        }
        let at = Timestamp::from_micros(row.time_us);
        sink.row(at, &subject, SourceId(0), &readings).expect("a collector takes everything");
    });
    (sink.into_recording(), summary.expect("the scenario can be played"))
}

/// Two crons of one period, `offset_s` apart, each up to `jitter_s` late, recorded ten times a second.
///
/// Each holds 2 GiB, and 30 GiB for 20 s, on a board of 50 GiB.
pub(crate) fn crons(
    period_s: f64,
    offset_s: f64,
    jitter_s: f64,
    length_s: f64,
    seed: u64,
) -> Recording {
    let mut dice = ChaCha8Rng::seed_from_u64(seed);
    let gib = 1024.0 * MIB;
    let count = (length_s / period_s) as usize + 1;
    let starts: Vec<Vec<f64>> = [0.0, offset_s]
        .iter()
        .map(|offset| {
            (0..count)
                .map(|it| it as f64 * period_s + offset + jitter_s * dice.random::<f64>())
                .collect()
        })
        .collect();
    let mut sink = Collector::new();
    let take = "a collector takes everything";
    for tick in 0..(length_s * 10.0) as i64 {
        let seconds = tick as f64 / 10.0;
        let at = Timestamp::from_micros(tick * 100_000);
        let mut used = 0.0;
        for (place, starts) in starts.iter().enumerate() {
            let is_up = starts.iter().any(|it| (*it..*it + 20.0).contains(&seconds));
            let held = gib * if is_up { 30.0 } else { 2.0 };
            used += held;
            let tenant = TenantId::new(format!("cron{place}"));
            let subject = Subject::Tenant { gpu: Some(board()), tenant };
            sink.row(at, &subject, SourceId(0), &[(Metric::FramebufferUsed, held)]).expect(take);
        }
        let readings = [
            (Metric::FramebufferUsed, used),
            (Metric::FramebufferTotal, 50.0 * gib),
            (Metric::FramebufferReserved, 0.0),
        ];
        sink.row(at, &Subject::device(&board()), SourceId(0), &readings).expect(take);
    }
    sink.into_recording()
}
