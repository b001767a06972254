//! Live GPUs, whose their processes are, and what their services say, to rows and facts.
//!
//! Floor 2. `run` watches every GPU and puts what it sees into a `Sink`;
//! it knows nothing about NVML, which `nvml` hides behind `source::GpuSource`.

mod births;
pub mod clock;
mod crew;
pub mod doctor;
mod gauge;
mod layout;
mod message;
pub mod nvml;
mod plan;
mod pulse;
mod question;
mod rings;
mod run;
pub mod services;
mod sieve;
pub mod source;
mod stamps;
pub mod tenants;
mod watch;

pub use message::Notice;
pub use plan::{Audience, OWN_SOURCES, Plan, Status};
pub use run::run;
