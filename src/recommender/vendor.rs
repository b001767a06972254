//! Whose board a product is: MIG, MPS and the device plugin are NVIDIA's.

/// Words in names of products, and who makes them.
///
/// Source: product names as the vendors' own tools print them (*not checked* beyond AMD and Intel).
const MAKERS: [(&str, &[&str]); 8] = [
    ("NVIDIA", &["NVIDIA", "GEFORCE", "TESLA", "QUADRO", "TITAN", "GRID"]),
    (
        "AMD",
        &[
            "AMD", "RADEON", "INSTINCT", "MI50", "MI100", "MI210", "MI250", "MI250X", "MI300A",
            "MI300X", "MI308X", "MI325X", "MI350X", "MI355X",
        ],
    ),
    ("Intel", &["INTEL", "HABANA", "GAUDI", "GAUDI2", "GAUDI3"]),
    ("Huawei", &["HUAWEI", "ASCEND"]),
    ("Moore Threads", &["MTT", "MTHREADS"]),
    ("Cambricon", &["CAMBRICON", "MLU370", "MLU590"]),
    ("Hygon", &["HYGON", "DCU"]),
    ("Iluvatar", &["ILUVATAR"]),
];

/// The vendor of a product that is not NVIDIA's; `None` for NVIDIA's own, and where the name does not tell.
pub fn other_vendor(model: Option<&str>) -> Option<&'static str> {
    let upper = model?.to_uppercase();
    let words: Vec<&str> = upper.split(|it: char| !it.is_ascii_alphanumeric()).collect();
    let names = |makers: &&(&str, &[&str])| makers.1.iter().any(|it| words.contains(it));
    MAKERS.iter().find(names).map(|it| it.0).filter(|it| *it != "NVIDIA")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_of_others_are_told_and_a_name_that_tells_nothing_stays_open() {
        let of = |it: &str| other_vendor(Some(it));
        assert_eq!(of("AMD Instinct MI300X OAM"), Some("AMD"));
        assert_eq!(of("Intel(R) Data Center GPU Max 1550"), Some("Intel"));
        assert_eq!(of("NVIDIA H100 80GB HBM3"), None);
        assert_eq!(of("Tesla T4"), None);
        assert_eq!(of("H100"), None);
        assert_eq!(of("BIREN 110"), None);
        assert_eq!(other_vendor(None), None);
    }
}
