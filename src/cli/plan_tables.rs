//! Tables of findings that `cotenant findings` made, here or on many machines, as `cotenant plan` reads them.

use crate::cli::error::CliError;
use crate::cli::findings_table::{DETAIL, ERROR, RECORDING, THRESHOLDS, VERSION};
use crate::cli::plan_sources::RecordingSource;
use crate::cli::spool::name_of;
use crate::fleet::findings::{DeviceFinding, FINDINGS_VERSION};
use crate::storage::findings::{KeptTable, table_of};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What tables of findings hold.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// The findings.
    pub(crate) devices: Vec<DeviceFinding>,
    /// Rows that say why there is no finding, each in a sentence.
    pub(crate) damaged: Vec<String>,
    /// What they were made from.
    pub(crate) recordings: BTreeSet<String>,
    /// Tables that cannot be read, and why, in the order of the tables.
    pub(crate) unreadable: Vec<(String, CliError)>,
}

/// Everything in these tables.
///
/// Errors: findings of another version or of other thresholds; a device that was counted twice.
pub(crate) fn told(sources: &[&RecordingSource], thresholds: &str) -> Result<Told, CliError> {
    let mut told = Told::default();
    let mut files: Vec<usize> = Vec::new();
    let paths: Vec<&Path> =
        sources.iter().flat_map(|it| it.paths.iter().map(|it| it.as_path())).collect();
    for (number, path) in paths.iter().enumerate() {
        let columns = [VERSION, THRESHOLDS, RECORDING, "host", "gpu", ERROR, DETAIL];
        let table = match table_of(path, &columns) {
            Ok(it) => it,
            Err(error) => {
                told.unreadable.push((name_of(path), error.into()));
                continue;
            }
        };
        check(path, &table, thresholds)?;
        take(path, &table, &mut told)?;
        files.resize(told.devices.len(), number);
    }
    refuse_twice(&told.devices, &files, &paths)?;
    Ok(told)
}

fn check(path: &Path, table: &KeptTable, thresholds: &str) -> Result<(), CliError> {
    let own = i64::from(FINDINGS_VERSION);
    if let Some(other) = table.whole(VERSION).iter().find(|it| **it != Some(own)) {
        let other =
            other.map_or_else(|| "an unknown version".to_owned(), |it| format!("version {it}"));
        return Err(CliError::usage(
            format!(
                "{}: holds findings of {other}, and version {own} is read here",
                path.display()
            ),
            "make them again with `cotenant findings` of this version, on every machine the same",
        ));
    }
    match table.text(THRESHOLDS).iter().all(|it| it.as_deref() == Some(thresholds)) {
        true => Ok(()),
        false => Err(CliError::usage(
            format!("{}: holds findings that were made under other thresholds", path.display()),
            "give `cotenant findings` and `cotenant plan` the same --policy",
        )),
    }
}

fn take(path: &Path, table: &KeptTable, told: &mut Told) -> Result<(), CliError> {
    let cell = |name: &str, row: usize| table.text(name).get(row).cloned().flatten();
    for row in 0..table.text(DETAIL).len() {
        let recording = cell(RECORDING, row);
        told.recordings.extend(recording.clone());
        if let Some(why) = cell(ERROR, row) {
            let names: Vec<String> = match &recording {
                Some(it) => {
                    std::iter::once(name_of(Path::new(it))).chain(cell("gpu", row)).collect()
                }
                None => [cell("host", row), cell("gpu", row)].into_iter().flatten().collect(),
            };
            told.damaged.push(format!("`{}` is left out: {why}", names.join("` `")));
            continue;
        }
        let detail = cell(DETAIL, row).unwrap_or_default();
        let finding = serde_json::from_str(&detail).map_err(|it| {
            let message = format!("{}: the finding in row {} is broken", path.display(), row + 1);
            CliError::failed(message, &it).try_this("make it again with `cotenant findings`")
        })?;
        told.devices.push(finding);
    }
    Ok(())
}

/// Refuses findings of one device whose times are mostly the same: its load would count twice.
///
/// Windows that touch, or share up to half of the shorter one, are joined.
fn refuse_twice(
    devices: &[DeviceFinding],
    files: &[usize],
    paths: &[&Path],
) -> Result<(), CliError> {
    let mut known: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (place, it) in devices.iter().enumerate() {
        known.entry(it.key()).or_default().push(place);
    }
    let span = |it: usize| (devices[it].from_us, devices[it].until_us);
    for mut places in known.into_values() {
        places.sort_by_key(|it| span(*it));
        for pair in places.windows(2) {
            let (one, other) = (span(pair[0]), span(pair[1]));
            let shared = i128::from(one.1.min(other.1)) - i128::from(other.0);
            let length = |it: (i64, i64)| i128::from(it.1) - i128::from(it.0);
            if one == other || 2 * shared > length(one).min(length(other)) {
                let file = |it: usize| paths[files[it]].display().to_string();
                return Err(CliError::usage(
                    format!(
                        "{} has two findings of the same time, in {} and {}",
                        devices[pair[0]].label(),
                        file(pair[0]),
                        file(pair[1])
                    ),
                    "give the findings of each recording once; windows of one device may share up to half of the shorter one",
                ));
            }
        }
    }
    Ok(())
}
