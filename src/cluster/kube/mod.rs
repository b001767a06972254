//! The words of Kubernetes: pods, nodes, and which devices the kubelet gave to whom.

pub mod facts;
pub mod node;
pub mod objects;
pub mod pod;
pub mod pod_resources;

use crate::cluster::facts::{NodeWords, Origin};
use crate::cluster::resource::PREFIX;
use crate::cluster::tree::{Tree, Value};
use std::collections::BTreeMap;

/// Counts of the resources of NVIDIA in a map of quantities; one that is no whole count is told.
fn counts(quantities: Option<&Tree>, words: &mut NodeWords, file: &str) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for (name, quantity) in quantities.map_or(&[][..], Tree::entries) {
        if !name.starts_with(PREFIX) {
            continue;
        }
        let count = match &quantity.value {
            Value::Whole(it) => u64::try_from(*it).ok(),
            Value::Text(it) => it.trim().parse().ok(),
            _ => None,
        };
        match count {
            Some(count) => {
                counts.insert(name.clone(), count);
            }
            None => {
                let said = quantity.printed().unwrap_or_default();
                let text = format!("`{name}: {said}` is no whole number of devices");
                words.unread(Origin::new(file, quantity.line), text);
            }
        }
    }
    counts
}

/// A map of texts, of which some are kept.
fn texts(map: Option<&Tree>, is_kept: impl Fn(&str) -> bool) -> BTreeMap<String, String> {
    let entries = map.map_or(&[][..], Tree::entries).iter();
    entries
        .filter(|it| is_kept(&it.0))
        .filter_map(|(key, value)| Some((key.clone(), value.printed()?)))
        .collect()
}
