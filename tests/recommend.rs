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
fn files_to_apply_are_written_as_told_and_those_of_an_older_verdict_are_named() {
    let bench = Workbench::new();
    bench.file("policy.toml", NOTEBOOKS);
    let recording = bench.play("aggressor");
    let base = [recording.as_str(), "--policy", "policy.toml"];
    std::fs::create_dir(bench.path("files")).unwrap();
    bench.file("files/gpu0-mps.sh", "of an older verdict");
    let answer = bench.run(&[&["recommend"], &base[..], &["--config", "files"]].concat());
    answer.expect_code(0);
    assert!(answer.stderr().contains("gpu0-mps.sh"), "{}", answer.stderr());
    let document = asked(&bench, &base);
    let files = document["configuration"]["files"].as_array().unwrap();
    assert!(files.iter().any(|it| it["name"] == "device-plugin.yaml"), "{files:?}");
    for it in files {
        let name = it["name"].as_str().unwrap();
        let text = std::fs::read_to_string(bench.path("files").join(name)).expect("it was written");
        assert_eq!(Some(text.as_str()), it["text"].as_str());
    }
}

#[test]
fn a_layout_that_does_no_harm_stays_and_nobody_cuts_where_places_are_not_known() {
    let bench = Workbench::new();
    let recording = bench.play("mig-two-slices");
    let document = asked(&bench, &[&recording]);
    let verdict = &document["verdicts"][0];
    assert_eq!(verdict["chosen"]["mechanism"], "mig", "{verdict}");
    for it in verdict["chosen"]["assignments"].as_array().unwrap() {
        assert_eq!(it["profile"], "3g.40gb", "the halves that it was recorded in: {it}");
    }
    let configuration = &document["configuration"];
    assert_eq!(configuration["files"].as_array().map(Vec::len), Some(0), "{configuration}");
    assert!(configuration["cautions"].to_string().contains("-lgi"), "{configuration}");
}

#[test]
fn an_empty_device_is_nobodys_half_a_second_is_no_evidence_and_one_alone_has_no_neighbour() {
    let bench = Workbench::new();
    let log = |model: &str, rows: usize, busy: fn(usize) -> u32| {
        let head =
            "timestamp, index, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB]\n";
        let row = |it: usize| {
            format!(
                "2026/01/31 12:{:02}:{:02}.000, 0, {model}, {} %, 4000 MiB, 46068 MiB\n",
                it / 60,
                it % 60,
                busy(it)
            )
        };
        head.to_owned() + &(0..rows).map(row).collect::<String>()
    };
    bench.file("idle.csv", log("NVIDIA L40S", 120, |_| 0));
    bench.file("short.csv", log("NVIDIA H100 80GB HBM3", 5, |_| 90));
    bench.file("calm.csv", log("NVIDIA L40S", 300, |it| if it % 10 == 0 { 60 } else { 5 }));
    let verdict = |name: &str| asked(&bench, &[name, "--timezone", "UTC"])["verdicts"][0].clone();
    assert_eq!(verdict("idle.csv")["outcome"], "nobody");
    assert_eq!(verdict("short.csv")["outcome"], "not-enough-evidence");
    let calm = verdict("calm.csv");
    assert_eq!(
        (&calm["outcome"], &calm["decisive"]["kind"]),
        (&"exclusive".into(), &"no-mig".into())
    );
    assert!(!calm["rejected"].to_string().contains("neighbour"), "{calm}");
    assert!(calm["unseen"].to_string().contains("nobody knows who was on it"));
    assert_eq!(calm["chosen"]["predicted"][0]["out_of_memory_day_ratio"], 0.0, "{calm}");
}

#[test]
fn a_device_of_its_own_is_judged_too() {
    let bench = Workbench::new();
    let recording = bench.play("aggressor");
    let policy = "[[tenant]]\nname = \"chat\"\nmemory_limit_mib = 200000\n\
                  latency = { quantile = \"p99\", limit_ms = 1 }\n";
    bench.file("policy.toml", policy);
    let document = asked(&bench, &[&recording, "--policy", "policy.toml"]);
    let chosen = &document["verdicts"][0]["chosen"];
    assert_eq!(chosen["mechanism"], "exclusive", "{document}");
    let all = chosen["predicted"].as_array().unwrap();
    let chat = all.iter().find(|it| it["tenant"] == "chat").unwrap();
    assert_eq!(
        (&chat["target"], chat["out_of_memory_day_ratio"].as_f64()),
        (&"missed".into(), Some(1.0))
    );
    let reasons = chosen["reasons"].to_string();
    assert!(reasons.contains("out of memory even alone") && reasons.contains("target even alone"));
}

#[test]
fn who_belongs_together_names_each_tenant_once_and_never_more_devices() {
    let bench = Workbench::new();
    bench.file("policy.toml", NOTEBOOKS);
    let recording = bench.play("demo");
    let document = asked(&bench, &[&recording, "--policy", "policy.toml"]);
    let found = &document["together"];
    let groups = found["groups"].as_array().expect("two GPUs of one model have tenants");
    let mut names: Vec<&str> = groups
        .iter()
        .flat_map(|it| it["tenants"].as_array().unwrap())
        .filter_map(Value::as_str)
        .collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!((names.len(), all), (7, 7), "{found}");
    assert!(groups.iter().any(|it| it["tenants"].as_array().unwrap().len() > 1), "{found}");
    assert!(groups.len() as u64 >= found["devices_at_least"].as_u64().unwrap(), "{found}");
    for it in groups {
        let is_alone = it["tenants"].as_array().unwrap().len() == 1;
        assert_eq!(is_alone, it["mechanism"].is_null(), "{it}");
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
fn the_page_holds_its_own_script_alone_and_no_network() {
    let bench = Workbench::new();
    let recording = bench.play("demo");
    let answer = bench.run(&["recommend", &recording, "--out", "answer.html"]);
    assert!(matches!(answer.code(), 0 | 3), "{}", answer.stderr());
    let page = std::fs::read_to_string(bench.path("answer.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>"), "a page");
    assert_eq!(page.matches("<script").count(), 1, "its own script and no other");
    assert!(page.contains("default-src 'none'") && page.contains("script-src 'sha256-"), "{page}");
    assert!(!page.contains("http://") || page.contains("www.w3.org"), "no network");
}
