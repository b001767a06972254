//! Several files about one host: a GPU known by index or bus id here and by UUID there is one GPU.

use crate::domain::ident::{GpuId, MigInstanceId, Subject};
use crate::domain::metric::Metric;
use crate::domain::outline::{Device, MigInstance, Phase, Process};
use crate::domain::processes::Followers;
use crate::domain::sink::{Fact, Sink, SinkError};
use crate::domain::source::SourceId;
use crate::domain::time::Timestamp;
use std::collections::BTreeMap;

/// A sink that renames `gpu<index>` and bus ids to the name that an earlier file gave that GPU.
///
/// Files that describe GPUs must come first. A name that two GPUs claim is left alone.
pub struct Joined<'a> {
    inner: &'a mut dyn Sink,
    names: BTreeMap<GpuId, Option<GpuId>>,
}

impl<'a> Joined<'a> {
    /// Renames on the way to `inner`.
    pub fn new(inner: &'a mut dyn Sink) -> Self {
        Self { inner, names: BTreeMap::new() }
    }

    fn learn(&mut self, device: &Device) {
        let by_index = device.index.map(GpuId::from_index);
        let by_bus_id = device.bus_id.clone().map(GpuId::new);
        for name in by_index.into_iter().chain(by_bus_id) {
            if name == device.gpu {
                continue;
            }
            let known = self.names.entry(name).or_insert_with(|| Some(device.gpu.clone()));
            if known.as_ref() != Some(&device.gpu) {
                *known = None;
            }
        }
    }

    fn renamed(&self, gpu: &GpuId) -> Option<GpuId> {
        self.names.get(gpu).cloned().flatten()
    }

    fn gpu(&self, gpu: GpuId) -> GpuId {
        self.renamed(&gpu).unwrap_or(gpu)
    }

    fn subject(&self, subject: Subject) -> Subject {
        match subject {
            Subject::Device { gpu } => Subject::Device { gpu: self.gpu(gpu) },
            Subject::MigInstance { instance } => {
                Subject::MigInstance { instance: self.instance(instance) }
            }
            Subject::Process { gpu, process } => Subject::Process { gpu: self.gpu(gpu), process },
            Subject::Tenant { gpu, tenant } => {
                Subject::Tenant { gpu: gpu.map(|it| self.gpu(it)), tenant }
            }
        }
    }

    fn instance(&self, instance: MigInstanceId) -> MigInstanceId {
        MigInstanceId { gpu: self.gpu(instance.gpu.clone()), ..instance }
    }
}

impl Sink for Joined<'_> {
    fn row(
        &mut self,
        at: Timestamp,
        subject: &Subject,
        source: SourceId,
        readings: &[(Metric, f64)],
    ) -> Result<(), SinkError> {
        let is_known = subject.gpu().is_some_and(|it| self.renamed(it).is_some());
        if !is_known {
            return self.inner.row(at, subject, source, readings);
        }
        let subject = self.subject(subject.clone());
        self.inner.row(at, &subject, source, readings)
    }

    fn fact(&mut self, fact: Fact) -> Result<(), SinkError> {
        let fact = match fact {
            Fact::Device(device) => {
                self.learn(&device);
                Fact::Device(Device { gpu: self.gpu(device.gpu.clone()), ..device })
            }
            Fact::Process(it) => Fact::Process(Process { gpu: self.gpu(it.gpu.clone()), ..it }),
            Fact::Follower(it) => Fact::Follower(Followers { gpu: self.gpu(it.gpu.clone()), ..it }),
            Fact::MigInstance(it) => {
                let instance = self.instance(it.instance.clone());
                Fact::MigInstance(MigInstance { instance, ..it })
            }
            Fact::Phase(it) => {
                let gpu = it.gpu.clone().map(|gpu| self.gpu(gpu));
                Fact::Phase(Phase { gpu, ..it })
            }
            Fact::BlindSpot(mut it) => {
                it.subject = it.subject.map(|subject| self.subject(subject));
                Fact::BlindSpot(it)
            }
            Fact::Shape(mut it) => {
                it.subject = self.subject(it.subject);
                Fact::Shape(it)
            }
            Fact::Contended(mut it) => {
                it.gpu = self.gpu(it.gpu);
                Fact::Contended(it)
            }
            Fact::Source(it) => Fact::Source(it),
        };
        self.inner.fact(fact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::collector::Collector;

    #[test]
    fn a_gpu_known_by_index_joins_the_one_that_another_file_knows_by_uuid() {
        let mut collector = Collector::new();
        let mut joined = Joined::new(&mut collector);
        let uuid = GpuId::new("GPU-5f1c");
        joined
            .fact(Fact::Device(Device { index: Some(2), ..Device::named(uuid.clone()) }))
            .unwrap();
        let by_index = Subject::device(&GpuId::from_index(2));
        let reading = [(Metric::Power, 5.0)];
        joined.row(Timestamp::from_micros(1), &by_index, SourceId(0), &reading).unwrap();
        let recording = collector.into_recording();
        assert_eq!(recording.outline.subjects, [Subject::device(&uuid)]);
    }

    #[test]
    fn an_index_that_two_gpus_claim_joins_neither() {
        let mut collector = Collector::new();
        let mut joined = Joined::new(&mut collector);
        for name in ["GPU-a", "GPU-b"] {
            let device = Device { index: Some(0), ..Device::named(GpuId::new(name)) };
            joined.fact(Fact::Device(device)).unwrap();
        }
        let by_index = Subject::device(&GpuId::from_index(0));
        let reading = [(Metric::Power, 5.0)];
        joined.row(Timestamp::from_micros(1), &by_index, SourceId(0), &reading).unwrap();
        assert_eq!(collector.into_recording().outline.subjects, [by_index]);
    }
}
