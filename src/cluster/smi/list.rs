//! `nvidia-smi -L`: GPUs and MIG devices with their UUIDs.

use crate::cluster::facts::{GpuFacts, GpuKey, MigDevice, NodeWords, Origin};
use crate::cluster::text::{count, lines, said};

/// Reads GPUs and MIG devices.
///
/// A MIG device belongs to the GPU above it. UUIDs of drivers before 470, `MIG-GPU-…/7/0`, give the ids of
/// its instances too.
pub fn read(file: &str, text: &str) -> NodeWords {
    let mut words = NodeWords::default();
    let mut gpu: Option<GpuKey> = None;
    for line in lines(text) {
        let origin = Origin::new(file, line.number);
        let content = line.text.trim();
        if let Some(found) = gpu_of(content, &origin) {
            gpu = Some(found.gpu.clone());
            words.gpus.push(found);
        } else if content.starts_with("MIG ") {
            match gpu.as_ref().and_then(|gpu| mig_of(content, gpu, &origin)) {
                Some(device) => words.mig_devices.push(device),
                None => words.unread(origin, format!("`{content}` is no whole MIG device")),
            }
        } else if content.starts_with("GPU ") {
            words.unread(origin, format!("`{content}` is no whole GPU"));
        }
    }
    words
}

/// `GPU 0: NAME (UUID: GPU-…)`; a line that ends before the UUID gives no GPU.
fn gpu_of(content: &str, origin: &Origin) -> Option<GpuFacts> {
    let (index, rest) = content.strip_prefix("GPU ")?.split_once(':')?;
    let (name, uuid) = rest.split_once("(UUID:")?;
    let uuid = uuid.trim().strip_suffix(')')?;
    let gpu = GpuKey::new(Some(index.trim().parse().ok()?), Some(uuid), None);
    Some(GpuFacts { name: said(name).map(str::to_owned), ..GpuFacts::new(gpu, origin.clone()) })
}

/// `MIG 1g.5gb     Device  0: (UUID: MIG-…)`.
fn mig_of(content: &str, gpu: &GpuKey, origin: &Origin) -> Option<MigDevice> {
    let (head, uuid) = content.strip_prefix("MIG ")?.split_once("(UUID:")?;
    let uuid = uuid.trim().strip_suffix(')')?;
    let (profile, index) = head.trim().trim_end_matches(':').split_once("Device")?;
    let mut device = MigDevice::new(gpu.clone(), origin.clone());
    device.profile = said(profile).map(str::to_owned);
    device.index = count(index);
    if let Some((_, ids)) = uuid.split_once('/') {
        let mut ids = ids.split('/');
        device.gpu_instance = ids.next().and_then(count);
        device.compute_instance = ids.next().and_then(count);
    }
    device.uuid = Some(uuid.to_owned());
    Some(device)
}
