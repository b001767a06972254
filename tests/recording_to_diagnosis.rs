//! From a live GPU to a name: two tenants on the simulated driver, the victim's own metrics from a real web server.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_methods, reason = "a server that plays a story needs the time")]

mod support;

use cotenant_scenario::{Quantity, Row, RowSubject, Scenario};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::time::Instant;
use support::{Answer, Workbench};

/// Time slicing: bursts of `batch` double the latency of `chat`; `prefetch` bursts too, and hardly hurts.
const STORY: &str = r#"
name = "live"
description = "two tenants and a bystander"
seed = 5
duration_s = 700

[[devices]]
name = "NVIDIA A100-SXM4-80GB"
sms = 108
memory_mib = 81920
idle_w = 55
cap_w = 400
sm_clock_mhz = 1410
mem_clock_mhz = 1593
pcie_gb_s = 32
sharing = { time-slicing = { quantum_ms = 2, switch_ms = 0.2 } }

[[tenants]]
name = "chat"
device = 0
memory_mib = 22000
power_w = 200
bandwidth = 0.5
load = { server = { per_second = 120, work_ms = 2, vary = { lognormal = 0.3 }, host_ms = 4 } }

[[tenants]]
name = "batch"
device = 0
memory_mib = 16000
power_w = 250
bandwidth = 0.6
load = { on-off = { on_ms = ON, off_ms = OFF, vary = { lognormal = 0.7 } } }

[[tenants]]
name = "prefetch"
device = 0
memory_mib = 3000
power_w = 60
width = 0.2
bandwidth = 0.1
load = { on-off = { on_ms = ON, off_ms = OFF, height = 0.02, kernel_ms = 0.3, vary = { lognormal = 0.4 } } }

[observe]
service_bin_ms = 100
"#;

/// Upper bounds of the histogram, seconds: 2 ms to about 6 s.
fn bounds() -> Vec<f64> {
    (0..36).map(|it| 0.002 * 1.25_f64.powi(it)).collect()
}

/// What the victim answered its users, as its own server tells it.
struct Story {
    /// Time into the story, seconds; requests; mean, and the latencies that a half, 95 % and 99 % stay below.
    bins: Vec<(f64, f64, f64, [f64; 3])>,
    began: OnceLock<Instant>,
}

impl Story {
    fn of(scenario: &Scenario) -> Self {
        let rows = cotenant_scenario::collect(scenario).unwrap().rows;
        let begin_us = rows.first().unwrap().time_us;
        let of_chat = |it: &&Row| it.subject == RowSubject::Tenant { device: 0, tenant: 0 };
        let bins = rows.iter().filter(of_chat).filter_map(|row| {
            let get = |it| row.get(it);
            let quantiles = [
                get(Quantity::LatencyP50Seconds)?,
                get(Quantity::LatencyP95Seconds)?,
                get(Quantity::LatencyP99Seconds)?,
            ];
            let at = (row.time_us - begin_us) as f64 / 1e6;
            let requests = get(Quantity::RequestsPerSecond)? * 0.1;
            Some((at, requests, get(Quantity::LatencyMeanSeconds)?, quantiles))
        });
        Self { bins: bins.collect(), began: OnceLock::new() }
    }

    /// The page of metrics now; the story begins with the first look at it.
    fn page(&self) -> String {
        let now = self.began.get_or_init(Instant::now).elapsed().as_secs_f64();
        let bounds = bounds();
        let mut counts = vec![0.0; bounds.len() + 1];
        let (mut sum, mut total) = (0.0, 0.0);
        for (_, requests, mean, quantiles) in self.bins.iter().filter(|it| it.0 <= now) {
            let shares = [0.5, 0.45, 0.05];
            for (share, latency) in shares.iter().zip(quantiles) {
                counts[bounds.partition_point(|it| it < latency)] += share * requests;
            }
            (sum, total) = (sum + mean * requests, total + requests);
        }
        let mut page = String::from("# TYPE http_request_duration_seconds histogram\n");
        let mut below = 0.0;
        for (bound, count) in bounds.iter().zip(&counts) {
            below += count;
            writeln!(page, "http_request_duration_seconds_bucket{{le=\"{bound}\"}} {below}")
                .unwrap();
        }
        writeln!(page, "http_request_duration_seconds_bucket{{le=\"+Inf\"}} {total}").unwrap();
        writeln!(page, "http_request_duration_seconds_sum {sum}").unwrap();
        writeln!(page, "http_request_duration_seconds_count {total}").unwrap();
        page
    }
}

/// A web server that plays the victim; it ends with the test program.
fn serve(story: Story) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = answer(stream.unwrap(), &story);
        }
    });
    address
}

fn answer(mut stream: TcpStream, story: &Story) -> std::io::Result<()> {
    let mut request = [0; 4096];
    let length = stream.read(&mut request)?;
    assert!(request[..length].starts_with(b"GET /metrics"), "{:?}", &request[..length]);
    let page = story.page();
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nConnection: close\r\n";
    write!(stream, "{head}Content-Length: {}\r\n\r\n{page}", page.len())
}

/// Processes that stand for the tenants, so that the host knows them; they end with the test.
struct Host(Vec<Child>);

impl Host {
    fn with(seconds: &[&str]) -> Self {
        let sleep = |it: &&str| Command::new("sleep").arg(it).spawn().unwrap();
        Self(seconds.iter().map(sleep).collect())
    }

    fn pid(&self, place: usize) -> u32 {
        self.0[place].id()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Records this long, with bursts of this length, and asks what made `chat` slow.
fn diagnosis(bench: &Workbench, seconds: u32, burst_ms: u32, scrape: &str) -> Answer {
    let story =
        STORY.replace("ON", &burst_ms.to_string()).replace("OFF", &(2 * burst_ms).to_string());
    let scenario = Scenario::from_toml(&story).unwrap();
    bench.file("live.toml", &story);
    // Odd lengths of sleep tell the processes apart.
    let host = Host::with(&["86391", "86392", "86393"]);
    let pids = format!(
        "scenario = \"live.toml\"\nuntil_s = {}\npids = {{ chat = {}, batch = {}, prefetch = {} }}\n",
        seconds + 20,
        host.pid(0),
        host.pid(1),
        host.pid(2)
    );
    let rule = |tenant: &str, length: &str| {
        format!("[[rule]]\ntenant = \"{tenant}\"\ncommand = \"sleep {length}\"\n\n")
    };
    let rules = [rule("chat", "86391"), rule("batch", "86392"), rule("prefetch", "86393")];
    bench.file("tenants.toml", rules.concat());
    let staged = cotenant_nvml_sim::stage(Path::new(&bench.path(".")), &pids).unwrap();
    let address = serve(Story::of(&scenario));
    let recorded = bench.run(&[
        "record",
        "-o",
        "live",
        "--duration",
        &format!("{seconds}s"),
        "--nvml-library",
        &staged.library.to_string_lossy(),
        "--tenants",
        "tenants.toml",
        "--scrape",
        &format!("chat@0=http://{address}/metrics"),
        "--scrape-interval",
        scrape,
        "--budget",
        "100%",
    ]);
    assert_eq!(recorded.code(), 0, "{}", recorded.stderr());
    bench.run(&["diagnose", "live", "--victim", "chat", "-o", "json"])
}

fn names_the_aggressor(answer: &Answer) {
    let document: serde_json::Value = serde_json::from_str(&answer.stdout()).unwrap();
    let suspects = document["suspects"].as_array().unwrap();
    let verdicts: Vec<(&str, &str)> = suspects
        .iter()
        .map(|it| (it["suspect"].as_str().unwrap(), it["influence"]["verdict"].as_str().unwrap()))
        .collect();
    assert_eq!(verdicts[0], ("batch", "confirmed"), "{verdicts:?}\n{document:#}");
    // Each turn that `prefetch` takes costs something: 6 % in its bursts, by the generator's truth.
    let bystander = suspects.iter().find(|it| it["suspect"] == "prefetch").unwrap();
    let effect = bystander["influence"]["effect_ratio"].as_f64().unwrap_or(0.0);
    assert!(effect < 0.15, "{bystander:#}");
    assert_eq!(document["clock_offset"]["origin"], "same_clock");
}

#[test]
fn a_live_recording_of_two_minutes_names_the_tenant_that_slows_the_victim() {
    let bench = Workbench::new();
    names_the_aggressor(&diagnosis(&bench, 120, 1500, "200ms"));
}

/// `cargo test --test recording_to_diagnosis -- --ignored`
#[test]
#[ignore = "records for ten minutes"]
fn a_live_recording_of_ten_minutes_names_the_tenant_that_slows_the_victim() {
    let bench = Workbench::new();
    names_the_aggressor(&diagnosis(&bench, 600, 3000, "1s"));
}
