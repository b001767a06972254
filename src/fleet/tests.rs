//! Plans against brute force, and what must hold for every plan.

use crate::colocation::demand::{Demand, Spread};
use crate::colocation::memory::MemoryDemand;
use crate::colocation::whatif::Options;
use crate::domain::collector::Collector;
use crate::domain::ident::{GpuId, Subject};
use crate::domain::metric::Metric;
use crate::domain::outline::Device;
use crate::domain::recording::Recording;
use crate::domain::sink::{Fact, Sink};
use crate::domain::source::SourceId;
use crate::domain::time::Timestamp;
use crate::fleet::findings::{DeviceFinding, TenantFinding};
use crate::fleet::hardware::Hardware;
use crate::fleet::merge::{merge, merged};
use crate::fleet::observe::observe;
use crate::fleet::plan::{DeviceState, FleetPlan, PlanQuestion, plan};
use crate::recommender::decide::decide;
use crate::recommender::mechanism::MechanismId;
use crate::recommender::policy::Policy;
use crate::recommender::situation::{Current, Limits, Situation, Tenant};
use crate::recommender::tenant_policy::{TenantPolicies, TenantPolicy};
use crate::recommender::verdict::Outcome;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const GIB: f64 = 1_073_741_824.0;
const POLICY: &str = "\
[[tenant]]
name = \"nb-*\"
class = \"development\"
trust_domain = \"a\"
[[tenant]]
name = \"job-*\"
class = \"batch\"
trust_domain = \"a\"
[[tenant]]
name = \"guest-*\"
class = \"batch\"
trust_domain = \"b\"
[[tenant]]
name = \"api-*\"
class = \"latency-sensitive\"
trust_domain = \"a\"
[[tenant]]
name = \"train-*\"
class = \"training\"
trust_domain = \"a\"
";

/// What a tenant of a test is like; the name says what it is for.
fn tenant(name: &str, duty: f64, burst_s: f64, gib: f64) -> TenantFinding {
    let demand = match name.starts_with("api") {
        true => Demand::requests(name, duty / 0.015, (0.015, Spread::Fixed), 600.0),
        false => Demand::bursts(name, duty, (burst_s, Spread::Exponential), 600.0),
    };
    let memory = MemoryDemand::of(name, &[&[gib * GIB, gib * GIB]], 1.0).unwrap();
    let demand = demand.unwrap().wide(0.25, 0.1);
    let tenant = Tenant::of(demand, TenantPolicy::default(), &Policy::default());
    TenantFinding::of(&tenant.remembering(memory), false)
}

fn device(host: &str, index: u32, model: &str, tenants: Vec<TenantFinding>) -> DeviceFinding {
    let total_mib = if model.contains("H100") { 81_559.0 } else { 46_068.0 };
    DeviceFinding {
        host: Some(host.to_owned()),
        gpu: format!("GPU-{host}-{index}"),
        index: Some(index),
        model: Some(model.to_owned()),
        total_mib: Some(total_mib),
        reserved_mib: Some(500.0),
        others_mib: None,
        from_us: 0,
        until_us: 600_000_000,
        seen_s: 600.0,
        interval_s: Some(0.1),
        busy_mean_ratio: Some(0.1),
        busy_at_95_pct_ratio: Some(0.0),
        now: Current { tenants: tenants.len(), ..Current::default() },
        saturated: None,
        met: None,
        tenants,
        unseen: Vec::new(),
    }
}

/// One tenant on each GPU of hosts with four.
fn fleet(model: &str, tenants: Vec<TenantFinding>) -> Vec<DeviceFinding> {
    let of = |(at, it): (usize, TenantFinding)| {
        device(&format!("host-{}", at / 4), (at % 4) as u32, model, vec![it])
    };
    tenants.into_iter().enumerate().map(of).collect()
}

fn planned_with(devices: &[DeviceFinding], hardware: Option<&Hardware>) -> FleetPlan {
    plan(&PlanQuestion {
        devices,
        said: &TenantPolicies::from_toml(POLICY).unwrap(),
        policy: &Policy::default(),
        hardware,
        prices: None,
        limits: Limits::default(),
        options: Options::default(),
    })
}

fn planned(devices: &[DeviceFinding]) -> FleetPlan {
    planned_with(devices, None)
}

const H100: &str = "NVIDIA H100 80GB HBM3";
const L40S: &str = "NVIDIA L40S";

#[test]
fn notebooks_of_one_team_move_onto_one_gpu_and_the_others_become_free() {
    let found = planned(&fleet(
        L40S,
        (0..4).map(|it| tenant(&format!("nb-{it}"), 0.04, 1.0, 4.0)).collect(),
    ));
    let summary = &found.summary;
    assert_eq!(
        (summary.gpus_used_now, summary.gpus_used_then, summary.gpus_freed),
        (4, 1, 3),
        "{}",
        summary.sentence
    );
    assert_eq!(found.devices[0].mechanism, Some(MechanismId::TimeSlicing));
    assert_eq!(summary.tenants_moved, Some(3), "one of them stays where it is");
    assert_eq!(found.freedom.then.largest_job_on_one_host_gpus, 3);
    assert_eq!(found.freedom.now.as_ref().map(|it| it.largest_job_on_one_host_gpus), Some(0));
    assert_eq!(
        found.freedom.handed_back.drains[0].tenants_to_move, 4,
        "the next whole GPU holds four now"
    );
}

#[test]
fn strangers_meet_in_hardware_partitions_only() {
    let tenants = || vec![tenant("job-1", 0.1, 0.05, 6.0), tenant("guest-1", 0.1, 0.05, 6.0)];
    let apart = planned(&fleet(L40S, tenants()));
    assert_eq!(apart.summary.gpus_freed, 0, "{}", apart.summary.sentence);
    let together = planned(&fleet(H100, tenants()));
    assert_eq!(together.summary.gpus_freed, 1, "{}", together.summary.sentence);
    assert_eq!(together.devices[0].mechanism, Some(MechanismId::Mig));
    assert_eq!(together.freedom.parts.gpus_cut, 1);
    assert!(together.freedom.parts.free_compute_slices > 0);
}

#[test]
fn training_and_whoever_was_not_seen_keep_their_gpu_and_say_why() {
    let mut unseen = tenant("job-2", 0.1, 0.05, 6.0);
    unseen.demand = None;
    let found = planned(&fleet(
        H100,
        vec![tenant("train-1", 0.3, 0.05, 20.0), unseen, tenant("job-1", 0.1, 0.05, 6.0)],
    ));
    assert_eq!(found.summary.gpus_freed, 0);
    assert_eq!(found.summary.tenants_not_judged, 1);
    let whole = found.devices.iter().find(|it| it.tenants[0].name == "train-1").unwrap();
    assert!(whole.reason.contains("whole device"), "{}", whole.reason);
    assert!(found.alone.iter().any(|it| it.reason.contains("training")), "{:?}", found.alone);
}

#[test]
fn what_shares_now_and_must_not_is_named_and_takes_more_gpus() {
    let tenants = vec![tenant("job-1", 0.1, 0.05, 6.0), tenant("guest-1", 0.1, 0.05, 6.0)];
    let found = planned(&[device("h", 0, L40S, tenants)]);
    assert_eq!(found.refused_now.len(), 1);
    assert!(found.refused_now[0].reason.contains("trust domain"), "{:?}", found.refused_now);
    assert_eq!(found.summary.gpus_freed, -1);
    assert!(found.devices.iter().any(|it| it.state == DeviceState::Further));
    let summary = &found.summary;
    assert_eq!(summary.tenants_moved, Some(1), "one goes to the GPU that has to be bought");
    assert!(summary.sentence.starts_with("1 GPU more is needed"), "{}", summary.sentence);
    assert_eq!((found.freedom.then.gpus, found.freedom.handed_back.gpus), (2, 2));
    let sentences = found.freedom.sentences.join(" ");
    assert!(!sentences.contains("handed back"), "nothing is freed: {sentences}");
}

#[test]
fn gpus_that_become_free_beside_gpus_that_are_needed_are_no_standstill() {
    let mut devices =
        fleet(H100, vec![tenant("nb-1", 0.04, 1.0, 4.0), tenant("nb-2", 0.04, 1.0, 4.0)]);
    let strangers = vec![tenant("job-1", 0.1, 0.05, 6.0), tenant("guest-1", 0.1, 0.05, 6.0)];
    devices.push(device("h", 0, L40S, strangers));
    let summary = planned(&devices).summary;
    assert_eq!(summary.gpus_freed, 0);
    let said = &summary.sentence;
    assert!(said.starts_with("1 GPU more is needed and as many become free"), "{said}");
    assert_eq!(summary.tenants_moved, Some(2));
}

#[test]
fn a_verdict_that_is_not_sure_enough_is_nothing_against_what_is_there() {
    let tenants = (0..3).map(|it| tenant(&format!("nb-{it}"), 0.04, 1.0, 4.0)).collect();
    let devices = [device("h", 0, L40S, tenants)];
    let found = plan(&PlanQuestion {
        devices: &devices,
        said: &TenantPolicies::from_toml(POLICY).unwrap(),
        policy: &Policy { least_confidence: 1.0, ..Policy::default() },
        hardware: None,
        prices: None,
        limits: Limits::default(),
        options: Options::default(),
    });
    assert_eq!((found.refused_now.len(), found.summary.gpus_freed), (0, 0));
}

#[test]
fn whoever_stays_together_as_it_is_counts_as_sharing() {
    let mut unseen = tenant("nb-2", 0.1, 0.05, 6.0);
    unseen.demand = None;
    let summary =
        planned(&[device("h", 0, L40S, vec![tenant("nb-1", 0.1, 0.05, 6.0), unseen])]).summary;
    assert_eq!((summary.tenants_sharing, summary.largest_fault_domain), (2, 2));
}

#[test]
fn prices_of_both_files_count_and_a_sum_without_one_of_them_is_missing() {
    let hardware = "[[gpu]]\nmodel = \"L40S\"\ncount = 2\nprice_per_hour = 1.0\n";
    let hardware = Hardware::from_toml(hardware).unwrap();
    let prices = "currency = \"EUR\"\n[[gpu]]\nmodel = \"H100\"\nprice_per_hour = 3.0\n";
    let prices = Hardware::prices_from_toml(prices).unwrap();
    let devices = fleet(H100, vec![tenant("nb-1", 0.04, 1.0, 4.0), tenant("nb-2", 0.04, 1.0, 4.0)]);
    let said = TenantPolicies::from_toml(POLICY).unwrap();
    let policy = Policy::default();
    let summary = |prices: Option<&Hardware>| {
        plan(&PlanQuestion {
            devices: &devices,
            said: &said,
            policy: &policy,
            hardware: Some(&hardware),
            prices,
            limits: Limits::default(),
            options: Options::default(),
        })
        .summary
    };
    let both = summary(Some(&prices));
    assert_eq!(both.tenants_moved, None, "everybody comes anew");
    let cost = both.cost.unwrap();
    assert_eq!((cost.now_per_hour, cost.then_per_hour), (Some(6.0), Some(1.0)));
    assert_eq!((cost.saved_per_30_days, cost.currency.as_str()), (Some(3600.0), "EUR"));
    let one = summary(None).cost.unwrap();
    assert_eq!(
        (one.now_per_hour, one.then_per_hour, one.saved_per_30_days),
        (None, Some(1.0), None)
    );
    assert_eq!(one.gpus_without_price, 2);
}

#[test]
fn one_gpu_at_one_time_on_two_hosts_is_told() {
    let of = |host: &str| DeviceFinding {
        gpu: "GPU-1".to_owned(),
        ..device(host, 0, L40S, vec![tenant("nb-1", 0.04, 1.0, 4.0)])
    };
    let is_told = |devices: &[DeviceFinding]| {
        planned(devices).caveats.iter().any(|it| it.contains("counted more than once"))
    };
    assert!(is_told(&[of("a"), of("b")]));
    let later = DeviceFinding { from_us: 600_000_000, until_us: 900_000_000, ..of("b") };
    assert!(!is_told(&[of("a"), later]), "it was moved to another host");
}

#[test]
fn what_is_shared_well_already_stays_as_it_is() {
    let tenants = (0..3).map(|it| tenant(&format!("nb-{it}"), 0.04, 1.0, 4.0)).collect();
    let found = planned(&[device("h", 0, L40S, tenants)]);
    assert_eq!((found.summary.gpus_freed, found.summary.tenants_moved), (0, Some(0)));
    assert_eq!(found.devices[0].state, DeviceState::Shared);
}

#[test]
fn stated_hardware_is_filled_from_the_cheapest_and_names_who_finds_no_place() {
    let text = "[[gpu]]\nmodel = \"L40S\"\ncount = 1\nprice_per_hour = 1.0\n[[gpu]]\nmodel = \"H100\"\ncount = 1\nprice_per_hour = 3.0\n";
    let hardware = Hardware::from_toml(text).unwrap();
    let tenants = vec![
        tenant("nb-1", 0.04, 1.0, 4.0),
        tenant("nb-2", 0.04, 1.0, 4.0),
        tenant("train-1", 0.3, 0.05, 60.0),
        tenant("train-2", 0.3, 0.05, 60.0),
    ];
    let found = planned_with(&fleet(H100, tenants), Some(&hardware));
    let on = |name: &str| {
        found
            .devices
            .iter()
            .find(|it| it.tenants.iter().any(|it| it.name == name))
            .map(|it| it.pool.as_str())
    };
    assert_eq!((on("nb-1"), on("nb-2")), (Some("L40S"), Some("L40S")));
    assert_eq!(on("train-1"), Some("H100"));
    assert_eq!(found.unplaced, ["train-2"], "{:?}", found.summary.sentence);
    assert!(found.caveats.iter().any(|it| it.contains("another model")), "{:?}", found.caveats);
    let cost = found.summary.cost.unwrap();
    assert_eq!((cost.now_per_hour, cost.then_per_hour), (Some(12.0), Some(4.0)));
}

#[test]
fn a_changed_mix_is_answered_with_gpus_layouts_and_moves() {
    let tenants = (0..4).map(|it| tenant(&format!("nb-{it}"), 0.11, 1.0, 10.0)).collect();
    let found = planned(&fleet(L40S, tenants));
    assert_eq!(found.summary.gpus_used_then, 1);
    let of = |change: &str| found.sensitivity.iter().find(|it| it.change.contains(change)).unwrap();
    // Turns fill two thirds of the time then, which is too much for turns and not for MPS.
    assert_eq!((of("50 %").gpus_more, of("50 %").gpus_changed), (0, 1), "{:?}", of("50 %"));
    // Four times 10 GiB fill a GPU of 45, so that any more need another one and move nobody.
    let doubled = of("class A");
    let class = &found.classes[0];
    assert_eq!((class.id.as_str(), doubled.tenants_added), ("A", class.tenants));
    assert_eq!((doubled.gpus_more, doubled.tenants_moved), (1, 0));
    for it in &found.sensitivity {
        assert_eq!(it.gpus_more, it.gpus_after as i64 - it.gpus_before as i64, "{}", it.change);
    }
    // Reasons about pairs name classes, not the two stand-ins that were decided about.
    for pair in &found.compatibility {
        for verdict in [&pair.within_a_domain, &pair.between_strangers] {
            let reason = &verdict.reason;
            assert!(!reason.contains("`one`") && !reason.contains("`another`"), "{reason}");
        }
    }
}

/// The fewest devices over all ways to put up to six tenants together, each group decided about as `recommend` does.
fn fewest(devices: &[DeviceFinding]) -> usize {
    let said = TenantPolicies::from_toml(POLICY).unwrap();
    let situations: Vec<Situation> = devices
        .iter()
        .map(|it| it.situation(&said, Limits::default(), Options::default()))
        .collect();
    let tenants: Vec<Tenant> = situations.iter().flat_map(|it| it.tenants.clone()).collect();
    let mut holds: BTreeMap<u32, bool> = BTreeMap::new();
    let all = (1_u32 << tenants.len()) - 1;
    for set in 1..=all {
        let here: Vec<Tenant> = (0..tenants.len())
            .filter(|it| set & (1 << it) != 0)
            .map(|it| tenants[it].clone())
            .collect();
        let is_held = here.len() == 1 || {
            let mut situation = situations[0].clone();
            situation.tenants = here;
            decide(&situation, &Policy::default()).outcome == Outcome::Share
        };
        holds.insert(set, is_held);
    }
    let mut best: BTreeMap<u32, usize> = BTreeMap::from([(0, 0)]);
    for set in 1..=all {
        let lowest = set & set.wrapping_neg();
        let rest = set ^ lowest;
        let mut least = usize::MAX;
        let mut part = rest;
        loop {
            if holds[&(part | lowest)] {
                least = least.min(1 + best[&(rest ^ part)]);
            }
            if part == 0 {
                break;
            }
            part = (part - 1) & rest;
        }
        best.insert(set, least);
    }
    best[&all]
}

fn kinds() -> impl Strategy<Value = Vec<TenantFinding>> {
    let one = (0_usize..5, 0_usize..3, 0_usize..3);
    prop::collection::vec(one, 2..6).prop_map(|all| {
        let of = |(at, (kind, duty, memory)): (usize, (usize, usize, usize))| {
            let name = ["nb", "job", "guest", "api", "train"][kind];
            let (duty, gib) = ([0.03, 0.12, 0.35][duty], [3.0, 8.0, 30.0][memory]);
            tenant(&format!("{name}-{at}"), duty, if kind == 0 { 1.0 } else { 0.05 }, gib)
        };
        all.into_iter().enumerate().map(of).collect()
    })
}

fn text(plan: &FleetPlan) -> String {
    format!("{plan:?}")
}

proptest! {
    #[test]
    fn a_finding_that_is_kept_and_read_is_the_same_to_the_last_digit(
        number in proptest::num::f64::NORMAL
    ) {
        let mut finding = device("h", 0, L40S, Vec::new());
        finding.total_mib = Some(number);
        let text = serde_json::to_string(&finding).unwrap();
        let read: DeviceFinding = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(read, finding);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_is_as_good_as_brute_force_and_its_bound_is_below(tenants in kinds(), mig in any::<bool>()) {
        let devices = fleet(if mig { H100 } else { L40S }, tenants);
        let found = planned(&devices);
        let best = fewest(&devices);
        prop_assert!(found.summary.gpus_at_least <= best, "bound {} best {best}", found.summary.gpus_at_least);
        prop_assert!(found.summary.gpus_used_then >= best);
        prop_assert!(found.summary.gpus_used_then <= best + 1, "{} {best}", found.summary.gpus_used_then);
    }

    #[test]
    fn nobody_is_lost_and_everything_planned_would_be_recommended(tenants in kinds(), mig in any::<bool>()) {
        let model = if mig { H100 } else { L40S };
        let devices = fleet(model, tenants);
        let found = planned(&devices);
        let names: Vec<&str> = found.devices.iter().flat_map(|it| &it.tenants).map(|it| it.name.as_str()).collect();
        let all: BTreeSet<&str> = devices.iter().flat_map(|it| &it.tenants).map(|it| it.name.as_str()).collect();
        prop_assert_eq!(names.len(), all.len(), "lost or doubled");
        prop_assert_eq!(names.iter().copied().collect::<BTreeSet<_>>(), all);
        prop_assert!(found.summary.gpus_used_then <= found.summary.gpus_used_now);
        let said = TenantPolicies::from_toml(POLICY).unwrap();
        for device in found.devices.iter().filter(|it| it.state == DeviceState::Shared) {
            let own = |name: &str| devices.iter().flat_map(|it| &it.tenants).find(|it| it.name == name).unwrap().tenant(&said);
            let mut situation = devices[0].situation(&said, Limits::default(), Options::default());
            situation.tenants = device.tenants.iter().map(|it| own(&it.name)).collect();
            let domains: BTreeSet<Option<String>> =
                situation.tenants.iter().map(|it| it.policy.trust_domain.clone()).collect();
            prop_assert!(domains.len() == 1 || device.mechanism == Some(MechanismId::Mig));
            let verdict = decide(&situation, &Policy::default());
            prop_assert_eq!(verdict.outcome, Outcome::Share);
            prop_assert_eq!(verdict.mechanism(), device.mechanism);
        }
    }

    #[test]
    fn the_order_of_hosts_changes_nothing_and_an_empty_gpu_no_verdict(tenants in kinds(), turn in 1_usize..5) {
        let devices = fleet(H100, tenants);
        let before = planned(&merged(devices.clone()));
        let mut turned = devices.clone();
        let by = turn % turned.len();
        turned.rotate_left(by);
        prop_assert_eq!(text(&before), text(&planned(&merged(turned))));
        let mut more = devices;
        more.push(device("host-9", 0, H100, Vec::new()));
        let after = planned(&merged(more));
        prop_assert_eq!(after.summary.gpus_used_then, before.summary.gpus_used_then);
        let shared = |it: &FleetPlan| -> Vec<Vec<String>> {
            let shared = it.devices.iter().filter(|it| it.state == DeviceState::Shared);
            shared.map(|it| it.tenants.iter().map(|it| it.name.clone()).collect()).collect()
        };
        prop_assert_eq!(shared(&before), shared(&after));
    }
}

/// A GPU that somebody uses in bursts whose memory swings, at one sample per second.
fn recording(from_s: i64, until_s: i64) -> Recording {
    let gpu = GpuId::new("GPU-1");
    let mut sink = Collector::new();
    let mut told = Device::named(gpu.clone());
    (told.index, told.model) = (Some(0), Some(H100.to_owned()));
    sink.fact(Fact::Device(told)).unwrap();
    for second in from_s..until_s {
        let (phase, day) = (second % 60, second % 86_400);
        let is_busy = phase < if day < 43_200 { 12 } else { 4 };
        let readings = [
            (Metric::GpuUtilization, if is_busy { 100.0 } else { 0.0 }),
            (Metric::FramebufferUsed, GIB * if is_busy { 9.0 } else { 5.0 }),
            (Metric::FramebufferTotal, GIB * 79.6),
        ];
        let subject = Subject::device(&gpu);
        let at = Timestamp::from_micros(second * 1_000_000);
        sink.row(at, &subject, SourceId(0), &readings).unwrap();
    }
    sink.into_recording()
}

#[test]
fn two_windows_of_a_gpu_are_about_the_whole() {
    let gpu = GpuId::new("GPU-1");
    let look =
        |from: i64, until: i64| observe(recording(from, until), &gpu, "rec", &Policy::default());
    let (days, cut) = (3 * 86_400, 100_000);
    let whole = look(0, days);
    let both = merge(&look(0, cut), &look(cut, days));
    assert_eq!((both.from_us, both.until_us), (whole.from_us, whole.until_us));
    assert!((both.seen_s - whole.seen_s).abs() < 2.0);
    let near = |one: Option<f64>, other: Option<f64>, within: f64| {
        let (one, other) = (one.unwrap(), other.unwrap());
        assert!((one / other - 1.0).abs() < within, "{one} {other}");
    };
    near(both.busy_mean_ratio, whole.busy_mean_ratio, 1e-4);
    let (one, other) = (&both.tenants[0], &whole.tenants[0]);
    let memory = |it: &TenantFinding| it.memory.as_ref().map(|it| it.stairs());
    near(memory(one).map(|it| it.peak()), memory(other).map(|it| it.peak()), 1e-9);
    near(memory(one).map(|it| it.mean()), memory(other).map(|it| it.mean()), 1e-3);
    let busy = |it: &TenantFinding| {
        it.demand.as_ref().and_then(|it| it.demand("a")).map(|it| it.busy_share())
    };
    near(busy(one), busy(other), 0.15);
    near(busy(one), whole.busy_mean_ratio, 0.15);
    near(one.busiest_hour_factor, other.busiest_hour_factor, 0.05);
    near(other.busiest_hour_factor, Some(1.5), 0.05);
}

#[test]
fn a_finding_survives_being_written_and_read() {
    let gpu = GpuId::new("GPU-1");
    let found = observe(recording(0, 4_000), &gpu, "rec", &Policy::default());
    let text = serde_json::to_string(&found).unwrap();
    let again: DeviceFinding = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&again).unwrap(), text);
    let said = TenantPolicies::default();
    let pieces = |it: &DeviceFinding| it.tenants[0].tenant(&said).demand.unwrap().timeline;
    assert_eq!(pieces(&found), pieces(&again));
}

/// Prints how long plans of many tenants take: `cargo test --release -- --ignored ten_thousand --nocapture`.
#[test]
#[ignore = "takes minutes; it measures"]
fn ten_thousand_tenants() {
    for count in [500_usize, 2_000, 10_000] {
        let of = |at: usize| {
            let kind = ["nb", "job", "guest", "api", "job", "api", "train"][at % 7];
            let duty = [0.02, 0.05, 0.1, 0.2, 0.3][at / 7 % 5];
            tenant(
                &format!("{kind}-{at}"),
                duty,
                if at.is_multiple_of(3) { 1.0 } else { 0.05 },
                [3.0, 8.0, 16.0, 30.0][at / 35 % 4],
            )
        };
        let devices = fleet(H100, (0..count).map(of).collect());
        let begun = std::time::Instant::now();
        let found = planned(&devices);
        println!(
            "{count} tenants: {:.1} s, {}",
            begun.elapsed().as_secs_f64(),
            found.summary.sentence
        );
        assert_eq!(found.devices.iter().map(|it| it.tenants.len()).sum::<usize>(), count);
    }
}
