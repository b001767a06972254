//! Where MPS is used: is it guarded, and who falls with whom?

use crate::cluster::facts::{ComputeMode, GpuProcess};
use crate::recommender::audit::Check;
use crate::recommender::audit::facts::Facts;
use crate::recommender::audit::finding::{Answer, AuditFinding};
use crate::recommender::audit::place::Place;
use crate::recommender::audit::residents::{Resident, listed};
use crate::recommender::audit::sharing::is_mps;

pub(super) const CHECK: Check = Check {
    id: "mps-guarded",
    question: "Where MPS is used: does everything go through one server of one user, and may its clients fall together?",
    needs: "`nvidia-smi -q`; the kubelet's pod resources; `may_crash` in `--policy`",
    remedy: "`nvidia-smi -c EXCLUSIVE_PROCESS`; one user and one trust domain for each server",
    run,
};

fn run(facts: &Facts<'_>) -> Answer {
    if facts.atlas.len() == 0 {
        return Answer::unseen("no file lists a GPU", "add `nvidia-smi -q`");
    }
    let mut answer = Answer::default();
    for place in facts.atlas.places() {
        let here = |it: &&GpuProcess| facts.atlas.of_process(it).as_ref() == Some(&place);
        let clients: Vec<_> = facts.words.processes.iter().filter(here).collect();
        let is_configured = facts.sharing(&place).is_mps();
        if is_configured || clients.iter().any(|it| is_mps(it)) {
            one(facts, &place, &mut answer);
        }
    }
    if answer.fine.is_empty() && answer.findings.is_empty() {
        let is_known =
            !facts.words.processes.is_empty() || facts.plugin.is_some() || facts.node.is_some();
        return match is_known {
            true => Answer::fine("nothing goes through MPS"),
            false => Answer::unseen(
                "whether MPS is used is in no file",
                "add `nvidia-smi -q`, and the device plugin's configuration",
            ),
        };
    }
    answer
}

fn one(facts: &Facts<'_>, place: &Place, answer: &mut Answer) {
    let (label, about) = (facts.atlas.label(place), facts.atlas.about(place));
    let sharing = facts.sharing(place);
    if let Place::Gpu(gpu) = place {
        let found = facts.atlas.facts(*gpu);
        let index =
            found.and_then(|it| it.gpu.index).map_or_else(|| "GPU".to_owned(), |it| it.to_string());
        match found.and_then(|it| Some((it.compute_mode?, it.detailed_at()))) {
            Some((ComputeMode::ExclusiveProcess, _)) => {
                answer.add_fine(format!("{label} takes one process, which is the MPS server"));
            }
            Some((mode, origin)) => {
                let title = format!("{label} uses MPS, and lets programs past its server");
                let finding = AuditFinding::warning(about.clone(), title)
                    .because(format!("{origin}: compute mode is {}", word(mode)))
                    .because_of(sharing.evidence.clone());
                answer.add(finding.remedy(format!("`nvidia-smi -i {index} -c EXCLUSIVE_PROCESS`")));
            }
            None => answer.add(AuditFinding::unseen(
                format!("the compute mode of {label} is in no file"),
                "add `nvidia-smi -q`",
            )),
        }
    }
    past(facts, place, answer);
    domain(facts, place, answer);
}

fn word(mode: ComputeMode) -> &'static str {
    match mode {
        ComputeMode::Default => "Default",
        ComputeMode::ExclusiveProcess => "Exclusive_Process",
        ComputeMode::Prohibited => "Prohibited",
    }
}

/// Programs beside the server.
fn past(facts: &Facts<'_>, place: &Place, answer: &mut Answer) {
    let here = facts
        .words
        .processes
        .iter()
        .filter(|it| facts.atlas.of_process(it).as_ref() == Some(place));
    let (through, beside): (Vec<_>, Vec<_>) = here
        .filter(|it| it.kind.as_deref().is_some_and(|it| it.contains('C')))
        .partition(|it| is_mps(it));
    // Before Volta, and in some containers, only the server is listed.
    if through.is_empty() || beside.is_empty() {
        return;
    }
    let label = facts.atlas.label(place);
    let pids: Vec<String> = beside.iter().map(|it| it.pid.to_string()).collect();
    let (word, verb) = if pids.len() == 1 { ("process", "runs") } else { ("processes", "run") };
    let title = format!(
        "{word} {} of {label} {verb} beside the MPS server, in turns with all of its clients",
        pids.join(", ")
    );
    let finding = AuditFinding::warning(facts.atlas.about(place), title).because_of(
        beside.iter().map(|it| {
            format!(
                "{}: process {} is of type {}",
                it.origin,
                it.pid,
                it.kind.as_deref().unwrap_or("C")
            )
        }),
    );
    answer.add(finding.remedy(
        "start them with the server's `CUDA_MPS_PIPE_DIRECTORY`, or move them to another GPU",
    ));
}

/// Who falls with whom.
fn domain(facts: &Facts<'_>, place: &Place, answer: &mut Answer) {
    let Some((_, residents)) = facts.shared().into_iter().find(|it| it.0 == place) else { return };
    let label = facts.atlas.label(place);
    let names = listed(residents.iter().map(|it| it.label.as_str()));
    let about = facts.atlas.about(place);
    let evidence = || residents.iter().map(|it| it.evidence.clone());
    let accepts = |it: &&&Resident<'_>| {
        it.said.may_crash.unwrap_or(it.said.class.is_some_and(|it| it.tolerates_faults()))
    };
    let refusing: Vec<&str> = residents
        .iter()
        .filter(|it| it.said.may_crash == Some(false))
        .map(|it| it.label.as_str())
        .collect();
    let calm = "end a client with `terminate_client SERVER PID` before its process";
    if !refusing.is_empty() {
        let title = format!(
            "{} may not crash, and a fault in any of {names} ends them all on {label}",
            listed(refusing)
        );
        let finding = AuditFinding::problem(about.clone(), title).because_of(evidence());
        answer.add(
            finding.remedy(format!(
                "move it to a MIG instance or a GPU of its own; until then {calm}"
            )),
        );
    } else if residents.iter().filter(accepts).count() == residents.len() {
        answer.add_fine(format!("{names} accept to fall together on {label}"));
    } else {
        let title = format!("a fault in any of {names} ends them all on {label}");
        let finding = AuditFinding::note(about.clone(), title).because_of(evidence());
        answer
            .add(finding.remedy(format!("say in the policy who may (`may_crash = true`); {calm}")));
    }
    let pids: Vec<String> = facts
        .words
        .processes
        .iter()
        .filter(|it| facts.atlas.of_process(it).as_ref() == Some(place))
        .map(|it| it.pid.to_string())
        .collect();
    let title = format!(
        "whether the clients on {label} run as one user is in no file; a server takes one user at a time, and others wait"
    );
    let list = if pids.is_empty() { "PIDS".to_owned() } else { pids.join(",") };
    answer.add(
        AuditFinding::unseen(title, format!("compare `ps -o pid,user= -p {list}` on the host"))
            .about(about),
    );
}
