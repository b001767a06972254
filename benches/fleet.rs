//! Time and memory of a plan for many GPUs over many days at one sample a second.
//!
//! `cargo bench --bench fleet` plans for 50 GPUs and one day; `-- --gpus 50,100,200,500 --days 14` prints the curves of the page of
//! plans. Recordings are made on the fly, one GPU for each thread at a time, and only their findings are kept.

use cotenant::analysis::one_part_for_each_thread;
use cotenant::colocation::whatif::Options;
use cotenant::domain::ident::{GpuId, ProcessKey, Subject, TenantId};
use cotenant::domain::metric::Metric;
use cotenant::domain::outline::{Device, Process};
use cotenant::domain::recording::{Recording, Trace};
use cotenant::domain::series::Series;
use cotenant::domain::time::Timestamp;
use cotenant::fleet::findings::DeviceFinding;
use cotenant::fleet::merge::merged;
use cotenant::fleet::observe::observe;
use cotenant::fleet::plan::{FleetPlan, PlanQuestion, plan};
use cotenant::recommender::policy::Policy;
use cotenant::recommender::situation::Limits;
use cotenant::recommender::tenant_policy::TenantPolicies;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

const GIB: f64 = 1_073_741_824.0;
/// GPUs of a host.
const PER_HOST: usize = 8;
/// What owners say of the made tenants.
const POLICY: &str = "\
[[tenant]]
name = \"chat-*\"
class = \"latency-sensitive\"
trust_domain = \"serving\"
[[tenant]]
name = \"nb-*\"
class = \"development\"
trust_domain = \"research\"
[[tenant]]
name = \"etl-*\"
class = \"batch\"
trust_domain = \"data\"
[[tenant]]
name = \"train-*\"
class = \"training\"
trust_domain = \"research\"
";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let after = |name: &str| {
        let place = arguments.iter().position(|it| it == name);
        place.and_then(|it| arguments.get(it + 1).cloned())
    };
    let days: f64 = after("--days").and_then(|it| it.parse().ok()).unwrap_or(1.0);
    let sizes: Vec<usize> = after("--gpus")
        .map(|it| it.split(',').filter_map(|it| it.parse().ok()).collect())
        .unwrap_or_else(|| vec![50]);
    say(
        "| GPUs | days | findings: wall, s | processor, s | plan: wall, s | processor, s | findings, MiB | peak memory, MiB | plan |",
    );
    say("|---|---|---|---|---|---|---|---|---|");
    let mut devices: Vec<DeviceFinding> = Vec::new();
    let mut seen = [0.0; 2];
    for size in sizes {
        // A larger fleet is the smaller one and more, so that nothing is made twice.
        let more: Vec<usize> = (devices.len()..size).collect();
        let clock = Clock::start();
        devices.extend(one_part_for_each_thread(&more, |place| {
            let (part, gpu) = recording(*place, days);
            observe(part, &gpu, "recording", &Policy::default())
        }));
        let spent = clock.spent();
        seen = [seen[0] + spent[0], seen[1] + spent[1]];
        let kept: Vec<String> =
            devices.iter().map(|it| serde_json::to_string(it).expect("plain data")).collect();
        let bytes: usize = kept.iter().map(String::len).sum();
        // What a second run with nothing changed does: read findings, and plan.
        let clock = Clock::start();
        let read = kept.iter().map(|it| serde_json::from_str(it).expect("what was written"));
        let read: Vec<DeviceFinding> = read.collect();
        let found = planned(&read);
        let spent = clock.spent();
        assert_eq!(read, devices, "what was kept is what was found");
        say(&format!(
            "| {size} | {days} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.0} | {} |",
            seen[0],
            seen[1],
            spent[0],
            spent[1],
            bytes as f64 / 1_048_576.0,
            peak_mib(),
            found.summary.sentence
        ));
    }
}

/// Wall and processor time from a moment on.
struct Clock(Instant, f64);

impl Clock {
    fn start() -> Self {
        Self(Instant::now(), processor_s())
    }

    fn spent(&self) -> [f64; 2] {
        [self.0.elapsed().as_secs_f64(), processor_s() - self.1]
    }
}

/// Processor time of all threads so far, seconds; 0 where the system does not say.
fn processor_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name in brackets: state is the first field, user and system time the 12th and 13th.
    let fields = stat.rsplit_once(')').map_or("", |it| it.1).split_whitespace();
    fields.skip(11).take(2).filter_map(|it| it.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn say(text: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "{text}").and_then(|()| out.flush()).expect("stdout takes it");
}

/// Most memory that this process ever held, MiB; 0 where the system does not say.
fn peak_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|it| it.starts_with("VmHWM"));
    let kib = line.and_then(|it| it.split_whitespace().nth(1)?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}

fn planned(devices: &[DeviceFinding]) -> FleetPlan {
    let said = TenantPolicies::from_toml(POLICY).expect("a policy");
    plan(&PlanQuestion {
        devices: &merged(devices.iter().cloned()),
        said: &said,
        policy: &Policy::default(),
        hardware: None,
        prices: None,
        limits: Limits::default(),
        options: Options::default(),
    })
}

/// Numbers that follow from a seed.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// One GPU with its only tenant, as a recorder would have seen it at one sample a second.
///
/// Six of ten are services with a rhythm of the day, two notebooks, one batch, one training.
fn recording(place: usize, days: f64) -> (Recording, GpuId) {
    let mut draw = Draw(place as u64);
    let gpu = GpuId::new(format!("GPU-{place:04}"));
    let (kind, model) = (place % 10, if place % 40 < 30 { "H100" } else { "L40S" });
    let name = match kind {
        0..=5 => format!("chat-{place}"),
        6 | 7 => format!("nb-{place}"),
        8 => format!("etl-{place}"),
        _ => format!("train-{place}"),
    };
    let seconds = (days * 86_400.0) as usize;
    let (level, gib) = (0.03 + 0.2 * draw.next(), 4.0 + 14.0 * draw.next());
    let (mut busy, mut used) = (Vec::with_capacity(seconds), Vec::with_capacity(seconds));
    let mut left = 0_usize;
    for second in 0..seconds {
        let hour = (second % 86_400) as f64 / 86_400.0 * std::f64::consts::TAU;
        let (share, swing) = match kind {
            // Requests: a share of each second, more by day than by night.
            0..=5 => {
                let mean = level * (1.0 - 0.7 * hour.cos());
                ((mean * (0.5 + draw.next())).min(1.0), 0.1 * draw.next())
            }
            9 => (0.92 + 0.08 * draw.next(), 0.0),
            // Bursts of some seconds.
            _ => {
                if left == 0 && draw.next() < level * 0.2 {
                    left = 1 + (8.0 * draw.next()) as usize;
                }
                let is_on = left > 0;
                left = left.saturating_sub(1);
                (if is_on { 0.9 + 0.1 * draw.next() } else { 0.0 }, if is_on { 0.2 } else { 0.0 })
            }
        };
        busy.push((100.0 * share).round());
        used.push((GIB * gib * (1.0 + swing) / 1_048_576.0).round() * 1_048_576.0);
    }
    (of_series(&gpu, &name, (place, model), busy, used), gpu)
}

fn of_series(
    gpu: &GpuId,
    name: &str,
    (place, model): (usize, &str),
    busy: Vec<f64>,
    used: Vec<f64>,
) -> Recording {
    let stamp = |it: usize| Timestamp::from_micros((1 + it as i64) * 1_000_000);
    let times: Arc<Vec<Timestamp>> = Arc::new((0..busy.len()).map(stamp).collect());
    let series = |values: Vec<f64>| Series::new(Arc::clone(&times), values).expect("in order");
    let total = if model == "H100" { 81_559.0 } else { 46_068.0 } * 1_048_576.0;
    let sms = busy.iter().map(|it| it * 0.004).collect();
    let context = 500.0 * 1_048_576.0;
    let device = BTreeMap::from([
        (Metric::GpuUtilization, series(busy.clone())),
        (Metric::SmActive, series(sms)),
        (Metric::FramebufferUsed, series(used.iter().map(|it| it + context).collect())),
        (Metric::FramebufferTotal, series(vec![total; busy.len()])),
    ]);
    let own = BTreeMap::from([
        (Metric::GpuUtilization, series(busy)),
        (Metric::FramebufferUsed, series(used)),
    ]);
    let process = ProcessKey { pid: 1_000, started: None };
    let mut part = Recording::default();
    let mut told = Device::named(gpu.clone());
    told.host = Some(format!("node-{:03}", place / PER_HOST));
    told.index = Some((place % PER_HOST) as u32);
    told.model =
        Some(if model == "H100" { "NVIDIA H100 80GB HBM3" } else { "NVIDIA L40S" }.to_owned());
    part.outline.devices.push(told);
    part.outline.processes.push(Process {
        gpu: gpu.clone(),
        process,
        name: Some("python3".to_owned()),
        tenant: Some(TenantId::new(name)),
    });
    for (subject, series) in
        [(Subject::device(gpu), device), (Subject::Process { gpu: gpu.clone(), process }, own)]
    {
        part.outline.subjects.push(subject.clone());
        part.traces.insert(subject, Trace { series, ..Trace::default() });
    }
    part.outline.span =
        part.traces.values().flat_map(|it| it.series.values()).find_map(Series::span);
    part
}
