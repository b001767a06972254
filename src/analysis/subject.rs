//! Everything about one subject: the whole recording, each phase, each chosen window.

use crate::analysis::Question;
use crate::analysis::activity::Activity;
use crate::analysis::counted::Counted;
use crate::analysis::evidence::{Confidence, Evidence};
use crate::analysis::findings::{
    BurstProfile, Level, Scope, ScopeFindings, SubjectFindings, UtilisationTrap,
};
use crate::analysis::idle::{Filled, filled};
use crate::analysis::levels::{level, levels};
use crate::analysis::profile::profile;
use crate::analysis::timeline::timelines;
use crate::analysis::trap::utilisation_trap;
use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::outline::{Outline, Phase};
use crate::domain::recording::{Recording, Trace};
use crate::domain::shares::share;
use crate::domain::time::TimeSpan;
use crate::domain::units::{MemoryBytes, Seconds};

/// Everything about one subject.
pub(crate) fn subject_findings(
    subject: &Subject,
    trace: &Trace,
    part: &Recording,
    question: &Question,
) -> SubjectFindings {
    let outline = &part.outline;
    let label = outline.label(subject);
    let filled = filled(subject, trace, part);
    let trace = filled.as_ref().map_or(trace, |it| &it.trace);
    let all = trace.series.values().filter_map(|it| it.span()).reduce(TimeSpan::hull);
    let whole = match (all, question.span) {
        (Some(all), Some(asked)) => all.overlap(asked),
        (all, _) => all,
    };
    let Some(whole) = whole else {
        let (scopes, timelines) = (Vec::new(), Vec::new());
        return SubjectFindings { subject: subject.clone(), label, scopes, timelines };
    };
    let activity = Activity::of(trace, &outline.sources);
    let mut scopes: Vec<ScopeFindings> = scopes(subject, outline, question, whole)
        .into_iter()
        .map(|(scope, spans)| {
            let counted = outline.shapes.iter().filter(|it| it.subject == *subject);
            let counted = Counted::of(counted, &spans);
            let memory = counted.as_ref().and_then(|it| memory_of(it, subject, part, &spans));
            let seen = (activity.as_ref(), counted);
            let mut found = scope_findings(subject, trace, seen, scope, &spans);
            if let Some(memory) = memory {
                let shown = found.levels.insert(Metric::FramebufferUsed, memory);
                let is_bound = shown.is_some_and(|it| memory.max > it.max);
                found.evidence.extend(is_bound.then(|| peak_evidence(subject, memory.max)));
            }
            found
        })
        .filter(|it| !it.levels.is_empty())
        .collect();
    if let (Some(filled), Some(scope)) = (&filled, scopes.first_mut()) {
        scope.evidence.push(idle_evidence(subject, filled));
    }
    let drawn =
        outline.span.and_then(|it| it.overlap(question.span.unwrap_or(it))).unwrap_or(whole);
    SubjectFindings { subject: subject.clone(), label, scopes, timelines: timelines(trace, drawn) }
}

/// That a peak is the end of a class and no reading.
fn peak_evidence(subject: &Subject, bytes: f64) -> Evidence {
    let most = MemoryBytes::from_f64(bytes).map_or_else(String::new, |it| format!(", {it}"));
    Evidence {
        analysis: "counted-memory",
        subject: Some(subject.clone()),
        sentence: format!(
            "the most memory was held between two scrapes and is known to 5 % of the device only: its upper end is given{most}"
        ),
        confidence: Confidence::new(0.9),
    }
}

/// Memory in use as an exporter counted it; `None` where it did not, or where nothing says how much there is.
fn memory_of(
    counted: &Counted<'_>,
    subject: &Subject,
    part: &Recording,
    spans: &[TimeSpan],
) -> Option<Level> {
    let of =
        |subject: &Subject, metric| level(metric, part.traces.get(subject)?.get(metric)?, spans);
    let own = of(subject, Metric::FramebufferTotal);
    let total = own.or_else(|| of(&Subject::device(subject.gpu()?), Metric::FramebufferTotal))?;
    counted.memory(of(subject, Metric::FramebufferUsed)?, total.max)
}

/// The parts of the time that are looked at, each with its stretches.
fn scopes(
    subject: &Subject,
    outline: &Outline,
    question: &Question,
    whole: TimeSpan,
) -> Vec<(Scope, Vec<TimeSpan>)> {
    let mut scopes = vec![(Scope::Whole, vec![whole])];
    let concerns = |it: &&Phase| {
        (it.gpu.is_none() || it.gpu.as_ref() == subject.gpu())
            && question.phase.as_ref().is_none_or(|label| *label == it.label)
    };
    for phase in outline.phases.iter().filter(concerns) {
        let Some(span) = phase.span.overlap(whole) else { continue };
        let scope = Scope::Phase { label: phase.label.clone() };
        match scopes.iter_mut().find(|it| it.0 == scope) {
            Some((_, spans)) => spans.push(span),
            None => scopes.push((scope, vec![span])),
        }
    }
    for window in &question.windows {
        if let Some(span) = window.overlap(whole) {
            scopes.push((Scope::Window { span: *window }, vec![span]));
        }
    }
    scopes
}

fn scope_findings(
    subject: &Subject,
    trace: &Trace,
    (activity, counted): (Option<&Activity<'_>>, Option<Counted<'_>>),
    scope: Scope,
    spans: &[TimeSpan],
) -> ScopeFindings {
    let mut levels = levels(trace, spans);
    if let Some((metric, level)) = counted.as_ref().and_then(|it| Some((it.metric(), it.level()?)))
    {
        levels.insert(metric, level);
    }
    // Samples that were counted are more than the means over scrapes that stand beside them.
    let profile = match counted.and_then(|it| it.profile()) {
        Some(profile) => Some(profile),
        None => activity.and_then(|it| profile(it, spans)),
    };
    let utilisation_trap = utilisation_trap(&levels);
    let mut evidence = Vec::new();
    let mut say = |sentence: String, confidence: f64| {
        evidence.push(Evidence {
            analysis: "burst-shape",
            subject: Some(subject.clone()),
            sentence,
            confidence: Confidence::new(confidence),
        });
    };
    if let Some(profile) = &profile {
        say(duty_sentence(profile), 0.95);
        if let Some(sentence) = burst_sentence(profile) {
            say(sentence, 0.9);
        }
        if let Some(sentence) = period_sentence(profile) {
            say(sentence, 0.8);
        }
    }
    if let Some(trap) = &utilisation_trap {
        say(trap_sentence(trap), 0.95);
    }
    ScopeFindings { scope, levels, profile, utilisation_trap, evidence }
}

fn idle_evidence(subject: &Subject, filled: &Filled) -> Evidence {
    Evidence {
        analysis: "burst-shape",
        subject: Some(subject.clone()),
        sentence: format!(
            "counted as idle in {} of {} samples: the driver lists a process only while it uses the GPU, and the device was sampled meanwhile",
            filled.idle_samples, filled.samples
        ),
        confidence: Confidence::new(0.9),
    }
}

fn duty_sentence(profile: &BurstProfile) -> String {
    format!(
        "busy {} on average; at or above 5 % for {} of the time, 50 % for {}, 95 % for {}",
        share(profile.mean_ratio),
        share(profile.duty.at_5_pct),
        share(profile.duty.at_50_pct),
        share(profile.duty.at_95_pct),
    )
}

fn burst_sentence(profile: &BurstProfile) -> Option<String> {
    let bursts = profile.bursts.as_ref()?;
    let shown = |it: Option<f64>| it.map_or("unknown".to_owned(), |it| Seconds(it).to_string());
    let count = bursts.burst_lengths.count;
    let noun = if count == 1 { "burst" } else { "bursts" };
    Some(format!(
        "{count} {noun} up to {} of the device: half last up to {}, nine of ten up to {}, the longest {}",
        share(bursts.height_p50_ratio),
        shown(bursts.burst_lengths.p50_s),
        shown(bursts.burst_lengths.p90_s),
        shown(bursts.burst_lengths.max_s),
    ))
}

fn period_sentence(profile: &BurstProfile) -> Option<String> {
    let period = profile.period?;
    Some(format!("repeats every {} (strength {:.2})", Seconds(period.period_s), period.strength))
}

fn trap_sentence(trap: &UtilisationTrap) -> String {
    format!(
        "utilisation trap: the GPU counts as {} used, but its SMs are active only {} of the time; one small kernel is enough to count",
        share(trap.gpu_utilization_ratio),
        share(trap.sm_active_ratio),
    )
}
