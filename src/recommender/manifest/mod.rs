//! Configuration out: plans in the words of the tools that carry them out.
//!
//! Each writer takes a plan and the reasons for it and returns the text of one file. Nothing is applied
//! here. Names of tenants, boards and plans come from outside and may hold anything: they reach a file only
//! through [`words`], so that none ends a comment, a scalar or a shell word. What the tool behind a file
//! would refuse is an error here, and every file is read back strictly in the tests.

pub mod claims;
pub mod mig;
pub mod mps;
pub mod plan;
pub mod plugin;
pub mod words;

/// Why a plan cannot be written as the file that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// A profile is spelled unlike any that a driver knows.
    #[error("`{0}` is no MIG profile; a profile is written as 1g.10gb or 1g.10gb+me")]
    Profile(String),
    /// Sharing among fewer than two.
    #[error("{0} replicas share nothing; at least 2 are needed")]
    Replicas(u32),
    /// More clients than one MPS server takes.
    #[error("MPS takes at most {most} clients of one GPU, and {wanted} are planned")]
    TooManyClients {
        /// How many are planned.
        wanted: u32,
        /// How many it takes.
        most: u32,
    },
    /// MPS on a part of a GPU.
    #[error("the device plugin offers MPS on whole GPUs only, not on {0}")]
    MpsOnMig(String),
    /// A share of threads beyond the whole, or none.
    #[error("a thread percentage of {0} is not between 1 and 100")]
    ThreadPercentage(u32),
    /// A memory limit of nothing.
    #[error("a memory limit of 0 MiB admits nobody")]
    MemoryLimit,
    /// A plan for two layouts of one GPU.
    #[error("GPU {0} is planned twice")]
    SameGpu(u32),
    /// No GPU to write about.
    #[error("the plan names no GPU")]
    Empty,
    /// A fraction of a GPU that is none.
    #[error("a fraction of {0} of a GPU is not between 0 and 1")]
    Fraction(String),
}

#[cfg(test)]
mod tests;
