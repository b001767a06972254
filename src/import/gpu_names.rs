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

/// The UUID as the driver prints it; `None` when the text is empty or a mask.
///
/// `GPU-` is put in front where an exporter cut it off, and the replica number of a shared GPU
/// (`GPU-…-0`, `GPU-…::0`) is cut off, because replicas are one GPU.
pub fn driver_uuid(text: &str) -> Option<String> {
    let text = text.trim();
    let (kind, bare) = kind_of(text);
    if is_mask(text) {
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

/// Whether a UUID or serial number was masked, so that it does not tell one GPU from another.
///
/// A mask is made of zeros or of letters that stand for digits (`GPU-XXXXXXXX`), or is a word
/// (`REDACTED`): no hexadecimal number, and no digit that could count GPUs.
pub fn is_mask(text: &str) -> bool {
    let (_, bare) = kind_of(text.trim());
    let is_number = bare.bytes().all(|it| it.is_ascii_hexdigit() || it == b'-');
    let is_word = !is_number && !bare.bytes().any(|it| it.is_ascii_digit());
    is_word || is_filler(bare)
}

/// The GPU that a column of names names, by UUID or by any other text; `None` for an empty or masked one.
pub fn named(text: &str) -> Option<GpuId> {
    let text = text.trim();
    let word = || Some(text.to_owned()).filter(|_| !is_filler(kind_of(text).1));
    driver_uuid(text).or_else(word).map(GpuId::new)
}

/// A PCI address as nvidia-smi prints bus ids: `PCI:0000:3b:00` becomes `00000000:3B:00.0`; `None` for anything else.
pub fn bus_id(text: &str) -> Option<String> {
    let text = text.strip_prefix("PCI:").unwrap_or(text).trim_end_matches([':', '.', ',']);
    let parts: Vec<&str> = text.split(':').collect();
    let [domain, bus, device] = parts.as_slice() else { return None };
    let (device, function) = device.split_once('.').unwrap_or((device, "0"));
    let hex = |it: &str| u32::from_str_radix(it, 16).ok();
    let (domain, bus, device) = (hex(domain)?, hex(bus)?, hex(device)?);
    Some(format!("{domain:08X}:{bus:02X}:{device:02X}.{function}"))
}

/// The GPU that the user named by an index, a UUID or as they like.
pub fn given(text: &str) -> GpuId {
    match text.trim().parse() {
        Ok(index) => GpuId::from_index(index),
        Err(_) => named(text).unwrap_or_else(|| GpuId::new(text)),
    }
}

/// What a UUID is of, as the driver writes it in front, and the rest.
fn kind_of(text: &str) -> (&'static str, &str) {
    match text.get(..4) {
        Some(prefix) if prefix.eq_ignore_ascii_case("GPU-") => ("GPU-", &text[4..]),
        Some("MIG-") => ("MIG-", &text[4..]),
        _ => ("", text),
    }
}

/// Whether nothing but zeros and letters that stand for digits is there.
fn is_filler(text: &str) -> bool {
    text.bytes().all(|it| matches!(it, b'0' | b'x' | b'X' | b'*' | b'-' | b'/' | b':'))
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
    fn a_mask_is_no_uuid_and_a_number_or_a_counted_word_is() {
        for text in [
            "",
            "00000000-0000-0000-0000-000000000000",
            "GPU-00000000-0000-0000-0000-000000000000",
            "GPU-XXXXXXXX-XXXX-XXXX-XXXX-XXXXXXXXXXXX",
            "GPU-XXXX0000",
            "MIG-********",
            "GPU-REDACTED",
            "hidden",
            "GPU-é",
        ] {
            assert_eq!(driver_uuid(text), None, "{text}");
        }
        for text in ["GPU-1a2b", "GPU-a", "1320021", "card-7", "card-0", "GPU-é7"] {
            assert_eq!(driver_uuid(text).as_deref(), Some(text), "{text}");
        }
    }

    #[test]
    fn a_column_of_names_may_hold_words_and_a_user_may_give_an_index() {
        let name = |it: Option<GpuId>| it.map(|it| it.as_str().to_owned());
        assert_eq!(name(named(" left ")).as_deref(), Some("left"));
        assert_eq!(name(named("00000000")), None);
        assert_eq!(given("3").as_str(), "gpu3");
        assert_eq!(given("node7/gpu2").as_str(), "node7/gpu2");
        assert_eq!(given("gpu0").as_str(), "gpu0");
        let uuid = "34319582-d595-d1c7-d1d2-179bcfa61660";
        assert_eq!(given(uuid).as_str(), format!("GPU-{uuid}"));
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
