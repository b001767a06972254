//! A pod object.

use crate::cluster::facts::{NodeWords, Origin};
use crate::cluster::kube::facts::{ContainerFacts, PodFacts};
use crate::cluster::kube::{counts, texts};
use crate::cluster::tree::Tree;

/// Reads a pod; one without a name is told and left out.
pub(super) fn read(file: &str, pod: &Tree, words: &mut NodeWords) {
    let origin = Origin::new(file, pod.line);
    let Some(name) = pod.text_at(&["metadata", "name"]) else {
        words.unread(origin, "a pod without `metadata.name`");
        return;
    };
    let mut containers = Vec::new();
    for (list, is_init) in [("initContainers", true), ("containers", false)] {
        let found = pod.at(&["spec", list]).map_or(&[][..], Tree::items);
        containers.extend(found.iter().map(|it| container(file, it, is_init, words)));
    }
    let annotation = |key: &str| pod.at(&["metadata", "annotations"])?.get(key);
    let mut number = |key: &str, is_good: fn(f64) -> bool| -> Option<f64> {
        let found = annotation(key)?;
        let said = found.printed()?;
        let number = said.trim().parse().ok().filter(|it: &f64| it.is_finite() && is_good(*it));
        if number.is_none() {
            let text = format!("annotation `{key}: {said}` of pod {name} is no such amount");
            words.unread(Origin::new(file, found.line), text);
        }
        number
    };
    let gpu_fraction = number("gpu-fraction", |it| it > 0.0);
    let gpu_memory = number("gpu-memory", |it| it >= 0.0 && it.fract() == 0.0);
    words.pods.push(PodFacts {
        namespace: pod.text_at(&["metadata", "namespace"]).unwrap_or_else(|| "default".to_owned()),
        uid: pod.text_at(&["metadata", "uid"]),
        node: pod.text_at(&["spec", "nodeName"]),
        phase: pod.text_at(&["status", "phase"]),
        runtime_class: pod.text_at(&["spec", "runtimeClassName"]),
        labels: texts(pod.at(&["metadata", "labels"]), |_| true),
        gpu_fraction,
        gpu_memory_mib: gpu_memory.map(|it| it as u64),
        compute_sharing: annotation("kai.scheduler/gpu-compute-sharing-mode")
            .and_then(Tree::printed),
        containers,
        name,
        origin,
    });
}

fn container(file: &str, tree: &Tree, is_init: bool, words: &mut NodeWords) -> ContainerFacts {
    let variables = tree.get("env").map_or(&[][..], Tree::items).iter();
    let environment = variables
        .filter_map(|it| Some((it.text_at(&["name"])?, it.get("value")?.printed()?)))
        .filter(|it| {
            it.0.starts_with("NVIDIA_")
                || it.0.starts_with("CUDA_MPS_")
                || it.0 == "CUDA_VISIBLE_DEVICES"
        })
        .collect();
    ContainerFacts {
        name: tree.text_at(&["name"]).unwrap_or_default(),
        is_init,
        is_privileged: tree
            .at(&["securityContext", "privileged"])
            .and_then(Tree::is_true)
            .unwrap_or(false),
        requests: counts(tree.at(&["resources", "requests"]), words, file),
        limits: counts(tree.at(&["resources", "limits"]), words, file),
        environment,
    }
}
