//! Names of tenants, programs, hosts, phases and GPUs through everything that shows them: what comes out stays what it is.

#![no_main]

use cotenant::domain::ident::{GpuId, ProcessKey, Subject, TenantId};
use cotenant::domain::invisible::is_invisible;
use cotenant::domain::metric::Metric;
use cotenant::domain::outline::Process;
use cotenant::domain::sink::{Fact, Sink};
use cotenant::domain::source::SourceId;
use cotenant::domain::time::Timestamp;
use cotenant::exporter::{Exposition, Format, Limits};
use cotenant::storage::{Mode, RecordingWriter};
use cotenant_fuzz::{Answer, Choices, command, folder, inside, write_names};
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

/// Names of one recording.
const NAMES: usize = 7;
/// Seconds that it lasts.
const SECONDS: i64 = 14;

/// Scripts and elements of a page of which the names say nothing.
static USUAL: OnceLock<(usize, usize)> = OnceLock::new();

fuzz_target!(|bytes: &[u8]| {
    let usual = *USUAL.get_or_init(|| {
        write(&["a", "b", "c", "d", "e", "f", "3g.40gb"].map(str::to_owned));
        page()
    });
    let mut choices = Choices::new(bytes);
    let what = choices.byte();
    let names: Vec<String> = (0..NAMES).map(|_| choices.text()).collect();
    if what % 8 == 7 {
        return exposition(&names);
    }
    write(&names);
    match what % 8 {
        0 => assert_eq!(page(), usual, "a name made an element of the page"),
        1 => text(&["analyze", "r"]),
        2 => json(&["analyze", "r", "-o", "json"]),
        3 => csv(&["analyze", "r", "-o", "csv"]),
        4 => trace(),
        5 => open_metrics(),
        _ => {
            csv(&["export", "r", "--to", "csv"]);
            text(&["recommend", "r"]);
        }
    }
});

fn write(names: &[String]) {
    std::env::set_current_dir(folder()).expect("the folder is there");
    let mut writer = RecordingWriter::open(&inside("r"), Mode::Create).expect("a place to write");
    write_names(&mut writer, names, 0, SECONDS);
    writer.finish().expect("it is written");
}

fn run(line: &[&str]) -> String {
    let Answer { code, stdout, stderr } = command(line.iter().copied());
    let said = String::from_utf8(stderr).expect("messages are UTF-8");
    assert!(code == 0 || code == 3, "{line:?} ends with {code}: {said}");
    refuse_steering(&said);
    String::from_utf8(stdout).expect("results are UTF-8")
}

fn refuse_steering(text: &str) {
    if let Some(letter) = text.chars().find(|it| *it != '\n' && is_invisible(*it)) {
        panic!("{letter:?} in {text}");
    }
}

/// How many scripts, and how many elements, a report has.
fn page() -> (usize, usize) {
    let _ = run(&["report", "r", "-o", "page.html", "--title", "t"]);
    let page = std::fs::read_to_string(folder().join("page.html")).expect("a page was written");
    refuse_steering(&page);
    let scripts = page.to_lowercase().matches("<script").count();
    // A name may add rows, but no elements of kinds that a page of ours has a fixed number of.
    let fixed = ["<style", "<iframe", "<img", "<link", "<meta", "<form", "<object", "<base"];
    (scripts, fixed.iter().map(|it| page.to_lowercase().matches(it).count()).sum())
}

fn text(line: &[&str]) {
    refuse_steering(&run(line));
}

fn json(line: &[&str]) {
    let text = run(line);
    serde_json::from_str::<serde_json::Value>(&text).expect("it is JSON");
}

fn csv(line: &[&str]) {
    let text = run(line);
    refuse_steering(&text.replace("\r\n", "\n"));
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let width = table.headers().expect("there is a header").len();
    for row in table.records() {
        let row = row.expect("every row is as wide as the header");
        assert_eq!(row.len(), width);
        for cell in row.iter() {
            let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
            assert!(!is_formula || cell.parse::<f64>().is_ok(), "{cell:?} would be computed");
        }
    }
}

fn trace() {
    let text = run(&["export", "r", "--to", "trace"]);
    refuse_steering(&text);
    let timeline: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    assert!(timeline["traceEvents"].is_array());
}

fn open_metrics() {
    let text = run(&["export", "r", "--to", "openmetrics"]);
    refuse_steering(&text);
    samples(&text);
}

/// Every sample is one of ours, and the end stands once.
fn samples(text: &str) {
    assert_eq!(text.lines().filter(|it| *it == "# EOF").count(), 1);
    let strange = text.lines().find(|it| !it.starts_with('#') && !it.starts_with("cotenant_"));
    assert_eq!(strange, None, "a name has left its quotes");
}

/// The page of the exporter, which is read by machines only and keeps names as they are, quoted.
fn exposition(names: &[String]) {
    let gpu = GpuId::new(names[5].clone());
    let mut page = Exposition::new(Limits { tenants: 4, pairs: 2 });
    for (pid, name) in (1..).zip(names) {
        let process = ProcessKey { pid, started: None };
        let tenant = Some(TenantId::new(name.clone()));
        let described = Process { gpu: gpu.clone(), process, name: Some(name.clone()), tenant };
        page.fact(Fact::Process(described)).expect("a fact is taken");
    }
    for second in 0..20 {
        let at = Timestamp::from_micros(second * 1_000_000);
        let busy = [(Metric::GpuUtilization, 50.0)];
        page.row(at, &Subject::device(&gpu), SourceId(0), &busy).expect("a row is taken");
        for pid in 1..=NAMES as u32 {
            let process = ProcessKey { pid, started: None };
            let subject = Subject::Process { gpu: gpu.clone(), process };
            page.row(at, &subject, SourceId(0), &busy).expect("a row is taken");
        }
    }
    samples(&page.render(Format::OpenMetrics));
    let _ = page.render(Format::Prometheus);
}
