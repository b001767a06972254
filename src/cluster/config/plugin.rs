//! Configurations of the NVIDIA device plugin, by the rules of its `api/config/v1`.
//!
//! The plugin reads past fields that it does not know, and takes a file without version for `v1`: both
//! are told, since what they mean to say has no effect. What it refuses keeps it from starting, and then
//! the node offers no GPU at all.

use crate::cluster::ClusterError;
use crate::cluster::config::facts::{
    PluginConfig, SharedResource, SharingConfig, SharingMechanism,
};
use crate::cluster::config::source::{Source, natural};
use crate::cluster::facts::{NodeWords, Severity};
use crate::cluster::kube::objects::broken;
use crate::cluster::resource::{PREFIX, ResourceName};
use crate::cluster::tree::{Tree, Value, parse};

/// Longest name of a resource, with its prefix.
pub const LONGEST_RESOURCE_NAME: usize = 63;

const TOPMOST: [&str; 6] = ["version", "flags", "resources", "sharing", "imex", "health"];
const REPLICATED: [&str; 3] = ["renameByDefault", "failRequestsGreaterThanOne", "resources"];
const RESOURCE: [&str; 4] = ["name", "replicas", "rename", "devices"];
const STRATEGIES: [&str; 3] = ["none", "single", "mixed"];

/// Reads one file.
///
/// - Errors: [`ClusterError::Broken`] if it is no YAML.
pub fn read(file: &str, text: &str) -> Result<NodeWords, ClusterError> {
    let (documents, cut) = parse(text);
    if let Some(cut) = cut {
        return Err(broken(file, &cut, "a configuration of the device plugin"));
    }
    let mut words = NodeWords::default();
    for tree in &documents {
        of_tree(Source { file, above: Some(0), key: None }, tree, &mut words);
    }
    Ok(words)
}

/// Reads one configuration, from a file or from a config map.
pub(super) fn of_tree(source: Source<'_>, tree: &Tree, words: &mut NodeWords) {
    if !source.version(tree, Severity::Ineffective, words) {
        return;
    }
    source.known(tree, &TOPMOST, Severity::Ineffective, words);
    if let Some(resources) = tree.get("resources").filter(|it| !it.entries().is_empty()) {
        source.ineffective(resources, "`resources` is read past by the plugin".into(), words);
    }
    let strategy = tree.at(&["flags", "migStrategy"]);
    if let Some(found) = strategy.filter(|it| !it.text().is_some_and(|it| STRATEGIES.contains(&it)))
    {
        let said = found.printed().unwrap_or_default();
        let text = format!("migStrategy `{said}` is none of {}", STRATEGIES.join(", "));
        source.refused(found, text, words);
    }
    let mig_strategy = strategy.and_then(Tree::printed);
    let time_slicing = part(source, tree, SharingMechanism::TimeSlicing, words);
    let mps = part(source, tree, SharingMechanism::Mps, words);
    if let Some(sharing) = tree.get("sharing") {
        source.known(sharing, &["timeSlicing", "mps"], Severity::Ineffective, words);
        if time_slicing.is_some() && mps.is_some() {
            let text = "`timeSlicing` and `mps` exclude each other; keep one".to_owned();
            source.refused(sharing, text, words);
        }
    }
    if let (Some(mps), Some("mixed")) = (&mps, mig_strategy.as_deref()) {
        let text = "MPS cannot be combined with migStrategy `mixed`".to_owned();
        words.remark(mps.origin.clone(), Severity::Refused, source.named(text));
    }
    words.plugin_configs.push(PluginConfig {
        name: source.key.map(str::to_owned),
        mig_strategy,
        sharing: mps.or(time_slicing),
        origin: source.origin(tree),
    });
}

/// `sharing.timeSlicing` or `sharing.mps`.
fn part(
    source: Source<'_>,
    tree: &Tree,
    mechanism: SharingMechanism,
    words: &mut NodeWords,
) -> Option<SharingConfig> {
    let key = match mechanism {
        SharingMechanism::TimeSlicing => "timeSlicing",
        SharingMechanism::Mps => "mps",
    };
    let found = tree.at(&["sharing", key])?;
    source.known(found, &REPLICATED, Severity::Ineffective, words);
    let mut resources: Vec<SharedResource> = Vec::new();
    for item in found.get("resources").map_or(&[][..], Tree::items) {
        let Some(resource) = resource(source, item, mechanism, words) else { continue };
        if resources.iter().any(|it| it.name == resource.name) {
            let text = format!("`{}` is named twice; only one can hold", resource.name);
            source.refused(item, text, words);
        }
        resources.push(resource);
    }
    if found.get("resources").is_none_or(|it| it.items().is_empty()) {
        source.refused(found, format!("`{key}` names no resource"), words);
    }
    let is_single = source.flag(found, "failRequestsGreaterThanOne", words);
    Some(SharingConfig {
        mechanism,
        rename_by_default: source.flag(found, "renameByDefault", words).unwrap_or(false),
        fail_requests_greater_than_one: is_single.unwrap_or(mechanism == SharingMechanism::Mps),
        resources,
        origin: source.origin(found),
    })
}

fn resource(
    source: Source<'_>,
    item: &Tree,
    mechanism: SharingMechanism,
    words: &mut NodeWords,
) -> Option<SharedResource> {
    source.known(item, &RESOURCE, Severity::Ineffective, words);
    for key in ["rename", "devices"] {
        if let Some(found) = item.get(key).filter(|it| it.text() != Some("all")) {
            source.ineffective(found, format!("`{key}` is read past by the plugin"), words);
        }
    }
    let Some(name) = item.get("name").and_then(Tree::text) else {
        source.refused(item, "a resource without `name`".to_owned(), words);
        return None;
    };
    let name = match name.starts_with(PREFIX) {
        true => name.to_owned(),
        false => format!("{PREFIX}{name}"),
    };
    if name.len() > LONGEST_RESOURCE_NAME {
        let text = format!("`{name}` is longer than {LONGEST_RESOURCE_NAME} characters");
        source.refused(item, text, words);
    }
    let is_mig = ResourceName::parse(&name).is_some_and(|it| it.profile.is_some());
    if mechanism == SharingMechanism::Mps && is_mig {
        let text = format!("`{name}`: the plugin offers MPS on whole GPUs only, not on MIG");
        source.refused(item, text, words);
    }
    let replicas = match item.get("replicas") {
        None => {
            source.refused(item, format!("`{name}` has no `replicas`"), words);
            return None;
        }
        Some(found) => match natural(found) {
            Some(it) if it >= 2 => it,
            _ => {
                let said = match &found.value {
                    Value::Null => String::new(),
                    _ => found.printed().unwrap_or_default(),
                };
                let text = format!(
                    "replicas `{said}` of `{name}`: at least 2, or leave out `sharing` to share nothing"
                );
                source.refused(found, text, words);
                return None;
            }
        },
    };
    Some(SharedResource { name, replicas, origin: source.origin(item) })
}
