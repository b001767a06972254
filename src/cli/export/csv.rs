//! Samples as CSV: one line for each subject and stamp, one subject in memory at a time.

use crate::cli::error::CliError;
use crate::cli::export::Stop;
use crate::domain::ident::{GpuId, MigInstanceId, Subject, TenantId};
use crate::domain::metric::{Metric, Precision};
use crate::domain::outline::Outline;
use crate::domain::recording::Trace;
use crate::domain::time::{TimeSpan, Timestamp};
use crate::report::render::csv::guarded_name;
use crate::storage::{Selection, StoredRecording};
use std::collections::BTreeMap;
use std::io::Write;

/// Columns that say when and who; `import::cotenant_csv` reads them back.
const SUBJECT_COLUMNS: [&str; 8] =
    ["time", "gpu", "gpu_instance", "compute_instance", "pid", "started", "program", "tenant"];
/// Which of them is left out where no process id came twice.
const STARTED: usize = 5;

pub(crate) fn write(
    recording: &StoredRecording,
    asked: Option<TimeSpan>,
    out: &mut dyn Write,
) -> Result<(), Stop> {
    let outline = recording.outline();
    let metrics: Vec<Metric> =
        Metric::all().filter(|it| recording.metrics().contains(it)).collect();
    let mut writer = csv::Writer::from_writer(out);
    let is_twice =
        |it: &Subject| matches!(it, Subject::Process { process, .. } if process.started.is_some());
    let has_started = outline.subjects.iter().any(is_twice);
    let is_written = |column: usize| has_started || column != STARTED;
    let columns = (0..).zip(SUBJECT_COLUMNS).filter(|it| is_written(it.0)).map(|it| it.1);
    let header = columns.chain(metrics.iter().map(|it| it.key()));
    writer.write_record(header).map_err(stop)?;
    for subject in &outline.subjects {
        let subjects = Some([subject.clone()].into());
        let selection = Selection { subjects, span: asked, ..Selection::default() };
        let traces = recording.traces(&selection)?;
        let Some(trace) = traces.get(subject) else { continue };
        let who: Vec<String> =
            (1..).zip(who(outline, subject)).filter(|it| is_written(it.0)).map(|it| it.1).collect();
        for (at, values) in lines(trace, &metrics) {
            let cells = std::iter::once(stamp(at)).chain(who.clone()).chain(values);
            writer.write_record(cells).map_err(stop)?;
        }
    }
    Ok(writer.flush()?)
}

fn stop(error: csv::Error) -> Stop {
    match error.kind() {
        csv::ErrorKind::Io(it) => Stop::Io(it.kind().into()),
        _ => CliError::failed("cannot write the export", &error).into(),
    }
}

fn lines(trace: &Trace, metrics: &[Metric]) -> impl Iterator<Item = (Timestamp, Vec<String>)> {
    let mut rows: BTreeMap<Timestamp, Vec<String>> = BTreeMap::new();
    for (column, metric) in metrics.iter().enumerate() {
        let Some(series) = trace.get(*metric) else { continue };
        for (position, at) in series.times().iter().enumerate() {
            let row = rows.entry(*at).or_insert_with(|| vec![String::new(); metrics.len()]);
            row[column] = number(*metric, series.value(position));
        }
    }
    rows.into_iter()
}

/// As many digits as were stored: a 32-bit float is printed as one.
fn number(metric: Metric, value: f64) -> String {
    match metric.spec().precision {
        Precision::Single => (value as f32).to_string(),
        Precision::Whole => (value as i64).to_string(),
    }
}

/// The cells that say who, with the instance and the tenant where the recording knows them.
fn who(outline: &Outline, subject: &Subject) -> [String; 7] {
    let name = |it: Option<&str>| it.map(guarded_name).unwrap_or_default();
    let number = |it: Option<u32>| it.map(|it| it.to_string()).unwrap_or_default();
    let gpu = name(subject.gpu().map(GpuId::as_str));
    let [mut instance, mut compute, mut pid, mut started, mut program, mut tenant] =
        [const { String::new() }; 6];
    let mut lives_in = |it: &MigInstanceId| {
        instance = it.gpu_instance.to_string();
        compute = number(it.compute_instance);
    };
    match subject {
        Subject::Device { .. } => {}
        Subject::MigInstance { instance } => lives_in(instance),
        Subject::Process { gpu, process } => {
            pid = process.pid.to_string();
            started = process.started.map(stamp).unwrap_or_default();
            let known = outline.processes.all_of(gpu, *process);
            let owner = known.clone().find_map(|it| it.tenant.as_ref());
            program = name(known.clone().find_map(|it| it.name.as_deref()));
            tenant = name(owner.map(TenantId::as_str));
            owner.and_then(|it| instance_of(outline, gpu, it)).into_iter().for_each(&mut lives_in);
        }
        Subject::Tenant { gpu, tenant: who } => {
            tenant = name(Some(who.as_str()));
            let instance = gpu.as_ref().and_then(|it| instance_of(outline, it, who));
            instance.into_iter().for_each(&mut lives_in);
        }
    }
    [gpu, instance, compute, pid, started, program, tenant]
}

/// The instance that a tenant lives in; `None` where it is in none, or in several.
fn instance_of<'a>(
    outline: &'a Outline,
    gpu: &GpuId,
    tenant: &TenantId,
) -> Option<&'a MigInstanceId> {
    let mut homes = outline
        .mig_instances
        .iter()
        .filter(|it| it.instance.gpu == *gpu && it.tenants.contains(tenant))
        .map(|it| &it.instance);
    let first = homes.next()?;
    let is_same = |it: &MigInstanceId| it.gpu_instance == first.gpu_instance;
    homes.all(is_same).then_some(first)
}

fn stamp(at: Timestamp) -> String {
    match jiff::Timestamp::from_microsecond(at.as_micros()) {
        Ok(instant) => format!("{instant:.6}"),
        Err(_) => at.as_micros().to_string(),
    }
}
