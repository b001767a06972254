//! A timeline: the analysis first, then one GPU after the other.

use crate::analysis::Question;
use crate::cli::export::Stop;
use crate::cli::export_args::ExportArgs;
use crate::cli::node_files;
use crate::cli::output;
use crate::cli::results::analyse;
use crate::cli::tenants::clock_offsets;
use crate::domain::ident::{GpuId, Subject};
use crate::domain::outline::Outline;
use crate::domain::time::TimeSpan;
use crate::report::render::trace::{TraceInput, TraceWriter};
use crate::storage::{Selection, StoredRecording};
use std::io::Write;

pub(crate) fn write(
    arguments: &ExportArgs,
    recording: &StoredRecording,
    (asked, command): (Option<TimeSpan>, &str),
    out: &mut dyn Write,
) -> Result<(), Stop> {
    let outline = recording.outline();
    let Some(whole) = outline.span else { return Ok(()) };
    let (policy, _) = node_files::policy(arguments.policy.as_deref())?;
    let neighbours = &arguments.neighbours;
    let question = Question {
        span: asked,
        clock_offsets: clock_offsets(outline, &neighbours.clock_offset)?,
        assume_one_gpu: neighbours.assume_one_gpu,
        ..Question::default()
    };
    let results = analyse(recording, &question, policy)?;
    let input = TraceInput {
        outline: &results.outline,
        findings: &results.findings,
        suitability: &results.suitability,
        shown: asked.unwrap_or(whole),
        most: arguments.most_samples.0,
        tool_version: env!("CARGO_PKG_VERSION"),
        command,
    };
    let mut timeline = TraceWriter::begin(out, input)?;
    for gpu in TraceWriter::<&mut dyn Write>::parts(&input) {
        let part = recording.load(&Selection { span: asked, ..of(gpu, &results.outline) })?;
        timeline.gpu(gpu, &part)?;
    }
    if let Some(remark) = timeline.finish()?.remark() {
        output::info(&format!("{remark}; --most-samples all keeps every one"));
    }
    Ok(())
}

fn of(gpu: Option<&GpuId>, outline: &Outline) -> Selection {
    let unplaced = |it: &&Subject| it.gpu().is_none();
    match gpu {
        Some(gpu) => Selection::gpu(gpu),
        None => Selection {
            subjects: Some(outline.subjects.iter().filter(unplaced).cloned().collect()),
            ..Selection::default()
        },
    }
}
