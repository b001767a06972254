//! A plan and a recommendation are about the same GPUs, so neither says what the other contradicts; and plans without a GPU.

mod support;

use cotenant::domain::ident::{GpuId, Subject, TenantId};
use cotenant::domain::metric::Metric;
use cotenant::domain::outline::Device;
use cotenant::domain::sink::{Fact, Sink};
use cotenant::domain::source::SourceId;
use cotenant::domain::time::Timestamp;
use cotenant::storage::{Mode, RecordingWriter};
use serde_json::Value;
use std::collections::BTreeMap;
use support::Workbench;

/// Strangers of whom nothing is said, and one team that accepts everything.
const POLICIES: [(&str, &str); 2] = [
    ("nothing is said", ""),
    ("one team", "[default]\ntrust_domain = \"a\"\nclass = \"development\"\n"),
];

fn json(bench: &Workbench, arguments: &[&str]) -> Value {
    let answer = bench.run(arguments);
    assert!(matches!(answer.code(), 0 | 3 | 4), "code {}: {}", answer.code(), answer.stderr());
    serde_json::from_str(&answer.stdout()).expect("the result is JSON")
}

fn text<'a>(it: &'a Value, key: &str) -> &'a str {
    it[key].as_str().unwrap_or_default()
}

fn list<'a>(it: &'a Value, key: &str) -> &'a [Value] {
    it[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Every GPU of a plan against the verdict on it; gives how many were compared, by outcome.
fn compared(bench: &Workbench, inputs: &[&str], told: &str) -> BTreeMap<String, usize> {
    let recommended = json(bench, &[&["recommend", "-o", "json"], inputs].concat());
    let document = json(bench, &[&["plan", "--no-keep", "-o", "json"], inputs].concat());
    let plan = &document["plan"];
    let refused: Vec<&str> = list(plan, "refused_now").iter().map(|it| text(it, "label")).collect();
    let mut found = BTreeMap::new();
    for verdict in list(&recommended, "verdicts") {
        let (gpu, outcome) = (text(verdict, "gpu"), text(verdict, "outcome"));
        let label = text(verdict, "label");
        let device = list(plan, "devices").iter().find(|it| it["gpu"] == gpu);
        let device = device.unwrap_or_else(|| panic!("{told}: {gpu} is in no plan: {plan}"));
        let at = format!("{told}, {label}: {outcome}, and {device}");
        assert_eq!(text(device, "verdict_now"), outcome, "{at}");
        let now = device["tenants_now"].as_u64().expect("a number of tenants");
        let is_refused = refused.contains(&label);
        assert_eq!(is_refused, outcome == "exclusive" && now > 1, "must not be shared: {at}");
        let stays = text(device, "state") == "as-it-is";
        assert!(!stays || outcome == "not-enough-evidence", "not judged: {at}");
        if outcome == "not-enough-evidence" {
            assert!(now < 2 || stays, "undecided company is left alone: {at}");
            let decisive = text(&verdict["decisive"], "sentence");
            let is_told = text(device, "reason").contains(decisive);
            assert!(!stays || is_told || now == 1, "the same reason: {decisive} {at}");
        }
        *found.entry(outcome.to_owned()).or_default() += 1;
    }
    found
}

#[test]
fn a_plan_and_a_recommendation_never_contradict_each_other() {
    let bench = Workbench::new();
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for scenario in [
        "demo",
        "aggressor",
        "memory-collision",
        "mig-two-slices",
        "saturated-trainer",
        "steady-30",
        "own-queue",
    ] {
        let recording = bench.play(scenario);
        for (name, policy) in POLICIES {
            bench.file("policy.toml", policy);
            let told = format!("{scenario}, {name}");
            let all = [recording.as_str(), "--policy", "policy.toml"];
            let inputs = if policy.is_empty() { &all[..1] } else { &all[..] };
            for (outcome, count) in compared(&bench, inputs, &told) {
                *found.entry(outcome).or_default() += count;
            }
        }
    }
    for outcome in ["share", "exclusive", "not-enough-evidence"] {
        assert!(
            found.contains_key(outcome),
            "{outcome} never came up, so the test is too weak: {found:?}"
        );
    }
}

#[test]
fn real_recordings_get_one_word_from_both() {
    let bench = Workbench::new();
    for file in [
        "llm-k8s-timeslicing-hami/timeslicing/r4_c4_20260610-023635/gpu_metrics.csv",
        "mig-profiler-a100/a100_40g/finetune_vit/dcgm.csv",
        "smi-captures/linux-x86_64__nvidia-h100-mig__590.48.01/load_table.txt",
        "h100-dcgm-10hz/e2_telemetry.csv",
    ] {
        let Some(path) = support::real(file) else { continue };
        let found = compared(&bench, &[&path.to_string_lossy()], file);
        assert!(!found.is_empty(), "{file}: no verdict");
    }
}

#[test]
fn the_demo_says_of_each_gpu_what_its_verdict_says() {
    let bench = Workbench::new();
    let recording = bench.play("demo");
    let plan = bench.run(&["plan", "--no-keep", &recording]).stdout().replace('\n', " ");
    let plan = plan.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(plan.contains("not enough evidence to decide about GPU 0"), "{plan}");
    for gpu in ["GPU 1", "GPU 2"] {
        assert!(plan.contains(&format!("{gpu} is shared now and must not be")), "{plan}");
    }
    let all = bench.run(&["recommend", &recording]).stdout() + &plan;
    let all = all.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!all.contains("would be at least 1.41"), "1.41 is not more than 1.50: {all}");
}

/// A recording with these rows of a GPU and of a service, each a second after the other.
fn recording(bench: &Workbench, name: &str, gpu_rows: i64, service_rows: i64) -> String {
    let path = bench.path(name);
    let mut writer = RecordingWriter::open(&path, Mode::Create).expect("a new recording");
    let gpu = GpuId::new("GPU-1");
    if gpu_rows >= 0 {
        let device = Device { index: Some(0), ..Device::named(gpu.clone()) };
        writer.fact(Fact::Device(device)).expect("a fact");
    }
    for second in 0..gpu_rows.max(service_rows) {
        let at = Timestamp::from_micros(1_767_225_600_000_000 + second * 1_000_000);
        if second < gpu_rows {
            let busy = [(Metric::GpuUtilization, 30.0)];
            writer.row(at, &Subject::device(&gpu), SourceId(0), &busy).expect("a row");
        }
        if second < service_rows {
            let service = Subject::Tenant { gpu: None, tenant: TenantId::new("chat") };
            let said = [(Metric::LatencyP99, 0.05 + 0.001 * (second % 7) as f64)];
            writer.row(at, &service, SourceId(0), &said).expect("a row");
        }
    }
    writer.finish().expect("a recording");
    path.to_string_lossy().into_owned()
}

#[test]
fn without_a_gpu_a_plan_says_so_and_what_to_record() {
    let bench = Workbench::new();
    let service = recording(&bench, "service", -1, 300);
    let answer = bench.run(&["plan", &service]);
    answer.expect_code(3).expect_stderr("no GPU was seen in it");
    answer.expect_stderr("holds only what `chat` says of itself");
    answer.expect_stderr("cotenant record");
    assert_eq!(answer.stdout(), "", "no plan comes of it");
    let with_another = recording(&bench, "gpu", 300, 0);
    let answer = bench.run(&["plan", &service, &with_another]);
    answer.expect_stderr("warning: `service` holds only what `chat` says of itself");
    assert!(answer.stdout().contains("1 GPU"), "{}", answer.stdout());
}

#[test]
fn one_sample_of_a_gpu_is_no_ground_for_a_plan() {
    let bench = Workbench::new();
    let one = recording(&bench, "one", 1, 0);
    let answer = bench.run(&["plan", &one]);
    answer.expect_code(3);
    let told = answer.stdout().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!told.contains("nothing is to be gained"), "{told}");
    assert!(told.contains("not enough evidence") || told.contains("nobody"), "{told}");
}
