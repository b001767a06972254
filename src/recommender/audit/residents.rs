//! Who sits where: pods by what the kubelet gave them, tenants by what was recorded.

use crate::cluster::facts::NodeWords;
use crate::cluster::kube::facts::{Assignment, NodeFacts, PodFacts};
use crate::cluster::resource::ResourceName;
use crate::domain::time::TimeSpan;
use crate::recommender::audit::measured::Recorded;
use crate::recommender::audit::place::{Atlas, Place};
use crate::recommender::manifest::words::shell_word;
use crate::recommender::tenant_policy::{TenantPolicies, TenantPolicy};
use std::collections::BTreeSet;

/// Namespaces of the pods that drive GPUs: they see all of them because they have to, and are no tenants.
pub(super) const DRIVERS: [&str; 6] = [
    "gpu-operator",
    "kai-resource-reservation",
    "kube-system",
    "nvidia-device-plugin",
    "nvidia-dra-driver-gpu",
    "nvidia-gpu-operator",
];

/// A pod, or a recorded tenant, at one place.
#[derive(Debug, Clone)]
pub(super) struct Resident<'a> {
    /// Its name: `namespace/pod`, or the recorded one.
    pub(super) label: String,
    /// Its namespace; `None` for a tenant that is no pod.
    pub(super) namespace: Option<String>,
    /// Whether it drives GPUs instead of using them, as the pods that reserve a GPU for others do.
    pub(super) is_driver: bool,
    /// What is known of its pod.
    pub(super) pod: Option<&'a PodFacts>,
    /// Where it sits; `None` if that cannot be told.
    pub(super) place: Option<Place>,
    /// The resource by which it got there.
    pub(super) resource: Option<String>,
    /// What its owner says about it.
    pub(super) said: TenantPolicy,
    /// When it was seen there; `None` for a pod, which is there now.
    pub(super) span: Option<TimeSpan>,
    /// Where it is said that it sits there, with the place.
    pub(super) evidence: String,
}

impl Resident<'_> {
    /// Its name as a part of a sentence.
    pub(super) fn quoted(&self) -> String {
        quoted(&self.label)
    }

    /// Whether both may have been there at one time.
    pub(super) fn meets(&self, other: &Self) -> bool {
        match (self.span, other.span) {
            (Some(one), Some(two)) => one.overlap(two).is_some(),
            _ => true,
        }
    }
}

/// A name from outside in backticks, of which it may hold none itself.
pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "'"))
}

/// A name from outside as a word of a command that a person may copy: quoted where a shell would need it.
///
/// A name that could hide something from that person is not repeated; `NAME` stands for it.
pub(super) fn word(name: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "._-/:".contains(it);
    let is_visible = |it: char| it == ' ' || (it.is_ascii_graphic() && it != '`');
    if name.is_empty() || name.starts_with('-') || !name.chars().all(is_visible) {
        return "NAME".to_owned();
    }
    match name.chars().all(is_plain) {
        true => name.to_owned(),
        false => shell_word(name),
    }
}

/// The command that lets a pod be placed again.
pub(super) fn deletion(namespace: &str, pod: &str) -> String {
    format!("`kubectl delete pod -n {} {}`", word(namespace), word(pod))
}

/// Names in backticks as a list in words.
pub(super) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names: Vec<String> = names.into_iter().map(quoted).collect();
    names.dedup();
    let more = names.len().saturating_sub(6);
    names.truncate(6);
    match names.as_slice() {
        [first @ .., last] if !first.is_empty() && more == 0 => {
            format!("{} and {last}", first.join(", "))
        }
        all if more > 0 => format!("{} and {more} more", all.join(", ")),
        all => all.join(", "),
    }
}

/// The node that the words are about; `None` if the files describe several, or none.
pub(super) fn node(words: &NodeWords) -> Option<&NodeFacts> {
    if let [only] = words.nodes.as_slice() {
        return Some(only);
    }
    let given = |it: &&PodFacts| {
        words.assignments.iter().any(|to| to.namespace == it.namespace && to.pod == it.name)
    };
    let names: BTreeSet<&str> =
        words.pods.iter().filter(given).filter_map(|it| it.node.as_deref()).collect();
    match names.into_iter().collect::<Vec<_>>().as_slice() {
        [only] => words.nodes.iter().find(|it| it.name == *only),
        _ => None,
    }
}

/// The pods that run on the node; where nothing names it, those that were given devices.
pub(super) fn pods<'a>(words: &'a NodeWords, node: Option<&NodeFacts>) -> Vec<&'a PodFacts> {
    let placed: BTreeSet<&str> = words.pods.iter().filter_map(|it| it.node.as_deref()).collect();
    let only = match placed.into_iter().collect::<Vec<_>>().as_slice() {
        [only] => Some((*only).to_owned()),
        _ => None,
    };
    let name = node.map(|it| it.name.clone()).or(only);
    let is_here = |it: &&PodFacts| match &name {
        Some(name) => it.node.as_ref() == Some(name),
        None => words.assignments.iter().any(|to| is_of(to, it)),
    };
    let runs = |it: &&PodFacts| it.phase.as_deref().is_none_or(|it| it == "Running");
    words.pods.iter().filter(is_here).filter(runs).collect()
}

/// Whether a device was given to a pod.
pub(super) fn is_of(given: &Assignment, pod: &PodFacts) -> bool {
    given.namespace == pod.namespace && given.pod == pod.name
}

/// Everybody who is known to sit somewhere, or to have asked for a place.
pub(super) fn residents<'a>(
    words: &'a NodeWords,
    pods: &[&'a PodFacts],
    atlas: &Atlas<'a>,
    recorded: &[Recorded],
    tenants: &TenantPolicies,
) -> Vec<Resident<'a>> {
    let mut found: Vec<Resident<'a>> = Vec::new();
    for given in &words.assignments {
        let place = atlas.of_assignment(given);
        let label = format!("{}/{}", given.namespace, given.pod);
        if found.iter().any(|it| it.label == label && it.place == place) {
            continue;
        }
        let shown = place.as_ref().map_or_else(|| "a claim".to_owned(), |it| atlas.label(it));
        let said_of = [label.clone(), given.pod.clone(), format!("{label}/{}", given.container)];
        found.push(Resident {
            namespace: Some(given.namespace.clone()),
            is_driver: DRIVERS.contains(&given.namespace.as_str()),
            pod: pods.iter().copied().find(|it| is_of(given, it)),
            resource: Some(given.resource.clone()).filter(|it| !it.is_empty()),
            said: tenants.of_any(&said_of.each_ref().map(String::as_str)),
            span: None,
            evidence: format!("{}: {} was given to {}", given.origin, shown, quoted(&label)),
            label,
            place,
        });
    }
    // A fraction is given by its scheduler, not by the kubelet.
    let has_device = |it: &PodFacts| words.assignments.iter().any(|given| is_of(given, it));
    let is_open =
        |it: &&&PodFacts| words.assignments.is_empty() || (is_fraction(it) && !has_device(it));
    found.extend(pods.iter().filter(is_open).filter_map(|it| asking(it, atlas, tenants)));
    let is_taken = |place: &Place, found: &[Resident<'_>]| {
        found.iter().any(|it| it.place.as_ref() == Some(place) && !it.is_driver)
    };
    let of_recording: Vec<Resident<'a>> = recorded
        .iter()
        .filter(|it| !is_taken(&it.place, &found))
        .map(|it| Resident {
            label: it.tenant.clone(),
            namespace: None,
            is_driver: false,
            pod: None,
            place: Some(it.place.clone()),
            resource: None,
            said: tenants.of(&it.tenant),
            span: it.span,
            evidence: format!(
                "recording: {} was on {}",
                quoted(&it.tenant),
                atlas.label(&it.place)
            ),
        })
        .collect();
    found.extend(of_recording);
    name_by_recording(&mut found, recorded, tenants);
    found
}

/// A pod that asks for a device, at the only place that it can have got.
fn asking<'a>(
    pod: &'a PodFacts,
    atlas: &Atlas<'a>,
    tenants: &TenantPolicies,
) -> Option<Resident<'a>> {
    let resource = pod.resources().first().map(|it| (*it).to_owned());
    if resource.is_none() && !is_fraction(pod) {
        return None;
    }
    let name = resource.as_deref().and_then(ResourceName::parse);
    let profile = name.and_then(|it| it.profile);
    let fits = |it: &Place| match (it, &profile) {
        (Place::Gpu(_), None) => true,
        (Place::Instance(..), Some(profile)) => {
            let device = atlas.device(it);
            device.and_then(|it| atlas.profile_of(it)) == Some(profile.as_str())
        }
        _ => false,
    };
    let mut candidates: Vec<Place> = atlas.places();
    candidates.retain(fits);
    let place = match candidates.as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    };
    let label = format!("{}/{}", pod.namespace, pod.name);
    let asked = resource.as_deref().unwrap_or("a fraction of a GPU");
    let where_ = place
        .as_ref()
        .map_or_else(String::new, |it| format!(", which only {} can have given", atlas.label(it)));
    let evidence = format!("{}: {} asks for {asked}{where_}", pod.origin, quoted(&label));
    Some(Resident {
        namespace: Some(pod.namespace.clone()),
        is_driver: DRIVERS.contains(&pod.namespace.as_str()),
        said: tenants.of_any(&[&label, &pod.name]),
        pod: Some(pod),
        span: None,
        label,
        place,
        resource,
        evidence,
    })
}

/// Whether a pod asks for a fraction of a GPU instead of a device.
pub(super) fn is_fraction(pod: &PodFacts) -> bool {
    pod.gpu_fraction.is_some() || pod.gpu_memory_mib.is_some()
}

/// The only pod at a place is also known by the name of the only tenant that was recorded there.
fn name_by_recording(found: &mut [Resident<'_>], recorded: &[Recorded], tenants: &TenantPolicies) {
    for at in 0..found.len() {
        let Some(place) = found[at].place.clone() else { continue };
        let alone = found.iter().filter(|it| it.place.as_ref() == Some(&place)).count() == 1;
        let mut there = recorded.iter().filter(|it| it.place == place);
        if let (true, Some(only), None, Some(pod)) =
            (alone, there.next(), there.next(), found[at].pod)
        {
            let label = found[at].label.clone();
            found[at].said = tenants.of_any(&[&label, &pod.name, &only.tenant]);
        }
    }
}
