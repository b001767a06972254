//! The program as its users meet it: results, messages and exit codes.

mod support;

use support::{Workbench, real};

/// Five minutes of one GPU at one sample a second: idle, then busy.
fn smi_log() -> String {
    let mut text = String::from(
        "timestamp, index, utilization.gpu [%], memory.used [MiB], memory.total [MiB]\n",
    );
    for second in 0..300 {
        let busy = if second % 20 < 6 { 100 } else { 0 };
        let (minute, second) = (second / 60, second % 60);
        text.push_str(&format!(
            "2026/01/31 12:{minute:02}:{second:02}.000, 0, {busy} %, 4096 MiB, 81920 MiB\n"
        ));
    }
    text
}

#[test]
fn a_foreign_log_is_analysed_directly_as_if_it_had_been_imported() {
    let bench = Workbench::new();
    bench.file("smi.csv", smi_log());
    bench.run(&["import", "smi.csv", "-o", "recording"]).expect_code(0);
    let direct = bench.analyse(&["smi.csv"]);
    let imported = bench.analyse(&["recording"]);
    assert_eq!(direct["devices"], imported["devices"]);
    assert_eq!(direct["suitability"], imported["suitability"]);
    assert_eq!(direct["schema_version"], 1);
}

#[test]
fn packed_logs_are_recognised_by_content() {
    let bench = Workbench::new();
    let packed = zstd::encode_all(smi_log().as_bytes(), 3).unwrap();
    bench.file("log-without-ending", packed);
    let document = bench.analyse(&["log-without-ending"]);
    assert_eq!(document["recording"]["readings"], 900);
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let bench = Workbench::new();
    let recording = bench.play("aggressor");
    let result = |threads| {
        let arguments = ["analyze", "-o", "json", &recording, "--threads", threads];
        let text = bench.run(&arguments).stdout();
        let lines = text.lines().filter(|it| !it.contains("\"command\""));
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(result("1"), result("4"));
}

#[test]
fn a_window_and_a_phase_can_be_looked_at_on_their_own() {
    let bench = Workbench::new();
    bench.file("smi.csv", smi_log());
    let document =
        bench.analyse(&["smi.csv", "--window", "0s..60s", "--from", "0s", "--to", "120s"]);
    let scopes = &document["devices"][0]["subjects"][0]["scopes"];
    assert_eq!(scopes[0]["profile"]["samples"], 120);
    assert_eq!(scopes[1]["profile"]["samples"], 60);
    let answer = bench.run(&["analyze", "smi.csv", "--phase", "steady"]);
    answer.expect_code(2).expect_stderr("no phase is called `steady`");
    let answer = bench.run(&["analyze", "smi.csv", "--from", "2h"]);
    answer.expect_code(2).expect_stderr("the window holds no samples");
}

#[test]
fn wrong_usage_ends_with_two_and_says_what_to_do() {
    let bench = Workbench::new();
    bench.file("smi.csv", smi_log());
    bench.file("notes.txt", "hello\n");
    bench.file("policy.toml", "long_bust_s = 1\n");
    bench.file("latin.toml", b"# f\xfcr alle\n");
    for (arguments, part) in [
        (vec!["analyze"], "INPUT"),
        (vec!["analyze", "notes.txt"], "notes.txt: is "),
        (vec!["analyze", "smi.csv", "--format", "dmonn"], "formats: "),
        (vec!["analyze", "smi.csv", "--mapping", "nowhere.toml"], "presets: "),
        (vec!["analyze", "smi.csv", "--policy", "policy.toml"], "long_bust_s"),
        (vec!["analyze", "smi.csv", "--policy", "nowhere.toml"], "nowhere.toml: cannot be read"),
        (vec!["analyze", "smi.csv", "--policy", "latin.toml"], "is no text in UTF-8"),
        (vec!["analyze", "smi.csv", "--threads", "1025"], "from 1 to 1024"),
        (vec!["analyze", "smi.csv", "--timezone", "Mars/Base"], "no time zone"),
        (vec!["demo", "--scenario", "nothing"], "shipped scenarios: "),
    ] {
        bench.run(&arguments).expect_code(2).expect_stderr(part);
    }
    bench
        .run(&["analyze", "missing.csv"])
        .expect_code(1)
        .expect_stderr("missing.csv: opening failed");
}

#[test]
fn a_recording_is_never_overwritten_by_accident() {
    let bench = Workbench::new();
    bench.file("smi.csv", smi_log());
    bench.run(&["import", "smi.csv", "-o", "r"]).expect_code(0);
    bench.run(&["import", "smi.csv", "-o", "r"]).expect_code(2).expect_stderr("exists already");
    bench.run(&["import", "smi.csv", "-o", "r", "--force"]).expect_code(0);
}

#[test]
fn too_little_data_ends_with_three_and_a_finding_with_four() {
    let bench = Workbench::new();
    bench.file("smi.csv", smi_log());
    let short: Vec<String> = smi_log().lines().take(6).map(str::to_owned).collect();
    bench.file("short.csv", short.join("\n"));
    bench.run(&["analyze", "short.csv"]).expect_code(3);
    bench.file("empty.csv", "");
    bench.run(&["analyze", "empty.csv"]).expect_code(3).expect_stderr("holds no samples");
    // A page about too little says so; there is nothing that a page about nothing could say.
    let answer = bench.run(&["report", "short.csv", "-o", "short.html"]);
    answer.expect_code(3).expect_stderr("nothing could be judged");
    assert!(bench.path("short.html").exists());
    let answer = bench.run(&["report", "empty.csv", "-o", "empty.html"]);
    answer.expect_code(3).expect_stderr("empty.csv: holds no samples").expect_stderr("help: ");
    assert!(!bench.path("empty.html").exists());
    bench.run(&["analyze", "smi.csv", "--fail-on", "do-not-share"]).expect_code(4);
    bench.run(&["analyze", "smi.csv"]).expect_code(0);
}

#[test]
fn a_torn_archive_gives_what_stands_before_the_tear() {
    let bench = Workbench::new();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, smi_log().repeat(20).as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    bench.file("torn.csv.gz", &packed[..packed.len() / 2]);
    let answer = bench.run(&["analyze", "torn.csv.gz"]);
    assert!(answer.code() == 0, "{}", answer.stderr());
    answer.expect_stderr("what stands before it was kept");
}

#[test]
fn text_keeps_within_eighty_columns_and_carries_no_colour_into_a_pipe() {
    let bench = Workbench::new();
    let recording = bench.play("aggressor");
    let text = bench.run(&["analyze", &recording]).stdout();
    assert!(text.to_lowercase().contains("should not be shared"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn a_report_is_one_file_without_network_and_brings_its_pictures() {
    let bench = Workbench::new();
    bench.file("smi.csv", smi_log());
    bench.run(&["report", "smi.csv", "-o", "report.html", "--png", "png"]).expect_code(0);
    let page = std::fs::read_to_string(bench.path("report.html")).unwrap();
    for forbidden in ["http://", "https://", "<script src", "<link"] {
        let page = page.replace("http://www.w3.org/", "");
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert!(page.to_lowercase().contains("do not share"));
    let pictures = std::fs::read_dir(bench.path("png")).unwrap().count();
    assert!(pictures >= 3, "{pictures}");
}

#[test]
fn an_export_holds_every_reading_and_leaves_gaps_empty() {
    let bench = Workbench::new();
    bench.file(
        "smi.csv",
        "timestamp, index, utilization.gpu [%], power.draw [W]\n\
         2026/01/31 12:00:00.000, 0, 5 %, [N/A]\n\
         2026/01/31 12:00:01.000, 0, [N/A], 70.5 W\n",
    );
    let text = bench.run(&["export", "smi.csv", "--to", "csv"]).stdout();
    assert_eq!(
        text,
        "time,gpu,gpu_instance,compute_instance,pid,program,tenant,gpu_utilization_pct,power_mw\n\
         2026-01-31T12:00:00.000000Z,gpu0,,,,,,5,\n\
         2026-01-31T12:00:01.000000Z,gpu0,,,,,,,70500\n"
    );
}

#[test]
fn files_of_one_host_join_by_gpu() {
    let bench = Workbench::new();
    bench.file(
        "query.csv",
        "timestamp, index, uuid, utilization.gpu [%]\n2026/01/31 12:00:00.000, 0, GPU-11111111-2222-3333-4444-555555555555, 5 %\n",
    );
    bench.file(
        "pmon.log",
        "#Date       Time        gpu         pid   type     sm    mem    command\n\
         #YYYYMMDD   HH:MM:SS    Idx           #    C/G      %      %    name\n \
         20260131   12:00:00      0       4242     C     50     10    server\n",
    );
    let document = bench.analyse(&["pmon.log", "query.csv"]);
    assert_eq!(document["devices"].as_array().map(Vec::len), Some(1), "{document}");
}

#[test]
fn rows_of_gpus_that_nothing_tells_apart_are_refused() {
    let Some(file) = real("h100-smi-20hz/trace_dense_7b_code_run1.csv") else { return };
    let answer = Workbench::new().run(&["analyze", &file.to_string_lossy()]);
    answer.expect_code(1).expect_stderr("no column names the GPU").expect_stderr("help:");
}

/// Every key of a document with the kind of its value, one line each; lists count as one element.
fn keys(value: &serde_json::Value, path: &str, found: &mut std::collections::BTreeSet<String>) {
    match value {
        serde_json::Value::Object(map) => {
            for (key, value) in map {
                let is_name = path.ends_with("/levels") || path.ends_with("/readings");
                let key = if is_name { "<metric>" } else { key };
                keys(value, &format!("{path}/{key}"), found);
            }
        }
        serde_json::Value::Array(all) => {
            all.iter().for_each(|it| keys(it, &format!("{path}[]"), found));
        }
        serde_json::Value::Null => drop(found.insert(format!("{path}: null"))),
        serde_json::Value::Bool(_) => drop(found.insert(format!("{path}: boolean"))),
        serde_json::Value::Number(_) => drop(found.insert(format!("{path}: number"))),
        serde_json::Value::String(_) => drop(found.insert(format!("{path}: text"))),
    }
}

#[test]
fn the_json_schema_is_the_one_that_was_agreed() {
    let bench = Workbench::new();
    let document = bench.analyse(&[&bench.play("aggressor")]);
    let mut found = std::collections::BTreeSet::new();
    keys(&document, "", &mut found);
    let lines: Vec<String> = found.into_iter().collect();
    insta::assert_snapshot!("analyze_json_schema", lines.join("\n"));
}

#[test]
fn a_file_that_cannot_be_imported_leaves_no_recording_behind() {
    let bench = Workbench::new();
    bench.file("notes.txt", "hello\n");
    bench.run(&["import", "notes.txt", "-o", "r"]).expect_code(2);
    assert!(!bench.path("r").exists());
}

#[test]
fn a_failed_import_leaves_the_recording_that_it_should_replace_as_it_was() {
    let bench = Workbench::new();
    bench.file("smi.csv", smi_log());
    bench.file("notes.txt", "hello\n");
    bench.run(&["import", "smi.csv", "-o", "r"]).expect_code(0);
    let before = std::fs::read(bench.path("r/segment-000000.parquet")).unwrap();
    for wrong in ["notes.txt", "missing.csv"] {
        let answer = bench.run(&["import", "smi.csv", wrong, "-o", "r", "--force"]);
        assert_ne!(answer.code(), 0);
        let after = std::fs::read(bench.path("r/segment-000000.parquet")).unwrap();
        assert!(before == after, "{wrong}");
        assert!(!bench.path(".r.new").exists(), "{wrong}");
    }
}

#[test]
fn a_pipe_is_read_whole() {
    let bench = Workbench::new();
    let log: String =
        (0..3600).fold(String::from("timestamp, index, utilization.gpu [%]\n"), |text, second| {
            let (minute, second) = (second / 60, second % 60);
            text + &format!("2026/01/31 12:{minute:02}:{second:02}.000, 0, 50 %\n")
        });
    assert!(log.len() > 64 * 1024, "{}", log.len());
    for input in ["-", "/dev/stdin"] {
        let answer = bench.run_with_input(&["analyze", "-o", "json", input], log.as_bytes());
        answer.expect_code(0).expect_stderr("stdin: 3600 rows");
        let document: serde_json::Value = serde_json::from_str(&answer.stdout()).unwrap();
        assert_eq!(document["recording"]["readings"], 3600, "{input}");
    }
    bench.run_with_input(&["import", "-"], log.as_bytes()).expect_code(0);
    assert_eq!(bench.analyse(&["recording"])["recording"]["readings"], 3600);
    bench.run_with_input(&["analyze", "-"], b"").expect_code(3).expect_stderr("stdin: holds no");
}

#[test]
fn a_demo_replaces_only_recordings_that_a_demo_made() {
    let bench = Workbench::new();
    bench.file("smi.csv", smi_log());
    bench.run(&["import", "smi.csv", "-o", "work/recording"]).expect_code(0);
    let demo = ["demo", "--scenario", "steady-30", "--recording-only", "-o"];
    let answer = bench.run(&[&demo[..], &["work"]].concat());
    answer.expect_code(2).expect_stderr("no demo made it");
    assert_eq!(bench.analyse(&["work/recording"])["recording"]["readings"], 900);
    for _ in 0..2 {
        bench.run(&[&demo[..], &["played"]].concat()).expect_code(0);
    }
}

#[test]
fn an_input_is_never_written_over() {
    let bench = Workbench::new();
    bench.file("smi.csv", smi_log());
    bench.file("policy.toml", "long_burst_s = 1\n");
    bench.run(&["import", "smi.csv", "-o", "r"]).expect_code(0);
    std::fs::create_dir(bench.path("pictures")).unwrap();
    bench.file("pictures/smi.png", smi_log());
    for (arguments, part) in [
        (vec!["report", "smi.csv", "-o", "smi.csv"], "would be written over"),
        (vec!["report", "smi.csv", "-o", "./pictures/../smi.csv"], "would be written over"),
        (vec!["report", "smi.csv", "--policy", "policy.toml", "-o", "policy.toml"], "written over"),
        (vec!["report", "r", "-o", "r/report.html"], "lies inside"),
        (vec!["report", "r", "--png", "r"], "would be written over"),
        (vec!["report", "r", "--png", "r/png"], "lies inside"),
        (vec!["report", "pictures/smi.png", "--png", "pictures"], "among the pictures"),
        (vec!["export", "smi.csv", "--to", "csv", "-o", "smi.csv"], "would be written over"),
        (vec!["export", "r", "--to", "csv", "-o", "r/segment-000000.parquet"], "lies inside"),
    ] {
        bench.run(&arguments).expect_code(2).expect_stderr(part).expect_stderr("help: ");
    }
    assert_eq!(std::fs::read_to_string(bench.path("smi.csv")).unwrap(), smi_log());
    assert_eq!(bench.analyse(&["r"])["recording"]["readings"], 900);
}

#[test]
fn a_folder_around_a_recording_is_refused_with_a_hint() {
    let bench = Workbench::new();
    bench.play("steady-30");
    let answer = bench.run(&["analyze", "steady-30"]);
    answer.expect_code(2).expect_stderr("inside it: steady-30/recording");
}

#[test]
fn two_windows_of_equal_length_are_told_apart_in_csv() {
    let bench = Workbench::new();
    bench.file("smi.csv", smi_log());
    let windows = ["--window", "0s..60s", "--window", "60s..120s"];
    let text = bench.run(&[&["analyze", "smi.csv", "-o", "csv"], &windows[..]].concat()).stdout();
    let start_us: i64 = 1_769_860_800_000_000;
    for (from, until) in [(0, 60), (60, 120)] {
        let us = |second: i64| start_us + second * 1_000_000;
        let cell = format!(",window {}..{},", us(from), us(until));
        assert!(text.contains(&cell), "{cell} is not in: {text}");
    }
}

#[test]
fn files_of_two_hosts_that_know_their_gpus_by_index_only_are_refused() {
    let bench = Workbench::new();
    bench.file("a.csv", smi_log());
    bench.file("b.csv", smi_log());
    let answer = bench.run(&["import", "a.csv", "b.csv", "-o", "r"]);
    answer.expect_code(1).expect_stderr("two files speak about gpu0 at the same time");
    answer.expect_stderr("a.csv and b.csv").expect_stderr("import the hosts apart");
    bench.file("later.csv", smi_log().replace(" 12:", " 13:"));
    bench.run(&["import", "a.csv", "later.csv", "-o", "later"]).expect_code(0);
    let with_uuid = |uuid: &str| smi_log().replace(" index,", " uuid,").replace(", 0, ", uuid);
    bench.file("c.csv", with_uuid(", GPU-11111111-2222-3333-4444-555555555555, "));
    bench.file("d.csv", with_uuid(", GPU-21111111-2222-3333-4444-555555555555, "));
    bench.run(&["import", "c.csv", "d.csv", "-o", "uuids"]).expect_code(0);
    assert_eq!(bench.analyse(&["uuids"])["devices"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_log_that_is_newest_first_loses_nothing() {
    let bench = Workbench::new();
    let log = smi_log();
    let (header, rows) = log.split_once('\n').unwrap();
    let mut lines: Vec<&str> = rows.lines().collect();
    lines.reverse();
    bench.file("forward.csv", &log);
    bench.file("backward.csv", format!("{header}\n{}\n", lines.join("\n")));
    let forward = bench.analyse(&["forward.csv"]);
    assert_eq!(bench.analyse(&["backward.csv"])["devices"], forward["devices"]);
}

#[test]
fn a_file_of_which_nothing_can_be_read_says_where_it_goes_wrong() {
    let bench = Workbench::new();
    bench.file("german.csv", smi_log().replace("2026/01/31 12", "31.01.2026 12"));
    let answer = bench.run(&["analyze", "german.csv"]);
    answer.expect_code(1).expect_stderr("nothing could be read").expect_stderr("german.csv:2");
}

#[test]
fn the_hour_that_comes_twice_is_told_apart_by_the_order_of_rows() {
    let bench = Workbench::new();
    let mut log = String::from("timestamp, index, utilization.gpu [%]\n");
    for minute in 0..180 {
        let hour = [1, 2, 2][minute / 60];
        log.push_str(&format!("2026/10/25 0{hour}:{:02}:00.000, 0, 5 %\n", minute % 60));
    }
    bench.file("fold.csv", log);
    let document = bench.analyse(&["fold.csv", "--timezone", "Europe/Berlin"]);
    assert_eq!(document["recording"]["readings"], 180);
    assert_eq!(document["devices"][0]["subjects"][0]["scopes"][0]["profile"]["samples"], 180);
}

#[test]
fn arguments_of_a_program_never_enter_a_recording() {
    let bench = Workbench::new();
    bench.file(
        "scrape.prom",
        "nvidia_smi_utilization_gpu_ratio{uuid=\"GPU-1a\"} 0.5\n\
         nvidia_smi_compute_app_info{pid=\"7\",process_name=\"/opt/bin/serve --key=secret\",uuid=\"GPU-1a\"} 1\n\
         nvidia_smi_compute_app_used_memory_bytes{pid=\"7\",process_name=\"/opt/bin/serve --key=secret\",uuid=\"GPU-1a\"} 5\n",
    );
    let document = bench.analyse(&["scrape.prom", "--start", "2026-01-31T12:00:00Z"]).to_string();
    assert!(document.contains("serve") && !document.contains("secret"), "{document}");
}

/// Ten minutes of a service that reports its latency, and of a neighbour, as one table.
fn shared_log() -> String {
    let mut text = String::from("time,pod,gpu_utilization_pct,latency_p99_s\n");
    for second in 0..600 {
        let at = format!("2026-01-31T12:{:02}:{:02}Z", second / 60, second % 60);
        let busy = if second % 40 < 10 { 95 } else { 2 };
        text.push_str(&format!("{at},batch,{busy},\n"));
        if second < 300 {
            text.push_str(&format!("{at},chat,20,{}\n", if busy > 50 { 0.4 } else { 0.07 }));
        }
    }
    text
}

const SHARED_MAPPING: &str = r#"
name = "shared"
about = "two tenants of one GPU"
[time]
column = "time"
[gpu]
fixed = "gpu0"
[tenant]
column = "pod"
[[metric]]
column = "gpu_utilization_pct"
metric = "gpu_utilization_pct"
unit = "%"
subject = "tenant"
[[metric]]
column = "latency_p99_s"
metric = "latency_p99_s"
unit = "s"
subject = "tenant"
"#;

/// A folder with the recording `shared`.
fn shared() -> Workbench {
    let bench = Workbench::new();
    bench.file("shared.csv", shared_log());
    bench.file("shared.toml", SHARED_MAPPING);
    let import = ["import", "shared.csv", "--mapping", "shared.toml", "-o", "shared"];
    bench.run(&import).expect_code(0);
    bench
}

#[test]
fn a_victim_or_a_metric_that_is_not_there_is_answered_with_the_nearest_one() {
    let bench = shared();
    for (arguments, message, help) in [
        (vec!["--victim", "chta"], "no tenant is called `chta`", "did you mean `chat`?"),
        (vec!["--victim", "nobody-at-all"], "no tenant is called", "tenants: "),
        (vec!["--victim", "chat", "--metric", "ttft"], "does not report ttft", "latency_p99_s"),
        (vec!["--victim", "chat", "--metric", "p98"], "no metric is called `p98`", "metrics: p9"),
        (vec!["--victim", "chat", "--clock-offset", "caht=1"], "`caht`", "did you mean `chat`?"),
        (vec!["--victim", "chat", "--from", "+2m", "--to", "+1m"], "before it begins", "--from"),
        (vec!["--victim", "chat", "--starting", "12:00"], "--plan-experiment", ""),
        (vec!["--victim", "chat", "--around", "noon"], "`noon` is neither a time", "12:00"),
    ] {
        let answer = bench.run(&[&["diagnose", "shared"], &arguments[..]].concat());
        answer.expect_code(2).expect_stderr(message).expect_stderr(help);
    }
}

#[test]
fn a_window_without_readings_of_the_victim_ends_with_three() {
    let bench = shared();
    for (arguments, part) in [
        (
            vec!["--victim", "chat", "--from", "12:06", "--to", "12:08"],
            "reports nothing in the window",
        ),
        (vec!["--victim", "chat", "--around", "+2h"], "lies outside the recording"),
        (vec!["--victim", "batch"], "reports nothing about its service"),
    ] {
        let answer = bench.run(&[&["diagnose", "shared"], &arguments[..]].concat());
        answer.expect_code(3).expect_stderr(part).expect_stderr("help: ");
    }
}

#[test]
fn an_experiment_that_cannot_be_read_names_file_line_and_column() {
    let bench = shared();
    let head = "from,until,suspect_runs\n+0s,+60s,yes\n";
    bench.file("word.csv", format!("{head}+60s,+120s,perhaps\n"));
    bench.file("time.csv", format!("{head}+60s,later,no\n"));
    bench.file("whose.csv", format!("{head}+60s,+120s,no\n"));
    bench.file("other.csv", format!("# suspect: btch\n{head}+60s,+120s,no\n"));
    for (file, part) in [
        ("word.csv", "word.csv:3: column `suspect_runs`: `perhaps`"),
        ("time.csv", "time.csv:3: column `until`: `later`"),
        ("whose.csv", "whose.csv: does not say who paused"),
        ("other.csv", "no other tenant at the place of the victim is called `btch`"),
    ] {
        let arguments = ["diagnose", "shared", "--victim", "chat", "--experiment", file];
        bench.run(&arguments).expect_code(2).expect_stderr(part).expect_stderr("help: ");
    }
    let arguments = ["diagnose", "shared", "--victim", "chat", "--experiment", "missing.csv"];
    bench
        .run(&arguments)
        .expect_code(1)
        .expect_stderr("missing.csv: reading the experiment failed");
    let picture = [&arguments[..], &["-o", "png"]].concat();
    bench.run(&picture).expect_code(2).expect_stderr("has no picture");
}

#[test]
fn a_diagnosis_is_never_written_over_an_input() {
    let bench = shared();
    let of_recording = ["diagnose", "shared", "--victim", "chat", "--out", "shared/x.html"];
    bench.run(&of_recording).expect_code(2).expect_stderr("lies inside the input");
    let of_log = ["diagnose", "shared.csv", "--mapping", "shared.toml", "--victim", "chat"];
    for place in ["shared.csv", "shared.toml"] {
        let arguments = [&of_log[..], &["--out", place]].concat();
        bench.run(&arguments).expect_code(2).expect_stderr("would be written over");
    }
}

#[test]
fn influences_have_a_table_of_their_own_and_stand_flat_in_the_json() {
    let bench = shared();
    let text = bench.run(&["analyze", "shared", "-o", "csv", "--table", "influences"]).stdout();
    assert!(text.starts_with("gpu,suspect,victim,metric,scope,verdict,effect_ratio,"), "{text}");
    bench
        .run(&["analyze", "shared", "--table", "influences"])
        .expect_code(2)
        .expect_stderr("-o csv");
    let document = bench.analyse(&["shared", "--clock-offset", "chat=0.5"]);
    assert!(document["influences"].is_array());
    assert!(document["devices"][0]["influences"]["pairs"].is_array());
    assert!(document["unplaced_influences"]["look_alikes"].is_array());
    let answer = bench.run(&["analyze", "shared", "--clock-offset", "caht=0.5"]);
    answer.expect_code(2).expect_stderr("did you mean `chat`?");
    let answer = bench.run(&["analyze", "shared", "--clock-offset", "chat=soon"]);
    answer.expect_code(2).expect_stderr("TENANT=SECONDS");
}

#[test]
fn a_page_is_not_written_under_the_ending_of_something_else() {
    let bench = Workbench::new();
    let recording = bench.play("steady-30");
    for more in [&["-o", "a.pdf"][..], &["-o", "a.JSON"], &["--compare", "other", "-o", "c.svg"]] {
        let answer = bench.run(&[&["report", recording.as_str()], more].concat());
        answer.expect_code(2).expect_stderr("a report is a page").expect_stderr(".html");
    }
    assert!(!bench.path("a.pdf").exists() && !bench.path("c.svg").exists());
}

#[test]
fn a_window_names_the_suspect_that_explains_what_is_typical_in_it() {
    let bench = Workbench::new();
    let recording = bench.play("demo");
    // `batch` works from 09:03 to 09:08 only; the slowest twentieth grew by more than it explains.
    let window = ["--victim", "chat", "--from", "180s", "--to", "480s", "-o", "json"];
    let answer = bench.run(&[&["diagnose", recording.as_str()], &window[..]].concat());
    let found: serde_json::Value = serde_json::from_str(&answer.expect_code(0).stdout()).unwrap();
    assert_eq!(found["outcome"], "neighbour", "{}", found["headline"]);
    assert!(found["headline"].as_str().unwrap().starts_with("`batch` slows `chat`"));
}
