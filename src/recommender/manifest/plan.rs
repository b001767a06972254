//! What the writers are told.

use crate::cluster::resource::is_profile;
use crate::recommender::manifest::ManifestError;

/// Most clients of one MPS server on one GPU that every CUDA since Volta takes.
///
/// Source: k8s-device-plugin refuses more replicas; CUDA 13.1 would take 60.
pub const MOST_MPS_CLIENTS: u32 = 48;

/// How one GPU shall be cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigPlan {
    /// Index on its node.
    pub gpu_index: u32,
    /// Its UUID; the script then refuses another GPU under the same index.
    pub uuid: Option<String>,
    /// Device id before vendor id, as in `0x233010DE`; the layout then holds for such boards only.
    pub pci_device_id: Option<u32>,
    /// Name of the board, for comments.
    pub board: Option<String>,
    /// Whether MIG mode shall be on.
    pub is_mig_on: bool,
    /// Whether that is a change of mode, which needs the GPU without clients.
    pub is_mode_change_needed: bool,
    /// Ids of the GPU instances that go.
    pub destroy: Vec<u32>,
    /// Instances that stay as they are.
    pub keep: Vec<MigInstancePlan>,
    /// Instances that come, in any order.
    pub create: Vec<MigInstancePlan>,
    /// Which profile each tenant is meant for: tenant, profile.
    pub assignments: Vec<(String, String)>,
}

/// An instance that comes or stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigInstancePlan {
    /// Name of the profile, as `3g.40gb`.
    pub profile: String,
    /// Id of the profile for `-cgi`.
    pub profile_id: u32,
    /// First memory slice.
    pub start: u32,
}

impl MigPlan {
    /// The instances that come, largest first: a driver that looks for room itself then finds it.
    ///
    /// - Errors: [`ManifestError::Profile`] for a name that is no profile.
    pub fn largest_first(&self) -> Result<Vec<&MigInstancePlan>, ManifestError> {
        sorted(self.create.iter())
    }

    /// The instances that there will be, those that stay and those that come, largest first.
    ///
    /// - Errors: [`ManifestError::Profile`] for a name that is no profile.
    pub fn whole(&self) -> Result<Vec<&MigInstancePlan>, ManifestError> {
        sorted(self.keep.iter().chain(&self.create))
    }
}

fn sorted<'a>(
    instances: impl Iterator<Item = &'a MigInstancePlan>,
) -> Result<Vec<&'a MigInstancePlan>, ManifestError> {
    let mut instances: Vec<&MigInstancePlan> = instances.collect();
    for instance in &instances {
        checked_profile(&instance.profile)?;
    }
    instances.sort_by_key(|it| (std::cmp::Reverse(size_of(&it.profile)), it.start));
    Ok(instances)
}

/// A profile that may be written as it is.
pub(super) fn checked_profile(profile: &str) -> Result<&str, ManifestError> {
    match is_profile(profile) {
        true => Ok(profile),
        false => Err(ManifestError::Profile(profile.to_owned())),
    }
}

/// Compute slices and nominal gigabytes of a profile.
fn size_of(profile: &str) -> (u32, u32) {
    let size = profile.split(['+', '-']).next().unwrap_or_default();
    let part = |unit: &str| {
        size.split('.').find_map(|it| it.strip_suffix(unit)?.parse().ok()).unwrap_or(0)
    };
    (part("g"), part("gb"))
}

/// By which means tenants share one whole device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SharingMechanism {
    /// In turns.
    TimeSlicing,
    /// At the same time, through the multi-process service.
    Mps,
}

/// How long a turn is; the vendor publishes words and no milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeSlice {
    /// What the driver chooses.
    #[default]
    Default,
    /// Shorter.
    Short,
    /// Longer than short.
    Medium,
    /// Longest.
    Long,
}

impl TimeSlice {
    /// The word of the driver for dynamic resource allocation.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Default => "Default",
            Self::Short => "Short",
            Self::Medium => "Medium",
            Self::Long => "Long",
        }
    }

    /// The number for `nvidia-smi compute-policy --set-timeslice`.
    pub const fn number(self) -> u32 {
        match self {
            Self::Default => 0,
            Self::Short => 1,
            Self::Medium => 2,
            Self::Long => 3,
        }
    }
}

/// How tenants shall share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharingPlan {
    /// By which means.
    pub mechanism: SharingMechanism,
    /// The MIG profile whose instances are shared; `None` for whole GPUs.
    pub profile: Option<String>,
    /// How many pods one device is offered to.
    pub replicas: u32,
    /// Whether a container that asks for more than one replica is refused: it would get no more.
    pub fail_requests_greater_than_one: bool,
    /// Whether the resource is offered as `….shared`, so that no pod shares unknowingly.
    pub rename_by_default: bool,
    /// How long turns are.
    pub time_slice: TimeSlice,
    /// What each tenant may use under MPS.
    pub tenants: Vec<TenantShare>,
}

/// What one tenant may use under MPS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantShare {
    /// Its name, for comments.
    pub tenant: String,
    /// Share of threads that each of its processes may use at most, percent; `None` for no limit.
    pub thread_percentage: Option<u32>,
    /// Memory that each of its processes may pin at most, MiB; `None` for no limit.
    pub pinned_limit_mib: Option<u64>,
}

impl SharingPlan {
    /// Checks what the device plugin and MPS refuse.
    pub(super) fn check(&self) -> Result<(), ManifestError> {
        if self.replicas < 2 {
            return Err(ManifestError::Replicas(self.replicas));
        }
        if let Some(profile) = &self.profile {
            checked_profile(profile)?;
        }
        if self.mechanism == SharingMechanism::Mps && self.replicas > MOST_MPS_CLIENTS {
            let (wanted, most) = (self.replicas, MOST_MPS_CLIENTS);
            return Err(ManifestError::TooManyClients { wanted, most });
        }
        self.tenants.iter().try_for_each(TenantShare::check)
    }

    /// The widest share of threads and the largest limit of any tenant, percent and MiB: what a server may
    /// set for all, since a client can only narrow its own. `None` where some tenant has no limit.
    pub(super) fn widest(&self) -> (Option<u32>, Option<u64>) {
        let of = |it: &TenantShare| (it.thread_percentage, it.pinned_limit_mib);
        let shares = || self.tenants.iter().map(of);
        let threads: Option<Vec<u32>> = shares().map(|it| it.0).collect();
        let limits: Option<Vec<u64>> = shares().map(|it| it.1).collect();
        (threads.and_then(|it| it.into_iter().max()), limits.and_then(|it| it.into_iter().max()))
    }
}

impl TenantShare {
    pub(super) fn check(&self) -> Result<(), ManifestError> {
        match (self.thread_percentage, self.pinned_limit_mib) {
            (Some(it), _) if !(1..=100).contains(&it) => Err(ManifestError::ThreadPercentage(it)),
            (_, Some(0)) => Err(ManifestError::MemoryLimit),
            _ => Ok(()),
        }
    }
}
