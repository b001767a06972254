//! Which recordings a plan is made from: folders, patterns, partitions by host and date, foreign logs.

use crate::cli::error::CliError;
use crate::cli::findings_table::VERSION;
use crate::cli::spool::{called, is_standard_input, name_of};
use crate::domain::glob;
use crate::storage::StoredRecording;
use crate::storage::findings::{column_names, is_damaged, is_kept};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Folders inside folders that are looked into.
const MOST_DEPTH: usize = 8;

/// One recording, or foreign logs that become one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordingSource {
    /// What to open: one recording, or files that belong together.
    pub(crate) paths: Vec<PathBuf>,
    /// Host by the name of a folder, `host=NAME`; `None` without one.
    pub(crate) host: Option<String>,
    /// What it is.
    pub(crate) kind: SourceKind,
}

/// What a plan can be made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceKind {
    /// A recording of ours.
    Recording,
    /// Foreign logs.
    Foreign,
    /// Tables of findings, of any number of recordings.
    Findings,
}

impl RecordingSource {
    /// Name of the first file or folder, after which whoever stands alone in it is called, as elsewhere.
    pub(crate) fn file(&self) -> String {
        self.paths.first().map(|it| name_of(it)).unwrap_or_default()
    }

    /// Name for people, and of a host that no recording names.
    pub(crate) fn name(&self) -> String {
        let called = self.paths.first().map(|it| called(it)).unwrap_or_default();
        called.split('.').next().unwrap_or_default().to_owned()
    }
}

/// Files beside recordings that nobody named.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    count: usize,
    first: Option<PathBuf>,
}

impl LeftOut {
    fn add(&mut self, path: PathBuf) {
        self.count += 1;
        self.first.get_or_insert(path);
    }

    /// How many, and why, in one sentence; `None` without any.
    pub(crate) fn told(&self) -> Option<String> {
        let first = self.first.as_ref()?.display();
        Some(match self.count {
            1 => format!(
                "{first} is left out: in a folder only recordings are looked for; name a foreign log itself"
            ),
            several => format!(
                "{several} files beside recordings are left out, such as {first}: in a folder only recordings are looked for; name foreign logs themselves"
            ),
        })
    }
}

/// Everything that was named, in the order of the paths; each once.
///
/// Errors: a path that is not there, a pattern that fits nothing, a folder without a recording.
pub(crate) fn sources(
    given: &[PathBuf],
    is_one_host: bool,
) -> Result<(Vec<RecordingSource>, LeftOut), CliError> {
    let mut found: Vec<RecordingSource> = Vec::new();
    let mut left_out = LeftOut::default();
    let mut foreign: Vec<PathBuf> = Vec::new();
    for path in given {
        for path in expanded(path)? {
            let before = found.len();
            if is_standard_input(&path) || path.is_file() && !is_parquet(&path)? {
                foreign.push(path);
                continue;
            }
            collect(&path, None, MOST_DEPTH, (&mut found, &mut left_out))?;
            if found.len() == before {
                return Err(CliError::usage(
                    format!("{}: no recording is in it", path.display()),
                    "give a folder that `cotenant record` or `cotenant import` wrote, a folder of such folders, tables of `cotenant findings`, or foreign logs by name",
                ));
            }
        }
    }
    let of_foreign = |paths: Vec<PathBuf>| RecordingSource {
        host: paths.first().and_then(|it| host_of(it)),
        kind: SourceKind::Foreign,
        paths,
    };
    match is_one_host && !foreign.is_empty() {
        true => found.push(of_foreign(foreign)),
        false => found.extend(foreign.into_iter().map(|it| of_foreign(vec![it]))),
    }
    found.sort_by(|one, other| one.paths.cmp(&other.paths));
    found.dedup();
    Ok((found, left_out))
}

/// Recordings at or below a path; hidden folders are left out.
fn collect(
    path: &Path,
    host: Option<String>,
    depth: usize,
    (found, left_out): (&mut Vec<RecordingSource>, &mut LeftOut),
) -> Result<(), CliError> {
    let host = host_of(path).or(host);
    let is_folder = path.is_dir();
    if !is_folder && is_findings(path) {
        let paths = vec![path.to_owned()];
        found.push(RecordingSource { paths, host: None, kind: SourceKind::Findings });
        return Ok(());
    }
    let is_segment = !is_folder && path.is_file() && !is_kept(path) && is_parquet(path)?;
    if is_segment || (is_folder && StoredRecording::is_one(path)) {
        found.push(RecordingSource {
            paths: vec![path.to_owned()],
            host,
            kind: SourceKind::Recording,
        });
        return Ok(());
    }
    if !is_folder || depth == 0 {
        return Ok(());
    }
    for inside in listed(path)? {
        let name = name_of(&inside);
        let is_marker = name.starts_with('_') && !inside.is_dir() || name == "_temporary";
        if name.starts_with('.') || is_marker || is_kept(&inside) {
            continue;
        }
        if inside.is_dir() || is_findings(&inside) || is_torn(&inside) {
            collect(&inside, host.clone(), depth - 1, (found, left_out))?;
        } else {
            left_out.add(inside);
        }
    }
    Ok(())
}

/// Whether a file is a table of findings, by whoever wrote it.
fn is_findings(path: &Path) -> bool {
    path.is_file()
        && is_parquet(path).unwrap_or(false)
        && column_names(path).is_some_and(|it| it.iter().any(|it| it == VERSION))
}

/// Whether a file was a part of a recording or a table of findings, and nobody knows which: opening it says what is wrong.
fn is_torn(path: &Path) -> bool {
    path.is_file() && is_parquet(path).unwrap_or(false) && is_damaged(path)
}

/// The host that a part of a path names as `host=NAME`; the last one wins.
fn host_of(path: &Path) -> Option<String> {
    let parts = path.components().rev().map(|it| it.as_os_str().to_string_lossy().into_owned());
    let host = parts.into_iter().find_map(|it| it.strip_prefix("host=").map(str::to_owned));
    host.filter(|it| !it.is_empty())
}

fn listed(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let failed = |it: std::io::Error| CliError::file(folder, "listing", &it);
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        all.push(entry.map_err(failed)?.path());
    }
    all.sort();
    Ok(all)
}

fn is_parquet(path: &Path) -> Result<bool, CliError> {
    let failed = |it: std::io::Error| CliError::file(path, "opening", &it);
    let mut magic = Vec::new();
    File::open(path).and_then(|it| it.take(4).read_to_end(&mut magic)).map_err(failed)?;
    Ok(magic == b"PAR1")
}

/// A path as it is, or what its pattern fits; a shell does this too, a scheduler does not.
fn expanded(path: &Path) -> Result<Vec<PathBuf>, CliError> {
    let has_pattern = path.to_string_lossy().contains(['*', '?']);
    if is_standard_input(path) || path.exists() || !has_pattern {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = vec![PathBuf::new()];
    for part in path.components() {
        let name = part.as_os_str().to_string_lossy().into_owned();
        let mut next = Vec::new();
        for base in found {
            if !name.contains(['*', '?']) {
                next.push(base.join(&name));
                continue;
            }
            let folder = if base.as_os_str().is_empty() { Path::new(".") } else { &base };
            if !folder.is_dir() {
                continue;
            }
            let fits = |it: &PathBuf| !is_kept(it) && glob::matches(&name, &name_of(it));
            let inside = listed(folder)?.into_iter().filter(fits);
            next.extend(inside.map(|it| base.join(name_of(&it))));
        }
        found = next;
    }
    found.retain(|it| it.exists());
    match found.is_empty() {
        true => Err(CliError::usage(
            format!("{}: no file or folder fits the pattern", path.display()),
            "`*` and `?` stand for letters within one name",
        )),
        false => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_stands_in_the_name_of_a_folder() {
        assert_eq!(host_of(Path::new("lake/host=a/date=1")), Some("a".to_owned()));
        assert_eq!(host_of(Path::new("lake/host=")), None);
        assert_eq!(host_of(Path::new("lake/a")), None);
    }
}
