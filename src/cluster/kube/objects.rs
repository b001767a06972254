//! `kubectl get … -o json` or `-o yaml`: objects of several kinds, single or in lists.

use crate::cluster::ClusterError;
use crate::cluster::config::{claims, config_map};
use crate::cluster::facts::{NodeWords, Origin};
use crate::cluster::kube::{node, pod};
use crate::cluster::tree::{Break, Tree, parse};

/// Reads pods, nodes, config maps and claim templates; objects of other kinds are passed over.
///
/// - Errors: [`ClusterError::Broken`] if nothing can be parsed. A list that ends early gives the objects
///   that stand whole in it, and a remark.
pub fn read(file: &str, text: &str) -> Result<NodeWords, ClusterError> {
    let (documents, cut) = parse(text);
    if let (true, Some(cut)) = (documents.is_empty(), &cut) {
        return Err(broken(file, cut, "objects of Kubernetes"));
    }
    let mut words = NodeWords::default();
    documents.iter().for_each(|it| object(file, it, &mut words));
    if let Some(cut) = cut {
        words.unread(Origin::new(file, cut.line), format!("the file ends early: {}", cut.cause));
    }
    Ok(words)
}

/// The error for a file of which nothing was parsed.
pub(in crate::cluster) fn broken(file: &str, cut: &Break, expected: &'static str) -> ClusterError {
    ClusterError::Broken { origin: Origin::new(file, cut.line), expected, cause: cut.cause.clone() }
}

fn object(file: &str, tree: &Tree, words: &mut NodeWords) {
    match tree.text_at(&["kind"]).as_deref() {
        Some("Pod") => pod::read(file, tree, words),
        Some("Node") => node::read(file, tree, words),
        Some("ConfigMap") => config_map::read(file, tree, words),
        Some("ResourceClaimTemplate" | "ResourceClaim") => claims::read(file, tree, words),
        Some("PodList") => of(tree).iter().for_each(|it| pod::read(file, it, words)),
        Some("NodeList") => of(tree).iter().for_each(|it| node::read(file, it, words)),
        Some("ConfigMapList") => {
            of(tree).iter().for_each(|it| config_map::read(file, it, words));
        }
        Some("ResourceClaimTemplateList" | "ResourceClaimList") => {
            of(tree).iter().for_each(|it| claims::read(file, it, words));
        }
        // A list that was cut may have lost its kind, which kubectl writes last.
        Some("List") | None => of(tree).iter().for_each(|it| object(file, it, words)),
        Some(_) => {}
    }
}

fn of(list: &Tree) -> &[Tree] {
    list.get("items").map_or(&[], Tree::items)
}
