//! The table against the published one, recognition by id and by name, and the rules of placement.

use super::*;
use std::collections::BTreeMap;
use std::path::Path;

/// Rows of the published table where it lies at hand.
fn published() -> Option<Vec<BTreeMap<String, String>>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/mig_profiles.csv");
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) => {
            println!("skipped: {}: {error}", path.display());
            return None;
        }
    };
    let rows = csv::Reader::from_reader(text.as_slice()).into_deserialize();
    Some(rows.map(|it| it.unwrap()).collect())
}

fn board(name: &str) -> &'static MigBoard {
    BOARDS.iter().find(|it| it.name == name).unwrap()
}

fn cell<T: std::fmt::Display>(value: Option<T>) -> String {
    value.map(|it| it.to_string()).unwrap_or_default()
}

/// Every cell of a row that the table holds, as it would be published.
fn cells_of(board: &MigBoard, profile: &MigProfile) -> BTreeMap<&'static str, String> {
    let has_memory = board.memory_gib.is_some();
    let [copy, decoder, encoder, jpeg, flow] = profile.engines.counts().map(cell);
    let starts: Vec<String> = profile.starts.iter().map(u32::to_string).collect();
    let exact_gib = profile.memory_mib.map(|it| it as f64 / 1024.0);
    BTreeMap::from([
        ("gpu", board.name.to_string()),
        ("gpu_variants", board.variants.to_string()),
        ("arch", format!("{:?}", board.architecture.unwrap())),
        (
            "compute_capability",
            cell(board.compute_capability.map(|it| format!("{}.{}", it.0, it.1))),
        ),
        ("memory_gb_nominal", if has_memory { cell(board.memory_gib) } else { "0".into() }),
        ("sm_total", cell(board.sm_total)),
        ("profile", profile.name.to_string()),
        ("suffix", profile.suffix().to_string()),
        ("gi_profile_id", cell(profile.gi_profile_id)),
        ("nvml_profile_enum", profile.nvml_profile_enum.to_string()),
        ("compute_slices", profile.compute_slices.to_string()),
        ("compute_slices_total", board.compute_slices.to_string()),
        ("memory_slices", profile.memory_slices.to_string()),
        ("memory_slices_total", board.memory_slices.to_string()),
        ("memory_mib", cell(profile.memory_mib)),
        ("memory_gib_lgip", cell(exact_gib.map(|it| format!("{it:?}")))),
        ("sm_count", cell(profile.sm_count)),
        ("copy_engines", copy),
        ("nvdec", decoder),
        ("nvenc", encoder),
        ("nvjpg", jpeg),
        ("ofa", flow),
        ("max_instances", profile.max_instances.to_string()),
        ("placement_starts", starts.join(" ")),
        ("placement_size", cell(profile.size)),
    ])
}

#[test]
fn every_cell_of_the_published_table_is_in_ours_and_nothing_else() {
    let Some(rows) = published() else { return };
    let ours: Vec<(&MigBoard, &MigProfile)> =
        BOARDS.iter().flat_map(|board| board.profiles.iter().map(move |it| (board, it))).collect();
    assert_eq!(ours.len(), rows.len());
    for ((board, profile), row) in ours.iter().zip(&rows) {
        let place = format!("{} {}", row["gpu"], row["profile"]);
        for (column, value) in cells_of(board, profile) {
            assert_eq!(value, row[column], "{place}: {column}");
        }
        let ids: Vec<String> =
            board.pci_device_ids.iter().map(|it| format!("0x{it:04X}")).collect();
        assert_eq!(ids.join(" "), row["pci_device_ids"].replace(" (Server)", ""), "{place}");
        let provenance = match row["confidence"].as_str() {
            "measured" | "measured-memory" => Provenance::Measured,
            "doc" => Provenance::Documented,
            _ => Provenance::Pattern,
        };
        assert_eq!(profile.provenance, provenance, "{place}");
        let is_inferred = row["notes"].contains("Placements inferred") || profile.size.is_none();
        assert_eq!(board.are_placements_seen, !is_inferred, "{place}");
    }
}

#[test]
fn every_board_is_in_itself_consistent() {
    for board in &BOARDS {
        let whole = &board.profiles[board.whole().unwrap()];
        assert_eq!(whole.compute_slices, board.compute_slices, "{}", board.name);
        assert_eq!(whole.memory_slices, board.memory_slices, "{}", board.name);
        assert!(whole.is_plain(), "{}", board.name);
        assert_eq!(board.slots, whole.size, "{}", board.name);
        let room = Room::empty(board);
        for (index, profile) in board.profiles.iter().enumerate() {
            assert!(!room.starts(index).is_empty(), "{} {}", board.name, profile.name);
            assert_eq!(board.profile_named(&profile.name), Some(index));
        }
    }
}

#[test]
fn a_pci_id_is_understood_with_and_without_the_vendor() {
    let of = |id| by_pci_device_id(id).map(|it| it.name.as_ref());
    assert_eq!(of(0x2330), Some("H100-SXM5-80GB"));
    assert_eq!(of(0x2330_10de), Some("H100-SXM5-80GB"));
    assert_eq!(of(0x2941_10DE), Some("GB200-186GB"));
    assert_eq!(of(0x20b7), Some("A30"));
    assert_eq!(of(0x2330_1002), None, "another vendor");
    assert_eq!(of(0x26b9), None, "an L40S has no MIG");
}

#[test]
fn no_pci_id_means_two_boards() {
    let mut ids: Vec<u16> = BOARDS.iter().flat_map(|it| it.pci_device_ids.to_vec()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
}

/// Name as a driver says it, memory in MiB, and the board.
type Product = (&'static str, Option<u64>, Option<&'static str>);

#[test]
fn products_are_recognised_by_name_and_memory_and_the_ambiguous_are_not() {
    let cases: &[Product] = &[
        ("NVIDIA H100 80GB HBM3", Some(81_559), Some("H100-SXM5-80GB")),
        ("NVIDIA H100 80GB HBM3", None, Some("H100-SXM5-80GB")),
        ("NVIDIA H100 PCIe", Some(81_559), Some("H100-PCIE-80GB")),
        ("NVIDIA H100 80GB HBM2e", None, Some("H100-PCIE-80GB")),
        ("NVIDIA H100 NVL", Some(95_830), Some("H100-NVL-94GB")),
        ("NVIDIA H100 96GB HBM3", Some(97_871), Some("GH200-96GB")),
        ("NVIDIA H100", Some(81_559), None),
        ("NVIDIA H100 64GB HBM2", Some(65_536), None),
        ("NVIDIA A100-SXM4-40GB", Some(40_960), Some("A100-40GB")),
        ("NVIDIA A100-SXM4-40GB", None, Some("A100-40GB")),
        ("NVIDIA A100 80GB PCIe", Some(81_920), Some("A100-80GB")),
        ("A100-PCIE-40GB", None, Some("A100-40GB")),
        ("NVIDIA A800-SXM4-80GB", None, Some("A100-80GB")),
        ("NVIDIA A100-SXM-64GB", Some(65_536), None),
        ("NVIDIA A100", None, None),
        ("NVIDIA H200", Some(143_771), Some("H200-141GB")),
        ("NVIDIA H200 NVL", None, Some("H200-141GB")),
        ("NVIDIA H20", Some(97_871), Some("H20-96GB")),
        ("NVIDIA H20-3e", Some(143_771), Some("H20-141GB")),
        ("NVIDIA GH200 480GB", Some(97_871), Some("GH200-96GB")),
        ("NVIDIA GH200 480GB", None, Some("GH200-96GB")),
        ("NVIDIA GH200 144G HBM3e", Some(147_456), Some("GH200-144GB")),
        ("NVIDIA GH200", None, None),
        ("NVIDIA A30", Some(24_576), Some("A30")),
        ("NVIDIA B200", Some(183_359), Some("B200-180GB")),
        ("NVIDIA GB200", Some(189_471), Some("GB200-186GB")),
        ("NVIDIA B300 SXM6 AC", Some(275_040), Some("B300-269GB")),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", Some(97_887), Some("RTX-PRO-6000-96GB")),
        ("NVIDIA RTX PRO 5000 Blackwell", Some(48_935), Some("RTX-PRO-5000-48GB")),
        ("NVIDIA RTX PRO 5000 Blackwell", Some(73_300), None),
        ("NVIDIA RTX PRO 5000 Blackwell", None, None),
        ("NVIDIA Thor", None, Some("Thor-iGPU")),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", None, Some("H100-SXM5-80GB")),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", Some(9_984), None),
        ("GRID A100-40C", Some(40_960), None),
        ("NVIDIA L40S", Some(46_068), None),
        ("Tesla T4", Some(15_360), None),
        ("NVIDIA GeForce RTX 4090", Some(24_564), None),
        ("", None, None),
    ];
    for (name, mib, expected) in cases {
        let found = by_product_name(name, mib.map(|it| it << 20));
        assert_eq!(found.map(|it| it.name.as_ref()), *expected, "{name} {mib:?}");
    }
}

#[test]
fn only_ampere_needs_a_reset_for_its_mode() {
    assert_eq!(board("A100-80GB").mode_change(), Some(ModeChange::NeedsReset));
    assert_eq!(board("A30").mode_change(), Some(ModeChange::NeedsReset));
    assert_eq!(board("H200-141GB").mode_change(), Some(ModeChange::ProbablyNoReset));
}

#[test]
fn a_slot_is_given_once_and_comes_back() {
    let h100 = board("H100-SXM5-80GB");
    let of = |name: &str| h100.profile_named(name).unwrap();
    let mut room = Room::empty(h100);
    assert!(room.put(of("1g.10gb"), 4));
    assert!(!room.admits(of("3g.40gb"), 4), "1g stands in the way");
    assert!(room.admits(of("3g.40gb"), 0) && !room.admits(of("3g.40gb"), 2));
    assert!(room.put(of("4g.40gb"), 0));
    assert!(!room.admits_profile(of("3g.40gb")), "eight compute slices");
    room.take(of("1g.10gb"), 4);
    assert!(room.put(of("3g.40gb"), 4));
    assert_eq!((room.free_compute_slices(), room.free_memory_slices()), (0, 0));
}

#[test]
fn media_extensions_exist_once_and_all_of_them_leave_none() {
    let rtx = board("RTX-PRO-6000-96GB");
    let of = |name: &str| rtx.profile_named(name).unwrap();
    let mut room = Room::empty(rtx);
    assert!(room.put(of("1g.24gb+me.all"), 0));
    assert!(!room.admits(of("1g.24gb+me"), 3), "one set of extensions");
    assert!(!room.admits(of("1g.24gb"), 3), "no decoder is left");
    assert!(room.admits(of("1g.24gb-me"), 3));
}

#[test]
fn thor_takes_one_compute_and_one_graphics_instance() {
    let thor = board("Thor-iGPU");
    let of = |name: &str| thor.profile_named(name).unwrap();
    let mut room = Room::empty(thor);
    assert!(room.put(of("1g.0gb"), 0));
    assert!(!room.admits_profile(of("1g.0gb+me")) && !room.admits_profile(of("2g.0gb")));
    assert!(room.admits(of("2g.0gb+gfx"), 1));
}

#[test]
fn a_board_can_be_made_of_what_a_device_said_and_be_written_down() {
    let mut own = board("A100-40GB").clone();
    own.name = "GPU-1a".to_string().into();
    own.profiles.to_mut()[4].memory_mib = Some(20_224);
    let json = serde_json::to_value(&own).unwrap();
    assert_eq!(json["profiles"][4]["memory_mib"], 20_224);
    assert_eq!(json["profiles"][4]["engines"]["decoder"], 2);
    assert_eq!(json["architecture"], "ampere");
}
