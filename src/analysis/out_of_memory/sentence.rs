//! A moment without memory in one sentence.

use crate::analysis::memory_findings::{Blame, MemoryShare, OutOfMemory, OutOfMemoryKind};
use crate::domain::shares;
use crate::domain::units::{MemoryBytes, Seconds};

fn amount(bytes: f64) -> String {
    MemoryBytes::from_f64(bytes.max(0.0)).map_or_else(|| "unknown".to_owned(), |it| it.to_string())
}

/// What happened and who had taken the memory.
pub(crate) fn sentence(event: &OutOfMemory) -> String {
    let free = event.free_bytes.map_or_else(|| "an unknown rest".to_owned(), amount);
    let lost = event.failed.as_deref().unwrap_or_default();
    let what = match event.kind {
        OutOfMemoryKind::LostWhileFull => {
            format!("`{lost}` lost its memory while only {free} was free")
        }
        OutOfMemoryKind::LostWhileTight => format!(
            "`{lost}` lost its memory while {free} was free, less than the {} that it takes at once at other times",
            event.usual_rise_bytes.map_or_else(|| "memory".to_owned(), amount)
        ),
        OutOfMemoryKind::FullOnly => format!("only {free} was free, and nobody was lost"),
        OutOfMemoryKind::Asked => format!("{free} was free"),
    };
    format!("{what}: {}", who(event))
}

fn who(event: &OutOfMemory) -> String {
    let innocent = match event.shares.iter().find(|it| it.has_failed) {
        Some(it) if it.share_ratio == Some(0.0) => {
            format!("; `{}` itself had not grown", it.label)
        }
        _ => String::new(),
    };
    match (event.blame, event.shares.first()) {
        (Blame::OneTenant, Some(first)) => format!("{}{innocent}", grown(first)),
        (Blame::Several, _) => {
            let named = event.shares.iter().filter(|it| event.named.contains(&it.label));
            let named: Vec<String> = named.map(grown).collect();
            format!("{}{innocent}", named.join("; "))
        }
        (Blame::OwnRequest, _) => {
            "nobody stood above its usual memory, so its own request was more than is left beside what all of them usually hold".to_owned()
        }
        _ => "nobody stood above its usual memory".to_owned(),
    }
}

fn grown(share: &MemoryShare) -> String {
    let since = share
        .grew_before_s
        .map_or_else(String::new, |it| format!(", which began {} before", Seconds(it)));
    format!(
        "`{}` held {}, {} above its usual {} ({} of all growth{since})",
        share.label,
        amount(share.held_bytes),
        amount(share.held_bytes - share.baseline_bytes),
        amount(share.baseline_bytes),
        shares::share(share.share_ratio.unwrap_or(0.0)),
    )
}
