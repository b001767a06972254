//! Which board a device is, by its PCI id or by its name and memory.

use crate::domain::mig_geometry::BOARDS;
use crate::domain::mig_geometry::MigBoard;

/// NVIDIA's PCI vendor id.
const VENDOR: u32 = 0x10de;

/// How far the memory of a device may lie from that in a board's name, as a share.
///
/// Devices report 0.2 to 0.7 % less than they are called, a little less still without what the driver reserves. Boards of
/// one name differ by 2 % and more, and the nearest is taken.
const NEAR: f64 = 0.04;

/// Words of a product's name that mean a board, and words that mean another one.
///
/// A row needs all of its first words and none of its second.
const NAMES: [(&str, &[&str], &[&str]); 23] = [
    ("A30", &["A30"], &[]),
    ("A100-40GB", &["A100"], &[]),
    ("A100-80GB", &["A100"], &[]),
    ("A100-40GB", &["A800"], &[]),
    ("A100-80GB", &["A800"], &[]),
    ("H100-SXM5-80GB", &["H100", "HBM3"], &["PCIE", "NVL"]),
    ("H100-SXM5-80GB", &["H800", "HBM3"], &["PCIE", "NVL"]),
    ("H100-PCIE-80GB", &["H100", "PCIE"], &[]),
    ("H100-PCIE-80GB", &["H100", "HBM2E"], &["PCIE"]),
    ("H100-PCIE-80GB", &["H800", "PCIE"], &[]),
    ("H100-NVL-94GB", &["H100"], &["PCIE"]),
    ("H100-NVL-94GB", &["H800", "NVL"], &[]),
    ("GH200-96GB", &["H100"], &["PCIE", "NVL"]),
    ("GH200-96GB", &["GH200"], &["144G", "144GB"]),
    ("GH200-144GB", &["GH200"], &["480GB", "480G"]),
    ("H20-96GB", &["H20"], &["3E"]),
    ("H20-141GB", &["H20"], &[]),
    ("H200-141GB", &["H200"], &[]),
    ("B200-180GB", &["B200"], &[]),
    ("GB200-186GB", &["GB200"], &[]),
    ("B300-269GB", &["B300"], &[]),
    ("GB300-278GB", &["GB300"], &[]),
    ("RTX-PRO-6000-96GB", &["RTX", "PRO", "6000", "BLACKWELL"], &["LAPTOP"]),
];

/// The same for boards of whose name other sizes are sold, so that only the memory tells.
const NAMES_WITH_MEMORY: [(&str, &[&str], &[&str]); 2] = [
    ("RTX-PRO-5000-48GB", &["RTX", "PRO", "5000", "BLACKWELL"], &["LAPTOP"]),
    ("RTX-PRO-4500-32GB", &["RTX", "PRO", "4500", "BLACKWELL"], &["LAPTOP"]),
];

/// The board with a PCI device id, alone (`0x2330`) or before the vendor as NVML and mig-parted write it (`0x233010DE`).
///
/// `None` for another vendor, and for a device without MIG or outside of the table.
pub fn by_pci_device_id(id: u32) -> Option<&'static MigBoard> {
    let device = match id >> 16 {
        0 => id,
        device if id & 0xffff == VENDOR => device,
        _ => return None,
    };
    let device = u16::try_from(device).ok()?;
    BOARDS.iter().find(|it| it.pci_device_ids.contains(&device))
}

/// The board that a driver calls so and that has so much memory, bytes as the driver reports it.
///
/// `None` for a product without MIG, for one outside of the table, and where name and memory leave more than one.
pub fn by_product_name(product: &str, memory_bytes: Option<u64>) -> Option<&'static MigBoard> {
    let upper = product.to_uppercase();
    let all: Vec<&str> =
        upper.split(|it: char| !it.is_ascii_alphanumeric()).filter(|it| !it.is_empty()).collect();
    // A MIG device bears the name of its GPU, then its own.
    let words = all.split(|it| *it == "MIG").next().unwrap_or_default();
    if words.contains(&"GRID") {
        return None;
    }
    if words.contains(&"THOR") {
        return named("Thor-iGPU");
    }
    let reported_gib = memory_bytes.map(|it| it as f64 / (1_u64 << 30) as f64);
    // The memory in the name of a Grace Hopper is that of the CPU.
    let has_foreign_size = words.contains(&"GH200");
    let in_name = words.iter().find_map(|it| size_gib(it)).filter(|_| !has_foreign_size);
    let sizes: Vec<f64> = reported_gib.into_iter().chain(in_name).collect();
    let with_memory = NAMES_WITH_MEMORY.iter().filter(|_| !sizes.is_empty());
    let mut candidates: Vec<&'static MigBoard> = NAMES
        .iter()
        .chain(with_memory)
        .filter(|(_, needs, refuses)| {
            needs.iter().all(|it| words.contains(it))
                && !refuses.iter().any(|it| words.contains(it))
        })
        .filter_map(|(board, ..)| named(board))
        .collect();
    for size in sizes {
        keep_nearest(&mut candidates, size);
    }
    match candidates[..] {
        [only] => Some(only),
        _ => None,
    }
}

fn named(board: &str) -> Option<&'static MigBoard> {
    BOARDS.iter().find(|it| it.name == board)
}

/// Leaves the boards whose memory is nearest to a size, GiB, and near enough.
fn keep_nearest(candidates: &mut Vec<&'static MigBoard>, size: f64) {
    let distance = |it: &MigBoard| {
        let nominal = it.memory_gib.map_or(f64::NAN, f64::from);
        (size / nominal - 1.0).abs()
    };
    let nearest = candidates.iter().map(|it| distance(it)).fold(NEAR, f64::min);
    candidates.retain(|it| distance(it) <= nearest);
}

/// Memory in a word of a name: `80GB`, `144G`.
fn size_gib(word: &str) -> Option<f64> {
    let digits = word.strip_suffix("GB").or_else(|| word.strip_suffix('G'))?;
    digits.parse::<u32>().ok().map(f64::from)
}
