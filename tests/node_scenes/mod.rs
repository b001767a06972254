//! The nodes of `fixtures/cluster/nodes`, and what their tenants held.
#![allow(dead_code, reason = "each test program uses a part of it")]

use cotenant::domain::ident::{GpuId, MigInstanceId, ProcessKey, Subject, TenantId};
use cotenant::domain::metric::Metric;
use cotenant::domain::outline::{Device, MigInstance, Process};
use cotenant::domain::sink::{Fact, Sink};
use cotenant::domain::source::SourceId;
use cotenant::domain::time::Timestamp;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const GPU_0: &str = "GPU-0a0a0a0a-1111-2222-3333-444444444444";
const GPU_1: &str = "GPU-1b1b1b1b-1111-2222-3333-444444444444";

/// A tenant, its instance of GPU 0 (`None`: GPU 1), and its peak in MiB.
pub(crate) type Held = (&'static str, Option<u32>, f64);

/// What the node that is in order holds.
pub(crate) const USUAL: &[Held] = &[
    ("serving/chat-0/main", Some(2), 33_000.0),
    ("serving/rank-0/main", Some(3), 16_500.0),
    ("serving/embed-0/main", Some(9), 8_200.0),
    ("dev/notebook-1/main", None, 9_000.0),
    ("dev/notebook-2/main", None, 7_000.0),
];

fn nodes() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cluster/nodes")
}

/// The files of a scene by name: those of the node that is in order, with its own in their place.
pub(crate) fn files(scene: &str) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for folder in ["clean", scene] {
        let entries = std::fs::read_dir(nodes().join(folder)).expect(folder).flatten();
        for it in entries {
            let text = std::fs::read_to_string(it.path()).expect("a text");
            files.insert(it.file_name().to_string_lossy().into_owned(), text);
        }
    }
    files
}

/// Writes 400 s in which tenants hold memory, each a second in four at its peak.
pub(crate) fn hold(sink: &mut dyn Sink, tenants: &[Held]) {
    let source = SourceId(0);
    for (index, uuid) in [(0, GPU_0), (1, GPU_1)] {
        let device = Device { index: Some(index), ..Device::named(GpuId::new(uuid)) };
        sink.fact(Fact::Device(device)).expect("kept");
    }
    for (pid, (tenant, instance, _)) in (7000..).zip(tenants) {
        let tenant = TenantId::new(*tenant);
        let gpu = GpuId::new(if instance.is_some() { GPU_0 } else { GPU_1 });
        if let Some(number) = instance {
            let instance = MigInstanceId {
                gpu: gpu.clone(),
                gpu_instance: *number,
                compute_instance: Some(0),
                generation: 0,
            };
            let tenants = vec![tenant.clone()];
            let fact = MigInstance { instance, profile: None, tenants };
            sink.fact(Fact::MigInstance(fact)).expect("kept");
        }
        let process = ProcessKey { pid, started: None };
        let fact = Process { gpu, process, name: None, tenant: Some(tenant) };
        sink.fact(Fact::Process(fact)).expect("kept");
    }
    for second in 0..400_i64 {
        let at = Timestamp::from_micros(1_767_225_600_000_000 + 1_000_000 * second);
        let mut row = |subject: &Subject, metric, value| {
            sink.row(at, subject, source, &[(metric, value)]).expect("kept");
        };
        let mut sums: BTreeMap<Option<u32>, f64> = BTreeMap::new();
        for (pid, (_, instance, peak)) in (7000..).zip(tenants) {
            let mib = if second % 4 == i64::from(pid % 4) { *peak } else { 0.9 * peak };
            *sums.entry(*instance).or_default() += mib;
            let gpu = GpuId::new(if instance.is_some() { GPU_0 } else { GPU_1 });
            let subject = Subject::Process { gpu, process: ProcessKey { pid, started: None } };
            row(&subject, Metric::FramebufferUsed, mib * 1_048_576.0);
        }
        for (instance, mib) in sums {
            let subject = match instance {
                None => Subject::device(&GpuId::new(GPU_1)),
                Some(gpu_instance) => Subject::MigInstance {
                    instance: MigInstanceId {
                        gpu: GpuId::new(GPU_0),
                        gpu_instance,
                        compute_instance: Some(0),
                        generation: 0,
                    },
                },
            };
            row(&subject, Metric::FramebufferUsed, (mib + 20.0) * 1_048_576.0);
            if instance.is_none() {
                row(&subject, Metric::FramebufferTotal, 81_559.0 * 1_048_576.0);
            }
        }
    }
}
