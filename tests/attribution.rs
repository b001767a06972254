//! Who slowed whom, on scenarios of known truth: the right answer, and the right refusal.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use serde_json::Value;
use support::{Workbench, number};

/// All rows of who slows whom, as a script would read them.
fn rows(document: &Value) -> Vec<&Value> {
    document["influences"].as_array().expect("influences are a list").iter().collect()
}

/// Rows of one suspect and one victim.
fn pair<'a>(document: &'a Value, suspect: &str, victim: &str) -> Vec<&'a Value> {
    let is_it = |it: &&Value| it["suspect"] == suspect && it["victim"] == victim;
    let found: Vec<&Value> = rows(document).into_iter().filter(is_it).collect();
    assert!(!found.is_empty(), "no row of {suspect} and {victim}");
    found
}

fn verdicts<'a>(rows: &[&'a Value]) -> Vec<&'a str> {
    rows.iter().map(|it| it["verdict"].as_str().unwrap_or_default()).collect()
}

/// Whether anybody is accused: confirmed, likely, or through something.
fn accused(document: &Value) -> Vec<String> {
    rows(document)
        .into_iter()
        .filter(|it| matches!(it["verdict"].as_str(), Some("confirmed" | "likely" | "through")))
        .map(|it| {
            format!("{} -> {} {} {}", it["suspect"], it["victim"], it["metric"], it["verdict"])
        })
        .collect()
}

/// Look-alikes of a kind, over all GPUs.
fn look_alikes<'a>(document: &'a Value, kind: &str, state: &str) -> Vec<&'a Value> {
    let devices = document["devices"].as_array().expect("devices are a list");
    devices
        .iter()
        .flat_map(|it| it["influences"]["look_alikes"].as_array().into_iter().flatten())
        .filter(|it| it["kind"] == kind && it["state"] == state)
        .collect()
}

fn played(scenario: &str) -> (Workbench, Value) {
    let bench = Workbench::new();
    let document = bench.analyse(&[&bench.play(scenario)]);
    (bench, document)
}

/// Whether two numbers agree within a tolerance.
fn is_near(found: f64, expected: f64, tolerance: f64) -> bool {
    (found - expected).abs() <= tolerance
}

#[test]
fn an_aggressor_is_named_with_its_effect_and_without_a_lag() {
    let (_bench, document) = played("aggressor");
    for row in pair(&document, "batch", "chat") {
        assert_eq!(row["verdict"], "confirmed", "{row}");
        // Two contexts in turns double the latency while both run.
        assert!(is_near(number(row, "/effect_ratio"), 1.0, 0.15), "{row}");
        let (low, high) = (number(row, "/effect_low"), number(row, "/effect_high"));
        assert!(low > 0.8 && high < 1.25 && low < high, "{row}");
        assert_eq!(number(row, "/lag_seconds"), 0.0);
        assert!(number(row, "/p_granger") < 1e-6 && number(row, "/q") < 1e-6, "{row}");
        assert!(number(row, "/mde_ratio") < 0.2, "{row}");
        assert_eq!(row["through"], Value::Null);
    }
    let first = rows(&document)[0];
    assert_eq!((&first["suspect"], &first["victim"]), (&"batch".into(), &"chat".into()));
    for row in pair(&document, "prefetch", "chat") {
        let effect = row["effect_ratio"].as_f64().unwrap_or(0.0);
        assert!(effect < 0.12, "prefetch does next to nothing: {row}");
    }
}

#[test]
fn a_common_cause_accuses_nobody_and_names_the_victims_own_load() {
    let (_bench, document) = played("common-cause");
    assert_eq!(accused(&document), Vec::<String>::new());
    assert!(!look_alikes(&document, "own_queue", "found").is_empty());
    for row in rows(&document) {
        assert_eq!(row["verdict"], "not_shown");
        assert!(number(row, "/mde_ratio") > 0.0, "what could hide is said: {row}");
    }
}

#[test]
fn a_co_victim_is_not_accused_of_what_the_third_does_to_both() {
    let (_bench, document) = played("co-victim");
    assert!(verdicts(&pair(&document, "batch", "chat")).iter().all(|it| *it == "confirmed"));
    for verdict in verdicts(&pair(&document, "notebook", "chat")) {
        assert!(matches!(verdict, "not_shown" | "cannot_tell"), "{verdict}");
    }
}

#[test]
fn a_neighbour_that_drives_the_board_into_its_power_cap_acts_through_it() {
    let (_bench, document) = played("power-cap");
    for row in pair(&document, "burner", "chat") {
        assert_eq!((&row["verdict"], &row["through"]), (&"through".into(), &"power_cap".into()));
        assert!(is_near(number(row, "/effect_ratio"), 0.30, 0.08), "{row}");
    }
    assert!(!look_alikes(&document, "power_cap", "found").is_empty());
}

#[test]
fn mig_does_not_isolate_power_and_an_innocent_instance_is_left_alone() {
    let (_bench, document) = played("mig-power");
    for row in pair(&document, "burner", "chat") {
        assert_eq!((&row["verdict"], &row["through"]), (&"through".into(), &"power_cap".into()));
    }
    assert!(verdicts(&pair(&document, "index", "chat")).iter().all(|it| *it == "not_shown"));
}

#[test]
fn mig_does_not_isolate_pcie_and_a_busy_instance_is_left_alone() {
    let (_bench, document) = played("pcie-hog");
    for row in pair(&document, "loader", "vision") {
        assert_eq!((&row["verdict"], &row["through"]), (&"through".into(), &"pcie".into()));
    }
    assert!(verdicts(&pair(&document, "train", "vision")).iter().all(|it| *it == "not_shown"));
    assert!(!look_alikes(&document, "pcie_saturation", "found").is_empty());
}

#[test]
fn a_hardware_wall_without_harm_shows_no_harm() {
    let (_bench, document) = played("mig-two-slices");
    assert_eq!(accused(&document), Vec::<String>::new());
}

#[test]
fn a_power_brake_is_named_and_the_neighbour_is_not() {
    let (_bench, document) = played("clock-drop");
    assert_eq!(accused(&document), Vec::<String>::new());
    let found = look_alikes(&document, "hardware_slowdown", "found");
    assert!(!found.is_empty());
    assert!(number(found[0], "/effect_ratio") > 0.5, "{}", found[0]);
    assert!(!found[0]["spans"].as_array().unwrap().is_empty(), "it says when");
}

#[test]
fn a_clock_that_ramps_up_after_idleness_is_named_and_the_neighbours_are_not() {
    let (_bench, document) = played("clock-ramp");
    assert_eq!(accused(&document), Vec::<String>::new());
    assert!(!look_alikes(&document, "clock_ramp", "found").is_empty());
}

#[test]
fn a_queue_of_the_victims_own_making_is_named_and_the_neighbour_is_not() {
    let (_bench, document) = played("own-queue");
    assert_eq!(accused(&document), Vec::<String>::new());
    let found = look_alikes(&document, "own_queue", "found");
    assert!(!found.is_empty() && number(found[0], "/effect_ratio") > 1.0, "{found:?}");
}

#[test]
fn pods_that_mirror_the_device_are_not_correlated_at_all() {
    let (_bench, document) = played("mirrored-pods");
    let all = rows(&document);
    assert!(!all.is_empty());
    for row in all {
        assert_eq!(row["verdict"], "cannot_tell", "{row}");
        let reasons = row["reasons"].to_string();
        assert!(reasons.contains("mirrored"), "{reasons}");
        assert_ne!(row["remedy"], Value::Null, "it says what would settle it");
    }
    assert!(!look_alikes(&document, "mirrored_series", "found").is_empty());
}

#[test]
fn a_slow_start_is_left_out_and_said() {
    let (_bench, document) = played("warm-up");
    assert_eq!(accused(&document), Vec::<String>::new());
    let found = look_alikes(&document, "warm_up", "found");
    assert!(!found.is_empty());
    let end = number(found[0], "/share_of_time");
    assert!((0.15..0.45).contains(&end), "{}", found[0]);
    for row in rows(&document) {
        assert!(number(row, "/bins") < 700.0, "the slow start does not count: {row}");
    }
}

#[test]
fn harm_to_the_slowest_requests_shows_in_p99_and_the_innocent_neighbour_is_left_alone() {
    let (_bench, document) = played("tail-only");
    let rows = pair(&document, "flush", "ranking");
    let tail = rows.iter().find(|it| it["metric"] == "latency_p99_s").unwrap();
    let mean = rows.iter().find(|it| it["metric"] == "latency_mean_s").unwrap();
    assert_eq!(tail["verdict"], "confirmed");
    assert!(number(tail, "/effect_ratio") > 2.0 * number(mean, "/effect_ratio"), "{tail} {mean}");
    // Engine time is dealt out among the active, so read as activity the innocent one looks guilty.
    assert!(verdicts(&pair(&document, "resize", "ranking")).iter().all(|it| *it == "not_shown"));
}

#[test]
fn the_guilty_one_is_named_among_five_and_its_decoy_is_not() {
    let (_bench, document) = played("one-guilty-one-decoy");
    assert!(verdicts(&pair(&document, "features", "chat")).iter().all(|it| *it == "confirmed"));
    for innocent in ["thumbs", "encoder", "mining", "backtest"] {
        for verdict in verdicts(&pair(&document, innocent, "chat")) {
            assert!(matches!(verdict, "not_shown" | "cannot_tell"), "{innocent}: {verdict}");
        }
    }
    assert_eq!(rows(&document)[0]["suspect"], "features");
}

#[test]
fn a_victim_that_is_slow_throughout_convicts_nobody() {
    let (_bench, document) = played("slow-throughout");
    assert_eq!(accused(&document), Vec::<String>::new());
}

#[test]
fn a_board_that_stalls_on_faults_is_named_and_its_seconds_are_left_out() {
    let (_bench, document) = played("xid-stall");
    assert_eq!(accused(&document), Vec::<String>::new());
    let found = look_alikes(&document, "fault", "found");
    assert!(!found.is_empty());
    let sentence = found[0]["sentence"].as_str().unwrap();
    assert!(sentence.contains("Xid 119"), "{sentence}");
}

#[test]
fn bad_monitoring_hides_neither_the_aggressor_nor_what_is_bad_about_it() {
    let (_bench, document) = played("messy-monitoring");
    for row in pair(&document, "batch", "chat") {
        assert_eq!(row["verdict"], "confirmed", "{row}");
        assert!(is_near(number(row, "/effect_ratio"), 1.0, 0.3), "{row}");
    }
    for row in rows(&document).into_iter().filter(|it| it["victim"] != "chat") {
        assert_eq!(row["verdict"], "cannot_tell", "{row}");
    }
    let offsets = document["devices"][0]["influences"]["clock_offsets"].as_array().unwrap();
    let chat = offsets.iter().find(|it| it["tenant"] == "chat").unwrap();
    assert_eq!(chat["origin"], "estimated");
    assert!(is_near(number(chat, "/offset_s"), -1.5, 0.6), "{chat}");
}

/// A log of processes as the driver lists them, and the latency of a service from elsewhere.
fn night() -> (String, String) {
    let (mut log, mut latency) = (
        String::from(
            "#Date       Time        gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command \n\
             #YYYYMMDD   HH:MM:SS    Idx           #    C/G      %      %      %      %      %      %    name \n",
        ),
        String::from("time,tenant,ms,arrivals\n"),
    );
    let mut state = 1_u64;
    let mut dice = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 31) as f64
    };
    let (mut is_on, mut left) = (false, 0.0);
    for second in 0..900 {
        if left <= 0.0 {
            is_on = !is_on;
            left = -dice().ln() * if is_on { 6.0 } else { 15.0 };
        }
        left -= 1.0;
        let (minute, rest) = (second / 60, second % 60);
        let arrivals = 12 + (16.0 * dice()) as i32;
        let train = if is_on { "90     40" } else { " -      -" };
        log.push_str(&format!(
            " 20260105   03:{minute:02}:{rest:02}          0       1111     C     {arrivals:2}      5      -      -      -      -    server\n \
             20260105   03:{minute:02}:{rest:02}          0       2222     C     {train}      -      -      -      -    train\n"
        ));
        let noise = 0.9 + 0.2 * dice();
        let ms = 40.0 * noise * if is_on { 1.5 } else { 1.0 };
        latency
            .push_str(&format!("2026-01-05T03:{minute:02}:{rest:02}Z,chat,{ms:.2},{arrivals}\n"));
    }
    (log, latency)
}

#[test]
fn a_log_of_the_driver_and_the_latency_of_a_service_are_read_together() {
    let bench = Workbench::new();
    let (log, latency) = night();
    bench.file("pmon.log", log);
    bench.file("latency.csv", latency);
    bench.file(
        "latency.toml",
        "name = \"latency\"\nabout = \"a service\"\n[time]\ncolumn = \"time\"\n[tenant]\ncolumn = \"tenant\"\n\
         [[metric]]\ncolumn = \"ms\"\nmetric = \"latency_p99_s\"\nunit = \"ms\"\n\
         [[metric]]\ncolumn = \"arrivals\"\nmetric = \"offered_load_per_s\"\n",
    );
    let document = bench.analyse(&[
        "pmon.log",
        "latency.csv",
        "--mapping",
        "latency.toml",
        "--timezone",
        "UTC",
    ]);
    let all = rows(&document);
    // The process that moves with the requests is the service itself, and no suspect.
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!(
        (&all[0]["suspect"], &all[0]["victim"]),
        (&"train (pid 2222)".into(), &"chat".into())
    );
    assert_eq!(all[0]["verdict"], "confirmed", "{}", all[0]);
    assert!(is_near(number(all[0], "/effect_ratio"), 0.5, 0.06), "{}", all[0]);
    assert!(all[0]["reasons"].to_string().contains("own-process-guessed"));
}

#[test]
fn a_clock_offset_that_is_given_counts_and_is_said() {
    let bench = Workbench::new();
    let recording = bench.play("aggressor");
    let late = bench.analyse(&[&recording, "--clock-offset", "chat=20"]);
    let right = bench.analyse(&[&recording]);
    let effect = |it: &Value| number(pair(it, "batch", "chat")[0], "/effect_ratio");
    assert!(effect(&late) < 0.5 * effect(&right), "{} {}", effect(&late), effect(&right));
    let offset = &late["devices"][0]["influences"]["clock_offsets"][0];
    assert_eq!((&offset["origin"], number(offset, "/offset_s")), (&"given".into(), 20.0));
}

#[test]
fn a_diagnosis_names_the_aggressor_of_a_bad_window_and_plans_the_proof() {
    let bench = Workbench::new();
    let recording = bench.play("aggressor");
    let answer = bench.run(&["diagnose", &recording, "--victim", "chat", "-o", "json"]);
    answer.expect_code(0);
    let diagnosis: Value = serde_json::from_str(&answer.stdout()).unwrap();
    assert_eq!(diagnosis["outcome"], "neighbour");
    assert_eq!(diagnosis["suspects"][0]["suspect"], "batch");
    assert_eq!(diagnosis["metric"], "latency_p99_s");
    let plan = &diagnosis["experiment"];
    assert_eq!(plan["blocks"].as_array().unwrap().len(), 8);
    assert!(is_near(number(plan, "/least_p"), 1.0 / 70.0, 1e-9));
}

#[test]
fn a_diagnosis_of_the_victims_own_rush_hour_blames_nobody() {
    let bench = Workbench::new();
    let recording = bench.play("own-queue");
    let answer = bench.run(&["diagnose", &recording, "--victim", "search", "-o", "json"]);
    answer.expect_code(0);
    let diagnosis: Value = serde_json::from_str(&answer.stdout()).unwrap();
    assert_eq!(diagnosis["outcome"], "something_else", "{}", diagnosis["headline"]);
}

#[test]
fn an_experiment_that_was_played_is_judged_by_its_exact_test() {
    let bench = Workbench::new();
    let recording = bench.play("aggressor");
    let all = bench.analyse(&[&recording]);
    let start = all["recording"]["span"]["from_us"].as_i64();
    assert!(start.is_some(), "the recording says when it begins");
    // Blocks cut where batch happened to be in a burst or not are no experiment by lot, but they have a known answer.
    let answer = bench.run(&["diagnose", &recording, "--victim", "chat", "-o", "json"]);
    let diagnosis: Value = serde_json::from_str(&answer.stdout()).unwrap();
    let bursts = diagnosis["picture"]["suspects"][0]["bursts"].as_array().unwrap().clone();
    let at = |it: &Value, key: &str| it[key].as_i64().unwrap();
    let mut csv = String::from("from,until,suspect_runs\n");
    let (mut free_from, mut pairs) = (start.unwrap(), 0);
    for burst in &bursts {
        let (from, until) = (at(burst, "from_us"), at(burst, "until_us"));
        let is_long = until - from >= 4_000_000 && from - 4_000_000 >= free_from;
        if is_long && pairs < 5 {
            let offset = |it: i64| format!("+{}s", (it - start.unwrap()) as f64 / 1e6);
            csv.push_str(&format!("{},{},no\n", offset(from - 4_000_000), offset(from)));
            csv.push_str(&format!("{},{},yes\n", offset(from), offset(until)));
            pairs += 1;
        }
        free_from = until;
    }
    assert_eq!(pairs, 5);
    bench.file("blocks.csv", csv);
    let answer = bench.run(&[
        "diagnose",
        &recording,
        "--victim",
        "chat",
        "--suspect",
        "batch",
        "--experiment",
        "blocks.csv",
        "--settle",
        "0s",
        "-o",
        "json",
    ]);
    answer.expect_code(0);
    let result: Value = serde_json::from_str(&answer.stdout()).unwrap();
    assert_eq!(result["arrangements"], 252);
    assert_eq!(result["is_proven"], true, "{result}");
    assert!(number(&result, "/p_value") <= 0.05);
}

#[test]
fn the_same_recording_gives_the_same_answer_with_any_number_of_threads() {
    let bench = Workbench::new();
    let recording = bench.play("one-guilty-one-decoy");
    let with = |threads: &str| {
        let text = bench.run(&["analyze", &recording, "-o", "json", "--threads", threads]).stdout();
        text.replace(&format!("--threads {threads}"), "")
    };
    assert!(with("1") == with("2"));
}

#[test]
fn a_quantile_that_few_bins_have_gives_way_to_a_mean_that_all_have() {
    let bench = Workbench::new();
    let recording = bench.play("aggressor");
    bench.run(&["export", &recording, "--to", "csv", "-o", "all.csv"]).expect_code(0);
    let text = std::fs::read_to_string(bench.path("all.csv")).unwrap();
    let mut lines = text.lines();
    let head = lines.next().unwrap();
    let column = head.split(',').position(|it| it == "latency_p99_s").unwrap();
    let (mut sparse, mut measured) = (format!("{head}\n"), 0);
    for line in lines {
        let mut cells: Vec<&str> = line.split(',').collect();
        if !cells[column].is_empty() {
            measured += 1;
            // One of forty is left: too few to judge anybody by.
            cells[column] = if measured % 40 == 0 { cells[column] } else { "" };
        }
        sparse += &(cells.join(",") + "\n");
    }
    bench.file("sparse.csv", sparse);
    let answer = bench.run(&["diagnose", "sparse.csv", "--victim", "chat", "-o", "json"]);
    let document: Value = serde_json::from_str(&answer.stdout()).unwrap();
    assert_eq!(document["metric"], "latency_mean_s");
    assert_eq!(document["suspects"][0]["suspect"], "batch");
    assert_eq!(document["suspects"][0]["influence"]["verdict"], "confirmed");
}
