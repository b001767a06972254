use super::*;
use proptest::prelude::{prop, prop_assert, proptest};

const GB: f64 = 1e9;
const DAY_S: f64 = 86_400.0;

/// `base` GB with spikes of `spike` GB for 0.5 s every `period_s`, ten samples a second.
fn spiking(label: &str, base: f64, spike: f64, period_s: f64) -> MemoryDemand {
    let samples = samples(base, spike, period_s, 0.5, 40_000);
    MemoryDemand::of(label, &[&samples], 0.1).unwrap()
}

fn samples(base: f64, spike: f64, period_s: f64, hold_s: f64, count: usize) -> Vec<f64> {
    let is_up = |it: usize| (it as f64 / 10.0) % period_s < hold_s - 1e-9;
    (0..count).map(|it| GB * (base + if is_up(it) { spike } else { 0.0 })).collect()
}

fn room(total: f64) -> MemoryRoom {
    MemoryRoom { total_bytes: total * GB, reserved_bytes: Some(0.0), others_bytes: Some(0.0) }
}

fn asked<'a>(
    demands: &'a [MemoryDemand],
    total: f64,
    measured: Option<MeasuredPhase>,
) -> MemoryQuestion<'a> {
    MemoryQuestion { demands, room: room(total), measured, horizons_s: &[600.0, DAY_S] }
}

#[test]
fn models_that_fit_on_average_and_for_all_but_a_quarter_percent_run_out_in_minutes() {
    let both = [spiking("a", 18.0, 16.0, 9.2), spiking("b", 18.0, 16.0, 10.0)];
    let found = forecast(&asked(&both, 60.0, None)).unwrap();
    assert!((found.sum_of_means_bytes / GB / 37.6 - 1.0).abs() < 0.02);
    assert!((found.over_ratio / 0.002_70 - 1.0).abs() < 0.02, "{}", found.over_ratio);
    let risk = found.risks[0];
    assert!((risk.risk_ratio.unwrap() / 0.997 - 1.0).abs() < 0.02, "{risk:?}");
    assert_eq!(found.basis, ForecastBasis::IndependentPhases);
    assert_eq!(found.sum_of_peaks_bytes, 68.0 * GB);
    // Nothing of it shows in an average or in a 99th percentile of the sum.
    assert!(found.sum_of_means_bytes < 0.65 * 60.0 * GB && found.sum_p99_bytes < 60.0 * GB);
}

#[test]
fn peaks_over_phase_reach_what_snapshots_never_see() {
    let a = samples(17.95, 16.0, 9.2, 0.5, 6_000);
    let b = samples(17.95, 16.0, 10.0, 0.5, 6_000);
    let found = phase_peaks(&[&a, &b], 60.0 * GB).unwrap();
    assert!((found.over_ratio - 0.999).abs() < 0.02, "{}", found.over_ratio);
    assert!(found.peaks.iter().all(|it| (67.2..=67.95).contains(&(it / GB))));
    // A snapshot every 15 s that never hits both at once sees 51.9.
    let highest =
        (0..6_000).step_by(150).map(|it| a[it] + b[(it + 13) % 6_000]).fold(0.0, f64::max);
    assert!((highest / GB - 51.9).abs() < 0.02 * 51.9, "{}", highest / GB);
}

#[test]
fn snapshots_every_fifteen_seconds_are_blind_and_say_what_would_see() {
    let fine = samples(18.0, 16.0, 9.2, 0.5, 40_000);
    let coarse: Vec<f64> = fine.iter().step_by(150).copied().collect();
    let both = [
        MemoryDemand::of("a", &[&coarse], 15.0).unwrap(),
        MemoryDemand::of("b", &[&coarse], 15.0).unwrap(),
    ];
    let found = forecast(&asked(&both, 60.0, None)).unwrap();
    assert_eq!(found.basis, ForecastBasis::Blind);
    assert!(found.risks.iter().all(|it| it.risk_ratio.is_none()));
    assert_eq!(found.needed_interval_s, Some(0.1));
    assert!(found.sentence.starts_with("cannot tell"), "{}", found.sentence);
}

#[test]
fn staggered_crons_are_judged_by_the_phase_that_was_measured() {
    let both = [spiking("a", 2.0, 40.0, 300.0), spiking("b", 2.0, 40.0, 300.0)];
    let seen = MeasuredPhase { seen_s: 7_200.0, crossings: 0, phases: Phases::Fixed };
    let found = forecast(&asked(&both, 60.0, Some(seen))).unwrap();
    let day = found.risks[1];
    assert!(day.independent_ratio > 0.5, "at random phases they would meet: {day:?}");
    assert_eq!((found.basis, day.risk_ratio), (ForecastBasis::MeasuredPhase, Some(0.0)));
    assert!(day.measured_high_ratio.unwrap() > 0.9, "two hours prove little about a day");
    assert!(found.caveats.iter().any(|it| it.contains("if a clock moves")), "{:?}", found.caveats);
}

#[test]
fn crons_that_come_together_get_the_worse_of_both() {
    let both = [spiking("a", 2.0, 40.0, 300.0), spiking("b", 2.0, 40.0, 300.0)];
    let seen = MeasuredPhase { seen_s: 7_200.0, crossings: 24, phases: Phases::Together };
    let found = forecast(&asked(&both, 60.0, Some(seen))).unwrap();
    let risk = found.risks[0];
    assert!(risk.measured_ratio.unwrap() > risk.independent_ratio);
    assert_eq!(risk.risk_ratio, risk.measured_ratio);
    assert_eq!(found.basis, ForecastBasis::WorseOfBoth);
}

#[test]
fn growth_not_yet_seen_counts_at_its_configured_limit() {
    let mut serving = spiking("serving", 20.0, 5.0, 10.0);
    let batch = spiking("batch", 20.0, 5.0, 13.0);
    let now = forecast(&asked(&[serving.clone(), batch.clone()], 60.0, None)).unwrap();
    assert_eq!((now.basis, now.risks[1].risk_ratio), (ForecastBasis::AlwaysFits, Some(0.0)));
    assert_eq!(now.fits_at_limits, None);
    serving.limit_bytes = Some(38.0 * GB);
    let then = forecast(&asked(&[serving, batch], 60.0, None)).unwrap();
    assert_eq!((then.basis, then.fits_at_limits), (ForecastBasis::Limits, Some(false)));
    assert!(then.risks[0].risk_ratio.unwrap() > 0.99, "{:?}", then.risks);
    assert_eq!(then.crossings_per_h, 0.0, "what was seen is reported besides");
}

#[test]
fn a_caching_allocator_counts_with_its_peak_all_the_time() {
    let climbing: Vec<f64> = (0..6_000).map(|it| GB * (10.0 + (it / 600) as f64)).collect();
    let cache = MemoryDemand::of("cache", &[&climbing], 0.1).unwrap();
    assert!(cache.keeps_what_it_takes);
    let other = spiking("other", 20.0, 25.0, 10.0);
    assert!(!other.keeps_what_it_takes);
    let found = forecast(&asked(&[cache, other], 63.0, None)).unwrap();
    // 19 GB stay: every spike of the other to 45 GB crosses 63 GB, 360 times an hour.
    assert!((found.crossings_per_h / 360.0 - 1.0).abs() < 0.02, "{}", found.crossings_per_h);
    assert!(found.caveats.iter().any(|it| it.contains("gave nothing back")));
}

#[test]
fn a_pinned_limit_makes_it_fit_and_says_who_runs_into_it() {
    let mut both = [spiking("a", 18.0, 16.0, 9.2), spiking("b", 18.0, 16.0, 10.0)];
    both.iter_mut().for_each(|it| it.cap_bytes = Some(30.0 * GB));
    let found = forecast(&asked(&both, 60.0, None)).unwrap();
    assert_eq!((found.basis, found.risks[1].risk_ratio), (ForecastBasis::AlwaysFits, Some(0.0)));
    assert_eq!(found.beyond_own_cap.len(), 2);
    assert!((found.beyond_own_cap[1].per_h / 360.0 - 1.0).abs() < 0.02);
}

#[test]
fn under_mig_each_slice_has_its_own_capacity() {
    let (a, b) = ([spiking("a", 18.0, 16.0, 9.2)], [spiking("b", 18.0, 16.0, 10.0)]);
    let fits = slices(&[asked(&a, 40.0, None), asked(&b, 40.0, None)]);
    assert_eq!(fits, [(600.0, Some(0.0)), (DAY_S, Some(0.0))]);
    let tight = slices(&[asked(&a, 40.0, None), asked(&b, 20.0, None)]);
    assert!(tight[0].1.unwrap() > 0.99, "{tight:?}");
    assert!(slices(&[]).is_empty());
}

#[test]
fn what_the_driver_and_a_server_hold_is_taken_off_and_what_is_unknown_is_said() {
    let both = [spiking("a", 18.0, 11.0, 9.2), spiking("b", 18.0, 11.0, 10.0)];
    assert_eq!(forecast(&asked(&both, 60.0, None)).unwrap().crossings_per_h, 0.0);
    let less =
        MemoryRoom { reserved_bytes: Some(2.0 * GB), others_bytes: Some(0.6 * GB), ..room(60.0) };
    let found = forecast(&MemoryQuestion { room: less, ..asked(&both, 60.0, None) }).unwrap();
    assert!(found.crossings_per_h > 30.0 && !found.room_is_upper_limit);
    let unknown = MemoryRoom { reserved_bytes: None, ..room(60.0) };
    let found = forecast(&MemoryQuestion { room: unknown, ..asked(&both, 60.0, None) }).unwrap();
    assert!(found.room_is_upper_limit && found.caveats[0].contains("less room"));
    assert_eq!(forecast(&asked(&[], 60.0, None)), None);
}

proptest! {
    #[test]
    fn more_room_is_never_more_risk_and_more_time_never_less(
        spikes in prop::collection::vec((1.0..30.0_f64, 1.0..30.0_f64, 5.0..40.0_f64), 1..4),
        total in 10.0..120.0_f64,
    ) {
        let demands: Vec<MemoryDemand> =
            spikes.iter().map(|it| spiking("x", it.0, it.1, it.2)).collect();
        let small = forecast(&asked(&demands, total, None)).unwrap();
        let large = forecast(&asked(&demands, total + 10.0, None)).unwrap();
        prop_assert!(large.over_ratio <= small.over_ratio + 1e-12);
        let risk = |it: &MemoryForecast, place: usize| it.risks[place].risk_ratio.unwrap();
        prop_assert!(risk(&small, 0) <= risk(&small, 1) + 1e-12);
        prop_assert!((0.0..=1.0).contains(&risk(&small, 0)));
    }
}

#[test]
fn what_never_fits_is_said_so_and_one_high_start_is_not_that() {
    let always = [MemoryDemand::of("big", &[&[18.0 * GB; 100]], 0.1).unwrap()];
    let found = forecast(&asked(&always, 15.0, None)).unwrap();
    assert_eq!(found.risks[0].risk_ratio, Some(1.0));
    assert!(found.sentence.contains("does not fit"), "{}", found.sentence);
    let mut falling = vec![20.0 * GB; 100];
    falling.extend([10.0 * GB; 900]);
    let falls = [MemoryDemand::of("falls", &[&falling], 0.1).unwrap()];
    let found = forecast(&asked(&falls, 15.0, None)).unwrap();
    assert!(found.risks[0].risk_ratio.unwrap() < 0.5, "{:?}", found.risks);
    assert!(!found.sentence.contains("does not fit"), "{}", found.sentence);
}

#[test]
fn most_of_the_time_too_much_is_too_much_though_a_restart_lies_between() {
    // Restarts begin a life: the rise into it is no crossing of a tenant that was there.
    let lives = [[18.0 * GB; 460], [18.0 * GB; 460]];
    let absent = [0.0; 40];
    let big = [MemoryDemand::of("big", &[&lives[0], &absent, &lives[1], &absent], 0.1).unwrap()];
    let found = forecast(&asked(&big, 15.0, None)).unwrap();
    assert_eq!(found.risks[1].risk_ratio, Some(1.0), "{:?}", found.risks);
}
