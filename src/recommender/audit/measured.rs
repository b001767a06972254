//! What was recorded about memory and about who was where, in the places of the node.

use crate::analysis::findings::{Findings, SubjectFindings};
use crate::analysis::memory_findings::{MemoryFindings, OutOfMemoryKind};
use crate::cluster::facts::{GpuKey, NodeWords};
use crate::domain::ident::{GpuId, Subject, TenantId};
use crate::domain::metric::Metric;
use crate::domain::outline::Outline;
use crate::domain::time::TimeSpan;
use crate::recommender::audit::place::{Atlas, Place};
use crate::recommender::memory_risk::memory_risks;

/// Bytes of a MiB.
const MIB: f64 = 1_048_576.0;
/// A day, in seconds.
const DAY_S: f64 = 86_400.0;
/// Tenant of memory that no visible process holds, as the sampler calls it.
const GHOST: &str = "ghost";
/// Tenant of an MPS server whose clients are hidden, as the sampler calls it.
const MPS_SERVER: &str = "MPS server (clients hidden)";

/// A tenant that was recorded somewhere.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Recorded {
    /// Its name in the recording.
    pub(super) tenant: String,
    /// Where it was.
    pub(super) place: Place,
    /// From its first to its last sample; `None` where that is not known.
    pub(super) span: Option<TimeSpan>,
}

/// Memory that a tenant was seen to hold at most.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Peak {
    /// Its name in the recording.
    pub(super) tenant: String,
    /// Where it was; `None` if that GPU or instance is in no file.
    pub(super) place: Option<Place>,
    /// The most, MiB.
    pub(super) peak_mib: f64,
    /// Processes of it that were described on that GPU; under MPS each is a client.
    pub(super) clients: usize,
}

/// Something about a place in a sentence.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Told {
    /// The place.
    pub(super) place: Option<Place>,
    /// Its name in the recording.
    pub(super) label: String,
    /// The sentence.
    pub(super) sentence: String,
}

/// Everything of a recording that the checks need.
#[derive(Debug, Default)]
pub(super) struct Measured {
    /// Whether there is a recording at all.
    pub(super) is_there: bool,
    /// Who was where.
    pub(super) recorded: Vec<Recorded>,
    /// Who held how much.
    pub(super) peaks: Vec<Peak>,
    /// The most that was in use at a place, MiB.
    pub(super) used: Vec<(Place, f64)>,
    /// Tenants that were lost while memory was short.
    pub(super) lost: Vec<Told>,
    /// Places that may run out of memory, with the chance within a day, 0 to 1.
    pub(super) risks: Vec<(Told, f64)>,
    /// Memory that nobody visible holds, with the most of it, MiB.
    pub(super) ghosts: Vec<(Told, f64)>,
    /// Processes with their tenants: pid and name.
    pub(super) owners: Vec<(u32, String)>,
}

impl Measured {
    /// What a recording says, in the places of the node.
    pub(super) fn of(
        words: &NodeWords,
        atlas: &Atlas<'_>,
        outline: Option<&Outline>,
        findings: Option<&Findings>,
    ) -> Self {
        let mut measured = Self { is_there: outline.is_some(), ..Self::default() };
        if let Some(outline) = outline {
            let world = World { words, atlas, outline, findings };
            measured.recorded = world.recorded();
            let owned = outline.processes.iter();
            measured.owners = owned
                .filter_map(|it| Some((it.process.pid, named(it.tenant.as_ref()?)?)))
                .collect();
            if let Some(findings) = findings {
                world.tell(findings, &mut measured);
            }
        }
        measured
    }

    /// What a tenant was seen to hold: at this place if it was there, else wherever it was.
    pub(super) fn peak(&self, names: &[&str], place: &Place) -> Option<&Peak> {
        let mine = |it: &&Peak| names.iter().any(|name| is_named(&it.tenant, name));
        let here = self.peaks.iter().filter(mine).find(|it| it.place.as_ref() == Some(place));
        here.or_else(|| self.peaks.iter().find(mine))
    }

    /// The most that was in use at a place, MiB.
    pub(super) fn used_at(&self, place: &Place) -> Option<f64> {
        self.used.iter().find(|it| it.0 == *place).map(|it| it.1)
    }

    /// Tenants that were recorded at a place.
    pub(super) fn at<'a>(&'a self, place: &'a Place) -> impl Iterator<Item = &'a Peak> + 'a {
        self.peaks.iter().filter(|it| it.place.as_ref() == Some(place))
    }
}

/// Whether a recorded tenant is meant by a name: `namespace/pod` means each of its containers too.
pub(super) fn is_named(tenant: &str, name: &str) -> bool {
    tenant == name || tenant.strip_prefix(name).is_some_and(|it| it.starts_with('/'))
}

/// The name of a tenant, unless it stands for nobody in particular.
fn named(tenant: &TenantId) -> Option<String> {
    let name = tenant.as_str();
    let is_nobody = tenant.is_unattributed() || name == GHOST || name == MPS_SERVER;
    (!is_nobody).then(|| name.to_owned())
}

struct World<'a> {
    words: &'a NodeWords,
    atlas: &'a Atlas<'a>,
    outline: &'a Outline,
    findings: Option<&'a Findings>,
}

impl World<'_> {
    fn gpu(&self, gpu: &GpuId) -> Option<usize> {
        let text = gpu.as_str();
        let device = self.outline.device(gpu);
        let own = text.rsplit('/').next().unwrap_or(text);
        let index = own.strip_prefix("gpu").and_then(|it| it.parse().ok());
        let index = device.and_then(|it| it.index).or(index);
        let bus_id = device.and_then(|it| it.bus_id.as_deref());
        self.atlas.gpu(&GpuKey::new(index, Some(own), bus_id))
    }

    /// The place of a GPU without MIG, of an instance, or of a process that the words place.
    fn place(&self, subject: &Subject) -> Option<Place> {
        match subject {
            Subject::MigInstance { instance } => {
                self.atlas.instance(self.gpu(&instance.gpu)?, instance.gpu_instance)
            }
            Subject::Process { gpu, process } => {
                let gpu = self.gpu(gpu)?;
                let seen = self
                    .words
                    .processes
                    .iter()
                    .find(|it| it.pid == process.pid && self.atlas.gpu(&it.gpu) == Some(gpu));
                seen.and_then(|it| self.atlas.of_process(it)).or_else(|| self.whole(gpu))
            }
            Subject::Device { gpu } | Subject::Tenant { gpu: Some(gpu), .. } => {
                self.whole(self.gpu(gpu)?)
            }
            Subject::Tenant { gpu: None, .. } => None,
        }
    }

    fn whole(&self, gpu: usize) -> Option<Place> {
        (self.atlas.is_mig(gpu) != Some(true)).then_some(Place::Gpu(gpu))
    }

    fn recorded(&self) -> Vec<Recorded> {
        let mut all: Vec<(String, Place)> = Vec::new();
        for instance in &self.outline.mig_instances {
            let place = Subject::MigInstance { instance: instance.instance.clone() };
            let Some(place) = self.place(&place) else { continue };
            let tenants = instance.tenants.iter().filter_map(named);
            all.extend(tenants.map(|it| (it, place.clone())));
        }
        for it in &self.outline.processes {
            let process = Subject::Process { gpu: it.gpu.clone(), process: it.process };
            let tenant = it.tenant.as_ref().and_then(named);
            all.extend(tenant.and_then(|it| Some((it, self.place(&process)?))));
        }
        for subject in &self.outline.subjects {
            if let Subject::Tenant { tenant, .. } = subject {
                all.extend(named(tenant).and_then(|it| Some((it, self.place(subject)?))));
            }
        }
        all.sort();
        all.dedup();
        let with_span =
            |(tenant, place): (String, Place)| Recorded { span: self.span(&tenant), tenant, place };
        all.into_iter().map(with_span).collect()
    }

    /// From the first to the last sample of a tenant or of its processes.
    fn span(&self, tenant: &str) -> Option<TimeSpan> {
        let is_of = |it: &&SubjectFindings| match &it.subject {
            Subject::Tenant { tenant: name, .. } => name.as_str() == tenant,
            Subject::Process { gpu, process } => {
                let mut all = self.outline.processes.all_of(gpu, *process);
                all.any(|it| it.tenant.as_ref().is_some_and(|it| it.as_str() == tenant))
            }
            _ => false,
        };
        let mine = self.findings?.subjects().filter(is_of);
        let bins = mine.flat_map(|it| &it.timelines).flat_map(|it| {
            let length_us = (it.bin_s * 1e6) as i64;
            it.bins
                .iter()
                .filter_map(move |bin| TimeSpan::new(bin.at, bin.at.plus_micros(length_us)))
        });
        bins.reduce(TimeSpan::hull)
    }

    fn tell(&self, findings: &Findings, measured: &mut Measured) {
        for device in &findings.devices {
            for memory in &device.memory {
                self.tell_memory(memory, measured);
            }
            for subject in &device.subjects {
                let is_space =
                    matches!(subject.subject, Subject::Device { .. } | Subject::MigInstance { .. });
                let level = subject.whole().and_then(|it| it.levels.get(&Metric::FramebufferUsed));
                if let (true, Some(level), Some(place)) =
                    (is_space, level, self.place(&subject.subject))
                {
                    measured.used.push((place, level.max / MIB));
                }
            }
        }
        for risk in memory_risks(findings) {
            let day = risk.forecast.risks.iter().find(|it| it.horizon_s == DAY_S);
            if let Some(ratio) = day.and_then(|it| it.risk_ratio) {
                let sentence = risk.forecast.sentence.clone();
                let place = self.place(&risk.space);
                measured.risks.push((Told { place, label: risk.label, sentence }, ratio));
            }
        }
    }

    fn tell_memory(&self, memory: &MemoryFindings, measured: &mut Measured) {
        let place = self.place(&memory.space);
        for it in &memory.residents {
            let label = it.label.clone();
            let told =
                |sentence| Told { place: place.clone(), label: memory.label.clone(), sentence };
            match label.as_str() {
                GHOST => {
                    let sentence = format!("nobody visible held {:.0} MiB", it.peak_bytes / MIB);
                    measured.ghosts.push((told(sentence), it.peak_bytes / MIB));
                }
                MPS_SERVER | TenantId::UNATTRIBUTED => {}
                _ => measured.peaks.push(Peak {
                    clients: self.clients(&label),
                    tenant: label,
                    place: place.clone().or_else(|| self.place(&it.subject)),
                    peak_mib: it.peak_bytes / MIB,
                }),
            }
        }
        for it in &memory.out_of_memory {
            let is_lost =
                matches!(it.kind, OutOfMemoryKind::LostWhileFull | OutOfMemoryKind::LostWhileTight);
            if is_lost {
                let sentence = it.sentence.clone();
                let label = memory.label.clone();
                measured.lost.push(Told { place: place.clone(), label, sentence });
            }
        }
    }

    fn clients(&self, tenant: &str) -> usize {
        let is_of = |it: &&TenantId| it.as_str() == tenant;
        self.outline
            .processes
            .iter()
            .filter(|it| it.tenant.as_ref().filter(is_of).is_some())
            .count()
    }
}
