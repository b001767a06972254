//! A recording becomes findings: pure, parallel, and unable to fail.
//!
//! Floor 2. Thin data gives `None` and a blind spot, not an error and not a zero.

mod activity;
mod bursts;
mod co_activation;
pub mod co_peaks;
pub mod compare;
mod counted;
mod counted_memory;
pub mod counted_together;
pub mod diagnosis;
pub mod diagnosis_findings;
pub mod events;
pub mod evidence;
pub mod experiment;
pub mod extents;
pub mod findings;
mod idle;
pub mod influence;
mod levels;
mod meeting;
mod memory_accounts;
pub mod memory_findings;
mod memory_ledger;
pub mod out_of_memory;
mod profile;
mod resolution;
mod subject;
mod timeline;
mod trap;

use crate::analysis::co_activation::co_activations;
use crate::analysis::co_peaks::memory_findings;
use crate::analysis::counted_together::counted_together;
use crate::analysis::findings::{DeviceFindings, Findings, SubjectFindings};
use crate::analysis::idle::filled;
use crate::analysis::influence::{Scene, influences};
use crate::analysis::memory_findings::{MemoryFindings, MemoryReporting};
use crate::analysis::subject::subject_findings;
use crate::domain::blind_spot::{BlindSpot, BlindSpotKind};
use crate::domain::ident::{GpuId, Subject};
use crate::domain::outline::Outline;
use crate::domain::recording::{Recording, Trace};
use crate::domain::time::TimeSpan;
use rayon::prelude::{IntoParallelIterator, ParallelIterator};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the user asked to be looked at.
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// Only this part of the time; `None` means all of it.
    pub span: Option<TimeSpan>,
    /// Windows to be looked at on their own, besides the whole and the phases.
    pub windows: Vec<TimeSpan>,
    /// Only phases of this label; `None` means all phases.
    pub phase: Option<String>,
    /// How far the clocks of services are from the GPU's, by tenant, in seconds: the service's minus the GPU's.
    pub clock_offsets: BTreeMap<String, f64>,
    /// Whether tenants of which no GPU is known are taken to share one.
    pub assume_one_gpu: bool,
    /// Most GPUs whose samples may be in memory at a time; `None`: as many as there are threads.
    pub most_parts: Option<usize>,
}

/// Everything that a recording means, GPU by GPU.
///
/// `load` reads one GPU's part of the recording (`None`: the tenants without a GPU). It is called
/// from several threads; no more than one part for each of them is in memory at a time.
/// Errors: only those of `load`.
pub fn compute<E: Send>(
    outline: &Outline,
    question: &Question,
    load: impl Fn(Option<&GpuId>) -> Result<Recording, E> + Sync,
) -> Result<Findings, E> {
    let gpus = gpus(outline);
    let is_unplaced = |it: &Subject| it.gpu().is_none();
    let unplaced_part = match outline.subjects.iter().any(is_unplaced) {
        true => Some(load(None)?),
        false => None,
    };
    // Tenants that do not say where they run can only run on the only GPU there is.
    let guests = unplaced_part.as_ref().filter(|_| gpus.len() == 1);
    let most = question.most_parts.unwrap_or(usize::MAX);
    let devices: Result<Vec<DeviceFindings>, E> = some_parts_at_a_time(&gpus, most, |gpu| {
        Ok(device_findings(gpu, outline, question, &load(Some(gpu))?, guests))
    })
    .into_iter()
    .collect();
    let mut findings = Findings { devices: devices?, ..Findings::default() };
    findings.blind_spots = memory_blind_spots(&findings.devices);
    if let Some(part) = &unplaced_part {
        findings.unplaced = subjects_of(part, question, is_unplaced);
        match guests {
            Some(_) => findings.blind_spots.push(on_the_only_gpu(&findings.unplaced)),
            None if question.assume_one_gpu => {
                let scene = Scene::of(&[part], None, question.span, is_unplaced);
                findings.unplaced_influences =
                    scene.map(|it| influences(&it, question)).unwrap_or_default();
            }
            None => {}
        }
    }
    Ok(findings)
}

/// The loads of one GPU, without its memory and without who slows whom: what a plan for many GPUs needs of each.
pub fn loads(gpu: &GpuId, part: &Recording) -> DeviceFindings {
    DeviceFindings {
        gpu: gpu.clone(),
        label: part.outline.label(&Subject::device(gpu)),
        model: part.outline.device(gpu).and_then(|it| it.model.clone()),
        subjects: subjects_of(part, &Question::default(), |it| it.gpu() == Some(gpu)),
        co_activations: Vec::new(),
        counted_together: Vec::new(),
        memory: Vec::new(),
        influences: Default::default(),
    }
}

/// What could not be seen about memory, where several share it or hide what they hold.
fn memory_blind_spots(devices: &[DeviceFindings]) -> Vec<BlindSpot> {
    let is_asked = |it: &&MemoryFindings| {
        it.residents.len() > 1 || it.reporting == MemoryReporting::UnderReported
    };
    let asked = devices.iter().flat_map(|it| &it.memory).filter(is_asked);
    asked.flat_map(|it| it.blind_spots.iter().cloned()).collect()
}

fn on_the_only_gpu(unplaced: &[SubjectFindings]) -> BlindSpot {
    let names: Vec<&str> = unplaced.iter().map(|it| it.label.as_str()).take(5).collect();
    BlindSpot {
        kind: BlindSpotKind::Ambiguous,
        subject: None,
        metric: None,
        span: None,
        detail: format!(
            "{} {} not say on which GPU it runs: taken to run on the only one in the recording",
            names.join(", "),
            if names.len() == 1 { "does" } else { "do each" }
        ),
        remedy: "give a mapping with a GPU column, or `gpu` in the mapping's defaults".to_owned(),
    }
}

/// Maps items in order on threads of their own, as many as rayon has.
///
/// Not rayon's own loop: a worker that waits inside `work` would begin the next item meanwhile,
/// and hold two parts of the recording, or a thousand on one stack.
pub fn one_part_for_each_thread<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    some_parts_at_a_time(items, usize::MAX, work)
}

/// The same with at most so many items under way at a time, and at least one.
pub fn some_parts_at_a_time<T: Sync, R: Send>(
    items: &[T],
    most: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let threads = rayon::current_num_threads().min(items.len()).min(most.max(1));
    if threads <= 1 {
        // A thread of its own would have memory of its own, which the allocator keeps for it.
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        loop {
            let position = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(position) else { return done };
            done.push((position, work(item)));
        }
    };
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(take)).collect();
        running
            .into_iter()
            .flat_map(|it| it.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    done.sort_by_key(|it| it.0);
    done.into_iter().map(|it| it.1).collect()
}

/// Every GPU that was described or has samples: described ones first, in the outline's order.
fn gpus(outline: &Outline) -> Vec<GpuId> {
    let mut gpus: Vec<GpuId> = Vec::new();
    let seen = outline.subjects.iter().filter_map(Subject::gpu);
    for gpu in outline.devices.iter().map(|it| &it.gpu).chain(seen) {
        if !gpus.contains(gpu) {
            gpus.push(gpu.clone());
        }
    }
    gpus.retain(|gpu| outline.subjects.iter().any(|it| it.gpu() == Some(gpu)));
    gpus
}

fn device_findings(
    gpu: &GpuId,
    outline: &Outline,
    question: &Question,
    part: &Recording,
    guests: Option<&Recording>,
) -> DeviceFindings {
    let label = outline.label(&Subject::device(gpu));
    let model = outline.device(gpu).and_then(|it| it.model.clone());
    let subjects = subjects_of(part, question, |it| it.gpu() == Some(gpu));
    let is_counted = |it: &Subject| part.outline.shapes.iter().any(|shape| shape.subject == *it);
    let seen: Vec<(&SubjectFindings, Cow<'_, Trace>)> = subjects
        .iter()
        // Means over scrapes show no burst, and whoever counted them compared the tenants itself.
        .filter(|it| !is_counted(&it.subject))
        .filter_map(|it| {
            let trace = part.traces.get(&it.subject)?;
            let filled = filled(&it.subject, trace, part).map(|it| Cow::Owned(it.trace));
            Some((it, filled.unwrap_or(Cow::Borrowed(trace))))
        })
        .collect();
    let co_activations = co_activations(&seen, &outline.sources);
    let counted_together = counted_together(gpu, part, question.span, &co_activations);
    let parts: Vec<&Recording> = std::iter::once(part).chain(guests).collect();
    let is_here = |it: &Subject| it.gpu().is_none_or(|it| it == gpu);
    let mut influences = Scene::of(&parts, Some(gpu), question.span, is_here)
        .map(|it| influences(&it, question))
        .unwrap_or_default();
    if is_counted(&Subject::device(gpu)) {
        // A mean over a scrape interval looks full only where all of it was.
        influences.contention = None;
    }
    let memory = memory_findings(gpu, part, question.span);
    DeviceFindings {
        gpu: gpu.clone(),
        label,
        model,
        subjects,
        co_activations,
        counted_together,
        memory,
        influences,
    }
}

fn subjects_of(
    part: &Recording,
    question: &Question,
    is_wanted: impl Fn(&Subject) -> bool,
) -> Vec<SubjectFindings> {
    let wanted: Vec<_> = part.traces.iter().filter(|it| is_wanted(it.0)).collect();
    wanted
        .into_par_iter()
        .map(|(subject, trace)| subject_findings(subject, trace, part, question))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::metric::Metric;
    use crate::domain::series::Series;
    use crate::domain::time::Timestamp;
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::time::Duration;

    fn one(gpu: &GpuId) -> Recording {
        let times = (0..200).map(|it| Timestamp::from_micros(it * 100_000)).collect();
        let values = (0..200).map(|it| f64::from(it % 10) * 10.0).collect();
        let series = Series::new(Arc::new(times), values).unwrap();
        let mut trace = Trace::default();
        trace.series.insert(Metric::GpuUtilization, series);
        let subject = Subject::device(gpu);
        let outline = Outline { subjects: vec![subject.clone()], ..Outline::default() };
        Recording { outline, traces: BTreeMap::from([(subject, trace)]) }
    }

    /// Findings of six GPUs, and the most that were loaded at a time.
    fn found(most_parts: Option<usize>) -> (Findings, usize) {
        let gpus: Vec<GpuId> = (0..6).map(|it| GpuId::new(format!("GPU-{it}"))).collect();
        let subjects = gpus.iter().map(Subject::device).collect();
        let outline = Outline { subjects, ..Outline::default() };
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let load = |gpu: Option<&GpuId>| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(20));
            now.fetch_sub(1, Ordering::SeqCst);
            Ok::<_, Infallible>(gpu.map(one).unwrap_or_default())
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let question = Question { most_parts, ..Question::default() };
        let Ok(findings) = pool.install(|| compute(&outline, &question, load));
        (findings, most.into_inner())
    }

    #[test]
    fn no_more_gpus_are_loaded_at_a_time_than_fit_and_the_findings_are_the_same() {
        let (free, together) = found(None);
        assert!(together > 1, "three threads load three GPUs at a time");
        for (allowed, at_once) in [(0, 1), (1, 1), (2, 2)] {
            let (bounded, most) = found(Some(allowed));
            assert!(most <= at_once, "{allowed} allowed, {most} at a time");
            assert_eq!(bounded, free);
        }
    }
}
