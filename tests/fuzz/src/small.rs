//! Small recordings for the targets to work on.

use cotenant::domain::blind_spot::{BlindSpot, BlindSpotKind};
use cotenant::domain::ident::{GpuId, MigInstanceId, ProcessKey, Subject, TenantId};
use cotenant::domain::metric::Metric;
use cotenant::domain::outline::{Device, MigInstance, Phase, Process};
use cotenant::domain::sink::{Fact, Sink};
use cotenant::domain::source::{Source, SourceId};
use cotenant::domain::time::{SampleInterval, TimeSpan, Timestamp};

/// Stamp of the first sample, microseconds.
pub const START_US: i64 = 1_767_225_600_000_000;

/// Two GPUs with two tenants, a process and a MIG instance, and a phase: `seconds` long, a row each second.
pub fn write_small(sink: &mut dyn Sink, from_s: i64, seconds: i64) {
    let names = ["chat", "train", "python3", "host-1", "load"].map(str::to_owned);
    write_names(sink, &names, from_s, seconds);
}

/// The same with these names: of two tenants, a program, a host and a phase; further ones are those of a GPU and a MIG profile.
pub fn write_names(sink: &mut dyn Sink, names: &[String], from_s: i64, seconds: i64) {
    let name = |place: usize| names.get(place).cloned().unwrap_or_default();
    let at = |second: i64| Timestamp::from_micros(START_US + second * 1_000_000);
    let first = GpuId::new(names.get(5).map_or("GPU-1", String::as_str));
    let second = GpuId::from_index(1);
    let process = ProcessKey { pid: 4242, started: None };
    let instance = MigInstanceId {
        gpu: second.clone(),
        gpu_instance: 3,
        compute_instance: None,
        generation: 0,
    };
    let tenants = [TenantId::new(name(0)), TenantId::new(name(1))];
    let source = Source {
        id: SourceId(0),
        format: "sampler".to_owned(),
        tool: "nvml".to_owned(),
        tool_version: None,
        file: Some(name(3)),
        asked_interval: SampleInterval::from_micros(1_000_000),
        clock: "UTC".to_owned(),
        readings: std::collections::BTreeMap::new(),
    };
    let device = Device {
        index: Some(0),
        model: Some("NVIDIA H100 80GB HBM3".to_owned()),
        host: Some(name(3)),
        ..Device::named(first.clone())
    };
    let span = TimeSpan::covering(at(from_s), at(from_s + seconds / 2));
    let facts = [
        Fact::Source(source),
        Fact::Device(device),
        Fact::Process(Process {
            gpu: first.clone(),
            process,
            name: Some(name(2)),
            tenant: Some(tenants[1].clone()),
        }),
        Fact::MigInstance(MigInstance {
            instance: instance.clone(),
            profile: Some(names.get(6).map_or("3g.40gb".to_owned(), Clone::clone)),
            tenants: vec![tenants[0].clone()],
        }),
        Fact::Phase(Phase { label: name(4), span, gpu: None }),
        Fact::BlindSpot(BlindSpot {
            kind: BlindSpotKind::Gap,
            subject: None,
            metric: None,
            span: None,
            detail: name(4),
            remedy: "record again".to_owned(),
        }),
    ];
    for fact in facts {
        sink.fact(fact).expect("a fact is taken");
    }
    for second_of in from_s..from_s + seconds {
        let is_busy = second_of % 10 < 4;
        let busy = if is_busy { 90.0 } else { 4.0 };
        let latency = if is_busy { 0.4 } else { 0.05 };
        let rows: [(Subject, Vec<(Metric, f64)>); 5] = [
            (
                Subject::device(&first),
                vec![(Metric::GpuUtilization, busy), (Metric::FramebufferUsed, 40_000.0 + busy)],
            ),
            (Subject::device(&second), vec![(Metric::GpuUtilization, 100.0 - busy)]),
            (Subject::MigInstance { instance: instance.clone() }, vec![(Metric::SmActive, 30.0)]),
            (
                Subject::Process { gpu: first.clone(), process },
                vec![(Metric::GpuUtilization, busy), (Metric::FramebufferUsed, 30_000.0)],
            ),
            (
                Subject::Tenant { gpu: Some(first.clone()), tenant: tenants[0].clone() },
                vec![(Metric::LatencyP99, latency), (Metric::Throughput, 20.0 + busy)],
            ),
        ];
        for (subject, readings) in &rows {
            sink.row(at(second_of), subject, SourceId(0), readings).expect("a row is taken");
        }
    }
}
