//! From an opened recording to findings and verdicts: what `analyze`, `report` and `demo` share.

use crate::analysis::Question;
use crate::analysis::findings::Findings;
use crate::cli::args::QuestionArgs;
use crate::cli::error::CliError;
use crate::cli::input::{Input, open};
use crate::cli::moment::Moment;
use crate::cli::progress::in_parts;
use crate::cli::spool::name_of;
use crate::cli::tenants::clock_offsets;
use crate::domain::outline::Outline;
use crate::domain::time::{SampleInterval, TimeSpan, Timestamp};
use crate::recommender::policy::Policy;
use crate::recommender::suitability::{Suitability, judge};
use crate::report::{Report, ReportInput};
use crate::storage::{Selection, StoredRecording};
use std::path::Path;

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
    let policy = policy(arguments)?;
    let input: Input = open(&arguments.inputs, &arguments.foreign)?;
    let question = question(arguments, input.recording.outline())?;
    analyse(&input.recording, &question, policy)
}

/// The thresholds of a command line.
pub(crate) fn policy(arguments: &QuestionArgs) -> Result<Policy, CliError> {
    let Some(path) = &arguments.policy else { return Ok(Policy::default()) };
    Policy::from_toml(&policy_text(path)?)
        .map_err(|it| CliError::usage(format!("{}: {it}", path.display()), it.remedy()))
}

/// The text of a policy file.
pub(crate) fn policy_text(path: &Path) -> Result<String, CliError> {
    std::fs::read_to_string(path).map_err(|it| {
        CliError::usage(
            format!("{}: the policy cannot be read: {it}", path.display()),
            "give a text file (TOML) of thresholds and tenants; docs/CLI.md lists them",
        )
    })
}

/// Findings and verdicts of a recording.
pub(crate) fn analyse(
    recording: &StoredRecording,
    question: &Question,
    policy: Policy,
) -> Result<Results, CliError> {
    let outline = recording.outline().clone();
    let parts = outline.devices.len();
    let findings = in_parts("analysing", parts, |done| {
        crate::analysis::compute(&outline, question, |gpu| {
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
            done.one();
            part
        })
    })?;
    let suitability = judge(&findings, &policy);
    Ok(Results { outline, findings, suitability, policy })
}

impl Results {
    /// The results laid out as a report.
    pub(crate) fn report(&self, title: &str, command: &str) -> Report {
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
            settings: &settings,
            tool_version: env!("CARGO_PKG_VERSION"),
            command,
        })
    }
}

/// A heading for the report of these inputs.
pub(crate) fn title_of(inputs: &[std::path::PathBuf]) -> String {
    match inputs {
        [] => String::new(),
        [one] => name_of(one),
        [first, rest @ ..] => format!("{} and {} more", name_of(first), rest.len()),
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
    })
}
