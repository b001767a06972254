//! How a GPU should be shared: verdicts on scenarios, files to apply, exit codes, bad input.

mod support;

use cotenant::cluster;
use serde_json::Value;
use support::Workbench;

/// What `recommend -o json` answers.
fn asked(bench: &Workbench, arguments: &[&str]) -> Value {
    let answer = bench.run(&[&["recommend", "-o", "json"], arguments].concat());
    assert!(matches!(answer.code(), 0 | 3 | 4), "code {}: {}", answer.code(), answer.stderr());
    serde_json::from_str(&answer.stdout()).expect("the result is JSON")
}

/// Everybody of one team, who accepts what sharing in software brings.
const NOTEBOOKS: &str = "\
[default]
trust_domain = \"research\"
class = \"development\"
";

/// A service that is waited for beside a job that nobody waits for, of two teams.
const TWO_TEAMS: &str = "\
[[tenant]]
name = \"chat\"
trust_domain = \"search\"
class = \"latency-sensitive\"
latency = { quantile = \"p99\", limit_ms = 60 }

[[tenant]]
name = \"batch\"
trust_domain = \"research\"
class = \"batch\"

[[tenant]]
name = \"prefetch\"
trust_domain = \"search\"
class = \"batch\"
";

/// Reasons against a way that was not chosen.
fn against<'a>(verdict: &'a Value, mechanism: &str) -> Vec<&'a str> {
    let rejected = verdict["rejected"].as_array().expect("rejected ways are a list");
    let it = rejected.iter().find(|it| it["mechanism"] == mechanism);
    let it = it.unwrap_or_else(|| panic!("{mechanism} was not rejected: {verdict}"));
    let reasons = it["reasons"].as_array().expect("reasons are a list");
    reasons.iter().filter_map(|it| it["kind"].as_str()).collect()
}

#[test]
fn every_way_is_chosen_or_rejected_with_a_reason() {
    let bench = Workbench::new();
    let recording = bench.play("demo");
    let document = asked(&bench, &[&recording]);
    assert_eq!(document["schema_version"], 1);
    let verdicts = document["verdicts"].as_array().unwrap();
    assert_eq!(verdicts.len(), 3);
    for it in verdicts {
        let chosen = it["chosen"]["mechanism"].as_str();
        let rejected = it["rejected"].as_array().unwrap();
        assert_eq!(usize::from(chosen.is_some()) + rejected.len(), 4, "{it}");
        for rejected in rejected {
            assert!(!rejected["reason"].as_str().unwrap().is_empty(), "{rejected}");
        }
        let confidence = it["confidence"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&confidence) && it["unseen"].is_array(), "{it}");
    }
}

#[test]
fn strangers_never_share_in_software_and_a_target_beside_bursts_never_in_turns() {
    let bench = Workbench::new();
    bench.file("policy.toml", TWO_TEAMS);
    let recording = bench.play("aggressor");
    let document = asked(&bench, &[&recording, "--policy", "policy.toml"]);
    let verdict = &document["verdicts"][0];
    assert!(against(verdict, "time-slicing").contains(&"trust-boundary"), "{verdict}");
    assert!(against(verdict, "mps").contains(&"trust-boundary"), "{verdict}");
    let chosen = &verdict["chosen"]["mechanism"];
    assert!(chosen.is_null() || *chosen == "mig" || *chosen == "exclusive", "{chosen}");
}

#[test]
fn a_saturated_device_is_left_to_one() {
    let bench = Workbench::new();
    bench.file("policy.toml", NOTEBOOKS);
    let recording = bench.play("saturated-trainer");
    let document = asked(&bench, &[&recording, "--policy", "policy.toml"]);
    let verdict = &document["verdicts"][0];
    assert_eq!(verdict["outcome"], "exclusive", "{verdict}");
}

#[test]
fn peaks_that_meet_are_refused_where_memory_is_shared() {
    let bench = Workbench::new();
    bench.file("policy.toml", NOTEBOOKS);
    let recording = bench.play("memory-collision");
    let document = asked(&bench, &[&recording, "--policy", "policy.toml"]);
    let verdict = &document["verdicts"][0];
    for mechanism in ["time-slicing", "mps"] {
        let kinds = against(verdict, mechanism);
        let is_memory = kinds.iter().any(|it| ["peaks-coincide", "memory"].contains(it));
        assert!(is_memory, "{mechanism}: {kinds:?}");
    }
}

#[test]
fn files_to_apply_are_written_and_read_back_by_strict_readers() {
    let bench = Workbench::new();
    bench.file("policy.toml", NOTEBOOKS);
    let recording = bench.play("bursty-30-3ms");
    let two = bench.play("steady-30");
    drop(two);
    let arguments =
        ["recommend", recording.as_str(), "--policy", "policy.toml", "--config", "files"];
    let answer = bench.run(&arguments);
    assert!(matches!(answer.code(), 0 | 3), "{}", answer.stderr());
    let document = asked(&bench, &[&recording, "--policy", "policy.toml"]);
    let files = document["configuration"]["files"].as_array().unwrap();
    for it in files {
        let name = it["name"].as_str().unwrap();
        let text = std::fs::read_to_string(bench.path("files").join(name)).expect("it was written");
        assert_eq!(Some(text.as_str()), it["text"].as_str());
        let is_config =
            ["mig-parted.yaml", "device-plugin.yaml"].iter().any(|it| name.ends_with(it));
        if is_config {
            cluster::strict(name, &text).unwrap_or_else(|it| panic!("{name}: {it}\n{text}"));
        }
    }
}

#[test]
fn notebooks_of_one_team_are_packed_and_their_device_plugin_file_is_accepted() {
    let bench = Workbench::new();
    bench.file("policy.toml", NOTEBOOKS);
    let recording = bench.play("aggressor");
    let document = asked(&bench, &[&recording, "--policy", "policy.toml"]);
    let verdict = &document["verdicts"][0];
    assert_eq!(verdict["chosen"]["mechanism"], "time-slicing", "{verdict}");
    let files = document["configuration"]["files"].as_array().unwrap();
    let plugin = files.iter().find(|it| it["name"] == "device-plugin.yaml").expect("a plugin file");
    let words = cluster::strict("device-plugin.yaml", plugin["text"].as_str().unwrap());
    assert_eq!(words.expect("the plugin reads it").plugin_configs.len(), 1);
    let answer = bench.run(&["recommend", &recording, "--policy", "policy.toml", "-o", "yaml"]);
    answer.expect_code(0);
    assert!(answer.stdout().contains("timeSlicing:"), "{}", answer.stdout());
}

#[test]
fn who_fails_on_a_change_ends_with_four_and_the_misspelt_policy_with_two() {
    let bench = Workbench::new();
    bench.file("policy.toml", NOTEBOOKS);
    let recording = bench.play("aggressor");
    let base = ["recommend", recording.as_str(), "--policy", "policy.toml"];
    bench.run(&[&base[..], &["--fail-on", "change"]].concat()).expect_code(4);
    bench.run(&base).expect_code(0);
    bench.file("wrong.toml", "[[tenant]]\nname = \"chat\"\nclas = \"batch\"\n");
    let answer = bench.run(&["recommend", &recording, "--policy", "wrong.toml"]);
    answer.expect_code(2);
    let said = answer.stderr();
    assert!(said.contains("clas") && said.contains("class") && said.contains("line 3"), "{said}");
    bench.file("nobody.toml", "[[tenant]]\nname = \"chad\"\nclass = \"batch\"\n");
    let answer = bench.run(&["recommend", &recording, "--policy", "nobody.toml"]);
    assert!(answer.stderr().contains("`chad` is nobody"), "{}", answer.stderr());
}

#[test]
fn an_input_is_never_written_over() {
    let bench = Workbench::new();
    let recording = bench.play("steady-30");
    let inside = format!("{recording}/files");
    bench.run(&["recommend", &recording, "--config", &inside]).expect_code(2);
    bench.run(&["recommend", &recording, "--out", &inside]).expect_code(2);
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let bench = Workbench::new();
    let recording = bench.play("demo");
    let one = bench.run(&["--threads", "1", "recommend", &recording, "-o", "json"]).stdout();
    let many = bench.run(&["--threads", "4", "recommend", &recording, "-o", "json"]).stdout();
    let plain = |it: &str| it.replace("--threads 1", "").replace("--threads 4", "");
    assert!(one.len() > 1000 && plain(&one) == plain(&many));
}

#[test]
fn the_page_holds_no_script_and_no_network() {
    let bench = Workbench::new();
    let recording = bench.play("demo");
    let answer = bench.run(&["recommend", &recording, "--out", "answer.html"]);
    assert!(matches!(answer.code(), 0 | 3), "{}", answer.stderr());
    let page = std::fs::read_to_string(bench.path("answer.html")).unwrap();
    assert!(
        page.starts_with("<!DOCTYPE html>") && !page.contains("<script"),
        "a page without script"
    );
    assert!(!page.contains("http://") || page.contains("www.w3.org"), "no network");
}
