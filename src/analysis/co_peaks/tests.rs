use super::*;
use crate::analysis::memory_findings::{Blame, OutOfMemoryKind, PhaseRelation};
use crate::analysis::memory_ledger::{GHOST, MPS_SERVER};
use crate::domain::ident::{Subject, TenantId};
use crate::domain::metric::Metric;
use crate::domain::outline::Outline;
use crate::domain::recording::Trace;
use crate::domain::series::Series;
use crate::domain::time::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;

const GIB: f64 = 1_073_741_824.0;

fn series(rows: impl IntoIterator<Item = (f64, f64)>) -> Series {
    let (times, values) = rows
        .into_iter()
        .map(|it| (Timestamp::from_micros((it.0 * 1e6) as i64), it.1 * GIB))
        .unzip();
    Series::new(Arc::new(times), values).unwrap()
}

fn trace(metrics: impl IntoIterator<Item = (Metric, Series)>) -> Trace {
    Trace { series: metrics.into_iter().collect(), ..Trace::default() }
}

fn gpu() -> GpuId {
    GpuId::from_index(0)
}

fn tenant(name: &str) -> Subject {
    Subject::Tenant { gpu: Some(gpu()), tenant: TenantId::new(name) }
}

/// A tenant and what it holds at a second, in GiB; `None` is no row.
type Held<'a> = (&'a str, &'a dyn Fn(f64) -> Option<f64>);

/// A device of `total` GiB and tenants sampled every 100 ms for 600 s.
fn world(total: f64, tenants: &[Held<'_>]) -> Recording {
    let times = || (0..6000).map(|it| f64::from(it) / 10.0);
    let mut traces = BTreeMap::new();
    let sum = |at: f64| tenants.iter().filter_map(|it| it.1(at)).sum::<f64>();
    traces.insert(
        Subject::device(&gpu()),
        trace([
            (Metric::FramebufferUsed, series(times().map(|it| (it, 0.5 + sum(it))))),
            (Metric::FramebufferTotal, series([(0.0, total)])),
            (Metric::FramebufferReserved, series([(0.0, 0.5)])),
        ]),
    );
    for (name, holds) in tenants {
        let rows = times().filter_map(|it| Some((it, holds(it)?)));
        traces.insert(tenant(name), trace([(Metric::FramebufferUsed, series(rows))]));
    }
    Recording { outline: Outline::default(), traces }
}

fn found(part: &Recording) -> MemoryFindings {
    memory_findings(&gpu(), part, None).remove(0)
}

fn every(at: f64, period: f64, offset: f64, hold: f64) -> bool {
    (at - offset).rem_euclid(period) < hold
}

#[test]
fn reserve_and_what_is_nobodys_are_taken_off_the_room() {
    let part = world(80.0, &[("a", &|_| Some(10.0)), ("b", &|_| Some(20.0))]);
    let found = found(&part);
    assert_eq!(found.reporting, MemoryReporting::Reported);
    assert!((found.room_bytes.unwrap() / GIB - 79.0).abs() < 1e-6, "{:?}", found.room_bytes);
    assert!(!found.room_is_upper_limit && found.blind_spots.is_empty());
    assert_eq!(found.coincidence_ratio, Some(1.0));
    assert_eq!(found.residents[0].label, "b");
    assert!(found.pairs.is_empty() && found.out_of_memory.is_empty());
}

#[test]
fn crons_that_take_turns_coincide_in_half_and_never_peak_together() {
    let part = world(
        80.0,
        &[
            ("a", &|at| Some(if every(at, 30.0, 0.0, 3.0) { 30.0 } else { 2.0 })),
            ("b", &|at| Some(if every(at, 30.0, 15.0, 3.0) { 30.0 } else { 2.0 })),
        ],
    );
    let found = found(&part);
    assert_eq!(found.pairs[0].phase, PhaseRelation::TakingTurns, "{:?}", found.pairs);
    assert_eq!(found.pairs[0].overlap_s, 0.0);
    assert!((found.coincidence_ratio.unwrap() - 32.0 / 60.0).abs() < 1e-9);
    assert_eq!(found.residents[0].keeps_what_it_takes, Some(false));
}

#[test]
fn the_one_that_grew_is_named_and_not_the_one_that_died() {
    let part = world(
        60.0,
        &[
            ("grower", &|at| Some(if (300.0..302.0).contains(&at) { 34.0 } else { 18.0 })),
            ("victim", &|at| match at {
                _ if every(at, 50.0, 20.0, 0.5) && at < 301.0 => Some(34.0),
                _ if (301.0..330.0).contains(&at) => None,
                _ => Some(18.0),
            }),
        ],
    );
    let found = found(&part);
    assert_eq!(found.out_of_memory.len(), 1, "{:#?}", found.out_of_memory);
    let event = &found.out_of_memory[0];
    assert_eq!(event.kind, OutOfMemoryKind::LostWhileTight);
    assert_eq!((event.failed.as_deref(), event.blame), (Some("victim"), Blame::OneTenant));
    assert_eq!(event.named, ["grower"]);
    assert_eq!(event.shares[0].share_ratio, Some(1.0));
    assert!((event.shares[0].grew_before_s.unwrap() - 1.0).abs() < 0.3, "{event:?}");
    assert!((event.at.as_micros() as f64 / 1e6 - 301.0).abs() < 0.3);
    let victim = found.residents.iter().find(|it| it.label == "victim").unwrap();
    assert_eq!(victim.lives, 2);
}

#[test]
fn a_process_that_ends_while_there_is_room_ran_out_of_nothing() {
    let part = world(
        80.0,
        &[
            ("a", &|at| Some(if every(at, 30.0, 0.0, 3.0) { 20.0 } else { 10.0 })),
            ("b", &|at| {
                (at < 300.0).then_some(if every(at, 40.0, 0.0, 3.0) { 20.0 } else { 10.0 })
            }),
        ],
    );
    assert!(found(&part).out_of_memory.is_empty());
}

#[test]
fn a_device_of_which_processes_show_little_is_under_reported_and_nobody_is_named() {
    let mut part = world(100.0, &[("a", &|_| Some(1.0))]);
    let used = series((0..6000).map(|it| (f64::from(it) / 10.0, 70.0)));
    part.traces
        .get_mut(&Subject::device(&gpu()))
        .unwrap()
        .series
        .insert(Metric::FramebufferUsed, used);
    let found_under = found(&part);
    assert_eq!(found_under.reporting, MemoryReporting::UnderReported);
    assert_eq!(found_under.unattributed_bytes, None);
    part.traces.remove(&tenant("a"));
    let found_none = found(&part);
    assert_eq!(found_none.reporting, MemoryReporting::Absent);
    assert_eq!(found_none.peak_of_sum_bytes, None);
    assert_eq!(found_none.blind_spots.len(), 1);
}

#[test]
fn growth_that_only_the_device_showed_belongs_to_those_who_lived_on() {
    // Tenants once a second, the device ten times: the spike lies between two rows of its tenant.
    let mut part = world(
        60.0,
        &[
            ("grower", &|at| {
                Some(if (300.2..300.9).contains(&at) || every(at, 70.0, 35.0, 0.5) {
                    34.0
                } else {
                    18.0
                })
            }),
            ("victim", &|at| match at {
                _ if every(at, 50.0, 20.0, 1.5) && at < 290.0 => Some(34.0),
                _ if (300.55..330.0).contains(&at) => None,
                _ => Some(18.0),
            }),
        ],
    );
    for (name, offset) in [("grower", 0), ("victim", 1)] {
        let held = part.traces.get_mut(&tenant(name)).unwrap();
        let fine = held.get(Metric::FramebufferUsed).unwrap().clone();
        let rows = fine.times().iter().zip(fine.values());
        let coarse = rows.filter(|it| it.0.as_micros() / 100_000 % 10 == offset);
        let coarse = coarse.map(|it| (it.0.as_micros() as f64 / 1e6, it.1 / GIB));
        held.series.insert(Metric::FramebufferUsed, series(coarse));
    }
    let found = found(&part);
    assert_eq!(found.out_of_memory.len(), 1, "{:#?}", found.out_of_memory);
    let event = &found.out_of_memory[0];
    assert_eq!(event.named, ["grower"], "{event:#?}");
    assert!(!event.unseen.is_empty());
}

#[test]
fn a_caching_allocator_keeps_what_it_takes_until_it_restarts() {
    let part = world(
        80.0,
        &[("cache", &|at| {
            (!(290.0..=320.0).contains(&at)).then_some(4.0 + (at % 305.0 / 20.0).floor())
        })],
    );
    let found = found(&part);
    assert_eq!(
        found.residents[0].keeps_what_it_takes,
        Some(true),
        "{:?}",
        found.residents[0].lives
    );
    assert_eq!(found.residents[0].lives, 2);
}

#[test]
fn names_of_hidden_memory_are_those_that_the_sampler_gives() {
    assert!(GHOST == "ghost" && MPS_SERVER.starts_with("MPS server"));
}
