//! Whether a load suits sharing, judged by its shape over time and not by its average.

use crate::analysis::evidence::Confidence;
use crate::analysis::findings::{
    BurstProfile, Bursts, DeviceFindings, Findings, ResolutionVerdict, Scope, ScopeFindings,
    SubjectFindings,
};
use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::shares::{FULL, share};
use crate::domain::units::Seconds;
use crate::recommender::policy::Policy;
use serde::{Deserialize, Serialize};

/// Whether a load suits sharing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SharingWord {
    /// A neighbour will hardly notice it.
    SharesWell,
    /// A neighbour with a latency target will notice it at times.
    SharesWithCare,
    /// A neighbour would be hurt, or there is nothing left to share.
    DoNotShare,
    /// The recording does not allow an answer.
    CannotTell,
}

impl SharingWord {
    /// The words that people read.
    pub const fn as_words(self) -> &'static str {
        match self {
            Self::SharesWell => "shares well",
            Self::SharesWithCare => "shares with care",
            Self::DoNotShare => "do not share",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// Whether one subject suits sharing in one part of the time, with reasons in numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suitability {
    /// The subject.
    pub subject: Subject,
    /// Short name for people.
    pub label: String,
    /// Which part of the time.
    pub scope: Scope,
    /// The word.
    pub word: SharingWord,
    /// Reasons with their numbers, the weightiest first.
    pub reasons: Vec<String>,
    /// What lowered the confidence or could not be seen.
    pub caveats: Vec<String>,
    /// How sure the word is.
    pub confidence: Confidence,
    /// Interval between samples that would settle it, in seconds; `None` when none is needed.
    pub needed_interval_s: Option<f64>,
}

/// Judges every subject in every part of the time, in the order of the findings.
pub fn judge(findings: &Findings, policy: &Policy) -> Vec<Suitability> {
    let mut all = Vec::new();
    for device in &findings.devices {
        for subject in &device.subjects {
            all.extend(of_subject(subject, Some(device), policy));
        }
    }
    for subject in &findings.unplaced {
        all.extend(of_subject(subject, None, policy));
    }
    all
}

fn of_subject<'a>(
    subject: &'a SubjectFindings,
    device: Option<&'a DeviceFindings>,
    policy: &'a Policy,
) -> impl Iterator<Item = Suitability> + 'a {
    subject.scopes.iter().filter_map(move |scope| {
        let profile = scope.profile.as_ref()?;
        let mut judgement = by_shape(profile, policy);
        if let Some(device) = device.filter(|_| subject.subject.is_device()) {
            heed_memory(&mut judgement, scope, peaks_of_tenants(device, &scope.scope), policy);
        }
        let is_told = judgement.word != SharingWord::CannotTell;
        let confidence =
            if is_told { confidence(profile, &judgement) } else { Confidence::new(0.0) };
        Some(Suitability {
            subject: subject.subject.clone(),
            label: subject.label.clone(),
            scope: scope.scope.clone(),
            word: judgement.word,
            reasons: judgement.reasons,
            caveats: caveats(scope, profile, policy),
            confidence,
            needed_interval_s: profile.resolution.needed_interval_s.filter(|_| !is_told),
        })
    })
}

/// Sum of the memory peaks of the processes on a GPU, in bytes; `None` with fewer than two.
fn peaks_of_tenants(device: &DeviceFindings, scope: &Scope) -> Option<f64> {
    let peaks: Vec<f64> = device
        .subjects
        .iter()
        .filter(|it| matches!(it.subject, Subject::Process { .. }))
        .filter_map(|it| it.scopes.iter().find(|it| it.scope == *scope))
        .filter_map(|it| it.levels.get(&Metric::FramebufferUsed).map(|it| it.max))
        .collect();
    (peaks.len() >= 2).then(|| peaks.iter().sum())
}

/// A word with its reasons, and how much of it had to be inferred.
struct Judgement {
    word: SharingWord,
    reasons: Vec<String>,
    certainty: f64,
}

impl Judgement {
    fn new(word: SharingWord, certainty: f64, reason: String) -> Self {
        Self { word, reasons: vec![reason], certainty }
    }
}

/// Saturation first, because shares of time are right at any resolution; then what the resolution allows.
fn by_shape(profile: &BurstProfile, policy: &Policy) -> Judgement {
    if profile.samples < policy.least_samples {
        let reason = format!(
            "{} samples are too few; {} are the least",
            profile.samples, policy.least_samples
        );
        return Judgement::new(SharingWord::CannotTell, 0.0, reason);
    }
    if let Some(reason) = saturation(profile, policy) {
        return Judgement::new(SharingWord::DoNotShare, 0.95, reason);
    }
    match profile.resolution.verdict {
        ResolutionVerdict::TooFewSamples => {
            Judgement::new(SharingWord::CannotTell, 0.0, profile.resolution.sentence.clone())
        }
        verdict
            if profile.mean_ratio <= policy.idle_mean_ratio && profile.duty.at_50_pct == 0.0 =>
        {
            idle(profile, verdict == ResolutionVerdict::Sparse, policy)
        }
        ResolutionVerdict::Constant | ResolutionVerdict::SteadyAtThisScale => {
            steady(profile, policy)
        }
        ResolutionVerdict::Sparse => sparse(profile),
        ResolutionVerdict::ShorterThanWindow => inferred(profile, policy),
        ResolutionVerdict::Resolved => measured(profile, policy, 0.95),
        ResolutionVerdict::PartlyResolved => measured(profile, policy, 0.8),
    }
}

/// Samples of which none was busy leave at most 3/n of the time unseen (the rule of three).
///
/// Between sparse samples that must be less than what reaches a neighbour's p99.
fn idle(profile: &BurstProfile, is_sparse: bool, policy: &Policy) -> Judgement {
    let mean = share(profile.mean_ratio);
    let unseen = 3.0 / profile.samples as f64;
    if is_sparse && unseen > policy.tail_ratio {
        let reason = format!(
            "idle in all {} samples, but they are too few: a load in {} of the time could have been missed",
            profile.samples,
            share(unseen)
        );
        return Judgement::new(SharingWord::CannotTell, 0.0, reason);
    }
    let certainty = if is_sparse { 0.6 } else { 0.85 };
    let reason = format!("idle: busy {mean} on average and never above half");
    Judgement::new(SharingWord::SharesWell, certainty, reason)
}

fn saturation(profile: &BurstProfile, policy: &Policy) -> Option<String> {
    let duty = profile.duty.at_95_pct;
    if duty >= policy.saturated_duty_ratio {
        let meaning = if duty >= policy.saturated_mean_ratio {
            "there is nothing left to share"
        } else {
            "that long a neighbour finds no free slot"
        };
        return Some(format!(
            "saturated: at or above {} for {} of the time; {meaning}",
            share(FULL),
            share(duty)
        ));
    }
    (profile.mean_ratio >= policy.saturated_mean_ratio)
        .then(|| format!("busy {} on average: too little is left", share(profile.mean_ratio)))
}

fn steady(profile: &BurstProfile, policy: &Policy) -> Judgement {
    let mean = share(profile.mean_ratio);
    if profile.mean_ratio <= policy.roomy_mean_ratio {
        let reason = format!(
            "steady at {mean}: windows of {} hardly differ, so a request that lasts longer meets the same load at any moment",
            Seconds(profile.window_s)
        );
        return Judgement::new(SharingWord::SharesWell, 0.95, reason);
    }
    let reason = format!("steady, but high at {mean}: a second load of this size does not fit");
    Judgement::new(SharingWord::SharesWithCare, 0.9, reason)
}

fn sparse(profile: &BurstProfile) -> Judgement {
    let reason = format!("too coarse to tell: {}", profile.resolution.sentence);
    Judgement::new(SharingWord::CannotTell, 0.0, reason)
}

/// Bursts shorter than the window: their length is an estimate, so both of its limits are judged.
fn inferred(profile: &BurstProfile, policy: &Policy) -> Judgement {
    let by_length = |length_s: f64| match length_s {
        it if it <= policy.short_burst_s => SharingWord::SharesWell,
        it if it < policy.long_burst_s => SharingWord::SharesWithCare,
        _ => SharingWord::DoNotShare,
    };
    let sentence = profile.resolution.sentence.clone();
    let Some(estimate) = profile.resolution.estimated_burst else {
        let word = by_length(profile.window_s);
        let is_told = word != SharingWord::DoNotShare;
        let word = if is_told { word } else { SharingWord::CannotTell };
        return Judgement::new(word, if is_told { 0.7 } else { 0.0 }, sentence);
    };
    let high_s = estimate.high_s.min(profile.window_s.max(estimate.about_s));
    let (low, about, high) =
        (by_length(estimate.low_s), by_length(estimate.about_s), by_length(high_s));
    if low == SharingWord::SharesWell && high == SharingWord::DoNotShare {
        return Judgement::new(SharingWord::CannotTell, 0.0, sentence);
    }
    let certainty = if low == high { 0.8 } else { 0.6 };
    let mut judgement = Judgement::new(about, certainty, sentence);
    if about == SharingWord::SharesWell && profile.mean_ratio > policy.roomy_mean_ratio {
        judgement.word = SharingWord::SharesWithCare;
        judgement.reasons.push(format!("busy {} on average", share(profile.mean_ratio)));
    }
    judgement
}

/// Bursts that were seen: time spent in long, high bursts decides, not the count of short ones.
fn measured(profile: &BurstProfile, policy: &Policy, certainty: f64) -> Judgement {
    let Some(bursts) = &profile.bursts else { return steady(profile, policy) };
    let long_and_high = bursts.time_at_least(policy.full_burst_height_ratio, policy.long_burst_s);
    let high = bursts.time_at_least(policy.low_burst_height_ratio, 0.0);
    let (word, meaning) = if long_and_high > 0.0 && long_and_high >= policy.tail_ratio {
        let meaning = format!(
            "{} or more of the device in bursts longer than a request for {} of the time: that decides a neighbour's p99, whatever the mean says",
            share(policy.full_burst_height_ratio),
            share(long_and_high)
        );
        (SharingWord::DoNotShare, meaning)
    } else if high >= policy.tail_ratio {
        let meaning = format!(
            "bursts take {} or more of the device for {} of the time, but hardly ever {} for long",
            share(policy.low_burst_height_ratio),
            share(high),
            share(policy.full_burst_height_ratio)
        );
        (SharingWord::SharesWithCare, meaning)
    } else if high > 0.0 {
        let meaning = format!(
            "bursts take {} or more of the device for only {} of the time: too rare to reach a neighbour's p99",
            share(policy.low_burst_height_ratio),
            share(high)
        );
        (SharingWord::SharesWithCare, meaning)
    } else {
        (SharingWord::SharesWell, "low bursts: half the device stays free".to_owned())
    };
    let mut judgement = Judgement::new(word, certainty, meaning);
    judgement.reasons.push(burst_facts(profile, bursts));
    if word == SharingWord::SharesWell && profile.mean_ratio > policy.roomy_mean_ratio {
        judgement.word = SharingWord::SharesWithCare;
    }
    judgement
}

/// Fewer bursts than this have no quantiles worth a word.
const FEW_BURSTS: u64 = 10;

fn burst_facts(profile: &BurstProfile, bursts: &Bursts) -> String {
    let lengths = &bursts.burst_lengths;
    let shown = |it: Option<f64>| Seconds(it.or(lengths.max_s).unwrap_or(0.0));
    let how_long = match lengths.count {
        1 => format!("1 burst of {}", shown(lengths.max_s)),
        few if few < FEW_BURSTS => format!("{few} bursts, the longest {}", shown(lengths.max_s)),
        many => format!(
            "{many} bursts, half of them up to {} and nine of ten up to {}",
            shown(lengths.p50_s),
            shown(lengths.p90_s)
        ),
    };
    format!(
        "{how_long}, to {} of the device (median), in {} of the time; mean {}",
        share(bursts.height_p50_ratio),
        share(bursts.on_ratio_of_time),
        share(profile.mean_ratio),
    )
}

/// Memory binds before compute: a device that is full takes no neighbour, however idle it is.
///
/// The peaks of its tenants count too: those that have not met yet may meet.
fn heed_memory(
    judgement: &mut Judgement,
    scope: &ScopeFindings,
    peaks_of_tenants: Option<f64>,
    policy: &Policy,
) {
    let peak = scope.levels.get(&Metric::FramebufferUsed).map(|it| it.max);
    let total = scope.levels.get(&Metric::FramebufferTotal).map(|it| it.max);
    let (Some(peak), Some(total)) = (peak, total.filter(|it| *it > 0.0)) else { return };
    let reason = if peak / total >= policy.full_memory_ratio {
        format!("memory is {} full at its peak: a neighbour may not find room", share(peak / total))
    } else {
        let Some(sum) = peaks_of_tenants.filter(|it| it / total >= policy.full_memory_ratio) else {
            return;
        };
        format!(
            "the memory peaks of its processes add up to {} of the device: if they coincide, one of them runs out of memory",
            share(sum / total)
        )
    };
    judgement.reasons.push(reason);
    if judgement.word == SharingWord::SharesWell {
        judgement.word = SharingWord::SharesWithCare;
    }
}

fn caveats(scope: &ScopeFindings, profile: &BurstProfile, policy: &Policy) -> Vec<String> {
    let mut caveats = Vec::new();
    if !scope.levels.contains_key(&Metric::SmActive) {
        caveats.push(
            "SM activity was not recorded: utilisation counts a GPU as busy when one kernel runs"
                .to_owned(),
        );
    }
    if !scope.levels.contains_key(&Metric::FramebufferUsed) {
        caveats.push("memory was not recorded: whether a neighbour fits is not known".to_owned());
    }
    if !profile.window_is_stated && profile.metric == Metric::GpuUtilization {
        caveats.push(format!(
            "the window of the driver's counter is assumed to be {}",
            Seconds(profile.window_s)
        ));
    }
    caveats.extend(unseen_time(profile, policy));
    if profile.segments > 1 {
        let holes = if profile.segments == 2 { "hole" } else { "holes" };
        caveats.push(format!("the samples have {} {holes}", profile.segments - 1));
    }
    caveats
}

/// What a load in step with the sampling could hide.
fn unseen_time(profile: &BurstProfile, policy: &Policy) -> Option<String> {
    let (window, stride) = (Seconds(profile.window_s), Seconds(profile.stride_s));
    match profile.resolution.verdict {
        ResolutionVerdict::Sparse => Some(format!(
            "{} of the time was not seen: one window of {window} every {stride}; a load in step with that would be missed",
            share(1.0 - profile.window_s / profile.stride_s)
        )),
        ResolutionVerdict::SteadyAtThisScale if profile.window_s >= policy.long_burst_s => {
            Some(format!("regular bursts shorter than the window of {window} would look the same"))
        }
        _ => None,
    }
}

/// Fewer samples, an assumed window and inferred lengths each take something away.
fn confidence(profile: &BurstProfile, judgement: &Judgement) -> Confidence {
    let by_samples = 1.0 - 1.0 / (profile.samples as f64).sqrt();
    let by_window = if profile.window_is_stated { 1.0 } else { 0.97 };
    Confidence::new(judgement.certainty)
        .and(Confidence::new(by_samples))
        .and(Confidence::new(by_window))
}
