//! Who slows whom on a GPU: every tenant against every other, look-alikes first.
//!
//! `cast` puts processes, tenants and instances together; `study` brings one victim's measurement and everybody's
//! activity onto one grid; `trial` asks both witnesses; [`ladder`] turns their numbers into a verdict.

pub(crate) mod cast;
pub(crate) mod conditions;
mod contention;
pub mod findings;
pub(crate) mod grid;
pub mod ladder;
pub(crate) mod look_alikes;
mod marks;
pub(crate) mod offset;
mod shares;
pub(crate) mod signal;
pub(crate) mod study;
pub mod trial;

use crate::analysis::Question;
use crate::analysis::findings::Scope;
use crate::analysis::influence::cast::{Member, cast, watched};
use crate::analysis::influence::conditions::Conditions;
use crate::analysis::influence::contention::contention;
use crate::analysis::influence::findings::{
    ClockOffsetOrigin, Influence, InfluenceFindings, LookAlike,
};
use crate::analysis::influence::grid::Grid;
use crate::analysis::influence::ladder::{Circumstances, is_judged, ruling};
use crate::analysis::influence::look_alikes::copies::{Copies, copies};
use crate::analysis::influence::offset::offset;
use crate::analysis::influence::signal::metrics_of;
use crate::analysis::influence::study::{OwnProcess, Study, active_time, study};
use crate::analysis::influence::trial::Trial;
use crate::domain::ident::{GpuId, Subject};
use crate::domain::metric::Metric;
use crate::domain::recording::{Recording, Trace};
use crate::domain::time::TimeSpan;
use crate::stats::multiple::{false_discovery_rates, false_discovery_rates_under_any_dependence};
use rayon::prelude::{
    IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator, ParallelIterator,
};

/// Bins of the picture of contended time, in seconds.
const CONTENTION_BIN_S: f64 = 1.0;
/// Bursts shorter than this, in bins, are diluted by the rest of their bins.
const DILUTED_BINS: f64 = 3.0;

/// Everybody in one place, and what is known about all of them together.
pub(crate) struct Scene<'a> {
    pub(crate) gpu: Option<GpuId>,
    pub(crate) cast: Vec<Member<'a>>,
    pub(crate) device: Option<&'a Trace>,
    /// Product name of the GPU.
    pub(crate) model: Option<String>,
    pub(crate) span: TimeSpan,
    pub(crate) copies: Copies,
}

impl<'a> Scene<'a> {
    /// Everybody on a GPU, or without one; `None` when nothing was seen.
    pub(crate) fn of(
        parts: &[&'a Recording],
        gpu: Option<&GpuId>,
        asked: Option<TimeSpan>,
        is_here: impl Fn(&Subject) -> bool,
    ) -> Option<Self> {
        let cast = cast(parts, is_here);
        let device =
            gpu.and_then(|gpu| parts.iter().find_map(|it| it.traces.get(&Subject::device(gpu))));
        let services = cast.iter().filter_map(|it| it.service);
        let seen = services.flat_map(|it| it.series.values()).filter_map(|it| it.span());
        let active = cast.iter().filter_map(Member::span);
        let all = seen.chain(active).reduce(TimeSpan::hull)?;
        let span = asked.map_or(Some(all), |it| it.overlap(all))?;
        let copies = copies(&cast, device);
        let model = gpu
            .and_then(|gpu| parts.iter().find_map(|it| it.outline.device(gpu)))
            .and_then(|it| it.model.clone());
        Some(Self { gpu: gpu.cloned(), cast, device, model, span, copies })
    }
}

/// A pair before the error rate over all pairs is known.
struct Charge {
    study: usize,
    suspect: usize,
    trial: Trial,
    around: Circumstances,
}

/// Every ordered pair in a scene.
pub(crate) fn influences(scene: &Scene<'_>, question: &Question) -> InfluenceFindings {
    let victims: Vec<usize> =
        (0..scene.cast.len()).filter(|it| !metrics_of(&scene.cast[*it]).is_empty()).collect();
    let studies: Vec<Study> = victims
        .into_par_iter()
        .flat_map_iter(|victim| {
            let member = &scene.cast[victim];
            let offset = offset(member, &question.clock_offsets, scene.span);
            let metrics = metrics_of(member);
            metrics.into_iter().filter_map(move |metric| study_of(scene, victim, metric, &offset))
        })
        .collect();
    let pairs = charges(scene, &studies);
    let contention = if studies.is_empty() { contended(scene) } else { None };
    let mut clock_offsets: Vec<_> = studies.iter().map(|it| it.offset.clone()).collect();
    clock_offsets.dedup_by(|a, b| a.tenant == b.tenant);
    let mut look_alikes: Vec<LookAlike> =
        studies.iter().flat_map(|it| it.look_alikes.iter().cloned()).collect();
    if !studies.is_empty() {
        look_alikes.extend(scene.copies.look_alikes.iter().cloned());
    }
    look_alikes.sort_by_key(|it| it.state as u8);
    InfluenceFindings { pairs, look_alikes, contention, clock_offsets }
}

/// One study of a scene; `None` when the victim has no such measurement.
pub(crate) fn study_of(
    scene: &Scene<'_>,
    victim: usize,
    metric: Metric,
    offset: &findings::ClockOffset,
) -> Option<Study> {
    let board = (scene.device, scene.model.as_deref());
    study(&scene.cast, victim, metric, board, scene.span, offset.clone())
}

/// Every suspect of every study, with the error rate over all of them.
pub(crate) fn charges(scene: &Scene<'_>, studies: &[Study]) -> Vec<Influence> {
    let charges: Vec<Charge> = studies
        .par_iter()
        .enumerate()
        .flat_map_iter(|(place, study)| {
            let tried = study.trials().into_iter().enumerate();
            tried.map(move |(suspect, trial)| Charge {
                study: place,
                suspect,
                around: circumstances(scene, study, suspect),
                trial,
            })
        })
        .collect();
    let tested: Vec<usize> = (0..charges.len())
        .filter(|it| charges[*it].trial.p_granger.is_some())
        .filter(|it| is_judged(&charges[*it].trial, &charges[*it].around))
        .collect();
    let p_values: Vec<f64> = tested.iter().filter_map(|it| charges[*it].trial.p_granger).collect();
    let rates = false_discovery_rates(&p_values);
    let wide = false_discovery_rates_under_any_dependence(&p_values);
    let rate = |charge: usize, rates: &[f64]| {
        tested.iter().position(|it| *it == charge).and_then(|it| rates.get(it).copied())
    };
    let mut pairs: Vec<Influence> = charges
        .iter()
        .enumerate()
        .map(|(place, charge)| {
            let study = &studies[charge.study];
            influence(scene, study, charge, rate(place, &rates), rate(place, &wide))
        })
        .collect();
    pairs.sort_by(|a, b| {
        let firmness = |it: &Influence| it.p_granger.unwrap_or(1.0);
        (a.verdict.cmp(&b.verdict))
            .then(firmness(a).total_cmp(&firmness(b)))
            .then_with(|| (&a.victim, &a.suspect, a.metric).cmp(&(&b.victim, &b.suspect, b.metric)))
    });
    pairs
}

fn circumstances(scene: &Scene<'_>, study: &Study, suspect: usize) -> Circumstances {
    let member = &scene.cast[study.suspects[suspect]];
    let victim = &scene.cast[study.victim];
    let copied = |reason: Option<&String>| {
        let remedy = "record the activity of each process, for example with `nvidia-smi pmon`";
        reason.map(|it| (it.clone(), remedy.to_owned()))
    };
    let is_unnamed = !matches!(member.subject, Subject::Tenant { .. });
    let name_it =
        "record which tenant each process belongs to, or give a mapping with a tenant column";
    let only_one = (study.own_process == OwnProcess::OnlyOne && is_unnamed).then(|| {
        let sentence = "own-process-unknown: only one process was recorded, and whether it is the victim's own or a neighbour is not known";
        (sentence.to_owned(), name_it.to_owned())
    });
    let refusal = copied(scene.copies.activity.get(&study.suspects[suspect]))
        .or_else(|| copied(scene.copies.service.get(&study.victim)))
        .or(only_one);
    let own = (study.own_process == OwnProcess::Unknown && is_unnamed).then(|| {
        let sentence = "own-process-unknown: which process is the victim's own was not recorded, and this one may be it";
        (sentence.to_owned(), name_it.to_owned())
    });
    let doubt = own.or_else(|| load_unknown(study));
    let is_sparse =
        member.activities.iter().any(|it| it.stride_s > 2.0 && it.stride_s > 1.5 * it.window_s);
    Circumstances {
        refusal,
        doubt,
        is_sparse,
        is_load_smoothed: study.load.as_ref().is_some_and(|it| it.is_smoothed),
        is_across_instances: member.instance.is_some()
            && victim.instance.is_some()
            && member.instance != victim.instance,
        clock_channel: study.conditions.clock_channel(),
    }
}

/// Whoever serves requests may be slow because more of them came, and a neighbour may follow the same demand.
fn load_unknown(study: &Study) -> Option<(String, String)> {
    let is_own_pace = matches!(study.metric, Metric::IterationTime | Metric::IterationRate);
    (study.load.is_none() && !is_own_pace).then(|| {
        (
            "load-unknown: the victim's own load was not recorded or cannot be used, so a demand that both follow would look the same".to_owned(),
            "record the requests that arrive at the victim, per second".to_owned(),
        )
    })
}

fn influence(
    scene: &Scene<'_>,
    study: &Study,
    charge: &Charge,
    q: Option<f64>,
    q_any_dependence: Option<f64>,
) -> Influence {
    let suspect = &scene.cast[study.suspects[charge.suspect]];
    let victim = &scene.cast[study.victim];
    let trial = &charge.trial;
    let ruling = ruling(trial, q, &charge.around);
    let others = study.suspects.iter().filter(|it| **it != study.suspects[charge.suspect]);
    let load = study.load.iter().map(|it| it.name.to_owned());
    let held_fixed = load
        .chain(others.map(|it| scene.cast[*it].label.clone()))
        .chain(["slow drift".to_owned(), "its own past".to_owned()])
        .collect();
    let mut reasons = ruling.reasons;
    if trial.burst_bins.is_some_and(|it| it < DILUTED_BINS) {
        reasons.push(format!(
            "diluted: the suspect's bursts last about {:.1} bins of {:.3} s, so effect and least effect are those of whole bins, not of a burst",
            trial.burst_bins.unwrap_or(0.0),
            study.grid.step_s()
        ));
    }
    if study.offset.origin == ClockOffsetOrigin::Assumed {
        reasons.push("clock-assumed: the victim's clock is taken to agree with the GPU's; an offset of a few seconds would hide an influence".to_owned());
    }
    if let OwnProcess::Guessed(place) = study.own_process {
        reasons.push(format!(
            "own-process-guessed: `{}` moves with the victim's requests and is taken to be its own",
            scene.cast[place].label
        ));
    }
    Influence {
        gpu: scene.gpu.clone(),
        suspect: suspect.label.clone(),
        suspect_subject: suspect.subject.clone(),
        victim: victim.label.clone(),
        victim_subject: victim.subject.clone(),
        metric: study.metric,
        scope: Scope::Whole,
        verdict: ruling.verdict,
        effect_ratio: trial.effect,
        effect_low: trial.interval.map(|it| it.0),
        effect_high: trial.interval.map(|it| it.1),
        lag_seconds: trial.lag_bins.map(|it| it as f64 * study.grid.step_s()),
        p_granger: trial.p_granger,
        p_event: trial.p_event,
        q,
        q_any_dependence,
        mde_ratio: trial.mde,
        through: ruling.through,
        importance_ratio: trial.importance,
        cpi2_score: trial.cpi2,
        dose_ratios: trial.doses.clone(),
        bin_s: study.grid.step_s(),
        bins: trial.bins,
        bursts: trial.bursts,
        on_ratio_of_time: trial.on_ratio,
        held_fixed,
        reasons,
        remedy: ruling.remedy,
    }
}

fn contended(scene: &Scene<'_>) -> Option<findings::Contention> {
    let stride = scene.cast.iter().filter_map(Member::stride_s).fold(CONTENTION_BIN_S, f64::max);
    let grid = Grid::over(scene.span, stride);
    let is_watched = watched(&grid, scene.device, &scene.cast);
    let activities = active_time(&scene.cast, &grid, &is_watched);
    contention(
        &scene.cast,
        &activities,
        &Conditions::of(scene.device, scene.model.as_deref(), &grid),
        &grid,
    )
}
