//! What a node says about itself beats what is published about its boards, and what a recording left out.

use crate::cluster::facts::{GpuKey, MigDevice, NodeWords, ProfileOffer};
use crate::domain::mig_geometry::{Engines, MigBoard, MigProfile, Provenance};
use crate::recommender::seen::ability;
use crate::recommender::situation::{MigAbility, Situation, StandingInstance};
use std::borrow::Cow;

/// MiB of a GiB.
const MIB_OF_GIB: f64 = 1024.0;

/// Takes over what the node says about the device of a situation; `index` is the device's on its node.
///
/// MIG mode, instances with their places, memory, and the profiles that the device itself offers. Returns whether
/// the words are about this device at all.
pub fn take_over(situation: &mut Situation, index: Option<u32>, words: &NodeWords) -> bool {
    let uuid = Some(situation.gpu.as_str().to_owned()).filter(|it| it.starts_with("GPU-"));
    let key = GpuKey { index, uuid, bus_id: None };
    let is_here = |it: &GpuKey| words.is_same_gpu(it, &key) || words.is_same_gpu(&key, it);
    let gpu = words.gpus.iter().find(|it| is_here(&it.gpu));
    let offers: Vec<&ProfileOffer> = words.offers.iter().filter(|it| is_here(&it.gpu)).collect();
    let mut instances: Vec<StandingInstance> = words
        .gpu_instances
        .iter()
        .filter(|it| is_here(&it.gpu))
        .map(|it| StandingInstance {
            profile: it
                .profile
                .clone()
                .unwrap_or_else(|| "an instance of unknown profile".to_owned()),
            start: it.placement.map(|it| it.start),
            gpu_instance: Some(it.id),
            tenants: residents(situation, it.id),
        })
        .collect();
    if let Some(gpu) = gpu {
        if situation.device.model.is_none() {
            situation.device.model.clone_from(&gpu.name);
        }
        if matches!(situation.device.mig, MigAbility::Unknown) {
            let total = gpu.memory_total_mib.map(|it| it as f64 * 1_048_576.0);
            situation.device.mig = ability(gpu.name.as_deref(), total);
        }
        situation.now.is_mig = gpu.is_mig_on.or(situation.now.is_mig);
        let device = &mut situation.device;
        device.total_mib = gpu.memory_total_mib.map(|it| it as f64).or(device.total_mib);
        device.reserved_mib = gpu.memory_reserved_mib.map(|it| it as f64).or(device.reserved_mib);
    }
    if instances.is_empty() {
        // Without -lgi the devices of -q say which instances stand, but not where.
        let mut devices: Vec<_> = words.mig_devices.iter().filter(|it| is_here(&it.gpu)).collect();
        devices.sort_by_key(|it| it.gpu_instance);
        devices.dedup_by_key(|it| it.gpu_instance);
        instances = devices
            .into_iter()
            .map(|it| StandingInstance {
                profile: profile_of(it, situation),
                start: None,
                gpu_instance: it.gpu_instance,
                tenants: it.gpu_instance.map_or_else(Vec::new, |it| residents(situation, it)),
            })
            .collect();
        if !instances.is_empty() {
            situation.unseen.push("where the MIG instances lie is in no file of the node: `nvidia-smi mig -lgi` says it".to_owned());
        }
    }
    let is_told = gpu.is_some() || !offers.is_empty() || !instances.is_empty();
    if !instances.is_empty() {
        situation.now.is_mig = Some(true);
        situation.now.instances = instances;
    }
    if !offers.is_empty() {
        let known = situation.device.mig.board();
        let name = situation.device.model.as_deref().unwrap_or("this device");
        situation.device.mig = MigAbility::Board(Box::new(board(known, name, &offers)));
    }
    is_told
}

/// Profile of a device's GPU instance: without the compute instance in its name, or by its memory.
fn profile_of(device: &MigDevice, situation: &Situation) -> String {
    let told = device.profile.as_deref().map(|it| match it.split_once("c.") {
        Some((_, rest)) => rest.to_owned(),
        None => it.to_owned(),
    });
    let by_memory = || {
        let board = situation.device.mig.board()?;
        let mib = device.memory_total_mib?;
        let mut fitting = board.profiles.iter().filter(|it| {
            it.is_plain()
                && it.memory_mib.is_some_and(|own| own.abs_diff(mib) <= mib / 50)
                && (device.multiprocessors.is_none() || it.sm_count == device.multiprocessors)
        });
        let found = fitting.next()?;
        fitting.next().is_none().then(|| found.name.to_string())
    };
    told.or_else(by_memory).unwrap_or_else(|| "an instance of unknown profile".to_owned())
}

/// Tenants that the recording saw in an instance of this number.
fn residents(situation: &Situation, number: u32) -> Vec<String> {
    let seen = situation.now.instances.iter().find(|it| it.gpu_instance == Some(number));
    seen.map(|it| it.tenants.clone()).unwrap_or_default()
}

/// The board as the device tells it: its own profiles, and from the published table what it left out.
fn board(known: Option<&MigBoard>, name: &str, offers: &[&ProfileOffer]) -> MigBoard {
    let mut profiles: Vec<MigProfile> = known.map_or_else(Vec::new, |it| it.profiles.to_vec());
    for offer in offers {
        let place = profiles.iter().position(|it| {
            it.gi_profile_id == Some(offer.id)
                || offer.profile.as_deref().is_some_and(|name| it.name.eq_ignore_ascii_case(name))
        });
        match (place, &offer.profile) {
            (Some(place), _) => correct(&mut profiles[place], offer),
            (None, Some(name)) => profiles.extend(profile(name, offer)),
            (None, None) => {}
        }
    }
    // What the device does not offer cannot be made on it, whatever is published.
    let is_offered =
        |it: &MigProfile| offers.iter().any(|offer| it.gi_profile_id == Some(offer.id));
    profiles.retain(is_offered);
    // A listing may leave out the whole: as many small ones as fit take as much.
    let plain = || profiles.iter().filter(|it| it.is_plain());
    let compute = plain().map(|it| it.compute_slices * it.max_instances).max().unwrap_or(0);
    let memory = plain().map(|it| it.memory_slices * it.max_instances).max().unwrap_or(0);
    let end = |it: &MigProfile| Some(it.starts.iter().max()? + it.size?);
    let slots = profiles.iter().filter_map(end).max();
    let mut told = known.cloned().unwrap_or_else(|| MigBoard {
        name: Cow::Owned(name.to_owned()),
        variants: Cow::Borrowed(""),
        pci_device_ids: Cow::Borrowed(&[]),
        architecture: None,
        compute_capability: None,
        memory_gib: None,
        sm_total: None,
        compute_slices: compute,
        memory_slices: memory,
        slots,
        are_placements_seen: slots.is_some(),
        has_one_of_each_kind: false,
        minimum_driver: None,
        profiles: Cow::Borrowed(&[]),
    });
    told.slots = slots.or(told.slots);
    told.profiles = Cow::Owned(profiles);
    told
}

fn correct(profile: &mut MigProfile, offer: &ProfileOffer) {
    profile.gi_profile_id = Some(offer.id);
    if let Some(name) = &offer.profile {
        profile.name = Cow::Owned(name.clone());
    }
    profile.memory_mib = mib(offer).or(profile.memory_mib);
    profile.sm_count = offer.multiprocessors.or(profile.sm_count);
    profile.max_instances = offer.total.unwrap_or(profile.max_instances);
    if !offer.starts.is_empty() {
        profile.starts = Cow::Owned(offer.starts.clone());
    }
    profile.size = offer.size.or(profile.size);
    profile.provenance = Provenance::Measured;
}

/// A profile that nothing is published about; `None` for a name without compute slices.
fn profile(name: &str, offer: &ProfileOffer) -> Option<MigProfile> {
    let compute_slices = name.split('g').next()?.parse().ok()?;
    Some(MigProfile {
        name: Cow::Owned(name.to_owned()),
        gi_profile_id: Some(offer.id),
        nvml_profile_enum: 0,
        compute_slices,
        memory_slices: offer.size.unwrap_or(0),
        memory_mib: mib(offer),
        sm_count: offer.multiprocessors,
        engines: Engines {
            copy: None,
            decoder: None,
            encoder: None,
            jpeg: None,
            optical_flow: None,
        },
        max_instances: offer.total.unwrap_or(1),
        starts: Cow::Owned(offer.starts.clone()),
        size: offer.size,
        provenance: Provenance::Measured,
    })
}

fn mib(offer: &ProfileOffer) -> Option<u64> {
    offer.memory_gib.map(|it| (it * MIB_OF_GIB).floor() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::read;
    use crate::colocation::whatif::Options;
    use crate::domain::ident::GpuId;
    use crate::domain::mig_geometry::by_product_name;
    use crate::recommender::situation::{Current, DeviceFacts, Limits};

    fn situation(mig: MigAbility) -> Situation {
        Situation {
            gpu: GpuId::from_index(0),
            label: "GPU 0".to_owned(),
            device: DeviceFacts { mig, ..DeviceFacts::default() },
            now: Current::default(),
            tenants: Vec::new(),
            saturated: None,
            met: None,
            limits: Limits::default(),
            options: Options::default(),
            unseen: Vec::new(),
        }
    }

    fn words() -> NodeWords {
        let of = |name: &str, text: &str| read(name, text).unwrap();
        let mut words = of("lgip", include_str!("../../fixtures/cluster/profiles/h100.txt"));
        words.merge(of("lgipp", include_str!("../../fixtures/cluster/placements/h100.txt")));
        words
    }

    #[test]
    fn a_device_that_nobody_knows_tells_its_own_profiles() {
        let mut found = situation(MigAbility::Unknown);
        assert!(take_over(&mut found, Some(0), &words()));
        let board = found.device.mig.board().unwrap();
        let half = &board.profiles[board.profile_named("3g.40gb").unwrap()];
        assert_eq!((half.compute_slices, half.starts.as_ref()), (3, &[0, 4][..]));
        assert_eq!((board.compute_slices, board.slots), (7, Some(8)));
    }

    #[test]
    fn what_the_device_says_beats_the_table_and_the_table_fills_its_gaps() {
        let published = by_product_name("NVIDIA H100 80GB HBM3", None).unwrap().clone();
        let mut found = situation(MigAbility::Board(Box::new(published.clone())));
        let mut said = words();
        for offer in said.offers.iter_mut().filter(|it| it.profile.as_deref() == Some("3g.40gb")) {
            (offer.memory_gib, offer.multiprocessors) = (Some(30.0), None);
        }
        assert!(take_over(&mut found, Some(0), &said));
        let board = found.device.mig.board().unwrap();
        let half = &board.profiles[board.profile_named("3g.40gb").unwrap()];
        let before = &published.profiles[published.profile_named("3g.40gb").unwrap()];
        assert_eq!((half.memory_mib, half.sm_count), (Some(30_720), before.sm_count));
        assert_eq!(board.minimum_driver, published.minimum_driver);
    }

    #[test]
    fn instances_of_the_long_listing_stand_without_places() {
        let said =
            read("q", include_str!("../../fixtures/cluster/nodes/clean/smi-query.txt")).unwrap();
        let mut found = situation(MigAbility::Unknown);
        assert!(take_over(&mut found, Some(0), &said));
        assert!(found.device.mig.board().is_some(), "the model is told too");
        let mut profiles: Vec<&str> =
            found.now.instances.iter().map(|it| it.profile.as_str()).collect();
        profiles.sort_unstable();
        assert_eq!(profiles, ["1g.10gb", "1g.10gb", "2g.20gb", "3g.40gb"]);
        assert!(
            found.now.instances.iter().all(|it| it.start.is_none() && it.gpu_instance.is_some())
        );
        assert!(found.unseen.iter().any(|it| it.contains("-lgi")), "{:?}", found.unseen);
    }

    #[test]
    fn words_about_another_device_change_nothing() {
        let mut found = situation(MigAbility::Unknown);
        assert!(!take_over(&mut found, Some(5), &words()));
        assert!(found.device.mig.board().is_none() && found.now == Current::default());
    }
}
