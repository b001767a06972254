//! Whether memory ran out in the window: it ends or restarts a tenant, which looks like slowness.

use crate::analysis::co_peaks::memory_findings;
use crate::analysis::influence::Scene;
use crate::analysis::influence::findings::{LookAlike, LookAlikeKind, LookAlikeState};
use crate::analysis::influence::look_alikes::look_alike;
use crate::analysis::memory_findings::{OutOfMemory, OutOfMemoryKind};
use crate::domain::ident::GpuId;
use crate::domain::recording::Recording;
use crate::domain::time::TimeSpan;

/// Moments of the window without memory, and all look-alikes with that of memory among them.
pub(crate) fn beside_memory(
    mut look_alikes: Vec<LookAlike>,
    scene: &Scene<'_>,
    part: &Recording,
    window: TimeSpan,
    victim: &str,
) -> (Vec<OutOfMemory>, Vec<LookAlike>) {
    let (found, memory) = out_of_memory_in(scene.gpu.as_ref(), part, window, victim);
    look_alikes.push(memory);
    look_alikes.sort_by_key(|it| it.state as u8);
    (found, look_alikes)
}

/// Moments of the window without memory, in time order, and what that means for the victim.
fn out_of_memory_in(
    gpu: Option<&GpuId>,
    part: &Recording,
    window: TimeSpan,
    victim: &str,
) -> (Vec<OutOfMemory>, LookAlike) {
    let all = gpu.map(|it| memory_findings(it, part, None)).unwrap_or_default();
    let is_seen = all.iter().any(|it| !it.residents.is_empty() && it.total_bytes.is_some());
    let inside = |it: &OutOfMemory| {
        let end = it.at.plus_micros((it.at_uncertainty_s * 1e6) as i64);
        it.kind != OutOfMemoryKind::FullOnly && (window.contains(it.at) || window.contains(end))
    };
    let found: Vec<OutOfMemory> =
        all.into_iter().flat_map(|it| it.out_of_memory).filter(inside).collect();
    let kind = LookAlikeKind::OutOfMemory;
    let own: Vec<&OutOfMemory> = found.iter().filter(|it| is_victim(it, victim)).collect();
    let verdict = match own.first() {
        Some(first) => LookAlike {
            spans: own.iter().map(|it| TimeSpan::covering(it.at, it.at)).take(20).collect(),
            ..look_alike(
                kind,
                LookAlikeState::Found,
                format!("the victim itself was lost when memory ran out: {}", first.sentence),
            )
        },
        None if is_seen => {
            let others = match found.len() {
                0 => String::new(),
                more => format!("; others were lost {more} times"),
            };
            let sentence = format!("the victim was not lost for want of memory{others}");
            look_alike(kind, LookAlikeState::RuledOut, sentence)
        }
        None => look_alike(
            kind,
            LookAlikeState::Unseen,
            "memory of tenants, or how much there is, was not recorded".to_owned(),
        ),
    };
    (found, verdict)
}

/// Whether the lost tenant is the victim, whose name may carry its process id.
fn is_victim(event: &OutOfMemory, victim: &str) -> bool {
    event.failed.as_deref().is_some_and(|it| {
        it == victim || victim.strip_prefix(it).is_some_and(|rest| rest.starts_with(" (pid "))
    })
}

/// The headline with what memory did in a window that was asked for.
pub(crate) fn with_memory(headline: String, events: &[OutOfMemory], is_whole: bool) -> String {
    let surest = events.iter().reduce(|a, b| if b.confidence > a.confidence { b } else { a });
    match surest.filter(|_| !is_whole) {
        Some(event) if !headline.contains(&event.sentence) => {
            format!("{headline}. Memory ran out in this window: {}", event.sentence)
        }
        _ => headline,
    }
}
