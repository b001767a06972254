//! `nvidia-smi mig -lgip` and `-lgipp`: profiles on offer, and where they may lie.

use crate::cluster::facts::{GpuKey, NodeWords, Origin, ProfileOffer};
use crate::cluster::smi::instances::{rows, unreadable};
use crate::cluster::text::{count, lines};

/// Reads the table of profiles: GPU, name, id, free/total, GiB, peer to peer, SMs.
pub fn offers(file: &str, text: &str) -> NodeWords {
    let mut words = NodeWords::default();
    for (line, cells) in rows(text) {
        let origin = Origin::new(file, line.number);
        match offer(&cells, &origin) {
            Some(it) => words.offers.push(it),
            None => words.unread(origin, unreadable(line, "a profile")),
        }
    }
    words
}

/// Reads lines such as `GPU  0 Profile ID 14 Placements: {0,2,4}:2`.
pub fn placements(file: &str, text: &str) -> NodeWords {
    let mut words = NodeWords::default();
    for line in lines(text).filter(|it| it.text.contains("Profile ID")) {
        let origin = Origin::new(file, line.number);
        match places(line.text.trim(), &origin) {
            Some(it) => words.offers.push(it),
            None => {
                words.unread(origin, format!("`{}` is no whole placement", line.text.trim()));
            }
        }
    }
    words
}

fn offer(cells: &[&str], origin: &Origin) -> Option<ProfileOffer> {
    let [gpu, "MIG", profile, id, instances, rest @ ..] = cells else { return None };
    let (free, total) = instances.split_once('/')?;
    Some(ProfileOffer {
        gpu: GpuKey::new(Some(count(gpu)?), None, None),
        id: count(id.trim_end_matches('*'))?,
        profile: Some((*profile).to_owned()),
        free: count(free),
        total: count(total),
        memory_gib: rest.first().and_then(|it| it.parse().ok()),
        multiprocessors: rest.get(2).and_then(|it| count(it)),
        starts: Vec::new(),
        size: None,
        origin: origin.clone(),
    })
}

fn places(content: &str, origin: &Origin) -> Option<ProfileOffer> {
    let (gpu, rest) = content.strip_prefix("GPU")?.split_once("Profile ID")?;
    let (id, rest) = rest.split_once("Placement")?;
    let (starts, size) = rest.split_once('{')?.1.split_once("}:")?;
    let starts: Option<Vec<u32>> = starts.split(',').map(count).collect();
    Some(ProfileOffer {
        gpu: GpuKey::new(Some(count(gpu)?), None, None),
        id: count(id)?,
        profile: None,
        free: None,
        total: None,
        memory_gib: None,
        multiprocessors: None,
        starts: starts?,
        size: Some(count(size.split_whitespace().next()?)?),
        origin: origin.clone(),
    })
}
