//! Do the files contradict each other, or say what nobody hears?

use crate::cluster::config::facts::SharingMechanism;
use crate::cluster::facts::{Remark, Severity as Fate};
use crate::cluster::kube::facts::NodeFacts;
use crate::cluster::resource::ResourceName;
use crate::recommender::audit::Check;
use crate::recommender::audit::facts::Facts;
use crate::recommender::audit::finding::{About, AboutKind, Answer, AuditFinding};
use crate::recommender::audit::residents::{quoted, word};

pub(super) const CHECK: Check = Check {
    id: "config-in-effect",
    question: "Does everything that is configured take effect, and do the files agree?",
    needs: "configurations of the device plugin and of mig-parted; `kubectl get node NODE -o json`",
    remedy: "correct the line that is named; restart what did not read it",
    run,
};

fn run(facts: &Facts<'_>) -> Answer {
    let mut answer = Answer::default();
    for it in &facts.words.remarks {
        if let Some(finding) = remark(it) {
            answer.add(finding);
        }
    }
    if let Some(node) = facts.node {
        labels(facts, node, &mut answer);
    }
    products(facts, &mut answer);
    if answer.findings.is_empty() {
        let configs = facts.words.plugin_configs.len() + facts.words.mig_configs.len();
        match (configs, facts.node) {
            (0, None) => answer.add(AuditFinding::unseen(
                "no configuration and no node is given",
                "add the ConfigMaps of the device plugin and of mig-manager, and `kubectl get node NODE -o json`",
            )),
            _ => answer.add_fine("labels, capacity and configurations that are given agree"),
        }
    }
    answer
}

/// What becomes of a remark; `None` for those that another check tells.
fn remark(it: &Remark) -> Option<AuditFinding> {
    let about = About::new(AboutKind::File, it.origin.file.clone());
    let evidence = it.to_string();
    match it.severity {
        Fate::Refused => None,
        Fate::Ineffective => Some(
            AuditFinding::warning(about, it.text.clone())
                .because(evidence)
                .remedy("take the line out, or write what was meant in words that the tool reads"),
        ),
        Fate::Disagreement => {
            let title = format!("{} {}", it.origin, it.text);
            Some(
                AuditFinding::note(about, title)
                    .because(evidence)
                    .remedy("save all files of a node at one moment"),
            )
        }
        Fate::Unread => Some(
            AuditFinding::unseen(
                format!("a part of {} could not be read: {}", it.origin, it.text),
                "save the output again, whole",
            )
            .about(about),
        ),
    }
}

/// Labels of the node against the configurations.
fn labels(facts: &Facts<'_>, node: &NodeFacts, answer: &mut Answer) {
    let about = || About::new(AboutKind::Node, node.name.clone());
    let plugin =
        facts.words.plugin_configs.iter().filter_map(|it| it.name.as_deref()).collect::<Vec<_>>();
    if let Some(wanted) =
        node.label("device-plugin.config").filter(|it| !plugin.is_empty() && !plugin.contains(it))
    {
        let title = format!(
            "node `{}` is told to read the configuration {}, which is in no ConfigMap",
            node.name,
            quoted(wanted)
        );
        let finding = AuditFinding::problem(about(), title)
            .because(format!("{}: label device-plugin.config", node.origin));
        answer.add(finding.remedy(format!("choose one of {}: `kubectl label node {} --overwrite nvidia.com/device-plugin.config=NAME`", plugin.join(", "), word(&node.name))));
    }
    let layouts: Vec<&str> = facts.words.mig_configs.iter().map(|it| it.name.as_str()).collect();
    if let Some(wanted) =
        node.mig_config().filter(|it| !layouts.is_empty() && !layouts.contains(it))
    {
        let title = format!(
            "node `{}` is told to take the layout {}, which no file holds",
            node.name,
            quoted(wanted)
        );
        let finding = AuditFinding::problem(about(), title)
            .because(format!("{}: label mig.config", node.origin));
        answer.add(finding.remedy(format!("choose one of {}", layouts.join(", "))));
    }
    in_force(facts, node, answer);
    shared_product(facts, node, answer);
}

/// Labels of the node against the configuration that its plugin reads.
fn in_force(facts: &Facts<'_>, node: &NodeFacts, answer: &mut Answer) {
    let about = || About::new(AboutKind::Node, node.name.clone());
    let Some(config) = facts.plugin else { return };
    let told = config.mig_strategy.as_deref();
    if let (Some(label), Some(told)) = (node.mig_strategy(), told)
        && label != told
    {
        let title = format!(
            "node `{}` has MIG strategy `{label}`, and its configuration says `{told}`",
            node.name
        );
        let finding = AuditFinding::warning(about(), title)
            .because(format!("{}: label mig.strategy", node.origin))
            .because(format!("{}: migStrategy", config.origin));
        answer.add(finding.remedy(
            "restart the device plugin and gpu-feature-discovery, which read it at their start",
        ));
    }
    let strategy = match config.sharing.as_ref().map(|it| it.mechanism) {
        None => "none",
        Some(SharingMechanism::TimeSlicing) => "time-slicing",
        Some(SharingMechanism::Mps) => "mps",
    };
    if let Some(label) = node.sharing_strategy().filter(|it| *it != strategy) {
        let title = format!(
            "node `{}` shares by `{label}`, and its configuration says `{strategy}`",
            node.name
        );
        let finding = AuditFinding::warning(about(), title)
            .because(format!("{}: label gpu.sharing-strategy", node.origin))
            .because(format!("{}: the configuration", config.origin));
        answer.add(finding.remedy(
            "the plugin reads its configuration at its start: restart it, and look at its log",
        ));
    }
}

/// A product label that says that GPUs are shared although nothing is configured so.
fn shared_product(facts: &Facts<'_>, node: &NodeFacts, answer: &mut Answer) {
    let is_shared = node.label("gpu.product").is_some_and(|it| it.ends_with("-SHARED"));
    let has_sharing = facts.plugin.is_some_and(|it| it.sharing.is_some());
    if is_shared && !has_sharing {
        let title = format!(
            "the GPUs of node `{}` are called shared, and its configuration shares nothing",
            node.name
        );
        let finding = AuditFinding::warning(About::new(AboutKind::Node, node.name.clone()), title)
            .because(format!("{}: label gpu.product ends in -SHARED", node.origin));
        answer.add(finding.remedy("restart the device plugin and gpu-feature-discovery; if it stays, another configuration is in force"));
    }
}

/// Replicated resources that the node does not have.
fn products(facts: &Facts<'_>, answer: &mut Answer) {
    let (Some(sharing), Some(node)) = (facts.plugin.and_then(|it| it.sharing.as_ref()), facts.node)
    else {
        return;
    };
    for it in &sharing.resources {
        let has = |name: &str| node.capacity.contains_key(name);
        let is_there = has(&it.name) || has(&format!("{}.shared", it.name));
        if !is_there && !node.capacity.is_empty() {
            let title = format!("{} is to be shared, and node `{}` has none", it.name, node.name);
            let finding =
                AuditFinding::warning(About::new(AboutKind::File, it.origin.file.clone()), title)
                    .because(format!("{}: replicas: {}", it.origin, it.replicas))
                    .because(format!("{}: capacity is {}", node.origin, capacity(node)));
            answer.add(finding.remedy("name the resource as the node offers it, or give the node a configuration of its own"));
        }
    }
    for (resource, count) in &node.capacity {
        let Some(name) = ResourceName::parse(resource).filter(|it| it.is_shared) else { continue };
        let plain = ResourceName { is_shared: false, ..name }.to_string();
        if !sharing.resources.iter().any(|it| it.name == plain) {
            let title = format!(
                "node `{}` offers {count} of `{resource}`, and its configuration does not mention it",
                node.name
            );
            let finding =
                AuditFinding::warning(About::new(AboutKind::Node, node.name.clone()), title)
                    .because(format!("{}: capacity", node.origin))
                    .because(format!("{}: the configuration", sharing.origin));
            answer
                .add(finding.remedy("the plugin reads its configuration at its start: restart it"));
        }
    }
}

fn capacity(node: &NodeFacts) -> String {
    let all: Vec<String> = node.capacity.iter().map(|it| format!("{} of {}", it.1, it.0)).collect();
    all.join(", ")
}
