use crate::colocation::demand::{Demand, Spread};
use crate::colocation::memory::outlook::MemoryOutlook;
use crate::colocation::objective::{Level, Limit, Objective};
use crate::colocation::range::{Quantiles, Range};
use crate::colocation::share::Mechanism;
use crate::colocation::whatif::{Options, Prediction, TenantPrediction};
use crate::report::whatif::{Party, Scene, Terms, Tuning, WhatIf};

fn party(name: &str) -> Party {
    Party {
        name: name.to_owned(),
        source: "file".to_owned(),
        gpu_model: None,
        was_alone: None,
        instance: None,
        demand: Demand::requests(name, 5.0, (0.02, Spread::Fixed), 100.0).expect("numbers"),
    }
}

/// A way under which the only tenant is slowed by this.
fn scene(mechanism: Mechanism, (low, expected, high): (f64, f64, f64)) -> Scene {
    let range = Range::new(expected, low, high);
    let all = Quantiles { p50: range, p95: range, p99: range };
    let tenant = TenantPrediction {
        name: "chat".to_owned(),
        slowdown: Some(all),
        latency_s: Some(all),
        throughput_ratio: Some(Range::exact(1.0)),
        is_at_least: false,
        refusal: None,
        assumptions: Vec::new(),
    };
    Scene {
        mechanism,
        tuning: Tuning::Usual,
        terms: vec![Terms::default()],
        is_chosen: false,
        notes: Vec::new(),
        memory: MemoryOutlook::default(),
        prediction: Prediction { mechanism, tenants: vec![tenant] },
    }
}

fn headline(scenes: &[Scene], limit: Option<f64>) -> String {
    let parties = [party("chat")];
    let options = Options::default();
    let slo = limit.map(|it| Objective { level: Level::P99, limit: Limit::Factor(it) });
    let input = WhatIf {
        parties: &parties,
        scenes,
        slo,
        options: &options,
        gpu: "H100",
        capacity_bytes: None,
        learned: &[],
        notes: &[],
        tool_version: "1",
        command: "",
    };
    input.headline()
}

#[test]
fn the_headline_ranks_ways_only_when_their_intervals_lie_apart() {
    let turns = Mechanism::time_slicing();
    let apart = [scene(turns, (1.8, 2.0, 2.2)), scene(Mechanism::mps(), (1.1, 1.2, 1.3))];
    assert_eq!(
        headline(&apart, None),
        "MPS costs least at p99: 1.20 (1.10 to 1.30) times that alone for chat, who has it worst; time slicing 2.00 (1.80 to 2.20)."
    );
    let close = [scene(turns, (1.2, 2.0, 2.2)), scene(Mechanism::mps(), (1.1, 1.2, 1.3))];
    let found = headline(&close, None);
    assert!(found.contains("cannot be told apart") && found.contains("--quantum"), "{found}");
}

#[test]
fn the_headline_says_who_keeps_the_objective_who_misses_it_and_what_is_open() {
    let ways = [
        scene(Mechanism::Exclusive, (1.0, 1.0, 1.1)),
        scene(Mechanism::time_slicing(), (1.8, 2.0, 2.2)),
        scene(Mechanism::mps(), (1.1, 1.2, 1.6)),
    ];
    let found = headline(&ways, Some(1.5));
    let start = "Exclusive use keeps a p99 of at most 1.50x that alone; time slicing misses it for chat. Whether MPS keeps it cannot be told: ";
    assert!(found.starts_with(start), "{found}");
    let found = headline(&ways[1..2], Some(1.5));
    assert_eq!(found, "Time slicing misses a p99 of at most 1.50x that alone for chat.");
    let found = headline(&ways[1..2], None);
    assert!(found.starts_with("Under time slicing, p99 grows to 2.00 (1.80 to 2.20)"), "{found}");
}
