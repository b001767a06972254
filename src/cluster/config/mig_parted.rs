//! Configurations of nvidia-mig-parted, by the rules of its `api/spec/v1`.
//!
//! It refuses unknown fields, a missing or another version, and a layout that contradicts itself.

use crate::cluster::ClusterError;
use crate::cluster::config::facts::{MigPartedConfig, MigPartedEntry};
use crate::cluster::config::source::{Source, natural};
use crate::cluster::facts::{NodeWords, Severity};
use crate::cluster::kube::objects::broken;
use crate::cluster::resource::is_profile;
use crate::cluster::tree::{Tree, Value, parse};
use std::collections::BTreeMap;

const ENTRY: [&str; 4] = ["device-filter", "devices", "mig-enabled", "mig-devices"];

/// Reads one file.
///
/// - Errors: [`ClusterError::Broken`] if it is no YAML.
pub fn read(file: &str, text: &str) -> Result<NodeWords, ClusterError> {
    let (documents, cut) = parse(text);
    if let Some(cut) = cut {
        return Err(broken(file, &cut, "a configuration of mig-parted"));
    }
    let mut words = NodeWords::default();
    for tree in &documents {
        of_tree(Source { file, above: Some(0), key: None }, tree, &mut words);
    }
    Ok(words)
}

/// Reads one configuration, from a file or from a config map.
pub(super) fn of_tree(source: Source<'_>, tree: &Tree, words: &mut NodeWords) {
    if !source.version(tree, Severity::Refused, words) {
        return;
    }
    source.known(tree, &["version", "mig-configs"], Severity::Refused, words);
    let configs = tree.get("mig-configs").map_or(&[][..], Tree::entries);
    if configs.is_empty() {
        source.refused(tree, "`mig-configs` names no layout".to_owned(), words);
    }
    for (name, config) in configs {
        let entries: Vec<MigPartedEntry> =
            config.items().iter().filter_map(|it| entry(source, it, words)).collect();
        if config.items().is_empty() {
            source.refused(config, format!("layout `{name}` has no entry"), words);
        }
        words.mig_configs.push(MigPartedConfig {
            name: name.clone(),
            entries,
            origin: source.origin(config),
        });
    }
}

/// One entry of a layout; one without `devices` or `mig-enabled` is told and left out.
fn entry(source: Source<'_>, tree: &Tree, words: &mut NodeWords) -> Option<MigPartedEntry> {
    source.known(tree, &ENTRY, Severity::Refused, words);
    let device_filter = filter(source, tree, words);
    let Some(found) = tree.get("devices") else {
        source.refused(tree, "an entry without `devices`".to_owned(), words);
        return None;
    };
    let devices = devices(source, found, words)?;
    if tree.get("mig-enabled").is_none() {
        source.refused(tree, "an entry without `mig-enabled`".to_owned(), words);
    }
    let is_mig_enabled = source.flag(tree, "mig-enabled", words)?;
    let mig_devices = instances(source, tree, words);
    if is_mig_enabled && tree.get("mig-devices").is_none() {
        let text = "`mig-enabled: true` without `mig-devices`; write `{}` for none".to_owned();
        source.refused(tree, text, words);
    }
    if !is_mig_enabled && !mig_devices.is_empty() {
        let text = "`mig-devices` although `mig-enabled` is false".to_owned();
        source.refused(tree, text, words);
    }
    Some(MigPartedEntry {
        device_filter,
        devices,
        is_mig_enabled,
        mig_devices,
        origin: source.origin(tree),
    })
}

fn filter(source: Source<'_>, tree: &Tree, words: &mut NodeWords) -> Vec<String> {
    let Some(found) = tree.get("device-filter") else { return Vec::new() };
    let is_id = |it: &str| {
        it.strip_prefix("0x").is_some_and(|it| u32::from_str_radix(it, 16).is_ok() && it.len() == 8)
    };
    let listed = match &found.value {
        Value::List(items) => items.as_slice(),
        _ => std::slice::from_ref(found),
    };
    let mut ids = Vec::new();
    for item in listed {
        match item.text() {
            Some(id) if is_id(id) => ids.push(id.to_owned()),
            _ => {
                let said = item.printed().unwrap_or_default();
                let text = format!(
                    "device-filter `{said}`: a quoted text of eight digits, device before vendor, as \"0x233010DE\""
                );
                source.refused(item, text, words);
            }
        }
    }
    ids
}

/// `all` or a list of indices; the outer `None` for anything else.
fn devices(source: Source<'_>, tree: &Tree, words: &mut NodeWords) -> Option<Option<Vec<u32>>> {
    if tree.text() == Some("all") {
        return Some(None);
    }
    let index = |it: &Tree| natural(it).and_then(|it| u32::try_from(it).ok());
    if let Value::List(items) = &tree.value {
        let indices: Option<Vec<u32>> = items.iter().map(index).collect();
        if let Some(indices) = indices {
            return Some(Some(indices));
        }
    }
    source.refused(tree, "`devices` is neither `all` nor a list of indices".to_owned(), words);
    None
}

fn instances(source: Source<'_>, tree: &Tree, words: &mut NodeWords) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for (profile, count) in tree.get("mig-devices").map_or(&[][..], Tree::entries) {
        if !is_profile(profile) {
            let text = format!("`{profile}` is no MIG profile; write it as 1g.10gb or 1g.10gb+me");
            source.refused(count, text, words);
        }
        match natural(count) {
            Some(number) => {
                counts.insert(profile.clone(), number);
            }
            None => {
                let said = count.printed().unwrap_or_default();
                source.refused(count, format!("`{said}` of `{profile}` is no count"), words);
            }
        }
    }
    counts
}
