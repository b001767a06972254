//! What foreign data calls a GPU becomes a [`GpuId`], the same for every spelling of one GPU.

use crate::domain::ident::GpuId;

/// Letters of a UUID in its usual form: 8-4-4-4-12.
const UUID_LETTERS: usize = 36;

/// Names GPUs, and remembers which host the file is about.
#[derive(Debug, Default)]
pub struct GpuNames {
    home: Option<String>,
}

impl GpuNames {
    /// The GPU with this index on its host.
    ///
    /// The first host that is named is the one the file is about; GPUs of every further host carry
    /// its name in front, so that equal indices stay apart.
    pub fn by_index(&mut self, host: Option<&str>, index: u32) -> GpuId {
        match (host.filter(|it| !it.is_empty()), &self.home) {
            (None, _) => GpuId::from_index(index),
            (Some(host), None) => {
                self.home = Some(host.to_owned());
                GpuId::from_index(index)
            }
            (Some(host), Some(home)) if host == home => GpuId::from_index(index),
            (Some(host), Some(_)) => GpuId::new(format!("{host}/{}", GpuId::from_index(index))),
        }
    }
}

/// The UUID as the driver prints it; `None` when the text is empty or a mask of zeros.
///
/// `GPU-` is put in front where an exporter cut it off, and the replica number of a shared GPU
/// (`GPU-…-0`, `GPU-…::0`) is cut off, because replicas are one GPU.
pub fn driver_uuid(text: &str) -> Option<String> {
    let text = text.trim();
    let (kind, bare) = match text.get(..4) {
        Some(prefix) if prefix.eq_ignore_ascii_case("GPU-") => ("GPU-", &text[4..]),
        Some("MIG-") => ("MIG-", &text[4..]),
        _ => ("", text),
    };
    if bare.bytes().all(|it| it == b'0' || it == b'-') {
        return None;
    }
    match bare.get(..UUID_LETTERS) {
        Some(uuid) if is_uuid(uuid) => {
            let kind = if kind.is_empty() { "GPU-" } else { kind };
            Some(format!("{kind}{uuid}"))
        }
        _ => Some(text.to_owned()),
    }
}

/// The GPU that the user named by an index or a UUID.
pub fn given(text: &str) -> GpuId {
    match text.trim().parse() {
        Ok(index) => GpuId::from_index(index),
        Err(_) => GpuId::new(driver_uuid(text).unwrap_or_else(|| text.to_owned())),
    }
}

fn is_uuid(text: &str) -> bool {
    text.bytes().enumerate().all(|(position, letter)| match position {
        8 | 13 | 18 | 23 => letter == b'-',
        _ => letter.is_ascii_hexdigit(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_one_gpu_is_one_gpu() {
        let driver = "GPU-34319582-d595-d1c7-d1d2-179bcfa61660";
        for text in [
            driver,
            "34319582-d595-d1c7-d1d2-179bcfa61660",
            "GPU-34319582-d595-d1c7-d1d2-179bcfa61660-0",
            "GPU-34319582-d595-d1c7-d1d2-179bcfa61660::3",
            " gpu-34319582-d595-d1c7-d1d2-179bcfa61660",
        ] {
            assert_eq!(driver_uuid(text).as_deref(), Some(driver), "{text}");
        }
    }

    #[test]
    fn a_mask_of_zeros_is_no_uuid() {
        for text in
            ["", "00000000-0000-0000-0000-000000000000", "GPU-00000000-0000-0000-0000-000000000000"]
        {
            assert_eq!(driver_uuid(text), None, "{text}");
        }
    }

    #[test]
    fn a_name_that_is_no_uuid_is_kept_as_it_is() {
        assert_eq!(driver_uuid("GPU-é").as_deref(), Some("GPU-é"));
        assert_eq!(driver_uuid("card-7").as_deref(), Some("card-7"));
    }

    #[test]
    fn equal_indices_of_two_hosts_are_two_gpus() {
        let mut names = GpuNames::default();
        assert_eq!(names.by_index(Some("node-a"), 0).as_str(), "gpu0");
        assert_eq!(names.by_index(Some("node-b"), 0).as_str(), "node-b/gpu0");
        assert_eq!(names.by_index(Some("node-a"), 0).as_str(), "gpu0");
        assert_eq!(names.by_index(None, 1).as_str(), "gpu1");
    }
}
