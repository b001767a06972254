//! Two recordings of scenarios whose truth is known, compared; and single figures as users ask for them.

mod support;

use crate::support::{Answer, Workbench};
use serde_json::Value;

const AGGRESSOR: &str = include_str!("../fixtures/scenario/scenarios/aggressor.toml");

/// The scenario with another seed, and without the tenants of these names.
fn variant(seed: u64, left_out: &[&str]) -> String {
    let head = AGGRESSOR.split("[expect]").next().expect("a start");
    let kept = head.split("[[tenants]]").filter(|part| {
        left_out
            .iter()
            .all(|it| !part.contains(&format!("name = \"{it}\"\n")) || part.contains("seed ="))
    });
    let all: Vec<&str> = kept.collect();
    all.join("[[tenants]]").replace("seed = 17", &format!("seed = {seed}"))
}

fn played(bench: &Workbench, name: &str, scenario: &str) -> String {
    bench.file(&format!("{name}.toml"), scenario);
    let file = format!("{name}.toml");
    bench.run(&["demo", "--scenario", &file, "--recording-only", "-o", name]).expect_code(0);
    format!("{name}/recording")
}

fn document(answer: &Answer) -> Value {
    serde_json::from_str(&answer.stdout()).expect("the result is JSON")
}

fn service<'a>(document: &'a Value, tenant: &str, metric: &str) -> &'a Value {
    let all = document["services"].as_array().expect("a list");
    let is_it = |it: &&Value| it["tenant"] == tenant && it["metric"] == metric;
    all.iter().find(is_it).unwrap_or_else(|| panic!("no {metric} of {tenant}: {document:#}"))
}

#[test]
fn without_the_aggressor_the_victim_is_better_and_with_it_a_gate_fails() {
    let bench = Workbench::new();
    let with = played(&bench, "with", &variant(17, &[]));
    let without = played(&bench, "without", &variant(18, &["batch"]));
    let found =
        document(bench.run(&["report", "--compare", &with, &without, "-o", "json"]).expect_code(0));
    for metric in ["latency_p99_s", "latency_mean_s"] {
        let it = service(&found, "chat", metric);
        assert_eq!(
            (&it["verdict"], &it["certainty"]),
            (&"better".into(), &"confirmed".into()),
            "{it:#}"
        );
        assert!(it["change_high"].as_f64().unwrap() < -0.05, "{it:#}");
    }
    assert_eq!(found["answer"], "better");
    let gone = found["only_in_one"].as_array().unwrap();
    assert!(gone.iter().any(|it| it["name"] == "batch" && it["side"] == "before"), "{gone:?}");
    let pairs = found["influences"].as_array().unwrap();
    let pair = pairs.iter().find(|it| it["suspect"] == "batch" && it["victim"] == "chat").unwrap();
    assert_eq!((&pair["before"]["verdict"], &pair["after"]), (&"confirmed".into(), &Value::Null));
    let busy = &found["conditions"].as_array().unwrap()[0];
    assert_eq!(
        (&busy["condition"], &busy["verdict"]),
        (&"activity_ratio".into(), &"different".into())
    );

    let gate = bench.run(&[
        "report",
        &without,
        "--compare",
        &with,
        "-o",
        "c.html",
        "--fail-on",
        "regression",
    ]);
    gate.expect_code(4);
    let page = std::fs::read_to_string(bench.path("c.html")).unwrap();
    assert!(page.contains("Worse after the change"), "{page}");
    // A term of the glossary is a link, so the words are told without what stands between < and >.
    let words: String = page.split('<').filter_map(|it| Some(it.split_once('>')?.1)).collect();
    assert!(words.contains("confirmed worse"), "{words}");
    let back = bench.run(&[
        "report",
        &with,
        "--compare",
        &without,
        "-o",
        "table",
        "--fail-on",
        "likely-regression",
    ]);
    back.expect_code(0);
    assert!(back.stdout().contains("Better after the change"), "{}", back.stdout());
}

#[test]
fn two_seeds_of_one_scenario_show_no_change_and_say_what_would_have_been_noticed() {
    let bench = Workbench::new();
    let first = played(&bench, "first", &variant(17, &[]));
    let second = played(&bench, "second", &variant(23, &[]));
    let answer = bench.run(&[
        "report",
        &first,
        "--compare",
        &second,
        "-o",
        "json",
        "--fail-on",
        "likely-regression",
    ]);
    let found = document(answer.expect_code(0));
    assert_eq!(found["answer"], "not_shown", "{found:#}");
    assert!(service(&found, "chat", "latency_p99_s")["mde_ratio"].as_f64().unwrap() < 0.6);
}

#[test]
fn a_comparison_needs_two_sides_and_never_writes_over_one() {
    let bench = Workbench::new();
    let it = bench.play("steady-30");
    bench
        .run(&["report", "--compare", &it])
        .expect_code(2)
        .expect_stderr("one before and one after");
    bench.run(&["report", &it, "--fail-on", "regression"]).expect_code(2);
    bench.run(&["report"]).expect_code(2);
    let inside = format!("{it}/page.html");
    bench.run(&["report", &it, "--compare", &it, "-o", &inside]).expect_code(2);
}

#[test]
fn single_figures_are_named_listed_and_written_instead_of_the_result() {
    let bench = Workbench::new();
    let it = bench.play("aggressor");
    let listed = bench.run(&["report", &it, "--figure", "list"]);
    listed.expect_code(0);
    assert!(listed.stdout().contains("timeline-gpu-0 "), "{}", listed.stdout());
    assert!(!bench.path("report.html").exists(), "only the list was asked for");
    bench
        .run(&["report", &it, "--figure", "nobody"])
        .expect_code(2)
        .expect_stderr("timeline-gpu-0");
    let svg =
        ["report", &it, "--figure", "timeline-gpu-0", "--figure-out", "a.svg", "--theme", "dark"];
    bench.run(&svg).expect_code(0);
    let drawn = std::fs::read_to_string(bench.path("a.svg")).unwrap();
    assert!(
        drawn.contains("<title id=\"title\">") && drawn.contains("#1A1E23"),
        "{}",
        &drawn[..400]
    );
    bench
        .run(&["report", &it, "--figure", "all", "--figure-out", "f", "--size", "960x540"])
        .expect_code(0);
    let count = listed.stdout().lines().count();
    assert_eq!(std::fs::read_dir(bench.path("f")).unwrap().count(), count);
    bench
        .run(&["report", &it, "--figure", "timeline-gpu-0", "--size", "200x100"])
        .expect_code(2)
        .expect_stderr("the least size is ");
    bench
        .run(&["report", &it, "--figure", "all", "--figure-out", "b.svg"])
        .expect_code(2)
        .expect_stderr("one file cannot hold");
}

#[test]
fn a_figure_has_one_name_in_every_command_and_the_error_lists_what_is_accepted() {
    let bench = Workbench::new();
    let it = bench.play("aggressor");
    let (chat, batch) = (format!("{it}#chat"), format!("{it}#batch"));
    let names = |arguments: &[&str]| -> Vec<String> {
        let list = bench.run(&[arguments, &["--figure", "list"]].concat());
        list.expect_code(0);
        let names = list.stdout();
        names.lines().filter_map(|it| it.split(' ').next()).map(str::to_owned).collect()
    };
    let report = names(&["report", &it]);
    let recommended = names(&["recommend", &it]);
    assert!(recommended.contains(&"ways-gpu-0".to_owned()), "{recommended:?}");
    assert!(recommended.iter().all(|it| report.contains(it)), "{recommended:?} {report:?}");
    assert_eq!(names(&["whatif", &chat, &batch]), ["ways"]);
    assert_eq!(names(&["diagnose", &it, "--victim", "chat"]), ["suspects"]);
    assert_eq!(names(&["plan", &it, "--no-keep"])[0], "fleet");
    let answer = bench.run(&["report", &it, "--figure", "nobody"]);
    let listed = format!("figures of this result: {}; or `all` of them", report.join(", "));
    answer.expect_code(2).expect_stderr(&listed);
    for name in &report {
        let place = format!("one/{name}.svg");
        bench.run(&["report", &it, "--figure", name, "--figure-out", &place]).expect_code(0);
    }
}

#[test]
fn a_place_with_an_unknown_ending_is_refused_and_makes_no_folder() {
    let bench = Workbench::new();
    let it = bench.play("steady-30");
    for place in ["x.pdf", "x.jpg"] {
        let answer = bench.run(&["report", &it, "--figure", "all", "--figure-out", place]);
        answer.expect_code(2).expect_stderr("help: figures are .png or .svg files");
        let answer = bench.run(&["report", &it, "--png", place]);
        answer.expect_code(2).expect_stderr("help: --png takes a folder");
        assert!(!bench.path(place).exists(), "{place}");
    }
    bench.run(&["report", &it, "--figure", "duty", "--figure-out", "2026.05/"]).expect_code(0);
    assert!(bench.path("2026.05/duty-gpu-0.png").exists());
}

#[test]
fn another_model_is_said_first_and_what_other_metrics_show_is_not_set_side_by_side() {
    let bench = Workbench::new();
    let (before, after) = (bench.play("aggressor"), bench.play("mig-two-slices"));
    let answer = bench.run(&["report", &before, "--compare", &after, "-o", "json"]);
    let found = document(answer.expect_code(0));
    let headline = found["headline"].as_str().unwrap();
    assert!(
        headline.starts_with(
            "The GPU is another one: NVIDIA A100-SXM4-80GB before, NVIDIA H100 80GB HBM3 after."
        ),
        "{headline}"
    );
    // A board that is cut has no GPU utilisation, so its SM activity would stand beside it.
    let conditions = found["conditions"].as_array().unwrap();
    assert!(conditions.iter().all(|it| it["condition"] != "activity_ratio"), "{conditions:#?}");
    assert!(conditions.iter().any(|it| it["condition"] == "power_mw"), "{conditions:#?}");
    let remarks = found["remarks"].as_array().unwrap();
    let is_told = |it: &Value| it.as_str().is_some_and(|it| it.contains("which are not compared"));
    assert!(remarks.iter().any(is_told), "{remarks:?}");
}

#[test]
fn a_throughput_that_follows_its_load_is_neither_better_nor_worse() {
    let bench = Workbench::new();
    let (before, after) = (bench.play("aggressor"), bench.play("co-victim"));
    let answer = bench.run(&["report", &before, "--compare", &after, "-o", "json"]);
    let found = document(answer.expect_code(0));
    let it = service(&found, "chat", "throughput_per_s");
    let left = it["load"]["adjusted_ratio"].as_f64().unwrap();
    assert!(it["change_ratio"].as_f64().unwrap() > 0.1 && left.abs() < 0.05, "{it:#}");
    assert_eq!(it["verdict"], "different", "{it:#}");
    assert_ne!(found["answer"], "better");
}
