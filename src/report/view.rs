//! The findings as a report walks them: devices in order, each with what lives on it by activity.

use crate::analysis::findings::{
    BurstProfile, DeviceFindings, EstimatedLength, Level, ResolutionVerdict, Scope, ScopeFindings,
    SubjectFindings,
};
use crate::domain::ident::Subject;
use crate::domain::metric::{Metric, Unit};
use crate::recommender::suitability::{SharingWord, Suitability};
use crate::report::ReportInput;
use crate::report::wording::{clean, name, slug};

/// So many devices are shown unfolded.
pub(crate) const UNFOLDED_DEVICES: usize = 3;

/// From this mean on nobody is told that there is room at any moment.
const HALF: f64 = 0.5;
/// A share of time below this is as good as none.
const HARDLY_EVER: f64 = 0.001;

/// A device with what lives on it.
#[derive(Debug)]
pub(crate) struct DeviceView<'a> {
    /// Name for people, cleaned.
    pub name: String,
    /// Part of anchors and file names, unique in the report.
    pub slug: String,
    /// Product name, cleaned.
    pub model: Option<String>,
    /// The device itself; `None` when it has no readings of its own.
    pub own: Option<&'a SubjectFindings>,
    /// Instances, processes and tenants, the most active first, those without activity last.
    pub residents: Vec<&'a SubjectFindings>,
    /// The verdict over the whole recording; `None` when it was not judged.
    pub verdict: Option<&'a Suitability>,
}

impl<'a> DeviceView<'a> {
    /// The device itself, then its residents.
    pub(crate) fn everyone(&self) -> impl Iterator<Item = &'a SubjectFindings> + '_ {
        self.own.into_iter().chain(self.residents.iter().copied())
    }

    /// Whether it may be said that there is room at any moment: the verdict and the numbers agree.
    pub(crate) fn leaves_room(&self) -> bool {
        let shares_well = self.verdict.is_some_and(|it| it.word == SharingWord::SharesWell);
        let is_low = |it: &BurstProfile| it.mean_ratio < HALF && it.duty.at_95_pct < HARDLY_EVER;
        shares_well && self.own.and_then(profile).is_some_and(is_low)
    }
}

/// Every device, in the order of the findings.
pub(crate) fn devices<'a>(input: &ReportInput<'a>) -> Vec<DeviceView<'a>> {
    let mut views: Vec<DeviceView<'a>> = Vec::with_capacity(input.findings.devices.len());
    for device in &input.findings.devices {
        let mut view = view(input, device);
        let repeats = views.iter().filter(|it| it.slug == view.slug).count();
        if repeats > 0 || view.slug.is_empty() {
            view.slug = format!("device-{}", views.len() + 1);
        }
        views.push(view);
    }
    views
}

/// Every device, and last those loads of which no device is known.
pub(crate) fn places<'a>(input: &ReportInput<'a>) -> Vec<DeviceView<'a>> {
    let mut places = devices(input);
    if !input.findings.unplaced.is_empty() {
        places.push(DeviceView {
            name: "Loads on no known GPU".to_owned(),
            slug: "no-known-gpu".to_owned(),
            model: None,
            own: None,
            residents: by_activity(&input.findings.unplaced),
            verdict: None,
        });
    }
    places
}

/// The most active first, those without activity last.
fn by_activity<'a>(
    subjects: impl IntoIterator<Item = &'a SubjectFindings>,
) -> Vec<&'a SubjectFindings> {
    let mut sorted: Vec<&SubjectFindings> = subjects.into_iter().collect();
    sorted.sort_by(|a, b| {
        let activity = |it: &SubjectFindings| mean_activity(it).unwrap_or(-1.0);
        activity(b).total_cmp(&activity(a)).then_with(|| a.subject.cmp(&b.subject))
    });
    sorted
}

fn view<'a>(input: &ReportInput<'a>, device: &'a DeviceFindings) -> DeviceView<'a> {
    let (own, residents): (Vec<_>, Vec<_>) =
        device.subjects.iter().partition(|it| it.subject.is_device());
    let name = name(&device.label);
    DeviceView {
        slug: slug(&name),
        name,
        model: device.model.as_deref().map(clean),
        own: own.first().copied(),
        residents: by_activity(residents),
        verdict: verdict(input, &Subject::device(&device.gpu)),
    }
}

/// The verdict on a subject over the whole recording; `None` when it was not judged.
pub(crate) fn verdict<'a>(input: &ReportInput<'a>, subject: &Subject) -> Option<&'a Suitability> {
    input.suitability.iter().find(|it| it.subject == *subject && it.scope == Scope::Whole)
}

/// Shape of the activity over the whole recording.
pub(crate) fn profile(subject: &SubjectFindings) -> Option<&BurstProfile> {
    subject.whole().and_then(|it| it.profile.as_ref())
}

/// Level of a metric over the whole recording.
pub(crate) fn level(subject: &SubjectFindings, metric: Metric) -> Option<Level> {
    subject.whole().and_then(|it| it.levels.get(&metric).copied())
}

/// Metrics that may stand for activity.
const ACTIVITY: [Metric; 3] =
    [Metric::SmActive, Metric::GraphicsEngineActive, Metric::GpuUtilization];

/// Whether a row about shape and level says anything; a device always has its row.
pub(crate) fn has_shape(subject: &SubjectFindings) -> bool {
    let has_memory = |it: &ScopeFindings| it.levels.contains_key(&Metric::FramebufferUsed);
    let says = |it: &ScopeFindings| it.profile.is_some() || has_memory(it);
    subject.subject.is_device() || subject.scopes.iter().any(says)
}

/// What a service reports about itself, in the order in which it is shown.
pub(crate) const SERVICE: [Metric; 5] = [
    Metric::LatencyP99,
    Metric::LatencyP50,
    Metric::LatencyMean,
    Metric::Throughput,
    Metric::OfferedLoad,
];

/// Whether a subject is known only by what it reports about itself as a service.
pub(crate) fn is_service_only(subject: &SubjectFindings) -> bool {
    let reports = |it: &ScopeFindings| SERVICE.iter().any(|metric| it.levels.contains_key(metric));
    !has_shape(subject) && subject.scopes.iter().any(reports)
}

/// Which metric stands for the activity of a subject; `None` when none was seen.
pub(crate) fn activity_metric(subject: &SubjectFindings) -> Option<Metric> {
    if let Some(profile) = profile(subject) {
        return Some(profile.metric);
    }
    ACTIVITY.into_iter().find(|it| subject.timeline(*it).is_some())
}

fn mean_activity(subject: &SubjectFindings) -> Option<f64> {
    match profile(subject) {
        Some(profile) => Some(profile.mean_ratio),
        None => {
            let metric = activity_metric(subject)?;
            level(subject, metric).map(|it| it.mean * percent_factor(metric) / 100.0)
        }
    }
}

/// What turns a value of the metric into percent.
pub(crate) fn percent_factor(metric: Metric) -> f64 {
    if metric.spec().unit == Unit::Ratio { 100.0 } else { 1.0 }
}

/// What kind of subject it is, in one word.
pub(crate) fn kind(subject: &Subject) -> &'static str {
    match subject {
        Subject::Device { .. } => "GPU",
        Subject::MigInstance { .. } => "MIG instance",
        Subject::Process { .. } => "process",
        Subject::Tenant { .. } => "tenant",
    }
}

/// Why a subject has no burst profile.
pub(crate) fn why_no_profile(scope: Option<&ScopeFindings>) -> &'static str {
    let levels = ACTIVITY.iter().filter_map(|it| scope?.levels.get(it));
    match levels.map(|it| it.samples).max() {
        None | Some(0) => "no activity metric was recorded for it",
        Some(1) => "one sample only",
        Some(_) => "too few samples of its activity at different times",
    }
}

/// The inferred length of a burst; `None` for a steady load, whose bursts nobody can know.
pub(crate) fn estimated_burst(profile: &BurstProfile) -> Option<EstimatedLength> {
    let is_steady = profile.resolution.verdict == ResolutionVerdict::SteadyAtThisScale;
    profile.resolution.estimated_burst.filter(|_| !is_steady)
}

/// Why there are no burst lengths.
pub(crate) fn why_no_bursts(scope: Option<&ScopeFindings>) -> String {
    let Some(profile) = scope.and_then(|it| it.profile.as_ref()) else {
        return why_no_profile(scope).to_owned();
    };
    if profile.resolution.verdict == ResolutionVerdict::SteadyAtThisScale {
        return "far shorter than the window".to_owned();
    }
    match clean(&profile.resolution.sentence) {
        it if it == "(no name)" => "the sampling does not show single bursts".to_owned(),
        it => it,
    }
}
