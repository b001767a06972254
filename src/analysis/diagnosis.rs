//! One victim, one window: what happened, who did it, what else it may have been.

mod account;
mod headline;
mod memory;
mod plan;

use crate::analysis::diagnosis::account::{look_alikes_in, picture, slowness, suspicions};
use crate::analysis::diagnosis::headline::{headline, outcome};
use crate::analysis::diagnosis::memory::{beside_memory, with_memory};
use crate::analysis::diagnosis::plan::plan;
use crate::analysis::diagnosis_findings::Diagnosis;
use crate::analysis::influence::ladder::LEAST_BINS;
use crate::analysis::influence::offset::offset;
use crate::analysis::influence::signal::{is_measure_of_harm, metrics_of};
use crate::analysis::influence::study::Study;
use crate::analysis::influence::{Scene, charges, study_of};
use crate::domain::blind_spot::BlindSpot;
use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::outline::Outline;
use crate::domain::recording::Recording;
use crate::domain::time::TimeSpan;
use std::collections::BTreeMap;

/// Most blind spots that are repeated.
const MOST_BLIND_SPOTS: usize = 20;

/// What is asked about a victim.
#[derive(Debug, Clone)]
pub struct DiagnosisRequest {
    /// Who was slow.
    pub victim: Subject,
    /// In which metric; `None`: the one that changed most in the window.
    pub metric: Option<Metric>,
    /// When; `None`: over the whole recording.
    pub window: Option<TimeSpan>,
    /// Clock offsets by tenant, in seconds: the service's minus the GPU's.
    pub clock_offsets: BTreeMap<String, f64>,
    /// Whether tenants of which no GPU is known share one.
    pub assume_one_gpu: bool,
    /// Seed of what is drawn by lot.
    pub seed: u64,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq)]
pub struct DiagnosisRefusal {
    /// What is missing.
    pub sentence: String,
    /// What would help.
    pub remedy: String,
}

/// What slowed a victim in a window.
///
/// `part` holds everybody on the victim's GPU, or all tenants without a GPU. Influences are judged over the whole recording,
/// which has the power; the window says how much of each was at work in it. Errors: a refusal where nothing can be said at all.
pub fn diagnose(
    outline: &Outline,
    part: &Recording,
    request: &DiagnosisRequest,
) -> Result<Diagnosis, DiagnosisRefusal> {
    let scene = scene(part, request)?;
    let victim = place_of(&scene, &request.victim).ok_or_else(|| no_measurement(request))?;
    let member = &scene.cast[victim];
    let offset = offset(member, &request.clock_offsets, scene.span);
    let metrics = match request.metric {
        Some(metric) if is_measure_of_harm(metric) => vec![metric],
        Some(metric) => return Err(no_measure_of_harm(metric)),
        None => metrics_of(member),
    };
    let studies: Vec<Study> = metrics
        .into_iter()
        .filter_map(|metric| study_of(&scene, victim, metric, &offset))
        .collect();
    let window = request.window.unwrap_or(scene.span);
    let study = most_changed(&studies, window, request.window.is_some())
        .ok_or_else(|| no_measurement(request))?;
    let slowness = slowness(study, window, request.window.is_some());
    if slowness.window_bins == 0 {
        return Err(DiagnosisRefusal {
            sentence: format!("`{}` was not seen in this window", member.label),
            remedy: "choose a window in which the victim has readings".to_owned(),
        });
    }
    let influences: Vec<_> =
        charges(&scene, &studies).into_iter().filter(|it| it.metric == study.metric).collect();
    let suspects = suspicions(&scene, study, influences, window, request.window.is_some());
    let others = look_alikes_in(&scene, study, window);
    let (out_of_memory, look_alikes) = beside_memory(others, &scene, part, window, &member.label);
    let is_whole = request.window.is_none();
    let outcome = outcome(&slowness, &suspects, &look_alikes, is_whole);
    let metric_label = study.metric.in_words();
    let headline = headline(
        outcome,
        &member.label,
        &metric_label,
        &slowness,
        &suspects,
        &look_alikes,
        is_whole,
    );
    let experiment =
        suspects.first().map(|it| plan(&it.suspect, &member.label, study.metric, request.seed));
    Ok(Diagnosis {
        headline: with_memory(headline, &out_of_memory, is_whole),
        outcome,
        victim: member.label.clone(),
        victim_subject: member.subject.clone(),
        gpu: scene.gpu.clone(),
        metric: study.metric,
        window,
        slowness,
        picture: picture(&scene, study, &suspects, window),
        suspects,
        look_alikes,
        out_of_memory,
        clock_offset: Some(offset.clone()),
        experiment,
        blind_spots: blind_spots(outline, request),
    })
}

fn scene<'a>(
    part: &'a Recording,
    request: &DiagnosisRequest,
) -> Result<Scene<'a>, DiagnosisRefusal> {
    let gpus = part.traces.keys().filter_map(Subject::gpu);
    let mut known: Vec<_> = gpus.cloned().collect();
    known.sort();
    known.dedup();
    let gpu = request.victim.gpu().cloned().or_else(|| match known.as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    });
    if gpu.is_none() && !request.assume_one_gpu {
        return Err(DiagnosisRefusal {
            sentence: format!(
                "on which GPU `{}` runs is not known, so nobody can be suspected",
                name(&request.victim)
            ),
            remedy:
                "give a mapping with a GPU column, or `--assume-one-gpu` if these tenants share one"
                    .to_owned(),
        });
    }
    let is_here = |it: &Subject| it.gpu().is_none_or(|it| gpu.as_ref() == Some(it));
    Scene::of(&[part], gpu.as_ref(), None, is_here).ok_or_else(|| no_measurement(request))
}

fn name(subject: &Subject) -> String {
    match subject {
        Subject::Tenant { tenant, .. } => tenant.to_string(),
        other => other.to_string(),
    }
}

fn place_of(scene: &Scene<'_>, victim: &Subject) -> Option<usize> {
    scene.cast.iter().position(|it| it.subject == *victim).or_else(|| {
        // A service without a GPU and its processes with one are the same tenant.
        let Subject::Tenant { tenant, .. } = victim else { return None };
        let is_it =
            |it: &Subject| matches!(it, Subject::Tenant { tenant: other, .. } if other == tenant);
        scene.cast.iter().position(|it| is_it(&it.subject))
    })
}

fn no_measurement(request: &DiagnosisRequest) -> DiagnosisRefusal {
    DiagnosisRefusal {
        sentence: format!(
            "`{}` measured neither latency nor throughput, so whether it was slow cannot be seen",
            name(&request.victim)
        ),
        remedy:
            "record its latency beside the GPU: a CSV with a mapping, or its Prometheus metrics"
                .to_owned(),
    }
}

fn no_measure_of_harm(metric: Metric) -> DiagnosisRefusal {
    DiagnosisRefusal {
        sentence: format!("{} does not show whether a tenant was slow", metric.spec().label),
        remedy: "choose a latency, an iteration time or a throughput".to_owned(),
    }
}

/// The study whose victim changed most for the worse in the window; of the whole recording, that of the slowest requests.
///
/// A quantile that too few bins have to judge anybody by gives way to a metric that enough bins have.
fn most_changed(studies: &[Study], window: TimeSpan, has_window: bool) -> Option<&Study> {
    if !has_window {
        let is_judged =
            |it: &Study| it.harm.iter().filter(|it| it.is_finite()).count() as u64 >= LEAST_BINS;
        return studies.iter().max_by_key(|it| (is_judged(it), it.metric == Metric::LatencyP99));
    }
    let change = |it: &Study| slowness(it, window, true).change_ratio.unwrap_or(f64::NEG_INFINITY);
    studies.iter().reduce(|best, it| if change(it) > change(best) { it } else { best })
}

fn blind_spots(outline: &Outline, request: &DiagnosisRequest) -> Vec<BlindSpot> {
    let gpu = request.victim.gpu();
    let concerns = |it: &&BlindSpot| match &it.subject {
        None => true,
        Some(subject) => subject.gpu().is_none() || subject.gpu() == gpu,
    };
    outline.blind_spots.iter().filter(concerns).take(MOST_BLIND_SPOTS).cloned().collect()
}
