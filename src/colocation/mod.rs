//! If these workloads shared a GPU, what would their p99 be?
//!
//! Floor 2, pure: demands in, predictions out; no IO, no clock, the same bits with any number of threads.
#![warn(missing_docs)]

pub mod conformal;
pub mod demand;
mod draw;
pub mod models;
pub mod objective;
pub mod observation;
pub mod observed;
pub mod partition;
pub mod phases;
pub mod power;
pub mod predictor;
pub mod profiles;
pub mod range;
pub mod refusal;
mod replay;
mod service;
pub mod share;
pub mod slices;
mod spells;
mod turns;
mod watched;
pub mod whatif;
