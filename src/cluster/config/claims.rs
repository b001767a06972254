//! Claims of dynamic resource allocation, with the parameters of NVIDIA's driver.

use crate::cluster::config::facts::{ClaimRequest, ClaimSharing, ClaimTemplate};
use crate::cluster::config::source::{Source, natural};
use crate::cluster::facts::{NodeWords, Severity};
use crate::cluster::resource::is_profile;
use crate::cluster::tree::Tree;
use std::collections::BTreeMap;

const SHARING: [&str; 3] = ["strategy", "mpsConfig", "timeSlicingConfig"];
const MPS: [&str; 3] = [
    "defaultActiveThreadPercentage",
    "defaultPinnedDeviceMemoryLimit",
    "defaultPerDevicePinnedMemoryLimit",
];
const INTERVALS: [&str; 4] = ["Default", "Short", "Medium", "Long"];

/// Reads a `ResourceClaimTemplate` or `ResourceClaim`, of `resource.k8s.io` `v1` or its betas.
///
/// Claims for devices of other drivers are passed over.
pub(in crate::cluster) fn read(file: &str, claim: &Tree, words: &mut NodeWords) {
    let source = Source { file, above: Some(0), key: None };
    let Some(name) = claim.text_at(&["metadata", "name"]) else {
        words.unread(source.origin(claim), "a claim without `metadata.name`");
        return;
    };
    let spec = claim.at(&["spec", "spec"]).or_else(|| claim.get("spec"));
    let Some(devices) = spec.and_then(|it| it.get("devices")) else { return };
    let mut requests: Vec<ClaimRequest> =
        devices.get("requests").map_or(&[][..], Tree::items).iter().filter_map(request).collect();
    requests.retain(|it| it.device_class.ends_with("nvidia.com"));
    if requests.is_empty() {
        return;
    }
    for config in devices.get("config").map_or(&[][..], Tree::items) {
        let Some(parameters) = config.at(&["opaque", "parameters"]) else { continue };
        let sharing = sharing(source, parameters, words);
        let of: Vec<&str> = config
            .get("requests")
            .map_or(&[][..], Tree::items)
            .iter()
            .filter_map(Tree::text)
            .collect();
        for request in &mut requests {
            // Without names, a configuration holds for every request.
            if of.is_empty() || of.contains(&request.name.as_str()) {
                request.sharing.clone_from(&sharing);
            }
        }
    }
    words.claim_templates.push(ClaimTemplate {
        namespace: claim.text_at(&["metadata", "namespace"]),
        name,
        requests,
        origin: source.origin(claim),
    });
}

/// A request; from `v1beta2` on its device stands under `exactly`.
fn request(tree: &Tree) -> Option<ClaimRequest> {
    let device = tree.get("exactly").unwrap_or(tree);
    let selectors = device.get("selectors").map_or(&[][..], Tree::items).iter();
    let profile = selectors
        .filter_map(|it| it.at(&["cel", "expression"])?.text())
        .find_map(profile_of)
        .map(str::to_owned);
    Some(ClaimRequest {
        name: tree.text_at(&["name"])?,
        device_class: device.text_at(&["deviceClassName"])?,
        count: device.get("count").and_then(natural).unwrap_or(1),
        profile,
        sharing: None,
    })
}

/// The profile of `….profile == '1g.10gb'`; `None` for an expression that says more.
fn profile_of(expression: &str) -> Option<&str> {
    let (left, right) = expression.split_once("==")?;
    let quoted = right.trim();
    let profile = quoted.trim_matches(['\'', '"']);
    let is_plain = quoted.len() == profile.len() + 2 && left.trim_end().ends_with(".profile");
    (is_plain && is_profile(profile)).then_some(profile)
}

/// The sharing of a `GpuConfig` or `MigDeviceConfig`.
fn sharing(source: Source<'_>, tree: &Tree, words: &mut NodeWords) -> Option<ClaimSharing> {
    let kind = tree.text_at(&["kind"]);
    if !matches!(kind.as_deref(), Some("GpuConfig" | "MigDeviceConfig")) {
        return None;
    }
    source.known(tree, &["apiVersion", "kind", "sharing"], Severity::Refused, words);
    if tree.text_at(&["apiVersion"]).as_deref() != Some("resource.nvidia.com/v1beta1") {
        let text = "apiVersion of the parameters is not `resource.nvidia.com/v1beta1`".to_owned();
        source.refused(tree, text, words);
    }
    let found = tree.get("sharing")?;
    // MIG devices have no turns of their own.
    let fields = if kind.as_deref() == Some("GpuConfig") { &SHARING[..] } else { &SHARING[..2] };
    source.known(found, fields, Severity::Refused, words);
    match found.text_at(&["strategy"]).as_deref() {
        Some("TimeSlicing") => {
            if let Some(mps) = found.get("mpsConfig") {
                source.refused(mps, "`mpsConfig` beside strategy TimeSlicing".into(), words);
            }
            let interval = found.at(&["timeSlicingConfig", "interval"]);
            if let Some(it) =
                interval.filter(|it| !it.text().is_some_and(|it| INTERVALS.contains(&it)))
            {
                let text = format!("the interval is none of {}", INTERVALS.join(", "));
                source.refused(it, text, words);
            }
            Some(ClaimSharing::TimeSlicing(interval.and_then(Tree::printed)))
        }
        Some("MPS") => Some(mps(source, found, words)),
        _ => {
            let text = "`strategy` is neither TimeSlicing nor MPS".to_owned();
            source.refused(found, text, words);
            None
        }
    }
}

fn mps(source: Source<'_>, sharing: &Tree, words: &mut NodeWords) -> ClaimSharing {
    if let Some(it) = sharing.get("timeSlicingConfig") {
        source.refused(it, "`timeSlicingConfig` beside strategy MPS".to_owned(), words);
    }
    let config = sharing.get("mpsConfig");
    if let Some(config) = config {
        source.known(config, &MPS, Severity::Refused, words);
    }
    let percentage = config.and_then(|it| it.get("defaultActiveThreadPercentage"));
    if let Some(it) = percentage.filter(|it| natural(it).is_none_or(|it| it > 100)) {
        source.refused(it, "the thread percentage is not between 0 and 100".to_owned(), words);
    }
    let by_device = config.and_then(|it| it.get("defaultPerDevicePinnedMemoryLimit"));
    let limits: BTreeMap<String, String> = by_device
        .map_or(&[][..], Tree::entries)
        .iter()
        .filter_map(|(device, limit)| Some((device.clone(), limit.printed()?)))
        .collect();
    ClaimSharing::Mps {
        thread_percentage: percentage.and_then(natural),
        memory_limit: config
            .and_then(|it| it.get("defaultPinnedDeviceMemoryLimit"))
            .and_then(Tree::printed),
        memory_limit_by_device: limits,
    }
}
