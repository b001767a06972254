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
use cotenant::recommender::seen::{Scenery, SeenTenant, situations};
use cotenant::recommender::situation::{Limits, Situation};
use cotenant::recommender::suitability::judge;
use cotenant::recommender::tenant_policy::TenantPolicies;
use std::convert::Infallible;

const MIB: f64 = 1_048_576.0;
/// Samples of a tenth of a second.
const SAMPLES: i64 = 6_000;

/// A notebook that works 6 % of the time, and a job that does half of it; both hold memory all the time.
fn recording(model: &str) -> Recording {
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
        let held = [(1, notebook, 4_000.0), (2, job, 6_000.0)];
        for (pid, busy, mib) in held {
            let readings = [(Metric::GpuUtilization, busy), (Metric::FramebufferUsed, mib * MIB)];
            sink.row(at, &subject(pid), SourceId(0), &readings).expect("it is kept in memory");
        }
        let readings = [
            (Metric::GpuUtilization, notebook.max(job)),
            (Metric::FramebufferUsed, 10_500.0 * MIB),
            (Metric::FramebufferTotal, 81_559.0 * MIB),
        ];
        sink.row(at, &Subject::device(&gpu), SourceId(0), &readings).expect("it is kept in memory");
    }
    sink.into_recording()
}

fn situation(model: &str, said: &str) -> (Situation, Policy) {
    let recording = recording(model);
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
            let demand = Demand::recorded(&recording, sitting);
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
