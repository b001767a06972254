//! From an opened recording to findings and verdicts: what `analyze`, `report` and `demo` share.

use crate::analysis::Question;
use crate::analysis::findings::Findings;
use crate::cli::args::QuestionArgs;
use crate::cli::error::CliError;
use crate::cli::input::{Input, open};
use crate::cli::moment::Moment;
use crate::cli::node_files::policy;
use crate::cli::progress::in_parts;
use crate::cli::spool::{name_of, title};
use crate::cli::tenants::clock_offsets;
use crate::cli::weighed::{Weighed, Weighing, weigh};
use crate::domain::ident::{GpuId, Subject};
use crate::domain::outline::Outline;
use crate::domain::time::{SampleInterval, TimeSpan, Timestamp};
use crate::recommender::policy::Policy;
use crate::recommender::situation::Limits;
use crate::recommender::suitability::{Suitability, judge};
use crate::recommender::tenant_policy::TenantPolicies;
use crate::report::{Report, ReportInput};
use crate::storage::{Selection, StoredRecording};
use std::collections::BTreeSet;

/// Several GPUs are in memory together only as far as their samples, and what is computed from them, fit in this.
const MEMORY_FOR_SAMPLES_BYTES: u64 = 320 << 20;

/// Everything that a command may show.
#[derive(Debug)]
pub(crate) struct Results {
    pub(crate) outline: Outline,
    pub(crate) findings: Findings,
    pub(crate) suitability: Vec<Suitability>,
    pub(crate) policy: Policy,
}

/// Answers the question of a command line.
pub(crate) fn answer(arguments: &QuestionArgs) -> Result<Results, CliError> {
    let (policy, _) = policy(arguments.policy.as_deref())?;
    let input: Input = open(&arguments.inputs, &arguments.foreign)?;
    let question = question(arguments, input.recording.outline())?;
    analyse(&input.recording, &question, policy)
}

/// The same, and what to do with every device.
pub(crate) fn answer_and_weigh(arguments: &QuestionArgs) -> Result<(Results, Weighed), CliError> {
    let (policy, said) = policy(arguments.policy.as_deref())?;
    let input: Input = open(&arguments.inputs, &arguments.foreign)?;
    let question = question(arguments, input.recording.outline())?;
    answer_about(&input.recording, &question, (policy, &said), &first_name(&arguments.inputs))
}

/// The same about a recording that is open.
pub(crate) fn answer_about(
    recording: &StoredRecording,
    question: &Question,
    (policy, said): (Policy, &TenantPolicies),
    file: &str,
) -> Result<(Results, Weighed), CliError> {
    let results = analyse(recording, question, policy)?;
    let weighing = Weighing {
        recording,
        file,
        span: question.span,
        said,
        words: None,
        limits: Limits::default(),
        asks_together: false,
    };
    let weighed = weigh(&weighing, &results)?;
    Ok((results, weighed))
}

/// Findings and verdicts of a recording.
pub(crate) fn analyse(
    recording: &StoredRecording,
    question: &Question,
    policy: Policy,
) -> Result<Results, CliError> {
    let outline = recording.outline().clone();
    let bounded = Question {
        most_parts: Some(parts_in_memory(recording, question.span)),
        ..question.clone()
    };
    let parts = outline.devices.len();
    let findings = in_parts("analysing", parts, |done| {
        crate::analysis::compute(&outline, &bounded, |gpu| {
            let selection = match gpu {
                Some(gpu) => Selection::gpu(gpu),
                None => Selection {
                    subjects: Some(
                        outline.subjects.iter().filter(|it| it.gpu().is_none()).cloned().collect(),
                    ),
                    ..Selection::default()
                },
            };
            let part = recording.load(&Selection { span: question.span, ..selection });
            if gpu.is_some() {
                done.one();
            }
            part
        })
    })?;
    let suitability = judge(&findings, &policy);
    Ok(Results { outline, findings, suitability, policy })
}

/// How many GPUs fit in memory together, at least one.
pub(crate) fn parts_in_memory(recording: &StoredRecording, span: Option<TimeSpan>) -> usize {
    let gpus: BTreeSet<&GpuId> =
        recording.outline().subjects.iter().filter_map(Subject::gpu).collect();
    let bytes_of =
        |gpu: &&GpuId| recording.bytes_in_memory(&Selection { span, ..Selection::gpu(gpu) });
    let greatest = gpus.iter().map(bytes_of).max().unwrap_or(0).max(1);
    usize::try_from(MEMORY_FOR_SAMPLES_BYTES / greatest).unwrap_or(usize::MAX).max(1)
}

impl Results {
    /// The results laid out as a report.
    pub(crate) fn report(&self, weighed: &Weighed, title: &str, command: &str) -> Report {
        let settings: Vec<(String, String)> = self
            .policy
            .thresholds()
            .iter()
            .map(|it| (it.key.to_owned(), format!("{} {} ({})", it.value, it.unit, it.reason)))
            .collect();
        Report::build(&ReportInput {
            title,
            outline: &self.outline,
            findings: &self.findings,
            suitability: &self.suitability,
            recommendation: &weighed.recommendation(title, command),
            settings: &settings,
            tool_version: env!("CARGO_PKG_VERSION"),
            command,
        })
    }
}

/// Name of the first input; empty without one.
pub(crate) fn first_name(inputs: &[std::path::PathBuf]) -> String {
    inputs.first().map(|it| name_of(it)).unwrap_or_default()
}

/// A heading for the report of these inputs.
pub(crate) fn title_of(inputs: &[std::path::PathBuf]) -> String {
    match inputs {
        [] => String::new(),
        [one] => title(one),
        [first, rest @ ..] => format!("{} and {} more", title(first), rest.len()),
    }
}

/// Where the last so much before `to` begins: not before the recording.
pub(crate) fn start_of_last(last: SampleInterval, to: Timestamp, span: TimeSpan) -> Timestamp {
    let micros = i64::try_from(last.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(to.as_micros().saturating_sub(micros)).max(span.from())
}

/// What the command line asks about this recording.
pub(crate) fn question(arguments: &QuestionArgs, outline: &Outline) -> Result<Question, CliError> {
    let Some(span) = outline.span else {
        return Err(CliError::not_enough_data(
            "the recording holds no samples",
            "record again, or import another file",
        ));
    };
    let moment = |it: Moment| -> Timestamp { it.within(span, arguments.foreign.timezone.as_ref()) };
    let shown = |from: Timestamp, to: Timestamp| {
        let offset = |it: Timestamp| it.seconds_since(span.from());
        format!(
            "from {:.1} s to {:.1} s after the first sample, in a recording of {:.1} s",
            offset(from),
            offset(to),
            span.seconds()
        )
    };
    let part = |from: Timestamp, to: Timestamp| {
        TimeSpan::new(from, to).filter(|it| it.overlap(span).is_some()).ok_or_else(|| {
            CliError::usage(
                format!("the window holds no samples: {}", shown(from, to)),
                "name a window inside the recording; offsets count from its first sample",
            )
        })
    };
    let to = arguments.to.map_or(span.until(), moment);
    let from = match arguments.last {
        None => arguments.from.map_or(span.from(), moment),
        Some(last) => start_of_last(last, to, span),
    };
    if let Some(label) = &arguments.phase
        && !outline.phases.iter().any(|it| it.label == *label)
    {
        let mut labels: Vec<&str> = outline.phases.iter().map(|it| it.label.as_str()).collect();
        labels.sort_unstable();
        labels.dedup();
        let known = if labels.is_empty() { "none".to_owned() } else { labels.join(", ") };
        return Err(CliError::usage(
            format!("no phase is called `{label}`"),
            format!("phases of this recording: {known}"),
        ));
    }
    let mut windows = Vec::new();
    for (first, last) in &arguments.window {
        windows.push(part(moment(*first), moment(*last))?);
    }
    let is_cut = from != span.from() || to != span.until();
    let span = if is_cut { Some(part(from, to)?) } else { None };
    Ok(Question {
        span,
        windows,
        phase: arguments.phase.clone(),
        clock_offsets: clock_offsets(outline, &arguments.neighbours.clock_offset)?,
        assume_one_gpu: arguments.neighbours.assume_one_gpu,
        most_parts: None,
    })
}
