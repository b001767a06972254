//! `cotenant export`: a recording in another form.

use crate::cli::args::{ExportArgs, ExportForm};
use crate::cli::error::CliError;
use crate::cli::input::open;
use crate::cli::overwrite::Protected;
use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::recording::Trace;
use crate::domain::time::Timestamp;
use crate::report::render::csv::guarded;
use crate::storage::{Selection, StoredRecording};
use std::collections::BTreeMap;
use std::io::Write;

const SUBJECT_COLUMNS: [&str; 6] =
    ["time", "gpu", "gpu_instance", "compute_instance", "pid", "tenant"];

pub(crate) fn run(arguments: &ExportArgs) -> Result<u8, CliError> {
    let protected = Protected::inputs(&arguments.inputs, &arguments.foreign);
    arguments.output.iter().try_for_each(|it| protected.check_file(it))?;
    let input = open(&arguments.inputs, &arguments.foreign)?;
    let ExportForm::Csv = arguments.to;
    let outcome = match &arguments.output {
        Some(path) => {
            let file =
                std::fs::File::create(path).map_err(|it| CliError::file(path, "creating", &it))?;
            csv(&input.recording, std::io::BufWriter::new(file))
        }
        None => csv(&input.recording, std::io::stdout().lock()),
    };
    outcome.map(|()| 0)
}

/// One line for each subject and stamp, one subject after the other; memory holds one subject.
fn csv(recording: &StoredRecording, out: impl Write) -> Result<(), CliError> {
    let outline = recording.outline();
    let metrics = metrics_of(recording)?;
    let mut writer = csv::Writer::from_writer(out);
    let header = SUBJECT_COLUMNS.iter().copied().chain(metrics.iter().map(|it| it.key()));
    if let Some(error) = failure(writer.write_record(header)) {
        return Err(error);
    }
    for subject in &outline.subjects {
        let selection = Selection { subjects: Some(vec![subject.clone()]), ..Selection::default() };
        let part = recording.load(&selection)?;
        let Some(trace) = part.traces.get(subject) else { continue };
        for (at, values) in lines(trace, &metrics) {
            let cells = subject_cells(at, subject).into_iter().chain(values);
            match writer.write_record(cells) {
                Ok(()) => {}
                Err(error) if is_closed(&error) => return Ok(()),
                Err(error) => return Err(CliError::failed("cannot write the export", &error)),
            }
        }
    }
    match writer.flush() {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(CliError::failed("cannot write the export", &error))
        }
        _ => Ok(()),
    }
}

fn failure(outcome: Result<(), csv::Error>) -> Option<CliError> {
    let error = outcome.err().filter(|it| !is_closed(it))?;
    Some(CliError::failed("cannot write the export", &error))
}

/// Whether the reader of our output went away, which is no error.
fn is_closed(error: &csv::Error) -> bool {
    matches!(error.kind(), csv::ErrorKind::Io(it) if it.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Every metric that the recording holds, in the order of the table.
fn metrics_of(recording: &StoredRecording) -> Result<Vec<Metric>, CliError> {
    Ok(Metric::all().filter(|it| recording.metrics().contains(it)).collect())
}

fn lines(trace: &Trace, metrics: &[Metric]) -> impl Iterator<Item = (Timestamp, Vec<String>)> {
    let mut rows: BTreeMap<Timestamp, Vec<String>> = BTreeMap::new();
    for (position, metric) in metrics.iter().enumerate() {
        let Some(series) = trace.get(*metric) else { continue };
        for (at, value) in series.times().iter().zip(series.values()) {
            let row = rows.entry(*at).or_insert_with(|| vec![String::new(); metrics.len()]);
            row[position] = number(*metric, *value);
        }
    }
    rows.into_iter()
}

/// As many digits as were stored: a 32-bit float is printed as one.
fn number(metric: Metric, value: f64) -> String {
    match metric.spec().precision {
        crate::domain::metric::Precision::Single => (value as f32).to_string(),
        crate::domain::metric::Precision::Whole => (value as i64).to_string(),
    }
}

fn subject_cells(at: Timestamp, subject: &Subject) -> Vec<String> {
    let mut cells = vec![String::new(); SUBJECT_COLUMNS.len()];
    cells[0] = stamp(at);
    cells[1] = subject.gpu().map(|it| guarded(it.as_str())).unwrap_or_default();
    match subject {
        Subject::Device { .. } => {}
        Subject::MigInstance { instance } => {
            cells[2] = instance.gpu_instance.to_string();
            cells[3] = instance.compute_instance.map(|it| it.to_string()).unwrap_or_default();
        }
        Subject::Process { process, .. } => cells[4] = process.pid.to_string(),
        Subject::Tenant { tenant, .. } => cells[5] = guarded(tenant.as_str()),
    }
    cells
}

fn stamp(at: Timestamp) -> String {
    match jiff::Timestamp::from_microsecond(at.as_micros()) {
        Ok(instant) => format!("{instant:.6}"),
        Err(_) => at.as_micros().to_string(),
    }
}
