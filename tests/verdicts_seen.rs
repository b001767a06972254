//! From a recording to a verdict: two tenants on one device, who and what was seen.

use cotenant::analysis::{Question, compute};
use cotenant::colocation::demand::Demand;
use cotenant::colocation::observed::Sitting;
use cotenant::colocation::whatif::Options;
use cotenant::domain::collector::Collector;
use cotenant::domain::ident::{GpuId, ProcessKey, Subject, TenantId};
use cotenant::domain::metric::Metric;
use cotenant::domain::outline::{Device, Process};
use cotenant::domain::recording::Recording;
use cotenant::domain::sink::{Fact, Sink};
use cotenant::domain::source::SourceId;
use cotenant::domain::time::Timestamp;
use cotenant::recommender::decide::decide;
use cotenant::recommender::policy::Policy;
use cotenant::recommender::reason::{ReasonKind, Weight};
use cotenant::recommender::seen::{Scenery, SeenTenant, situations};
use cotenant::recommender::situation::{Limits, Situation};
use cotenant::recommender::suitability::judge;
use cotenant::recommender::tenant_policy::TenantPolicies;
use cotenant::recommender::verdict::Outcome;
use std::convert::Infallible;

const MIB: f64 = 1_048_576.0;
/// Samples of a tenth of a second.
const SAMPLES: i64 = 6_000;

/// What a tenant holds at a sample, in MiB; nothing while it is not there.
type Held = fn(i64) -> Option<f64>;

/// A notebook that works 6 % of the time, and a job that does half of it; both hold memory all the time.
fn recording(model: &str) -> Recording {
    recorded(model, 81_559.0, [|_| Some(4_000.0), |_| Some(6_000.0)])
}

/// The same with memory that rises, on a device of so many MiB: of the notebook first, then of the job.
fn recorded(model: &str, total_mib: f64, held: [Held; 2]) -> Recording {
    let gpu = GpuId::from_index(0);
    let mut sink = Collector::new();
    let device = Device { model: Some(model.to_owned()), ..Device::named(gpu.clone()) };
    sink.fact(Fact::Device(device)).expect("it is kept in memory");
    let subject = |pid: u32| Subject::Process {
        gpu: gpu.clone(),
        process: ProcessKey { pid, started: None },
    };
    for (pid, name) in [(1, "notebook"), (2, "job")] {
        let process = ProcessKey { pid, started: None };
        let tenant = Some(TenantId::new(name));
        let described = Process { gpu: gpu.clone(), process, name: None, tenant };
        sink.fact(Fact::Process(described)).expect("it is kept in memory");
    }
    for sample in 0..SAMPLES {
        let at = Timestamp::from_micros(100_000 * sample);
        let is_on = |every: i64, on: i64| f64::from(u8::from(sample % every < on));
        // Twelve of two hundred samples, and three of sixty.
        let (notebook, job) = (100.0 * is_on(200, 12), 100.0 * is_on(61, 3));
        let both = [(1, notebook, held[0](sample)), (2, job, held[1](sample))];
        for (pid, busy, mib) in both {
            let Some(mib) = mib else { continue };
            let readings = [(Metric::GpuUtilization, busy), (Metric::FramebufferUsed, mib * MIB)];
            sink.row(at, &subject(pid), SourceId(0), &readings).expect("it is kept in memory");
        }
        let used = 500.0 + both.iter().filter_map(|it| it.2).sum::<f64>();
        let readings = [
            (Metric::GpuUtilization, notebook.max(job)),
            (Metric::FramebufferUsed, used * MIB),
            (Metric::FramebufferTotal, total_mib * MIB),
        ];
        sink.row(at, &Subject::device(&gpu), SourceId(0), &readings).expect("it is kept in memory");
    }
    sink.into_recording()
}

fn situation(model: &str, said: &str) -> (Situation, Policy) {
    of_recording(&recording(model), said)
}

fn of_recording(recording: &Recording, said: &str) -> (Situation, Policy) {
    let policy = Policy::from_toml(said).expect("the text is a policy");
    let outline = recording.outline.clone();
    let findings =
        compute(&outline, &Question::default(), |_| Ok::<_, Infallible>(recording.clone()))
            .unwrap_or_else(|it| match it {});
    let words = judge(&findings, &policy);
    let gpu = GpuId::from_index(0);
    let seen: Vec<SeenTenant> = ["job", "notebook"]
        .into_iter()
        .map(|name| {
            let tenant = TenantId::new(name);
            let sitting = Sitting { gpu: &gpu, tenant: &tenant, is_alone: false, idle_w: None };
            let demand = Demand::recorded(recording, sitting);
            SeenTenant { gpu: gpu.clone(), is_whole_gpu: false, demand, instance: None, tenant }
        })
        .collect();
    let said = TenantPolicies::from_toml(said).expect("the text is a policy");
    let scenery = Scenery {
        findings: &findings,
        outline: &outline,
        words: &words,
        seen: &seen,
        said: &said,
        policy: &policy,
        limits: Limits::default(),
        options: Options::default(),
    };
    let mut all = situations(&scenery);
    assert_eq!(all.len(), 1);
    (all.remove(0), policy)
}

const NOTEBOOKS: &str = "[default]\ntrust_domain = \"a\"\nclass = \"development\"\nmay_stall = true\nmay_crash = true\n";

#[test]
fn a_recording_brings_device_tenants_memory_and_shape_into_the_situation() {
    let (found, _) = situation("NVIDIA H100 80GB HBM3", NOTEBOOKS);
    assert_eq!(found.device.total_mib, Some(81_559.0));
    let board = found.device.mig.board().expect("the product is known to have MIG");
    assert_eq!(board.name, "H100-SXM5-80GB");
    let names: Vec<&str> = found.tenants.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["job", "notebook"]);
    let notebook = &found.tenants[1];
    assert_eq!(notebook.peak_mib(), Some(4_000.0));
    assert!(notebook.memory.is_some(), "its memory over time was seen");
    let shape = notebook.shape.as_ref().expect("its bursts were seen");
    assert!((shape.busy_ratio - 0.06).abs() < 0.01, "{shape:?}");
    assert!(shape.long_burst_ratio.is_some_and(|it| it > 0.04), "{shape:?}");
    assert!(found.met.is_some(), "both were seen at once");
}

#[test]
fn notebooks_that_were_recorded_are_packed_in_turns_and_strangers_are_parted() {
    let (packed, policy) = situation("NVIDIA L40S", NOTEBOOKS);
    let found = decide(&packed, &policy);
    let mechanism = found.mechanism().map(|it| it.word());
    assert_eq!(mechanism, Some("time-slicing"), "{:?}", found.rejected);
    let (strangers, policy) =
        situation("NVIDIA H100 80GB HBM3", "[default]\nclass = \"development\"\n");
    let found = decide(&strangers, &policy);
    assert_eq!(found.mechanism().map(|it| it.word()), Some("mig"), "{:?}", found.rejected);
    assert!(found.lowered_by.iter().any(|it| it.sentence.contains("beside others")));
}

/// The notebook holds 12 GB; the job rises to nearly all that is left after half of the time, and the notebook is lost for 10 s.
fn lost(model: &str, total_mib: f64, job: Held) -> Recording {
    let notebook: Held =
        |sample| Some(if (3_005..3_105).contains(&sample) { 0.0 } else { 12_000.0 });
    recorded(model, total_mib, [notebook, job])
}

/// Of the 46,068 MiB of an L40S.
const GREEDY: Held =
    |sample| Some(if (2_995..3_010).contains(&sample) { 33_400.0 } else { 14_000.0 });

const BATCH: &str = "[default]\ntrust_domain = \"a\"\nclass = \"batch\"\n";

#[test]
fn a_device_on_which_memory_ran_out_is_not_told_that_it_is_shared_well() {
    let recording = lost("NVIDIA L40S", 46_068.0, GREEDY);
    let said = format!("{BATCH}may_crash = false\nmay_stall = true\n");
    let (found, policy) = of_recording(&recording, &said);
    assert_eq!(found.now.ran_out.len(), 1, "{:?}", found.now.ran_out);
    let event = &found.now.ran_out[0];
    assert_eq!(event.lost.as_deref(), Some("notebook"));
    assert_eq!(event.taker.as_ref().map(|it| it.tenant.as_str()), Some("job"));
    let verdict = decide(&found, &policy);
    assert_eq!(verdict.outcome, Outcome::Exclusive, "{:?}", verdict.chosen);
    for way in ["mps", "time-slicing"] {
        let rejected = verdict.rejected.iter().find(|it| it.mechanism.word() == way);
        let reasons = &rejected.expect("it is refused").reasons;
        let told = reasons.iter().find(|it| it.sentence.contains("ran out while they shared it"));
        let told = told.unwrap_or_else(|| panic!("{way} does not say it: {reasons:?}"));
        assert_eq!((told.kind, told.weight), (ReasonKind::Memory, Weight::Refuses));
        for part in ["1970-01-01 00:05:00 UTC", "`notebook` lost its memory", "`job` held"] {
            assert!(told.sentence.contains(part), "`{part}` is missing: {}", told.sentence);
        }
    }
}

#[test]
fn whoever_takes_the_memory_of_others_gets_a_pinned_limit_where_it_may_fall_at_it() {
    let recording = lost("NVIDIA L40S", 46_068.0, GREEDY);
    let (found, policy) = of_recording(&recording, BATCH);
    let verdict = decide(&found, &policy);
    let chosen = verdict.chosen.expect("a proposal");
    assert_eq!(chosen.mechanism.word(), "mps", "{:?}", verdict.rejected);
    let limit = chosen.assignments.iter().find(|it| it.tenant == "job").expect("the job");
    let limit = limit.pinned_limit_mib.expect("a limit");
    assert!((14_700.0..33_000.0).contains(&limit), "{limit}");
    let told = chosen.reasons.iter().find(|it| it.sentence.contains("pinned limit of"));
    assert_eq!(told.map(|it| it.weight), Some(Weight::Caution), "{:?}", chosen.reasons);
    let turns = verdict.rejected.iter().find(|it| it.mechanism.word() == "time-slicing");
    assert!(turns.is_some_and(|it| it.reason.contains("ran out")), "{turns:?}");
}

#[test]
fn whoever_was_lost_needs_what_it_asked_for_and_no_part_makes_memory() {
    let greedy: Held =
        |sample| Some(if (2_995..3_010).contains(&sample) { 68_000.0 } else { 14_000.0 });
    let recording = lost("NVIDIA H100 80GB HBM3", 81_559.0, greedy);
    let (found, policy) = of_recording(&recording, NOTEBOOKS);
    let notebook = found.tenants.iter().find(|it| it.name == "notebook").expect("it was seen");
    assert!(notebook.peak_mib() > Some(12_000.0), "{:?}", notebook.peak_mib());
    let verdict = decide(&found, &policy);
    assert_ne!(verdict.mechanism().map(|it| it.word()), Some("time-slicing"), "{verdict:?}");
    let json = serde_json::to_value(&verdict).expect("it is JSON");
    assert_eq!(json["current"]["ran_out"][0]["lost"], "notebook");
}
