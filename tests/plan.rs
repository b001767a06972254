//! Plans for fleets as users see them: partitions, kept findings, stated hardware, forms, exit codes.

mod support;

use cotenant::domain::ident::{GpuId, ProcessKey, Subject, TenantId};
use cotenant::domain::metric::Metric;
use cotenant::domain::outline::{Device, Process};
use cotenant::domain::sink::{Fact, Sink};
use cotenant::domain::source::SourceId;
use cotenant::domain::time::Timestamp;
use cotenant::storage::{Mode, RecordingWriter};
use serde_json::Value;
use std::path::Path;
use support::Workbench;

const GIB: f64 = 1_073_741_824.0;
const NOTEBOOKS: &str = "[default]\ntrust_domain = \"research\"\nclass = \"development\"\n";

/// A host with GPUs on each of which one notebook works for a second in every twenty, seen ten minutes from a start.
fn host(folder: &Path, name: &str, gpus: u32, from_s: i64) {
    std::fs::create_dir_all(folder.parent().expect("a parent")).expect("a folder");
    let mut writer = RecordingWriter::open(folder, Mode::Create).expect("a new recording");
    for index in 0..gpus {
        let gpu = GpuId::new(format!("GPU-{name}-{index}"));
        let mut device = Device::named(gpu.clone());
        (device.index, device.model) = (Some(index), Some("NVIDIA L40S".to_owned()));
        writer.fact(Fact::Device(device)).expect("a fact");
        let process = ProcessKey { pid: 100 + index, started: None };
        let tenant = Some(TenantId::new(format!("nb-{name}-{index}")));
        let fact = Process { gpu: gpu.clone(), process, name: Some("python3".to_owned()), tenant };
        writer.fact(Fact::Process(fact)).expect("a fact");
    }
    for tick in 0..6_000_i64 {
        for index in 0..gpus {
            let gpu = GpuId::new(format!("GPU-{name}-{index}"));
            let busy = if (tick + 37 * i64::from(index)) % 200 < 10 { 100.0 } else { 0.0 };
            let at = Timestamp::from_micros((from_s * 10 + tick) * 100_000);
            let device = [
                (Metric::GpuUtilization, busy),
                (Metric::SmActive, busy / 200.0),
                (Metric::DramActive, busy / 1000.0),
                (Metric::FramebufferUsed, 4.5 * GIB),
                (Metric::FramebufferTotal, 46_068.0 * 1_048_576.0),
            ];
            writer.row(at, &Subject::device(&gpu), SourceId(0), &device).expect("a row");
            let process = ProcessKey { pid: 100 + index, started: None };
            let own = Subject::Process { gpu, process };
            let held = [(Metric::GpuUtilization, busy), (Metric::FramebufferUsed, 4.0 * GIB)];
            writer.row(at, &own, SourceId(0), &held).expect("a row");
        }
    }
    writer.finish().expect("a whole recording");
}

/// What `plan -o json` answers.
fn asked(bench: &Workbench, arguments: &[&str]) -> Value {
    let answer = bench.run(&[&["plan", "-o", "json"], arguments].concat());
    assert!(matches!(answer.code(), 0 | 3 | 4), "code {}: {}", answer.code(), answer.stderr());
    let document: Value = serde_json::from_str(&answer.stdout()).expect("the result is JSON");
    document["plan"].clone()
}

fn lake(bench: &Workbench) -> String {
    let lake = bench.path("lake");
    for (name, days) in [("a", &[0, 86_400][..]), ("b", &[0][..])] {
        for day in days {
            host(&lake.join(format!("host={name}/date={day}")), name, 3, *day);
        }
    }
    bench.file("policy.toml", NOTEBOOKS);
    lake.to_string_lossy().into_owned()
}

#[test]
fn partitions_by_host_and_date_become_one_fleet_that_needs_fewer_gpus() {
    let bench = Workbench::new();
    let lake = lake(&bench);
    let plan = asked(&bench, &[&lake, "--policy", "policy.toml"]);
    let summary = &plan["summary"];
    assert_eq!(summary["hosts"], 2, "{summary}");
    assert_eq!(summary["gpus_used_now"], 6, "two days of one GPU are one GPU: {summary}");
    assert_eq!(summary["tenants"], 6);
    assert_eq!(summary["gpus_used_then"], 1, "{summary}");
    assert_eq!(plan["devices"][0]["mechanism"], "time-slicing");
    assert_eq!(plan["freedom"]["then"]["whole_hosts_free"], 1, "{}", plan["freedom"]);
    assert_eq!(plan["freedom"]["handed_back"]["drains"][0]["tenants_to_move"], 6);
    let nobody_said = asked(&bench, &[&lake]);
    assert_eq!(nobody_said["summary"]["gpus_freed"], 0, "{}", nobody_said["summary"]);
}

#[test]
fn a_second_run_reads_kept_findings_and_gives_the_same_bytes_until_the_data_change() {
    let bench = Workbench::new();
    let lake = lake(&bench);
    let arguments = ["plan", &lake, "--policy", "policy.toml", "-o", "json"];
    let first = bench.run(&arguments);
    assert!(!first.stderr().contains("were kept"), "{}", first.stderr());
    let second = bench.run(&arguments);
    assert!(
        second.stderr().contains("findings of 3 of 3 recordings were kept"),
        "{}",
        second.stderr()
    );
    assert_eq!(first.stdout(), second.stdout());
    let anew = bench.run(&[&arguments[..], &["--no-keep"]].concat());
    assert!(!anew.stderr().contains("were kept"));
    let of = |text: &str| serde_json::from_str::<Value>(text).expect("JSON")["plan"].clone();
    assert_eq!(of(&anew.stdout()), of(&first.stdout()));
    // Another part of the recording, and no longer the same findings.
    let segment = bench.path("lake").join("host=b/date=0/segment-000000.parquet");
    std::fs::copy(&segment, segment.with_file_name("segment-000001.parquet")).expect("a copy");
    let third = bench.run(&arguments);
    assert!(
        third.stderr().contains("findings of 2 of 3 recordings were kept"),
        "{}",
        third.stderr()
    );
}

#[test]
fn a_table_of_findings_is_no_recording_and_goes_with_its_recording() {
    let bench = Workbench::new();
    host(&bench.path("one"), "a", 2, 0);
    bench.file("policy.toml", NOTEBOOKS);
    let one = bench.path("one").to_string_lossy().into_owned();
    bench.run(&["plan", &one, "--policy", "policy.toml"]);
    let is_kept = |it: std::fs::DirEntry| it.file_name().to_string_lossy().starts_with("findings-");
    let kept = || std::fs::read_dir(bench.path("one")).unwrap().flatten().any(is_kept);
    assert!(kept());
    let answer = bench.run(&["analyze", &one]);
    assert_eq!(answer.code(), 0, "{}", answer.stderr());
    let again = bench.run(&["plan", &one]);
    assert_eq!(again.code(), 0, "{}", again.stderr());
    again.expect_stderr("findings of 1 of 1 recordings were kept");
}

#[test]
fn a_damaged_recording_is_left_out_and_told_and_the_others_are_planned() {
    let bench = Workbench::new();
    host(&bench.path("fleet/a"), "a", 2, 0);
    host(&bench.path("fleet/b"), "b", 2, 0);
    bench.file("policy.toml", NOTEBOOKS);
    let segment = bench.path("fleet/b/segment-000000.parquet");
    let whole = std::fs::read(&segment).expect("a segment");
    std::fs::write(&segment, &whole[..whole.len() / 2]).expect("half of it");
    let fleet = bench.path("fleet").to_string_lossy().into_owned();
    let answer = bench.run(&["plan", &fleet, "--policy", "policy.toml"]);
    answer.expect_code(0).expect_stderr("warning: `b` is left out");
    assert!(answer.stdout().contains("`b` is left out"), "{}", answer.stdout());
    assert!(answer.stdout().contains("2 GPUs"), "{}", answer.stdout());
    std::fs::write(bench.path("fleet/a/segment-000000.parquet"), "no").expect("the other too");
    bench.run(&["plan", &fleet]).expect_code(1).expect_stderr("segment-000000.parquet");
}

#[test]
fn stated_hardware_prices_and_every_form() {
    let bench = Workbench::new();
    let lake = lake(&bench);
    bench.file(
        "hardware.toml",
        "currency = \"USD\"\n[[gpu]]\nmodel = \"H100\"\ncount = 2\nprice_per_hour = 2.5\n",
    );
    bench.file("prices.toml", "[[gpu]]\nmodel = \"L40S\"\nprice_per_hour = 1.0\n");
    let plan = asked(&bench, &[&lake, "--policy", "policy.toml", "--hardware", "hardware.toml"]);
    assert_eq!(plan["is_for_stated_hardware"], true);
    assert_eq!(plan["summary"]["gpus_used_then"], 1, "{}", plan["summary"]);
    assert!(plan["caveats"].to_string().contains("another model"), "{}", plan["caveats"]);
    let priced = asked(&bench, &[&lake, "--policy", "policy.toml", "--prices", "prices.toml"]);
    assert_eq!(priced["summary"]["cost"]["saved_per_30_days"], 5.0 * 24.0 * 30.0);
    let text = bench.run(&["plan", &lake, "--policy", "policy.toml"]).stdout();
    for words in [
        "What to do",
        "frees 5",
        "What it costs in freedom",
        "If the mix changes",
        "What was not seen",
    ] {
        assert!(text.contains(words), "{words} is missing in\n{text}");
    }
    let page = bench.path("plan.html").to_string_lossy().into_owned();
    let figures = bench.path("figures").to_string_lossy().into_owned();
    let answer =
        bench.run(&["plan", &lake, "--policy", "policy.toml", "--out", &page, "--png", &figures]);
    assert_eq!(answer.code(), 0, "{}", answer.stderr());
    assert!(std::fs::read_to_string(&page).unwrap().contains("<svg"));
    assert_eq!(std::fs::read_dir(&figures).unwrap().count(), 2);
    let table = bench.run(&["plan", &lake, "--policy", "policy.toml", "-o", "csv"]).stdout();
    assert_eq!(
        table.lines().count(),
        1 + 6 + 5,
        "a line for each tenant and each free GPU:\n{table}"
    );
}

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    let bench = Workbench::new();
    let lake = lake(&bench);
    bench.file("hardware.toml", "[[gpu]]\nmodel = \"H100\"\ncuont = 2\n");
    let refused = |arguments: &[&str], words: &str| {
        let answer = bench.run(&[&["plan"], arguments].concat());
        assert_eq!(answer.code(), 2, "{}", answer.stderr());
        assert!(answer.stderr().contains(words), "{}", answer.stderr());
        assert!(answer.stderr().contains("help:"), "{}", answer.stderr());
    };
    refused(&[&lake, "--hardware", "hardware.toml"], "line 3: there is no `cuont`");
    refused(&["nothing-*"], "no file or folder fits");
    std::fs::create_dir_all(bench.path("empty")).unwrap();
    refused(&["empty"], "no recording is in it");
    let inside = format!("{lake}/plan.html");
    refused(&[&lake, "--out", &inside], "lies inside the input");
}

#[test]
fn files_beside_recordings_are_told_and_an_unknown_ending_is_refused() {
    let bench = Workbench::new();
    let lake = lake(&bench);
    std::fs::write(Path::new(&lake).join("smi.csv"), "timestamp, index\n").expect("a file");
    std::fs::write(Path::new(&lake).join("notes.md"), "hello\n").expect("a file");
    let answer = bench.run(&["plan", &lake]);
    let told = answer.stderr();
    assert!(told.contains("2 files beside recordings are left out, such as"), "{told}");
    assert!(told.contains("name foreign logs themselves"), "{told}");
    let out = bench.path("plan.xyz");
    let refused = bench.run(&["plan", &lake, "--out", &out.to_string_lossy()]);
    assert_eq!(refused.code(), 2, "{}", refused.stderr());
    assert!(refused.stderr().contains("known endings: .json, .csv"), "{}", refused.stderr());
    assert!(!out.exists());
}

#[test]
fn pods_of_a_real_trace_are_judged_once_their_limits_are_stated() {
    let Some(folder) = support::real("alibaba-gentd26") else { return };
    let file = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let duty = file("pod_gpu_duty_cycle_anon.csv");
    let memory = file("pod_gpu_memory_used_bytes_anon.csv");
    let bench = Workbench::new();
    let blind = asked(&bench, &["--one-host", &duty, &memory]);
    let summary = &blind["summary"];
    assert_eq!(summary["tenants"], summary["tenants_not_judged"], "57 s hide peaks: {summary}");
    assert!(blind["caveats"].to_string().contains("57 s apart"), "{}", blind["caveats"]);
    bench.file(
        "policy.toml",
        "[default]\ntrust_domain = \"serving\"\nclass = \"throughput\"\nmay_crash = false\nmemory_limit_mib = 49152\n",
    );
    bench.file("hardware.toml", "[[gpu]]\nmodel = \"H200\"\ncount = 48\n");
    let stated = ["--policy", "policy.toml", "--hardware", "hardware.toml"];
    let plan = asked(&bench, &[&["--one-host", &duty, &memory], &stated[..]].concat());
    let summary = &plan["summary"];
    let number = |key: &str| summary[key].as_u64().unwrap_or(0);
    assert!(number("gpus_used_then") < number("gpus_used_now"), "{summary}");
    assert!(number("gpus_at_least") <= number("gpus_used_then"), "{summary}");
    assert_eq!(plan["unplaced"].as_array().map(Vec::len), Some(0), "{plan}");
}
