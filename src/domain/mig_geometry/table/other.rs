//! Profiles of the boards with other than seven compute slices, and how engines are written.
//!
//! Source: as for the boards.

use crate::domain::mig_geometry::Engines;
use crate::domain::mig_geometry::MigProfile;
use crate::domain::mig_geometry::Provenance;
use crate::domain::mig_geometry::Provenance::{Documented, Measured};
use std::borrow::Cow;

/// Engines that are all known: copy, decoders, encoders, JPEG, optical flow.
pub(super) const fn engines(
    copy: u32,
    decoder: u32,
    encoder: u32,
    jpeg: u32,
    flow: u32,
) -> Engines {
    Engines {
        copy: Some(copy),
        decoder: Some(decoder),
        encoder: Some(encoder),
        jpeg: Some(jpeg),
        optical_flow: Some(flow),
    }
}

/// Engines of a board without encoders whose decoders no source counts.
pub(super) const fn partly(copy: Option<u32>, optical_flow: Option<u32>) -> Engines {
    Engines { copy, decoder: None, encoder: Some(0), jpeg: None, optical_flow }
}

/// What all profiles of one size have in common on one board.
struct Part {
    compute: u32,
    memory: u32,
    starts: &'static [u32],
    size: Option<u32>,
    memory_mib: Option<u64>,
    sms: Option<u32>,
    how: Provenance,
}

impl Part {
    const fn row(
        self,
        name: &'static str,
        gi_profile_id: Option<u32>,
        index: u32,
        most: u32,
        engines: Engines,
    ) -> MigProfile {
        MigProfile {
            name: Cow::Borrowed(name),
            gi_profile_id,
            nvml_profile_enum: index,
            compute_slices: self.compute,
            memory_slices: self.memory,
            memory_mib: self.memory_mib,
            sm_count: self.sms,
            engines,
            max_instances: most,
            starts: Cow::Borrowed(self.starts),
            size: self.size,
            provenance: self.how,
        }
    }
}

const A30_1: Part = Part {
    compute: 1,
    memory: 1,
    starts: &[0, 1, 2, 3],
    size: Some(1),
    memory_mib: Some(5952),
    sms: Some(14),
    how: Measured,
};
const A30_2: Part = Part {
    compute: 2,
    memory: 2,
    starts: &[0, 2],
    size: Some(2),
    memory_mib: Some(11968),
    sms: Some(28),
    how: Measured,
};
const A30_4: Part = Part {
    compute: 4,
    memory: 4,
    starts: &[0],
    size: Some(4),
    memory_mib: Some(24000),
    sms: Some(56),
    how: Measured,
};
pub(super) static A30: [MigProfile; 5] = [
    A30_1.row("1g.6gb", Some(14), 0, 4, engines(1, 1, 0, 0, 0)),
    A30_1.row("1g.6gb+me", Some(21), 7, 1, engines(1, 1, 0, 1, 1)),
    A30_2.row("2g.12gb", Some(5), 1, 2, engines(2, 2, 0, 0, 0)),
    A30_2.row("2g.12gb+me", Some(6), 8, 1, engines(2, 2, 0, 1, 1)),
    A30_4.row("4g.24gb", Some(0), 3, 1, engines(4, 4, 0, 1, 1)),
];

const RTX_6000_1: Part = Part {
    compute: 1,
    memory: 1,
    starts: &[0, 3, 6, 9],
    size: Some(3),
    memory_mib: Some(24192),
    sms: Some(46),
    how: Measured,
};
const RTX_6000_2: Part = Part {
    compute: 2,
    memory: 2,
    starts: &[0, 6],
    size: Some(6),
    memory_mib: Some(48512),
    sms: Some(94),
    how: Measured,
};
const RTX_6000_4: Part = Part {
    compute: 4,
    memory: 4,
    starts: &[0],
    size: Some(12),
    memory_mib: Some(97408),
    sms: Some(188),
    how: Measured,
};
pub(super) static RTX_PRO_6000_96GB: [MigProfile; 11] = [
    RTX_6000_1.row("1g.24gb", Some(14), 0, 4, engines(1, 1, 1, 1, 0)),
    RTX_6000_1.row("1g.24gb+me", Some(21), 7, 1, engines(1, 1, 1, 1, 1)),
    RTX_6000_1.row("1g.24gb+gfx", Some(47), 10, 4, engines(1, 1, 1, 1, 0)),
    RTX_6000_1.row("1g.24gb+me.all", Some(65), 15, 1, engines(1, 4, 4, 4, 1)),
    RTX_6000_1.row("1g.24gb-me", Some(67), 13, 4, engines(1, 0, 0, 0, 0)),
    RTX_6000_2.row("2g.48gb", Some(5), 1, 2, engines(2, 2, 2, 2, 0)),
    RTX_6000_2.row("2g.48gb+gfx", Some(35), 11, 2, engines(2, 2, 2, 2, 0)),
    RTX_6000_2.row("2g.48gb+me.all", Some(64), 16, 1, engines(2, 4, 4, 4, 1)),
    RTX_6000_2.row("2g.48gb-me", Some(66), 14, 2, engines(2, 0, 0, 0, 0)),
    RTX_6000_4.row("4g.96gb", Some(0), 3, 1, engines(4, 4, 4, 4, 1)),
    RTX_6000_4.row("4g.96gb+gfx", Some(32), 12, 1, engines(4, 4, 4, 4, 1)),
];

const RTX_5000_1: Part = Part {
    compute: 1,
    memory: 1,
    starts: &[],
    size: None,
    memory_mib: None,
    sms: None,
    how: Documented,
};
const RTX_5000_2: Part = Part {
    compute: 2,
    memory: 2,
    starts: &[],
    size: None,
    memory_mib: None,
    sms: None,
    how: Documented,
};
pub(super) static RTX_PRO_5000_48GB: [MigProfile; 7] = [
    RTX_5000_1.row("1g.24gb", None, 0, 2, engines(1, 1, 1, 0, 0)),
    RTX_5000_1.row("1g.24gb+me", None, 7, 1, engines(1, 1, 1, 1, 1)),
    RTX_5000_1.row("1g.24gb+gfx", None, 10, 2, engines(1, 1, 1, 0, 0)),
    RTX_5000_1.row("1g.24gb+me.all", None, 15, 1, engines(1, 3, 3, 1, 1)),
    RTX_5000_1.row("1g.24gb-me", None, 13, 2, engines(1, 0, 0, 0, 0)),
    RTX_5000_2.row("2g.48gb", None, 1, 1, engines(4, 3, 3, 1, 1)),
    RTX_5000_2.row("2g.48gb+gfx", None, 11, 1, engines(4, 3, 3, 1, 1)),
];

const RTX_4500_1: Part = Part {
    compute: 1,
    memory: 1,
    starts: &[],
    size: None,
    memory_mib: None,
    sms: None,
    how: Documented,
};
const RTX_4500_2: Part = Part {
    compute: 2,
    memory: 2,
    starts: &[],
    size: None,
    memory_mib: None,
    sms: None,
    how: Documented,
};
pub(super) static RTX_PRO_4500_32GB: [MigProfile; 6] = [
    RTX_4500_1.row("1g.16gb", None, 0, 2, engines(1, 1, 1, 1, 0)),
    RTX_4500_1.row("1g.16gb+gfx", None, 10, 2, engines(1, 1, 1, 1, 0)),
    RTX_4500_1.row("1g.16gb+me.all", None, 15, 1, engines(1, 3, 3, 2, 1)),
    RTX_4500_1.row("1g.16gb-me", None, 13, 2, engines(1, 0, 0, 0, 0)),
    RTX_4500_2.row("2g.32gb", None, 1, 1, engines(2, 3, 3, 2, 1)),
    RTX_4500_2.row("2g.32gb+gfx", None, 11, 1, engines(2, 3, 3, 2, 1)),
];

const THOR_1: Part = Part {
    compute: 1,
    memory: 0,
    starts: &[],
    size: None,
    memory_mib: None,
    sms: None,
    how: Documented,
};
const THOR_2: Part = Part {
    compute: 2,
    memory: 0,
    starts: &[],
    size: None,
    memory_mib: None,
    sms: None,
    how: Documented,
};
const THOR_3: Part = Part {
    compute: 3,
    memory: 0,
    starts: &[],
    size: None,
    memory_mib: None,
    sms: None,
    how: Documented,
};
pub(super) static THOR_IGPU: [MigProfile; 7] = [
    THOR_1.row("1g.0gb+me", None, 7, 1, engines(1, 1, 1, 1, 1)),
    THOR_1.row("1g.0gb", None, 0, 1, engines(1, 1, 1, 1, 0)),
    THOR_1.row("1g.0gb+gfx", None, 10, 1, engines(1, 1, 1, 1, 0)),
    THOR_2.row("2g.0gb", None, 1, 1, engines(1, 1, 1, 1, 0)),
    THOR_2.row("2g.0gb+gfx", None, 11, 1, engines(1, 1, 1, 1, 0)),
    THOR_3.row("3g.0gb", None, 2, 1, engines(1, 2, 2, 2, 1)),
    THOR_3.row("3g.0gb+gfx", None, 17, 1, engines(1, 2, 2, 2, 1)),
];
