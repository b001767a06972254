//! Names of resources and devices, as the device plugin and the kubelet spell them.

use std::fmt;

/// What stands before every name that is read here.
pub const PREFIX: &str = "nvidia.com/";

/// An extended resource of the NVIDIA device plugin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourceName {
    /// The MIG profile, as `1g.10gb+me`; `None` for a whole GPU.
    pub profile: Option<String>,
    /// Whether it is one of several replicas, told by `.shared`.
    pub is_shared: bool,
}

impl ResourceName {
    /// Reads `nvidia.com/gpu`, `nvidia.com/mig-1g.10gb.me`, each with `.shared` or without.
    ///
    /// `None` for other names, such as those of other vendors or of renamed boards.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.strip_prefix(PREFIX)?;
        let (name, is_shared) = match name.strip_suffix(".shared") {
            Some(name) => (name, true),
            None => (name, false),
        };
        if name == "gpu" {
            return Some(Self { profile: None, is_shared });
        }
        let profile = name.strip_prefix("mig-")?.to_owned();
        let end = profile.find("gb")? + 2;
        let (size, rest) = profile.split_at(end);
        let profile = match rest.strip_prefix('.') {
            Some(attribute) => format!("{size}+{attribute}"),
            None => profile,
        };
        is_profile(&profile).then_some(Self { profile: Some(profile), is_shared })
    }
}

impl fmt::Display for ResourceName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.profile {
            Some(profile) => write!(out, "{PREFIX}mig-{}", profile.replace('+', "."))?,
            None => write!(out, "{PREFIX}gpu")?,
        }
        out.write_str(if self.is_shared { ".shared" } else { "" })
    }
}

/// Whether a text is a MIG profile: `[Nc.]Ng.Mgb`, then `+attribute` or `-attribute`.
pub fn is_profile(text: &str) -> bool {
    let counted = |text: &str, unit: &str| {
        let digits = text.strip_suffix(unit).unwrap_or_default();
        !digits.is_empty() && digits.chars().all(|it| it.is_ascii_digit())
    };
    let (size, attribute) = match text.split_once(['+', '-']) {
        Some((size, attribute)) => (size, Some(attribute)),
        None => (text, None),
    };
    let is_attribute =
        |it: &str| !it.is_empty() && it.chars().all(|it| it.is_ascii_lowercase() || it == '.');
    let parts: Vec<&str> = size.split('.').collect();
    let is_size = match parts.as_slice() {
        [compute, slices, memory] => {
            counted(compute, "c") && counted(slices, "g") && counted(memory, "gb")
        }
        [slices, memory] => counted(slices, "g") && counted(memory, "gb"),
        _ => false,
    };
    is_size && attribute.is_none_or(|it| it.split(',').all(is_attribute))
}

/// A device that the kubelet or a container names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceId {
    /// A GPU by UUID, `GPU-…`.
    Gpu(String),
    /// A GPU by index.
    GpuIndex(u32),
    /// A MIG device by UUID, `MIG-…`.
    Mig(String),
    /// A MIG device by the indices of GPU and device.
    MigIndex(u32, u32),
    /// A MIG device by instances, as drivers before 470 named it: UUID of the GPU, GPU instance, compute
    /// instance.
    MigInstances(String, u32, u32),
    /// Anything else.
    Other(String),
}

impl DeviceId {
    /// Reads an id, and which replica it is: `GPU-…::2` is the third of a GPU that is shared.
    pub fn parse(text: &str) -> (Self, Option<u32>) {
        let text = text.trim();
        if let Some((id, replica)) = text.rsplit_once("::") {
            return (Self::bare(id), replica.parse().ok());
        }
        if let Some((id, replica)) = text.split_once("/vgpu") {
            return (Self::bare(id.strip_prefix("nvidia").unwrap_or(id)), replica.parse().ok());
        }
        (Self::bare(text), None)
    }

    fn bare(id: &str) -> Self {
        let instances = |it: &str| -> Option<Self> {
            let (gpu, ids) = it.split_once('/')?;
            let (gpu_instance, compute_instance) = ids.split_once('/')?;
            let ids = (gpu_instance.parse().ok()?, compute_instance.parse().ok()?);
            Some(Self::MigInstances(gpu.to_owned(), ids.0, ids.1))
        };
        let indices = |it: &str| -> Option<Self> {
            let (gpu, device) = it.split_once(':')?;
            Some(Self::MigIndex(gpu.parse().ok()?, device.parse().ok()?))
        };
        if let Some(found) = id.strip_prefix("MIG-").and_then(instances) {
            return found;
        }
        if id.starts_with("MIG-") {
            return Self::Mig(id.to_owned());
        }
        if id.starts_with("GPU-") {
            return Self::Gpu(id.to_owned());
        }
        let other = || Self::Other(id.to_owned());
        id.parse().map(Self::GpuIndex).ok().or_else(|| indices(id)).unwrap_or_else(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_an_attribute_and_a_share_is_read_and_written_alike() {
        for (name, profile, is_shared) in [
            ("nvidia.com/gpu", None, false),
            ("nvidia.com/gpu.shared", None, true),
            ("nvidia.com/mig-3g.40gb", Some("3g.40gb"), false),
            ("nvidia.com/mig-1g.5gb.me", Some("1g.5gb+me"), false),
            ("nvidia.com/mig-1g.24gb.me.all.shared", Some("1g.24gb+me.all"), true),
            ("nvidia.com/mig-1g.24gb-me", Some("1g.24gb-me"), false),
        ] {
            let read = ResourceName::parse(name).expect(name);
            assert_eq!((read.profile.as_deref(), read.is_shared), (profile, is_shared), "{name}");
            assert_eq!(read.to_string(), name);
        }
        for other in ["nvidia.com/a100", "amd.com/gpu", "nvidia.com/mig-big", "gpu"] {
            assert_eq!(ResourceName::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_device_is_known_by_every_spelling_and_its_replica_is_no_part_of_its_name() {
        let gpu = || DeviceId::Gpu("GPU-1a".to_owned());
        assert_eq!(DeviceId::parse("GPU-1a"), (gpu(), None));
        assert_eq!(DeviceId::parse("GPU-1a::2"), (gpu(), Some(2)));
        assert_eq!(DeviceId::parse("MIG-2b::0"), (DeviceId::Mig("MIG-2b".to_owned()), Some(0)));
        let old = DeviceId::MigInstances("GPU-1a".to_owned(), 7, 0);
        assert_eq!(DeviceId::parse("MIG-GPU-1a/7/0"), (old, None));
        assert_eq!(DeviceId::parse("0:1"), (DeviceId::MigIndex(0, 1), None));
        assert_eq!(DeviceId::parse("nvidia3/vgpu1"), (DeviceId::GpuIndex(3), Some(1)));
        assert_eq!(DeviceId::parse("all"), (DeviceId::Other("all".to_owned()), None));
    }

    #[test]
    fn a_profile_has_slices_and_memory() {
        for good in ["1g.5gb", "1c.3g.20gb", "1g.10gb+me", "2g.48gb+me.all", "1g.24gb-me"] {
            assert!(is_profile(good), "{good}");
        }
        for bad in ["", "g.5gb", "1g", "1g.5gb+", "1g.5gb+ME", "3g.40gb: 1", "7g.80GB"] {
            assert!(!is_profile(bad), "{bad}");
        }
    }
}
