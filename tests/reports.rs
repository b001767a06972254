//! The reports that stand in `reports/` are those that the program makes today, byte for byte.
//!
//! `BLESS=1 cargo test --test reports` rewrites them; open them before they go in.
#![allow(clippy::disallowed_methods, reason = "reads BLESS")]

mod support;

use std::path::Path;
use support::Workbench;

/// What the owners of the demo's tenants say, for the samples that weigh.
const POLICY: &str = r#"[[tenant]]
name = "*"
trust_domain = "ours"

[[tenant]]
name = "batch"
class = "batch"

[[tenant]]
name = "pretrain"
class = "training"
"#;

/// Each sample, and the command that makes it; scenarios of these names were played before.
const SAMPLES: &[(&str, &[&str])] = &[
    ("diagnosis", &["diagnose", "co-victim/recording", "--victim", "chat"]),
    ("verdict", &["recommend", "demo/recording", "--policy", "policy.toml"]),
    ("whatif", &["whatif", "demo/recording#rerank", "demo/recording#prefetch", "--slo", "p99=2x"]),
    ("plan", &["plan", "demo/recording", "--policy", "policy.toml", "--no-keep"]),
    ("comparison", &["report", "aggressor/recording", "--compare", "without-batch/recording"]),
];

const SCENARIOS: [&str; 3] = ["aggressor", "co-victim", "demo"];

/// The scenario `aggressor` after its batch job moved away.
fn without_batch() -> String {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/scenario/scenarios/aggressor.toml");
    let text = std::fs::read_to_string(file).expect("a shipped scenario");
    let cut = |text: &str, at: &str| -> (String, String) {
        let (before, after) = text.split_once(at).expect("a part of the scenario");
        (before.to_owned(), after.to_owned())
    };
    let (before, rest) = cut(&text, "[[tenants]]\nname = \"batch\"");
    let (_, after) = cut(&rest, "[[tenants]]");
    let (tenants, _) = cut(&after, "[expect]");
    format!("{before}[[tenants]]{tenants}").replace("seed = 17", "seed = 18")
}

#[test]
fn the_report_that_is_shipped_is_the_one_that_the_demo_makes() {
    let bench = Workbench::new();
    bench.run(&["demo", "-o", "demo"]).expect_code(0);
    check("demo", &std::fs::read(bench.path("demo/report.html")).unwrap());
    let pictures = std::fs::read_dir(bench.path("demo/png")).unwrap().count();
    assert!(pictures >= 9, "{pictures} pictures");
}

#[test]
fn the_samples_are_what_their_commands_make_and_are_listed_with_them() {
    let bench = Workbench::new();
    bench.file("policy.toml", POLICY);
    for scenario in SCENARIOS {
        bench.play(scenario);
    }
    bench.file("without-batch.toml", without_batch());
    let play = ["demo", "--recording-only", "-o", "without-batch", "--scenario"];
    bench.run(&[&play[..], &["without-batch.toml"]].concat()).expect_code(0);
    let list = std::fs::read_to_string(shipped("README.md")).unwrap();
    for (name, command) in SAMPLES {
        let file = format!("{name}.html");
        let ending = if command[0] == "report" { "-o" } else { "--out" };
        bench.run(&[*command, &[ending, file.as_str()]].concat()).expect_code(0);
        check(name, &std::fs::read(bench.path(&file)).unwrap());
        let line = format!("`cotenant {}`", command.join(" "));
        assert!(list.contains(&line), "reports/README.md does not name {line}");
    }
    assert!(list.contains(POLICY), "reports/README.md does not hold the policy of the samples");
}

fn shipped(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("reports").join(file)
}

/// The sample is what was made, or becomes it under BLESS.
fn check(name: &str, made: &[u8]) {
    let place = shipped(&format!("{name}.html"));
    if std::env::var("BLESS").is_ok() {
        std::fs::write(&place, made).expect("the sample can be written");
    }
    let is_same = std::fs::read(&place).is_ok_and(|it| it == made);
    assert!(is_same, "reports/{name}.html is not what is made today; BLESS=1 rewrites it");
}
