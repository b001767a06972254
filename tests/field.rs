//! Who slows whom on recordings from the field, where it is known who cannot have slowed whom.
#![allow(clippy::print_stderr, reason = "shares are printed, so that they can be watched")]

mod support;

use serde_json::Value;
use std::collections::BTreeMap;
use support::{Workbench, real};

/// Pairs that the data allow to judge: 24 of 40 pods answer often enough, and 30 of 40 are busy often enough to be suspects.
const LEAST_JUDGED: usize = 700;
/// Share of accusations among pairs that share nothing, up to which the program keeps its word.
const MOST_FALSE: f64 = 0.025;

fn pairs(document: &Value) -> &[Value] {
    document["influences"].as_array().expect("influences is a list")
}

fn verdicts<'a>(pairs: impl IntoIterator<Item = &'a Value>) -> BTreeMap<&'a str, usize> {
    let mut counts = BTreeMap::new();
    for pair in pairs {
        *counts.entry(pair["verdict"].as_str().expect("a verdict")).or_default() += 1;
    }
    counts
}

/// Pods of this trace have a GPU each, so whatever is said between two of them is wrong.
#[test]
fn pods_that_share_no_gpu_are_hardly_ever_accused() {
    let Some(duty) = real("alibaba-gentd26/pod_gpu_duty_cycle_anon.csv") else { return };
    let bench = Workbench::new();
    let (mut asked, mut judged, mut confirmed, mut shown) = (0, 0, 0, 0);
    for latency in ["pipeline_inference_data_anon.csv", "model_predict_data_anon.csv"] {
        let Some(latency) = real(&format!("alibaba-gentd26/{latency}")) else { return };
        let files = [duty.to_string_lossy(), latency.to_string_lossy()];
        let document = bench.analyse(&[&files[0], &files[1], "--assume-one-gpu"]);
        let pairs = pairs(&document);
        assert!(pairs.iter().all(|it| it["suspect"] != it["victim"]), "nobody accuses itself");
        let counts = verdicts(pairs);
        eprintln!("{}: {counts:?}", latency.display());
        let count = |verdict: &str| counts.get(verdict).copied().unwrap_or(0);
        asked += pairs.len();
        judged += pairs.len() - count("cannot_tell");
        confirmed += count("confirmed");
        shown += count("confirmed") + count("through") + count("likely");
    }
    let share = |part: usize| part as f64 / judged as f64;
    eprintln!(
        "{judged} of {asked} pairs judged: confirmed {:.4}, confirmed, through or likely {:.4}",
        share(confirmed),
        share(shown)
    );
    assert!(asked >= 1000 && judged >= LEAST_JUDGED, "{judged} of {asked}");
    assert!(share(confirmed) <= MOST_FALSE, "{confirmed} of {judged}");
}

#[test]
fn whoever_measures_no_latency_is_nobodys_victim() {
    let bench = Workbench::new();
    let parts = [
        "h100-dcgm-10hz/e2_telemetry.csv",
        "llm-k8s-timeslicing-hami/timeslicing/r4_c4_20260610-023635/gpu_metrics.csv",
    ];
    for part in parts {
        let Some(path) = real(part) else { continue };
        let document = bench.analyse(&[&path.to_string_lossy()]);
        assert!(pairs(&document).is_empty(), "{part}: {:?}", pairs(&document));
    }
}
