//! Models of GPUs to which demands can be moved.

use crate::colocation::partition::GpuModel;
use crate::domain::mig_geometry::BOARDS;
use crate::domain::mig_geometry::MigBoard;

/// A model that is known by name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownModel {
    /// Name to be typed.
    pub name: &'static str,
    /// What it can do.
    pub model: GpuModel,
    /// Its memory as the driver shows it, MiB; `None` where several sizes are sold under the name.
    pub memory_mib: Option<f64>,
    /// Whether it can be cut into MIG instances.
    pub has_mig: bool,
}

impl KnownModel {
    /// Its places for MIG instances, in the form in which it is in the table; `None` where it has none.
    pub fn board(&self) -> Option<&'static MigBoard> {
        let board = match self.name {
            "A100-40" => "A100-40GB",
            "A100-80" => "A100-80GB",
            "H100" => "H100-SXM5-80GB",
            "H200" => "H200-141GB",
            _ => return None,
        };
        BOARDS.iter().find(|it| it.name == board)
    }
}

const fn known(
    name: &'static str,
    (sms, clock_mhz, bandwidth_gb_s): (f64, f64, f64),
    memory_mib: Option<f64>,
    has_mig: bool,
) -> KnownModel {
    KnownModel { name, model: GpuModel { sms, clock_mhz, bandwidth_gb_s }, memory_mib, has_mig }
}

/// SMs, highest clock in MHz and peak bandwidth in GB/s of each model.
///
/// Source: NVIDIA's data sheets of the SXM forms, of L40S and of T4 (*not checked*).
pub const MODELS: [KnownModel; 7] = [
    known("A100-40", (108.0, 1410.0, 1555.0), Some(40_960.0), true),
    known("A100-80", (108.0, 1410.0, 2039.0), Some(81_920.0), true),
    known("H100", (132.0, 1980.0, 3350.0), Some(81_559.0), true),
    known("H200", (132.0, 1980.0, 4800.0), Some(143_771.0), true),
    known("L40S", (142.0, 2520.0, 864.0), Some(46_068.0), false),
    known("T4", (40.0, 1590.0, 320.0), Some(15_360.0), false),
    known("V100", (80.0, 1530.0, 900.0), None, false),
];

/// The model that a user named.
pub fn named(name: &str) -> Option<KnownModel> {
    MODELS.into_iter().find(|it| it.name.eq_ignore_ascii_case(name.trim()))
}

/// The model that a driver calls so; `None` for a form that differs from the table, or an unknown one.
pub fn recognised(product: &str) -> Option<KnownModel> {
    let upper = product.to_uppercase();
    let words: Vec<&str> = upper.split(|it: char| !it.is_ascii_alphanumeric()).collect();
    let has = |word: &str| words.contains(&word);
    let is_slower_form = has("PCIE") || has("NVL");
    match () {
        () if has("A100") && (has("40GB") || has("40G")) => named("A100-40"),
        () if has("A100") && (has("80GB") || has("80G")) => named("A100-80"),
        () if has("H100") && !is_slower_form => named("H100"),
        () if has("H200") && !is_slower_form => named("H200"),
        () if has("L40S") => named("L40S"),
        () if has("T4") => named("T4"),
        () if has("V100") => named("V100"),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_recognised_and_forms_that_differ_are_not() {
        let of = |it| recognised(it).map(|it| it.name);
        assert_eq!(of("NVIDIA A100-SXM4-80GB"), Some("A100-80"));
        assert_eq!(of("NVIDIA A100-PCIE-40GB"), Some("A100-40"));
        assert_eq!(of("NVIDIA H100 80GB HBM3"), Some("H100"));
        assert_eq!(of("Tesla V100-SXM2-32GB"), Some("V100"));
        assert_eq!(of("Tesla T4"), Some("T4"));
        assert_eq!(of("NVIDIA H100 PCIe"), None);
        assert_eq!(of("NVIDIA GeForce RTX 4090"), None);
        assert_eq!(named("h100").map(|it| it.name), Some("H100"));
        for it in MODELS {
            assert_eq!(it.board().is_some(), it.has_mig, "{}", it.name);
        }
    }
}
