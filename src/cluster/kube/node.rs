//! A node object.

use crate::cluster::facts::{NodeWords, Origin};
use crate::cluster::kube::facts::NodeFacts;
use crate::cluster::kube::{counts, texts};
use crate::cluster::resource::PREFIX;
use crate::cluster::tree::Tree;

/// Reads a node; one without a name is told and left out.
pub(super) fn read(file: &str, node: &Tree, words: &mut NodeWords) {
    let origin = Origin::new(file, node.line);
    let Some(name) = node.text_at(&["metadata", "name"]) else {
        words.unread(origin, "a node without `metadata.name`");
        return;
    };
    let capacity = counts(node.at(&["status", "capacity"]), words, file);
    let allocatable = counts(node.at(&["status", "allocatable"]), words, file);
    words.nodes.push(NodeFacts {
        labels: texts(node.at(&["metadata", "labels"]), |it| it.starts_with(PREFIX)),
        name,
        capacity,
        allocatable,
        origin,
    });
}
