//! Findings of the devices of a stream of Arrow, one after the other: no more than one is in memory.

use crate::cli::error::CliError;
use crate::cli::findings_args::FindingsArgs;
use crate::cli::findings_mapped::mapped;
use crate::cli::findings_sink::RowSink;
use crate::cli::findings_table::FindingRow;
use crate::cli::input::{by_mapping, options_of};
use crate::cli::spool::name_of;
use crate::domain::ident::{GpuId, Subject};
use crate::domain::recording::Recording;
use crate::fleet::findings::DeviceFinding;
use crate::fleet::observe::observe;
use crate::fleet::unplaced::{is_on_one, on_its_own, told};
use crate::recommender::policy::Policy;
use crate::storage::arrow::{DeviceKey, DeviceRows, DeviceStream, StreamError};
use crate::storage::with_processes_in_line;
use std::collections::BTreeSet;
use std::path::Path;

/// Reads standard input to its end.
///
/// Errors: it is no stream of Arrow, or is broken; what is wrong with one device is a row of the result.
pub(crate) fn stream(
    arguments: &FindingsArgs,
    policy: &Policy,
    sink: &mut RowSink,
) -> Result<(), CliError> {
    let importer = arguments.foreign.mapping.as_deref().map(by_mapping).transpose()?;
    let columns = importer.as_ref().map(|it| it.mapping.column_names());
    let is_wanted = |name: &str| match &columns {
        Some(named) => named.iter().any(|it| it == name),
        None => DeviceRows::is_wanted(name),
    };
    let mapping = importer.as_ref().map(|it| &it.mapping);
    let device = (mapping.and_then(|it| it.gpu_column()), mapping.and_then(|it| it.host_column()));
    let input = Box::new(std::io::stdin().lock());
    let mut stream = DeviceStream::open(input, device, &is_wanted)?;
    let options = options_of(&arguments.foreign);
    let mut seen: BTreeSet<DeviceKey> = BTreeSet::new();
    while let Some(key) = stream.next_device()? {
        let name = name(&key);
        let part = match (seen.insert(key.clone()), &importer) {
            (false, _) => {
                Err("comes a second time: rows of a device have to stand together".to_owned())
            }
            (true, Some(importer)) => mapped(&mut stream, importer, (&name, &options))?,
            (true, None) => documented(&mut stream, &key)?,
        };
        let rows = match part {
            Err(why) => vec![FindingRow { key: key.clone(), found: Err(why) }],
            Ok(part) => {
                let found = found(part, &name, policy).into_iter();
                found.map(|it| row(&key, it)).collect()
            }
        };
        if !sink.take(rows)? {
            break;
        }
    }
    Ok(())
}

/// Reads the device under way in the documented schema.
fn documented(
    stream: &mut DeviceStream,
    key: &DeviceKey,
) -> Result<Result<Recording, String>, StreamError> {
    let mut rows = DeviceRows::new(key);
    while let Some(slice) = stream.more()? {
        if let Err(why) = rows.take(&slice) {
            return Ok(Err(why));
        }
    }
    Ok(rows.finish())
}

/// Name after which whoever stands alone on a GPU is called: as in a folder of the recording, or else that of the device.
fn name(key: &DeviceKey) -> String {
    match (&key.recording, &key.host, &key.gpu) {
        (Some(it), ..) => name_of(Path::new(it)),
        (None, Some(host), Some(gpu)) => format!("{host} {gpu}"),
        (None, host, gpu) => gpu.as_ref().or(host.as_ref()).cloned().unwrap_or_default(),
    }
}

fn row(key: &DeviceKey, mut found: DeviceFinding) -> FindingRow {
    if found.host.is_none() {
        found.host.clone_from(&key.host);
    }
    FindingRow { key: key.clone(), found: Ok(found) }
}

/// Findings of every GPU of these rows, nearly always one; of tenants without a GPU, one for each.
fn found(part: Recording, name: &str, policy: &Policy) -> Vec<DeviceFinding> {
    let part = with_processes_in_line(part);
    let gpus: BTreeSet<GpuId> = part.traces.keys().filter_map(Subject::gpu).cloned().collect();
    if gpus.is_empty() {
        return unplaced(&part, name, policy);
    }
    let is_only = gpus.len() == 1;
    let of = |gpu: &GpuId| {
        let is_here = |it: &Subject| it.gpu() == Some(gpu) || (is_only && it.gpu().is_none());
        let traces = part.traces.iter().filter(|it| is_here(it.0));
        let traces = traces.map(|(subject, trace)| (subject.clone(), trace.clone())).collect();
        let here = Recording { outline: part.outline.clone(), traces };
        observe(here, gpu, name, policy)
    };
    match gpus.first().filter(|_| is_only) {
        Some(gpu) => vec![observe(part, gpu, name, policy)],
        None => gpus.iter().map(of).collect(),
    }
}

/// Tenants that do not say on which GPU they are: where others name GPUs, nobody knows on which.
fn unplaced(part: &Recording, name: &str, policy: &Policy) -> Vec<DeviceFinding> {
    if part.outline.subjects.iter().any(|it| it.gpu().is_some()) {
        return Vec::new();
    }
    let mut all = Vec::new();
    for (subject, trace) in &part.traces {
        let Subject::Tenant { tenant, .. } = subject else { continue };
        let traces = [(subject.clone(), trace.clone())].into();
        let own = Recording { outline: part.outline.clone(), traces };
        if is_on_one(&own) {
            let (placed, gpu) = on_its_own(&own, tenant);
            all.push(told(observe(placed, &gpu, name, policy)));
        }
    }
    all
}
