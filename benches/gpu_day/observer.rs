//! What watching costs: the calls of the driver, and the victim's own latency with and without a recorder.

use crate::ask::{digits, number, word};
use crate::page::{Outcome, Part};
use crate::results::{Arm, Results};
use crate::sample::{Measured, mean};
use cotenant::domain::metric::Metric;
use cotenant::storage::{Selection, StoredRecording};
use serde_json::Value;

/// A latency that grows by less than this is not worth a word.
const NOTICEABLE: f64 = 0.02;

fn probed(results: &Results, name: &str) -> Option<Value> {
    let text = std::fs::read_to_string(results.arm(name)?.folder.join("nvml.json")).ok()?;
    serde_json::from_str(&text).ok()
}

/// Latency of each call, idle and busy, and the clocks of the stamps.
pub(crate) fn calls(results: &Results) -> Part {
    let mut part = Part::new(
        "Calls of the driver",
        "Median and longest time of a call in µs, on an idle GPU and beside a busy one; rings with the clock of their stamps. A clock is known if the newest stamp is near its time.",
        &["code", "idle p50", "idle max", "busy p50", "busy max"],
    );
    let (idle, busy) = (probed(results, "probe-idle"), probed(results, "probe-busy"));
    let Some(shown) = busy.as_ref().or(idle.as_ref()) else { return part };
    for (name, call) in shown["calls"].as_object().into_iter().flatten() {
        let of = |probe: &Option<Value>, key: &str| {
            probe.as_ref().and_then(|it| it["calls"][name][key].as_f64())
        };
        let times = [(&idle, "p50_us"), (&idle, "max_us"), (&busy, "p50_us"), (&busy, "max_us")];
        let times = times.map(|(probe, key)| digits(of(probe, key), 1));
        part.row(name, [vec![call["code"].to_string()], times.to_vec()].concat());
    }
    let rings = shown["rings"].as_object().into_iter().flatten();
    for (name, ring) in rings.chain([(&"processes".to_owned(), &shown["process_ring"])]) {
        let is_known = ring["clock"].as_str().is_some_and(|it| it != "unknown");
        let has_samples = ring["count"].as_f64().unwrap_or_default() > 0.0;
        let cells = vec![
            format!("clock {}", word(&ring["clock"])),
            format!("{} samples", ring["count"]),
            format!("{} s", digits(number(ring, "/spans_s"), 1)),
            format!("every {} ms", digits(number(ring, "/step_p50_us").map(|it| it / 1e3), 1)),
            String::new(),
        ];
        let outcome = if has_samples { Outcome::of(is_known) } else { Outcome::CannotTell };
        part.claim(&format!("ring: {name}"), cells, outcome);
    }
    for (name, page) in shown["page"].as_object().into_iter().flatten() {
        let every = format!("changes every {} ms", digits(number(page, "/p50_ms"), 1));
        part.row(name, [vec![every], vec![String::new(); 4]].concat());
    }
    part
}

/// The victim's latency without a recorder, and beside one.
pub(crate) fn overhead(results: &Results) -> Part {
    let mut part = Part::new(
        "What recording costs the victim",
        "Requests of 20 ms one after the other; quantiles in ms with 95 % intervals, and the median over that without a recorder. Kept: the median grows by less than 2 %, or the intervals of p99 meet.",
        &["requests", "p50", "p99", "p50 over none", "driver time", "processor", "longest call ms"],
    );
    let latencies =
        |arm: &Arm| -> Vec<f64> { arm.requests("victim").iter().map(|it| it.latency_s).collect() };
    let none: Vec<f64> = ["overhead-none", "overhead-none-again"]
        .iter()
        .filter_map(|it| results.arm(it))
        .flat_map(latencies)
        .collect();
    let base = Measured::quantile(&none, 0.5).zip(Measured::quantile(&none, 0.99));
    for arm in results.arms.iter().filter(|it| it.truth["pack"] == "overhead") {
        let own = latencies(arm);
        let quantiles = Measured::quantile(&own, 0.5).zip(Measured::quantile(&own, 0.99));
        let Some((p50, p99)) = quantiles else { continue };
        let growth = base.map(|it| p50.value / it.0.value);
        let cells = vec![
            own.len().to_string(),
            p50.text(1e3),
            p99.text(1e3),
            digits(growth, 4),
            digits(observed(arm, Metric::ObserverDriverTime), 4),
            digits(observed(arm, Metric::ObserverCpu), 4),
            digits(observed(arm, Metric::ObserverCallLongest).map(|it| it * 1e3), 2),
        ];
        match base.filter(|_| arm.recording().is_some()) {
            None => part.row(&arm.name, cells),
            Some((_, tail)) => {
                let is_small = growth.is_some_and(|it| it < 1.0 + NOTICEABLE);
                let is_kept = is_small || p99.meets(tail.low, tail.high);
                part.claim(&arm.name, cells, Outcome::of(is_kept));
            }
        }
    }
    part
}

/// Mean of what the recorder says about itself.
fn observed(arm: &Arm, metric: Metric) -> Option<f64> {
    let stored = StoredRecording::open(&arm.recording()?).ok()?;
    let recording = stored.load(&Selection::default()).ok()?;
    let series = recording.traces.values().filter_map(|it| it.get(metric));
    mean(series.flat_map(|it| it.values().to_vec()))
}
