//! Live GPUs to rows and facts.
//!
//! Floor 2. [`run`] watches every GPU on a thread of its own and puts what it sees into a `Sink`;
//! it knows nothing about NVML, which [`nvml`] hides behind [`source::GpuSource`].

pub mod clock;
pub mod nvml;
pub mod source;
pub mod tenants;
