//! Does the scheduler see every slice, and only slices that are there?

use crate::cluster::facts::GpuInstance;
use crate::cluster::kube::facts::NodeFacts;
use crate::cluster::resource::ResourceName;
use crate::recommender::audit::Check;
use crate::recommender::audit::facts::Facts;
use crate::recommender::audit::finding::{About, AboutKind, Answer, AuditFinding};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const CHECK: Check = Check {
    id: "slices-visible",
    question: "Does the scheduler see every MIG instance under its own name, and none that is not there?",
    needs: "`nvidia-smi -L`, `nvidia-smi -q`, `nvidia-smi mig -lgi`, `mig -lci`; `kubectl get node NODE -o json`",
    remedy: "make the missing compute instances, set `nvidia.com/mig.strategy`, restart the device plugin",
    run,
};

const NODE: &str = "add `kubectl get node NODE -o json`";

fn run(facts: &Facts<'_>) -> Answer {
    if facts.atlas.len() == 0 {
        return Answer::unseen(
            "no file lists a GPU",
            "add `nvidia-smi -L` and `nvidia-smi -q` of the node",
        );
    }
    let mut answer = Answer::default();
    instances(facts, &mut answer);
    match facts.node {
        Some(node) => scheduler(facts, node, &mut answer),
        None => {
            let title = match facts.words.nodes.len() {
                0 => "what the scheduler sees of the node is in no file".to_owned(),
                more => format!(
                    "the files describe {more} nodes, and nothing says which of them this is"
                ),
            };
            answer.add(AuditFinding::unseen(title, NODE));
        }
    }
    answer
}

/// Instances that CUDA does not see, and GPUs that are cut into nothing.
fn instances(facts: &Facts<'_>, answer: &mut Answer) {
    let mut whole = 0;
    for gpu in 0..facts.atlas.len() {
        let Some(is_mig) = facts.atlas.is_mig(gpu) else { continue };
        if !is_mig {
            continue;
        }
        let described = facts.atlas.facts(gpu).filter(|it| it.is_mig_on.is_some());
        let has_devices = facts.atlas.devices(gpu).next().is_some();
        let has_instances =
            facts.words.gpu_instances.iter().any(|it| facts.atlas.gpu(&it.gpu) == Some(gpu));
        let label = facts.atlas.key(gpu).to_string();
        if let (Some(described), false, false) = (described, has_devices, has_instances) {
            let title = format!("MIG is on and {label} is cut into nothing, so nobody can use it");
            let finding = AuditFinding::problem(About::new(AboutKind::Gpu, label), title).because(
                format!("{}: MIG mode is on, and no MIG device is listed", described.detailed_at()),
            );
            answer.add(finding.remedy("make instances: `nvidia-smi mig -cgi PROFILE,… -C`, or switch MIG off: `nvidia-smi -mig 0`"));
            continue;
        }
        // Without a file that lists devices, none of them is known to be missing.
        if has_devices || described.is_some() {
            whole += facts.atlas.devices(gpu).count();
            let mine = |it: &&GpuInstance| facts.atlas.gpu(&it.gpu) == Some(gpu);
            facts.words.unseen_instances().filter(mine).for_each(|it| unseen(&label, it, answer));
        } else {
            let title =
                format!("whether the instances of {label} have compute instances is in no file");
            answer
                .add(AuditFinding::unseen(title, "add `nvidia-smi mig -lci`, or `nvidia-smi -L`"));
        }
    }
    if whole > 0 {
        let devices = if whole == 1 {
            "1 MIG device is".to_owned()
        } else {
            format!("{whole} MIG devices are")
        };
        answer.add_fine(format!("{devices} visible to CUDA"));
    }
}

fn unseen(gpu: &str, instance: &GpuInstance, answer: &mut Answer) {
    let profile = instance.profile.as_deref().map(|it| format!(" ({it})")).unwrap_or_default();
    let name = format!("{gpu} instance {}{profile}", instance.id);
    let title = format!("{name} has no compute instance, so CUDA and the scheduler do not see it");
    let index = instance.gpu.index.map_or_else(|| "GPU".to_owned(), |it| it.to_string());
    let finding = AuditFinding::problem(About::new(AboutKind::Instance, name), title)
        .because(format!("{}: the instance exists", instance.origin))
        .because("no file lists a compute instance in it");
    answer.add(
        finding.remedy(format!("make one: `nvidia-smi mig -i {index} -gi {} -cci`", instance.id)),
    );
}

fn scheduler(facts: &Facts<'_>, node: &NodeFacts, answer: &mut Answer) {
    let about = || About::new(AboutKind::Node, node.name.clone());
    state(node, answer);
    for (resource, count) in &node.capacity {
        let usable = node.allocatable.get(resource).copied().unwrap_or(0);
        if usable < *count {
            let title = format!(
                "{usable} of {count} `{resource}` can be given out on node `{}`",
                node.name
            );
            let finding = if usable == 0 {
                AuditFinding::problem(about(), title)
            } else {
                AuditFinding::warning(about(), title)
            };
            answer.add(finding.because(format!("{}: capacity {count}, allocatable {usable}", node.origin)).remedy(
                "the device plugin calls a device unhealthy: look for Xids (`dmesg | grep -i xid`) and at its log (`kubectl logs`), then restart it",
            ));
        }
    }
    let there = layout(facts);
    let is_cut = !there.is_empty();
    let strategy = node.mig_strategy().or(facts.plugin.and_then(|it| it.mig_strategy.as_deref()));
    let has_slices = node
        .capacity
        .keys()
        .filter_map(|it| ResourceName::parse(it))
        .any(|it| it.profile.is_some());
    if node.label("gpu.product").is_some_and(|it| it.ends_with("-MIG-INVALID")) {
        let title = format!(
            "the layout of node `{}` does not suit its MIG strategy, so it offers nothing",
            node.name
        );
        let finding = AuditFinding::problem(about(), title)
            .because(format!("{}: label gpu.product ends in -MIG-INVALID", node.origin));
        answer.add(finding.remedy(
            "set `nvidia.com/mig.strategy=mixed`, or give every GPU instances of one profile",
        ));
        return;
    }
    match strategy {
        Some("none") if is_cut => {
            let title = format!(
                "MIG is on, and the MIG strategy of node `{}` is `none`: its instances have no names",
                node.name
            );
            let finding = AuditFinding::problem(about(), title)
                .because(format!("{}: mig.strategy is none", node.origin));
            answer.add(finding.remedy("set `migStrategy: mixed` in the device plugin's configuration (GPU operator: `mig.strategy=mixed`)"));
        }
        Some("single") if is_cut => single(facts, node, &there, answer),
        _ if is_cut || has_slices => mixed(facts, node, &there, answer),
        _ => whole(facts, node, answer),
    }
}

/// How far the layout that the node was told to take is.
fn state(node: &NodeFacts, answer: &mut Answer) {
    let config = node.mig_config().unwrap_or("?");
    let about = About::new(AboutKind::Node, node.name.clone());
    let evidence =
        |it: &str| format!("{}: mig.config is {config}, mig.config.state is {it}", node.origin);
    match node.mig_config_state() {
        Some("failed") => {
            let title = format!("node `{}` failed to take the layout `{config}`", node.name);
            let finding = AuditFinding::problem(about, title).because(evidence("failed"));
            answer.add(finding.remedy("read why: `kubectl logs -n gpu-operator -l app=nvidia-mig-manager`; drain the GPU's pods and set the label again"));
        }
        Some(it @ ("pending" | "rebooting")) => {
            let title = format!("node `{}` is still taking the layout `{config}`", node.name);
            let finding = AuditFinding::warning(about, title).because(evidence(it));
            answer.add(finding.remedy("wait until the state is `success`, then audit again"));
        }
        _ => {}
    }
}

/// Devices of each profile; of an instance whose profile no file says, under an empty name.
fn layout(facts: &Facts<'_>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for device in &facts.words.mig_devices {
        let profile = facts.atlas.profile_of(device).unwrap_or_default();
        *counts.entry(profile.to_owned()).or_insert(0) += 1;
    }
    counts
}

/// How many times each device of a resource is offered.
fn replicas(facts: &Facts<'_>, resource: &str) -> u64 {
    let sharing = facts.plugin.and_then(|it| it.sharing.as_ref());
    let found = sharing.and_then(|it| it.resources.iter().find(|it| it.name == resource));
    found.map_or(1, |it| it.replicas)
}

fn mixed(facts: &Facts<'_>, node: &NodeFacts, there: &BTreeMap<String, u64>, answer: &mut Answer) {
    if there.contains_key("") {
        let title = "profiles of some instances are in no file, so they cannot be compared with the node's capacity";
        answer.add(AuditFinding::unseen(title, "add `nvidia-smi -L` or `nvidia-smi mig -lgi`"));
        return;
    }
    let mut offered: BTreeMap<String, (u64, bool)> = BTreeMap::new();
    for (resource, count) in &node.capacity {
        if let Some(ResourceName { profile: Some(profile), is_shared }) =
            ResourceName::parse(resource)
        {
            let entry = offered.entry(profile).or_default();
            *entry = (entry.0 + count, entry.1 || is_shared);
        }
    }
    let is_claimed = facts
        .words
        .claim_templates
        .iter()
        .flat_map(|it| &it.requests)
        .any(|it| it.device_class.starts_with("mig."));
    let profiles: BTreeSet<&String> = there.keys().chain(offered.keys()).collect();
    for profile in profiles {
        let resource =
            ResourceName { profile: Some(profile.clone()), is_shared: false }.to_string();
        let devices = there.get(profile).copied().unwrap_or(0);
        let (count, is_shared) = offered.get(profile).copied().unwrap_or((0, false));
        let each = replicas(facts, &resource);
        let is_right = count == devices * each
            || (is_shared && each == 1 && devices > 0 && count % devices == 0 && count > 0);
        let about = About::new(AboutKind::Node, node.name.clone());
        let evidence = format!("{}: capacity of {resource} is {count}", node.origin);
        if is_right {
            answer.add_fine(format!("{devices} of {profile} stand behind {count} of `{resource}`"));
        } else if count == 0 && is_claimed {
            answer.add_fine(format!(
                "{devices} instances of {profile} are left to dynamic resource allocation"
            ));
        } else if count < devices * each {
            let title = format!(
                "{devices} instances of {profile} exist on node `{}`, and the scheduler sees {count}",
                node.name
            );
            let finding = AuditFinding::problem(about, title)
                .because(evidence)
                .because_of(listed(facts, profile));
            answer.add(finding.remedy("set `nvidia.com/mig.strategy=mixed` and restart the device plugin: `kubectl rollout restart -n gpu-operator ds/nvidia-device-plugin-daemonset`"));
        } else {
            let title = format!(
                "the scheduler sees {count} of {profile} on node `{}`, and {devices} exist",
                node.name
            );
            let finding = AuditFinding::problem(about, title)
                .because(evidence)
                .because_of(listed(facts, profile));
            answer.add(finding.remedy("pods will be sent to instances that are gone: restart the device plugin, or apply the layout again (`nvidia.com/mig.config`)"));
        }
    }
}

/// Where the devices of a profile are listed.
fn listed(facts: &Facts<'_>, profile: &str) -> Vec<String> {
    let devices =
        facts.words.mig_devices.iter().filter(|it| facts.atlas.profile_of(it) == Some(profile));
    devices.map(|it| format!("{}: an instance of {profile}", it.origin)).collect()
}

fn single(facts: &Facts<'_>, node: &NodeFacts, there: &BTreeMap<String, u64>, answer: &mut Answer) {
    let about = || About::new(AboutKind::Node, node.name.clone());
    let is_whole = (0..facts.atlas.len()).any(|it| facts.atlas.is_mig(it) == Some(false));
    if there.len() > 1 || is_whole {
        let profiles: Vec<&str> = there.keys().map(String::as_str).collect();
        let beside = if is_whole { ", and GPUs without MIG stand beside them" } else { "" };
        let title = format!(
            "the MIG strategy of node `{}` is `single`, and its layout is not: {}{beside}",
            node.name,
            profiles.join(", ")
        );
        let finding = AuditFinding::problem(about(), title)
            .because(format!("{}: mig.strategy is single", node.origin));
        answer.add(finding.remedy(
            "set `nvidia.com/mig.strategy=mixed`, or give every GPU instances of one profile",
        ));
        return;
    }
    count(facts, node, there.values().sum(), "MIG instances", answer);
}

fn whole(facts: &Facts<'_>, node: &NodeFacts, answer: &mut Answer) {
    let labelled = node.label("gpu.count").and_then(|it| it.parse::<usize>().ok());
    if let Some(all) = labelled.filter(|it| *it > facts.atlas.len()) {
        let title = format!(
            "the files list {} of the {all} GPUs of node `{}`",
            facts.atlas.len(),
            node.name
        );
        answer.add(AuditFinding::unseen(
            title,
            "add `nvidia-smi -L` and `nvidia-smi -q`, each without `-i`",
        ));
        return;
    }
    count(facts, node, facts.atlas.len() as u64, "GPUs", answer);
}

/// Compares devices with what is offered as `nvidia.com/gpu`.
fn count(facts: &Facts<'_>, node: &NodeFacts, devices: u64, what: &str, answer: &mut Answer) {
    let of = |name: &str| node.capacity.get(name).copied();
    let (plain, shared) = (of("nvidia.com/gpu"), of("nvidia.com/gpu.shared"));
    let each = match replicas(facts, "nvidia.com/gpu") {
        1 => node.replicas().unwrap_or(1).max(1),
        more => more,
    };
    let offered = plain.unwrap_or(0) + shared.unwrap_or(0);
    let about = About::new(AboutKind::Node, node.name.clone());
    let told = format!(
        "{}: capacity of nvidia.com/gpu and nvidia.com/gpu.shared together is {offered}, {each} for each device",
        node.origin
    );
    // A product of its own name is offered under a name that is not known here.
    let is_renamed = plain.is_none() && shared.is_none() && !node.capacity.is_empty();
    if offered == devices * each {
        answer.add_fine(format!(
            "node `{}` offers its {devices} {what} as {offered} devices",
            node.name
        ));
    } else if is_renamed {
        answer.add(
            AuditFinding::unseen(
                format!("node `{}` offers GPUs under names of its own", node.name),
                NODE,
            )
            .because(told),
        );
    } else {
        let title = format!(
            "node `{}` has {devices} {what}, and the scheduler sees {offered} where {} should be",
            node.name,
            devices * each
        );
        let finding = AuditFinding::problem(about, title).because(told);
        answer.add(finding.remedy("restart the device plugin and look at its log; a configuration that it refuses leaves the node without GPUs"));
    }
}
