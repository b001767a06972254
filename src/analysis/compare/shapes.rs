//! Shapes of load and peaks of memory side by side.

use crate::analysis::compare::ComparedSide;
use crate::analysis::compare::findings::{ShapePair, ShapeSide};
use crate::analysis::compare::matching::Matched;
use crate::analysis::compare::services::SAME_WINDOW;
use crate::analysis::findings::{ScopeFindings, SubjectFindings};
use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::outline::{Outline, Process};
use std::collections::{BTreeMap, BTreeSet};

/// Where something stands in the order, and its name.
type Key = (u8, String);

/// Devices that are in both recordings, and tenants and instances that are in either.
pub(super) fn pairs(
    before: &ComparedSide<'_>,
    after: &ComparedSide<'_>,
    devices: &Matched,
) -> Vec<ShapePair> {
    let place = |subject: &Subject| -> Option<String> {
        let gpu = subject.gpu()?;
        let pair = devices.pairs.iter().find(|it| it.1 == *gpu)?;
        Some(before.outline.label(&Subject::device(&pair.0)))
    };
    let own = |subject: &Subject| {
        let gpu = subject.gpu()?;
        Some(before.outline.label(&Subject::device(gpu)))
    };
    let (mut mine, mut theirs) = (sides(before, own), sides(after, place));
    let keys: BTreeSet<Key> = mine.keys().chain(theirs.keys()).cloned().collect();
    keys.into_iter()
        .filter_map(|key| {
            let (before, after) = (mine.remove(&key), theirs.remove(&key));
            let is_seen = before.is_some() || after.is_some();
            let incomparable = incomparable(before.as_ref(), after.as_ref());
            is_seen.then_some(ShapePair { name: key.1, before, after, incomparable })
        })
        .collect()
}

/// Shapes of one recording by name; where several have one name, as many processes of a tenant have, the busiest.
fn sides(
    side: &ComparedSide<'_>,
    device: impl Fn(&Subject) -> Option<String>,
) -> BTreeMap<Key, ShapeSide> {
    let mut found: BTreeMap<Key, ShapeSide> = BTreeMap::new();
    for it in side.findings.subjects() {
        let Some(key) = key(it, side.outline, &device) else { continue };
        let Some(shape) = it.whole().map(shape).filter(is_something) else { continue };
        let busy = |it: &ShapeSide| it.mean_ratio.unwrap_or(-1.0);
        match found.get_mut(&key) {
            Some(old) if busy(old) >= busy(&shape) => {
                old.memory_peak_bytes = old.memory_peak_bytes.or(shape.memory_peak_bytes);
            }
            Some(old) => {
                let memory = shape.memory_peak_bytes.or(old.memory_peak_bytes);
                *old = ShapeSide { memory_peak_bytes: memory, ..shape };
            }
            None => {
                found.insert(key, shape);
            }
        }
    }
    found
}

fn key(
    it: &SubjectFindings,
    outline: &Outline,
    device: &impl Fn(&Subject) -> Option<String>,
) -> Option<Key> {
    match &it.subject {
        Subject::Device { .. } => Some((0, device(&it.subject)?)),
        Subject::MigInstance { instance } => {
            let number = instance.gpu_instance;
            Some((1, format!("{} instance {number}", device(&it.subject)?)))
        }
        Subject::Tenant { tenant, .. } => Some((2, tenant.to_string())),
        Subject::Process { gpu, process } => {
            let is_it = |it: &&Process| it.gpu == *gpu && it.process == *process;
            let known = outline.processes.iter().find(is_it)?;
            let tenant = known.tenant.as_ref().filter(|it| !it.is_unattributed())?;
            Some((2, tenant.to_string()))
        }
    }
}

fn shape(it: &ScopeFindings) -> ShapeSide {
    let profile = it.profile.as_ref();
    let bursts = profile.and_then(|it| it.bursts.as_ref());
    ShapeSide {
        mean_ratio: profile.map(|it| it.mean_ratio),
        duty: profile.map(|it| it.duty),
        burst_p50_s: bursts.and_then(|it| it.burst_lengths.p50_s),
        burst_p90_s: bursts.and_then(|it| it.burst_lengths.p90_s),
        bursts: bursts.map(|it| it.burst_lengths.count),
        memory_peak_bytes: it.levels.get(&Metric::FramebufferUsed).map(|it| it.max),
        window_s: profile.map(|it| it.window_s.max(it.stride_s)),
    }
}

fn is_something(it: &ShapeSide) -> bool {
    it.mean_ratio.is_some() || it.memory_peak_bytes.is_some()
}

fn incomparable(before: Option<&ShapeSide>, after: Option<&ShapeSide>) -> Option<String> {
    let (mine, other) = (before?.window_s?, after?.window_s?);
    (mine.max(other) > SAME_WINDOW * mine.min(other)).then(|| {
        format!(
            "sampled every {mine:.3} s before and every {other:.3} s after: a longer window blurs bursts and misses peaks"
        )
    })
}
