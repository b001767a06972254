//! Is the layout the one that was planned, and will it still be there tomorrow?

use crate::cluster::config::facts::{MigPartedConfig, MigPartedEntry};
use crate::cluster::facts::GpuFacts;
use crate::recommender::audit::Check;
use crate::recommender::audit::facts::Facts;
use crate::recommender::audit::finding::{About, AboutKind, Answer, AuditFinding};
use crate::recommender::audit::residents::{quoted, word};
use std::collections::BTreeMap;

pub(super) const CHECK: Check = Check {
    id: "layout-as-planned",
    question: "Is the MIG layout the one that was planned, and will it survive a reboot?",
    needs: "`--expect FILE#NAME`, or mig-parted's configuration and `kubectl get node NODE -o json`; `nvidia-smi -q`, `nvidia-smi mig -lgi`",
    remedy: "set the label `nvidia.com/mig.config=NAME`, or `nvidia-mig-parted apply -f FILE -c NAME`",
    run,
};

fn run(facts: &Facts<'_>) -> Answer {
    if facts.atlas.len() == 0 {
        return Answer::unseen(
            "no file lists a GPU",
            "add `nvidia-smi -q` and `nvidia-smi mig -lgi`",
        );
    }
    let mut answer = Answer::default();
    facts.words.gpus.iter().for_each(|it| pending(it, &mut answer));
    let named = facts.node.and_then(|it| it.mig_config());
    let of_label = named.and_then(|it| facts.words.mig_configs.iter().find(|to| to.name == it));
    match facts.expected.or(of_label) {
        Some(plan) => compare(facts, plan, &mut answer),
        None => answer.add(AuditFinding::unseen(
            "there is no plan to compare the layout with",
            "give `--expect FILE#NAME`, a configuration of mig-parted, or the ConfigMap of mig-manager beside the node",
        )),
    }
    reboot(facts, &mut answer);
    answer
}

fn pending(gpu: &GpuFacts, answer: &mut Answer) {
    let (Some(now), Some(then)) = (gpu.is_mig_on, gpu.is_mig_pending) else { return };
    if now != then {
        let word = if then { "on" } else { "off" };
        let title = format!("MIG of {} goes {word} only with the next reset", gpu.gpu);
        let finding = AuditFinding::problem(About::new(AboutKind::Gpu, gpu.gpu.to_string()), title)
            .because(format!(
                "{}: MIG mode is {}, pending {}",
                gpu.detailed_at(),
                shown(now),
                shown(then)
            ));
        let index = gpu.gpu.index.map_or_else(|| "GPU".to_owned(), |it| it.to_string());
        answer.add(finding.remedy(format!("drain the GPU, stop what holds it (`fuser -v /dev/nvidia*`), then `nvidia-smi --gpu-reset -i {index}`")));
    }
}

fn shown(is_on: bool) -> &'static str {
    if is_on { "enabled" } else { "disabled" }
}

/// What the plan wants of one GPU: the last entry that holds for it.
fn wanted<'a>(
    plan: &'a MigPartedConfig,
    facts: &Facts<'_>,
    gpu: usize,
) -> Result<Option<&'a MigPartedEntry>, &'static str> {
    let mut found = None;
    for entry in &plan.entries {
        let by_index = match (&entry.devices, facts.atlas.key(gpu).index) {
            (None, _) => true,
            (Some(list), Some(index)) => list.contains(&index),
            (Some(_), None) => return Err("its index"),
        };
        let id = facts.atlas.facts(gpu).and_then(|it| it.pci_device_id.as_deref());
        let by_board = match (entry.device_filter.as_slice(), id) {
            ([], _) => true,
            (filter, Some(id)) => filter.iter().any(|it| it.eq_ignore_ascii_case(id)),
            (_, None) => return Err("its PCI device id"),
        };
        if by_index && by_board {
            found = Some(entry);
        }
    }
    Ok(found)
}

/// Instances of each profile on a GPU, as far as files say; `None` if a profile is not said.
fn present(facts: &Facts<'_>, gpu: usize) -> Option<BTreeMap<String, u64>> {
    let mut counts = BTreeMap::new();
    let instances: Vec<_> = facts
        .words
        .gpu_instances
        .iter()
        .filter(|it| facts.atlas.gpu(&it.gpu) == Some(gpu))
        .collect();
    let mut add = |profile: &str| *counts.entry(profile.to_ascii_lowercase()).or_insert(0) += 1;
    if instances.is_empty() {
        for (_, device) in facts.atlas.devices(gpu) {
            add(facts.atlas.profile_of(device)?);
        }
    } else {
        for it in instances {
            add(it.profile.as_deref()?);
        }
    }
    Some(counts)
}

fn compare(facts: &Facts<'_>, plan: &MigPartedConfig, answer: &mut Answer) {
    for gpu in 0..facts.atlas.len() {
        let label = facts.atlas.key(gpu).to_string();
        match wanted(plan, facts, gpu) {
            Ok(Some(entry)) => compare_gpu(facts, (plan, entry), gpu, answer),
            Ok(None) => {
                answer
                    .add_fine(format!("layout {} says nothing about {label}", quoted(&plan.name)));
            }
            Err(missing) => {
                let name = quoted(&plan.name);
                let title = format!(
                    "{label} cannot be compared with layout {name}: {missing} is in no file"
                );
                answer.add(AuditFinding::unseen(title, "add `nvidia-smi -q` of all GPUs"));
            }
        }
    }
}

/// Compares one GPU with what the plan wants of it.
fn compare_gpu(
    facts: &Facts<'_>,
    (plan, entry): (&MigPartedConfig, &MigPartedEntry),
    gpu: usize,
    answer: &mut Answer,
) {
    let (label, name) = (facts.atlas.key(gpu).to_string(), quoted(&plan.name));
    let differs = |title: String| {
        let (file, layout) = (word(&plan.origin.file), word(&plan.name));
        AuditFinding::problem(About::new(AboutKind::Gpu, label.clone()), title)
            .because(format!("{}: layout {name}", entry.origin))
            .because_of(lines(facts, gpu))
            .remedy(format!(
                "drain {label}, then `nvidia-mig-parted apply -f {file} -c {layout}`, or set the label `nvidia.com/mig.config={layout}`"
            ))
    };
    if let Some(is_on) = facts.atlas.is_mig(gpu).filter(|it| *it != entry.is_mig_enabled) {
        let (now, then) = (shown(is_on), shown(entry.is_mig_enabled));
        answer.add(differs(format!("MIG of {label} is {now}, and layout {name} wants it {then}")));
        return;
    }
    let Some(present) = present(facts, gpu) else {
        let title = format!("the profiles on {label} are in no file");
        answer.add(AuditFinding::unseen(title, "add `nvidia-smi mig -lgi`"));
        return;
    };
    let mut wanted: BTreeMap<String, u64> = BTreeMap::new();
    for (profile, count) in entry.mig_devices.iter().filter(|it| *it.1 > 0) {
        *wanted.entry(profile.to_ascii_lowercase()).or_insert(0) += count;
    }
    let (found, planned) = (words(&present), words(&wanted));
    match present == wanted {
        true => answer.add_fine(format!("{label} is cut as layout {name} says: {found}")),
        false => {
            let title = format!("{label} holds {found}, and layout {name} wants {planned}");
            answer.add(differs(title));
        }
    }
}

/// Where the files say what a GPU is cut into.
fn lines(facts: &Facts<'_>, gpu: usize) -> Vec<String> {
    let mine = facts.words.gpu_instances.iter().filter(|it| facts.atlas.gpu(&it.gpu) == Some(gpu));
    let lines: Vec<String> = mine
        .map(|it| {
            let profile = it.profile.as_deref().unwrap_or("of unknown profile");
            format!("{}: instance {} is {profile}", it.origin, it.id)
        })
        .collect();
    match (lines.is_empty(), facts.atlas.facts(gpu)) {
        (true, Some(it)) => vec![format!("{}: the GPU", it.detailed_at())],
        _ => lines,
    }
}

fn words(counts: &BTreeMap<String, u64>) -> String {
    if counts.is_empty() {
        return "no instance".to_owned();
    }
    let parts: Vec<String> =
        counts.iter().map(|(profile, count)| format!("{count} x {profile}")).collect();
    parts.join(", ")
}

/// Instances that nothing makes again after a boot.
fn reboot(facts: &Facts<'_>, answer: &mut Answer) {
    let is_cut = (0..facts.atlas.len()).any(|it| facts.atlas.is_mig(it) == Some(true));
    if !is_cut {
        return;
    }
    let make = "set the label `nvidia.com/mig.config=NAME` (mig-manager), or enable `nvidia-mig-manager.service` with this layout: `nvidia-mig-parted export` prints it";
    match facts.node {
        Some(node) if node.mig_config().is_some() => {
            answer.add_fine(format!(
                "the layout of node `{}` is made again after a boot, by mig-manager",
                node.name
            ));
        }
        Some(node) => {
            let title = format!(
                "the instances of node `{}` were made by hand, and a reboot removes them",
                node.name
            );
            let finding =
                AuditFinding::warning(About::new(AboutKind::Node, node.name.clone()), title);
            answer.add(
                finding
                    .because(format!("{}: there is no label nvidia.com/mig.config", node.origin))
                    .remedy(make),
            );
        }
        None => answer.add(AuditFinding::unseen(
            "whether anything makes the instances again after a reboot is in no file",
            format!("add `kubectl get node NODE -o json`; without Kubernetes, {make}"),
        )),
    }
}
