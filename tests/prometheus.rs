//! A real Prometheus on the loopback: what comes over is what was served.
//!
//! Most of it needs the programs `prometheus` and `promtool` (Debian package `prometheus`); says so where they are missing.
#![allow(
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "tests skip visibly, and need the present time for a server that forgets old data"
)]

mod support;

use cotenant::domain::ident::{GpuId, Subject};
use cotenant::domain::metric::Metric;
use cotenant::domain::recording::Recording;
use cotenant::prometheus::{Client, Order, Part, Problem, Settings, Shelf, download};
use cotenant::storage::{Selection, StoredRecording};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime};
use support::Workbench;

const GPUS: usize = 20;
/// 24 h at 15 s.
const SAMPLES: i64 = 5760;
/// Samples that nobody took.
const HOLE: std::ops::Range<i64> = 2000..2040;
/// From here on the counter of energy begins anew.
const RESET: i64 = 3000;

/// What dcgm-exporter calls it, what we call it, and the factor.
const METRICS: [(&str, Metric, f64); 6] = [
    ("DCGM_FI_DEV_GPU_UTIL", Metric::GpuUtilization, 1.0),
    ("DCGM_FI_DEV_FB_USED", Metric::FramebufferUsed, 1_048_576.0),
    ("DCGM_FI_DEV_POWER_USAGE", Metric::Power, 1000.0),
    ("DCGM_FI_DEV_SM_CLOCK", Metric::SmClock, 1.0),
    ("DCGM_FI_PROF_SM_ACTIVE", Metric::SmActive, 1.0),
    ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", Metric::Energy, 1.0),
];

fn uuid(gpu: usize) -> String {
    format!("GPU-00000000-1111-2222-3333-{gpu:012}")
}

fn labels(gpu: usize) -> String {
    format!("gpu=\"{}\",UUID=\"{}\",Hostname=\"node-{}\"", gpu % 8, uuid(gpu), gpu / 8)
}

/// What a GPU served, as a text that is exactly this number.
fn served(gpu: usize, metric: usize, sample: i64) -> String {
    let noise =
        (gpu as i64 * 7919 + metric as i64 * 104_729 + sample * 2_654_435_761).rem_euclid(9973);
    match METRICS[metric].1 {
        Metric::GpuUtilization => (noise % 101).to_string(),
        Metric::FramebufferUsed => (20_000 + noise).to_string(),
        Metric::Power => format!("{}.{:03}", 80 + noise % 600, noise % 1000),
        Metric::SmClock => (200 + noise % 1780).to_string(),
        Metric::SmActive => format!("0.{:04}", noise % 10_000),
        _ if sample >= RESET => ((sample - RESET) * 4_500_000).to_string(),
        _ => (1_000_000_000 + sample * 4_500_000).to_string(),
    }
}

/// A Prometheus that ends with the test.
struct Prometheus {
    child: Child,
    port: u16,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a free port").port()
}

impl Prometheus {
    fn start(bench: &Workbench, port: u16) -> Self {
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", bench.path("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", bench.path("tsdb").display()))
            .arg("--storage.tsdb.retention.time=30d")
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("prometheus starts");
        let server = Self { child, port };
        let begun = Instant::now();
        while !server.is_ready() {
            assert!(begun.elapsed() < Duration::from_secs(120), "prometheus gets ready");
            std::thread::sleep(Duration::from_millis(100));
        }
        server
    }

    fn is_ready(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else {
            return false;
        };
        let _ = stream.write_all(b"GET /-/ready HTTP/1.0\r\n\r\n");
        let mut first = String::new();
        BufReader::new(stream).read_line(&mut first).is_ok() && first.contains(" 200")
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

fn is_installed() -> bool {
    let runs = |program: &str| {
        let mut run = Command::new(program);
        run.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        run.status().is_ok_and(|it| it.success())
    };
    let is_there = runs("prometheus") && runs("promtool");
    if !is_there {
        eprintln!("skipped: prometheus and promtool are not installed");
    }
    is_there
}

/// Puts a day of 20 GPUs into a data base; gives its first second.
fn backfill(bench: &Workbench) -> i64 {
    let now =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_secs();
    let start = (i64::try_from(now).expect("a time") - 30 * 3600) / 7200 * 7200;
    let mut text = String::new();
    for (metric, (name, _, _)) in METRICS.iter().enumerate() {
        writeln!(text, "# TYPE {name} gauge").expect("a text grows");
        for gpu in 0..GPUS {
            let labels = labels(gpu);
            for sample in (0..SAMPLES).filter(|it| !HOLE.contains(it)) {
                let (value, at) = (served(gpu, metric, sample), start + 15 * sample);
                writeln!(
                    text,
                    "{name}{{{labels},instance=\"h{}:9400\"}} {value} {at}.125",
                    gpu / 8
                )
                .expect("a text grows");
            }
        }
    }
    text.push_str("# EOF\n");
    let file = bench.file("day.om", text);
    let status = Command::new("promtool")
        .args(["tsdb", "create-blocks-from", "openmetrics"])
        .args([&file, &bench.path("tsdb")])
        .stdout(Stdio::null())
        .status()
        .expect("promtool starts");
    assert!(status.success(), "promtool makes blocks");
    std::fs::remove_file(file).expect("the text is not needed any more");
    start
}

fn recording(folder: &Path) -> Recording {
    let stored = StoredRecording::open(folder).expect("a recording");
    stored.load(&Selection::default()).expect("it can be loaded")
}

fn expect_a_day(recording: &Recording, start: i64) {
    for gpu in 0..GPUS {
        let subject = Subject::device(&GpuId::new(uuid(gpu)));
        for (index, (name, metric, factor)) in METRICS.iter().enumerate() {
            let series =
                recording.series(&subject, *metric).unwrap_or_else(|| panic!("{name} of {gpu}"));
            let kept: Vec<i64> = (0..SAMPLES).filter(|it| !HOLE.contains(it)).collect();
            assert_eq!(series.len(), kept.len(), "{name} of {gpu}");
            for ((at, value), sample) in series.times().iter().zip(series.values()).zip(kept) {
                let text = served(gpu, index, sample);
                let expected = text.parse::<f64>().expect("a number") * factor;
                assert_eq!(at.as_micros(), (start + 15 * sample) * 1_000_000 + 125_000);
                // A recording keeps gauges with 24 bits.
                assert!(
                    (value - expected).abs() <= expected.abs() * 1e-6,
                    "{name}: {value} for {text}"
                );
            }
        }
    }
}

/// Counts points, and halves nothing by itself.
#[derive(Default)]
struct Count {
    points: usize,
    holes: usize,
}

impl Shelf for Count {
    fn has(&self, _: &Part) -> bool {
        false
    }

    fn put(&mut self, _: &Part, body: &str, _: bool) -> std::io::Result<()> {
        self.points += body.matches("],[").count() + body.matches("[[").count();
        Ok(())
    }

    fn hole(&mut self, _: &Part, _: &str, _: &str) -> std::io::Result<()> {
        self.holes += 1;
        Ok(())
    }

    fn pause(&mut self, _: Duration, _: &Problem) {}

    fn progress(&mut self, _: usize, _: usize) {}
}

#[test]
fn a_day_of_20_gpus_comes_over_complete_although_the_server_restarts() {
    if !is_installed() {
        return;
    }
    let bench = Workbench::new();
    bench.file("prometheus.yml", "global: {}\n");
    let start = backfill(&bench);
    let port = free_port();
    let server = Prometheus::start(&bench, port);
    let time = |second: i64| jiff::Timestamp::from_second(second).expect("a time").to_string();
    let begun = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotenant"));
    command.args(["import", "--prometheus", &server.url(), "-o", "day"]);
    command.args(["--from", &time(start), "--to", &time(start + 86_400)]);
    command.current_dir(bench.path(".")).stderr(Stdio::piped()).stdout(Stdio::null());
    let import = command.spawn().expect("the program starts");
    // The server dies once a few parts are there, and comes back.
    let parts = || std::fs::read_dir(bench.path("day.download")).map_or(0, Iterator::count);
    while parts() < 8 && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(2));
    }
    drop(server);
    let server = Prometheus::start(&bench, port);
    let output = import.wait_with_output().expect("the program ends");
    let told = String::from_utf8_lossy(&output.stderr);
    eprintln!("{:.1} s with a restart\n{told}", begun.elapsed().as_secs_f64());
    assert!(output.status.success(), "{told}");
    assert!(told.contains("energy counter fell 20 times"), "{told}");
    assert!(!bench.path("day.download").exists());
    let recording = recording(&bench.path("day"));
    expect_a_day(&recording, start);
    let gaps: Vec<_> = recording.outline.blind_spots.iter().filter_map(|it| it.span).collect();
    assert_eq!(gaps.len(), 1, "{:?}", recording.outline.blind_spots);
    assert!((gaps[0].seconds() - 41.0 * 15.0).abs() < 1e-6);

    // 24 h every 5 s are 17,280 points, and the server gives 11,000.
    let order = Order {
        names: vec![METRICS[0].0.to_owned()],
        selector: format!("UUID=\"{}\"", uuid(3)),
        from_ms: start * 1000,
        until_ms: (start + 86_400) * 1000,
        step_ms: Some(5_000),
        part_ms: 86_400_000,
    };
    let client = Client::new(&server.url(), Settings::default()).expect("an address");
    let mut count = Count::default();
    let outcome = download(&client, &order, false, &mut count).expect("it comes over");
    assert_eq!((outcome.kept, outcome.asked, count.holes), (1, 2, 0));
    assert!(count.points > 16_900, "{}", count.points);
}

/// An exporter whose values tell which scrape they are of; gives its address and how often it was asked.
fn exporter() -> (SocketAddr, Arc<AtomicI64>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let scrapes = Arc::new(AtomicI64::new(0));
    let counted = scrapes.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let number = counted.fetch_add(1, Ordering::SeqCst);
            let readings = (0..GPUS).flat_map(|gpu| (0..METRICS.len()).map(move |it| (gpu, it)));
            let line = |(gpu, metric): (usize, usize)| {
                let value = served(gpu, metric, number);
                format!("{}{{{}}} {value}\n", METRICS[metric].0, labels(gpu))
            };
            answer(stream, "text/plain", &readings.map(line).collect::<String>());
        }
    });
    (address, scrapes)
}

/// Reads a request and answers it; gives the request's first line.
fn answer(mut stream: TcpStream, kind: &str, body: &str) -> String {
    let Ok(copy) = stream.try_clone() else { return String::new() };
    let lines = BufReader::new(copy).lines().map_while(Result::ok);
    let head: Vec<String> = lines.take_while(|it| !it.is_empty()).collect();
    let length = body.len();
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    head.into_iter().next().unwrap_or_default()
}

#[test]
fn what_an_endpoint_served_to_prometheus_is_what_comes_over() {
    if !is_installed() {
        return;
    }
    let bench = Workbench::new();
    let (exporter, scrapes) = exporter();
    bench.file(
        "prometheus.yml",
        format!("global: {{scrape_interval: 500ms, scrape_timeout: 400ms}}\nscrape_configs: [{{job_name: dcgm, static_configs: [{{targets: ['{exporter}']}}]}}]\n"),
    );
    let server = Prometheus::start(&bench, free_port());
    let begun = Instant::now();
    while scrapes.load(Ordering::SeqCst) < 12 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the exporter is scraped");
        std::thread::sleep(Duration::from_millis(100));
    }
    let answer =
        bench.run(&["import", "--prometheus", &server.url(), "--last", "10m", "-o", "live"]);
    answer.expect_code(0);
    let recording = recording(&bench.path("live"));
    for gpu in 0..GPUS {
        let subject = Subject::device(&GpuId::new(uuid(gpu)));
        for (index, (name, metric, factor)) in METRICS.iter().enumerate() {
            let series =
                recording.series(&subject, *metric).unwrap_or_else(|| panic!("{name} of {gpu}"));
            assert!(series.len() >= 8, "{} samples of {name}", series.len());
            for (sample, value) in (0_i64..).zip(series.values()) {
                let expected =
                    served(gpu, index, sample).parse::<f64>().expect("a number") * factor;
                assert!(
                    (value - expected).abs() <= expected.abs() * 1e-6,
                    "{name} of {gpu}: {value}"
                );
            }
        }
    }
}

#[test]
fn what_is_wrong_with_a_server_is_said_with_a_remedy() {
    let bench = Workbench::new();
    let port = free_port();
    let url = format!("http://me:zqsecretqz@127.0.0.1:{port}");
    let wrong = bench.run(&["import", "--prometheus", "host:9090"]);
    wrong.expect_code(2).expect_stderr("http://");
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port is free");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer(
                stream,
                "application/json",
                r#"{"status":"success","data":["up","go_goroutines"]}"#,
            );
        }
    });
    let empty = bench.run(&["import", "--prometheus", &url]);
    empty.expect_code(3).expect_stderr("no metric that is read").expect_stderr("dcgm-exporter");
    assert!(!empty.stderr().contains("zqsecret"));
    assert!(!bench.path("recording.download").exists());
    bench.run(&["import", "--prometheus", &url, "log.csv"]).expect_code(2);
    bench.run(&["import", "--prometheus", &url, "--header", "nonsense"]).expect_code(2);
}

/// What a command asks for names of: start and end in seconds since 1970.
fn asked(bench: &Workbench, times: &[&str]) -> (f64, f64) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let server = std::thread::spawn(move || {
        let stream = listener.accept().expect("a question").0;
        answer(stream, "application/json", r#"{"status":"success","data":["up"]}"#)
    });
    bench.run(&[&["import", "--prometheus", &url], times].concat()).expect_code(3);
    let line = server.join().expect("the server ends");
    let value = |key: &str| {
        let rest = line.split_once(&format!("{key}=")).unwrap_or_else(|| panic!("{line}")).1;
        let end = rest.find(['&', ' ']).expect("an end");
        rest[..end].parse::<f64>().unwrap_or_else(|_| panic!("{line}"))
    };
    (value("start"), value("end"))
}

#[test]
fn times_count_back_from_now() {
    let bench = Workbench::new();
    let now = jiff::Timestamp::now().as_second() as f64;
    for (times, from, to) in [
        (vec!["--from", "-2h"], 7200.0, 0.0),
        (vec!["--from", "-1d12h", "--to", "-90m"], 129_600.0, 5400.0),
        (vec!["--to=-1h", "--last", "30m"], 5400.0, 3600.0),
    ] {
        let (start, end) = asked(&bench, &times);
        assert!((now - from..now - from + 120.0).contains(&start), "{times:?}: {start}");
        assert!((now - to..now - to + 120.0).contains(&end), "{times:?}: {end}");
        assert!((end - start - (from - to)).abs() < 1e-3, "{times:?}: {start} to {end}");
    }
    let from_the_start = ["import", "--prometheus", "http://127.0.0.1:1", "--from", "5m"];
    bench.run(&from_the_start).expect_code(2).expect_stderr("write -5m for that long before now");
    let turned = ["import", "--prometheus", "http://127.0.0.1:1", "--from", "-1h", "--to", "-2h"];
    bench.run(&turned).expect_code(2).expect_stderr("--from is not before --to");
}
