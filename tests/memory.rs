//! Memory that runs out: foretold with the right chance, and explained by the one that had grown.

#[path = "../benches/memory_accuracy/judge.rs"]
#[allow(dead_code, reason = "the bench asks more")]
mod judge;
mod support;
#[path = "../benches/memory_accuracy/worlds.rs"]
#[allow(dead_code, reason = "the bench plays more")]
mod worlds;

use crate::judge::{Score, explained, of_crons, outlook};
use crate::support::{Workbench, number};
use crate::worlds::{FINE, Look, world};
use cotenant::analysis::memory_findings::PhaseRelation;
use serde_json::Value;

/// Worlds of each test; `cargo bench --bench memory_accuracy` plays hundreds.
const WORLDS: u64 = 30;
/// First seed, not that of the bench.
const SEED: u64 = 77_000;

#[test]
fn what_is_foretold_happens_as_often_as_it_is_told() {
    let told: Vec<_> =
        (0..WORLDS).flat_map(|it| outlook(&world(SEED + it), SEED + it).horizons).collect();
    let truth = |it: bool| f64::from(u8::from(it));
    let count = told.len() as f64;
    let rate = told.iter().map(|it| truth(it.happened)).sum::<f64>() / count;
    let mean = told.iter().map(|it| it.chance).sum::<f64>() / count;
    let brier = told.iter().map(|it| (it.chance - truth(it.happened)).powi(2)).sum::<f64>() / count;
    assert!((0.1..0.9).contains(&rate), "the worlds differ: {rate}");
    assert!((mean - rate).abs() < 0.12, "told {mean}, happened {rate}");
    assert!(brier < 0.6 * rate * (1.0 - rate), "{brier} at a rate of {rate}");
}

#[test]
fn the_one_that_had_grown_is_named_and_hardly_ever_another() {
    for (name, look) in [
        ("ten times a second", FINE),
        ("tenants once a second", Look { device_ms: 100.0, tenants_ms: 1_000.0 }),
    ] {
        let mut all = Score::default();
        (0..WORLDS).for_each(|it| all.add(explained(&world(SEED + it), look, SEED + it)));
        assert!(all.refused >= 20, "{name}: {all:?}");
        assert!(all.found as f64 >= 0.85 * all.refused as f64, "{name}: {all:?}");
        assert!(all.right as f64 >= 0.95 * all.found as f64, "{name}: {all:?}");
        assert!(all.invented <= all.refused / 50, "{name}: {all:?}");
        assert!(
            2 * all.largest_is_right < 2 * all.found,
            "the largest is not always guilty: {all:?}"
        );
    }
}

#[test]
fn staggered_crons_run_out_at_no_time_and_are_not_foretold_to() {
    for seed in 0..3 {
        let (phase, chance, at_random) = of_crons(150.0, SEED + seed);
        assert_eq!(phase, Some(PhaseRelation::TakingTurns));
        assert!(chance < 0.01 && at_random > 0.9, "{chance} {at_random}");
        let (phase, chance, _) = of_crons(8.0, SEED + seed);
        assert_eq!(phase, Some(PhaseRelation::Together));
        assert!(chance > 0.99, "{chance}");
    }
}

/// Moments without memory of the first device.
fn moments(document: &Value) -> &Vec<Value> {
    document["devices"][0]["memory"][0]["out_of_memory"].as_array().expect("a list")
}

#[test]
fn whoever_asks_second_dies_and_the_first_is_named() {
    let bench = Workbench::new();
    let recording = bench.play("memory-collision");
    let document = bench.analyse(&[&recording]);
    let truth = std::fs::read_to_string(bench.path("memory-collision/truth.json")).unwrap();
    let truth: Value = serde_json::from_str(&truth).unwrap();
    let refused = truth["truth"]["devices"][0]["out_of_memory"].as_array().unwrap();
    let found = moments(&document);
    assert!(refused.len() >= 3, "{}", refused.len());
    let mut explained = 0;
    for refusal in refused {
        let asker = ["summariser", "translator"][refusal["asker"].as_u64().unwrap() as usize];
        let other = if asker == "summariser" { "translator" } else { "summariser" };
        let at = refusal["time_us"].as_f64().unwrap();
        let is_it =
            |it: &&Value| (it["at_us"].as_f64().unwrap() - at).abs() < 2e6 && it["failed"] == asker;
        let Some(seen) = found.iter().find(is_it) else { continue };
        explained += usize::from(seen["named"][0] == other);
    }
    assert!(explained as f64 >= 0.9 * refused.len() as f64, "{explained} of {}", refused.len());
    let forecast = &document["memory_forecasts"][0]["forecast"];
    assert!(number(forecast, "/risks/0/risk_ratio") > 0.9, "{forecast}");
    // The same on request: one victim, the window around a loss.
    let first = &found[0];
    let second = (number(first, "/at_us") - number(&document, "/recording/span/from_us")) / 1e6;
    let window = format!("{}s", second.round());
    let failed = first["failed"].as_str().unwrap();
    let answer =
        bench.run(&["diagnose", &recording, "--victim", failed, "--around", &window, "-o", "json"]);
    let diagnosis: Value = serde_json::from_str(&answer.stdout()).expect("JSON");
    let alike = diagnosis["look_alikes"].as_array().unwrap();
    let memory = alike.iter().find(|it| it["kind"] == "out_of_memory").expect("it was looked for");
    assert_eq!(memory["state"], "found", "{memory}");
    assert!(diagnosis["headline"].as_str().unwrap().contains("lost"), "{}", diagnosis["headline"]);
    assert_eq!(diagnosis["out_of_memory"].as_array().map(Vec::is_empty), Some(false));
}
