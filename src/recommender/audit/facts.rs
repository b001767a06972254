//! What the checks look at: the words of the node, joined with policy, plan and recording.

use crate::cluster::config::facts::{MigPartedConfig, PluginConfig};
use crate::cluster::facts::NodeWords;
use crate::cluster::kube::facts::{NodeFacts, PodFacts};
use crate::recommender::audit::AuditInput;
use crate::recommender::audit::measured::{Measured, Peak};
use crate::recommender::audit::place::{Atlas, Place};
use crate::recommender::audit::residents::{Resident, node, pods, residents};
use crate::recommender::audit::sharing::{Sharing, in_force, sharing};
use crate::recommender::policy::Policy;
use std::collections::BTreeMap;

/// Everything that a check may look at.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    /// The words of the node.
    pub(super) words: &'a NodeWords,
    /// Thresholds.
    pub(super) policy: &'a Policy,
    /// Whether anything is said about tenants.
    pub(super) has_tenants: bool,
    /// The layout that was planned.
    pub(super) expected: Option<&'a MigPartedConfig>,
    /// The node; `None` if the files describe several, or none.
    pub(super) node: Option<&'a NodeFacts>,
    /// The pods that run on it.
    pub(super) pods: Vec<&'a PodFacts>,
    /// The configuration that its device plugin reads.
    pub(super) plugin: Option<&'a PluginConfig>,
    /// Its GPUs.
    pub(super) atlas: Atlas<'a>,
    /// What was recorded.
    pub(super) measured: Measured,
    /// Who sits where.
    pub(super) residents: Vec<Resident<'a>>,
}

impl<'a> Facts<'a> {
    /// Joins what is given.
    pub(super) fn of(input: &AuditInput<'a>) -> Self {
        let words = input.words;
        let node = node(words);
        let pods = pods(words, node);
        let atlas = Atlas::of(words);
        let measured = Measured::of(words, &atlas, input.outline, input.findings);
        let residents = residents(words, &pods, &atlas, &measured.recorded, input.tenants);
        Self {
            words,
            policy: input.policy,
            has_tenants: !input.tenants.is_empty(),
            expected: input.expected,
            node,
            pods,
            plugin: in_force(words, node),
            atlas,
            measured,
            residents,
        }
    }

    /// Tenants by place.
    pub(super) fn seats(&self) -> BTreeMap<&Place, Vec<&Resident<'a>>> {
        let mut seats: BTreeMap<&Place, Vec<&Resident<'a>>> = BTreeMap::new();
        for it in self.residents.iter().filter(|it| !it.is_driver) {
            if let Some(place) = &it.place {
                seats.entry(place).or_default().push(it);
            }
        }
        seats
    }

    /// Places with two residents or more that were there at one time, with all who met somebody.
    pub(super) fn shared(&self) -> Vec<(&Place, Vec<&Resident<'a>>)> {
        let seats = self.seats().into_iter().map(|(place, all)| (place, who_met(&all)));
        seats.filter(|it| it.1.len() > 1).collect()
    }

    /// By which means the tenants of a place share it.
    pub(super) fn sharing(&self, place: &Place) -> Sharing {
        sharing(self, place)
    }

    /// What a resident was seen to hold at most: by its name, or as the only tenant that was recorded there.
    pub(super) fn peak<'b>(&'b self, resident: &'b Resident<'_>) -> Option<&'b Peak> {
        let place = resident.place.as_ref()?;
        let pod = resident.pod.map(|it| it.name.as_str());
        let names: Vec<&str> = pod.into_iter().chain([resident.label.as_str()]).collect();
        self.measured.peak(&names, place).or_else(|| {
            let here = |it: &&Resident<'_>| it.place.as_ref() == Some(place) && !it.is_driver;
            let alone = self.residents.iter().filter(here);
            let mut there = self.measured.at(place);
            match (alone.count(), there.next(), there.next()) {
                (1, Some(only), None) => Some(only),
                _ => None,
            }
        })
    }

    /// Whether pods of the node ask for a resource that is shared, or any two tenants share a place.
    pub(super) fn is_cluster_known(&self) -> bool {
        !self.words.nodes.is_empty() || !self.words.pods.is_empty()
    }
}

/// Those who met somebody else.
fn who_met<'b, 'a>(all: &[&'b Resident<'a>]) -> Vec<&'b Resident<'a>> {
    let meets =
        |it: &&Resident<'a>| all.iter().any(|other| other.label != it.label && other.meets(it));
    all.iter().copied().filter(meets).collect()
}
