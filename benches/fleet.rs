//! Time and memory of a plan for many GPUs over many days at one sample a second.
//!
//! `cargo bench --bench fleet` plans for 50 GPUs and one day; `-- --gpus 50,100,200,500 --days 14` prints the curves of the page of
//! plans. Recordings are made on the fly, one GPU for each thread at a time, and only their findings are kept.

mod made;

use cotenant::analysis::one_part_for_each_thread;
use cotenant::colocation::whatif::Options;
use cotenant::fleet::findings::DeviceFinding;
use cotenant::fleet::merge::merged;
use cotenant::fleet::observe::observe;
use cotenant::fleet::plan::{FleetPlan, PlanQuestion, plan};
use cotenant::recommender::policy::Policy;
use cotenant::recommender::situation::Limits;
use cotenant::recommender::tenant_policy::TenantPolicies;
use made::recording;
use std::io::Write;
use std::time::Instant;

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
