//! Does one configuration want two things at once, or something that a node cannot do?

use crate::cluster::config::facts::{PluginConfig, SharingConfig, SharingMechanism};
use crate::cluster::facts::Severity as Fate;
use crate::recommender::audit::Check;
use crate::recommender::audit::facts::Facts;
use crate::recommender::audit::finding::{About, AboutKind, Answer, AuditFinding};
use crate::recommender::audit::residents::{Resident, listed};
use crate::recommender::tenant_policy::Class;

pub(super) const CHECK: Check = Check {
    id: "one-mode",
    question: "Does each configuration want one mode, and one that its GPUs can have?",
    needs: "the device plugin's configuration or its ConfigMap (`kubectl get configmap -o yaml`)",
    remedy: "keep one of `timeSlicing` and `mps`; group nodes by mode",
    run,
};

/// Clients that one MPS server takes at most, on Volta to Blackwell before driver branch 580.
const MOST_CLIENTS: u64 = 48;

const FILES: &str =
    "add the device plugin's configuration: `kubectl get configmap -n gpu-operator -o yaml`";

fn run(facts: &Facts<'_>) -> Answer {
    let mut answer = Answer::default();
    let refused = facts.words.remarks.iter().filter(|it| it.severity == Fate::Refused);
    for it in refused {
        let title = it.text.clone();
        let finding =
            AuditFinding::problem(About::new(AboutKind::File, it.origin.file.clone()), title);
        answer.add(finding.because(it.to_string()).remedy("correct that line; the tool refuses the whole file for it, and the node then offers no GPU"));
    }
    if facts.words.plugin_configs.is_empty() {
        if answer.findings.is_empty() {
            return Answer::unseen("no configuration of the device plugin is given", FILES);
        }
        return answer;
    }
    for config in &facts.words.plugin_configs {
        let before = answer.findings.len();
        let is_in_force = facts.plugin.is_some_and(|it| std::ptr::eq(it, config));
        one(facts, config, is_in_force, &mut answer);
        if answer.findings.len() == before {
            answer.add_fine(format!("{} wants {}", named(config), wanted(config)));
        }
    }
    if facts.plugin.is_none() {
        let title = "several configurations are given, and nothing says which one the node reads";
        answer.add(AuditFinding::unseen(title, "add `kubectl get node NODE -o json`, whose label `nvidia.com/device-plugin.config` names it"));
    }
    answer
}

fn named(config: &PluginConfig) -> String {
    match &config.name {
        Some(name) => format!("configuration `{name}` of {}", config.origin.file),
        None => format!("the configuration {}", config.origin.file),
    }
}

fn wanted(config: &PluginConfig) -> &'static str {
    match config.sharing.as_ref().map(|it| it.mechanism) {
        None => "no sharing",
        Some(SharingMechanism::TimeSlicing) => "time slicing only",
        Some(SharingMechanism::Mps) => "MPS only",
    }
}

fn one(facts: &Facts<'_>, config: &PluginConfig, is_in_force: bool, answer: &mut Answer) {
    let about = || About::new(AboutKind::File, config.origin.file.clone());
    let is_cut = (0..facts.atlas.len()).any(|it| facts.atlas.is_mig(it) == Some(true));
    if is_in_force && is_cut && config.mig_strategy.as_deref() == Some("none") {
        let title = format!("{} has migStrategy `none` on a node with MIG on", named(config));
        let finding = AuditFinding::problem(about(), title)
            .because(format!("{}: migStrategy is none", config.origin))
            .because_of(cut(facts));
        answer.add(finding.remedy(
            "write `flags: { migStrategy: mixed }`, so that each profile gets a name of its own",
        ));
    }
    let Some(sharing) = &config.sharing else { return };
    for it in &sharing.resources {
        if sharing.mechanism == SharingMechanism::Mps && it.replicas > MOST_CLIENTS {
            let title = format!(
                "{} replicas of {} through MPS, whose server takes {MOST_CLIENTS} clients",
                it.replicas, it.name
            );
            let finding = AuditFinding::problem(about(), title)
                .because(format!("{}: replicas: {}", it.origin, it.replicas));
            answer.add(finding.remedy(format!(
                "write `replicas: {MOST_CLIENTS}` or fewer; drivers from branch 580 on take 60"
            )));
        }
    }
    if sharing.mechanism == SharingMechanism::TimeSlicing && !sharing.fail_requests_greater_than_one
    {
        let title = format!(
            "{} lets a pod ask for several replicas, which gives it no more of the GPU",
            named(config)
        );
        let finding = AuditFinding::warning(about(), title)
            .because(format!("{}: failRequestsGreaterThanOne is not true", sharing.origin));
        answer.add(finding.remedy("write `failRequestsGreaterThanOne: true` below `timeSlicing`"));
    }
    if is_in_force {
        unaware(facts, sharing, answer);
        if is_cut && sharing.mechanism == SharingMechanism::Mps {
            let title = format!(
                "{} shares through MPS on a node with MIG on, where the plugin offers none",
                named(config)
            );
            let finding = AuditFinding::problem(about(), title)
                .because(format!("{}: sharing.mps", sharing.origin))
                .because_of(cut(facts));
            answer.add(finding.remedy("give MIG and MPS nodes of their own: one configuration for each, chosen by the label `nvidia.com/device-plugin.config`"));
        }
    }
}

fn cut(facts: &Facts<'_>) -> Vec<String> {
    let on = facts.words.gpus.iter().filter(|it| it.is_mig_on == Some(true));
    on.map(|it| format!("{}: MIG mode of {} is on", it.detailed_at(), it.gpu)).collect()
}

/// Sharing holds for all GPUs of a node: tenants that want a device for themselves get a replica.
fn unaware(facts: &Facts<'_>, sharing: &SharingConfig, answer: &mut Answer) {
    let is_shared = |it: &str| sharing.resources.iter().any(|to| to.name == it);
    let wants_whole = |it: &&Resident<'_>| {
        let class = matches!(it.said.class, Some(Class::Training | Class::LatencySensitive));
        it.said.whole_device == Some(true) || (class && it.said.whole_device != Some(false))
    };
    let hit: Vec<&Resident<'_>> = facts
        .residents
        .iter()
        .filter(|it| {
            it.resource
                .as_deref()
                .is_some_and(|it| is_shared(it.strip_suffix(".shared").unwrap_or(it)))
        })
        .filter(wants_whole)
        .collect();
    if hit.is_empty() {
        return;
    }
    let names = listed(hit.iter().map(|it| it.label.as_str()));
    let title = format!(
        "the sharing mode holds for all GPUs of the node, and {names} get a replica instead of a GPU"
    );
    let finding =
        AuditFinding::problem(About::new(AboutKind::File, sharing.origin.file.clone()), title)
            .because(format!("{}: the resource is replicated", sharing.origin))
            .because_of(hit.iter().map(|it| it.evidence.clone()));
    answer.add(finding.remedy("give them a node whose configuration shares nothing: label it `nvidia.com/device-plugin.config=NAME`, and use a `nodeSelector`"));
}
