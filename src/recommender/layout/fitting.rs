//! Which profiles hold a tenant, from the smallest, with the memory that it would not use.

use crate::domain::mig_geometry::MigBoard;
use crate::domain::mig_geometry::MigProfile;
use serde::Serialize;

/// What a tenant needs of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Need {
    /// Highest memory that it ever held, MiB.
    pub peak_mib: f64,
    /// Memory to be kept free beyond that, MiB.
    pub reserve_mib: f64,
    /// SMs that it needs at least; `None` where any number does.
    pub min_sms: Option<u32>,
}

/// A profile that holds a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Fit {
    /// Index of the profile.
    pub profile: usize,
    /// Memory of the instance over the peak, MiB.
    pub head_room_mib: f64,
    /// Memory of the instance over peak and reserve, MiB, which nobody can use.
    pub stranded_mib: f64,
}

/// The profiles of a board in view of a need.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fitting {
    /// Profiles that hold the tenant, smallest first: by memory, then compute, then the plain ones first.
    pub fits: Vec<Fit>,
    /// Profiles of which memory, or SMs where they matter, are not known: read them off the device.
    pub unknown: Vec<usize>,
}

impl Fitting {
    /// The smallest profile that holds the tenant; `None` where no known one does.
    pub fn smallest(&self) -> Option<&Fit> {
        self.fits.first()
    }
}

/// The profiles that hold a tenant, compared in MiB and SMs only; a need that is no number is held by none.
pub fn fitting(board: &MigBoard, need: &Need) -> Fitting {
    let mut found = Fitting { fits: Vec::new(), unknown: Vec::new() };
    for (index, profile) in board.profiles.iter().enumerate() {
        let Some(memory_mib) = profile.memory_mib.filter(|_| sms_are_known(profile, need)) else {
            found.unknown.push(index);
            continue;
        };
        let stranded_mib = memory_mib as f64 - need.peak_mib - need.reserve_mib;
        let has_sms = need.min_sms.is_none_or(|least| profile.sm_count >= Some(least));
        if stranded_mib >= 0.0 && has_sms {
            let head_room_mib = memory_mib as f64 - need.peak_mib;
            found.fits.push(Fit { profile: index, head_room_mib, stranded_mib });
        }
    }
    found.fits.sort_by_key(|it| {
        let profile = &board.profiles[it.profile];
        let sizes = (profile.memory_mib, profile.compute_slices, profile.memory_slices);
        (sizes, !profile.is_plain(), it.profile)
    });
    found
}

fn sms_are_known(profile: &MigProfile, need: &Need) -> bool {
    need.min_sms.is_none() || profile.sm_count.is_some()
}
