//! Where somebody waits for others: did every tenant accept that?

use crate::recommender::audit::Check;
use crate::recommender::audit::facts::Facts;
use crate::recommender::audit::finding::{Answer, AuditFinding};
use crate::recommender::audit::place::Place;
use crate::recommender::audit::residents::{Resident, listed};
use crate::recommender::audit::sharing::Sharing;
use crate::recommender::audit::trust::SEATS;
use crate::recommender::tenant_policy::Class;

pub(super) const CHECK: Check = Check {
    id: "stalls-accepted",
    question: "Where tenants take turns, has each accepted that a heavy neighbour stalls it?",
    needs: "the kubelet's pod resources or a recording; `class` or `may_stall` in `--policy`",
    remedy: "move latency-sensitive and training tenants to MIG instances or GPUs of their own",
    run,
};

/// What a tenant says about waiting.
enum Word {
    Accepts,
    Refuses(&'static str),
    Silent,
}

fn word(it: &Resident<'_>, sharing: &Sharing) -> Word {
    let said = &it.said;
    match said.class {
        _ if said.whole_device == Some(true) => Word::Refuses("wants a whole device"),
        Some(Class::Training) if said.whole_device.is_none() => {
            Word::Refuses("is training, which wants a whole device")
        }
        Some(Class::LatencySensitive) => Word::Refuses("is latency-sensitive"),
        _ if said.latency.is_some() => Word::Refuses("has a latency target"),
        _ if sharing.is_mps() => Word::Accepts,
        _ if said.may_stall == Some(false) => Word::Refuses("may not stall"),
        _ if said.may_stall == Some(true) => Word::Accepts,
        Some(class) if class.tolerates_faults() => Word::Accepts,
        _ => Word::Silent,
    }
}

fn run(facts: &Facts<'_>) -> Answer {
    if facts.residents.iter().all(|it| it.place.is_none()) {
        return Answer::unseen("nothing says which tenants take turns", SEATS);
    }
    let shared = facts.shared();
    if shared.is_empty() {
        return Answer::fine(
            "no two tenants share a GPU or an instance, so nobody waits for another",
        );
    }
    let mut answer = Answer::default();
    for (place, residents) in &shared {
        judge(facts, place, residents, &mut answer);
    }
    answer
}

fn judge(facts: &Facts<'_>, place: &Place, residents: &[&Resident<'_>], answer: &mut Answer) {
    let sharing = facts.sharing(place);
    let (how, about) =
        (format!("{} {}", facts.atlas.label(place), sharing.words()), facts.atlas.about(place));
    let mut silent: Vec<&str> = Vec::new();
    let mut accepting: Vec<&str> = Vec::new();
    for it in residents {
        match word(it, &sharing) {
            Word::Accepts => accepting.push(&it.label),
            Word::Silent => silent.push(&it.label),
            Word::Refuses(why) => {
                let others = residents.iter().filter(|other| other.label != it.label);
                let others = listed(others.map(|it| it.label.as_str()));
                let title = format!("{} {why} and shares {how} with {others}", it.quoted());
                let finding = AuditFinding::problem(about.clone(), title)
                    .because(format!("policy: {} {why}", it.quoted()))
                    .because_of(residents.iter().map(|it| it.evidence.clone()))
                    .because_of(sharing.evidence.clone());
                answer.add(finding.remedy(format!(
                    "move {} to a MIG instance (`nvidia.com/mig-PROFILE: 1`) or a GPU of its own; `cotenant whatif` says what sharing costs its p99",
                    it.quoted()
                )));
            }
        }
    }
    if !silent.is_empty() {
        let names = listed(silent.iter().copied());
        let remedy = "say in the policy what each is: `class = \"development\"` or `\"batch\"`, or `may_stall = true`; move those that must not wait";
        let evidence = residents.iter().map(|it| it.evidence.clone());
        let title = format!("nothing says that {names} may be stalled on {how}");
        let finding = match facts.has_tenants {
            true => AuditFinding::warning(about, title),
            false => AuditFinding::unseen(title, "").about(about),
        };
        let remedy = if facts.has_tenants {
            remedy.to_owned()
        } else {
            format!("give `--policy FILE`, and {remedy}")
        };
        answer
            .add(finding.because_of(evidence).because_of(sharing.evidence.clone()).remedy(remedy));
    } else if accepting.len() == residents.len() {
        answer.add_fine(format!("{} accept to share {how}", listed(accepting)));
    }
}
