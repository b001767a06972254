//! A what-if from 15 s scrapes of the exporter says what one from every sample says; one from plain gauges does not.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod scraped_world;

use cotenant::colocation::demand::{Assumption, Demand, Spread};
use cotenant::colocation::observed::Sitting;
use cotenant::colocation::range::Range;
use cotenant::colocation::share::Mechanism;
use cotenant::colocation::whatif::{Options, Seat, predict};
use cotenant::domain::ident::TenantId;
use cotenant::domain::recording::Recording;
use scraped_world::three_ways;

/// What the only load of a recording asked of its GPU.
fn demand(recording: &Recording) -> Demand {
    let gpu = &recording.outline.devices[0].gpu;
    let tenant = TenantId::new("batch");
    let sitting = Sitting { gpu, tenant: &tenant, is_alone: true, idle_w: None };
    Demand::recorded(recording, sitting).unwrap()
}

/// By how much requests of 1 s become slower at the 99th percentile beside it.
fn p99_of_a_service_beside(load: &Demand) -> Range {
    let service = Demand::requests("service", 0.2, (1.0, Spread::Lognormal(0.1)), 600.0).unwrap();
    let seats = [Seat::of(&service), Seat::of(load)];
    let told = predict(&seats, Mechanism::time_slicing(), &Options::default());
    told.tenants[0].slowdown.unwrap().p99
}

#[test]
fn counted_bursts_give_the_p99_of_every_sample_on_every_time_scale_and_plain_gauges_do_not() {
    let mut plain_wrong = Vec::new();
    for name in ["bursty-30-3ms", "bursty-30-30ms", "bursty-30-300ms", "bursty-30-3s"] {
        let ways = three_ways(&cotenant_scenario::shipped(name).unwrap());
        let [full, scraped, plain] = [&ways.full, &ways.scraped, &ways.plain].map(demand);
        assert!(scraped.assumptions.contains(&Assumption::OrderDrawn), "{name}");
        assert!(!full.assumptions.contains(&Assumption::OrderDrawn), "{name}");
        let [full, scraped, plain] = [&full, &scraped, &plain].map(p99_of_a_service_beside);
        let is_near = |it: &Range| (it.expected / full.expected - 1.0).abs() < 0.1;
        assert!(is_near(&scraped), "{name}: {full:?} {scraped:?}");
        assert!(scraped.high < 1.5 * full.high, "{name}: {full:?} {scraped:?}");
        if (plain.expected / full.expected - 1.0).abs() > 0.2 {
            plain_wrong.push(name);
        }
    }
    let wrong = ["bursty-30-30ms", "bursty-30-300ms", "bursty-30-3s"];
    assert_eq!(
        plain_wrong, wrong,
        "at 15 s a burst of 30 ms and one of 3 s both look like one of 15 s"
    );
}
