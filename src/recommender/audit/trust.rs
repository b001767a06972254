//! Does the mechanism fit the trust between those who share?

use crate::recommender::audit::Check;
use crate::recommender::audit::facts::Facts;
use crate::recommender::audit::finding::{Answer, AuditFinding};
use crate::recommender::audit::place::Place;
use crate::recommender::audit::residents::{Resident, is_fraction, listed};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const CHECK: Check = Check {
    id: "mechanism-fits-trust",
    question: "Do only tenants that trust each other share a GPU or a MIG instance?",
    needs: "the kubelet's pod resources or a recording; `trust_domain` in `--policy`",
    remedy: "give each trust domain MIG instances or GPUs of its own",
    run,
};

/// How the files of who sits where are made.
pub(super) const SEATS: &str = "add the kubelet's pod resources: `grpcurl -plaintext -unix -proto api.proto /var/lib/kubelet/pod-resources/kubelet.sock v1.PodResourcesLister/List > pod-resources.json`, with `api.proto` of k8s.io/kubelet, or a recording";

fn run(facts: &Facts<'_>) -> Answer {
    let placed = facts.residents.iter().filter(|it| it.place.is_some()).count();
    let mut answer = Answer::default();
    if placed == 0 {
        return Answer::unseen("nothing says which tenant is on which GPU or instance", SEATS);
    }
    let shared = facts.shared();
    for (place, residents) in &shared {
        judge(facts, place, residents, &mut answer);
    }
    let alone = facts.seats().len() - shared.len();
    if alone > 0 {
        let places = if alone == 1 {
            "1 GPU or instance has"
        } else {
            &format!("{alone} GPUs or instances have")
        };
        answer.add_fine(format!("{places} one tenant only"));
    }
    unplaced(facts, &mut answer);
    answer
}

fn judge(facts: &Facts<'_>, place: &Place, residents: &[&Resident<'_>], answer: &mut Answer) {
    let mut domains: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut unstated: Vec<&Resident<'_>> = Vec::new();
    for it in residents {
        match &it.said.trust_domain {
            Some(domain) => domains.entry(domain).or_default().push(&it.label),
            None => unstated.push(it),
        }
    }
    let (label, sharing) = (facts.atlas.label(place), facts.sharing(place));
    let how = format!("{label} {}", sharing.words());
    let names = listed(residents.iter().map(|it| it.label.as_str()));
    let about = facts.atlas.about(place);
    let with_evidence = |it: AuditFinding| {
        it.because_of(residents.iter().map(|it| it.evidence.clone()))
            .because_of(sharing.evidence.clone())
    };
    if domains.len() > 1 {
        let who: Vec<String> = domains
            .iter()
            .map(|it| format!("{} of `{}`", listed(it.1.iter().copied()), it.0))
            .collect();
        let title = format!("different trust domains share {how}: {}", who.join(", "));
        let finding = with_evidence(AuditFinding::problem(about, title));
        answer.add(finding.remedy(apart(place)));
        return;
    }
    if unstated.is_empty() {
        let domain = domains.keys().next().copied().unwrap_or_default();
        answer.add_fine(format!("{names} share {how}, all of trust domain `{domain}`"));
        return;
    }
    let namespaces: BTreeSet<&Option<String>> = residents.iter().map(|it| &it.namespace).collect();
    let is_one_namespace = namespaces.len() == 1 && !namespaces.contains(&None);
    let entry =
        "say so in the policy: `[[tenant]]`, `name = \"NAMESPACE/*\"`, `trust_domain = \"TEAM\"`";
    let title = match facts.has_tenants {
        true => format!("nothing says whether {names} trust each other, who share {how}"),
        false => format!(
            "without a policy of tenants it is open whether {names}, who share {how}, trust each other"
        ),
    };
    let finding = match (facts.has_tenants, is_one_namespace && domains.is_empty()) {
        (false, _) => AuditFinding::unseen(title, "").about(about),
        (true, true) => AuditFinding::note(about, title),
        (true, false) => AuditFinding::warning(about, title),
    };
    let remedy = match facts.has_tenants {
        true => format!("{entry}; if they do not, {}", apart(place)),
        false => format!("give `--policy FILE`, and {entry}"),
    };
    answer.add(with_evidence(finding).remedy(remedy));
}

fn apart(place: &Place) -> String {
    match place {
        Place::Instance(..) | Place::Unlisted(_) => {
            "give each a MIG instance of its own: take the resource out of `sharing` in the device plugin's configuration".to_owned()
        }
        Place::Gpu(_) => {
            "give each a MIG instance or a GPU of its own: `cotenant recommend` says which, and until then use a `nodeSelector` or taint for each domain".to_owned()
        }
    }
}

/// Pods that share somewhere, nobody knows where.
fn unplaced(facts: &Facts<'_>, answer: &mut Answer) {
    let lost: Vec<&str> = facts
        .residents
        .iter()
        .filter(|it| {
            let is_shared = it.resource.as_deref().is_some_and(|it| it.ends_with(".shared"));
            it.place.is_none() && (is_shared || it.pod.is_some_and(is_fraction))
        })
        .map(|it| it.label.as_str())
        .collect();
    if !lost.is_empty() {
        let title = format!("{} share GPUs, and nothing says which", listed(lost));
        answer.add(AuditFinding::unseen(title, SEATS));
    }
}
