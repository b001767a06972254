use super::*;
use crate::analysis::compare::findings::{
    Certainty, ChangeVerdict, ComparisonAnswer, ServiceChange,
};
use crate::domain::ident::GpuId;
use crate::domain::metric::Metric;
use crate::domain::recording::Trace;
use crate::domain::series::Series;
use crate::domain::time::{TimeSpan, Timestamp};
use crate::stats::specimen::Noise;
use std::sync::Arc;

const SECOND: i64 = 1_000_000;

/// One recording of a server: how slow and how much asked for it is against the usual.
#[derive(Clone, Copy)]
struct World {
    seed: u64,
    seconds: i64,
    step_s: i64,
    slower: f64,
    load: f64,
    /// How much of a change of load its latency follows.
    steepness: f64,
    tenant: &'static str,
}

const USUAL: World = World {
    seed: 1,
    seconds: 600,
    step_s: 1,
    slower: 1.0,
    load: 1.0,
    steepness: 0.0,
    tenant: "chat",
};

struct Played {
    outline: Outline,
    recording: Recording,
    findings: Findings,
}

fn series(step_s: i64, values: Vec<f64>) -> Series {
    let at = |it: usize| Timestamp::from_micros((it as i64 + 1) * step_s * SECOND);
    Series::new(Arc::new((0..values.len()).map(at).collect()), values).unwrap()
}

/// Latencies with a memory of 0.6 and 20 % spread, a load that varies by 15 %.
fn played(world: World) -> Played {
    let mut noise = Noise::new(world.seed);
    let count = (world.seconds / world.step_s) as usize;
    let memory = |noise: &mut Noise| noise.autoregression(0.6, count + 100)[100..].to_vec();
    let load: Vec<f64> = memory(&mut noise)
        .iter()
        .map(|it| 50.0 * world.load * (1.0 + 0.12 * it).max(0.1))
        .collect();
    let latency = |noise: &mut Noise, typical: f64| -> Vec<f64> {
        let own = memory(noise);
        own.iter()
            .zip(&load)
            .map(|(own, load)| {
                let follows = world.steepness * (load / 50.0 - 1.0);
                typical * world.slower * (0.16 * own + follows).exp()
            })
            .collect()
    };
    let (mean, tail) = (latency(&mut noise, 0.02), latency(&mut noise, 0.06));
    let gpu = GpuId::new("GPU-1");
    let tenant = TenantId::new(world.tenant);
    let subject = Subject::Tenant { gpu: Some(gpu.clone()), tenant };
    let mut trace = Trace::default();
    let all =
        [(Metric::LatencyMean, mean), (Metric::LatencyP99, tail), (Metric::OfferedLoad, load)];
    for (metric, values) in all {
        trace.series.insert(metric, series(world.step_s, values));
    }
    let mut device = Trace::default();
    let power: Vec<f64> = (0..count).map(|_| 200_000.0 + 5_000.0 * noise.normal()).collect();
    device.series.insert(Metric::Power, series(world.step_s, power));
    let at = |it: i64| Timestamp::from_micros(it * SECOND);
    let outline = Outline {
        subjects: vec![Subject::device(&gpu), subject.clone()],
        span: TimeSpan::new(at(0), at(world.seconds)),
        ..Outline::default()
    };
    let traces = [(subject, trace), (Subject::device(&gpu), device)].into_iter().collect();
    let recording = Recording { outline: outline.clone(), traces };
    Played { outline, recording, findings: Findings::default() }
}

fn between(before: World, after: World) -> Comparison {
    let (before, after) = (played(before), played(after));
    compare(
        &ComparedSide {
            name: "before",
            outline: &before.outline,
            findings: &before.findings,
            window: None,
            recording: &before.recording,
        },
        &ComparedSide {
            name: "after",
            outline: &after.outline,
            findings: &after.findings,
            window: None,
            recording: &after.recording,
        },
    )
}

fn of(found: &Comparison, metric: Metric) -> &ServiceChange {
    found.services.iter().find(|it| it.metric == metric).unwrap()
}

#[test]
fn a_tail_that_rose_by_a_third_is_confirmed_with_its_size() {
    let found = between(USUAL, World { seed: 2, slower: 1.35, ..USUAL });
    let tail = of(&found, Metric::LatencyP99);
    assert_eq!((tail.verdict, tail.certainty), (ChangeVerdict::Worse, Some(Certainty::Confirmed)));
    let (low, high) = (tail.change_low.unwrap(), tail.change_high.unwrap());
    assert!(low < 0.35 && 0.35 < high && low > 0.2, "{tail:?}");
    assert_eq!(found.answer, ComparisonAnswer::Worse);
    assert!(found.is_regression());
    assert!(
        found.headline.contains("`chat`") && found.headline.contains("confirmed worse"),
        "{}",
        found.headline
    );
    assert_eq!(of(&found, Metric::OfferedLoad).verdict, ChangeVerdict::NotShown);
}

#[test]
fn two_records_of_one_world_show_no_change_in_nineteen_of_twenty_cases() {
    let mut alarms = 0;
    for seed in 0..100 {
        let found =
            between(World { seed: 1000 + seed, ..USUAL }, World { seed: 5000 + seed, ..USUAL });
        alarms += usize::from(found.answer != ComparisonAnswer::NotShown);
        assert!(found.services.iter().all(|it| it.mde_ratio.is_some_and(|it| it < 0.25)));
    }
    assert!(alarms <= 11, "{alarms} of 100");
}

#[test]
fn a_latency_that_fell_with_its_load_is_not_credited_to_the_change() {
    let follows = World { steepness: 0.8, ..USUAL };
    let found = between(follows, World { seed: 2, load: 0.6, ..follows });
    let tail = of(&found, Metric::LatencyP99);
    assert_eq!((tail.verdict, tail.certainty), (ChangeVerdict::Better, Some(Certainty::Likely)));
    let load = tail.load.as_ref().unwrap();
    assert!(load.has_moved && (load.change_ratio + 0.4).abs() < 0.08, "{load:?}");
    assert!(load.adjusted_low.unwrap() < 0.0 && load.adjusted_high.unwrap() > 0.0, "{load:?}");
    assert!(found.headline.contains("offered load changed by −"), "{}", found.headline);
    assert!(!found.is_regression());
}

#[test]
fn a_harm_that_less_load_hides_is_told() {
    let follows = World { steepness: 0.8, seconds: 1800, ..USUAL };
    let found = between(follows, World { seed: 2, load: 0.85, slower: 1.13, ..follows });
    let tail = of(&found, Metric::LatencyP99);
    assert_eq!(tail.verdict, ChangeVerdict::NotShown, "{tail:?}");
    assert!(tail.reasons.iter().any(|it| it.contains("at equal load it would be +")), "{tail:?}");
}

#[test]
fn quantiles_over_windows_of_different_length_are_left_out_and_means_are_not() {
    let found = between(USUAL, World { seed: 2, step_s: 5, seconds: 3000, ..USUAL });
    assert_eq!(of(&found, Metric::LatencyP99).verdict, ChangeVerdict::CannotTell);
    assert_eq!(of(&found, Metric::LatencyP99).p, None);
    let mean = of(&found, Metric::LatencyMean);
    assert_eq!(mean.before.as_ref().unwrap().bin_s, mean.after.as_ref().unwrap().bin_s);
    assert!(mean.p.is_some(), "{mean:?}");
    assert!(
        found.remarks.iter().any(|it| it.contains("every 1.000 s before and every 5.000 s after")),
        "{:?}",
        found.remarks
    );
}

#[test]
fn a_tenant_that_came_is_named_and_a_record_of_a_minute_says_nothing() {
    let found = between(USUAL, World { tenant: "other", ..USUAL });
    assert_eq!(found.answer, ComparisonAnswer::CannotTell);
    let names: Vec<&str> = found.only_in_one.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["chat", "other"]);
    let short = between(USUAL, World { seconds: 60, ..USUAL });
    assert_eq!(short.answer, ComparisonAnswer::CannotTell);
    assert!(short.headline.contains("fewer than 120 bins"), "{}", short.headline);
}

#[test]
fn records_of_unequal_length_compare() {
    let found = between(USUAL, World { seed: 2, seconds: 3600, slower: 0.7, ..USUAL });
    assert_eq!(of(&found, Metric::LatencyP99).verdict, ChangeVerdict::Better);
}

#[test]
fn the_same_recordings_give_the_same_comparison_and_swapped_ones_its_mirror() {
    let after = World { seed: 2, slower: 1.35, ..USUAL };
    let (there, back) = (between(USUAL, after), between(after, USUAL));
    assert_eq!(there, between(USUAL, after));
    for it in &there.services {
        let other = of(&back, it.metric);
        let product = (1.0 + it.change_ratio.unwrap()) * (1.0 + other.change_ratio.unwrap());
        assert!((product - 1.0).abs() < 1e-9);
        assert!((it.p.unwrap() - other.p.unwrap()).abs() < 1e-9);
    }
}
