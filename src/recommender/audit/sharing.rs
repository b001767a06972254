//! By which means the tenants of a place share it.

use crate::cluster::config::facts::{PluginConfig, SharingMechanism};
use crate::cluster::facts::{GpuProcess, NodeWords};
use crate::cluster::kube::facts::NodeFacts;
use crate::recommender::audit::facts::Facts;
use crate::recommender::audit::place::Place;

/// By which means, with what says so.
#[derive(Debug, Clone)]
pub(super) struct Sharing {
    /// The means.
    pub(super) mechanism: SharingMechanism,
    /// What says so; empty where it is what the driver does unless told otherwise.
    pub(super) evidence: Vec<String>,
}

impl Sharing {
    /// Whether they share through the multi-process service.
    pub(super) fn is_mps(&self) -> bool {
        self.mechanism == SharingMechanism::Mps
    }

    /// How they share, as the end of a sentence.
    pub(super) fn words(&self) -> &'static str {
        match self.mechanism {
            SharingMechanism::TimeSlicing => "in turns",
            SharingMechanism::Mps => "through one MPS server",
        }
    }
}

/// Whether a process is an MPS server or a client of one.
pub(super) fn is_mps(process: &GpuProcess) -> bool {
    let is_server = process.name.as_deref().is_some_and(|it| it.contains("nvidia-cuda-mps-serv"));
    is_server || process.kind.as_deref().is_some_and(|it| it.contains("M+C"))
}

/// The configuration that the plugin of the node reads: the one that its label names, else the only one,
/// else the one that is called `default`.
pub(super) fn in_force<'a>(
    words: &'a NodeWords,
    node: Option<&NodeFacts>,
) -> Option<&'a PluginConfig> {
    let named =
        |name: &str| words.plugin_configs.iter().find(|it| it.name.as_deref() == Some(name));
    if let Some(label) = node.and_then(|it| it.label("device-plugin.config")) {
        return named(label).or(match words.plugin_configs.as_slice() {
            // A plain file has no name, so nothing speaks against it.
            [only] if only.name.is_none() => Some(only),
            _ => None,
        });
    }
    match words.plugin_configs.as_slice() {
        [only] => Some(only),
        _ => named("default"),
    }
}

/// By which means the tenants of a place share it: MPS if anything says so, else in turns.
pub(super) fn sharing(facts: &Facts<'_>, place: &Place) -> Sharing {
    let mut evidence = Vec::new();
    for it in facts.words.processes.iter().filter(|it| is_mps(it)) {
        if facts.atlas.of_process(it).as_ref() == Some(place) {
            let kind = it.kind.as_deref().unwrap_or("the server");
            evidence.push(format!("{}: process {} is of MPS ({kind})", it.origin, it.pid));
        }
    }
    let is_whole = matches!(place, Place::Gpu(_));
    let mut turns = Vec::new();
    if let (true, Some(config)) = (is_whole, facts.plugin.and_then(|it| it.sharing.as_ref())) {
        match config.mechanism {
            SharingMechanism::Mps => evidence.push(format!("{}: sharing.mps", config.origin)),
            SharingMechanism::TimeSlicing => {
                turns.push(format!("{}: sharing.timeSlicing", config.origin));
            }
        }
    }
    if let (true, Some(node)) = (is_whole, facts.node) {
        let text = |it: &str| format!("{}: label gpu.sharing-strategy is {it}", node.origin);
        match node.sharing_strategy() {
            Some("mps") => evidence.push(text("mps")),
            Some("time-slicing") => turns.push(text("time-slicing")),
            _ => {}
        }
    }
    match evidence.is_empty() {
        true => Sharing { mechanism: SharingMechanism::TimeSlicing, evidence: turns },
        false => Sharing { mechanism: SharingMechanism::Mps, evidence },
    }
}
