//! Which device of one recording is which of the other.

use crate::domain::ident::{GpuId, Subject};
use crate::domain::outline::{Device, Outline};

/// Devices that are in both recordings, and those that are in one only.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Matched {
    /// Before and after.
    pub(crate) pairs: Vec<(GpuId, GpuId)>,
    /// Names of those that are gone.
    pub(crate) only_before: Vec<String>,
    /// Names of those that are new.
    pub(crate) only_after: Vec<String>,
    /// How they were matched, where not by UUID.
    pub(crate) remarks: Vec<String>,
}

/// Matches devices by id, then by host and index, then by their order.
pub(crate) fn matched(before: &Outline, after: &Outline) -> Matched {
    let (mut first, mut second) = (devices(before), devices(after));
    let mut found = Matched::default();
    let by_id = |a: &Device, b: &Device| a.gpu == b.gpu;
    take(&mut first, &mut second, by_id, &mut found.pairs);
    let by_index =
        |a: &Device, b: &Device| a.index.is_some() && a.index == b.index && is_one_host(a, b);
    let known = found.pairs.len();
    take(&mut first, &mut second, by_index, &mut found.pairs);
    if found.pairs.len() > known {
        let number = found.pairs.len() - known;
        found.remarks.push(format!(
            "{} matched by its index, as the UUIDs differ: it may be another board",
            devices_are(number)
        ));
    }
    let known = found.pairs.len();
    let is_like = |a: &Device, b: &Device| a.model == b.model;
    take(&mut first, &mut second, is_like, &mut found.pairs);
    if found.pairs.len() > known {
        let number = found.pairs.len() - known;
        found.remarks.push(format!(
            "{} matched by its place in the order only: it may be another board",
            devices_are(number)
        ));
    }
    found.only_before = first.iter().map(Device::label).collect();
    found.only_after = second.iter().map(Device::label).collect();
    found
}

/// That a device is of another model after the change, in a sentence; `None` where none is known to be.
pub(crate) fn other_models(before: &Outline, after: &Outline, devices: &Matched) -> Option<String> {
    let model = |outline: &Outline, gpu: &GpuId| outline.device(gpu)?.model.clone();
    let mut changed = devices.pairs.iter().filter_map(|(mine, other)| {
        let (mine, other) = (model(before, mine)?, model(after, other)?);
        (mine != other).then_some((mine, other))
    });
    let (mine, other) = changed.next()?;
    let more = match changed.count() {
        0 => String::new(),
        more => format!(", and so are {more} more"),
    };
    Some(format!("The GPU is another one: {mine} before, {other} after{more}."))
}

fn devices_are(number: usize) -> String {
    if number == 1 { "one GPU was".to_owned() } else { format!("each of {number} GPUs was") }
}

/// Whether nothing says that these stand in different hosts.
fn is_one_host(a: &Device, b: &Device) -> bool {
    match (&a.host, &b.host) {
        (Some(mine), Some(other)) => mine == other,
        _ => true,
    }
}

/// Moves pairs that are alike out of both lists.
fn take(
    first: &mut Vec<Device>,
    second: &mut Vec<Device>,
    is_alike: impl Fn(&Device, &Device) -> bool,
    pairs: &mut Vec<(GpuId, GpuId)>,
) {
    first.retain(|mine| {
        let Some(place) = second.iter().position(|it| is_alike(mine, it)) else { return true };
        pairs.push((mine.gpu.clone(), second.remove(place).gpu));
        false
    });
}

/// Described devices that have samples, then others that have.
fn devices(outline: &Outline) -> Vec<Device> {
    let has_samples = |gpu: &GpuId| outline.subjects.iter().any(|it| it.gpu() == Some(gpu));
    let mut all: Vec<Device> =
        outline.devices.iter().filter(|it| has_samples(&it.gpu)).cloned().collect();
    for gpu in outline.subjects.iter().filter_map(Subject::gpu) {
        if all.iter().all(|it| it.gpu != *gpu) {
            all.push(Device::named(gpu.clone()));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(devices: &[(&str, u32, &str)]) -> Outline {
        let mut outline = Outline::default();
        for (uuid, index, model) in devices {
            let gpu = GpuId::new(*uuid);
            outline.subjects.push(Subject::device(&gpu));
            let model = Some((*model).to_owned());
            outline.devices.push(Device { index: Some(*index), model, ..Device::named(gpu) });
        }
        outline
    }

    fn ids(found: &Matched) -> Vec<(&str, &str)> {
        found.pairs.iter().map(|it| (it.0.as_str(), it.1.as_str())).collect()
    }

    #[test]
    fn a_uuid_goes_before_an_index_and_an_index_before_the_order() {
        let before = outline(&[("GPU-a", 0, "H100"), ("GPU-b", 1, "H100"), ("GPU-c", 2, "H100")]);
        let after = outline(&[("GPU-b", 0, "H100"), ("GPU-d", 2, "H100"), ("GPU-e", 7, "H100")]);
        let found = matched(&before, &after);
        assert_eq!(ids(&found), [("GPU-b", "GPU-b"), ("GPU-c", "GPU-d"), ("GPU-a", "GPU-e")]);
        assert_eq!(found.remarks.len(), 2, "{:?}", found.remarks);
    }

    #[test]
    fn another_model_at_no_known_place_is_another_device() {
        let before = outline(&[("GPU-a", 0, "H100"), ("GPU-b", 1, "H100")]);
        let after = outline(&[("GPU-a", 0, "H100"), ("GPU-z", 5, "T4")]);
        let found = matched(&before, &after);
        assert_eq!(ids(&found), [("GPU-a", "GPU-a")]);
        assert_eq!(
            (found.only_before, found.only_after),
            (vec!["GPU 1".to_owned()], vec!["GPU 5".to_owned()])
        );
    }
}
