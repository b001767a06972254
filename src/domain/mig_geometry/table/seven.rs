//! Profiles of the boards with seven compute and eight memory slices.
//!
//! Ids, sizes and places are the same on all of them; memory, SMs and engines differ.
//!
//! Source: as for the boards.

use crate::domain::mig_geometry::Engines;
use crate::domain::mig_geometry::MigProfile;
use crate::domain::mig_geometry::Provenance;
use crate::domain::mig_geometry::Provenance::{Documented, Measured, Pattern};
use crate::domain::mig_geometry::table::other::{engines, partly};
use std::borrow::Cow;

/// What a profile has in common on every seven-slice board.
struct Shape {
    id: u32,
    index: u32,
    compute: u32,
    memory: u32,
    most: u32,
    starts: &'static [u32],
}

const ONE: Shape =
    Shape { id: 19, index: 0, compute: 1, memory: 1, most: 7, starts: &[0, 1, 2, 3, 4, 5, 6] };
/// With the media engines.
const ONE_ME: Shape =
    Shape { id: 20, index: 7, compute: 1, memory: 1, most: 1, starts: &[0, 1, 2, 3, 4, 5, 6] };
/// With double the memory.
const DOUBLE: Shape =
    Shape { id: 15, index: 9, compute: 1, memory: 2, most: 4, starts: &[0, 2, 4, 6] };
const TWO: Shape = Shape { id: 14, index: 1, compute: 2, memory: 2, most: 3, starts: &[0, 2, 4] };
const THREE: Shape = Shape { id: 9, index: 2, compute: 3, memory: 4, most: 2, starts: &[0, 4] };
const FOUR: Shape = Shape { id: 5, index: 3, compute: 4, memory: 4, most: 1, starts: &[0] };
const SEVEN: Shape = Shape { id: 0, index: 4, compute: 7, memory: 8, most: 1, starts: &[0] };

impl Shape {
    const fn row(
        self,
        name: &'static str,
        memory_mib: Option<u64>,
        sm_count: Option<u32>,
        engines: Engines,
        provenance: Provenance,
    ) -> MigProfile {
        MigProfile {
            name: Cow::Borrowed(name),
            gi_profile_id: Some(self.id),
            nvml_profile_enum: self.index,
            compute_slices: self.compute,
            memory_slices: self.memory,
            memory_mib,
            sm_count,
            engines,
            max_instances: self.most,
            starts: Cow::Borrowed(self.starts),
            size: Some(self.memory),
            provenance,
        }
    }
}

pub(super) static A100_40GB: [MigProfile; 7] = [
    ONE.row("1g.5gb", Some(4864), Some(14), engines(1, 0, 0, 0, 0), Measured),
    ONE_ME.row("1g.5gb+me", Some(4864), Some(14), engines(1, 1, 0, 1, 1), Measured),
    DOUBLE.row("1g.10gb", Some(9984), Some(14), engines(1, 1, 0, 0, 0), Measured),
    TWO.row("2g.10gb", Some(9984), Some(28), engines(2, 1, 0, 0, 0), Measured),
    THREE.row("3g.20gb", Some(20096), Some(42), engines(3, 2, 0, 0, 0), Measured),
    FOUR.row("4g.20gb", Some(20096), Some(56), engines(4, 2, 0, 0, 0), Measured),
    SEVEN.row("7g.40gb", Some(40448), Some(98), engines(7, 5, 0, 1, 1), Measured),
];

pub(super) static A100_80GB: [MigProfile; 7] = [
    ONE.row("1g.10gb", Some(9728), Some(14), engines(1, 0, 0, 0, 0), Measured),
    ONE_ME.row("1g.10gb+me", Some(9728), Some(14), engines(1, 1, 0, 1, 1), Measured),
    DOUBLE.row("1g.20gb", Some(19968), Some(14), engines(1, 1, 0, 0, 0), Measured),
    TWO.row("2g.20gb", Some(19968), Some(28), engines(2, 1, 0, 0, 0), Measured),
    THREE.row("3g.40gb", Some(40192), Some(42), engines(3, 2, 0, 0, 0), Measured),
    FOUR.row("4g.40gb", Some(40192), Some(56), engines(4, 2, 0, 0, 0), Measured),
    SEVEN.row("7g.80gb", Some(80896), Some(98), engines(7, 5, 0, 1, 1), Measured),
];

pub(super) static H100_SXM5_80GB: [MigProfile; 7] = [
    ONE.row("1g.10gb", Some(9984), Some(16), engines(1, 1, 0, 1, 0), Measured),
    ONE_ME.row("1g.10gb+me", Some(9984), Some(16), engines(1, 1, 0, 1, 1), Measured),
    DOUBLE.row("1g.20gb", Some(20096), Some(26), engines(1, 1, 0, 1, 0), Measured),
    TWO.row("2g.20gb", Some(20096), Some(32), engines(2, 2, 0, 2, 0), Measured),
    THREE.row("3g.40gb", Some(40448), Some(60), engines(3, 3, 0, 3, 0), Measured),
    FOUR.row("4g.40gb", Some(40448), Some(64), engines(4, 4, 0, 4, 0), Measured),
    SEVEN.row("7g.80gb", Some(81152), Some(132), engines(8, 7, 0, 7, 1), Measured),
];

pub(super) static H100_PCIE_80GB: [MigProfile; 7] = [
    ONE.row("1g.10gb", Some(9984), Some(14), engines(1, 1, 0, 1, 0), Measured),
    ONE_ME.row("1g.10gb+me", Some(9984), Some(14), engines(1, 1, 0, 1, 1), Measured),
    DOUBLE.row("1g.20gb", Some(20096), Some(14), engines(1, 1, 0, 1, 0), Measured),
    TWO.row("2g.20gb", Some(20096), Some(30), engines(2, 2, 0, 2, 0), Measured),
    THREE.row("3g.40gb", Some(40448), Some(46), engines(3, 3, 0, 3, 0), Measured),
    FOUR.row("4g.40gb", Some(40448), Some(62), engines(4, 4, 0, 4, 0), Measured),
    SEVEN.row("7g.80gb", Some(81152), Some(114), engines(8, 7, 0, 7, 1), Measured),
];

pub(super) static H100_NVL_94GB: [MigProfile; 7] = [
    ONE.row("1g.12gb", Some(11008), Some(16), engines(1, 1, 0, 1, 0), Measured),
    ONE_ME.row("1g.12gb+me", Some(11008), Some(16), engines(1, 1, 0, 1, 1), Measured),
    DOUBLE.row("1g.24gb", Some(22144), Some(26), engines(1, 1, 0, 1, 0), Measured),
    TWO.row("2g.24gb", Some(22144), Some(32), engines(2, 2, 0, 2, 0), Measured),
    THREE.row("3g.47gb", Some(47488), Some(60), engines(3, 3, 0, 3, 0), Measured),
    FOUR.row("4g.47gb", Some(47488), Some(64), engines(4, 4, 0, 4, 0), Pattern),
    SEVEN.row("7g.94gb", None, Some(132), engines(8, 7, 0, 7, 1), Pattern),
];

pub(super) static GH200_96GB: [MigProfile; 7] = [
    ONE.row("1g.12gb", Some(11264), Some(16), engines(1, 1, 0, 1, 0), Measured),
    ONE_ME.row("1g.12gb+me", Some(11264), Some(16), engines(1, 1, 0, 1, 1), Measured),
    DOUBLE.row("1g.24gb", Some(23552), Some(26), engines(1, 1, 0, 1, 0), Measured),
    TWO.row("2g.24gb", Some(23552), Some(32), engines(2, 2, 0, 2, 0), Measured),
    THREE.row("3g.48gb", Some(47616), Some(60), engines(3, 3, 0, 3, 0), Measured),
    FOUR.row("4g.48gb", Some(47616), Some(64), engines(4, 4, 0, 4, 0), Measured),
    SEVEN.row("7g.96gb", Some(95232), Some(132), engines(8, 7, 0, 7, 1), Measured),
];

pub(super) static GH200_144GB: [MigProfile; 7] = [
    ONE.row("1g.18gb", Some(17920), Some(16), engines(1, 1, 0, 1, 0), Measured),
    ONE_ME.row("1g.18gb+me", Some(17920), Some(16), engines(1, 1, 0, 1, 1), Measured),
    DOUBLE.row("1g.36gb", Some(36096), Some(26), engines(1, 1, 0, 1, 0), Measured),
    TWO.row("2g.36gb", Some(36096), Some(32), engines(2, 2, 0, 2, 0), Measured),
    THREE.row("3g.72gb", None, Some(60), engines(3, 3, 0, 3, 0), Pattern),
    FOUR.row("4g.72gb", None, Some(64), engines(4, 4, 0, 4, 0), Pattern),
    SEVEN.row("7g.144gb", None, Some(132), engines(8, 7, 0, 7, 1), Pattern),
];

pub(super) static H20_96GB: [MigProfile; 7] = [
    ONE.row("1g.12gb", None, None, engines(1, 1, 0, 1, 0), Pattern),
    ONE_ME.row("1g.12gb+me", None, None, engines(1, 1, 0, 1, 1), Pattern),
    DOUBLE.row("1g.24gb", None, None, engines(1, 1, 0, 1, 0), Pattern),
    TWO.row("2g.24gb", None, None, engines(2, 2, 0, 2, 0), Pattern),
    THREE.row("3g.48gb", None, None, engines(3, 3, 0, 3, 0), Pattern),
    FOUR.row("4g.48gb", None, None, engines(4, 4, 0, 4, 0), Pattern),
    SEVEN.row("7g.96gb", None, None, engines(8, 7, 0, 7, 1), Pattern),
];

pub(super) static H20_141GB: [MigProfile; 7] = [
    ONE.row("1g.18gb", None, None, engines(1, 1, 0, 1, 0), Pattern),
    ONE_ME.row("1g.18gb+me", None, None, engines(1, 1, 0, 1, 1), Pattern),
    DOUBLE.row("1g.35gb", None, None, engines(1, 1, 0, 1, 0), Pattern),
    TWO.row("2g.35gb", None, None, engines(2, 2, 0, 2, 0), Pattern),
    THREE.row("3g.71gb", None, None, engines(3, 3, 0, 3, 0), Pattern),
    FOUR.row("4g.71gb", None, None, engines(4, 4, 0, 4, 0), Pattern),
    SEVEN.row("7g.141gb", None, None, engines(8, 7, 0, 7, 1), Pattern),
];

pub(super) static H200_141GB: [MigProfile; 7] = [
    ONE.row("1g.18gb", Some(16384), Some(16), engines(1, 1, 0, 1, 0), Measured),
    ONE_ME.row("1g.18gb+me", Some(16384), Some(16), engines(1, 1, 0, 1, 1), Measured),
    DOUBLE.row("1g.35gb", Some(33024), Some(26), engines(1, 1, 0, 1, 0), Measured),
    TWO.row("2g.35gb", Some(33024), Some(32), engines(2, 2, 0, 2, 0), Measured),
    THREE.row("3g.71gb", Some(71168), Some(60), engines(3, 3, 0, 3, 0), Measured),
    FOUR.row("4g.71gb", Some(71168), Some(64), engines(4, 4, 0, 4, 0), Measured),
    SEVEN.row("7g.141gb", Some(143104), Some(132), engines(8, 7, 0, 7, 1), Measured),
];

pub(super) static B200_180GB: [MigProfile; 7] = [
    ONE.row("1g.23gb", Some(22528), Some(18), engines(2, 1, 0, 1, 0), Measured),
    ONE_ME.row("1g.23gb+me", Some(22528), Some(18), engines(2, 1, 0, 1, 1), Measured),
    DOUBLE.row("1g.45gb", Some(45312), Some(30), engines(2, 1, 0, 1, 0), Measured),
    TWO.row("2g.45gb", Some(45312), Some(36), engines(4, 2, 0, 2, 0), Measured),
    THREE.row("3g.90gb", None, None, partly(Some(6), Some(0)), Documented),
    FOUR.row("4g.90gb", None, None, partly(Some(8), Some(0)), Documented),
    SEVEN.row("7g.180gb", None, None, engines(16, 7, 0, 7, 1), Documented),
];

pub(super) static GB200_186GB: [MigProfile; 7] = [
    ONE.row("1g.23gb", Some(22528), Some(18), engines(2, 1, 0, 1, 0), Measured),
    ONE_ME.row("1g.23gb+me", Some(22528), Some(18), engines(2, 1, 0, 1, 1), Measured),
    DOUBLE.row("1g.47gb", Some(46592), Some(32), engines(2, 1, 0, 1, 0), Measured),
    TWO.row("2g.47gb", Some(46592), Some(38), engines(4, 2, 0, 2, 0), Measured),
    THREE.row("3g.93gb", None, None, partly(Some(6), Some(0)), Pattern),
    FOUR.row("4g.93gb", None, None, partly(Some(8), Some(0)), Pattern),
    SEVEN.row("7g.186gb", None, None, engines(16, 7, 0, 7, 1), Pattern),
];

pub(super) static B300_269GB: [MigProfile; 7] = [
    ONE.row("1g.34gb", Some(34560), None, partly(None, None), Pattern),
    ONE_ME.row("1g.34gb+me", None, None, partly(None, None), Pattern),
    DOUBLE.row("1g.67gb", None, None, partly(None, None), Pattern),
    TWO.row("2g.67gb", None, None, partly(None, None), Pattern),
    THREE.row("3g.135gb", None, None, partly(None, None), Pattern),
    FOUR.row("4g.135gb", None, None, partly(None, None), Pattern),
    SEVEN.row("7g.269gb", None, None, partly(None, None), Pattern),
];

pub(super) static GB300_278GB: [MigProfile; 7] = [
    ONE.row("1g.35gb", None, None, partly(None, None), Pattern),
    ONE_ME.row("1g.35gb+me", None, None, partly(None, None), Pattern),
    DOUBLE.row("1g.70gb", None, None, partly(None, None), Pattern),
    TWO.row("2g.70gb", None, None, partly(None, None), Pattern),
    THREE.row("3g.139gb", None, None, partly(None, None), Pattern),
    FOUR.row("4g.139gb", None, None, partly(None, None), Pattern),
    SEVEN.row("7g.278gb", None, None, partly(None, None), Pattern),
];
