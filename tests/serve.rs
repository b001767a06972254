//! `cotenant serve` on the simulated driver: its pages, its limits, and what a Prometheus makes of them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "a test that was skipped says so")]

mod scraped_world;
mod support;

use cotenant::domain::metric::{Dialect, Metric};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::recorder::{TWO_GPUS, command, program, signal, wait_until};

/// An exporter under test; ends with the test.
struct Serving {
    child: Child,
    address: String,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Serving {
    fn start(folder: &Path, plan: &str) -> Self {
        Self::start_at(folder, plan, "127.0.0.1:0")
    }

    fn start_at(folder: &Path, plan: &str, listen: &str) -> Self {
        let path = folder.join("plan.toml");
        std::fs::write(&path, plan).unwrap();
        let mut command = command([program()]);
        command.args(["serve", "--listen", listen, "--budget", "100%", "--nvml-library"]);
        command.arg(cotenant_nvml_sim::library().unwrap()).env("COTENANT_NVML_SIM", &path);
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let told = lines.find_map(|it| {
            let line = it.unwrap();
            let rest = line.split_once("http://")?.1;
            Some(rest.split('/').next().unwrap_or_default().to_owned())
        });
        // Whoever writes to a pipe that nobody reads would wait one day.
        std::thread::spawn(move || lines.for_each(drop));
        let address = told.expect("it says where it listens");
        Self { child, address }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// The answer to what is sent, head and body.
    fn ask(&self, request: &str) -> String {
        let mut stream = self.connect();
        let _ = stream.write_all(request.as_bytes());
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    fn get(&self, path: &str, accept: &str) -> (String, String) {
        let answer =
            self.ask(&format!("GET {path} HTTP/1.1\r\nHost: a\r\nAccept: {accept}\r\n\r\n"));
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        (head.to_owned(), body.to_owned())
    }

    fn wait_until_ready(&self) {
        wait_until("a GPU was looked at", || self.get("/-/ready", "*/*").0.contains("200 OK"));
    }
}

const OPENMETRICS: &str = "application/openmetrics-text;version=1.0.0";

/// The value of the first sample whose line begins so.
fn value(page: &str, start: &str) -> f64 {
    let line = page.lines().find(|it| it.starts_with(start));
    let line = line.unwrap_or_else(|| panic!("no {start} in {page}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

/// Whether promtool is content with a text; `None`, and a word, where there is no promtool.
fn promtool(arguments: &[&str], text: &str) -> Option<String> {
    let spawned = Command::new("promtool")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = spawned else {
        println!("skipped: there is no promtool on this host");
        return None;
    };
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let words = [output.stdout, output.stderr].concat();
    let words = String::from_utf8_lossy(&words).into_owned();
    Some(if output.status.success() { String::new() } else { words })
}

#[test]
fn two_scrapes_hold_what_happened_between_them() {
    let folder = tempfile::tempdir().unwrap();
    let plan = "scenario = \"bursty-30-300ms\"\nuntil_s = 60\n[[gpu]]\n[[gpu]]\n";
    let mut serving = Serving::start(folder.path(), plan);
    serving.wait_until_ready();
    let mut text = String::new();
    let mut pages = Vec::new();
    for scrape in 0..4 {
        std::thread::sleep(Duration::from_secs(3));
        let (head, page) = serving.get("/metrics", OPENMETRICS);
        assert!(
            head.contains("Content-Type: application/openmetrics-text; version=1.0.0"),
            "{head}"
        );
        assert!(page.ends_with("# EOF\n"));
        text += &format!("# cotenant-scrape-time: 2026-01-31T12:00:{:02}Z\n{page}", 3 * scrape);
        pages.push(page);
    }
    let observed = |page: &str| value(page, "cotenant_activity_observed_seconds_total{");
    let grown = observed(&pages[3]) - observed(&pages[0]);
    assert!((6.0..12.0).contains(&grown), "{grown} s seen in about 9 s");
    assert!(value(&pages[3], "cotenant_exporter_scrapes_total") >= 4.0);
    assert!(value(&pages[3], "cotenant_exporter_cpu_seconds_total") > 0.0);

    let (head, page) = serving.get("/metrics", "text/plain");
    assert!(head.contains("Content-Type: text/plain; version=0.0.4"), "{head}");
    if let Some(complaints) = promtool(&["check", "metrics"], &page) {
        assert_eq!(complaints, "");
    }
    let recording = scraped_world::imported(&text);
    let profiles = scraped_world::profiles(&recording);
    let of_first = profiles.iter().find(|it| it.0.starts_with("GPU 0"));
    let profile = of_first.unwrap_or_else(|| panic!("{:?}", profiles.keys())).1;
    assert!(profile.samples > 30 && (0.05..0.6).contains(&profile.mean_ratio), "{profile:?}");

    signal(&serving.child, "-TERM");
    let status = serving.child.wait().unwrap();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_slow_client_holds_nobody_up_and_is_sent_away() {
    let folder = tempfile::tempdir().unwrap();
    let serving = Serving::start(folder.path(), TWO_GPUS);
    serving.wait_until_ready();
    let began = Instant::now();
    let slow: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut stream = serving.connect();
            stream.write_all(b"GET /metrics HT").unwrap();
            stream
        })
        .collect();
    let (head, _) = serving.get("/metrics", "*/*");
    assert!(head.contains("200 OK") && began.elapsed() < Duration::from_secs(4), "{head}");
    for mut stream in slow {
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    }
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    let (_, page) = serving.get("/metrics", "*/*");
    assert!(value(&page, "cotenant_exporter_refused_requests_total") >= 8.0);
}

#[test]
fn what_is_no_request_for_a_page_is_refused_in_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let serving = Serving::start(folder.path(), TWO_GPUS);
    serving.wait_until_ready();
    for (request, status) in [
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), "200 OK"),
        ("GET /-/healthy HTTP/1.0\r\n\r\n".to_owned(), "200 OK"),
        ("HEAD /metrics HTTP/1.1\r\n\r\n".to_owned(), "200 OK"),
        ("GET /etc/passwd HTTP/1.1\r\n\r\n".to_owned(), "404"),
        ("POST /metrics HTTP/1.1\r\nContent-Length: 0\r\n\r\n".to_owned(), "405"),
        ("\u{16}\u{3}\u{1}\r\n\r\n".to_owned(), "400"),
        (format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "b".repeat(20_000)), "431"),
    ] {
        let answer = serving.ask(&request);
        let shown = &request[..request.len().min(40)];
        // Where more was sent than is read, the answer may be lost with the connection.
        let is_cut = answer.is_empty() && request.len() > 8192;
        assert!(is_cut || answer.starts_with(&format!("HTTP/1.1 {status}")), "{shown}: {answer}");
    }
    let held: Vec<TcpStream> = (0..16).map(|_| serving.connect()).collect();
    wait_until("the seventeenth is sent away", || {
        serving.ask("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 503")
    });
    drop(held);
    wait_until("there is room again", || serving.get("/", "*/*").0.contains("200 OK"));
}

#[test]
fn a_name_of_this_host_is_an_address_too() {
    let addresses = std::net::ToSocketAddrs::to_socket_addrs("localhost:0");
    let Some(first) = addresses.ok().and_then(|mut it| it.find(|it| it.is_ipv4())) else {
        eprintln!("skipped: this host does not know localhost");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let serving = Serving::start_at(folder.path(), TWO_GPUS, "localhost:0");
    assert!(serving.address.starts_with(&first.ip().to_string()), "{}", serving.address);
}

#[test]
fn other_hosts_a_taken_port_and_a_missing_driver_end_it_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let serving = Serving::start(folder.path(), TWO_GPUS);
    let library = cotenant_nvml_sim::library().unwrap();
    let library = library.to_string_lossy();
    for (arguments, code, word) in [
        (vec!["--listen", "0.0.0.0:0"], 2, "--allow-remote"),
        (
            vec!["--listen", &serving.address, "--nvml-library", &library],
            2,
            "another program listens",
        ),
        (vec!["--listen", "localhost", "--nvml-library", &library], 2, "localhost:9835"),
        (vec!["--listen", "no-such-host.invalid:0"], 2, "no host is called so"),
        (
            vec!["--listen", "203.0.113.7:9835", "--allow-remote", "--nvml-library", &library],
            2,
            "this host has no such address",
        ),
        (vec!["--listen", "127.0.0.1:0", "--nvml-library", "/nowhere/libnvml.so"], 5, "help:"),
    ] {
        let mut command = command([program()]);
        command.arg("serve").args(&arguments);
        command.env("COTENANT_NVML_SIM", folder.path().join("plan.toml"));
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        assert!(text.contains(word), "{arguments:?}: {text}");
    }
}

#[test]
fn shipped_rules_are_sound_and_name_only_what_the_exporter_shows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let rules = root.join("deploy/prometheus/alerts.yaml");
    if let Some(complaints) = promtool(&["check", "rules", &rules.to_string_lossy()], "") {
        assert_eq!(complaints, "");
    }
    let dashboard = std::fs::read_to_string(root.join("deploy/grafana/cotenant.json")).unwrap();
    let _: serde_json::Value = serde_json::from_str(&dashboard).unwrap();
    let ways = scraped_world::three_ways(&cotenant_scenario::shipped("demo").unwrap());
    let names = |text: &str| -> BTreeSet<String> {
        let is_letter = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == ':';
        let words = text.split(|it| !is_letter(it));
        words.filter(|it| it.starts_with("cotenant_")).map(str::to_owned).collect()
    };
    let samples: Vec<&str> = ways.text.lines().filter(|it| !it.starts_with('#')).collect();
    let shown = names(&samples.join("\n"));
    for text in [dashboard, std::fs::read_to_string(rules).unwrap()] {
        for name in names(&text) {
            // A text for people may name a histogram as a whole.
            let is_reading = |it: Metric| {
                it.spec().names.iter().any(|it| it.0 == Dialect::Cotenant && it.1 == name)
            };
            let is_shown = shown.contains(&name)
                || shown.contains(&format!("{name}_bucket"))
                || Metric::all().any(is_reading);
            assert!(is_shown, "`{name}` is not shown by the exporter");
        }
    }
    let page = std::fs::read_to_string(root.join("docs/EXPORTER.md")).unwrap();
    let stem = |it: &String| {
        ["_bucket", "_sum", "_count"].iter().find_map(|end| it.strip_suffix(end)).map(str::to_owned)
    };
    for name in &shown {
        let is_explained = page.contains(&format!("`{name}`"))
            || stem(name).is_some_and(|it| page.contains(&format!("`{it}`")));
        assert!(is_explained, "docs/EXPORTER.md does not explain `{name}`");
    }
}
