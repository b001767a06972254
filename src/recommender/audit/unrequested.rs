//! Who uses a GPU without having asked for it?

use crate::cluster::facts::GpuProcess;
use crate::cluster::kube::facts::{ContainerFacts, PodFacts};
use crate::cluster::resource::DeviceId;
use crate::recommender::audit::Check;
use crate::recommender::audit::facts::Facts;
use crate::recommender::audit::finding::{About, AboutKind, Answer, AuditFinding};
use crate::recommender::audit::place::Place;
use crate::recommender::audit::residents::{DRIVERS, is_fraction, is_of, quoted};
use crate::recommender::audit::sharing::is_mps;
use crate::recommender::audit::trust::SEATS;

pub(super) const CHECK: Check = Check {
    id: "unrequested-use",
    question: "Does anybody use a GPU that it did not ask for?",
    needs: "`kubectl get pods -o json`; the kubelet's pod resources; `nvidia-smi -q`; a recording",
    remedy: "take `NVIDIA_VISIBLE_DEVICES` and `privileged` out of the manifest, and ask for a resource",
    run,
};

/// Memory that nobody visible holds, from which it is told, MiB: contexts and the driver take less.
const HIDDEN_MIB: u64 = 1024;
/// The same as a share of the memory.
const HIDDEN_RATIO: f64 = 0.05;

fn run(facts: &Facts<'_>) -> Answer {
    let mut answer = Answer::default();
    match facts.words.pods.is_empty() {
        true => answer.add(AuditFinding::unseen(
            "what pods ask for, and what they may see, is in no file",
            "add `kubectl get pods -A -o json --field-selector spec.nodeName=NODE`",
        )),
        false => pods(facts, &mut answer),
    }
    processes(facts, &mut answer);
    hidden(facts, &mut answer);
    ghosts(facts, &mut answer);
    answer
}

fn pods(facts: &Facts<'_>, answer: &mut Answer) {
    let before = answer.findings.len();
    let mut drivers = 0;
    for pod in &facts.pods {
        if DRIVERS.contains(&pod.namespace.as_str()) {
            drivers += 1;
            continue;
        }
        pod.containers.iter().for_each(|it| container(facts, pod, it, answer));
    }
    if answer.findings.len() == before {
        let others = facts.pods.len() - drivers;
        let beside = if drivers > 0 {
            format!(" ({drivers} of the drivers see all, as they must)")
        } else {
            String::new()
        };
        answer.add_fine(format!("{others} pods see what they asked for and no more{beside}"));
    }
}

/// Ids of devices that a container names, if its list names devices at all.
fn named(list: &str) -> Vec<DeviceId> {
    let ids = list.split(',').map(str::trim).filter(|it| !it.is_empty());
    let devices = ids.filter(|it| !matches!(*it, "all" | "none" | "void"));
    // Lists that a container runtime takes from a mount begin with a path.
    devices.filter(|it| !it.starts_with('/')).map(|it| DeviceId::parse(it).0).collect()
}

fn container(facts: &Facts<'_>, pod: &PodFacts, it: &ContainerFacts, answer: &mut Answer) {
    let name = format!("{}/{}", pod.namespace, pod.name);
    let about = || About::new(AboutKind::Tenant, name.clone());
    let asks = it.limits.values().chain(it.requests.values()).any(|it| *it > 0);
    let shown = format!("{}, container {}", quoted(&name), quoted(&it.name));
    let remedy = "take the variable out of the manifest, and ask for a resource: `resources: { limits: { nvidia.com/gpu: 1 } }`; cluster-wide: `accept-nvidia-visible-devices-envvar-when-unprivileged = false` in the container toolkit's config.toml";
    if it.sees_all_devices() {
        let title = match asks {
            true => format!("{shown} asks for a part and sees every GPU of the node"),
            false => format!("{shown} sees every GPU of the node and asks for none"),
        };
        let evidence = format!("{}: NVIDIA_VISIBLE_DEVICES is all", pod.origin);
        answer.add(AuditFinding::problem(about(), title).because(evidence).remedy(remedy));
        return;
    }
    if let Some(list) = it.environment.get("NVIDIA_VISIBLE_DEVICES") {
        let given: Vec<&DeviceId> = facts
            .words
            .assignments
            .iter()
            .filter(|to| is_of(to, pod))
            .map(|it| &it.device)
            .collect();
        let foreign = named(list).into_iter().filter(|it| !given.contains(&it)).count();
        if foreign > 0 && !(given.is_empty() && asks) {
            let title = format!("{shown} names devices that it was not given");
            let evidence = format!("{}: NVIDIA_VISIBLE_DEVICES is {list}", pod.origin);
            answer.add(AuditFinding::problem(about(), title).because(evidence).remedy(remedy));
            return;
        }
    }
    if it.is_privileged && !it.is_init {
        let title = format!(
            "{shown} is privileged, so it can use every GPU of the node whatever it asks for"
        );
        let evidence = format!("{}: securityContext.privileged is true", pod.origin);
        answer.add(AuditFinding::warning(about(), title).because(evidence).remedy("take `privileged: true` out of the manifest, or keep it away from nodes with GPUs by a taint"));
    } else {
        runtime(pod, it, &shown, answer);
    }
}

/// A container that the runtime of NVIDIA starts although it asks for no GPU.
fn runtime(pod: &PodFacts, it: &ContainerFacts, shown: &str, answer: &mut Answer) {
    let is_nvidia = pod.runtime_class.as_deref().is_some_and(|it| it.starts_with("nvidia"));
    let asks = !pod.resources().is_empty() || is_fraction(pod);
    let is_told = it.environment.contains_key("NVIDIA_VISIBLE_DEVICES");
    if is_nvidia && !asks && !is_told && !it.is_init {
        let title = format!(
            "{shown} runs under NVIDIA's runtime and asks for nothing: an image that sets NVIDIA_VISIBLE_DEVICES sees every GPU"
        );
        let name = format!("{}/{}", pod.namespace, pod.name);
        let finding = AuditFinding::note(About::new(AboutKind::Tenant, name), title)
            .because(format!("{}: a runtimeClassName of NVIDIA, and no resource", pod.origin));
        answer.add(finding.remedy(
            "take `runtimeClassName` out of the manifest, or set `NVIDIA_VISIBLE_DEVICES=void`",
        ));
    }
}

/// Processes where nobody was given anything.
fn processes(facts: &Facts<'_>, answer: &mut Answer) {
    if facts.words.processes.is_empty() || facts.words.assignments.is_empty() {
        if facts.is_cluster_known() || !facts.words.assignments.is_empty() {
            let missing = if facts.words.processes.is_empty() {
                "add `nvidia-smi -q`, taken as root on the host"
            } else {
                SEATS
            };
            answer.add(AuditFinding::unseen(
                "whether processes run outside of pods cannot be told",
                missing,
            ));
        }
        return;
    }
    let computes =
        |it: &&GpuProcess| it.kind.as_deref().is_none_or(|it| it.contains('C')) && !is_server(it);
    let mut in_pods = 0;
    for it in facts.words.processes.iter().filter(computes) {
        let Some(place) = facts.atlas.of_process(it) else { continue };
        let is_given = facts
            .residents
            .iter()
            .any(|to| to.resource.is_some() && to.place.as_ref() == Some(&place));
        // Of dynamic allocation it is not known which device a claim stands for.
        let may_be_claimed = facts.residents.iter().any(|to| to.place.is_none());
        if is_given || may_be_claimed {
            in_pods += 1;
            continue;
        }
        let program = it.name.as_deref().map(|it| format!(" ({})", quoted(it))).unwrap_or_default();
        let owner = facts.measured.owners.iter().find(|to| to.0 == it.pid);
        let owner = owner.map(|it| format!(" of {}", quoted(&it.1))).unwrap_or_default();
        let label = facts.atlas.label(&place);
        let title =
            format!("process {}{program}{owner} uses {label}, which no pod was given", it.pid);
        let held = it.memory_mib.map(|it| format!(", {it} MiB")).unwrap_or_default();
        let finding =
            AuditFinding::problem(About::new(AboutKind::Process, it.pid.to_string()), title)
                .because(format!("{}: the process{held}", it.origin))
                .because(format!("the kubelet's pod resources give {label} to nobody"));
        answer.add(finding.remedy(format!("find whose it is: `ps -o pid,user,cgroup,args -p {}`; end it, or let it ask for a resource", it.pid)));
    }
    if in_pods > 0 {
        answer.add_fine(format!("{in_pods} processes run where a pod was given the device"));
    }
}

fn is_server(process: &GpuProcess) -> bool {
    is_mps(process) && process.name.as_deref().is_some_and(|it| it.contains("mps-serv"))
}

/// Memory in use that no listed process holds.
fn hidden(facts: &Facts<'_>, answer: &mut Answer) {
    for gpu in 0..facts.atlas.len() {
        let Some(it) = facts.atlas.facts(gpu) else { continue };
        let (Some(used), Some(total)) = (it.memory_used_mib, it.memory_total_mib) else { continue };
        let mine =
            || facts.words.processes.iter().filter(|it| facts.atlas.gpu(&it.gpu) == Some(gpu));
        // A process whose memory is not said may hold all of it.
        let Some(held) = mine()
            .map(|it| it.memory_mib.or((it.kind.as_deref() == Some("G")).then_some(0)))
            .sum::<Option<u64>>()
        else {
            continue;
        };
        let contexts = 512 * mine().count() as u64;
        let rest = used.saturating_sub(held + contexts);
        if rest >= HIDDEN_MIB && rest as f64 >= HIDDEN_RATIO * total as f64 {
            let label = facts.atlas.label(&Place::Gpu(gpu));
            let title = format!("{rest} MiB of {label} are in use by nobody visible");
            let finding =
                AuditFinding::warning(About::new(AboutKind::Gpu, label), title).because(format!(
                    "{}: {used} MiB in use, {held} MiB held by {} listed processes",
                    it.detailed_at(),
                    mine().count()
                ));
            answer.add(finding.remedy("look from the host as root: `sudo nvidia-smi`, `sudo fuser -v /dev/nvidia*`; what no process holds comes free with a reset or a reboot"));
        }
    }
}

/// Hidden memory of a recording.
fn ghosts(facts: &Facts<'_>, answer: &mut Answer) {
    for (it, peak) in facts.measured.ghosts.iter().filter(|it| it.1 >= HIDDEN_MIB as f64) {
        let about = match &it.place {
            Some(place) => facts.atlas.about(place),
            None => About::new(AboutKind::Gpu, it.label.clone()),
        };
        let title = format!("up to {peak:.0} MiB of {} were held by nobody visible", it.label);
        let finding =
            AuditFinding::warning(about, title).because(format!("recording: {}", it.sentence));
        answer.add(finding.remedy("look from the host as root: `sudo nvidia-smi`, `sudo fuser -v /dev/nvidia*`; record with `hostPID: true`"));
    }
}
