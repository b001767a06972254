//! `cotenant findings`: what a plan needs to know of each device, from recordings or from a stream of rows.

use crate::cli::ending::form_of;
use crate::cli::error::CliError;
use crate::cli::findings_args::{FindingsArgs, FindingsForm};
use crate::cli::findings_sink::RowSink;
use crate::cli::findings_stream::stream;
use crate::cli::findings_table::{FindingRow, thresholds};
use crate::cli::node_files::policy;
use crate::cli::output;
use crate::cli::overwrite::Protected;
use crate::cli::plan_findings::{Found, Keeping, findings};
use crate::cli::plan_sources::{RecordingSource, SourceKind, sources};
use crate::cli::progress::in_parts;
use crate::recommender::policy::Policy;
use crate::storage::arrow::DeviceKey;
use std::path::PathBuf;

pub(crate) fn run(arguments: &FindingsArgs) -> Result<u8, CliError> {
    let mut protected = Protected::inputs(&arguments.recordings, &arguments.foreign);
    protected.add(arguments.policy.iter().map(PathBuf::as_path));
    arguments.out.iter().try_for_each(|it| protected.check_file(it))?;
    let known = [
        ("parquet", FindingsForm::Parquet),
        ("arrow", FindingsForm::Arrow),
        ("arrows", FindingsForm::Arrow),
        ("json", FindingsForm::Json),
        ("jsonl", FindingsForm::Json),
    ];
    let plain = if arguments.arrow { FindingsForm::Arrow } else { FindingsForm::Json };
    let form = form_of(arguments.output, arguments.out.as_deref(), (plain, &known))?;
    let policy = policy(arguments.policy.as_deref())?.0;
    let mut sink = RowSink::open(form, arguments.out.as_deref(), thresholds(&policy))?;
    let taken = match arguments.arrow {
        true => stream(arguments, &policy, &mut sink),
        false => recordings(arguments, &policy, &mut sink),
    };
    let (found, failed) = sink.count;
    if let Err(error) = taken {
        match sink.break_off() {
            Ok(()) if found == 0 => {}
            Ok(()) => {
                output::warning(&format!("what came before is kept: findings of {found} devices"));
            }
            Err(other) => {
                output::warning(&format!("what came before is lost: {}", other.message()));
            }
        }
        return Err(error);
    }
    sink.finish()?;
    output::info(&format!("findings of {found} devices, {failed} rows say why there is none"));
    Ok(0)
}

/// Findings of every recording that was named.
fn recordings(
    arguments: &FindingsArgs,
    policy: &Policy,
    sink: &mut RowSink,
) -> Result<(), CliError> {
    let (sources, left_out) = sources(&arguments.recordings, arguments.one_host)?;
    if let Some(it) = sources.iter().find(|it| it.kind == SourceKind::Findings) {
        return Err(CliError::usage(
            format!("{}: holds findings already", it.file()),
            "give it to `cotenant plan`, and recordings to `cotenant findings`",
        ));
    }
    left_out.told().iter().for_each(|it| output::warning(it));
    let how = Keeping {
        foreign: &arguments.foreign,
        policy,
        is_kept: !arguments.no_keep,
        is_several: arguments.one_of_many || sources.len() > 1,
    };
    in_parts("looking at GPUs", sources.len(), |done| {
        for it in &sources {
            if !sink.take(rows(it, findings(it, &how, done)))? {
                break;
            }
        }
        Ok(())
    })
}

/// The rows of one recording: a finding for each device, or one that says why there is none.
fn rows(source: &RecordingSource, found: Result<Found, CliError>) -> Vec<FindingRow> {
    let key = DeviceKey {
        recording: source.paths.first().map(|it| it.display().to_string()),
        host: source.host.clone(),
        gpu: None,
        window: None,
    };
    let none = |why: String| vec![FindingRow { key: key.clone(), found: Err(why) }];
    match found {
        Err(error) => none(error.message().to_owned()),
        Ok(found) => match found.why_none {
            Some(why) => none(format!("{why}: no GPU was seen in it")),
            None => {
                let row = |it| FindingRow { key: key.clone(), found: Ok(it) };
                found.devices.into_iter().map(row).collect()
            }
        },
    }
}
