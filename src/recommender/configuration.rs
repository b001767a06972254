//! Verdicts as files to apply: scripts for one device, configurations for its node.
//!
//! Nothing is applied here. What a node cannot do as a whole, because its device plugin knows one mode for all of
//! its GPUs, is said as a caution instead of being written down.

use crate::recommender::layout::Instance;
use crate::recommender::manifest::mps::{
    KaiRequest, client_environment, kai_annotations, server_script,
};
use crate::recommender::manifest::plan::{
    MigInstancePlan, MigPlan, SharingMechanism, SharingPlan, TenantShare, TimeSlice,
};
use crate::recommender::manifest::words::object_name;
use crate::recommender::manifest::{ManifestError, claims, mig, plugin};
use crate::recommender::mechanism::MechanismId;
use crate::recommender::reason::Weight;
use crate::recommender::situation::{Situation, StandingInstance};
use crate::recommender::vendor::other_vendor;
use crate::recommender::verdict::{Chosen, Verdict};
use serde::Serialize;
use std::collections::BTreeMap;

/// Name of the layout in mig-parted and in the label of the GPU operator.
pub const LAYOUT: &str = "cotenant";
/// Namespace of claims; whoever applies them chooses another.
const NAMESPACE: &str = "default";

/// A device with its verdict, and what its node calls it.
#[derive(Debug, Clone, Copy)]
pub struct Decided<'a> {
    /// The verdict.
    pub verdict: &'a Verdict,
    /// What it stands on.
    pub situation: &'a Situation,
    /// The node; `None` where that was not recorded.
    pub host: Option<&'a str>,
    /// Index on the node; `None` where that was not recorded.
    pub index: Option<u32>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConfigFile {
    /// Name of the file, unique among them.
    pub name: String,
    /// What it is for, in a sentence.
    pub purpose: String,
    /// Command that applies it; empty where it is a part of something else.
    pub apply: String,
    /// Its text.
    pub text: String,
}

/// Files to apply, and what stands in their way.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Configuration {
    /// The files, node by node.
    pub files: Vec<ConfigFile>,
    /// Names under which the scheduler offers what the files make, each with who is meant to ask for it.
    pub resources: Vec<String>,
    /// What no file can do, each in a sentence.
    pub cautions: Vec<String>,
}

/// Files for all verdicts that propose something to be done.
pub fn configuration(decided: &[Decided<'_>]) -> Configuration {
    let mut nodes: BTreeMap<Option<&str>, Vec<&Decided<'_>>> = BTreeMap::new();
    for it in decided {
        nodes.entry(it.host).or_default().push(it);
    }
    let is_one = nodes.len() < 2;
    let mut found = Configuration::default();
    for (host, devices) in nodes {
        let prefix = match host.filter(|_| !is_one) {
            Some(host) => format!("{}-", object_name(host)),
            None => String::new(),
        };
        let mut node = Node { prefix, host, found: &mut found };
        node.mig(&devices);
        node.shared(&devices);
    }
    found
}

/// A device that changes, with what is proposed.
struct Proposed<'a> {
    index: u32,
    decided: &'a Decided<'a>,
    chosen: &'a Chosen,
}

/// The node whose files are written.
struct Node<'a> {
    prefix: String,
    host: Option<&'a str>,
    found: &'a mut Configuration,
}

impl Node<'_> {
    fn add(
        &mut self,
        name: String,
        purpose: &str,
        apply: String,
        text: Result<String, ManifestError>,
    ) {
        let name = format!("{}{name}", self.prefix);
        match text {
            Ok(text) => {
                let purpose = purpose.to_owned();
                self.found.files.push(ConfigFile { name, purpose, apply, text });
            }
            Err(error) => self.found.cautions.push(format!("`{name}` cannot be written: {error}")),
        }
    }

    /// The devices of one mechanism whose index is known; says of whom it is not.
    fn proposed<'a>(
        &mut self,
        devices: &[&'a Decided<'a>],
        is_meant: impl Fn(MechanismId) -> bool,
    ) -> Vec<Proposed<'a>> {
        let mut all = Vec::new();
        for it in devices {
            let Some(chosen) = it.verdict.chosen.as_ref().filter(|it| is_meant(it.mechanism))
            else {
                continue;
            };
            if let Some(vendor) = other_vendor(it.situation.device.model.as_deref()) {
                self.found.cautions.push(format!(
                    "{} is a board of {vendor}, and the files that cotenant writes are for NVIDIA's tools: none is written for it",
                    it.verdict.label
                ));
                continue;
            }
            match it.index {
                Some(index) => all.push(Proposed { index, decided: it, chosen }),
                None => self.found.cautions.push(format!(
                    "the index of {} was not recorded, so no file is written for it",
                    it.verdict.label
                )),
            }
        }
        all
    }

    fn mig(&mut self, devices: &[&Decided<'_>]) {
        let proposed = self.proposed(devices, |it| it == MechanismId::Mig);
        let (known, blind): (Vec<_>, Vec<_>) = proposed.into_iter().partition(|it| {
            let standing = &it.decided.situation.now.instances;
            standing.iter().all(|it| it.start.is_some()) || creates_nothing(it.chosen)
        });
        for it in &blind {
            self.found.cautions.push(format!(
                "where the instances of {} lie was not recorded, so no script is written that might cut into them: add `nvidia-smi mig -lgi` with --node",
                it.decided.verdict.label
            ));
        }
        let proposed = known;
        let plans: Vec<(MigPlan, Vec<String>)> =
            proposed.iter().filter_map(|it| Some((mig_plan(it)?, reasons(it.chosen)))).collect();
        let Some(first) = plans.first() else { return };
        for (it, (plan, _)) in proposed.iter().zip(&plans) {
            let gone = it.chosen.change.as_ref().map_or(0, |it| it.destroy.len());
            if plan.destroy.len() < gone {
                self.found.cautions.push(format!(
                    "the number of an instance of {} that has to go was not recorded: look it up with `nvidia-smi mig -i {} -lgi`, and destroy it before the script runs",
                    it.decided.verdict.label, it.index
                ));
            }
        }
        for (plan, reasons) in &plans {
            let index = plan.gpu_index;
            let name = format!("gpu{index}-mig.sh");
            let apply = format!("sudo sh {}{name}", self.prefix);
            let purpose = "brings the GPU from its present layout to the proposed one";
            self.add(name, purpose, apply, mig::script(plan, reasons));
            let boot = mig::boot_script(plan, reasons);
            let purpose = "makes the layout anew after a boot, which instances do not survive";
            self.add(format!("gpu{index}-mig-boot.sh"), purpose, String::new(), boot);
        }
        let all: Vec<MigPlan> = plans.iter().map(|it| it.0.clone()).collect();
        let reasons = if plans.len() == 1 { first.1.clone() } else { Vec::new() };
        let file = format!("{}mig-parted.yaml", self.prefix);
        let label = self.host.map_or_else(String::new, |it| {
            format!("  # with the GPU operator: {}", mig::operator_label(it, LAYOUT).trim_end())
        });
        let apply = format!("nvidia-mig-parted apply -f {file} -c {LAYOUT}{label}");
        let text = mig::mig_parted(LAYOUT, &all, &reasons);
        self.add(
            "mig-parted.yaml".to_owned(),
            "the layout of the node for mig-parted",
            apply,
            text,
        );
        let assigned: Vec<(String, String)> =
            all.iter().flat_map(|it| it.assignments.iter().cloned()).collect();
        let text = claims::mig_templates(NAMESPACE, &assigned, &[]);
        let apply = format!("kubectl apply -f {}mig-claims.yaml", self.prefix);
        let purpose = "claims for the instances, where devices are dealt out by claims (DRA)";
        self.add("mig-claims.yaml".to_owned(), purpose, apply, text);
        for (tenant, profile) in &assigned {
            if let Ok(resource) = plugin::resource_name(Some(profile), false) {
                self.found.resources.push(format!("`{tenant}` asks for `{resource}: 1`"));
            }
        }
    }

    fn shared(&mut self, devices: &[&Decided<'_>]) {
        let is_shared = |it| matches!(it, MechanismId::Mps | MechanismId::TimeSlicing);
        let proposed = self.proposed(devices, is_shared);
        let mut plans: Vec<(SharingPlan, Vec<String>)> = Vec::new();
        for it in &proposed {
            let (plan, reasons) = (sharing_plan(it.chosen), reasons(it.chosen));
            self.device(it, &plan, &reasons);
            let is_known = |known: &&mut (SharingPlan, Vec<String>)| {
                (known.0.mechanism, known.0.replicas) == (plan.mechanism, plan.replicas)
            };
            if plans.iter_mut().find(is_known).is_none() {
                plans.push((plan, reasons));
            }
        }
        let others = devices.len() - proposed.len();
        if plans.len() > 1 || (others > 0 && !plans.is_empty()) {
            self.found.cautions.push(format!(
                "the device plugin knows one way to share for all GPUs of a node, and {} of the {} here are to be shared in {}: give GPUs that are shared alike nodes of their own, or deal them out by claims",
                proposed.len(),
                devices.len(),
                if plans.len() > 1 { "several ways" } else { "one, the others not" }
            ));
        }
        let is_mig = |it: &&Decided<'_>| it.verdict.mechanism() == Some(MechanismId::Mig);
        let has_mig = devices.iter().copied().any(|it| is_mig(&it));
        let is_only = plans.len() == 1;
        for (plan, reasons) in &plans {
            let word = match plan.mechanism {
                SharingMechanism::Mps => "mps",
                SharingMechanism::TimeSlicing => "time-slicing",
            };
            let name = match is_only {
                true => "device-plugin.yaml".to_owned(),
                false => format!("device-plugin-{word}-{}.yaml", plan.replicas),
            };
            let purpose = "shares every whole GPU of a node by the device plugin";
            let apply =
                "helm upgrade nvdp nvdp/nvidia-device-plugin --set-file config.map.cotenant="
                    .to_owned()
                    + &self.prefix
                    + &name;
            self.add(name, purpose, apply, plugin::config_beside(plan, has_mig, reasons));
        }
        if let Some((plan, _)) = plans.first()
            && let Ok(resource) = plugin::resource_name(None, plan.rename_by_default)
        {
            self.found.resources.push(format!("tenants that share a GPU ask for `{resource}: 1`"));
        }
    }

    /// The files of one device that is shared in software.
    fn device(&mut self, it: &Proposed<'_>, plan: &SharingPlan, reasons: &[String]) {
        let index = it.index;
        if plan.mechanism == SharingMechanism::Mps {
            let name = format!("gpu{index}-mps.sh");
            let uuid = uuid(it.decided);
            let apply = format!("sudo sh {}{name}", self.prefix);
            let purpose = "starts the MPS server of the GPU, without Kubernetes";
            self.add(name, purpose, apply, server_script(index, uuid, plan, reasons));
            let environments: Result<Vec<String>, ManifestError> =
                plan.tenants.iter().map(|it| client_environment(index, it)).collect();
            let purpose = "the environment of each tenant's processes under MPS";
            let text = environments.map(|it| it.join("\n"));
            self.add(format!("gpu{index}-mps.env"), purpose, String::new(), text);
        }
        let name = format!("gpu{index}-claim.yaml");
        let apply = format!("kubectl apply -f {}{name}", self.prefix);
        let claim = format!("gpu{index}-shared");
        let purpose = "a claim that the tenants share, where devices are dealt out by claims (DRA)";
        self.add(name, purpose, apply, claims::shared_claim(&claim, NAMESPACE, plan, reasons));
        let annotations: Result<Vec<String>, ManifestError> = it
            .chosen
            .assignments
            .iter()
            .filter_map(|it| Some((it, it.needed_mib?.ceil() as u64)))
            .map(|(it, mib)| {
                let text = kai_annotations(plan.mechanism, KaiRequest::MemoryMib(mib))?;
                let comment = crate::recommender::manifest::words::comment(&it.tenant);
                Ok(format!("# {comment}\n{text}"))
            })
            .collect();
        match annotations {
            Ok(all) if all.is_empty() => {}
            text => {
                let text = text.map(|it| it.join("---\n"));
                let purpose = "annotations of each tenant's pods for the KAI scheduler";
                self.add(format!("gpu{index}-kai.yaml"), purpose, String::new(), text);
            }
        }
    }
}

/// Whether a layout stands already.
fn creates_nothing(chosen: &Chosen) -> bool {
    chosen.change.as_ref().is_some_and(|it| it.create.is_empty() && it.destroy.is_empty())
}

/// The UUID of a device, where its id is one.
fn uuid<'a>(decided: &'a Decided<'_>) -> Option<&'a str> {
    Some(decided.verdict.gpu.as_str()).filter(|it| it.starts_with("GPU-"))
}

/// What speaks for the choice and what has to be accepted with it, for comments.
fn reasons(chosen: &Chosen) -> Vec<String> {
    let is_told = |it: &&crate::recommender::reason::Reason| {
        matches!(it.weight, Weight::Favours | Weight::Caution)
    };
    chosen.reasons.iter().filter(is_told).map(|it| it.sentence.clone()).collect()
}

fn sharing_plan(chosen: &Chosen) -> SharingPlan {
    let mechanism = match chosen.mechanism {
        MechanismId::Mps => SharingMechanism::Mps,
        _ => SharingMechanism::TimeSlicing,
    };
    let share = |it: &crate::recommender::mechanism::Assigned| TenantShare {
        tenant: it.tenant.clone(),
        thread_percentage: it.thread_percentage,
        pinned_limit_mib: it.pinned_limit_mib.map(|it| it.ceil() as u64),
    };
    SharingPlan {
        mechanism,
        profile: None,
        replicas: chosen.replicas.unwrap_or(chosen.assignments.len() as u32),
        fail_requests_greater_than_one: true,
        rename_by_default: true,
        time_slice: TimeSlice::Default,
        tenants: chosen.assignments.iter().map(share).collect(),
    }
}

/// The layout of a device; `None` where its board is not known.
fn mig_plan(it: &Proposed<'_>) -> Option<MigPlan> {
    let board = it.decided.situation.device.mig.board()?;
    let change = it.chosen.change.as_ref()?;
    let instance = |it: &Instance| {
        let profile = board.profiles.get(it.profile)?;
        Some(MigInstancePlan {
            profile: profile.name.to_string(),
            profile_id: profile.gi_profile_id?,
            start: it.start,
        })
    };
    let now = &it.decided.situation.now;
    // Standing instances of one profile whose starts were not recorded are taken in their order.
    let mut standing: Vec<&StandingInstance> = now.instances.iter().collect();
    let mut number = |gone: &Instance| {
        let name = board.profiles.get(gone.profile)?.name.as_ref();
        let is_it = |it: &&StandingInstance| is_at(it, name, gone.start);
        let place = standing.iter().position(is_it)?;
        standing.remove(place).gpu_instance
    };
    let destroy: Vec<u32> = change.destroy.iter().filter_map(&mut number).collect();
    Some(MigPlan {
        gpu_index: it.index,
        uuid: uuid(it.decided).map(str::to_owned),
        pci_device_id: None,
        board: Some(board.name.to_string()),
        is_mig_on: true,
        is_mode_change_needed: now.is_mig != Some(true),
        destroy,
        keep: change.keep.iter().filter_map(instance).collect(),
        create: change.create.iter().filter_map(instance).collect(),
        assignments: it
            .chosen
            .assignments
            .iter()
            .filter_map(|it| Some((it.tenant.clone(), it.profile.clone()?)))
            .collect(),
    })
}

/// Whether a standing instance is the one of this profile at this slot.
fn is_at(it: &StandingInstance, profile: &str, start: u32) -> bool {
    it.profile == profile && it.start.is_none_or(|it| it == start)
}
