//! `cotenant import`: foreign logs become one recording.

use crate::cli::args::ImportArgs;
use crate::cli::error::CliError;
use crate::cli::import_prometheus;
use crate::cli::input::{import_into, report_summary};
use crate::cli::output;
use crate::cli::spool::gather;
use crate::storage::{Mode, RecordingWriter};

pub(crate) fn run(arguments: &ImportArgs) -> Result<u8, CliError> {
    let mode = match (arguments.force, arguments.append) {
        (true, _) => Mode::Replace,
        (_, true) => Mode::Append,
        _ => Mode::Create,
    };
    let mut writer = RecordingWriter::open(&arguments.output, mode)?;
    let mut done_with = None;
    let outcome = match &arguments.server.prometheus {
        Some(url) => import_prometheus::import_into(arguments, url, &mut writer).map(|it| {
            done_with = it.1;
            vec![it.0]
        }),
        None => import_into(&gather(&arguments.files)?, &arguments.foreign, &mut writer),
    };
    if arguments.force && outcome.is_err() {
        writer.abandon();
        return outcome.map(|_| 0);
    }
    let outline = writer.finish()?;
    let summaries = outcome?;
    if let Some(parts) = done_with {
        parts.remove();
    }
    summaries.iter().for_each(report_summary);
    let subjects = match outline.subjects.len() {
        1 => "1 subject".to_owned(),
        count => format!("{count} subjects"),
    };
    output::info(&format!(
        "wrote {}: {} readings about {subjects}; next: cotenant report {}",
        arguments.output.display(),
        outline.readings,
        arguments.output.display(),
    ));
    Ok(0)
}
