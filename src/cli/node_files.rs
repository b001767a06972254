//! Reads what `cotenant audit` compares: files of the node, the policy, the plan.

use crate::cli::error::CliError;
use crate::cluster::config::facts::MigPartedConfig;
use crate::cluster::facts::NodeWords;
use crate::cluster::recognise::{recognise, understood};
use crate::cluster::{ClusterError, read, strict};
use crate::recommender::policy::Policy;
use crate::recommender::tenant_policy::TenantPolicies;
use crate::report::audit::NodeFile;
use std::path::{Path, PathBuf};

/// Reads every file about the node, and joins what they say; a file that is named twice is read once.
pub(crate) fn node(paths: &[PathBuf]) -> Result<(NodeWords, Vec<NodeFile>), CliError> {
    let mut words = NodeWords::default();
    let mut files = Vec::new();
    let mut seen: Vec<PathBuf> = Vec::new();
    for path in paths {
        let place = path.canonicalize().unwrap_or_else(|_| path.clone());
        if seen.contains(&place) {
            continue;
        }
        seen.push(place);
        let text = text(path)?;
        let is_alone = paths.iter().filter(|it| shown(it) == shown(path)).count() == 1;
        let name = if is_alone { shown(path) } else { path.display().to_string() };
        words.merge(read(&name, &text).map_err(refused)?);
        let kind = recognise(&text).map_or("", |it| it.about());
        files.push(NodeFile { name, kind });
    }
    Ok((words, files))
}

/// The thresholds and what owners say about tenants; the defaults without a file.
pub(crate) fn policy(path: Option<&Path>) -> Result<(Policy, TenantPolicies), CliError> {
    let Some(path) = path else {
        return Ok((Policy::default(), TenantPolicies::default()));
    };
    let text = text(path)?;
    let named = |it: String| format!("{}: {it}", path.display());
    let policy = Policy::from_toml(&text)
        .map_err(|it| CliError::usage(named(it.to_string()), it.remedy()))?;
    let tenants = TenantPolicies::from_toml(&text)
        .map_err(|it| CliError::usage(named(it.to_string()), it.remedy()))?;
    Ok((policy, tenants))
}

/// The file and the name of a layout that `FILE#NAME` names; a file of that whole name wins.
pub(crate) fn plan_path(given: &str) -> (PathBuf, Option<&str>) {
    match given.rsplit_once('#') {
        Some((file, name)) if !Path::new(given).exists() && !name.is_empty() => {
            (PathBuf::from(file), Some(name))
        }
        _ => (PathBuf::from(given), None),
    }
}

/// The planned layout; a file that its tool would refuse is an error.
pub(crate) fn plan(given: &str) -> Result<MigPartedConfig, CliError> {
    let (path, name) = plan_path(given);
    let words = strict(&shown(&path), &text(&path)?).map_err(refused)?;
    let known: Vec<&str> = words.mig_configs.iter().map(|it| it.name.as_str()).collect();
    if known.is_empty() {
        let message = format!("{}: holds no layout of mig-parted", path.display());
        return Err(CliError::usage(message, "give the file that holds `mig-configs:`"));
    }
    let choice =
        format!("name one of them: --expect {}#NAME; it holds {}", shown(&path), known.join(", "));
    let found = match (name, words.mig_configs.as_slice()) {
        (None, [only]) => Some(only),
        (None, _) => None,
        (Some(name), all) => all.iter().find(|it| it.name == name),
    };
    found.cloned().ok_or_else(|| {
        let message = match name {
            Some(name) => format!("{}: holds no layout `{name}`", path.display()),
            None => format!("{}: holds {} layouts", path.display(), known.len()),
        };
        CliError::usage(message, choice)
    })
}

/// How a file is called in evidence: without its folders, unless two would be called alike.
fn shown(path: &Path) -> String {
    path.file_name()
        .map_or_else(|| path.display().to_string(), |it| it.to_string_lossy().into_owned())
}

/// A file as text; anything else is told with the line that is none.
fn text(path: &Path) -> Result<String, CliError> {
    let bytes = std::fs::read(path).map_err(|it| {
        let message = format!("{}: cannot be read: {it}", path.display());
        CliError::usage(message, "check the path and its permissions")
    })?;
    let text = String::from_utf8(bytes).map_err(|it| {
        let before = &it.as_bytes()[..it.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|it| **it == b'\n').count();
        let message = format!("{}:{line}: is no text in UTF-8", path.display());
        CliError::usage(message, format!("give the saved text of one of these: {}", understood()))
    })?;
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        let message = format!("{}: is empty", path.display());
        return Err(CliError::usage(
            message,
            "save the output again; errors of the tool go elsewhere",
        ));
    }
    Ok(text)
}

fn refused(error: ClusterError) -> CliError {
    let remedy = error.remedy();
    CliError::usage(error.to_string(), remedy)
}
