//! Do instances and GPUs fit what their tenants hold, with neither too little nor tens of gigabytes too much?

use crate::domain::shares::share as percent;
use crate::recommender::audit::Check;
use crate::recommender::audit::facts::Facts;
use crate::recommender::audit::finding::{About, AboutKind, Answer, AuditFinding};
use crate::recommender::audit::measured::{Peak, Told};
use crate::recommender::audit::place::Place;
use crate::recommender::audit::residents::{Resident, quoted};
use crate::recommender::layout::{Need, fitting};

pub(super) const CHECK: Check = Check {
    id: "profiles-fit",
    question: "Does every MIG profile fit its tenant, with neither out of memory nor tens of GB stranded?",
    needs: "a recording of the tenants; `nvidia-smi -q` and `nvidia-smi -L`",
    remedy: "move the tenant to the profile that is named",
    run,
};

/// A GiB in MiB.
const GIB: f64 = 1024.0;

fn run(facts: &Facts<'_>) -> Answer {
    let mut answer = Answer::default();
    let mut open: Vec<String> = Vec::new();
    for place in facts.atlas.places() {
        full_now(facts, &place, &mut answer);
        let residents: Vec<&Resident<'_>> =
            facts.residents.iter().filter(|it| it.place.as_ref() == Some(&place)).collect();
        if !matches!(place, Place::Instance(..)) {
            continue;
        }
        match residents.as_slice() {
            [] => whole_instance(facts, &place, &mut answer, &mut open),
            several => {
                several.iter().for_each(|it| judge(facts, it, &place, &mut answer, &mut open))
            }
        }
    }
    lost(facts, &mut answer);
    if !open.is_empty() {
        let title = format!("what is held at most is not known of {}", open.join(", "));
        let remedy = "record the node while its tenants work, and give the recording: `cotenant record -o node`, then `cotenant audit node --node …`";
        answer.add(AuditFinding::unseen(title, remedy));
    }
    if answer.fine.is_empty() && answer.findings.is_empty() {
        return match facts.atlas.len() {
            0 => Answer::unseen("no file lists a GPU", "add `nvidia-smi -L` and `nvidia-smi -q`"),
            _ if facts.measured.is_there => Answer::fine(
                "no GPU is cut into instances, and no tenant was lost for lack of memory",
            ),
            _ => Answer::unseen(
                "no GPU is cut into instances, and without a recording it is not known whether memory suffices",
                "record the node: `cotenant record -o node`, then `cotenant audit node --node …`",
            ),
        };
    }
    answer
}

/// Memory that was nearly used up when the files were written.
fn full_now(facts: &Facts<'_>, place: &Place, answer: &mut Answer) {
    let used = match place {
        Place::Gpu(gpu) => facts
            .atlas
            .facts(*gpu)
            .and_then(|it| Some((it.memory_used_mib?, it.detailed_at().to_string()))),
        _ => facts
            .atlas
            .device(place)
            .and_then(|it| Some((it.memory_used_mib?, it.detailed_at().to_string()))),
    };
    let Some(((used, origin), (total, said))) = used.zip(facts.atlas.memory(place)) else { return };
    let label = facts.atlas.label(place);
    if total > 0 && used as f64 >= facts.policy.full_memory_ratio * total as f64 {
        let title = format!("{label} has {} MiB of {total} MiB free", total.saturating_sub(used));
        let finding = AuditFinding::warning(facts.atlas.about(place), title)
            .because(said)
            .because(format!("{origin}: {used} MiB are in use"));
        answer.add(finding.remedy("find out who holds it: `cotenant record -o node`, then `cotenant analyze node`; move one tenant, or cap what each may take"));
    }
}

/// An instance of which only the whole was recorded.
fn whole_instance(facts: &Facts<'_>, place: &Place, answer: &mut Answer, open: &mut Vec<String>) {
    let label = facts.atlas.label(place);
    match facts.measured.used_at(place) {
        Some(used) if facts.atlas.memory(place).is_some() => {
            size(
                facts,
                place,
                (&format!("what runs on {label}"), used, "recording: that much was in use at most"),
                answer,
            );
        }
        // Nobody is said to be on it, and nothing runs there: there is nothing to fit.
        _ if facts
            .words
            .processes
            .iter()
            .any(|it| facts.atlas.of_process(it).as_ref() == Some(place)) =>
        {
            open.push(label);
        }
        _ => {}
    }
}

fn judge(
    facts: &Facts<'_>,
    it: &Resident<'_>,
    place: &Place,
    answer: &mut Answer,
    open: &mut Vec<String>,
) {
    let measured: Option<&Peak> = facts.peak(it);
    let limit = it.said.memory_limit_mib;
    let (need, why) = match (measured, limit) {
        (Some(peak), Some(limit)) if limit > peak.peak_mib => {
            (limit, "policy: `memory_limit_mib`".to_owned())
        }
        (Some(peak), _) => (
            peak.peak_mib,
            format!("recording: {} held {:.0} MiB at most", quoted(&peak.tenant), peak.peak_mib),
        ),
        (None, Some(limit)) => (limit, "policy: `memory_limit_mib`".to_owned()),
        (None, None) => {
            open.push(it.quoted());
            return;
        }
    };
    size(facts, place, (&it.quoted(), need, &why), answer);
    if let Some(finding) = answer.findings.last_mut()
        && finding.about == facts.atlas.about(place)
        && !finding.evidence.contains(&it.evidence)
    {
        finding.evidence.push(it.evidence.clone());
    }
}

/// Compares what somebody holds with what its instance has.
fn size(
    facts: &Facts<'_>,
    place: &Place,
    (who, peak, why): (&str, f64, &str),
    answer: &mut Answer,
) {
    let label = facts.atlas.label(place);
    let Some((total, said)) = facts.atlas.memory(place) else {
        let title = format!("the memory of {label} is in no file");
        answer.add(AuditFinding::unseen(
            title,
            "add `nvidia-smi -q`, which says what each instance has",
        ));
        return;
    };
    let reserve = facts.policy.memory_margin_ratio * peak;
    let better = better(facts, place, peak, reserve);
    let total = total as f64;
    let stranded = total - peak;
    let finding = if peak + reserve > total {
        too_small(facts, place, (who, peak, total), better)
    } else if let Some(it) =
        better.filter(|it| (it.mib as f64) < total && stranded >= facts.policy.stranded_mib)
    {
        too_large(facts, place, (who, peak, total), &it)
    } else {
        let fine = format!("{who} holds up to {peak:.0} MiB of the {total:.0} MiB of {label}");
        answer.add_fine(fine);
        return;
    };
    answer.add(finding.because(said).because(why));
}

fn too_small(
    facts: &Facts<'_>,
    place: &Place,
    (who, peak, total): (&str, f64, f64),
    better: Option<Profile>,
) -> AuditFinding {
    let (label, about) = (facts.atlas.label(place), facts.atlas.about(place));
    let held = format!("{who} holds up to {peak:.0} MiB");
    let finding = match peak > total {
        true => {
            let title = format!("{held}, more than the {total:.0} MiB of {label}");
            AuditFinding::problem(about, title)
        }
        false => {
            let title = format!("{held}, which leaves {:.0} MiB of {label} free", total - peak);
            AuditFinding::warning(about, title)
        }
    };
    let remedy = better.map_or_else(
        || "no profile of this board holds it: give it a whole GPU".to_owned(),
        |it| {
            let resource = it.name.replace('+', ".");
            format!("move it to {} ({} MiB): `nvidia.com/mig-{resource}: 1`", it.name, it.mib)
        },
    );
    finding.remedy(remedy)
}

fn too_large(
    facts: &Facts<'_>,
    place: &Place,
    (who, peak, total): (&str, f64, f64),
    it: &Profile,
) -> AuditFinding {
    let title = format!(
        "{who} holds up to {:.1} GiB of the {:.1} GiB of {}: {:.1} GiB are stranded, and {} would do",
        peak / GIB,
        total / GIB,
        facts.atlas.label(place),
        (total - peak) / GIB,
        it.name
    );
    let sms = facts.atlas.device(place).and_then(|it| it.multiprocessors).zip(it.sms);
    let sms = sms
        .map_or_else(String::new, |(own, fewer)| format!(", if {fewer} SMs instead of {own} do"));
    AuditFinding::warning(facts.atlas.about(place), title).remedy(format!(
        "move it to {} ({} MiB){sms}: drain the instance, then `nvidia-smi mig -dci`, `-dgi`, `-cgi {} -C`; `cotenant recommend` plans the whole layout",
        it.name, it.mib, it.name
    ))
}

/// A profile of a board.
struct Profile {
    name: String,
    mib: u64,
    sms: Option<u32>,
}

/// The smallest plain profile that holds so much.
fn better(facts: &Facts<'_>, place: &Place, peak_mib: f64, reserve_mib: f64) -> Option<Profile> {
    let board = facts.atlas.board(facts.atlas.gpu_of(place)?)?;
    let found = fitting(board, &Need { peak_mib, reserve_mib, min_sms: None });
    let fit = found.fits.iter().find(|it| board.profiles[it.profile].is_plain())?;
    let profile = &board.profiles[fit.profile];
    Some(Profile {
        name: profile.name.to_string(),
        mib: profile.memory_mib?,
        sms: profile.sm_count,
    })
}

/// Losses that were seen, and those that are to be expected.
fn lost(facts: &Facts<'_>, answer: &mut Answer) {
    let about = |it: &Told| match &it.place {
        Some(place) => facts.atlas.about(place),
        None => About::new(AboutKind::Gpu, it.label.clone()),
    };
    let spread = "give each a MIG instance, or cap what each may take (`--gpu-memory-utilization`, `CUDA_MPS_PINNED_DEVICE_MEM_LIMIT`)";
    for it in &facts.measured.lost {
        let title = format!("memory ran out on {}", it.label);
        answer.add(
            AuditFinding::problem(about(it), title)
                .because(format!("recording: {}", it.sentence))
                .remedy(spread),
        );
    }
    for (it, ratio) in &facts.measured.risks {
        if *ratio > facts.policy.out_of_memory_day_ratio {
            let title = format!(
                "the tenants of {} run out of memory within a day with a chance of {}",
                it.label,
                percent(*ratio)
            );
            answer.add(
                AuditFinding::warning(about(it), title)
                    .because(format!("recording: {}", it.sentence))
                    .remedy(spread),
            );
        } else {
            answer.add_fine(format!(
                "memory suffices on {}: {}",
                it.label,
                it.sentence.trim_end_matches('.')
            ));
        }
    }
}
