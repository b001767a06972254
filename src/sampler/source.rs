//! What a GPU can be asked, and what it may answer; knows nothing about the driver's library.

use crate::domain::ident::GpuId;
use crate::domain::metric::Metric;
pub use crate::sampler::question::{Pace, QUESTIONS, Question, QuestionSpec};
use std::fmt;

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The device does not have it, now or under this layout.
    NotSupported,
    /// The reader lacks the rights.
    NoPermission,
    /// The driver's library lacks the function.
    NoFunction,
    /// Nothing of this kind is there, or nothing new.
    NotFound,
    /// The handle or the argument means nothing any more.
    Invalid,
    /// The device fell off the bus; final until it is reset.
    Lost,
    /// The device needs a reset.
    ResetRequired,
    /// The driver is not loaded, or was unloaded.
    DriverGone,
    /// The driver was replaced while its library was in use.
    DriverReplaced,
    /// Nothing came in time.
    TimedOut,
    /// Any other code of the driver.
    Other(u32),
}

impl Refusal {
    /// Whether it stays so until the driver or the layout changes.
    pub fn is_lasting(self) -> bool {
        matches!(self, Self::NotSupported | Self::NoPermission | Self::NoFunction)
    }

    /// Whether nothing more can be asked of the device.
    pub fn ends_stream(self) -> bool {
        matches!(self, Self::Lost | Self::ResetRequired | Self::DriverGone | Self::DriverReplaced)
    }

    /// What would let it be seen; empty when nothing can.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::NoPermission => {
                "record as root, or allow counters to everyone: NVreg_RestrictProfilingToAdminUsers=0"
            }
            Self::NoFunction => "update the driver",
            Self::Lost | Self::ResetRequired => {
                "reset the GPU or reboot; recording goes on by itself"
            }
            Self::DriverGone => "load the driver: modprobe nvidia; recording goes on by itself",
            Self::DriverReplaced => {
                "reboot, or unload and load the driver, and begin a new recording"
            }
            _ => "",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSupported => f.write_str("not supported (NVML code 3)"),
            Self::NoPermission => f.write_str("no permission (NVML code 4)"),
            Self::NoFunction => f.write_str("the driver's library lacks the function"),
            Self::NotFound => f.write_str("not found (NVML code 6)"),
            Self::Invalid => f.write_str("invalid argument (NVML code 2)"),
            Self::Lost => f.write_str("the GPU is lost (NVML code 15)"),
            Self::ResetRequired => f.write_str("the GPU needs a reset (NVML code 16)"),
            Self::DriverGone => f.write_str("the driver is not loaded (NVML code 9)"),
            Self::DriverReplaced => {
                f.write_str("driver and library are of different versions (NVML code 18)")
            }
            Self::TimedOut => f.write_str("nothing came in time (NVML code 10)"),
            Self::Other(999) => f.write_str("unknown error (NVML code 999)"),
            Self::Other(code) => write!(f, "NVML code {code}"),
        }
    }
}

/// A number as the driver gave it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Count {
    /// 32 bits; all ones mean "not available".
    Narrow(u32),
    /// 64 bits; all ones mean "not available".
    Wide(u64),
    /// A fraction.
    Real(f64),
    /// A total of bytes of which the rate is wanted; a fall is a restart.
    Total(u64),
}

impl Count {
    /// The number; `None` when the driver says that it is not available.
    pub fn value(self) -> Option<f64> {
        match self {
            Self::Narrow(u32::MAX) | Self::Wide(u64::MAX) | Self::Total(u64::MAX) => None,
            // A 32-bit "not available" that was widened on the way.
            Self::Wide(it) | Self::Total(it) if it == u64::from(u32::MAX) => None,
            Self::Narrow(it) => Some(f64::from(it)),
            Self::Wide(it) | Self::Total(it) => Some(it as f64),
            Self::Real(it) => it.is_finite().then_some(it),
        }
    }
}

/// One field of an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reply {
    /// What it is about, in the metric's unit.
    pub metric: Metric,
    /// The number, or why there is none.
    pub count: Result<Count, Refusal>,
}

/// A ring in which the driver keeps stamped samples of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each names itself")]
pub enum Ring {
    GpuUtilization,
    MemoryUtilization,
    Power,
}

/// Every ring that is drained.
pub const RINGS: &[Ring] = &[Ring::GpuUtilization, Ring::MemoryUtilization, Ring::Power];

impl Ring {
    /// What its samples are about.
    pub fn metric(self) -> Metric {
        match self {
            Self::GpuUtilization => Metric::GpuUtilization,
            Self::MemoryUtilization => Metric::MemoryUtilization,
            Self::Power => Metric::Power,
        }
    }
}

/// A sample of a ring, with the driver's own stamp.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RingSample {
    /// Microseconds, on a clock that the driver does not name.
    pub stamp_us: u64,
    /// The number.
    pub count: Count,
}

/// What a process used of each engine, with the driver's own stamp; percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each names itself")]
pub struct ProcessSample {
    pub stamp_us: u64,
    pub pid: u32,
    pub sm: u32,
    pub memory: u32,
    pub encoder: u32,
    pub decoder: u32,
    /// `None` where the driver does not tell.
    pub jpeg: Option<u32>,
    pub ofa: Option<u32>,
}

/// A list of the processes on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each names itself")]
pub enum ProcessList {
    Compute,
    Graphics,
    Mps,
}

/// Every list that is read.
pub const LISTS: &[ProcessList] = &[ProcessList::Compute, ProcessList::Graphics, ProcessList::Mps];

/// A process in a list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ListedProcess {
    /// Process id as the driver gives it.
    pub pid: u32,
    /// Device memory that it holds, bytes.
    pub memory: Count,
    /// GPU instance that it lives in; `None` outside MIG.
    pub gpu_instance: Option<u32>,
}

/// A MIG instance as it stands now.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundInstance {
    /// Identifier, which a new instance under an old number does not share.
    pub uuid: String,
    /// Number of the GPU instance.
    pub gpu_instance: u32,
    /// Profile, for example `1g.10gb`.
    pub profile: Option<String>,
    /// Memory of the instance.
    pub replies: Vec<Reply>,
}

/// Whose performance counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The whole device.
    Whole,
    /// The GPU instance of this number.
    Instance(u32),
}

/// Something that the driver announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// An error of this number, in this GPU instance where the driver says so.
    Xid {
        /// Number of the Xid.
        code: u64,
        /// GPU instance.
        gpu_instance: Option<u32>,
    },
    /// Instances were made or destroyed.
    MigChanged,
    /// Anything else.
    Other,
}

/// Who a GPU is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Identifier, or `gpu<index>` where the driver has none.
    pub gpu: GpuId,
    /// Index on the host.
    pub index: u32,
    /// Product name.
    pub model: Option<String>,
    /// PCI address.
    pub bus_id: Option<String>,
    /// Whether MIG mode is on; `None` where the device does not know MIG.
    pub is_mig: Option<bool>,
}

impl Identity {
    /// A GPU of which only the index is known.
    pub fn unknown(index: u32) -> Self {
        Self { gpu: GpuId::from_index(index), index, model: None, bus_id: None, is_mig: None }
    }
}

/// A GPU that can be asked, by one thread at a time.
pub trait GpuSource: Send {
    /// Who it is.
    fn identity(&self) -> &Identity;

    /// Asks one question; every field of the answer is added to `replies`.
    fn ask(&mut self, question: Question, replies: &mut Vec<Reply>) -> Result<(), Refusal>;

    /// Adds the samples of a ring that are newer than `after_us`, in no order.
    fn ring(
        &mut self,
        ring: Ring,
        after_us: u64,
        samples: &mut Vec<RingSample>,
    ) -> Result<(), Refusal>;

    /// Adds what processes used since `after_us`, in no order.
    fn process_ring(
        &mut self,
        after_us: u64,
        samples: &mut Vec<ProcessSample>,
    ) -> Result<(), Refusal>;

    /// Adds the processes of a list.
    fn processes(
        &mut self,
        list: ProcessList,
        found: &mut Vec<ListedProcess>,
    ) -> Result<(), Refusal>;

    /// Adds the MIG instances that are there.
    fn instances(&mut self, found: &mut Vec<FoundInstance>) -> Result<(), Refusal>;

    /// Adds the means of performance counters since the call before; nothing on the first call.
    fn counters(&mut self, part: Part, replies: &mut Vec<Reply>) -> Result<(), Refusal>;

    /// Forgets the last reading of a part's counters: what comes next is about another one.
    fn forget_counters(&mut self, part: Part);

    /// Something to wait for events with, on another thread.
    fn events(&mut self) -> Result<Box<dyn EventSource>, Refusal>;

    /// Name of a process as the driver knows it, where `/proc` does not show it.
    fn process_name(&mut self, pid: u32) -> Option<String>;

    /// Whether the driver stays loaded while nobody uses the GPU.
    fn is_persistent(&mut self) -> Result<bool, Refusal>;
}

/// Waits for what the driver announces about one GPU.
pub trait EventSource: Send {
    /// The next event; `None` when none came in time.
    fn wait(&mut self, timeout_ms: u32) -> Result<Option<Event>, Refusal>;
}

/// The GPUs of a host.
pub trait GpuHost: Send + Sync {
    /// Version of the driver.
    fn driver(&self) -> Option<String>;

    /// Opens a GPU, anew if it was open before.
    fn open(&self, identity: &Identity) -> Result<Box<dyn GpuSource>, Refusal>;
}
