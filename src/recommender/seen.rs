//! Situations from what a recording means: one for each device, with whoever was seen on it.

use crate::analysis::findings::{DeviceFindings, Findings, ScopeFindings, SubjectFindings};
use crate::analysis::memory_findings::{MemoryFindings, MemoryResident};
use crate::colocation::demand::Demand;
use crate::colocation::models::recognised;
use crate::colocation::whatif::Options;
use crate::domain::blind_spot::BlindSpot;
use crate::domain::ident::{GpuId, Subject, TenantId};
use crate::domain::metric::Metric;
use crate::domain::mig_geometry::by_product_name;
use crate::domain::outline::{MigInstance, Outline};
use crate::recommender::glimpse::glimpsed;
use crate::recommender::memory_risk::{demand, measured};
use crate::recommender::on_device::OnDevice;
use crate::recommender::policy::Policy;
use crate::recommender::ran_out::{RanOut, ran_out};
use crate::recommender::reason::{Names, percent};
use crate::recommender::shape::LoadShape;
use crate::recommender::situation::{
    Current, DeviceFacts, Limits, MIB, MigAbility, NOBODY_KNOWS, Situation, StandingInstance,
    Tenant,
};
use crate::recommender::suitability::Suitability;
use crate::recommender::tenant_policy::TenantPolicies;
use crate::recommender::vendor::other_vendor;

/// Words of products that cannot be cut into MIG instances.
///
/// Source: NVIDIA, MIG User Guide, supported GPUs, of which these are none (*not checked*).
const WITHOUT_MIG: [&str; 17] = [
    "GeForce", "TITAN", "Quadro", "Tesla", "T4", "V100", "P100", "P40", "A2", "A10", "A16", "A40",
    "L4", "L40", "L40S", "A6000", "A5000",
];
/// More tenants than these are not named one by one.
const MOST_NAMED: usize = 12;
/// Name under which the server of MPS runs.
const MPS_SERVER: &str = "nvidia-cuda-mps-server";

/// Somebody who was seen on a device, with what it asked for.
#[derive(Debug, Clone)]
pub struct SeenTenant {
    /// The GPU.
    pub gpu: GpuId,
    /// Its name.
    pub tenant: TenantId,
    /// Whether it stands for whatever runs on the GPU; it counts only where nobody was named.
    pub is_whole_gpu: bool,
    /// What it asked for; `None` where nothing shows when it was active.
    pub demand: Option<Demand>,
    /// The MIG instance that it had to itself; `None` without one.
    pub instance: Option<String>,
}

/// What situations are made from.
#[derive(Debug, Clone, Copy)]
pub struct Scenery<'a> {
    /// What the recording means.
    pub findings: &'a Findings,
    /// What it holds.
    pub outline: &'a Outline,
    /// The words on its loads.
    pub words: &'a [Suitability],
    /// Who was seen.
    pub seen: &'a [SeenTenant],
    /// What owners say.
    pub said: &'a TenantPolicies,
    /// The thresholds.
    pub policy: &'a Policy,
    /// Limits of the cluster and the driver.
    pub limits: Limits,
    /// What is known about devices for predictions.
    pub options: Options,
}

/// One situation for each device, in the order of the findings.
pub fn situations(scenery: &Scenery<'_>) -> Vec<Situation> {
    situations_of(scenery, &scenery.findings.devices)
}

/// One situation for each of these devices, whose tenants have to be among those that were seen.
pub fn situations_of(scenery: &Scenery<'_>, devices: &[DeviceFindings]) -> Vec<Situation> {
    devices.iter().map(|it| of_device(scenery, it)).collect()
}

fn of_device(scenery: &Scenery<'_>, device: &DeviceFindings) -> Situation {
    let is_short = is_too_short(scenery, device);
    let heard: Vec<SeenTenant> = scenery
        .seen
        .iter()
        .filter(|it| it.gpu == device.gpu)
        .map(|it| SeenTenant { demand: it.demand.clone().filter(|_| !is_short), ..it.clone() })
        .collect();
    let on = OnDevice::new(scenery.outline, scenery.words, device);
    let here: Vec<&SeenTenant> = heard.iter().collect();
    let has_names = here.iter().any(|it| !it.is_whole_gpu);
    let tenants: Vec<Tenant> = here
        .into_iter()
        .filter(|it| !(is_nobody(it) || has_names && it.is_whole_gpu))
        .map(|it| tenant(scenery, &on, it))
        .collect();
    let own = device.memory.iter().find(|it| it.space.is_device());
    let ran_out = ran_out(&device.memory);
    let tenants: Vec<Tenant> = tenants.into_iter().map(|it| asking(it, &ran_out)).collect();
    let met = own.filter(|it| tenants.len() > 1 && it.residents.len() >= tenants.len());
    let is_anonymous = !has_names && !tenants.is_empty();
    let now = current(scenery.outline, &device.gpu, tenants.len());
    Situation {
        gpu: device.gpu.clone(),
        label: device.label.clone(),
        device: facts(device, own),
        now: Current { ran_out, is_anonymous, ..now },
        saturated: saturated(device, scenery.policy),
        met: met.map(measured),
        limits: scenery.limits,
        options: scenery.options,
        unseen: unseen(scenery, device, &tenants, is_anonymous),
        tenants,
    }
}

/// Whether it stands for a whole device on which nothing ever ran.
fn is_nobody(it: &SeenTenant) -> bool {
    it.is_whole_gpu && it.demand.as_ref().is_some_and(Demand::is_idle)
}

/// Whether so little was seen of a device that no demand of it counts.
fn is_too_short(scenery: &Scenery<'_>, device: &DeviceFindings) -> bool {
    let samples = |it: &SubjectFindings| Some(it.whole()?.profile.as_ref()?.samples);
    let most = device.subjects.iter().filter_map(samples).max();
    most.is_some_and(|it| it < scenery.policy.least_samples)
}

/// The whole recording of the device itself.
fn of_whole(device: &DeviceFindings) -> Option<&ScopeFindings> {
    device.subjects.iter().find(|it| it.subject.is_device())?.whole()
}

fn facts(device: &DeviceFindings, memory: Option<&MemoryFindings>) -> DeviceFacts {
    let level = |metric: Metric| Some(of_whole(device)?.levels.get(&metric)?.max);
    let total = memory.and_then(|it| it.total_bytes).or_else(|| level(Metric::FramebufferTotal));
    DeviceFacts {
        model: device.model.clone(),
        total_mib: total.map(|it| it / MIB),
        reserved_mib: memory.and_then(|it| it.reserved_bytes).map(|it| it / MIB),
        others_mib: memory.and_then(|it| it.unattributed_bytes).map(|it| it / MIB),
        mig: ability(device.model.as_deref(), total),
    }
}

/// Whether a product can be cut, and how; by its name and memory.
pub fn ability(model: Option<&str>, total_bytes: Option<f64>) -> MigAbility {
    let Some(model) = model else { return MigAbility::Unknown };
    if other_vendor(Some(model)).is_some() {
        return MigAbility::No;
    }
    let bytes = total_bytes.filter(|it| *it > 0.0).map(|it| it as u64);
    if let Some(board) = by_product_name(model, bytes) {
        return MigAbility::Board(Box::new(board.clone()));
    }
    let words: Vec<&str> = model.split(|it: char| !it.is_ascii_alphanumeric()).collect();
    let is_without =
        WITHOUT_MIG.iter().any(|it| words.iter().any(|word| word.eq_ignore_ascii_case(it)));
    match is_without || recognised(model).is_some_and(|it| !it.has_mig) {
        true => MigAbility::No,
        false => MigAbility::Unknown,
    }
}

fn current(outline: &Outline, gpu: &GpuId, tenants: usize) -> Current {
    let processes: Vec<&str> = outline
        .processes
        .iter()
        .filter(|it| it.gpu == *gpu)
        .filter_map(|it| it.name.as_deref())
        .collect();
    // Instance numbers are used again: the last layout is the one that stands.
    let is_last = |it: &&MigInstance| {
        let number = it.instance.gpu_instance;
        it.instance.gpu == *gpu
            && !outline.mig_instances.iter().any(|other| {
                other.instance.gpu == *gpu
                    && other.instance.gpu_instance == number
                    && other.instance.generation > it.instance.generation
            })
    };
    let standing = |it: &MigInstance| StandingInstance {
        profile: it.profile.clone().unwrap_or_else(|| "an instance of unknown profile".to_owned()),
        start: None,
        gpu_instance: Some(it.instance.gpu_instance),
        tenants: it.tenants.iter().map(|it| it.as_str().to_owned()).collect(),
    };
    let instances: Vec<StandingInstance> =
        outline.mig_instances.iter().filter(is_last).map(standing).collect();
    Current {
        // Instances stand only where the mode is on.
        is_mig: if instances.is_empty() {
            outline.device(gpu).and_then(|it| it.is_mig)
        } else {
            Some(true)
        },
        is_mps: (!processes.is_empty()).then(|| {
            processes
                .iter()
                .any(|it| it.ends_with(MPS_SERVER) || MPS_SERVER.starts_with(it) && it.len() > 10)
        }),
        instances,
        tenants,
        is_anonymous: false,
        ran_out: Vec::new(),
    }
}

/// A device that several share and that leaves nothing; one whose SMs idle although it counts as used is none.
fn saturated(device: &DeviceFindings, policy: &Policy) -> Option<String> {
    let whole = of_whole(device)?;
    let profile = whole.profile.as_ref().filter(|_| whole.utilisation_trap.is_none())?;
    let duty = profile.duty.at_95_pct;
    let is_full =
        duty >= policy.saturated_duty_ratio || profile.mean_ratio >= policy.saturated_mean_ratio;
    (is_full && profile.samples >= policy.least_samples).then(|| {
        format!(
            "the device is at or above 95 % for {} of the time and busy {} on average: nothing is left to share",
            percent(duty),
            percent(profile.mean_ratio)
        )
    })
}

fn tenant(scenery: &Scenery<'_>, on: &OnDevice<'_>, seen: &SeenTenant) -> Tenant {
    let name = seen.tenant.as_str();
    let policy = scenery.policy;
    let profile = on.profile(seen);
    let shape = seen.demand.as_ref().map(|demand| {
        let shape = LoadShape::of_demand(demand, policy);
        match profile {
            Some((profile, word)) => shape.seen(profile, word, policy),
            None => shape,
        }
    });
    let resident = on.resident(seen);
    Tenant {
        name: name.to_owned(),
        policy: scenery.said.of(name),
        demand: seen.demand.clone().map(|it| Demand { name: name.to_owned(), ..it }),
        shape,
        memory: resident
            .and_then(|(found, it)| demand(it, found.step_s))
            .or_else(|| glimpsed(on, seen)),
        clients: clients(scenery.outline, seen, resident.map(|it| it.1)),
        instance: seen.instance.clone(),
    }
}

/// A tenant that was lost asked for more than it was seen to hold.
fn asking(mut tenant: Tenant, ran_out: &[RanOut]) -> Tenant {
    let own = ran_out.iter().filter(|it| it.is_sure() && it.lost.as_ref() == Some(&tenant.name));
    let asked = own.filter_map(|it| it.asked_mib).map(|it| it * MIB).reduce(f64::max);
    if let Some(demand) = &mut tenant.demand {
        demand.memory_bytes = match (demand.memory_bytes, asked) {
            (Some(held), Some(asked)) => Some(held.max(asked)),
            (held, asked) => held.or(asked),
        };
    }
    tenant
}

/// Processes that a tenant has at a time: all that were seen, over the lives that it had.
fn clients(outline: &Outline, seen: &SeenTenant, resident: Option<&MemoryResident>) -> u32 {
    let processes = outline.processes.of_tenant(&seen.gpu, &seen.tenant).count() as u64;
    let lives = resident.map_or(1, |it| it.lives.max(1));
    u32::try_from(processes.div_ceil(lives).max(1)).unwrap_or(u32::MAX)
}

/// Blind spots in words; what is said alike of several metrics is said once.
fn in_sentences<'a>(spots: impl Iterator<Item = &'a BlindSpot>) -> Vec<String> {
    let mut said: Vec<(&str, Vec<&str>)> = Vec::new();
    for spot in spots {
        let (metric, text) = spot.parts();
        let known = said.iter().position(|it| it.0 == text && it.1.is_empty() == metric.is_none());
        let place = known.unwrap_or_else(|| {
            said.push((text, Vec::new()));
            said.len() - 1
        });
        let metrics = &mut said[place].1;
        metrics.extend(metric.filter(|it| !metrics.contains(it)));
    }
    let sentence = |(text, metrics): (&str, Vec<&str>)| match metrics.is_empty() {
        true => text.to_owned(),
        false => format!("{}: {text}", metrics.join(", ")),
    };
    said.into_iter().map(sentence).collect()
}

/// What was not seen of this device, each once.
fn unseen(
    scenery: &Scenery<'_>,
    device: &DeviceFindings,
    tenants: &[Tenant],
    is_nameless: bool,
) -> Vec<String> {
    let is_here =
        |subject: &Option<Subject>| subject.as_ref().is_none_or(|it| it.gpu() == Some(&device.gpu));
    let spots = scenery.outline.blind_spots.iter().chain(&scenery.findings.blind_spots);
    let own = device.memory.iter().flat_map(|it| &it.blind_spots);
    let told = in_sentences(spots.filter(|it| is_here(&it.subject)).chain(own));
    let is_short = is_too_short(scenery, device);
    let dark = tenants.iter().filter(|it| it.demand.is_none() && !is_short);
    let dark = never_shown(&dark.map(|it| it.name.as_str()).collect::<Vec<_>>());
    let nameless = is_nameless
        .then(|| format!("{NOBODY_KNOWS}, so that all of its load counts as one tenant"));
    let short = is_short.then(|| {
        format!(
            "fewer than {} samples were seen, too few for any demand",
            scenery.policy.least_samples
        )
    });
    let mut all: Vec<String> = Vec::new();
    for sentence in nameless.into_iter().chain(short).chain(told).chain(dark) {
        if !all.contains(&sentence) {
            all.push(sentence);
        }
    }
    all
}

/// A sentence for each tenant whose activity nothing shows, or one for all of many.
pub fn never_shown(names: &[&str]) -> Vec<String> {
    if names.len() <= MOST_NAMED {
        let sentence = |it: &&str| format!("nothing shows when `{it}` was active");
        return names.iter().map(sentence).collect();
    }
    vec![format!("nothing shows when {} were active", Names(names))]
}
