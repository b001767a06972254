//! Findings as marks on a timeline: each where it lies, or over the part of the time that it is about.

use crate::analysis::events::{BurstEvent, SubjectEvents};
use crate::analysis::findings::{Resolution, Scope};
use crate::analysis::influence::findings::{Influence, InfluenceFindings, InfluenceVerdict};
use crate::analysis::memory_findings::{MemoryFindings, OutOfMemory};
use crate::domain::blind_spot::BlindSpot;
use crate::domain::ident::GpuId;
use crate::domain::outline::{Outline, Phase};
use crate::domain::time::{TimeSpan, Timestamp};
use crate::recommender::suitability::Suitability;
use crate::report::influences::wording::in_words;
use crate::report::render::trace::json::{Arguments, Mark, Value};
use crate::report::wording::{count, list, name};

/// Where stamps count from, and the part of the time that is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    pub(crate) origin: Timestamp,
    pub(crate) shown: TimeSpan,
}

impl Clock {
    /// A stamp in microseconds from the origin; never before it.
    pub(crate) fn at(self, at: Timestamp) -> i64 {
        at.max(self.origin).micros_since(self.origin)
    }

    fn span(
        self,
        span: TimeSpan,
        name: String,
        category: &'static str,
        arguments: Arguments,
    ) -> Mark {
        let at_us = self.at(span.from());
        let length_us = Some(self.at(span.until()) - at_us);
        Mark { at_us, length_us, name, category, arguments }
    }

    fn instant(
        self,
        at: Timestamp,
        name: String,
        category: &'static str,
        arguments: Arguments,
    ) -> Mark {
        Mark { at_us: self.at(at), length_us: None, name, category, arguments }
    }

    /// The stretches of a part of the time that are shown.
    fn stretches(self, scope: &Scope, phases: &[Phase], gpu: Option<&GpuId>) -> Vec<TimeSpan> {
        let is_meant = |it: &&Phase, label: &str| {
            it.label == label && (it.gpu.is_none() || it.gpu.as_ref() == gpu)
        };
        let all: Vec<TimeSpan> = match scope {
            Scope::Whole => vec![self.shown],
            Scope::Phase { label } => {
                phases.iter().filter(|it| is_meant(it, label)).map(|it| it.span).collect()
            }
            Scope::Window { span } => vec![*span],
        };
        all.into_iter().filter_map(|it| it.overlap(self.shown)).collect()
    }
}

fn text(value: impl Into<String>) -> Value {
    Value::Text(value.into())
}

/// An argument for each number that is known.
fn numbers<const N: usize>(
    all: [(&'static str, Option<f64>); N],
) -> impl Iterator<Item = (&'static str, Value)> {
    all.into_iter().filter_map(|(key, value)| Some((key, Value::Number(value?))))
}

/// Bursts of a subject; of more than `most` each mark holds as many neighbours as it takes.
pub(crate) fn bursts(
    clock: Clock,
    events: &SubjectEvents,
    resolution: Option<&Resolution>,
    most: Option<usize>,
) -> Vec<Mark> {
    let together = most.map_or(1, |it| events.bursts.len().div_ceil(it.max(1)).max(1));
    let resolved = resolution.map(|it| it.sentence.as_str()).unwrap_or_default();
    let stretches = events.bursts.chunk_by(|a, b| a.segment == b.segment);
    stretches
        .flat_map(|it| it.chunks(together))
        .filter_map(|it| burst(clock, it, resolved))
        .collect()
}

fn burst(clock: Clock, bursts: &[BurstEvent], resolved: &str) -> Option<Mark> {
    let span = bursts.iter().map(|it| it.span).reduce(TimeSpan::hull)?;
    let height = bursts.iter().map(|it| it.height_ratio).fold(0.0, f64::max);
    let sum = |of: fn(&BurstEvent) -> f64| Value::Number(bursts.iter().map(of).sum());
    let mut arguments: Arguments = vec![
        ("height_ratio", Value::Number(height)),
        ("length_s", sum(|it| it.length_s)),
        ("busy_s", sum(|it| it.busy_s)),
        ("bursts", Value::Whole(bursts.len() as u64)),
        ("resolution", text(resolved)),
    ];
    if bursts.iter().any(|it| it.is_cut_off) {
        arguments
            .push(("cut_off", text("by a hole or an end of the recording: may have been longer")));
    }
    let name = match bursts.len() {
        1 => format!("burst {:.0} %", 100.0 * height),
        many => format!("{many} bursts up to {:.0} %", 100.0 * height),
    };
    Some(clock.span(span, name, "burst", arguments))
}

/// Stretches in which a subject was not sampled.
pub(crate) fn holes(clock: Clock, events: &SubjectEvents) -> Vec<Mark> {
    let mark = |it: &TimeSpan| clock.span(*it, "not sampled".to_owned(), "hole", Vec::new());
    events.holes.iter().map(mark).collect()
}

/// What holds the clock of a board back, and errors that it reports.
pub(crate) fn limits(clock: Clock, label: &str, events: &SubjectEvents) -> Vec<Mark> {
    let held = events.limits.iter().map(|it| {
        let reasons: Vec<String> = it.reasons.iter().map(|it| (*it).to_owned()).collect();
        let reasons = list(&reasons);
        let arguments = vec![("reasons", text(reasons.as_str())), ("who", text(label))];
        clock.span(it.span, format!("clock held back: {reasons}"), "limit", arguments)
    });
    let errors = events.xids.iter().map(|it| {
        let arguments = vec![("xid_code", Value::Whole(u64::from(it.code))), ("who", text(label))];
        clock.instant(it.at, format!("Xid {}", it.code), "fault", arguments)
    });
    held.chain(errors).collect()
}

/// The word on each part of the time, where the part begins.
pub(crate) fn words(
    clock: Clock,
    suitability: &[&Suitability],
    phases: &[Phase],
    resolution: Option<&Resolution>,
) -> Vec<Mark> {
    let of_one = |it: &&Suitability| {
        let mut arguments: Arguments = vec![
            ("part", text(it.scope.to_string())),
            ("confidence", Value::Number(it.confidence.value())),
        ];
        arguments
            .extend((!it.reasons.is_empty()).then(|| ("reasons", text(it.reasons.join("; ")))));
        arguments
            .extend((!it.caveats.is_empty()).then(|| ("caveats", text(it.caveats.join("; ")))));
        arguments.extend(resolution.map(|it| ("resolution", text(it.sentence.as_str()))));
        let name = format!("{} ({})", it.word.as_words(), it.scope);
        let stretches = clock.stretches(&it.scope, phases, it.subject.gpu());
        let marks: Vec<Mark> = stretches
            .into_iter()
            .map(|at| clock.instant(at.from(), name.clone(), "word", arguments.clone()))
            .collect();
        marks
    };
    suitability.iter().flat_map(of_one).collect()
}

/// Phases of a GPU.
pub(crate) fn phases(clock: Clock, outline: &Outline, gpu: Option<&GpuId>) -> Vec<Mark> {
    let here = outline.phases.iter().filter(|it| it.gpu.as_ref() == gpu);
    here.filter_map(|it| Some((it, it.span.overlap(clock.shown)?)))
        .map(|(it, span)| clock.span(span, name(&it.label), "phase", Vec::new()))
        .collect()
}

/// Influences that were shown, over the part of the time in which they were.
pub(crate) fn influences(
    clock: Clock,
    found: &InfluenceFindings,
    phases: &[Phase],
    gpu: Option<&GpuId>,
) -> Vec<Mark> {
    let is_shown = |it: &&Influence| {
        matches!(
            it.verdict,
            InfluenceVerdict::Confirmed | InfluenceVerdict::Through | InfluenceVerdict::Likely
        )
    };
    let of_one = |it: &Influence| {
        let verdict = match it.verdict {
            InfluenceVerdict::Confirmed => "confirmed",
            InfluenceVerdict::Through => "through something shared",
            _ => "likely",
        };
        let arguments: Arguments = [
            ("suspect", text(it.suspect.as_str())),
            ("victim", text(it.victim.as_str())),
            ("metric", text(it.metric.key())),
            ("verdict", text(verdict)),
        ]
        .into_iter()
        .chain(numbers([
            ("effect_ratio", it.effect_ratio),
            ("effect_low", it.effect_low),
            ("effect_high", it.effect_high),
            ("lag_seconds", it.lag_seconds),
            ("q", it.q),
        ]))
        .collect();
        let stretches = clock.stretches(&it.scope, phases, gpu);
        let mark = |span| clock.span(span, in_words(it), "influence", arguments.clone());
        stretches.into_iter().map(mark).collect::<Vec<Mark>>()
    };
    found.pairs.iter().filter(is_shown).flat_map(of_one).collect()
}

/// Moments without memory, and the instant at which all held most together.
pub(crate) fn memory(clock: Clock, found: &MemoryFindings) -> Vec<Mark> {
    let moments = found.out_of_memory.iter().map(|it| out_of_memory(clock, &found.label, it));
    moments.chain(highest_together(clock, found)).collect()
}

fn out_of_memory(clock: Clock, space: &str, it: &OutOfMemory) -> Mark {
    let who =
        it.failed.as_deref().map_or_else(String::new, |it| format!(": {} was lost", name(it)));
    let mut arguments: Arguments = vec![
        ("what", text(it.sentence.as_str())),
        ("memory_of", text(space)),
        ("confidence", Value::Number(it.confidence.value())),
        ("at_uncertainty_s", Value::Number(it.at_uncertainty_s)),
    ];
    arguments.extend((!it.named.is_empty()).then(|| ("named", text(list(&it.named)))));
    arguments.extend(numbers([("free_bytes", it.free_bytes)]));
    clock.instant(it.at, format!("out of memory{who}"), "memory", arguments)
}

/// The bin of the picture in which the sum of all tenants is greatest; `None` for fewer than two tenants.
fn highest_together(clock: Clock, found: &MemoryFindings) -> Option<Mark> {
    let picture = &found.picture;
    if picture.layers.len() < 2 {
        return None;
    }
    let bins = picture.layers.iter().map(|it| it.bytes.len()).min()?;
    let sum = |bin: usize| -> Option<f64> { picture.layers.iter().map(|it| it.bytes[bin]).sum() };
    let sums = (0..bins).filter_map(|bin| Some((bin, sum(bin)?)));
    // Of equal ones the first.
    let (bin, bytes) = sums.reduce(|best, it| if it.1 > best.1 { it } else { best })?;
    let offset_us = (bin as f64 * picture.bin_s * 1e6).round() as i64;
    let arguments: Arguments = [("memory_of", text(found.label.as_str()))]
        .into_iter()
        .chain(numbers([
            ("sum_bytes", Some(bytes)),
            ("peak_of_sum_bytes", found.peak_of_sum_bytes),
            ("sum_of_peaks_bytes", found.sum_of_peaks_bytes),
            ("coincidence_ratio", found.coincidence_ratio),
            ("room_bytes", found.room_bytes),
            ("within_s", Some(picture.bin_s)),
        ]))
        .collect();
    let who = count(picture.layers.len(), "tenant", "tenants");
    let name = match found.coincidence_ratio {
        Some(ratio) => format!("memory of {who} highest together (coincidence {ratio:.2})"),
        None => format!("memory of {who} highest together"),
    };
    Some(clock.instant(picture.from.plus_micros(offset_us), name, "memory", arguments))
}

/// What could not be seen: a span where it has one, an instant at the beginning otherwise.
pub(crate) fn blind_spots<'a>(
    clock: Clock,
    outline: &Outline,
    spots: impl Iterator<Item = &'a BlindSpot>,
) -> Vec<Mark> {
    let of_one = |it: &BlindSpot| {
        let subject = it.subject.as_ref().map(|it| ("who", text(outline.label(it))));
        let metric = it.metric.map(|it| ("metric", text(it.key())));
        let remedy = (!it.remedy.is_empty()).then(|| ("remedy", text(it.remedy.as_str())));
        let arguments: Arguments = subject.into_iter().chain(metric).chain(remedy).collect();
        let name = format!("blind spot: {}", it.detail);
        match it.span {
            Some(span) => {
                let span = span.overlap(clock.shown)?;
                Some(clock.span(span, name, "blind-spot", arguments))
            }
            None => Some(clock.instant(clock.shown.from(), name, "blind-spot", arguments)),
        }
    };
    spots.filter_map(of_one).collect()
}
