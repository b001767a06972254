//! What is to be recorded, and who is told how it goes.

use crate::domain::source::SourceId;
use crate::sampler::message::{Notice, ORIGINS};
use crate::sampler::source::{Identity, Refusal};
use std::path::PathBuf;

/// Sources that a recording has before those of services.
pub const OWN_SOURCES: u16 = ORIGINS.len() as u16;

/// What to record, and how.
#[derive(Debug, Clone)]
pub struct Plan {
    /// GPUs to watch.
    pub gpus: Vec<Identity>,
    /// GPUs that are there but cannot be opened: index, and why not.
    pub unreachable: Vec<(u32, Refusal)>,
    /// Time between two looks, microseconds.
    pub interval_us: u64,
    /// How long, microseconds; `None` means until somebody ends it.
    pub duration_us: Option<i64>,
    /// Share of time of one core, and of the driver, that watching may take.
    pub budget: f64,
    /// Number of the first source.
    pub first_source: SourceId,
    /// The folder that the host's `/proc` stands in: `/`, but in tests.
    pub root: PathBuf,
    /// Name of the host.
    pub host_name: Option<String>,
}

/// How the recording goes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Status {
    /// Time since it began, seconds.
    pub seconds: f64,
    /// GPUs that are seen.
    pub gpus: usize,
    /// Readings taken.
    pub readings: u64,
    /// Looks at GPUs.
    pub looks: u64,
    /// Looks that came too late and were left out.
    pub missed: u64,
    /// Own processor time over time passed; 1 is one core.
    pub cpu_ratio: f64,
    /// Own memory, bytes; `None` where the system does not tell.
    pub memory_bytes: Option<u64>,
}

/// Who is told how it goes, and says when it is over.
pub trait Audience {
    /// Something that the user should know at once.
    fn notice(&mut self, notice: &Notice);
    /// Once a second.
    fn status(&mut self, status: &Status);
    /// Whether to end.
    fn is_over(&mut self) -> bool;
}
