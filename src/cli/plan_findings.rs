//! Findings of every GPU of every recording: kept ones where nothing changed, computed ones otherwise, no more GPUs in memory than threads.

use crate::analysis::one_part_for_each_thread;
use crate::cli::args::ForeignArgs;
use crate::cli::error::CliError;
use crate::cli::findings_table::{DETAIL, FindingRow, kind, table, thresholds};
use crate::cli::input::open;
use crate::cli::output;
use crate::cli::plan_sources::{RecordingSource, SourceKind};
use crate::cli::progress::Done;
use crate::cli::spool::name_of;
use crate::domain::ident::{GpuId, Subject};
use crate::domain::outline::Outline;
use crate::fleet::findings::{DeviceFinding, FINDINGS_VERSION};
use crate::fleet::observe::observe;
use crate::fleet::unplaced::{is_on_one, on_its_own, told};
use crate::recommender::policy::Policy;
use crate::storage::arrow::DeviceKey;
use crate::storage::error::StorageError;
use crate::storage::findings::{keep, kept, key_of};
use crate::storage::{Selection, StoredRecording};
use std::collections::BTreeSet;
use std::path::Path;

/// How findings are come by.
pub(crate) struct Keeping<'a> {
    pub(crate) foreign: &'a ForeignArgs,
    pub(crate) policy: &'a Policy,
    /// Whether tables beside recordings are read and written.
    pub(crate) is_kept: bool,
    /// Whether several recordings are read, so that GPUs need the name of theirs.
    pub(crate) is_several: bool,
}

/// What one recording holds for a plan.
pub(crate) struct Found {
    /// Findings of its GPUs.
    pub(crate) devices: Vec<DeviceFinding>,
    /// Whether they had been kept.
    pub(crate) was_kept: bool,
    /// Why there are none, in a sentence without a subject; `None` where there are.
    pub(crate) why_none: Option<String>,
}

/// Findings of one recording; kept ones are one part of the work, computed ones a part for each GPU.
pub(crate) fn findings(
    source: &RecordingSource,
    how: &Keeping<'_>,
    done: &Done,
) -> Result<Found, CliError> {
    let input = open(&source.paths, how.foreign)?;
    let recording = &input.recording;
    let place =
        source.paths.first().filter(|it| source.kind == SourceKind::Recording && it.is_dir());
    let key = place.filter(|_| how.is_kept).and_then(|_| key(recording, source, how));
    let found = place.zip(key.as_ref()).and_then(|(place, key)| read(place, key));
    let was_kept = found.is_some();
    let mut devices = match found {
        Some(it) => {
            done.one();
            it
        }
        None => computed(recording, source, how, done)?,
    };
    if let (Some(place), Some(key), false) = (place, &key, was_kept) {
        write(place, key, &devices, how.policy);
    }
    for it in &mut devices {
        if it.host.is_none() {
            it.host = source.host.clone().or_else(|| how.is_several.then(|| source.name()));
        }
    }
    let why_none = devices.is_empty().then(|| why_none(recording.outline()));
    Ok(Found { devices, was_kept, why_none })
}

/// What a recording without a GPU holds instead.
fn why_none(outline: &Outline) -> String {
    let services: Vec<String> =
        outline.subjects.iter().map(|it| format!("`{}`", outline.label(it))).collect();
    match (services.as_slice(), outline.devices.as_slice()) {
        ([], []) => "holds no sample".to_owned(),
        ([], [one]) => format!("describes {} and holds no sample of it", one.label()),
        ([], several) => format!("describes {} GPUs and holds no sample of any", several.len()),
        ([one], _) => format!("holds only what {one} says of itself"),
        ([one, other], _) => format!("holds only what each of {one} and {other} says of itself"),
        ([one, rest @ ..], _) => {
            format!("holds only what each of {one} and {} more says of itself", rest.len())
        }
    }
}

/// What the findings depend on; `None` for a recording under way.
fn key(recording: &StoredRecording, source: &RecordingSource, how: &Keeping<'_>) -> Option<String> {
    let policy = serde_json::to_string(how.policy).ok()?;
    let fingerprint = recording.fingerprint()?;
    let version = FINDINGS_VERSION.to_string();
    Some(key_of(&[&fingerprint, env!("CARGO_PKG_VERSION"), &version, &policy, &source.file()]))
}

fn computed(
    recording: &StoredRecording,
    source: &RecordingSource,
    how: &Keeping<'_>,
    done: &Done,
) -> Result<Vec<DeviceFinding>, CliError> {
    let outline = recording.outline();
    let gpus: BTreeSet<GpuId> = outline.subjects.iter().filter_map(Subject::gpu).cloned().collect();
    let is_only = gpus.len() == 1;
    let name = source.file();
    let gpus: Vec<GpuId> = gpus.into_iter().collect();
    done.consists_of(gpus.len());
    let found: Result<Vec<DeviceFinding>, StorageError> = one_part_for_each_thread(&gpus, |gpu| {
        // A tenant that does not say where it runs can only run on the only GPU there is.
        let is_here = |it: &&Subject| it.gpu() == Some(gpu) || (is_only && it.gpu().is_none());
        let subjects = outline.subjects.iter().filter(is_here).cloned().collect();
        let part =
            recording.load(&Selection { subjects: Some(subjects), ..Selection::default() })?;
        let found = observe(part, gpu, &name, how.policy);
        done.one();
        Ok(found)
    })
    .into_iter()
    .collect();
    let mut found = found?;
    if gpus.is_empty() {
        found = unplaced(recording, &name, how)?;
        done.one();
    }
    Ok(found)
}

/// Tenants of a recording that names no GPU, each with one to itself; those that report nothing of one are left out.
fn unplaced(
    recording: &StoredRecording,
    name: &str,
    how: &Keeping<'_>,
) -> Result<Vec<DeviceFinding>, CliError> {
    let is_tenant = |it: &&Subject| matches!(it, Subject::Tenant { gpu: None, .. });
    let all: Vec<Subject> =
        recording.outline().subjects.iter().filter(is_tenant).cloned().collect();
    let found: Result<Vec<DeviceFinding>, StorageError> = one_part_for_each_thread(&all, |it| {
        let part = recording
            .load(&Selection { subjects: Some([it.clone()].into()), ..Selection::default() })?;
        let Subject::Tenant { tenant, .. } = it else { return Ok(None) };
        if !is_on_one(&part) {
            return Ok(None);
        }
        let (part, gpu) = on_its_own(&part, tenant);
        Ok(Some(told(observe(part, &gpu, name, how.policy))))
    })
    .into_iter()
    .filter_map(Result::transpose)
    .collect();
    Ok(found?)
}

fn read(place: &Path, key: &str) -> Option<Vec<DeviceFinding>> {
    let table = kept(place, key, &kind())?;
    table.text(DETAIL).iter().map(|it| serde_json::from_str(it.as_deref()?).ok()).collect()
}

/// Keeps findings beside their recording; a folder that cannot be written is no reason to fail.
fn write(place: &Path, key: &str, devices: &[DeviceFinding], policy: &Policy) {
    let recording = Some(name_of(place));
    let row = |it: &DeviceFinding| FindingRow {
        key: DeviceKey { recording: recording.clone(), host: None, gpu: None, window: None },
        found: Ok(it.clone()),
    };
    let rows: Vec<FindingRow> = devices.iter().map(row).collect();
    if let Err(error) = keep(place, key, &table(&rows, &thresholds(policy))) {
        output::info(&format!("findings are not kept: {error}"));
    }
}
