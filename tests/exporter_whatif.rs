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
fn a_peak_of_memory_between_two_scrapes_is_seen_by_findings_and_demands() {
    use cotenant::domain::ident::{GpuId, Subject};
    use cotenant::domain::metric::Metric;
    use cotenant::domain::sink::Sink;
    use cotenant::domain::source::SourceId;
    use cotenant::domain::time::Timestamp;
    use cotenant::exporter::{Exposition, Format, Limits};
    let device = Subject::device(&GpuId::new("GPU-5f1c"));
    let mut exposition = Exposition::new(Limits::default());
    let mut pages = String::new();
    for tenth in 0..3000_i64 {
        // 20 GB of 80, and 62 GB for half a second in the middle of one scrape interval.
        let used = if (1575..1580).contains(&tenth) { 62e9 } else { 20e9 };
        let busy = if tenth % 10 < 3 { 100.0 } else { 0.0 };
        let readings = [
            (Metric::FramebufferTotal, 80e9),
            (Metric::FramebufferUsed, used),
            (Metric::GpuUtilization, busy),
        ];
        let at = Timestamp::from_micros(1_769_860_800_000_000 + tenth * 100_000);
        exposition.row(at, &device, SourceId(0), &readings).unwrap();
        if tenth % 150 == 149 {
            pages += &format!(
                "# cotenant-scrape-time: 2026-01-31T12:{:02}:{:02}Z\n{}",
                tenth / 600,
                tenth / 10 % 60,
                exposition.render(Format::OpenMetrics)
            );
        }
    }
    let recording = scraped_world::imported(&pages);
    let gauges = recording.series(&device, Metric::FramebufferUsed).unwrap().values();
    assert!(gauges.iter().all(|it| *it < 21e9), "no scrape shows the peak");
    let within_a_class = |bytes: f64| (62e9..=66e9).contains(&bytes);
    let findings = scraped_world::findings(&recording);
    let level = &findings.devices[0].subjects[0].whole().unwrap().levels[&Metric::FramebufferUsed];
    assert!(within_a_class(level.max), "{level:?}");
    assert!((level.p50 - 20e9).abs() < 1e6 && (level.mean - 20.07e9).abs() < 0.03e9, "{level:?}");
    // A bound is told as one: nothing measured these bytes.
    let evidence = &findings.devices[0].subjects[0].whole().unwrap().evidence;
    assert!(
        evidence.iter().any(|it| it.sentence.contains("its upper end is given")),
        "{evidence:?}"
    );
    assert!(within_a_class(demand(&recording).memory_bytes.unwrap()));
    let gpu = &recording.outline.devices[0].gpu;
    let held = cotenant::analysis::co_peaks::memory_held(gpu, &recording);
    assert!(within_a_class(held[0].whole.as_ref().unwrap().peak_bytes), "{held:?}");
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
