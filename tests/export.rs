//! What `export` writes is what the recording and its findings say: as a timeline, as OpenMetrics and as CSV.
#![allow(clippy::print_stderr, reason = "tests skip visibly")]

mod support;

use cotenant::domain::ident::{GpuId, ProcessKey, Subject, TenantId};
use cotenant::domain::metric::{Metric, Precision};
use cotenant::domain::outline::{Device, Phase, Process};
use cotenant::domain::recording::Recording;
use cotenant::domain::sink::{Fact, Sink};
use cotenant::domain::source::SourceId;
use cotenant::domain::time::{TimeSpan, Timestamp};
use cotenant::storage::{Mode, RecordingWriter, Selection, StoredRecording};
use flate2::read::GzDecoder;
use proptest::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use support::{Workbench, number, scope};

/// Process and track of an event.
type Track = (u64, u64);

/// A timeline whose form was checked, with the names of its processes and tracks.
struct Timeline {
    events: Vec<Value>,
    processes: BTreeMap<u64, String>,
    tracks: BTreeMap<Track, String>,
}

fn whole(event: &Value, key: &str) -> u64 {
    event[key].as_u64().unwrap_or_else(|| panic!("`{key}` is no whole number: {event}"))
}

fn track_of(event: &Value) -> Track {
    (whole(event, "pid"), whole(event, "tid"))
}

impl Timeline {
    /// Reads a timeline and refuses whatever the Trace Event Format does not allow.
    fn read(text: &str) -> Self {
        let document: Value = serde_json::from_str(text).expect("a timeline is JSON");
        let other = &document["otherData"];
        let origin: jiff::Timestamp =
            other["origin_utc"].as_str().expect("an origin").parse().expect("UTC");
        assert_eq!(other["origin_unix_us"], origin.as_microsecond().to_string());
        let events = document["traceEvents"].as_array().expect("a list of events").clone();
        let (mut processes, mut tracks) = (BTreeMap::new(), BTreeMap::new());
        let mut open: BTreeMap<Track, Vec<u64>> = BTreeMap::new();
        let mut last: BTreeMap<(Track, String), u64> = BTreeMap::new();
        for event in &events {
            let name = event["name"].as_str().expect("every event has a name");
            let (place, at) = (track_of(event), whole(event, "ts"));
            match event["ph"].as_str().expect("every event has a phase") {
                "M" => {
                    let value = event["args"]["name"].as_str().map(str::to_owned);
                    match name {
                        "process_name" => {
                            assert!(processes.insert(place.0, value.expect("a name")).is_none());
                        }
                        "thread_name" => {
                            assert!(tracks.insert(place, value.expect("a name")).is_none());
                        }
                        "process_sort_index" | "thread_sort_index" => {
                            assert!(event["args"]["sort_index"].is_u64(), "{event}");
                        }
                        other => panic!("metadata `{other}` is unknown"),
                    }
                    continue;
                }
                "X" => {
                    let end = at + whole(event, "dur");
                    let stack = open.entry(place).or_default();
                    stack.retain(|it| *it > at);
                    assert!(stack.last().is_none_or(|it| end <= *it), "does not nest: {event}");
                    stack.push(end);
                }
                "i" => assert_eq!(event["s"], "t", "an instant has a scope: {event}"),
                "C" => {
                    let values = event["args"].as_object().expect("values");
                    assert_eq!(values.len(), 1, "{event}");
                    assert!(values.values().all(Value::is_number), "{event}");
                    let before = last.insert((place, name.to_owned()), at);
                    assert!(before.is_none_or(|it| it < at), "a counter goes back: {event}");
                    assert!(processes.contains_key(&place.0), "{event}");
                    continue;
                }
                other => panic!("phase `{other}` is not written"),
            }
            assert!(tracks.contains_key(&place), "a track without a name: {event}");
            assert!(event["cat"].is_string() && event["args"].is_object(), "{event}");
            let before = last.insert((place, String::new()), at);
            assert!(before.is_none_or(|it| it <= at), "a track goes back: {event}");
        }
        for (pid, _) in tracks.keys() {
            assert!(processes.contains_key(pid), "process {pid} has no name");
        }
        Self { events, processes, tracks }
    }

    fn marks<'a>(&'a self, category: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events.iter().filter(move |it| it["cat"] == category)
    }

    /// Bursts on the track of this name: how many, their lengths, what is drawn, and busy times, in seconds.
    fn bursts(&self, label: &str) -> (u64, [f64; 3]) {
        let here = self.marks("burst").filter(|it| self.tracks[&track_of(it)] == label);
        here.fold((0, [0.0; 3]), |(count, [length_s, drawn_s, busy_s]), it| {
            let argument = |key: &str| it["args"][key].as_f64().expect("a number");
            let drawn = whole(it, "dur") as f64 / 1e6;
            (
                count + whole(&it["args"], "bursts"),
                [length_s + argument("length_s"), drawn_s + drawn, busy_s + argument("busy_s")],
            )
        })
    }
}

fn exported(bench: &Workbench, arguments: &[&str]) -> String {
    let answer = bench.run(&[&["export"], arguments].concat());
    answer.expect_code(0);
    answer.stdout()
}

#[test]
fn a_timeline_has_every_burst_that_the_analysis_counted_and_roughly_those_that_there_were() {
    let bench = Workbench::new();
    let recording = bench.play("bursty-30-3s");
    let timeline = Timeline::read(&exported(&bench, &[&recording, "--to", "trace"]));
    let document = bench.analyse(&[&recording]);
    let mut compared = 0;
    for label in timeline.tracks.values() {
        let (count, [length_s, drawn_s, _]) = timeline.bursts(label);
        if count == 0 {
            continue;
        }
        let profile = &scope(&document, label, None)["profile"];
        assert_eq!(count as f64, number(profile, "/bursts/burst_lengths/count"), "{label}");
        let counted = number(profile, "/bursts/on_ratio_of_time")
            * number(profile, "/samples")
            * number(profile, "/stride_s");
        assert!((length_s - counted).abs() < 1e-6 * counted, "{label}: {length_s} for {counted}");
        assert!((drawn_s / length_s - 1.0).abs() < 0.05, "{label}: {drawn_s} of {length_s} s");
        compared += 1;
    }
    assert!(compared >= 2, "the device and its tenant have bursts: {:?}", timeline.tracks);
    let truth = std::fs::read_to_string(bench.path("bursty-30-3s/truth.json")).expect("a truth");
    let truth: Value = serde_json::from_str(&truth).expect("JSON");
    let (count, [_, _, busy_s]) = timeline.bursts("GPU 0");
    let there_were = number(&truth, "/truth/devices/0/busy/count");
    // Gaps shorter than a sampling window join two bursts.
    assert!((0.85..=1.02).contains(&(count as f64 / there_were)), "{count} of {there_were}");
    let busy = number(&truth, "/truth/devices/0/busy_ratio") * number(&truth, "/duration_us") / 1e6;
    assert!((busy_s / busy - 1.0).abs() < 0.03, "{busy_s} s of {busy} s");
}

#[test]
fn a_timeline_of_the_demo_shows_findings_where_they_lie() {
    let bench = Workbench::new();
    let recording = bench.play("demo");
    let text = exported(&bench, &[&recording, "--to", "trace"]);
    let timeline = Timeline::read(&text);
    let document = bench.analyse(&[&recording]);
    let devices = document["devices"].as_array().expect("devices");
    assert_eq!(timeline.processes.len(), 1 + devices.len(), "{:?}", timeline.processes);
    let shown: Vec<&Value> = devices
        .iter()
        .flat_map(|it| it["influences"]["pairs"].as_array().into_iter().flatten())
        .filter(|it| ["confirmed", "through", "likely"].map(Value::from).contains(&it["verdict"]))
        .collect();
    assert!(!shown.is_empty());
    let pairs = |it: &Value, of: &Value| (it["suspect"].to_string(), of["victim"].to_string());
    let expected: BTreeSet<_> = shown.iter().map(|it| pairs(it, it)).collect();
    let drawn: BTreeSet<_> =
        timeline.marks("influence").map(|it| pairs(&it["args"], &it["args"])).collect();
    assert_eq!(drawn, expected);
    assert_eq!(timeline.marks("phase").count(), 3);
    let words = document["suitability"].as_array().expect("words").len();
    assert!(timeline.marks("word").count() >= words, "every word stands where its part begins");
    // Counters: a step line through what is kept has every sample of the recording.
    let stored = StoredRecording::open(&bench.path(&recording)).expect("a recording");
    let all = stored.load(&Selection::default()).expect("it can be loaded");
    let origin = stored.outline().span.expect("samples").from();
    let mut drawn: BTreeMap<(String, String), BTreeMap<u64, f64>> = BTreeMap::new();
    for it in timeline.events.iter().filter(|it| it["ph"] == "C") {
        let process = timeline.processes[&whole(it, "pid")].clone();
        let name = it["name"].as_str().expect("a name").to_owned();
        let value =
            it["args"].as_object().and_then(|it| it.values().next()?.as_f64()).expect("a value");
        drawn.entry((process, name)).or_default().insert(whole(it, "ts"), value);
    }
    let mut compared = 0;
    for (subject, trace) in all.traces.iter().filter(|it| it.0.is_device()) {
        let device = all.outline.label(subject);
        for metric in
            [Metric::GpuUtilization, Metric::Power, Metric::SmClock, Metric::FramebufferUsed]
        {
            let Some(series) = trace.get(metric) else { continue };
            let label = metric.spec().label;
            let found = drawn.iter().find(|it| it.0.0.starts_with(&device) && it.0.1 == label);
            let steps = found.unwrap_or_else(|| panic!("no counter {label} on {device}")).1;
            for (at, value) in series.times().iter().zip(series.values()) {
                let at = at.micros_since(origin).unsigned_abs();
                let (_, step) = steps.range(..=at).next_back().expect("a value before");
                assert!((step - value).abs() <= value.abs() * 1e-6, "{label}: {step} for {value}");
            }
            compared += series.len();
        }
    }
    assert!(compared > 50_000, "{compared}");
}

#[test]
fn a_timeline_is_the_same_bytes_with_any_threads_and_packed_or_not() {
    let bench = Workbench::new();
    let recording = bench.play("aggressor");
    let arguments = ["export", &recording, "--to", "trace", "-o"];
    // The command line stands in the file, so that only threads and packing may differ.
    bench.run(&[&["--threads", "1"], &arguments[..], &["one.json"]].concat()).expect_code(0);
    bench.run(&[&["--threads", "3"], &arguments[..], &["two.json.gz"]].concat()).expect_code(0);
    let one = std::fs::read_to_string(bench.path("one.json")).expect("a file");
    let mut two = String::new();
    let packed = std::fs::File::open(bench.path("two.json.gz")).expect("a file");
    GzDecoder::new(packed).read_to_string(&mut two).expect("it is packed");
    let events = |it: &str| it.split_once("\"traceEvents\"").map(|it| it.1.to_owned());
    assert!(events(&one).is_some() && events(&one) == events(&two));
}

#[test]
fn a_window_and_a_bound_leave_less_and_say_so() {
    let bench = Workbench::new();
    let recording = bench.play("aggressor");
    let few = ["--to", "trace", "--most-samples", "100"];
    let answer = bench.run(&[&["export", &recording][..], &few].concat());
    answer.expect_code(0).expect_stderr("--most-samples all");
    let thin = Timeline::read(&answer.stdout());
    let mut values: BTreeMap<(u64, String), usize> = BTreeMap::new();
    for it in thin.events.iter().filter(|it| it["ph"] == "C") {
        *values.entry((whole(it, "pid"), it["name"].to_string())).or_default() += 1;
    }
    assert!(
        values.values().all(|it| *it <= 100) && values.values().any(|it| *it > 50),
        "{values:?}"
    );
    for part in [&["--from", "60s", "--until", "90s"][..], &["--last", "30s"]] {
        let text = exported(&bench, &[&[recording.as_str(), "--to", "trace"], part].concat());
        let timeline = Timeline::read(&text);
        let stamps: Vec<u64> = timeline.events.iter().map(|it| whole(it, "ts")).collect();
        assert!(stamps.iter().all(|it| *it <= 30_000_000), "{part:?}");
        assert!(stamps.iter().any(|it| *it > 29_000_000), "{part:?}");
    }
    let outside = bench.run(&["export", &recording, "--to", "csv", "--from", "90000s"]);
    outside.expect_code(2).expect_stderr("no samples from 90000.0 s");
    let idle = bench.run(&["export", &recording, "--to", "csv", "--most-samples", "200"]);
    idle.expect_code(2).expect_stderr("--most-samples means nothing to --to csv");
}

const HOSTILE: [&str; 6] = [
    "=HYPERLINK(\"http://x\")",
    "</script><script>alert(1)",
    "a\u{202e}gpj.exe\u{1b}[2J",
    "quote\"},{\"ph\":\"B\\",
    "-2+3",
    "line\nbreak\r\n\"} 1",
];

fn hostile(folder: &Path) {
    let mut writer = RecordingWriter::open(folder, Mode::Create).expect("a place to write");
    let gpu = GpuId::new("@gpu\u{202e},\"0");
    let mut row = |at: i64, subject: &Subject, readings: &[(Metric, f64)]| {
        writer.row(Timestamp::from_micros(at), subject, SourceId(0), readings).expect("a row");
    };
    for second in 0..40_i64 {
        let at = 1_767_225_600_000_000 + second * 1_000_000;
        let busy = if second % 10 < 5 { 90.0 } else { 3.0 };
        row(at, &Subject::device(&gpu), &[(Metric::GpuUtilization, busy)]);
        for name in HOSTILE {
            let tenant = Subject::Tenant { gpu: Some(gpu.clone()), tenant: TenantId::new(name) };
            row(at, &tenant, &[(Metric::GpuUtilization, busy), (Metric::LatencyP99, 0.25)]);
        }
    }
    let process = ProcessKey { pid: 7, started: None };
    row(
        1_767_225_600_000_000,
        &Subject::Process { gpu: gpu.clone(), process },
        &[(Metric::FramebufferUsed, 1.0)],
    );
    let name = Some("=cmd\u{7}\n".repeat(2000));
    let tenant = Some(TenantId::new(HOSTILE[0]));
    writer
        .fact(Fact::Process(Process { gpu: gpu.clone(), process, name, tenant }))
        .expect("a fact");
    let span = TimeSpan::covering(Timestamp::from_micros(0), Timestamp::from_micros(i64::MAX - 1));
    writer
        .fact(Fact::Phase(Phase { label: HOSTILE[3].to_owned(), span, gpu: None }))
        .expect("a fact");
    writer
        .fact(Fact::Device(Device { model: Some(HOSTILE[5].to_owned()), ..Device::named(gpu) }))
        .expect("a fact");
    writer.finish().expect("it is written");
}

#[test]
fn hostile_names_stay_names_in_every_form() {
    let bench = Workbench::new();
    hostile(&bench.path("r"));
    let steers = |it: char| (it.is_control() && it != '\n') || it == '\u{202e}';
    let trace = exported(&bench, &["r", "--to", "trace"]);
    assert!(!trace.contains(steers));
    let timeline = Timeline::read(&trace);
    assert!(timeline.events.iter().all(|it| it["ph"] != "B"));
    assert!(timeline.tracks.values().all(|it| it.chars().count() <= 120));
    let csv = exported(&bench, &["r", "--to", "csv"]);
    assert!(!csv.replace("\r\n", "\n").contains(steers));
    let mut table = csv::Reader::from_reader(csv.as_bytes());
    let rows: Vec<csv::StringRecord> = table.records().map(|it| it.expect("a row")).collect();
    assert_eq!(rows.len(), 40 * (1 + HOSTILE.len()) + 1);
    for cell in rows.iter().flat_map(|it| it.iter().take(7)) {
        assert!(!cell.starts_with(['=', '+', '-', '@', '\t', '\r']), "{cell}");
        assert!(!cell.contains('\n'), "{cell:?}");
    }
    let metrics = exported(&bench, &["r", "--to", "openmetrics"]);
    assert!(!metrics.contains(steers));
    let samples = metrics.lines().filter(|it| !it.starts_with('#'));
    assert!(samples.clone().all(|it| it.starts_with("cotenant_")), "a name has left its quotes");
    let latencies = samples.filter(|it| it.starts_with("cotenant_latency_p99_seconds{"));
    assert_eq!(latencies.count(), 40 * HOSTILE.len());
}

/// A recording of made-up readings: for each subject, which metrics stand at which microsecond.
#[derive(Debug, Clone)]
struct Made {
    rows: Vec<MadeRow>,
}

/// Number of the subject, microseconds after the start, and readings.
type MadeRow = (usize, i64, Vec<(Metric, f64)>);

fn made_subjects() -> Vec<Subject> {
    let gpu = GpuId::from_index(0);
    let uuid = GpuId::new("GPU-11111111-2222-3333-4444-555555555555");
    let tenant = |gpu: Option<&GpuId>, name: &str| Subject::Tenant {
        gpu: gpu.cloned(),
        tenant: TenantId::new(name),
    };
    vec![
        Subject::device(&gpu),
        Subject::device(&uuid),
        tenant(Some(&gpu), "ns/pod/main"),
        tenant(None, "=chat, \"v2\""),
        tenant(Some(&uuid), "'+x"),
        Subject::Process { gpu: uuid, process: ProcessKey { pid: 4242, started: None } },
    ]
}

/// Whole numbers up to here keep every digit in another unit: their neighbours are 64-bit floats
/// far enough apart there as well.
const EXACT_IN_ANY_UNIT: f64 = (1_u64 << 51) as f64;

fn made(most: f64) -> impl Strategy<Value = Made> {
    let metrics: Vec<Metric> = Metric::all().collect();
    let reading = (prop::sample::select(metrics), 0.0_f64..1.0).prop_map(move |(metric, share)| {
        let (least, greatest) = metric.spec().range;
        let value = least + share * (greatest - least);
        match metric.spec().precision {
            Precision::Whole => (metric, value.min(most).round()),
            Precision::Single => (metric, f64::from(value as f32).clamp(least, greatest)),
        }
    });
    let row =
        (0..made_subjects().len(), 0_i64..3_600_000_000, prop::collection::vec(reading, 1..6));
    prop::collection::vec(row, 1..60).prop_map(|rows| Made { rows })
}

fn write(folder: &Path, made: &Made) -> Recording {
    let mut writer = RecordingWriter::open(folder, Mode::Replace).expect("a place to write");
    let subjects = made_subjects();
    for (subject, at, readings) in &made.rows {
        let at = Timestamp::from_micros(1_767_225_600_000_000 + at);
        writer.row(at, &subjects[*subject], SourceId(0), readings).expect("a row");
    }
    writer.finish().expect("it is written");
    loaded(folder)
}

fn loaded(folder: &Path) -> Recording {
    let stored = StoredRecording::open(folder).expect("a recording");
    stored.load(&Selection::default()).expect("it can be loaded")
}

/// Every sample: subject, metric, stamp in this many microseconds, and value as it is stored.
fn samples(recording: &Recording, tick_us: i64) -> Vec<(Subject, Metric, i64, f64)> {
    let traces = recording.traces.iter();
    traces
        .flat_map(|(subject, trace)| {
            trace.series.iter().flat_map(move |(metric, series)| {
                let all = series.times().iter().zip(series.values());
                all.map(move |(at, value)| {
                    (subject.clone(), *metric, at.as_micros().div_euclid(tick_us), *value)
                })
            })
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn a_csv_that_is_read_again_is_the_recording(made in made(9e15)) {
        let bench = Workbench::new();
        let before = write(&bench.path("r"), &made);
        bench.run(&["export", "r", "--to", "csv", "-o", "x.csv.gz"]).expect_code(0);
        bench.run(&["import", "x.csv.gz", "-o", "again"]).expect_code(0);
        prop_assert_eq!(samples(&loaded(&bench.path("again")), 1), samples(&before, 1));
    }

    #[test]
    fn openmetrics_that_are_read_again_are_the_recording(made in made(EXACT_IN_ANY_UNIT)) {
        let bench = Workbench::new();
        let before = write(&bench.path("r"), &made);
        bench.run(&["export", "r", "--to", "openmetrics", "-o", "x.om"]).expect_code(0);
        bench.run(&["import", "x.om", "-o", "again"]).expect_code(0);
        prop_assert_eq!(samples(&loaded(&bench.path("again")), 1), samples(&before, 1));
    }
}

#[test]
fn a_csv_of_a_mig_capture_says_in_which_instance_each_process_lives_and_whose_it_is() {
    let capture = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/imports/smi-table/watched_mig_and_whole.txt");
    let bench = Workbench::new();
    let text = exported(&bench, &[&capture.to_string_lossy(), "--to", "csv"]);
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let header = table.headers().expect("a header").clone();
    let place = |name: &str| header.iter().position(|it| it == name).expect("a column");
    let (pid, instance, tenant) = (place("pid"), place("gpu_instance"), place("tenant"));
    let rows: Vec<csv::StringRecord> = table.records().map(|it| it.expect("a row")).collect();
    let in_instance: Vec<_> =
        rows.iter().filter(|it| !it[pid].is_empty() && !it[instance].is_empty()).collect();
    assert!(!in_instance.is_empty(), "{text}");
    assert!(in_instance.iter().all(|it| it[tenant].contains(&it[pid])), "{text}");
}

/// What a Prometheus holds after it took in an export.
fn through_prometheus(bench: &Workbench) -> Option<()> {
    let runs = |program: &str| {
        let mut run = Command::new(program);
        run.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        run.status().is_ok_and(|it| it.success())
    };
    if !runs("promtool") || !runs("prometheus") {
        eprintln!("skipped: prometheus and promtool are not installed");
        return None;
    }
    let blocks = Command::new("promtool")
        .args(["tsdb", "create-blocks-from", "openmetrics"])
        .args([&bench.path("x.om"), &bench.path("tsdb")])
        .output()
        .expect("promtool starts");
    assert!(blocks.status.success(), "{}", String::from_utf8_lossy(&blocks.stderr));
    Some(())
}

/// A Prometheus that ends with the test.
struct Server(std::process::Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    fn start(bench: &Workbench, port: u16) -> Self {
        bench.file("prometheus.yml", "global: {}\n");
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", bench.path("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", bench.path("tsdb").display()))
            .arg("--storage.tsdb.retention.time=100y")
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let server = Self(child.expect("prometheus starts"));
        for _ in 0..600 {
            if is_ready(port) {
                return server;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        panic!("prometheus does not get ready");
    }
}

fn is_ready(port: u16) -> bool {
    let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", port)) else { return false };
    let _ = std::io::Write::write_all(&mut stream, b"GET /-/ready HTTP/1.0\r\n\r\n");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).is_ok() && answer.contains(" 200")
}

#[test]
fn a_prometheus_takes_in_the_export_and_gives_it_back() {
    let bench = Workbench::new();
    let recording = bench.play("demo");
    bench
        .run(&["export", &recording, "--to", "openmetrics", "--last", "3m", "-o", "x.om"])
        .expect_code(0);
    if through_prometheus(&bench).is_none() {
        return;
    }
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|it| it.local_addr())
        .expect("a free port")
        .port();
    let server = Server::start(&bench, port);
    let whole = StoredRecording::open(&bench.path(&recording)).expect("a recording");
    let until = whole.outline().span.expect("samples").until();
    let span = TimeSpan::new(until.plus_micros(-180_000_000), until);
    let before = whole.load(&Selection { span, ..Selection::default() }).expect("it can be loaded");
    let time = |micros: i64| jiff::Timestamp::from_microsecond(micros).expect("a time").to_string();
    let url = format!("http://127.0.0.1:{port}");
    let [from, to] = [-200_000_000, 20_000_000].map(|it| time(until.as_micros() + it));
    bench
        .run(&["import", "--prometheus", &url, "--from", &from, "--to", &to, "-o", "back"])
        .expect_code(0);
    drop(server);
    let back = loaded(&bench.path("back"));
    let (given, returned) = (samples(&before, 1000), samples(&back, 1000));
    assert_eq!(returned.len(), given.len());
    let first_wrong = returned.iter().zip(&given).find(|it| it.0 != it.1);
    assert_eq!(first_wrong, None);
    let names = |it: &Recording| -> BTreeSet<(u32, Option<String>)> {
        it.outline.processes.iter().map(|it| (it.process.pid, it.name.clone())).collect()
    };
    assert_eq!(names(&back), names(&before));
}
