//! Is each pod on the device that it asked for?

use crate::cluster::kube::facts::Assignment;
use crate::cluster::resource::{DeviceId, ResourceName};
use crate::recommender::audit::Check;
use crate::recommender::audit::facts::Facts;
use crate::recommender::audit::finding::{About, AboutKind, Answer, AuditFinding};
use crate::recommender::audit::measured::is_named;
use crate::recommender::audit::place::Place;
use crate::recommender::audit::residents::{deletion, is_of, listed, quoted};
use crate::recommender::audit::trust::SEATS;
use std::collections::BTreeMap;

pub(super) const CHECK: Check = Check {
    id: "pods-seated",
    question: "Does each pod sit on the instance that it asked for, alone if it should?",
    needs: "the kubelet's pod resources; `kubectl get pods -o json`; `nvidia-smi -L` and `nvidia-smi -q`",
    remedy: "delete the pod, so that it is placed again",
    run,
};

fn run(facts: &Facts<'_>) -> Answer {
    let mut answer = Answer::default();
    processes(facts, &mut answer);
    if facts.words.assignments.is_empty() {
        let title = "nothing says which device the kubelet gave to which pod";
        answer.add(AuditFinding::unseen(title, SEATS));
        return answer;
    }
    let before = answer.findings.len();
    facts.words.assignments.iter().for_each(|it| device(facts, it, &mut answer));
    crowded(facts, &mut answer);
    counted(facts, &mut answer);
    strangers(facts, &mut answer);
    if answer.findings.len() == before {
        let pods = facts.seats().values().map(Vec::len).sum::<usize>();
        answer.add_fine(format!("{pods} pods and tenants sit where they were sent"));
    }
    answer
}

/// Which processes sit on which instance.
fn processes(facts: &Facts<'_>, answer: &mut Answer) {
    let mut on: BTreeMap<Place, Vec<u32>> = BTreeMap::new();
    for it in &facts.words.processes {
        match facts.atlas.of_process(it) {
            Some(place) => on.entry(place).or_default().push(it.pid),
            None => {
                let instance = it.gpu_instance.unwrap_or_default();
                let title =
                    format!("process {} is on instance {instance}, which no file lists", it.pid);
                let evidence = format!("{}: the process", it.origin);
                answer.add(
                    AuditFinding::unseen(
                        title,
                        "add `nvidia-smi -L` and `nvidia-smi -q` of the same moment",
                    )
                    .because(evidence),
                );
            }
        }
    }
    for (place, pids) in on {
        let label = facts.atlas.label(&place);
        let shown: Vec<String> = pids.iter().take(8).map(u32::to_string).collect();
        let more = pids.len().saturating_sub(shown.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let word = if pids.len() == 1 { "process" } else { "processes" };
        answer.add_fine(format!("{word} {}{more} on {label}", shown.join(", ")));
    }
}

/// Whether a device is what its resource says, and is there at all.
fn device(facts: &Facts<'_>, given: &Assignment, answer: &mut Answer) {
    let name = format!("{}/{}", given.namespace, given.pod);
    let who = quoted(&name);
    let about = About::new(AboutKind::Tenant, name.clone());
    let again = deletion(&given.namespace, &given.pod);
    let evidence =
        |id: &str| format!("{}: {who} was given {id} as {}", given.origin, given.resource);
    match facts.atlas.of_assignment(given) {
        Some(Place::Unlisted(id)) if is_gone(facts, given) => {
            let title = format!("{who} holds a device that does not exist any more");
            let finding = AuditFinding::problem(about, title)
                .because(evidence(&id))
                .because("no GPU or MIG device of the node has this id");
            answer.add(finding.remedy(format!(
                "the layout was changed below it: {again}, and drain before the next change"
            )));
        }
        Some(Place::Unlisted(id)) => {
            let title = format!("the device of {who} is in no file");
            let unseen =
                AuditFinding::unseen(title, "add `nvidia-smi -L`, which names every device");
            answer.add(unseen.because(evidence(&id)));
        }
        Some(Place::Gpu(gpu)) if facts.atlas.devices(gpu).next().is_some() => {
            let label = facts.atlas.key(gpu).to_string();
            let title =
                format!("{who} was given the whole of {label}, which is cut into instances");
            let finding = AuditFinding::problem(about, title).because(evidence(&label));
            answer.add(finding.remedy(format!(
                "the plugin does not know about MIG: set `migStrategy: mixed`, restart it, and {again}"
            )));
        }
        Some(place @ Place::Instance(..)) => {
            let wanted = ResourceName::parse(&given.resource).and_then(|it| it.profile);
            let found = facts.atlas.device(&place).and_then(|it| facts.atlas.profile_of(it));
            let Some((wanted, found)) = wanted.zip(found) else { return };
            if !found.eq_ignore_ascii_case(&wanted) {
                let label = facts.atlas.label(&place);
                let title = format!("{who} asked for {wanted} and sits on {label}");
                let finding = AuditFinding::problem(about, title).because(evidence(&label));
                answer.add(finding.remedy(format!("restart the device plugin, then {again}")));
            }
        }
        Some(Place::Gpu(_)) | None => {}
    }
}

/// Whether the files list ids of such devices, and this one is not among them.
fn is_gone(facts: &Facts<'_>, given: &Assignment) -> bool {
    match given.device {
        DeviceId::Mig(_) | DeviceId::MigInstances(..) => {
            facts.words.mig_devices.iter().any(|it| it.uuid.is_some())
        }
        _ => facts.words.gpus.iter().any(|it| it.gpu.uuid.is_some()),
    }
}

/// Several pods on a device that is not offered as shared.
fn crowded(facts: &Facts<'_>, answer: &mut Answer) {
    let mut on: BTreeMap<Place, Vec<&Assignment>> = BTreeMap::new();
    for it in &facts.words.assignments {
        if let Some(place) = facts.atlas.of_assignment(it) {
            on.entry(place).or_default().push(it);
        }
    }
    for (place, given) in on {
        let is_replica = |it: &&Assignment| {
            it.replica.is_some() || ResourceName::parse(&it.resource).is_some_and(|it| it.is_shared)
        };
        let mut names: Vec<String> =
            given.iter().map(|it| format!("{}/{}", it.namespace, it.pod)).collect();
        names.sort();
        names.dedup();
        // A compute instance is a device of its own, although it shares the memory of its neighbours.
        let mut devices: Vec<&DeviceId> = given.iter().map(|it| &it.device).collect();
        devices.sort();
        devices.dedup();
        if names.len() > 1 && devices.len() == 1 && !given.iter().all(is_replica) {
            let label = facts.atlas.label(&place);
            let title = format!(
                "{} sit on {label} at once, which is not offered as shared",
                listed(names.iter().map(String::as_str))
            );
            let evidence = given.iter().map(|it| {
                format!("{}: {} was given {label} as {}", it.origin, quoted(&it.pod), it.resource)
            });
            let finding =
                AuditFinding::problem(facts.atlas.about(&place), title).because_of(evidence);
            answer.add(finding.remedy("delete all but one of them; if they keep meeting there, restart the kubelet, whose checkpoint is out of date"));
        }
    }
}

/// Pods that run and did not get what they ask for.
fn counted(facts: &Facts<'_>, answer: &mut Answer) {
    for pod in &facts.pods {
        let name = format!("{}/{}", pod.namespace, pod.name);
        for resource in pod.resources() {
            let asked = pod.asks_for(resource);
            let given = facts
                .words
                .assignments
                .iter()
                .filter(|it| is_of(it, pod) && it.resource == resource)
                .count() as u64;
            if asked != given && asked > 0 {
                let title =
                    format!("{} asks for {asked} of {resource} and holds {given}", quoted(&name));
                let finding =
                    AuditFinding::problem(About::new(AboutKind::Tenant, name.clone()), title)
                        .because(format!("{}: the pod runs and asks for {asked}", pod.origin))
                        .because(format!("the kubelet's pod resources list {given} for it"));
                answer.add(finding.remedy(format!(
                    "save both files at one moment; if it stays so, {}",
                    deletion(&pod.namespace, &pod.name)
                )));
            }
        }
    }
}

/// Processes of a pod that run where it has nothing.
fn strangers(facts: &Facts<'_>, answer: &mut Answer) {
    for process in &facts.words.processes {
        let owner = facts.measured.owners.iter().find(|it| it.0 == process.pid);
        let (Some((_, owner)), Some(place)) = (owner, facts.atlas.of_process(process)) else {
            continue;
        };
        let is_owner = |label: &str| is_named(owner, label);
        let mine: Vec<&Place> = facts
            .residents
            .iter()
            .filter(|it| it.pod.is_some() && is_owner(&it.label))
            .filter_map(|it| it.place.as_ref())
            .collect();
        if !mine.is_empty() && !mine.contains(&&place) {
            let (label, own) = (facts.atlas.label(&place), facts.atlas.label(mine[0]));
            let title = format!(
                "{} was given {own}, and its process {} runs on {label}",
                quoted(owner),
                process.pid
            );
            let finding =
                AuditFinding::problem(About::new(AboutKind::Tenant, owner.clone()), title)
                    .because(format!("{}: process {} is on {label}", process.origin, process.pid))
                    .because(format!(
                        "recording: process {} belongs to {}",
                        process.pid,
                        quoted(owner)
                    ));
            answer.add(finding.remedy("take `NVIDIA_VISIBLE_DEVICES`, `CUDA_VISIBLE_DEVICES` and `privileged` out of its manifest"));
        }
    }
}
