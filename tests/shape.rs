//! Shape decides, not the average: scenarios of known truth, and a real recording.

mod support;

use cotenant::domain::shares::share;
use serde_json::Value;
use support::{Workbench, judgement, number, real, scope};

fn word(document: &Value, label: &str) -> String {
    judgement(document, label, None)["word"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn five_loads_of_equal_mean_get_the_verdict_of_their_shape() {
    let bench = Workbench::new();
    for (scenario, expected) in [
        ("steady-30", "shares_well"),
        ("bursty-30-3ms", "shares_well"),
        ("bursty-30-30ms", "shares_with_care"),
        ("bursty-30-300ms", "do_not_share"),
        ("bursty-30-3s", "do_not_share"),
    ] {
        let document = bench.analyse(&[&bench.play(scenario)]);
        let mean = number(scope(&document, "GPU 0", None), "/profile/mean_ratio");
        assert!((mean - 0.30).abs() < 0.005, "{scenario}: mean {mean}");
        assert_eq!(word(&document, "GPU 0"), expected, "{scenario}");
    }
}

#[test]
fn a_loads_mean_is_one_number_wherever_it_is_shown() {
    let bench = Workbench::new();
    let recording = bench.play("aggressor");
    let document = bench.analyse(&[&recording]);
    let mean = |label: &str| number(scope(&document, label, None), "/profile/mean_ratio");
    let whole = mean("GPU 0");
    let rounded = share(whole);
    let text = bench.run(&["analyze", &recording, "--full"]).stdout();
    bench.run(&["report", &recording, "-o", "report.html"]).expect_code(0);
    let page = std::fs::read_to_string(bench.path("report.html")).expect("a page");
    for shown in [&text, &page] {
        assert!(shown.contains(&format!("its mean is {rounded}")), "{rounded}");
        assert!(shown.contains(&format!("at a mean of {rounded}")), "{rounded}");
    }
    // In tables of the text, and in those of the page.
    let rows = ["batch (pid 41017)", "chat (pid 41000)", "GPU 0"];
    for (label, exact) in rows.map(|it| (it, format!("{:.1} %", 100.0 * mean(it)))) {
        let has = |line: &str| line.trim_start().starts_with(label) && line.contains(&exact);
        assert!(text.lines().any(has), "{label}: {exact}");
        // Cells of the page carry the number before it is rounded.
        let cells = page.split("data-value=\"").skip(1).filter_map(|it| it.split('"').next());
        let is_it = |it: f64| (it - 100.0 * mean(label)).abs() < 1e-9;
        assert!(cells.filter_map(|it| it.parse().ok()).any(is_it), "{label}: {exact}");
    }
    for label in rows {
        assert!(page.contains(&format!("mean {}", share(mean(label)))), "picture of {label}");
    }
}

#[test]
fn burst_lengths_that_cannot_be_seen_are_inferred_and_never_listed() {
    let bench = Workbench::new();
    for (scenario, truth_s) in [("bursty-30-3ms", 0.003), ("bursty-30-30ms", 0.030)] {
        let document = bench.analyse(&[&bench.play(scenario)]);
        let whole = scope(&document, "GPU 0", None);
        let about = number(whole, "/profile/resolution/estimated_burst/about_s");
        assert!((truth_s / 3.0..truth_s * 3.0).contains(&about), "{scenario}: about {about} s");
        assert_eq!(whole["profile"]["bursts"], Value::Null, "{scenario}");
        assert_eq!(whole["profile"]["peak_to_mean"], Value::Null, "{scenario}");
    }
}

#[test]
fn burst_lengths_that_were_seen_are_those_that_were_played() {
    let bench = Workbench::new();
    let document = bench.analyse(&[&bench.play("bursty-30-3s")]);
    let truth = std::fs::read_to_string(bench.path("bursty-30-3s/truth.json")).unwrap();
    let truth: Value = serde_json::from_str(&truth).unwrap();
    let played = &truth["truth"]["devices"][0]["busy"];
    let whole = scope(&document, "GPU 0", None);
    for (seen, played) in [
        (number(whole, "/profile/bursts/burst_lengths/p50_s"), number(played, "/p50_seconds")),
        (number(whole, "/profile/bursts/burst_lengths/p90_s"), number(played, "/p90_seconds")),
    ] {
        assert!((seen - played).abs() < 0.1 + 0.1 * played, "seen {seen} s, played {played} s");
    }
    assert_eq!(whole["profile"]["resolution"]["verdict"], "resolved");
}

#[test]
fn a_trace_that_is_too_coarse_gets_no_verdict_but_the_interval_that_would_do() {
    let bench = Workbench::new();
    let recording = bench.play("too-coarse");
    let document = bench.analyse(&[&recording]);
    let device = judgement(&document, "GPU 0", None);
    assert_eq!(device["word"], "cannot_tell");
    let needed = number(device, "/needed_interval_s");
    assert!((0.01..1.0).contains(&needed), "{needed} s");
    // Who slows whom can be told all the same: the amount of activity in 15 s varies enough.
    bench.run(&["analyze", &recording]).expect_code(0);
    let first = &document["influences"][0];
    assert_eq!((&first["suspect"], &first["verdict"]), (&"batch".into(), &"confirmed".into()));
}

#[test]
fn an_aggressor_is_seen_as_bursty_although_its_device_is_used_a_third_of_the_time() {
    let bench = Workbench::new();
    let document = bench.analyse(&[&bench.play("aggressor")]);
    assert_eq!(word(&document, "batch (pid 41017)"), "do_not_share");
    assert_eq!(word(&document, "prefetch (pid 41034)"), "shares_well");
    assert_eq!(word(&document, "GPU 0"), "do_not_share");
    let idle = scope(&document, "batch (pid 41017)", None)["evidence"].to_string();
    assert!(idle.contains("counted as idle"), "{idle}");
}

#[test]
fn memory_peaks_that_may_coincide_are_a_reason_for_care_however_idle_the_device() {
    let bench = Workbench::new();
    let document = bench.analyse(&[&bench.play("memory-collision")]);
    let device = judgement(&document, "GPU 0", None);
    assert_eq!(device["word"], "shares_with_care");
    assert!(device["reasons"].to_string().contains("add up to"), "{device}");
}

#[test]
fn a_saturated_device_is_never_shared() {
    let bench = Workbench::new();
    let document = bench.analyse(&[&bench.play("saturated-trainer")]);
    assert_eq!(word(&document, "GPU 0"), "do_not_share");
}

#[test]
fn under_mig_the_instances_speak_and_the_hidden_utilisation_is_no_zero() {
    let bench = Workbench::new();
    let document = bench.analyse(&[&bench.play("mig-two-slices")]);
    let device = scope(&document, "GPU 0", None);
    assert_eq!(device["levels"]["gpu_utilization_pct"], Value::Null);
    assert_eq!(word(&document, "GPU 0 instance 2 (3g.40gb)"), "do_not_share");
}

#[test]
fn the_real_ten_hertz_recording_says_what_its_owner_measured() {
    let Some(file) = real("h100-dcgm-10hz/e2_telemetry.csv") else { return };
    let bench = Workbench::new();
    let document = bench.analyse(&[&file.to_string_lossy()]);
    assert_eq!(document["recording"]["readings"], 387_441);
    assert_eq!(document["devices"].as_array().map(Vec::len), Some(8));
    let rows: f64 = (0..8)
        .map(|gpu| number(scope(&document, &format!("GPU {gpu}"), None), "/profile/samples"))
        .sum();
    assert_eq!(rows, 24_216.0);

    let light = scope(&document, "GPU 0", Some("steady"));
    assert!((number(light, "/levels/gpu_utilization_pct/mean") - 6.14).abs() < 0.005);
    assert!((number(light, "/levels/sm_active_ratio/mean") - 0.026).abs() < 0.0005);
    assert!(number(light, "/profile/blur_index") < 0.02);
    let sentence = light["profile"]["resolution"]["sentence"].to_string();
    assert!(
        sentence.contains("bursts shorter than the window, steady at this scale"),
        "{sentence}"
    );
    assert_eq!(judgement(&document, "GPU 0", Some("steady"))["word"], "shares_well");

    let full = scope(&document, "GPU 4", Some("steady"));
    assert!((number(full, "/levels/gpu_utilization_pct/mean") - 99.5).abs() < 0.05);
    assert!((number(full, "/levels/sm_active_ratio/mean") - 0.863).abs() < 0.0005);
    let judged = judgement(&document, "GPU 4", Some("steady"));
    assert_eq!(judged["word"], "do_not_share");
    assert!(judged["reasons"].to_string().contains("saturated"), "{judged}");
    let whole = scope(&document, "GPU 4", None);
    assert!((number(whole, "/profile/duty/at_95_pct") - 0.881).abs() < 0.0005);
}

/// An hour of one GPU at one sample a second, as nvidia-smi would print it.
fn hour(busy: impl Fn(u32) -> u32, seconds: u32, stride: u32) -> String {
    let mut text = String::from("timestamp, index, utilization.gpu [%]\n");
    for second in (0..seconds).step_by(stride as usize) {
        let (hour, minute, rest) = (second / 3600, second / 60 % 60, second % 60);
        let busy = busy(second);
        text.push_str(&format!("2026/01/31 {hour:02}:{minute:02}:{rest:02}.000, 0, {busy} %\n"));
    }
    text
}

#[test]
fn shapes_that_a_person_can_judge_by_eye_are_judged_alike() {
    let bench = Workbench::new();
    let cases: [(&str, String, &str); 7] = [
        (
            "a long burst on a base load",
            hour(|s| if (900..954).contains(&s) { 100 } else { 45 }, 3600, 1),
            "do_not_share",
        ),
        (
            "full bursts between half ones",
            hour(
                |s| match s % 20 {
                    0..=2 => 100,
                    10..=12 => 50,
                    _ => 0,
                },
                3600,
                1,
            ),
            "do_not_share",
        ),
        (
            "low bursts with a rare tip",
            hour(
                |s| match s % 600 {
                    0 => 100,
                    1..=59 => 45,
                    _ => 0,
                },
                3600,
                1,
            ),
            "shares_with_care",
        ),
        ("constant", hour(|_| 30, 3600, 1), "shares_well"),
        ("full", hour(|_| 100, 3600, 1), "do_not_share"),
        ("idle", hour(|_| 0, 3600, 1), "shares_well"),
        (
            "in step with a coarse scrape",
            hour(|s| if s % 10 < 7 { 0 } else { 100 }, 3600, 30),
            "cannot_tell",
        ),
    ];
    for (name, log, expected) in cases {
        let document = bench.analyse(&[&bench.file("log.csv", log).to_string_lossy()]);
        assert_eq!(word(&document, "GPU 0"), expected, "{name}: {}", document["suitability"]);
    }
}

#[test]
fn a_burst_is_long_by_its_own_length_and_not_by_that_of_its_bin() {
    let bench = Workbench::new();
    bench.file("log.csv", hour(|s| if s % 10 < 3 { 100 } else { 0 }, 3600, 1));
    for (limit, expected) in [("2.9", "do_not_share"), ("3.5", "shares_with_care")] {
        bench.file("policy.toml", format!("long_burst_s = {limit}\n"));
        let document = bench.analyse(&["log.csv", "--policy", "policy.toml"]);
        assert_eq!(word(&document, "GPU 0"), expected, "long_burst_s = {limit}");
    }
}

#[test]
fn a_thousand_gpus_need_no_thousand_stacks() {
    let bench = Workbench::new();
    let mut text = String::from("timestamp, index, utilization.gpu [%]\n");
    for second in 0..31 {
        for gpu in 0..1000 {
            text.push_str(&format!("2026/01/31 12:00:{second:02}.000, {gpu}, 5 %\n"));
        }
    }
    bench.file("log.csv", text);
    bench.run(&["analyze", "log.csv", "-o", "csv", "--threads", "2"]).expect_code(0);
}
