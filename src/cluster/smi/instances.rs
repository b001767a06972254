//! `nvidia-smi mig -lgi` and `-lci`: instances that exist, and where they lie.

use crate::cluster::facts::{GpuInstance, GpuKey, MigDevice, NodeWords, Origin, Placement};
use crate::cluster::text::{Line, count, lines};

/// Reads the table of GPU instances: GPU, name, profile id, instance id, `start:size`.
pub fn gpu_instances(file: &str, text: &str) -> NodeWords {
    let mut words = NodeWords::default();
    for (line, cells) in rows(text) {
        let origin = Origin::new(file, line.number);
        match gpu_instance(&cells, &origin) {
            Some(it) => words.gpu_instances.push(it),
            None => words.unread(origin, unreadable(line, "a GPU instance")),
        }
    }
    words
}

/// Reads the table of compute instances: GPU, GPU instance, name, profile id, instance id.
///
/// Its last column counts within the GPU instance, so it is no [`Placement`] on the GPU.
pub fn compute_instances(file: &str, text: &str) -> NodeWords {
    let mut words = NodeWords::default();
    for (line, cells) in rows(text) {
        let origin = Origin::new(file, line.number);
        match compute_instance(&cells, &origin) {
            Some(it) => words.mig_devices.push(it),
            None => words.unread(origin, unreadable(line, "a compute instance")),
        }
    }
    words
}

/// The rows of a table that begin with a number, as words.
pub(super) fn rows(text: &str) -> impl Iterator<Item = (Line<'_>, Vec<&str>)> {
    lines(text).filter_map(|line| {
        let inner = line.text.trim().strip_prefix('|')?;
        let cells: Vec<&str> = inner.trim_end_matches('|').split_whitespace().collect();
        let is_row = cells.first()?.parse::<u32>().is_ok() && cells.contains(&"MIG");
        is_row.then_some((line, cells))
    })
}

/// What is said of a row that could not be read.
pub(super) fn unreadable(line: Line<'_>, what: &str) -> String {
    format!("`{}` is no whole row about {what}", line.text.trim())
}

fn gpu_instance(cells: &[&str], origin: &Origin) -> Option<GpuInstance> {
    let [gpu, "MIG", profile, profile_id, id, placement, ..] = cells else { return None };
    Some(GpuInstance {
        gpu: GpuKey::new(Some(count(gpu)?), None, None),
        id: count(id)?,
        profile: Some((*profile).to_owned()),
        profile_id: count(profile_id),
        placement: placement_of(placement),
        origin: origin.clone(),
    })
}

fn compute_instance(cells: &[&str], origin: &Origin) -> Option<MigDevice> {
    let [gpu, gpu_instance, "MIG", profile, _, id, ..] = cells else { return None };
    let gpu = GpuKey::new(Some(count(gpu)?), None, None);
    Some(MigDevice {
        gpu_instance: Some(count(gpu_instance)?),
        compute_instance: Some(count(id)?),
        profile: Some((*profile).to_owned()),
        ..MigDevice::new(gpu, origin.clone())
    })
}

fn placement_of(cell: &str) -> Option<Placement> {
    let (start, size) = cell.split_once(':')?;
    Some(Placement { start: count(start)?, size: count(size)? })
}
