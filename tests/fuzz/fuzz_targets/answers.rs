//! What servers answer: bodies as files, and whole answers over a connection to the client of a Prometheus and to the scraper.

#![no_main]

use cotenant::domain::collector::Collector;
use cotenant::domain::source::SourceId;
use cotenant::import::prometheus_json::PrometheusJson;
use cotenant::import::prometheus_text::PrometheusText;
use cotenant::import::{ImportOptions, Importer, import};
use cotenant::prometheus::{Client, Order, Outcome, Part, Problem, Shelf};
use cotenant::prometheus::{Settings as Asking, download, gives_raw_samples, names};
use cotenant::sampler::services::{Settings, Targets, channel, drain, start};
use cotenant_fuzz::Choices;
use libfuzzer_sys::fuzz_target;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Answers that the server has; it repeats the last.
static ANSWERS: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());
/// How many questions came.
static ASKED: AtomicUsize = AtomicUsize::new(0);
/// Port of the server.
static PORT: OnceLock<u16> = OnceLock::new();

/// Longest time that an answer may take.
const TIMEOUT: Duration = Duration::from_millis(300);

fuzz_target!(|bytes: &[u8]| {
    let mut choices = Choices::new(bytes);
    match choices.byte() % 8 {
        0..=2 => body(&PrometheusJson, choices.rest()),
        3 | 4 => body(&PrometheusText, choices.rest()),
        5 => ask(choices.rest(), false),
        6 => ask(choices.rest(), true),
        _ => scrape(choices.rest()),
    }
});

fn body(importer: &dyn Importer, mut bytes: &[u8]) {
    let mut sink = Collector::new();
    let options = ImportOptions::default();
    let _ = import(importer, &mut bytes, "answer", &options, SourceId(0), &mut sink);
    let _ = sink.into_recording();
}

/// Answers to a download: whole ones of HTTP, or bodies of good ones.
fn ask(bytes: &[u8], is_raw: bool) {
    let url = serve(bytes, is_raw, "application/json");
    let settings =
        Asking { timeout: TIMEOUT, most_bytes: 1 << 20, retries: 1, ..Asking::default() };
    let client = Client::new(&url, settings).expect("it is an address");
    let order = Order {
        names: vec!["DCGM_FI_DEV_GPU_UTIL".to_owned()],
        selector: String::new(),
        from_ms: 1_767_225_600_000,
        until_ms: 1_767_225_720_000,
        step_ms: None,
        part_ms: 60_000,
    };
    let _ = names(&client, &order, &mut |_, _| {});
    let _ = gives_raw_samples(&client, &order, &mut |_, _| {});
    let mut kept = Kept::default();
    let outcome: Result<Outcome, Problem> = download(&client, &order, true, &mut kept);
    if let Err(problem) = outcome {
        assert!(!problem.to_string().is_empty());
    }
    body(&PrometheusJson, kept.text.as_bytes());
}

/// What was downloaded, in memory.
#[derive(Default)]
struct Kept {
    text: String,
}

impl Shelf for Kept {
    fn has(&self, _part: &Part) -> bool {
        false
    }

    fn put(&mut self, _part: &Part, body: &str, _is_whole: bool) -> std::io::Result<()> {
        self.text.push_str(body);
        Ok(())
    }

    fn hole(&mut self, _part: &Part, _name: &str, reason: &str) -> std::io::Result<()> {
        assert!(!reason.is_empty());
        Ok(())
    }

    fn pause(&mut self, length: Duration, _problem: &Problem) {
        assert!(length <= Duration::from_secs(60), "it would wait for {length:?}");
    }

    fn progress(&mut self, _done: usize, _all: usize) {}
}

/// Pages that a service shows, one after the other.
fn scrape(bytes: &[u8]) {
    let url = serve(bytes, false, "text/plain; version=0.0.4");
    let settings = Settings {
        interval: Duration::from_millis(1),
        timeout: TIMEOUT,
        most_bytes: 1 << 20,
        least_requests: 1,
    };
    let targets = Targets::parse(&[format!("chat={url}/metrics")], &[], settings);
    let (sender, events) = channel();
    let pages = pages();
    let handle = start(targets.expect("it is a target"), sender);
    let begin = Instant::now();
    while ASKED.load(Ordering::Relaxed) < pages + 1 && begin.elapsed() < TIMEOUT {
        std::thread::sleep(Duration::from_micros(200));
    }
    handle.stop();
    let mut sink = Collector::new();
    let drained = drain(&events, &mut sink).expect("it takes everything");
    assert!(drained.notices.iter().all(|it| !it.is_empty()));
    for trace in sink.into_recording().traces.values() {
        for series in trace.series.values() {
            assert!(series.values().iter().all(|it| it.is_finite()), "a reading that is no number");
        }
    }
}

fn pages() -> usize {
    ANSWERS.lock().unwrap_or_else(PoisonError::into_inner).len()
}

/// The address of a server that gives these answers, which zero bytes separate.
fn serve(bytes: &[u8], is_raw: bool, kind: &str) -> String {
    let port = *PORT.get_or_init(listen);
    let whole = |it: &[u8]| match is_raw {
        true => it.to_vec(),
        false => {
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                it.len()
            );
            [head.as_bytes(), it].concat()
        }
    };
    let answers = bytes.split(|it| *it == 0).map(whole).collect();
    *ANSWERS.lock().unwrap_or_else(PoisonError::into_inner) = answers;
    ASKED.store(0, Ordering::Relaxed);
    format!("http://127.0.0.1:{port}")
}

fn listen() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it has an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer(stream);
        }
    });
    port
}

/// Answers one question and closes; whoever went away is no fault.
fn answer(mut stream: TcpStream) {
    let _ = stream.set_read_timeout(Some(TIMEOUT));
    let mut question = Vec::new();
    let mut bytes = [0; 2048];
    while !question.windows(4).any(|it| it == b"\r\n\r\n") {
        match stream.read(&mut bytes) {
            Ok(count) if count > 0 => question.extend_from_slice(&bytes[..count]),
            _ => return,
        }
    }
    let number = ASKED.fetch_add(1, Ordering::Relaxed);
    let answers = ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
    let answer = answers.get(number).or(answers.last()).cloned().unwrap_or_default();
    drop(answers);
    let _ = stream.write_all(&answer);
}
