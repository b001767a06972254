//! `cotenant export`: a recording in another form.

mod csv;
mod openmetrics;
mod trace;

use crate::cli::error::CliError;
use crate::cli::export_args::{ExportArgs, ExportForm};
use crate::cli::input::{open, open_each};
use crate::cli::moment::Moment;
use crate::cli::overwrite::Protected;
use crate::cli::record::ends_on_signals;
use crate::cli::results::start_of_last;
use crate::cli::whole_file::{Stoppable, WholeFile};
use crate::domain::outline::Outline;
use crate::domain::time::{TimeSpan, Timestamp};
use crate::storage::error::StorageError;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(crate) fn run(arguments: &ExportArgs, command: &str) -> Result<u8, CliError> {
    check(arguments)?;
    let mut protected = Protected::inputs(&arguments.inputs, &arguments.foreign);
    protected.add(arguments.policy.as_deref());
    arguments.output.iter().try_for_each(|it| protected.check_file(it))?;
    let input = match arguments.to {
        ExportForm::Trace => open(&arguments.inputs, &arguments.foreign)?,
        ExportForm::Openmetrics | ExportForm::Csv => {
            open_each(&arguments.inputs, &arguments.foreign)?
        }
    };
    let recording = &input.recording;
    let asked = asked(arguments, recording.outline())?;
    with_output(arguments.output.as_deref(), |out| match arguments.to {
        ExportForm::Trace => trace::write(arguments, recording, (asked, command), out),
        ExportForm::Openmetrics => openmetrics::write(recording, asked, out),
        ExportForm::Csv => csv::write(recording, asked, out),
    })
    .map(|()| 0)
}

/// Refuses options that only a timeline can heed.
fn check(arguments: &ExportArgs) -> Result<(), CliError> {
    if arguments.to == ExportForm::Trace {
        return Ok(());
    }
    let it = &arguments.neighbours;
    let given = [
        ("--policy", arguments.policy.is_some()),
        ("--clock-offset", !it.clock_offset.is_empty()),
        ("--assume-one-gpu", it.assume_one_gpu),
        ("--most-samples", !arguments.most_samples.is_usual()),
    ];
    match given.iter().find(|it| it.1) {
        None => Ok(()),
        Some((option, _)) => Err(CliError::usage(
            format!("{option} means nothing to --to {}", arguments.to.word()),
            "leave it out; every sample is written as it is, and --from, --until and --last choose the time",
        )),
    }
}

/// Why an export ended early.
enum Stop {
    Failed(CliError),
    Io(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<CliError> for Stop {
    fn from(error: CliError) -> Self {
        Self::Failed(error)
    }
}

impl From<StorageError> for Stop {
    fn from(error: StorageError) -> Self {
        Self::Failed(error.into())
    }
}

/// Opens the output, packed where its name says so; a reader that went away is no error.
///
/// A file has its name once it is whole: a signal, or an error, leaves what was there before.
fn with_output(
    path: Option<&Path>,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Stop>,
) -> Result<(), CliError> {
    let is_over = path.map(|_| ends_on_signals()).transpose()?.unwrap_or_default();
    let outcome = match path {
        None => write(&mut BufWriter::new(io::stdout().lock())),
        Some(path) => {
            let file = Stoppable::new(WholeFile::create(path)?, Arc::clone(&is_over));
            let mut file = BufWriter::new(file);
            let written = match path.extension().is_some_and(|it| it.eq_ignore_ascii_case("gz")) {
                false => write(&mut file).map(|()| file),
                true => {
                    let mut packed = GzEncoder::new(file, Compression::default());
                    write(&mut packed).and_then(|()| Ok(packed.finish()?))
                }
            };
            written
                .and_then(|file| Ok(file.into_inner().map_err(io::IntoInnerError::into_error)?))
                .and_then(|file| Ok(file.into_inner().finish()?))
        }
    };
    match outcome {
        Ok(()) => Ok(()),
        Err(Stop::Io(_)) if is_over.load(Ordering::Relaxed) => Err(CliError::interrupted(
            "the export was interrupted and is not written",
            "ask again; --from, --until and --last export a part",
        )),
        Err(Stop::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(Stop::Io(error)) => Err(CliError::failed("cannot write the export", &error)),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// The part of the time that was asked for; `None` for all of it.
///
/// Errors: there are no samples, or none in that part.
fn asked(arguments: &ExportArgs, outline: &Outline) -> Result<Option<TimeSpan>, CliError> {
    let Some(whole) = outline.span else {
        let remedy = "record again, or import another file";
        return Err(CliError::not_enough_data("the recording holds no samples", remedy));
    };
    let moment = |it: Moment| it.within(whole, arguments.foreign.timezone.as_ref());
    let from = match arguments.last {
        None => arguments.from.map(moment),
        Some(last) => Some(start_of_last(last, whole.until(), whole)),
    };
    let until = arguments.until.map(moment);
    if from.is_none() && until.is_none() {
        return Ok(None);
    }
    let (from, until) = (from.unwrap_or(whole.from()), until.unwrap_or(whole.until()));
    TimeSpan::new(from, until).and_then(|it| it.overlap(whole)).map(Some).ok_or_else(|| {
        let offset = |it: Timestamp| it.seconds_since(whole.from());
        CliError::usage(
            format!(
                "no samples from {:.1} s to {:.1} s after the first one, in a recording of {:.1} s",
                offset(from),
                offset(until),
                whole.seconds()
            ),
            "name a part inside the recording; offsets count from its first sample",
        )
    })
}
