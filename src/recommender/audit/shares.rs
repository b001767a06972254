//! Does anybody hold more than its share?

use crate::cluster::config::facts::{ClaimSharing, SharedResource, SharingMechanism};
use crate::recommender::audit::Check;
use crate::recommender::audit::facts::Facts;
use crate::recommender::audit::finding::{About, AboutKind, Answer, AuditFinding};
use crate::recommender::audit::place::Place;
use crate::recommender::audit::residents::{Resident, listed, quoted};

pub(super) const CHECK: Check = Check {
    id: "within-share",
    question: "Does every tenant keep to the share of memory that it asked for?",
    needs: "a recording; `kubectl get pods -o json`; the device plugin's configuration; `memory_limit_mib` in `--policy`",
    remedy: "raise the share to what is held, or cap the program",
    run,
};

/// A share of memory, and whether anything holds the tenant to it.
struct Share {
    mib: f64,
    why: String,
    is_enforced: bool,
}

fn run(facts: &Facts<'_>) -> Answer {
    let mut answer = Answer::default();
    let mut open: Vec<&str> = Vec::new();
    let mut seen = 0;
    for it in &facts.residents {
        for share in shares(facts, it) {
            seen += 1;
            match facts.peak(it) {
                None => open.push(&it.label),
                Some(peak) => {
                    judge(it, &share, (peak.peak_mib, peak.clients, &peak.tenant), &mut answer)
                }
            }
        }
    }
    sums(facts, &mut answer);
    if !open.is_empty() {
        let title = format!("the most that {} held was not recorded", listed(open));
        answer.add(AuditFinding::unseen(
            title,
            "record the node while its tenants work: `cotenant record -o node`",
        ));
    }
    if seen == 0 {
        match facts.residents.is_empty() && !facts.is_cluster_known() {
            true => answer.add(AuditFinding::unseen(
                "no tenant and no share is in any file",
                "add `kubectl get pods -o json` and the device plugin's configuration",
            )),
            false => answer.add_fine("nobody was given a share of memory that it could exceed"),
        }
    }
    answer
}

/// Every share that a resident was given.
fn shares(facts: &Facts<'_>, it: &Resident<'_>) -> Vec<Share> {
    let mut shares = Vec::new();
    if let Some(mib) = it.said.memory_limit_mib {
        shares.push(Share {
            mib,
            why: "policy: `memory_limit_mib`".to_owned(),
            is_enforced: false,
        });
    }
    let total = it.place.as_ref().and_then(|it| facts.atlas.memory(it)).map(|it| it.0 as f64);
    if let Some(pod) = it.pod {
        if let Some(mib) = pod.gpu_memory_mib {
            let why = format!("{}: annotation gpu-memory is {mib}", pod.origin);
            shares.push(Share { mib: mib as f64, why, is_enforced: false });
        }
        if let (Some(fraction), Some(total)) = (pod.gpu_fraction, total) {
            let why = format!("{}: annotation gpu-fraction is {fraction}", pod.origin);
            shares.push(Share { mib: fraction * total, why, is_enforced: false });
        }
    }
    if let (Some(replica), Some(total), Some(Place::Gpu(_) | Place::Instance(..))) =
        (replica(facts, it), total, &it.place)
    {
        let is_mps = facts
            .plugin
            .and_then(|it| it.sharing.as_ref())
            .is_some_and(|it| it.mechanism == SharingMechanism::Mps);
        let mib = (total / replica.replicas as f64).floor();
        let why = format!("{}: {} replicas of {total:.0} MiB", replica.origin, replica.replicas);
        shares.push(Share { mib, why, is_enforced: is_mps });
    }
    shares
}

/// The replicated resource by which a resident got its place.
fn replica<'a>(facts: &Facts<'a>, it: &Resident<'_>) -> Option<&'a SharedResource> {
    let resource = it.resource.as_deref()?;
    let plain = resource.strip_suffix(".shared").unwrap_or(resource);
    facts.plugin?.sharing.as_ref()?.resources.iter().find(|it| it.name == plain)
}

fn judge(
    it: &Resident<'_>,
    share: &Share,
    (peak, clients, tenant): (f64, usize, &str),
    answer: &mut Answer,
) {
    let about = || About::new(AboutKind::Tenant, it.label.clone());
    let measured = format!("recording: {} held {peak:.0} MiB at most", quoted(tenant));
    let clients = clients.max(1);
    // The pinned limit of MPS holds for each CUDA client, not for each pod.
    let allowed = if share.is_enforced { share.mib * clients as f64 } else { share.mib };
    if peak > allowed {
        let title =
            format!("{} holds up to {peak:.0} MiB of a share of {:.0} MiB", it.quoted(), share.mib);
        let finding = match share.is_enforced {
            true => AuditFinding::problem(
                about(),
                format!("{title}, so the limit of MPS is not in force"),
            ),
            false => AuditFinding::warning(about(), format!("{title}, and nothing holds it back")),
        };
        let remedy = match share.is_enforced {
            true => {
                "ask the server: `echo get_default_device_pinned_mem_limit 0 | nvidia-cuda-mps-control`; set it again: `set_default_device_pinned_mem_limit 0 NM`"
            }
            false => {
                "raise the share to what it holds, or cap the program (`--gpu-memory-utilization`, `XLA_PYTHON_CLIENT_MEM_FRACTION`, `PYTORCH_CUDA_ALLOC_CONF`)"
            }
        };
        answer.add(
            finding
                .because(share.why.clone())
                .because(measured)
                .because(it.evidence.clone())
                .remedy(remedy),
        );
    } else if share.is_enforced && clients > 1 {
        let title = format!(
            "{} has {clients} clients, and each may take {:.0} MiB: together {clients} shares",
            it.quoted(),
            share.mib
        );
        let finding = AuditFinding::warning(about(), title).because(share.why.clone());
        answer.add(finding.because(format!("recording: {clients} processes of {} were seen", quoted(tenant))).remedy("give the pod as many replicas as it has clients, or divide its limit: `CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=NM`"));
    } else {
        answer.add_fine(format!(
            "{} holds up to {peak:.0} MiB of its {:.0} MiB",
            it.quoted(),
            share.mib
        ));
    }
}

/// Shares that together are more than there is.
fn sums(facts: &Facts<'_>, answer: &mut Answer) {
    for (place, residents) in facts.seats() {
        let Some((total, said)) = facts.atlas.memory(place) else { continue };
        let asked = |it: &&Resident<'_>| {
            let pod = it.pod?;
            let of_fraction = pod.gpu_fraction.map(|it| it * total as f64);
            pod.gpu_memory_mib.map(|it| it as f64).or(of_fraction)
        };
        let sum: f64 = residents.iter().filter_map(asked).sum();
        let reserved =
            facts.atlas.gpu_of(place).and_then(|it| facts.atlas.facts(it)?.memory_reserved_mib);
        let room = total as f64 - reserved.unwrap_or(0) as f64;
        // Fractions that add up to a whole GPU are meant to; what the driver keeps is a few per cent.
        if sum > total as f64
            || (sum > room
                && residents.iter().any(|it| it.pod.is_some_and(|it| it.gpu_memory_mib.is_some())))
        {
            let label = facts.atlas.label(place);
            let title = format!(
                "the tenants of {label} asked for {sum:.0} MiB together, and {room:.0} MiB can be had"
            );
            let names = residents.iter().map(|it| it.evidence.clone());
            answer.add(AuditFinding::problem(facts.atlas.about(place), title).because(said).because_of(names).remedy("move one of them, or lower `gpu-memory` and `gpu-fraction`; the driver keeps a part of the memory to itself"));
        }
    }
    for claim in &facts.words.claim_templates {
        for request in &claim.requests {
            if let Some(ClaimSharing::Mps { memory_limit: None, memory_limit_by_device, .. }) =
                &request.sharing
                && memory_limit_by_device.is_empty()
            {
                let title = format!(
                    "claim `{}` shares through MPS without a limit of memory for each client",
                    claim.name
                );
                let finding = AuditFinding::warning(
                    About::new(AboutKind::File, claim.origin.file.clone()),
                    title,
                )
                .because(format!("{}: mpsConfig without a pinned limit", claim.origin));
                answer.add(
                    finding.remedy("add `defaultPinnedDeviceMemoryLimit: 8Gi` to its `mpsConfig`"),
                );
            }
        }
    }
}
